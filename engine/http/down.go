package http

import (
	"errors"

	"bakeoff/load"
	"bakeoff/load/dial"
)

// What happens to a connection that is lost: the operations on the wire fail,
// and it is opened again by a goroutine, at first at once, then less and less often.
// Operations submitted meanwhile wait for it, or fail when it cannot be opened.

var (
	errClosed = errors.New("the connection was lost: the target closed it before the answer was whole")
	errBehind = errors.New("the connection was closed because an earlier request on it timed out")
)

// ended takes in that the target closed a connection. That is how an answer of
// unknown length ends, and what a server does with one that it kept long enough.
func (w *worker) ended(c *conn) {
	switch {
	case c.answer.state == untilClose:
		w.answered(c)
		w.renew(c)
	case c.idle():
		w.close(c)
		w.later(c)
	default:
		w.lost(c, errClosed)
	}
}

// lost closes a connection and fails what is on the wire.
func (w *worker) lost(c *conn, err error) {
	w.close(c)
	w.missed(c)
	w.fail(c, c.sent, load.Failed, err)
	w.later(c)
}

// renew closes a connection that served its time, with nothing on the wire.
func (w *worker) renew(c *conn) {
	w.close(c)
	c.again.AtOnce()
}

func (w *worker) close(c *conn) {
	w.loop.Remove(c.ring)
	c.ring, c.sealed = nil, nil
	c.answer.begin()
	w.down++
}

// later sets the time of the next attempt to connect.
func (w *worker) later(c *conn) {
	c.again.Later(w.clock.Now())
}

// missed notes that a connection is down, which the load did not want.
func (w *worker) missed(c *conn) {
	if c.since == 0 {
		c.since = w.clock.Now()
		w.s.outage.Begin(c.since)
	}
}

// fail ends the operations up to the end given.
func (w *worker) fail(c *conn, end uint32, status load.OpStatus, err error) {
	w.stamp = 0
	for c.head != end {
		w.complete(c, status, 0, err)
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

// expire ends the operations that were not answered in time. A connection
// with one on the wire is closed, since the order of its answers is lost.
func (w *worker) expire(now int64) {
	limit := int64(w.c.timeout)
	w.nextScan = now + limit
	for _, c := range w.conns {
		if c.head == c.tail {
			continue
		}
		if oldest := c.at(c.head).sent; oldest+limit > now {
			w.nextScan = min(w.nextScan, oldest+limit)
			continue
		}
		onWire := !c.idle()
		end := c.head
		for end != c.tail && c.at(end).sent+limit <= now {
			end++
		}
		sent := c.sent
		w.fail(c, end, load.TimedOut, nil)
		if onWire {
			w.close(c)
			w.missed(c)
			if int32(sent-end) > 0 {
				w.fail(c, sent, load.Failed, errBehind)
			}
			w.later(c)
		}
		w.nextScan = min(w.nextScan, now+limit/8) // what waits behind is looked at soon
	}
}

// reconnect takes in the connections that were opened, starts to open those
// that are due, and returns when the next one is.
func (w *worker) reconnect(now int64) int64 {
	for {
		d, ok := w.dials.Take()
		if !ok {
			break
		}
		w.dialed(d)
	}
	return w.dials.Reopen(now, w.conns, downAgain)
}

func (w *worker) dialed(d dial.Opened[*conn, dial.Link]) {
	c := d.Key
	err := d.Err
	if err == nil {
		err = w.up(c, d.Link)
	}
	if w.absence.Err = err; err != nil {
		w.s.outage.Failed.Add(1)
		w.missed(c)
		w.fail(c, c.tail, load.Failed, err)
		w.later(c)
	}
}

// gone ends the work where no connection has been up for longer than an
// operation may take: there is no target any more.
func (w *worker) gone(now int64) error {
	err := w.absence.Over(w.down == len(w.conns), now, w.c.timeout)
	if err == nil {
		return nil
	}
	for _, c := range w.conns {
		w.fail(c, c.tail, load.Failed, w.absence.Err)
	}
	return err
}
