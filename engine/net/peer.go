package net

import (
	"context"
	"crypto/rand"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"net"
	"net/netip"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"bakeoff/engine/net/flow"
	"bakeoff/engine/net/socket"
	"bakeoff/engine/net/wire"
	"bakeoff/internal/osenv"
)

// peer is the other end of a measurement.
type peer interface {
	// begin agrees on the measurement.
	begin(ctx context.Context) error
	// connect opens data connection i.
	connect(ctx context.Context, i int) (fd int, err error)
	// start tells the peer that data connection i is in use from now on. It
	// is called by the connection's thread, before its first operation and, of
	// datagrams, again while nothing comes.
	start(i int, conn socket.Conn) error
	// expect tells the peer when the window opens and closes, in nanoseconds of
	// this end's clock. All connections are open.
	expect(ctx context.Context, open, close int64) error
	// edge reads what the peer has counted by the window's opening or its close.
	// Local gives what this end has.
	edge(ctx context.Context, closing bool, local func() ([]flow.End, error)) (*wire.Report, error)
	// samples reads those of every second; nil where the peer keeps none.
	samples(ctx context.Context) []flow.End
	// address is the target's.
	address() netip.AddrPort
	// format is how datagrams are numbered.
	format() flow.Format
	// gone says whether the peer has ended the conversation.
	gone() bool
	// ending says whether the peer was told that the measurement is over, so
	// that its connections may end.
	ending() bool
	close() error
}

// link is the control connection to a peer.
type link struct {
	conn   net.Conn
	remote netip.AddrPort // where it goes
	fd     int            // a copy of its descriptor, to look at
	limit  time.Duration  // of each exchange
}

// controlTime bounds each exchange over a control connection: as long as an
// operation may take, within reason.
func (c *config) controlTime() time.Duration {
	return min(max(time.Duration(c.timeout), time.Second), 10*time.Second)
}

func (c *config) dialControl(ctx context.Context) (link, error) {
	remote, err := c.target.resolve(ctx, c.family)
	if err != nil {
		return link{}, err
	}
	ctx, cancel := context.WithTimeout(ctx, c.controlTime())
	defer cancel()
	local := netip.AddrPort{}
	if c.bind.IsValid() {
		local = netip.AddrPortFrom(c.bind, 0)
	}
	fd, err := socket.Connect(ctx, remote, local, true, socket.Options{NoDelay: true, Device: c.device})
	if err != nil {
		return link{}, fmt.Errorf("reaching the server: %w", err)
	}
	conn, err := socket.NetConn(fd)
	if err != nil {
		return link{}, err
	}
	l := link{conn: conn, remote: remote, limit: c.controlTime()}
	l.fd, err = socket.Copy(conn)
	if err != nil {
		return link{}, errors.Join(err, conn.Close())
	}
	return l, nil
}

// bounded runs an exchange that ends with ctx, and within its limit.
func (l *link) bounded(ctx context.Context, do func(net.Conn) error) error {
	if err := l.conn.SetDeadline(osenv.System{}.Now().Add(l.limit)); err != nil {
		return err
	}
	stop := context.AfterFunc(ctx, func() { _ = l.conn.SetDeadline(time.Unix(1, 0)) })
	defer stop()
	err := do(l.conn)
	if err != nil && ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return err
}

func (l *link) address() netip.AddrPort { return l.remote }

func (l *link) gone() bool { return l.conn == nil || socket.Gone(l.fd) }

func (l *link) close() error {
	if l.conn == nil {
		return nil
	}
	err := errors.Join(l.conn.Close(), unix.Close(l.fd))
	l.conn = nil
	return err
}

// own is bakeoff's own server.
type own struct {
	c *config
	link
	key     []byte
	ports   []int
	version string
}

// begin proves that this client may ask, and asks.
func (o *own) begin(ctx context.Context) (err error) {
	if o.link, err = o.c.dialControl(ctx); err != nil {
		return err
	}
	return o.bounded(ctx, o.agree)
}

