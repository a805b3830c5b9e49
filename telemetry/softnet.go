package telemetry

import (
	"context"
	"path/filepath"

	"github.com/prometheus/procfs"
)

// softnetCollector reads what each core's network softirq did and dropped.
type softnetCollector struct {
	source
	root string
}

func newSoftnet(root string) *softnetCollector {
	return &softnetCollector{newSource(softnetMetrics()), root}
}

func (c *softnetCollector) Describe() Description {
	return Description{
		Name: "softnet", Summary: "packets that each core's network softirq processed, dropped and put off",
		Source: "/proc/net/softnet_stat (net/core/net-procfs.c); before Linux 5.14 rows are numbered in order, so with cores offline the number may not be the core's", Metrics: softnetMetrics(),
	}
}

func (c *softnetCollector) Probe(context.Context) Probed {
	return probeFile(c.root, "proc/net/softnet_stat")
}

func (c *softnetCollector) Collect(_ context.Context, dst []Sample) ([]Sample, error) {
	fs, err := procfs.NewFS(filepath.Join(c.root, "proc"))
	if err != nil {
		return dst, err
	}
	rows, err := fs.NetSoftnetStat()
	if err != nil {
		return dst, err
	}
	for _, row := range rows {
		core := cpuName(row.Index)
		dst = c.count(dst, "softnet.processed", core, uint64(row.Processed), 1, wraps32)
		dst = c.count(dst, "softnet.dropped", core, uint64(row.Dropped), 1, wraps32)
		dst = c.count(dst, "softnet.time_squeeze", core, uint64(row.TimeSqueezed), 1, wraps32)
	}
	return dst, nil
}
