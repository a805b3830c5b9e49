package analysis_test

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"bakeoff/analysis"
	"bakeoff/plan"
	"bakeoff/record"
)

// These records are made so that a shortcut gives a wrong number or verdict.

// telemetryRow writes a counter or gauge over the 14 s of a lab's trial, read every
// half second.
func telemetryRow(t *record.Trial, collector, metric, instance string, kind record.MetricKind, at func(seconds float64) float64) []record.Reading {
	var out []record.Reading
	for i := range 29 {
		s := float64(i) / 2
		stamp := t.Started.UnixNano() + int64(s*1e9)
		out = append(out, record.Reading{Host: "server", Collector: collector, Metric: metric, Instance: instance, Kind: kind, Start: stamp, End: stamp, Value: at(s)})
	}
	return out
}

func without(rows []record.Reading, metrics ...string) []record.Reading {
	return slices.DeleteFunc(rows, func(r record.Reading) bool { return slices.Contains(metrics, r.Metric) })
}

func steadily(perSecond float64) func(float64) float64 {
	return func(s float64) float64 { return perSecond * s }
}

// firstValues are those of the first trial of a run.
func firstValues(t *testing.T, spoil func(*record.Trial, map[string][]record.Reading)) map[string]float64 {
	t.Helper()
	l := newLab(t, twoServers)
	l.spoil = spoil
	return l.analyse(l.run()).Trials[0].Values
}

func wantValue(t *testing.T, values map[string]float64, name string, want float64) {
	t.Helper()
	if got, has := values[name]; !has || math.Abs(got-want) > 1e-6*math.Abs(want) {
		t.Errorf("%s is %v, want %v", name, values[name], want)
	}
}

// The window lies from 1 to 11 s, between two readings at either end. Before and
// after it everything is different.
func TestOnlyTheWindowCounts(t *testing.T) {
	edge := func(outside, inside float64) func(float64) float64 {
		return func(s float64) float64 {
			return outside*min(s, 1) + inside*min(max(s-1, 0), 10) + outside*max(s-11, 0)
		}
	}
	values := firstValues(t, func(trial *record.Trial, r map[string][]record.Reading) {
		rows := without(r["server"], "cpu.user", "cpu.system", "cpu.idle", "process.cpu.user", "process.cpu.system", "nic.rx.bytes", "power")
		add := func(metric, instance string, kind record.MetricKind, at func(float64) float64) {
			rows = append(rows, telemetryRow(trial, "x", metric, instance, kind, at)...)
		}
		add("cpu.user", "", record.Counter64, edge(2, 0.4))
		add("cpu.idle", "", record.Counter64, edge(0, 1.6))
		add("process.cpu.user", trial.Services[0].Name, record.Counter64, edge(2, 0.25))
		add("process.cpu.system", trial.Services[0].Name, record.Counter64, edge(0, 0.05))
		add("nic.rx.bytes", "eth0", record.Counter64, edge(9e9, 1e6))
		r["server"] = append(rows, telemetryRow(trial, "meter", "power", "pdu", record.Gauge, func(s float64) float64 {
			if s < 1 || s > 11 {
				return 900
			}
			return 100
		})...)
		load := &trial.Loads[0]
		n := uint64(50_000)
		load.Ledger = record.Ledger{Offered: 10 * n, Completed: 10 * n}
		load.Kinds[0].Completed, load.Kinds[0].Items = 10*n, 10*n
	})
	wantValue(t, values, "host_cpu", 0.2)
	wantValue(t, values, "sut_cpu", 1e6*0.3/50_000)
	wantValue(t, values, "nic_rx", 1e6)
	wantValue(t, values, "power", 100)
	wantValue(t, values, "energy", 1000)
	wantValue(t, values, "perf_per_watt", 500)
}

