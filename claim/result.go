package claim

import (
	"fmt"
	"math/big"
	"slices"
	"strings"

	"bakeoff/analysis"
	"bakeoff/plan"
	"bakeoff/record"
)

// Result makes the report that a measured run gets out of printed figures: each
// table compared as its baseline says, every improvement, the money and energy
// that follow, and the printed conclusions re-derived. It is marked as printed.
func (f *Figures) Result() (*analysis.Result, error) {
	r := &analysis.Result{Title: f.Title, Question: f.Question, Printed: true, Method: f.method(), Differs: f.disclosed()}
	for _, t := range f.Tables {
		part, err := f.tableResult(t)
		if err != nil {
			return nil, fmt.Errorf("%s: table %s: %w", f.Name, t.Name, err)
		}
		if len(f.Tables) > 1 {
			name(part, t.Name)
		}
		merge(r, part)
		r.Tables = append(r.Tables, f.printedTable(t))
		r.Tables = append(r.Tables, f.improvementTables(t)...)
	}
	if values := f.valuesTable(); len(values.Rows) > 0 {
		r.Tables = append(r.Tables, values)
	}
	economy, err := f.Economy()
	if err != nil {
		return nil, err
	}
	if economy != nil {
		r.Tables = append(r.Tables, economy.Tables()...)
	}
	audit, err := f.Audit()
	if err != nil {
		return nil, err
	}
	if len(audit.Outcomes) > 0 {
		r.Tables = append(r.Tables, conclusionsTable(audit))
	}
	r.Answer = f.answer(r, audit)
	return r, nil
}

func (f *Figures) method() []string {
	text := "The figures were typed off a printed report; bakeoff did not measure them and cannot vouch for how they were made."
	if f.Source != "" {
		text = "The figures were typed off: " + f.Source + ". bakeoff did not measure them and cannot vouch for how they were made."
	}
	return []string{
		text + " The file is " + f.Name + ", " + f.Hash + ".",
		"Improvements are (new - old)/old where higher is better and (old - new)/old where lower is better. Intervals are what the printed digits leave open: half a unit of the last digit either way. " +
			"They say nothing of repetition, and no verdict is given.",
	}
}

// disclosed lists the facts that the report discloses of the levels.
func (f *Figures) disclosed() []analysis.FactDiff {
	var out []analysis.FactDiff
	for _, s := range f.Systems {
		if !differ(s.Levels) {
			continue
		}
		values := map[string]string{}
		for level, v := range s.Levels {
			values[s.Factor+"="+level] = v
		}
		out = append(out, analysis.FactDiff{Host: "as printed", Path: s.Fact, Values: values, Declared: s.Varied})
	}
	return out
}

// tableResult analyses one table.
func (f *Figures) tableResult(t Table) (*analysis.Result, error) {
	obs := f.Observations(t)
	if len(obs) == 0 {
		return &analysis.Result{}, nil
	}
	p := analysis.Design(obs)
	p.Compare = nil
	for i, factor := range p.Factors {
		base, ok := f.Baseline[factor.Name]
		if !ok || !slices.ContainsFunc(factor.Levels, func(l plan.Level) bool { return l.Name == base }) {
			continue
		}
		p.Factors[i].Baseline = base
		p.Compare = append(p.Compare, within(p, factor.Name))
	}
	for _, m := range f.Measures {
		if m.Better != record.NoDirection && slices.ContainsFunc(obs, func(o record.Observation) bool { return o.Measure == m.Title }) {
			p.Primary = append(p.Primary, plan.Primary{Measure: m.Title, Better: m.Better})
		}
	}
	r, err := analysis.FromObservations(p, obs, analysis.Options{Resamples: -1})
	if err != nil {
		return nil, err
	}
	asPrinted(r, obs)
	return r, nil
}

// within compares a factor inside every combination of the others' levels.
func within(p *plan.Plan, factor string) plan.Comparison {
	c := plan.Comparison{Factors: []string{factor}}
	for _, other := range p.Factors {
		if other.Name != factor {
			c.Within, c.Simple = append(c.Within, other.Name), true
		}
	}
	return c
}

// name puts a table's name wherever a report tells workloads apart.
func name(r *analysis.Result, table string) {
	for i := range r.Measures {
		r.Measures[i].Workload = table
	}
	for i := range r.Cells {
		r.Cells[i].Workload = table
	}
	for i := range r.Findings {
		r.Findings[i].Workload = table
		r.Findings[i].ID = table + " / " + r.Findings[i].ID
	}
	for i := range r.Charts {
		r.Charts[i].ID = slug(r.Charts[i].ID + " " + table)
		r.Charts[i].Title = table + ": " + r.Charts[i].Title
	}
}

