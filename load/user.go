package load

import (
	"context"
	"errors"
	"sync/atomic"
	"time"
)

// user is one virtual user: the measuring loop of the blocking contract. No
// other code stamps such operations.
type user struct {
	crew *crew
	doer Doer
	// pauses is nil where the user does not pause.
	pauses Pauser
	shard  *shard
	ctx    opContext
	timer  *time.Timer

	// state is when the operation under way was sent, idle, or expired: whoever
	// changes it from the first to one of the others decides how it ended.
	state atomic.Int64
	sent  atomic.Int64 // when the last operation was sent
	ended atomic.Bool

	finished bool
	err      error
}

// The states of a user that are not a time.
const (
	idle    = int64(0)
	expired = int64(-1)
)

func (u *user) begin(ctx context.Context) {
	u.ctx.user = u
	u.pauses = pauser(u.doer, u.crew.tickets == nil)
	u.ctx.renew(ctx)
	u.timer = time.NewTimer(0)
}

// main is the user's goroutine.
func (u *user) main(ctx context.Context) {
	defer u.crew.group.Done()
	err := u.work(ctx)
	if u.ctx.cancel(); errors.Is(err, ErrDone) {
		u.finished, err = true, nil
	}
	u.err = errors.Join(err, u.doer.Close())
	u.ended.Store(true)
	if u.err != nil {
		u.crew.halt()
	}
}

func (u *user) work(ctx context.Context) error {
	var op Op
	for {
		intended, sent, ok := u.next()
		if !ok {
			return nil
		}
		op = Op{Intended: intended, Sent: sent, Count: 1, Slot: -1}
		u.sent.Store(sent)
		u.state.Store(sent)
		err := u.doer.Do(&u.ctx, &op)
		done := u.crew.job.clock.Now()
		late := u.state.Swap(idle) == expired
		if err != nil && (errors.Is(err, ErrDone) || u.crew.stop.Load()) {
			return u.cut(err)
		}
		if err != nil {
			op.Status, op.Err = Failed, err
			if late || errors.Is(err, context.DeadlineExceeded) {
				op.Status, err = TimedOut, nil
			}
		}
		op.Intended, op.Sent = intended, sent
		u.book(&op, done)
		if err != nil {
			return err
		}
		if late {
			u.ctx.renew(ctx)
		}
	}
}

// cut ends the work: with nothing left to do, or with an operation that was
// halted and so is still in flight.
func (u *user) cut(err error) error {
	if errors.Is(err, ErrDone) {
		return ErrDone
	}
	u.out()
	return nil
}

// out books an operation that was sent and did not come back.
func (u *user) out() {
	u.shard.mu.Lock()
	defer u.shard.mu.Unlock()
	if !u.shard.over {
		u.shard.recorder.offered(u.sent.Load(), 1)
	}
}

// book records a finished operation.
func (u *user) book(op *Op, done int64) {
	c := Completion{
		Intended: op.Intended, Sent: op.Sent, Done: done, Count: 1, Items: op.Items, Kind: op.Kind,
		Status: op.Status, BytesIn: op.BytesIn, BytesOut: op.BytesOut, Err: op.Err,
	}
	u.shard.mu.Lock()
	defer u.shard.mu.Unlock()
	if u.shard.over {
		return
	}
	u.shard.recorder.offered(c.Sent, 1)
	u.shard.recorder.complete(&c, done)
}

// next waits until the user has an operation to do: at once in a closed loop,
// when the next one is due in an open loop. It is not ok when the window is over.
func (u *user) next() (intended, sent int64, ok bool) {
	c := u.crew
	if c.stop.Load() {
		return 0, 0, false
	}
	now := c.job.clock.Now()
	if now >= c.job.edges.close {
		return 0, 0, false
	}
	if w, ok := u.doer.(Waiter); ok && c.tickets == nil {
		if w.Wait(&u.ctx) != nil || c.stop.Load() {
			return 0, 0, false
		}
		now = c.job.clock.Now()
	}
	if c.tickets == nil && u.pauses != nil {
		if !u.pause() {
			return 0, 0, false
		}
		now = c.job.clock.Now()
	}
	if c.tickets == nil {
		return now, now, true
	}
	begin := c.job.edges.begin
	c.tickets.mu.Lock()
	intended, offer := c.tickets.pacer.Reserve(now - begin)
	c.tickets.mu.Unlock()
	if intended == Never {
		u.sleep(c.job.edges.close)
		return 0, 0, false
	}
	intended, offer = intended+begin, offer+begin
	if u.sleep(min(offer, c.job.edges.close)) && offer < c.job.edges.close {
		return intended, c.job.clock.Now(), true
	}
	u.unsent(intended)
	return 0, 0, false
}

// unsent books an operation that was due before the close and is given up.
func (u *user) unsent(intended int64) {
	u.shard.mu.Lock()
	defer u.shard.mu.Unlock()
	if r := u.shard.recorder; !u.shard.over && intended < r.edges.close {
		r.unsent(intended, 1)
	}
}

// sleep waits until a moment of the clock; it is false when the work was halted.
func (u *user) sleep(until int64) bool {
	for slept := false; ; slept = true {
		now := u.crew.job.clock.Now()
		rest := until - now
		if rest <= 0 {
			if slept {
				u.crew.late.note(until, now)
			}
			return true
		}
		u.timer.Reset(time.Duration(rest))
		select {
		case <-u.timer.C:
		case <-u.crew.stopped:
			return false
		}
	}
}

// expire ends the operation under way where it has taken longer than it may.
func (u *user) expire(now int64) {
	sent := u.state.Load()
	if timeout := u.crew.job.timeout; sent > 0 && timeout > 0 && now-sent >= timeout {
		if u.state.CompareAndSwap(sent, expired) {
			u.ctx.cancel()
		}
	}
}

// opContext is the context of a user's operations, one after another: it ends
// with the operation's timeout or with all work.
type opContext struct {
	context.Context
	cancel context.CancelFunc
	user   *user
}

// renew makes the context good for further operations. An expired one is waited
// for, since whoever cancels it may not have come to it yet.
func (c *opContext) renew(all context.Context) {
	if c.Context != nil {
		<-c.Context.Done()
	}
	c.Context, c.cancel = context.WithCancel(all)
}

// Deadline returns when the operation under way times out.
func (c *opContext) Deadline() (time.Time, bool) {
	job := &c.user.crew.job
	if job.timeout <= 0 {
		return time.Time{}, false
	}
	return c.user.crew.begun.Add(time.Duration(c.user.sent.Load() + job.timeout - job.edges.begin)), true
}

// Err says why the context has ended: with its operation's deadline, unless all
// work was halted.
func (c *opContext) Err() error {
	err := c.Context.Err()
	if err != nil && !c.user.crew.stop.Load() {
		return context.DeadlineExceeded
	}
	return err
}
