package self

import (
	"strings"

	"bakeoff/plan"
	"bakeoff/record"
)

// A climbView is a ladder as one primary measure saw it: its steps and, last, all
// of them together; with the findings of the report.
type climbView struct {
	steps    []*expected
	verdicts []string
	all      *expected
	found    *node // that of all steps
}

// climbs part the findings of a ladder by measure; none where the plan has no
// ladder of several steps.
func (a *auditor) climbs() (out []climbView) {
	if !a.plan.Ladder {
		return nil
	}
	findings := a.primaryFindings()
	var c climbView
	for i, x := range a.wanted {
		f := a.plan.Factor(x.effect.Factor)
		if f == nil || i >= len(findings) {
			return nil
		}
		levels := f.Levels
		if len(levels) > 2 && x.effect.Base == levels[0].Name && x.effect.Against == levels[len(levels)-1].Name {
			c.all, c.found = x, findings[i]
			out, c = append(out, c), climbView{}
			continue
		}
		c.steps, c.verdicts = append(c.steps, x), append(c.verdicts, findings[i].str("verdict"))
	}
	return out
}

// names are the words of the steps by verdict, in the report's order.
func (c climbView) names() (out []piece) {
	for _, verdict := range []string{"better", "equivalent", "worse", "inconclusive", "invalid"} {
		for i, x := range c.steps {
			if c.verdicts[i] == verdict {
				out = append(out, saysWords(x.effect.Against)...)
			}
		}
	}
	return out
}

// ladderAnswer audits the answer of a ladder.
func (a *auditor) ladderAnswer(s *sheet, m *node, climbs []climbView) {
	var pieces []piece
	for _, c := range climbs {
		pieces = append(pieces, a.sentencePieces(c.all, a.findingWarnings(c.all, c.found), wholeIn(c.found, "needed_n"))...)
		pieces = append(pieces, c.names()...)
		s.says(m, "the answer", c.found.str("sentence"))
		for i, verdict := range c.verdicts {
			if word := map[string]string{"better": "Helped: ", "equivalent": "Did nothing: ", "worse": "Made it worse: "}[verdict]; word != "" {
				s.says(m, "the answer", word)
				s.says(m, "the answer", c.steps[i].effect.Against)
			}
		}
	}
	s.speaks(m, "the answer", pieces...)
}

// ladderView are the gains of every step, and of all up to it.
func (a *auditor) ladderView() (t tableView) {
	t.caption = saysWords("95 %")
	for _, c := range a.climbs() {
		title := a.titleOf(c.all.key.measure)
		if w := a.workloadName(c.all.key.workload); w != "" {
			title = w + ": " + lowered(title)
		}
		first := c.steps[0]
		base := figuresIn("value")
		if first.n() > 0 {
			base.pieces = append(base.pieces, saysNumber("the first value", truth{value: first.base, unit: first.unit}))
		}
		t.row(textIn("measure", title), textIn("step", first.effect.Base), base, textIn("gain of the step", ""), textIn("interval", ""), textIn("verdict", ""),
			textIn("gain of all so far", ""), textIn("95 % interval", ""))
		for i, x := range c.steps {
			value, gain, ends := figuresIn("value"), figuresIn("gain of the step"), figuresIn("interval")
			so, soEnds := figuresIn("gain of all so far"), figuresIn("95 % interval")
			if x.n() > 0 {
				value.pieces = append(value.pieces, saysNumber("the value", truth{value: x.against, unit: x.unit}))
				gain.pieces, ends.pieces = x.gainPieces()
				if i > 0 {
					so.pieces, soEnds.pieces = a.climbed(x).gainPieces()
				}
			}
			t.row(textIn("measure", title), textIn("step", x.effect.Against), value, gain, ends, textIn("verdict", c.verdicts[i]), so, soEnds)
		}
		t.notes = append(t.notes, append(saysWords(title), c.names()...)...)
	}
	return t
}

// climbed is what all steps up to a level did.
func (a *auditor) climbed(step *expected) *expected {
	f := a.plan.Factor(step.effect.Factor)
	e := step.effect.Effect
	e.Base = f.Levels[0].Name
	e.Kind = plan.StepEffect
	x := &expected{effect: viewEffect(a.plan, e), key: step.key, known: true, better: step.better}
	a.work(x)
	return x
}

// gainPieces are an improvement and its interval, in percent or as differences.
func (x *expected) gainPieces() (gain, ends []piece) {
	gain, ends = []piece{}, []piece{}
	if x.improved == nil {
		of := func(v float64) truth { return truth{value: v, unit: x.unit, slack: x.contrast.slack()} }
		gain = append(gain, saysNumber("the difference", of(x.value)))
		if x.n() > 1 {
			ends = append(ends, saysNumber("the low end", of(x.low)), saysNumber("the high end", of(x.high)))
		}
		return gain, ends
	}
	share := func(v float64) float64 {
		if x.contrast.log {
			return v - 1
		}
		return v / x.base
	}
	gain = append(gain, saysNumber("the gain", truth{value: *x.improved, unit: "%", slack: 1e-11}))
	if x.n() < 2 {
		return gain, ends
	}
	both := []float64{100 * share(x.low), 100 * share(x.high)}
	if x.better == record.LowerIsBetter {
		both = []float64{-both[1], -both[0]}
	}
	for i, what := range []string{"the worse end", "the better end"} {
		ends = append(ends, saysNumber(what, truth{value: both[i], unit: "%", slack: 1e-11}))
	}
	return gain, ends
}

// lowered begins a title in the middle of a sentence; abbreviations stay.
func lowered(title string) string {
	if title == "" || len(title) > 1 && strings.ToUpper(title[1:2]) == title[1:2] && title[1] != ' ' {
		return title
	}
	return strings.ToLower(title[:1]) + title[1:]
}
