package kv

import (
	"bytes"
	"errors"
	"fmt"
)

// memcacheParser reads the replies of memcached's text and meta protocols (its
// doc/protocol.txt).
type memcacheParser struct {
	lines   lineBuffer
	payload payload
	lone    bool // the value in hand is the whole reply, as in the meta protocol
	quiet   bool // values are the hits of a batch, which a line of its own ends
	inside  bool
	items   uint32
	refused uint32 // commands of a quiet batch that were answered with an error
	text    []byte
	check   *checker // nil where values are not verified
}

func newMemcache(quiet bool, check *checker) *memcacheParser {
	return &memcacheParser{quiet: quiet, check: check, payload: payload{check: check}}
}

func (p *memcacheParser) next(b []byte, r *reply) (used int, done bool, err error) {
	began := p.inside || p.payload.left > 0 || len(p.lines.held) > 0
	for used < len(b) {
		var n int
		if p.payload.left > 0 {
			n, err = p.payload.skip(b[used:])
			done = p.payload.left == 0 && p.lone
			r.form = formValues
		} else {
			n, done, err = p.line(b[used:], r)
		}
		if err != nil {
			return used, false, err
		}
		used += n
		if done {
			p.finish(r)
			if r.whole = used; began {
				r.whole = 0
			}
			return used, true, nil
		}
	}
	return used, false, nil
}

func (p *memcacheParser) finish(r *reply) {
	r.items, r.text, r.refused = p.items, p.text, p.refused
	p.items, p.refused, p.inside = 0, 0, false
}

// line reads one line and reports whether it ends the reply.
func (p *memcacheParser) line(b []byte, r *reply) (used int, done bool, err error) {
	line, used, ok, err := p.lines.take(b)
	if err != nil || !ok {
		return used, false, err
	}
	if !p.inside {
		p.inside, p.text = true, p.text[:0]
	}
	word, rest, _ := bytes.Cut(line, []byte(" "))
	switch string(word) {
	case "VALUE":
		return used, false, p.value(line, rest)
	case "VA":
		return used, false, p.metaValue(line, rest)
	case "END", "EN":
		r.form = formValues
		return used, true, nil
	case "HD", "STORED", "OK", "DELETED", "TOUCHED", "RESET":
		r.form = formStatus
		return used, true, nil
	case "MN":
		r.form = formEnd
		return used, true, nil
	case "ERROR":
		if p.quiet { // the batch would never end
			return used, false, errors.New("found ERROR: the target does not know the meta commands, as memcached before 1.6")
		}
		return used, p.refuse(line, r), nil
	case "NS", "NF", "EX", "NOT_STORED", "NOT_FOUND", "EXISTS", "CLIENT_ERROR", "SERVER_ERROR":
		return used, p.refuse(line, r), nil
	}
	if _, ok := number(word); ok && len(rest) == 0 {
		r.form = formOther
		return used, true, nil
	}
	return used, false, fmt.Errorf("found %s, expected a reply of memcached", quoted(line))
}

// refuse takes in an error. In a quiet batch it is one of many answers.
func (p *memcacheParser) refuse(line []byte, r *reply) bool {
	if len(p.text) == 0 {
		p.text = append(p.text, line...)
	}
	if p.quiet {
		p.refused++
		return false
	}
	r.form = formError
	return true
}

// value begins a value: VALUE <key> <flags> <bytes> [<cas>].
func (p *memcacheParser) value(line, rest []byte) error {
	key, rest, _ := bytes.Cut(rest, []byte(" "))
	_, rest, _ = bytes.Cut(rest, []byte(" "))
	size, _, _ := bytes.Cut(rest, []byte(" "))
	return p.begin(line, key, size, false)
}

// metaValue begins a value: VA <bytes> <flags>*.
func (p *memcacheParser) metaValue(line, rest []byte) error {
	size, _, _ := bytes.Cut(rest, []byte(" "))
	return p.begin(line, nil, size, !p.quiet)
}

func (p *memcacheParser) begin(line, key, size []byte, lone bool) error {
	n, ok := number(size)
	if !ok || n < 0 || n > maxPayload {
		return fmt.Errorf("%w in %s", errLength, quoted(line))
	}
	p.items++
	p.lone = lone
	p.payload.start(n)
	if p.check == nil {
		return nil
	}
	if key != nil {
		p.check.beginKey(key, n)
	} else {
		p.check.begin(n)
	}
	return nil
}
