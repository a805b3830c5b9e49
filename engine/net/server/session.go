package server

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"net"
	"net/netip"
	"slices"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"bakeoff/engine/net/flow"
	"bakeoff/engine/net/socket"
	"bakeoff/engine/net/wire"
	"bakeoff/internal/osenv"
)

// session is one measurement with one client.
type session struct {
	s       *server
	test    *wire.Test
	key     []byte
	peer    netip.Addr
	local   netip.Addr
	ctx     context.Context // done when the measurement is
	cancel  context.CancelFunc
	threads sync.WaitGroup
	sockets []int // that listen or wait for a client's first datagram
	ports   []int
	format  flow.Format
	// await waits for the client's word to send on a stream.
	await func(conn socket.Conn, e *flow.Endpoint) error

	mu     sync.Mutex
	ends   []*flow.Endpoint // by index; nil until it is connected
	times  []int64          // of the marks that are expected
	failed error
}

// converse is the conversation with one of bakeoff's clients.
func (s *server) converse(ctx context.Context, conn net.Conn, _ int) error {
	if err := conn.SetDeadline(osenv.System{}.Now().Add(handshake)); err != nil {
		return err
	}
	magic := make([]byte, len(wire.Magic))
	if n, err := io.ReadFull(conn, magic); err != nil || string(magic) != wire.Magic {
		if n == 0 {
			return nil // somebody looked whether the port is open
		}
		return errors.New("refused: it does not speak bakeoff's protocol; clients of iperf3 need an iperf3:// endpoint")
	}
	test, ready, err := s.admit(conn)
	if err != nil {
		return fmt.Errorf("refused: %w", err)
	}
	if err := s.reserve(ctx, test.Send+test.Receive); err != nil {
		return errors.Join(err, wire.Write(conn, wire.Ready{Refused: err.Error()}))
	}
	defer s.release(test.Send + test.Receive)
	m, err := s.newSession(ctx, conn, test)
	if err != nil {
		return errors.Join(err, wire.Write(conn, wire.Ready{Refused: err.Error()}))
	}
	defer m.close()
	ready.Key, ready.Ports, ready.Version = hex.EncodeToString(m.key), m.ports, s.cfg.Version
	if err := wire.Write(conn, ready); err != nil {
		return err
	}
	if err := conn.SetDeadline(time.Time{}); err != nil {
		return err
	}
	keepAlive(conn)
	return m.reports(conn)
}

// keepAlive has the kernel find out within some seconds that a client is gone
// without a word.
func keepAlive(conn net.Conn) {
	if c, ok := conn.(*net.TCPConn); ok {
		_ = c.SetKeepAliveConfig(net.KeepAliveConfig{Enable: true, Idle: 5 * time.Second, Interval: 2 * time.Second, Count: 5})
	}
}

// admit hears who the client is and what it wants.
func (s *server) admit(conn net.Conn) (*wire.Test, wire.Ready, error) {
	var hello wire.Hello
	var ready wire.Ready
	if err := wire.Read(conn, &hello); err != nil {
		return nil, ready, err
	}
	challenge := wire.Challenge{Version: wire.Version, Nonce: wire.NewNonce(), Token: s.cfg.Token != ""}
	switch {
	case hello.Version != wire.Version:
		challenge.Refused = fmt.Sprintf("the client speaks version %d of the protocol, the server %d: use one release of bakeoff on both ends", hello.Version, wire.Version)
	case !challenge.Token && !s.allowed(peer(conn)):
		challenge.Refused = fmt.Sprintf("the server has no token and serves only %v: give it a token, or allow %v", s.cfg.Allow, peer(conn))
	}
	if err := wire.Write(conn, challenge); err != nil {
		return nil, ready, err
	}
	if challenge.Refused != "" {
		return nil, ready, errors.New(challenge.Refused)
	}
	var proof wire.Proof
	if err := wire.Read(conn, &proof); err != nil {
		return nil, ready, err
	}
	if challenge.Token && !wire.Equal(proof.MAC, wire.ClientMAC(s.cfg.Token, hello, challenge, proof.Test)) {
		err := errors.New("the token is not the server's")
		return nil, ready, errors.Join(err, wire.Write(conn, wire.Ready{Refused: err.Error()}))
	}
	test, err := wire.ReadTest(proof.Test)
	if err != nil {
		return nil, ready, errors.Join(err, wire.Write(conn, wire.Ready{Refused: err.Error()}))
	}
	if challenge.Token {
		ready.MAC = wire.ServerMAC(s.cfg.Token, hello, challenge, proof.Test)
	}
	return test, ready, nil
}

// maxMemory bounds the buffers of one measurement, in bytes.
const maxMemory = 1 << 30

// memory refuses tests that need too much of it.
func memory(t *wire.Test) error {
	n := int64(t.Send + t.Receive)
	if n*int64(t.Block) > maxMemory || t.Datagram && n*int64(t.Batch)<<16 > maxMemory {
		return fmt.Errorf("%d connections with blocks of %d bytes in batches of %d need too much memory", n, t.Block, t.Batch)
	}
	return nil
}

func (s *server) newSession(ctx context.Context, conn net.Conn, test *wire.Test) (*session, error) {
	if err := memory(test); err != nil {
		return nil, err
	}
	n := test.Send + test.Receive
	m := &session{s: s, test: test, key: make([]byte, wire.KeySize), peer: peer(conn), local: local(conn), ends: make([]*flow.Endpoint, n)}
	_, _ = rand.Read(m.key) // never fails
	m.format, m.await = flow.Format{Key: datagramKey(m.key)}, m.awaitGo
	m.ctx, m.cancel = context.WithCancel(ctx)
	sockets := 1
	if test.Datagram {
		sockets = n
	}
	for range sockets {
		fd, port, err := s.ports.listen(m.local, !test.Datagram, test.Options)
		if err != nil {
			m.close()
			return nil, err
		}
		m.sockets, m.ports = append(m.sockets, fd), append(m.ports, int(port))
	}
	m.start()
	return m, nil
}

