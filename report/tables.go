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
	// Passable is set where a reader may pass the table by, however long it is.
	Passable bool
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

// Tall reports whether a table scrolls in a frame of its own on a screen. On paper
// it is whole.
func (t table) Tall() bool { return t.Passable && len(t.Rows) > 24 }

// Wide reports whether a table scrolls sideways on a telephone.
func (t table) Wide() bool { return len(t.Columns) > 4 }

// Dense reports whether a table has so many columns that they must stand close.
func (t table) Dense() bool { return len(t.Columns) >= 8 }

// Brief reports whether a table is to stay on one page.
func (t table) Brief() bool { return len(t.Rows) <= 10 }

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

// verdictTable lists the judged findings.
func verdictTable(findings []analysis.Finding, n names) table {
	t := table{Title: "Verdicts", Caption: familyText(findings)}
	t.Columns = append(text("Verdict", "Measure", "Comparison"), numeric("Effect", "Interval", "Change", "Base", "Compared", "n", "Margin")...)
	for _, f := range findings {
		m := n.measure(f.Measure, f.Workload)
		effect, interval := effectText(f)
		change, _ := changeText(f)
		base, against := n.valuesText(f)
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
	switch {
	case f.Level == 0:
		return ""
	case f.Level >= 1: // bounds, as of printed digits
		return "Intervals are what the printed digits leave open. Nothing was repeated, so that no verdict is given."
	}
	text := "Intervals hold with " + percent(f.Level) + " confidence each"
	if f.Family > 1 {
		text += ", so that all " + strconv.Itoa(f.Family) + " comparisons of the family hold together with at least 95" + quantity.Space + "%"
	}
	return text + ". " + countedText(findings) + " The margin is the smallest difference that matters, fixed in the plan."
}

// recordFactor is the factor of findings that compare two records.
const recordFactor = "record"

// ofRecords reports whether findings compare records that were made apart.
func ofRecords(findings []analysis.Finding) bool {
	return slices.ContainsFunc(findings, func(f analysis.Finding) bool { return f.Factor == recordFactor && f.Kind == analysis.SimpleEffect })
}

// countedText says what n counts.
func countedText(findings []analysis.Finding) string {
	if ofRecords(findings) {
		return "n counts trials; the records were not interleaved."
	}
	return "n counts blocks."
}

// descriptiveTable lists the findings on which no verdict is given.
func descriptiveTable(findings []analysis.Finding, n names) table {
	t := table{Title: "Descriptive comparisons", Passable: true, Caption: "Not named as primary in the plan: no verdict is given, and the intervals are not corrected for their number."}
	t.Columns = append(text("Measure", "Comparison"), numeric("Base", "Compared", "Effect", "Interval", "n")...)
	if ofRecords(findings) {
		t.Caption += " " + countedText(findings)
	}
	for _, f := range findings {
		m := n.measure(f.Measure, f.Workload)
		effect, interval := effectText(f)
		base, against := n.valuesText(f)
		t.add(n.title(m), compared(f), base, against, effect, interval, strconv.Itoa(f.N))
	}
	return t
}

// noiseTable lists what the lab shows when nothing differs.
func noiseTable(r *analysis.Result, n names) table {
	t := table{Caption: "The baseline compared with itself: what this lab shows where nothing differs. A difference below it is not to be believed."}
	t.Columns = append(text("Measure"), append(numeric("Ratio", "Interval", "n"), text("Verdict", "In words")...)...)
	for _, f := range r.Noise {
		effect, interval := effectText(analysis.Finding{Effect: f.Effect, Low: f.Low, High: f.High, Scale: "ratio", N: f.N})
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
		case g.Objected > 0 && g.Severity == record.SeverityNote:
			row.Cells[5] = "noted"
		case g.Objected > 0:
			row.Cells[5], row.Class = "objected", "bad"
		case g.Checked == 0:
			row.Cells[5], row.Class = "nothing to check", "open"
		}
		t.Rows = append(t.Rows, row)
	}
	return t
}

// allWarnings lists the warnings on the run and those on its trials, each with its
// trial and cell.
func allWarnings(r *analysis.Result) []record.Warning {
	out := slices.Clone(r.Warnings)
	seen := map[record.Warning]bool{}
	for _, w := range out {
		seen[w] = true
	}
	for _, t := range r.Trials {
		for _, w := range t.Warnings {
			w.Trial, w.Cell = t.Trial, t.Cell.Key()
			if !seen[w] {
				seen[w] = true
				out = append(out, w)
			}
		}
	}
	return out
}

// warningTable lists the warnings; those that differ only in the trial and in what
// was found share a row.
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
	for _, w := range allWarnings(r) {
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
			g.first.Subject, few(g.found), g.first.Threshold, g.first.Advice, g.places.String()}})
	}
	return t
}

// few lists texts a line each, of many only the first.
func few(texts []string) string {
	const most = 2
	if n := len(texts); n > most+1 {
		texts = append(slices.Clone(texts[:most]), fmt.Sprintf("and %d more", n-most))
	}
	return strings.Join(texts, "\n")
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
