package self

import (
	"math"
	"slices"
	"strings"

	"bakeoff/analysis"
	"bakeoff/plan"
	"bakeoff/record"
)

// improvement is positive where the new value is the better one, in percent;
// nil where there is no direction or no base.
func (x *expected) improvement() *float64 {
	if x.effect.Kind == plan.Interaction || x.better == record.NoDirection || !(x.base > 0) {
		return nil
	}
	change := x.value - 1
	if !x.contrast.log {
		change = x.value / x.base
	}
	if x.better == record.LowerIsBetter {
		change = -change
	}
	if change *= 100; math.IsNaN(change) || math.IsInf(change, 0) {
		return nil
	}
	return &change
}

// judged lists the verdicts that interval and margin give, by the order of
// precedence: one, or two where the interval ends on a limit.
func (x *expected) judged() (all []analysis.Verdict) {
	for _, nudge := range []float64{0, -1e-11, 1e-11} {
		scale := max(math.Abs(x.low), math.Abs(x.high))
		for _, v := range []analysis.Verdict{
			x.verdictOf(x.low+nudge*scale, x.high+nudge*scale), x.verdictOf(x.low-nudge*scale, x.high+nudge*scale),
		} {
			if !slices.Contains(all, v) {
				all = append(all, v)
			}
		}
	}
	return all
}

func (x *expected) verdictOf(low, high float64) analysis.Verdict {
	none, least, most := 1.0, 1/(1+x.margin), 1+x.margin
	if !x.contrast.log {
		band := x.margin * math.Abs(x.base)
		none, least, most = 0, -band, band
	}
	switch {
	case math.IsNaN(low) || math.IsNaN(high):
		return analysis.Invalid
	case low >= least && high <= most:
		return analysis.Equivalent
	case low <= none && high >= none || x.better == record.NoDirection:
		return analysis.Inconclusive
	case (low > none) == (x.better == record.HigherIsBetter):
		return analysis.Better
	}
	return analysis.Worse
}

// neededBlocks is how many blocks a new run needs for a verdict whatever the
// effect, as a range where rounding up leaves two.
func (x *expected) neededBlocks() (least, most int) {
	half, seen := math.Log1p(x.margin)/2, math.Abs(math.Log(x.value))
	if !x.contrast.log {
		half, seen = x.margin*math.Abs(x.base)/2, math.Abs(x.value)
	}
	if x.margin == 0 {
		half = seen
	}
	n, exact := blocksFor(x.basis.sd, x.basis.df, 1-x.level, half, x.n()+1)
	if math.Abs(exact-math.Round(exact)) < 1e-6*exact && n > x.n()+1 {
		return n - 1, n + 1
	}
	return n, n
}

// kindName is how a report names a kind of effect.
func kindName(k plan.EffectKind) string {
	if k == plan.StepEffect {
		return string(plan.MainEffect)
	}
	return string(k)
}

// findingID names a finding: workload, measure, factor, levels and what is fixed.
func findingID(e plan.Effect, key measureKey) string {
	parts := []string{key.measure, e.Factor, e.Base + " - " + e.Against}
	if e.Workload != "" {
		parts = append([]string{e.Workload}, parts...)
	}
	id := strings.Join(parts, " / ")
	for _, l := range fixedLevels(e) {
		id += " @ " + l.Factor + "=" + l.Level
	}
	return id
}

// fixedLevels are those that an effect holds, without the workload's.
func fixedLevels(e plan.Effect) (out record.Cell) {
	for _, l := range e.Where {
		if l.Factor != plan.WorkloadFactor {
			out = append(out, l)
		}
	}
	return out
}

// fixed are the levels that a finding holds: the workload's too, where it is of a
// measure of the hosts, which has no workload of its own.
func (x *expected) fixed() record.Cell {
	if x.key.workload == "" {
		return x.effect.Where
	}
	return fixedLevels(x.effect.Effect)
}

