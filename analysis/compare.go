package analysis

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"

	"bakeoff/plan"
	"bakeoff/record"
	"bakeoff/stats"
)

// recordFactor is the factor that two records made apart form.
const recordFactor = "record"

// A Source is one record with its plan.
type Source struct {
	Run  *record.Run
	Plan *plan.Plan
}

// Compare sets two records side by side that were made apart: against compared
// with base, cell by cell, with unpaired intervals (Welch on logarithms).
// Nothing interleaved them, so every finding carries that warning, and those
// that the differences between the two runs deserve.
func Compare(base, against Source) (*Result, error) {
	a, err := newAnalyst(base.Run, base.Plan, Options{})
	if err != nil {
		return nil, err
	}
	b, err := newAnalyst(against.Run, against.Plan, Options{})
	if err != nil {
		return nil, err
	}
	c := &comparison{a: a, b: b, names: [2]string{"A", "B"},
		samplesA: newSamples(a.measured(record.RoleMeasure)), samplesB: newSamples(b.measured(record.RoleMeasure))}
	return c.result()
}

// comparison is two runs side by side.
type comparison struct {
	a, b               *analyst
	samplesA, samplesB *samples
	names              [2]string
}

func (c *comparison) result() (*Result, error) {
	cells := c.matched()
	if len(cells) == 0 {
		return nil, fmt.Errorf("comparing records %s and %s: they have no cell in common; A has %s, B has %s",
			c.a.run.Manifest.ID, c.b.run.Manifest.ID, cellNames(c.a.plan), cellNames(c.b.plan))
	}
	warnings := c.warnings()
	r := &Result{
		Title: c.a.plan.Title + ": " + c.b.run.Manifest.ID + " against " + c.a.run.Manifest.ID, Question: c.a.plan.Question,
		Run: c.runInfo(), Measures: c.a.measures(c.samplesA), Warnings: warnings, Differs: c.factDiffs(), Method: c.method(),
		Commands: append(c.a.commands(), c.b.commands()...),
	}
	r.Findings = c.findings(cells, warnings)
	for i, side := range []*analyst{c.a, c.b} {
		for _, s := range cellSummaries(side.plan, []*samples{c.samplesA, c.samplesB}[i]) {
			s.Cell = append(record.Cell{{Factor: recordFactor, Level: c.names[i]}}, s.Cell...)
			r.Cells = append(r.Cells, s)
		}
		for _, t := range side.trialRows() {
			t.Trial = record.TrialID(c.names[i] + ":" + string(t.Trial))
			t.Cell = append(record.Cell{{Factor: recordFactor, Level: c.names[i]}}, t.Cell...)
			r.Trials = append(r.Trials, t)
		}
	}
	for _, m := range r.Measures {
		if m.Primary {
			r.Charts = append(r.Charts, c.a.bars(r, m))
		}
	}
	r.Charts = append(r.Charts, c.a.forests(r)...)
	r.Gates = c.gates(len(r.Findings))
	r.Answer = Answer(r)
	stabilise(r)
	return r, nil
}

// matched lists the cells that both plans have, in the order of the first.
func (c *comparison) matched() []record.Cell {
	other := map[string]bool{}
	for _, cell := range c.b.plan.Cells() {
		other[cell.Key()] = true
	}
	var out []record.Cell
	for _, cell := range c.a.plan.Cells() {
		if other[cell.Key()] {
			out = append(out, cell)
		}
	}
	return out
}

func cellNames(p *plan.Plan) string {
	var names []string
	for _, cell := range p.Cells() {
		names = append(names, cmp.Or(cell.Key(), "one cell without levels"))
	}
	return strings.Join(names, " | ")
}

// findings compares every primary measure in every matched cell, then the
// descriptive ones.
func (c *comparison) findings(cells []record.Cell, warnings []record.Warning) []Finding {
	var judgedKeys, others []sampleKey
	for _, key := range c.samplesA.order {
		switch {
		case c.a.primaryIndex(key.measure) >= 0:
			judgedKeys = append(judgedKeys, key)
		case summary(key.measure):
			others = append(others, key)
		}
	}
	slices.SortStableFunc(judgedKeys, func(x, y sampleKey) int {
		return cmp.Compare(c.a.primaryIndex(x.measure), c.a.primaryIndex(y.measure))
	})
	var out []Finding
	family := 0
	for _, key := range judgedKeys {
		for _, cell := range cells {
			if len(c.samplesA.cellValues(key, cell)) > 0 || len(c.samplesB.cellValues(key, cell)) > 0 {
				family++
			}
		}
	}
	for _, keys := range [][]sampleKey{judgedKeys, others} {
		for _, key := range keys {
			for _, cell := range cells {
				if f, ok := c.finding(key, cell, family, warnings); ok {
					out = append(out, f)
				}
			}
		}
	}
	return out
}

