package load

import (
	"context"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"bakeoff/internal/osenv"
	"bakeoff/record"
)

// stalledLoads are the drivers' four ways of working.
func stalledLoads() map[string]func() (*fake, Spec) {
	spec := func(rate float64) Spec {
		s := short()
		s.Common.Window, s.Common.Rate = 1500*time.Millisecond, rate
		return s
	}
	batch := func() *fake {
		return batched(func(spec Spec) *echo { return &echo{clock: spec.Clock, delay: time.Millisecond} })
	}
	block := func() *fake {
		return blocking(3, func(ctx context.Context, _ *Op) error { return (osenv.System{}).Sleep(ctx, time.Millisecond) })
	}
	return map[string]func() (*fake, Spec){
		"batched, closed":  func() (*fake, Spec) { return batch(), spec(0) },
		"batched, open":    func() (*fake, Spec) { return batch(), spec(200) },
		"blocking, closed": func() (*fake, Spec) { return block(), spec(0) },
		"blocking, open":   func() (*fake, Spec) { return block(), spec(200) },
	}
}

// stalledEnv names, in the process that is stopped, the load and where its
// result goes.
const stalledEnv = "BAKEOFF_TEST_STALLED"

// TestStalledProcess is that process.
func TestStalledProcess(t *testing.T) {
	name, out := os.Getenv(stalledEnv), os.Getenv(stalledEnv+"_OUT")
	if name == "" {
		t.Skip("it is begun by TestAStoppedGeneratorIsNoticed")
	}
	f, spec := stalledLoads()[name]()
	begun := false
	result, err := opened(t, f, spec, Env{}).Measure(t.Context(), func(p Progress) {
		if p.Phase == "warm-up" && !begun { // the warm-up is over
			begun = true
			if err := os.WriteFile(out+".begun", nil, 0o600); err != nil {
				t.Error(err)
			}
		}
	})
	if err != nil {
		t.Fatal(err)
	}
	text, err := json.Marshal(result.Load)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(out, text, 0o600); err != nil {
		t.Fatal(err)
	}
}

// TestAStoppedGeneratorIsNoticed stops the process of a load in its window.
func TestAStoppedGeneratorIsNoticed(t *testing.T) {
	for name := range stalledLoads() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			l := stalledResult(t, name, 600*time.Millisecond)
			s := l.Generator.Stalls
			if s == nil {
				t.Fatal("the load does not tell of stalls")
			}
			if least := int64(500 * time.Millisecond); s.TickMax < least || s.TickTotal < s.TickMax || s.WorkerTotal < s.WorkerMax {
				t.Errorf("stopped for 600 ms, and the record has %+v", *s)
			}
			if s.TickTotal > int64(1500*time.Millisecond) {
				t.Errorf("more than the window: %+v", *s)
			}
		})
	}
}

// stalledResult runs a load in a process of its own and stops that for a while.
func stalledResult(t *testing.T, name string, pause time.Duration) (l record.Load) {
	t.Helper()
	out := filepath.Join(t.TempDir(), "load.json")
	cmd := exec.Command(os.Args[0], "-test.run=^TestStalledProcess$")
	cmd.Env = append(os.Environ(), stalledEnv+"="+name, stalledEnv+"_OUT="+out)
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	for {
		if _, err := os.Stat(out + ".begun"); err == nil {
			break
		}
		select {
		case err := <-ended:
			t.Fatalf("the load ended before its window: %v", err)
		case <-time.After(2 * time.Millisecond):
		}
	}
	for _, s := range []syscall.Signal{syscall.SIGSTOP, syscall.SIGCONT} {
		if err := cmd.Process.Signal(s); err != nil {
			t.Fatal(err)
		}
		if s == syscall.SIGSTOP {
			<-time.After(pause)
		}
	}
	if err := <-ended; err != nil {
		t.Fatalf("the load that was stopped: %v", err)
	}
	text, err := os.ReadFile(out)
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(text, &l); err != nil {
		t.Fatal(err)
	}
	return l
}

const ms = int64(time.Millisecond)

func TestDelaysCountInTheWindowAlone(t *testing.T) {
	for _, c := range []struct {
		name           string
		due, came      int64
		longest, total int64
	}{
		{"as any scheduler has", 200 * ms, 249 * ms, 0, 0},
		{"in the window", 200 * ms, 300 * ms, 100 * ms, 100 * ms},
		{"before it", 0, 100 * ms, 0, 0},
		{"over its opening", 50 * ms, 130 * ms, 30 * ms, 30 * ms},
		{"over its close", 1000 * ms, 9000 * ms, 100 * ms, 100 * ms},
		{"after it", 1100 * ms, 9000 * ms, 0, 0},
		{"over all of it", 0, 9000 * ms, 1000 * ms, 1000 * ms},
	} {
		d := newDelays(edges{open: 100 * ms, close: 1100 * ms})
		if d.note(c.due, c.came); d.longest != c.longest || d.total != c.total {
			t.Errorf("%s: longest %d ms, in all %d ms", c.name, d.longest/ms, d.total/ms)
		}
	}
}

