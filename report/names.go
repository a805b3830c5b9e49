package report

import (
	"math"
	"slices"
	"strconv"
	"strings"

	"bakeoff/analysis"
	"bakeoff/record"
	"bakeoff/report/quantity"
)

// names answers what things are called in one result.
type names struct {
	result  *analysis.Result
	several bool // more than one workload: it must be named
	factors []string
}

func namesOf(r *analysis.Result) names {
	n := names{result: r}
	workloads := map[string]bool{}
	for _, m := range r.Measures {
		workloads[m.Workload] = true
	}
	n.several = len(workloads) > 1
	add := func(c record.Cell) {
		for _, l := range c {
			if !slices.Contains(n.factors, l.Factor) {
				n.factors = append(n.factors, l.Factor)
			}
		}
	}
	for _, t := range r.Trials {
		add(t.Cell)
	}
	for _, c := range r.Cells {
		add(c.Cell)
	}
	return n
}

// measure returns what is known of a measure; its name stands for a title that
// was not given.
func (n names) measure(name, workload string) analysis.Measure {
	for _, m := range n.result.Measures {
		if m.Name == name && m.Workload == workload {
			if m.Title == "" {
				m.Title = m.Name
			}
			return m
		}
	}
	return analysis.Measure{Name: name, Title: name, Workload: workload}
}

// title names a measure for people, with its workload where there are several.
func (n names) title(m analysis.Measure) string {
	title := m.Title
	if title == "" {
		title = m.Name
	}
	if n.several && m.Workload != "" {
		return title + ", " + m.Workload
	}
	return title
}

// better says in words which way a measure is better.
func better(d record.Direction) string {
	switch d {
	case record.HigherIsBetter:
		return "higher is better"
	case record.LowerIsBetter:
		return "lower is better"
	}
	return ""
}

// scale returns the scale for values of a measure. Fractions that the product
// itself defines are printed as percentages.
func scale(measure, unit string, values ...float64) quantity.Scale {
	if unit == "1" {
		last := measure[strings.LastIndexByte(measure, '.')+1:]
		if last == "errors" || last == "misses" || last == "host_cpu" {
			return quantity.FractionOf()
		}
	}
	return quantity.ForMost(unit, values...)
}

// comparison names what a finding compares: "valkey against redis".
func comparison(f analysis.Finding) string {
	switch {
	case f.Base == "" && f.Against == "":
		return f.Factor
	case f.Base == "":
		return f.Against
	}
	return f.Against + " against " + f.Base
}

// where names the fixed levels of a simple effect, or the kind of the effect.
func where(f analysis.Finding) string {
	if len(f.Where) > 0 {
		return "at " + f.Where.Key()
	}
	if f.Kind == analysis.Interaction {
		return "interaction: ratio of ratios"
	}
	return ""
}

// effectText writes a finding's effect and its interval, the interval in
// brackets: "1.082" and "[1.061, 1.103]".
func effectText(f analysis.Finding) (effect, interval string) {
	if f.N == 0 { // nothing was compared: that is not 0
		return quantity.Nothing, ""
	}
	s := quantity.Scale{Factor: 1}
	suffix := "×"
	if f.Scale == "difference" {
		s = scale(f.Measure, f.Unit, f.Effect, f.Low, f.High)
		suffix = ""
		if s.Unit != "" {
			suffix = quantity.Space + s.Unit
		}
	}
	d := quantity.RatioDecimals(f.Effect, f.Low, f.High)
	if f.Scale == "difference" {
		d = s.DecimalsWithin(f.Effect, f.Low, f.High, 3)
	}
	effect = s.Number(f.Effect, d)
	if effect != quantity.Nothing {
		effect += suffix
	}
	if math.IsNaN(f.Low) || math.IsNaN(f.High) {
		return effect, ""
	}
	return effect, s.Interval(f.Low, f.High, d)
}

