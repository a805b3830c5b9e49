package limit

import (
	"fmt"
	"slices"
)

// A PCIeLink is one PCI Express link.
type PCIeLink struct {
	Generation int // 1 to 6
	Lanes      int // 1, 2, 4, 8, 12, 16 or 32
	// MaxPayload is the payload of a transaction in bytes, as set for the
	// device (MPS); 128 unless set, the least that every device supports.
	MaxPayload int
}

// What each transaction of a link of generation 1 to 5 costs beside its
// payload, in bytes: framing with sequence number 4, header with 64-bit address
// 16, LCRC 4, and a quarter of the 8-byte acknowledgement or credit update that
// is sent for about four of them (PCI Express Base Specification, chapters 2
// and 3).
const (
	tlpFraming    = 4
	tlpHeader     = 16
	tlpCheck      = 4
	dllpShare     = 2
	tlpOverhead   = tlpFraming + tlpHeader + tlpCheck + dllpShare
	flitBytes     = 256 // of generation 6, with 6 B DLLP, 8 B CRC and 6 B FEC in each
	flitPayload   = 236
	defaultMaxTLP = 128
)

// pcieRate is a lane's speed in transfers (bits) per second, and the share of
// them that the line code leaves.
type pcieRate struct {
	transfers float64
	code      float64
	name      string
}

// rates lists the generations: 8b/10b, then 128b/130b, then FLITs on PAM4.
func rates() []pcieRate {
	return []pcieRate{
		{2.5e9, 8.0 / 10, "8b/10b"},
		{5e9, 8.0 / 10, "8b/10b"},
		{8e9, 128.0 / 130, "128b/130b"},
		{16e9, 128.0 / 130, "128b/130b"},
		{32e9, 128.0 / 130, "128b/130b"},
		{64e9, 1, "1b/1b FLIT"},
	}
}

// Check says what is wrong with the link's description.
func (l PCIeLink) Check() error {
	switch {
	case l.Generation < 1 || l.Generation > len(rates()):
		return fmt.Errorf("PCIe generation %d: expected 1 to %d", l.Generation, len(rates()))
	case !slices.Contains([]int{1, 2, 4, 8, 12, 16, 32}, l.Lanes):
		return fmt.Errorf("PCIe x%d: expected x1, x2, x4, x8, x12, x16 or x32", l.Lanes)
	case l.MaxPayload != 0 && !slices.Contains([]int{128, 256, 512, 1024, 2048, 4096}, l.MaxPayload):
		return fmt.Errorf("PCIe payload of %d B: expected 128, 256, 512, 1024, 2048 or 4096", l.MaxPayload)
	}
	return nil
}

// Transfers returns a lane's speed in transfers per second: 8 GT/s for
// generation 3.
func (l PCIeLink) Transfers() float64 { return rates()[l.Generation-1].transfers }

// Code names the line code.
func (l PCIeLink) Code() string { return rates()[l.Generation-1].name }

// Raw returns the bits per second of all lanes in one direction, line code
// included: 64 Gb/s for generation 3 x8.
func (l PCIeLink) Raw() float64 { return l.Transfers() * float64(l.Lanes) }

// Encoded returns the bits per second that the line code leaves: 63.0 Gb/s for
// generation 3 x8.
func (l PCIeLink) Encoded() float64 { return l.Raw() * rates()[l.Generation-1].code }

// Effective returns the bits per second of payload in full transactions: about
// 52 Gb/s for generation 3 x8 and a payload of 128 B.
func (l PCIeLink) Effective() float64 {
	payload := float64(l.MaxPayload)
	if payload == 0 {
		payload = defaultMaxTLP
	}
	if l.Generation >= 6 {
		// Framing, sequence number and LCRC are gone; the FLIT holds them.
		return l.Encoded() * flitPayload / flitBytes * payload / (payload + tlpHeader)
	}
	return l.Encoded() * payload / (payload + tlpOverhead)
}

// Oversubscription compares what devices can demand with what a link carries.
type Oversubscription struct {
	Demand   float64 // bits per second
	Capacity float64 // bits per second
	Ratio    float64 // demand over capacity: 1.54 means 1.54 : 1
	Short    float64 // share of the demand that does not fit: 0.35 means 35 %
}

// Oversubscribe works out both forms, which are often confused: two ports of
// 40 Gb/s in a slot of 52 are 1.54 : 1, or 35 % of the demand too much.
func Oversubscribe(demand, capacity float64) (Oversubscription, error) {
	if !(demand > 0) || !(capacity > 0) {
		return Oversubscription{}, fmt.Errorf("demand of %g and capacity of %g bit/s: expected both above 0", demand, capacity)
	}
	return Oversubscription{demand, capacity, demand / capacity, max(0, (demand-capacity)/demand)}, nil
}

// SharedLink returns one device's share of a link between sockets, in the
// link's own unit, where lanes share it evenly: 16 of 40 lanes of 25.6 GB/s have
// 10.24 GB/s.
func SharedLink(capacity float64, lanes, ofLanes int) (float64, error) {
	if !(capacity > 0) || lanes <= 0 || lanes > ofLanes {
		return 0, fmt.Errorf("%d of %d lanes sharing %g: expected a share between 1 and all lanes of a capacity above 0", lanes, ofLanes, capacity)
	}
	return capacity * float64(lanes) / float64(ofLanes), nil
}

// PCIeAt returns the link of so many lanes at so many gigatransfers per second,
// as /sys gives them: 8 GT/s is generation 3.
func PCIeAt(gigatransfers float64, lanes int) (PCIeLink, error) {
	for i, r := range rates() {
		if r.transfers == gigatransfers*1e9 {
			l := PCIeLink{Generation: i + 1, Lanes: lanes}
			return l, l.Check()
		}
	}
	return PCIeLink{}, fmt.Errorf("a PCIe lane at %g GT/s: expected 2.5, 5, 8, 16, 32 or 64", gigatransfers)
}

// String names the link, as "PCIe 3 x8".
func (l PCIeLink) String() string { return fmt.Sprintf("PCIe %d x%d", l.Generation, l.Lanes) }
