package socket

import (
	"errors"
	"fmt"
	"net"
	"os"
	"syscall"

	"golang.org/x/sys/unix"
)

// NetConn turns a connected stream socket into a net.Conn, which owns it.
func NetConn(fd int) (net.Conn, error) {
	if err := unix.SetNonblock(fd, true); err != nil {
		return nil, errors.Join(err, unix.Close(fd))
	}
	f := os.NewFile(uintptr(fd), "control connection")
	conn, err := net.FileConn(f)
	if err = errors.Join(err, f.Close()); err != nil {
		return nil, fmt.Errorf("taking a socket over: %w", err)
	}
	return conn, nil
}

// Copy returns another descriptor of a net.Conn's socket.
func Copy(conn net.Conn) (fd int, err error) {
	sc, ok := conn.(syscall.Conn)
	if !ok {
		return -1, fmt.Errorf("a %T is not a socket", conn)
	}
	raw, err := sc.SyscallConn()
	if err != nil {
		return -1, fmt.Errorf("copying a socket: %w", err)
	}
	var failed error
	err = raw.Control(func(f uintptr) { fd, failed = unix.FcntlInt(f, unix.F_DUPFD_CLOEXEC, 0) })
	if err = errors.Join(err, failed); err != nil {
		return -1, fmt.Errorf("copying a socket: %w", err)
	}
	return fd, nil
}

// Take gets the descriptor out of a net.Conn, which it closes, as a socket that
// blocks for up to Patience.
func Take(conn net.Conn) (int, error) {
	fd, err := Copy(conn)
	if err != nil {
		return -1, err
	}
	if err := errors.Join(conn.Close(), Patient(fd)); err != nil {
		return -1, errors.Join(err, unix.Close(fd))
	}
	return fd, nil
}
