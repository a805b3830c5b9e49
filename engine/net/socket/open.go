package socket

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"time"

	"golang.org/x/sys/unix"
)

// Address turns an address into the kernel's form.
func Address(a netip.AddrPort) unix.Sockaddr {
	ip := a.Addr()
	if ip.Is4() {
		return &unix.SockaddrInet4{Port: int(a.Port()), Addr: ip.As4()}
	}
	return &unix.SockaddrInet6{Port: int(a.Port()), Addr: ip.As16(), ZoneId: zoneID(ip.Zone())}
}

// AddrPort is the inverse of Address; IPv4 in IPv6 comes back as IPv4.
func AddrPort(sa unix.Sockaddr) netip.AddrPort {
	switch a := sa.(type) {
	case *unix.SockaddrInet4:
		return netip.AddrPortFrom(netip.AddrFrom4(a.Addr), uint16(a.Port))
	case *unix.SockaddrInet6:
		ip := netip.AddrFrom16(a.Addr).Unmap()
		if a.ZoneId != 0 && ip.IsLinkLocalUnicast() {
			ip = ip.WithZone(fmt.Sprint(a.ZoneId))
		}
		return netip.AddrPortFrom(ip, uint16(a.Port))
	}
	return netip.AddrPort{}
}

// open makes a socket with its options.
func open(a netip.Addr, stream bool, o Options) (int, error) {
	family, kind := unix.AF_INET, unix.SOCK_DGRAM
	if a.Is6() {
		family = unix.AF_INET6
	}
	if stream {
		kind = unix.SOCK_STREAM
	}
	fd, err := unix.Socket(family, kind|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		if errors.Is(err, unix.EAFNOSUPPORT) && a.Is6() {
			return -1, fmt.Errorf("this host has no IPv6: %w; use an IPv4 address", err)
		}
		return -1, fmt.Errorf("opening a socket: %w", err)
	}
	if err := o.Apply(fd, a.Is6(), stream); err != nil {
		return -1, errors.Join(err, unix.Close(fd))
	}
	return fd, nil
}

// Connect opens a socket and connects it, from local where that is valid. It
// gives up when ctx is done. The socket blocks, for up to Patience at a time.
func Connect(ctx context.Context, remote netip.AddrPort, local netip.AddrPort, stream bool, o Options) (int, error) {
	fd, err := open(remote.Addr(), stream, o)
	if err != nil {
		return -1, err
	}
	if err := connect(ctx, fd, remote, local); err != nil {
		return -1, errors.Join(fmt.Errorf("connecting to %v: %w", remote, explained(err)), unix.Close(fd))
	}
	return fd, nil
}

// explained adds to an error of connect(2) what it mostly means.
func explained(err error) error {
	switch {
	case errors.Is(err, unix.ENETUNREACH):
		return fmt.Errorf("%w: this host has no route there", err)
	case errors.Is(err, unix.EADDRNOTAVAIL):
		return fmt.Errorf("%w: is the address one of this host's, and are there free ports?", err)
	}
	return err
}

func connect(ctx context.Context, fd int, remote, local netip.AddrPort) error {
	if local.IsValid() {
		if err := unix.Bind(fd, Address(local)); err != nil {
			return fmt.Errorf("binding to %v: %w", local, err)
		}
	}
	if err := unix.SetNonblock(fd, true); err != nil {
		return err
	}
	err := unix.Connect(fd, Address(remote))
	if errors.Is(err, unix.EINPROGRESS) {
		if err = Await(ctx, fd, unix.POLLOUT); err == nil {
			err = pending(fd)
		}
	}
	if err != nil {
		return err
	}
	return Patient(fd)
}

// Pending takes the error that a datagram socket holds. A router's word that
// packets are too big is none: the kernel knows the path's MTU now.
func (c Conn) Pending() error {
	if err := pending(c.FD); !errors.Is(err, unix.EMSGSIZE) {
		return err
	}
	return nil
}

func pending(fd int) error {
	n, err := unix.GetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_ERROR)
	if err == nil && n != 0 {
		err = unix.Errno(n)
	}
	return err
}

// Patience is how long a blocking call on a socket of this package takes at most.
const Patience = 100 * time.Millisecond

