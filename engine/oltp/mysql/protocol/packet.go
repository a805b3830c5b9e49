// Package protocol is the client's side of the client/server protocol that MariaDB
// and MySQL speak: the login, commands, and a decoder of their answers that takes
// bytes as they arrive and allocates nothing in steady state.
//
// It follows the protocol pages of both servers ("Client/Server Protocol" of the
// MySQL source documentation, "Clients & Utilities: Client/Server Protocol" of the
// MariaDB documentation): protocol version 10, 4.1 capabilities and up.
package protocol

import (
	"encoding/binary"
	"errors"
	"fmt"
)

const (
	headerSize = 4
	// MaxPayload is the longest payload of one packet, in bytes, less one: a
	// packet of 1<<24-1 bytes says that another follows, which nothing here sends
	// or accepts.
	MaxPayload = 1<<24 - 2
)

// Commands, the first byte of a command's payload.
const (
	comQuit        = 0x01
	comQuery       = 0x03
	comStmtPrepare = 0x16
	comStmtExecute = 0x17
)

// begin appends the place of a packet's header to dst and returns where it is;
// Finish fills it in once the payload is appended.
func begin(dst []byte) ([]byte, int) {
	return append(dst, 0, 0, 0, 0), len(dst)
}

// finish fills in the header of the packet that begins at at.
func finish(dst []byte, at int, sequence byte) []byte {
	n := len(dst) - at - headerSize
	dst[at], dst[at+1], dst[at+2], dst[at+3] = byte(n), byte(n>>8), byte(n>>16), sequence
	return dst
}

// AppendQuery appends a COM_QUERY packet with a text of at most MaxPayload-1 bytes.
func AppendQuery(dst, text []byte) []byte {
	dst, at := begin(dst)
	dst = append(dst, comQuery)
	dst = append(dst, text...)
	return finish(dst, at, 0)
}

// AppendQueryString is AppendQuery for a string.
func AppendQueryString(dst []byte, text string) []byte {
	dst, at := begin(dst)
	dst = append(dst, comQuery)
	dst = append(dst, text...)
	return finish(dst, at, 0)
}

func appendCommand(dst []byte, command byte, text string) []byte {
	dst, at := begin(dst)
	dst = append(dst, command)
	dst = append(dst, text...)
	return finish(dst, at, 0)
}

// Errors of the decoder: what arrived is not what the protocol allows there.
var (
	errShort   = errors.New("a packet ends too early")
	errTooLong = errors.New("a packet of 16 MiB or more; expected shorter ones")
)

// readInt reads a length-encoded integer and returns the bytes it takes; 0 where
// b does not hold one, as for the marks of NULL (0xfb) and of an error (0xff).
func readInt(b []byte) (v uint64, n int) {
	if len(b) == 0 {
		return 0, 0
	}
	switch c := b[0]; {
	case c < 0xfb:
		return uint64(c), 1
	case c == 0xfc && len(b) >= 3:
		return uint64(b[1]) | uint64(b[2])<<8, 3
	case c == 0xfd && len(b) >= 4:
		return uint64(b[1]) | uint64(b[2])<<8 | uint64(b[3])<<16, 4
	case c == 0xfe && len(b) >= 9:
		return binary.LittleEndian.Uint64(b[1:]), 9
	}
	return 0, 0
}

func appendInt(dst []byte, v uint64) []byte {
	switch {
	case v < 0xfb:
		return append(dst, byte(v))
	case v <= 0xffff:
		return append(dst, 0xfc, byte(v), byte(v>>8))
	case v <= 0xffffff:
		return append(dst, 0xfd, byte(v), byte(v>>8), byte(v>>16))
	}
	return binary.LittleEndian.AppendUint64(append(dst, 0xfe), v)
}

// readString reads a length-encoded string and returns the bytes it takes; 0
// where b does not hold one.
func readString(b []byte) (s []byte, n int) {
	length, n := readInt(b)
	if n == 0 || length > uint64(len(b)-n) {
		return nil, 0
	}
	end := n + int(length)
	return b[n:end], end
}

// A ServerError is an error packet.
type ServerError struct {
	Code    uint16 // as in the server's list of errors: 1213 is a deadlock
	State   string // SQLSTATE; "" where the server sent none, as before the login
	Message string
}

// Error gives code, state and the server's own words.
func (e *ServerError) Error() string {
	if e.State == "" {
		return fmt.Sprintf("server error %d: %s", e.Code, e.Message)
	}
	return fmt.Sprintf("server error %d (%s): %s", e.Code, e.State, e.Message)
}

// parseError reads an error packet, whose first byte is 0xff.
func parseError(p []byte) (*ServerError, error) {
	if len(p) < 3 {
		return nil, errShort
	}
	e := &ServerError{Code: binary.LittleEndian.Uint16(p[1:])}
	p = p[3:]
	if len(p) >= 6 && p[0] == '#' {
		e.State, p = string(p[1:6]), p[6:]
	}
	e.Message = string(p)
	return e, nil
}
