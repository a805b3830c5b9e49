package wire

import (
	"errors"
	"fmt"
	"math"

	"bakeoff/engine/oltp/tpcc"
	"bakeoff/load"
)

// What happens to a connection that is lost: its transaction fails, and it is
// opened again, at first at once, then less and less often. An operation that is
// submitted meanwhile waits for it, or fails when it cannot be opened.

// broken closes a connection and fails what is on it.
func (w *Worker) broken(u *user, err error) {
	w.close(u)
	if u.busy && u.onWire {
		w.ended(u, Result{Ended: true, Outcome: tpcc.Broken, Err: err})
	}
}

// close closes a connection and sets the time of the next attempt to open it.
func (w *Worker) close(u *user) {
	w.loop.Remove(u.conn)
	u.conn, u.link = nil, Link{}
	w.down++
	u.downSince = w.o.Clock.Now()
	w.o.Account.Down(u.downSince)
	w.later(u)
}

func (w *Worker) later(u *user) {
	if u.good {
		u.good, u.delay, u.retryAt = false, 0, 0
		return
	}
	u.delay = min(max(2*u.delay, firstDelay), maxDelay)
	u.retryAt = w.o.Clock.Now() + u.delay
}

// look does what is due beside sending and receiving, and returns when the next
// such thing is.
func (w *Worker) look(now int64) int64 {
	if now >= w.nextScan {
		w.expire(now)
	}
	wake := w.nextScan
	if w.down > 0 {
		wake = min(wake, w.reconnect(now))
	}
	return wake
}

// expire ends the operations that took too long. The connection of one that was
// sent is closed: what comes on it would be of a transaction that has ended.
func (w *Worker) expire(now int64) {
	limit := int64(w.o.Timeout)
	w.nextScan = now + limit
	for _, u := range w.users {
		if !u.busy {
			continue
		}
		if u.sent+limit > now {
			w.nextScan = min(w.nextScan, u.sent+limit)
			continue
		}
		if !u.onWire {
			w.failed(u, load.TimedOut, nil)
			continue
		}
		w.close(u)
		w.complete(u, w.o.Account.TimedOut(&u.tx))
	}
}

// failed ends an operation that was never sent.
func (w *Worker) failed(u *user, status load.OpStatus, err error) {
	e, _ := w.o.Account.End(&u.tx, u.attempt, tpcc.Refused, err)
	e.Status = status
	w.complete(u, e)
}

// reconnect takes in the connections that were opened, starts to open those
// that are due, and returns when the next one is.
func (w *Worker) reconnect(now int64) int64 {
	for {
		d, ok := w.dials.take()
		if !ok {
			break
		}
		w.dialed(d)
	}
	wake := int64(math.MaxInt64)
	for _, u := range w.users {
		if u.conn != nil || u.dialing {
			continue
		}
		if u.retryAt > now {
			wake = min(wake, u.retryAt)
			continue
		}
		u.dialing = true
		w.dials.begin(u)
	}
	return wake
}

func (w *Worker) dialed(d dialed) {
	u := d.user
	u.dialing = false
	err := d.err
	if err == nil {
		err = w.up(u, d.link)
	}
	if w.lastErr = err; err == nil {
		return
	}
	w.o.Account.Vain()
	if u.busy {
		w.failed(u, load.Failed, err)
	}
	w.later(u)
}

// gone ends the work where no connection has been up for longer than an
// operation may take: there is no target any more.
func (w *Worker) gone(now int64) error {
	if w.down < len(w.users) {
		w.allDown = 0
		return nil
	}
	if w.allDown == 0 {
		w.allDown = now
	}
	if now-w.allDown <= int64(w.o.Timeout) || w.lastErr == nil {
		return nil
	}
	for _, u := range w.users {
		if u.busy {
			w.failed(u, load.Failed, w.lastErr)
		}
	}
	return fmt.Errorf("the target is gone, no connection could be opened for %v: %w", w.o.Timeout, w.lastErr)
}

// Close closes the connections and stops those that are being opened. What was
// sent and not answered is in doubt.
func (w *Worker) Close() error {
	w.cancel()
	w.all.Wait()
	for {
		d, ok := w.dials.take()
		if !ok {
			break
		}
		if d.err == nil {
			_ = d.link.Close()
		}
	}
	for _, u := range w.users {
		if u.busy && u.onWire {
			w.o.Account.Halted(&u.tx)
			u.busy = false
		}
	}
	if err := w.loop.Close(); err != nil {
		return errors.Join(err)
	}
	return nil
}
