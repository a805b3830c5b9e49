package report

import (
	"fmt"
	"slices"
	"sort"
	"strconv"
	"strings"

	"bakeoff/analysis"
	"bakeoff/report/figure"
	"bakeoff/report/quantity"
)

// differsTable lists the facts that differ, undeclared ones first.
func differsTable(r *analysis.Result, n names) table {
	t := table{Title: "What differs", Caption: "Facts that are not the same in all trials. What the plan does not vary may be the true cause of a difference."}
	t.Columns = []column{{Name: "Host"}, {Name: "Fact", Code: true}, {Name: "Value and where", Code: false}, {Name: "Declared"}}
	facts := slices.Clone(r.Differs)
	sort.SliceStable(facts, func(i, j int) bool { return !facts[i].Declared && facts[j].Declared })
	for _, d := range facts {
		row := tableRow{Cells: []string{d.Host, d.Path, n.spread(d.Values), "by the plan"}}
		if !d.Declared {
			row.Cells[3], row.Class = "undeclared", "bad"
		}
		t.Rows = append(t.Rows, row)
	}
	return t
}

// spread writes a fact's values, each with the cells in which it held.
func (n names) spread(values map[string]string) string {
	holders := map[string][]string{}
	for cell, v := range values {
		holders[v] = append(holders[v], cell)
	}
	order := make([]string, 0, len(holders))
	for v := range holders {
		sort.Strings(holders[v])
		order = append(order, v)
	}
	sort.Slice(order, func(i, j int) bool { return holders[order[i]][0] < holders[order[j]][0] })
	for i, v := range order {
		shown := v
		if shown == "" {
			shown = "none"
		}
		order[i] = shown + " at " + n.reach(holders[v])
	}
	return strings.Join(order, "\n")
}

// sharedTables lists the facts that all levels share, a table a host.
func sharedTables(r *analysis.Result) []table {
	var hosts []string
	rows := map[string]*table{}
	for _, f := range r.Shared {
		t := rows[f.Host]
		if t == nil {
			hosts = append(hosts, f.Host)
			t = &table{Title: "Shared by all trials: " + f.Host, Columns: []column{{Name: "Fact", Code: true}, {Name: "Value"}}}
			rows[f.Host] = t
		}
		t.add(f.Path, f.Value)
	}
	out := make([]table, len(hosts))
	for i, h := range hosts {
		out[i] = *rows[h]
	}
	return out
}

// A factGroup is the facts whose paths begin alike.
type factGroup struct {
	Name string
	Rows [][2]string // rest of the path, value
}

// Groups parts a table of facts by the first part of their paths; for the template.
func (t table) Groups() []factGroup {
	var out []factGroup
	for _, r := range t.Rows {
		name, rest, cut := strings.Cut(r.Cells[0], ".")
		if !cut {
			rest = name
		}
		if len(out) == 0 || out[len(out)-1].Name != name {
			out = append(out, factGroup{Name: name})
		}
		g := &out[len(out)-1]
		g.Rows = append(g.Rows, [2]string{rest, r.Cells[1]})
	}
	return out
}

// settingsTable lists what was set, read back and restored.
func settingsTable(r *analysis.Result, n names) table {
	t := table{Title: "Settings", Caption: "What the plan set, what was read back before and after the window, and what was restored."}
	t.Columns = []column{{Name: "Host"}, {Name: "Setting", Code: true}, {Name: "Before"}, {Name: "Wanted"}, {Name: "Read back"}, {Name: "At the end"}, {Name: "Restored"}, {Name: "Where"}, {Name: "Trials", Numeric: true}}
	for _, s := range r.Settings {
		row := tableRow{Cells: []string{s.Host, s.Kind + " " + s.Target, given(s.Before), s.Wanted, given(s.ReadBack), given(s.AtEnd), given(s.Restored), n.reach(s.Cells), strconv.Itoa(s.Trials)}}
		if s.Before != nil && s.Restored != nil && *s.Before != *s.Restored {
			row.Class = "bad"
		}
		t.Rows = append(t.Rows, row)
	}
	return t
}

func given(s *string) string {
	if s == nil {
		return quantity.Nothing
	}
	if *s == "" {
		return "(empty)"
	}
	return *s
}

