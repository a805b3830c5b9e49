package wire

import (
	"errors"
	"fmt"
	"time"

	"bakeoff/engine/oltp/account"
	"bakeoff/engine/oltp/tpcc"
	"bakeoff/load"
	"bakeoff/load/ring"
)

// Options of a worker.
type Options struct {
	Clock    *load.Clock
	Backend  ring.Backend
	Dial     Dialer
	Account  *account.Account
	Rules    tpcc.Rules
	Instance int
	First    int // of the users of this worker
	Users    int // how many
	// Keying and Thinking say whether users type and think, in the specification's
	// time.
	Keying, Thinking bool
	Timeout          time.Duration // of an operation, with all its attempts
}

func (o Options) check() error {
	if o.Users < 1 || o.Timeout <= 0 || o.Clock == nil || o.Dial == nil || o.Account == nil {
		return errors.New("wire: a worker needs users, a timeout, a clock, a dialer and an account")
	}
	return nil
}

// dialing opens connections in goroutines, so that the worker's thread never
// waits for one.
type dialing struct {
	worker *Worker
	done   chan dialed
}

type dialed struct {
	user *user
	link Link
	err  error
}

func (d dialing) begin(u *user) {
	w := d.worker
	w.o.Account.Attempt()
	w.all.Go(func() {
		l, err := w.o.Dial(w.ctx, u.number)
		if err != nil {
			err = fmt.Errorf("connecting again: %w", err)
		}
		d.done <- dialed{u, l, err} // there is room for every user
		_ = w.loop.Wake()           // without it the worker finds out when it wakes for another reason
	})
}

// take returns an attempt that has ended, if there is one.
func (d dialing) take() (dialed, bool) {
	select {
	case r := <-d.done:
		return r, true
	default:
		return dialed{}, false
	}
}
