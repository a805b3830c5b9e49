package telemetry

import (
	"bytes"
	"fmt"
	"regexp"
	"strconv"
	"strings"
)

// interruptTable is /proc/interrupts or /proc/softirqs.
type interruptTable struct {
	cpus  []int // numbers of the columns' cores: only those online have one
	lines []interruptLine
}

// interruptLine is one line of it.
type interruptLine struct {
	label  string   // before the colon: a number, or a kind such as LOC
	device string   // who takes it: the handlers' names, else the label
	counts []uint64 // one for each column, or one for the host
	ofHost bool
}

// maxCPU bounds the core numbers that are believed (CONFIG_NR_CPUS is at most 8192).
const maxCPU = 1 << 16

// parseInterrupts reads the text of /proc/interrupts, as kernel/irq/proc.c and
// the architectures' show_interrupts write it.
func parseInterrupts(data []byte) (interruptTable, error) {
	return parseCounts(data, deviceOf)
}

// parseSoftirqs reads the text of /proc/softirqs.
func parseSoftirqs(data []byte) (interruptTable, error) {
	return parseCounts(data, func(label, _ string) string { return label })
}

// parseCounts reads a table with a head of cores, a label before each line's
// colon, one count a core, and a rest that name turns into a device.
func parseCounts(data []byte, name func(label, rest string) string) (interruptTable, error) {
	var table interruptTable
	lines := bytes.Split(data, []byte{'\n'})
	cpus, err := parseCPUHead(lines[0])
	if err != nil {
		return table, fmt.Errorf("line 1: %w", err)
	}
	table.cpus = cpus
	table.lines = make([]interruptLine, 0, len(lines))
	for i, text := range lines[1:] {
		label, rest, ok := bytes.Cut(text, []byte{':'})
		if !ok {
			if len(bytes.TrimSpace(text)) > 0 {
				return table, fmt.Errorf("line %d: found %.40q, expected a label and a colon", i+2, text)
			}
			continue
		}
		line := interruptLine{label: string(bytes.TrimSpace(label))}
		rest, err := line.readCounts(rest, len(cpus))
		if err != nil {
			return table, fmt.Errorf("line %d: %s: %w", i+2, line.label, err)
		}
		line.device = name(line.label, string(rest))
		table.lines = append(table.lines, line)
	}
	return table, nil
}

// parseCPUHead reads "CPU0 CPU2 ...".
func parseCPUHead(head []byte) ([]int, error) {
	var cpus []int
	for _, field := range bytes.Fields(head) {
		digits, ok := bytes.CutPrefix(field, []byte("CPU"))
		n, err := strconv.ParseUint(string(digits), 10, 31)
		if !ok || err != nil || n >= maxCPU {
			return nil, fmt.Errorf("found %.40q, expected CPU and a number", field)
		}
		cpus = append(cpus, int(n))
	}
	if len(cpus) == 0 {
		return nil, fmt.Errorf("found %.40q, expected a head of cores", head)
	}
	return cpus, nil
}

// readCounts takes the counts off the front of a line and returns what follows.
func (l *interruptLine) readCounts(text []byte, cores int) (rest []byte, err error) {
	l.counts = make([]uint64, 0, cores)
	for len(l.counts) < cores {
		raw, after, ok := leadingCount(text)
		if !ok {
			break
		}
		l.counts = append(l.counts, raw)
		text = after
	}
	switch l.label {
	case "ERR", "Err", "MIS": // one count for the host
		l.ofHost = len(l.counts) == 1
	}
	if !l.ofHost && len(l.counts) != cores {
		return nil, fmt.Errorf("found %d counts, expected one for each of %d cores", len(l.counts), cores)
	}
	return text, nil
}

// leadingCount reads a number that stands alone at the front of text. A large
// host has tens of thousands of them in each sample.
func leadingCount(text []byte) (raw uint64, after []byte, ok bool) {
	i := 0
	for i < len(text) && (text[i] == ' ' || text[i] == '\t') {
		i++
	}
	begin := i
	for i < len(text) && text[i] >= '0' && text[i] <= '9' && i-begin < 20 {
		raw = raw*10 + uint64(text[i]-'0')
		i++
	}
	const digits64 = 19 // that always fit
	if i == begin || i-begin > digits64 || i < len(text) && text[i] != ' ' && text[i] != '\t' {
		return 0, text, false
	}
	return raw, text[i:], true
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
