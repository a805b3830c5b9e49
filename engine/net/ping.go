package net

import (
	"sync/atomic"
	"time"

	"bakeoff/engine/net/flow"
	"bakeoff/hist"
	"bakeoff/load"
)

// pingWorker is one connection on which messages go there and back, one at a
// time.
type pingWorker struct {
	*base
	pinger *flow.Pinger
	op     load.Op
	busy   bool
	failed error
	spun   atomic.Int64 // ns that polls took that found nothing
}

func newPingWorker(b *base) (*pingWorker, error) {
	w := &pingWorker{base: b}
	b.trips = new(hist.Histogram)
	var err error
	w.pinger, err = flow.NewPinger(b.conn, b.e.Stream, b.s.c.test.Block, &b.e.Meter)
	return w, err
}

// Submit sends a message.
func (w *pingWorker) Submit(ops []load.Op) (int, error) {
	if w.busy || len(ops) == 0 {
		return 0, nil
	}
	w.op, w.busy = ops[0], true
	if w.pinger.Broken() {
		w.failed = errStuck
		return 1, nil
	}
	w.failed = w.pinger.Begin()
	return 1, nil
}

// Reap waits for the message to come back.
func (w *pingWorker) Reap(dst []load.Completion, until int64) ([]load.Completion, error) {
	if !w.busy {
		return dst, w.idle(until)
	}
	now, began := w.clock.Now(), int64(0)
	if w.s.c.test.Spin {
		began = now
	}
	for {
		var done bool
		err := w.failed
		if err == nil {
			err = w.tick(now)
		}
		if err == nil {
			done, err = w.pinger.Poll(until > 0 && began == 0)
		}
		now = w.clock.Now()
		if done {
			return w.complete(dst, began, now, load.OK, nil), nil
		}
		if err == nil && now-w.op.Sent > w.s.c.timeout {
			w.pinger.Abandon()
			return w.complete(dst, began, now, load.TimedOut, nil), nil
		}
		if err != nil {
			err = w.lost(err)
			return w.complete(dst, began, now, load.Failed, err), err
		}
		if now >= until {
			w.spent(began, now)
			return dst, nil
		}
	}
}

// spent notes the time that polls took which found nothing.
func (w *pingWorker) spent(began, now int64) {
	if began > 0 {
		w.spun.Add(now - began)
	}
}

func (w *pingWorker) complete(dst []load.Completion, began, now int64, status load.OpStatus, err error) []load.Completion {
	w.busy = false
	w.spent(began, now)
	c := load.Completion{Intended: w.op.Intended, Sent: w.op.Sent, Done: now, Count: 1, Slot: w.op.Slot, Kind: kindPing, Status: status, Err: err}
	if status == load.OK {
		size := uint64(w.s.c.test.Block)
		c.Items, c.BytesIn, c.BytesOut = 1, size, size
		if w.s.open <= w.op.Sent && w.op.Sent < w.s.close {
			w.trips.Record(now - w.op.Sent)
		}
	}
	return append(dst, c)
}

// Spin is the CPU that was spent on polls that found nothing.
func (w *pingWorker) Spin() time.Duration { return time.Duration(w.spun.Load()) }

// Close frees what the worker holds.
func (w *pingWorker) Close() error {
	_ = w.pinger.Close() // it only frees memory
	return w.base.Close()
}