// cellKey is the key of a printed cell: factor=level, joined by ", ".
func cellKey(n *node) string {
	var cell record.Cell
	for _, l := range n.list() {
		cell = append(cell, record.Level{Factor: l.str("factor"), Level: l.str("level")})
	}
	return cell.Key()
}

// tellCell marks a cell's names as looked at: they were compared.
func tellCell(n *node) {
	for _, l := range n.list() {
		for _, item := range l.items {
			item.told = true
		}
	}
}

// auditFindings audits every finding, and that none on a primary measure is
// left out.
func (a *auditor) auditFindings() {
	wanted := map[string]*expected{}
	var order []string
	for _, x := range a.wanted {
		id := findingID(x.effect.Effect, x.key)
		wanted[id], order = x, append(order, id)
	}
	seen := map[string]bool{}
	for _, n := range a.report.at("findings").list() {
		id := n.str("id")
		x := wanted[id]
		if x == nil {
			x = a.described(id)
		}
		if x == nil || seen[id] {
			continue // nothing gives it: its figures object by themselves
		}
		seen[id] = true
		a.auditFinding(n, x)
	}
	s := newSheet("findings on primary measures", a.report.at("findings"))
	for _, id := range order {
		if s.numbers++; !seen[id] {
			s.fault("%s is left out", id)
		}
	}
	a.add(s)
}

// described finds the effect and measure of a finding that is not judged.
func (a *auditor) described(id string) *expected {
	for _, e := range a.plan.Effects() {
		for _, key := range a.keys {
			if findingID(e, key) != id || !a.concerns(key, e) {
				continue
			}
			x := &expected{effect: viewEffect(a.plan, e), key: key, known: true}
			a.work(x)
			return x
		}
	}
	return nil
}

// auditFinding audits one finding, a claim for each of its figures.
func (a *auditor) auditFinding(n *node, x *expected) {
	name := "finding " + n.str("id")
	tell(n, "id")
	claim := func(what string, audit func(s *sheet)) {
		s := newSheet(name+": "+what, n.at(strings.ReplaceAll(what, " ", "_")))
		if s.outcome.Line == 0 {
			s.outcome.Line = n.line
		}
		audit(s)
		a.add(s)
	}
	c := x.contrast
	for _, f := range []struct {
		what  string
		value float64
		slack float64
	}{{"base value", x.base, 0}, {"against value", x.against, 0}, {"effect", x.value, 0}, {"low", x.low, x.ending.at(x.low)}, {"high", x.high, x.ending.at(x.high)}} {
		unit := x.unit
		if c.log && (x.effect.Kind == plan.Interaction || !strings.HasSuffix(f.what, " value")) {
			unit = "x"
		}
		claim(f.what, func(s *sheet) {
			s.number(n.at(strings.ReplaceAll(f.what, " ", "_")), f.what, truth{value: f.value, unit: unit, slack: c.slack() + f.slack})
		})
	}
	a.findingFrame(n, x, claim)
	warnings := a.findingWarnings(x, n)
	claim("warnings", func(s *sheet) { a.matchWarnings(s, n.at("warnings"), warnings) })
	claim("verdict", func(s *sheet) { a.findingVerdict(s, n, x, warnings) })
	claim("sentence", func(s *sheet) { a.findingSentence(s, n, x, warnings) })
	if m := n.at("second_opinion"); m != nil && m.text != "" {
		claim("second opinion", func(s *sheet) { a.secondOpinion(s, m, x) })
	}
}

