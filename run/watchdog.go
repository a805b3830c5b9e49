package run

import (
	"context"
	"fmt"
	"sync"
	"time"

	"bakeoff/internal/osenv"
)

// A watchdog cancels work that shows no progress, or takes longer in all than
// it may.
type watchdog struct {
	clock osenv.Clock
	stall time.Duration // without a sign of life; 0: none is asked for
	limit time.Duration // in all; 0: none
	what  string

	mu    sync.Mutex
	alive time.Time
}

// sign notes a sign of life.
func (w *watchdog) sign() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.alive = w.clock.Now()
}

// guard runs fn with a context that is cancelled, with the reason as its cause,
// when the time is up. It returns when fn does.
func (w *watchdog) guard(ctx context.Context, fn func(context.Context) error) error {
	ctx, cancel := context.WithCancelCause(ctx)
	began := w.clock.Now()
	w.sign()
	watching := make(chan struct{})
	go func() {
		defer close(watching)
		cancel(w.watch(ctx, began))
	}()
	err := fn(ctx)
	late := context.Cause(ctx)
	cancel(nil)
	<-watching
	if late != nil && err != nil {
		return late
	}
	return err
}

// watch returns why the work must end; nil once the context is done.
func (w *watchdog) watch(ctx context.Context, began time.Time) error {
	for {
		now := w.clock.Now()
		w.mu.Lock()
		quiet, total := now.Sub(w.alive), now.Sub(began)
		w.mu.Unlock()
		left := time.Hour
		if w.stall > 0 {
			left = min(left, w.stall-quiet)
		}
		if w.limit > 0 {
			left = min(left, w.limit-total)
		}
		switch {
		case w.stall > 0 && quiet >= w.stall:
			return fmt.Errorf("%s showed no progress for %s", w.what, w.stall)
		case w.limit > 0 && total >= w.limit:
			return fmt.Errorf("%s took longer than %s", w.what, w.limit)
		}
		if w.clock.Sleep(ctx, left) != nil {
			return nil
		}
	}
}
