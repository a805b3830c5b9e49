package report

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"

	"bakeoff/analysis"
	"bakeoff/record"
)

// The results that the renderers are tested with. Their numbers come from small
// formulas: they are meant to look like a run's, not to be one's.

func fixtures() map[string]*analysis.Result {
	return map[string]*analysis.Result{
		"two-cells":     twoCells(),
		"three-factors": threeFactors(),
		"forty-cells":   fortyCells(),
		"all-invalid":   allInvalid(),
		"printed":       printedFigures(),
		"hostile":       hostileNames(),
		"empty":         {},
	}
}

func some[T any](v T) *T { return &v }

func cellOf(pairs ...string) record.Cell {
	var c record.Cell
	for i := 0; i+1 < len(pairs); i += 2 {
		c = append(c, record.Level{Factor: pairs[i], Level: pairs[i+1]})
	}
	return c
}

func runInfo() analysis.RunInfo {
	start := time.Date(2026, 3, 2, 14, 5, 9, 0, time.UTC)
	return analysis.RunInfo{ID: "20260302T140509Z-01JQ8ZC2V9", RootHash: "sha256:" + strings.Repeat("4f9ac1d2", 8), PlanHash: "sha256:" + strings.Repeat("0be1a76c", 8),
		Build: "bakeoff 0.1.0 (linux/amd64, go1.26)", Started: start, Ended: start.Add(2*time.Minute + 11*time.Second), Complete: true, Blocks: 8, Replicated: "restart", Hosts: []string{"local"}}
}

// wobble is a small, repeatable disturbance around 1.
func wobble(seed, i int, size float64) float64 {
	x := math.Sin(float64(seed)*12.9898+float64(i)*78.233) * 43758.5453
	return 1 + size*(2*(x-math.Floor(x))-1)
}

func summary(cell record.Cell, workload, measure, unit string, centre, size float64, seed, blocks int) analysis.CellSummary {
	s := analysis.CellSummary{Cell: cell, Workload: workload, Measure: measure, Unit: unit, N: blocks, Center: centre, Low: centre * (1 - size), High: centre * (1 + size), CVPercent: some(100 * size), Min: math.Inf(1), Max: math.Inf(-1)}
	for b := range blocks {
		v, _ := strconv.ParseFloat(strconv.FormatFloat(centre*wobble(seed, b, 1.6*size), 'g', 6, 64), 64) // the same on every machine
		s.Values, s.Blocks = append(s.Values, v), append(s.Blocks, b+1)
		s.Min, s.Max = math.Min(s.Min, v), math.Max(s.Max, v)
	}
	return s
}

