package net

import (
	"bakeoff/engine/net/flow"
	"bakeoff/load"
)

// blocks sends or receives a stream's blocks.
type blocks interface {
	Block(wait bool) (bool, error)
	Abandon()
	Close() error
}

// streamWorker is one TCP connection in one direction, a block at a time.
type streamWorker struct {
	*base
	blocks blocks
	adapt  func(now int64) // nil where nothing is to be adapted
	kind   uint8
	op     load.Op
	busy   bool
}

func newStreamWorker(b *base) (*streamWorker, error) {
	w := &streamWorker{base: b, kind: kindReceive}
	t := b.s.c.test
	var err error
	if b.e.Sender {
		w.kind = kindSend
		w.blocks, err = flow.NewStreamSender(b.conn, t.Block, t.ZeroCopy, &b.e.Meter)
	} else {
		var r *flow.StreamReceiver
		r, err = flow.NewStreamReceiver(b.conn, t.Block, t.Discard, &b.e.Meter)
		if w.blocks = r; t.LowWater {
			w.adapt = r.Adapt
		}
	}
	return w, err
}

// Submit takes one block.
func (w *streamWorker) Submit(ops []load.Op) (int, error) {
	if w.busy || len(ops) == 0 {
		return 0, nil
	}
	w.op, w.busy = ops[0], true
	return 1, w.start()
}

// Reap moves the block in hand.
func (w *streamWorker) Reap(dst []load.Completion, until int64) ([]load.Completion, error) {
	if !w.busy {
		return dst, w.idle(until)
	}
	for {
		var done bool
		err := w.tick(w.clock.Now())
		if err == nil {
			done, err = w.blocks.Block(until > 0)
		}
		now := w.clock.Now()
		if w.adapt != nil {
			w.adapt(now)
		}
		switch {
		case err != nil && w.s.peer.ending():
			return w.complete(dst, now, load.Dropped, nil), nil
		case err != nil:
			err = w.lost(err)
			return w.complete(dst, now, load.Failed, err), err
		case done:
			return w.complete(dst, now, load.OK, nil), nil
		case now-w.op.Sent > w.s.c.timeout:
			w.blocks.Abandon()
			return w.complete(dst, now, load.TimedOut, nil), nil
		case now >= until:
			return dst, nil
		}
	}
}

func (w *streamWorker) complete(dst []load.Completion, now int64, status load.OpStatus, err error) []load.Completion {
	w.busy = false
	c := load.Completion{Intended: w.op.Intended, Sent: w.op.Sent, Done: now, Count: 1, Slot: w.op.Slot, Kind: w.kind, Status: status, Err: err}
	if status == load.OK {
		c.Items = 1
		if w.kind == kindSend {
			c.BytesOut = uint64(w.s.c.test.Block)
		} else {
			c.BytesIn = uint64(w.s.c.test.Block)
		}
	}
	return append(dst, c)
}

// Close frees what the worker holds.
func (w *streamWorker) Close() error {
	if err := w.blocks.Close(); err != nil {
		return err
	}
	return w.base.Close()
}
