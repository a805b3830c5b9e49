// Package wire drives the users of a database whose wire protocol is spoken
// without a driver: many connections on one thread, over load/ring. It knows no
// protocol: a target gives it connected, logged in sockets and, for each, a
// Conversation that makes requests and takes answers.
package wire

import (
	"context"

	"bakeoff/engine/oltp/tpcc"
	"bakeoff/load/dial"
)

// A Conversation is the protocol's side of one connection. It has one
// transaction under way at a time, is used from one thread, and does not
// allocate in steady state.
type Conversation interface {
	// Begin appends the first request of a transaction to out. The inputs stay
	// as they are until it has ended.
	Begin(out []byte, tx *tpcc.Tx) []byte
	// Receive takes what arrived, in any split, and appends to out what is to be
	// sent next. Data is the caller's again afterwards.
	Receive(out, data []byte) ([]byte, Result)
}

// A Result says how far a transaction is.
type Result struct {
	Ended   bool
	Outcome tpcc.Outcome // where it has ended
	// Err says why where the outcome is Conflict, Refused or Broken. With
	// Broken, it may come while no transaction is under way.
	Err error
}

// A Link is a connection that is ready for transactions: logged in, with
// statements prepared and nothing of an answer unread.
type Link struct {
	dial.Link
	Conversation
}

// A Dialer connects a user.
type Dialer func(ctx context.Context, user int) (Link, error)
