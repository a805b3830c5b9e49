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

// findings judges, and adds what the gates say about the trials behind each
// finding.
func (a *analyst) findings(obs []record.Observation) []Finding {
	findings := Judge(a.plan, obs, a.options)
	for i := range findings {
		f := &findings[i]
		f.Replicated = a.replicated(f.Factor)
		f.Warnings = append(f.Warnings, a.inherited(*f)...)
		if f.Primary && f.N > 0 {
			f.Warnings = append(append(f.Warnings, a.undeclared(*f)...), a.excluded(*f)...)
		}
		if f.Primary && hasHard(f.Warnings) {
			f.Verdict, f.NeededN = Invalid, 0
		}
		f.Sentence = sentence(*f, describe(f.Measure, f.Unit).title)
	}
	return findings
}

func hasHard(ws []record.Warning) bool {
	return slices.ContainsFunc(ws, func(w record.Warning) bool { return w.Severity == record.SeverityHard })
}

// inherited gathers the warnings of the trials behind a finding, one a gate.
// Those about some measures go with findings on them alone.
func (a *analyst) inherited(f Finding) []record.Warning {
	byGate := map[string]*record.Warning{}
	trials := map[string][]record.TrialID{}
	stateless := map[record.TrialID]bool{}
	var order []string
	for _, id := range f.Trials {
		for _, j := range a.heard(a.trial(id)) {
			if !j.concerns(f) || j.Severity == record.SeverityNote {
				continue
			}
			if byGate[j.Gate] == nil {
				w := j.Warning
				byGate[j.Gate], order = &w, append(order, j.Gate)
			}
			if j.Severity == record.SeverityHard {
				byGate[j.Gate].Severity = record.SeverityHard
			}
			if !slices.Contains(trials[j.Gate], id) {
				trials[j.Gate] = append(trials[j.Gate], id)
			}
			stateless[id] = stateless[id] || j.stateless
		}
	}
	var out []record.Warning
	for _, gate := range order {
		w := *byGate[gate]
		if n := len(trials[gate]); n > 1 {
			w.Found = fmt.Sprintf("in %d of %d trials, first: %s", n, len(f.Trials), w.Found)
		}
		if text, found := a.unsettled(f, stateless); gate == gateSteady && found {
			w.Severity, w.Found = record.SeverityHard, w.Found+text
		}
		out = append(out, w)
	}
	return out
}

// unsettled looks for a cell of which most trials were in no one state. One trial
// in which the target stalled is part of its noise; most of them are another
// question than the plan's.
func (a *analyst) unsettled(f Finding, stateless map[record.TrialID]bool) (string, bool) {
	all, bad := map[string]int{}, map[string]int{}
	for _, id := range f.Trials {
		cell := a.trial(id).Cell.Key()
		if all[cell]++; stateless[id] {
			bad[cell]++
		}
	}
	for _, cell := range sortedKeys(bad) {
		if 2*bad[cell] > all[cell] {
			return fmt.Sprintf("; in %d of the %d trials of %s beyond %d times a threshold", bad[cell], all[cell], cmp.Or(cell, "the one cell"), noOneState), true
		}
	}
	return "", false
}

// concerns says whether an objection touches the measure of a finding.
func (j judged) concerns(f Finding) bool {
	if j.workload != "" && f.Workload != "" && j.workload != f.Workload {
		return false
	}
	return len(j.measures) == 0 || slices.Contains(j.measures, f.Measure)
}

