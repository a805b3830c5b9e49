// Package advice says what of a host's network is set, plugged or placed in a
// way that keeps it from doing what it could: pure rules over facts. Whether a
// piece of advice helps is for a measurement to say (bakeoff tune).
package advice

import (
	"strings"

	"bakeoff/record"
)

// Weight orders advice.
type Weight string

// The weights.
const (
	Fault Weight = "fault" // something does not do what it is meant to: mend it before measuring
	Try   Weight = "try"   // often helps; measure it
	Know  Weight = "know"  // nothing to change, but it bounds or blurs what is measured
)

// Advice is one thing to do or to know about a host.
type Advice struct {
	Rule    string `json:"rule"`    // stable name, as "pcie-width"
	Weight  Weight `json:"weight"`  //
	Subject string `json:"subject"` // an interface, or "host"
	// Found is the evidence, with where it was read; Expected is what it could be.
	Found    string `json:"found"`
	Expected string `json:"expected"`
	Reason   string `json:"reason"` // why it matters
	Effect   string `json:"effect"` // what to expect of the change
	Action   string `json:"action"` // what to do, in words or as a command
	// Settings apply it, as a plan's settings; empty where a hand is needed.
	Settings []Setting `json:"settings,omitempty"`
}

// Setting is one setting, in the words of package host: what is set together is
// written as "rx=4096 tx=4096".
type Setting struct {
	Kind   string `json:"kind"`
	Target string `json:"target"`
	Value  string `json:"value"`
}

// PlanPath is where a plan has the setting, on the host of that name.
func (s Setting) PlanPath(host string) string {
	path := "settings." + host + "." + s.Kind
	if s.Target != "" {
		path += "." + s.Target
	}
	return path
}

// PlanValue is the value as a plan writes it: a map where several are set together.
func (s Setting) PlanValue() string {
	if !strings.Contains(s.Value, "=") {
		return s.Value
	}
	pairs := strings.Fields(s.Value)
	for i, p := range pairs {
		pairs[i] = strings.Replace(p, "=", ": ", 1)
	}
	return "{" + strings.Join(pairs, ", ") + "}"
}

// Host is what is known of a host, and of what it is to do.
type Host struct {
	Facts record.Facts
	// LoadCPUs are the processors that servers or loads are pinned to, as
	// "0-7"; "" where they are not.
	LoadCPUs string
	// RoundTripSeconds is that of the path to the peer; 0 where not known.
	RoundTripSeconds float64
	// PathMTU is the largest packet that the path takes, in bytes; 0 where not known.
	PathMTU int
	// BacklogDropped and BacklogSqueezed are those of /proc/net/softnet_stat, over all
	// processors, since the start of the machine; nil where not known.
	BacklogDropped, BacklogSqueezed *uint64
	// Dropped are packets that each interface lost for want of buffers since the
	// start of the machine, by its name.
	Dropped map[string]uint64
}

// Of lists the advice for a host: faults first, then what to try, then what to
// know, each in the order of the rules.
func Of(h Host) []Advice {
	var all []Advice
	for i := range h.Facts.NICs {
		n := &h.Facts.NICs[i]
		if n.Kind != "device" {
			continue
		}
		for _, rule := range nicRules() {
			all = append(all, rule(&h, n)...)
		}
	}
	for _, rule := range hostRules() {
		all = append(all, rule(&h)...)
	}
	var sorted []Advice
	for _, w := range []Weight{Fault, Try, Know} {
		for _, a := range all {
			if a.Weight == w {
				sorted = append(sorted, a)
			}
		}
	}
	return sorted
}

type (
	nicRule  func(*Host, *record.NIC) []Advice
	hostRule func(*Host) []Advice
)

// nicRules are in the order of a tuning recipe: is the card seen, is its slot
// right, is it near its cores, then the driver's settings.
func nicRules() []nicRule {
	return []nicRule{link, slotSpeed, slotWidth, slotNeed, node, interruptNode, queues, rings, moderation, offloads, mtu, buffers, steering, functions, firmware, drops}
}

func hostRules() []hostRule {
	return []hostRule{governor, sleep, balancing, backlog}
}
