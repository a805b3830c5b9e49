package report

import (
	"fmt"
	"math"
	"strings"

	"bakeoff/analysis"
	"bakeoff/record"
)

// threeFactors is a lab's experiment: simple effects, an interaction, two
// workloads, a line over a numeric factor, money and energy.
func threeFactors() *analysis.Result {
	r := &analysis.Result{Title: "Redis 8 and Valkey 9 on one core, by value size and I/O threads", Question: "Which server gives more operations a second, and does the answer depend on value size or I/O threads?",
		Answer: "Valkey completes 1.114 times the operations of Redis over all value sizes and thread counts (98.3 % interval 1.087 to 1.142); at 4 KiB the two are equivalent.", Run: runInfo()}
	r.Run.Hosts = []string{"client", "server"}
	r.Run.PostHoc = true
	r.Measures = []analysis.Measure{
		{Name: "throughput", Title: "Throughput", Unit: "ops/s", Better: record.HigherIsBetter, Primary: true, Margin: 0.02},
		{Name: "perf_per_watt", Title: "Work for energy", Unit: "ops/J", Better: record.HigherIsBetter, Primary: true, Margin: 0.05},
		{Name: "latency.p99", Title: "Latency p99", Unit: "s", Better: record.LowerIsBetter},
		{Name: "latency.p99.9", Title: "Latency p99.9", Unit: "s", Better: record.LowerIsBetter},
		{Name: "bandwidth", Title: "Bandwidth", Unit: "B/s", Better: record.HigherIsBetter},
		{Name: "power", Title: "Power", Unit: "W", Better: record.LowerIsBetter, Host: "server"},
		{Name: "misses", Title: "Misses", Unit: "1", Better: record.LowerIsBetter},
		{Name: "generator_cpu", Title: "CPU of the generator", Unit: "CPU s/M ops", Better: record.LowerIsBetter},
		{Name: "host_cpu", Title: "CPU busy", Unit: "1", Host: "server"},
	}
	sizes, bytes := []string{"32 B", "256 B", "1 KiB", "4 KiB"}, []float64{32, 256, 1024, 4096}
	var cells []record.Cell
	line := analysis.Chart{ID: "size", Kind: analysis.LineChart, Title: "Throughput over value size", Caption: "Centres with 95 % intervals and every trial.", Alt: "Throughput falls as values grow; valkey leads up to 1 KiB.", XLabel: "Value size", XUnit: "B", XLog: true, YLabel: "Throughput", YUnit: "ops/s"}
	seed := 0
	for si, server := range []string{"redis", "valkey"} {
		for ti, threads := range []string{"1", "4"} {
			s := analysis.Series{Name: server + ", " + threads + " I/O threads", X: bytes, Labels: sizes}
			for k, size := range sizes {
				seed++
				c := cellOf("server", server, "size", size, "io-threads", threads)
				cells = append(cells, c)
				level := 182e3 / (1 + bytes[k]/5200) * (1 + 0.16*float64(si)*float64(3-k)/3) * (1 + 0.5*float64(ti))
				sum := summary(c, "", "throughput", "ops/s", level, 0.02, seed, 5)
				r.Cells = append(r.Cells, sum,
					summary(c, "", "perf_per_watt", "ops/J", level/310, 0.025, 100+seed, 5),
					summary(c, "", "latency.p99", "s", 900e-6*182e3/level, 0.04, 200+seed, 5),
					summary(c, "", "latency.p99.9", "s", 2.4e-3*182e3/level, 0.08, 300+seed, 5),
					summary(c, "", "bandwidth", "B/s", level*bytes[k], 0.02, 400+seed, 5),
					summary(c, "", "power", "W", 310, 0.01, 500+seed, 5),
					summary(c, "", "misses", "1", 0.00012, 0.3, 600+seed, 5),
					summary(c, "", "generator_cpu", "CPU s/M ops", 0.84, 0.02, 700+seed, 5),
					summary(c, "", "host_cpu", "1", 0.52, 0.02, 800+seed, 5))
				s.Y, s.Low, s.High, s.Points = append(s.Y, sum.Center), append(s.Low, sum.Low), append(s.High, sum.High), append(s.Points, sum.Values)
			}
			line.Series = append(line.Series, s)
		}
	}
	r.Findings = threeFactorFindings(sizes)
	grouped := analysis.Chart{ID: "grouped", Kind: analysis.BarChart, Title: "Throughput by value size and server, one I/O thread", Caption: "Bars are centres, whiskers 95 % intervals.", Alt: "Valkey leads at small sizes.", YLabel: "Throughput (ops/s)"}
	for _, i := range []int{0, 2} {
		s := line.Series[i]
		s.X = nil
		grouped.Series = append(grouped.Series, s)
	}
	stack := analysis.Chart{ID: "cpu", Kind: analysis.StackChart, Title: "CPU time by mode", Caption: "Of the server's host, mean of the window.", Alt: "System time is the largest part.", YLabel: "CPU time", YUnit: "%"}
	for k, mode := range []string{"user", "system", "softirq", "steal"} {
		stack.Series = append(stack.Series, analysis.Series{Name: mode, Labels: []string{"redis", "valkey", "valkey with a configuration whose name takes much room"}, Y: []float64{22 - 4*float64(k), 25 - 6*float64(k), 18 - 5*float64(k)}})
	}
	r.Charts = []analysis.Chart{forestOf(r), line, grouped, barsOf("throughput", "Throughput", "ops/s", r), stack}
	r.Gates = gatesFixture()
	r.Trials = trialsOf(r, cells, 5)
	r.Trials[7].Status, r.Trials[7].Counted, r.Trials[7].Reason = record.StatusExcluded, false, "the rack's door was open"
	r.Trials[9].Status, r.Trials[9].Counted, r.Trials[9].Reason, r.Trials[9].Values = record.StatusFailed, false, "starting valkey: connection refused after 30 s", nil
	r.Method = []string{"Sixteen cells in five blocks, in seeded order."}
	r.Commands = []string{"bakeoff run examples/redis-valkey.yaml"}
	for _, host := range []string{"client", "server"} {
		for i := range 14 {
			r.Shared = append(r.Shared, analysis.FactRow{Host: host, Path: fmt.Sprintf("nic.eth%d.driver_firmware", i), Value: "mlx5_core 26.41.1000, 100 Gb/s, PCIe 4.0 x16, NUMA node 0"})
		}
	}
	r.Tables = []analysis.Table{
		{ID: "money", Title: "Price of the same work", Caption: "List prices as the plan gives them.", Columns: []string{"Server", "Price (USD)", "ops/s per USD", "95 % interval"}, Numeric: []bool{false, true, true, true}, Rows: [][]string{{"redis", "31,823.62", "5.719", "[5.61, 5.83]"}, {"valkey", "31,823.62", "6.371", "[6.24, 6.51]"}}},
		{ID: "energy", Title: "Energy over the window", Caption: "Wall meter, a reading a second, 100 % coverage.", Columns: []string{"Server", "Energy (kJ)", "Mean power (W)", "ops/J"}, Numeric: []bool{false, true, true, true}, Rows: [][]string{{"redis", "18.6", "310", "587"}, {"valkey", "18.7", "311", "653"}}},
		{ID: "load", Title: "Generator", Columns: []string{"Host", "Own cost (ns/op)"}, Numeric: []bool{false, true}, Rows: [][]string{{"client", "47"}}}}
	return r
}

