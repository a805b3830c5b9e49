package server

import (
	"bytes"
	"strconv"
)

// Limits of a request, as Redis has them.
const (
	maxArguments = 1 << 20
	maxBulk      = 512 << 20
	maxInline    = 64 << 10
)

// request does the first request in b and returns its length, 0 where it is
// not complete.
func (t *thread) request(c *client, b []byte) int {
	used, fault := c.parse(b)
	switch {
	case fault != "":
		t.fail(c, "-ERR Protocol error: "+fault)
		return len(b)
	case used > 0 && len(c.args) > 0:
		t.counts.commands++
		t.command(c)
	}
	return used
}

// parse reads a command, an array of bulk strings or a line of words, into
// c.args. It returns 0 where the command is not complete.
func (c *client) parse(b []byte) (used int, fault string) {
	c.args = c.args[:0]
	if b[0] != '*' {
		return c.inline(b)
	}
	n, at, ok := header(b, 0)
	if !ok {
		return 0, "invalid multibulk length"
	}
	if at == 0 {
		return 0, ""
	}
	if n > maxArguments {
		return 0, "invalid multibulk length"
	}
	for range n {
		if at >= len(b) {
			return 0, ""
		}
		if b[at] != '$' {
			return 0, "expected '$', got '" + string(b[at:at+1]) + "'"
		}
		size, next, ok := header(b, at)
		if !ok || size < 0 || size > maxBulk {
			return 0, "invalid bulk length"
		}
		if next == 0 || next+size+2 > len(b) {
			return 0, ""
		}
		c.args = append(c.args, b[next:next+size:next+size])
		at = next + size + 2
	}
	return at, ""
}

// header reads a number up to the line's end, after the sign at b[at]. Next is 0
// where the line is not complete.
func header(b []byte, at int) (n, next int, ok bool) {
	i := at + 1
	negative := i < len(b) && b[i] == '-'
	if negative {
		i++
	}
	for start := i; i < len(b); i++ {
		c := b[i]
		if c >= '0' && c <= '9' && i-start < 10 {
			n = 10*n + int(c-'0')
			continue
		}
		if c != '\r' || i == start {
			return 0, 0, false
		}
		if i+1 == len(b) {
			return 0, 0, true
		}
		if negative {
			n = -n
		}
		return n, i + 2, b[i+1] == '\n'
	}
	return 0, 0, true
}

func (c *client) inline(b []byte) (used int, fault string) {
	i := bytes.IndexByte(b, '\n')
	if i < 0 {
		if len(b) > maxInline {
			return 0, "too big inline request"
		}
		return 0, ""
	}
	c.args = append(c.args, bytes.Fields(b[:i])...)
	return i + 1, ""
}

func appendBulk(dst, value []byte) []byte {
	dst = append(dst, '$')
	dst = strconv.AppendInt(dst, int64(len(value)), 10)
	dst = append(dst, "\r\n"...)
	dst = append(dst, value...)
	return append(dst, "\r\n"...)
}

func appendNumber(dst []byte, sign byte, n int64) []byte {
	dst = append(dst, sign)
	dst = strconv.AppendInt(dst, n, 10)
	return append(dst, "\r\n"...)
}
