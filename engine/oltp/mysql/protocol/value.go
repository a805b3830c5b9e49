package protocol

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"strconv"
)

// columnType is what a binary value's encoding depends on.
type columnType struct {
	code     byte
	unsigned bool
}

const flagUnsigned = 0x20

// Codes of column types, as the protocol numbers them.
const (
	typeTiny     = 1
	typeShort    = 2
	typeLong     = 3
	typeFloat    = 4
	typeDouble   = 5
	typeNull     = 6
	typeStamp    = 7
	typeLongLong = 8
	typeInt24    = 9
	typeDate     = 10
	typeTime     = 11
	typeDateTime = 12
	typeYear     = 13
	typeVarchar  = 15
)

// A Row reads the values of one row from the first column on. Its errors are
// kept: what is read after one is zero, and Err gives the first.
type Row struct {
	data  []byte
	nulls []byte // of a binary row
	types []columnType
	i     int
	text  bool
	err   error
}

// Row reads the row that Next has found. It is valid until the next Put.
func (s *Stream) Row() Row {
	r := Row{data: s.payload, types: s.types, text: s.form == Text}
	if r.text {
		return r
	}
	n := (len(r.types) + 9) / 8
	if len(r.data) < 1+n {
		r.err = errShort
		return r
	}
	r.nulls, r.data = r.data[1:1+n], r.data[1+n:]
	return r
}

// Err is the first error of reading the row.
func (r *Row) Err() error { return r.err }

func (r *Row) fail(err error) {
	if r.err == nil {
		r.err = fmt.Errorf("column %d: %w", r.i, err)
	}
	r.data = nil
}

// value takes the next value's bytes: the text of it, or its binary form with its
// type. It is nil for NULL.
func (r *Row) value() (b []byte, t columnType) {
	if r.err != nil {
		return nil, t
	}
	if r.i >= len(r.types) {
		r.err = fmt.Errorf("a row has %d columns; more were asked for", len(r.types))
		return nil, t
	}
	i := r.i
	r.i++
	if r.text {
		return r.textValue(), t
	}
	if r.nulls[(i+2)/8]&(1<<((i+2)%8)) != 0 {
		return nil, t
	}
	t = r.types[i]
	size := t.size(r.data)
	if size < 0 || size > len(r.data) {
		r.fail(errShort)
		return nil, t
	}
	b, r.data = r.data[:size], r.data[size:]
	return b, t
}

func (r *Row) textValue() []byte {
	if len(r.data) > 0 && r.data[0] == 0xfb {
		r.data = r.data[1:]
		return nil
	}
	b, n := readString(r.data)
	if n == 0 {
		r.fail(errShort)
		return nil
	}
	r.data = r.data[n:]
	return b
}

// size is how many bytes of b a binary value of this type takes, with the length
// that may stand before it; -1 where b does not hold one.
func (t columnType) size(b []byte) int {
	switch t.code {
	case typeNull:
		return 0
	case typeTiny:
		return 1
	case typeShort, typeYear:
		return 2
	case typeLong, typeInt24, typeFloat:
		return 4
	case typeLongLong, typeDouble:
		return 8
	case typeDate, typeDateTime, typeStamp, typeTime:
		if len(b) == 0 {
			return -1
		}
		return 1 + int(b[0])
	}
	if _, n := readString(b); n > 0 {
		return n
	}
	return -1
}

// Skip passes over n columns.
func (r *Row) Skip(n int) {
	for range n {
		r.value()
	}
}

// Int reads a whole number; null is true for NULL.
func (r *Row) Int() (v int64, null bool) {
	b, t := r.value()
	if b == nil {
		return 0, true
	}
	if r.text {
		return r.parseInt(b), false
	}
	switch t.code {
	case typeTiny:
		if t.unsigned {
			return int64(b[0]), false
		}
		return int64(int8(b[0])), false
	case typeShort, typeYear:
		n := binary.LittleEndian.Uint16(b)
		if t.unsigned {
			return int64(n), false
		}
		return int64(int16(n)), false
	case typeLong, typeInt24:
		n := binary.LittleEndian.Uint32(b)
		if t.unsigned {
			return int64(n), false
		}
		return int64(int32(n)), false
	case typeLongLong:
		n := binary.LittleEndian.Uint64(b)
		if t.unsigned && n > math.MaxInt64 {
			r.fail(fmt.Errorf("%d is too large", n))
		}
		return int64(n), false
	case typeFloat, typeDouble, typeDate, typeDateTime, typeStamp, typeTime:
		r.fail(fmt.Errorf("a value of type %d; expected a whole number", t.code))
		return 0, false
	}
	text, _ := readString(b)
	return r.parseInt(text), false
}