// cellValues are the values of one cell over all blocks, with their trials.
func (s *samples) cellValues(key sampleKey, cell record.Cell) []record.Observation {
	var out []record.Observation
	for _, block := range s.blocks(key) {
		if o, ok := s.at(key, block, cell); ok {
			out = append(out, o)
		}
	}
	return out
}

// finding compares one measure in one cell.
func (c *comparison) finding(key sampleKey, cell record.Cell, family int, warnings []record.Warning) (Finding, bool) {
	x, y := c.samplesA.cellValues(key, cell), c.samplesB.cellValues(key, cell)
	kind := c.samplesA.kinds[key]
	f := Finding{Kind: SimpleEffect, Factor: recordFactor, Base: c.names[0], Against: c.names[1], Where: withoutWorkload(cell),
		Workload: c.a.workloadName(key.workload), Measure: key.measure, Unit: kind.unit, Better: kind.better,
		Family: 1, Level: 1 - familyAlpha, N: min(len(x), len(y)), Verdict: Descriptive, Replicated: c.a.replicated(""), Scale: "ratio"}
	f.ID = strings.Join([]string{cmp.Or(f.Workload, "record"), key.measure, "B against A", cell.Key()}, " / ")
	if len(x)+len(y) == 0 {
		return f, false
	}
	i := c.a.primaryIndex(key.measure)
	if i >= 0 {
		m := c.a.plan.Primary[i]
		f.Primary, f.Margin, f.Better = true, m.Margin, cmp.Or(m.Better, f.Better)
		f.Family, f.Level = family, 1-stats.Bonferroni(familyAlpha, family)
	}
	c.interval(&f, x, y)
	if f.Primary {
		f.Warnings = append(f.Warnings, warnings...)
		f.Verdict = verdict(f)
		if f.N < minBlocks {
			f.Warnings = append(f.Warnings, findingWarning(gateBlocks, record.SeverityHard, f, fmt.Sprintf("%d and %d trials", len(x), len(y))))
		}
	}
	f.Warnings = append(f.Warnings, c.inherited(f, x, y)...)
	if f.Primary && hasHard(f.Warnings) {
		f.Verdict = Invalid
	}
	f.Sentence = strings.Replace(sentence(f, kind.title), " blocks)", " trials a side, unpaired)", 1)
	return f, true
}

// inherited gathers what the gates say of the trials of either record.
func (c *comparison) inherited(f Finding, x, y []record.Observation) []record.Warning {
	var out []record.Warning
	for i, obs := range [][]record.Observation{x, y} {
		side := f
		side.Trials = nil
		for _, o := range obs {
			side.Trials = append(side.Trials, o.Trial)
		}
		a := []*analyst{c.a, c.b}[i]
		heard := a.inherited(side)
		if f.Primary {
			heard = append(heard, a.excluded(side)...)
		}
		for _, w := range heard {
			w.Subject = strings.TrimSuffix(c.names[i]+": "+w.Subject, ": ")
			out = append(out, w)
		}
	}
	return out
}

// interval fills in the effect with Welch's interval.
func (c *comparison) interval(f *Finding, x, y []record.Observation) {
	valuesX, valuesY := valuesOf(x, c.names[0], f), valuesOf(y, c.names[1], f)
	if f.N == 0 {
		f.Method = "none: one record has no trial of this cell that counts"
		return
	}
	logsX, okX := stats.Logs(valuesX)
	logsY, okY := stats.Logs(valuesY)
	back := math.Exp
	if !okX || !okY {
		logsX, logsY, f.Scale = valuesX, valuesY, "difference"
		back = func(v float64) float64 { return v }
	}
	f.BaseValue, f.AgainstValue = back(stats.Mean(logsX)), back(stats.Mean(logsY))
	f.Effect = back(stats.Mean(logsY) - stats.Mean(logsX))
	f.Low, f.High = f.Effect, f.Effect
	f.Method = "one trial a side: no interval"
	if f.N >= minBlocks {
		w := stats.Welch(logsX, logsY, 1-f.Level)
		f.Low, f.High = back(w.Interval.Low), back(w.Interval.High)
		f.Method = fmt.Sprintf("Welch's t, unpaired, %d and %d trials, %.1f degrees of freedom", len(x), len(y), w.DF)
	}
	f.ImprovementPercent = improvement(*f)
}

func valuesOf(obs []record.Observation, side string, f *Finding) []float64 {
	out := make([]float64, len(obs))
	for i, o := range obs {
		out[i] = o.Value
		f.Trials = append(f.Trials, record.TrialID(side+":"+string(o.Trial)))
	}
	return out
}

func withoutWorkload(cell record.Cell) record.Cell {
	return slices.DeleteFunc(slices.Clone(cell), func(l record.Level) bool { return l.Factor == plan.WorkloadFactor })
}