// What is of the hosts is one verdict for loads that run together, and the plan
// counts it so.
func TestHostMeasuresAreCountedAsSuch(t *testing.T) {
	l := newLab(t, twoServers)
	l.stop = 1
	run := l.run()
	obs, _, err := analysis.ObserveTrial(run, l.plan, run.Trials[0])
	l.must(err)
	for _, o := range obs {
		if plan.HostMeasure(o.Measure) != (o.Workload == "") {
			t.Errorf("%s is of the workload %q, and for the plan of the hosts: %v", o.Measure, o.Workload, plan.HostMeasure(o.Measure))
		}
	}
}

// A package holds its core and uncore and not its memory; psys holds all. Every
// other sum counts something twice, or leaves it out.
func TestRAPLDomainsAreAddedOnce(t *testing.T) {
	values := firstValues(t, func(trial *record.Trial, r map[string][]record.Reading) {
		rows := without(r["server"], "power")
		for domain, watts := range map[string]float64{"package-0": 50, "package-0/core": 40, "package-0/uncore": 5, "package-0/dram": 7,
			"package-1": 60, "package-1/core": 55, "package-1/dram": 8, "psys": 200, "dram": 15} {
			rows = append(rows, telemetryRow(trial, "rapl", "rapl.energy", domain, record.Counter64, steadily(watts))...)
		}
		r["server"] = rows
	})
	wantValue(t, values, "power", 125)
	wantValue(t, values, "energy", 1250)
}

// Two meters see the same watts, and a source that counts energy knows its mean
// power better than its samples tell.
func TestMetersAreNeverAdded(t *testing.T) {
	spiky := func(s float64) float64 {
		if math.Mod(s, 1) == 0 {
			return 300 // as it happens at every reading, and at no other time
		}
		return 100
	}
	values := firstValues(t, func(trial *record.Trial, r map[string][]record.Reading) {
		rows := without(r["server"], "power")
		rows = append(rows, telemetryRow(trial, "meter", "power", "wall a", record.Gauge, spiky)...)
		rows = append(rows, telemetryRow(trial, "meter", "energy", "wall a", record.Counter64, steadily(120))...)
		rows = append(rows, telemetryRow(trial, "meter", "power", "wall b", record.Gauge, func(float64) float64 { return 119 })...)
		r["server"] = append(rows, telemetryRow(trial, "rapl", "rapl.energy", "package-0", record.Counter64, steadily(60))...)
	})
	wantValue(t, values, "power", 120)
}

// A sum over devices of which one went away half-way would be too small.
func TestHalfASumIsNoSum(t *testing.T) {
	values := firstValues(t, func(trial *record.Trial, r map[string][]record.Reading) {
		gone := telemetryRow(trial, "disk", "disk.write.bytes", "sdb", record.Counter64, steadily(5e6))
		r["server"] = append(r["server"], gone[:8]...)
	})
	if v, has := values["disk_write"]; has {
		t.Errorf("disk_write is %v, though one disk was read for 3 s only", v)
	}
	wantValue(t, values, "nic_rx", 5e6)
}

// The generator's machine may watch a process of the same name.
func TestServiceCPUIsThatOfItsOwnMachine(t *testing.T) {
	l := newLab(t, twoServers)
	l.spoil = func(trial *record.Trial, r map[string][]record.Reading) {
		name := trial.Services[0].Name
		other := append(telemetryRow(trial, "process", "process.cpu.user", name, record.Counter64, steadily(9)),
			telemetryRow(trial, "process", "process.cpu.system", name, record.Counter64, steadily(9))...)
		r["client"] = other
	}
	alone := newLab(t, twoServers)
	got, want := firstTrialOf(t, l), firstTrialOf(t, alone)
	if got["sut_cpu"] == 0 || got["sut_cpu"] != want["sut_cpu"] {
		t.Errorf("sut_cpu is %v, want %v", got["sut_cpu"], want["sut_cpu"])
	}
}

// firstTrialOf observes the lab's first trial with each host's telemetry in a file
// of its own.
func firstTrialOf(t *testing.T, l *lab) map[string]float64 {
	t.Helper()
	l.apart = true
	l.stop = 1
	run := l.run()
	obs, _, err := analysis.ObserveTrial(run, l.plan, run.Trials[0])
	l.must(err)
	out := map[string]float64{}
	for _, o := range obs {
		out[o.Measure] = o.Value
	}
	return out
}

