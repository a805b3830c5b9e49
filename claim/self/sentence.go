package self

import (
	"fmt"
	"math"
	"strings"

	"bakeoff/analysis"
	"bakeoff/plan"
	"bakeoff/record"
)

// findingSentence audits the numbers, the direction and the verdict in words.
func (a *auditor) findingSentence(s *sheet, n *node, x *expected, warnings []objected) {
	m := n.at("sentence")
	s.speaks(m, "the sentence", a.sentencePieces(x, warnings, wholeIn(n, "needed_n"))...)
	if m == nil || x.n() == 0 {
		return
	}
	if x.contrast.log && x.effect.Kind != plan.Interaction {
		if x.value < 1 && strings.Contains(m.text, " % more") || x.value > 1 && strings.Contains(m.text, " % less") {
			s.fault("the sentence says the wrong direction: the ratio is %s", plainTruth(x.value))
		}
	}
	if x.primary {
		s.says(m, "the sentence", ": "+n.str("verdict"))
	}
}

// sentencePieces are the figures that a finding's sentence may say, in order.
func (a *auditor) sentencePieces(x *expected, warnings []objected, needed int) []piece {
	of := func(v float64, unit string) truth { return truth{value: v, unit: unit, slack: x.contrast.slack()} }
	unit := "x"
	if !x.contrast.log {
		unit = x.unit
	}
	out := append(saysWords(a.workloadName(x.key.workload), x.key.measure), x.sidePieces(of)...)
	if x.n() == 0 {
		return out
	}
	out = append(out, x.differencePieces(of, unit)...)
	out = append(out, saysNumber("the confidence", percentTruth(x.level)), saysNumber("the interval's low end", of(x.low, unit)),
		saysNumber("the interval's high end", of(x.high, unit)), saysNumber("the number of blocks", countTruth(x.n())))
	if w := hard(warnings); w != nil {
		return append(out, w.said()...)
	}
	switch {
	case !x.primary:
		return out
	case needed <= 0:
		return append(out, saysNumber("the margin", percentTruth(x.margin)))
	case needed <= worthRunning:
		return append(out, saysNumber("the blocks that a new run needs", countTruth(needed)))
	}
	return append(out, saysNumber("the interval's reach in margins", plainTruth(x.reach())))
}

// sidePieces are what is compared: names and values of the two sides.
func (x *expected) sidePieces(of func(float64, string) truth) []piece {
	e := x.effect
	if e.Kind == plan.Interaction {
		return x.interactionPieces(of)
	}
	out := saysWords(e.Factor, e.Against)
	if x.n() > 0 {
		out = append(out, saysNumber("the value compared", of(x.against, x.unit)), saysNumber("the base's value", of(x.base, x.unit)))
	}
	out = append(out, saysWords(e.Factor, e.Base)...)
	return append(out, saysWords(whereNames(x.fixed())...)...)
}

// interactionPieces are the effect of one factor at either level of the other.
func (x *expected) interactionPieces(of func(float64, string) truth) []piece {
	unit := "x"
	if !x.contrast.log {
		unit = x.unit
	}
	nameA, nameB, _ := strings.Cut(x.effect.Factor, " x ")
	baseA, baseB, _ := strings.Cut(x.effect.Base, ", ")
	newA, newB, _ := strings.Cut(x.effect.Against, ", ")
	out := append(saysWords(nameA, baseA, newA), saysNumber("the effect at the other level", of(x.against, unit)))
	out = append(append(out, saysWords(nameB, newB)...), saysNumber("the effect at the base", of(x.base, unit)))
	return append(out, saysWords(nameB, baseB)...)
}

// worthRunning is the most blocks that a sentence advises a new run to have.
const worthRunning = 500

// reach is how many times the margin the interval reaches to either side.
func (x *expected) reach() float64 {
	half, margin := x.basis.half(x.n(), 1-x.level), math.Log1p(x.margin)
	if !x.contrast.log {
		margin = x.margin * math.Abs(x.base)
	}
	return half / margin
}

// differencePieces are the forms in which a difference is said.
func (x *expected) differencePieces(of func(float64, string) truth, unit string) []piece {
	if !x.contrast.log {
		share := math.Abs(x.value / x.base)
		return []piece{saysNumber("the difference", of(x.value, unit)), saysNumber("the difference in percent of the base", percentTruth(share))}
	}
	out := []piece{saysNumber("the difference in percent", percentTruth(math.Abs(x.value-1)))}
	if x.value < 1 && x.unit == "s" {
		out = append(out, saysNumber("the ratio of speeds", of(1/x.value, unit)))
	}
	return append(out, saysNumber("the ratio", of(x.value, unit)), saysNumber("the ratio", of(x.value, unit)))
}

