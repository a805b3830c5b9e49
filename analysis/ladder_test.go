package analysis_test

import (
	"strings"
	"testing"

	"bakeoff/record"
)

const fourSteps = `
title: A recipe
ladder: true
hosts:
  client: {agent: local, cpus: "0"}
  server: {agent: local}
services:
  web: {host: server, command: [web], endpoint: "redis://127.0.0.1:7001", cpus: "1"}
workloads:
  get: {engine: kv, source: client, service: web, warmup: 1s, window: 10s}
factors:
  step: {as found: {}, buffers: {workloads.get.pipeline: 2}, coalescing: {workloads.get.ratio: "1:1"}, old advice: {workloads.get.value_size: 2}}
primary: {throughput: {better: higher, margin: 2%}}
repeat: {blocks: 6}
`

// A ladder's report says what all steps did, what each did, and names those that
// did nothing.
func TestLadderReport(t *testing.T) {
	l := newLab(t, fourSteps)
	l.noise = 0.002
	l.rate = func(c record.Cell) float64 {
		return map[string]float64{"as found": 100_000, "buffers": 120_000, "coalescing": 120_100, "old advice": 108_000}[c[0].Level]
	}
	r := l.analyse(l.run())
	for _, want := range []string{"All steps together: Throughput with step=old advice is ", "against 100", "Helped: buffers. Did nothing: coalescing. Made it worse: old advice."} {
		if !strings.Contains(r.Answer, want) {
			t.Errorf("the answer does not say %q: %s", want, r.Answer)
		}
	}
	table := tableOf(t, r, "ladder")
	if len(table.Rows) != 4 || table.Rows[1][5] != "better" || !strings.HasPrefix(table.Rows[1][3], "+19.9") || table.Rows[1][6] != "" || !strings.HasPrefix(table.Rows[2][6], "+20") || !strings.HasPrefix(table.Rows[3][3], "-10") || table.Rows[0][3] != "" {
		t.Errorf("rows %v", table.Rows)
	}
	if len(table.Notes) != 1 || !strings.Contains(table.Notes[0], "Did nothing: coalescing") {
		t.Errorf("notes %v", table.Notes)
	}
}