// What the other end of a load timed is not what its source felt.
func TestLatencyIsThatOfTheSource(t *testing.T) {
	values := firstValues(t, func(t *record.Trial, _ map[string][]record.Reading) {
		sink := t.Loads[0]
		sink.Part = "sink"
		sink.Latencies = []record.Latency{{Kind: "all", Type: "service", File: "of the sink, and not there.hlog"}}
		t.Loads = append(t.Loads, sink)
	})
	alone := firstValues(t, nil)
	wantValue(t, values, "latency.p99", alone["latency.p99"])
	wantValue(t, values, "throughput", alone["throughput"])
}

// Whoever names a figure as a measure means the tool's own: the duration of the
// command that printed it is another thing.
func TestAFigureStandsForTheMeasureOfItsName(t *testing.T) {
	l := newLab(t, strings.Replace(command, "score: {better: higher, margin: 2%}, duration: {better: lower, margin: 2%}", "latency.mean: {better: lower, margin: 2%}, errors: {better: lower, margin: 2%}", 1))
	l.spoil = func(t *record.Trial, _ map[string][]record.Reading) {
		load := &t.Loads[0]
		load.Ended, load.Kinds, load.Ledger = "done", nil, record.Ledger{Offered: 1, Completed: 1}
		value := map[string]float64{"slow": 0.002013, "fast": 0.0010065}[t.Cell[0].Level]
		load.Figures = []record.Figure{{Name: "latency.mean", Unit: "s", Value: value}, {Name: "errors", Unit: "1", Value: value}}
	}
	r := l.analyse(l.run())
	for _, f := range r.Findings {
		if f.Primary && (math.Abs(f.Effect-0.5) > 1e-9 || f.Verdict != analysis.Better) {
			t.Errorf("%s", f.Sentence)
		}
	}
	wantValue(t, r.Trials[0].Values, "errors", map[string]float64{"slow": 0.002013, "fast": 0.0010065}[r.Trials[0].Cell[0].Level])
}

// With three factors an interaction is the mean over the third of two ratios. The
// third changes everything else here, and one cell in it by much.
const threeFactors = `
title: Three factors
hosts: {client: {agent: local, cpus: "0"}, server: {agent: local}}
services: {kv: {host: server, command: [server], endpoint: "redis://127.0.0.1:7000", cpus: "1"}}
workloads: {get: {engine: kv, service: kv, source: client, warmup: 1s, window: 10s}}
factors:
  a: {a0: {workloads.get.pipeline: 1}, a1: {workloads.get.pipeline: 2}}
  b: {b0: {workloads.get.connections: 1}, b1: {workloads.get.connections: 2}, b2: {workloads.get.connections: 3}}
  c: {c0: {workloads.get.value_size: 32}, c1: {workloads.get.value_size: 64}}
compare: [a x b, c, a within b x c]
primary: {throughput: {better: higher, margin: 2%}}
repeat: {blocks: 4}
`

