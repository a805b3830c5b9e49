package kv

import (
	"errors"
	"fmt"
	"syscall"

	"bakeoff/load"
	"bakeoff/load/dial"
)

// What happens to a connection that is lost: the operations on the wire fail,
// and it is opened again by a goroutine, at first at once, then less and less often.
// Operations submitted meanwhile wait for it, or fail when it cannot be opened.

var errBehind = errors.New("the connection was closed because an earlier operation on it timed out")

// lost closes a connection and fails what is on the wire. A breach of the
// protocol while nothing was on the wire is owed to the operations that wait for the connection.
func (w *worker) lost(c *conn, err error) {
	w.close(c)
	var system syscall.Errno
	if c.idle() && !errors.Is(err, errClosed) && !errors.As(err, &system) {
		c.owed = err
	}
	w.fail(c, c.sent, load.Failed, fmt.Errorf("the connection was lost: %w", err))
	w.later(c)
}

var errClosed = errors.New("the target closed the connection")

// renew closes a connection that served its time, with nothing on the wire.
func (w *worker) renew(c *conn) {
	w.close(c)
	c.again.AtOnce()
}

func (w *worker) close(c *conn) {
	w.loop.Remove(c.ring)
	c.reset()
	w.down++
}

// later sets the time of the next attempt to connect, of a connection that is
// down.
func (w *worker) later(c *conn) {
	if c.downSince == 0 {
		c.downSince = w.clock.Now()
		w.outage.Begin(c.downSince)
	}
	c.again.Later(w.clock.Now())
}

// fail ends the operations up to group end.
func (w *worker) fail(c *conn, end uint32, status load.OpStatus, err error) {
	w.stamp = 0
	for c.head != end {
		w.complete(c, c.at(c.head).left, status, 0, 0, err)
	}
	if int32(c.sent-c.head) < 0 {
		c.sent = c.head
	}
	w.flush()
}

// expire ends the operations that were not answered in time. A connection
// with one on the wire is closed, since the order of its replies is lost.
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

func (w *worker) dialed(d dial.Opened[*conn, dial.Link]) {
	c := d.Key
	err := d.Err
	if c.owed != nil && c.head != c.tail {
		w.fail(c, c.tail, load.Failed, fmt.Errorf("the connection was lost: %w", c.owed))
		c.owed = nil
	}
	if err == nil {
		err = w.up(c, d.Link)
	}
	if w.absence.Err = err; err != nil {
		w.outage.Failed.Add(1)
		w.fail(c, c.tail, load.Failed, err)
		w.later(c)
	}
}
