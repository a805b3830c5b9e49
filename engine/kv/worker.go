package kv

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math"
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
	clock *load.Clock
	loop  *ring.Loop
	conns []*conn
	free  uint32 // operations that the connections have room for
	turn  int    // which connection to try first for an operation without a slot

	enc      encoder
	requests [kinds]*request
	mix      mixer
	quiet    bool // replies come a batch, see metaQuiet

	touched []*conn           // those to finish before sending
	out     []load.Completion // what Reap gives back
	acc     load.Completion   // completions alike, not yet in out
	errs    errorTexts

	wait  *gather.Waiter
	stamp int64 // clock nanoseconds at which the kernel received what is being handled; 0: unknown

	nextScan int64 // clock nanoseconds of the next look for operations timed out
	down     int   // connections that are not up
	absence  dial.Absence
	outage   *dial.Outage
	dials    *dial.Dialer[*conn, dial.Link]
}

// newWorker opens worker i of n with its connections.
func newWorker(ctx context.Context, c *config, i, n int, outage *dial.Outage) (_ *worker, err error) {
	first, last := gen.Share(uint64(c.connections), i, n)
	count := int(last - first)
	w := &worker{c: c, clock: c.spec.Clock, quiet: c.proto == metaQuiet, nextScan: math.MinInt64, outage: outage}
	if err := w.makeRequests(i, n); err != nil {
		return nil, err
	}
	w.loop, err = ring.New(ring.Config{Backend: c.io, Conns: count, BufferSize: c.bufferSize(), Raw: c.raw, Stamps: c.gather.Lazy()})
	if err != nil {
		return nil, err
	}
	w.wait = gather.New(c.gather, w.loop, w.clock)
	w.dials = dial.New(func(ctx context.Context, _ *conn) (dial.Link, error) { return c.dial(ctx) }, w.loop.Wake, count, &outage.Attempts)
	if err := w.connect(ctx, count); err != nil {
		return nil, errors.Join(err, w.Close())
	}
	return w, nil
}

func (w *worker) makeRequests(i, n int) error {
	c := w.c
	stream := func(p gen.Purpose) *gen.Rand {
		return gen.NewRand(c.spec.Seed, gen.Stream{Instance: uint8(c.spec.Instance), Worker: uint16(i), Purpose: p})
	}
	get, set := c.getKeys, c.setKeys
	get.Worker, get.Workers = i, n
	set.Worker, set.Workers = i, n
	gets, err := gen.NewKeys(get, stream(gen.PurposeKeys))
	if err != nil {
		return err
	}
	sets, err := gen.NewKeys(set, stream(gen.PurposeEngine))
	if err != nil {
		return err
	}
	w.requests = c.requests(gets, sets)
	w.mix = c.mixer(stream(gen.PurposeMix))
	w.enc = encoder{first: c.first, data: c.data, expiry: c.expiry, random: stream(gen.PurposeEngine + 1)}
	return nil
}

// bufferSize is what one receive should bring: a batch of replies, within reason.
func (c *config) bufferSize() int {
	reply := (c.data.sizes.Max() + 64) * c.multiGet
	return min(max(powerOfTwo(reply*c.pipeline), 4<<10), 64<<10)
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
			links[i], errs[i] = w.c.dial(ctx)
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
	return firstError(errs)
}

func firstError(errs []error) error {
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}

func (w *worker) newConn(slot int32) *conn {
	c := &conn{slot: slot, groups: make([]group, powerOfTwo(w.c.pipeline))}
	if w.c.verify {
		c.log = newKeyLog(w.c.pipeline * w.c.multiGet)
		c.check = &checker{data: w.c.data, prefix: w.c.prefix, first: w.c.first, log: c.log}
	}
	w.down++
	w.free += uint32(w.c.pipeline)
	return c
}

// up puts a new link to use and sends what waited for it.
func (w *worker) up(c *conn, l dial.Link) error {
	rc, err := w.loop.Add(l.FD)
	if err != nil {
		return errors.Join(err, l.Close())
	}
	rc.Tag = int(c.slot)
	c.again.Opened()
	c.ring, c.sealed, c.budget = rc, l.Sealed, w.c.reconnectEvery
	if w.c.reconnectEvery == 0 {
		c.budget = math.MaxUint64
	}
	if w.c.resp() {
		c.parser = newRESP(c.check)
	} else {
		c.parser = newMemcache(w.quiet, c.check)
	}
	w.down--
	if c.downSince != 0 {
		w.outage.End(c.downSince, w.clock.Now())
		c.downSince = 0
	}
	w.sendWaiting(c)
	return nil
}

func (w *worker) sendWaiting(c *conn) {
	for c.sent != c.tail {
		g := c.at(c.sent)
		if c.budget < uint64(g.left) {
			return
		}
		c.budget -= uint64(g.left)
		w.encode(c, g, g.left, true)
		c.sent++
	}
}