// twoCells is a quick run: two cells, one factor, all gates passed.
func twoCells() *analysis.Result {
	r := &analysis.Result{Title: "TCP against a Unix socket on this machine", Question: "Does the embedded key-value server answer faster over a Unix socket than over TCP on loopback?",
		Answer: "Over a Unix socket the embedded server completes 1.278 times the operations that it completes over TCP (95 % interval 1.252 to 1.305), and its p99 latency is equivalent within the margin of 5 %.", Run: runInfo()}
	r.Measures = []analysis.Measure{
		{Name: "throughput", Title: "Throughput", Unit: "ops/s", Better: record.HigherIsBetter, Primary: true, Margin: 0.02},
		{Name: "latency.p99", Title: "Latency p99", Unit: "s", Better: record.LowerIsBetter, Primary: true, Margin: 0.05},
		{Name: "latency.p50", Title: "Latency p50", Unit: "s", Better: record.LowerIsBetter},
		{Name: "sut_cpu", Title: "CPU of the server", Unit: "CPU s/M ops", Better: record.LowerIsBetter},
		{Name: "host_cpu", Title: "CPU busy", Unit: "1"},
		{Name: "errors", Title: "Errors", Unit: "1", Better: record.LowerIsBetter},
	}
	tcp, unix := cellOf("transport", "tcp"), cellOf("transport", "unix")
	for i, c := range []record.Cell{tcp, unix} {
		f := []float64{1, 1.278}[i]
		r.Cells = append(r.Cells,
			summary(c, "", "throughput", "ops/s", 412.3e3*f, 0.012, 1+i, 8),
			summary(c, "", "latency.p99", "s", 183e-6*(1+0.01*float64(i)), 0.015, 11+i, 8),
			summary(c, "", "latency.p50", "s", 71e-6/f, 0.01, 21+i, 8),
			summary(c, "", "sut_cpu", "CPU s/M ops", 2.31/f, 0.02, 31+i, 8),
			summary(c, "", "host_cpu", "1", 0.83, 0.01, 41+i, 8),
			summary(c, "", "errors", "1", 0, 0, 51+i, 8))
	}
	r.Findings = []analysis.Finding{
		{ID: "f1", Kind: analysis.MainEffect, Factor: "transport", Base: "tcp", Against: "unix", Measure: "throughput", Unit: "ops/s", Better: record.HigherIsBetter, Primary: true, Margin: 0.02,
			BaseValue: 412.3e3, AgainstValue: 526.9e3, Scale: "ratio", Effect: 1.278, Low: 1.252, High: 1.305, Level: 0.975, Family: 2, N: 8, Method: "t interval on the block log ratios", ImprovementPercent: some(27.8),
			SecondOpinion: "exact signed-rank p = 0.0078", Verdict: analysis.Better, Replicated: "restart", Trials: []record.TrialID{"0001", "0002", "0003", "0004"},
			Sentence: "Throughput over unix is 1.278 times that over tcp (527 k against 412 k ops/s; 27.8 % higher, interval 25.2 to 30.5 %)."},
		{ID: "f2", Kind: analysis.MainEffect, Factor: "transport", Base: "tcp", Against: "unix", Measure: "latency.p99", Unit: "s", Better: record.LowerIsBetter, Primary: true, Margin: 0.05,
			BaseValue: 183e-6, AgainstValue: 184.8e-6, Scale: "ratio", Effect: 1.0098, Low: 0.985, High: 1.0352, Level: 0.975, Family: 2, N: 8, Method: "t interval on the block log ratios", ImprovementPercent: some(-0.98),
			Verdict: analysis.Equivalent, Replicated: "restart", Sentence: "Latency p99 over unix is equivalent to that over tcp: the interval, 1.5 % lower to 3.5 % higher, lies inside the margin of 5 %."},
		{ID: "f3", Kind: analysis.MainEffect, Factor: "transport", Base: "tcp", Against: "unix", Measure: "latency.p50", Unit: "s", Better: record.LowerIsBetter, BaseValue: 71e-6, AgainstValue: 55.6e-6, Scale: "ratio",
			Effect: 0.783, Low: 0.771, High: 0.795, Level: 0.95, Family: 1, N: 8, Verdict: analysis.Descriptive},
	}
	r.Noise = []analysis.NoiseFloor{{Measure: "throughput", Effect: 1.003, Low: 0.991, High: 1.015, N: 4, Verdict: analysis.Equivalent, Sentence: "The baseline against itself differs by less than 1.5 %."}}
	r.Charts = []analysis.Chart{barsOf("throughput", "Throughput", "ops/s", r), forestOf(r), percentiles([]string{"tcp", "unix"}),
		timeChart("throughput over time", "Throughput", "ops/s", []string{"tcp", "unix"}, 412e3, "load"), timeChart("CPU over time", "CPU of the server", "1", []string{"tcp", "unix"}, 0.88, "load")}
	r.Gates = gatesFixture()
	r.Warnings = []record.Warning{
		{Gate: "busy-neighbour", Severity: record.SeveritySoft, Subject: "local", Found: "4.1 % CPU", Threshold: "3 % CPU of other processes", Advice: "Stop what else runs on this machine and run again.", Trial: "0003", Cell: "transport=tcp"},
		{Gate: "busy-neighbour", Severity: record.SeveritySoft, Subject: "local", Found: "3.4 % CPU", Threshold: "3 % CPU of other processes", Advice: "Stop what else runs on this machine and run again.", Trial: "0011", Cell: "transport=unix"}}
	r.Trials = trialsOf(r, []record.Cell{tcp, unix}, 8)
	r.Trials[4].Status, r.Trials[4].Counted, r.Trials[4].Reason = record.StatusInvalid, false, "generator-saturated: its busiest worker was 97 % busy; threshold 90 %"
	r.Trials[5].Counted = false
	r.Shared = []analysis.FactRow{{Host: "local", Path: "cpu.model", Value: "AMD EPYC 7763 64-Core Processor"}, {Host: "local", Path: "cpu.cores", Value: "2"}, {Host: "local", Path: "kernel.release", Value: "6.12.9"},
		{Host: "local", Path: "kernel.cmdline", Value: "BOOT_IMAGE=/vmlinuz root=/dev/vda1 ro quiet mitigations=auto"}, {Host: "local", Path: "memory.total", Value: "8 GiB"}, {Host: "local", Path: "thp.enabled", Value: "madvise"}}
	r.Differs = []analysis.FactDiff{{Host: "local", Path: "services.kv.endpoint", Values: map[string]string{tcp.Key(): "tcp://127.0.0.1:40123", unix.Key(): "unix:///run/kv.sock"}, Declared: true},
		{Host: "local", Path: "cpu.governor", Values: map[string]string{tcp.Key(): "schedutil", unix.Key(): "performance"}}}
	r.Settings = []analysis.SettingRow{{Host: "local", Kind: "sysctl", Target: "net.core.somaxconn", Before: some("4096"), Wanted: "8192", ReadBack: some("8192"), AtEnd: some("8192"), Restored: some("4096"), Trials: 16}}
	r.Services = []analysis.ServiceRow{{Name: "kv", Host: "local", Command: []string{"bakeoff", "target", "kv", "--listen", "tcp://127.0.0.1:0", "--note", "it's here"}, CPUs: "0", Endpoint: "tcp://127.0.0.1:40123", Version: "embedded 1", Facts: map[string]string{"threads": "1"}, Cells: []string{tcp.Key()}, Trials: 8},
		{Name: "kv", Host: "local", Command: []string{"bakeoff", "target", "kv", "--listen", "unix:///run/kv.sock"}, CPUs: "0", Version: "embedded 1", Facts: map[string]string{"threads": "1"}, Cells: []string{unix.Key()}, Trials: 8}}
	r.Method = []string{"Two cells were run in 8 blocks. Each block is a seeded shuffle of both cells, so that drift hits both alike. The server was started afresh for every trial, pinned to core 0; the generator ran on core 1.",
		"Each trial loaded 100,000 keys of 32 B, warmed up for 2 s and measured for 5 s. Throughput counts completions in the window; latency is that of the operations intended in it.",
		"Each comparison is the mean of the block log ratios with its t interval; two comparisons share the 5 %, so each interval holds with 97.5 %."}
	r.Commands = []string{"bakeoff run --quick --seed 42", "bakeoff report 20260302T140509Z-01JQ8ZC2V9"}
	r.Tables = []analysis.Table{{ID: "efficiency", Title: "Efficiency", Caption: "Work for each CPU second of the server.", Columns: []string{"Cell", "Operations (M ops/CPU s)", "95 % interval"}, Numeric: []bool{false, true, true},
		Rows: [][]string{{"transport=tcp", "0.433", "[0.424, 0.442]"}, {"transport=unix", "0.553", "[0.542, 0.564]"}}, Notes: []string{"CPU seconds of the server's own process."}}}
	return r
}

