package flow

import (
	"syscall"

	"golang.org/x/sys/unix"

	"bakeoff/engine/net/socket"
)

// gather is output made of many pieces, sent in order without being copied
// together.
type gather struct {
	parts []unix.Iovec
	at    int // the first part with something left
	last  int // one beyond the last part
	m     unix.Msghdr
}

func newGather(parts int) *gather { return &gather{parts: make([]unix.Iovec, parts)} }

// room is how many parts can still be added.
func (g *gather) room() int { return len(g.parts) - g.last }

func (g *gather) empty() bool { return g.at == g.last }

// add appends bytes, which must stay as they are until they are sent.
func (g *gather) add(b []byte) {
	g.parts[g.last].Base = &b[0]
	g.parts[g.last].SetLen(len(b))
	g.last++
}

// maxParts of one system call (IOV_MAX is 1024).
const maxParts = 512

// send sends what the kernel takes and returns how many bytes that was.
func (g *gather) send(conn socket.Conn, flags int) (int, syscall.Errno) {
	g.m.Iov = &g.parts[g.at]
	g.m.SetIovlen(min(g.last-g.at, maxParts))
	n, errno := conn.SendMessage(&g.m, flags)
	if errno != 0 {
		return 0, errno
	}
	for left := uint64(n); left > 0; {
		p := &g.parts[g.at]
		if left < p.Len {
			p.Base = advance(p.Base, int(left))
			p.Len -= left
			break
		}
		left -= p.Len
		g.at++
	}
	if g.at == g.last {
		g.at, g.last = 0, 0
	}
	return n, 0
}
