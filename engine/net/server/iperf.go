package server

import (
	"cmp"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"net/netip"
	"slices"
	"sync/atomic"
	"time"

	"golang.org/x/sys/unix"

	"bakeoff/engine/net/flow"
	"bakeoff/engine/net/iperf3"
	"bakeoff/engine/net/socket"
	"bakeoff/engine/net/wire"
	"bakeoff/internal/osenv"
)

// iperfTest is a test of an iperf3 client, of which one runs at a time, as with
// iperf3's own server.
type iperfTest struct {
	*session
	cookie  string
	streams chan iperfStream // over TCP, as they come in
	running chan struct{}    // closed when the test runs
	conn    net.Conn
	asked   *iperf3.Parameters
	base    iperfEdge // when what counts begins
	over    atomic.Bool
}

// iperfStream is a stream, and as which of the listener's connections it came:
// iperf3 numbers its streams by that.
type iperfStream struct{ fd, order int }

// iperfEdge is one moment of a test.
type iperfEdge struct {
	report wire.Report
	usage  unix.Rusage
}

// serveIPerf serves one connection of a client of iperf3: a test's first one, or
// one of its streams, which begins with the same cookie.
func (s *server) serveIPerf(ctx context.Context, conn net.Conn, order int) error {
	if err := conn.SetDeadline(osenv.System{}.Now().Add(handshake)); err != nil {
		return err
	}
	cookie := make([]byte, iperf3.CookieSize)
	if n, err := io.ReadFull(conn, cookie); err != nil {
		if n == 0 {
			return nil // somebody looked whether the port is open
		}
		return errors.New("refused: it does not speak iperf3's protocol")
	}
	if joined, err := s.joinIPerf(conn, string(cookie), order); joined {
		return err
	}
	from := peer(conn)
	if !s.allowed(from) {
		return errors.Join(fmt.Errorf("refused: clients of iperf3 are served from %v alone: allow %v", s.cfg.Allow, from), iperf3.AccessDenied.Write(conn))
	}
	t := &iperfTest{cookie: string(cookie), conn: conn, running: make(chan struct{}), streams: make(chan iperfStream, wire.MaxConnections)}
	if !s.take(ctx, t) {
		return iperf3.AccessDenied.Write(conn)
	}
	defer s.iperf.Store(nil)
	keepAlive(conn)
	return t.serve(ctx, s)
}

// take makes a test the one that runs, where there is none. It waits for one that
// is over and being cleared away.
func (s *server) take(ctx context.Context, t *iperfTest) bool {
	for !s.iperf.CompareAndSwap(nil, t) {
		if other := s.iperf.Load(); other != nil && !other.over.Load() || !wait(ctx, 5*time.Millisecond) {
			return false
		}
	}
	return true
}

// joinIPerf hands a stream to the test that it belongs to.
func (s *server) joinIPerf(conn net.Conn, cookie string, order int) (bool, error) {
	t := s.iperf.Load()
	if t == nil || t.cookie != cookie || peer(conn) != peer(t.conn) {
		return false, nil
	}
	fd, err := socket.Take(conn)
	if err != nil {
		return true, err
	}
	select {
	case t.streams <- iperfStream{fd, order}:
		return true, nil
	default:
		return true, errors.Join(errors.New("refused: more streams than a test may have"), unix.Close(fd))
	}
}

