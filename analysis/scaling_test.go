package analysis_test

import (
	"fmt"
	"strings"
	"testing"

	"bakeoff/analysis"
	"bakeoff/record"
)

const sweepPlan = `
title: Over threads
hosts:
  client: {agent: local, cpus: "0"}
  server: {agent: local}
services:
  web: {host: server, command: [web], endpoint: "redis://127.0.0.1:7001", cpus: "1"}
workloads:
  get: {engine: kv, source: client, service: web, warmup: 1s, window: 10s}
factors:
  threads: {LEVELS}
primary: {throughput: {better: higher, margin: 5%}}
repeat: {blocks: 4}
`

func sweepOver(t *testing.T, levels string, blocks int, rate func(n float64) float64) *analysis.Result {
	t.Helper()
	var sets []string
	for _, l := range strings.Fields(levels) {
		sets = append(sets, fmt.Sprintf("%s: {workloads.get.pipeline: %s}", l, l))
	}
	src := strings.Replace(strings.Replace(sweepPlan, "LEVELS", strings.Join(sets, ", "), 1), "blocks: 4", fmt.Sprintf("blocks: %d", blocks), 1)
	l := newLab(t, src)
	l.rate = func(c record.Cell) float64 {
		n := 1.0
		fmt.Sscan(c[0].Level, &n)
		return rate(n)
	}
	l.noise = 0.005
	return l.analyse(l.run())
}

// A sweep over what works at once has its ideal, its steps, its knee, and the
// universal scalability law where the points support one.
func TestScaling(t *testing.T) {
	law := func(contention, coherency float64) func(float64) float64 {
		return func(n float64) float64 { return 20_000 * n / (1 + contention*(n-1) + coherency*n*(n-1)) }
	}
	for _, c := range []struct {
		name, levels string
		blocks       int
		rate         func(float64) float64
		knee         string
		remark, most string
	}{
		{"a law with a peak", "1 2 4 8 16 32", 4, law(0.05, 0.003), "4", " to ", "17"},
		{"no peak in reach", "1 2 4 8 16", 4, law(0.03, 0), "", "no cost of coherency is shown: no peak", ""},
		{"four levels", "1 2 4 8", 4, law(0.05, 0.003), "4", "refused: 4 levels", ""},
		{"two blocks", "1 2 4 8 16", 2, law(0.05, 0.003), "4", "refused: 2 whole blocks", ""},
		{"no law", "1 2 3 4 5 6", 4, func(n float64) float64 { return 20_000 * map[bool]float64{true: n, false: 2}[n < 4] }, "3", "refused: a point lies", ""},
	} {
		r := sweepOver(t, c.levels, c.blocks, c.rate)
		steps, laws := tableOf(t, r, "scaling-steps"), tableOf(t, r, "scaling-law")
		knee := ""
		for _, row := range steps.Rows {
			if row[len(row)-1] == "the knee" {
				knee = row[2]
			}
		}
		last := laws.Rows[0][len(laws.Rows[0])-1]
		if knee != c.knee || !strings.Contains(last, c.remark) {
			t.Errorf("%s: knee %q, remark %q; expected %q, %q; %v", c.name, knee, last, c.knee, c.remark, laws.Rows)
		}
		if c.most != "" && !strings.HasPrefix(laws.Rows[0][8], c.most) {
			t.Errorf("%s: most at %v, expected %s", c.name, laws.Rows[0], c.most)
		}
		var chart *analysis.Chart
		for i := range r.Charts {
			if r.Charts[i].ID == "scaling-throughput-threads" {
				chart = &r.Charts[i]
			}
		}
		if chart == nil || len(chart.Series) != 2+map[bool]int{true: 0, false: 1}[strings.HasPrefix(last, "refused")] || len(chart.Lines) != map[bool]int{true: 0, false: 1}[c.knee == ""] {
			t.Errorf("%s: chart %+v", c.name, chart)
		}
	}
}

// A number of bytes or keys is no number of workers: there is no ideal.
func TestSizesDoNotScale(t *testing.T) {
	src := strings.Replace(strings.Replace(sweepPlan, "threads: {LEVELS}", "keys: {10: {workloads.get.key_maximum: 10}, 20: {workloads.get.key_maximum: 20}, 40: {workloads.get.key_maximum: 40}}", 1), "blocks: 4", "blocks: 2", 1)
	l := newLab(t, src)
	r := l.analyse(l.run())
	for _, c := range r.Charts {
		if strings.HasPrefix(c.ID, "scaling") {
			t.Errorf("chart %s", c.ID)
		}
	}
	for _, table := range r.Tables {
		if strings.HasPrefix(table.ID, "scaling") {
			t.Errorf("table %s", table.ID)
		}
	}
}
