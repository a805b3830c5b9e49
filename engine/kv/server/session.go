package server

import (
	"crypto/subtle"
	"errors"
	"io"
	"net"
	"strconv"
	"strings"
)

// session is one connection.
type session struct {
	server  *server
	db      *store
	version int  // of RESP
	trusted bool // authenticated, or no password is wanted
	ended   bool
	now     int64 // Unix nanoseconds, read once a batch
	out     []byte
	args    [][]byte
	name    [16]byte // of the command, in capitals
}

const (
	firstBuffer = 16 << 10
	flushAt     = 64 << 10 // bytes of replies, before the batch is at its end
)

// serve answers requests until the connection ends.
func (s *session) serve(conn net.Conn) error {
	in := make([]byte, firstBuffer)
	have := 0
	for !s.ended {
		if have == len(in) {
			if len(in) > 2*maxBulk {
				return &protocolError{"too big request"}
			}
			in = append(in, make([]byte, len(in))...)
		}
		n, err := conn.Read(in[have:])
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		have += n
		used, err := s.batch(conn, in[:have])
		if err != nil {
			return err
		}
		have = copy(in, in[used:have])
	}
	return nil
}

// batch answers every whole request in b, and returns how many bytes they took.
func (s *session) batch(conn net.Conn, b []byte) (int, error) {
	s.now = s.server.config.now().UnixNano()
	at := 0
	var count uint64
	for !s.ended {
		args, used, err := parse(b[at:], s.args[:0])
		s.args = args
		if err != nil {
			s.fail("ERR " + err.Error())
			s.ended = true
			break
		}
		if used == 0 {
			break
		}
		at += used
		if len(args) > 0 {
			s.answer(args)
			count++
		}
		if len(s.out) >= flushAt {
			if err := s.flush(conn); err != nil {
				return at, err
			}
		}
	}
	s.server.processed.Add(count)
	return at, s.flush(conn)
}

func (s *session) flush(conn net.Conn) error {
	if len(s.out) == 0 {
		return nil
	}
	_, err := conn.Write(s.out)
	s.out = s.out[:0]
	return err
}

// answer does one request.
func (s *session) answer(args [][]byte) {
	name := s.upper(args[0])
	c, known := s.server.commands[string(name)]
	switch {
	case !known:
		s.fail("ERR unknown command '" + printable(args[0]) + "'")
	case len(args) < c.least || c.most > 0 && len(args) > c.most:
		s.fail("ERR wrong number of arguments for '" + strings.ToLower(string(name)) + "' command")
	case !s.trusted && !open(string(name)):
		s.fail("NOAUTH Authentication required.")
	default:
		c.do(s, args)
	}
}

// upper returns a command's name in capitals; a name too long for any is cut.
func (s *session) upper(name []byte) []byte {
	n := copy(s.name[:], name)
	for i, c := range s.name[:n] {
		if c >= 'a' && c <= 'z' {
			s.name[i] = c - 'a' + 'A'
		}
	}
	if len(name) > len(s.name) {
		return nil
	}
	return s.name[:n]
}

// printable is the start of what a client sent, without what would break a line.
func printable(b []byte) string {
	if len(b) > 64 {
		b = b[:64]
	}
	return strings.Map(func(r rune) rune {
		if r < ' ' || r == 0x7f {
			return '?'
		}
		return r
	}, string(b))
}

// authenticate checks [user] password.
func (s *session) authenticate(args [][]byte) bool {
	password := args[len(args)-1]
	user := len(args) == 1 || string(args[0]) == "default"
	s.trusted = subtle.ConstantTimeCompare(password, []byte(s.server.config.Password)) == 1 && user
	return s.trusted
}

// full answers that the memory is used up, and reports whether it is.
func (s *session) full() bool {
	limit := s.server.config.MaxBytes
	if limit <= 0 || s.server.bytes.Load() < limit {
		return false
	}
	s.fail("OOM command not allowed when used memory > 'maxmemory'.")
	return true
}

func (s *session) simple(text string) { s.line('+', text) }
func (s *session) fail(text string)   { s.line('-', text) }

func (s *session) line(kind byte, text string) {
	s.out = append(s.out, kind)
	s.out = append(s.out, text...)
	s.out = append(s.out, '\r', '\n')
}

func (s *session) header(kind byte, n int64) {
	s.out = append(s.out, kind)
	s.out = strconv.AppendInt(s.out, n, 10)
	s.out = append(s.out, '\r', '\n')
}

func (s *session) integer(n int64) { s.header(':', n) }
func (s *session) array(n int)     { s.header('*', int64(n)) }

func (s *session) bulk(b []byte) {
	s.header('$', int64(len(b)))
	s.out = append(s.out, b...)
	s.out = append(s.out, '\r', '\n')
}

// null is what is not there: $-1 in RESP2, _ in RESP3.
func (s *session) null() {
	if s.version == 3 {
		s.out = append(s.out, "_\r\n"...)
		return
	}
	s.out = append(s.out, "$-1\r\n"...)
}

// mapping begins a map of n pairs, which RESP2 has as an array.
func (s *session) mapping(n int) {
	if s.version == 3 {
		s.header('%', int64(n))
		return
	}
	s.array(2 * n)
}