// Submit takes operations.
func (w *worker) Submit(ops []load.Op) (int, error) {
	for i := range ops {
		op := &ops[i]
		if op.Count > w.free {
			return i, nil
		}
		if op.Slot >= 0 && int(op.Slot) < len(w.conns) {
			if c := w.conns[op.Slot]; c.busy+op.Count <= uint32(w.c.pipeline) {
				w.take(c, op, op.Count)
				continue
			}
		}
		w.spread(op)
	}
	return len(ops), nil
}

// spread gives an operation to the connections that are the least busy,
// beginning after the last one used. Together they have room for it.
func (w *worker) spread(op *load.Op) {
	conns := uint32(len(w.conns))
	for left := op.Count; left > 0; {
		c := w.leastBusy()
		n := min(uint32(w.c.pipeline)-c.busy, (left+conns-1)/conns)
		w.take(c, op, n)
		left -= n
	}
}

func (w *worker) leastBusy() *conn {
	best := w.conns[w.turn]
	for range w.conns {
		c := w.conns[w.turn]
		if w.turn++; w.turn == len(w.conns) {
			w.turn = 0
		}
		if c.busy == 0 {
			return c
		}
		if c.busy < best.busy {
			best = c
		}
	}
	return best
}

// take puts n operations on a connection.
func (w *worker) take(c *conn, op *load.Op, n uint32) {
	w.free -= n
	for n > 0 {
		kind, k := w.mix.run(n)
		n -= k
		none := c.sent == c.tail // nothing waits, so the order holds if this is sent now
		now := none && c.ring != nil && c.budget >= uint64(k)
		join := now == none && !(w.quiet && now && !c.open)
		g, begun := c.push(op, kind, k, join)
		if now {
			c.sent = c.tail
			c.budget -= uint64(k)
			w.encode(c, g, k, begun)
		}
	}
	if c.ring != nil && c.spent() {
		w.renew(c)
	}
}

// quietEnd asks memcached to answer, which ends a batch of quiet commands.
const quietEnd = "mn\r\n"

// encode appends n requests of a group to the connection's output.
func (w *worker) encode(c *conn, g *group, n uint32, begun bool) {
	out := c.output()
	if w.quiet {
		if begun && c.open {
			*out = append(*out, quietEnd...)
		}
		c.open = true
	}
	w.enc.log = nil
	if g.kind == kindGet {
		w.enc.log = c.log
	}
	before := len(*out)
	*out = w.enc.append(*out, w.requests[g.kind], n)
	g.bytes += uint64(len(*out) - before)
	if !w.quiet && c.sealed == nil {
		w.loop.Send(c.ring)
		return
	}
	if !c.touched {
		c.touched = true
		w.touched = append(w.touched, c)
	}
}

// finish ends batches and seals records before they are sent.
func (w *worker) finish() {
	for _, c := range w.touched {
		c.touched = false
		if c.ring == nil {
			continue
		}
		if c.open {
			out := c.output()
			*out = append(*out, quietEnd...)
			c.open = false
		}
		if c.sealed != nil {
			var err error
			if c.ring.Out, err = c.sealed.Seal(c.ring.Out); err != nil {
				w.lost(c, fmt.Errorf("sealing a record: %w", err))
				continue
			}
		}
		w.loop.Send(c.ring)
	}
	w.touched = w.touched[:0]
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
		w.finish()
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

// look does what is due beside sending and receiving and returns when the next
// such thing is, in nanoseconds of the clock.
func (w *worker) look(now int64) int64 {
	if now >= w.nextScan {
		w.expire(now)
	}
	wake := w.nextScan
	if w.down > 0 {
		wake = min(wake, w.reconnect(now))
	}
	return wake
}

func (w *worker) handle(e *ring.Event) {
	c := w.conns[e.Conn.Tag]
	if c.ring != e.Conn {
		return // of a connection that was closed while these events were handled
	}
	w.stamp = w.wait.Stamp(e)
	err := e.Err
	if err == nil && c.sealed != nil {
		err = w.unseal(c, e.Data)
	} else if err == nil {
		err = w.receive(c, e.Data)
	}
	switch {
	case errors.Is(err, io.EOF):
		w.lost(c, errClosed)
	case err != nil:
		w.lost(c, err)
	case c.spent():
		w.renew(c)
	}
}

// unseal takes in what is in the records received. The last of it may come
// together with the end of the connection.
func (w *worker) unseal(c *conn, data []byte) (err error) {
	c.ring.Out, err = c.sealed.Open(data, c.ring.Out, func(b []byte) error { return w.receive(c, b) })
	w.loop.Send(c.ring)
	return err
}

// Close closes the connections and stops those that are being opened.
func (w *worker) Close() error {
	w.dials.Stop()
	return w.loop.Close()
}

// Assistance is the CPU that connecting took on other threads.
func (w *worker) Assistance() (user, system time.Duration) { return w.dials.Assistance() }
