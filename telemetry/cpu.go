package telemetry

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
)

// cpuCollector reads the time that cores spent in each state.
type cpuCollector struct {
	source
	root string
}

func newCPU(root string) *cpuCollector {
	return &cpuCollector{newSource(cpuMetrics()), root}
}

func (c *cpuCollector) Describe() Description {
	return Description{
		Name: "cpu", Summary: "time of the host and of each core by state; context switches",
		Source: "/proc/stat (proc(5)), in ticks of 10 ms", Metrics: cpuMetrics(),
	}
}

func (c *cpuCollector) Probe(context.Context) Probed { return probeFile(c.root, "proc/stat") }

func (c *cpuCollector) Collect(_ context.Context, dst []Sample) ([]Sample, error) {
	stat, err := readStat(c.root)
	if err != nil {
		return dst, err
	}
	online := 0
	for _, line := range stat.cpus {
		instance := ""
		if line.cpu != wholeHost {
			instance = cpuName(line.cpu)
			online++
		}
		for i, ticks := range line.ticks {
			dst = c.count(dst, cpuStates[i], instance, ticks, userTick, jitters)
		}
	}
	dst = c.value(dst, "cpu.online", "", float64(online))
	for _, counter := range []struct {
		metric string
		raw    *uint64
	}{{"cpu.switches", stat.switches}, {"cpu.forks", stat.forks}} {
		if counter.raw != nil {
			dst = c.count(dst, counter.metric, "", *counter.raw, 1, restarts)
		}
	}
	if stat.runnable != nil {
		dst = c.value(dst, "cpu.runnable", "", float64(*stat.runnable))
	}
	if stat.blocked != nil {
		dst = c.value(dst, "cpu.blocked", "", float64(*stat.blocked))
	}
	return dst, nil
}

// wholeHost stands for the sum over all cores in a statLine.
const wholeHost = -1

// cpuStates are the columns of a cpu line, in the kernel's order.
var cpuStates = [...]string{
	"cpu.user", "cpu.nice", "cpu.system", "cpu.idle", "cpu.iowait",
	"cpu.irq", "cpu.softirq", "cpu.steal", "cpu.guest", "cpu.guest_nice",
}

// kernelStat is the part of /proc/stat that is used. What the file lacks is nil.
type kernelStat struct {
	cpus                               []statLine
	switches, forks, runnable, blocked *uint64
}

// statLine is one cpu line; an older kernel has fewer columns.
type statLine struct {
	cpu   int
	ticks []uint64
}

func readStat(root string) (kernelStat, error) {
	path := filepath.Join(root, "proc/stat")
	data, err := os.ReadFile(path)
	if err != nil {
		return kernelStat{}, err
	}
	stat, err := parseStat(data)
	if err != nil {
		return kernelStat{}, fmt.Errorf("reading %s: %w", path, err)
	}
	return stat, nil
}

// parseStat reads the text of /proc/stat.
func parseStat(data []byte) (kernelStat, error) {
	var stat kernelStat
	singles := map[string]**uint64{
		"ctxt": &stat.switches, "processes": &stat.forks,
		"procs_running": &stat.runnable, "procs_blocked": &stat.blocked,
	}
	for number, line := range bytes.Split(data, []byte{'\n'}) {
		key, rest, _ := bytes.Cut(line, []byte{' '})
		if bytes.HasPrefix(key, []byte("cpu")) {
			parsed, err := parseStatLine(key, rest)
			if err != nil {
				return kernelStat{}, fmt.Errorf("line %d: %w", number+1, err)
			}
			stat.cpus = append(stat.cpus, parsed)
			continue
		}
		if target, ok := singles[string(key)]; ok {
			v, err := strconv.ParseUint(string(bytes.TrimSpace(rest)), 10, 64)
			if err != nil {
				return kernelStat{}, fmt.Errorf("line %d: %s: found %.40q, expected a number", number+1, key, rest)
			}
			*target = &v
		}
	}
	if len(stat.cpus) == 0 {
		return kernelStat{}, fmt.Errorf("no line begins with cpu")
	}
	return stat, nil
}

func parseStatLine(key, rest []byte) (statLine, error) {
	line := statLine{cpu: wholeHost}
	if name := key[len("cpu"):]; len(name) > 0 {
		n, err := strconv.ParseUint(string(name), 10, 31)
		if err != nil {
			return line, fmt.Errorf("found %.40q, expected cpu and a number", key)
		}
		line.cpu = int(n)
	}
	for _, field := range bytes.Fields(rest) {
		if len(line.ticks) == len(cpuStates) {
			break // a later kernel's columns
		}
		v, err := strconv.ParseUint(string(field), 10, 64)
		if err != nil {
			return line, fmt.Errorf("%s: found %.40q, expected a number of ticks", key, field)
		}
		line.ticks = append(line.ticks, v)
	}
	if len(line.ticks) < 4 {
		return line, fmt.Errorf("%s: found %d columns, expected 4 or more", key, len(line.ticks))
	}
	return line, nil
}