// findingFrame audits what a finding says of its design.
func (a *auditor) findingFrame(n *node, x *expected, claim func(string, func(*sheet))) {
	c := x.contrast
	claim("subject", func(s *sheet) { a.findingSubject(s, n, x) })
	claim("n", func(s *sheet) { s.count(n.at("n"), "n", x.n()) })
	claim("margin", func(s *sheet) { s.number(n.at("margin"), "margin", plainTruth(x.margin)) })
	claim("confidence", func(s *sheet) { s.number(n.at("confidence"), "confidence", plainTruth(x.level)) })
	claim("family", func(s *sheet) { s.count(n.at("family"), "family", x.family) })
	claim("improvement percent", func(s *sheet) {
		m := n.at("improvement_percent")
		switch {
		case x.improved != nil && x.n() > 0:
			// One is taken off: of a small improvement few digits are left.
			s.number(m, "improvement", truth{value: *x.improved, unit: "%", slack: 100 * max(c.slack(), floatShare)})
		case m != nil && m.kind != nullNode:
			m.told = true
			s.fault("improvement is printed as %s, but the measure has no direction or no base", m.text)
		}
	})
	claim("trials", func(s *sheet) { s.names(n.at("trials"), "trials", textsOf(c.trials)) })
	claim("method", func(s *sheet) {
		scale := "difference"
		if c.log {
			scale = "ratio"
		}
		s.same(n.at("scale"), "scale", scale)
		s.same(n.at("better"), "better", string(x.better))
		if x.known {
			s.same(n.at("unit"), "unit", x.unit)
		} else {
			tell(n, "unit") // nothing was observed in it
		}
		s.flag(n.at("primary"), "primary", x.primary)
		var pieces []piece
		if x.n() > 1 {
			if pilot := max(x.basis.pilot, x.basis.beyond); pilot > 0 {
				pieces = append(pieces, saysNumber("the pilot's blocks", countTruth(pilot)))
			}
			pieces = append(pieces, saysNumber("the degrees of freedom", countTruth(x.basis.df)))
		}
		s.speaks(n.at("method"), "method", pieces...)
		s.speaks(n.at("replicated"), "replicated", a.hardNames()...)
	})
}

// findingSubject audits what a finding says that it compares.
func (a *auditor) findingSubject(s *sheet, n *node, x *expected) {
	e := x.effect
	s.same(n.at("kind"), "kind", kindName(e.Kind))
	s.same(n.at("factor"), "factor", e.Factor)
	s.same(n.at("base"), "base", e.Base)
	s.same(n.at("against"), "against", e.Against)
	s.speaks(n.at("coarse"), "coarse")
	s.same(n.at("measure"), "measure", x.key.measure)
	s.same(n.at("workload"), "workload", a.workloadName(x.key.workload))
	if got, want := cellKey(n.at("where")), x.fixed().Key(); got != want {
		s.fault("where is printed as %q; the plan says %q", got, want)
	}
	tellCell(n.at("where"))
}

// hardNames are the names of the factors that are changed between whole plots.
func (a *auditor) hardNames() (out []piece) {
	for _, f := range a.plan.Factors {
		if f.Hard {
			out = append(out, saysWords(f.Name)...)
		}
	}
	return out
}

// findingVerdict audits the verdict, and how many blocks a new run needs.
func (a *auditor) findingVerdict(s *sheet, n *node, x *expected, warnings []objected) {
	s.numbers++
	right := []analysis.Verdict{analysis.Descriptive}
	switch {
	case x.primary && hard(warnings) != nil:
		right = []analysis.Verdict{analysis.Invalid}
	case x.primary:
		right = x.judged()
	}
	got := analysis.Verdict(n.str("verdict"))
	if !slices.Contains(right, got) {
		s.showText(string(got), string(right[0]))
		s.fault("the verdict is printed as %q; interval, margin and precedence give %q", got, right[0])
	}
	m := n.at("needed_n")
	switch {
	case slices.Contains(right, analysis.Inconclusive) && got == analysis.Inconclusive && x.primary:
		least, most := x.neededBlocks()
		if x.coarse {
			least, most = 0, 0
		}
		if m == nil && most == 0 {
			return
		}
		s.countIn(m, "the blocks that a new run needs", least, most)
	case m != nil:
		m.told = true
		if m.text != "0" {
			s.fault("needed_n is printed as %s, but nothing is inconclusive", m.text)
		}
	}
}

// hard returns the first warning that makes a finding invalid.
func hard(warnings []objected) *objected {
	i := slices.IndexFunc(warnings, func(w objected) bool { return w.Severity == record.SeverityHard })
	if i < 0 {
		return nil
	}
	return &warnings[i]
}
