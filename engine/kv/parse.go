package kv

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
)

// A parser consumes a stream of replies, in chunks cut anywhere. It holds what
// it needs of an unfinished reply; payloads are passed over, never kept.
type parser interface {
	// next consumes bytes of b up to the end of the reply in hand. Where done,
	// it fills in r; else it has consumed all of b. An error means that the
	// stream does not follow the protocol: nothing after it can be trusted.
	next(b []byte, r *reply) (used int, done bool, err error)
}

// reply is one answer of the server.
type reply struct {
	form  form
	items uint32 // values in it
	// refused counts the commands of a quiet batch that were answered with an error.
	refused uint32
	whole   int    // bytes of it, where all of them were in the chunk; else 0
	text    []byte // of an error, as the server wrote it; valid until the next call
}

// form is what an answer consists of.
type form uint8

const (
	formValues form = iota // values, or that there is none
	formStatus             // done: +OK, STORED, HD
	formOther              // a number, not stored, and the like
	formError              // the server's refusal
	formEnd                // the end of a batch of quiet commands
)

// maxLine bounds the lines of a reply, which hold no payload.
const maxLine = 64 << 10

// maxPayload bounds a value, so that a garbled length is not waited for.
const maxPayload = 1 << 30

// lineBuffer finds lines in a stream cut anywhere. Their end is "\r\n".
type lineBuffer struct{ held []byte }

// take returns the next line without its end, and how many bytes of b it used.
// Where the line is not complete, all of b is kept for later and ok is false.
// The line is valid until the next take.
func (l *lineBuffer) take(b []byte) (line []byte, used int, ok bool, err error) {
	i := bytes.IndexByte(b, '\n')
	if i < 0 {
		if len(l.held)+len(b) > maxLine {
			return nil, 0, false, fmt.Errorf("found a line of more than %d bytes", maxLine)
		}
		l.held = append(l.held, b...)
		return nil, len(b), false, nil
	}
	line = b[:i]
	if len(l.held) > 0 {
		l.held = append(l.held, line...)
		line = l.held
		l.held = l.held[:0]
	}
	if len(line) == 0 || line[len(line)-1] != '\r' {
		return nil, 0, false, fmt.Errorf("found the line %s, expected it to end with CR LF", quoted(line))
	}
	return line[:len(line)-1], i + 1, true, nil
}

// payload passes over a value and the line end after it.
type payload struct {
	left  int // bytes still to come, the line end included
	check *checker
}

func (p *payload) start(n int) { p.left = n + 2 }

// skip consumes what is there of the payload.
func (p *payload) skip(b []byte) (int, error) {
	n := min(len(b), p.left)
	data := min(n, max(p.left-2, 0))
	if p.check != nil && data > 0 {
		p.check.add(b[:data])
	}
	p.left -= data
	for _, c := range b[data:n] {
		if c != "\n\r"[p.left-1] {
			return 0, fmt.Errorf("found byte %q after a value, expected CR LF", c)
		}
		p.left--
	}
	return n, nil
}

// number reads a decimal of a header, which may be negative.
func number(b []byte) (int, bool) {
	negative := len(b) > 0 && b[0] == '-'
	if negative {
		b = b[1:]
	}
	if len(b) == 0 || len(b) > 18 {
		return 0, false
	}
	n := 0
	for _, c := range b {
		if c < '0' || c > '9' {
			return 0, false
		}
		n = 10*n + int(c-'0')
	}
	if negative {
		n = -n
	}
	return n, true
}

// quoted shows the start of what was found, for an error.
func quoted(b []byte) string {
	const most = 60
	if len(b) > most {
		return fmt.Sprintf("%q...", b[:most])
	}
	return fmt.Sprintf("%q", b)
}

var errLength = errors.New("found a wrong length")

// A pattern recognises replies that are like the last one: the same header, the
// same length. Most of a load's replies are.
type pattern struct {
	head, mask uint64
	size       int
}

// learn takes the header of a reply that was wholly in b.
func (p *pattern) learn(b []byte) {
	*p = pattern{}
	i := bytes.IndexByte(b, '\n')
	if i < 0 || i >= 8 || len(b) < 8 && len(b) != i+1 {
		return
	}
	var head [8]byte
	copy(head[:], b[:i+1])
	*p = pattern{binary.LittleEndian.Uint64(head[:]), ^uint64(0) >> (8 * (7 - i)), len(b)}
}

// run counts the replies at the start of b that match, at most n.
func (p *pattern) run(b []byte, n uint32) (used int, count uint32) {
	if p.size == 0 {
		return 0, 0
	}
	for room := max(p.size, 8); count < n && len(b)-used >= room; count++ {
		if binary.LittleEndian.Uint64(b[used:])&p.mask != p.head || b[used+p.size-1] != '\n' || b[used+p.size-2] != '\r' {
			break
		}
		used += p.size
	}
	return used, count
}
