package analysis

import (
	"strings"

	"bakeoff/plan"
	"bakeoff/record"
)

// Units that name CPU time, which is not the time on a clock.
const (
	cpuPerMillion = "CPU s/M ops"
	opsPerCPU     = "ops/CPU s"
	opsPerPercent = "ops/s per %" // of all cores of the machines under test
)

// A measureKind is one line of the measure table.
type measureKind struct {
	name   string
	title  string
	unit   string
	better record.Direction
}

// measureTable is every measure that bakeoff itself knows. Measures of one kind
// of operation have its name before them ("get.throughput"), latencies come by
// percentile; figures of an engine keep their own names.
func measureTable() []measureKind {
	const up, down = record.HigherIsBetter, record.LowerIsBetter
	return []measureKind{
		{"throughput", "Throughput", "ops/s", up},
		{"items", "Items moved", "items/s", up},
		{"bandwidth", "Bandwidth", "B/s", up},
		{"duration", "Duration", "s", down},
		{"errors", "Errors, timeouts and drops", "1", down},
		{"misses", "Misses", "1", down},
		{"sut_cpu", "Server CPU per million operations", cpuPerMillion, down},
		{"cpu_efficiency", "Work per server CPU second", opsPerCPU, up},
		{"work_per_cpu_percent", "Work per percent of host CPU", opsPerPercent, up},
		{"host_cpu", "Host CPU busy", "1", record.NoDirection},
		{"generator_cpu", "Generator CPU per million operations", cpuPerMillion, record.NoDirection},
		{"nic_rx", "Network received", "B/s", record.NoDirection},
		{"nic_tx", "Network sent", "B/s", record.NoDirection},
		{"disk_read", "Read from disk", "B/s", record.NoDirection},
		{"disk_write", "Written to disk", "B/s", record.NoDirection},
		{"disk_read_latency", "Mean latency of disk reads", "s", down},
		{"disk_write_latency", "Mean latency of disk writes", "s", down},
		{"power", "Power", "W", down},
		{"energy", "Energy", "J", down},
		{"perf_per_watt", "Work per joule", "ops/J", up},
		{plan.OverallMeasure, "Work per joule over all levels", "ops/J", up},
		{"perf_per_price", "Throughput per price", "ops/s", up},
	}
}

// percentile is one of those shown.
type percentile struct {
	name, title string
	q           float64
}

func percentiles() []percentile {
	return []percentile{
		{"p50", "Median", 0.50}, {"p90", "90th percentile", 0.90}, {"p95", "95th percentile", 0.95},
		{"p99", "99th percentile", 0.99}, {"p99.9", "99.9th percentile", 0.999},
	}
}

// The names in record.Latency.
const (
	allKinds     = "all"
	serviceType  = "service"
	responseType = "response"
	lagType      = "lag"
)

func isOpenLoop(l record.Load) bool { return l.Generator.TargetRate > 0 }

// familiesOf lists the measure families that a latency type feeds: "latency" is
// what a client feels, the response time of an open loop and the service time
// of a closed one.
func familiesOf(latencyType string, open bool) []string {
	switch {
	case latencyType == responseType && open:
		return []string{"latency", responseType}
	case latencyType == serviceType && open:
		return []string{serviceType}
	case latencyType == serviceType:
		return []string{"latency"}
	}
	return []string{latencyType}
}

// kindPrefix is what stands before the measures of one kind of operation.
func kindPrefix(kind string) string {
	if kind == allKinds || kind == "" {
		return ""
	}
	return kind + "."
}

// describe finds a measure's title, unit and direction by its name. What the
// table does not know keeps its own name, with no direction.
func describe(name, unit string) measureKind {
	if m, ok := tableMeasure(name); ok {
		return m
	}
	if rest, total := strings.CutPrefix(name, plan.TotalPrefix); total {
		m := describe(rest, unit)
		m.name, m.title = name, "Total "+lowerFirst(m.title)
		return m
	}
	if kind, rest, cut := strings.Cut(name, "."); cut {
		if m, ok := tableMeasure(rest); ok {
			m.name, m.title = name, strings.ToUpper(kind)+" "+lowerFirst(m.title)
			return m
		}
	}
	return measureKind{name: name, title: name, unit: unit}
}

func tableMeasure(name string) (measureKind, bool) {
	for _, m := range measureTable() {
		if m.name == name {
			return m, true
		}
	}
	family, rest, cut := strings.Cut(name, ".")
	titles := map[string]string{"latency": "latency", serviceType: "service time", responseType: "response time", lagType: "pacing lag"}
	title, known := titles[family]
	if !cut || !known {
		return measureKind{}, false
	}
	m := measureKind{name: name, unit: "s", better: record.LowerIsBetter}
	switch rest {
	case "mean":
		m.title = "Mean " + title
		return m, true
	case "max":
		m.title = "Largest " + title
		return m, true
	}
	for _, p := range percentiles() {
		if p.name == rest {
			m.title = p.title + " " + title
			return m, true
		}
	}
	return measureKind{}, false
}

// lowerFirst begins a title in the middle of a sentence; abbreviations stay.
func lowerFirst(s string) string {
	if s == "" || len(s) > 1 && s[1] >= 'A' && s[1] <= 'Z' {
		return s
	}
	return strings.ToLower(s[:1]) + s[1:]
}

// isFraction says whether a measure is a part of a whole, which people read in
// percent.
func isFraction(name string) bool {
	for _, whole := range []string{"errors", "misses", "host_cpu"} {
		if name == whole || strings.HasSuffix(name, "."+whole) {
			return true
		}
	}
	return false
}

// measureRank orders measures as the table does, latencies between throughput
// and the rest, unknown ones last by name.
func measureRank(name string) int {
	bare := name
	if _, ok := tableMeasure(name); !ok {
		if _, rest, cut := strings.Cut(name, "."); cut {
			bare = rest
		}
	}
	perKind := 0
	if bare != name {
		perKind = 1000
	}
	for i, m := range measureTable() {
		if m.name == bare {
			if i < 4 {
				return perKind + i
			}
			return perKind + 100 + i
		}
	}
	family, rest, _ := strings.Cut(bare, ".")
	for i, f := range []string{"latency", responseType, serviceType, lagType} {
		if f == family {
			return perKind + 10 + 20*i + percentileRank(rest)
		}
	}
	return 9000
}

func percentileRank(name string) int {
	for i, p := range percentiles() {
		if p.name == name {
			return 1 + i
		}
	}
	if name == "max" {
		return 10
	}
	return 0
}
