package telemetry

import (
	"context"
	"maps"
	"os"
	"path/filepath"
	"slices"

	"github.com/prometheus/procfs"
)

// nicCollector reads the counters of network interfaces, those of the network
// namespace that this process is in.
type nicCollector struct {
	source
	root   string
	family map[string]string // of an interface, once it is known
}

func newNIC(root string) *nicCollector {
	return &nicCollector{newSource(nicMetrics()), root, make(map[string]string)}
}

func (c *nicCollector) Describe() Description {
	return Description{
		Name: "nic", Summary: "bytes, packets, drops and errors of network interfaces in bakeoff's own network namespace",
		Source: "/proc/net/dev (proc(5))", Metrics: nicMetrics(),
	}
}

func (c *nicCollector) Probe(context.Context) Probed { return probeFile(c.root, "proc/net/dev") }

func (c *nicCollector) Collect(_ context.Context, dst []Sample) ([]Sample, error) {
	fs, err := procfs.NewFS(filepath.Join(c.root, "proc"))
	if err != nil {
		return dst, err
	}
	devices, err := fs.NetDev()
	if err != nil {
		return dst, err
	}
	for _, name := range slices.Sorted(maps.Keys(devices)) {
		dst = c.device(dst, name, devices[name])
	}
	return dst, nil
}

func (c *nicCollector) device(dst []Sample, name string, d procfs.NetDevLine) []Sample {
	family := c.familyOf(name)
	for _, counter := range []struct {
		suffix string
		raw    uint64
	}{
		{".rx.bytes", d.RxBytes}, {".rx.packets", d.RxPackets}, {".rx.errors", d.RxErrors},
		{".rx.drops", d.RxDropped}, {".rx.fifo", d.RxFIFO}, {".rx.frame", d.RxFrame}, {".rx.multicast", d.RxMulticast},
		{".tx.bytes", d.TxBytes}, {".tx.packets", d.TxPackets}, {".tx.errors", d.TxErrors},
		{".tx.drops", d.TxDropped}, {".tx.fifo", d.TxFIFO}, {".tx.collisions", d.TxCollisions}, {".tx.carrier", d.TxCarrier},
	} {
		// Some drivers still count in 32 bits.
		dst = c.count(dst, family+counter.suffix, name, counter.raw, 1, wraps32)
	}
	return dst
}

// familyOf says whether an interface has hardware behind it.
func (c *nicCollector) familyOf(name string) string {
	if family, ok := c.family[name]; ok {
		return family
	}
	dir := filepath.Join(c.root, "sys/class/net", name)
	family := "nic"
	if _, err := os.Stat(dir); err != nil {
		if name == "lo" {
			family = "vnic"
		}
	} else if _, err := os.Stat(filepath.Join(dir, "device")); err != nil {
		family = "vnic"
	}
	c.family[name] = family
	return family
}
