package net

import (
	"context"
	"errors"
	"fmt"
	"time"

	"golang.org/x/sys/unix"

	"bakeoff/engine/net/flow"
	"bakeoff/engine/net/socket"
	"bakeoff/engine/net/wire"
	"bakeoff/hist"
	"bakeoff/internal/osenv"
	"bakeoff/load"
	"bakeoff/record"
)

// session is one measurement with one peer.
type session struct {
	c     *config
	peer  peer
	begun bool
	ends  []*flow.Endpoint // by index; those before test.Send send

	open, close int64 // of the window, by this end's clock; set before the work begins
	snapshots   int
	edges       []edge
	workers     []*base
	remote      []flow.End // with samples, read at the end
}

// edge is what both ends had counted as the window opened or closed.
type edge struct {
	at     int64 // when that was, by this end's clock, ns
	cpu    int64 // of this end's workers, ns
	local  []flow.End
	remote *wire.Report
}

func newSession(c *config) *session {
	s := &session{c: c, peer: &own{c: c}}
	if c.target.iperf {
		s.peer = &iperf{c: c}
	}
	return s
}

// Shape gives every connection a thread, with one operation at a time but for
// datagrams, which go in batches, and blocks, which have a depth.
func (s *session) Shape() load.Shape {
	shape := load.Shape{Workers: s.c.connections(), InFlight: 1, Contract: load.Batched, Backend: s.backend(), Rate: s.c.rate()}
	switch t := s.c.test; {
	case t.Mode == wire.Blocks:
		shape.InFlight = s.c.depth
	case t.Mode == wire.Stream && t.Datagram:
		shape.InFlight = s.datagrams().PerCall()
	}
	return shape
}

// backend says how data is moved, with everything that makes it less than what
// a plain application would do.
func (s *session) backend() string {
	t := s.c.test
	text := "blocking system calls"
	if t.Spin {
		text = "spinning at both ends"
	}
	if t.Datagram && t.Mode == wire.Stream {
		text += ", sendmmsg and recvmmsg"
		if t.Segments {
			text += ", UDP_SEGMENT and UDP_GRO"
		}
	}
	if t.ZeroCopy != "" && t.ZeroCopy != flow.Copy {
		text += ", " + string(t.ZeroCopy)
	}
	if t.LowWater {
		text += ", receivers woken for 1 ms of data (SO_RCVLOWAT)"
	}
	if t.Discard {
		text += ", received data thrown away by the kernel (MSG_TRUNC)"
	}
	return text
}

// Prepare agrees with the peer on the measurement. There is no data set.
func (s *session) Prepare(ctx context.Context, _ func(float64)) (*record.DataSet, error) {
	return nil, s.begin(ctx)
}

func (s *session) begin(ctx context.Context) error {
	if s.begun {
		return nil
	}
	if err := s.peer.begin(ctx); err != nil {
		return fmt.Errorf("engine net: %w", err)
	}
	s.begun = true
	return nil
}

// datagrams is how this session's datagrams are sent.
func (s *session) datagrams() flow.Datagrams {
	t := s.c.test
	return flow.Datagrams{Size: t.Block, Batch: t.Batch, Segments: t.Segments}
}

// Worker opens connection i with the thread that calls.
func (s *session) Worker(ctx context.Context, i, n int) (load.Worker, error) {
	if n != s.c.connections() {
		return nil, fmt.Errorf("engine net: asked for %d workers, expected %d", n, s.c.connections())
	}
	if err := s.begin(ctx); err != nil {
		return nil, err
	}
	fd, err := s.peer.connect(ctx, i)
	if err != nil {
		return nil, fmt.Errorf("engine net: connection %d of %d: %w", i+1, n, err)
	}
	e := flow.NewEndpoint(fd, !s.c.test.Datagram, i < s.c.test.Send)
	s.ends = append(s.ends, e)
	b := &base{s: s, i: i, e: e, conn: socket.Conn{FD: fd, Raw: true}, clock: s.c.spec.Clock}
	w, err := b.worker()
	if err != nil {
		return nil, fmt.Errorf("engine net: connection %d of %d: %w", i+1, n, err)
	}
	e.Attach(b.clock)
	s.workers = append(s.workers, b)
	return w, nil
}

// Window has both ends mark their counts when the window opens and closes.
func (s *session) Window(ctx context.Context, open, close int64) error {
	s.open, s.close = open, close
	for _, e := range s.ends {
		e.Expect(open, close)
	}
	if err := s.peer.expect(ctx, open, close); err != nil {
		return fmt.Errorf("engine net: %w", err)
	}
	return nil
}

