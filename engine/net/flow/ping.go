package flow

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"syscall"

	"golang.org/x/sys/unix"

	"bakeoff/engine/net/socket"
)

// Pinger sends messages of one size and waits for them to come back, one at a
// time.
type Pinger struct {
	conn   socket.Conn
	stream bool
	size   int
	out    []byte
	in     []byte
	number uint64
	at     int // bytes of the reply in hand
	left   int // bytes of the message that are still to be sent
	owed   int // bytes of replies that were given up, and may still come
	counts Counts
	meter  *Meter
}

// NewPinger returns a pinger of messages of so many bytes over a byte stream or
// datagrams.
func NewPinger(conn socket.Conn, stream bool, size int, meter *Meter) (*Pinger, error) {
	b, err := socket.NewBuffer(2 * (size + 64))
	if err != nil {
		return nil, err
	}
	p := &Pinger{conn: conn, stream: stream, size: size, out: b[:size], in: b[size+64:], meter: meter}
	socket.Fill(p.out, 1)
	return p, nil
}

// Begin sends a message. Datagrams carry its number, as far as they have room.
func (p *Pinger) Begin() error {
	p.number++
	p.at, p.left = 0, p.size
	if !p.stream {
		var n [8]byte
		binary.LittleEndian.PutUint64(n[:], p.number)
		copy(p.out, n[:])
	}
	return p.send(0)
}

func (p *Pinger) send(flags int) error {
	n, errno := p.conn.Send(p.out[p.size-p.left:], flags)
	if errno == syscall.EMSGSIZE && !p.stream { // a router's word on the path's MTU: it is known now
		n, errno = p.conn.Send(p.out, flags)
	}
	switch errno {
	case 0:
		p.left -= n
	case syscall.EAGAIN:
	default:
		return fmt.Errorf("sending: %w", errno)
	}
	return nil
}

// Poll looks for the answer, waiting for up to socket.Patience or not at all,
// and reports whether it is complete. The error is io.EOF where the peer closed
// the connection.
func (p *Pinger) Poll(wait bool) (bool, error) {
	flags := 0
	if !wait {
		flags = unix.MSG_DONTWAIT
	}
	if p.left > 0 {
		if err := p.send(flags); err != nil || p.left > 0 {
			return false, err
		}
	}
	for {
		want := p.in[:p.size-p.at]
		if p.owed > 0 {
			want = p.in[:min(p.size, p.owed)]
		}
		n, errno := p.conn.Receive(want, flags)
		switch {
		case errno == syscall.EAGAIN, tooBig(errno, p.stream):
			return false, nil
		case errno != 0:
			return false, fmt.Errorf("receiving: %w", errno)
		case n == 0 && p.stream:
			return false, io.EOF
		}
		if p.took(n) {
			return true, nil
		}
	}
}

// took takes in received bytes and reports whether they end the reply.
func (p *Pinger) took(n int) bool {
	if !p.stream {
		var want [8]byte
		binary.LittleEndian.PutUint64(want[:], p.number)
		k := min(8, n)
		if n != p.size || string(p.in[:k]) != string(want[:k]) {
			return false // an answer that was given up
		}
	} else if p.owed > 0 {
		p.owed -= n
		return false
	} else if p.at += n; p.at < p.size {
		return false
	}
	p.counts.Units++
	p.counts.Bytes += uint64(p.size)
	p.meter.Publish(&p.counts)
	return true
}

// Abandon gives up the answer in hand, which may still come.
func (p *Pinger) Abandon() {
	if p.stream {
		p.owed += p.size - p.at
	}
}

// Broken says whether a stream cannot go on, as part of a message was given up
// before it was sent.
func (p *Pinger) Broken() bool { return p.stream && p.left > 0 && p.left < p.size }

// Close frees what the pinger holds; the socket is the caller's.
func (p *Pinger) Close() error {
	if p.out != nil {
		socket.FreeBuffer(p.out[:cap(p.out)])
	}
	p.out = nil
	return nil
}

// Echo sends back what it receives: each message whole.
type Echo struct {
	conn   socket.Conn
	stream bool
	size   int
	buffer []byte
	at     int
	counts Counts
	meter  *Meter
}

// NewEcho returns an echo of messages of so many bytes.
func NewEcho(conn socket.Conn, stream bool, size int, meter *Meter) (*Echo, error) {
	e := &Echo{conn: conn, stream: stream, size: size, meter: meter}
	var err error
	e.buffer, err = socket.NewBuffer(size)
	return e, err
}

// Turn answers one message, waiting for it for up to socket.Patience or, to spin,
// not at all. The error is io.EOF at the stream's end.
func (e *Echo) Turn(wait bool) error {
	flags := 0
	if !wait {
		flags = unix.MSG_DONTWAIT
	}
	n, errno := e.conn.Receive(e.buffer[e.at:e.size], flags)
	switch {
	case errno == syscall.EAGAIN, tooBig(errno, e.stream):
		return nil
	case errno != 0:
		return fmt.Errorf("receiving: %w", errno)
	case n == 0 && e.stream:
		return io.EOF
	}
	if e.at += n; e.stream && e.at < e.size {
		return nil
	}
	b := e.buffer[:e.at]
	e.at = 0
	for len(b) > 0 {
		n, errno := e.conn.Send(b, 0)
		if errno == syscall.EMSGSIZE && !e.stream {
			n, errno = e.conn.Send(b, 0)
		}
		if errno == syscall.EAGAIN && !e.stream {
			return nil // lost, as datagrams may be
		}
		if errno == syscall.EAGAIN && socket.Gone(e.conn.FD) {
			return io.EOF
		}
		if errno != 0 && errno != syscall.EAGAIN {
			return fmt.Errorf("sending: %w", errno)
		}
		b = b[n:]
	}
	e.counts.Units++
	e.counts.Bytes += uint64(e.size)
	e.meter.Publish(&e.counts)
	return nil
}

// Close frees what the echo holds; the socket is the caller's.
func (e *Echo) Close() error {
	socket.FreeBuffer(e.buffer)
	e.buffer = nil
	return nil
}

// tooBig says whether an error is a router's word on something sent before. A
// datagram socket reports it with the next call, whatever that is.
func tooBig(errno syscall.Errno, stream bool) bool { return errno == syscall.EMSGSIZE && !stream }

// Refused says whether an error is that of a datagram socket whose peer is not
// there any more.
func Refused(err error) bool { return errors.Is(err, syscall.ECONNREFUSED) }
