package telemetry

import (
	"context"
	"errors"
	"io/fs"
	"path/filepath"

	"github.com/prometheus/procfs"
)

// pressureCollector reads the kernel's pressure stall information.
type pressureCollector struct {
	source
	root string
}

func newPressure(root string) *pressureCollector {
	return &pressureCollector{newSource(pressureMetrics()), root}
}

func (c *pressureCollector) Describe() Description {
	return Description{
		Name: "pressure", Summary: "time in which tasks stalled for want of CPU, memory or I/O",
		Source: "/proc/pressure (Documentation/accounting/psi.rst)", Metrics: pressureMetrics(),
	}
}

func (c *pressureCollector) Probe(context.Context) Probed {
	return probeFile(c.root, "proc/pressure/cpu")
}

func (c *pressureCollector) Collect(_ context.Context, dst []Sample) ([]Sample, error) {
	proc, err := procfs.NewFS(filepath.Join(c.root, "proc"))
	if err != nil {
		return dst, err
	}
	for _, resource := range []string{"cpu", "memory", "io", "irq"} {
		stats, err := proc.PSIStatsForResource(resource)
		if resource == "irq" && errors.Is(err, fs.ErrNotExist) {
			continue // only with CONFIG_IRQ_TIME_ACCOUNTING, from Linux 6.1
		}
		if err != nil {
			return dst, err
		}
		// "full" says nothing for the CPU of a whole host (psi.rst).
		for _, line := range []struct {
			metric string
			stall  *procfs.PSILine
		}{{"psi." + resource + ".some", stats.Some}, {"psi." + resource + ".full", stats.Full}} {
			if line.stall != nil && c.metrics[line.metric] != nil {
				dst = c.count(dst, line.metric, "", line.stall.Total, 1e-6, restarts)
			}
		}
	}
	return dst, nil
}
