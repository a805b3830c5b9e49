package server

import (
	"context"
	"fmt"
	"runtime"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sys/unix"

	"bakeoff/load/ring"
)

// acceptPause is how long a listener waits after an error.
const acceptPause = 10 * time.Millisecond

// maxOutput is how much a client may leave unread before it is cut off.
const maxOutput = 256 << 20

// thread is one event loop with its clients.
type thread struct {
	s       *server
	loop    *ring.Loop
	clients []*client // by tag
	free    []int
	leaving []*client // to be closed when they have their answers
	now     int64     // Unix milliseconds, read once a round where anything expires

	mu        sync.Mutex
	newcomers []newcomer
	waker     func() error
	closed    bool

	counts counts // of this round
	stats  stats
}

// newcomer is a client that was accepted and not yet taken in.
type newcomer struct {
	fd       int
	memcache bool
}

// counts is what a thread did since it last told.
type counts struct{ commands, hits, misses uint64 }

// stats is what a thread did in all, for other threads to read.
type stats struct{ commands, hits, misses, clients atomic.Uint64 }

// client is one connection.
type client struct {
	conn     *ring.Conn
	in       []byte // an unfinished request
	args     [][]byte
	db       *database
	memcache bool
	version3 bool // RESP3
	allowed  bool // it has authenticated, or need not
	leaving  bool // it is closed when its answers are sent
}

func newThread(s *server) *thread { return &thread{s: s} }

// run is the loop.
func (t *thread) run(ctx context.Context) error {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	loop, err := ring.New(ring.Config{Backend: t.s.cfg.Backend, Conns: connections, BufferSize: 16 << 10, Buffers: 64,
		Raw: runtime.GOMAXPROCS(0) > t.s.cfg.Threads})
	if err != nil {
		return err
	}
	t.loop = loop
	t.mu.Lock()
	t.waker = loop.Wake
	t.mu.Unlock()
	err = t.serve(ctx)
	t.mu.Lock()
	t.closed = true
	t.mu.Unlock()
	if e := loop.Close(); err == nil {
		err = e
	}
	return err
}

func (t *thread) serve(ctx context.Context) error {
	t.takeIn()
	for ctx.Err() == nil {
		wait := time.Duration(-1)
		if len(t.leaving) > 0 {
			wait = leavingPause
		}
		events, err := t.loop.Wait(wait)
		if err != nil {
			return err
		}
		if t.s.store.expiring.Load() {
			t.now = t.s.cfg.Clock.Now().UnixMilli()
		}
		for i := range events {
			t.handle(&events[i])
		}
		t.tell()
		t.takeIn()
		t.seeOff()
	}
	return nil
}

// leavingPause is how long the answers of a client that is to be closed may
// take, before it is looked at again.
const leavingPause = time.Millisecond

// seeOff closes the clients that have all their answers.
func (t *thread) seeOff() {
	stay := t.leaving[:0]
	for _, c := range t.leaving {
		switch {
		case t.clients[c.conn.Tag] != c: // it closed first
		case len(c.conn.Out) > 0:
			stay = append(stay, c)
		default:
			t.remove(c)
		}
	}
	t.leaving = stay
}

func (t *thread) handle(e *ring.Event) {
	c := t.clients[e.Conn.Tag]
	if c == nil || c.conn != e.Conn {
		return
	}
	if e.Err != nil {
		t.remove(c)
		return
	}
	if c.leaving {
		return
	}
	t.receive(c, e.Data)
	if len(c.conn.Out) > maxOutput {
		t.remove(c)
		return
	}
	if c.leaving {
		t.leaving = append(t.leaving, c)
	}
	t.loop.Send(c.conn)
}

// receive does the requests that are complete and keeps the rest.
func (t *thread) receive(c *client, data []byte) {
	if len(c.in) > 0 {
		c.in = append(c.in, data...)
		data = c.in
	}
	used := 0
	for used < len(data) && !c.leaving {
		n := 0
		if c.memcache {
			n = t.memcache(c, data[used:])
		} else {
			n = t.request(c, data[used:])
		}
		if n == 0 {
			break
		}
		used += n
	}
	if c.leaving {
		used = len(data)
	}
	c.in = append(c.in[:0], data[used:]...)
}

// fail answers a breach of the protocol, after which nothing more is read.
func (t *thread) fail(c *client, text string) {
	c.conn.Out = append(append(c.conn.Out, text...), "\r\n"...)
	c.leaving = true
}

func (t *thread) remove(c *client) {
	t.clients[c.conn.Tag] = nil
	t.free = append(t.free, c.conn.Tag)
	t.loop.Remove(c.conn)
	t.stats.clients.Add(^uint64(0))
}

// tell adds this round's counts to those that others read.
func (t *thread) tell() {
	if t.counts == (counts{}) {
		return
	}
	t.stats.commands.Add(t.counts.commands)
	t.stats.hits.Add(t.counts.hits)
	t.stats.misses.Add(t.counts.misses)
	t.counts = counts{}
}

// give hands over a new client. Any goroutine may call it.
func (t *thread) give(n newcomer) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.closed {
		_ = unix.Close(n.fd)
		return
	}
	t.newcomers = append(t.newcomers, n)
	if t.waker != nil {
		_ = t.waker() // before there is a loop it looks by itself
	}
}

func (t *thread) wake() {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.waker != nil && !t.closed {
		_ = t.waker()
	}
}

// takeIn puts the new clients on the loop.
func (t *thread) takeIn() {
	t.mu.Lock()
	newcomers := t.newcomers
	t.newcomers = nil
	t.mu.Unlock()
	for _, n := range newcomers {
		conn, err := t.loop.Add(n.fd)
		if err != nil {
			_, _ = unix.Write(n.fd, fmt.Appendf(nil, "-ERR max number of clients reached (%v)\r\n", err))
			_ = unix.Close(n.fd)
			continue
		}
		c := &client{conn: conn, memcache: n.memcache, db: t.s.store.database(0), allowed: t.s.cfg.Password == ""}
		conn.Tag = len(t.clients)
		if last := len(t.free) - 1; last >= 0 {
			conn.Tag, t.free = t.free[last], t.free[:last]
			t.clients[conn.Tag] = c
		} else {
			t.clients = append(t.clients, c)
		}
		t.stats.clients.Add(1)
	}
}

// discard closes the clients that came too late.
func (t *thread) discard() {
	for _, n := range t.newcomers {
		_ = unix.Close(n.fd)
	}
}
