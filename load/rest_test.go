package load

import (
	"context"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"
)

func TestRestsEndInOrder(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		ends := rapid.SliceOf(rapid.Int64Range(0, 1000)).Draw(t, "ends")
		var h rests
		for i, end := range ends {
			h.add(rest{end, int32(i)})
		}
		now := rapid.Int64Range(0, 1000).Draw(t, "now")
		var got []int64
		for {
			wake := h.wake()
			slot, ok := h.take(now)
			if !ok {
				if len(h) > 0 && wake <= now {
					t.Fatalf("the next pause ends at %d, and is not over at %d", wake, now)
				}
				break
			}
			if ends[slot] != wake {
				t.Fatalf("slot %d pauses until %d, expected %d", slot, ends[slot], wake)
			}
			got = append(got, ends[slot])
		}
		slices.Sort(ends)
		over, _ := slices.BinarySearch(ends, now+1)
		if !slices.Equal(got, ends[:over]) {
			t.Fatalf("found pauses that ended at %v, expected %v", got, ends[:over])
		}
	})
}

// pausing is a worker of either contract whose users pause.
type pausing struct {
	echo
	script
	pause time.Duration
	asked []int // a slot: how often
}

func (p *pausing) Pauses() bool { return true }

func (p *pausing) Pause(slot int32) time.Duration {
	p.asked[slot]++
	return p.pause
}

func (*pausing) Close() error { return nil }

func TestPausesAreNoPartOfAnOperation(t *testing.T) {
	const slots, pause, work = 3, 20 * time.Millisecond, time.Millisecond
	for _, contract := range []Contract{Batched, Blocking} {
		var workers []*pausing
		f := &fake{shape: Shape{Contract: contract, InFlight: slots}}
		if contract == Blocking {
			f.shape = Shape{Contract: contract, Workers: slots, InFlight: 1}
		}
		f.worker = func(spec Spec, _ int) (Worker, error) {
			w := &pausing{pause: pause, asked: make([]int, slots), echo: echo{clock: spec.Clock, delay: work}, script: script{delay: work}}
			w.echo.submit = func(ops []Op) (int, error) {
				for _, op := range ops {
					if op.Slot < 0 || op.Count != 1 {
						t.Errorf("%d operations of slot %d, want one of a slot", op.Count, op.Slot)
					}
				}
				return len(ops), nil
			}
			workers = append(workers, w)
			return w, nil
		}
		spec := short()
		spec.Common.Warmup, spec.Common.Window = 50*time.Millisecond, 400*time.Millisecond
		r, err := opened(t, f, spec, Env{}).Measure(t.Context(), nil)
		if err != nil {
			t.Fatal(err)
		}
		l := r.Load.Ledger
		most := uint64(slots * (spec.Common.Window/(pause+work) + 1))
		if !l.Closes() || l.Completed == 0 || l.Completed > most {
			t.Errorf("%s: ledger %+v, want up to %d operations completed", contract, l, most)
		}
		// The host may hold a worker up; most operations take their own time.
		if h := mergedLog(t, r, "all", "service"); h.Quantile(0.25) >= int64(pause) {
			t.Errorf("%s: service time p25 %v with operations of %v: the pauses are in it", contract, time.Duration(h.Quantile(0.25)), work)
		}
		asked := 0
		for _, w := range workers {
			for _, n := range w.asked {
				asked += n
			}
		}
		if back := int(l.Completed); asked < back {
			t.Errorf("%s: asked for %d pauses before %d operations", contract, asked, back)
		}
	}
}

func TestAnOpenLoopDoesNotPause(t *testing.T) {
	f := blocking(1, nil)
	f.worker = func(Spec, int) (Worker, error) {
		return &pausing{pause: time.Hour, script: script{do: func(context.Context, *Op) error { return nil }}}, nil
	}
	spec := short()
	spec.Common.Rate = 1000
	r, err := opened(t, f, spec, Env{}).Measure(t.Context(), nil)
	if err != nil || r.Load.Ledger.Completed == 0 {
		t.Errorf("%d operations completed, %v; want the rate, without pauses", r.Load.Ledger.Completed, err)
	}
}