// changeText writes a finding's effect and interval as changes in percent; empty
// where the effect is a difference.
func changeText(f analysis.Finding) (change, interval string) {
	if f.N == 0 || f.Scale == "difference" || math.IsNaN(f.Effect) || f.High > 10 || f.Low < 0.1 { // as a percentage it would tell nothing
		return "", ""
	}
	d := quantity.ChangeDecimals(f.Effect, f.Low, f.High)
	return quantity.Change(f.Effect, d), quantity.ChangeRange(f.Low, f.High, d)
}

// valuesText writes both values of a finding in one scale. Those of an interaction
// of ratios are ratios themselves, whatever the measure's unit; printed figures
// keep their digits.
func (n names) valuesText(f analysis.Finding) (base, against string) {
	if f.N == 0 {
		return quantity.Nothing, quantity.Nothing
	}
	if f.Kind == analysis.Interaction && f.Scale != "difference" {
		return ratioText(f.BaseValue), ratioText(f.AgainstValue)
	}
	if base, against, ok := n.printedTexts(f); ok {
		return base, against
	}
	small, large := math.Abs(f.BaseValue), math.Abs(f.AgainstValue)
	if small > large {
		small, large = large, small
	}
	if small > 0 && large > 100*small { // no scale suits both
		return oneValue(f, f.BaseValue), oneValue(f, f.AgainstValue)
	}
	s := scale(f.Measure, f.Unit, f.BaseValue, f.AgainstValue)
	d := max(s.Decimals(large, 4), s.Decimals(small, 3))
	return s.With(f.BaseValue, d), s.With(f.AgainstValue, d)
}

// printedTexts writes the values of a finding that are single printed figures.
func (n names) printedTexts(f analysis.Finding) (base, against string, ok bool) {
	var widths []float64
	for _, v := range []float64{f.BaseValue, f.AgainstValue} {
		i := slices.IndexFunc(n.result.Cells, func(c analysis.CellSummary) bool {
			return c.Measure == f.Measure && c.Workload == f.Workload && c.N == 1 && c.Center == v
		})
		if !n.result.Printed || i < 0 {
			return "", "", false
		}
		widths = append(widths, n.result.Cells[i].High-n.result.Cells[i].Low)
	}
	s := scale(f.Measure, f.Unit, f.BaseValue, f.AgainstValue)
	return s.With(f.BaseValue, s.Printed(f.BaseValue, widths[0])), s.With(f.AgainstValue, s.Printed(f.AgainstValue, widths[1])), true
}

func ratioText(v float64) string {
	text := quantity.Scale{Factor: 1}.Number(v, quantity.RatioDecimals(v, v, v))
	if text == quantity.Nothing {
		return text
	}
	return text + "×"
}

func oneValue(f analysis.Finding, v float64) string {
	s := scale(f.Measure, f.Unit, v)
	return s.With(v, s.Decimals(v, 4))
}

// marginText writes the smallest difference that matters.
func marginText(margin float64) string {
	if margin == 0 {
		return quantity.Nothing
	}
	return "±" + percent(margin)
}

// percent writes a fraction as a percentage with at most two decimals; with more
// only where these would read as none of it or all of it.
func percent(fraction float64) string {
	s := quantity.FractionOf()
	d := min(s.Exact(fraction), 2)
	for d < 6 && reachesEnd(100*fraction, d) {
		d++
	}
	return s.With(fraction, d)
}

// reachesEnd reports whether a percentage rounds to 0 or 100, which it is not.
func reachesEnd(v float64, decimals int) bool {
	unit := math.Pow10(-decimals)
	return v > 0 && v < unit/2 || v < 100 && v >= 100-unit/2
}

// confidence says how sure an interval is, and in which family.
func confidence(f analysis.Finding) string {
	if f.Level == 0 || f.Level >= 1 { // not known, or bounds that no chance is in
		return ""
	}
	text := percent(f.Level)
	if f.Family > 1 {
		text += ", one of " + strconv.Itoa(f.Family)
	}
	return text
}

