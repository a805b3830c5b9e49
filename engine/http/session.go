package http

import (
	"context"
	"fmt"
	"hash/crc32"
	"net"
	"sync/atomic"

	"bakeoff/load"
	"bakeoff/load/dial"
	"bakeoff/load/ring"
)

// session is one load on one target.
type session struct {
	c       *config
	backend string
	counts  counts
	outage  dial.Outage
}

// counts are what the workers count beside their operations.
type counts struct {
	handshakes, resumed atomic.Uint64
}

// newSession settles on the way of input and output, so that every worker's is
// the one that the record names.
func newSession(c *config) *session {
	s := &session{c: c, backend: string(c.io)}
	if c.io == ring.Auto {
		c.io = ring.URing
		s.backend = string(c.io)
		if err := ring.Available(); err != nil {
			c.io = ring.Epoll
			s.backend = fmt.Sprintf("%s (%v)", c.io, err)
		}
	}
	if c.gather.Lazy() {
		s.backend += ", receive stamps of the kernel"
	}
	if c.discard {
		s.backend += ", contents thrown away by the kernel"
	}
	if c.tls != nil {
		s.backend += ", TLS in the generator"
	}
	return s
}

// Shape gives each worker its share of the connections.
func (s *session) Shape() load.Shape {
	each := (s.c.connections + s.c.workers - 1) / s.c.workers
	return load.Shape{Workers: s.c.workers, InFlight: each * s.c.pipeline, Contract: load.Batched, Backend: s.backend}
}

// Worker opens worker i of n.
func (s *session) Worker(ctx context.Context, i, n int) (load.Worker, error) {
	if n != s.c.workers {
		return nil, fmt.Errorf("engine http: asked for %d workers, expected %d", n, s.c.workers)
	}
	w, err := newWorker(ctx, s, i, n)
	if err != nil {
		return nil, fmt.Errorf("engine http: %w", err)
	}
	return w, nil
}

// Snapshot reads what the engine counts; a web server has no counters that all
// have in common.
func (s *session) Snapshot(context.Context) ([]load.Count, error) {
	all := s.outage.Counts(s.c.spec.Clock.Now(), s.c.connections)
	if s.c.tls != nil {
		all = append(all,
			load.Count{Name: "tls_handshakes", Unit: "1", Value: float64(s.counts.handshakes.Load())},
			load.Count{Name: "tls_resumed", Unit: "1", Value: float64(s.counts.resumed.Load())})
	}
	return all, nil
}

// Close ends the session.
func (s *session) Close() error { return nil }

// dial connects and hands over the socket.
func (s *session) dial(ctx context.Context) (dial.Link, error) {
	c := s.c
	ctx, cancel := context.WithTimeout(ctx, c.timeout)
	defer cancel()
	dialer := net.Dialer{KeepAlive: -1}
	socket, err := dialer.DialContext(ctx, c.target.network, c.target.address)
	if err != nil {
		return dial.Link{}, fmt.Errorf("connecting to the target: %w", err)
	}
	var sealed *dial.Sealed
	if c.tls != nil {
		sealed = dial.Seal(socket, c.tls)
		if err := sealed.TLS().HandshakeContext(ctx); err != nil {
			_ = socket.Close()
			return dial.Link{}, fmt.Errorf("connecting to %s: %w", c.target.address, dial.Advise(err))
		}
		s.counts.handshakes.Add(1)
		if sealed.TLS().ConnectionState().DidResume {
			s.counts.resumed.Add(1)
		}
	}
	fd, err := ring.Take(socket)
	if err != nil {
		return dial.Link{}, err
	}
	if sealed != nil {
		sealed.Detach()
	}
	return dial.Link{FD: fd, Sealed: sealed}, nil
}

// sums is the table by which content is summed; nil where it is not.
func (c *config) sums() *crc32.Table {
	if !c.verify {
		return nil
	}
	return castagnoli()
}

// castagnoli is the polynomial that processors sum by themselves (RFC 3720 appendix B.4).
func castagnoli() *crc32.Table { return crc32.MakeTable(crc32.Castagnoli) }
