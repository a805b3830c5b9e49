package wire

import (
	"encoding/json"
	"fmt"
	"slices"

	"bakeoff/engine/net/flow"
	"bakeoff/engine/net/socket"
)

// Mode names what a measurement does.
type Mode string

// The modes.
const (
	Stream   Mode = "stream"   // bulk data, one way or both
	PingPong Mode = "pingpong" // a message there and back, one at a time
	Connect  Mode = "connect"  // connections opened and closed
	Blocks   Mode = "blocks"   // reads and writes of blocks at a depth
)

// Test is what a client asks for.
type Test struct {
	Mode     Mode           `json:"mode"`
	Datagram bool           `json:"datagram,omitempty"`  // UDP in place of TCP
	Send     int            `json:"send"`                // connections on which the client sends; all of a mode without directions
	Receive  int            `json:"receive,omitempty"`   // connections on which the server sends
	Block    int            `json:"block"`               // bytes of a block, datagram or message
	Discard  bool           `json:"discard,omitempty"`   // the receiver throws data away unread
	LowWater bool           `json:"low_water,omitempty"` // receivers of streams are woken for about a millisecond's data at once
	Spin     bool           `json:"spin,omitempty"`      // both ends poll in place of waiting
	ZeroCopy flow.ZeroCopy  `json:"zero_copy,omitempty"`
	Segments bool           `json:"segments,omitempty"` // UDP_SEGMENT and UDP_GRO
	Batch    int            `json:"batch,omitempty"`    // datagrams or messages a system call
	Rate     float64        `json:"rate,omitempty"`     // bytes a second that the server sends over all connections; 0: as fast as it can
	CPUs     []int          `json:"cpus,omitempty"`     // that the server's threads are bound to, in turn
	Seconds  float64        `json:"seconds"`            // how long the server sends at most
	Options  socket.Options `json:"options"`
}

// What a test may ask for at most.
const (
	MaxConnections = 256
	MaxBlock       = 16 << 20
	MaxDatagram    = 65507 // UDP over IPv4
	MaxMessage     = 64 << 10
	MaxBatch       = 1024
	maxBuffer      = 1 << 30
)

// Check says what is wrong with a test.
func (t *Test) Check() error {
	if !slices.Contains([]Mode{Stream, PingPong, Connect, Blocks}, t.Mode) {
		return fmt.Errorf("mode %q is unknown", t.Mode)
	}
	if t.Datagram && (t.Mode == Connect || t.Mode == Blocks) {
		return fmt.Errorf("mode %s needs TCP", t.Mode)
	}
	if t.Receive > 0 && t.Mode != Stream {
		return fmt.Errorf("mode %s has no directions", t.Mode)
	}
	if t.Send < 0 || t.Receive < 0 || t.Send+t.Receive < 1 || t.Send+t.Receive > MaxConnections {
		return fmt.Errorf("%d connections: expected 1 to %d", t.Send+t.Receive, MaxConnections)
	}
	if !(t.Seconds >= 0) || !(t.Rate >= 0) {
		return fmt.Errorf("%g seconds at %g B/s: expected 0 or more", t.Seconds, t.Rate)
	}
	o := t.Options
	if o.SendBuffer < 0 || o.SendBuffer > maxBuffer || o.ReceiveBuffer < 0 || o.ReceiveBuffer > maxBuffer || o.DSCP < 0 || o.DSCP > 63 || o.MSS < 0 || o.BusyPoll < 0 {
		return fmt.Errorf("socket options that cannot be: %+v", o)
	}
	if !slices.Contains([]string{"", "never", "allow"}, o.Fragment) || !slices.Contains([]flow.ZeroCopy{"", flow.Copy, flow.SendFile, flow.MsgZeroCopy}, t.ZeroCopy) {
		return fmt.Errorf("fragment %q, zero_copy %q: unknown", o.Fragment, t.ZeroCopy)
	}
	if o.Device != "" {
		return fmt.Errorf("the server's device is its own affair")
	}
	return t.checkSizes()
}

func (t *Test) checkSizes() error {
	low, high := 1, MaxBlock
	switch {
	case t.Mode == PingPong && t.Datagram:
		high = MaxDatagram
	case t.Mode == PingPong:
		high = MaxMessage
	case t.Datagram:
		low, high = flow.Format{}.HeaderSize(), MaxDatagram
	}
	if t.Mode != Connect && (t.Block < low || t.Block > high) {
		return fmt.Errorf("block of %d bytes: expected %d to %d", t.Block, low, high)
	}
	if t.Datagram && t.Mode == Stream && (t.Batch < 1 || t.Batch > MaxBatch) {
		return fmt.Errorf("batch of %d: expected 1 to %d", t.Batch, MaxBatch)
	}
	return nil
}

// ReadTest reads and checks a test.
func ReadTest(raw []byte) (*Test, error) {
	t := new(Test)
	if err := json.Unmarshal(raw, t); err != nil {
		return nil, fmt.Errorf("reading what the client asks for: %w", err)
	}
	return t, t.Check()
}

// Ready is the server's answer to a Proof that it takes, or Refused says why not.
type Ready struct {
	Refused string `json:"refused,omitempty"`
	MAC     string `json:"mac,omitempty"`  // the server's own proof, where there is a token
	Key     string `json:"key,omitempty"`  // hex, 16 bytes: what data connections begin with
	Port    int    `json:"port,omitempty"` // where data connections go, over TCP
	Ports   []int  `json:"ports,omitempty"`
	Version string `json:"version,omitempty"` // of the server's bakeoff
}

// Ask is what a client may ask for once a measurement is agreed on, one at a time.
// The answer is a Report.
type Ask struct {
	// Expect has marks made at moments of the server's clock.
	Expect []int64 `json:"expect_ns,omitempty"`
	// Mark asks for how things stood at one of them, by number from 1; the server
	// answers when it is made on all connections.
	Mark int `json:"mark,omitempty"`
	// Samples asks for those of every second too.
	Samples bool `json:"samples,omitempty"`
}

// MaxMarks is how many marks a client may ask for.
const MaxMarks = 16

// Report is what the server has counted by one moment: now, or a mark.
type Report struct {
	Now   int64      `json:"now_ns"`       // of the server's clock, which runs as CLOCK_MONOTONIC does
	At    int64      `json:"at_ns"`        // likewise: the moment that the counts are of
	CPU   int64      `json:"cpu_ns"`       // user and system time of the threads that move this measurement's data
	Busy  int64      `json:"host_busy_ns"` // time that the server's host was busy with anything, over all its processors, by Now
	Flows []flow.End `json:"flows"`        // by index of the connection
	Error string     `json:"error,omitempty"`
}

// KeySize is the length of the key that data connections begin with, in bytes.
const KeySize = 16

// Join is what a TCP data connection begins with: the key, and which of the
// measurement's connections it is. The server answers with one byte, JoinOK.
func Join(key []byte, index int) []byte {
	b := make([]byte, 0, JoinSize)
	b = append(b, key...)
	return append(b, byte(index>>24), byte(index>>16), byte(index>>8), byte(index))
}

// ReadJoin is the inverse of Join.
func ReadJoin(b []byte) (key []byte, index int) {
	n := b[KeySize:]
	return b[:KeySize], int(n[0])<<24 | int(n[1])<<16 | int(n[2])<<8 | int(n[3])
}

// JoinSize is the length of a Join.
const JoinSize = KeySize + 4

// JoinOK is the server's answer to a Join; Go, which the client sends on a
// connection on which the server is to send, starts that.
const (
	JoinOK byte = 'k'
	Go     byte = 'g'
)
