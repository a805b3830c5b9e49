package advice

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"bakeoff/record"
	"bakeoff/unit"
)

// ofMost reads "512 of 4096".
func ofMost(text string) (now, most int, ok bool) {
	a, b, found := strings.Cut(text, " of ")
	now, errA := strconv.Atoi(a)
	most, errB := strconv.Atoi(b)
	return now, most, found && errA == nil && errB == nil
}

// rings: room for bursts.
func rings(_ *Host, n *record.NIC) []Advice {
	var short, wanted, values []string
	for _, side := range []string{"rx", "tx"} {
		if now, most, ok := ofMost(n.Rings[side]); ok && now < most {
			short = append(short, fmt.Sprintf("%s %d", side, now))
			wanted = append(wanted, fmt.Sprintf("%s %d", side, most))
			values = append(values, fmt.Sprintf("%s=%d", side, most))
		}
	}
	if len(short) == 0 {
		return nil
	}
	return []Advice{{
		Rule: "rings", Weight: Try, Subject: n.Name, Found: strings.Join(short, ", ") + " entries (ethtool -g)", Expected: strings.Join(wanted, ", "),
		Reason: "a burst that does not fit into the ring is dropped by the card",
		Effect: "fewer drops in bursts; larger rings leave the cache, so small packets may cost more",
		Action: "ethtool -G " + n.Name + " " + strings.Join(wanted, " "), Settings: []Setting{{"rings", n.Name, strings.Join(values, " ")}},
	}}
}

// queues: one for each core that is to work.
func queues(h *Host, n *record.NIC) []Advice {
	now, most, ok := ofMost(n.Channels["combined"])
	threads := h.Facts.CPU.Threads
	if !ok || threads == nil {
		return nil
	}
	cores := *threads
	if near := nodeCPUs(h, n.NUMANode); len(near) > 0 {
		cores = len(near)
	}
	wanted := min(most, cores)
	if now >= wanted {
		return nil
	}
	value := strconv.Itoa(wanted)
	return []Advice{{
		Rule: "queues", Weight: Try, Subject: n.Name, Found: fmt.Sprintf("%d combined queues (ethtool -l)", now),
		Expected: fmt.Sprintf("%d, of the %d that the card has, for %d processors beside it", wanted, most, cores),
		Reason:   "a queue is served by one processor: fewer queues than cores leave cores idle",
		Effect:   "throughput grows with cores, until something else limits", Action: "ethtool -L " + n.Name + " combined " + value,
		Settings: []Setting{{"channels", n.Name, "combined=" + value}},
	}}
}

// moderation: interrupts that adapt to the load make latency depend on it.
func moderation(_ *Host, n *record.NIC) []Advice {
	if n.Coalesce["adaptive_rx"] != "1" && n.Coalesce["adaptive_tx"] != "1" {
		return nil
	}
	var found, off, values []string
	for _, side := range []string{"rx", "tx"} {
		if n.Coalesce["adaptive_"+side] == "1" {
			found, off = append(found, side+" on"), append(off, "adaptive-"+side+" off")
			values = append(values, "adaptive_"+side+"=off")
		}
	}
	return []Advice{{
		Rule: "interrupt-moderation", Weight: Try, Subject: n.Name, Found: "adaptive interrupt moderation: " + strings.Join(found, ", ") + " (ethtool -c)", Expected: "off, with a fixed time",
		Reason: "the card waits before it interrupts, for a time that changes with the load: latency then depends on what else is sent",
		Effect: "steadier and often lower latency; more CPU at high packet rates",
		Action: "ethtool -C " + n.Name + " " + strings.Join(off, " "), Settings: []Setting{{"coalesce", n.Name, strings.Join(values, " ")}},
	}}
}

// wantedOffloads are those that are on by default wherever they exist, with
// what they save.
func wantedOffloads() []struct{ feature, saves string } {
	return []struct{ feature, saves string }{
		{"rx-checksum", "summing what is received"}, {"tx-checksum-ip-generic", "summing what is sent"},
		{"tx-checksum-ipv4", "summing what is sent over IPv4"}, {"tx-checksum-ipv6", "summing what is sent over IPv6"},
		{"tx-scatter-gather", "copying before sending"}, {"tx-tcp-segmentation", "cutting TCP over IPv4 into packets"},
		{"tx-tcp6-segmentation", "cutting TCP over IPv6 into packets"}, {"tx-generic-segmentation", "cutting early what the card cannot cut"},
		{"rx-gro", "taking packets up the stack one by one"}, {"rx-hashing", "hashing flows to their queues"},
	}
}

