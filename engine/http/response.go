package http

import (
	"bytes"
	"errors"
	"fmt"
	"hash/crc32"
	"math"
)

// response takes in answers, one after the other, in chunks of any size
// (RFC 9112 sections 4, 6 and 7). It keeps nothing but what it needs.
type response struct {
	sums  *crc32.Table // nil: content is not summed
	state state
	head  []byte // of a header section in several chunks, or of a chunk's size line
	left  uint64 // bytes still to come of the body or of the chunk

	// Of the answer in hand, and right once it is done.
	status int
	close  bool   // the server will close the connection
	got    uint64 // bytes of it, header section included
	length uint64 // bytes of its content
	sum    uint32 // CRC-32C of its content
}

// state is what comes next in the stream.
type state uint8

const (
	inHead state = iota
	inBody
	inChunkSize
	inChunk
	inChunkEnd // the line's end behind a chunk
	inTrailer
	untilClose
)

const maxHead = 64 << 10

var errHead = errors.New("an answer's header section is longer than 64 KiB")

// next takes in bytes of an answer and returns how many it used; done says that
// they were the last. To a HEAD request there is no content.
func (r *response) next(data []byte, head bool) (used int, done bool, err error) {
	for used < len(data) {
		n, done, err := r.step(data[used:], head)
		used += n
		r.got += uint64(n)
		if err != nil || done {
			return used, done, err
		}
	}
	return used, false, nil
}

// begin forgets the answer in hand.
func (r *response) begin() {
	r.state, r.head, r.left = inHead, r.head[:0], 0
	r.status, r.close, r.got, r.length, r.sum = 0, false, 0, 0, 0
}

func (r *response) step(data []byte, head bool) (used int, done bool, err error) {
	switch r.state {
	case inHead:
		return r.takeHead(data, head)
	case inBody, inChunk:
		n := r.content(data)
		return n, r.last(), nil
	case untilClose:
		r.left = uint64(len(data))
		return r.content(data), false, nil
	}
	return r.takeLine(data)
}

// content takes bytes of the content, at most those that are left.
func (r *response) content(data []byte) int {
	n := int(min(uint64(len(data)), r.left))
	r.passed(n)
	if r.sums != nil {
		r.sum = crc32.Update(r.sum, r.sums, data[:n])
	}
	return n
}

func (r *response) passed(n int) {
	r.left -= uint64(n)
	r.length += uint64(n)
}

// last reports whether the body is whole, and goes on behind a chunk that is.
func (r *response) last() bool {
	if r.left == 0 && r.state == inChunk {
		r.state = inChunkEnd
		return false
	}
	return r.left == 0
}

// ahead is how many bytes of content are sure to come next.
func (r *response) ahead() int {
	if r.state != inBody && r.state != inChunk {
		return 0
	}
	return int(min(r.left, math.MaxInt))
}

// discarded takes in that so many of those bytes came and nobody saw them.
func (r *response) discarded(n int) (done bool) {
	r.got += uint64(n)
	r.passed(n)
	return r.last()
}

// takeHead takes the header section, whole or in parts.
func (r *response) takeHead(data []byte, head bool) (used int, done bool, err error) {
	before, section := len(r.head), data
	if before > 0 {
		r.head = append(r.head, data...)
		section = r.head
	}
	end := bytes.Index(section, []byte("\r\n\r\n"))
	if end < 0 {
		if len(section) > maxHead {
			return 0, false, errHead
		}
		if before == 0 {
			r.head = append(r.head, data...)
		}
		return len(data), false, nil
	}
	end += 4
	done, err = r.readHead(section[:end-2], head)
	r.head = r.head[:0]
	return end - before, done, err
}

// readHead reads a header section and settles how its content is framed.
func (r *response) readHead(section []byte, head bool) (done bool, err error) {
	f, err := parseHead(section)
	if err != nil {
		return false, err
	}
	if f.status < 200 { // an interim answer: the final one is still to come (RFC 9110 section 15.2)
		if f.status == 101 {
			return false, errors.New("the target changed to another protocol, which nobody asked for")
		}
		return false, nil
	}
	r.status, r.close = f.status, f.close
	switch {
	case head || f.status == 204 || f.status == 304:
		return true, nil
	case f.chunked:
		r.state = inChunkSize
	case f.length >= 0:
		r.state, r.left = inBody, uint64(f.length)
		return r.left == 0, nil
	default:
		r.state, r.close = untilClose, true
	}
	return false, nil
}

// fields are those of a header section that say how an answer is framed.
type fields struct {
	status  int
	length  int64 // -1: not given
	chunked bool
	close   bool
}

