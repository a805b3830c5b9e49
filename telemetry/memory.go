package telemetry

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strconv"

	"github.com/prometheus/procfs"
)

// memoryCollector reads memory, swap and the paging counters.
type memoryCollector struct {
	source
	root     string
	pageSize int
}

func newMemory(root string, pageSize int) *memoryCollector {
	return &memoryCollector{newSource(memoryMetrics()), root, pageSize}
}

func (c *memoryCollector) Describe() Description {
	return Description{
		Name: "memory", Summary: "memory and swap in use; paging",
		Source: "/proc/meminfo and /proc/vmstat (proc(5))", Metrics: memoryMetrics(),
	}
}

func (c *memoryCollector) Probe(context.Context) Probed { return probeFile(c.root, "proc/meminfo") }

func (c *memoryCollector) Collect(_ context.Context, dst []Sample) ([]Sample, error) {
	fs, err := procfs.NewFS(filepath.Join(c.root, "proc"))
	if err != nil {
		return dst, err
	}
	m, err := fs.Meminfo()
	if err != nil {
		return dst, err
	}
	for _, g := range []struct {
		metric string
		value  *uint64
	}{
		{"mem.total", m.MemTotalBytes}, {"mem.free", m.MemFreeBytes}, {"mem.available", m.MemAvailableBytes},
		{"mem.buffers", m.BuffersBytes}, {"mem.cached", m.CachedBytes}, {"mem.anon", m.AnonPagesBytes},
		{"mem.shmem", m.ShmemBytes}, {"mem.slab", m.SlabBytes}, {"mem.dirty", m.DirtyBytes},
		{"mem.writeback", m.WritebackBytes}, {"mem.hugepages.total", m.HugePagesTotal},
		{"mem.hugepages.free", m.HugePagesFree}, {"swap.total", m.SwapTotalBytes}, {"swap.free", m.SwapFreeBytes},
	} {
		if g.value != nil {
			dst = c.value(dst, g.metric, "", float64(*g.value))
		}
	}
	return c.paging(dst)
}

// paging adds the counters of /proc/vmstat.
func (c *memoryCollector) paging(dst []Sample) ([]Sample, error) {
	path := filepath.Join(c.root, "proc/vmstat")
	data, err := os.ReadFile(path)
	if err != nil {
		return dst, err
	}
	counters := map[string]struct {
		metric string
		unit   float64
	}{
		"pgmajfault": {"mem.faults.major", 1}, "oom_kill": {"mem.oom_kills", 1},
		"pswpin": {"swap.in", float64(c.pageSize)}, "pswpout": {"swap.out", float64(c.pageSize)},
	}
	for number, line := range bytes.Split(data, []byte{'\n'}) {
		key, value, _ := bytes.Cut(line, []byte{' '})
		counter, ok := counters[string(key)]
		if !ok {
			continue
		}
		raw, err := strconv.ParseUint(string(value), 10, 64)
		if err != nil {
			return dst, fmt.Errorf("reading %s: line %d: found %.40q, expected a name and a number", path, number+1, line)
		}
		dst = c.count(dst, counter.metric, "", raw, counter.unit, restarts)
	}
	return dst, nil
}
