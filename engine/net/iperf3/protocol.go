// Package iperf3 is the control protocol of iperf3 (esnet/iperf, versions 3.1 and
// later), as both ends speak it: a client sends a cookie; the server then leads
// through states of one byte each, in some of which JSON documents go either way,
// a length of four bytes, big endian, before each.
package iperf3

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strconv"

	"bakeoff/engine/net/wire"
)

// CookieSize is the length of a cookie with the zero byte that ends it.
const CookieSize = 37

// State is what the server tells its client, or the client its server, to do.
type State int8

// The states, by their names in iperf3.
const (
	TestStart       State = 1
	TestRunning     State = 2
	TestEnd         State = 4
	ParamExchange   State = 9
	CreateStreams   State = 10
	ServerTerminate State = 11
	ClientTerminate State = 12
	ExchangeResults State = 13
	DisplayResults  State = 14
	Done            State = 16
	AccessDenied    State = -1
	ServerError     State = -2
)

// Reasons that a server gives with ServerError, by their numbers in iperf3.
const (
	ReasonStreams   = 6   // too many parallel streams
	ReasonBlock     = 7   // block too large
	ReasonBuffer    = 125 // socket buffer size
	ReasonTime      = 37  // longer than the server allows
	ReasonProtocol  = 131 // no such protocol here
	ReasonParams    = 114 // parameters that cannot be read
	ReasonUndefined = 13  // not implemented
)

// What a UDP stream begins with, and how the server answers: four bytes each, of
// which the order is the sender's own. LegacyReply is that of before 3.10.
const (
	ConnectMessage uint32 = 0x36373839
	ConnectReply   uint32 = 0x39383736
	LegacyMessage  uint32 = 123456789
	LegacyReply    uint32 = 987654321
)

// maxParameters and maxResults bound documents, in bytes.
const (
	maxParameters = 64 << 10
	maxResults    = 4 << 20
)

// ErrBusy says that the server is running another client's test.
var ErrBusy = errors.New("the iperf3 server is running another test: try again later")

// Write sends a state.
func (s State) Write(w io.Writer) error {
	if _, err := w.Write([]byte{byte(s)}); err != nil {
		return fmt.Errorf("telling the iperf3 peer of state %d: %w", s, err)
	}
	return nil
}

// ReadState reads a state. Those in which the peer gives up are errors.
func ReadState(r io.Reader) (State, error) {
	var b [1]byte
	if _, err := io.ReadFull(r, b[:]); err != nil {
		return 0, fmt.Errorf("waiting for the iperf3 peer's next state: %w", err)
	}
	s := State(b[0])
	switch s {
	case AccessDenied:
		return s, ErrBusy
	case ServerTerminate:
		return s, errors.New("the iperf3 server has ended the test")
	case ServerError:
		var e [8]byte
		if _, err := io.ReadFull(r, e[:]); err != nil {
			return s, errors.New("the iperf3 server failed without saying why")
		}
		return s, fmt.Errorf("the iperf3 server failed: its error %d, errno %d", be32(e[:4]), be32(e[4:]))
	}
	return s, nil
}

func be32(b []byte) int32 {
	return int32(uint32(b[0])<<24 | uint32(b[1])<<16 | uint32(b[2])<<8 | uint32(b[3]))
}

// Expect reads a state and wants it to be one.
func Expect(r io.Reader, want State) error {
	got, err := ReadState(r)
	if err == nil && got != want {
		err = fmt.Errorf("found state %d of iperf3's, expected %d: does it speak iperf3?", got, want)
	}
	return err
}

// WriteError tells a client why its test cannot be.
func WriteError(w io.Writer, reason, errno int32) error {
	b := []byte{0xfe, // ServerError
		byte(reason >> 24), byte(reason >> 16), byte(reason >> 8), byte(reason),
		byte(errno >> 24), byte(errno >> 16), byte(errno >> 8), byte(errno)}
	_, err := w.Write(b)
	return err
}

