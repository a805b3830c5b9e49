package load

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"bakeoff/internal/osenv"
	"bakeoff/record"
)

func TestTimeoutsOfVirtualUsers(t *testing.T) {
	for name, do := range map[string]func(context.Context, *Op) error{
		"gives the context's error": func(ctx context.Context, _ *Op) error { <-ctx.Done(); return ctx.Err() },
		"gives its cause":           func(ctx context.Context, _ *Op) error { <-ctx.Done(); return context.Cause(ctx) },
		"minds the deadline itself": func(ctx context.Context, op *Op) error {
			at, ok := ctx.Deadline()
			if !ok {
				return errors.New("no deadline")
			}
			time.Sleep(time.Until(at))
			op.Status, op.Err = TimedOut, context.DeadlineExceeded
			return nil
		},
		"from a context of its own": func(ctx context.Context, _ *Op) error {
			inner, cancel := context.WithTimeout(ctx, time.Hour)
			defer cancel()
			<-inner.Done()
			return fmt.Errorf("reading: %w", inner.Err())
		},
	} {
		t.Run(name, func(t *testing.T) {
			spec := short()
			spec.Common.OpTimeout, spec.Common.Window = 30*time.Millisecond, 500*time.Millisecond
			result, err := opened(t, blocking(4, do), spec, Env{}).Measure(t.Context(), nil)
			if err != nil {
				t.Fatal(err)
			}
			l := result.Load
			if !l.Ledger.Closes() || l.Ledger.Completed != 0 || l.Ledger.TimedOut <= 4 {
				t.Errorf("ledger %+v, want timeouts from all four users again and again", l.Ledger)
			}
			h := mergedLog(t, result, "all", "service")
			if h.Min() < int64(29*time.Millisecond) || l.Latencies[0].Censored != h.Count() {
				t.Errorf("%d timed out stand at %v or more, %d of them marked", h.Count(), time.Duration(h.Min()), l.Latencies[0].Censored)
			}
			if len(l.Errors) != 1 || l.Errors[0].Kind != "get: timed out" || l.Errors[0].First == "" {
				t.Errorf("errors %+v", l.Errors)
			}
		})
	}
}

