package telemetry

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// frequencyCollector reads the present clock of each core.
type frequencyCollector struct {
	source
	root string
}

func newFrequency(root string) *frequencyCollector {
	return &frequencyCollector{newSource(frequencyMetrics()), root}
}

func (c *frequencyCollector) Describe() Description {
	return Description{
		Name: "frequency", Summary: "present clock of each core",
		Source: "/sys/devices/system/cpu/cpu*/cpufreq/scaling_cur_freq, else the MHz in /proc/cpuinfo", Metrics: frequencyMetrics(),
	}
}

func (c *frequencyCollector) Probe(ctx context.Context) Probed {
	samples, err := c.Collect(ctx, nil)
	switch {
	case err != nil:
		return Probed{Unsupported, err.Error()}
	case len(samples) == 0:
		return Probed{Unsupported, "neither cpufreq nor /proc/cpuinfo states a frequency"}
	}
	return Probed{Support: Supported}
}

func (c *frequencyCollector) Collect(_ context.Context, dst []Sample) ([]Sample, error) {
	const pattern, below = "sys/devices/system/cpu/cpu[0-9]*/cpufreq/scaling_cur_freq", 2
	files, err := filepath.Glob(filepath.Join(c.root, pattern))
	if err != nil {
		return dst, err
	}
	before := len(dst)
	for _, file := range files {
		kHz, err := readUint(file)
		if err != nil {
			continue // a core that went offline: absent, not zero
		}
		parts := strings.Split(filepath.ToSlash(file), "/")
		dst = c.value(dst, "cpu.frequency", parts[len(parts)-1-below], float64(kHz)*1e3)
	}
	if len(dst) > before {
		return dst, nil
	}
	return c.fromCPUInfo(dst)
}

func (c *frequencyCollector) fromCPUInfo(dst []Sample) ([]Sample, error) {
	path := filepath.Join(c.root, "proc/cpuinfo")
	data, err := os.ReadFile(path)
	if err != nil {
		return dst, err
	}
	core := ""
	for number, line := range bytes.Split(data, []byte{'\n'}) {
		key, value, ok := strings.Cut(string(line), ":")
		if !ok {
			continue
		}
		switch key, value = strings.TrimSpace(key), strings.TrimSpace(value); key {
		case "processor":
			core = "cpu" + value
		case "cpu MHz":
			mhz, err := strconv.ParseFloat(value, 64)
			if err != nil || mhz <= 0 || core == "" {
				return dst, fmt.Errorf("reading %s: line %d: found %.40q, expected MHz of a processor", path, number+1, line)
			}
			dst = c.value(dst, "cpu.frequency", core, mhz*1e6)
		}
	}
	return dst, nil
}
