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
	root  string
	rows  map[string][]cell // of each line, by core number
	cores []uint64          // of each core, over all lines
	// totals are of each device or kind.
	totals map[counterKey]uint64
}

// cell is the memory of one count.
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
	interrupts, err := c.read("interrupts", parseInterrupts)
	if err != nil {
		return dst, err
	}
	softirqs, err := c.read("softirqs", parseSoftirqs)
	if err != nil {
		return dst, err
	}
	touched := c.add("irq.count", interrupts)
	touched = append(touched, c.add("softirq.count", softirqs)...)
	slices.SortFunc(touched, compareKeys)
	for _, key := range slices.Compact(touched) {
		dst = c.value(dst, key.metric, key.instance, float64(c.totals[key]))
	}
	for _, cpu := range interrupts.cpus {
		dst = c.value(dst, "irq.cpu", cpuName(cpu), float64(c.cores[cpu]))
	}
	return dst, nil
}

func (c *interruptCollector) read(name string, parse func([]byte) (interruptTable, error)) (interruptTable, error) {
	path := filepath.Join(c.root, "proc", name)
	data, err := os.ReadFile(path)
	if err != nil {
		return interruptTable{}, err
	}
	table, err := parse(data)
	if err != nil {
		return table, fmt.Errorf("reading %s: %w", path, err)
	}
	return table, nil
}

// add brings the totals of a metric up to date and returns their keys.
func (c *interruptCollector) add(metric string, table interruptTable) []counterKey {
	size := slices.Max(table.cpus) + 1
	if n := size - len(c.cores); n > 0 {
		c.cores = append(c.cores, make([]uint64, n)...)
	}
	var touched []counterKey
	for _, line := range table.lines {
		key := counterKey{metric, line.device}
		name := metric + line.label
		row := c.rows[name]
		if n := size - len(row); n > 0 {
			row = append(row, make([]cell, n)...)
			c.rows[name] = row
		}
		var grown uint64
		for i, raw := range line.counts {
			delta := row[table.cpus[i]].advance(raw)
			grown += delta
			if metric == "irq.count" && !line.ofHost {
				c.cores[table.cpus[i]] += delta
			}
		}
		c.totals[key] += grown
		touched = append(touched, key)
	}
	return touched
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