func (o *own) agree(conn net.Conn) error {
	if _, err := io.WriteString(conn, wire.Magic); err != nil {
		return err
	}
	hello := wire.Hello{Version: wire.Version, Nonce: wire.NewNonce()}
	if err := wire.Write(conn, hello); err != nil {
		return err
	}
	var challenge wire.Challenge
	if err := wire.Read(conn, &challenge); err != nil {
		return fmt.Errorf("is %v a bakeoff server (bakeoff embedded net)? %w", o.remote, err)
	}
	if challenge.Refused != "" {
		return fmt.Errorf("the server refused: %s", challenge.Refused)
	}
	if challenge.Token && o.c.token == "" {
		return errors.New("the server asks for a token: give it as the secret \"token\" of the workload, or to bakeoff load with --password-file or --password-env")
	}
	test, err := json.Marshal(o.c.test)
	if err != nil {
		return err
	}
	proof := wire.Proof{Test: test}
	if challenge.Token {
		proof.MAC = wire.ClientMAC(o.c.token, hello, challenge, test)
	}
	if err := wire.Write(conn, proof); err != nil {
		return err
	}
	var ready wire.Ready
	if err := wire.Read(conn, &ready); err != nil {
		return err
	}
	return o.take(ready, hello, challenge, test)
}

func (o *own) take(ready wire.Ready, hello wire.Hello, challenge wire.Challenge, test []byte) (err error) {
	if ready.Refused != "" {
		return fmt.Errorf("the server refused: %s", ready.Refused)
	}
	if challenge.Token && !wire.Equal(ready.MAC, wire.ServerMAC(o.c.token, hello, challenge, test)) {
		return errors.New("the server does not know the token: it is not the one it should be")
	}
	o.key, err = hex.DecodeString(ready.Key)
	sockets := 1
	if o.c.test.Datagram {
		sockets = o.c.connections()
	}
	if err != nil || len(o.key) != wire.KeySize || len(ready.Ports) != sockets {
		return fmt.Errorf("%w: found a key of %d bytes and %d ports", flow.ErrProtocol, len(o.key), len(ready.Ports))
	}
	o.ports, o.version = ready.Ports, ready.Version
	return nil
}

// data is where the data of connection i goes.
func (o *own) data(i int) netip.AddrPort {
	return netip.AddrPortFrom(o.remote.Addr(), uint16(o.ports[i%len(o.ports)]))
}

func (o *own) connect(ctx context.Context, i int) (int, error) {
	c := o.c
	if c.test.Mode == wire.Connect {
		return -1, nil // its operations connect
	}
	ctx, cancel := context.WithTimeout(ctx, c.controlTime())
	defer cancel()
	fd, err := socket.Connect(ctx, o.data(i), c.from(), !c.test.Datagram, c.options())
	if err != nil {
		return -1, err
	}
	if err := o.join(ctx, i, socket.Conn{FD: fd}); err != nil {
		return -1, errors.Join(fmt.Errorf("joining the measurement: %w", err), unix.Close(fd))
	}
	return fd, nil
}

// from is the address that data sockets are bound to.
func (c *config) from() netip.AddrPort {
	if !c.bind.IsValid() {
		return netip.AddrPort{}
	}
	return netip.AddrPortFrom(c.bind, 0)
}

// options are those of this end's data sockets.
func (c *config) options() socket.Options {
	o := c.test.Options
	o.Device = c.device
	return o
}

