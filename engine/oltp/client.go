package oltp

import (
	"context"
	"errors"
	"fmt"
	"time"

	"bakeoff/engine/oltp/tpcc"
	"bakeoff/load"
)

// clientUser is a load.Doer: one user of a Blocking database.
type clientUser struct {
	s      *session
	number int
	client Client // nil while the connection is down
	draw   *tpcc.User
	tx     tpcc.Tx
	drawn  bool
	begun  bool

	downSince int64
	goneSince int64 // since when no attempt to connect succeeded
	retryAt   int64
	delay     int64
}

// Between two attempts to connect again.
const (
	firstDelay = int64(time.Millisecond)
	maxDelay   = int64(500 * time.Millisecond)
)

// slowConnects is how many operations in a row may time out for want of a
// connection.
const slowConnects = 10

func newClientUser(ctx context.Context, s *session, i int) (*clientUser, error) {
	u := &clientUser{s: s, number: i, draw: tpcc.NewUser(s.config.Rules, s.spec.Instance, i)}
	var err error
	if u.client, err = s.db.(Blocking).Connect(ctx, i); err != nil {
		return nil, fmt.Errorf("connecting user %d of %d: %w", i+1, s.config.Rules.Users, err)
	}
	return u, nil
}

// Pauses says whether the user types and thinks.
func (u *clientUser) Pauses() bool { return u.s.keying }

// Pause is how long the user looks at the last result and types the next
// transaction in.
func (u *clientUser) Pause(int32) time.Duration {
	if !u.s.keying {
		return 0
	}
	var rest time.Duration
	if u.begun {
		rest = u.draw.Thinking(u.tx.Kind)
	}
	u.prepare()
	return rest + tpcc.Keying(u.tx.Kind)
}

func (u *clientUser) prepare() {
	if !u.drawn {
		u.draw.Next(&u.tx)
		u.drawn = true
	}
}

// Do does one transaction, with what attempts it needs.
func (u *clientUser) Do(ctx context.Context, op *load.Op) error {
	u.prepare()
	u.drawn, u.begun = false, true
	op.Kind = uint8(u.tx.Kind)
	if u.client == nil {
		if err := u.reconnect(ctx); err != nil {
			return u.waited(ctx, op, err)
		}
	}
	for attempt := 0; ; attempt++ {
		outcome, err := u.client.Run(ctx, &u.tx)
		if outcome == tpcc.Broken {
			u.lost()
			if ctx.Err() != nil {
				op.Kind = u.s.account.TimedOut(&u.tx).Kind
				return ctx.Err()
			}
		}
		e, again := u.s.account.End(&u.tx, attempt, outcome, err)
		if again && ctx.Err() == nil {
			continue
		}
		op.Kind, op.Status, op.Err = e.Kind, e.Status, e.Err
		if again {
			return ctx.Err()
		}
		return nil
	}
}

// waited ends an operation for which there was no connection.
func (u *clientUser) waited(ctx context.Context, op *load.Op, err error) error {
	// A refusal says that the target is gone; what only takes long, much later.
	patience := int64(u.s.config.Timeout)
	if ctx.Err() != nil {
		patience *= slowConnects
	}
	gone := u.s.config.Clock.Now()-u.goneSince > patience
	if ctx.Err() != nil && (!gone || errors.Is(ctx.Err(), context.Canceled)) {
		return ctx.Err()
	}
	if gone {
		return fmt.Errorf("the target is gone, user %d could not connect for %v: %w", u.number+1, time.Duration(patience), err)
	}
	op.Status, op.Err = load.Failed, err
	return nil
}

// lost gives up the connection.
func (u *clientUser) lost() {
	_ = u.client.Close()
	u.client = nil
	u.downSince = u.s.config.Clock.Now()
	u.goneSince = u.downSince
	u.retryAt, u.delay = 0, 0
	u.s.account.Outage.Begin(u.downSince)
}

// reconnect connects again, at first at once, then less and less often.
func (u *clientUser) reconnect(ctx context.Context) error {
	clock := u.s.config.Clock
	if rest := u.retryAt - clock.Now(); rest > 0 {
		timer := time.NewTimer(time.Duration(rest))
		defer timer.Stop()
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-timer.C:
		}
	}
	u.s.account.Outage.Attempts.Add(1)
	c, err := u.s.db.(Blocking).Connect(ctx, u.number)
	if err != nil {
		u.s.account.Outage.Failed.Add(1)
		u.delay = min(max(2*u.delay, firstDelay), maxDelay)
		u.retryAt = clock.Now() + u.delay
		return fmt.Errorf("connecting again: %w", err)
	}
	u.client = c
	u.s.account.Outage.End(u.downSince, clock.Now())
	return nil
}

// Close ends the user's connection.
func (u *clientUser) Close() error {
	if u.client == nil {
		return nil
	}
	err := u.client.Close()
	u.client = nil
	return err
}
