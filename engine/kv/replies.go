package kv

import (
	"bytes"
	"errors"
	"fmt"

	"bakeoff/load"
)

// receive takes in a chunk of replies.
func (w *worker) receive(c *conn, data []byte) error {
	err := w.parse(c, data)
	w.flush()
	return err
}

func (w *worker) parse(c *conn, data []byte) error {
	for len(data) > 0 {
		if c.got == 0 && !c.idle() && c.check == nil {
			g := c.at(c.head)
			if used, n := c.like[g.kind].run(data, g.left); n > 0 {
				w.complete(c, n, load.OK, n, uint64(used), nil)
				data = data[used:]
				continue
			}
		}
		used, done, err := c.parser.next(data, &c.reply)
		if err != nil {
			return fmt.Errorf("the target does not speak %s: %w", w.c.proto, err)
		}
		c.got += uint64(used)
		if !done {
			return nil
		}
		if c.idle() {
			return errors.New("the target sent a reply that nothing asked for")
		}
		if err := w.answer(c, data[used-c.reply.whole:used]); err != nil {
			return err
		}
		c.got = 0
		data = data[used:]
	}
	return nil
}

// answer books the reply in hand on the operation that it belongs to. Whole
// holds the reply's bytes, where they came in one chunk.
func (w *worker) answer(c *conn, whole []byte) error {
	if w.quiet {
		return w.batch(c)
	}
	kind := c.at(c.head).kind
	status, err := w.judge(c, kind)
	r := &c.reply
	items := r.items
	switch {
	case status == load.Failed:
		items = 0
	case kind == kindSet:
		items = 1
	}
	lone := r.form == formStatus || r.form == formValues && w.requests[kind].items == 1
	if status == load.OK && lone && len(whole) > 0 {
		c.like[kind].learn(whole)
	}
	w.complete(c, 1, status, items, c.got, err)
	return nil
}

// judge says how an operation ended by its reply.
func (w *worker) judge(c *conn, kind uint8) (load.OpStatus, error) {
	r := &c.reply
	if c.check != nil && kind == kindGet {
		c.log.settle(uint64(w.requests[kind].items))
		if err := c.check.take(); err != nil {
			return load.Failed, err
		}
	}
	want := w.requests[kind].items
	switch {
	case r.form == formError:
		return load.Failed, w.errs.of(r.text)
	case kind == kindCommand && r.form == formValues && r.items == 0:
		return load.Miss, nil
	case kind == kindCommand:
		return load.OK, nil
	case kind == kindSet && r.form == formStatus:
		return load.OK, nil
	case kind == kindGet && r.form == formValues && r.items < want:
		return load.Miss, nil
	case kind == kindGet && r.form == formValues && r.items == want:
		return load.OK, nil
	}
	return load.Failed, errReply
}

var errReply = errors.New("the target gave an answer that does not fit the request")

// batch books the end of a quiet batch: hits and errors were answered, the
// misses of gets and the successes of sets were not.
func (w *worker) batch(c *conn) error {
	r, g := &c.reply, c.at(c.head)
	if r.form != formEnd || g.kind == kindSet && r.items > 0 || r.items+r.refused > g.left {
		return fmt.Errorf("found %d values and %d errors as answers to %d operations", r.items, r.refused, g.left)
	}
	got, rest := c.got, g.left-r.items-r.refused
	if r.refused > 0 {
		w.complete(c, r.refused, load.Failed, 0, 0, w.errs.of(r.text))
	}
	if g.kind == kindSet && rest > 0 {
		w.complete(c, rest, load.OK, rest, got, nil)
		return nil
	}
	if rest > 0 {
		w.complete(c, rest, load.Miss, 0, 0, nil)
	}
	if r.items > 0 {
		w.complete(c, r.items, load.OK, r.items, got, nil)
	}
	return nil
}

// complete ends n operations of the first group on the wire.
func (w *worker) complete(c *conn, n uint32, status load.OpStatus, items uint32, in uint64, err error) {
	g := c.at(c.head)
	share := g.bytes
	if n < g.left {
		share = g.bytes * uint64(n) / uint64(g.left)
	}
	a := &w.acc
	if a.Count > 0 && (a.Sent != g.sent || a.Intended != g.intended || a.Kind != g.kind || a.Status != status || err != nil || a.Err != nil) {
		w.flush()
	}
	if a.Count == 0 {
		*a = load.Completion{Intended: g.intended, Sent: g.sent, Slot: c.slot, Kind: g.kind, Status: status, Err: err}
		if w.stamp != 0 {
			a.Done = max(w.stamp, g.sent)
		}
	}
	a.Count += n
	a.Items += items
	a.BytesIn += in
	a.BytesOut += share
	g.bytes -= share
	g.left -= n
	c.busy -= n
	w.free += n
	if g.left == 0 {
		c.head++
	}
	if status == load.OK {
		c.again.Answered()
	}
}

// flush moves what complete gathered to the completions. All of it is of one connection.
func (w *worker) flush() {
	if w.acc.Count > 0 {
		w.out = append(w.out, w.acc)
		w.acc.Count = 0
	}
}

// errorTexts makes one error a text, so that a target which refuses everything
// costs no allocation a reply.
type errorTexts struct{ known map[string]error }

const maxErrorTexts = 64

func (e *errorTexts) of(text []byte) error {
	if err, ok := e.known[string(text)]; ok {
		return err
	}
	err := fmt.Errorf("the target answered: %s", text)
	if bytes.HasPrefix(text, []byte("NOAUTH")) {
		err = fmt.Errorf("%w: give its password as the secret \"password\" (--password-file or --password-env)", err)
	}
	if len(e.known) < maxErrorTexts {
		if e.known == nil {
			e.known = map[string]error{}
		}
		e.known[string(text)] = err
	}
	return err
}