// TestAnOperationAfterATimeoutHasItsOwnTime lets every second operation time out.
func TestAnOperationAfterATimeoutHasItsOwnTime(t *testing.T) {
	n := 0
	f := blocking(1, func(ctx context.Context, _ *Op) error {
		if n++; n%2 == 0 {
			<-ctx.Done()
			return ctx.Err()
		}
		return (osenv.System{}).Sleep(ctx, 2*time.Millisecond)
	})
	spec := short()
	spec.Common.OpTimeout, spec.Common.Window = 40*time.Millisecond, time.Second
	result, err := opened(t, f, spec, Env{}).Measure(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	if l := result.Load.Ledger; l.TimedOut < 2 || l.Completed < l.TimedOut/2 || l.Failed != 0 {
		t.Errorf("ledger %+v, want about as many completed as timed out", l)
	}
}

func TestFailedOperationsAreCountedAndNotTimed(t *testing.T) {
	f := blocking(2, func(_ context.Context, op *Op) error {
		time.Sleep(time.Millisecond)
		op.Status, op.Err = Failed, fmt.Errorf("ERR %d keys moved", time.Now().UnixNano())
		return nil
	})
	result, err := opened(t, f, short(), Env{}).Measure(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	l := result.Load
	if l.Ledger.Failed == 0 || l.Ledger.Completed != 0 || !l.Ledger.Closes() || len(l.Latencies) != 0 {
		t.Errorf("ledger %+v, latencies %+v", l.Ledger, l.Latencies)
	}
	if len(l.Errors) != 1 || l.Errors[0].Kind != "get: ERR # keys moved" || !strings.HasPrefix(l.Errors[0].First, "ERR 1") {
		t.Errorf("errors %+v", l.Errors)
	}
}

func TestCancel(t *testing.T) {
	begun := make(chan struct{}, 10)
	for name, f := range map[string]*fake{
		"batched": batched(func(spec Spec) *echo {
			return &echo{clock: spec.Clock, delay: time.Hour, submit: func(ops []Op) (int, error) { begun <- struct{}{}; return len(ops), nil }}
		}),
		"blocking": blocking(1, func(ctx context.Context, _ *Op) error { begun <- struct{}{}; <-ctx.Done(); return ctx.Err() }),
	} {
		t.Run(name, func(t *testing.T) {
			spec := short()
			spec.Common.Window, spec.Common.OpTimeout, spec.Common.DrainTime, spec.Common.Warmup = time.Hour, time.Hour, time.Hour, 0
			why := errors.New("the operator pressed Ctrl-C")
			ctx, cancel := context.WithCancelCause(t.Context())
			defer cancel(nil)
			go func() { <-begun; cancel(why) }()
			start := time.Now()
			result, err := opened(t, f, spec, Env{}).Measure(ctx, nil)
			if !errors.Is(err, why) {
				t.Errorf("error %v, want %v", err, why)
			}
			if took := time.Since(start); took > 2*time.Second {
				t.Errorf("it took %v", took)
			}
			if l := result.Load.Ledger; !l.Closes() || l.InFlightClose != uint64(f.shape.Workers*f.shape.InFlight) {
				t.Errorf("ledger %+v, want what was in flight there", l)
			}
		})
	}
}

// TestWorkersThatDoNotComeBack hangs in the engine, deaf to everything.
func TestWorkersThatDoNotComeBack(t *testing.T) {
	for _, contract := range []Contract{Batched, Blocking} {
		t.Run(string(contract), func(t *testing.T) {
			release := make(chan struct{})
			ended := make(chan struct{})
			var hung atomic.Int64
			hang := func() {
				if hung.Add(1) == 3 {
					<-release
					close(ended)
				}
			}
			f := batched(func(spec Spec) *echo {
				return &echo{clock: spec.Clock, delay: time.Millisecond, submit: func(ops []Op) (int, error) { hang(); return len(ops), nil }}
			})
			if contract == Blocking {
				f = blocking(2, func(context.Context, *Op) error { time.Sleep(time.Millisecond); hang(); return nil })
			}
			f.shape.Workers = 2
			r := opened(t, f, short(), Env{})
			r.patience = time.Second
			result, err := r.Measure(t.Context(), nil)
			if err == nil || !strings.Contains(err.Error(), "1 of 2 workers did not come back") {
				t.Errorf("error %v", err)
			}
			if result.Load.Ledger.Completed == 0 {
				t.Error("what the other worker did is not counted")
			}
			close(release)
			<-ended
		})
	}
}

func TestWorkThatIsDone(t *testing.T) {
	for _, workers := range []int{1, 3} {
		for _, contract := range []Contract{Batched, Blocking} {
			t.Run(fmt.Sprintf("%s/%d", contract, workers), func(t *testing.T) {
				var left atomic.Int64
				left.Store(90)
				take := func(n int) (int, error) {
					for i := range n {
						if left.Add(-1) < 0 {
							return i, ErrDone
						}
					}
					return n, nil
				}
				f := batched(func(spec Spec) *echo {
					return &echo{clock: spec.Clock, delay: time.Millisecond, submit: func(ops []Op) (int, error) { return take(len(ops)) }}
				})
				if contract == Blocking {
					f = blocking(workers, func(ctx context.Context, _ *Op) error {
						if _, err := take(1); err != nil {
							return fmt.Errorf("query set: %w", err)
						}
						return (osenv.System{}).Sleep(ctx, time.Millisecond)
					})
				}
				f.shape.Workers, f.shape.InFlight, f.shape.Done = workers, 4, true
				spec := short()
				spec.Common.Deadline = time.Minute
				result, err := opened(t, f, spec, Env{}).Measure(t.Context(), nil)
				if err != nil {
					t.Fatal(err)
				}
				l := result.Load
				if want := (record.Ledger{Offered: 90, Completed: 90}); l.Ledger != want || l.Ended != "done" {
					t.Errorf("ledger %+v, ended %q; want all 90 done", l.Ledger, l.Ended)
				}
				if l.Window.Seconds <= 0.005 || l.Window.Seconds > 10 || l.Steady != nil || l.Window.Warmup != 0 {
					t.Errorf("window %+v, steady %+v", l.Window, l.Steady)
				}
				if n := mergedLog(t, result, "all", "service").Count(); n != 90 {
					t.Errorf("%d service times, want 90", n)
				}
			})
		}
	}
}

func TestDeadlineOfWork(t *testing.T) {
	for name, f := range map[string]*fake{
		"batched":  batched(func(spec Spec) *echo { return &echo{clock: spec.Clock, delay: time.Millisecond} }),
		"blocking": blocking(1, func(context.Context, *Op) error { time.Sleep(time.Millisecond); return nil }),
	} {
		f.shape.Done = true
		spec := short()
		spec.Common.Deadline = 60 * time.Millisecond
		result, err := opened(t, f, spec, Env{}).Measure(t.Context(), nil)
		if !errors.Is(err, errDeadline) || !strings.Contains(err.Error(), "deadline of 60ms") {
			t.Errorf("%s: error %v", name, err)
		}
		if l := result.Load; !l.Ledger.Closes() || l.Ledger.Completed == 0 || l.Ended != "window" {
			t.Errorf("%s: ledger %+v, ended %q", name, l.Ledger, l.Ended)
		}
	}
}

// TestNothingIsWaitedForAfterTheDeadline: a command that hangs ends with its
// deadline, whatever time an operation may take.
func TestNothingIsWaitedForAfterTheDeadline(t *testing.T) {
	for name, f := range map[string]*fake{
		"batched":  batched(func(spec Spec) *echo { return &echo{clock: spec.Clock, delay: time.Hour} }),
		"blocking": blocking(1, func(ctx context.Context, _ *Op) error { <-ctx.Done(); return ctx.Err() }),
	} {
		f.shape.Done = true
		spec := short()
		spec.Common.Deadline, spec.Common.OpTimeout, spec.Common.DrainTime = 60*time.Millisecond, time.Hour, time.Hour
		ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
		defer cancel()
		_, err := opened(t, f, spec, Env{}).Measure(ctx, nil)
		if ctx.Err() != nil || !errors.Is(err, errDeadline) {
			t.Errorf("%s: %v, want it to end with its deadline", name, err)
		}
	}
}

func TestDrainThatIsTooShort(t *testing.T) {
	f := batched(func(spec Spec) *echo { return &echo{clock: spec.Clock, delay: 10 * time.Second} })
	spec := short()
	spec.Common.OpTimeout, spec.Common.DrainTime = 10*time.Second, 20*time.Millisecond
	result, err := opened(t, f, spec, Env{}).Measure(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	if l := result.Load.Ledger; !l.Closes() || l.InFlightClose != 1 || !slices.Contains(gates(result), "operations-undrained") {
		t.Errorf("ledger %+v, warnings %+v", l, result.Warnings)
	}
}

// stepping is a wall clock that is set while the load runs.
type stepping struct {
	osenv.System
	stepped *atomic.Bool
	by      time.Duration
}

func (s stepping) Now() time.Time {
	now := s.System.Now()
	if s.stepped.Load() {
		return now.Round(0).Add(s.by)
	}
	return now
}

func TestClockStep(t *testing.T) {
	for _, by := range []time.Duration{time.Hour, -30 * time.Second} {
		var stepped atomic.Bool
		f := batched(func(spec Spec) *echo {
			return &echo{clock: spec.Clock, delay: time.Millisecond, submit: func(ops []Op) (int, error) {
				stepped.Store(true)
				return len(ops), nil
			}}
		})
		result, err := opened(t, f, short(), Env{Wall: stepping{stepped: &stepped, by: by}}).Measure(t.Context(), nil)
		if err != nil {
			t.Fatal(err)
		}
		w := result.Load.Window
		if math.Abs(w.ClockStepSeconds-by.Seconds()) > 0.01 {
			t.Errorf("a step of %v was found to be %g s", by, w.ClockStepSeconds)
		}
		if w.Seconds < 0.149 || w.Seconds > 0.151 || w.End.Sub(w.Start) != 150*time.Millisecond {
			t.Errorf("the step changed the window: %+v", w)
		}
	}
}

// sided is a session that can do everything that only some can.
type sided struct {
	*fake
	verify  error
	figures error
}

func (s *sided) Open(ctx context.Context, spec Spec) (Session, error) {
	if _, err := s.fake.Open(ctx, spec); err != nil {
		return nil, err
	}
	return s, nil
}

func (s *sided) Verify(context.Context) error { return s.verify }

func (s *sided) Figures(context.Context) ([]record.Figure, error) {
	return []record.Figure{{Name: "nopm", Unit: "1/min", Value: 5}}, s.figures
}

func TestSideInterfaces(t *testing.T) {
	for _, c := range []struct {
		name            string
		verify, figures error
	}{{"good", nil, nil}, {"data changed", errors.New("key 5 is gone"), nil}, {"no figures", nil, errors.New("no line matches")}} {
		e := &sided{batched(func(spec Spec) *echo { return &echo{clock: spec.Clock, delay: time.Millisecond} }), c.verify, c.figures}
		r, err := Open(t.Context(), e, short(), Env{})
		if err != nil {
			t.Fatal(err)
		}
		result, err := r.Measure(t.Context(), nil)
		if !errors.Is(err, c.figures) || (c.figures == nil) != (err == nil) {
			t.Errorf("%s: error %v", c.name, err)
		}
		if c.figures == nil && (len(result.Load.Figures) != 1 || result.Load.Figures[0].Name != "nopm") {
			t.Errorf("%s: figures %+v", c.name, result.Load.Figures)
		}
		if bad := slices.Contains(gates(result), "verification-failed"); bad != (c.verify != nil) {
			t.Errorf("%s: warnings %+v", c.name, result.Warnings)
		}
		if err := r.Close(); err != nil {
			t.Error(err)
		}
	}
}

func TestCountersThatCannotBeRead(t *testing.T) {
	f := batched(func(spec Spec) *echo { return &echo{clock: spec.Clock, delay: time.Millisecond} })
	f.snapshot = func() ([]Count, error) { return nil, errBroken }
	result, err := opened(t, f, short(), Env{}).Measure(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	if g := gates(result); len(g) != 2 || g[0] != "counters-missing" || len(result.Load.Counters) != 0 {
		t.Errorf("warnings %+v, counters %+v", result.Warnings, result.Load.Counters)
	}
}

// TestErrorsAreCountedByClass also covers that a table of errors is bounded.
func TestErrorsAreCountedByClass(t *testing.T) {
	var table, other errorTable
	table.add("get", Failed, errors.New("MOVED 1234 10.0.0.1:6379"), 2)
	table.add("get", Failed, errors.New("MOVED 99 10.0.0.2:6380"), 3)
	table.add("get", Failed, nil, 1)
	table.add("set", Dropped, nil, 1)
	table.add("set", Failed, classed{}, 1)
	want := []record.ErrorKind{
		{Kind: "get: MOVED # #.#.#.#:#", Count: 5, First: "MOVED 1234 10.0.0.1:6379"},
		{Kind: "get: failed", Count: 1},
		{Kind: "set: dropped", Count: 1},
		{Kind: "set: out of memory", Count: 1, First: "OOM at 5"},
	}
	if !slices.Equal(table.kinds, want) {
		t.Errorf("%+v", table.kinds)
	}
	for i := range 100 {
		other.add(fmt.Sprintf("kind%c%c", 'a'+i%10, 'a'+i/10), Failed, errBroken, 1)
	}
	table.merge(&other)
	sum := uint64(0)
	for _, k := range table.kinds {
		sum += k.Count
	}
	if len(table.kinds) > maxErrorKinds+1 || sum != 108 {
		t.Errorf("%d kinds of %d errors, want at most %d of 108", len(table.kinds), sum, maxErrorKinds+1)
	}
}

type classed struct{}

func (classed) Error() string      { return "OOM at 5" }
func (classed) ErrorClass() string { return "out of memory" }