// replicated says what was repeated from block to block: the further down, the
// more of the noise of a real installation is in the interval.
func (a *analyst) replicated(factor string) string {
	for _, name := range strings.Split(factor, " x ") {
		if f := a.plan.Factor(name); f != nil && f.Hard {
			return "whole plot: the change of " + name + " was made afresh in every block, on the same machines"
		}
	}
	lives := map[plan.Restart]bool{}
	started := false
	for _, c := range a.plan.Cells() {
		r, err := a.plan.Resolve(c)
		if err != nil {
			continue
		}
		for _, s := range r.Services {
			if len(s.Command) == 0 && s.Embedded == "" {
				lives[plan.RestartNever] = true
				continue
			}
			started = true
			lives[cmp.Or(s.Restart, plan.RestartTrial)] = true
		}
	}
	switch {
	case lives[plan.RestartNever]:
		return "run: the servers kept running from trial to trial, on the same machines"
	case lives[plan.RestartCell]:
		return "run: the servers were kept while the cell stayed the same, on the same machines"
	case started:
		return "restart: the servers were started afresh for every trial, on the same machines"
	}
	return "run: the load was run again, on the same machines"
}

// noiseFloor compares the baseline with its twin of the same block.
func (a *analyst) noiseFloor(s *samples) []NoiseFloor {
	twins := newSamples(a.measured(record.RoleAA))
	alpha := stats.Bonferroni(familyAlpha, a.plan.Family())
	var out []NoiseFloor
	for _, m := range a.plan.Primary {
		for _, key := range twins.order {
			if key.measure != m.Measure {
				continue
			}
			for _, cell := range a.plan.BaselineCells() {
				if n, ok := twinFloor(s, twins, key, cell, m.Margin, alpha); ok {
					n.Workload = a.workloadName(key.workload)
					n.Sentence = noiseSentence(n, m.Margin, alpha)
					out = append(out, n)
				}
			}
		}
	}
	return out
}

// twinFloor is the t interval of the log ratios of twin to baseline.
func twinFloor(s, twins *samples, key sampleKey, cell record.Cell, margin, alpha float64) (NoiseFloor, bool) {
	var base, twin []float64
	for _, block := range twins.blocks(key) {
		x, okX := s.at(key, block, cell)
		y, okY := twins.at(key, block, cell)
		if okX && okY {
			base, twin = append(base, x.Value), append(twin, y.Value)
		}
	}
	ratio, err := stats.PairedRatio(base, twin, alpha)
	if err != nil || ratio.N < minBlocks {
		return NoiseFloor{}, false
	}
	n := NoiseFloor{Measure: key.measure, Effect: ratio.Ratio, Low: ratio.Interval.Low, High: ratio.Interval.High, N: ratio.N}
	n.Verdict = verdict(Finding{Low: n.Low, High: n.High, Margin: margin, Scale: "ratio", Better: record.HigherIsBetter})
	return n, true
}

func noiseSentence(n NoiseFloor, margin, alpha float64) string {
	text := fmt.Sprintf("%s of the baseline against itself: ratio %s, %s %% interval %s to %s, %d blocks",
		describe(n.Measure, "").title, plain4(n.Effect), percentText(1-alpha), plain4(n.Low), plain4(n.High), n.N)
	switch n.Verdict {
	case Equivalent:
		return text + fmt.Sprintf(": no difference of more than the margin of %s %%.", plain(100*margin))
	case Inconclusive:
		floor := 100 * (math.Max(n.High, 1/n.Low) - 1)
		return text + fmt.Sprintf(": no difference is shown, but differences below %s %% cannot be told from noise here.", plain(floor))
	}
	return text + ": a difference where there is none."
}

// workloadName is a workload's name where there are several, else "".
func (a *analyst) workloadName(name string) string {
	if len(a.plan.Workloads) > 1 {
		return name
	}
	return ""
}

// answerWithout is the answer of a plan that compares nothing.
func answerWithout(r *Result) string {
	for _, m := range r.Measures {
		for _, c := range r.Cells {
			if c.Measure != m.Name || c.Workload != m.Workload {
				continue
			}
			if c.N < 2 {
				return fmt.Sprintf("%s is %s (one trial, no interval).", m.Title, amount(c.Measure, c.Unit, c.Center))
			}
			return fmt.Sprintf("%s is %s (95 %% interval %s to %s, %d trials).", m.Title, amount(c.Measure, c.Unit, c.Center),
				amount(c.Measure, c.Unit, c.Low), amount(c.Measure, c.Unit, c.High), c.N)
		}
	}
	return "Nothing was measured that counts."
}
