package net

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"
	"net"
	"sync/atomic"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"bakeoff/engine/net/flow"
	"bakeoff/engine/net/iperf3"
	"bakeoff/engine/net/socket"
	"bakeoff/engine/net/wire"
	"bakeoff/load"
)

// iperf is a server of iperf3. It tells what it has counted only once, when the
// test is over: over its own interval, which begins with the end of the seconds
// that it omits.
type iperf struct {
	c *config
	link
	cookie string
	over   atomic.Bool // it was told that the test is over
	opened []flow.End  // this end's counts as the window opened
	opens  int64       // the window, by this end's clock
	closes int64
	late   int64 // ns from the window's close until the server was told that the test is over
}

// checkIPerf refuses what iperf3 has no word for.
func (c *config) checkIPerf(p *load.Params) error {
	o := c.test.Options
	switch {
	case c.test.Discard && c.test.Send > 0:
		return errors.New("\"discard\" is for receivers of our own: iperf3's server has no such option")
	case o.SendBuffer != o.ReceiveBuffer:
		return errors.New("iperf3 has one size for both buffers: give send_buffer and receive_buffer the same")
	case len(c.test.CPUs) > 1:
		return errors.New("\"server_cpus\": iperf3's server runs on one processor: give one")
	case c.spec.Common.Warmup%time.Second != 0:
		return fmt.Errorf("warmup: found %v, expected whole seconds: an iperf3 server omits no parts of one", c.spec.Common.Warmup)
	case o.Fragment == "allow":
		return errors.New("\"fragment\": iperf3's server knows only kernel and never")
	case o.BusyPoll > 0:
		return errors.New("\"busy_poll\": iperf3's server has no such option")
	case c.test.Datagram && c.test.Block < 16:
		return fmt.Errorf("\"block\": found %d, expected at least 16 bytes, which iperf3's header takes", c.test.Block)
	}
	return nil
}

// parameters is the test as iperf3 has it.
func (p *iperf) parameters() iperf3.Parameters {
	t, o := p.c.test, p.c.test.Options
	n := max(t.Send, t.Receive)
	q := iperf3.Parameters{
		TCP: !t.Datagram, UDP: t.Datagram, Omit: p.omit(), Parallel: n, Length: t.Block, MSS: o.MSS, NoDelay: o.NoDelay && !t.Datagram,
		Time:    int(math.Ceil(t.Seconds)),
		Reverse: t.Send == 0, Bidirectional: t.Send > 0 && t.Receive > 0, Window: o.SendBuffer, TOS: o.DSCP << 2, Congestion: o.Congestion,
		FQRate: o.Pacing * 8, PacingTimer: 1000, Version: "3.12",
	}
	if t.Datagram {
		q.Wide = 1
	}
	if t.ZeroCopy == flow.SendFile {
		q.ZeroCopy = 1
	}
	if o.Fragment == "never" {
		q.DontFragment = 1
	}
	if t.Rate > 0 {
		q.Bandwidth = uint64(t.Rate * 8 / float64(n))
	}
	if len(t.CPUs) == 1 {
		q.ServerAffinity = &t.CPUs[0]
	}
	return q
}

// omit is how many seconds the server leaves out: the warm-up, which is whole.
func (p *iperf) omit() int { return int(p.c.spec.Common.Warmup / time.Second) }

// begin agrees on the test.
func (p *iperf) begin(ctx context.Context) (err error) {
	if p.link, err = p.c.dialControl(ctx); err != nil {
		return err
	}
	p.cookie = cookie()
	return p.bounded(ctx, func(conn net.Conn) error {
		if _, err := io.WriteString(conn, p.cookie+"\x00"); err != nil {
			return err
		}
		if err := iperf3.Expect(conn, iperf3.ParamExchange); err != nil {
			return err
		}
		if err := iperf3.Write(conn, p.parameters()); err != nil {
			return err
		}
		return iperf3.Expect(conn, iperf3.CreateStreams)
	})
}

