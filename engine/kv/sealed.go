package kv

import (
	"crypto/tls"
	"errors"
	"net"
	"time"
)

// sealed is TLS on a worker's connection without a goroutine. The handshake
// reads and writes the socket; once it is detached, crypto/tls works on
// memory: what the loop received is put in, and what it wants sent is taken out.
// This is the slow path of the engine: it copies, and seals a record a batch.
type sealed struct {
	tls   *tls.Conn
	pipe  *pipe
	plain []byte // requests that are still to be sealed
	clear []byte // where records are opened to
}

const maxRecord = 16 << 10 // of TLS, RFC 8446 section 5.1

func newSealed(socket net.Conn, cfg *tls.Config) *sealed {
	p := &pipe{Conn: socket}
	return &sealed{tls: tls.Client(p, cfg), pipe: p, clear: make([]byte, maxRecord)}
}

func (s *sealed) detach() { s.pipe.detached = true }

// seal encrypts what is in plain and appends it to out.
func (s *sealed) seal(out []byte) ([]byte, error) {
	if len(s.plain) == 0 {
		return out, nil
	}
	s.pipe.out = out
	_, err := s.tls.Write(s.plain)
	s.plain = s.plain[:0]
	return s.taken(), err
}

// put takes received bytes. TLS may have something to send in return, such as
// a new key; it is appended to out, which taken gives back.
func (s *sealed) put(data, out []byte) { s.pipe.in, s.pipe.out = data, out }

// next returns bytes out of what was put in, nil where there are no more now.
// They are valid until the next call.
func (s *sealed) next() ([]byte, error) {
	n, err := s.tls.Read(s.clear)
	if errors.Is(err, errEmpty) {
		err = nil
	}
	return s.clear[:n], err
}

func (s *sealed) taken() []byte {
	out := s.pipe.out
	s.pipe.out = nil
	return out
}

// pipe is the transport under crypto/tls.
type pipe struct {
	net.Conn
	detached bool
	in, out  []byte
}

// Read reads the socket, or what was put in once detached.
func (p *pipe) Read(b []byte) (int, error) {
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

// Write writes the socket, or what is to be taken out once detached.
func (p *pipe) Write(b []byte) (int, error) {
	if !p.detached {
		return p.Conn.Write(b)
	}
	p.out = append(p.out, b...)
	return len(b), nil
}

// SetWriteDeadline is what crypto/tls calls before an alert; the memory needs none.
func (p *pipe) SetWriteDeadline(t time.Time) error {
	if p.detached {
		return nil
	}
	return p.Conn.SetWriteDeadline(t)
}

// empty is what the pipe answers when there is nothing more to read now.
// crypto/tls gives a temporary error back without breaking the connection.
type empty struct{}

func (empty) Error() string   { return "nothing more to read now" }
func (empty) Timeout() bool   { return true }
func (empty) Temporary() bool { return true }

var errEmpty net.Error = empty{}
