package analysis_test

import (
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"bakeoff/analysis"
	"bakeoff/record"
)

var update = flag.Bool("update", false, "rewrite the golden files")

// digest writes what a reader would see of a result, without what differs from
// record to record.
func digest(r *analysis.Result) string {
	var b strings.Builder
	line := func(format string, args ...any) { fmt.Fprintf(&b, format+"\n", args...) }
	line("title: %s\nquestion: %s\nanswer: %s", r.Title, r.Question, r.Answer)
	line("blocks %d, complete %v, replicated %s", r.Run.Blocks, r.Run.Complete, r.Run.Replicated)
	for _, m := range r.Measures {
		line("measure %s%s: %s [%s] %s primary=%v margin=%v", m.Workload, m.Name, m.Title, m.Unit, m.Better, m.Primary, m.Margin)
	}
	for _, f := range r.Findings {
		line("finding %s: %s\n  %s %v [%v, %v] at %v, n %d, family %d, needs %d: %s", f.ID, f.Sentence, f.Scale, f.Effect, f.Low, f.High, f.Level, f.N, f.Family, f.NeededN, f.Verdict)
		line("  %s; %s; %s; %d trials", f.Method, f.SecondOpinion, f.Replicated, len(f.Trials))
		for _, w := range f.Warnings {
			line("  ! %s %s: %s", w.Severity, w.Gate, w.Found)
		}
	}
	for _, n := range r.Noise {
		line("noise %s", n.Sentence)
	}
	for _, w := range r.Warnings {
		line("! %s %s %s: %s", w.Severity, w.Gate, w.Subject, w.Found)
	}
	for _, g := range r.Gates {
		line("gate %s (%s): %s | %s: %d of %d %s", g.Gate, g.Severity, g.Title, g.Threshold, g.Objected, g.Checked, g.NotChecked)
	}
	for _, c := range r.Charts {
		line("chart %s %s: %s | %s | %s [%s, %s]", c.ID, c.Kind, c.Title, c.Caption, c.Alt, c.XUnit, c.YUnit)
	}
	for _, t := range r.Tables {
		line("table %s: %s | %s\n  %s", t.ID, t.Title, t.Caption, strings.Join(t.Columns, " | "))
		for _, row := range t.Rows {
			line("  %s", strings.Join(row, " | "))
		}
		line("  notes: %s", strings.Join(t.Notes, " "))
	}
	for _, f := range r.Shared {
		line("shared %s %s = %s", f.Host, f.Path, f.Value)
	}
	for _, d := range r.Differs {
		line("differs %s %s declared=%v %v", d.Host, d.Path, d.Declared, d.Values)
	}
	for _, s := range r.Services {
		line("service %+v", s)
	}
	for _, t := range r.Trials[:min(3, len(r.Trials))] {
		line("trial %s block %d attempt %d %s counted=%v %s throughput %v", t.Trial, t.Block, t.Attempt, t.Status, t.Counted, t.Reason, t.Values["throughput"])
	}
	line("method: %s", strings.Join(r.Method, "\n  "))
	line("commands: %s", strings.Join(r.Commands, "\n  "))
	text := b.String()
	for _, secret := range []string{r.Run.ID, r.Run.RootHash} {
		text = strings.ReplaceAll(text, secret, "RUN")
	}
	return text
}