// givenTable converts a finished table of the analysis.
func givenTable(t analysis.Table) table {
	out := table{ID: t.ID, Title: t.Title, Caption: t.Caption, Notes: t.Notes}
	for i, name := range t.Columns {
		out.Columns = append(out.Columns, column{Name: name, Numeric: i < len(t.Numeric) && t.Numeric[i]})
	}
	for _, row := range t.Rows {
		cells := slices.Clone(row)
		for len(cells) < len(out.Columns) {
			cells = append(cells, "")
		}
		out.Rows = append(out.Rows, tableRow{Cells: cells[:len(out.Columns)]})
	}
	return out
}

// chartTable lists the data of a figure, as its text alternative; without rows
// where the figure holds more than a reader would read.
func chartTable(c analysis.Chart, printed bool) table {
	t := table{Title: "Data of this figure"}
	count, intervals := 0, false
	for _, s := range c.Series {
		count += len(s.Y)
		intervals = intervals || len(s.Low) > 0
	}
	if count > 120 {
		return t
	}
	several := len(c.Series) > 1
	if several {
		t.Columns = text("Series")
	}
	value := c.YLabel
	if value == "" || c.Kind == analysis.ForestChart && c.XLabel != "" {
		value = c.XLabel
	}
	t.Columns = append(append(t.Columns, text("At")...), numeric(orElse(value, "Value"))...)
	if intervals {
		t.Columns = append(t.Columns, numeric("Low", "High")...)
	}
	for _, s := range c.Series {
		for i, v := range s.Y {
			var row []string
			if several {
				row = append(row, s.Name)
			}
			row = append(row, pointName(c, s, i))
			if printed && c.Kind == analysis.BarChart {
				row = append(row, printedPoint(c, s, i, intervals)...)
			} else {
				row = append(row, pointValue(c, v))
				if intervals {
					row = append(row, bound(c, s.Low, i), bound(c, s.High, i))
				}
			}
			t.add(row...)
		}
	}
	return t
}

// pointValue writes a value of a figure in the unit of its axis.
func pointValue(c analysis.Chart, v float64) string {
	if figure.Percent(c) {
		s := quantity.FractionOf()
		return s.With(v, s.Decimals(v, 4))
	}
	return quantity.Significant(v, figure.ValueUnit(c), 4)
}

// printedPoint writes a printed figure with the digits that it was printed with,
// and what they leave open with one more.
func printedPoint(c analysis.Chart, s analysis.Series, i int, intervals bool) []string {
	scale := quantity.For(figure.ValueUnit(c), s.Y[i])
	width := 0.0
	if i < len(s.Low) && i < len(s.High) {
		width = s.High[i] - s.Low[i]
	}
	d := scale.Printed(s.Y[i], width)
	row := []string{scale.With(s.Y[i], d)}
	if !intervals {
		return row
	}
	if width == 0 {
		return append(row, quantity.Nothing, quantity.Nothing)
	}
	return append(row, scale.With(s.Low[i], d+1), scale.With(s.High[i], d+1))
}

func bound(c analysis.Chart, list []float64, i int) string {
	if i >= len(list) {
		return quantity.Nothing
	}
	return pointValue(c, list[i])
}

func pointName(c analysis.Chart, s analysis.Series, i int) string {
	switch {
	case i < len(s.Labels):
		return s.Labels[i]
	case i >= len(s.X):
		return ""
	case c.Kind == analysis.PercentileChart && s.X[i] >= 1:
		return "max"
	case c.Kind == analysis.PercentileChart:
		return percent(s.X[i])
	}
	return quantity.Significant(s.X[i], c.XUnit, 4)
}

// commandLine writes a command as it can be pasted into a shell.
func commandLine(args []string) string {
	out := make([]string, len(args))
	for i, a := range args {
		out[i] = a
		if a == "" || strings.ContainsFunc(a, func(r rune) bool {
			return !strings.ContainsRune("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_=./:,@%+", r)
		}) {
			out[i] = "'" + strings.ReplaceAll(a, "'", `'\''`) + "'"
		}
	}
	return strings.Join(out, " ")
}

// serviceFacts lists a service's facts in one line.
func serviceFacts(facts map[string]string) string {
	keys := make([]string, 0, len(facts))
	for k := range facts {
		keys = append(keys, k)
	}
	sort.Strings(keys)
	for i, k := range keys {
		keys[i] = fmt.Sprintf("%s %s", k, facts[k])
	}
	return strings.Join(keys, ", ")
}
