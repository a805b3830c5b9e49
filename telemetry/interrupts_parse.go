package telemetry

import (
	"bytes"
	"fmt"
	"regexp"
	"strconv"
	"strings"
)

// interruptLine is one line of /proc/interrupts or /proc/softirqs.
type interruptLine struct {
	label  string // before the colon: a number, or a kind such as LOC
	device string // who takes it: the handlers' names, else the label
	counts []coreCount
}

// coreCount is a line's count on one core. Cores are numbered from 1 here, so
// that unknownCPU can stand for the lines that have one count for the host.
type coreCount struct {
	cpu int
	raw uint64
}

const unknownCPU = 0

// maxCPU bounds the core numbers that are believed (CONFIG_NR_CPUS is at most 8192).
const maxCPU = 1 << 16

// parseInterrupts reads the text of /proc/interrupts, as kernel/irq/proc.c and
// the architectures' show_interrupts write it.
func parseInterrupts(data []byte) ([]interruptLine, error) {
	return parseCounts(data, deviceOf)
}

// parseSoftirqs reads the text of /proc/softirqs.
func parseSoftirqs(data []byte) ([]interruptLine, error) {
	return parseCounts(data, func(label, _ string) string { return label })
}

// parseCounts reads a table with a head of cores, a label before each line's
// colon, one count a core, and a rest that name turns into a device.
func parseCounts(data []byte, name func(label, rest string) string) ([]interruptLine, error) {
	lines := bytes.Split(data, []byte{'\n'})
	cpus, err := parseCPUHead(lines[0])
	if err != nil {
		return nil, fmt.Errorf("line 1: %w", err)
	}
	var parsed []interruptLine
	for i, text := range lines[1:] {
		label, rest, ok := strings.Cut(string(text), ":")
		if !ok {
			if len(bytes.TrimSpace(text)) > 0 {
				return nil, fmt.Errorf("line %d: found %.40q, expected a label and a colon", i+2, text)
			}
			continue
		}
		line := interruptLine{label: strings.TrimSpace(label)}
		rest, err := line.readCounts(rest, cpus)
		if err != nil {
			return nil, fmt.Errorf("line %d: %s: %w", i+2, line.label, err)
		}
		line.device = name(line.label, rest)
		parsed = append(parsed, line)
	}
	return parsed, nil
}

// parseCPUHead reads "CPU0 CPU2 ...": only cores that are online have a column.
func parseCPUHead(head []byte) ([]int, error) {
	var cpus []int
	for _, field := range bytes.Fields(head) {
		digits, ok := bytes.CutPrefix(field, []byte("CPU"))
		n, err := strconv.ParseUint(string(digits), 10, 31)
		if !ok || err != nil || n >= maxCPU {
			return nil, fmt.Errorf("found %.40q, expected CPU and a number", field)
		}
		cpus = append(cpus, int(n)+1)
	}
	if len(cpus) == 0 {
		return nil, fmt.Errorf("found %.40q, expected a head of cores", head)
	}
	return cpus, nil
}

// readCounts takes the counts off the front of a line and returns what follows.
func (l *interruptLine) readCounts(text string, cpus []int) (rest string, err error) {
	for len(l.counts) < len(cpus) {
		trimmed := strings.TrimLeft(text, " \t")
		end := strings.IndexAny(trimmed, " \t")
		if end < 0 {
			end = len(trimmed)
		}
		raw, perr := strconv.ParseUint(trimmed[:end], 10, 64)
		if perr != nil {
			break
		}
		l.counts = append(l.counts, coreCount{cpus[len(l.counts)], raw})
		text = trimmed[end:]
	}
	if len(l.counts) == 1 && l.ofHost() {
		l.counts[0].cpu = unknownCPU
		return text, nil
	}
	if len(l.counts) == len(cpus) {
		return text, nil
	}
	return "", fmt.Errorf("found %d counts, expected one for each of %d cores", len(l.counts), len(cpus))
}

// ofHost reports whether the line has one count for the whole host.
func (l *interruptLine) ofHost() bool {
	switch l.label {
	case "ERR", "Err", "MIS":
		return true
	}
	return false
}

// trigger ends the part of a numbered line that names the controller: the
// chip, its own number and how it is triggered, as "IR-PCI-MSI 524288-edge",
// "GICv3  27 Level".
var trigger = regexp.MustCompile(`(?i)(^|[\s_-])(edge|level|fasteoi|fasteoi_ack|fasteoi_mask|percpu|percpu_devid|eoi|simple|none)\s*$`)

// deviceOf names who takes an interrupt. The handlers stand after at least two
// blanks at the end of a numbered line; a line may have none.
func deviceOf(label, rest string) string {
	if strings.TrimLeft(label, "0123456789") != "" {
		return label // an architecture's own kind, as LOC, with a description
	}
	rest = strings.TrimRight(rest, " \t")
	at := strings.LastIndex(rest, "  ")
	device := strings.TrimSpace(rest[at+1:])
	if at < 0 || device == "" || trigger.MatchString(device) {
		return label
	}
	return device
}
