package advice

import (
	"fmt"
	"math"
	"strconv"
	"strings"

	"bakeoff/record"
	"bakeoff/unit"
)

// node: is the load on the processors beside the card.
func node(h *Host, n *record.NIC) []Advice {
	near := nodeCPUs(h, n.NUMANode)
	far := outside(parseCPUs(h.LoadCPUs), near)
	if len(near) == 0 || len(far) == 0 {
		return nil
	}
	return []Advice{{
		Rule: "numa-load", Weight: Try, Subject: n.Name, Found: fmt.Sprintf("the load runs on processors %s; %d of them are not on the card's node %d", h.LoadCPUs, len(far), *n.NUMANode),
		Expected: "processors " + cpusOf(h, n.NUMANode),
		Reason:   "what the card brings lies in the memory of its own socket; other sockets fetch it over the link between them",
		Effect:   "less CPU for each byte and lower latency", Action: "pin servers and loads there (cpus in the plan)",
	}}
}

func cpusOf(h *Host, node *int) string {
	for _, m := range h.Facts.NUMA {
		if node != nil && m.Node == strconv.Itoa(*node) {
			return m.CPUs
		}
	}
	return ""
}

// interruptNode: are the card's interrupts served beside it.
func interruptNode(h *Host, n *record.NIC) []Advice {
	near := nodeCPUs(h, n.NUMANode)
	far := outside(parseCPUs(n.InterruptCPUs), near)
	if len(near) == 0 || len(far) == 0 {
		return nil
	}
	return []Advice{{
		Rule: "numa-interrupts", Weight: Try, Subject: n.Name, Found: fmt.Sprintf("its interrupts are served by processors %s; %d of them are not on its node %d", n.InterruptCPUs, len(far), *n.NUMANode),
		Expected: "processors " + cpusOf(h, n.NUMANode), Reason: "packets then cross the link between sockets before anybody has looked at them",
		Effect: "less CPU for each byte and steadier latency", Action: "stop irqbalance and set the affinity of its interrupts",
		Settings: []Setting{{"irq", n.Name, "spread " + cpusOf(h, n.NUMANode)}},
	}}
}

// buffers: can a socket hold what is under way on the path.
func buffers(h *Host, n *record.NIC) []Advice {
	if n.BitsPerSecond == nil || h.RoundTripSeconds <= 0 {
		return nil
	}
	product := math.Ceil(float64(*n.BitsPerSecond) / 8 * h.RoundTripSeconds)
	var all []Advice
	for _, b := range []struct{ key, least, start string }{{"net.ipv4.tcp_rmem", "4096", "131072"}, {"net.ipv4.tcp_wmem", "4096", "16384"}} {
		words := strings.Fields(h.Facts.Sysctls[b.key])
		if len(words) != 3 {
			continue
		}
		most, err := strconv.ParseFloat(words[2], 64)
		// The kernel takes half of the receive buffer for its own bookkeeping.
		if err != nil || most >= 2*product {
			continue
		}
		wanted := powerOfTwo(2 * product)
		all = append(all, Advice{
			Rule: "socket-buffers", Weight: Try, Subject: n.Name, Found: fmt.Sprintf("%s allows %s B", b.key, words[2]),
			Expected: fmt.Sprintf("%.0f B: twice what is under way at %s and a round trip of %s", wanted, unit.FormatSI(float64(*n.BitsPerSecond), "bit/s", 3), unit.FormatSI(h.RoundTripSeconds, "s", 3)),
			Reason:   "a connection cannot have more under way than its buffers hold: bandwidth times delay",
			Effect:   fmt.Sprintf("one connection up to %.3g times as fast, if that is what limits it", math.Max(1, wanted/most)),
			Action:   fmt.Sprintf("sysctl -w %s=\"%s %s %.0f\"", b.key, words[0], words[1], wanted),
			Settings: []Setting{{"sysctl", b.key, fmt.Sprintf("%s %s %.0f", words[0], words[1], wanted)}},
		})
	}
	return all
}

func powerOfTwo(x float64) float64 { return math.Exp2(math.Ceil(math.Log2(x))) }

