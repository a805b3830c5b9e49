package report

import (
	"fmt"
	"slices"
	"sort"
	"strconv"
	"strings"
	"unicode/utf8"

	"bakeoff/analysis"
	"bakeoff/record"
	"bakeoff/report/quantity"
)

// A table is laid out once, for HTML and Markdown alike.
type table struct {
	ID      string
	Title   string
	Caption string
	Columns []column
	Rows    []tableRow
	Notes   []string
}

type column struct {
	Name    string
	Numeric bool // set right
	Code    bool // set in a fixed pitch
}

// Class is how a column is set: numbers right, code in a fixed pitch, short texts
// unbroken, long words broken anywhere. For the template.
func (t table) Class(i int) string {
	if t.Columns[i].Numeric {
		return "num"
	}
	longest, word := 0, 0
	for _, r := range t.Rows {
		longest = max(longest, utf8.RuneCountInString(r.Cells[i]))
		for _, w := range strings.Fields(r.Cells[i]) {
			word = max(word, utf8.RuneCountInString(w))
		}
	}
	fit := ""
	switch {
	case longest <= 18:
		fit = "short"
	case word > 30:
		fit = "long"
	}
	if t.Columns[i].Code {
		return strings.TrimSpace("code " + fit)
	}
	return fit
}

type tableRow struct {
	Cells []string
	Class string // "bad", "open": a row that stands out, by a mark as well as by colour
}

func (t *table) add(cells ...string) { t.Rows = append(t.Rows, tableRow{Cells: cells}) }

func text(names ...string) []column {
	out := make([]column, len(names))
	for i, n := range names {
		out[i] = column{Name: n}
	}
	return out
}

func numeric(names ...string) []column {
	out := text(names...)
	for i := range out {
		out[i].Numeric = true
	}
	return out
}

// valueTables lists, for each primary measure, every cell's centre with its
// interval and spread; and one table of centres for the rest.
func valueTables(r *analysis.Result, n names) []table {
	var out []table
	var rest []analysis.Measure
	for _, m := range r.Measures {
		if !m.Primary {
			rest = append(rest, m)
			continue
		}
		if t := primaryValues(r, n, m); len(t.Rows) > 0 {
			out = append(out, t)
		}
	}
	return append(out, centreTables(r, n, rest)...)
}

func summariesOf(r *analysis.Result, m analysis.Measure) []analysis.CellSummary {
	var out []analysis.CellSummary
	for _, c := range r.Cells {
		if c.Measure == m.Name && c.Workload == m.Workload {
			out = append(out, c)
		}
	}
	return out
}

func primaryValues(r *analysis.Result, n names, m analysis.Measure) table {
	cells := summariesOf(r, m)
	var all []float64
	for _, c := range cells {
		all = append(all, c.Center, c.High, c.Max)
	}
	s := scale(m.Name, m.Unit, all...)
	unit := ""
	if s.Unit != "" {
		unit = " (" + s.Unit + ")"
	}
	t := table{Title: n.title(m) + unit, Caption: "Centre over the valid trials with its 95 % interval, which describes each cell alone; comparisons are in the verdicts."}
	if b := better(m.Better); b != "" {
		t.Caption = strings.ToUpper(b[:1]) + b[1:] + ". " + t.Caption
	}
	t.Columns = append(text(n.factors...), numeric("n", "Centre", "95 % interval", "Variation (CV)", "Least", "Most")...)
	for _, c := range cells {
		row := levels(n, c.Cell)
		d := s.DecimalsWithin(c.Center, c.Low, c.High, 4)
		interval, cv := quantity.Nothing, quantity.Nothing
		if c.N > 1 {
			interval = "[" + s.Number(c.Low, d) + ", " + s.Number(c.High, d) + "]"
		}
		if c.CVPercent != nil {
			cv = quantity.Significant(*c.CVPercent, "%", 2)
		}
		t.add(append(row, strconv.Itoa(c.N), s.Number(c.Center, d), interval, cv, s.Number(c.Min, d), s.Number(c.Max, d))...)
	}
	return t
}

// levels lists a cell's levels in the order of the factors.
func levels(n names, c record.Cell) []string {
	out := make([]string, len(n.factors), len(n.factors)+8)
	for i, f := range n.factors {
		out[i] = quantity.Nothing
		if level, ok := c.Level(f); ok {
			out[i] = level
		}
	}
	return out
}