// serve leads the client through its test.
func (t *iperfTest) serve(ctx context.Context, s *server) error {
	if err := iperf3.ParamExchange.Write(t.conn); err != nil {
		return err
	}
	p, err := iperf3.ReadParameters(t.conn)
	if err != nil {
		return errors.Join(err, iperf3.WriteError(t.conn, iperf3.ReasonParams, 0))
	}
	test, reason, err := s.iperfTest(p)
	if err != nil {
		return errors.Join(fmt.Errorf("refused: %w", err), iperf3.WriteError(t.conn, reason, 0))
	}
	n := test.Send + test.Receive
	if err := s.reserve(ctx, n); err != nil {
		return errors.Join(err, iperf3.WriteError(t.conn, iperf3.ReasonStreams, 0))
	}
	defer s.release(n)
	t.asked = p
	t.session = &session{s: s, test: test, peer: peer(t.conn), local: local(t.conn), ends: make([]*flow.Endpoint, n)}
	t.format = flow.Format{IPerf: true, Wide: p.Wide != 0}
	t.await = func(socket.Conn, *flow.Endpoint) error { return t.awaitRunning() }
	t.ctx, t.cancel = context.WithCancel(ctx)
	defer t.close()
	defer t.drop()
	if err := t.open(); err != nil {
		return errors.Join(err, iperf3.WriteError(t.conn, iperf3.ReasonBuffer, 0))
	}
	return t.run()
}

// drop closes streams that nobody took.
func (t *iperfTest) drop() {
	for {
		select {
		case x := <-t.streams:
			_ = unix.Close(x.fd)
		default:
			return
		}
	}
}

// iperfTest is a client's parameters as a test of ours, or why there is none.
func (s *server) iperfTest(p *iperf3.Parameters) (*wire.Test, int32, error) {
	t := &wire.Test{Mode: wire.Stream, Datagram: p.UDP, Send: p.Parallel, Block: p.Length, Segments: p.UDP, ZeroCopy: flow.Copy, Seconds: s.cfg.Time.Seconds()}
	switch {
	case p.SCTP || p.TCP == p.UDP:
		return nil, iperf3.ReasonProtocol, errors.New("only TCP and UDP are spoken here")
	case p.Parallel > wire.MaxConnections/2:
		return nil, iperf3.ReasonStreams, fmt.Errorf("%d streams: at most %d", p.Parallel, wire.MaxConnections/2)
	case float64(p.Time) > s.cfg.Time.Seconds():
		return nil, iperf3.ReasonTime, fmt.Errorf("%d s: at most %v", p.Time, s.cfg.Time)
	}
	if p.Time > 0 {
		t.Seconds = float64(p.Time+p.Omit) + handshake.Seconds()
	}
	if p.Reverse || p.Bidirectional {
		t.Receive = p.Parallel
	}
	if p.Reverse {
		t.Send = 0
	}
	if t.Datagram {
		t.Batch = 8
	}
	if t.Block == 0 {
		t.Block = map[bool]int{false: 128 << 10, true: 1460}[t.Datagram]
	}
	if p.ZeroCopy != 0 && !t.Datagram {
		t.ZeroCopy = flow.SendFile
	}
	if p.ServerAffinity != nil && *p.ServerAffinity >= 0 {
		t.CPUs = []int{*p.ServerAffinity}
	}
	t.Rate = float64(p.Bandwidth) / 8 * float64(p.Parallel)
	t.Options = socket.Options{
		Congestion: p.Congestion, MSS: p.MSS, SendBuffer: p.Window, ReceiveBuffer: p.Window, DSCP: p.TOS >> 2, NoDelay: p.NoDelay, Pacing: p.FQRate / 8,
	}
	if p.DontFragment != 0 {
		t.Options.Fragment = "never"
	}
	if t.Datagram {
		t.Options.Congestion, t.Options.MSS = "", 0
	}
	return t, iperf3.ReasonBlock, errors.Join(t.Check(), memory(t))
}

// open takes the client's streams in.
func (t *iperfTest) open() error {
	ctx, cancel := context.WithTimeoutCause(t.ctx, handshake, errors.New("the client has not opened all of its streams"))
	defer cancel()
	if t.test.Datagram {
		return t.openDatagrams(ctx)
	}
	if err := iperf3.CreateStreams.Write(t.conn); err != nil {
		return err
	}
	var all []iperfStream
	for len(all) < len(t.ends) {
		select {
		case x := <-t.streams:
			all = append(all, x)
		case <-ctx.Done():
			for _, x := range all {
				_ = unix.Close(x.fd)
			}
			return context.Cause(ctx)
		}
	}
	slices.SortFunc(all, func(a, b iperfStream) int { return cmp.Compare(a.order, b.order) })
	var errs []error
	for i, x := range all {
		errs = append(errs, t.begin(i, x.fd, t.test.Options.Apply(x.fd, t.local.Is6(), true)))
	}
	return errors.Join(errs...)
}

