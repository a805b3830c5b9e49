package analysis

import (
	"strings"

	"bakeoff/record"
)

// A climb is a ladder as one primary measure of one workload saw it: a finding
// for every step, and one for all of them.
type climb struct {
	steps []Finding
	all   Finding
}

// climbs are those of a ladder's findings; none for any other plan, and none
// for a ladder of one step.
func (a *analyst) climbs(findings []Finding) (out []climb) {
	if !a.plan.Ladder {
		return nil
	}
	var steps []Finding
	for _, f := range findings {
		factor := a.plan.Factor(f.Factor)
		if !f.Primary || factor == nil {
			continue
		}
		levels := factor.Levels
		if len(levels) > 2 && f.Base == levels[0].Name && f.Against == levels[len(levels)-1].Name {
			out, steps = append(out, climb{steps, f}), nil
			continue
		}
		steps = append(steps, f)
	}
	return out
}

// stepWords are what the steps of each verdict are said to have done, in order.
func stepWords() []struct {
	verdict Verdict
	words   string
} {
	return []struct {
		verdict Verdict
		words   string
	}{{Better, "Helped"}, {Equivalent, "Did nothing"}, {Worse, "Made it worse"}, {Inconclusive, "Not shown to do anything"}, {Invalid, "Not valid"}}
}

// named lists the steps by what they did.
func (c climb) named() string {
	var parts []string
	for _, w := range stepWords() {
		var names []string
		for _, f := range c.steps {
			if f.Verdict == w.verdict {
				names = append(names, f.Against)
			}
		}
		if len(names) > 0 {
			parts = append(parts, w.words+": "+strings.Join(names, ", ")+".")
		}
	}
	return strings.Join(parts, " ")
}

// ladderAnswer is what all steps did together, and which of them did nothing.
func ladderAnswer(climbs []climb) string {
	var parts []string
	for _, c := range climbs {
		parts = append(parts, "All steps together: "+c.all.Sentence, c.named())
	}
	return strings.Join(parts, " ")
}

// ladderTables are the gains of every step and of all up to it.
func (a *analyst) ladderTables(r *Result, s *samples) []Table {
	climbs := a.climbs(r.Findings)
	if len(climbs) == 0 {
		return nil
	}
	l := newLayout("ladder", "The ladder, step by step",
		"A gain is positive where the measure got better. That of a step is against the step before it, with the interval that its verdict rests on; that of all so far is against the first level, with a 95 % interval of its own.").
		text("measure", "step").numbers("value", "gain of the step", "interval").text("verdict").numbers("gain of all so far", "95 % interval")
	j := &judge{plan: a.plan, samples: s, family: 1, options: a.options, several: len(a.plan.Workloads) > 1}
	for _, c := range climbs {
		title := titled(describe(c.all.Measure, c.all.Unit).title, c.all.Workload)
		first := c.steps[0]
		l.row(title, first.Base, amount(first.Measure, first.Unit, first.BaseValue), "", "", "", "", "")
		for i, f := range c.steps {
			row := []string{title, f.Against, amount(f.Measure, f.Unit, f.AgainstValue), gainText(f), gainInterval(f), string(f.Verdict), "", ""}
			if i > 0 && f.N > 0 {
				so := a.soFar(j, c, f.Against)
				row[6], row[7] = gainText(so), gainInterval(so)
			}
			l.row(row...)
		}
		l.note(title + ": " + strings.TrimSuffix(c.named(), ".") + ".")
	}
	return []Table{l.finish()}
}

// soFar compares a level with the first.
func (a *analyst) soFar(j *judge, c climb, level string) Finding {
	for _, e := range a.plan.ClimbEffects() {
		if e.Against != level || e.Factor != c.all.Factor {
			continue
		}
		key, _ := j.samples.find(e.Workload, c.all.Measure)
		if a.workloadName(key.workload) != c.all.Workload || !j.concerns(key, e) {
			continue
		}
		kind := j.samples.kinds[key]
		kind.better = c.all.Better
		f, _ := j.finding(key, e, kind, familyAlpha)
		return f
	}
	return Finding{}
}

// gainText is an improvement in percent, with its sign; a difference where there
// is no percentage.
func gainText(f Finding) string {
	switch {
	case f.N == 0:
		return ""
	case f.ImprovementPercent == nil:
		return signed(f, f.Effect)
	}
	return signedPercent(*f.ImprovementPercent)
}

// gainInterval is the interval of an improvement, from the worse to the better end.
func gainInterval(f Finding) string {
	if f.N < minBlocks {
		return ""
	}
	if f.ImprovementPercent == nil {
		return signed(f, f.Low) + " to " + signed(f, f.High)
	}
	ends := []float64{100 * (f.Low - 1), 100 * (f.High - 1)}
	if f.Scale == "difference" {
		ends = []float64{100 * f.Low / f.BaseValue, 100 * f.High / f.BaseValue}
	}
	if f.Better == record.LowerIsBetter {
		ends = []float64{-ends[1], -ends[0]}
	}
	return signedPercent(ends[0]) + " to " + signedPercent(ends[1])
}

func signedPercent(percent float64) string {
	text := plain(percent) + " %"
	if percent > 0 {
		return "+" + text
	}
	return text
}
