package advice

import (
	"fmt"
	"strings"

	"bakeoff/record"
	"bakeoff/unit"
	"bakeoff/unit/limit"
)

// link: is the card seen, and connected.
func link(_ *Host, n *record.NIC) []Advice {
	if n.State == "" || n.State == "up" || n.State == "unknown" {
		return nil
	}
	return []Advice{{
		Rule: "link", Weight: Fault, Subject: n.Name, Found: "operstate is " + n.State, Expected: "up",
		Reason: "nothing can be measured over an interface without a link",
		Effect: "the interface carries traffic", Action: "plug in the cable, or set it up: ip link set " + n.Name + " up",
	}}
}

// slotSpeed: does the PCIe link run as fast as both ends can.
func slotSpeed(_ *Host, n *record.NIC) []Advice {
	p := n.PCIe
	if p == nil || p.GTs == nil || p.MaximumGTs == nil {
		return nil
	}
	possible := *p.MaximumGTs
	if p.SlotGTs != nil {
		possible = min(possible, *p.SlotGTs)
	}
	var all []Advice
	if *p.GTs < possible {
		all = append(all, Advice{
			Rule: "pcie-speed", Weight: Fault, Subject: n.Name,
			Found:    fmt.Sprintf("the PCIe link of %s runs at %g GT/s", p.Address, *p.GTs),
			Expected: fmt.Sprintf("%g GT/s, which card%s can", possible, orSlot(p.SlotGTs != nil)),
			Reason:   "the link was trained down: a loose card, a riser, a setting of the BIOS, or power management of the link while it is idle",
			Effect:   fmt.Sprintf("up to %.3g times the bandwidth of the slot", possible / *p.GTs),
			Action:   "look again under load; then reseat the card, try another slot, and look for a PCIe speed in the BIOS setup",
		})
	}
	if p.SlotGTs != nil && *p.SlotGTs < *p.MaximumGTs {
		all = append(all, Advice{
			Rule: "slot-speed", Weight: Try, Subject: n.Name,
			Found:    fmt.Sprintf("the slot can %g GT/s", *p.SlotGTs),
			Expected: fmt.Sprintf("%g GT/s, which the card can", *p.MaximumGTs),
			Reason:   "the card is newer than its slot", Effect: "more bandwidth, where the slot's is what limits (see pcie-bandwidth)",
			Action: "use a slot of the card's generation, where the machine has one",
		})
	}
	return all
}

func orSlot(known bool) string {
	if known {
		return " and slot"
	}
	return ""
}

// slotWidth: does the PCIe link have as many lanes as both ends have.
func slotWidth(_ *Host, n *record.NIC) []Advice {
	p := n.PCIe
	if p == nil || p.Width == nil || p.MaximumWidth == nil || *p.Width >= *p.MaximumWidth {
		return nil
	}
	if p.SlotWidth != nil && *p.SlotWidth < *p.MaximumWidth && *p.Width >= *p.SlotWidth {
		return []Advice{{
			Rule: "slot-width", Weight: Try, Subject: n.Name,
			Found:    fmt.Sprintf("the slot of %s has %d lanes", p.Address, *p.SlotWidth),
			Expected: fmt.Sprintf("%d, which the card has", *p.MaximumWidth),
			Reason:   "the card is wider than its slot", Effect: "more bandwidth, where the slot's is what limits (see pcie-bandwidth)",
			Action: fmt.Sprintf("use a slot with %d lanes, where the machine has one", *p.MaximumWidth),
		}}
	}
	return []Advice{{
		Rule: "pcie-width", Weight: Fault, Subject: n.Name,
		Found:    fmt.Sprintf("the PCIe link of %s has %d lanes", p.Address, *p.Width),
		Expected: fmt.Sprintf("%d, which card%s can", *p.MaximumWidth, orSlot(p.SlotWidth != nil)),
		Reason:   "lanes were lost in training, or the slot is wired with fewer than its length suggests",
		Effect:   fmt.Sprintf("up to %.3g times the bandwidth of the slot", float64(*p.MaximumWidth)/float64(*p.Width)),
		Action:   "reseat the card, clean its contacts, look in the board's manual for how the slot is wired, and at bifurcation in the BIOS setup",
	}}
}

