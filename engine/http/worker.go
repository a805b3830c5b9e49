package http

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"math/bits"
	"sync"
	"time"

	"bakeoff/load"
	"bakeoff/load/dial"
	"bakeoff/load/gather"
	"bakeoff/load/gen"
	"bakeoff/load/ring"
)

// worker is a load.Batcher: some connections on one thread.
type worker struct {
	c     *config
	s     *session
	clock *load.Clock
	loop  *ring.Loop
	wait  *gather.Waiter
	stamp int64 // clock nanoseconds at which the kernel received what is being handled; 0: unknown
	conns []*conn
	free  int // operations that the connections have room for
	turn  int // which connection to try first for an operation without a slot
	draw  chooser

	touched []*conn           // those to seal before sending
	owing   []*conn           // those whose next operation fails for what came unasked
	out     []load.Completion // what Reap gives back
	errs    statusErrors

	nextScan int64 // clock nanoseconds of the next look for operations timed out
	down     int   // connections that are not up
	absence  dial.Absence
	dials    *dial.Dialer[*conn, dial.Link]
}

// newWorker opens worker i of n with its connections.
func newWorker(ctx context.Context, s *session, i, n int) (_ *worker, err error) {
	c := s.c
	first, last := gen.Share(uint64(c.connections), i, n)
	count := int(last - first)
	random := gen.NewRand(c.spec.Seed, gen.Stream{Instance: uint8(c.spec.Instance), Worker: uint16(i), Purpose: gen.PurposeMix})
	w := &worker{c: c, s: s, clock: c.spec.Clock, nextScan: math.MinInt64, draw: newChooser(c, random, i, n)}
	w.loop, err = ring.New(ring.Config{Backend: c.io, Conns: count, BufferSize: c.buffer, Raw: true, Stamps: c.gather.Lazy(), Discards: c.discard})
	if err != nil {
		return nil, err
	}
	w.wait = gather.New(c.gather, w.loop, w.clock)
	w.dials = dial.New(func(ctx context.Context, _ *conn) (dial.Link, error) { return s.dial(ctx) }, w.loop.Wake, count, &s.outage.Attempts)
	if err := w.connect(ctx, count); err != nil {
		return nil, errors.Join(err, w.Close())
	}
	return w, nil
}

// connect opens the connections, several at a time.
func (w *worker) connect(ctx context.Context, count int) error {
	links := make([]dial.Link, count)
	errs := make([]error, count)
	limit := make(chan struct{}, 32)
	var all sync.WaitGroup
	for i := range links {
		limit <- struct{}{}
		all.Go(func() {
			links[i], errs[i] = w.s.dial(ctx)
			<-limit
		})
	}
	all.Wait()
	for i := range links {
		w.conns = append(w.conns, w.newConn(int32(i)))
		if errs[i] != nil {
			errs[i] = fmt.Errorf("connection %d of %d: %w", i+1, count, errs[i])
			continue
		}
		if err := w.up(w.conns[i], links[i]); err != nil {
			return err
		}
	}
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}

func (w *worker) newConn(slot int32) *conn {
	w.down++
	w.free += w.c.pipeline
	return &conn{slot: slot, queue: make([]operation, 1<<bits.Len(uint(w.c.pipeline-1))), answer: response{sums: w.c.sums()}}
}

// up puts a new link to use and sends what waited for it.
func (w *worker) up(c *conn, l dial.Link) error {
	rc, err := w.loop.Add(l.FD)
	if err != nil {
		return errors.Join(err, l.Close())
	}
	rc.Tag = int(c.slot)
	c.again.Opened()
	c.ring, c.sealed, c.budget = rc, l.Sealed, w.c.budget
	if c.since != 0 {
		w.s.outage.End(c.since, w.clock.Now())
		c.since = 0
	}
	w.down--
	w.sendWaiting(c)
	return nil
}

func (w *worker) sendWaiting(c *conn) {
	for c.owed == nil && c.sent != c.tail && c.budget > 0 {
		w.send(c, c.at(c.sent))
	}
}