// join says whose connection this is, and waits for the server's answer. A
// datagram that is not answered is sent again.
func (o *own) join(ctx context.Context, i int, conn socket.Conn) error {
	hello := wire.Join(o.key, i)
	answer := make([]byte, 64)
	for tries := 0; ; tries++ {
		if tries == 0 || o.c.test.Datagram {
			if _, errno := conn.Send(hello, 0); errno != 0 {
				return errno
			}
		}
		n, errno := conn.Receive(answer, 0)
		switch {
		case errno == 0 && n == 1 && answer[0] == wire.JoinOK, errno == 0 && n == wire.JoinSize && o.c.test.Datagram:
			return nil
		case errno == 0 && n == 0 && !o.c.test.Datagram:
			return o.why(ctx, io.EOF)
		case errno == syscall.EAGAIN, errno == 0:
		default:
			return o.why(ctx, errno)
		}
		if ctx.Err() != nil {
			return fmt.Errorf("no answer from %v: is there a firewall between, or an MTU that is too small? %w", o.data(i), context.Cause(ctx))
		}
		if o.gone() {
			return errors.New("the server ended the conversation")
		}
	}
}

// why asks the server what went wrong there.
func (o *own) why(ctx context.Context, err error) error {
	r, asked := o.ask(ctx, wire.Ask{})
	if asked == nil && r.Error != "" {
		return fmt.Errorf("the server: %s", r.Error)
	}
	return err
}

func (o *own) start(i int, conn socket.Conn) error {
	if i < o.c.test.Send || o.c.test.Mode != wire.Stream {
		return nil
	}
	word := []byte{wire.Go}
	if o.c.test.Datagram {
		word = append(word, o.key...)
	}
	if _, errno := conn.Send(word, 0); errno != 0 && errno != syscall.EAGAIN {
		return fmt.Errorf("telling the server to send: %w", errno)
	}
	return nil
}

func (o *own) ask(ctx context.Context, what wire.Ask) (*wire.Report, error) {
	r := new(wire.Report)
	err := o.bounded(ctx, func(conn net.Conn) error {
		if err := wire.Write(conn, what); err != nil {
			return err
		}
		return wire.Read(conn, r)
	})
	if err == nil && len(r.Flows) != o.c.connections() {
		err = fmt.Errorf("%w: found the counts of %d connections, expected %d", flow.ErrProtocol, len(r.Flows), o.c.connections())
	}
	if err != nil {
		return nil, fmt.Errorf("asking the server for its counts: %w", err)
	}
	return r, nil
}

// exchanges is how often the server is asked for its time.
const exchanges = 5

// expect has the server mark its counts at the edges of the window, by its own
// clock: of several exchanges, the quickest tells best how far that is from ours.
// An error of the clocks moves both edges alike.
func (o *own) expect(ctx context.Context, open, close int64) error {
	clock, offset, best := o.c.spec.Clock, int64(0), int64(math.MaxInt64)
	for range exchanges {
		sent := clock.Now()
		r, err := o.ask(ctx, wire.Ask{})
		if err != nil {
			return err
		}
		back := clock.Now()
		if took := back - sent; took < best {
			best, offset = took, r.Now-(sent+back)/2
		}
		if best > int64(time.Millisecond) && open-back < 10*best {
			break // a long way, and little time
		}
	}
	_, err := o.ask(ctx, wire.Ask{Expect: []int64{open + offset, close + offset}})
	return err
}

func (o *own) edge(ctx context.Context, closing bool, _ func() ([]flow.End, error)) (*wire.Report, error) {
	mark := 1
	if closing {
		mark = 2
	}
	r, err := o.ask(ctx, wire.Ask{Mark: mark})
	if err == nil && r.Error != "" {
		err = fmt.Errorf("the server: %s", r.Error)
	}
	return r, err
}

func (o *own) samples(ctx context.Context) []flow.End {
	r, err := o.ask(ctx, wire.Ask{Samples: true})
	if err != nil {
		return nil // the figures do not need them
	}
	return r.Flows
}

func (o *own) format() flow.Format {
	return flow.Format{Key: binary.LittleEndian.Uint64(o.key)}
}

func (o *own) ending() bool { return false }

// cookie draws what iperf3 names a test by: 36 letters and digits.
func cookie() string {
	const letters = "abcdefghijklmnopqrstuvwxyz234567"
	b := make([]byte, 36)
	_, _ = rand.Read(b) // never fails
	for i := range b {
		b[i] = letters[b[i]%32]
	}
	return string(b)
}
