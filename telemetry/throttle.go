package telemetry

import (
	"context"
	"path/filepath"
)

// throttleCollector reads how often the hardware slowed down for heat.
type throttleCollector struct {
	source
	root string
}

func newThrottle(root string) *throttleCollector {
	return &throttleCollector{newSource(throttleMetrics()), root}
}

func (c *throttleCollector) Describe() Description {
	return Description{
		Name: "throttle", Summary: "times and time that cores and packages were slowed down for heat (Intel)",
		Source: "/sys/devices/system/cpu/cpu*/thermal_throttle (Documentation/ABI/testing/sysfs-devices-system-cpu)", Metrics: throttleMetrics(),
	}
}

func (c *throttleCollector) Probe(context.Context) Probed {
	if dirs, err := c.dirs(); err != nil || len(dirs) == 0 {
		return Probed{Unsupported, "no core has a thermal_throttle directory in sysfs"}
	}
	return Probed{Support: Supported}
}

func (c *throttleCollector) dirs() ([]string, error) {
	return filepath.Glob(filepath.Join(c.root, "sys/devices/system/cpu/cpu[0-9]*/thermal_throttle"))
}

func (c *throttleCollector) Collect(_ context.Context, dst []Sample) ([]Sample, error) {
	dirs, err := c.dirs()
	if err != nil {
		return dst, err
	}
	packages := make(map[string]bool)
	for _, dir := range dirs {
		cpu := filepath.Dir(dir)
		dst = c.pair(dst, dir, "core", filepath.Base(cpu))
		// Every core of a package shows the package's counter.
		id, err := readUint(filepath.Join(cpu, "topology/physical_package_id"))
		if err != nil {
			continue
		}
		name := packageName(id)
		if !packages[name] {
			packages[name] = true
			dst = c.pair(dst, dir, "package", name)
		}
	}
	return dst, nil
}

// pair adds the count and, where the kernel keeps it (5.4), the time.
func (c *throttleCollector) pair(dst []Sample, dir, of, instance string) []Sample {
	if raw, err := readUint(filepath.Join(dir, of+"_throttle_count")); err == nil {
		dst = c.count(dst, "throttle."+of, instance, raw, 1, restarts)
	}
	if raw, err := readUint(filepath.Join(dir, of+"_throttle_total_time_ms")); err == nil {
		dst = c.count(dst, "throttle."+of+".time", instance, raw, 1e-3, restarts)
	}
	return dst
}
