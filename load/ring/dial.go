package ring

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"time"

	"golang.org/x/sys/unix"
)

// Dial connects a stream socket, non-blocking and ready for Loop.Add, and waits at
// most timeout for it. The network is "tcp", with an address of "host:port", or
// "unix", with a path.
func Dial(ctx context.Context, network, address string, timeout time.Duration) (int, error) {
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	if network == "unix" {
		return dial(ctx, &unix.SockaddrUnix{Name: address}, unix.AF_UNIX)
	}
	host, port, err := net.SplitHostPort(address)
	if err != nil {
		return -1, fmt.Errorf("address %q: %w", address, err)
	}
	number, err := net.DefaultResolver.LookupPort(ctx, "tcp", port)
	if err != nil {
		return -1, err
	}
	addrs, err := net.DefaultResolver.LookupNetIP(ctx, "ip", host)
	if err != nil {
		return -1, err
	}
	var errs []error
	for _, a := range addrs {
		sa, family := sockaddr(a.Unmap(), number)
		fd, err := dial(ctx, sa, family)
		if err == nil {
			// A request must leave at once: without it a second small one would wait for the first one's answer.
			return fd, unix.SetsockoptInt(fd, unix.IPPROTO_TCP, unix.TCP_NODELAY, 1)
		}
		errs = append(errs, fmt.Errorf("connecting to %s: %w", netip.AddrPortFrom(a.Unmap(), uint16(number)), err))
	}
	return -1, errors.Join(errs...)
}

func sockaddr(a netip.Addr, port int) (unix.Sockaddr, int) {
	if a.Is4() {
		return &unix.SockaddrInet4{Port: port, Addr: a.As4()}, unix.AF_INET
	}
	sa := &unix.SockaddrInet6{Port: port, Addr: a.As16()}
	if i, err := net.InterfaceByName(a.Zone()); a.Zone() != "" && err == nil {
		sa.ZoneId = uint32(i.Index)
	}
	return sa, unix.AF_INET6
}

func dial(ctx context.Context, sa unix.Sockaddr, family int) (int, error) {
	fd, err := unix.Socket(family, unix.SOCK_STREAM|unix.SOCK_CLOEXEC|unix.SOCK_NONBLOCK, 0)
	if err != nil {
		return -1, err
	}
	if err := connect(ctx, fd, sa); err != nil {
		_ = unix.Close(fd)
		return -1, err
	}
	return fd, nil
}

func connect(ctx context.Context, fd int, sa unix.Sockaddr) error {
	err := unix.Connect(fd, sa)
	for errors.Is(err, unix.EAGAIN) { // a Unix socket whose queue is full
		if err := pause(ctx); err != nil {
			return err
		}
		err = unix.Connect(fd, sa)
	}
	if !errors.Is(err, unix.EINPROGRESS) && !errors.Is(err, unix.EINTR) {
		return err
	}
	if err := Poll(ctx, fd, unix.POLLOUT); err != nil {
		return err
	}
	errno, err := unix.GetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_ERROR)
	if err == nil && errno != 0 {
		err = unix.Errno(errno)
	}
	return err
}

func pause(ctx context.Context) error {
	t := time.NewTimer(time.Millisecond)
	defer t.Stop()
	select {
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-t.C:
		return nil
	}
}

// pollSlice is how long a poll goes without looking at its context.
const pollSlice = 50 * time.Millisecond

// Poll waits until a descriptor is ready for the events (unix.POLLIN,
// unix.POLLOUT) or ctx is done, whose cause it returns.
func Poll(ctx context.Context, fd int, events int16) error {
	for {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		n, err := unix.Poll([]unix.PollFd{{Fd: int32(fd), Events: events}}, int(pollSlice.Milliseconds()))
		if err != nil && !errors.Is(err, unix.EINTR) {
			return err
		}
		if n > 0 {
			return nil
		}
	}
}