func gatesFixture() []analysis.GateResult {
	return []analysis.GateResult{
		{Gate: "generator-saturated", Title: "Generator saturated", Threshold: "busiest worker at most 90 %", Severity: record.SeverityHard, Checked: 18, Objected: 1},
		{Gate: "errors", Title: "Errors above the limit", Threshold: "0.1 % of completed", Severity: record.SeverityHard, Checked: 18},
		{Gate: "steady", Title: "Not steady in the window", Threshold: "slope 5 %, excursion 10 %", Severity: record.SeveritySoft, Checked: 18},
		{Gate: "busy-neighbour", Title: "A busy neighbour", Threshold: "3 % CPU of other processes", Severity: record.SeveritySoft, Checked: 18, Objected: 2},
		{Gate: "clock-offset", Title: "Clock offset between hosts", Threshold: "1 ms", Severity: record.SeverityHard, NotChecked: "one host only"}}
}

func barsOf(measure, title, unit string, r *analysis.Result) analysis.Chart {
	c := analysis.Chart{ID: measure, Kind: analysis.BarChart, Title: title + " by cell", Caption: "Bars are centres, whiskers 95 % intervals, circles the trials in block order from top to bottom.",
		Alt: title + " by cell.", YLabel: title, YUnit: unit}
	s := analysis.Series{Name: title}
	for _, cell := range r.Cells {
		if cell.Measure != measure {
			continue
		}
		s.Labels = append(s.Labels, cell.Cell.Key())
		s.Y, s.Low, s.High, s.Points = append(s.Y, cell.Center), append(s.Low, cell.Low), append(s.High, cell.High), append(s.Points, cell.Values)
		c.Alt += fmt.Sprintf(" %s %.4g %s.", cell.Cell.Key(), cell.Center, unit)
	}
	c.Series = []analysis.Series{s}
	return c
}

