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

// object notes an objection to one trial by a gate that looks at the whole run.
func (a *analyst) object(gate string, t record.Trial, o objection) {
	a.objections[t.ID] = append(a.objections[t.ID], gateNamed(gate).warn(o, limitsOf(a.plan.Limits), t))
}

// checkDataSets compares every trial's data set with that of the first complete
// trial of its cell.
func (a *analyst) checkDataSets() {
	first := map[string]record.DataSet{}
	for _, t := range a.run.Trials {
		looked, objected := false, false
		for _, l := range t.Loads {
			if l.DataSet == nil {
				continue
			}
			looked = true
			key := t.Cell.Key() + "\x00" + subjectOf(l)
			was, seen := first[key]
			switch {
			case !seen && t.Status == record.StatusComplete:
				first[key] = *l.DataSet
			case seen && (was.Items != l.DataSet.Items || was.Bytes != l.DataSet.Bytes || was.Fingerprint != l.DataSet.Fingerprint):
				objected = true
				a.object(gateDataSet, t, objection{subject: subjectOf(l), found: fmt.Sprintf("%d items, %d bytes, %s; in the first trial %d, %d, %s",
					l.DataSet.Items, l.DataSet.Bytes, l.DataSet.Fingerprint, was.Items, was.Bytes, was.Fingerprint)})
			}
		}
		if len(t.Loads) > 0 && t.Role != record.RoleSearch {
			blind := ""
			if !looked {
				blind = "the loads have no data set"
			}
			a.saw(gateDataSet, objected, blind)
		}
	}
}

// checkChanges objects to the trials in which a host was not what it was.
func (a *analyst) checkChanges() {
	changed := map[record.TrialID][]factChange{}
	for _, c := range a.facts.changed() {
		changed[c.trial] = append(changed[c.trial], c)
	}
	for _, t := range a.run.Trials {
		if len(t.Loads) == 0 {
			continue
		}
		cs := changed[t.ID]
		switch {
		case t.Role == record.RoleSearch:
		case len(t.FactsBefore) == 0:
			a.saw(gateChanged, false, "no facts of the hosts are on record")
		default:
			a.saw(gateChanged, len(cs) > 0, "")
		}
		if len(cs) > 0 {
			a.object(gateChanged, t, objection{subject: cs[0].host, found: fmt.Sprintf("%s was %q and became %q %s%s",
				cs[0].path, cs[0].first, cs[0].later, cs[0].moment, andMore(len(cs)-1))})
		}
	}
}

func andMore(n int) string {
	if n <= 0 {
		return ""
	}
	return fmt.Sprintf(", and %d more", n)
}

// checkRun runs the gates on the design and its outcome, and adds the run's
// warnings.
func (a *analyst) checkRun(r *Result, s *samples) {
	for _, f := range r.Findings {
		if !f.Primary {
			continue
		}
		for _, g := range []string{gateBlocks, gateAbsent, gatePrecision, gateUndeclared, gateExcluded} {
			objected := slices.ContainsFunc(f.Warnings, func(w record.Warning) bool { return w.Gate == g })
			blind := ""
			if g == gatePrecision && a.plan.Repeat.Pilot == 0 {
				blind = "the number of blocks was fixed in advance"
			}
			if g == gateUndeclared && len(a.facts.hosts()) == 0 {
				blind = "no facts of the hosts are on record"
			}
			a.saw(g, objected, blind)
		}
	}
	a.saw(gateUnit, true, "")
	r.Warnings = append(r.Warnings, a.runWarning(gateUnit, "", "every level was measured on one machine"))
	r.Warnings = append(r.Warnings, a.checkShort()...)
	r.Warnings = append(r.Warnings, a.checkPostHoc()...)
	r.Warnings = append(r.Warnings, a.checkDrift(s)...)
	r.Warnings = append(r.Warnings, a.checkAttrition()...)
	r.Warnings = append(r.Warnings, a.checkNoise(r.Noise)...)
}

func (a *analyst) runWarning(gate, subject, found string) record.Warning {
	g := gateNamed(gate)
	return record.Warning{Gate: gate, Severity: g.severity, Subject: subject, Found: found,
		Threshold: g.threshold(limitsOf(a.plan.Limits)), Advice: g.advice}
}