// start begins to wait for the client's data connections.
func (m *session) start() {
	switch {
	case m.test.Datagram:
		for i, fd := range m.sockets {
			m.threads.Go(func() { m.note(m.datagrams(i, fd)) })
		}
		m.sockets = nil // their threads close them
	case m.test.Mode == wire.Connect:
		for i := range m.test.Send {
			m.threads.Go(func() { m.note(m.connects(i, m.sockets[0])) })
		}
	default:
		m.threads.Go(func() { m.note(m.accept(m.sockets[0])) })
	}
}

// note keeps the first error that is not the measurement's end.
func (m *session) note(err error) {
	if err == nil || m.ctx.Err() != nil || errors.Is(err, io.EOF) || errors.Is(err, unix.ECONNRESET) || errors.Is(err, unix.EPIPE) {
		return
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.failed == nil {
		m.failed = err
	}
}

// reports answers the client until it closes the conversation.
func (m *session) reports(conn net.Conn) error {
	for {
		var ask wire.Ask
		if err := wire.Read(conn, &ask); err != nil {
			if errors.Is(err, io.EOF) || errors.Is(err, unix.ECONNRESET) {
				return nil
			}
			return err
		}
		if err := conn.SetWriteDeadline(osenv.System{}.Now().Add(handshake)); err != nil {
			return err
		}
		r, err := m.answer(ask)
		if err != nil {
			return err
		}
		if err := wire.Write(conn, r); err != nil {
			return err
		}
	}
}

// answer does what a client asks for.
func (m *session) answer(ask wire.Ask) (wire.Report, error) {
	switch {
	case len(ask.Expect) > wire.MaxMarks || ask.Mark < 0 || ask.Mark > wire.MaxMarks || !slices.IsSorted(ask.Expect):
		return wire.Report{}, fmt.Errorf("%w: asked for %d marks, and number %d", flow.ErrProtocol, len(ask.Expect), ask.Mark)
	case ask.Mark > 0:
		return m.mark(ask.Mark - 1)
	case len(ask.Expect) > 0:
		m.mu.Lock()
		m.times = ask.Expect
		for _, e := range m.ends {
			if e != nil {
				e.Expect(ask.Expect...)
			}
		}
		m.mu.Unlock()
	}
	return m.report(ask.Samples), nil
}

// mark waits until a mark is made on all connections.
func (m *session) mark(i int) (wire.Report, error) {
	for {
		r, done, err := m.marked(i)
		if done || err != nil {
			return r, err
		}
		if !wait(m.ctx, 5*time.Millisecond) {
			return r, context.Cause(m.ctx)
		}
	}
}

func (m *session) marked(i int) (r wire.Report, done bool, err error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if i >= len(m.times) {
		return r, false, fmt.Errorf("%w: asked for mark %d of %d", flow.ErrProtocol, i+1, len(m.times))
	}
	r = m.header()
	r.At = m.times[i]
	for k, e := range m.ends {
		if e == nil {
			continue
		}
		x, made := e.Marked(i)
		if !made {
			return r, false, nil
		}
		r.Flows[k] = x.End
		r.CPU += x.CPU
	}
	return r, true, nil
}

// header is a report without counts.
func (m *session) header() wire.Report {
	now := m.s.clock.Now()
	r := wire.Report{Now: now, At: now, Busy: hostBusy(), Flows: make([]flow.End, len(m.ends))}
	if m.failed != nil {
		r.Error = m.failed.Error()
	}
	return r
}

// report is how things stand now.
func (m *session) report(samples bool) wire.Report {
	m.mu.Lock()
	defer m.mu.Unlock()
	r := m.header()
	for i, e := range m.ends {
		if e == nil {
			continue
		}
		r.Flows[i] = e.Read(samples)
		r.Flows[i].Samples = thinned(r.Flows[i].Samples, maxSamples/len(m.ends))
		r.CPU += e.CPU()
	}
	return r
}

// maxSamples is how many one report holds: their JSON must fit a frame.
const maxSamples = 6000

// thinned leaves out samples evenly where there are more than so many.
func thinned(all []flow.Sample, most int) []flow.Sample {
	step := (len(all) + max(most, 1) - 1) / max(most, 1)
	if step <= 1 {
		return all
	}
	var some []flow.Sample
	for i := 0; i < len(all); i += step {
		some = append(some, all[i])
	}
	return some
}

// join takes a connected socket in as one of the measurement's connections.
func (m *session) join(i, fd int) (*flow.Endpoint, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if i < 0 || i >= len(m.ends) || m.ends[i] != nil {
		return nil, fmt.Errorf("found a second connection %d, or one too many", i)
	}
	m.ends[i] = flow.NewEndpoint(fd, !m.test.Datagram, i >= m.test.Send)
	if len(m.times) > 0 {
		m.ends[i].Expect(m.times...)
	}
	return m.ends[i], nil
}

// close ends the measurement and everything that belongs to it.
func (m *session) close() {
	m.cancel()
	m.shut()
	m.threads.Wait()
	for _, fd := range m.sockets {
		_ = unix.Close(fd)
	}
	for _, e := range m.ends {
		if e != nil {
			_ = e.Close()
		}
	}
}

// shut ends all streams.
func (m *session) shut() {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, e := range m.ends {
		if e != nil {
			e.Shut()
		}
	}
}
