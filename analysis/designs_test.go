package analysis_test

import (
	"math"
	"slices"
	"strings"
	"testing"

	"bakeoff/analysis"
	"bakeoff/record"
)

const generations = `
title: Three generations
hosts:
  client: {agent: local, cpus: "0"}
  old: {agent: none, price: 30000 USD, facts: {cpu: Gold 6140, kernel: "5.14"}}
  mid: {agent: none, price: 30500 USD, facts: {cpu: Gold 6338, kernel: "5.14"}}
  new: {agent: none, price: 31823.62 USD, facts: {cpu: Gold 6430, kernel: "6.1"}}
services:
  redis: {host: new, endpoint: "redis://127.0.0.1:7000"}
workloads:
  get: {engine: kv, service: redis, source: client, warmup: 1s, window: 10s}
factors:
  system:
    old: {services.redis.host: old}
    mid: {services.redis.host: mid}
    new: {services.redis.host: new}
primary: {throughput: {better: higher, margin: 2%}, perf_per_price: {better: higher, margin: 2%}}
repeat: {blocks: 8}
`

func TestSystemsThatAreOtherMachines(t *testing.T) {
	l := newLab(t, generations)
	l.rate = func(c record.Cell) float64 {
		return map[string]float64{"old": 28_000, "mid": 49_200, "new": 64_280}[c[0].Level]
	}
	r := l.analyse(l.run())
	i := slices.IndexFunc(r.Differs, func(d analysis.FactDiff) bool {
		return d.Host == "server under test" && d.Path == "declared.kernel"
	})
	if i < 0 || r.Differs[i].Declared || r.Differs[i].Values["system=new"] != "6.1" || r.Differs[i].Values["system=old"] != "5.14" {
		t.Fatalf("the servers' kernels differ and the plan does not say so: %+v", r.Differs)
	}
	kernel := func(f analysis.Finding) bool {
		return slices.ContainsFunc(f.Warnings, func(w record.Warning) bool {
			return w.Gate == "undeclared-difference" && strings.Contains(w.Found, "declared.kernel")
		})
	}
	for _, f := range r.Findings {
		if f.Measure == "throughput" && kernel(f) != (f.Against == "new") {
			t.Errorf("%s against %s: %+v", f.Against, f.Base, f.Warnings)
		}
	}
	price := r.Findings[slices.IndexFunc(r.Findings, func(f analysis.Finding) bool { return f.Measure == "perf_per_price" && f.Against == "new" })]
	if want := 64_280.0 / 31823.62 / (28_000.0 / 30000); math.Abs(price.Effect/want-1) > 0.02 || price.Verdict != analysis.Better {
		t.Errorf("work for the money: %v, want %v", price.Effect, want)
	}
	table := r.Tables[slices.IndexFunc(r.Tables, func(t analysis.Table) bool { return t.ID == "efficiency-price" })]
	if len(table.Rows) != 3 || table.Rows[2][len(table.Rows[2])-1] != "31,823.62" {
		t.Errorf("%+v", table)
	}
	if _, has := r.Trials[0].Values["host_cpu"]; has {
		t.Error("the servers have no agent, so nobody knows how busy they were")
	}
	if !strings.Contains(r.Run.Replicated, "kept running") {
		t.Errorf("replicated: %s", r.Run.Replicated)
	}
}

const ladder = `
title: A tuning recipe
ladder: true
hosts: {client: {agent: local, cpus: "0"}, server: {agent: local}}
services: {kv: {host: server, command: [server], endpoint: "redis://127.0.0.1:7000", cpus: "1"}}
workloads: {get: {engine: kv, service: kv, source: client, warmup: 1s, window: 10s}}
factors:
  step:
    as it was:      {}
    bigger buffers: {settings.server.sysctl: {net.core.rmem_max: "16777216"}}
    long queue:     {settings.server.sysctl: {net.core.netdev_max_backlog: "250000"}}
primary: {throughput: {better: higher, margin: 2%}}
repeat: {blocks: 6}
`

func TestLadder(t *testing.T) {
	l := newLab(t, ladder)
	l.rate = func(c record.Cell) float64 {
		return map[string]float64{"as it was": 100_000, "bigger buffers": 120_000, "long queue": 120_100}[c[0].Level]
	}
	l.noise = 0.002
	r := l.analyse(l.run())
	want := map[string]analysis.Verdict{"as it was - bigger buffers": analysis.Better, "bigger buffers - long queue": analysis.Equivalent, "as it was - long queue": analysis.Better}
	for _, f := range r.Findings {
		if f.Primary && f.Verdict != want[f.Base+" - "+f.Against] {
			t.Errorf("%s to %s: %s", f.Base, f.Against, f.Sentence)
		}
	}
	if !strings.Contains(strings.Join(r.Method, " "), "cumulative") {
		t.Error("the method does not say that the steps are cumulative")
	}
}

