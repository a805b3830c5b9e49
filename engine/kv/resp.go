package kv

import "fmt"

// respParser reads the replies of RESP2 and RESP3 (the protocol specification
// of Redis). An aggregate is one reply; its elements, nested ones too, are
// counted down, so that no stack is needed.
type respParser struct {
	lines   lineBuffer
	payload payload
	left    int  // elements of the reply that are still to come
	inside  bool // a reply has begun
	aside   bool // it answers nothing: a push, or the attributes of what follows
	form    form
	items   uint32
	text    []byte
	check   *checker // nil where values are not verified
}

func newRESP(check *checker) *respParser {
	return &respParser{check: check, payload: payload{check: check}}
}

func (p *respParser) next(b []byte, r *reply) (used int, done bool, err error) {
	began := p.inside || p.payload.left > 0 || len(p.lines.held) > 0
	start := 0
	for used < len(b) || p.inside && p.left == 0 {
		if p.inside && p.left == 0 {
			if p.finish(r) {
				r.whole = used - start
				if began {
					r.whole = 0
				}
				return used, true, nil
			}
			start, began = used, false
			continue
		}
		var n int
		if p.payload.left > 0 {
			n, err = p.payload.skip(b[used:])
			if p.payload.left == 0 {
				p.left--
			}
		} else {
			n, err = p.line(b[used:])
		}
		if err != nil {
			return used, false, err
		}
		used += n
	}
	return used, false, nil
}

// finish ends the reply in hand and reports whether it answers something.
func (p *respParser) finish(r *reply) bool {
	p.inside = false
	if p.aside {
		p.aside = false
		return false
	}
	r.form, r.items, r.text = p.form, p.items, p.text
	return true
}

// line reads the line that begins an element.
func (p *respParser) line(b []byte) (int, error) {
	line, used, ok, err := p.lines.take(b)
	if err != nil || !ok {
		return used, err
	}
	if len(line) == 0 {
		return used, fmt.Errorf("found an empty line, expected a reply")
	}
	top := !p.inside
	if top {
		p.inside, p.left, p.items, p.form, p.text = true, 1, 0, formOther, p.text[:0]
	}
	return used, p.element(line[0], line, top)
}

func (p *respParser) element(kind byte, line []byte, top bool) error {
	switch kind {
	case '$', '=', '!':
		return p.bulk(kind, line, top)
	case '*', '~', '%', '>', '|':
		return p.aggregate(kind, line, top)
	case '_':
		p.null(top)
	case '+':
		if top {
			p.form = formStatus
		}
		p.left--
	case '-':
		p.fail(line[1:])
		p.left--
	case ':', '#', ',', '(':
		p.items++
		p.left--
	default:
		return fmt.Errorf("found %s, expected a RESP reply", quoted(line))
	}
	return nil
}

// bulk begins a string, a verbatim string or an error with its length.
func (p *respParser) bulk(kind byte, line []byte, top bool) error {
	n, ok := number(line[1:])
	if !ok || n < -1 || n > maxPayload {
		return fmt.Errorf("%w in %s", errLength, quoted(line))
	}
	if n == -1 {
		p.null(top)
		return nil
	}
	if kind == '!' {
		p.fail([]byte("error of several lines"))
	} else {
		p.items++
		if top {
			p.form = formValues
		}
	}
	p.payload.start(n)
	if p.check != nil {
		p.check.begin(n)
	}
	return nil
}

func (p *respParser) null(top bool) {
	if top {
		p.form = formValues
	}
	if p.check != nil {
		p.check.skip()
	}
	p.left--
}

func (p *respParser) aggregate(kind byte, line []byte, top bool) error {
	n, ok := number(line[1:])
	if !ok || n < -1 || n > maxPayload {
		return fmt.Errorf("%w in %s", errLength, quoted(line))
	}
	n = max(n, 0)
	if kind == '%' || kind == '|' { // pairs
		n *= 2
	}
	if kind == '|' && !top { // it precedes an element and is none itself
		n++
	}
	if top {
		p.form = formValues
		p.aside = kind == '>' || kind == '|'
	}
	p.left += n - 1
	return nil
}

func (p *respParser) fail(text []byte) {
	if p.form != formError {
		p.form = formError
		p.text = append(p.text[:0], text...)
	}
}
