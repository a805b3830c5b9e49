package ring

import (
	"errors"
	"fmt"
	"net"
	"syscall"

	"golang.org/x/sys/unix"
)

// Take gets the descriptor of a connected TCP or Unix socket out of a net.Conn,
// ready for Loop.Add, and closes the net.Conn. The caller owns the descriptor.
func Take(conn net.Conn) (int, error) {
	fd, err := dup(conn)
	return fd, errors.Join(err, conn.Close())
}

func dup(conn net.Conn) (fd int, err error) {
	sc, ok := conn.(syscall.Conn)
	if !ok {
		return -1, fmt.Errorf("a %T is not a socket", conn)
	}
	raw, err := sc.SyscallConn()
	if err != nil {
		return -1, fmt.Errorf("taking a socket: %w", err)
	}
	var failed error
	err = raw.Control(func(f uintptr) { fd, failed = unix.FcntlInt(f, unix.F_DUPFD_CLOEXEC, 0) })
	if err = errors.Join(err, failed); err != nil {
		return -1, fmt.Errorf("taking a socket: %w", err)
	}
	return fd, nil
}
