package analysis

import (
	"slices"
	"strings"

	"bakeoff/record"
)

// maxGap is how many sampling intervals may lie between two samples before the
// stretch between them counts as not covered.
const maxGap = 3

// span is a stretch of time in nanoseconds of Unix time.
type span struct{ from, to int64 }

func (s span) seconds() float64 { return float64(s.to-s.from) / 1e9 }

// signals are the readings of one host in one trial, ready to be asked about a
// stretch of time.
type signals struct {
	rows    map[signalKey][]point
	classes map[string]string // of power sources, by instance: their collector
}

type signalKey struct{ metric, instance string }

// point is one value at the middle of its own acquisition.
type point struct {
	at    int64
	value float64
}

func newSignals(readings []record.Reading) *signals {
	s := &signals{rows: map[signalKey][]point{}, classes: map[string]string{}}
	for _, r := range readings {
		key := signalKey{r.Metric, r.Instance}
		s.rows[key] = append(s.rows[key], point{r.Start + (r.End-r.Start)/2, r.Value})
		if _, known := s.classes[r.Instance]; !known && isPower(r.Metric) {
			s.classes[r.Instance] = r.Collector
		}
	}
	for _, row := range s.rows {
		slices.SortStableFunc(row, func(a, b point) int {
			switch {
			case a.at < b.at:
				return -1
			case a.at > b.at:
				return 1
			}
			return 0
		})
	}
	return s
}

func isPower(metric string) bool {
	return metric == "power" || metric == "energy" || metric == "rapl.energy"
}

// instances lists what a metric was read of, in order.
func (s *signals) instances(metric string) []string {
	var names []string
	for key := range s.rows {
		if key.metric == metric {
			names = append(names, key.instance)
		}
	}
	slices.Sort(names)
	return names
}

// cadence is the median distance of a row's samples, in nanoseconds; 0 where
// there are fewer than two.
func cadence(row []point) int64 {
	if len(row) < 2 {
		return 0
	}
	gaps := make([]int64, 0, len(row)-1)
	for i := 1; i < len(row); i++ {
		gaps = append(gaps, row[i].at-row[i-1].at)
	}
	slices.Sort(gaps)
	return gaps[len(gaps)/2]
}

// covered is a quantity over the part of a span that samples stand for.
type covered struct {
	total    float64 // a counter's growth, or a gauge's integral over time in seconds
	seconds  float64 // of the span, that samples cover
	coverage float64 // the same, as a fraction of the span
}

// perSecond is a counter's rate or a gauge's mean.
func (c covered) perSecond() float64 { return c.total / c.seconds }

// counter is a counter's growth over the span, interpolated at its edges. It
// reports false where samples cover nothing of it or the counter fell.
func (s *signals) counter(metric, instance string, w span) (covered, bool) {
	return s.sum(metric, instance, w, func(a, b point) (float64, bool) {
		return b.value - a.value, b.value >= a.value
	})
}

// gauge is a gauge's integral over the span by trapezia.
func (s *signals) gauge(metric, instance string, w span) (covered, bool) {
	return s.sum(metric, instance, w, func(a, b point) (float64, bool) {
		return (a.value + b.value) / 2 * float64(b.at-a.at) / 1e9, true
	})
}

// sum adds a quantity over each pair of neighbouring samples, cut at the edges
// of the span.
func (s *signals) sum(metric, instance string, w span, between func(a, b point) (float64, bool)) (covered, bool) {
	row := s.rows[signalKey{metric, instance}]
	limit := maxGap * cadence(row)
	var out covered
	for i := 1; i < len(row); i++ {
		a, b, ok := cut(row[i-1], row[i], w)
		if !ok || row[i].at-row[i-1].at > limit {
			continue
		}
		part, ok := between(a, b)
		if !ok {
			return covered{}, false
		}
		out.total += part
		out.seconds += float64(b.at-a.at) / 1e9
	}
	if out.seconds <= 0 || w.to <= w.from {
		return covered{}, false
	}
	out.coverage = out.seconds / w.seconds()
	return out, true
}

// cut interpolates two neighbouring samples to the part of them inside the span.
func cut(a, b point, w span) (point, point, bool) {
	if b.at <= a.at || b.at <= w.from || a.at >= w.to {
		return a, b, false
	}
	slope := (b.value - a.value) / float64(b.at-a.at)
	first, last := a, b
	if a.at < w.from {
		first = point{w.from, a.value + slope*float64(w.from-a.at)}
	}
	if b.at > w.to {
		last = point{w.to, a.value + slope*float64(w.to-a.at)}
	}
	return first, last, true
}

// counters adds a counter over the instances that keep says to; coverage is
// the least of theirs.
func (s *signals) counters(metric string, w span, keep func(instance string) bool) (covered, bool) {
	out := covered{coverage: 1}
	found := false
	for _, instance := range s.instances(metric) {
		if !keep(instance) {
			continue
		}
		c, ok := s.counter(metric, instance, w)
		if !ok {
			return covered{}, false
		}
		found = true
		out.total += c.perSecond() * w.seconds()
		out.coverage = min(out.coverage, c.coverage)
	}
	out.seconds = w.seconds()
	return out, found
}

// cpuBusy is the host's CPU time over the span: in use, and in all.
func (s *signals) cpuBusy(w span) (busy, all covered, ok bool) {
	busy, all = covered{coverage: 1, seconds: w.seconds()}, covered{coverage: 1, seconds: w.seconds()}
	for _, part := range []string{"user", "nice", "system", "irq", "softirq", "steal", "idle", "iowait"} {
		c, found := s.counter("cpu."+part, "", w)
		if !found {
			if part == "idle" || part == "user" {
				return busy, all, false
			}
			continue
		}
		seconds := c.perSecond() * w.seconds()
		all.total += seconds
		all.coverage = min(all.coverage, c.coverage)
		// Stolen time is neither work of this host nor free to it.
		if part != "idle" && part != "iowait" && part != "steal" {
			busy.total += seconds
		}
	}
	busy.coverage = all.coverage
	return busy, all, all.total > 0
}

// isService tells a service's own row, all its processes together, from those
// of single processes.
func isService(instance string) bool { return !strings.Contains(instance, "/") }
