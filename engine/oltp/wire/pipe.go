package wire

import (
	"net"
	"time"
)

// A Pipe is a socket that is a net.Conn for the login, in the clear or under
// crypto/tls, and is then detached: from there on it works on memory, since the
// loop has the socket.
type Pipe struct {
	net.Conn
	detached bool
	in, out  []byte
}

// NewPipe wraps a connected TCP or Unix socket.
func NewPipe(socket net.Conn) *Pipe { return &Pipe{Conn: socket} }

// Read reads the socket, or what was received once detached.
func (p *Pipe) Read(b []byte) (int, error) {
	if !p.detached {
		return p.Conn.Read(b)
	}
	if len(p.in) == 0 {
		return 0, errEmpty
	}
	n := copy(b, p.in)
	p.in = p.in[n:]
	return n, nil
}

// Write writes the socket, or keeps what is to be sent once detached.
func (p *Pipe) Write(b []byte) (int, error) {
	if !p.detached {
		return p.Conn.Write(b)
	}
	p.out = append(p.out, b...)
	return len(b), nil
}

// SetWriteDeadline is what crypto/tls calls before an alert; memory needs none.
func (p *Pipe) SetWriteDeadline(t time.Time) error {
	if p.detached {
		return nil
	}
	return p.Conn.SetWriteDeadline(t)
}

// empty is what a detached pipe answers when there is nothing more to read now:
// a temporary error, after which crypto/tls goes on.
type empty struct{}

func (empty) Error() string   { return "nothing more to read now" }
func (empty) Timeout() bool   { return true }
func (empty) Temporary() bool { return true }

var errEmpty net.Error = empty{}
