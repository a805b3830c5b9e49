// Package ring is the event core for stream sockets that the native engines
// share: one Loop drives all connections of one OS thread, through io_uring
// where the kernel has what it takes and edge-triggered epoll where not.
//
// A Loop is used from one goroutine locked to one OS thread, from New to Close;
// only Wake may be called from elsewhere. In steady state it allocates nothing.
//
// The io_uring backend follows io_uring(7), io_uring_setup(2), io_uring_enter(2)
// and io_uring_register(2); the fallback follows epoll(7).
package ring

import (
	"errors"
	"fmt"
	"math"
	"math/bits"
	"time"
)

// Backend names how a Loop talks to the kernel.
type Backend string

// The backends. Auto is io_uring, or epoll where io_uring cannot be had.
const (
	Auto  Backend = "auto"
	URing Backend = "io_uring"
	Epoll Backend = "epoll"
)

// Config says what a Loop must hold.
type Config struct {
	Backend Backend // "" is Auto
	Conns   int     // connections at one time, at most; 0 is 64
	// BufferSize is how many bytes one receive can bring, at least 1024; 0 is
	// 4096. A reply longer than that comes in several events.
	BufferSize int
	// Raw waits without a word to the Go scheduler, which then does not take
	// the processor away and give it back around every wait. It is for loops
	// that are busy, where GOMAXPROCS is above their number: other goroutines
	// get nothing of a processor that waits like this until the scheduler
	// interrupts the wait, as it does every 10 ms.
	Raw bool
	// Stamps has the kernel stamp what it receives (SO_TIMESTAMPING, software),
	// where the kind of socket can: TCP, not Unix. It costs some 0.2 us a receive.
	Stamps bool
	// Discards has the loop receive at most BufferSize bytes at a time, so that
	// Conn.Discard can have the kernel throw away what follows. TCP alone: elsewhere
	// MSG_TRUNC means something else (tcp(7)). It does not go with Stamps.
	Discards bool
	// Buffers is how many such buffers there are, a power of two; 0 is one a
	// connection. Fewer cost less memory and more system calls.
	Buffers int
}

// Limits of a Config, which keep a ring's memory in bounds.
const (
	maxConns      = 1 << 14
	maxBufferSize = 1 << 20
	minBufferSize = 1 << 10
	maxBuffers    = 1 << 12
	maxDiscard    = 1 << 20 // bytes, at a time
)

// A Conn is one connected stream socket in a Loop.
type Conn struct {
	// Tag is the caller's own: the loop does not look at it.
	Tag int
	// Out is what is to be sent. The caller appends to it and calls Loop.Send;
	// the next Wait takes away from it what the kernel took.
	Out []byte
	// Discard is how many of the bytes that come next the kernel is to throw away
	// instead of copying them, in a loop with Config.Discards. What it threw away
	// comes off again, and is in Event.Discarded.
	Discard int

	fd      int
	slot    int32
	sending int  // bytes of Out in the send that is being submitted
	dirty   bool // on the loop's list of those with something to send
	blocked bool // the socket's buffer is full: the loop waits until there is room
	ended   bool // its end was reported
	closed  bool // removed by the caller
	armed   bool // io_uring: a receive is outstanding
	polling bool // io_uring: a poll for room is outstanding
	ready   bool // epoll: on the list of those that may have something to read
	hangup  bool // epoll: the peer closed, so read until the end is seen
	skips   bool // io_uring: the outstanding receive throws away
}

// An Event is what Wait found on one connection: data, or the end of it.
type Event struct {
	Conn *Conn
	// Data was received. It belongs to the loop again at the next Wait.
	Data []byte
	// Stamp is when the kernel received the last of Data, in nanoseconds of
	// Unix time; 0 where it did not say.
	Stamp int64
	// Discarded is how many bytes were received and thrown away: see Conn.Discard.
	Discarded int
	// Err ends the connection, which the caller must Remove: io.EOF where the
	// peer closed it, else the system's error, such as ECONNRESET. It comes once.
	Err error
}

