package kv

import (
	"bakeoff/load"
	"bakeoff/load/dial"
	"bakeoff/load/ring"
)

// conn is one connection of a worker: the operations on it, in the order of
// their replies, and the parser of those.
type conn struct {
	slot   int32
	ring   *ring.Conn   // nil while it is down
	sealed *dial.Sealed // nil without TLS
	parser parser
	log    *keyLog  // the keys whose values are still to come; nil without verification
	check  *checker // nil likewise
	reply  reply
	got    uint64         // bytes received of the reply in hand; 0 between replies
	like   [kinds]pattern // what the last good replies looked like

	// groups is a ring: head to sent are on the wire, sent to tail wait for
	// the connection.
	groups           []group
	head, sent, tail uint32
	busy             uint32 // operations in them

	touched bool   // on the worker's list of those to finish before sending
	open    bool   // a quiet batch is still to be ended
	budget  uint64 // operations that may still be sent before it is opened anew

	owed  error      // a fault that no operation was charged with yet
	again dial.Again // when to open it, while it is down

	downSince int64 // clock nanoseconds at which it was lost or could not be opened; 0 while it is up
}

// group is operations of one kind with the same stamps.
type group struct {
	intended, sent int64
	bytes          uint64 // of their requests, as far as not accounted for
	left           uint32 // not yet complete
	kind           uint8
}

func (c *conn) at(i uint32) *group { return &c.groups[i&uint32(len(c.groups)-1)] }

// idle says that nothing is on the wire.
func (c *conn) idle() bool { return c.head == c.sent }

// spent says that the connection has sent all that it may and has all the answers.
func (c *conn) spent() bool { return c.idle() && (c.budget == 0 || c.sent != c.tail) }

// push adds n operations: to the last group where join allows it and they are alike.
// It reports whether that began a group.
func (c *conn) push(op *load.Op, kind uint8, n uint32, join bool) (g *group, begun bool) {
	c.busy += n
	if join && c.tail != c.head {
		g = c.at(c.tail - 1)
		if g.kind == kind && g.sent == op.Sent && g.intended == op.Intended {
			g.left += n
			return g, false
		}
	}
	g = c.at(c.tail)
	*g = group{intended: op.Intended, sent: op.Sent, left: n, kind: kind}
	c.tail++
	return g, true
}

// output is where requests are appended.
func (c *conn) output() *[]byte {
	if c.sealed != nil {
		return &c.sealed.Plain
	}
	return &c.ring.Out
}

// reset forgets what was on the wire.
func (c *conn) reset() {
	c.ring, c.sealed = nil, nil
	c.open, c.got = false, 0
	c.like = [kinds]pattern{}
	if c.log != nil {
		c.log.clear()
		c.check.bad = nil
	}
}

// downAgain says when a connection is to be opened; nil of one that is up.
func downAgain(c *conn) *dial.Again {
	if c.ring != nil {
		return nil
	}
	return &c.again
}