func TestContrastsOfThreeFactors(t *testing.T) {
	l := newLab(t, threeFactors)
	l.noise = 0
	rate := func(key string) float64 {
		r := 100_000.0
		for part, times := range map[string]float64{"a=a1": 1.5, "b=b1": 0.7, "b=b2": 3, "c=c1": 0.1} {
			if strings.Contains(key, part) {
				r *= times
			}
		}
		switch key {
		case "a=a1, b=b1, c=c0":
			r *= 1.44
		case "a=a1, b=b2, c=c0":
			r *= 0.25
		case "a=a1, b=b2, c=c1":
			r *= 4
		}
		return r
	}
	l.rate = func(c record.Cell) float64 { return rate(c.Key()) }
	want := map[string]float64{
		"a0, b0 - a1, b1":       math.Sqrt(1.44),                      // of 1.44 and 1
		"a0, b0 - a1, b2":       1,                                    // of a quarter and four times
		"c0 - c1":               0.1 * math.Pow(4/(1.44*0.25), 1.0/6), // six pairs, two of which differ
		"a0 - a1 @ b=b1 @ c=c0": 1.5 * 1.44, "a0 - a1 @ b=b2 @ c=c1": 6, "a0 - a1 @ b=b0 @ c=c0": 1.5,
	}
	found := 0
	for _, f := range l.analyse(l.run()).Findings {
		if !f.Primary {
			continue
		}
		name := f.ID[strings.LastIndex(f.ID, " / ")+3:]
		if effect, listed := want[name]; listed {
			found++
			if math.Abs(f.Effect/effect-1) > 1e-4 {
				t.Errorf("%s: %v, want %v", name, f.Effect, effect)
			}
		}
		if f.Family != 9 || math.Abs(f.Level-1+0.05/9) > 1e-9 {
			t.Errorf("%s: one of %d at %v, want 2 interactions, 1 main and 6 simple effects", name, f.Family, f.Level)
		}
	}
	if found != len(want) {
		t.Errorf("%d of %d effects found", found, len(want))
	}
}

// The lab gets twice as fast half-way, and the fast server's trials of the slow
// half are lost: means of what is left would say that it is 30 % faster, while in
// every block that holds both it is 10 % slower.
func TestLostTrialsDoNotMoveTheEffect(t *testing.T) {
	l := newLab(t, strings.Replace(twoServers, "repeat: {blocks: 8}", "repeat: {blocks: 12}\nretries: 0", 1))
	l.rate = func(c record.Cell) float64 {
		if level, _ := c.Level("server"); level == "fast" {
			return 90_000
		}
		return 100_000
	}
	l.noise = 0.001
	l.spoil = func(t *record.Trial, _ map[string][]record.Reading) {
		load := &t.Loads[0]
		if t.Block > 6 {
			load.Window.Seconds /= 2
		}
		if server, _ := t.Cell.Level("server"); server == "fast" && t.Block <= 6 && t.Block > 1 {
			load.Ledger.Offered++ // its ledger does not close
		}
	}
	r := l.analyse(l.run())
	f := r.Findings[0]
	if f.N != 7 || math.Abs(f.Effect-0.9) > 0.01 || f.Verdict != analysis.Worse {
		t.Errorf("%d blocks, %v, %s: want the 7 blocks that hold both", f.N, f.Effect, f.Verdict)
	}
	if !slices.ContainsFunc(r.Warnings, func(w record.Warning) bool { return w.Gate == "uneven-losses" }) {
		t.Errorf("5 of 12 trials of one level were lost and none of the other's, and nobody says so: %+v", r.Warnings)
	}
}

// At the most blocks the verdict stands, from the interval that the pilot's spread
// makes, and says that it is wider than was wanted.
func TestVerdictWhereTheMostBlocksWereNotEnough(t *testing.T) {
	l := newLab(t, strings.Replace(twoServers, "{blocks: 8}", "{pilot: 8, until: 1%, max: 12}", 1))
	l.noise = 0.04
	f := l.analyse(l.run()).Findings[0]
	i := slices.IndexFunc(f.Warnings, func(w record.Warning) bool { return w.Gate == "precision-not-reached" })
	if f.N != 12 || f.Verdict != analysis.Better || i < 0 || f.Warnings[i].Severity != record.SeveritySoft {
		t.Fatalf("n %d, %s, %+v", f.N, f.Verdict, f.Warnings)
	}
	if !strings.Contains(f.Method, "pilot's 8 blocks") && !strings.Contains(f.Method, "far above") {
		t.Errorf("method: %s", f.Method)
	}
}

