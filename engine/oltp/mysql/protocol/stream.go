package protocol

import (
	"encoding/binary"
	"fmt"
)

// Form says how the rows of an answer are encoded: as the command was.
type Form uint8

// The forms of rows.
const (
	Text   Form = iota // of COM_QUERY
	Binary             // of COM_STMT_EXECUTE
)

// Event is what the decoder found next in an answer.
type Event uint8

// The events. Done and Refused end an answer.
const (
	NeedMore    Event = iota // nothing more can be told from the bytes so far
	RowEvent                 // Stream.Row reads it
	ResultEvent              // a result is over, another follows
	Done                     // the last result is over
	Refused                  // the server answered with an error: Stream.Refusal
)

type state uint8

const (
	stateOver    state = iota // nothing is expected
	stateFirst                // of a result: OK, an error or the number of columns
	stateColumns              // definitions of columns
	stateColumnsEnd
	stateRows
)

// maxColumns bounds what a hostile number of columns can make the decoder hold.
const maxColumns = 4096

// statusMore is the flag SERVER_MORE_RESULTS_EXISTS.
const statusMore = 0x0008

// A Stream decodes the answers that arrive on one connection. For each command
// call Expect, Put what arrives, and Next until NeedMore or the answer's end.
type Stream struct {
	// NoEOF says that CLIENT_DEPRECATE_EOF was negotiated.
	NoEOF bool

	data    []byte // not yet decoded; of the last Put, or in rest
	rest    []byte // what an earlier Put left
	payload []byte // of the packet in hand
	form    Form
	state   state
	next    byte // the sequence number to come
	left    int  // definitions of columns still to come
	status  uint16
	types   []columnType
	refusal *ServerError

	// Affected is the number of rows that the last OK packet speaks of.
	Affected uint64
}

// Expect readies the stream for the answer to the next command.
func (s *Stream) Expect(form Form) {
	s.form, s.state, s.next, s.refusal, s.Affected = form, stateFirst, 1, nil, 0
}

// Put gives the stream received bytes, which it refers to until Next has returned NeedMore.
func (s *Stream) Put(data []byte) {
	if len(s.data) == 0 {
		s.data = data
		return
	}
	s.rest = append(append(s.rest[:0], s.data...), data...)
	s.data = s.rest
}

// Buffered is how many bytes are not decoded yet: none once an answer is over,
// unless commands were sent ahead.
func (s *Stream) Buffered() int { return len(s.data) }

// Refusal is the error packet that the last Refused spoke of.
func (s *Stream) Refusal() *ServerError { return s.refusal }

// Columns is how many columns the result in hand has.
func (s *Stream) Columns() int { return len(s.types) }

// Next decodes up to the next event. An error means that the bytes are not an
// answer; the connection cannot be used any more.
func (s *Stream) Next() (Event, error) {
	for {
		ok, err := s.packet()
		if err != nil {
			return NeedMore, err
		}
		if !ok {
			return NeedMore, nil
		}
		event, err := s.decode()
		if err != nil || event != NeedMore {
			return event, err
		}
	}
}

// packet takes one packet out of data, if it is there whole.
func (s *Stream) packet() (bool, error) {
	if len(s.data) < headerSize {
		s.keep()
		return false, nil
	}
	size := int(s.data[0]) | int(s.data[1])<<8 | int(s.data[2])<<16
	if size > MaxPayload {
		return false, errTooLong
	}
	if len(s.data) < headerSize+size {
		s.keep()
		return false, nil
	}
	if s.state == stateOver {
		return false, unasked(s.data[headerSize : headerSize+size])
	}
	if got := s.data[3]; got != s.next {
		return false, fmt.Errorf("packet number %d; expected %d", got, s.next)
	}
	s.next++
	s.payload, s.data = s.data[headerSize:headerSize+size], s.data[headerSize+size:]
	return true, nil
}