// send puts the next operation on the wire.
func (w *worker) send(c *conn, o *operation) {
	c.sent++
	c.budget--
	out := c.output()
	*out = append(*out, o.what.bytes...)
	if c.sealed == nil {
		w.loop.Send(c.ring)
	} else if !c.touched {
		c.touched = true
		w.touched = append(w.touched, c)
	}
}

// Submit takes operations.
func (w *worker) Submit(ops []load.Op) (int, error) {
	for i := range ops {
		op := &ops[i]
		if int(op.Count) > w.free {
			return i, nil
		}
		for range op.Count {
			w.take(w.choose(op.Slot), op)
		}
	}
	return len(ops), nil
}

// choose returns the connection of a slot or, where that is full or there is
// none, one of the least busy, beginning after the last one used.
func (w *worker) choose(slot int32) *conn {
	if slot >= 0 && int(slot) < len(w.conns) && w.conns[slot].busy() < w.c.pipeline {
		return w.conns[slot]
	}
	best := w.conns[w.turn]
	for range w.conns {
		c := w.conns[w.turn]
		if w.turn++; w.turn == len(w.conns) {
			w.turn = 0
		}
		if c.busy() == 0 {
			return c
		}
		if c.busy() < best.busy() {
			best = c
		}
	}
	return best
}

func (w *worker) take(c *conn, op *load.Op) {
	w.free--
	o := c.push(op, w.draw.next())
	if c.owed != nil {
		return // it fails before it is sent
	}
	if c.ring != nil && c.sent == c.tail-1 && c.budget > 0 {
		w.send(c, o)
	} else if c.ring != nil && c.spent() {
		w.renew(c)
	}
}

// Reap sends what is buffered and gives back what completed.
func (w *worker) Reap(dst []load.Completion, until int64) ([]load.Completion, error) {
	had := len(dst)
	w.out = dst
	for {
		now := w.clock.Now()
		wake := w.look(now)
		if err := w.gone(now); err != nil {
			return w.out, err
		}
		w.payUp()
		w.seal()
		wait := max(min(until, wake)-now, 0)
		if len(w.out) > had {
			wait = 0
		}
		events, err := w.wait.Wait(time.Duration(wait))
		for i := range events {
			w.handle(&events[i])
		}
		if err != nil || len(w.out) > had || until == 0 || w.clock.Now() >= until {
			out := w.out
			w.out = nil
			return out, err
		}
	}
}

// seal encrypts what is to be sent.
func (w *worker) seal() {
	for _, c := range w.touched {
		c.touched = false
		if c.ring == nil {
			continue
		}
		var err error
		if c.ring.Out, err = c.sealed.Seal(c.ring.Out); err != nil {
			w.lost(c, fmt.Errorf("sealing a record: %w", err))
			continue
		}
		w.loop.Send(c.ring)
	}
	w.touched = w.touched[:0]
}

func (w *worker) handle(e *ring.Event) {
	c := w.conns[e.Conn.Tag]
	if c.ring != e.Conn {
		return // of a connection that was closed while these events were handled
	}
	w.stamp = w.wait.Stamp(e)
	err := e.Err
	if errors.Is(err, io.EOF) && c.sealed != nil && c.answer.state == untilClose {
		err = errCut
	}
	if err == nil && c.sealed != nil {
		err = w.unseal(c, e.Data)
	} else if err == nil {
		err = w.receive(c, e.Data, e.Discarded)
	}
	switch {
	case errors.Is(err, io.EOF):
		w.ended(c)
	case errors.Is(err, errUnasked) && c.idle():
		w.lost(c, err)
		c.owed = err
		w.owing = append(w.owing, c)
	case err != nil:
		w.lost(c, err)
	case c.spent():
		w.renew(c)
	}
}

// unseal takes in what is in the records received. The last of it may come
// together with the end of the connection.
func (w *worker) unseal(c *conn, data []byte) (err error) {
	c.ring.Out, err = c.sealed.Open(data, c.ring.Out, func(b []byte) error { return w.receive(c, b, 0) })
	w.loop.Send(c.ring)
	return err
}

