package postgres

import (
	"errors"
	"fmt"

	"bakeoff/engine/oltp/tpcc"
	"bakeoff/engine/oltp/wire"
)

// script is a way to do the transactions: it makes the requests of one round
// trip after another.
type script interface {
	// statements are what is prepared on each connection, by name.
	statements() map[string]string
	// round appends the requests of a round trip, from 0, Sync included; it
	// appends nothing where the transaction has no such round.
	round(out []byte, t *talk) []byte
	// row takes a row of the statement of that number in the present round.
	row(t *talk, statement int, columns [][]byte) error
}

// talk is the conversation on one connection (wire.Conversation).
type talk struct {
	script script
	split  splitter
	tx     *tpcc.Tx

	number    int // of the round
	statement int // in the round: how many are complete
	rows      int // of the round's last statement
	refused   *serverError
	fault     error // of what the server sent
	undo      bool  // the transaction is being rolled back
	columns   [maxColumns][]byte
	order     order // what client-side SQL has read so far
}

const maxColumns = 16

// Begin sends the first round.
func (t *talk) Begin(out []byte, tx *tpcc.Tx) []byte {
	t.tx, t.number, t.refused, t.fault, t.undo = tx, 0, nil, nil, false
	return t.next(out)
}

func (t *talk) next(out []byte) []byte {
	t.statement, t.rows = 0, 0
	return t.script.round(out, t)
}

// Receive takes what arrived.
func (t *talk) Receive(out, data []byte) ([]byte, wire.Result) {
	t.split.put(data)
	var result wire.Result
	for {
		kind, body, err := t.split.next()
		if err != nil {
			return out, broken(err)
		}
		switch kind {
		case 0:
			return out, result
		case 'D':
			if t.tx == nil {
				return out, broken(errors.New("the server sent a row that nobody asked for"))
			}
			t.take(body)
		case 'C':
			t.statement++
		case 'E':
			e := readError(body)
			if e.fatal() && result.Ended {
				return out, result // what was done was done; the end of the connection follows
			}
			if e.fatal() {
				return out, broken(e)
			}
			if t.refused == nil {
				t.refused = e
			}
		case 'Z':
			if out, result = t.ready(out, body); result.Outcome == tpcc.Broken {
				return out, result
			}
		}
	}
}

func broken(err error) wire.Result {
	return wire.Result{Ended: true, Outcome: tpcc.Broken, Err: err}
}

// take takes a row, unless something went wrong before.
func (t *talk) take(body []byte) {
	t.rows++
	if t.fault != nil || t.refused != nil || t.undo {
		return
	}
	n, err := columns(body, t.columns[:])
	if err == nil {
		err = t.script.row(t, t.statement, t.columns[:n])
	}
	t.fault = err
}

var errUnusedItem = errors.New("an item does not exist")

// ready goes on when a round is over, or ends the transaction. Where it is over
// with an open transaction, that is rolled back first.
func (t *talk) ready(out, body []byte) ([]byte, wire.Result) {
	if t.tx == nil {
		return out, broken(errors.New("the server is ready for a request that was not made"))
	}
	inTransaction := len(body) == 1 && body[0] != 'I'
	if t.refused == nil && t.fault == nil && !t.undo {
		t.number++
		before := len(out)
		if out = t.next(out); len(out) > before && t.fault == nil {
			return out, wire.Result{}
		}
		out = out[:before]
		if inTransaction && t.fault == nil {
			t.fault = errors.New("the transaction is still open after its last statement")
		}
	}
	if inTransaction {
		if t.undo {
			return out, broken(errors.New("the transaction could not be rolled back"))
		}
		t.undo = true
		return appendQuery(out, "ROLLBACK"), wire.Result{}
	}
	t.tx = nil
	return out, t.result()
}

func (t *talk) result() wire.Result {
	r := wire.Result{Ended: true, Outcome: tpcc.Committed}
	switch {
	case errors.Is(t.fault, errUnusedItem):
		r.Outcome = tpcc.RolledBack
	case t.fault != nil:
		r.Outcome, r.Err = tpcc.Refused, t.fault
	case t.refused == nil:
	case t.refused.code == stateUnusedItem:
		r.Outcome = tpcc.RolledBack
	case t.refused.code == stateSerialization, t.refused.code == stateDeadlock, t.refused.code == stateLock:
		r.Outcome, r.Err = tpcc.Conflict, t.refused
	default:
		r.Outcome, r.Err = tpcc.Refused, fmt.Errorf("the server refused the transaction: %w", t.refused)
	}
	return r
}