// unasked says what a packet is that comes between answers: a server that ends the
// connection may say why.
func unasked(p []byte) error {
	if len(p) > 0 && p[0] == 0xff {
		if refusal, err := parseError(p); err == nil {
			return refusal
		}
	}
	return fmt.Errorf("a packet of %d bytes arrived that nothing asked for", len(p))
}

// keep moves what is not decoded yet into memory of the stream's own.
func (s *Stream) keep() {
	if len(s.data) > 0 {
		s.rest = append(s.rest[:0], s.data...)
		s.data = s.rest
	}
}

func (s *Stream) decode() (Event, error) {
	p := s.payload
	if len(p) == 0 {
		return NeedMore, errShort
	}
	switch s.state {
	case stateFirst:
		return s.first(p)
	case stateColumns:
		return NeedMore, s.column(p)
	case stateColumnsEnd:
		if p[0] != 0xfe {
			return NeedMore, fmt.Errorf("a packet that begins with %#02x; expected the end of the columns", p[0])
		}
		s.state = stateRows
		return NeedMore, nil
	}
	return s.row(p)
}

func (s *Stream) first(p []byte) (Event, error) {
	s.types = s.types[:0]
	switch p[0] {
	case 0x00:
		return s.end(p)
	case 0xff:
		return s.refused(p)
	case 0xfb:
		return NeedMore, fmt.Errorf("the server asks for the file %.100q, which it is not given", p[1:])
	}
	n, size := readInt(p)
	if size != len(p) || n == 0 || n > maxColumns {
		return NeedMore, fmt.Errorf("a result of %d columns; expected 1 to %d", n, maxColumns)
	}
	s.left, s.state = int(n), stateColumns
	return NeedMore, nil
}

func (s *Stream) refused(p []byte) (Event, error) {
	var err error
	s.state = stateOver
	s.refusal, err = parseError(p)
	return Refused, err
}

// column reads the definition of a column, of which only the type is kept.
func (s *Stream) column(p []byte) error {
	for range 6 { // catalogue, schema, table, its own name, column, its own name
		_, n := readString(p)
		if n == 0 {
			return fmt.Errorf("the definition of column %d: %w", len(s.types)+1, errShort)
		}
		p = p[n:]
	}
	if len(p) < 13 { // 0x0c, collation, length, type, flags, decimals, filler
		return fmt.Errorf("the definition of column %d: %w", len(s.types)+1, errShort)
	}
	s.types = append(s.types, columnType{code: p[7], unsigned: p[8]&flagUnsigned != 0})
	if s.left--; s.left == 0 {
		if s.state = stateColumnsEnd; s.NoEOF {
			s.state = stateRows
		}
	}
	return nil
}

func (s *Stream) row(p []byte) (Event, error) {
	switch {
	case p[0] == 0xff:
		return s.refused(p)
	case p[0] == 0xfe:
		return s.end(p)
	case s.form == Binary && p[0] != 0:
		return NeedMore, fmt.Errorf("a row that begins with %#02x; expected 0", p[0])
	}
	return RowEvent, nil
}

// end reads an OK or EOF packet, which ends a result.
func (s *Stream) end(p []byte) (Event, error) {
	if p[0] == 0xfe && !s.NoEOF {
		if len(p) < 5 {
			return NeedMore, errShort
		}
		s.status = binary.LittleEndian.Uint16(p[3:])
		return s.over(), nil
	}
	status, affected, err := parseOK(p)
	if err != nil {
		return NeedMore, err
	}
	s.status, s.Affected = status, affected
	return s.over(), nil
}

func (s *Stream) over() Event {
	if s.status&statusMore != 0 {
		s.state = stateFirst
		return ResultEvent
	}
	s.state = stateOver
	return Done
}

func parseOK(p []byte) (status uint16, affected uint64, err error) {
	p = p[1:]
	affected, n := readInt(p)
	if n == 0 {
		return 0, 0, errShort
	}
	p = p[n:]
	if _, n = readInt(p); n == 0 || len(p) < n+4 {
		return 0, 0, errShort
	}
	return binary.LittleEndian.Uint16(p[n:]), affected, nil
}
