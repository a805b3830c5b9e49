package fleet

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"sync"
	"time"
)

// The protocol is frames of JSON over any pair of byte streams: four bytes of
// length, the most significant first, then the message. One side calls, the
// other serves; the caller has one call under way at a time. While it is, the
// server may send progress and the caller may send one cancellation. Every call
// is answered exactly once, also when it was cancelled: what was measured until
// then comes with the error.

// maxFrame bounds a message, in bytes: an hour of telemetry is about 400 MB.
const maxFrame = 1 << 30

// protocol is the version that both sides of a stream speak.
const protocol = 1

// kind says what a message is.
type kind string

const (
	kindHello    kind = "hello"    // first message of the server: Version
	kindCall     kind = "call"     // Method, Body, Nanos
	kindCancel   kind = "cancel"   // of the call under way: Body says why
	kindProgress kind = "progress" // of the call under way: Body
	kindAnswer   kind = "answer"   // Body, Err
)

// message is everything that crosses.
type message struct {
	Kind    kind            `json:"kind"`
	Call    uint64          `json:"call,omitempty"` // number of the call, from 1
	Version int             `json:"version,omitempty"`
	Method  string          `json:"method,omitempty"`
	Nanos   int64           `json:"nanos,omitempty"` // left until the caller's deadline; 0: none
	Body    json.RawMessage `json:"body,omitempty"`
	Err     *farError       `json:"error,omitempty"`
}

// farError is an error that crossed. Of what it wraps, only the two errors of
// contexts are still known.
type farError struct {
	Text     string `json:"text"`
	Canceled bool   `json:"canceled,omitempty"`
	Late     bool   `json:"late,omitempty"`
}

// stream frames messages on a pair of byte streams. Writers may be several.
type stream struct {
	r io.Reader

	mu sync.Mutex
	w  io.Writer
}

func (s *stream) send(m message) error {
	data, err := json.Marshal(m)
	if err != nil {
		return fmt.Errorf("writing a message: %w", err)
	}
	if len(data) > maxFrame {
		return fmt.Errorf("writing a message: it has %d bytes; at most %d can cross", len(data), maxFrame)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if _, err := s.w.Write(append(binary.BigEndian.AppendUint32(nil, uint32(len(data))), data...)); err != nil {
		return fmt.Errorf("writing a message: %w", err)
	}
	return nil
}

// receive reads one message; io.EOF says that the other side ended the stream
// between two messages.
func (s *stream) receive() (message, error) {
	var head [4]byte
	if _, err := io.ReadFull(s.r, head[:]); err != nil {
		if errors.Is(err, io.EOF) {
			return message{}, io.EOF
		}
		return message{}, fmt.Errorf("reading a message: %w", err)
	}
	size := binary.BigEndian.Uint32(head[:])
	if size > maxFrame {
		return message{}, fmt.Errorf("reading a message: it is said to have %d bytes; expected at most %d: the other side is no agent of bakeoff", size, maxFrame)
	}
	var body bytes.Buffer // grows with what arrives, not with what is claimed
	if _, err := io.CopyN(&body, s.r, int64(size)); err != nil {
		if errors.Is(err, io.EOF) {
			err = io.ErrUnexpectedEOF
		}
		return message{}, fmt.Errorf("reading a message: %w", err)
	}
	var m message
	if err := json.Unmarshal(body.Bytes(), &m); err != nil {
		return message{}, fmt.Errorf("reading a message: %w", err)
	}
	return m, nil
}

// left is the time until a deadline as it crosses: at least 1 ns, 0 for none.
func left(deadline time.Time, has bool, now time.Time) int64 {
	if !has {
		return 0
	}
	return max(1, deadline.Sub(now).Nanoseconds())
}