// slotNeed: can the slot carry what the card's ports can.
func slotNeed(h *Host, n *record.NIC) []Advice {
	p := n.PCIe
	if p == nil || p.GTs == nil || p.Width == nil || n.BitsPerSecond == nil {
		return nil
	}
	l, err := limit.PCIeAt(*p.GTs, *p.Width)
	if err != nil {
		return nil // a rate that no generation has: nothing can be said of it
	}
	if p.PayloadBytes != nil {
		l.MaxPayload = *p.PayloadBytes
	}
	if l.Check() != nil {
		return nil
	}
	ports, demand := cardPorts(h, n)
	if len(ports) > 1 && ports[0] != n.Name {
		return nil // said of the card's first port
	}
	o, err := limit.Oversubscribe(demand, l.Effective())
	if err != nil || o.Ratio <= 1 {
		return nil
	}
	return []Advice{{
		Rule: "pcie-bandwidth", Weight: Fault, Subject: strings.Join(ports, ", "),
		Found: fmt.Sprintf("%s carries %s of payload in each direction (%g GT/s, transactions of %d B)", l,
			unit.FormatSI(o.Capacity, "bit/s", 3), *p.GTs, payload(l)),
		Expected: fmt.Sprintf("%s, which the links carry", unit.FormatSI(demand, "bit/s", 3)),
		Reason:   fmt.Sprintf("the slot is oversubscribed %.3g to 1: %.0f %% of what the links could bring does not fit", o.Ratio, o.Short*100),
		Effect:   "line rate on all ports at once", Action: "use a wider or faster slot, or spread the ports over cards",
	}}
}

func payload(l limit.PCIeLink) int {
	if l.MaxPayload == 0 {
		return 128
	}
	return l.MaxPayload
}

// cardPorts lists the interfaces on the same card that have a link, and what
// they can carry together.
func cardPorts(h *Host, n *record.NIC) (names []string, bitsPerSecond float64) {
	card := cardOf(n.PCIe.Address)
	for i := range h.Facts.NICs {
		m := &h.Facts.NICs[i]
		if m.PCIe != nil && m.BitsPerSecond != nil && (cardOf(m.PCIe.Address) == card && card != "" || m.Name == n.Name) {
			names = append(names, m.Name)
			bitsPerSecond += float64(*m.BitsPerSecond)
		}
	}
	return names, bitsPerSecond
}

// cardOf is a PCI address without its function.
func cardOf(address string) string {
	i := strings.LastIndexByte(address, '.')
	if i < 0 {
		return ""
	}
	return address[:i]
}

// functions: virtual functions that share the port.
func functions(_ *Host, n *record.NIC) []Advice {
	if n.VirtualFunctions == nil || *n.VirtualFunctions == 0 {
		return nil
	}
	most := "an unknown number"
	if n.MaximumVFs != nil {
		most = fmt.Sprint(*n.MaximumVFs)
	}
	return []Advice{{
		Rule: "virtual-functions", Weight: Know, Subject: n.Name,
		Found:    fmt.Sprintf("%d virtual functions of %s are enabled", *n.VirtualFunctions, most),
		Expected: "as many as the experiment uses",
		Reason:   "they share the port's bandwidth and queues; what they carry is traffic that this host may not see",
		Effect:   "none by itself", Action: "leave them where guests use them; else switch them off",
		Settings: []Setting{{"vfs", n.Name, "0"}},
	}}
}

// firmware: a card whose firmware is not known cannot be compared with another's.
func firmware(_ *Host, n *record.NIC) []Advice {
	if n.Firmware != "" || n.Driver == "" || strings.HasPrefix(n.Driver, "virtio") || n.Driver == "veth" {
		return nil
	}
	return []Advice{{
		Rule: "firmware", Weight: Know, Subject: n.Name, Found: "the driver " + n.Driver + " does not tell the firmware's version",
		Expected: "a version", Reason: "two cards of one model can differ by their firmware alone",
		Effect: "none by itself", Action: "look it up with the maker's tool and write it into the plan's facts of the host",
	}}
}

// drops: packets that the card lost for want of buffers.
func drops(h *Host, n *record.NIC) []Advice {
	lost := h.Dropped[n.Name]
	if lost == 0 {
		return nil
	}
	return []Advice{{
		Rule: "drops", Weight: Try, Subject: n.Name, Found: fmt.Sprintf("%d packets were lost for want of buffers since the start (rx_missed_errors, rx_fifo_errors, rx_dropped of its statistics)", lost),
		Expected: "0 while something is measured", Reason: "packets that are lost are sent again: throughput and tail latency suffer",
		Effect: "fewer retransmissions", Action: "look whether the number grows under load; then larger rings, more queues, or more cores for them",
	}}
}