// TestWorkersThatAreHeldAreNotStalled tells a thread without a core from one that
// a call held.
func TestWorkersThatAreHeldAreNotStalled(t *testing.T) {
	for _, c := range []struct {
		name   string
		waited int64 // for a core, meanwhile
		known  bool
		want   int64
	}{
		{"held in a call", 2 * ms, true, 0},
		{"without a core", 398 * ms, true, 398 * ms},
		{"held, and then without a core", 100 * ms, true, 100 * ms},
		{"more than it was late", 4000 * ms, true, 400 * ms},
		{"the kernel does not tell", 0, false, 400 * ms},
	} {
		waited := int64(5000 * ms)
		p := pulse{delays: newDelays(edges{close: forever}), meter: func() (int64, bool) { return waited, c.known }}
		p.read()
		waited += c.waited
		if p.late(200*ms, 600*ms); p.longest != c.want {
			t.Errorf("%s: %d ms, want %d ms", c.name, p.longest/ms, c.want/ms)
		}
	}
}

// TestATargetThatHoldsAWorkerIsNoStall: what the target takes is not the
// generator's delay, in either contract.
func TestATargetThatHoldsAWorkerIsNoStall(t *testing.T) {
	if _, known := runDelay(); !known {
		t.Skip("this kernel does not tell how long threads wait for a core")
	}
	hold := func() { time.Sleep(400 * time.Millisecond) }
	for name, f := range map[string]*fake{
		"batched": batched(func(spec Spec) *echo {
			return &echo{clock: spec.Clock, submit: func(ops []Op) (int, error) { hold(); return len(ops), nil }}
		}),
		"blocking": blocking(1, func(context.Context, *Op) error { hold(); return nil }),
	} {
		spec := short()
		spec.Common.Window = 500 * time.Millisecond
		result, err := opened(t, f, spec, Env{}).Measure(t.Context(), nil)
		if err != nil {
			t.Fatal(err)
		}
		if s := result.Load.Generator.Stalls; s.WorkerMax > 250*ms {
			t.Errorf("%s: %+v", name, *s)
		}
	}
}

func TestTenthsOfTheWindow(t *testing.T) {
	f := batched(func(spec Spec) *echo { return &echo{clock: spec.Clock, delay: time.Millisecond} })
	spec := short()
	spec.Common.Window = 1300 * time.Millisecond
	spec.Common.Steps = []RateStep{{Duration: 520 * time.Millisecond, From: 100, To: 100}, {From: 500, To: 500}}
	result, err := opened(t, f, spec, Env{}).Measure(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	l := result.Load
	seconds, due, completed := 0.0, 0.0, uint64(0)
	for _, x := range l.Tenths {
		seconds, due, completed = seconds+x.Seconds, due+x.Due, completed+x.Completed
	}
	// 0.5 s of the window lie in the first step.
	if want := 0.5*100 + 0.8*500; len(l.Tenths) != 10 || seconds < 1.2999 || seconds > 1.3001 || due < want-1e-6 || due > want+1e-6 || completed != l.Ledger.Completed {
		t.Errorf("%d tenths of %g s with %g due (want %g) and %d completed of %d", len(l.Tenths), seconds, due, want, completed, l.Ledger.Completed)
	}
	if first := l.Tenths[0]; first.Due != 10 {
		t.Errorf("the first tenth, of 0.1 s at 100 a second, is %+v", first)
	}
}

// TestThreadsOfAProcess: one more worker than a process can have threads is
// refused before any is begun; virtual users are not threads.
func TestThreadsOfAProcess(t *testing.T) {
	for _, c := range []struct {
		contract Contract
		workers  int
		refused  bool
	}{{Batched, maxThreads, false}, {Batched, maxThreads + 1, true}, {Blocking, maxThreads + 1, false}, {Blocking, 1<<16 + 1, true}} {
		opened := 0
		f := &fake{shape: Shape{Contract: c.contract, Workers: c.workers}, worker: func(Spec, int) (Worker, error) { opened++; return nil, errBroken }}
		r, err := Open(t.Context(), f, short(), Env{})
		if refused := err != nil; refused != c.refused || opened > 0 {
			t.Errorf("%d workers, %s: %v, %d opened", c.workers, c.contract, err, opened)
		}
		if err == nil {
			if err := r.Close(); err != nil {
				t.Error(err)
			}
		} else if f.closed != 1 {
			t.Errorf("%d workers, %s: the session was closed %d times", c.workers, c.contract, f.closed)
		}
	}
}
