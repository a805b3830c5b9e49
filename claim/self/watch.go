package self

import (
	"cmp"
	"maps"
	"math"
	"slices"
	"strings"

	"bakeoff/record"
)

// watched is the telemetry of one trial, each machine once: several hosts of a
// plan may be one machine, and then share a file.
type watched struct {
	machineOf map[string]string // a host's name -> all names of its machine, joined
	machines  map[string]*tracks
	span      span
}

// A span is a stretch of time, in nanoseconds of Unix time.
type span struct{ from, to int64 }

func (s span) seconds() float64 { return float64(s.to-s.from) / 1e9 }

// tracks are one machine's readings over time.
type tracks struct {
	of        map[trackKey][]mark
	collector map[string]string // that read an instance's power
}

type trackKey struct{ metric, instance string }

// A mark is one value at the middle of its own acquisition.
type mark struct {
	at    int64
	value float64
}

// watch reads the telemetry of a trial.
func watch(run *record.Run, t record.Trial) (*watched, error) {
	w := &watched{machineOf: map[string]string{}, machines: map[string]*tracks{}, span: windowSpan(t)}
	names := map[string][]string{}
	hosts := slices.Sorted(maps.Keys(t.Readings))
	for _, host := range hosts {
		names[t.Readings[host]] = append(names[t.Readings[host]], host)
	}
	for _, host := range hosts {
		same := names[t.Readings[host]]
		w.machineOf[host] = strings.Join(same, ", ")
		if same[0] != host {
			continue
		}
		rows, err := run.Readings(t.ID, host)
		if err != nil {
			return nil, err
		}
		w.machines[w.machineOf[host]] = tracksOf(rows)
	}
	return w, nil
}

// windowSpan is the time in which all loads were measured.
func windowSpan(t record.Trial) span {
	var s span
	for i, l := range t.Loads {
		own := span{l.Window.Start.UnixNano(), l.Window.End.UnixNano()}
		if i == 0 {
			s = own
		}
		s = span{max(s.from, own.from), min(s.to, own.to)}
	}
	return s
}

func tracksOf(rows []record.Reading) *tracks {
	t := &tracks{of: map[trackKey][]mark{}, collector: map[string]string{}}
	for _, r := range rows {
		key := trackKey{r.Metric, r.Instance}
		t.of[key] = append(t.of[key], mark{r.Start + (r.End-r.Start)/2, r.Value})
		if _, known := t.collector[r.Instance]; !known && slices.Contains([]string{"power", "energy", "rapl.energy"}, r.Metric) {
			t.collector[r.Instance] = r.Collector
		}
	}
	for _, marks := range t.of {
		slices.SortStableFunc(marks, func(a, b mark) int { return cmp.Compare(a.at, b.at) })
	}
	return t
}

// instances lists what a metric was read of.
func (t *tracks) instances(metric string) (names []string) {
	for key := range t.of {
		if key.metric == metric {
			names = append(names, key.instance)
		}
	}
	slices.Sort(names)
	return names
}

// typicalGap is the median distance between readings, in nanoseconds.
func typicalGap(marks []mark) int64 {
	if len(marks) < 2 {
		return 0
	}
	gaps := make([]int64, len(marks)-1)
	for i := range gaps {
		gaps[i] = marks[i+1].at - marks[i].at
	}
	slices.Sort(gaps)
	return gaps[len(gaps)/2]
}

// A flow is what readings tell of a span: a counter's growth a second, or a
// gauge's mean, over the share of the span that they cover.
type flow struct {
	rate     float64
	total    float64 // over what is covered
	coverage float64
	// noise is how far the rate may be off for the digits that the counter has:
	// a small growth of a large one keeps few of them.
	noise float64
}

// flow integrates one track over a span, interpolated at its edges; gaps of
// more than three typical ones are not covered. It is false where nothing is
// covered, or a counter fell.
func (t *tracks) flow(metric, instance string, w span, gauge bool) (flow, bool) {
	marks := t.of[trackKey{metric, instance}]
	widest := 3 * typicalGap(marks)
	total, covered, largest := 0.0, 0.0, 0.0
	for i := 1; i < len(marks); i++ {
		a, b := marks[i-1], marks[i]
		from, to := max(a.at, w.from), min(b.at, w.to)
		if from >= to || b.at-a.at > widest {
			continue
		}
		if !gauge && b.value < a.value {
			return flow{}, false
		}
		slope := (b.value - a.value) / float64(b.at-a.at)
		seconds := float64(to-from) / 1e9
		covered, largest = covered+seconds, max(largest, math.Abs(a.value), math.Abs(b.value))
		if gauge {
			total += (a.value + slope*(float64(from-a.at)+float64(to-a.at))/2) * seconds
		} else {
			total += slope * float64(to-from)
		}
	}
	if covered <= 0 || w.to <= w.from {
		return flow{}, false
	}
	const digit = 0x1p-52 // of a float64
	return flow{total / covered, total, covered / w.seconds(), 8 * digit * largest / covered}, true
}

