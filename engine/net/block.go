package net

import (
	"errors"

	"golang.org/x/sys/unix"

	"bakeoff/engine/net/flow"
	"bakeoff/load"
	"bakeoff/load/gen"
)

// blockWorker is one connection with reads and writes of blocks at a depth.
type blockWorker struct {
	*base
	client *flow.BlockClient
	mix    *gen.Rand
	ops    []load.Op // a ring, in the order of the answers
	first  int
	many   int
	out    []load.Completion
	open   bool // the load is an open loop, which must wake up in time
}

func newBlockWorker(b *base) (*blockWorker, error) {
	c := b.s.c
	w := &blockWorker{base: b, ops: make([]load.Op, c.depth), open: c.spec.Common.Rate > 0 || len(c.spec.Common.Steps) > 0}
	w.mix = gen.NewRand(c.spec.Seed, gen.Stream{Instance: uint8(c.spec.Instance), Worker: uint16(b.i), Purpose: gen.PurposeMix})
	var err error
	w.client, err = flow.NewBlockClient(b.conn, c.test.Block, c.depth, c.test.Discard, &b.e.Meter)
	return w, err
}

// write draws what the next operation is.
func (w *blockWorker) write() bool {
	switch w.s.c.op {
	case "read":
		return false
	case "write":
		return true
	}
	return w.mix.Float() >= w.s.c.reads
}

// Submit queues requests.
func (w *blockWorker) Submit(ops []load.Op) (int, error) {
	for i := range ops {
		if w.many+int(ops[i].Count) > len(w.ops) {
			return i, nil
		}
		for range ops[i].Count {
			op := ops[i]
			op.Count, op.Kind = 1, kindRead
			write := w.write()
			if write {
				op.Kind = kindWrite
			}
			w.client.Request(write)
			w.ops[(w.first+w.many)%len(w.ops)] = op
			w.many++
		}
	}
	return len(ops), nil
}

// Reap sends what is queued and takes answers.
func (w *blockWorker) Reap(dst []load.Completion, until int64) ([]load.Completion, error) {
	if w.many == 0 {
		return dst, w.idle(until)
	}
	had := len(dst)
	w.out = dst
	for {
		err := w.tick(w.clock.Now())
		if err == nil {
			err = w.turn(until)
		}
		now := w.clock.Now()
		if err == nil && w.many > 0 && now-w.ops[w.first].Sent > w.s.c.timeout {
			w.flush(load.TimedOut, nil)
			err = errStuck
		}
		if err != nil {
			err = w.lost(err)
			w.flush(load.Failed, err)
			return w.out, err
		}
		if len(w.out) > had || now >= until {
			return w.out, nil
		}
	}
}

var errStuck = errors.New("it is stuck: an operation was not over within op_timeout")

// turn sends what there is room for, and receives once.
func (w *blockWorker) turn(until int64) error {
	if err := w.client.Push(); err != nil {
		return err
	}
	if !w.client.Out() && !w.open && until > 0 {
		return w.client.Pull(true, w.done)
	}
	watch := int16(unix.POLLIN)
	if w.client.Out() {
		watch |= unix.POLLOUT
	}
	events, err := w.conn.Poll(watch, until-w.clock.Now())
	if err != nil || events&^unix.POLLOUT == 0 {
		return err
	}
	return w.client.Pull(false, w.done)
}

func (w *blockWorker) done(write bool) {
	c := w.pop()
	size := uint64(w.s.c.test.Block)
	if c.Items = 1; write {
		c.BytesOut = size
	} else {
		c.BytesIn = size
	}
	w.out = append(w.out, c)
}

func (w *blockWorker) pop() load.Completion {
	op := w.ops[w.first]
	w.first = (w.first + 1) % len(w.ops)
	w.many--
	return load.Completion{Intended: op.Intended, Sent: op.Sent, Count: 1, Slot: op.Slot, Kind: op.Kind}
}

// flush gives back all that was not answered.
func (w *blockWorker) flush(status load.OpStatus, err error) {
	for w.many > 0 {
		c := w.pop()
		c.Status, c.Err = status, err
		w.out = append(w.out, c)
	}
}

// Close frees what the worker holds.
func (w *blockWorker) Close() error {
	_ = w.client.Close() // it only frees memory
	return w.base.Close()
}
