package telemetry

import (
	"maps"
	"slices"
)

// neighbours remembers what the rest of the host used since the first sample.
type neighbours struct {
	begun        bool
	children     uint64            // ticks of bakeoff's children at the first sample
	others       uint64            // ticks of everybody else at the first sample
	attributed   uint64            // ticks of all processes at the first sample
	host         uint64            // ticks of the host at the first sample
	unattributed uint64            // ticks, the most so far
	last         map[procID]uint64 // ticks of each other process
	byName       map[string]uint64 // ticks by command since the first sample
}

// noticed is from how much CPU time on a neighbour is named, in ticks.
const noticed = 5

// everybodyElse appends what is neither a service's nor bakeoff's own.
func (c *processCollector) everybodyElse(dst []Sample, members map[string][]procStat) ([]Sample, error) {
	n := &c.neighbor
	children, others := c.groups[ownerChildren].cpu(), c.groups[ownerNone].cpu()
	attributed := children + others
	for _, s := range c.services {
		attributed += c.groups[s.Name].cpu()
	}
	for _, p := range members[ownerSelf] {
		attributed += p.user + p.system
	}
	stat, err := readStat(c.root)
	if err != nil {
		return dst, err
	}
	host := stat.hostBusy()
	first := !n.begun
	if first {
		n.begun, n.children, n.others, n.attributed, n.host = true, children, others, attributed, host
		n.byName = make(map[string]uint64)
	}
	n.addNames(members[ownerNone], first)
	if named := n.named(); growth64(n.others, others) >= named+noticed {
		n.byName[endedName] = growth64(n.others, others) - named
	}
	dst = c.value(dst, "self.children.cpu", "", scaled(growth64(n.children, children), userTick))
	dst = c.value(dst, "neighbour.cpu", "", scaled(growth64(n.others, others), userTick))
	for _, name := range slices.Sorted(maps.Keys(n.byName)) {
		if n.byName[name] >= noticed {
			dst = c.value(dst, "neighbour.cpu", name, scaled(n.byName[name], userTick))
		}
	}
	used, seen := growth64(n.host, host), growth64(n.attributed, attributed)
	n.unattributed = max(n.unattributed, growth64(seen, used))
	return c.value(dst, "neighbour.unattributed", "", scaled(n.unattributed, userTick)), nil
}

// endedName is the instance of what was used by processes too short-lived to be
// seen at work, known from the parents that waited for them.
const endedName = "(ended)"

// named is what the commands used together, in ticks.
func (n *neighbours) named() uint64 {
	var sum uint64
	for name, used := range n.byName {
		if name != endedName {
			sum += used
		}
	}
	return sum
}

// hostBusy is the host's time in user and kernel mode, without interrupts, in ticks.
func (s *kernelStat) hostBusy() uint64 {
	const user, nice, system = 0, 1, 2
	for _, line := range s.cpus {
		if line.cpu == wholeHost {
			return line.ticks[user] + line.ticks[nice] + line.ticks[system]
		}
	}
	return 0
}

// addNames adds to each command what its processes used since the last sample.
func (n *neighbours) addNames(procs []procStat, first bool) {
	now := make(map[procID]uint64, len(procs))
	for _, p := range procs {
		used := p.user + p.system
		now[p.id()] = used
		if !first && p.comm != "" {
			n.byName[p.comm] += growth64(n.last[p.id()], used)
		}
	}
	n.last = now
}
