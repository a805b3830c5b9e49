// Package limit is the arithmetic of physical limits: what a wire, a slot, a
// memory channel or a drive's interface can carry at most, so that every result
// can be shown as a share of the limit that binds it.
//
// Rates are in bits per second unless a name says bytes; a byte is 8 bits; kilo,
// mega and giga are powers of ten.
package limit

import (
	"fmt"
	"math"
)

// What IEEE 802.3 adds to every frame on the wire, in bytes.
const (
	Preamble        = 8  // preamble and start-of-frame delimiter, clause 3.1.1
	InterFrameGap   = 12 // 96 bit times, clause 4.4.2
	EthernetHeader  = 14 // two addresses and a type, without a VLAN tag
	FrameCheck      = 4  // FCS
	MinFrame        = 64 // header, payload and FCS, clause 4.4.2
	VLANTag         = 4  // IEEE 802.1Q
	IPv4Header      = 20 // RFC 791, without options
	IPv6Header      = 40 // RFC 8200
	TCPHeader       = 20 // RFC 9293, without options
	TCPTimestamps   = 12 // RFC 7323, with padding: what Linux sends
	UDPHeader       = 8  // RFC 768
	wireOverhead    = Preamble + InterFrameGap
	packetOverhead  = EthernetHeader + FrameCheck
	maxEthernetRate = 10e12
)

// FrameRate returns how many frames of that many bytes (header and FCS
// included, preamble and gap not) fit on a link of the given bits per second.
// 64-byte frames on 10 Gb/s: 14.88 million.
func FrameRate(linkBits float64, frameBytes int) (float64, error) {
	if err := checkLink(linkBits); err != nil {
		return 0, err
	}
	if frameBytes < MinFrame {
		return 0, fmt.Errorf("a frame of %d B: Ethernet's least is %d B, FCS included", frameBytes, MinFrame)
	}
	return linkBits / (8 * float64(frameBytes+wireOverhead)), nil
}

// A Packet says how payload is packed into frames.
type Packet struct {
	MTU      int // bytes of IP packet a frame
	IPv6     bool
	UDP      bool // else TCP
	NoStamps bool // TCP without the timestamp option
	VLAN     bool
}

// Payload returns the bytes of application data in a full packet.
func (p Packet) Payload() (int, error) {
	payload := p.MTU - p.headers()
	if payload <= 0 {
		return 0, fmt.Errorf("an MTU of %d B leaves no room for data behind %d B of headers", p.MTU, p.headers())
	}
	return payload, nil
}

func (p Packet) headers() int {
	n := IPv4Header
	if p.IPv6 {
		n = IPv6Header
	}
	switch {
	case p.UDP:
		return n + UDPHeader
	case p.NoStamps:
		return n + TCPHeader
	}
	return n + TCPHeader + TCPTimestamps
}

// Frame returns the bytes of a full packet's frame, FCS included.
func (p Packet) Frame() int {
	n := max(p.MTU+packetOverhead, MinFrame)
	if p.VLAN {
		n += VLANTag
	}
	return n
}

// Goodput returns the most application data that the link can carry in full
// packets, in bits per second.
func (p Packet) Goodput(linkBits float64) (float64, error) {
	payload, err := p.Payload()
	if err != nil {
		return 0, err
	}
	frames, err := FrameRate(linkBits, p.Frame())
	return frames * float64(payload) * 8, err
}

// PerPacket returns the nanoseconds that a core has for each packet at a rate
// of packets per second.
func PerPacket(packetsPerSecond float64) (float64, error) {
	if !(packetsPerSecond > 0) || math.IsInf(packetsPerSecond, 0) {
		return 0, fmt.Errorf("a rate of %g packets/s: expected one above 0", packetsPerSecond)
	}
	return 1e9 / packetsPerSecond, nil
}

// Cycles returns how many clock cycles a core of that many hertz has in so
// many nanoseconds.
func Cycles(nanoseconds, hertz float64) float64 { return nanoseconds * hertz / 1e9 }

// PayloadRate returns the bits per second of packets of that many bytes, with
// nothing added for the wire: 150 Mpps of 64 B are 76.8 Gb/s.
func PayloadRate(packetsPerSecond float64, packetBytes int) float64 {
	return packetsPerSecond * float64(packetBytes) * 8
}

func checkLink(bits float64) error {
	if !(bits > 0) || bits > maxEthernetRate {
		return fmt.Errorf("a link of %g bit/s: expected a rate above 0 and up to 10 Tbit/s", bits)
	}
	return nil
}