func threeFactorFindings(sizes []string) []analysis.Finding {
	base := analysis.Finding{Kind: analysis.MainEffect, Factor: "server", Base: "redis", Against: "valkey", Measure: "throughput", Unit: "ops/s", Better: record.HigherIsBetter, Primary: true, Margin: 0.02, Scale: "ratio", Level: 0.9917, Family: 6, N: 5, Method: "t interval on the block log ratios", Replicated: "restart"}
	out := []analysis.Finding{base}
	out[0].BaseValue, out[0].AgainstValue, out[0].Effect, out[0].Low, out[0].High, out[0].Verdict = 168.2e3, 187.4e3, 1.114, 1.087, 1.142, analysis.Better
	for k, s := range sizes {
		f := base
		f.Kind, f.Where = analysis.SimpleEffect, cellOf("size", s)
		f.BaseValue, f.AgainstValue = 170e3-30e3*float64(k), (170e3-30e3*float64(k))*(1.16-0.053*float64(k))
		f.Effect = f.AgainstValue / f.BaseValue
		f.Low, f.High, f.Verdict = f.Effect*0.985, f.Effect*1.015, analysis.Better
		if k == 3 {
			f.Verdict = analysis.Equivalent
		}
		if k == 2 {
			f.Low, f.High, f.Verdict, f.NeededN = f.Effect*0.9, f.Effect*1.11, analysis.Inconclusive, 23
			f.Warnings = []record.Warning{{Gate: "too-few-blocks", Severity: record.SeveritySoft, Found: "5 blocks", Threshold: "8 blocks", Advice: "Run at least 8 blocks."}}
		}
		out = append(out, f)
	}
	inter := base
	inter.Kind, inter.Factor, inter.Base, inter.Against = analysis.Interaction, "server × io-threads", "redis, 1 → 4", "valkey, 1 → 4"
	inter.BaseValue, inter.AgainstValue, inter.Effect, inter.Low, inter.High, inter.Verdict = 1.502, 1.381, 0.919, 0.897, 0.942, analysis.Worse
	out = append(out, inter)
	diff := base
	diff.Measure, diff.Unit, diff.Scale, diff.BaseValue, diff.AgainstValue, diff.Effect, diff.Low, diff.High = "misses", "1", "difference", 0, 0.0001, 0.0001, -0.0001, 0.0003
	diff.Verdict, diff.Margin, diff.Better = analysis.Inconclusive, 0.05, record.LowerIsBetter
	out = append(out, diff)
	for i := range out {
		out[i].ID = fmt.Sprintf("f%d", i+1)
		out[i].Sentence = fmt.Sprintf("On %s, %s gives %.3g times the value of %s%s.", out[i].Measure, out[i].Against, out[i].Effect, out[i].Base, map[bool]string{true: " " + where(out[i])}[where(out[i]) != ""])
	}
	return out
}