// Stats counts what a Loop did.
type Stats struct {
	Waits    uint64 // system calls that wait, or would have
	Receives uint64
	Sends    uint64
	Short    uint64 // sends for which the socket had no room
	Rearmed  uint64 // receives started again, as when the buffers ran out
}

// backend is what the two ways of talking to the kernel have in common.
type backend interface {
	add(c *Conn) error
	// remove closes the socket. It reports whether the slot is free now; if
	// not, the backend frees it later through Loop.freed.
	remove(c *Conn) bool
	// wait sends what is on the loop's dirty list, waits (timeout in
	// nanoseconds) for at least so many events, and appends to the loop's.
	wait(timeout int64, least int) error
	wake() error
	close() error
}

// A Loop drives the connections of one thread.
type Loop struct {
	conns   []*Conn // by slot
	free    []int32
	dirty   []*Conn // those with something to send
	sending []*Conn // those of them that are being sent
	events  []Event
	stats   Stats
	backend backend
	name    Backend
	reason  string
	closed  bool
}

// New makes a loop. With Auto it falls back to epoll where io_uring cannot be
// had, and Reason then says why; with URing that is an error.
func New(cfg Config) (*Loop, error) {
	cfg, err := cfg.checked()
	if err != nil {
		return nil, err
	}
	slots := 2*cfg.Conns + 16 // a closed socket keeps its slot until the kernel let go of it
	l := &Loop{conns: make([]*Conn, slots), free: make([]int32, 0, slots), name: URing}
	for i := slots - 1; i >= 0; i-- {
		l.free = append(l.free, int32(i))
	}
	if cfg.Backend != Epoll {
		u, err := newURing(l, cfg)
		if err == nil {
			l.backend = u
			return l, nil
		}
		if cfg.Backend == URing {
			return nil, fmt.Errorf("setting up io_uring: %w", err)
		}
		l.reason = err.Error()
	}
	e, err := newEpoll(l, cfg)
	if err != nil {
		return nil, fmt.Errorf("setting up epoll: %w", err)
	}
	l.backend, l.name = e, Epoll
	return l, nil
}

func (cfg Config) checked() (Config, error) {
	if cfg.Backend == "" {
		cfg.Backend = Auto
	}
	if cfg.Backend != Auto && cfg.Backend != URing && cfg.Backend != Epoll {
		return cfg, fmt.Errorf("backend is %q; expected %s, %s or %s", cfg.Backend, Auto, URing, Epoll)
	}
	if cfg.Conns == 0 {
		cfg.Conns = 64
	}
	if cfg.Conns < 1 || cfg.Conns > maxConns {
		return cfg, fmt.Errorf("%d connections in one loop; expected 1 to %d: use more workers", cfg.Conns, maxConns)
	}
	if cfg.BufferSize == 0 {
		cfg.BufferSize = 4096
	}
	if cfg.BufferSize < minBufferSize || cfg.BufferSize > maxBufferSize {
		return cfg, fmt.Errorf("receive buffers of %d bytes; expected %d to %d", cfg.BufferSize, minBufferSize, maxBufferSize)
	}
	if cfg.Discards && cfg.Stamps {
		return cfg, errors.New("receives that throw away are not stamped: expected Discards or Stamps")
	}
	if cfg.Buffers == 0 {
		cfg.Buffers = min(pow2(cfg.Conns), maxBuffers)
	}
	if cfg.Buffers < 1 || cfg.Buffers > maxBuffers || cfg.Buffers&(cfg.Buffers-1) != 0 {
		return cfg, fmt.Errorf("%d receive buffers; expected a power of two up to %d", cfg.Buffers, maxBuffers)
	}
	return cfg, nil
}

// pow2 returns the power of two from n on, at least 32.
func pow2(n int) int { return 1 << bits.Len(uint(max(n, 32)-1)) }

// Backend says which backend the loop uses.
func (l *Loop) Backend() Backend { return l.name }

// Reason says why the loop does not use io_uring; "" where it does or where
// epoll was asked for.
func (l *Loop) Reason() string { return l.reason }

// Stats returns the counts so far.
func (l *Loop) Stats() Stats { return l.stats }

// ErrFull says that a Loop has no place for another connection.
var ErrFull = errors.New("the loop has no free place for a connection")

