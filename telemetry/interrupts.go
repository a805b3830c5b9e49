package telemetry

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
)

// interruptCollector counts interrupts by device and by core, and software
// interrupts by kind.
type interruptCollector struct {
	source
	root   string
	rows   map[string][]cell // of each line, by core number
	totals map[counterKey]uint64
}

// cell is the memory of one line's count on one core.
type cell struct {
	seen bool
	raw  uint64
}

func newInterrupts(root string) *interruptCollector {
	return &interruptCollector{
		source: newSource(interruptMetrics()), root: root,
		rows: make(map[string][]cell), totals: make(map[counterKey]uint64),
	}
}

func (c *interruptCollector) Describe() Description {
	return Description{
		Name: "interrupts", Summary: "interrupts by device and by core; software interrupts by kind",
		Source: "/proc/interrupts and /proc/softirqs (proc(5)), whose 32-bit counts a core are unwrapped", Metrics: interruptMetrics(),
	}
}

func (c *interruptCollector) Probe(context.Context) Probed {
	return probeFile(c.root, "proc/interrupts")
}

func (c *interruptCollector) Collect(_ context.Context, dst []Sample) ([]Sample, error) {
	var touched []counterKey
	for _, file := range []struct {
		name  string
		parse func([]byte) ([]interruptLine, error)
	}{{"interrupts", parseInterrupts}, {"softirqs", parseSoftirqs}} {
		path := filepath.Join(c.root, "proc", file.name)
		data, err := os.ReadFile(path)
		if err != nil {
			return dst, err
		}
		lines, err := file.parse(data)
		if err != nil {
			return dst, fmt.Errorf("reading %s: %w", path, err)
		}
		for _, line := range lines {
			touched = c.add(touched, file.name, line)
		}
	}
	slices.SortFunc(touched, compareKeys)
	for _, key := range slices.Compact(touched) {
		dst = c.value(dst, key.metric, key.instance, float64(c.totals[key]))
	}
	return dst, nil
}

// add brings the totals that a line counts towards up to date, and returns
// their keys with those in touched.
func (c *interruptCollector) add(touched []counterKey, file string, line interruptLine) []counterKey {
	device := counterKey{"irq.count", line.device}
	if file == "softirqs" {
		device.metric = "softirq.count"
	}
	row := c.rows[file+line.label]
	for _, count := range line.counts {
		for len(row) <= count.cpu {
			row = append(row, cell{})
		}
		delta := row[count.cpu].advance(count.raw)
		c.totals[device] += delta
		if device.metric == "irq.count" && count.cpu != unknownCPU {
			core := counterKey{"irq.cpu", cpuName(count.cpu - 1)}
			c.totals[core] += delta
			touched = append(touched, core)
		}
	}
	c.rows[file+line.label] = row
	return append(touched, device)
}

// advance returns by how much the count grew.
func (c *cell) advance(raw uint64) uint64 {
	prev := *c
	*c = cell{true, raw}
	switch {
	case !prev.seen:
		return raw
	case raw >= prev.raw:
		return raw - prev.raw
	}
	delta, _ := wraps32(prev.raw, raw)
	return delta
}

func compareKeys(a, b counterKey) int {
	return cmp.Or(cmp.Compare(a.metric, b.metric), cmp.Compare(a.instance, b.instance))
}