func golden(t *testing.T, name, got string) {
	t.Helper()
	file := filepath.Join("testdata", name)
	if *update {
		if err := os.MkdirAll("testdata", 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if got == string(want) {
		return
	}
	gotLines, wantLines := strings.Split(got, "\n"), strings.Split(string(want), "\n")
	for i := range min(len(gotLines), len(wantLines)) {
		if gotLines[i] != wantLines[i] {
			t.Fatalf("%s line %d:\n got %s\nwant %s", file, i+1, gotLines[i], wantLines[i])
		}
	}
	t.Fatalf("%s: %d lines, want %d", file, len(gotLines), len(wantLines))
}

func TestGoldenTwoServers(t *testing.T) {
	l := newLab(t, twoServers)
	golden(t, "two-servers.txt", digest(l.analyse(l.run())))
}

const grid = `
title: Protocol and offload
hosts:
  client: {agent: local, cpus: "0"}
  server: {agent: local}
services:
  kv: {host: server, command: [server], endpoint: "redis://127.0.0.1:7000", cpus: "1"}
workloads:
  read:  {engine: kv, service: kv, source: client, warmup: 1s, window: 10s}
  write: {engine: kv, service: kv, source: client, warmup: 1s, window: 10s}
factors:
  ip:      {v4: {workloads.*.family: 4}, v6: {workloads.*.family: 6}}
  offload: {off: {settings.server.sysctl: {net.core.somaxconn: "1"}}, on: {settings.server.sysctl: {net.core.somaxconn: "2"}}}
compare: [ip, offload, ip within offload, ip x offload]
primary: {throughput: {better: higher, margin: 2%}}
repeat: {blocks: 6}
aa: true
`

// gridRate is exact: v6 is 1.1 times v4 with offload off and 1.2 times with it
// on; offload doubles; writes are half as fast as reads.
func gridRate(c record.Cell) float64 {
	rate := 100_000.0
	ip, _ := c.Level("ip")
	offload, _ := c.Level("offload")
	if offload == "on" {
		rate *= 2
	}
	switch {
	case ip == "v6" && offload == "on":
		rate *= 1.2
	case ip == "v6":
		rate *= 1.1
	}
	if w, _ := c.Level("workload"); w == "write" {
		rate /= 2
	}
	return rate
}

func TestGridOfFactors(t *testing.T) {
	l := newLab(t, grid)
	l.rate, l.noise = gridRate, 0
	r := l.analyse(l.run())
	main := math.Sqrt(1.1 * 1.2)
	want := map[string]float64{
		"throughput / ip / v4 - v6": main, "throughput / offload / off - on": 2 * math.Sqrt(1.2/1.1),
		"throughput / ip / v4 - v6 @ offload=off": 1.1, "throughput / ip / v4 - v6 @ offload=on": 1.2,
		"throughput / ip x offload / v4, off - v6, on": 1.2 / 1.1,
	}
	seen := 0
	for _, f := range r.Findings {
		if !f.Primary {
			continue
		}
		_, name, _ := strings.Cut(f.ID, " / ")
		effect, known := want[name]
		if !known {
			t.Errorf("unexpected finding %s", f.ID)
			continue
		}
		seen++
		if math.Abs(f.Effect/effect-1) > 1e-4 || f.Verdict != analysis.Better || f.N != 6 || f.Family != 10 {
			t.Errorf("%s: effect %v, want %v; verdict %s, n %d, family %d", f.ID, f.Effect, effect, f.Verdict, f.N, f.Family)
		}
		if f.Workload == "" {
			t.Errorf("%s does not name its workload", f.ID)
		}
	}
	if seen != 10 {
		t.Errorf("%d primary findings, want 5 for each of 2 workloads", seen)
	}
	if len(r.Noise) != 2 {
		t.Fatalf("noise floors: %+v, want one a workload", r.Noise)
	}
	for _, n := range r.Noise {
		if n.Verdict != analysis.Equivalent || n.N != 6 {
			t.Errorf("noise floor %+v", n)
		}
	}
	for _, d := range r.Differs {
		t.Errorf("nothing differs between the levels, yet: %+v", d)
	}
}

func TestResultIsTheSameAnywhere(t *testing.T) {
	l := newLab(t, grid)
	l.rate = gridRate
	run := l.run()
	encode := func(run *record.Run) []byte {
		out, err := json.Marshal(l.analyse(run))
		if err != nil {
			t.Fatal(err)
		}
		return out
	}
	first := encode(run)
	copied := t.TempDir()
	if err := os.CopyFS(copied, os.DirFS(run.Dir)); err != nil {
		t.Fatal(err)
	}
	elsewhere, err := record.Open(copied)
	if err != nil {
		t.Fatal(err)
	}
	local := time.Local
	time.Local = time.FixedZone("elsewhere", 9*3600)
	defer func() { time.Local = local }()
	for range 3 {
		if !bytes.Equal(encode(elsewhere), first) {
			t.Fatal("a copy of the record gives other bytes")
		}
	}
}

func TestSteinRun(t *testing.T) {
	l := newLab(t, strings.Replace(twoServers, "{blocks: 8}", "{pilot: 8, until: 1%, max: 60}", 1))
	l.noise = 0.02
	r := l.analyse(l.run())
	f := r.Findings[0]
	if f.N <= 8 || f.N > 60 || r.Run.Blocks != f.N {
		t.Fatalf("%d blocks", f.N)
	}
	if !strings.Contains(f.Method, "pilot's 8 blocks") {
		t.Errorf("method is %q", f.Method)
	}
	if half := (math.Log(f.High) - math.Log(f.Low)) / 2; half > math.Log1p(0.01)*(1+1e-9) {
		t.Errorf("half-width is %v, the plan wants 1 %%", half)
	}
	for _, w := range f.Warnings {
		if w.Gate == "precision-not-reached" {
			t.Errorf("the precision was reached: %+v", w)
		}
	}
	l.noise, l.plan.Repeat.Max = 0.05, 10
	l.plan = parse(t, strings.Replace(twoServers, "{blocks: 8}", "{pilot: 8, until: 1%, max: 10}", 1))
	f = l.analyse(l.run()).Findings[0]
	if f.N != 10 || !slices.ContainsFunc(f.Warnings, func(w record.Warning) bool { return w.Gate == "precision-not-reached" }) {
		t.Errorf("n %d, warnings %+v: want 10 blocks and a word that the precision was not reached", f.N, f.Warnings)
	}
}

func TestOneBlock(t *testing.T) {
	l := newLab(t, strings.Replace(twoServers, "{blocks: 8}", "{blocks: 1}", 1))
	r := l.analyse(l.run())
	for _, f := range r.Findings {
		if f.Primary && (f.Verdict != analysis.Invalid || !strings.Contains(f.Sentence, "too few blocks")) {
			t.Errorf("%s: %s", f.Verdict, f.Sentence)
		}
	}
	mustEncode(t, r)
}

func mustEncode(t *testing.T, r *analysis.Result) {
	t.Helper()
	if _, err := json.Marshal(r); err != nil {
		t.Errorf("the result cannot be written: %v", err)
	}
}

func TestAllInvalid(t *testing.T) {
	l := newLab(t, twoServers)
	l.spoil = func(t *record.Trial, _ map[string][]record.Reading) { t.Loads[0].Generator.BusyFraction = 0.99 }
	r := l.analyse(l.run())
	if r.Run.Blocks != 0 || r.Findings[0].Verdict != analysis.Invalid {
		t.Errorf("blocks %d, verdict %s", r.Run.Blocks, r.Findings[0].Verdict)
	}
	if !strings.Contains(r.Answer, "invalid") {
		t.Errorf("answer: %s", r.Answer)
	}
	i := slices.IndexFunc(r.Tables, func(t analysis.Table) bool { return t.ID == "lost-trials" })
	if i < 0 || len(r.Tables[i].Rows) != len(r.Trials) || !strings.Contains(r.Tables[i].Rows[0][5], "generator-saturated") {
		t.Errorf("the lost trials are not listed with their reasons: %+v", r.Tables)
	}
	mustEncode(t, r)
}

func TestAllFailed(t *testing.T) {
	l := newLab(t, twoServers)
	l.spoil = func(t *record.Trial, _ map[string][]record.Reading) {
		t.Status, t.Reason, t.Loads = record.StatusFailed, "the server did not start", nil
	}
	r := l.analyse(l.run())
	if r.Findings[0].Verdict != analysis.Invalid || len(r.Charts) != 0 {
		t.Errorf("verdict %s, %d charts", r.Findings[0].Verdict, len(r.Charts))
	}
	mustEncode(t, r)
}

func TestRetriedBlock(t *testing.T) {
	l := newLab(t, twoServers)
	spoiled := false
	l.spoil = func(t *record.Trial, _ map[string][]record.Reading) {
		if t.Block == 3 && t.Attempt == 1 && !spoiled {
			spoiled = true
			t.Loads[0].Kinds[0].Misses = t.Loads[0].Kinds[0].Completed
		}
	}
	r := l.analyse(l.run())
	if r.Run.Blocks != 8 || r.Findings[0].N != 8 {
		t.Errorf("%d blocks", r.Findings[0].N)
	}
	for _, row := range r.Trials {
		if row.Block == 3 && row.Counted != (row.Attempt == 2) {
			t.Errorf("trial %s of block 3, attempt %d: counted is %v (%s)", row.Trial, row.Attempt, row.Counted, row.Reason)
		}
	}
}

func TestExcludedTrial(t *testing.T) {
	l := newLab(t, twoServers)
	run := l.run()
	_, err := record.Exclude(run.Dir, record.Exclusion{Trial: "0005", Reason: "somebody pulled a cable", By: "lab", At: l.epoch})
	l.must(err)
	run, err = record.Open(run.Dir)
	l.must(err)
	r := l.analyse(run)
	if r.Findings[0].N != 7 {
		t.Errorf("%d blocks, want 7", r.Findings[0].N)
	}
	if row := r.Trials[4]; row.Counted || row.Reason != "somebody pulled a cable" {
		t.Errorf("the excluded trial: %+v", row)
	}
	for _, f := range r.Findings {
		heard := slices.ContainsFunc(f.Warnings, func(w record.Warning) bool {
			return w.Gate == "excluded-by-hand" && strings.Contains(w.Found, "pulled a cable")
		})
		if heard != f.Primary {
			t.Errorf("%s: a trial was left out by hand, and the finding says %+v", f.ID, f.Warnings)
		}
	}
}

func TestDamagedRecord(t *testing.T) {
	l := newLab(t, twoServers)
	run := l.run()
	trial := run.Trials[3]
	l.must(os.Remove(filepath.Join(run.Dir, trial.Readings["server"])))
	_, err := analysis.Analyse(run, l.plan, analysis.Options{})
	if err == nil || !strings.Contains(err.Error(), "trial "+string(trial.ID)) {
		t.Errorf("telemetry is missing: %v", err)
	}
	run = l.run()
	l.must(os.WriteFile(filepath.Join(run.Dir, "trials", "0002", run.Trials[1].Loads[0].Latencies[0].File), []byte("#[Histogram log format version 1.3]\n"), 0o644))
	if _, err = analysis.Analyse(run, l.plan, analysis.Options{}); err == nil || !strings.Contains(err.Error(), "trial 0002") {
		t.Errorf("a histogram log is empty: %v", err)
	}
	if _, err = analysis.Analyse(run, parse(t, grid), analysis.Options{}); err == nil {
		t.Error("a record was judged by another plan")
	}
}

func TestStoppedEarly(t *testing.T) {
	l := newLab(t, twoServers)
	l.stop, l.seal = 9, false
	r := l.analyse(l.run())
	if r.Run.Complete || r.Findings[0].N != 4 {
		t.Errorf("complete %v, %d blocks", r.Run.Complete, r.Findings[0].N)
	}
	if !slices.ContainsFunc(r.Warnings, func(w record.Warning) bool { return w.Gate == "stopped-early" }) {
		t.Errorf("warnings: %+v", r.Warnings)
	}
}

func TestDataSetChanged(t *testing.T) {
	l := newLab(t, twoServers)
	l.spoil = func(t *record.Trial, _ map[string][]record.Reading) {
		if t.Block == 4 {
			t.Loads[0].DataSet = &record.DataSet{Items: 999, Bytes: 31968, Fingerprint: "xxh64:2"}
		}
	}
	r := l.analyse(l.run())
	if r.Findings[0].N != 7 {
		t.Errorf("%d blocks, want 7: the data set of block 4 was another", r.Findings[0].N)
	}
	if !strings.Contains(r.Trials[6].Reason, "Data set not the same") {
		t.Errorf("reason: %s", r.Trials[6].Reason)
	}
}

func TestTargetRateMissedSpoilsLatencyOnly(t *testing.T) {
	l := newLab(t, twoServers)
	l.spoil = func(t *record.Trial, _ map[string][]record.Reading) {
		t.Loads[0].Generator.TargetRate = 130_000
		for i := range t.Loads[0].Latencies {
			t.Loads[0].Latencies[i].Type = "response"
		}
	}
	r := l.analyse(l.run())
	if f := r.Findings[0]; f.Measure != "throughput" || f.Verdict != analysis.Better {
		t.Errorf("throughput is judged all the same: %s", f.Sentence)
	}
	if f := r.Findings[1]; f.Measure != "latency.p99" || f.Verdict != analysis.Invalid || !strings.Contains(f.Sentence, "target rate missed") {
		t.Errorf("latency was not taken at that rate: %s", f.Sentence)
	}
}

func TestFactsThatDiffer(t *testing.T) {
	l := newLab(t, twoServers)
	l.facts = func(trial *record.Trial, moment string, f *record.Facts) {
		if server, _ := trial.Cell.Level("server"); server == "fast" {
			f.Kernel.Release = "6.12.2"
		}
		if trial.ID == "0007" && moment == "after" {
			f.CPU.Governor = "powersave"
		}
	}
	r := l.analyse(l.run())
	find := func(path string) analysis.FactDiff {
		i := slices.IndexFunc(r.Differs, func(d analysis.FactDiff) bool { return d.Path == path })
		if i < 0 {
			t.Fatalf("%s is not among %+v", path, r.Differs)
		}
		return r.Differs[i]
	}
	if d := find("kernel.release"); d.Declared || d.Values["server=fast"] != "6.12.2" || d.Values["server=slow"] != "6.12.1" {
		t.Errorf("kernel: %+v", d)
	}
	if d := find("versions.server"); !d.Declared {
		t.Errorf("the service's version is what the plan varies: %+v", d)
	}
	if d := find("cpu.governor"); d.Values["after"] != "powersave" {
		t.Errorf("governor: %+v", d)
	}
	f := r.Findings[0]
	i := slices.IndexFunc(f.Warnings, func(w record.Warning) bool { return w.Gate == "undeclared-difference" })
	if i < 0 || !strings.Contains(f.Warnings[i].Found, "kernel.release") || strings.Contains(f.Warnings[i].Found, "versions") {
		t.Errorf("warnings: %+v", f.Warnings)
	}
	if !slices.ContainsFunc(f.Warnings, func(w record.Warning) bool { return w.Gate == "host-changed" }) {
		t.Errorf("nobody says that the governor changed: %+v", f.Warnings)
	}
}

func TestWhatTheLoadItselfFound(t *testing.T) {
	l := newLab(t, twoServers)
	l.spoil = func(t *record.Trial, _ map[string][]record.Reading) {
		t.Warnings = append(t.Warnings, record.Warning{Gate: "counters-missing", Severity: record.SeveritySoft, Subject: "get", Found: "no answer", Threshold: "both"})
		if t.Block == 2 && t.Attempt == 1 {
			t.Warnings = append(t.Warnings, record.Warning{Gate: "verification-failed", Severity: record.SeverityHard, Subject: "get", Found: "key 7 is wrong", Threshold: "as written"})
			t.Status, t.Reason = record.StatusInvalid, "verification-failed"
		}
	}
	r := l.analyse(l.run())
	if r.Findings[0].N != 8 || !slices.ContainsFunc(r.Findings[0].Warnings, func(w record.Warning) bool { return w.Gate == "counters-missing" }) {
		t.Errorf("n %d, warnings %+v", r.Findings[0].N, r.Findings[0].Warnings)
	}
	i := slices.IndexFunc(r.Gates, func(g analysis.GateResult) bool { return g.Gate == "verification-failed" })
	if i < 0 || r.Gates[i].Objected != 1 || r.Gates[i].Title != "Verification failed" {
		t.Errorf("gates: %+v", r.Gates)
	}
}