// fortyCells is wide: forty cells with long level names.
func fortyCells() *analysis.Result {
	r := &analysis.Result{Title: "Forty configurations of one storage server", Question: "Which configuration is fastest?", Answer: "The ranking is led by configuration 7, 1.31 times the baseline (99.9 % interval 1.22 to 1.40).", Run: runInfo()}
	r.Measures = []analysis.Measure{{Name: "bandwidth", Title: "Bandwidth", Unit: "B/s", Better: record.HigherIsBetter, Primary: true, Margin: 0.03}, {Name: "latency.p99", Title: "Latency p99", Unit: "s", Better: record.LowerIsBetter}}
	var cells []record.Cell
	var names []string
	for i := range 40 {
		raid := []string{"RAID 5 over eight drives", "RAID 10"}[i%2]
		c := cellOf("layout", raid, "drive", fmt.Sprintf("vendor-model-%02d-3.84TB-firmware-A%d", i/4, i%7), "block", []string{"4K", "64K"}[i/2%2])
		cells, names = append(cells, c), append(names, c.Key())
		level := 1.1e9 * (1 + 0.31*math.Abs(math.Sin(float64(i))))
		r.Cells = append(r.Cells, summary(c, "", "bandwidth", "B/s", level, 0.03, i, 3), summary(c, "", "latency.p99", "s", 2.2e-3*1.1e9/level, 0.05, 50+i, 3))
		if i == 0 {
			continue
		}
		e := level / 1.1e9
		f := analysis.Finding{ID: fmt.Sprintf("f%d", i), Kind: analysis.MainEffect, Factor: "configuration", Base: names[0], Against: names[i], Measure: "bandwidth", Unit: "B/s", Better: record.HigherIsBetter, Primary: true, Margin: 0.03,
			BaseValue: 1.1e9, AgainstValue: level, Scale: "ratio", Effect: e, Low: e * 0.93, High: e * 1.075, Level: 0.99872, Family: 39, N: 3, Verdict: analysis.Inconclusive, Sentence: fmt.Sprintf("Configuration %d has %.3f times the bandwidth of the baseline.", i, e), Replicated: "run"}
		if f.Low > 1 {
			f.Verdict = analysis.Better
		}
		if i == 17 {
			f.Low, f.High = 0.2, 6.1
		}
		r.Findings = append(r.Findings, f)
	}
	r.Charts = []analysis.Chart{barsOf("bandwidth", "Bandwidth", "B/s", r), forestOf(r), percentiles(names), timeChart("bandwidth over time", "Bandwidth", "B/s", names, 1.2e9, "")}
	r.Gates, r.Trials = gatesFixture(), trialsOf(r, cells, 3)
	return r
}

