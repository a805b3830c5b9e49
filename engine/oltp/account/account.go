// Package account books how transactions ended, for all users of a session:
// what counts as done, what may be tried again, and what is in doubt.
package account

import (
	"errors"
	"fmt"
	"sync/atomic"

	"bakeoff/engine/oltp/tpcc"
	"bakeoff/load"
	"bakeoff/load/dial"
)

// KindRolledBack is the kind of the New-Orders that rolled back as their inputs
// asked for: answered, but no orders. The kinds before it are tpcc's.
const KindRolledBack = uint8(tpcc.Kinds)

// KindNames are the kinds of operation, in order.
func KindNames() []string {
	var names []string
	for k := range tpcc.Kinds {
		names = append(names, k.String())
	}
	return append(names, "new_order_rolled_back")
}

// Account counts for a whole session, warm-up and drain included. It is safe
// for concurrent use.
type Account struct {
	// Retries is how often a transaction that the target gave up is tried again.
	Retries int
	// RoutinesDraw is true where the target's routines draw inputs themselves,
	// so that what was to be rolled back is not known here.
	RoutinesDraw bool

	done      atomic.Int64 // transactions of all kinds that were committed or rolled back
	orders    atomic.Int64 // New-Orders committed
	inDoubt   atomic.Int64 // New-Orders that may or may not have been committed
	rolled    atomic.Int64
	conflicts atomic.Int64
	retried   atomic.Int64
	// Outage is for how long the users' connections were down.
	Outage dial.Outage
}

// Ended is how an operation ended.
type Ended struct {
	Kind   uint8
	Status load.OpStatus
	Err    error
}

var (
	errNotRolledBack = errors.New("the target committed a New-Order with an item that does not exist")
	errRolledBack    = errors.New("the target rolled back a New-Order whose items all exist")
)

// End books one attempt at a transaction, from 0. Again is true where the same
// transaction is to be tried once more.
func (a *Account) End(tx *tpcc.Tx, attempt int, o tpcc.Outcome, err error) (e Ended, again bool) {
	e.Kind = uint8(tx.Kind)
	isOrder := tx.Kind == tpcc.NewOrder
	wanted := isOrder && tx.Rollback
	if o == tpcc.Committed || o == tpcc.RolledBack {
		a.done.Add(1)
	}
	switch o {
	case tpcc.Committed:
		if isOrder {
			a.orders.Add(1)
		}
		if wanted && !a.RoutinesDraw {
			e.Status, e.Err = load.Failed, errNotRolledBack
		}
	case tpcc.RolledBack:
		a.rolled.Add(1)
		e.Kind = KindRolledBack
		if !wanted && !a.RoutinesDraw {
			e.Kind, e.Status, e.Err = uint8(tx.Kind), load.Failed, errRolledBack
		}
	case tpcc.Conflict:
		a.conflicts.Add(1)
		if attempt < a.Retries {
			a.retried.Add(1)
			return e, true
		}
		e.Status, e.Err = load.Failed, fmt.Errorf("given up by the target, at the last of %d attempts: %w", attempt+1, err)
	case tpcc.Refused:
		e.Status, e.Err = load.Failed, err
	default:
		a.doubt(isOrder)
		e.Status, e.Err = load.Failed, fmt.Errorf("the connection was lost: %w", err)
	}
	return e, false
}

// TimedOut books a transaction that was sent and not answered in time. Its
// connection is of no use any more.
func (a *Account) TimedOut(tx *tpcc.Tx) Ended {
	a.doubt(tx.Kind == tpcc.NewOrder)
	return Ended{Kind: uint8(tx.Kind), Status: load.TimedOut}
}

// Halted books a transaction that was sent and whose answer nobody waits for.
func (a *Account) Halted(tx *tpcc.Tx) { a.doubt(tx.Kind == tpcc.NewOrder) }

func (a *Account) doubt(isOrder bool) {
	if isOrder {
		a.inDoubt.Add(1)
	}
}

// Orders returns how many New-Orders the target committed for sure, and how
// many more it may have committed.
func (a *Account) Orders() (committed, inDoubt int64) { return a.orders.Load(), a.inDoubt.Load() }

// Done is how many transactions were committed or rolled back.
func (a *Account) Done() int64 { return a.done.Load() }

// Counts are the account's counters, with what connections did.
func (a *Account) Counts(now int64, connections int) []load.Count {
	return append([]load.Count{
		{Name: "rolled_back", Unit: "1", Value: float64(a.rolled.Load())},
		{Name: "conflicts", Unit: "1", Value: float64(a.conflicts.Load())},
		{Name: "retries", Unit: "1", Value: float64(a.retried.Load())},
	}, a.Outage.Counts(now, connections)...)
}