// connect opens stream i. With the last one the test begins.
func (p *iperf) connect(ctx context.Context, i int) (int, error) {
	dial, cancel := context.WithTimeout(ctx, p.c.controlTime())
	defer cancel()
	fd, err := socket.Connect(dial, p.remote, p.c.from(), !p.c.test.Datagram, p.c.options())
	if err != nil {
		return -1, err
	}
	conn := socket.Conn{FD: fd}
	if p.c.test.Datagram {
		err = p.greet(dial, conn)
	} else if _, errno := conn.Send([]byte(p.cookie+"\x00"), 0); errno != 0 {
		err = errno
	}
	if err == nil && i == p.c.connections()-1 {
		err = p.run(ctx)
	}
	if err != nil {
		return -1, errors.Join(err, unix.Close(fd))
	}
	return fd, nil
}

// greet opens a UDP stream.
func (p *iperf) greet(ctx context.Context, conn socket.Conn) error {
	hello := binary.NativeEndian.AppendUint32(nil, iperf3.ConnectMessage)
	answer := make([]byte, 64)
	if _, errno := conn.Send(hello, 0); errno != 0 {
		return errno
	}
	for {
		n, errno := conn.Receive(answer, 0)
		switch {
		case errno == 0 && n == 4:
			return nil
		case errno != 0 && errno != syscall.EAGAIN:
			return errno
		case ctx.Err() != nil:
			return fmt.Errorf("no answer from %v over UDP: %w", p.remote, context.Cause(ctx))
		}
	}
}

// run waits until the server says that the test runs.
func (p *iperf) run(ctx context.Context) error {
	return p.bounded(ctx, func(conn net.Conn) error {
		if err := iperf3.Expect(conn, iperf3.TestStart); err != nil {
			return err
		}
		return iperf3.Expect(conn, iperf3.TestRunning)
	})
}

// start has nothing to tell: all streams are in use from TestRunning on.
func (p *iperf) start(int, socket.Conn) error { return nil }

// expect has nothing to tell: the server has the omitted seconds.
func (p *iperf) expect(_ context.Context, open, close int64) error {
	p.opens, p.closes = open, close
	return nil
}

// edge ends the test as the window closes, and has the server's results then.
// Before that there are none: its counts begin at zero.
func (p *iperf) edge(ctx context.Context, closing bool, local func() ([]flow.End, error)) (_ *wire.Report, err error) {
	if !closing {
		p.opened, err = local()
		return &wire.Report{Flows: p.flows()}, err
	}
	p.over.Store(true)
	var theirs *iperf3.Results
	err = p.bounded(ctx, func(conn net.Conn) (err error) {
		theirs, err = p.exchange(conn, local)
		return err
	})
	if err != nil {
		return nil, err
	}
	return p.report(theirs)
}

func (p *iperf) exchange(conn net.Conn, local func() ([]flow.End, error)) (*iperf3.Results, error) {
	p.late = p.c.spec.Clock.Now() - p.closes
	if err := iperf3.TestEnd.Write(conn); err != nil {
		return nil, err
	}
	ends, err := local()
	if err != nil {
		return nil, err
	}
	if err := iperf3.Expect(conn, iperf3.ExchangeResults); err != nil {
		return nil, err
	}
	if err := iperf3.Write(conn, p.results(ends)); err != nil {
		return nil, err
	}
	theirs, err := iperf3.ReadResults(conn)
	if err != nil {
		return nil, err
	}
	if err := iperf3.Expect(conn, iperf3.DisplayResults); err != nil {
		return nil, err
	}
	return theirs, iperf3.Done.Write(conn)
}

