package load

import (
	"context"
	"errors"
	"testing"
	"time"
)

// waiting is a user who works only once a channel is closed.
type waiting struct {
	script
	ready <-chan struct{}
}

func (w *waiting) Wait(ctx context.Context) error {
	select {
	case <-w.ready:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// TestUsersWaitForOneAnother: what a user waits is no part of its operations.
func TestUsersWaitForOneAnother(t *testing.T) {
	const work = 50 * time.Millisecond
	ready := make(chan struct{})
	f := &fake{shape: Shape{Contract: Blocking, Workers: 2, InFlight: 1, Done: true}}
	f.worker = func(_ Spec, i int) (Worker, error) {
		once := false
		first := func(ctx context.Context, op *Op) error {
			if once {
				close(ready)
				return ErrDone
			}
			once = true
			time.Sleep(work)
			return nil
		}
		second := func(context.Context, *Op) error {
			if once {
				return ErrDone
			}
			once = true
			return nil
		}
		if i == 0 {
			closed := make(chan struct{})
			close(closed)
			return &waiting{script{do: first}, closed}, nil
		}
		return &waiting{script{do: second}, ready}, nil
	}
	r, err := opened(t, f, short(), Env{}).Measure(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	if h := mergedLog(t, r, "all", "service"); h.Count() != 2 || h.Min() >= int64(work) {
		t.Errorf("%d operations, the shortest of %v: the wait for %v is in it", h.Count(), time.Duration(h.Min()), work)
	}
}

// TestWaitingEndsWithTheWork: users that wait for ever are released when the
// measurement is cancelled.
func TestWaitingEndsWithTheWork(t *testing.T) {
	f := &fake{shape: Shape{Contract: Blocking, Workers: 2, InFlight: 1, Done: true}}
	f.worker = func(Spec, int) (Worker, error) { return &waiting{ready: make(chan struct{})}, nil }
	ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	if _, err := opened(t, f, short(), Env{}).Measure(ctx, nil); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("found %v, want %v", err, context.DeadlineExceeded)
	}
}

// TestTheEnginesTimeoutActs: an engine's own timeout takes the place of the common one.
func TestTheEnginesTimeoutActs(t *testing.T) {
	f := blocking(1, func(ctx context.Context, _ *Op) error {
		<-ctx.Done()
		return ctx.Err()
	})
	f.shape.OpTimeout = 50 * time.Millisecond
	spec := short()
	spec.Common.OpTimeout = time.Hour
	r, err := opened(t, f, spec, Env{}).Measure(t.Context(), nil)
	if err != nil || r.Load.Ledger.TimedOut == 0 {
		t.Errorf("%d operations timed out, %v", r.Load.Ledger.TimedOut, err)
	}
	if got := r.Load.Parameters["op_timeout"]; got != "50ms" {
		t.Errorf("the record says op_timeout %q", got)
	}
}