// Snapshot reads what both ends have marked, first of the window's opening and
// then of its close. It waits until all have done so.
func (s *session) Snapshot(ctx context.Context) ([]load.Count, error) {
	i := s.snapshots
	if s.snapshots++; i > 1 || s.close == 0 {
		return nil, nil // nobody has said when the window is
	}
	e := edge{at: []int64{s.open, s.close}[i]}
	local := func() (_ []flow.End, err error) {
		if e.local == nil {
			e.local, e.cpu, err = s.marked(ctx, i)
		}
		return e.local, err
	}
	var err error
	if e.remote, err = s.peer.edge(ctx, i == 1, local); err == nil {
		_, err = local()
	}
	if err != nil {
		return nil, fmt.Errorf("engine net: %w", err)
	}
	s.edges = append(s.edges, e)
	return e.counts(), nil
}

// marked waits for a mark of all of this end's connections.
func (s *session) marked(ctx context.Context, i int) (ends []flow.End, cpu int64, err error) {
	for _, e := range s.ends {
		m, made := e.Marked(i)
		for !made {
			if err := (osenv.System{}).Sleep(ctx, 2*time.Millisecond); err != nil {
				return nil, 0, fmt.Errorf("waiting for a worker at the window's edge: %w", err)
			}
			m, made = e.Marked(i)
		}
		ends, cpu = append(ends, m.End), cpu+m.CPU
	}
	return ends, cpu, nil
}

// Close ends the measurement at both ends.
func (s *session) Close() error {
	var errs []error
	errs = append(errs, s.peer.close())
	for _, e := range s.ends {
		errs = append(errs, e.Close())
	}
	return errors.Join(errs...)
}

// base is what all workers have.
type base struct {
	s       *session
	i       int
	e       *flow.Endpoint
	conn    socket.Conn
	clock   *load.Clock
	started bool
	looked  int64           // when it was last seen that the peer is there
	trips   *hist.Histogram // round trips of the window, in nanoseconds; nil but for pingpong
}

// worker makes the worker that the test wants.
func (b *base) worker() (load.Worker, error) {
	t := b.s.c.test
	switch t.Mode {
	case wire.PingPong:
		return newPingWorker(b)
	case wire.Connect:
		return newConnectWorker(b)
	case wire.Blocks:
		return newBlockWorker(b)
	}
	if t.Datagram {
		return newDatagramWorker(b)
	}
	return newStreamWorker(b)
}

// start tells the peer that the connection is in use.
func (b *base) start() error {
	if b.started {
		return nil
	}
	b.started = true
	return b.s.peer.start(b.i, b.conn)
}

// idle waits until there is something to do, and looks after the connection.
func (b *base) idle(until int64) error {
	wait := until - b.clock.Now()
	if wait <= 0 {
		return nil
	}
	if b.conn.FD < 0 {
		_, err := socket.Conn{FD: -1, Raw: true}.Poll(0, wait)
		return err
	}
	if !b.e.Stream {
		if events, err := b.conn.Poll(0, wait); err != nil || events&unix.POLLERR == 0 {
			return err
		}
		// A router's word on the path's MTU, or that the peer's port is closed.
		return b.conn.Pending()
	}
	events, err := b.conn.Poll(unix.POLLRDHUP, wait)
	if err == nil && events&(unix.POLLRDHUP|unix.POLLHUP|unix.POLLERR) != 0 && !b.s.peer.ending() {
		return b.lost(errClosed)
	}
	return err
}

var errClosed = errors.New("the peer closed it")

// lost says that the work cannot go on.
func (b *base) lost(err error) error {
	return fmt.Errorf("connection %d is lost: %w", b.i+1, err)
}

// tick does what is to be done from time to time: it takes samples, and sees
// whether the peer is still there.
func (b *base) tick(now int64) error {
	b.e.Tick(now)
	const often = int64(200e6)
	if now-b.looked < often {
		return nil
	}
	b.looked = now
	return b.silent()
}

// silent returns an error where the peer is not there any more: datagrams do not
// tell.
func (b *base) silent() error {
	if b.s.peer.gone() && !b.s.peer.ending() {
		return b.lost(errClosed)
	}
	return nil
}

// Close ends the thread's part in the connection, whose socket the session
// closes: its counters are read for longer.
func (b *base) Close() error {
	b.e.Tick(b.clock.Now())
	b.e.Detach()
	return nil
}
