package analysis_test

import (
	"fmt"
	"strings"
	"testing"

	"bakeoff/analysis"
	"bakeoff/record"
)

const oneServer = `
title: One server
hosts:
  client: {agent: local, cpus: "0"}
  server: {agent: local}
services:
  slow: {host: server, command: [slow-server], endpoint: "redis://127.0.0.1:7001", cpus: "1"}
workloads:
  get: {engine: kv, source: client, service: slow, warmup: 1s, window: 10s}
peak: {over: workloads.get.connections, PEAK}
repeat: {blocks: 1}
`

// peaksOf is twoServers with a search, and more of it.
func peaksOf(more string) string {
	return strings.Replace(twoServers, "blocks: 8", "blocks: 2", 1) + "peak: {over: workloads.get.connections, from: 16, to: 128" + more + "}\n"
}

func tableOf(t *testing.T, r *analysis.Result, id string) analysis.Table {
	t.Helper()
	for _, table := range r.Tables {
		if table.ID == id {
			return table
		}
	}
	t.Fatalf("no table %s", id)
	return analysis.Table{}
}

// The report names what bound each cell at its peak, from what telemetry, caps
// and failures say.
func TestPeakLimits(t *testing.T) {
	busy := func(metric, instance string, share float64) func(*record.Trial, map[string][]record.Reading) {
		return func(trial *record.Trial, readings map[string][]record.Reading) {
			for _, r := range readings["server"] {
				if r.Metric == "cpu.user" {
					s := float64(r.Start-trial.Started.UnixNano()) / 1e9
					r.Metric, r.Instance, r.Value = metric, instance, share*s
					readings["server"] = append(readings["server"], r)
				}
			}
		}
	}
	users := func(trial *record.Trial) (n int) { fmt.Sscan(trial.At, &n); return n }
	for name, c := range map[string]struct {
		more  string
		spoil func(*record.Trial, map[string][]record.Reading)
		want  string
	}{
		"nothing at its limit": {want: "none that telemetry shows: generator 50 % (busiest worker of get on client), server CPU 80 % (slow on its cores 1)"},
		"generator, nearly":    {want: "the generator: generator 90 % (busiest worker of get on client); the server may do more", spoil: func(t *record.Trial, _ map[string][]record.Reading) { t.Loads[0].Generator.BusyFraction = 0.9 }},
		"generator": {want: "the generator: at 34, generator-saturated: the busiest of 1 workers was busy 99 % of the window; the server may do more", spoil: func(t *record.Trial, _ map[string][]record.Reading) {
			if users(t) > 33 {
				t.Loads[0].Generator.BusyFraction = 0.99
			}
		}},
		"disk": {want: "disk 97 % (sdb on client, server)", spoil: busy("disk.busy", "sdb", 0.97)},
		"locks": {want: "locks 25 %", spoil: func(t *record.Trial, _ map[string][]record.Reading) {
			t.Loads[0].Counters = []record.Counter{{Name: "target.row_lock_time", Unit: "s", Open: 7, Close: 7 + 2.5*float64(users(t))}}
		}},
		"full": {more: ", trials: 5", want: "none that telemetry shows"},
		"end":  {more: "", want: "the end of the range, 32: more might do better"},
		"refused": {want: "34 could not be run: errors: 12.5 %", spoil: func(t *record.Trial, _ map[string][]record.Reading) {
			if n := &t.Loads[0].Ledger; users(t) > 33 {
				n.Failed, n.Completed = n.Completed/8, n.Completed-n.Completed/8
			}
		}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			src := strings.Replace(oneServer, "PEAK", "from: 16, to: 128"+c.more, 1)
			if name == "end" {
				src = strings.Replace(src, "to: 128", "to: 32", 1)
			}
			l := newLab(t, src)
			l.spoil, l.noise = c.spoil, 0
			r := l.analyse(l.run())
			row := tableOf(t, r, "peaks").Rows[0]
			limit := row[5]
			if !strings.Contains(limit, c.want) {
				t.Errorf("limit %q, expected %q; row %v", limit, c.want, row)
			}
		})
	}
}

// Curves, peaks and what is judged: the report has every load that was searched,
// marks the peak, and judges the blocks alone.
func TestPeakReport(t *testing.T) {
	l := newLab(t, peaksOf(", cap: {p99: 400ms}"))
	run := l.run()
	r := l.analyse(run)
	searched := 0
	for _, trial := range r.Trials {
		if trial.Role == record.RoleSearch {
			if searched++; trial.Counted || trial.At == "" || !strings.Contains(trial.Reason, "looked for the peak") {
				t.Errorf("a trial of the search: %+v", trial)
			}
		}
	}
	if searched < 12 || r.Run.Blocks != 2 || len(r.Findings) == 0 || r.Findings[0].N != 2 {
		t.Errorf("%d trials searched, %d blocks, %d findings", searched, r.Run.Blocks, len(r.Findings))
	}
	curve := 0
	for _, c := range r.Charts {
		if strings.HasPrefix(c.ID, "peak-") {
			if curve++; len(c.Series) != 2 || len(c.Lines) < 2 || !strings.Contains(c.Lines[len(c.Lines)-1].Label, "peak of fast: ") {
				t.Errorf("chart %s: %d series, lines %+v", c.ID, len(c.Series), c.Lines)
			}
		}
	}
	if curve != 2 {
		t.Errorf("%d curves", curve)
	}
	if rows := tableOf(t, r, "peak-curve").Rows; len(rows) < 12 {
		t.Errorf("the curve has %d rows", len(rows))
	}
	for _, table := range r.Tables {
		if table.ID == "losses" {
			t.Errorf("trials of the search are taken for lost: %v", table.Rows)
		}
	}
}
