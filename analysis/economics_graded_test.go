package analysis

import (
	"math"
	"math/big"
	"strings"
	"testing"

	"bakeoff/plan"
	"bakeoff/record"
)

const gradedEconomy = `title: Two systems over their loads
workloads: {get: {engine: kv, target: "redis://127.0.0.1:1", window: 30s}}
factors:
  system:
    old: {workloads.get.peak: 1000, workloads.get.workers: 1}
    new: {workloads.get.peak: 2000, workloads.get.workers: 2}
graded: {levels: [100%, 50%, 10%]}
primary: {overall_perf_per_watt: {better: higher, margin: 2%}}
repeat: {blocks: 4}
`

// linear is a model: idle power, and a part that grows with the share.
func linear(p *plan.Plan) func(c record.Cell, _ int) (work, watts float64) {
	return func(c record.Cell, block int) (float64, float64) {
		share, _ := p.Share(c)
		at, _ := share.Float64()
		if l, _ := c.Level("system"); l == "new" {
			return 2000 * at, 100 + 200*at
		}
		return 1000 * at, 150 + 100*at
	}
}

// The figure over all levels is the sum of the work over the sum of the watts.
func TestGradedOverall(t *testing.T) {
	p := parsePlan(t, gradedEconomy)
	obs := measure(p, 4, linear(p))
	all := overall(p, obs)
	if len(all) != 2*4 {
		t.Fatalf("%d figures over all levels, want one a block and system", len(all))
	}
	for _, o := range all {
		want := 1600.0 / (4*150 + 160)
		if l, _ := o.Cell.Level("system"); l == "new" {
			want = 3200.0 / (4*100 + 320)
		}
		if level, _ := o.Cell.Level(plan.GradedFactor); math.Abs(o.Value-want) > 1e-9 || level != "100 %" || o.Unit != "ops/J" || o.Better != record.HigherIsBetter || o.Trial == "" {
			t.Errorf("%+v, want %g at the peak", o, want)
		}
	}
	findings := Judge(p, append(obs, all...), Options{Resamples: -1})
	if f := findings[0]; f.Measure != plan.OverallMeasure || f.Verdict != Better || math.Abs(f.Effect-(3200.0/720)/(1600.0/760)) > 1e-9 {
		t.Errorf("judged %+v", f)
	}
	// A block that lacks a level has no figure over all.
	var torn []record.Observation
	for _, o := range obs {
		if level, _ := o.Cell.Level(plan.GradedFactor); o.Block != 3 || level != plan.IdleLevel {
			torn = append(torn, o)
		}
	}
	if got := overall(p, torn); len(got) != 2*3 {
		t.Errorf("%d figures with a block torn, want 6", len(got))
	}
	if overall(parsePlan(t, economyPlan), obs) != nil {
		t.Error("a plan that is not graded has a figure over all levels")
	}
}

func TestGradedTables(t *testing.T) {
	p := parsePlan(t, gradedEconomy)
	obs := measure(p, 4, linear(p))
	x := newEconomist(p, append(obs, overall(p, obs)...), newLedgerBook(nil))
	tables, charts := x.gradedTables()
	table := tableNamed(t, tables, "efficiency-graded")
	if len(table.Rows) != 2*5 {
		t.Errorf("%d rows, want three levels, idle and all, of two systems", len(table.Rows))
	}
	for _, tt := range []struct{ system, load, column, want string }{
		{"old", "50 %", "work (ops/s)", "500.00"}, {"old", "idle", "work (ops/s)", "0"}, {"old", "idle", "power (W)", "150.00"},
		{"new", "10 %", "work per joule (ops/J)", "1.6667"}, {"new", "all levels", "work per joule (ops/J)", "4.4444"},
	} {
		if got := entry(t, table, tt.column, tt.system, tt.load); got != tt.want {
			t.Errorf("%s at %s: %s is %s, want %s", tt.system, tt.load, tt.column, got, tt.want)
		}
	}
	power := charts[0]
	if len(charts) != 2 || len(power.Series) != 2 || power.Kind != LineChart || power.Series[0].X[0] != 0 || power.Series[0].X[3] != 100 || power.Series[0].Y[0] != 150 || power.Series[0].Y[3] != 250 {
		t.Errorf("charts %+v", power)
	}
	if !strings.Contains(power.Alt, "idle") {
		t.Errorf("in words: %q", power.Alt)
	}
	// What is bought is sized by the peak alone.
	if e := x.economy(); len(e.Systems) != 2 || e.Systems[0].Work.Point.Cmp(big.NewRat(1000, 1)) != 0 {
		t.Errorf("%d systems", len(e.Systems))
	}
}