// checkShort compares the blocks that were begun with those that the plan asks for.
func (a *analyst) checkShort() []record.Warning {
	next, more, err := plan.Next(a.plan, a.outcomes())
	if err != nil {
		a.saw(gateShort, true, "")
		return []record.Warning{a.runWarning(gateShort, "", err.Error())}
	}
	a.saw(gateShort, more, "")
	if !more {
		return nil
	}
	return []record.Warning{a.runWarning(gateShort, "", fmt.Sprintf("the run ends before cell %q of block %d", next.Cell.Key(), next.Block))}
}

func (a *analyst) checkPostHoc() []record.Warning {
	of := a.run.Manifest.PostHocOf
	a.saw(gatePostHoc, of != "", "")
	if of == "" {
		return nil
	}
	return []record.Warning{a.runWarning(gatePostHoc, "", "these blocks were added to record "+of)}
}

// checkDrift fits the mean of all cells over the blocks.
func (a *analyst) checkDrift(s *samples) []record.Warning {
	var out []record.Warning
	for _, m := range a.plan.Primary {
		for _, key := range s.order {
			if key.measure != m.Measure {
				continue
			}
			found, blind := drift(a.plan, s, key)
			a.saw(gateDrift, found != "", blind)
			if found != "" {
				out = append(out, a.runWarning(gateDrift, describe(key.measure, "").title, found))
			}
		}
	}
	return out
}

// drift says by how much a measure went up or down over the blocks.
func drift(p *plan.Plan, s *samples, key sampleKey) (found, blind string) {
	var at, level []float64
	for _, block := range s.blocks(key) {
		var values []float64
		for _, cell := range p.Cells() {
			if o, ok := s.at(key, block, cell); ok {
				values = append(values, o.Value)
			}
		}
		if mean := stats.GeometricMean(values); !math.IsNaN(mean) && len(values) == len(s.cells(key)) {
			at, level = append(at, float64(block)), append(level, math.Log(mean))
		}
	}
	line, ok := stats.LeastSquares(at, level, familyAlpha)
	if !ok || len(at) < 4 {
		return "", "fewer than four whole blocks"
	}
	change := 100 * math.Expm1(line.Slope*(at[len(at)-1]-at[0]))
	if math.Abs(change) <= maxDrift || line.Interval.Contains(0) {
		return "", ""
	}
	return fmt.Sprintf("%+.1f %% from block %.0f to block %.0f", change, at[0], at[len(at)-1]), ""
}

// cells lists the cells in which a measure was observed, by key.
func (s *samples) cells(key sampleKey) map[string]bool {
	out := map[string]bool{}
	for _, cells := range s.values[key] {
		for cell := range cells {
			out[cell] = true
		}
	}
	return out
}

// checkAttrition compares the levels of each factor by the share of their
// trials that was lost.
func (a *analyst) checkAttrition() []record.Warning {
	var out []record.Warning
	for _, f := range a.plan.Factors {
		low, high := 1.0, 0.0
		var worst string
		for _, l := range f.Levels {
			begun, spoiled := a.losses(f.Name, l.Name)
			if begun == 0 {
				continue
			}
			share := float64(spoiled) / float64(begun)
			if share > high {
				high, worst = share, l.Name
			}
			low = min(low, share)
		}
		objected := high-low > maxAttrition
		a.saw(gateAttrition, objected, "")
		if objected {
			out = append(out, a.runWarning(gateAttrition, f.Name, fmt.Sprintf(
				"%s %% of the trials of %s=%s, %s %% of another level's", plain(100*high), f.Name, worst, plain(100*low))))
		}
	}
	return out
}

// losses counts a level's trials, and those that were spoiled themselves.
func (a *analyst) losses(factor, level string) (begun, spoiled int) {
	for _, t := range a.run.Trials {
		if l, ok := t.Cell.Level(factor); !ok || l != level || t.Role != record.RoleMeasure || t.Status == record.StatusInterrupted {
			continue
		}
		begun++
		if t.Status != record.StatusComplete || hasHard(a.warnings(t)) {
			spoiled++
		}
	}
	return begun, spoiled
}