func offloads(_ *Host, n *record.NIC) []Advice {
	var all []Advice
	for _, w := range wantedOffloads() {
		if n.Offloads[w.feature] != "off" {
			continue
		}
		// A card that sums any protocol has no use for the older features.
		if strings.HasPrefix(w.feature, "tx-checksum-ipv") && n.Offloads["tx-checksum-ip-generic"] == "on" {
			continue
		}
		all = append(all, Advice{
			Rule: "offload", Weight: Try, Subject: n.Name, Found: w.feature + " is off (ethtool -k)", Expected: "on",
			Reason: "the card could save the processor " + w.saves, Effect: "less CPU for each byte, and with it more throughput where a core limits",
			Action: "ethtool -K " + n.Name + " " + w.feature + " on", Settings: []Setting{{"ethtool", n.Name, w.feature + "=on"}},
		})
	}
	return all
}

const jumbo = 9000

// mtu: large packets, where the path takes them.
func mtu(h *Host, n *record.NIC) []Advice {
	if n.MTUBytes == nil || n.BitsPerSecond == nil || *n.BitsPerSecond < 10e9 || *n.MTUBytes >= jumbo {
		return pathMTU(h, n)
	}
	return append(pathMTU(h, n), Advice{
		Rule: "mtu", Weight: Try, Subject: n.Name, Found: fmt.Sprintf("MTU %d B on a link of %s", *n.MTUBytes, unit.FormatSI(float64(*n.BitsPerSecond), "bit/s", 3)), Expected: "9000 B, where every switch and host on the path takes it",
		Reason: "the cost of a packet is paid six times less often", Effect: "less CPU for each byte; nothing for small messages",
		Action: "ip link set " + n.Name + " mtu 9000 on both ends, after the switches", Settings: []Setting{{"mtu", n.Name, "9000"}},
	})
}

// pathMTU: packets that the path cannot carry whole are cut or lost.
func pathMTU(h *Host, n *record.NIC) []Advice {
	if h.PathMTU == 0 || n.MTUBytes == nil || h.PathMTU >= *n.MTUBytes {
		return nil
	}
	return []Advice{{
		Rule: "path-mtu", Weight: Fault, Subject: n.Name, Found: fmt.Sprintf("the path takes packets of %d B, the interface sends up to %d B", h.PathMTU, *n.MTUBytes), Expected: "the same MTU along the path",
		Reason: "IPv4 packets are cut by a router on the way, which costs it and the receiver; IPv6 packets are refused, and the sender has to learn the size for each destination",
		Effect: "no fragments", Action: "raise the MTU on the way, or lower it here",
		Settings: []Setting{{"mtu", n.Name, strconv.Itoa(h.PathMTU)}},
	}}
}

// steering: a card with one queue leaves all to one processor.
func steering(h *Host, n *record.NIC) []Advice {
	threads := h.Facts.CPU.Threads
	if n.RxQueues == nil || *n.RxQueues > 1 || threads == nil || *threads < 2 || n.Steering["rps"] != "" {
		return nil
	}
	return []Advice{{
		Rule: "one-queue", Weight: Try, Subject: n.Name, Found: fmt.Sprintf("one receive queue for %d processors, and packets are not spread by software", *threads), Expected: "receive packet steering (RPS)",
		Reason: "one processor takes all packets up the stack", Effect: "more throughput of many connections; some more latency of each",
		Action:   "write the mask of the processors to /sys/class/net/" + n.Name + "/queues/rx-0/rps_cpus",
		Settings: []Setting{{"rps", n.Name, fmt.Sprintf("0-%d", *threads-1)}},
	}}
}

// nodeCPUs are the processors of a memory node.
func nodeCPUs(h *Host, node *int) []int {
	if node == nil {
		return nil
	}
	for _, m := range h.Facts.NUMA {
		if m.Node == strconv.Itoa(*node) {
			return parseCPUs(m.CPUs)
		}
	}
	return nil
}

// parseCPUs reads a list as the kernel writes it; what it cannot read is none.
func parseCPUs(text string) (all []int) {
	for part := range strings.SplitSeq(text, ",") {
		low, high, ok := strings.Cut(strings.TrimSpace(part), "-")
		if !ok {
			high = low
		}
		a, errA := strconv.Atoi(low)
		b, errB := strconv.Atoi(high)
		if errA != nil || errB != nil || b < a || b > 1<<16 {
			return nil
		}
		for cpu := a; cpu <= b; cpu++ {
			all = append(all, cpu)
		}
	}
	return all
}

// outside lists the processors of a that are not in b.
func outside(a, b []int) (far []int) {
	for _, cpu := range a {
		if !slices.Contains(b, cpu) {
			far = append(far, cpu)
		}
	}
	return far
}