// Add takes over a connected, non-blocking stream socket and starts to receive
// from it. The loop closes it on Remove or Close; after an error it is the
// caller's still.
func (l *Loop) Add(fd int) (*Conn, error) {
	if len(l.free) == 0 {
		return nil, ErrFull
	}
	slot := l.free[len(l.free)-1]
	c := &Conn{fd: fd, slot: slot}
	if err := l.backend.add(c); err != nil {
		return nil, fmt.Errorf("adding a socket to the %s loop: %w", l.name, err)
	}
	l.free = l.free[:len(l.free)-1]
	l.conns[slot] = c
	return c, nil
}

// Send has c.Out sent at the next Wait.
func (l *Loop) Send(c *Conn) {
	if c.dirty || c.blocked || c.closed || len(c.Out) == 0 {
		return
	}
	c.dirty = true
	l.dirty = append(l.dirty, c)
}

// Remove closes a connection at once, without sending what is in Out. Events
// that the last Wait returned for it stay readable.
func (l *Loop) Remove(c *Conn) {
	if c.closed {
		return
	}
	c.closed = true
	c.Out = nil
	if l.backend.remove(c) {
		l.freed(c)
	}
}

func (l *Loop) freed(c *Conn) {
	l.conns[c.slot] = nil
	l.free = append(l.free, c.slot)
}

// Wait sends what Send marked, then waits until something happened, timeout
// passed (0: does not wait; negative: waits without end) or Wake was called.
// It may return early without an event. The events and their data are valid
// until the next Wait.
func (l *Loop) Wait(timeout time.Duration) ([]Event, error) { return l.WaitFor(timeout, 1) }

// WaitOut is Wait that does not return before timeout has passed, whatever
// arrives: what arrived by then comes at once, for one wake-up. Only signals
// end it early.
func (l *Loop) WaitOut(timeout time.Duration) ([]Event, error) { return l.WaitFor(timeout, endless) }

// endless is more events than there can be.
const endless = math.MaxInt32

// WaitFor is Wait that returns with the first least events, rather than the
// first one, or after timeout. Epoll cannot count: there it is Wait.
func (l *Loop) WaitFor(timeout time.Duration, least int) ([]Event, error) {
	l.events = l.events[:0]
	l.stats.Waits++
	if err := l.backend.wait(int64(timeout), least); err != nil {
		return nil, fmt.Errorf("waiting in the %s loop: %w", l.name, err)
	}
	return l.events, nil
}

// Wake ends a Wait that is under way, or the next one. Any goroutine may call
// it, until Close.
func (l *Loop) Wake() error { return l.backend.wake() }

// Close closes every connection and the loop. It is safe to call twice.
func (l *Loop) Close() error {
	if l.closed {
		return nil
	}
	l.closed = true
	for _, c := range l.conns {
		if c != nil {
			l.Remove(c)
		}
	}
	if err := l.backend.close(); err != nil {
		return fmt.Errorf("closing the %s loop: %w", l.name, err)
	}
	return nil
}

// takeDirty returns the connections with something to send. Those that are
// marked meanwhile are for the next time.
func (l *Loop) takeDirty() []*Conn {
	l.sending, l.dirty = l.dirty, l.sending[:0]
	for _, c := range l.sending {
		c.dirty = false
	}
	return l.sending
}

func (l *Loop) received(c *Conn, data []byte, stamp int64) {
	l.stats.Receives++
	l.events = append(l.events, Event{Conn: c, Data: data, Stamp: stamp})
}

func (l *Loop) discarded(c *Conn, n int) {
	l.stats.Receives++
	c.Discard -= n
	l.events = append(l.events, Event{Conn: c, Discarded: n})
}

func (l *Loop) failed(c *Conn, err error) {
	if c.ended {
		return
	}
	c.ended = true
	l.events = append(l.events, Event{Conn: c, Err: err})
}

// sent takes away from a connection's output the n bytes that the kernel took
// of those that were submitted, and reports whether that was all of them.
func (l *Loop) sent(c *Conn, n int) bool {
	rest := copy(c.Out, c.Out[n:])
	c.Out = c.Out[:rest]
	return rest == 0
}