// Parameters is what a client asks for.
type Parameters struct {
	TCP            bool   `json:"tcp,omitempty"`
	UDP            bool   `json:"udp,omitempty"`
	SCTP           bool   `json:"sctp,omitempty"`
	Omit           int    `json:"omit"` // seconds at the start that do not count
	ServerAffinity *int   `json:"server_affinity,omitempty"`
	Time           int    `json:"time"` // seconds; 0 where it ends after bytes or blocks
	Bytes          uint64 `json:"num"`
	Blocks         uint64 `json:"blockcount"`
	MSS            int    `json:"MSS,omitempty"`
	NoDelay        bool   `json:"nodelay,omitempty"`
	Parallel       int    `json:"parallel"`
	Reverse        bool   `json:"reverse,omitempty"`
	Bidirectional  bool   `json:"bidirectional,omitempty"`
	Window         int    `json:"window,omitempty"` // bytes, of socket buffers
	Length         int    `json:"len,omitempty"`    // bytes of a block or datagram
	Bandwidth      uint64 `json:"bandwidth,omitempty"`
	FQRate         uint64 `json:"fqrate,omitempty"`
	PacingTimer    int    `json:"pacing_timer,omitempty"` // microseconds
	Burst          int    `json:"burst,omitempty"`
	TOS            int    `json:"TOS,omitempty"`
	Congestion     string `json:"congestion,omitempty"`
	Wide           int    `json:"udp_counters_64bit,omitempty"`
	ZeroCopy       int    `json:"zerocopy,omitempty"`
	DontFragment   int    `json:"dont_fragment,omitempty"`
	AuthToken      string `json:"authtoken,omitempty"`
	Version        string `json:"client_version,omitempty"`
}

// ReadParameters reads what a client asks for. What is no number that iperf3
// would send is an error; limits are the server's affair.
func ReadParameters(r io.Reader) (*Parameters, error) {
	raw, err := wire.ReadRaw(r, maxParameters)
	if err != nil {
		return nil, err
	}
	p := new(Parameters)
	if err := json.Unmarshal(raw, p); err != nil {
		return nil, fmt.Errorf("found parameters of iperf3 that cannot be read: %w", err)
	}
	if p.Omit < 0 || p.Time < 0 || p.Parallel < 1 || p.Length < 0 || p.Window < 0 || p.MSS < 0 || p.Burst < 0 || p.TOS < 0 || p.TOS > 255 {
		return nil, fmt.Errorf("found parameters of iperf3 that cannot be: %+v", *p)
	}
	return p, nil
}

// Results is what one end has counted over the test, but for the omitted seconds.
type Results struct {
	CPUTotal       float64  `json:"cpu_util_total"` // percent of one processor
	CPUUser        float64  `json:"cpu_util_user"`
	CPUSystem      float64  `json:"cpu_util_system"`
	HasRetransmits Int      `json:"sender_has_retransmits"` // 1, 0, or -1 of a receiver
	Congestion     string   `json:"congestion_used,omitempty"`
	Streams        []Stream `json:"streams"`
}

// Int is a whole number as iperf3 writes it: some versions write -1 as 2^64-1.
type Int int64

// UnmarshalJSON reads a number.
func (n *Int) UnmarshalJSON(b []byte) error {
	f, err := strconv.ParseFloat(string(b), 64)
	if err != nil {
		return fmt.Errorf("found %s, expected a number", b)
	}
	switch {
	case f >= 1<<63 && f <= 1<<64:
		*n = -1
	case !(f > -1<<63 && f < 1<<63):
		return fmt.Errorf("found %s, expected a whole number", b)
	default:
		*n = Int(f)
	}
	return nil
}

// Stream is one end of one stream.
type Stream struct {
	ID             int     `json:"id"`
	Bytes          float64 `json:"bytes"`
	Retransmits    Int     `json:"retransmits"`               // -1 where it is not known
	Jitter         float64 `json:"jitter"`                    // seconds
	Errors         Int     `json:"errors"`                    // datagrams lost
	OmittedErrors  *Int    `json:"omitted_errors,omitempty"`  // nil: the peer does not tell
	Packets        Int     `json:"packets"`                   // datagrams, those of the omitted seconds among them
	OmittedPackets *Int    `json:"omitted_packets,omitempty"` // nil: the peer does not tell
	Start          float64 `json:"start_time"`                // seconds
	End            float64 `json:"end_time"`
}

// ReadResults reads what the peer has counted.
func ReadResults(r io.Reader) (*Results, error) {
	raw, err := wire.ReadRaw(r, maxResults)
	if err != nil {
		return nil, err
	}
	res := new(Results)
	if err := json.Unmarshal(raw, res); err != nil {
		return nil, fmt.Errorf("found results of iperf3 that cannot be read: %w", err)
	}
	for _, s := range res.Streams {
		if !(s.Bytes >= 0) || !(s.End >= s.Start) || s.Packets < 0 {
			return nil, fmt.Errorf("found results of iperf3 that cannot be: %+v", s)
		}
	}
	return res, nil
}

// Write sends parameters or results.
func Write(w io.Writer, v any) error { return wire.Write(w, v) }

// StreamID is how iperf3 numbers stream i, from 0: 1, 3, 4, 5 ...
func StreamID(i int) int {
	if i == 0 {
		return 1
	}
	return i + 2
}