func merge(into, from *analysis.Result) {
	into.Measures = append(into.Measures, from.Measures...)
	into.Cells = append(into.Cells, from.Cells...)
	into.Findings = append(into.Findings, from.Findings...)
	into.Charts = append(into.Charts, from.Charts...)
	into.Warnings = append(into.Warnings, from.Warnings...)
}

// answer is the first comparison, and what became of the printed conclusions.
func (f *Figures) answer(r *analysis.Result, a Audit) string {
	parts := []string{"The report prints its conclusions without a table of figures."}
	primary := slices.ContainsFunc(r.Findings, func(f analysis.Finding) bool { return f.Primary })
	if primary {
		parts = []string{analysis.Answer(r)}
	} else if len(r.Findings) > 0 {
		parts = []string{r.Findings[0].Sentence}
	} else if len(r.Cells) > 0 {
		parts = []string{"The figures are printed without a baseline to compare them with."}
	}
	if len(a.Outcomes) > 0 {
		parts = append(parts, a.summary())
	}
	return strings.Join(parts, " ")
}

// summary counts what became of the printed conclusions.
func (a Audit) summary() string {
	text := fmt.Sprintf("Of %d printed conclusions %d follow from the printed figures", len(a.Outcomes), a.Count(Follows)+a.Count(OnlyCut))
	if cut := a.Count(OnlyCut); cut > 0 {
		text += fmt.Sprintf(", %d of them with a last digit cut off", cut)
	}
	if raised := a.Raised(); raised > 0 {
		text += fmt.Sprintf("; to %d the audit objects", raised)
	}
	if bare := a.Count(NotDerivable); bare > 0 {
		text += fmt.Sprintf("; of %d the figures are not printed", bare)
	}
	return text + "."
}

// printedTable is a table as it was printed.
func (f *Figures) printedTable(t Table) analysis.Table {
	out := analysis.Table{ID: slug("printed " + t.Name), Title: "As printed: " + t.Name, Caption: "The figures as they were typed off; a dash stands where the report prints none."}
	for _, factor := range t.Factors {
		out.Columns, out.Numeric = append(out.Columns, factor), append(out.Numeric, false)
	}
	measures := f.measuresOf(t)
	for _, m := range measures {
		out.Columns, out.Numeric = append(out.Columns, headed(m.Title, m.Unit.String())), append(out.Numeric, true)
	}
	for _, row := range t.Rows {
		var cells []string
		for _, l := range row.Levels {
			cells = append(cells, l.Level)
		}
		for _, m := range measures {
			text := "-"
			if n, ok := row.Values[m.Name]; ok {
				text = n.Text
			}
			cells = append(cells, text)
		}
		out.Rows = append(out.Rows, cells)
	}
	return out
}

func headed(title, unit string) string {
	if unit == "1" || unit == "" || strings.Contains(title, unit) {
		return title
	}
	return title + " (" + unit + ")"
}

// measuresOf are the measures that a table has values of.
func (f *Figures) measuresOf(t Table) []Measure {
	return slices.DeleteFunc(slices.Clone(f.Measures), func(m Measure) bool {
		return !slices.ContainsFunc(t.Rows, func(r Row) bool { _, ok := r.Values[m.Name]; return ok })
	})
}

// improvementTables are the improvements by each factor that has a baseline, a
// table for each combination of the other levels but those of the last factor,
// which make its rows.
func (f *Figures) improvementTables(t Table) []analysis.Table {
	var out []analysis.Table
	for _, factor := range t.Factors {
		base, ok := f.Baseline[factor]
		if !ok {
			continue
		}
		rows := slices.DeleteFunc(slices.Clone(t.Factors), func(o string) bool { return o == factor })
		last := ""
		if len(rows) > 0 {
			last = rows[len(rows)-1]
		}
		for _, level := range levelsOf(t, factor) {
			if level != base {
				out = append(out, f.improvementsOver(t, factor, base, level, last)...)
			}
		}
	}
	return out
}

func levelsOf(t Table, factor string) (levels []string) {
	for _, r := range t.Rows {
		if l, ok := r.Levels.Level(factor); ok && !slices.Contains(levels, l) {
			levels = append(levels, l)
		}
	}
	return levels
}

