package server

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"bakeoff/engine/net/flow"
	"bakeoff/engine/net/socket"
	"bakeoff/engine/net/wire"
)

// accept takes the TCP connections of a measurement, and gives each a thread.
func (m *session) accept(listening int) error {
	for {
		fd, from, err := socket.Accept(m.ctx, listening)
		if err != nil {
			return err
		}
		if from.Addr().WithZone("") != m.peer {
			_ = unix.Close(fd)
			continue
		}
		m.threads.Go(func() { m.note(m.stream(fd)) })
	}
}

// stream serves one TCP connection.
func (m *session) stream(fd int) error {
	raw, end := m.s.thread()
	defer end()
	conn := socket.Conn{FD: fd, Raw: raw}
	e, i, err := m.handshake(conn)
	if err != nil {
		return errors.Join(err, unix.Close(fd))
	}
	defer e.Detach()
	if err := m.pin(i); err != nil {
		m.note(err) // before the client hears of it, who then asks why
		e.Shut()
		return err
	}
	e.Attach(m.s.clock)
	if _, errno := conn.Send([]byte{wire.JoinOK}, 0); errno != 0 {
		return fmt.Errorf("greeting a connection: %w", errno)
	}
	return m.move(conn, e)
}

// handshake reads what a data connection begins with.
func (m *session) handshake(conn socket.Conn) (*flow.Endpoint, int, error) {
	ctx, cancel := context.WithTimeout(m.ctx, handshake)
	defer cancel()
	b, err := receive(ctx, conn, wire.JoinSize)
	if err != nil {
		return nil, 0, fmt.Errorf("a data connection that does not say whose it is: %w", err)
	}
	key, i := wire.ReadJoin(b)
	if !bytes.Equal(key, m.key) {
		return nil, 0, errors.New("a data connection with another measurement's key")
	}
	e, err := m.join(i, conn.FD)
	return e, i, err
}

// receive reads n bytes of a stream.
func receive(ctx context.Context, conn socket.Conn, n int) ([]byte, error) {
	b := make([]byte, n)
	for at := 0; at < n; {
		k, errno := conn.Receive(b[at:], 0)
		switch {
		case errno == syscall.EAGAIN:
			if ctx.Err() != nil {
				return nil, context.Cause(ctx)
			}
		case errno != 0:
			return nil, errno
		case k == 0:
			return nil, io.EOF
		}
		at += k
	}
	return b, nil
}

// pin binds the calling thread to the processor that the client chose.
func (m *session) pin(i int) error {
	if len(m.test.CPUs) == 0 {
		return nil
	}
	cpu := m.test.CPUs[i%len(m.test.CPUs)]
	var set unix.CPUSet
	set.Set(cpu)
	if err := unix.SchedSetaffinity(0, &set); err != nil {
		return fmt.Errorf("binding a thread of the server to processor %d: %w", cpu, err)
	}
	return nil
}

// move moves the data of one connection until it ends.
func (m *session) move(conn socket.Conn, e *flow.Endpoint) error {
	t := m.test
	switch {
	case t.Mode == wire.PingPong:
		echo, err := flow.NewEcho(conn, e.Stream, t.Block, &e.Meter)
		if err != nil {
			return err
		}
		defer echo.Close()
		return m.loop(e, func() error { return echo.Turn(!t.Spin) })
	case t.Mode == wire.Blocks:
		blocks, err := flow.NewBlockServer(conn, t.Block, t.Discard, &e.Meter)
		if err != nil {
			return err
		}
		defer blocks.Close()
		return m.loop(e, blocks.Turn)
	case e.Sender:
		return m.send(conn, e)
	case e.Stream:
		r, err := flow.NewStreamReceiver(conn, t.Block, t.Discard, &e.Meter)
		if err != nil {
			return err
		}
		defer r.Close()
		return m.loop(e, func() error {
			if t.LowWater {
				r.Adapt(m.s.clock.Now())
			}
			_, err := r.Block(true)
			return err
		})
	}
	r, err := flow.NewDatagramReceiver(conn, m.datagramsOf(), m.s.clock, &e.Meter)
	if err != nil {
		return err
	}
	defer r.Close()
	foreign := uint64(0)
	return m.loop(e, func() error {
		n, _, err := r.Receive(true)
		if n == 0 && err == nil && r.Foreign() != foreign {
			// The client asks once more to be let in: the answer was lost.
			foreign = r.Foreign()
			_, _ = conn.Send([]byte{wire.JoinOK}, 0)
		}
		return err
	})
}

// loop turns until the measurement or the connection ends. A datagram socket
// whose peer is gone just hears nothing any more.
func (m *session) loop(e *flow.Endpoint, turn func() error) error {
	for {
		e.Tick(m.s.clock.Now())
		if err := turn(); err != nil && !flow.Refused(err) {
			return err
		}
		if m.ctx.Err() != nil {
			return context.Cause(m.ctx)
		}
	}
}

