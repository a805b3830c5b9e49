package kv

import (
	"errors"
	"fmt"
	"strings"

	"bakeoff/load/gen"
)

// The requests of each protocol, from the outside in: what a get, a set or a
// command looks like on the wire.

// requests makes a worker's requests, by kind. Those of kinds that the load
// does not have are nil.
func (c *config) requests(gets, sets gen.Keys) (r [kinds]*request) {
	if c.command != nil {
		r[kindCommand] = c.finish(respRequest(c.command, c.prefix), sets, 0)
		return r
	}
	if c.gets > 0 {
		r[kindGet] = c.finish(c.getPieces(), gets, uint32(c.multiGet))
	}
	if c.sets > 0 {
		r[kindSet] = c.finish(c.setPieces(), sets, 0)
	}
	return r
}

func (c *config) finish(pieces []piece, keys gen.Keys, items uint32) *request {
	r := &request{pieces: merge(pieces), keys: keys, items: items}
	for _, p := range r.pieces {
		if p.layout != nil {
			p.layout.compile()
		}
		switch p.op {
		case opLiteral:
			r.most += len(p.literal)
		case opNextKey, opSameKey:
			r.most += p.layout.most()
		case opData:
			r.most += c.data.sizes.Max()
		default:
			r.most += 48
		}
	}
	return r
}

// merge joins literals to the keys beside them, so that a get is one piece.
func merge(in []piece) (out []piece) {
	for _, p := range in {
		last := len(out) - 1
		switch {
		case p.op == opLiteral && last >= 0 && out[last].layout != nil:
			l := *out[last].layout
			l.after += p.literal
			out[last].layout = &l
		case p.op == opLiteral && last >= 0 && out[last].op == opLiteral:
			out[last].literal += p.literal
		case p.layout != nil && last >= 0 && out[last].op == opLiteral:
			l := *p.layout
			for d := range l.before {
				l.before[d] = out[last].literal + l.before[d]
			}
			out[last] = piece{op: p.op, layout: &l}
		default:
			out = append(out, p)
		}
	}
	return out
}

func (c *config) getPieces() (out []piece) {
	switch c.proto {
	case meta, metaQuiet:
		end := " v\r\n"
		if c.proto == metaQuiet {
			end = " v q\r\n"
		}
		return []piece{{op: opNextKey, layout: newLayout("mg "+c.prefix+"%k"+end, 0)}}
	case text:
		out = append(out, piece{op: opLiteral, literal: "get"})
		for range c.multiGet {
			out = append(out, piece{op: opNextKey, layout: newLayout(" "+c.prefix+"%k", 0)})
		}
		return append(out, piece{op: opLiteral, literal: "\r\n"})
	}
	name := "GET"
	if c.multiGet > 1 {
		name = "MGET"
	}
	out = append(out, piece{op: opLiteral, literal: fmt.Sprintf("*%d\r\n$%d\r\n%s\r\n", 1+c.multiGet, len(name), name)})
	for range c.multiGet {
		out = append(out, piece{op: opNextKey, layout: newLayout("$%n\r\n"+c.prefix+"%k\r\n", len(c.prefix))})
	}
	return out
}

func (c *config) setPieces() []piece {
	switch c.proto {
	case text:
		return c.textSet()
	case meta, metaQuiet:
		return c.metaSet()
	}
	args := []argument{{{literal: "SET"}}, {{key: true}}, {{data: true}}}
	switch e := c.expiry; {
	case e.low == 0:
	case e.low%1e9 == 0 && e.high%1e9 == 0:
		args = append(args, argument{{literal: "EX"}}, argument{{expiry: true}})
	default:
		args = append(args, argument{{literal: "PX"}}, argument{{expiry: true, millis: true}})
	}
	return respRequest(args, c.prefix)
}

func (c *config) textSet() []piece {
	out := []piece{{op: opNextKey, layout: newLayout("set "+c.prefix+"%k 0 ", 0)}}
	if c.expiry.low > 0 {
		out = append(out, piece{op: opExpiry})
	} else {
		out = append(out, piece{op: opLiteral, literal: "0"})
	}
	return append(out, piece{op: opLiteral, literal: " "}, piece{op: opLength},
		piece{op: opLiteral, literal: "\r\n"}, piece{op: opData}, piece{op: opLiteral, literal: "\r\n"})
}

