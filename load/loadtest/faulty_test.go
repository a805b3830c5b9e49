package loadtest_test

import (
	"context"
	"os"
	"os/exec"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"bakeoff/load"
	"bakeoff/load/loadtest"
	"bakeoff/record"
)

// faultVariable names the fault that a process of its own runs the suite with.
const faultVariable = "BAKEOFF_TEST_FAULT"

// TestTheSuiteFindsFaults runs the suite in processes of its own on an engine
// with one fault each, and wants it to fail for that fault.
func TestTheSuiteFindsFaults(t *testing.T) {
	for fault, want := range map[string]string{
		"none":      "",
		"loses":     "did not come back",
		"doubles":   "came back twice",
		"stamps":    "stamps were changed",
		"kinds":     "a completion that cannot be",
		"seed":      "one seed gave two sequences",
		"parameter": "an unknown parameter was taken",
		"leaks":     "found unexpected goroutines",
		"close":     "Close: closed already:",
	} {
		t.Run(fault, func(t *testing.T) {
			t.Parallel()
			cmd := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestSuiteOnAFaultyEngine$")
			cmd.Env = append(os.Environ(), faultVariable+"="+fault)
			out, err := cmd.CombinedOutput()
			if (err == nil) != (want == "") || !strings.Contains(string(out), want) {
				t.Errorf("error %v, want a failure with %q:\n%s", err, want, out)
			}
		})
	}
}

func TestSuiteOnAFaultyEngine(t *testing.T) {
	fault, ok := os.LookupEnv(faultVariable)
	if !ok {
		t.Skip("run by TestTheSuiteFindsFaults")
	}
	loadtest.Run(t, &faulty{fault: fault, stop: make(chan struct{})}, load.Spec{Common: load.Common{OpTimeout: 300 * time.Millisecond}})
}

// faulty is an engine that does nothing, wrongly.
type faulty struct {
	fault string
	runs  atomic.Int64
	stop  chan struct{}
}

func (*faulty) Name() string { return "faulty" }

func (*faulty) Describe() load.Description {
	return load.Description{Summary: "Goes wrong.", Kinds: []string{"one", "two"}}
}

func (f *faulty) Open(_ context.Context, spec load.Spec) (load.Session, error) {
	if f.fault != "parameter" {
		if _, err := load.ReadParams(f.Name(), f.Describe(), spec.Parameters); err != nil {
			return nil, err
		}
	}
	return &faultySession{faulty: f, clock: spec.Clock, run: f.runs.Add(1)}, nil
}

type faultySession struct {
	*faulty
	clock  *load.Clock
	run    int64
	closed bool
}

func (s *faultySession) Shape() load.Shape {
	return load.Shape{Workers: 1, InFlight: 8, Contract: load.Batched}
}

func (s *faultySession) Prepare(context.Context, func(float64)) (*record.DataSet, error) {
	return nil, nil
}

func (s *faultySession) Worker(context.Context, int, int) (load.Worker, error) {
	if s.fault == "leaks" {
		go func() { <-s.stop }()
	}
	return &faultyWorker{faultySession: s}, nil
}

func (s *faultySession) Snapshot(context.Context) ([]load.Count, error) { return nil, nil }

func (s *faultySession) Close() error {
	if s.closed && s.fault == "close" {
		return &os.PathError{Op: "closed", Path: "already", Err: os.ErrClosed}
	}
	s.closed = true
	return nil
}

type faultyWorker struct {
	*faultySession
	taken []load.Completion
	n     int
}

func (w *faultyWorker) Submit(ops []load.Op) (int, error) {
	for _, op := range ops {
		w.n++
		c := load.Completion{Intended: op.Intended, Sent: op.Sent, Count: op.Count, Slot: op.Slot, Kind: uint8(w.n % 2)}
		if w.fault == "seed" {
			c.Items = uint32(w.run)
		}
		if w.n == 100 && !w.spoil(&c) {
			continue
		}
		w.taken = append(w.taken, c)
	}
	return len(ops), nil
}

// spoil makes the hundredth operation go wrong; it is lost where it is false.
func (w *faultyWorker) spoil(c *load.Completion) bool {
	switch w.fault {
	case "loses":
		return false
	case "doubles":
		w.taken = append(w.taken, *c)
	case "stamps":
		c.Sent++
	case "kinds":
		c.Kind = 7
	}
	return true
}

func (w *faultyWorker) Reap(dst []load.Completion, until int64) ([]load.Completion, error) {
	if len(w.taken) == 0 && until > 0 {
		time.Sleep(time.Duration(until - w.clock.Now()))
	}
	dst = append(dst, w.taken...)
	w.taken = w.taken[:0]
	return dst, nil
}

func (w *faultyWorker) Close() error { return nil }