const sizes = `
title: Value sizes, two loads at once
together: true
hosts: {client: {agent: local, cpus: "0"}, server: {agent: local}}
services: {kv: {host: server, command: [server], endpoint: "redis://127.0.0.1:7000", cpus: "1"}}
workloads:
  read:  {engine: kv, service: kv, source: client, warmup: 1s, window: 10s}
  write: {engine: kv, service: kv, source: client, warmup: 1s, window: 10s}
factors:
  size: {32: {workloads.*.value_size: 32}, 256: {workloads.*.value_size: 256}, 4K: {workloads.*.value_size: 4K}}
primary: {throughput: {better: higher, margin: 2%}, power: {better: lower, margin: 5%}}
repeat: {blocks: 5}
`

func TestLoadsTogetherOverSizes(t *testing.T) {
	l := newLab(t, sizes)
	l.rate = func(c record.Cell) float64 {
		return map[string]float64{"32": 100_000, "256": 90_000, "4K": 30_000}[c[0].Level]
	}
	r := l.analyse(l.run())
	count := map[string]int{}
	for _, f := range r.Findings {
		if f.Primary {
			count[f.Workload+"/"+f.Measure]++
			if f.Family != 6 {
				t.Errorf("family is %d, want 2 comparisons on 2 loads and on 1 host", f.Family)
			}
		}
	}
	if count["read/throughput"] != 2 || count["write/throughput"] != 2 || count["/power"] != 2 || len(count) != 3 {
		t.Errorf("findings: %v", count)
	}
	i := slices.IndexFunc(r.Charts, func(c analysis.Chart) bool {
		return c.Kind == analysis.LineChart && strings.HasPrefix(c.ID, "line-read-throughput")
	})
	if i < 0 {
		t.Fatal("no line over the sizes")
	}
	c := r.Charts[i]
	if !c.XLog || c.XUnit != "B" || !slices.Equal(c.Series[0].X, []float64{32, 256, 4096}) || !slices.Equal(c.Series[0].Labels, []string{"32", "256", "4K"}) {
		t.Errorf("%+v", c)
	}
	// Both loads share one server: its CPU is shared out over all operations.
	if got := r.Trials[0].Values["read/sut_cpu"]; got != r.Trials[0].Values["write/sut_cpu"] || got == 0 {
		t.Errorf("server CPU: %v", got)
	}
}

const command = `
title: A lab's own tool
hosts: {client: {agent: local}}
workloads: {tool: {engine: exec, source: client, command: [tool], deadline: 1m}}
factors: {mode: {slow: {workloads.tool.mode: slow}, fast: {workloads.tool.mode: fast}}}
primary: {score: {better: higher, margin: 2%}, duration: {better: lower, margin: 2%}}
repeat: {blocks: 5}
`

func TestFiguresOfACommand(t *testing.T) {
	l := newLab(t, command)
	seconds := map[string]float64{"slow": 20, "fast": 10}
	l.spoil = func(t *record.Trial, _ map[string][]record.Reading) {
		load := &t.Loads[0]
		mode, _ := t.Cell.Level("mode")
		load.Ended, load.Window.Seconds = "done", seconds[mode]
		load.Ledger, load.Kinds, load.Latencies, load.DataSet = record.Ledger{Offered: 1, Completed: 1}, nil, nil, nil
		load.Figures = []record.Figure{{Name: "score", Unit: "points", Value: 100 / seconds[mode], Text: map[string]string{"slow": "5", "fast": "10.00"}[mode]}}
	}
	r := l.analyse(l.run())
	for i, want := range []float64{2, 0.5} {
		if f := r.Findings[i]; f.Effect != want || f.Verdict != analysis.Better {
			t.Errorf("%s", f.Sentence)
		}
	}
	if f := r.Findings[0]; !slices.ContainsFunc(f.Warnings, func(w record.Warning) bool {
		return w.Gate == "resolution" && strings.Contains(w.Found, `"5"`)
	}) {
		t.Errorf("5 points were printed with one digit: %+v", f.Warnings)
	}
	if !strings.Contains(r.Findings[1].Sentence, "50.0 % less time = 2.000x as fast") {
		t.Errorf("%s", r.Findings[1].Sentence)
	}
	if _, has := r.Trials[0].Values["throughput"]; has {
		t.Error("one operation has a duration and no throughput")
	}
}

const alone = `
title: One server
hosts: {client: {agent: local, cpus: "0"}, server: {agent: local}}
services: {kv: {host: server, command: [server], endpoint: "redis://127.0.0.1:7000", cpus: "1"}}
workloads: {get: {engine: kv, service: kv, source: client, warmup: 1s, window: 10s}}
repeat: {blocks: 5}
`

func TestNothingToCompare(t *testing.T) {
	l := newLab(t, alone)
	r := l.analyse(l.run())
	if len(r.Findings) != 0 || !strings.HasPrefix(r.Answer, "Throughput is ") || !strings.Contains(r.Answer, "95 % interval") || !strings.Contains(r.Answer, "5 trials") {
		t.Errorf("%d findings; %s", len(r.Findings), r.Answer)
	}
	if !slices.ContainsFunc(r.Charts, func(c analysis.Chart) bool { return c.ID == "bars-throughput" && c.Series[0].Labels[0] == "all trials" }) {
		t.Errorf("charts: %+v", r.Charts)
	}
	mustEncode(t, r)
}
