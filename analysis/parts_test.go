package analysis_test

import (
	"math"
	"strings"
	"testing"

	"bakeoff/analysis"
	"bakeoff/record"
)

const twoDatabases = `
title: Two databases at once
together: true
hosts:
  client: {agent: local, cpus: "0"}
  server: {agent: local}
services:
  one: {host: server, command: [db, "1"], endpoint: "redis://127.0.0.1:7000", cpus: "1"}
  two: {host: server, command: [db, "2"], endpoint: "redis://127.0.0.1:7001", cpus: "1"}
workloads:
  a: {engine: kv, source: client, service: one, warmup: 1s, window: 10s}
  b: {engine: kv, source: client, service: two, warmup: 1s, window: 10s}
factors:
  size: {small: {workloads.*.value_size: 1}, large: {workloads.*.value_size: 2}}
primary: {total.throughput: {better: higher, margin: 5%}}
repeat: {blocks: 2}
`

// Work at once adds up inside a trial; what a target counts as a whole adds up
// over targets of their own, and nothing adds up over engines.
func TestTotals(t *testing.T) {
	for _, c := range []struct {
		name  string
		spoil func(*record.Trial)
		nopm  float64 // total, NaN for none
		total float64 // throughput
	}{
		{"targets of their own", func(*record.Trial) {}, 300, 150_000},
		{"one target", func(t *record.Trial) { t.Loads[1].Target = t.Loads[0].Target }, math.NaN(), 150_000},
		{"two engines", func(t *record.Trial) { t.Loads[1].Engine = "oltp" }, math.NaN(), math.NaN()},
	} {
		l := newLab(t, twoDatabases)
		l.noise = 0
		l.spoil = func(t *record.Trial, _ map[string][]record.Reading) {
			n := &t.Loads[1].Ledger
			n.Offered, n.Completed = n.Offered/2, n.Completed/2
			for i := range t.Loads {
				t.Loads[i].Figures = []record.Figure{{Name: "nopm", Unit: "NOPM", Value: float64(100 * (i + 1))}, {Name: "load_rate", Unit: "rows/s", Value: 5}}
			}
			c.spoil(t)
		}
		r := l.analyse(l.run())
		values := r.Trials[0].Values
		for name, want := range map[string]float64{"total.nopm": c.nopm, "total.throughput": c.total} {
			got, has := values[name]
			if has == math.IsNaN(want) || has && got != want {
				t.Errorf("%s: %s is %g (%t), expected %g", c.name, name, got, has, want)
			}
		}
		if _, has := values["total.load_rate"]; has {
			t.Errorf("%s: loading at different times is added up", c.name)
		}
		judged := 0
		for _, f := range r.Findings {
			if f.Primary && f.Verdict != analysis.Invalid {
				judged++
			}
		}
		if want := map[bool]int{true: 0, false: 1}[math.IsNaN(c.total)]; judged != want {
			t.Errorf("%s: %d findings on the total, expected %d", c.name, judged, want)
		}
		row := tableOf(t, r, "loads-at-once").Rows[0]
		if row[2] != "2" || !strings.HasPrefix(row[4], "b") || !strings.HasPrefix(row[6], "a") || row[8] != "66.7 %" {
			t.Errorf("%s: spread %v", c.name, row)
		}
	}
}
