package postgres

import (
	"encoding/binary"
	"errors"
	"fmt"
)

// Messages of the frontend, in the protocol's version 3.0 (PostgreSQL
// documentation, chapter "Frontend/Backend Protocol"). All parameters and
// results are in binary format.

// Object identifiers of types, from pg_type.
const (
	oidInt4 = 23
	oidText = 25
)

// open begins a message of a type; its length is filled in by closed.
func open(out []byte, kind byte) (message []byte, start int) {
	return append(out, kind, 0, 0, 0, 0), len(out)
}

func closed(out []byte, start int) []byte {
	binary.BigEndian.PutUint32(out[start+1:], uint32(len(out)-start-1))
	return out
}

func appendString(out []byte, s string) []byte { return append(append(out, s...), 0) }

// appendParse prepares a statement under a name.
func appendParse(out []byte, name, sql string) []byte {
	out, start := open(out, 'P')
	out = appendString(appendString(out, name), sql)
	return closed(append(out, 0, 0), start) // the server finds the parameters' types out
}

// bind begins to bind a prepared statement with n parameters, which are appended
// next; execute ends it.
func bind(out []byte, name string, n int) (message []byte, start int) {
	out, start = open(out, 'B')
	out = append(out, 0) // portal
	out = appendString(out, name)
	return append(out, 0, 1, 0, 1, 0, byte(n)), start // all in binary
}

// execute ends a Bind, with results in binary, and executes it.
func execute(out []byte, start int) []byte {
	out = closed(append(out, 0, 1, 0, 1), start)
	return append(out, 'E', 0, 0, 0, 9, 0, 0, 0, 0, 0)
}

// appendSync ends a batch: the server answers and, after an error, goes on here.
func appendSync(out []byte) []byte { return append(out, 'S', 0, 0, 0, 4) }

// appendQuery is a simple query.
func appendQuery(out []byte, sql string) []byte {
	out, start := open(out, 'Q')
	return closed(appendString(out, sql), start)
}

func int4(out []byte, v int32) []byte {
	return binary.BigEndian.AppendUint32(append(out, 0, 0, 0, 4), uint32(v))
}

func null(out []byte) []byte { return append(out, 0xff, 0xff, 0xff, 0xff) }

func text(out []byte, b []byte) []byte {
	return append(binary.BigEndian.AppendUint32(out, uint32(len(b))), b...)
}

// lastName is a text parameter that holds a last name.
func lastName(out []byte, appendName func([]byte) []byte) []byte {
	start := len(out)
	out = appendName(append(out, 0, 0, 0, 0))
	binary.BigEndian.PutUint32(out[start:], uint32(len(out)-start-4))
	return out
}

// array begins an array of n elements, of one dimension, counted from 1.
func array(out []byte, oid uint32, n, bytes int) []byte {
	for _, v := range [6]uint32{uint32(20 + bytes), 1, 0, oid, uint32(n), 1} {
		out = binary.BigEndian.AppendUint32(out, v)
	}
	return out
}

// int4Array is an array of what a function gives for each element.
func int4Array(out []byte, n int, value func(int) int32) []byte {
	out = array(out, oidInt4, n, 8*n)
	for i := range n {
		out = int4(out, value(i))
	}
	return out
}

// Messages of the backend.

// maxMessage bounds what a server may send in one message.
const maxMessage = 1 << 24

// splitter cuts what arrives into messages, whatever the pieces.
type splitter struct {
	partial []byte // of a message that is not complete
	taken   int    // of partial: what was handed out
	data    []byte
}

// put takes what arrived. It is valid until next says that there is no more.
func (s *splitter) put(data []byte) {
	if s.taken > 0 {
		s.partial = s.partial[:copy(s.partial, s.partial[s.taken:])]
		s.taken = 0
	}
	s.data = data
}

// next returns a message's type and body, 0 where there is no complete one.
func (s *splitter) next() (kind byte, body []byte, err error) {
	if len(s.partial) > s.taken {
		return s.nextPartial()
	}
	s.partial, s.taken = s.partial[:0], 0
	n, err := messageLength(s.data)
	if err != nil || n == 0 || n > len(s.data) {
		s.partial = append(s.partial, s.data...)
		s.data = nil
		return 0, nil, err
	}
	kind, body, s.data = s.data[0], s.data[5:n], s.data[n:]
	return kind, body, nil
}

