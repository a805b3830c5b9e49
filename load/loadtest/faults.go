package loadtest

import (
	"errors"
	"io"
	"net"
	"testing"
	"time"

	"bakeoff/load"
)

// SilentTarget listens on a free port of the loopback, takes connections and
// what they send, and never answers. It returns its address.
func SilentTarget(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		var taken []net.Conn
		for {
			c, err := l.Accept()
			if err != nil {
				break
			}
			taken = append(taken, c)
			go func() { _, _ = io.Copy(io.Discard, c) }()
		}
		for _, c := range taken {
			_ = c.Close()
		}
	}()
	t.Cleanup(func() {
		if err := l.Close(); err != nil {
			t.Error(err)
		}
		<-ended
	})
	return l.Addr().String()
}

// ClosedTarget returns an address of the loopback on which nothing listens.
func ClosedTarget(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	return l.Addr().String()
}

// Silent checks an engine on a target that never answers: every operation times
// out, is counted once and stands in the histogram with what it waited. An engine
// that must be answered before it can begin may fail to begin, in good time.
func Silent(t *testing.T, engine load.Engine, spec load.Spec) {
	t.Helper()
	noLeaks(t)
	spec.Common.OpTimeout = 200 * time.Millisecond
	spec = filled(engine, spec)
	r, err := begin(t, engine, spec)
	if err != nil {
		return
	}
	result, err := r.Measure(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	Check(t, result)
	l := result.Load.Ledger
	if l.Completed != 0 || l.TimedOut+l.InFlightClose == 0 {
		t.Errorf("%d operations completed and %d timed out on a target that never answers", l.Completed, l.TimedOut)
	}
	for _, lat := range result.Load.Latencies {
		if lat.Type == "service" && lat.Kind == "all" && lat.Censored == 0 {
			t.Error("timed out operations are not marked as censored")
		}
	}
}

// Refused checks an engine on a target that refuses connections: it does not
// begin, and says so in good time.
func Refused(t *testing.T, engine load.Engine, spec load.Spec) {
	t.Helper()
	noLeaks(t)
	if _, err := begin(t, engine, filled(engine, spec)); err == nil {
		t.Error("a load began on a target that refuses connections")
	}
}

// begin opens, prepares and connects a load, within a few of its timeouts.
func begin(t *testing.T, engine load.Engine, spec load.Spec) (*load.Running, error) {
	t.Helper()
	start := time.Now()
	defer func() {
		if took := time.Since(start); took > quick+3*spec.Common.OpTimeout {
			t.Errorf("it took %v to begin", took)
		}
	}()
	r, err := load.Open(t.Context(), engine, spec, load.Env{})
	if err != nil {
		return nil, err
	}
	t.Cleanup(func() {
		if err := r.Close(); err != nil {
			t.Error(err)
		}
	})
	if _, err := r.Prepare(t.Context(), nil); err != nil {
		return nil, err
	}
	return r, r.Connect(t.Context())
}

// Dies checks an engine whose target dies in mid-run: the measurement ends with
// an error, and what was done until then is counted. Kill is called once the load
// is under way.
func Dies(t *testing.T, engine load.Engine, spec load.Spec, kill func()) {
	t.Helper()
	noLeaks(t)
	spec = filled(engine, spec)
	spec.Common.Window = time.Hour
	r, err := begin(t, engine, spec)
	if err != nil {
		t.Fatal(err)
	}
	killed := make(chan time.Time, 1)
	timer := time.AfterFunc(300*time.Millisecond, func() { killed <- time.Now(); kill() })
	defer timer.Stop()
	result, err := r.Measure(t.Context(), nil)
	if err == nil {
		t.Fatal("the target died and the measurement ended without an error")
	}
	if errors.Is(err, t.Context().Err()) && t.Context().Err() != nil {
		t.Fatal(err)
	}
	if took := time.Since(<-killed); took > quick+spec.Common.OpTimeout {
		t.Errorf("it took %v to notice", took)
	}
	if result.Load.Ledger.Completed == 0 {
		t.Error("nothing was counted of what was done before")
	}
	Check(t, result)
}
