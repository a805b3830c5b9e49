package net

import (
	"bakeoff/engine/net/flow"
	"bakeoff/load"
)

// datagramWorker is one UDP socket in one direction, many datagrams at a time.
type datagramWorker struct {
	*base
	sender   *flow.DatagramSender
	receiver *flow.DatagramReceiver
	kind     uint8
	pending  queue
	credit   int  // datagrams that came before they were asked for
	heard    bool // something has come
}

func newDatagramWorker(b *base) (*datagramWorker, error) {
	w := &datagramWorker{base: b, kind: kindReceive}
	d := b.s.datagrams()
	d.Format, d.Six = b.s.peer.format(), b.s.six()
	var err error
	if b.e.Sender {
		w.kind = kindSend
		w.sender, err = flow.NewDatagramSender(b.conn, d, &b.e.Meter)
	} else {
		w.receiver, err = flow.NewDatagramReceiver(b.conn, d, b.clock, &b.e.Meter)
	}
	w.pending.ops = make([]load.Op, d.PerCall())
	w.pending.room = d.PerCall()
	return w, err
}

// Submit takes as many datagrams as a system call can move.
func (w *datagramWorker) Submit(ops []load.Op) (int, error) {
	for i := range ops {
		if !w.pending.push(&ops[i]) {
			return i, nil
		}
	}
	return len(ops), w.start()
}

// Reap moves datagrams once there are some to move.
func (w *datagramWorker) Reap(dst []load.Completion, until int64) ([]load.Completion, error) {
	if w.pending.count == 0 {
		return dst, w.idle(until)
	}
	had := len(dst)
	for {
		n, bytes, err := w.move(until > 0)
		now := w.clock.Now()
		if (err != nil || n == 0 && w.receiver != nil) && w.s.peer.ending() {
			return w.flush(dst, now, load.Dropped, nil), nil
		}
		if err != nil {
			err = w.lost(err)
			return w.flush(dst, now, load.Failed, err), err
		}
		dst = w.complete(dst, n, bytes, now)
		if oldest := w.pending.oldest(); oldest != nil && now-oldest.Sent > w.s.c.timeout {
			dst = w.flush(dst, now, load.TimedOut, nil)
		}
		if len(dst) > had || now >= until {
			return dst, nil
		}
	}
}

// move sends or receives once.
func (w *datagramWorker) move(wait bool) (n int, bytes uint64, err error) {
	if err := w.tick(w.clock.Now()); err != nil {
		return 0, 0, err
	}
	if w.sender != nil {
		n, err = w.sender.Send(w.pending.count, w.clock.Now(), wait)
		return n, uint64(n) * uint64(w.s.c.test.Block), err
	}
	if w.credit >= w.pending.count {
		wait = false // enough is here already
	}
	n, bytes, err = w.receiver.Receive(wait)
	switch {
	case n > 0:
		w.heard = true
	case err == nil && wait:
		err = w.nudge()
	}
	w.credit += n
	n = min(w.credit, w.pending.count)
	w.credit -= n
	return n, bytes, err
}

// nudge tells the server once more to send while nothing has come, and sees
// whether it is still there.
func (w *datagramWorker) nudge() error {
	if err := w.silent(); err != nil {
		return err
	}
	if w.heard {
		return nil
	}
	return w.s.peer.start(w.i, w.conn)
}

// complete gives back n operations, from the oldest on. The bytes stand with
// the first.
func (w *datagramWorker) complete(dst []load.Completion, n int, bytes uint64, now int64) []load.Completion {
	for n > 0 {
		op, k := w.pending.pop(n)
		c := load.Completion{Intended: op.Intended, Sent: op.Sent, Done: now, Count: uint32(k), Slot: -1, Items: uint32(k), Kind: w.kind}
		if w.kind == kindSend {
			c.BytesOut = bytes
		} else {
			c.BytesIn = bytes
		}
		dst = append(dst, c)
		n, bytes = n-k, 0
	}
	return dst
}

// flush gives back all that is pending.
func (w *datagramWorker) flush(dst []load.Completion, now int64, status load.OpStatus, err error) []load.Completion {
	for w.pending.count > 0 {
		op, k := w.pending.pop(w.pending.count)
		dst = append(dst, load.Completion{Intended: op.Intended, Sent: op.Sent, Done: now, Count: uint32(k), Slot: -1, Kind: w.kind, Status: status, Err: err})
	}
	return dst
}

// Close frees what the worker holds.
func (w *datagramWorker) Close() error {
	if w.sender != nil {
		_ = w.sender.Close() // it only frees memory
	}
	if w.receiver != nil {
		_ = w.receiver.Close()
	}
	return w.base.Close()
}

// queue holds operations in order, those with the same stamps together.
type queue struct {
	ops         []load.Op // a ring
	first, many int
	count       int // operations in it
	room        int // operations that it takes at most
}

// push takes an operation whole, or not at all where there is no room.
func (q *queue) push(op *load.Op) bool {
	if q.count+int(op.Count) > q.room {
		return false
	}
	q.count += int(op.Count)
	if q.many > 0 {
		last := &q.ops[(q.first+q.many-1)%len(q.ops)]
		if last.Intended == op.Intended && last.Sent == op.Sent {
			last.Count += op.Count
			return true
		}
	}
	q.ops[(q.first+q.many)%len(q.ops)] = *op
	q.many++
	return true
}

// oldest is the operation that waits the longest; nil where there is none.
func (q *queue) oldest() *load.Op {
	if q.many == 0 {
		return nil
	}
	return &q.ops[q.first]
}

// pop takes up to n of the oldest operations, all with the same stamps.
func (q *queue) pop(n int) (load.Op, int) {
	op := q.ops[q.first]
	n = min(n, int(op.Count))
	q.count -= n
	if q.ops[q.first].Count -= uint32(n); q.ops[q.first].Count == 0 {
		q.first = (q.first + 1) % len(q.ops)
		q.many--
	}
	return op, n
}
