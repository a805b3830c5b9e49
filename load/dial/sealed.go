package dial

import (
	"crypto/tls"
	"errors"
	"net"
	"time"
)

// Sealed is TLS on a loop's connection without a goroutine. The handshake
// reads and writes the socket; once it is detached, crypto/tls works on
// memory: what the loop received is opened, and what it wants sent is sealed.
// It copies, and seals a record a batch.
type Sealed struct {
	Plain []byte // what is still to be sealed: the caller appends to it

	tls   *tls.Conn
	pipe  *pipe
	clear []byte // where records are opened to
}

const maxRecord = 16 << 10 // of TLS, RFC 8446 section 5.1

// Seal puts TLS on a socket. The handshake is still to be done, with TLS().
func Seal(socket net.Conn, cfg *tls.Config) *Sealed {
	p := &pipe{Conn: socket}
	return &Sealed{tls: tls.Client(p, cfg), pipe: p, clear: make([]byte, maxRecord)}
}

// TLS is the connection as crypto/tls has it. Until Detach it may be read and
// written; after that only its state may be looked at.
func (s *Sealed) TLS() *tls.Conn { return s.tls }

// Detach takes the socket away: from now on only memory is read and written.
func (s *Sealed) Detach() { s.pipe.detached = true }

// Seal encrypts what is in Plain and appends it to out.
func (s *Sealed) Seal(out []byte) ([]byte, error) {
	if len(s.Plain) == 0 {
		return out, nil
	}
	s.pipe.out = out
	_, err := s.tls.Write(s.Plain)
	s.Plain = s.Plain[:0]
	return s.taken(), err
}

// Open opens the records that were received and hands what is in them to take, in
// order, which may keep none of it. TLS may have something to send in return, such
// as a new key: it is appended to out. The error is take's or the connection's,
// io.EOF where the peer closed it; what came before that was handed on.
func (s *Sealed) Open(data, out []byte, take func([]byte) error) ([]byte, error) {
	s.pipe.in, s.pipe.out = data, out
	for {
		n, err := s.tls.Read(s.clear)
		if errors.Is(err, errEmpty) {
			err = nil
		}
		if n > 0 {
			err = errors.Join(take(s.clear[:n]), err)
		}
		if err != nil || n == 0 {
			return s.taken(), err
		}
	}
}

// taken is the output that the pipe was given, with what TLS added to it.
func (s *Sealed) taken() []byte {
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
