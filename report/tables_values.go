package report

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"bakeoff/analysis"
	"bakeoff/record"
	"bakeoff/report/quantity"
)

// columnsTogether is how many measures or cells stand side by side in one table:
// more do not fit a page.
const columnsTogether = 6

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
	rows := measuredRows
	if printedOnce(r, cells) {
		rows, t.Caption = printedRows, "As printed, with what the printed digits leave open; comparisons are in the verdicts."
	}
	if b := better(m.Better); b != "" {
		t.Caption = strings.ToUpper(b[:1]) + b[1:] + ". " + t.Caption
	}
	rows(&t, n, cells, s)
	return t
}

// printedOnce reports whether each cell holds one printed figure.
func printedOnce(r *analysis.Result, cells []analysis.CellSummary) bool {
	return r.Printed && !slices.ContainsFunc(cells, func(c analysis.CellSummary) bool { return c.N != 1 })
}

func measuredRows(t *table, n names, cells []analysis.CellSummary, s quantity.Scale) {
	t.Columns = append(text(n.factors...), numeric("n", "Centre", "95 % interval", "Variation (CV)", "Least", "Most")...)
	for _, c := range cells {
		row := levels(n, c.Cell)
		d := s.DecimalsWithin(c.Center, c.Low, c.High, 4)
		interval, cv := quantity.Nothing, quantity.Nothing
		if c.N > 1 {
			interval = s.Interval(c.Low, c.High, d)
		}
		if c.CVPercent != nil {
			cv = quantity.Significant(*c.CVPercent, "%", 2)
		}
		t.add(append(row, strconv.Itoa(c.N), s.Number(c.Center, d), interval, cv, s.Number(c.Min, d), s.Number(c.Max, d))...)
	}
}

// printedRows lists figures with the digits that they were printed with, and what
// these leave open with one digit more.
func printedRows(t *table, n names, cells []analysis.CellSummary, s quantity.Scale) {
	t.Columns = append(text(n.factors...), numeric("Printed", "Left open by the digits")...)
	for _, c := range cells {
		d := s.Printed(c.Center, c.High-c.Low)
		open := quantity.Nothing
		if c.High > c.Low {
			open = s.Number(c.Low, d+1) + " to " + s.Number(c.High, d+1)
		}
		t.add(append(levels(n, c.Cell), s.Number(c.Center, d), open)...)
	}
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

// centreTables lists the centres of the descriptive measures: a row a measure, a
// column a cell, a table a workload.
func centreTables(r *analysis.Result, n names, measures []analysis.Measure) []table {
	var workloads []string
	groups := map[string][]analysis.Measure{}
	for _, m := range measures {
		if len(summariesOf(r, m)) == 0 {
			continue
		}
		if groups[m.Workload] == nil {
			workloads = append(workloads, m.Workload)
		}
		groups[m.Workload] = append(groups[m.Workload], m)
	}
	var out []table
	for _, w := range workloads {
		title := "Descriptive measures"
		if w != "" && len(workloads) > 1 {
			title += ", " + w
		}
		cells := cellsOf(r, groups[w])
		heads := cellNames(cells)
		chunks := slices.Collect(slices.Chunk(cells, columnsTogether))
		for i, some := range chunks {
			t := centreTable(r, groups[w], some)
			t.Columns = append(text("Measure"), numeric(heads[i*columnsTogether:][:len(some)]...)...)
			t.Title = part(title, i, len(chunks))
			out = append(out, t)
		}
	}
	return out
}

// cellsOf lists the cells that some of the measures have a summary of.
func cellsOf(r *analysis.Result, measures []analysis.Measure) []record.Cell {
	var out []record.Cell
	seen := map[string]bool{}
	for _, m := range measures {
		for _, c := range summariesOf(r, m) {
			if key := c.Cell.Key(); !seen[key] {
				seen[key] = true
				out = append(out, c.Cell)
			}
		}
	}
	return out
}

func centreTable(r *analysis.Result, measures []analysis.Measure, cells []record.Cell) table {
	t := table{Caption: "Centres over the valid trials. No verdict is given on these."}
	if r.Printed {
		t.Caption = "As printed. No verdict is given on these."
	}
	for _, m := range measures {
		centres := map[string]analysis.CellSummary{}
		var all []float64
		summaries := summariesOf(r, m)
		for _, c := range summaries {
			centres[c.Cell.Key()] = c
			all = append(all, c.Center)
		}
		s := scale(m.Name, m.Unit, all...)
		row := []string{headed(orElse(m.Title, m.Name), s)}
		found := false
		for _, cell := range cells {
			c, ok := centres[cell.Key()]
			if !ok {
				row = append(row, quantity.Nothing)
				continue
			}
			found = true
			d := s.Decimals(c.Center, 4)
			if printedOnce(r, summaries) {
				d = s.Printed(c.Center, c.High-c.Low)
			}
			row = append(row, s.Number(c.Center, d))
		}
		if found {
			t.add(row...)
		}
	}
	return t
}

// cellNames names cells by the levels in which they differ.
func cellNames(cells []record.Cell) []string {
	levels := map[string]map[string]bool{}
	for _, c := range cells {
		for _, l := range c {
			if levels[l.Factor] == nil {
				levels[l.Factor] = map[string]bool{}
			}
			levels[l.Factor][l.Level] = true
		}
	}
	out := make([]string, len(cells))
	for i, c := range cells {
		var parts []string
		for _, l := range c {
			if len(levels[l.Factor]) > 1 {
				parts = append(parts, l.Level)
			}
		}
		out[i] = orElse(strings.Join(parts, ", "), orElse(c.Key(), "Value"))
	}
	return out
}

func part(title string, i, n int) string {
	if n < 2 {
		return title
	}
	return fmt.Sprintf("%s (%d of %d)", title, i+1, n)
}

func headed(title string, s quantity.Scale) string {
	if s.Unit == "" {
		return title
	}
	return title + " (" + s.Unit + ")"
}