// parseHead reads a status line and the header fields behind it, up to the
// empty line.
func parseHead(section []byte) (fields, error) {
	f := fields{length: -1}
	line, rest := cutLine(section)
	if len(line) < 12 || string(line[:7]) != "HTTP/1." || line[8] != ' ' {
		return f, fmt.Errorf("found %q, expected a status line as HTTP/1.1 200 OK", short(line))
	}
	if len(line) > 12 && line[12] != ' ' {
		return f, fmt.Errorf("found %q, expected a status of three digits", short(line))
	}
	for _, b := range line[9:12] {
		if b < '0' || b > '9' {
			return f, fmt.Errorf("found %q, expected a status of three digits", short(line))
		}
		f.status = f.status*10 + int(b-'0')
	}
	f.close = line[7] == '0'
	for len(rest) > 0 {
		line, rest = cutLine(rest)
		if err := f.read(line); err != nil {
			return f, err
		}
	}
	return f, nil
}

// read looks at one header field; most are not of interest.
func (f *fields) read(line []byte) error {
	if len(line) < 10 {
		return nil
	}
	switch line[0] | 0x20 {
	case 'c':
		if value, ok := field(line, "content-length"); ok {
			n, ok := decimal(value)
			if !ok || f.length >= 0 && f.length != n {
				return fmt.Errorf("found %q, expected one length of the content", short(line))
			}
			f.length = n
		} else if value, ok := field(line, "connection"); ok {
			f.close = hasToken(value, "close") || f.close && !hasToken(value, "keep-alive")
		}
	case 't':
		value, ok := field(line, "transfer-encoding")
		if ok && !bytes.EqualFold(value, []byte("chunked")) {
			return fmt.Errorf("found %q, expected no transfer coding but chunked", short(line))
		}
		f.chunked = f.chunked || ok
	}
	return nil
}

// field returns the value of a header field of this name (in small letters).
func field(line []byte, name string) ([]byte, bool) {
	if len(line) <= len(name) || line[len(name)] != ':' || !bytes.EqualFold(line[:len(name)], []byte(name)) {
		return nil, false
	}
	return bytes.Trim(line[len(name)+1:], " \t"), true
}

func hasToken(value []byte, token string) bool {
	for item := range bytes.SplitSeq(value, []byte(",")) {
		if bytes.EqualFold(bytes.Trim(item, " \t"), []byte(token)) {
			return true
		}
	}
	return false
}

func decimal(b []byte) (int64, bool) {
	if len(b) == 0 || len(b) > 18 {
		return 0, false
	}
	var n int64
	for _, d := range b {
		if d < '0' || d > '9' {
			return 0, false
		}
		n = n*10 + int64(d-'0')
	}
	return n, true
}

// cutLine splits off a line without its end.
func cutLine(b []byte) (line, rest []byte) {
	i := bytes.IndexByte(b, '\n')
	if i < 0 {
		return b, nil
	}
	line, rest = b[:i], b[i+1:]
	return bytes.TrimSuffix(line, []byte("\r")), rest
}

func short(b []byte) []byte { return b[:min(len(b), 60)] }

// takeLine takes the lines between chunks and behind the last one.
func (r *response) takeLine(data []byte) (used int, done bool, err error) {
	i := bytes.IndexByte(data, '\n')
	if i < 0 {
		r.head = append(r.head, data...)
		if len(r.head) > maxHead {
			return 0, false, errHead
		}
		return len(data), false, nil
	}
	line := data[:i]
	if len(r.head) > 0 {
		r.head = append(r.head, line...)
		line = r.head
	}
	line = bytes.TrimSuffix(line, []byte("\r"))
	done, err = r.line(line)
	r.head = r.head[:0]
	return i + 1, done, err
}

func (r *response) line(line []byte) (done bool, err error) {
	switch r.state {
	case inChunkEnd:
		r.state = inChunkSize
		if len(line) > 0 {
			return false, fmt.Errorf("found %q behind a chunk, expected the end of the line", short(line))
		}
	case inTrailer:
		return len(line) == 0, nil
	default:
		size, ok := hexadecimal(line)
		if !ok {
			return false, fmt.Errorf("found %q, expected the size of a chunk", short(line))
		}
		if r.state, r.left = inChunk, size; size == 0 {
			r.state = inTrailer
		}
	}
	return false, nil
}

// hexadecimal reads the size of a chunk; extensions behind a semicolon are ignored.
func hexadecimal(line []byte) (uint64, bool) {
	if i := bytes.IndexByte(line, ';'); i >= 0 {
		line = line[:i]
	}
	line = bytes.Trim(line, " \t")
	if len(line) == 0 || len(line) > 15 {
		return 0, false
	}
	var n uint64
	for _, b := range line {
		d := b
		switch {
		case b >= '0' && b <= '9':
			d = b - '0'
		case b|0x20 >= 'a' && b|0x20 <= 'f':
			d = b | 0x20 - 'a' + 10
		default:
			return 0, false
		}
		n = n<<4 | uint64(d)
	}
	return n, true
}
