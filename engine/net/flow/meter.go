// Package flow moves the data of a network measurement over connected sockets
// and counts it: byte streams and datagrams, sending and receiving. Both ends
// of a measurement use it, each on a thread of its own.
package flow

import "sync"

// Counts is what one end of one connection has moved since it began. Of
// datagrams only a receiver knows all of it.
type Counts struct {
	Bytes uint64 `json:"bytes"` // of payload
	Units uint64 `json:"units"` // whole blocks of a stream, datagrams sent, datagrams received without duplicates

	// Of a receiver of datagrams.
	Expected   uint64  `json:"expected,omitempty"`   // datagrams up to the highest number seen
	Duplicates uint64  `json:"duplicates,omitempty"` // that came more than once
	Reordered  uint64  `json:"reordered,omitempty"`  // RFC 4737: below the next number expected
	Jitter     float64 `json:"jitter_ns,omitempty"`  // RFC 3550 section 6.4.1, as it stands, in nanoseconds
	Deviation  float64 `json:"deviation_ns,omitempty"`
	Deviations uint64  `json:"deviations,omitempty"` // how many |D(i-1,i)| Deviation sums up
	Foreign    uint64  `json:"foreign,omitempty"`    // datagrams that belong to no stream of this measurement

	// Of a sender.
	Refused uint64 `json:"refused,omitempty"` // datagrams that the sender's kernel had no room for and that were tried again
	Copied  uint64 `json:"copied,omitempty"`  // zero-copy sends that the kernel copied all the same
}

// A Meter publishes the counts of a flow to other threads. It is safe for
// concurrent use.
type Meter struct {
	before func() // done before anything is stored; of the thread that publishes

	mu sync.Mutex
	c  Counts
	_  [64]byte // so that no two meters share a cache line
}

// Publish stores counts.
func (m *Meter) Publish(c *Counts) {
	if m.before != nil {
		m.before()
	}
	m.mu.Lock()
	m.c = *c
	m.mu.Unlock()
}

// Read returns the counts as they were last published.
func (m *Meter) Read() Counts {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.c
}