func (a *analyst) checkNoise(floors []NoiseFloor) []record.Warning {
	if len(floors) == 0 {
		blind := "the baseline was not run against itself (bakeoff run --aa)"
		if a.plan.AA {
			blind = "there are not two whole blocks of the baseline and its twin, or a value is not above zero"
		}
		a.saw(gateNoise, false, blind)
		return nil
	}
	var out []record.Warning
	for _, n := range floors {
		found := n.Verdict == Better || n.Verdict == Worse
		a.saw(gateNoise, found, "")
		if found {
			out = append(out, a.runWarning(gateNoise, n.Measure, n.Sentence))
		}
	}
	return out
}

// excluded warns of the trials of a finding's cells that would count, had not an
// operator left them out.
func (a *analyst) excluded(f Finding) []record.Warning {
	sides := map[string]bool{}
	for _, id := range f.Trials {
		sides[a.trial(id).Cell.Key()] = true
	}
	var found []string
	for _, x := range a.run.Exclusions {
		t := a.trial(x.Trial)
		if x.Was == record.StatusComplete && t.Role == record.RoleMeasure && sides[t.Cell.Key()] {
			found = append(found, fmt.Sprintf("trial %s of %s: %s", t.ID, cmp.Or(t.Cell.Key(), "the one cell"), x.Reason))
		}
	}
	if len(found) == 0 {
		return nil
	}
	shown := found[:min(3, len(found))]
	return []record.Warning{findingWarning(gateExcluded, record.SeveritySoft, f, strings.Join(shown, "; ")+andMore(len(found)-len(shown)))}
}

// undeclared warns of what differs between the two sides of a finding and is
// not in the plan.
func (a *analyst) undeclared(f Finding) []record.Warning {
	sides := map[string]bool{}
	for _, id := range f.Trials {
		sides[a.trial(id).Cell.Key()] = true
	}
	var paths []string
	for _, d := range a.differ {
		if d.Declared || d.Values["before"] != d.Values["after"] {
			continue // a change over time has a gate of its own
		}
		values := map[string]bool{}
		for cell, v := range d.Values {
			if sides[cell] {
				values[v] = true
			}
		}
		if len(values) > 1 {
			paths = append(paths, d.Path+" ("+d.Host+")")
		}
	}
	if len(paths) == 0 {
		return nil
	}
	shown := paths[:min(6, len(paths))]
	return []record.Warning{findingWarning(gateUndeclared, record.SeveritySoft, f,
		strings.Join(shown, ", ")+andMore(len(paths)-len(shown)))}
}

// gateResults is the validity page: every gate, what it saw, and why it could
// not look.
func (a *analyst) gateResults() []GateResult {
	var out []GateResult
	for _, g := range gates() {
		if g.name == gateUnpaired {
			continue // only of records made apart
		}
		r := GateResult{Gate: g.name, Title: g.title, Threshold: g.threshold(limitsOf(a.plan.Limits)), Severity: g.severity, NotChecked: g.blind}
		if l := a.looked[g.name]; l != nil {
			r.Checked, r.Objected = l.checked, l.objected
			if l.checked == 0 {
				r.NotChecked = l.blind
			}
		} else if g.blind == "" {
			r.NotChecked = "the run has no trial or finding to look at"
		}
		out = append(out, r)
	}
	return append(out, a.recordedGates()...)
}

// recordedGates are those that only the load or its engine can feed: they are
// known by the warnings in the record.
func (a *analyst) recordedGates() []GateResult {
	own := map[string]bool{}
	for _, g := range gates() {
		own[g.name] = true
	}
	found := map[string]*GateResult{}
	measured := 0
	for _, t := range a.run.Trials {
		if t.Role == record.RoleSearch {
			continue
		}
		if len(t.Loads) > 0 {
			measured++
		}
		seen := map[string]bool{}
		for _, w := range t.Warnings {
			if own[w.Gate] || seen[w.Gate] {
				continue
			}
			seen[w.Gate] = true
			if found[w.Gate] == nil {
				found[w.Gate] = &GateResult{Gate: w.Gate, Title: gateTitle(w.Gate), Threshold: w.Threshold, Severity: w.Severity}
			}
			found[w.Gate].Objected++
		}
	}
	var out []GateResult
	for _, name := range sortedKeys(found) {
		found[name].Checked = measured
		out = append(out, *found[name])
	}
	return out
}

// gateTitle makes a title of a gate's name.
func gateTitle(name string) string {
	words := strings.ReplaceAll(name, "-", " ")
	if words == "" {
		return words
	}
	return strings.ToUpper(words[:1]) + words[1:]
}