// governor: a clock that follows the load measures the governor.
func governor(h *Host) []Advice {
	g := h.Facts.CPU.Governor
	if g == "" || strings.HasPrefix(g, "performance") && !strings.Contains(g, ",") {
		return nil
	}
	return []Advice{{
		Rule: "governor", Weight: Try, Subject: "host", Found: "the frequency governor is " + g, Expected: "performance",
		Reason: "the clock follows the load with a delay, so that what is measured depends on what was done before",
		Effect: "lower and steadier latency at low load; more power", Action: "cpupower frequency-set -g performance",
		Settings: []Setting{{"governor", "", "performance"}},
	}}
}

// deepSleep is the time to leave a sleep state from which on it shows in the
// latency of a network, in seconds.
const deepSleep = 20e-6

// sleep: deep sleep states add their exit to the latency of a request.
func sleep(h *Host) []Advice {
	exit := h.Facts.CPU.IdleExitSeconds
	if exit == nil || *exit < deepSleep {
		return nil
	}
	return []Advice{{
		Rule: "sleep-states", Weight: Try, Subject: "host", Found: fmt.Sprintf("cores may sleep as deep as %s, which takes %s to leave", last(h.Facts.CPU.IdleStates), unit.FormatSI(*exit, "s", 3)),
		Expected: "states that are left within " + unit.FormatSI(deepSleep, "s", 2) + ", for measurements of latency",
		Reason:   "a request that finds its core asleep waits for it to wake up; at low load that is most of them",
		Effect:   "lower latency at low load; more power, and less turbo for the others",
		Action:   "write 1 to the disable file of the deeper states below /sys/devices/system/cpu/cpu*/cpuidle, or hold /dev/cpu_dma_latency",
	}}
}

func last(words string) string {
	all := strings.Fields(words)
	if len(all) == 0 {
		return "a state without a name"
	}
	return all[len(all)-1]
}

// balancing: irqbalance moves interrupts while something is measured.
func balancing(h *Host) []Advice {
	if h.Facts.Daemons["irqbalance"] == "" {
		return nil
	}
	return []Advice{{
		Rule: "irqbalance", Weight: Try, Subject: "host", Found: "irqbalance is running", Expected: "not while something is measured",
		Reason: "it moves interrupts between processors every ten seconds, by the load that it sees",
		Effect: "steadier results; with interrupts spread by hand, often more throughput", Action: "systemctl stop irqbalance, then set the affinities by hand",
		Settings: []Setting{{"irqbalance", "", "stopped"}},
	}}
}

// backlog: packets that the kernel had no time for.
func backlog(h *Host) []Advice {
	var all []Advice
	if h.BacklogDropped != nil && *h.BacklogDropped > 0 {
		value := "250000"
		all = append(all, Advice{
			Rule: "backlog", Weight: Try, Subject: "host", Found: fmt.Sprintf("%d packets were dropped from full backlogs since the start (softnet_stat), which hold %s", *h.BacklogDropped, orUnknown(h.Facts.Sysctls["net.core.netdev_max_backlog"])),
			Expected: "0 while something is measured", Reason: "a processor gets packets faster than it takes them up the stack",
			Effect: "fewer drops in bursts", Action: "sysctl -w net.core.netdev_max_backlog=" + value, Settings: []Setting{{"sysctl", "net.core.netdev_max_backlog", value}},
		})
	}
	if h.BacklogSqueezed != nil && *h.BacklogSqueezed > 0 {
		all = append(all, Advice{
			Rule: "budget", Weight: Know, Subject: "host", Found: fmt.Sprintf("receiving ran out of its budget %d times since the start (softnet_stat), which is %s packets", *h.BacklogSqueezed, orUnknown(h.Facts.Sysctls["net.core.netdev_budget"])),
			Expected: "few while something is measured", Reason: "work was left over for the next round: the processor was busy receiving",
			Effect: "more packets a round, and more delay for what else runs there", Action: "look whether the number grows under load; then sysctl net.core.netdev_budget",
		})
	}
	return all
}

func orUnknown(text string) string {
	if text == "" {
		return "an unknown number"
	}
	return text
}