// warnings are what two records made apart deserve.
func (c *comparison) warnings() []record.Warning {
	var out []record.Warning
	soft := func(subject, format string, args ...any) {
		out = append(out, c.a.runWarning(gateUnpaired, subject, fmt.Sprintf(format, args...)))
	}
	a, b := c.a.run.Manifest, c.b.run.Manifest
	soft("", "A began %s, B %s", a.Created.UTC().Format("2006-01-02 15:04:05Z"), b.Created.UTC().Format("2006-01-02 15:04:05Z"))
	if a.PlanHash != b.PlanHash {
		soft("plan", "the plans differ: %s and %s", a.PlanHash, b.PlanHash)
	}
	if a.Build != b.Build {
		soft("build", "bakeoff %s made A, %s made B", a.Build, b.Build)
	}
	if a.Seed != b.Seed {
		soft("seed", "keys, values and order come from seed %d in A and %d in B", a.Seed, b.Seed)
	}
	out = append(out, c.parameterWarnings()...)
	if diffs := c.factDiffs(); len(diffs) > 0 {
		var paths []string
		for _, d := range diffs[:min(6, len(diffs))] {
			paths = append(paths, d.Path+" ("+d.Host+")")
		}
		w := c.a.runWarning(gateUndeclared, "hosts", strings.Join(paths, ", ")+andMore(len(diffs)-len(paths)))
		out = append(out, w)
	}
	return out
}

// parameterWarnings compares the load parameters of the first trial of each cell.
func (c *comparison) parameterWarnings() []record.Warning {
	var out []record.Warning
	for _, cell := range c.matched() {
		x, y := firstLoads(c.a, cell), firstLoads(c.b, cell)
		for _, name := range sortedKeys(x) {
			for _, key := range sortedKeys(x[name].Parameters) {
				other, ran := y[name]
				was, is := x[name].Parameters[key], other.Parameters[key]
				if ran && was != is {
					out = append(out, c.a.runWarning(gateUndeclared, "load "+name+" in "+cmp.Or(cell.Key(), "its cell"),
						fmt.Sprintf("%s is %q in A and %q in B", key, was, is)))
				}
			}
		}
	}
	return out
}

// firstLoads are the loads of the first trial of a cell that counts.
func firstLoads(a *analyst, cell record.Cell) map[string]record.Load {
	out := map[string]record.Load{}
	for _, t := range a.run.Trials {
		if a.counted[t.ID] && t.Cell.Key() == cell.Key() {
			for _, l := range t.Loads {
				out[subjectOf(l)] = l
			}
			return out
		}
	}
	return out
}

// factDiffs compares the hosts of the same name at the start of both runs.
func (c *comparison) factDiffs() []FactDiff {
	var out []FactDiff
	later := map[string]subject{}
	for _, s := range c.b.facts.subjects() {
		later[s.label] = s
	}
	for _, s := range c.a.facts.subjects() {
		other, ok := later[s.label]
		if !ok {
			continue
		}
		for _, p := range union(s.paths(), other.paths()) {
			was, sameA := s.value(p)
			is, sameB := other.value(p)
			if sameA && sameB && was != is || sameA != sameB {
				out = append(out, FactDiff{Host: s.label, Path: p, Values: map[string]string{"A": was, "B": is}})
			}
		}
	}
	return out
}

func union(a, b []string) []string {
	out := slices.Clone(a)
	for _, s := range b {
		out = addOnce(out, s)
	}
	return out
}

func (c *comparison) runInfo() RunInfo {
	a, b := c.a.runInfo(), c.b.runInfo()
	return RunInfo{ID: a.ID + " and " + b.ID, RootHash: a.RootHash + " and " + b.RootHash, PlanHash: a.PlanHash + " and " + b.PlanHash,
		Build: a.Build + " and " + b.Build, Started: a.Started, Ended: b.Ended, Complete: a.Complete && b.Complete,
		Blocks: min(a.Blocks, b.Blocks), Replicated: a.Replicated, PostHoc: a.PostHoc || b.PostHoc, Hosts: union(a.Hosts, b.Hosts)}
}

func (c *comparison) method() []string {
	return []string{
		fmt.Sprintf("Two records that were made apart are set side by side: A is %s, B is %s. Cells are matched by the names of their levels.", c.a.run.Manifest.ID, c.b.run.Manifest.ID),
		"The trials of the two records were not interleaved, so nothing separates the change that is asked about from whatever else changed between the two runs. " +
			"Intervals are Welch's on logarithms, unpaired, shared out over the comparisons (Bonferroni). To judge the change itself, put both into one plan.",
		c.a.designText(), c.a.repetitionText(),
	}
}

func (c *comparison) gates(findings int) []GateResult {
	var out []GateResult
	for i, side := range []*analyst{c.a, c.b} {
		for _, g := range side.gateResults() {
			if g.NotChecked == "" || i == 0 {
				g.Title = c.names[i] + ": " + g.Title
				out = append(out, g)
			}
		}
	}
	g := gateNamed(gateUnpaired)
	return append(out, GateResult{Gate: g.name, Title: g.title, Threshold: g.threshold(limits{}), Severity: g.severity, Checked: findings, Objected: findings})
}
