package server

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"net/netip"

	"golang.org/x/sys/unix"

	"bakeoff/engine/net/socket"
	"bakeoff/engine/net/wire"
)

// datagramKey is what the datagrams of a measurement carry of its key.
func datagramKey(key []byte) uint64 { return binary.LittleEndian.Uint64(key) }

// datagrams serves one UDP socket: the client's first datagram, with the key,
// says where it is, and that it is there.
func (m *session) datagrams(i, fd int) error {
	raw, end := m.s.thread()
	defer end()
	conn := socket.Conn{FD: fd, Raw: raw}
	if err := m.pin(i); err != nil {
		return errors.Join(err, unix.Close(fd))
	}
	if err := m.meet(i, fd); err != nil {
		return errors.Join(err, unix.Close(fd))
	}
	e, err := m.join(i, fd)
	if err != nil {
		return errors.Join(err, unix.Close(fd))
	}
	e.Attach(m.s.clock)
	defer e.Detach()
	return m.move(conn, e)
}

// meet waits for the client's first datagram, connects the socket to where it
// came from and answers.
func (m *session) meet(i, fd int) error {
	b := make([]byte, 2*wire.JoinSize)
	for {
		n, from, err := receiveFrom(m.ctx, fd, b)
		if err != nil {
			return err
		}
		if !m.mine(b[:n], i) || from.Addr().WithZone("") != m.peer {
			continue
		}
		if err := unix.Connect(fd, socket.Address(from)); err != nil {
			return fmt.Errorf("connecting a datagram socket to %v: %w", from, err)
		}
		_, err = unix.Write(fd, []byte{wire.JoinOK})
		return err
	}
}

// mine says whether a datagram opens connection i of this measurement.
func (m *session) mine(b []byte, i int) bool {
	if len(b) != wire.JoinSize {
		return false
	}
	key, index := wire.ReadJoin(b)
	return bytes.Equal(key, m.key) && index == i
}

// receiveFrom receives one datagram.
func receiveFrom(ctx context.Context, fd int, b []byte) (int, netip.AddrPort, error) {
	for {
		n, from, err := unix.Recvfrom(fd, b, 0)
		switch {
		case err == nil:
			return n, socket.AddrPort(from), nil
		case errors.Is(err, unix.EAGAIN), errors.Is(err, unix.EINTR):
		default:
			return 0, netip.AddrPort{}, err
		}
		if ctx.Err() != nil {
			return 0, netip.AddrPort{}, context.Cause(ctx)
		}
	}
}
