package wire

import (
	"errors"
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