// methodText says how a verdict was reached.
func methodText(f analysis.Finding) string {
	var parts []string
	if f.Method != "" {
		parts = append(parts, "Method: "+f.Method+".")
	}
	if f.Replicated != "" {
		parts = append(parts, "Replicated: "+f.Replicated+".")
	}
	if c := confidence(f); c != "" {
		parts = append(parts, "Confidence: "+c+".")
	}
	return strings.Join(parts, " ")
}

// commonMethod returns how all of the findings were reached, or nothing where
// they differ in it.
func commonMethod(findings []analysis.Finding) string {
	for _, f := range findings {
		if methodText(f) != methodText(findings[0]) {
			return ""
		}
	}
	if len(findings) == 0 {
		return ""
	}
	return methodText(findings[0])
}

// details tells what stands behind a verdict, its method included where spelled.
func details(f analysis.Finding, spelled bool) string {
	var parts []string
	if text := methodText(f); spelled && text != "" {
		parts = append(parts, text)
	}
	if f.SecondOpinion != "" {
		parts = append(parts, "Second opinion: "+f.SecondOpinion+".")
	}
	if needed := strconv.Itoa(f.NeededN); f.NeededN > 0 && f.NeededN <= analysis.WorthRunning && !strings.Contains(f.Sentence, needed) {
		parts = append(parts, "A new run would need "+needed+" blocks.")
	}
	if len(f.Trials) > 0 {
		parts = append(parts, "Trials "+trialRange(f.Trials)+".")
	}
	return strings.Join(parts, " ")
}

// trialRange lists trials, runs of numbers shortened: "0001-0004, 0007".
func trialRange(ids []record.TrialID) string {
	var out []string
	for i := 0; i < len(ids); {
		j := i
		for j+1 < len(ids) && follows(ids[j], ids[j+1]) {
			j++
		}
		text := string(ids[i])
		if j > i {
			text += "-" + string(ids[j])
		}
		out = append(out, text)
		i = j + 1
	}
	return strings.Join(out, ", ")
}

func follows(a, b record.TrialID) bool {
	x, errX := strconv.Atoi(string(a))
	y, errY := strconv.Atoi(string(b))
	return errX == nil && errY == nil && y == x+1
}

// primaries returns the findings on primary measures, and the rest.
func primaries(r *analysis.Result) (primary, rest []analysis.Finding) {
	for _, f := range r.Findings {
		if f.Primary {
			primary = append(primary, f)
		} else {
			rest = append(rest, f)
		}
	}
	return primary, rest
}

// reach says in which cells something held. Cells that are all those of some
// levels of one factor are named by these levels; otherwise one by one.
func (n names) reach(keys []string) string {
	all := n.cells()
	if len(keys) == 0 || len(keys) >= len(all) && len(all) > 0 {
		return "all cells"
	}
	held := map[string]bool{}
	for _, k := range keys {
		held[k] = true
	}
	for _, factor := range n.factors {
		if levels, ok := n.levelsOf(factor, all, held); ok {
			return factor + " = " + strings.Join(levels, ", ")
		}
	}
	return strings.Join(keys, "; ")
}

// levelsOf returns the levels of a factor whose cells are exactly the held ones.
func (n names) levelsOf(factor string, all []record.Cell, held map[string]bool) ([]string, bool) {
	in, out := map[string]bool{}, map[string]bool{}
	var order []string
	matched := 0
	for _, c := range all {
		level, ok := c.Level(factor)
		if !ok {
			return nil, false
		}
		if !held[c.Key()] {
			out[level] = true
			continue
		}
		matched++
		if !in[level] {
			in[level] = true
			order = append(order, level)
		}
	}
	for level := range in {
		if out[level] {
			return nil, false
		}
	}
	return order, matched == len(held) && matched > 0
}

// cells lists the cells of the result in the order in which they first occur.
func (n names) cells() []record.Cell {
	var out []record.Cell
	seen := map[string]bool{}
	add := func(c record.Cell) {
		if key := c.Key(); !seen[key] {
			seen[key] = true
			out = append(out, c)
		}
	}
	for _, c := range n.result.Cells {
		add(c.Cell)
	}
	for _, t := range n.result.Trials {
		add(t.Cell)
	}
	return out
}
