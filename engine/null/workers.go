package null

import (
	"context"
	"time"

	"golang.org/x/sys/unix"

	"bakeoff/internal/osenv"
	"bakeoff/load"
)

// batcher gives operations back when they are due.
type batcher struct {
	worker
	clock   *load.Clock
	instant bool // nothing takes any time
	done    []load.Completion
	waiting pending
}

func (b *batcher) Submit(ops []load.Op) (int, error) {
	for i := range ops {
		op := &ops[i]
		if !b.claim(int64(op.Count)) {
			return i, load.ErrDone
		}
		c := load.Completion{
			Intended: op.Intended, Sent: op.Sent, Count: op.Count, Slot: op.Slot, Items: op.Count,
			Kind: b.kind(), Status: b.fate(),
		}
		if c.Status == load.Failed {
			c.Err = errRefused
		}
		switch {
		case b.instant:
			b.done = append(b.done, c)
		case c.Status == load.TimedOut:
			c.Done = op.Sent + int64(b.s.spec.Common.OpTimeout)
			b.waiting.push(c)
		default:
			c.Done = op.Sent + b.takes()
			b.waiting.push(c)
		}
	}
	return len(ops), nil
}

func (b *batcher) Reap(dst []load.Completion, until int64) ([]load.Completion, error) {
	dst = append(dst, b.done...)
	b.done = b.done[:0]
	if b.instant {
		if len(dst) == 0 && until > 0 {
			b.sleep(until)
		}
		return dst, nil
	}
	dst = b.ripe(dst)
	if len(dst) == 0 && until > 0 {
		if len(b.waiting) > 0 {
			until = min(until, b.waiting[0].Done)
		}
		b.sleep(until)
		dst = b.ripe(dst)
	}
	return dst, nil
}

// ripe appends what is due by now.
func (b *batcher) ripe(dst []load.Completion) []load.Completion {
	now := b.clock.Now()
	for len(b.waiting) > 0 && b.waiting[0].Done <= now {
		dst = append(dst, b.waiting.pop())
	}
	return dst
}

// sleep waits until a moment of the clock, or a signal.
func (b *batcher) sleep(until int64) {
	if rest := until - b.clock.Now(); rest > 0 {
		ts := unix.NsecToTimespec(rest)
		_ = unix.Nanosleep(&ts, nil) // interrupted, it is called again
	}
}

func (b *batcher) Close() error { return nil }

// pending is a binary heap of completions by when they are due. It does not
// allocate once it has grown, as container/heap does at each step.
type pending []load.Completion

func (p *pending) push(c load.Completion) {
	*p = append(*p, c)
	h := *p
	for i := len(h) - 1; i > 0; {
		up := (i - 1) / 2
		if h[up].Done <= h[i].Done {
			return
		}
		h[up], h[i] = h[i], h[up]
		i = up
	}
}

func (p *pending) pop() load.Completion {
	h := *p
	first, last := h[0], len(h)-1
	h[0] = h[last]
	h = h[:last]
	*p = h
	for i := 0; ; {
		down := 2*i + 1
		if down >= last {
			return first
		}
		if down+1 < last && h[down+1].Done < h[down].Done {
			down++
		}
		if h[i].Done <= h[down].Done {
			return first
		}
		h[i], h[down] = h[down], h[i]
		i = down
	}
}

// doer takes the time that an operation takes.
type doer struct{ worker }

func (d *doer) Do(ctx context.Context, op *load.Op) error {
	if !d.claim(1) {
		return load.ErrDone
	}
	op.Kind, op.Items, op.Status = d.kind(), 1, d.fate()
	if op.Status == load.TimedOut {
		<-ctx.Done()
		return context.Cause(ctx)
	}
	if op.Status == load.Failed {
		op.Err = errRefused
	}
	if d.s.latency == 0 {
		return nil
	}
	return (osenv.System{}).Sleep(ctx, time.Duration(d.takes()))
}

func (d *doer) Close() error { return nil }
