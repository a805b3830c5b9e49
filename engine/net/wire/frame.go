// Package wire is the control protocol between the two ends of a network
// measurement: who may ask for what, what is asked for, and what was counted.
//
// Either end sends frames: a length of four bytes, big endian, and as much JSON.
// The client begins with Magic and Hello; the server answers with Challenge; the
// client proves that it knows the token and says what it wants (Proof); the server
// answers with Ready, or Refusal. From then on the client may ask for a Report
// of the counts any number of times. The measurement ends with the connection.
package wire

import (
	"encoding/binary"
	"encoding/json"
	"fmt"
	"io"
)

// Magic is what a client sends first. It cannot be the begin of an iperf3 cookie,
// nor of a request of HTTP.
const Magic = "BAKEOFF-NET/1\r\n\x00"

// MaxFrame bounds a frame, in bytes.
const MaxFrame = 4 << 20

// Write sends a value as one frame.
func Write(w io.Writer, v any) error {
	body, err := json.Marshal(v)
	if err != nil {
		return fmt.Errorf("encoding a message: %w", err)
	}
	if len(body) > MaxFrame {
		return fmt.Errorf("a message of %d bytes, at most %d fit", len(body), MaxFrame)
	}
	frame := binary.BigEndian.AppendUint32(make([]byte, 0, 4+len(body)), uint32(len(body)))
	if _, err := w.Write(append(frame, body...)); err != nil {
		return fmt.Errorf("sending a message: %w", err)
	}
	return nil
}

// ReadRaw reads the body of one frame of up to limit bytes.
func ReadRaw(r io.Reader, limit int) ([]byte, error) {
	var head [4]byte
	if _, err := io.ReadFull(r, head[:]); err != nil {
		return nil, fmt.Errorf("reading a message: %w", err)
	}
	n := binary.BigEndian.Uint32(head[:])
	if uint64(n) > uint64(limit) {
		return nil, fmt.Errorf("found a message of %d bytes, expected at most %d: the peer does not speak this protocol", n, limit)
	}
	// The length is the peer's word: memory comes with the bytes themselves.
	body, err := io.ReadAll(io.LimitReader(r, int64(n)))
	if err == nil && len(body) < int(n) {
		err = io.ErrUnexpectedEOF
	}
	if err != nil {
		return nil, fmt.Errorf("reading a message of %d bytes: %w", n, err)
	}
	return body, nil
}

// Read reads one frame into a value.
func Read(r io.Reader, v any) error {
	body, err := ReadRaw(r, MaxFrame)
	if err != nil {
		return err
	}
	if err := json.Unmarshal(body, v); err != nil {
		return fmt.Errorf("found a message that cannot be read: %w", err)
	}
	return nil
}
