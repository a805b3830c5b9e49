package net

import (
	"cmp"
	"errors"
	"fmt"

	"golang.org/x/sys/unix"

	"bakeoff/engine/net/socket"
	"bakeoff/engine/net/wire"
	"bakeoff/load"
)

// connectWorker opens connections, waits for the byte with which the server
// greets each, and closes them with a reset, so that none lingers in TIME_WAIT
// and takes a port.
type connectWorker struct {
	*base
	target unix.Sockaddr
	family int
	op     load.Op
	busy   bool
	fd     int // of the connection in hand; -1 for none
	failed error
}

func newConnectWorker(b *base) (*connectWorker, error) {
	o, ok := b.s.peer.(*own)
	if !ok {
		return nil, errors.New("connections need a bakeoff server")
	}
	at := o.data(b.i)
	w := &connectWorker{base: b, target: socket.Address(at), family: unix.AF_INET, fd: -1}
	if at.Addr().Is6() {
		w.family = unix.AF_INET6
	}
	return w, nil
}

// Submit begins to open a connection.
func (w *connectWorker) Submit(ops []load.Op) (int, error) {
	if w.busy || len(ops) == 0 {
		return 0, nil
	}
	w.op, w.busy = ops[0], true
	w.failed = w.open()
	return 1, nil
}

func (w *connectWorker) open() (err error) {
	if w.fd, err = unix.Socket(w.family, unix.SOCK_STREAM|unix.SOCK_CLOEXEC|unix.SOCK_NONBLOCK, 0); err != nil {
		return fmt.Errorf("opening a socket: %w", err)
	}
	if err := unix.SetsockoptLinger(w.fd, unix.SOL_SOCKET, unix.SO_LINGER, &unix.Linger{Onoff: 1}); err != nil {
		return fmt.Errorf("setting SO_LINGER: %w", err)
	}
	c := w.s.c
	if err := c.options().Apply(w.fd, w.family == unix.AF_INET6, true); err != nil {
		return err
	}
	if from := c.from(); from.IsValid() {
		if err := unix.Bind(w.fd, socket.Address(from)); err != nil {
			return fmt.Errorf("binding to %v: %w", from, err)
		}
	}
	if err := unix.Connect(w.fd, w.target); err != nil && !errors.Is(err, unix.EINPROGRESS) {
		return fmt.Errorf("connecting: %w", err)
	}
	return nil
}

// Reap waits for the server's byte.
func (w *connectWorker) Reap(dst []load.Completion, until int64) ([]load.Completion, error) {
	if !w.busy {
		return dst, w.idle(until)
	}
	for {
		gone := w.tick(w.clock.Now())
		greeted, err := false, w.failed
		if err == nil {
			greeted, err = w.greeting(until)
		}
		now := w.clock.Now()
		switch {
		case greeted:
			return w.complete(dst, now, load.OK, nil), gone
		case err != nil || gone != nil:
			return w.complete(dst, now, load.Failed, cmp.Or(err, gone)), gone
		case now-w.op.Sent > w.s.c.timeout:
			return w.complete(dst, now, load.TimedOut, nil), nil
		case now >= until:
			return dst, nil
		}
	}
}

func (w *connectWorker) greeting(until int64) (bool, error) {
	conn := socket.Conn{FD: w.fd, Raw: true}
	events, err := conn.Poll(unix.POLLIN, min(until-w.clock.Now(), int64(socket.Patience)))
	if err != nil || events == 0 {
		return false, err
	}
	var b [1]byte
	n, errno := conn.Receive(b[:], unix.MSG_DONTWAIT)
	switch {
	case errno == unix.EAGAIN:
		return false, nil
	case errno != 0:
		return false, fmt.Errorf("connecting: %w", errno)
	case n != 1 || b[0] != wire.JoinOK:
		return false, errors.New("the server closed the connection without a word")
	}
	return true, nil
}

func (w *connectWorker) complete(dst []load.Completion, now int64, status load.OpStatus, err error) []load.Completion {
	w.busy = false
	w.drop()
	c := load.Completion{Intended: w.op.Intended, Sent: w.op.Sent, Done: now, Count: 1, Slot: w.op.Slot, Kind: kindConnect, Status: status, Err: err}
	if status == load.OK {
		c.Items = 1
	}
	return append(dst, c)
}

func (w *connectWorker) drop() {
	if w.fd >= 0 {
		_ = unix.Close(w.fd) // a reset, of which no error can come
		w.fd = -1
	}
}

// Close closes what is open.
func (w *connectWorker) Close() error {
	w.drop()
	return w.base.Close()
}
