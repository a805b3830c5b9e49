package http

import (
	"bakeoff/load"
	"bakeoff/load/dial"
	"bakeoff/load/ring"
)

// conn is one connection of a worker: the operations on it in the order of
// their answers, and the reader of those.
type conn struct {
	slot   int32
	ring   *ring.Conn   // nil while it is down
	sealed *dial.Sealed // nil without TLS
	answer response

	// queue is a ring: head to sent are on the wire, sent to tail wait for the
	// connection.
	queue            []operation
	head, sent, tail uint32

	owed    error  // why its next operation fails; on the worker's list of those owing
	touched bool   // on the worker's list of those to seal before sending
	budget  uint64 // requests that may still be sent before it is opened anew

	again dial.Again // when to open it, while it is down
	since int64      // clock nanoseconds since when it has been lost; 0: not
}

// operation is one request that is to be answered.
type operation struct {
	intended, sent int64
	what           *request
}

func (c *conn) at(i uint32) *operation { return &c.queue[i&uint32(len(c.queue)-1)] }

func (c *conn) busy() int { return int(c.tail - c.head) }

// idle says that nothing is on the wire.
func (c *conn) idle() bool { return c.head == c.sent }

// spent says that the connection has sent all that it may and has all the answers.
func (c *conn) spent() bool { return c.idle() && (c.budget == 0 || c.sent != c.tail) }

func (c *conn) push(op *load.Op, what *request) *operation {
	o := c.at(c.tail)
	*o = operation{op.Intended, op.Sent, what}
	c.tail++
	return o
}

// output is where requests are appended.
func (c *conn) output() *[]byte {
	if c.sealed != nil {
		return &c.sealed.Plain
	}
	return &c.ring.Out
}

// downAgain says when a connection is to be opened; nil of one that is up.
func downAgain(c *conn) *dial.Again {
	if c.ring != nil {
		return nil
	}
	return &c.again
}