// nextPartial completes a message that came in pieces.
func (s *splitter) nextPartial() (byte, []byte, error) {
	const header = 5
	if missing := header - (len(s.partial) - s.taken); missing > 0 {
		s.move(missing)
	}
	n, err := messageLength(s.partial[s.taken:])
	if err != nil || n == 0 {
		return 0, nil, err
	}
	s.move(n - (len(s.partial) - s.taken))
	m := s.partial[s.taken:]
	if len(m) < n {
		return 0, nil, nil
	}
	s.taken += n
	return m[0], m[header:n], nil
}

func (s *splitter) move(n int) {
	n = max(min(n, len(s.data)), 0)
	s.partial = append(s.partial, s.data[:n]...)
	s.data = s.data[n:]
}

// messageLength is the length of the first message, its type included; 0 where
// that is not known yet.
func messageLength(b []byte) (int, error) {
	if len(b) < 5 {
		return 0, nil
	}
	n := binary.BigEndian.Uint32(b[1:])
	if n < 4 || n > maxMessage {
		return 0, fmt.Errorf("the server sent a message of type %q with a length of %d, expected 4 to %d", b[0], n, maxMessage)
	}
	return int(n) + 1, nil
}

var errShort = errors.New("the server sent a row that is cut off")

// columns reads a DataRow into column values, nil for an absent one, and returns
// how many there are.
func columns(body []byte, into [][]byte) (int, error) {
	if len(body) < 2 {
		return 0, errShort
	}
	n := int(binary.BigEndian.Uint16(body))
	body = body[2:]
	if n > len(into) {
		return 0, fmt.Errorf("the server sent a row of %d columns, expected at most %d", n, len(into))
	}
	for i := range n {
		if len(body) < 4 {
			return 0, errShort
		}
		size := int32(binary.BigEndian.Uint32(body))
		body = body[4:]
		if size < 0 {
			into[i] = nil
			continue
		}
		if int(size) > len(body) {
			return 0, errShort
		}
		into[i], body = body[:size], body[size:]
	}
	return n, nil
}

// integer reads a binary int2, int4 or int8.
func integer(b []byte) (int64, error) {
	switch len(b) {
	case 2:
		return int64(int16(binary.BigEndian.Uint16(b))), nil
	case 4:
		return int64(int32(binary.BigEndian.Uint32(b))), nil
	case 8:
		return int64(binary.BigEndian.Uint64(b)), nil
	}
	return 0, fmt.Errorf("the server sent a whole number of %d bytes, expected 2, 4 or 8", len(b))
}

// serverError is an ErrorResponse.
type serverError struct {
	severity string // ERROR, FATAL or PANIC
	code     string // SQLSTATE
	message  string
}

func (e *serverError) Error() string { return e.message + " (SQLSTATE " + e.code + ")" }

// fatal says whether the server ends the connection with it.
func (e *serverError) fatal() bool { return e.severity == "FATAL" || e.severity == "PANIC" }

func readError(body []byte) *serverError {
	e := &serverError{}
	for len(body) > 1 {
		field := body[0]
		end := 1
		for end < len(body) && body[end] != 0 {
			end++
		}
		value := string(body[1:end])
		switch field {
		case 'V':
			e.severity = value
		case 'S':
			if e.severity == "" {
				e.severity = value
			}
		case 'C':
			e.code = value
		case 'M':
			e.message = value
		}
		body = body[min(end+1, len(body)):]
	}
	return e
}

// SQLSTATEs that mean something here (PostgreSQL documentation, appendix A).
const (
	stateSerialization = "40001"
	stateDeadlock      = "40P01"
	stateLock          = "55P03" // lock_not_available
	stateUnusedItem    = "BO001" // of our own routines
	stateNoDatabase    = "3D000"
	stateTooMany       = "53300"
	stateDiskFull      = "53100"
	statePassword      = "28P01"
	stateNoLogin       = "28000"
)