func whereNames(where record.Cell) (out []string) {
	for _, l := range where {
		out = append(out, l.Factor, l.Level)
	}
	return out
}

// said are the numbers that an objection says.
func (w objected) said() []piece {
	if w.pieces != nil {
		return w.pieces
	}
	return saysWords(w.Found)
}

// auditAnswer audits the report's first line: the first verdict's sentence, and
// how the others came out.
func (a *auditor) auditAnswer() {
	s := newSheet("the answer", a.report.at("answer"))
	m := a.report.at("answer")
	wanted := a.wanted
	if len(wanted) == 0 {
		a.answerWithout(s, m)
		a.add(s)
		return
	}
	if climbs := a.climbs(); len(climbs) > 0 {
		a.ladderAnswer(s, m, climbs)
		a.add(s)
		return
	}
	findings := a.primaryFindings()
	if len(wanted) == 1 && len(findings) == 1 {
		n := findings[0]
		s.speaks(m, "the answer", a.sentencePieces(wanted[0], a.findingWarnings(wanted[0], n), wholeIn(n, "needed_n"))...)
		s.says(m, "the answer", n.str("sentence"))
		a.add(s)
		return
	}
	pieces := []piece{saysNumber("the number of comparisons", countTruth(len(wanted)))}
	var named []piece
	for _, v := range []analysis.Verdict{analysis.Better, analysis.Worse, analysis.Equivalent, analysis.Inconclusive, analysis.Invalid} {
		var of []*expected
		for i, n := range findings {
			if i < len(wanted) && n.str("verdict") == string(v) {
				of = append(of, wanted[i])
			}
		}
		if len(of) > 0 {
			pieces = append(pieces, saysNumber("the number of verdicts "+string(v), countTruth(len(of))))
			s.says(m, "the answer", fmt.Sprintf("%d %s", len(of), v))
			named = append(named, a.namedPieces(of, len(wanted) <= 4)...)
			if more := len(of) - answerNamed; more > 0 {
				s.says(m, "the answer", fmt.Sprintf("; and %d more.", more))
			}
		}
	}
	s.speaks(m, "the answer", append(pieces, named...)...)
	a.add(s)
}

// answerNamed is how many comparisons of one verdict the answer names.
const answerNamed = 6

// namedPieces are the comparisons of one verdict as the answer names them.
func (a *auditor) namedPieces(of []*expected, intervals bool) (out []piece) {
	for _, x := range of[:min(len(of), answerNamed)] {
		value := func(v float64, unit string) truth { return truth{value: v, unit: unit, slack: x.contrast.slack()} }
		unit := "x"
		if !x.contrast.log {
			unit = x.unit
		}
		out = append(out, saysWords(a.workloadName(x.key.workload), x.key.measure, x.effect.Factor, x.effect.Against, x.effect.Base)...)
		out = append(out, saysWords(whereNames(x.fixed())...)...)
		if x.n() > 0 && x.effect.Kind != plan.Interaction {
			out = append(out, x.differencePieces(value, unit)...)
		}
		if x.n() > 0 && intervals {
			out = append(out, saysNumber("the ratio", value(x.value, unit)), saysNumber("the confidence", percentTruth(x.level)), saysNumber("the interval's low end", value(x.low, unit)),
				saysNumber("the interval's high end", value(x.high, unit)), saysNumber("the number of blocks", countTruth(x.n())))
		}
	}
	if more := len(of) - answerNamed; more > 0 {
		out = append(out, saysNumber("the number of further comparisons", countTruth(more)))
	}
	return out
}

func (a *auditor) primaryFindings() (out []*node) {
	for _, n := range a.report.at("findings").list() {
		if n.is("primary") {
			out = append(out, n)
		}
	}
	return out
}

// answerWithout audits the answer of a plan that compares nothing.
func (a *auditor) answerWithout(s *sheet, m *node) {
	for _, measure := range a.report.at("measures").list() {
		for _, c := range a.cells {
			if c.key.measure != measure.str("name") || a.workloadName(c.key.workload) != measure.str("workload") {
				continue
			}
			of := func(v float64) truth { return truth{value: v, unit: c.unit} }
			s.speaks(m, "the answer", append(saysWords(c.key.measure), saysNumber("the centre", of(c.center)), saysWords("95 %")[0],
				saysNumber("the low end", of(c.low)), saysNumber("the high end", of(c.high)), saysNumber("the trials", countTruth(len(c.values))))...)
			return
		}
	}
	s.speaks(m, "the answer")
}