func (c *config) metaSet() []piece {
	out := []piece{{op: opNextKey, layout: newLayout("ms "+c.prefix+"%k ", 0)}, {op: opLength}}
	if c.expiry.low > 0 {
		out = append(out, piece{op: opLiteral, literal: " T"}, piece{op: opExpiry})
	}
	if c.proto == metaQuiet {
		out = append(out, piece{op: opLiteral, literal: " q"})
	}
	return append(out, piece{op: opLiteral, literal: "\r\n"}, piece{op: opData}, piece{op: opLiteral, literal: "\r\n"})
}

// argument is one argument of a Redis command, in parts.
type argument []argumentPart

type argumentPart struct {
	literal           string
	key, data, expiry bool
	millis            bool
}

// respRequest frames a command as an array of bulk strings. The first key in it
// is drawn; further places for it hold the same one.
func respRequest(args []argument, prefix string) []piece {
	out := []piece{{op: opLiteral, literal: fmt.Sprintf("*%d\r\n", len(args))}}
	op := opNextKey
	for _, arg := range args {
		own, keys, data := 0, 0, false
		for _, part := range arg {
			own += len(part.literal)
			data = data || part.data
			if part.key {
				own += len(prefix)
				keys++
			}
			if part.expiry {
				out = append(out, piece{op: opExpiry, counted: true, millis: part.millis})
			}
		}
		switch {
		case keys > 0 && !data:
			out = append(out, keyArgument(arg, prefix, own, op))
			op = opSameKey
		case data:
			out = append(out, piece{op: opLiteral, literal: "$"}, piece{op: opLength, extra: own}, piece{op: opLiteral, literal: "\r\n"})
			for _, part := range arg {
				out = append(out, plain(part))
			}
		case len(arg) == 0 || !arg[0].expiry:
			out = append(out, piece{op: opLiteral, literal: fmt.Sprintf("$%d\r\n%s", own, literals(arg))})
		}
		out = append(out, piece{op: opLiteral, literal: "\r\n"})
	}
	return out
}

func keyArgument(arg argument, prefix string, own int, op pieceOp) piece {
	form := "$%n\r\n"
	for _, part := range arg {
		form += part.literal
		if part.key {
			form += prefix + "%k"
		}
	}
	return piece{op: op, layout: newLayout(form, own)}
}

func plain(part argumentPart) piece {
	if part.data {
		return piece{op: opData}
	}
	return piece{op: opLiteral, literal: part.literal}
}

func literals(arg argument) (s string) {
	for _, part := range arg {
		s += part.literal
	}
	return s
}

// The placeholders of a command.
const (
	keyPlace  = "__key__"
	dataPlace = "__data__"
)

// parseCommand splits a command into arguments, as a shell does with spaces
// and quotes, and finds the placeholders.
func parseCommand(s string) ([]argument, error) {
	words, err := splitWords(s)
	if err != nil {
		return nil, err
	}
	if len(words) == 0 {
		return nil, errors.New("found nothing, expected a command as HSET __key__ field __data__")
	}
	args := make([]argument, len(words))
	keys := 0
	for i, w := range words {
		if args[i], err = parseArgument(w); err != nil {
			return nil, fmt.Errorf("argument %q: %w", w, err)
		}
		keys += strings.Count(w, keyPlace)
	}
	if keys == 0 && strings.Contains(s, dataPlace) {
		return nil, errors.New("__data__ needs a __key__: a value is made from its key")
	}
	if first, second := strings.Index(s, dataPlace), strings.Index(s, keyPlace); first >= 0 && first < second {
		return nil, errors.New("__key__ must come before __data__: a value is made from its key")
	}
	return args, nil
}

func parseArgument(w string) (argument, error) {
	if strings.Count(w, keyPlace)+strings.Count(w, dataPlace) > 1 {
		return nil, errors.New("expected at most one placeholder in an argument")
	}
	for _, place := range []string{keyPlace, dataPlace} {
		if before, after, ok := strings.Cut(w, place); ok {
			return argument{{literal: before}, {key: place == keyPlace, data: place == dataPlace}, {literal: after}}, nil
		}
	}
	return argument{{literal: w}}, nil
}

func splitWords(s string) (words []string, err error) {
	var word strings.Builder
	quote, inside := rune(0), false
	for _, r := range s {
		switch {
		case quote != 0 && r == quote:
			quote = 0
		case quote != 0:
			word.WriteRune(r)
		case r == '"' || r == '\'':
			quote, inside = r, true
		case r == ' ' || r == '\t':
			if inside {
				words = append(words, word.String())
			}
			word.Reset()
			inside = false
		default:
			word.WriteRune(r)
			inside = true
		}
	}
	if quote != 0 {
		return nil, fmt.Errorf("found %q without its end", quote)
	}
	if inside {
		words = append(words, word.String())
	}
	return words, nil
}