// begin gives a stream its thread.
func (t *iperfTest) begin(i, fd int, err error) error {
	if err == nil {
		err = socket.Patient(fd)
	}
	if err != nil {
		return errors.Join(err, unix.Close(fd))
	}
	e, err := t.join(i, fd)
	if err != nil {
		return errors.Join(err, unix.Close(fd))
	}
	t.threads.Go(func() {
		raw, end := t.s.thread()
		defer end()
		if err := t.pin(i); err != nil {
			t.note(err)
			return
		}
		e.Attach(t.s.clock)
		defer e.Detach()
		t.note(t.move(socket.Conn{FD: fd, Raw: raw}, e))
	})
	return nil
}

// openDatagrams takes the client's UDP streams in: each is connected to where its
// first datagram came from, and another socket takes its place.
func (t *iperfTest) openDatagrams(ctx context.Context) error {
	at, ok := t.conn.LocalAddr().(*net.TCPAddr)
	if !ok {
		return errors.New("no address to listen at")
	}
	here := netip.AddrPortFrom(t.local, uint16(at.Port))
	o := t.test.Options
	next, err := socket.ListenShared(here, o)
	if err == nil {
		err = iperf3.CreateStreams.Write(t.conn)
	}
	for i := range t.ends {
		if err != nil {
			break
		}
		fd := next
		var answer []byte
		if answer, err = t.meet(ctx, fd); err != nil {
			break
		}
		if next, err = socket.ListenShared(here, o); err != nil {
			_ = unix.Close(fd)
			return err
		}
		if err = t.begin(i, fd, nil); err == nil {
			_, err = unix.Write(fd, answer)
		}
	}
	if next >= 0 {
		err = errors.Join(err, unix.Close(next))
	}
	return err
}

// meet waits for the first datagram of a stream, connects the socket to where it
// came from, and returns what it is to be answered with.
func (t *iperfTest) meet(ctx context.Context, fd int) ([]byte, error) {
	b := make([]byte, 64)
	for {
		n, from, err := receiveFrom(ctx, fd, b)
		if err != nil {
			return nil, err
		}
		answer, ok := iperfAnswer(b[:n])
		if !ok || from.Addr().WithZone("") != t.peer {
			continue
		}
		if err := unix.Connect(fd, socket.Address(from)); err != nil {
			return nil, fmt.Errorf("connecting a datagram socket to %v: %w", from, err)
		}
		return answer, nil
	}
}

// iperfAnswer is what the first datagram of a stream is answered with, in the
// sender's order of bytes.
func iperfAnswer(b []byte) ([]byte, bool) {
	if len(b) != 4 {
		return nil, false
	}
	for _, order := range []binary.ByteOrder{binary.LittleEndian, binary.BigEndian} {
		answer := make([]byte, 4)
		switch order.Uint32(b) {
		case iperf3.ConnectMessage:
			order.PutUint32(answer, iperf3.ConnectReply)
			return answer, true
		case iperf3.LegacyMessage:
			order.PutUint32(answer, iperf3.LegacyReply)
			return answer, true
		}
	}
	return nil, false
}

func (t *iperfTest) awaitRunning() error {
	select {
	case <-t.running:
		return nil
	case <-t.ctx.Done():
		return context.Cause(t.ctx)
	}
}