// results is what this end has counted, as iperf3 wants it.
func (p *iperf) results(local []flow.End) iperf3.Results {
	r := iperf3.Results{HasRetransmits: -1}
	seconds := float64(p.closes-p.opens) / 1e9
	for i, e := range local {
		w := between(p.opened[i:i+1], local[i:i+1])
		s := iperf3.Stream{ID: iperf3.StreamID(i), Bytes: float64(w.sent + w.received), Retransmits: -1, End: seconds, Packets: iperf3.Int(w.sentUnits), OmittedErrors: new(iperf3.Int), OmittedPackets: new(iperf3.Int)}
		if e.Sender && e.Info != nil {
			r.HasRetransmits, s.Retransmits = 1, iperf3.Int(w.retransmits)
		}
		if !e.Sender {
			s.Jitter, s.Packets, s.Errors = e.Counts.Jitter/1e9, iperf3.Int(w.expected), iperf3.Int(less(w.expected, w.units))
		}
		r.Streams = append(r.Streams, s)
	}
	return r
}

// flows are the server's ends, before it has told anything.
func (p *iperf) flows() []flow.End {
	ends := make([]flow.End, p.c.connections())
	for i := range ends {
		ends[i].Sender = i >= p.c.test.Send
		ends[i].Untold = !ends[i].Sender && p.c.test.Datagram
	}
	return ends
}

// report is the server's results as a report since its counts began.
func (p *iperf) report(r *iperf3.Results) (*wire.Report, error) {
	n := p.c.connections()
	out := &wire.Report{Flows: p.flows()}
	for i := range n {
		found := false
		for _, s := range r.Streams {
			if s.ID != iperf3.StreamID(i) {
				continue
			}
			found = true
			out.At = max(out.At, int64((s.End-s.Start)*1e9))
			p.stream(&out.Flows[i], s)
		}
		if !found {
			return nil, fmt.Errorf("%w: found no results of stream %d", flow.ErrProtocol, iperf3.StreamID(i))
		}
	}
	out.CPU = int64(r.CPUTotal / 100 * float64(out.At))
	if p.c.test.Receive == 0 && out.At > p.late {
		out.At -= max(p.late, 0) // this end had stopped sending then
	}
	return out, nil
}

func (p *iperf) stream(e *flow.End, s iperf3.Stream) {
	e.Counts.Bytes = uint64(s.Bytes)
	if s.Retransmits >= 0 && e.Sender {
		e.Info = &socket.Info{Retransmits: uint64(s.Retransmits)}
	}
	if !p.c.test.Datagram {
		return
	}
	if s.OmittedPackets == nil && p.omit() > 0 {
		// iperf3 3.12 and its like count the datagrams of the omitted seconds too,
		// and do not say how many those were: only the bytes are of the window.
		e.Counts.Units, e.Counts.Jitter = e.Counts.Bytes/uint64(p.c.test.Block), s.Jitter*1e9
		return
	}
	packets := uint64(max(s.Packets-value(s.OmittedPackets), 0))
	if e.Sender {
		e.Counts.Units = packets
		return
	}
	lost := uint64(max(s.Errors-value(s.OmittedErrors), 0))
	e.Counts.Expected, e.Counts.Units, e.Counts.Jitter = packets, less(packets, lost), s.Jitter*1e9
}

// value is a number that may be absent: then nothing was omitted.
func value(n *iperf3.Int) iperf3.Int {
	if n == nil {
		return 0
	}
	return *n
}

func (p *iperf) samples(context.Context) []flow.End { return nil }

func (p *iperf) format() flow.Format { return flow.Format{IPerf: true, Wide: true} }

func (p *iperf) ending() bool { return p.over.Load() }

// gone knows that the server closes the connection once the test is over.
func (p *iperf) gone() bool { return !p.over.Load() && p.link.gone() }

func (p *iperf) close() error {
	if !p.over.Load() && p.conn != nil {
		_ = p.bounded(context.Background(), func(conn net.Conn) error { return iperf3.ClientTerminate.Write(conn) })
	}
	return p.link.close()
}