// columnsTogether is how many measures stand in one table: more do not fit a page.
const columnsTogether = 6

// centreTables lists the centres of the descriptive measures, a few to a table.
func centreTables(r *analysis.Result, n names, measures []analysis.Measure) []table {
	measures = slices.DeleteFunc(slices.Clone(measures), func(m analysis.Measure) bool { return len(summariesOf(r, m)) == 0 })
	var out []table
	for chunk := range slices.Chunk(measures, columnsTogether) {
		out = append(out, centreTable(r, n, chunk))
	}
	for i := range out {
		out[i].Title = part("Descriptive measures, centres", i, len(out))
	}
	return out
}

func part(title string, i, n int) string {
	if n < 2 {
		return title
	}
	return fmt.Sprintf("%s (%d of %d)", title, i+1, n)
}

func centreTable(r *analysis.Result, n names, measures []analysis.Measure) table {
	t := table{Columns: text(n.factors...), Caption: "Centres over the valid trials. No verdict is given on these."}
	rows := map[string][]string{}
	var order []string
	for i, m := range measures {
		cells := summariesOf(r, m)
		var all []float64
		for _, c := range cells {
			all = append(all, c.Center)
		}
		s := scale(m.Name, m.Unit, all...)
		t.Columns = append(t.Columns, numeric(headed(n.title(m), s))...)
		for _, c := range cells {
			key := c.Cell.Key()
			if rows[key] == nil {
				order = append(order, key)
				rows[key] = levels(n, c.Cell)
				for range measures {
					rows[key] = append(rows[key], quantity.Nothing)
				}
			}
			rows[key][len(n.factors)+i] = s.Number(c.Center, s.Decimals(c.Center, 4))
		}
	}
	for _, key := range order {
		t.add(rows[key]...)
	}
	return t
}

func headed(title string, s quantity.Scale) string {
	if s.Unit == "" {
		return title
	}
	return title + " (" + s.Unit + ")"
}

// verdictTable lists the judged findings.
func verdictTable(findings []analysis.Finding, n names) table {
	t := table{Title: "Verdicts", Caption: familyText(findings)}
	t.Columns = append(text("Verdict", "Measure", "Comparison"), numeric("Effect", "Interval", "Change", "Base", "Compared", "n", "Margin")...)
	for _, f := range findings {
		m := n.measure(f.Measure, f.Workload)
		effect, interval := effectText(f)
		change, _ := changeText(f)
		base, against := valuesText(f)
		t.add(string(f.Verdict), n.title(m), compared(f), effect, interval, change, base, against, strconv.Itoa(f.N), marginText(f.Margin))
	}
	return t
}

// compared names a comparison in one line.
func compared(f analysis.Finding) string {
	text := comparison(f)
	if f.Factor != "" && f.Factor != text {
		text = f.Factor + ": " + text
	}
	if w := where(f); w != "" {
		text += ", " + w
	}
	return text
}

// familyText says what the intervals of the findings hold, where they are alike.
func familyText(findings []analysis.Finding) string {
	if len(findings) == 0 {
		return ""
	}
	seen := map[string]bool{}
	for _, f := range findings {
		seen[confidence(f)] = true
	}
	if len(seen) > 1 {
		return "The confidence of each interval is given with its sentence below."
	}
	f := findings[0]
	if f.Level == 0 {
		return ""
	}
	text := "Intervals hold with " + percent(f.Level) + " confidence each"
	if f.Family > 1 {
		text += ", so that all " + strconv.Itoa(f.Family) + " comparisons of the family hold together with at least 95" + quantity.Space + "%"
	}
	return text + ". n counts blocks. The margin is the smallest difference that matters, fixed in the plan."
}

// descriptiveTable lists the findings on which no verdict is given.
func descriptiveTable(findings []analysis.Finding, n names) table {
	t := table{Title: "Descriptive comparisons", Caption: "Not named as primary in the plan: no verdict is given, and the intervals are not corrected for their number."}
	t.Columns = append(text("Measure", "Comparison"), numeric("Base", "Compared", "Effect", "Interval", "n")...)
	for _, f := range findings {
		m := n.measure(f.Measure, f.Workload)
		effect, interval := effectText(f)
		base, against := valuesText(f)
		t.add(n.title(m), compared(f), base, against, effect, interval, strconv.Itoa(f.N))
	}
	return t
}