// One window in which the server stalled is noise. Most of a cell's windows are
// another state than the plan asks about.
func TestUnsteadyTrials(t *testing.T) {
	for bad, want := range map[int]analysis.Verdict{0: analysis.Better, 1: analysis.Better, 4: analysis.Better, 5: analysis.Invalid} {
		l := newLab(t, twoServers)
		l.spoil = func(t *record.Trial, _ map[string][]record.Reading) {
			if server, _ := t.Cell.Level("server"); server == "fast" && t.Block <= bad {
				t.Loads[0].Steady = &record.Steadiness{SlopePercent: 40, ExcursionPercent: 20, Intervals: 100}
			}
		}
		r := l.analyse(l.run())
		if f := r.Findings[0]; f.Verdict != want || f.N != 8 {
			t.Errorf("%d of 8 trials unsteady: %s, %d blocks", bad, f.Sentence, f.N)
		}
		if bad == 5 && !strings.Contains(r.Findings[0].Sentence, "in 5 of the 8 trials of server=fast") {
			t.Errorf("%s", r.Findings[0].Sentence)
		}
	}
}

// A thousand operations at random times show a slope of 11 % for one standard
// deviation: that is no unsteadiness.
func TestFewOperationsAreNotUnsteady(t *testing.T) {
	for n, want := range map[uint64]bool{1000: false, 1_000_000: true} {
		trial, readings, limits := sound(t)
		load := &trial.Loads[0]
		load.Ledger = record.Ledger{Offered: n, Completed: n}
		load.Kinds[0].Completed = n
		load.Steady = &record.Steadiness{SlopePercent: 22, ExcursionPercent: 25, Intervals: 100}
		got := slices.ContainsFunc(analysis.CheckTrial(trial, readings, limits), func(w record.Warning) bool { return w.Gate == "not-steady" })
		if got != want {
			t.Errorf("%d operations with a slope of 22 %%: objected is %v", n, got)
		}
	}
}

// A quarter of the machine taken makes a trial invalid, and its block is measured
// again.
func TestBusyNeighbourRepeatsTheBlock(t *testing.T) {
	l := newLab(t, twoServers)
	l.spoil = func(trial *record.Trial, r map[string][]record.Reading) {
		if trial.Block == 2 && trial.Attempt == 1 {
			r["server"] = append(without(r["server"], "neighbour.cpu"), telemetryRow(trial, "process", "neighbour.cpu", "", record.Counter64, steadily(1.2))...)
		}
	}
	r := l.analyse(l.run())
	if f := r.Findings[0]; f.N != 8 || f.Verdict != analysis.Better {
		t.Errorf("%d blocks, %s", f.N, f.Sentence)
	}
	if len(r.Trials) != 17 || r.Trials[2].Counted || !strings.Contains(r.Trials[2].Reason, "busy-neighbour") {
		t.Errorf("%d trials; the third: %+v", len(r.Trials), r.Trials[2])
	}
}

// What was due and never sent waits at the least until the close, but stands low
// in the histogram where it was due just before.
func TestOperationsThatWereNeverSent(t *testing.T) {
	for _, c := range []struct {
		timedOut, unsent uint64
		p50, p99, worst  record.Severity
	}{
		{0, 0, "", "", ""},
		{0, 50, "", "", record.SeveritySoft},                                        // p99.9: 100 lie beyond
		{0, 200, "", record.SeveritySoft, record.SeveritySoft},                      // p99: 1002 lie beyond
		{200, 0, "", "", record.SeveritySoft},                                       // these stand high
		{900, 200, "", record.SeverityHard, record.SeveritySoft},                    // together more than lie beyond
		{0, 60_000, record.SeveritySoft, record.SeverityHard, record.SeveritySoft},  // of 160,000
		{0, 150_000, record.SeverityHard, record.SeverityHard, record.SeveritySoft}, // of 250,000
	} {
		trial, readings, limits := sound(t)
		load := &trial.Loads[0]
		load.Ledger = record.Ledger{Offered: 100_000, Completed: 100_000 - c.timedOut, TimedOut: c.timedOut, Backlog: c.unsent}
		load.Generator.TargetRate = 1
		load.Latencies = []record.Latency{{Kind: "all", Type: "service", Censored: c.timedOut}, {Kind: "all", Type: "response", Censored: c.timedOut + c.unsent}}
		got := map[string]record.Severity{}
		hard := map[string]bool{}
		for _, w := range analysis.CheckTrial(trial, readings, limits) {
			if w.Gate == "timeouts-censored" {
				figure, _, _ := strings.Cut(w.Subject, " of ")
				got[figure], hard[figure] = w.Severity, strings.HasSuffix(w.Found, "is longer")
			}
		}
		for figure, want := range map[string]record.Severity{"latency.p50, response.p50": c.p50, "latency.p99, response.p99": c.p99, "latency.mean, response.mean": c.worst} {
			// Hard for findings is soft for the trial.
			if (got[figure] != "") != (want != "") || hard[figure] != (want == record.SeverityHard) {
				t.Errorf("%+v: %s is %q (bound known to be low: %v), want %q", c, figure, got[figure], hard[figure], want)
			}
		}
	}
}

