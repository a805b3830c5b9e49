package load

import (
	"bytes"
	"context"
	"errors"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"go.uber.org/goleak"

	"bakeoff/hist"
	"bakeoff/internal/osenv"
	"bakeoff/record"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// mergedLog reads a log of a result.
func mergedLog(t *testing.T, r Result, kind, timing string) *hist.Histogram {
	t.Helper()
	sum := hist.New()
	for _, l := range r.Load.Latencies {
		if l.Kind != kind || l.Type != timing {
			continue
		}
		intervals, err := hist.ReadLog(bytes.NewReader(r.Logs[l.File]))
		if err != nil {
			t.Fatal(err)
		}
		for _, iv := range intervals {
			sum.Merge(iv.Hist)
		}
		return sum
	}
	t.Fatalf("no %s log of %s in %+v", timing, kind, r.Load.Latencies)
	return nil
}

func TestClosedLoopKeepsEverySlotBusyAndNoMore(t *testing.T) {
	var workers []*echo
	f := batched(func(spec Spec) *echo {
		w := &echo{clock: spec.Clock, delay: 2 * time.Millisecond}
		workers = append(workers, w)
		return w
	})
	f.shape.InFlight, f.shape.Workers = 8, 2
	result, err := opened(t, f, short(), Env{}).Measure(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, w := range workers {
		if w.most != 8 {
			t.Errorf("at most %d operations were in flight, want 8", w.most)
		}
	}
	l := result.Load.Ledger
	// A worker that the host stops between a completion and the next operation
	// has free slots for that long.
	if !l.Closes() || l.InFlightOpen < 8 || l.InFlightOpen > 16 || l.InFlightClose < 8 || l.InFlightClose > 16 {
		t.Errorf("ledger %+v, want the 16 slots in flight at both edges", l)
	}
	if h := mergedLog(t, result, "all", "service"); h.Min() < int64(2*time.Millisecond)*999/1000 {
		t.Errorf("service time from %d ns, want 2 ms or more", h.Min())
	}
}

func TestEveryValueOfTheRecordIsThere(t *testing.T) {
	f := batched(func(spec Spec) *echo { return &echo{clock: spec.Clock, delay: time.Millisecond} })
	f.shape.Backend = "epoll"
	n := 0.0
	f.snapshot = func() ([]Count, error) { n++; return []Count{{"hits", "1", n}}, nil }
	spec := short()
	spec.Target = "redis://user:secret@127.0.0.1:1/0"
	spec.Parameters = map[string]any{"size": "4K"}
	var phases []string
	r := opened(t, f, spec, Env{})
	ds, err := r.Prepare(t.Context(), func(p Progress) { phases = append(phases, p.Phase) })
	if err != nil || ds.Items != 7 {
		t.Fatal(ds, err)
	}
	var mu sync.Mutex
	result, err := r.Measure(t.Context(), func(p Progress) {
		mu.Lock()
		defer mu.Unlock()
		if phases = append(phases, p.Phase); p.Workload != "w" || p.Fraction < 0 || p.Fraction > 1 {
			t.Errorf("progress %+v", p)
		}
	})
	if err != nil {
		t.Fatal(err)
	}
	mu.Lock()
	defer mu.Unlock()
	if got := slices.Compact(phases); !slices.Equal(got, []string{"prepare", "warm-up", "window", "drain"}) {
		t.Errorf("phases %v", got)
	}
	l := result.Load
	if l.Workload != "w" || l.Part != "source" || l.Host != "h" || l.Engine != "fake" || l.Ended != "window" || l.DataSet != ds {
		t.Errorf("load %+v", l)
	}
	if strings.Contains(l.Target, "secret") || !strings.Contains(l.Target, "127.0.0.1:1") {
		t.Errorf("target %q", l.Target)
	}
	for key, want := range map[string]string{"size": "4K", "window": "150ms", "workers": "1", "op_timeout": "100ms", "drain": "200ms"} {
		if l.Parameters[key] != want {
			t.Errorf("parameter %s is %q, want %q", key, l.Parameters[key], want)
		}
	}
	if w := l.Window; w.Seconds < 0.1499 || w.Seconds > 0.1501 || w.Warmup < 0.0199 || w.End.Sub(w.Start) != 150*time.Millisecond {
		t.Errorf("window %+v", w)
	}
	g := l.Generator
	if g.Workers != 1 || g.Backend != "epoll" || g.NullNanosPerOp <= 0 || g.UserSeconds+g.SystemSeconds <= 0 || g.CPUPerMillion <= 0 ||
		g.BusyFraction <= 0 || g.BusyFraction >= 1 || g.TargetRate != 0 {
		t.Errorf("generator %+v", g)
	}
	if want := []record.Counter{{Name: "hits", Unit: "1", Open: 1, Close: 2}}; !slices.Equal(l.Counters, want) {
		t.Errorf("counters %+v", l.Counters)
	}
	// One kind: its log and that of all kinds are one file.
	if len(l.Latencies) != 2 || l.Latencies[0].File != l.Latencies[1].File || len(result.Logs) != 1 {
		t.Errorf("latencies %+v, %d logs", l.Latencies, len(result.Logs))
	}
}

// TestOpenLoopShowsAStall stalls the target once. Operations that came due in the
// stall were sent late: their service times are short, their response times hold
// the stall. A closed loop would have hidden it.
func TestOpenLoopShowsAStall(t *testing.T) {
	const stall = 200 * time.Millisecond
	for _, contract := range []Contract{Batched, Blocking} {
		n := 0 // operations so far: the stall comes in the window's first half
		hang := func() {
			if n++; n == 100 {
				time.Sleep(stall)
			}
		}
		f := batched(func(spec Spec) *echo {
			return &echo{clock: spec.Clock, submit: func(ops []Op) (int, error) {
				for range ops {
					hang()
				}
				return len(ops), nil
			}}
		})
		if contract == Blocking {
			f = blocking(1, func(context.Context, *Op) error { hang(); return nil })
		}
		spec := short()
		spec.Common.Rate, spec.Common.OpTimeout, spec.Common.MaxBurst = 500, time.Second, 1000
		spec.Common.Window = 800 * time.Millisecond
		f.shape.InFlight = 4
		result, err := opened(t, f, spec, Env{}).Measure(t.Context(), nil)
		if err != nil {
			t.Fatal(err)
		}
		service, response := mergedLog(t, result, "all", "service"), mergedLog(t, result, "all", "response")
		long := func(h *hist.Histogram) (n uint64) {
			for b := range h.Buckets {
				if b.Low > int64(stall/4) {
					n += b.Count
				}
			}
			return n
		}
		if s, r := long(service), long(response); r < 30 || s > r/3 {
			t.Errorf("%s: a stall of %v is seen by %d service times and %d response times; want a few and tens", contract, stall, s, r)
		}
		if !result.Load.Ledger.Closes() || result.Load.Generator.TargetRate != 500 {
			t.Errorf("%s: %+v, rate %g", contract, result.Load.Ledger, result.Load.Generator.TargetRate)
		}
	}
}

// TestOverloadIsNotHidden offers ten times what the target can do: what was due
// and never sent stands in the response times with what it has waited.
func TestOverloadIsNotHidden(t *testing.T) {
	for name, f := range map[string]*fake{
		"batched":  batched(func(spec Spec) *echo { return &echo{clock: spec.Clock, delay: 5 * time.Millisecond} }),
		"blocking": blocking(1, func(context.Context, *Op) error { time.Sleep(5 * time.Millisecond); return nil }),
	} {
		spec := short()
		spec.Common.Rate, spec.Common.Warmup, spec.Common.MaxBurst = 2000, 0, 1e6
		result, err := opened(t, f, spec, Env{}).Measure(t.Context(), nil)
		if err != nil {
			t.Fatal(err)
		}
		l := result.Load
		if !l.Ledger.Closes() || l.Ledger.Backlog == 0 {
			t.Errorf("%s: ledger %+v, want a backlog", name, l.Ledger)
		}
		// All 300 that were due in the window are in the response times.
		h := mergedLog(t, result, "all", "response")
		if n := h.Count(); n < 295 || n > 305 {
			t.Errorf("%s: %d response times, want the 300 operations of the window", name, n)
		}
		if p50 := h.Quantile(0.5); p50 < int64(40*time.Millisecond) {
			t.Errorf("%s: the median response time is %v; half the window's operations waited for longer", name, time.Duration(p50))
		}
		for _, lat := range l.Latencies {
			if lat.Kind == "all" && lat.Type == "response" && lat.Censored != l.Ledger.Backlog {
				t.Errorf("%s: %d censored, want the backlog of %d", name, lat.Censored, l.Ledger.Backlog)
			}
		}
	}
}

func TestEngineErrors(t *testing.T) {
	after := func(n int) func() bool { return func() bool { n--; return n < 0 } }
	for _, c := range []struct {
		name string
		f    func() *fake
	}{
		{"reap fails, with what had completed", func() *fake {
			dies := after(20)
			return batched(func(spec Spec) *echo {
				return &echo{clock: spec.Clock, delay: time.Millisecond, reap: func(back []Completion) ([]Completion, error) {
					if dies() {
						return back, errBroken
					}
					return back, nil
				}}
			})
		}},
		{"submit fails", func() *fake {
			dies := after(20)
			return batched(func(spec Spec) *echo {
				return &echo{clock: spec.Clock, delay: time.Millisecond, submit: func(ops []Op) (int, error) {
					if dies() {
						return 0, errBroken
					}
					return len(ops), nil
				}}
			})
		}},
		{"do fails", func() *fake {
			dies := after(20)
			return blocking(1, func(context.Context, *Op) error {
				time.Sleep(time.Millisecond)
				if dies() {
					return errBroken
				}
				return nil
			})
		}},
		{"one of many users fails", func() *fake {
			var n atomic.Int64
			return blocking(10, func(ctx context.Context, _ *Op) error {
				if n.Add(1) == 200 {
					return errBroken
				}
				return (osenv.System{}).Sleep(ctx, time.Millisecond)
			})
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			spec := short()
			spec.Common.Window, spec.Common.Warmup = time.Hour, 0
			result, err := opened(t, c.f(), spec, Env{}).Measure(t.Context(), nil)
			if !errors.Is(err, errBroken) || !strings.Contains(err.Error(), "engine fake: the load ended early, ") || !strings.Contains(err.Error(), "into its window of 1h0m0s") {
				t.Errorf("error %v", err)
			}
			l := result.Load
			if l.Ledger.Completed < 10 || !l.Ledger.Closes() {
				t.Errorf("ledger %+v", l.Ledger)
			}
			if l.Window.Seconds <= 0 || l.Window.Seconds > 10 {
				t.Errorf("window %+v", l.Window)
			}
			if n := mergedLog(t, result, "all", "service").Count(); n < 10 {
				t.Errorf("%d service times", n)
			}
		})
	}
}

func TestErrorInTheWarmUp(t *testing.T) {
	f := batched(func(spec Spec) *echo {
		return &echo{clock: spec.Clock, submit: func([]Op) (int, error) { return 0, errBroken }}
	})
	spec := short()
	spec.Common.Warmup = time.Hour
	result, err := opened(t, f, spec, Env{}).Measure(t.Context(), nil)
	if !errors.Is(err, errBroken) || !strings.Contains(err.Error(), "into its warm-up of 1h0m0s") {
		t.Errorf("error %v", err)
	}
	if l := result.Load; l.Window.Seconds != 0 || !l.Ledger.Closes() || l.Ledger.Completed != 0 {
		t.Errorf("window %+v, ledger %+v", l.Window, l.Ledger)
	}
}

func TestFaultyEnginesAreFoundOut(t *testing.T) {
	for _, c := range []struct {
		name  string
		spoil func(back []Completion) []Completion // of one reaping that has some
		gate  string                               // of a hard warning
		error string
	}{
		{"loses an operation", func(back []Completion) []Completion { return back[1:] }, "operations-lost", ""},
		{"gives one back twice", func(back []Completion) []Completion {
			return slices.Repeat(back[:1], 9)
		}, "", "more operations than it took"},
		{"a kind that it does not have", func(back []Completion) []Completion {
			back[0].Kind = 3
			return back
		}, "engine-contract", ""},
		{"a stamp before the operation", func(back []Completion) []Completion {
			back[0].Done = back[0].Sent - 10
			return back
		}, "engine-contract", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			f := batched(func(spec Spec) *echo {
				n := 0
				return &echo{clock: spec.Clock, delay: 8 * time.Millisecond, reap: func(back []Completion) ([]Completion, error) {
					if len(back) > 0 {
						n++
					}
					if n != 2 || len(back) == 0 {
						return back, nil
					}
					n++
					return c.spoil(back), nil
				}}
			})
			f.shape.InFlight = 4
			spec := short()
			spec.Common.Warmup = 0
			result, err := opened(t, f, spec, Env{}).Measure(t.Context(), nil)
			if c.error == "" && err != nil || c.error != "" && (err == nil || !strings.Contains(err.Error(), c.error)) {
				t.Errorf("error %v, want %q", err, c.error)
			}
			if c.gate != "" && !slices.Contains(gates(result), c.gate) {
				t.Errorf("warnings %+v, want %s", result.Warnings, c.gate)
			}
			if c.gate != "operations-lost" && result.Load.Ledger.Closes() {
				t.Errorf("the ledger closes: %+v", result.Load.Ledger)
			}
		})
	}
}