func (t *tracks) counter(metric, instance string, w span) (flow, bool) {
	return t.flow(metric, instance, w, false)
}

// counters adds a counter over instances; its coverage is the least of theirs.
// It is false where there is none, or one cannot be told.
func (t *tracks) counters(metric string, w span, keep func(string) bool) (flow, bool) {
	sum, found := flow{coverage: 1}, false
	for _, instance := range t.instances(metric) {
		if !keep(instance) {
			continue
		}
		f, ok := t.counter(metric, instance, w)
		if !ok {
			return flow{}, false
		}
		found = true
		sum.rate, sum.noise = sum.rate+f.rate, sum.noise+f.noise
		sum.coverage = min(sum.coverage, f.coverage)
	}
	return sum, found
}

func everyInstance(string) bool { return true }

// processors is the CPU time of a machine a second: in use and in all, and the
// share of the span that is covered. Stolen and idle time are not in use.
func (t *tracks) processors(w span) (busy, all, coverage float64, ok bool) {
	coverage = 1
	for _, part := range []string{"user", "nice", "system", "irq", "softirq", "steal", "idle", "iowait"} {
		f, found := t.counter("cpu."+part, "", w)
		if !found {
			if part == "idle" || part == "user" {
				return 0, 0, 0, false
			}
			continue
		}
		all += f.rate
		coverage = min(coverage, f.coverage)
		if !slices.Contains([]string{"idle", "iowait", "steal"}, part) {
			busy += f.rate
		}
	}
	return busy, all, coverage, all > 0
}

// A source is one source of a machine's power over the window.
type source struct {
	name, class string
	watts       float64
	cadence     float64 // seconds between its own updates
	coverage    float64
	uncertainty *float64 // percent
}

// usable says whether the window holds three updates and nine tenths of it are
// covered.
func (s source) usable(seconds float64) bool { return s.coverage >= 0.9 && seconds >= 3*s.cadence }

// sources lists a machine's sources of power, from the wall inwards.
func (v *trialView) powerSources(machine string) []source {
	t := v.watch.machines[machine]
	if t == nil {
		return nil
	}
	var out []source
	add := func(metric, instance string, f flow, ok bool) {
		if ok {
			out = append(out, v.describeSource(machine, metric, instance, f))
		}
	}
	for _, i := range t.instances("energy") {
		f, ok := t.counter("energy", i, v.watch.span)
		add("energy", i, f, ok)
	}
	for _, i := range t.instances("power") {
		f, ok := t.flow("power", i, v.watch.span, true)
		add("power", i, f, ok)
	}
	// Cores and caches lie inside their package, platform holds the packages.
	outer := func(i string) bool {
		return strings.HasPrefix(i, "package") && (!strings.Contains(i, "/") || strings.HasSuffix(i, "/dram"))
	}
	if f, ok := t.counters("rapl.energy", v.watch.span, outer); ok {
		s := v.describeSource(machine, "rapl.energy", t.instances("rapl.energy")[0], f)
		s.name, s.class = "RAPL (packages and memory)", cmp.Or(s.class, "rapl")
		out = append(out, s)
	}
	rank := func(s source) int {
		classes := []string{"wall-meter", "psu", "bmc", "rapl"}
		if i := slices.Index(classes, s.class); i >= 0 {
			return i
		}
		return len(classes)
	}
	slices.SortStableFunc(out, func(a, b source) int { return cmp.Compare(rank(a), rank(b)) })
	return out
}

func (v *trialView) describeSource(machine, metric, instance string, f flow) source {
	t := v.watch.machines[machine]
	s := source{name: instance, watts: f.rate, coverage: f.coverage, cadence: float64(typicalGap(t.of[trackKey{metric, instance}])) / 1e9}
	for _, host := range slices.Sorted(maps.Keys(v.Costs)) {
		if v.watch.machineOf[host] != machine {
			continue
		}
		for _, c := range v.Costs[host] {
			if c.Collector == t.collector[instance] {
				s.class, s.uncertainty, s.cadence = c.Class, c.Uncertainty, max(s.cadence, c.Cadence)
			}
		}
	}
	return s
}
