package telemetry

import (
	"bytes"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strconv"
)

// A source is what the collectors share: their metrics by name, and the memory
// that turns counters which wrap or restart into counters that only grow.
type source struct {
	metrics map[string]*Metric
	seen    map[counterKey]*grown
}

type counterKey struct{ metric, instance string }

type grown struct {
	raw   uint64 // as last read
	total uint64 // with wraps and restarts taken out
}

func newSource(metrics []Metric) source {
	s := source{metrics: make(map[string]*Metric, len(metrics)), seen: make(map[counterKey]*grown)}
	for i := range metrics {
		s.metrics[metrics[i].Name] = &metrics[i]
	}
	return s
}

// value appends one value.
func (s *source) value(dst []Sample, metric, instance string, v float64) []Sample {
	return append(dst, Sample{Metric: s.metrics[metric], Instance: instance, Value: v})
}

// count appends a counter's value: what rule makes of raw, times unit.
func (s *source) count(dst []Sample, metric, instance string, raw uint64, unit float64, rule growth) []Sample {
	total := s.grow(metric, instance, raw, rule)
	return s.value(dst, metric, instance, scaled(total, unit))
}

// scaled is raw times unit. A decimal fraction is divided by, which rounds once:
// 3535 ticks of 0.01 s are 35.35 s, not 35.350000000000001.
func scaled(raw uint64, unit float64) float64 {
	if unit < 1 {
		return float64(raw) / math.Round(1/unit)
	}
	return float64(raw) * unit
}

// grow returns the counter's total after raw was read.
func (s *source) grow(metric, instance string, raw uint64, rule growth) uint64 {
	key := counterKey{metric, instance}
	g := s.seen[key]
	if g == nil {
		s.seen[key] = &grown{raw, raw}
		return raw
	}
	if raw >= g.raw {
		g.total += raw - g.raw
		g.raw = raw
		return g.total
	}
	delta, backwards := rule(g.raw, raw)
	g.total += delta
	if !backwards {
		g.raw = raw
	}
	return g.total
}

// A growth says by how much a counter grew that was read as raw after a larger
// prev, or that it only seemed to run backwards and prev still holds.
type growth func(prev, raw uint64) (delta uint64, backwards bool)

// restarts is the growth of a counter that begins again at 0 when its device or
// driver does. What was counted between the last sample and the restart is lost.
func restarts(_, raw uint64) (uint64, bool) { return raw, false }

// wraps32 is the growth of a counter that the kernel prints from 32 bits: it
// wrapped when it went from the top quarter of its range to the bottom quarter,
// and otherwise restarted.
func wraps32(prev, raw uint64) (uint64, bool) {
	const quarter = 1 << 30
	if prev < 4*quarter && prev >= 3*quarter && raw < quarter {
		return 4*quarter - prev + raw, false
	}
	return raw, false
}

// wrapsAt is the growth of a counter that goes from highest to 0.
func wrapsAt(highest uint64) growth {
	return func(prev, raw uint64) (uint64, bool) {
		if prev > highest {
			return raw, false
		}
		return highest - prev + raw, false
	}
}

// ticksJitter is how far a CPU time may run backwards, in ticks, as iowait and
// idle do when a core comes and goes (Documentation/filesystems/proc.rst).
const ticksJitter = 300

// jitters is the growth of a CPU time.
func jitters(prev, raw uint64) (uint64, bool) {
	if prev-raw <= ticksJitter {
		return 0, true
	}
	return raw, false
}

// userTick is the length of one tick of the CPU times that the kernel shows,
// in seconds: USER_HZ is 100 on every architecture this product runs on.
const userTick = 0.01

// cpuName returns the instance of core n, "cpu0".
func cpuName[N ~int | ~int64 | ~uint32](n N) string { return "cpu" + strconv.FormatInt(int64(n), 10) }

// readUint reads a file that holds one unsigned number, as those in sysfs do.
func readUint(path string) (uint64, error) {
	data, err := os.ReadFile(path)
	if err != nil {
		return 0, err
	}
	v, err := strconv.ParseUint(string(bytes.TrimSpace(data)), 10, 64)
	if err != nil {
		return 0, fmt.Errorf("reading %s: found %.40q, expected a number", path, data)
	}
	return v, nil
}

// probeFile says whether a file under root can be read.
func probeFile(root string, name ...string) Probed {
	path := filepath.Join(append([]string{root}, name...)...)
	f, err := os.Open(path)
	switch {
	case os.IsNotExist(err):
		return Probed{Unsupported, path + " is not there"}
	case os.IsPermission(err):
		return Probed{Unsupported, "no permission to read " + path + ": run as root"}
	case err != nil:
		return Probed{Unknown, err.Error()}
	}
	defer f.Close()
	// One byte shows what only a read can, such as EOPNOTSUPP of a kernel
	// that was started without pressure accounting.
	if n, err := f.Read(make([]byte, 1)); n == 0 && err != nil {
		return Probed{Unsupported, fmt.Sprintf("reading %s: %v", path, err)}
	}
	return Probed{Support: Supported}
}