// Percentiles are of all instances of a load together: so are the operations
// beyond them.
func TestInstancesShareTheirTail(t *testing.T) {
	trial, readings, limits := sound(t)
	load := trial.Loads[0]
	load.Ledger = record.Ledger{Offered: 600, Completed: 600}
	load.Kinds = []record.KindCount{{Kind: "get", Completed: 600}}
	trial.Loads = nil
	for i := range 20 {
		load.Instance = i
		trial.Loads = append(trial.Loads, load)
	}
	for _, w := range analysis.CheckTrial(trial, readings, limits) {
		t.Errorf("12,000 operations of 20 instances carry a p99.9, and yet: %s %s", w.Subject, w.Found)
	}
	for i := range trial.Loads {
		trial.Loads[i].Latencies = []record.Latency{{Kind: "all", Type: "service", Censored: 3}}
	}
	var subjects []string
	for _, w := range analysis.CheckTrial(trial, readings, limits) {
		subjects = append(subjects, w.Subject)
	}
	if got := strings.Join(subjects, "; "); got != "latency.p99.9 of get over 20 loads; latency.max of get over 20 loads; latency.mean of get over 20 loads" {
		t.Errorf("60 of 12,000 timed out: %s", got)
	}
}

// What the gates say of either record's trials holds in a comparison of the two.
func TestCompareHearsTheGates(t *testing.T) {
	a, b := newLab(t, twoServers), newLab(t, twoServers)
	b.spoil = func(t *record.Trial, _ map[string][]record.Reading) {
		for i := range t.Loads[0].Latencies {
			t.Loads[0].Latencies[i].Censored = t.Loads[0].Ledger.Completed / 20
		}
	}
	r, err := analysis.Compare(analysis.Source{Run: a.run(), Plan: a.plan}, analysis.Source{Run: b.run(), Plan: b.plan})
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range r.Findings {
		if !f.Primary {
			continue
		}
		if want := f.Measure == "latency.p99"; (f.Verdict == analysis.Invalid) != want {
			t.Errorf("%s: every twentieth operation of B timed out", f.Sentence)
		}
	}
	if text := fmt.Sprint(r.Findings); !strings.Contains(text, "B: latency.p99") {
		t.Error("no warning names the record that it is about")
	}
}

// A meter that contradicts itself spoils what rests on its watts, and nothing else.
func TestNotesOfAMeter(t *testing.T) {
	l := newLab(t, strings.Replace(twoServers, "latency.p99: {better: lower, margin: 5%}", "power: {better: lower, margin: 5%}", 1))
	l.costs = func(costs []record.CollectorCost) { costs[0].Notes = []string{"consumption above its own limit"} }
	r := l.analyse(l.run())
	for _, f := range r.Findings {
		heard := slices.ContainsFunc(f.Warnings, func(w record.Warning) bool { return strings.Contains(w.Found, "above its own limit") })
		if f.Primary && heard != (f.Measure == "power") {
			t.Errorf("%s: %+v", f.Measure, f.Warnings)
		}
	}
}
