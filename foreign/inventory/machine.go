package inventory

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"

	"bakeoff/record"
)

// readLSCPU reads lscpu(1). Newer ones indent what belongs together.
func readLSCPU(f *Found, text string) error {
	values := map[string]string{}
	for line := range strings.Lines(text) {
		if key, value, ok := strings.Cut(strings.TrimSpace(line), ":"); ok {
			if _, had := values[key]; !had {
				values[key] = strings.TrimSpace(value)
			}
		}
	}
	c := &f.Facts.CPU
	c.Architecture, c.Vendor, c.Model, c.Online = values["Architecture"], values["Vendor ID"], values["Model name"], values["On-line CPU(s) list"]
	c.Sockets, c.Threads = number(values["Socket(s)"]), number(values["CPU(s)"])
	if cores := number(values["Core(s) per socket"]); cores != nil && c.Sockets != nil {
		c.Cores = new(*cores * *c.Sockets)
	}
	for node := 0; ; node++ {
		cpus, ok := values[fmt.Sprintf("NUMA node%d CPU(s)", node)]
		if !ok {
			break
		}
		f.node(strconv.Itoa(node)).CPUs = cpus
	}
	return nil
}

// node returns the memory node of a name, a new one where there is none.
func (f *Found) node(name string) *record.NUMANode {
	for i := range f.Facts.NUMA {
		if f.Facts.NUMA[i].Node == name {
			return &f.Facts.NUMA[i]
		}
	}
	f.Facts.NUMA = append(f.Facts.NUMA, record.NUMANode{Node: name})
	return &f.Facts.NUMA[len(f.Facts.NUMA)-1]
}

var (
	nodeCPUs = regexp.MustCompile(`^node (\d+) cpus:(.*)$`)
	nodeSize = regexp.MustCompile(`^node (\d+) size: (\d+) MB$`)
	distance = regexp.MustCompile(`^\s*(\d+):((?:\s+\d+)+)\s*$`)
)

// readNUMA reads numactl -H, whose megabytes are of 2^20 bytes.
func readNUMA(f *Found, text string) error {
	for line := range strings.Lines(text) {
		line = strings.TrimRight(line, " \r\n")
		if m := nodeCPUs.FindStringSubmatch(line); m != nil {
			cpus, err := ranges(strings.Fields(m[2]))
			if err != nil {
				return fmt.Errorf("node %s: %w", m[1], err)
			}
			f.node(m[1]).CPUs = cpus
		}
		if m := nodeSize.FindStringSubmatch(line); m != nil {
			if mib, err := strconv.ParseInt(m[2], 10, 64); err == nil && mib > 0 {
				f.node(m[1]).Bytes = new(mib << 20)
			}
		}
		if m := distance.FindStringSubmatch(line); m != nil {
			f.node(m[1]).Distances = strings.Join(strings.Fields(m[2]), " ")
		}
	}
	return nil
}

// ranges writes processors as the kernel does: 0-3,8.
func ranges(numbers []string) (string, error) {
	var parts []string
	first, last := -1, -1
	flush := func() {
		switch {
		case first < 0:
		case first == last:
			parts = append(parts, strconv.Itoa(first))
		default:
			parts = append(parts, fmt.Sprintf("%d-%d", first, last))
		}
	}
	for _, s := range numbers {
		n, err := strconv.Atoi(s)
		if err != nil || n < 0 {
			return "", fmt.Errorf("found processor %q, expected a number", s)
		}
		if first >= 0 && n == last+1 {
			last = n
			continue
		}
		flush()
		first, last = n, n
	}
	flush()
	return strings.Join(parts, ","), nil
}

var sysctlLine = regexp.MustCompile(`^([a-z0-9_][A-Za-z0-9_./:*-]*\.[A-Za-z0-9_./:*-]+) = ?(.*)$`)

// isSysctl wants most lines to be of its form: some values take several.
func isSysctl(text string) bool {
	lines, matching := 0, 0
	for line := range strings.Lines(text) {
		if line = strings.TrimRight(line, "\r\n"); line == "" {
			continue
		}
		lines++
		if sysctlLine.MatchString(line) {
			matching++
		}
	}
	return matching > 0 && 2*matching >= lines
}

// readSysctl reads sysctl -a, and errors of keys that may not be read.
func readSysctl(f *Found, text string) error {
	if f.Facts.Sysctls == nil {
		f.Facts.Sysctls = map[string]string{}
	}
	for line := range strings.Lines(text) {
		if m := sysctlLine.FindStringSubmatch(strings.TrimRight(line, "\r\n")); m != nil {
			f.Facts.Sysctls[m[1]] = strings.Join(strings.Fields(m[2]), " ")
		}
	}
	return nil
}

func isInterrupts(text string) bool {
	first, _, _ := strings.Cut(text, "\n")
	words := strings.Fields(first)
	return len(words) > 0 && strings.HasPrefix(words[0], "CPU") && strings.HasPrefix(words[len(words)-1], "CPU")
}

// vectorName is how drivers call the vectors of an interface's queues:
// eth0-TxRx-3, eth0-rx-0, ens1f0-0.
var vectorName = regexp.MustCompile(`(?:^|[-,])((?:eth|en|em|p\d+p)[A-Za-z0-9]*?)(?:-[A-Za-z]+)*-\d+$`)

// readInterrupts counts each interface's vectors in /proc/interrupts.
func readInterrupts(f *Found, text string) error {
	if f.Vectors == nil {
		f.Vectors = map[string]int{}
	}
	for line := range strings.Lines(text) {
		words := strings.Fields(line)
		if len(words) < 3 || strings.HasPrefix(words[0], "CPU") {
			continue
		}
		if m := vectorName.FindStringSubmatch(words[len(words)-1]); m != nil {
			f.Vectors[m[1]]++
		}
	}
	return nil
}

var softnetLine = regexp.MustCompile(`^[0-9a-f]{8}(?: [0-9a-f]{8}){8,}$`)

func isSoftnet(text string) bool {
	first, _, _ := strings.Cut(strings.TrimLeft(text, "\n"), "\n")
	return softnetLine.MatchString(strings.TrimSpace(first))
}

// readSoftnet reads /proc/net/softnet_stat: one line a processor, hexadecimal
// columns of which the first three are processed, dropped and time_squeeze.
func readSoftnet(f *Found, text string) error {
	for line := range strings.Lines(text) {
		words := strings.Fields(line)
		if len(words) == 0 {
			continue
		}
		if len(words) < 3 {
			return fmt.Errorf("found %q, expected at least three columns", strings.TrimSpace(line))
		}
		var v [3]uint64
		for i := range v {
			var err error
			if v[i], err = strconv.ParseUint(words[i], 16, 64); err != nil {
				return fmt.Errorf("column %d: found %q, expected a hexadecimal number", i+1, words[i])
			}
		}
		f.Softnet = append(f.Softnet, Softnet{v[0], v[1], v[2]})
	}
	return nil
}
