package inventory

import (
	"fmt"
	"strconv"
	"strings"

	"bakeoff/record"
)

// readTable reads a text of one or more tables, each below a heading that names
// an interface. Lines before the first heading are errors that the tool printed.
func readTable(heading string, read func(n *record.NIC, lines []field) error) func(*Found, string) error {
	return func(f *Found, text string) error {
		var name string
		var lines []field
		flush := func() error {
			if name == "" {
				return nil
			}
			// VLANs are written as name@parent.
			bare, _, _ := strings.Cut(name, "@")
			return read(f.nic(bare), lines)
		}
		for line := range strings.Lines(text) {
			if rest, ok := strings.CutPrefix(strings.TrimSpace(line), heading); ok {
				if err := flush(); err != nil {
					return err
				}
				name, lines = strings.TrimSuffix(strings.TrimSpace(rest), ":"), nil
				continue
			}
			if key, value, ok := strings.Cut(line, ":"); ok {
				lines = append(lines, field{strings.TrimSpace(key), strings.TrimSpace(value)})
			} else if s := strings.TrimSpace(line); s != "" {
				lines = append(lines, field{s, ""})
			}
		}
		return flush()
	}
}

// field is one line of a table.
type field struct{ key, value string }

// settings reads ethtool without options. Speed and duplex without a link mean
// nothing: some drivers then show 10 Mb/s.
func settings(n *record.NIC, lines []field) error {
	values := map[string]string{}
	for _, l := range lines {
		values[l.key] = l.value
	}
	switch values["Link detected"] {
	case "yes":
		n.State = "up"
	case "":
		return nil
	default:
		n.State = "down"
		return nil
	}
	speed := values["Speed"]
	if mbps, ok := strings.CutSuffix(speed, "Mb/s"); ok {
		v, err := strconv.ParseInt(mbps, 10, 64)
		if err != nil {
			return fmt.Errorf("speed of %s: found %q, expected a number of Mb/s", n.Name, speed)
		}
		if v > 0 {
			n.BitsPerSecond = new(v * 1_000_000)
		}
	}
	switch values["Duplex"] {
	case "Full":
		n.Duplex = "full"
	case "Half":
		n.Duplex = "half"
	}
	return nil
}

// twoParts reads tables of what could be and what is.
func twoParts(lines []field, names map[string]string) map[string]string {
	most, found := map[string]string{}, map[string]string{}
	now := false
	for _, l := range lines {
		if strings.HasPrefix(l.key, "Current hardware settings") {
			now = true
			continue
		}
		name, ok := names[l.key]
		if !ok || l.value == "" || l.value == "n/a" || l.value == "0" && !now {
			continue
		}
		if !now {
			most[name] = l.value
		} else if m, ok := most[name]; ok {
			found[name] = l.value + " of " + m
		}
	}
	if len(found) == 0 {
		return nil
	}
	return found
}

func rings(n *record.NIC, lines []field) error {
	n.Rings = twoParts(lines, map[string]string{"RX": "rx", "TX": "tx"})
	return nil
}

func channels(n *record.NIC, lines []field) error {
	n.Channels = twoParts(lines, map[string]string{"RX": "rx", "TX": "tx", "Combined": "combined"})
	return nil
}

// features reads ethtool -k. A feature marked as requested is not in effect.
func features(n *record.NIC, lines []field) error {
	names := map[string]string{
		"rx-checksumming": "rx-checksum", "tx-checksum-ipv4": "tx-checksum-ipv4", "tx-checksum-ipv6": "tx-checksum-ipv6",
		"tx-checksum-ip-generic": "tx-checksum-ip-generic", "tx-scatter-gather": "tx-scatter-gather",
		"tx-tcp-segmentation": "tx-tcp-segmentation", "tx-tcp6-segmentation": "tx-tcp6-segmentation",
		"generic-segmentation-offload": "tx-generic-segmentation", "tx-udp-segmentation": "tx-udp-segmentation",
		"generic-receive-offload": "rx-gro", "large-receive-offload": "rx-lro", "rx-gro-hw": "rx-gro-hw", "receive-hashing": "rx-hashing",
		"ntuple-filters": "rx-ntuple-filter", "highdma": "highdma",
	}
	n.Offloads = map[string]string{}
	for _, l := range lines {
		name, ok := names[l.key]
		if !ok {
			continue
		}
		state, rest, _ := strings.Cut(l.value, " ")
		if state != "on" && state != "off" {
			return fmt.Errorf("feature %s of %s: found %q, expected on or off", l.key, n.Name, l.value)
		}
		if strings.Contains(rest, "fixed") && state == "off" {
			continue // the driver does not have it
		}
		n.Offloads[name] = state
	}
	return nil
}

func coalesce(n *record.NIC, lines []field) error {
	names := map[string]string{"rx-usecs": "rx_us", "rx-frames": "rx_frames", "tx-usecs": "tx_us", "tx-frames": "tx_frames"}
	found := map[string]string{}
	for _, l := range lines {
		if name, ok := names[l.key]; ok && l.value != "n/a" {
			found[name] = l.value
		}
		if l.key != "Adaptive RX" {
			continue
		}
		// Both stand on one line: "Adaptive RX: on  TX: off".
		for _, part := range []struct{ name, after string }{{"adaptive_rx", ""}, {"adaptive_tx", "TX:"}} {
			_, text, ok := strings.Cut(l.value, part.after)
			if w := strings.Fields(text); ok && len(w) > 0 && (w[0] == "on" || w[0] == "off") {
				found[part.name] = map[string]string{"on": "1", "off": "0"}[w[0]]
			}
		}
	}
	if len(found) > 0 {
		n.Coalesce = found
	}
	return nil
}

func pause(n *record.NIC, lines []field) error {
	names := map[string]string{"Autonegotiate": "autoneg", "RX": "rx", "TX": "tx"}
	for _, l := range lines {
		if name, ok := names[l.key]; ok && (l.value == "on" || l.value == "off") {
			if n.Pause == nil {
				n.Pause = map[string]string{}
			}
			n.Pause[name] = l.value
		}
	}
	return nil
}

// readDriver reads ethtool -i, which does not name its interface.
func readDriver(f *Found, text string) error {
	n := record.NIC{Kind: "device"}
	for line := range strings.Lines(text) {
		key, value, _ := strings.Cut(strings.TrimSpace(line), ":")
		value = strings.TrimSpace(value)
		switch key {
		case "driver":
			n.Driver = value
		case "version":
			n.DriverVersion = value
		case "firmware-version":
			if value != "N/A" {
				n.Firmware = value
			}
		case "bus-info":
			if value != "" {
				n.PCIe = &record.PCIe{Address: value}
			}
		}
	}
	f.Facts.NICs = append(f.Facts.NICs, n)
	return nil
}