// allInvalid is a run without a valid trial.
func allInvalid() *analysis.Result {
	r := &analysis.Result{Title: "Redis against memcached", Question: "Which is faster?", Answer: "No verdict: all 8 trials are invalid, since the generator was saturated in each.", Run: runInfo()}
	r.Run.Complete = false
	r.Measures = []analysis.Measure{{Name: "throughput", Title: "Throughput", Unit: "ops/s", Better: record.HigherIsBetter, Primary: true, Margin: 0.02}}
	cells := []record.Cell{cellOf("server", "redis"), cellOf("server", "memcached")}
	r.Findings = []analysis.Finding{{ID: "f1", Kind: analysis.MainEffect, Factor: "server", Base: "redis", Against: "memcached", Measure: "throughput", Unit: "ops/s", Better: record.HigherIsBetter, Primary: true, Margin: 0.02, Scale: "ratio",
		BaseValue: math.NaN(), AgainstValue: math.NaN(), Effect: math.NaN(), Low: math.NaN(), High: math.NaN(), Verdict: analysis.Invalid, Sentence: "No block has a valid trial of both servers."}}
	r.Charts = []analysis.Chart{{ID: "throughput", Kind: analysis.BarChart, Title: "Throughput", Alt: "No valid trial.", YLabel: "Throughput", YUnit: "ops/s", Series: []analysis.Series{{Name: "Throughput"}}}}
	r.Trials = trialsOf(r, cells, 4)
	for i := range r.Trials {
		t := &r.Trials[i]
		t.Status, t.Counted, t.Reason = record.StatusInvalid, false, "generator-saturated: its busiest worker was 99 % busy; threshold 90 %"
		t.Values["throughput"] = 1.1e6
		r.Warnings = append(r.Warnings, record.Warning{Gate: "generator-saturated", Severity: record.SeverityHard, Subject: "load kv", Found: "99 % busy", Threshold: "90 % busy", Advice: "Give the generator more workers or another host.", Trial: t.Trial, Cell: t.Cell.Key()})
	}
	r.Gates = []analysis.GateResult{{Gate: "generator-saturated", Title: "Generator saturated", Threshold: "busiest worker at most 90 %", Severity: record.SeverityHard, Checked: 8, Objected: 8}}
	return r
}

// printedFigures comes from a printed report: no trials, no run.
func printedFigures() *analysis.Result {
	r := &analysis.Result{Title: "IPv6 against IPv4 across a fragmenting core", Question: "Does IPv6 read faster than IPv4?", Answer: "By the printed figures IPv6 reads 13.83 % more than IPv4 at 256K without offload; what repetition would show is not known.", Printed: true}
	r.Measures = []analysis.Measure{{Name: "bandwidth", Title: "Bandwidth", Unit: "MiB/s", Better: record.HigherIsBetter, Primary: true}}
	v4, v6 := cellOf("ip", "v4"), cellOf("ip", "v6")
	r.Cells = []analysis.CellSummary{{Cell: v4, Measure: "bandwidth", Unit: "MiB/s", N: 1, Values: []float64{4996.95}, Center: 4996.95, Low: 4996.945, High: 4996.955, Min: 4996.95, Max: 4996.95},
		{Cell: v6, Measure: "bandwidth", Unit: "MiB/s", N: 1, Values: []float64{5688.09}, Center: 5688.09, Low: 5688.085, High: 5688.095, Min: 5688.09, Max: 5688.09}}
	r.Findings = []analysis.Finding{{ID: "f1", Kind: analysis.MainEffect, Factor: "ip", Base: "v4", Against: "v6", Measure: "bandwidth", Unit: "MiB/s", Better: record.HigherIsBetter, Primary: true, BaseValue: 4996.95, AgainstValue: 5688.09, Scale: "ratio",
		Effect: 1.138312, Low: 1.13831, High: 1.138315, N: 1, Method: "interval of the printed precision", Verdict: analysis.Descriptive, Sentence: "v6 reads 5,688.09 MiB/s against 4,996.95 MiB/s: 13.83 % more.", Replicated: "nothing that the report tells of"}}
	r.Charts = []analysis.Chart{barsOf("bandwidth", "Bandwidth", "MiB/s", r)}
	r.Method = []string{"The figures were typed from the printed table."}
	return r
}

