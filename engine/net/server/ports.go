package server

import (
	"errors"
	"fmt"
	"net/netip"
	"sync/atomic"

	"golang.org/x/sys/unix"

	"bakeoff/engine/net/socket"
)

// ports is the range that data sockets listen in; none is any free one.
type ports struct {
	low, high uint16
	turn      atomic.Uint32
}

// listen opens a data socket at an address of this host.
func (p *ports) listen(at netip.Addr, stream bool, o socket.Options) (fd int, port uint16, err error) {
	if p.low == 0 {
		fd, err = socket.Listen(netip.AddrPortFrom(at, 0), stream, o)
	} else {
		n := uint32(p.high-p.low) + 1
		err = unix.EADDRINUSE
		for range n {
			at := netip.AddrPortFrom(at, p.low+uint16(p.turn.Add(1)%n))
			if fd, err = socket.Listen(at, stream, o); err == nil || !errors.Is(err, unix.EADDRINUSE) {
				break
			}
		}
		if errors.Is(err, unix.EADDRINUSE) {
			return -1, 0, fmt.Errorf("all data ports from %d to %d are taken: give the server more of them", p.low, p.high)
		}
	}
	if err != nil {
		return -1, 0, err
	}
	bound, err := socket.Local(fd)
	if err != nil {
		return -1, 0, errors.Join(err, unix.Close(fd))
	}
	return fd, bound.Port(), nil
}