// Patient makes a socket block, but no longer than Patience.
func Patient(fd int) error {
	if err := unix.SetNonblock(fd, false); err != nil {
		return err
	}
	tv := unix.NsecToTimeval(int64(Patience))
	return errors.Join(
		unix.SetsockoptTimeval(fd, unix.SOL_SOCKET, unix.SO_RCVTIMEO, &tv),
		unix.SetsockoptTimeval(fd, unix.SOL_SOCKET, unix.SO_SNDTIMEO, &tv))
}

// Listen opens a socket at an address: one that listens, or, for datagrams, one
// that is bound. Port 0 is any free one.
func Listen(at netip.AddrPort, stream bool, o Options) (int, error) {
	fd, err := open(at.Addr(), stream, o)
	if err != nil {
		return -1, err
	}
	if err := listen(fd, at, stream); err != nil {
		return -1, errors.Join(fmt.Errorf("listening at %v: %w", at, err), unix.Close(fd))
	}
	return fd, nil
}

func listen(fd int, at netip.AddrPort, stream bool) error {
	if stream {
		if err := unix.SetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_REUSEADDR, 1); err != nil {
			return err
		}
	}
	if at.Addr().Is6() && at.Addr() != netip.IPv6Unspecified() {
		if err := unix.SetsockoptInt(fd, unix.IPPROTO_IPV6, unix.IPV6_V6ONLY, 1); err != nil {
			return err
		}
	}
	if err := unix.Bind(fd, Address(at)); err != nil {
		return err
	}
	if err := Patient(fd); err != nil || !stream {
		return err
	}
	return unix.Listen(fd, 1024)
}

// ListenShared opens a datagram socket at an address that others, connected ones,
// may be bound to as well.
func ListenShared(at netip.AddrPort, o Options) (int, error) {
	fd, err := open(at.Addr(), false, o)
	if err != nil {
		return -1, err
	}
	if err = unix.SetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_REUSEADDR, 1); err == nil {
		err = listen(fd, at, false)
	}
	if err != nil {
		return -1, errors.Join(fmt.Errorf("listening at %v: %w", at, err), unix.Close(fd))
	}
	return fd, nil
}

// Accept takes one connection off a listening socket, waiting until ctx is
// done. The connection has the listener's options.
func Accept(ctx context.Context, fd int) (int, netip.AddrPort, error) {
	for ctx.Err() == nil {
		got, from, err := TryAccept(fd)
		if err != nil || got >= 0 {
			return got, from, err
		}
	}
	return -1, netip.AddrPort{}, context.Cause(ctx)
}

// TryAccept is Accept that waits no longer than Patience, and then returns -1.
func TryAccept(fd int) (int, netip.AddrPort, error) {
	got, from, err := unix.Accept4(fd, unix.SOCK_CLOEXEC)
	switch {
	case errors.Is(err, unix.ECONNABORTED), errors.Is(err, unix.EINTR), errors.Is(err, unix.EAGAIN):
		return -1, netip.AddrPort{}, nil
	case err != nil:
		return -1, netip.AddrPort{}, fmt.Errorf("accepting a connection: %w", err)
	}
	if err := Patient(got); err != nil {
		return -1, netip.AddrPort{}, errors.Join(err, unix.Close(got))
	}
	return got, AddrPort(from), nil
}

// Await waits until a socket is ready for the events of poll(2), or ctx is done.
func Await(ctx context.Context, fd int, events int16) error {
	set := []unix.PollFd{{Fd: int32(fd), Events: events}}
	for ctx.Err() == nil {
		n, err := unix.Poll(set, 20)
		if err != nil && !errors.Is(err, unix.EINTR) {
			return err
		}
		if n > 0 {
			return nil
		}
	}
	return context.Cause(ctx)
}

// Local returns the address that a socket is bound to.
func Local(fd int) (netip.AddrPort, error) {
	sa, err := unix.Getsockname(fd)
	if err != nil {
		return netip.AddrPort{}, fmt.Errorf("reading a socket's address: %w", err)
	}
	return AddrPort(sa), nil
}

// Gone says whether the peer of a connected stream socket has closed it.
func Gone(fd int) bool {
	set := []unix.PollFd{{Fd: int32(fd), Events: unix.POLLRDHUP}}
	n, err := unix.Poll(set, 0)
	return err == nil && n > 0
}