// send sends on a connection, from the client's word on, within the limits.
func (m *session) send(conn socket.Conn, e *flow.Endpoint) error {
	if err := m.await(conn, e); err != nil {
		return err
	}
	t := m.test
	limit := min(time.Duration(t.Seconds*1e9), m.s.cfg.Time)
	p := pace{clock: m.s.clock, tick: e.Tick, rate: m.rate() / float64(t.Receive), end: m.s.clock.Now() + int64(limit)}
	if e.Stream {
		s, err := flow.NewStreamSender(conn, t.Block, t.ZeroCopy, &e.Meter)
		if err != nil {
			return err
		}
		defer s.Close()
		return m.loop(e, func() error {
			done, err := s.Block(true)
			if !done || err != nil {
				return err
			}
			return p.moved(m.ctx, conn, t.Block)
		})
	}
	d := m.datagramsOf()
	s, err := flow.NewDatagramSender(conn, d, &e.Meter)
	if err != nil {
		return err
	}
	defer s.Close()
	most := p.burst(d.PerCall(), t.Block)
	return m.loop(e, func() error {
		n, err := s.Send(most, m.s.clock.Now(), true)
		if err != nil {
			return err
		}
		return p.moved(m.ctx, conn, n*t.Block)
	})
}

// rate is how many bytes a second the server sends in all; 0 is without limit.
func (m *session) rate() float64 {
	asked, most := m.test.Rate, m.s.cfg.Rate
	if asked == 0 || most > 0 && most < asked {
		return most
	}
	return asked
}

func (m *session) datagramsOf() flow.Datagrams {
	t := m.test
	return flow.Datagrams{Size: t.Block, Batch: t.Batch, Segments: t.Segments, Six: m.local.Is6(), Format: m.format}
}

// awaitGo waits for the client's word to send. Where a first datagram is repeated,
// the answer to it was lost.
func (m *session) awaitGo(conn socket.Conn, e *flow.Endpoint) error {
	b := make([]byte, 2*wire.JoinSize)
	for m.ctx.Err() == nil {
		e.Tick(m.s.clock.Now())
		n, errno := conn.Receive(b, 0)
		var err error
		switch {
		case errno == syscall.EAGAIN, errno == syscall.ECONNREFUSED:
		case errno != 0:
			return errno
		case e.Stream && n == 0:
			return io.EOF
		case e.Stream && (n > 1 || b[0] != wire.Go):
			return flow.ErrProtocol
		case e.Stream:
			return nil
		case n == wire.JoinSize:
			_, err = unix.Write(conn.FD, []byte{wire.JoinOK})
		case n == 1+wire.KeySize && b[0] == wire.Go && bytes.Equal(b[1:n], m.key):
			return nil
		}
		if err != nil && !flow.Refused(err) {
			return fmt.Errorf("answering a client: %w", err)
		}
	}
	return context.Cause(m.ctx)
}

// pace keeps a sender to a rate and a time.
type pace struct {
	clock flow.Clock
	tick  func(now int64)
	rate  float64 // bytes a second; 0: no limit
	end   int64   // when it must stop
	due   float64 // when the next bytes are due
}

// burst is how many datagrams to send at once: at low rates fewer, so that they
// are spread.
func (p *pace) burst(most, size int) int {
	if p.rate == 0 {
		return most
	}
	const quantum = 200e-6 // seconds
	return min(most, max(1, int(p.rate*quantum/float64(size))))
}

// moved waits until as many bytes are due. What was missed by more than a tenth
// of a second is not made up for. The error is io.EOF when the time is over.
func (p *pace) moved(ctx context.Context, conn socket.Conn, bytes int) error {
	now := p.clock.Now()
	if now >= p.end {
		return io.EOF
	}
	if p.rate == 0 || bytes == 0 {
		return nil
	}
	p.due = max(p.due, float64(now-int64(socket.Patience))) + float64(bytes)/p.rate*1e9
	if ahead := int64(p.due) - now; ahead > 0 {
		return p.sleep(ctx, conn, min(ahead, p.end-now))
	}
	return nil
}

// sleep waits for some nanoseconds without the Go scheduler's timers.
func (p *pace) sleep(ctx context.Context, conn socket.Conn, ns int64) error {
	const most = int64(socket.Patience)
	for ; ns > 0; ns -= most {
		if _, err := conn.Poll(0, min(ns, most)); err != nil {
			return err
		}
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		p.tick(p.clock.Now())
	}
	return nil
}

// connects accepts connections and closes them, one byte each, as a thread of
// its own.
func (m *session) connects(i, listening int) error {
	_, end := m.s.thread()
	defer end()
	if err := m.pin(i); err != nil {
		return err
	}
	e, err := m.join(i, -1)
	if err != nil {
		return err
	}
	e.Attach(m.s.clock)
	defer e.Detach()
	var counts flow.Counts
	for m.ctx.Err() == nil {
		e.Tick(m.s.clock.Now())
		fd, from, err := socket.TryAccept(listening)
		if err != nil {
			return err
		}
		if fd < 0 {
			continue
		}
		if from.Addr().WithZone("") == m.peer {
			if _, errno := (socket.Conn{FD: fd}).Send([]byte{wire.JoinOK}, 0); errno == 0 {
				counts.Units++
				e.Meter.Publish(&counts)
			}
		}
		_ = unix.Close(fd)
	}
	return context.Cause(m.ctx)
}