// noiseTable lists what the lab shows when nothing differs.
func noiseTable(r *analysis.Result, n names) table {
	t := table{Caption: "The baseline compared with itself: what this lab shows where nothing differs. A difference below it is not to be believed."}
	t.Columns = append(text("Measure"), append(numeric("Ratio", "Interval", "n"), text("Verdict", "In words")...)...)
	for _, f := range r.Noise {
		effect, interval := effectText(analysis.Finding{Effect: f.Effect, Low: f.Low, High: f.High, Scale: "ratio"})
		t.add(n.title(n.measure(f.Measure, f.Workload)), effect, interval, strconv.Itoa(f.N), string(f.Verdict), f.Sentence)
	}
	return t
}

// gateTable lists every gate with its threshold and outcome.
func gateTable(r *analysis.Result) table {
	t := table{Title: "Validity gates", Caption: "Each gate, its threshold, how often it looked and how often it objected. A hard objection makes a trial or a finding invalid."}
	t.Columns = append(text("Gate", "Threshold", "Severity"), append(numeric("Looked at", "Objected"), text("Outcome")...)...)
	for _, g := range r.Gates {
		title := g.Title
		if title == "" {
			title = g.Gate
		}
		row := tableRow{Cells: []string{title, g.Threshold, string(g.Severity), strconv.Itoa(g.Checked), strconv.Itoa(g.Objected), "passed"}}
		switch {
		case g.NotChecked != "":
			row.Cells[5], row.Class = "not checked: "+g.NotChecked, "open"
		case g.Objected > 0:
			row.Cells[5], row.Class = "objected", "bad"
		case g.Checked == 0:
			row.Cells[5], row.Class = "nothing to check", "open"
		}
		t.Rows = append(t.Rows, row)
	}
	return t
}

// warningTable lists the warnings; those that differ only in the trial share a row.
func warningTable(r *analysis.Result) table {
	t := table{Title: "Warnings", Caption: "What a gate found, the threshold that it crossed, and what to do about it."}
	t.Columns = text("Gate", "Subject", "Found", "Threshold", "What to do", "Where")
	type group struct {
		first  record.Warning
		found  []string
		places places
	}
	var groups []*group
	index := map[record.Warning]*group{}
	for _, w := range r.Warnings {
		key := w
		key.Found, key.Trial, key.Cell = "", "", ""
		g := index[key]
		if g == nil {
			g = &group{first: w}
			index[key] = g
			groups = append(groups, g)
		}
		if !slices.Contains(g.found, w.Found) {
			g.found = append(g.found, w.Found)
		}
		g.places.add(w)
	}
	sort.SliceStable(groups, func(i, j int) bool { return rank(groups[i].first.Severity) < rank(groups[j].first.Severity) })
	for _, g := range groups {
		class := ""
		if g.first.Severity == record.SeverityHard {
			class = "hard"
		}
		t.Rows = append(t.Rows, tableRow{Class: class, Cells: []string{g.first.Gate + " (" + string(g.first.Severity) + ")",
			g.first.Subject, strings.Join(g.found, "; "), g.first.Threshold, g.first.Advice, g.places.String()}})
	}
	return t
}

// places gathers where warnings alike arose: the trials by cell.
type places struct {
	cells  []string
	trials map[string][]record.TrialID
}

func (p *places) add(w record.Warning) {
	if p.trials == nil {
		p.trials = map[string][]record.TrialID{}
	}
	if _, known := p.trials[w.Cell]; !known {
		p.cells = append(p.cells, w.Cell)
		p.trials[w.Cell] = nil
	}
	if w.Trial != "" {
		p.trials[w.Cell] = append(p.trials[w.Cell], w.Trial)
	}
}

// String writes a line a cell: "server=redis: trials 0001, 0004-0006".
func (p *places) String() string {
	var lines []string
	for _, cell := range p.cells {
		var parts []string
		if cell != "" {
			parts = append(parts, cell)
		}
		switch ids := p.trials[cell]; len(ids) {
		case 0:
		case 1:
			parts = append(parts, "trial "+string(ids[0]))
		default:
			parts = append(parts, "trials "+trialRange(ids))
		}
		if len(parts) > 0 {
			lines = append(lines, strings.Join(parts, ": "))
		}
	}
	return strings.Join(lines, "\n")
}

func rank(s record.Severity) int {
	return slices.Index([]record.Severity{record.SeverityHard, record.SeveritySoft, record.SeverityNote}, s)
}