// run is the test itself, to the exchange of results.
func (t *iperfTest) run() error {
	for _, s := range []iperf3.State{iperf3.TestStart, iperf3.TestRunning} {
		if err := s.Write(t.conn); err != nil {
			return err
		}
	}
	t.base = t.now()
	close(t.running)
	limit := time.Duration(t.test.Seconds*1e9) + 2*handshake
	if err := t.conn.SetDeadline(osenv.System{}.Now().Add(limit)); err != nil {
		return err
	}
	omitted := time.AfterFunc(time.Duration(t.asked.Omit)*time.Second, func() {
		edge := t.now()
		t.mu.Lock()
		t.base = edge
		t.mu.Unlock()
	})
	defer omitted.Stop()
	state, err := iperf3.ReadState(t.conn)
	switch {
	case err != nil:
		return fmt.Errorf("the client is gone: %w", err)
	case state == iperf3.ClientTerminate:
		return nil
	case state != iperf3.TestEnd:
		return fmt.Errorf("found state %d of iperf3's in mid-test, expected %d", state, iperf3.TestEnd)
	}
	omitted.Stop()
	end := t.now()
	t.cancel()
	t.shut() // a client that receives waits for the rest of a block, or the end
	return t.exchange(end)
}

func (t *iperfTest) now() (e iperfEdge) {
	e.report = t.report(false)
	_ = unix.Getrusage(unix.RUSAGE_SELF, &e.usage) // fails for no argument of ours
	return e
}

// exchange gives and takes results.
func (t *iperfTest) exchange(end iperfEdge) error {
	if err := t.conn.SetDeadline(osenv.System{}.Now().Add(handshake)); err != nil {
		return err
	}
	if err := iperf3.ExchangeResults.Write(t.conn); err != nil {
		return err
	}
	if _, err := iperf3.ReadResults(t.conn); err != nil {
		return err
	}
	if err := iperf3.Write(t.conn, t.results(end)); err != nil {
		return err
	}
	t.over.Store(true)
	if err := iperf3.DisplayResults.Write(t.conn); err != nil {
		return err
	}
	_, err := iperf3.ReadState(t.conn) // Done; some clients just leave
	if errors.Is(err, io.EOF) || errors.Is(err, unix.ECONNRESET) {
		return nil
	}
	return err
}

func (t *iperfTest) results(end iperfEdge) iperf3.Results {
	t.mu.Lock()
	base := t.base
	t.mu.Unlock()
	seconds := float64(end.report.At-base.report.At) / 1e9
	r := iperf3.Results{HasRetransmits: -1}
	if seconds > 0 {
		r.CPUUser = float64(end.usage.Utime.Nano()-base.usage.Utime.Nano()) / 1e7 / seconds
		r.CPUSystem = float64(end.usage.Stime.Nano()-base.usage.Stime.Nano()) / 1e7 / seconds
		r.CPUTotal = r.CPUUser + r.CPUSystem
	}
	for i, e := range end.report.Flows {
		b := base.report.Flows[i]
		s := iperf3.Stream{ID: iperf3.StreamID(i), Bytes: float64(e.Counts.Bytes - b.Counts.Bytes), Retransmits: -1, End: seconds}
		if e.Info != nil && b.Info != nil && e.Sender {
			r.HasRetransmits, s.Retransmits = 1, iperf3.Int(e.Info.Retransmits-b.Info.Retransmits)
		}
		if e.Options != nil {
			r.Congestion = e.Options.Congestion
		}
		if t.test.Datagram {
			t.datagramResults(&s, b.Counts, e)
		}
		r.Streams = append(r.Streams, s)
	}
	return r
}

// datagramResults are those of a UDP stream. Packets count from the test's
// start, with the omitted ones beside them; of errors only those that count.
func (t *iperfTest) datagramResults(s *iperf3.Stream, base flow.Counts, e flow.End) {
	s.OmittedErrors = new(iperf3.Int)
	if e.Sender {
		s.Packets, s.OmittedPackets = iperf3.Int(e.Counts.Units), whole(base.Units)
		return
	}
	s.Packets, s.OmittedPackets = iperf3.Int(e.Counts.Expected), whole(base.Expected)
	s.Jitter = e.Counts.Jitter / 1e9
	lost := int64(e.Counts.Expected-base.Expected) - int64(e.Counts.Units-base.Units)
	s.Errors = iperf3.Int(max(lost, 0))
}

func whole(n uint64) *iperf3.Int {
	v := iperf3.Int(n)
	return &v
}
