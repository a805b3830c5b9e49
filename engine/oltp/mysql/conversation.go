package mysql

import (
	"errors"
	"fmt"

	"bakeoff/engine/oltp/mysql/protocol"
	"bakeoff/engine/oltp/tpcc"
	"bakeoff/engine/oltp/wire"
)

// A script knows the requests of the transactions in one mode. A transaction is a
// number of rounds: in each, commands go out together, and all their answers come
// before the next round begins.
type script interface {
	session() []setting
	// statements are prepared; conversation.execute counts them from 0.
	statements() []string
	// round adds the commands of the next round; a round without any ends the
	// transaction, as its outcome says.
	round(c *conversation, n int) tpcc.Outcome
	// row takes a row of the answer to a command of the round, counted from 0,
	// of which result (from 0) is in hand.
	row(c *conversation, command, result int, r *protocol.Row)
}

// maxCommands is how many commands a round has at most: of Delivery, five a district.
const maxCommands = 5 * tpcc.Districts

// conversation is one connection's state.
type conversation struct {
	script   script
	prepared []protocol.Statement
	stream   protocol.Stream

	tx       *tpcc.Tx // nil between transactions
	n        int      // the round
	out      []byte
	forms    [maxCommands]protocol.Form // of the answers to come in this round
	sent     int                        // commands of the round
	done     int                        // of them, those answered
	affected [maxCommands]uint64        // rows, by the commands of the round
	result   int                        // results so far of the answer in hand
	fault    error                      // of this transaction: the first
	code     uint16                     // the server's, of the fault; 0 for one of ours
	undoing  bool                       // ROLLBACK is on its way
	text     []byte                     // where arguments are made
}

// Begin begins a transaction.
func (c *conversation) Begin(out []byte, tx *tpcc.Tx) []byte {
	c.tx, c.n, c.fault, c.code, c.undoing = tx, 0, nil, 0, false
	c.out = out
	c.next()
	out, c.out = c.out, nil
	return out
}

// next begins the next round, or says how the transaction ended.
func (c *conversation) next() wire.Result {
	c.sent, c.done = 0, 0
	outcome := tpcc.Committed
	if c.fault == nil {
		outcome = c.script.round(c, c.n)
		c.n++
	}
	if c.fault == nil && c.sent == 0 {
		return wire.Result{Ended: true, Outcome: outcome}
	}
	if c.fault != nil {
		// Whatever it was that failed, nothing of the transaction must stay: the next
		// one would commit it.
		c.sent, c.undoing = 0, true
		c.query("ROLLBACK")
	}
	c.await()
	return wire.Result{}
}

// await readies the stream for the next answer of the round.
func (c *conversation) await() {
	c.result = 0
	if c.done < c.sent {
		c.stream.Expect(c.forms[c.done])
	}
}

func (c *conversation) expect(form protocol.Form) {
	c.forms[c.sent] = form
	c.sent++
}

// query adds a command of plain SQL to the round.
func (c *conversation) query(sql string) {
	c.out = protocol.AppendQueryString(c.out, sql)
	c.expect(protocol.Text)
}

// queryBytes is query for bytes.
func (c *conversation) queryBytes(sql []byte) {
	c.out = protocol.AppendQuery(c.out, sql)
	c.expect(protocol.Text)
}

// execute begins a command that executes a prepared statement; add ends it.
func (c *conversation) execute(statement int) protocol.Arguments {
	return protocol.Execute(c.out, c.prepared[statement])
}

// add adds a command to the round.
func (c *conversation) add(a *protocol.Arguments) {
	out, err := a.Packet()
	c.out = out
	if err != nil {
		c.fail(err, 0)
		return
	}
	c.expect(protocol.Binary)
}

// fail notes the first fault of the transaction.
func (c *conversation) fail(err error, code uint16) {
	if c.fault == nil {
		c.fault, c.code = err, code
	}
}

// Receive takes what arrived.
func (c *conversation) Receive(out, data []byte) ([]byte, wire.Result) {
	c.stream.Put(data)
	c.out = out
	result := c.receive()
	out, c.out = c.out, nil
	if result.Ended {
		c.tx = nil
	}
	return out, result
}

func broken(err error) wire.Result {
	return wire.Result{Ended: true, Outcome: tpcc.Broken, Err: err}
}

func (c *conversation) receive() wire.Result {
	for {
		event, err := c.stream.Next()
		if err != nil {
			return broken(err)
		}
		switch event {
		case protocol.NeedMore:
			return wire.Result{}
		case protocol.RowEvent:
			if err := c.row(); err != nil {
				return broken(err)
			}
			continue
		case protocol.ResultEvent:
			c.result++
			continue
		case protocol.Refused:
			if c.undoing {
				return broken(fmt.Errorf("rolling back: %w", c.stream.Refusal()))
			}
			c.fail(c.stream.Refusal(), c.stream.Refusal().Code)
		}
		c.affected[c.done] = c.stream.Affected
		c.done++
		c.await()
		if c.done < c.sent {
			continue
		}
		if result := c.advance(); result.Ended {
			return result
		}
	}
}

func (c *conversation) row() error {
	if c.undoing {
		return errors.New("ROLLBACK was answered with a row")
	}
	r := c.stream.Row()
	c.script.row(c, c.done, c.result, &r)
	return r.Err()
}

// advance goes on when a round is answered.
func (c *conversation) advance() wire.Result {
	if c.stream.Buffered() > 0 {
		return broken(errors.New("the server said more than was asked for"))
	}
	if c.undoing {
		return c.refused()
	}
	return c.next()
}

// refused is the end of a transaction that failed and was rolled back.
func (c *conversation) refused() wire.Result {
	switch c.code {
	case errDeadlock, errLockWaitTimeout, errRecordChanged:
		return wire.Result{Ended: true, Outcome: tpcc.Conflict, Err: c.fault}
	}
	return wire.Result{Ended: true, Outcome: tpcc.Refused, Err: c.fault}
}