// receive takes in a chunk of answers, or that so many bytes of one were thrown away.
func (w *worker) receive(c *conn, data []byte, discarded int) error {
	if discarded > 0 && c.answer.discarded(discarded) {
		w.answered(c)
	}
	for len(data) > 0 {
		if c.idle() {
			return errUnasked
		}
		used, done, err := c.answer.next(data, c.at(c.head).what.method == "HEAD")
		if err != nil {
			return fmt.Errorf("the target does not speak HTTP/1.1: %w", err)
		}
		data = data[used:]
		if !done {
			break
		}
		w.answered(c)
	}
	if w.c.discard {
		c.ring.Discard = c.answer.ahead()
	}
	return nil
}

// answered books the answer in hand on the operation that it belongs to.
func (w *worker) answered(c *conn) {
	a := &c.answer
	status, err := w.judge(c.at(c.head).what, a)
	if a.close {
		c.budget = 0
	}
	w.complete(c, status, a.got, err)
	a.begin()
}

// judge says whether an answer is right.
func (w *worker) judge(what *request, a *response) (load.OpStatus, error) {
	switch {
	case !w.c.right(a.status):
		return load.Failed, w.errs.of(a.status)
	case what.known && a.length != what.length:
		return load.Failed, errLength
	case what.known && a.sums != nil && a.sum != what.sum:
		return load.Failed, errContent
	}
	return load.OK, nil
}

// payUp fails the next operation of each connection that brought what nothing had
// asked for, while no operation was on it: a fault of the target that is not to go
// uncounted.
func (w *worker) payUp() {
	kept := w.owing[:0]
	for _, c := range w.owing {
		if c.head == c.tail {
			kept = append(kept, c)
			continue
		}
		err := c.owed
		c.owed = nil
		w.fail(c, c.head+1, load.Failed, err)
		if c.ring != nil {
			w.sendWaiting(c)
		}
	}
	w.owing = kept
}

var (
	errCut     = errors.New("the target closed the connection without an end of TLS (close_notify): the answer may be cut off (RFC 9112 section 9.8)")
	errUnasked = errors.New("the target sent bytes that nothing asked for")

	errLength  = errors.New("an answer is not as long as it was before the load")
	errContent = errors.New("an answer's content is not what it was before the load")
)

// complete ends the first operation of a connection.
func (w *worker) complete(c *conn, status load.OpStatus, in uint64, err error) {
	o := c.at(c.head)
	done := load.Completion{Intended: o.intended, Sent: o.sent, Count: 1, Slot: c.slot, Kind: o.what.kind, Status: status, BytesIn: in, Err: err}
	if int32(c.sent-c.head) > 0 {
		done.BytesOut = uint64(len(o.what.bytes))
	} else {
		c.sent++
	}
	if status == load.OK {
		done.Items = 1
		c.again.Answered()
	}
	if w.stamp != 0 {
		done.Done = max(w.stamp, o.sent)
	}
	w.out = append(w.out, done)
	c.head++
	w.free++
}

// statusErrors makes one error a status, so that a target which refuses
// everything costs no allocation an answer.
type statusErrors struct{ known [600]error }

func (e *statusErrors) of(status int) error {
	if status >= len(e.known) {
		return errors.New("the target answered with a status above 599")
	}
	if e.known[status] == nil {
		e.known[status] = statusError(status)
	}
	return e.known[status]
}

// statusError is an answer with a status that is not right; each is counted by itself.
type statusError int

func (e statusError) Error() string      { return fmt.Sprintf("the target answered with status %d", int(e)) }
func (e statusError) ErrorClass() string { return e.Error() }

// Close closes the connections and stops those that are being opened.
func (w *worker) Close() error {
	w.dials.Stop()
	return w.loop.Close()
}

// Assistance is the CPU that connecting took on other threads.
func (w *worker) Assistance() (user, system time.Duration) { return w.dials.Assistance() }
