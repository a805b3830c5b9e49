package server

import (
	"bytes"
	"fmt"
)

// The largest request: arguments, and bytes of one.
const (
	maxArguments = 1 << 20
	maxBulk      = 64 << 20
	maxInline    = 64 << 10
)

// A protocolError ends a connection: what follows it cannot be understood.
type protocolError struct{ text string }

func (e *protocolError) Error() string { return "Protocol error: " + e.text }

// parse reads one request from b: an array of bulk strings, or an inline
// command. It returns the arguments, appended to args and pointing into b, and how many
// bytes the request took; 0 where it is not yet whole.
func parse(b []byte, args [][]byte) (parsed [][]byte, used int, err error) {
	if len(b) == 0 {
		return args, 0, nil
	}
	if b[0] != '*' {
		return parseInline(b, args)
	}
	count, at, err := header(b, 0, '*', maxArguments)
	if at == 0 || err != nil {
		return args, 0, err
	}
	for range count {
		length, next, err := header(b, at, '$', maxBulk)
		if next == 0 || err != nil {
			return args, 0, err
		}
		end := next + length
		if end+2 > len(b) {
			return args, 0, nil
		}
		if b[end] != '\r' || b[end+1] != '\n' {
			return args, 0, &protocolError{"a bulk string does not end with CR LF"}
		}
		args = append(args, b[next:end])
		at = end + 2
	}
	return args, at, nil
}

// header reads a line such as *3 or $12 at an offset. It returns the number
// and the offset behind the line, 0 where the line is not yet whole.
func header(b []byte, at int, kind byte, limit int) (n, next int, err error) {
	if at >= len(b) {
		return 0, 0, nil
	}
	if b[at] != kind {
		return 0, 0, &protocolError{fmt.Sprintf("expected '%c', found '%c'", kind, b[at])}
	}
	for i := at + 1; i < len(b) && i < at+12; i++ {
		switch c := b[i]; {
		case c >= '0' && c <= '9':
			n = 10*n + int(c-'0')
		case c == '\r' && i > at+1:
			if i+1 == len(b) {
				return 0, 0, nil
			}
			if b[i+1] != '\n' || n > limit {
				return 0, 0, &protocolError{fmt.Sprintf("a length of %d is not followed by LF or above %d", n, limit)}
			}
			return n, i + 2, nil
		default:
			return 0, 0, &protocolError{"invalid length"}
		}
	}
	if len(b) >= at+12 {
		return 0, 0, &protocolError{"invalid length"}
	}
	return 0, 0, nil
}

// parseInline reads a command as typed into a terminal: words on a line.
func parseInline(b []byte, args [][]byte) ([][]byte, int, error) {
	end := bytes.IndexByte(b, '\n')
	if end < 0 {
		if len(b) > maxInline {
			return args, 0, &protocolError{"too big inline request"}
		}
		return args, 0, nil
	}
	return append(args, bytes.Fields(b[:end])...), end + 1, nil
}