func (f *Figures) improvementsOver(t Table, factor, base, level, last string) []analysis.Table {
	measures := slices.DeleteFunc(f.measuresOf(t), func(m Measure) bool { return m.Better == record.NoDirection })
	var out []analysis.Table
	for _, old := range t.Rows {
		if l, _ := old.Levels.Level(factor); l != base {
			continue
		}
		levels := with(old.Levels, factor, level)
		i := slices.IndexFunc(t.Rows, func(r Row) bool { return r.key() == levels.Key() })
		if i < 0 || len(measures) == 0 {
			continue
		}
		where := without(without(old.Levels, factor), last)
		at := slices.IndexFunc(out, func(o analysis.Table) bool { return o.ID == improvementID(t, factor, base, level, where) })
		if at < 0 {
			out, at = append(out, f.newImprovements(t, factor, base, level, last, where, measures)), len(out)
		}
		row, _ := old.Levels.Level(last)
		cells := []string{row}
		for _, m := range measures {
			cells = append(cells, improvementCells(m, old, t.Rows[i])...)
		}
		out[at].Rows = append(out[at].Rows, cells)
	}
	return out
}

func improvementID(t Table, factor, base, level string, where record.Cell) string {
	return slug(strings.Join([]string{"improvements", t.Name, factor, base, level, where.Key()}, " "))
}

// slug makes a name of small letters, digits and dashes.
func slug(text string) string {
	words := strings.FieldsFunc(strings.ToLower(text), func(r rune) bool {
		return (r < 'a' || r > 'z') && (r < '0' || r > '9')
	})
	return strings.Join(words, "-")
}

func (f *Figures) newImprovements(t Table, factor, base, level, last string, where record.Cell, measures []Measure) analysis.Table {
	title := fmt.Sprintf("Improvement of %s=%s over %s=%s", factor, level, factor, base)
	if len(where) > 0 {
		title += ", " + where.Key()
	}
	out := analysis.Table{ID: improvementID(t, factor, base, level, where), Title: title, Columns: []string{last}, Numeric: []bool{false},
		Caption: "(new - old)/old where higher is better, (old - new)/old where lower is better; rounded, never cut."}
	for _, m := range measures {
		out.Columns = append(out.Columns, headed(m.Title+", "+base, m.Unit.String()), headed(m.Title+", "+level, m.Unit.String()), m.Title+", improvement")
		out.Numeric = append(out.Numeric, true, true, true)
	}
	return out
}

func improvementCells(m Measure, old, later Row) []string {
	a, hasOld := old.Values[m.Name]
	b, hasNew := later.Values[m.Name]
	if !hasOld || !hasNew {
		return []string{"-", "-", "-"}
	}
	cells := []string{a.Text, b.Text, "-"}
	factor, err := b.Unit.In(a.Unit)
	if err != nil || a.Value.Sign() == 0 {
		return cells
	}
	change := new(big.Rat).Sub(new(big.Rat).Mul(b.Value, factor), a.Value)
	if m.Better == record.LowerIsBetter {
		change.Neg(change)
	}
	cells[2] = change.Quo(change.Mul(change, big.NewRat(100, 1)), a.Value).FloatString(2) + " %"
	if strings.Trim(cells[2], "-0. %") == "" {
		cells[2] = "0.00 %"
	}
	return cells
}

func with(c record.Cell, factor, level string) record.Cell {
	out := slices.Clone(c)
	for i := range out {
		if out[i].Factor == factor {
			out[i].Level = level
		}
	}
	return out
}

func without(c record.Cell, factor string) record.Cell {
	return slices.DeleteFunc(slices.Clone(c), func(l record.Level) bool { return l.Factor == factor })
}

// valuesTable lists the single figures.
func (f *Figures) valuesTable() analysis.Table {
	t := analysis.Table{ID: "printed-values", Title: "Single figures, as printed", Caption: "Figures that stand alone in the report.", Columns: []string{"name", "printed"}, Numeric: []bool{false, true}}
	for _, v := range f.Values {
		t.Rows = append(t.Rows, []string{v.Name, v.Number.Text})
	}
	return t
}

// conclusionsTable lists what the audit says of every printed conclusion.
func conclusionsTable(a Audit) analysis.Table {
	t := analysis.Table{ID: "printed-conclusions", Title: "The printed conclusions, re-derived", Columns: []string{"conclusion", "printed", "the figures give", "verdict", "likely cause"},
		Numeric: []bool{false, true, true, false, false},
		Caption: "Each conclusion worked out again from the figures behind it, with the interval that their printed digits allow (bakeoff audit says more)."}
	for _, o := range a.Outcomes {
		derived := strings.TrimSpace(o.Derived + " " + o.Unit)
		if o.Derived == "" {
			derived = "-"
		}
		says := o.Says
		if says == "" {
			says = o.ID
		}
		t.Rows = append(t.Rows, []string{says, o.Printed, derived, string(o.Verdict), strings.Join(o.Causes, "; ")})
	}
	return t
}
