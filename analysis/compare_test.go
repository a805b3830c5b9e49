package analysis_test

import (
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"bakeoff/analysis"
	"bakeoff/record"
)

func TestCompareRecords(t *testing.T) {
	a := newLab(t, twoServers)
	b := newLab(t, strings.Replace(twoServers, "title: Two servers", "title: Two servers, a month later", 1))
	b.build, b.epoch = "newer", a.epoch.Add(30*24*time.Hour)
	b.rate = func(c record.Cell) float64 { return 0.8 * a.rate(c) }
	b.spoil = func(t *record.Trial, _ map[string][]record.Reading) { t.Loads[0].Parameters["connections"] = "16" }
	b.facts = func(_ *record.Trial, _ string, f *record.Facts) { f.Kernel.Release = "6.13.0" }
	r, err := analysis.Compare(analysis.Source{Run: a.run(), Plan: a.plan}, analysis.Source{Run: b.run(), Plan: b.plan})
	if err != nil {
		t.Fatal(err)
	}
	primary := 0
	for _, f := range r.Findings {
		if !f.Primary {
			continue
		}
		primary++
		want, verdict := 0.8, analysis.Worse
		if f.Measure == "latency.p99" {
			want = 1.25
		}
		if math.Abs(f.Effect/want-1) > 0.02 || f.Verdict != verdict || f.Family != 4 || f.N != 8 {
			t.Errorf("%s: %v %s, family %d, n %d", f.ID, f.Effect, f.Verdict, f.Family, f.N)
		}
		if !strings.Contains(f.Sentence, "unpaired") || !strings.Contains(f.Method, "Welch") {
			t.Errorf("%s | %s", f.Sentence, f.Method)
		}
	}
	if primary != 4 {
		t.Errorf("%d judged findings, want two measures in two cells", primary)
	}
	for _, want := range []string{"A began 2026-03-02", "the plans differ", "bakeoff test made A, newer made B", "connections is \"8\" in A and \"16\" in B", "kernel.release"} {
		if !slices.ContainsFunc(r.Warnings, func(w record.Warning) bool { return strings.Contains(w.Found, want) }) {
			t.Errorf("no warning says %q: %+v", want, r.Warnings)
		}
	}
	if len(r.Trials) != 32 || r.Trials[0].Trial != "A:0001" || r.Trials[16].Trial != "B:0001" {
		t.Errorf("%d trials, first %s", len(r.Trials), r.Trials[0].Trial)
	}
	mustEncode(t, r)
}

func TestCompareWithNothingInCommon(t *testing.T) {
	a, b := newLab(t, twoServers), newLab(t, grid)
	b.rate = gridRate
	_, err := analysis.Compare(analysis.Source{Run: a.run(), Plan: a.plan}, analysis.Source{Run: b.run(), Plan: b.plan})
	if err == nil || !strings.Contains(err.Error(), "no cell in common") || !strings.Contains(err.Error(), "server=slow") {
		t.Errorf("error: %v", err)
	}
}