// hostileNames has names that try to break out of every format.
func hostileNames() *analysis.Result {
	evil := []string{`<script>alert(1)</script>`, `"onmouseover="alert(1)`, "a|b*c_d`e`", "line\nbreak\ttab", "=cmd|' /C calc'!A0", "\u202Egnp.exe", strings.Repeat("long", 60), "名前がとても長い水準の名前", "]]>&amp;<!--"}
	r := &analysis.Result{Title: evil[0], Question: evil[1], Answer: evil[8], Run: runInfo()}
	r.Run.ID = `x'; rm -rf "$HOME"`
	r.Measures = []analysis.Measure{{Name: "throughput", Title: "Throughput " + evil[2], Unit: "ops/s", Better: record.HigherIsBetter, Primary: true, Margin: 0.02}}
	var cells []record.Cell
	for i, e := range evil {
		c := cellOf("block", e, evil[2], "x")
		cells = append(cells, c)
		r.Cells = append(r.Cells, summary(c, "", "throughput", "ops/s", 1e5*float64(i+1), 0.02, i, 3))
	}
	r.Findings = []analysis.Finding{{ID: "f1", Kind: analysis.MainEffect, Factor: evil[3], Base: evil[0], Against: evil[4], Measure: "throughput", Unit: "ops/s", Better: record.HigherIsBetter, Primary: true, Margin: 0.02, BaseValue: 1e5, AgainstValue: 5e5, Scale: "ratio",
		Effect: 5, Low: 4.8, High: 5.2, Level: 0.95, Family: 1, N: 3, Verdict: analysis.Better, Sentence: evil[8] + evil[2], SecondOpinion: evil[0], Replicated: evil[1]}}
	r.Charts = []analysis.Chart{barsOf("throughput", evil[0], "ops/s", r), percentiles(evil[:5]), timeChart(evil[1], evil[0], evil[8], evil, 1e5, "")}
	r.Charts[0].Alt, r.Charts[0].ID = evil[8]+evil[0], `"><script>`
	r.Gates = []analysis.GateResult{{Gate: evil[0], Title: evil[0], Threshold: evil[1], Severity: "hard", Checked: 1, NotChecked: evil[8]}}
	r.Warnings = []record.Warning{{Gate: evil[0], Severity: "hard", Found: evil[2], Advice: evil[3]}}
	r.Trials = trialsOf(r, cells, 3)
	r.Trials[0].Reason, r.Trials[0].Counted, r.Trials[0].Status = evil[3], false, record.StatusExcluded
	r.Shared = []analysis.FactRow{{Host: evil[0], Path: evil[1], Value: evil[6]}}
	r.Differs = []analysis.FactDiff{{Host: evil[0], Path: evil[6], Values: map[string]string{evil[0]: evil[2], "before": ""}}}
	r.Services = []analysis.ServiceRow{{Name: evil[0], Command: evil, Version: evil[8], Facts: map[string]string{evil[0]: evil[1]}}}
	r.Method, r.Commands = evil, []string{"```", evil[0]}
	r.Tables = []analysis.Table{{ID: evil[0], Title: evil[0], Columns: evil[:2], Numeric: []bool{true}, Rows: [][]string{{evil[2]}, evil}}}
	return r
}