func forestOf(r *analysis.Result) analysis.Chart {
	c := analysis.Chart{ID: "effects", Kind: analysis.ForestChart, Title: "Effects with their intervals", Caption: "Each effect as a ratio on a log scale. Inside the shaded margin a difference does not matter.", XLabel: "Ratio to the base", XUnit: "x", YUnit: "x", XLog: true,
		Bands: []analysis.Band{{Axis: "x", From: 1 / 1.02, To: 1.02, Label: "margin ±2 %"}}, Lines: []analysis.RefLine{{Axis: "x", At: 1, Label: "no difference"}}}
	var s analysis.Series
	for _, f := range r.Findings {
		if !f.Primary || f.Scale != "ratio" {
			continue
		}
		s.Labels = append(s.Labels, f.Measure+": "+compared(f))
		s.Y, s.Low, s.High, s.Notes = append(s.Y, f.Effect), append(s.Low, f.Low), append(s.High, f.High), append(s.Notes, string(f.Verdict))
		c.Alt += fmt.Sprintf("%s %s: ratio %.4g, interval %.4g to %.4g, %s. ", f.Measure, comparison(f), f.Effect, f.Low, f.High, f.Verdict)
	}
	c.Series = []analysis.Series{s}
	return c
}

func percentiles(names []string) analysis.Chart {
	c := analysis.Chart{ID: "percentiles", Kind: analysis.PercentileChart, Title: "Latency by percentile", Caption: "Response time of each cell, all trials merged. Each step to the right is ten times rarer.", Alt: "Latency rises from the median to the largest value in every cell.",
		XLabel: "Percentile", YLabel: "Latency", YUnit: "s", YLog: true}
	for k, n := range names {
		s := analysis.Series{Name: n}
		for _, q := range []float64{0.5, 0.75, 0.9, 0.95, 0.99, 0.999, 0.9999, 1} {
			left := math.Max(1-q, 2e-6)
			s.X, s.Y = append(s.X, q), append(s.Y, 52e-6*math.Pow(left, -0.24-0.03*float64(k%4))*(1+0.12*float64(k)))
		}
		c.Series = append(c.Series, s)
	}
	return c
}

func timeChart(id, label, unit string, names []string, level float64, group string) analysis.Chart {
	c := analysis.Chart{ID: id, Kind: analysis.TimeChart, Title: label + " over time", Caption: "A value a second; what is outside the window does not count.", Alt: label + " is steady in the window.",
		XLabel: "Time from the window's start", XUnit: "s", YLabel: label, YUnit: unit, Group: group, Bands: []analysis.Band{{Axis: "x", From: 0, To: 5, Label: "measured window"}}}
	for k, n := range names {
		s := analysis.Series{Name: n}
		for t := -20; t <= 55; t += 5 {
			v := level * (1 - 0.17*float64(k%5)) * wobble(k+len(id), t, 0.02)
			if t < 0 {
				v *= 1 - math.Exp(-float64(t+21)/6)
			}
			s.X, s.Y = append(s.X, float64(t)/10), append(s.Y, v)
		}
		c.Series = append(c.Series, s)
	}
	return c
}

func trialsOf(r *analysis.Result, cells []record.Cell, blocks int) []analysis.TrialRow {
	var out []analysis.TrialRow
	for b := range blocks {
		for _, cell := range cells {
			t := analysis.TrialRow{Trial: record.TrialID(fmt.Sprintf("%04d", len(out)+1)), Role: record.RoleMeasure, Block: b + 1, Attempt: 1, Cell: cell, Status: record.StatusComplete, Counted: true, Values: map[string]float64{}}
			for _, s := range r.Cells {
				if s.Cell.Key() == cell.Key() && b < len(s.Values) {
					t.Values[s.Measure] = s.Values[b]
				}
			}
			out = append(out, t)
		}
	}
	return out
}