func (r *Row) parseInt(b []byte) int64 {
	if len(b) == 0 || len(b) > 20 {
		r.fail(fmt.Errorf("%.20q; expected a whole number", b))
		return 0
	}
	var v int64
	digits := b
	if b[0] == '-' {
		digits = b[1:]
	}
	for _, c := range digits {
		if c < '0' || c > '9' || v > (math.MaxInt64-9)/10 {
			return r.parseLarge(b)
		}
		v = 10*v + int64(c-'0')
	}
	if len(digits) == 0 {
		r.fail(fmt.Errorf("%q; expected a whole number", b))
	}
	if len(digits) < len(b) {
		return -v
	}
	return v
}

// parseLarge is parseInt for what is not plainly one.
func (r *Row) parseLarge(b []byte) int64 {
	v, err := strconv.ParseInt(string(b), 10, 64)
	if err != nil {
		r.fail(fmt.Errorf("%.20q; expected a whole number", b))
	}
	return v
}

var errNotText = errors.New("a number or a time; expected text")

// Bytes reads a text, a decimal number or a blob; nil is NULL. It belongs to the
// stream until the next Put.
func (r *Row) Bytes() []byte {
	b, t := r.value()
	if b == nil || r.text {
		return b
	}
	if t.code != 0 && t.code < typeVarchar {
		r.fail(errNotText)
		return nil
	}
	text, _ := readString(b)
	return text
}

// Arguments builds a COM_STMT_EXECUTE packet, argument by argument.
type Arguments struct {
	dst   []byte
	at    int // of the packet
	nulls int // of the bitmap of NULLs
	types int // of the types
	i, n  int
}

// Execute begins the packet that executes a prepared statement with its number of
// parameters. Each argument is appended once, in order; Packet ends it.
func Execute(dst []byte, s Statement) Arguments {
	dst, at := begin(dst)
	dst = append(dst, comStmtExecute)
	dst = binary.LittleEndian.AppendUint32(dst, s.ID)
	dst = append(dst, 0, 1, 0, 0, 0) // no cursor; one iteration
	a := Arguments{at: at, n: s.Parameters, nulls: len(dst)}
	if a.n > 0 {
		for range (a.n + 7) / 8 {
			dst = append(dst, 0)
		}
		dst = append(dst, 1) // types follow
		a.types = len(dst)
		for range a.n {
			dst = append(dst, 0, 0)
		}
	}
	a.dst = dst
	return a
}

func (a *Arguments) typed(code byte) bool {
	if a.i >= a.n {
		a.i++
		return false
	}
	a.dst[a.types+2*a.i] = code
	a.i++
	return true
}

// Int appends a whole number.
func (a *Arguments) Int(v int64) {
	if !a.typed(typeLongLong) {
		return
	}
	a.dst = binary.LittleEndian.AppendUint64(a.dst, uint64(v))
}

// Int32 appends a whole number in four bytes.
func (a *Arguments) Int32(v int32) {
	if !a.typed(typeLong) {
		return
	}
	a.dst = binary.LittleEndian.AppendUint32(a.dst, uint32(v))
}

// Null appends NULL.
func (a *Arguments) Null() {
	i := a.i
	if a.typed(typeNull) {
		a.dst[a.nulls+i/8] |= 1 << (i % 8)
	}
}

// Text appends a text; a decimal number is given like this too.
func (a *Arguments) Text(b []byte) {
	if !a.typed(typeString) {
		return
	}
	a.dst = appendInt(a.dst, uint64(len(b)))
	a.dst = append(a.dst, b...)
}

const typeString = 254

// Packet ends the packet and returns dst with it. It is an error of the caller
// where there were more or fewer arguments than parameters.
func (a *Arguments) Packet() ([]byte, error) {
	if a.i != a.n {
		return a.dst[:a.at], fmt.Errorf("%d arguments for a statement of %d parameters", a.i, a.n)
	}
	return finish(a.dst, a.at, 0), nil
}
