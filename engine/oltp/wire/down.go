package wire

import (
	"time"

	"bakeoff/engine/oltp/tpcc"
	"bakeoff/load"
	"bakeoff/load/dial"
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
	w.o.Account.Outage.Begin(u.downSince)
	u.again.Later(w.o.Clock.Now())
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
		d, ok := w.dials.Take()
		if !ok {
			break
		}
		w.dialed(d)
	}
	return w.dials.Reopen(now, w.users, downAgain)
}

// downAgain says when a user's connection is to be opened; nil where it is up.
func downAgain(u *user) *dial.Again {
	if u.conn != nil {
		return nil
	}
	return &u.again
}

func (w *Worker) dialed(d dial.Opened[*user, Link]) {
	u := d.Key
	err := d.Err
	if err == nil {
		err = w.up(u, d.Link)
	}
	if w.absence.Err = err; err == nil {
		return
	}
	w.o.Account.Outage.Failed.Add(1)
	if u.busy {
		w.failed(u, load.Failed, err)
	}
	u.again.Later(w.o.Clock.Now())
}

// gone ends the work where no connection has been up for longer than an
// operation may take: there is no target any more.
func (w *Worker) gone(now int64) error {
	err := w.absence.Over(w.down == len(w.users), now, w.o.Timeout)
	if err == nil {
		return nil
	}
	for _, u := range w.users {
		if u.busy {
			w.failed(u, load.Failed, w.absence.Err)
		}
	}
	return err
}

// Close closes the connections and stops those that are being opened. What was
// sent and not answered is in doubt.
func (w *Worker) Close() error {
	w.dials.Stop()
	for _, u := range w.users {
		if u.busy && u.onWire {
			w.o.Account.Halted(&u.tx)
			u.busy = false
		}
	}
	return w.loop.Close()
}

// Assistance is the CPU that connecting again took on other threads.
func (w *Worker) Assistance() (user, system time.Duration) { return w.dials.Assistance() }
