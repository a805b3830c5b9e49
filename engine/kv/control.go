package kv

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"strings"
)

// redis does one command and returns its answer: a string, a []string (a flat
// array) or nil.
func (ctl *control) redis(args ...string) (any, error) {
	var b strings.Builder
	fmt.Fprintf(&b, "*%d\r\n", len(args))
	for _, a := range args {
		fmt.Fprintf(&b, "$%d\r\n%s\r\n", len(a), a)
	}
	if _, err := io.WriteString(ctl.conn, b.String()); err != nil {
		return nil, err
	}
	return readRESP(ctl.in, 0)
}

const maxDepth = 16

func readRESP(in *bufio.Reader, depth int) (any, error) {
	line, err := readLine(in)
	if err != nil {
		return nil, err
	}
	if line == "" {
		return nil, errors.New("found an empty line, expected a reply")
	}
	switch line[0] {
	case '+', ':', ',', '#', '(':
		return line[1:], nil
	case '-':
		return nil, errors.New(line[1:])
	case '_':
		return nil, nil
	case '$', '=':
		return readBulk(in, line)
	case '*', '~', '>', '%':
		return readArray(in, line, depth)
	}
	return nil, fmt.Errorf("found %s, expected a RESP reply", quoted([]byte(line)))
}

func readLine(in *bufio.Reader) (string, error) {
	line, err := in.ReadString('\n')
	if err != nil {
		return "", err
	}
	return strings.TrimSuffix(line, "\r\n"), nil
}

func readBulk(in *bufio.Reader, line string) (any, error) {
	n, ok := number([]byte(line[1:]))
	if !ok || n > maxPayload {
		return nil, fmt.Errorf("%w in %q", errLength, line)
	}
	if n < 0 {
		return nil, nil
	}
	b := make([]byte, n+2)
	if _, err := io.ReadFull(in, b); err != nil {
		return nil, err
	}
	return string(b[:n]), nil
}

func readArray(in *bufio.Reader, line string, depth int) (any, error) {
	n, ok := number([]byte(line[1:]))
	if !ok || n > maxLine || depth > maxDepth {
		return nil, fmt.Errorf("%w in %q", errLength, line)
	}
	if line[0] == '%' {
		n *= 2
	}
	var out []string
	for range n {
		v, err := readRESP(in, depth+1)
		if err != nil {
			return nil, err
		}
		out = append(out, fmt.Sprint(v))
	}
	return out, nil
}

// memcached does one command of the text protocol and returns the lines of its
// answer: up to END where it begins with STAT or VALUE, else one. Values must hold no
// line ends.
func (ctl *control) memcached(request string) (lines []string, err error) {
	if _, err := io.WriteString(ctl.conn, request); err != nil {
		return nil, err
	}
	for {
		line, err := readLine(ctl.in)
		if err != nil {
			return nil, err
		}
		lines = append(lines, line)
		if first := lines[0]; line == "END" || !strings.HasPrefix(first, "STAT ") {
			return lines, nil
		}
	}
}
