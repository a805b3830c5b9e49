package http

import (
	"bufio"
	"errors"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"

	"bakeoff/load"
)

// request is one thing that is asked for: its bytes, and what a right answer is.
type request struct {
	method string
	path   string
	kind   uint8
	weight float64
	bytes  []byte // as sent

	known  bool   // the answer's length and sum are
	length uint64 // of the answer's content
	sum    uint32 // CRC-32C of it
}

const maxRequests = 10_000_000

func (c *config) setRequests(p *load.Params) error {
	lines, err := requestLines(p)
	if err != nil {
		return err
	}
	if lines == nil {
		lines = []string{c.target.path}
	}
	bodies := false
	for i, line := range lines {
		r, err := parseRequest(line)
		if err != nil {
			return fmt.Errorf("request %d: %w", i+1, err)
		}
		bodies = bodies || r.sendsBody()
		r.bytes = c.encode(r)
		c.requests = append(c.requests, r)
	}
	if len(c.body) > 0 && !bodies {
		return errors.New("there is a body, and no request that sends one: expected one with POST, PUT or PATCH, as \"POST /path\"")
	}
	return nil
}

// requestLines reads the items of either parameter; nil where neither is given.
func requestLines(p *load.Params) ([]string, error) {
	file := p.String("requests_file")
	if file == "" {
		if !p.Given("requests") {
			return nil, nil
		}
		list, err := p.Strings("requests")
		if err == nil && len(list) == 0 {
			err = errors.New("parameter \"requests\": found none, expected at least one path")
		}
		return list, err
	}
	if p.Given("requests") {
		return nil, errors.New("requests and requests_file exclude one another")
	}
	f, err := os.Open(file)
	if err != nil {
		return nil, fmt.Errorf("parameter \"requests_file\": %w", err)
	}
	defer f.Close()
	var lines []string
	for s := bufio.NewScanner(f); ; {
		if !s.Scan() {
			if err := s.Err(); err != nil {
				return nil, fmt.Errorf("reading %s, line %d: %w", file, len(lines)+1, err)
			}
			break
		}
		if line := strings.TrimSpace(s.Text()); line != "" && !strings.HasPrefix(line, "#") {
			lines = append(lines, line)
		}
		if len(lines) > maxRequests {
			return nil, fmt.Errorf("%s has more than %d requests", file, maxRequests)
		}
	}
	if len(lines) == 0 {
		return nil, fmt.Errorf("%s holds no request: expected one a line, as \"GET /index.html\"", file)
	}
	return lines, nil
}

// parseRequest reads "[METHOD] PATH [WEIGHT]".
func parseRequest(line string) (request, error) {
	r := request{method: "GET", weight: 1}
	fields := strings.Fields(line)
	if len(fields) > 1 && !strings.HasPrefix(fields[0], "/") {
		r.method, fields = strings.ToUpper(fields[0]), fields[1:]
	}
	kind := slices.Index(methods(), r.method)
	if kind < 0 {
		return r, fmt.Errorf("found method %q, expected one of %s", r.method, strings.Join(methods(), ", "))
	}
	r.kind = uint8(kind)
	if len(fields) == 2 {
		w, err := strconv.ParseFloat(fields[1], 64)
		if err != nil || !(w > 0 && w < 1e9) {
			return r, fmt.Errorf("found weight %q, expected a number above 0", fields[1])
		}
		r.weight, fields = w, fields[:1]
	}
	if len(fields) != 1 || !strings.HasPrefix(fields[0], "/") {
		return r, fmt.Errorf("found %q, expected \"[METHOD] PATH [WEIGHT]\" with a path that begins with a slash", line)
	}
	r.path = fields[0]
	for i := range len(r.path) {
		if b := r.path[i]; b <= ' ' || b >= 0x7f || b == '#' {
			return r, fmt.Errorf("path %q: byte %d is %q: write it in percent-encoding, as %%%02X (RFC 3986 section 2.1)", r.path, i+1, b, b)
		}
	}
	return r, nil
}

func (r *request) sendsBody() bool {
	return r.method == "POST" || r.method == "PUT" || r.method == "PATCH"
}

// encode makes the bytes of a request (RFC 9112 section 3).
func (c *config) encode(r request) []byte {
	b := append([]byte(nil), r.method...)
	b = append(b, ' ')
	b = append(b, r.path...)
	b = append(b, " HTTP/1.1\r\n"...)
	if !slices.ContainsFunc(c.headers, func(h string) bool { return strings.HasPrefix(strings.ToLower(h), "host:") }) {
		b = append(b, "Host: "+c.target.host+"\r\n"...)
	}
	for _, h := range c.headers {
		b = append(b, h...)
		b = append(b, "\r\n"...)
	}
	if c.budget == 1 {
		b = append(b, "Connection: close\r\n"...)
	}
	if !r.sendsBody() {
		return append(b, "\r\n"...)
	}
	b = append(b, "Content-Length: "+strconv.Itoa(len(c.body))+"\r\n\r\n"...)
	return append(b, c.body...)
}
