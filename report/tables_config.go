package report

import (
	"fmt"
	"slices"
	"sort"
	"strconv"
	"strings"

	"bakeoff/analysis"
	"bakeoff/record"
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
			shown = "(empty)"
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

// rawTables lists every trial, a few measures to a table.
func rawTables(r *analysis.Result, n names) []table {
	keys := valueKeys(r)
	chunks := slices.Collect(slices.Chunk(keys, columnsTogether))
	if len(chunks) == 0 {
		chunks = [][]valueKey{nil}
	}
	out := make([]table, len(chunks))
	for i, chunk := range chunks {
		out[i] = rawTable(r, n, chunk)
		if len(chunks) > 1 {
			out[i].Title = part("Every trial", i, len(chunks))
		}
	}
	return out
}

// A valueKey is a key of TrialRow.Values with the measure that it stands for.
type valueKey struct {
	key     string
	measure analysis.Measure
}

// valueKeys lists the keys of the trials' values: primary measures first, then
// the others in the result's order, then what no measure describes.
func valueKeys(r *analysis.Result) []valueKey {
	present := map[string]bool{}
	for _, t := range r.Trials {
		for k := range t.Values {
			present[k] = true
		}
	}
	var out []valueKey
	take := func(key string, m analysis.Measure) {
		if present[key] {
			out = append(out, valueKey{key, m})
			delete(present, key)
		}
	}
	measures := slices.Clone(r.Measures)
	sort.SliceStable(measures, func(i, j int) bool { return measures[i].Primary && !measures[j].Primary })
	for _, m := range measures {
		take(m.Workload+"/"+m.Name, m)
		take(m.Name, m)
	}
	rest := make([]string, 0, len(present))
	for key := range present {
		rest = append(rest, key)
	}
	sort.Strings(rest)
	for _, key := range rest {
		m := analysis.Measure{Name: key, Title: key}
		if workload, name, ok := strings.Cut(key, "/"); ok {
			m = analysis.Measure{Name: name, Title: name, Workload: workload}
		}
		take(key, m)
	}
	return out
}

func rawTable(r *analysis.Result, n names, keys []valueKey) table {
	t := table{Caption: "In the order of the run. Values are shortened here; the CSV and JSON reports hold every digit."}
	t.Columns = append([]column{{Name: "Trial", Code: true}}, numeric("Block", "Attempt")...)
	t.Columns = append(t.Columns, text(n.factors...)...)
	t.Columns = append(t.Columns, column{Name: "Status"})
	scales := make([]quantity.Scale, len(keys))
	for i, k := range keys {
		var all []float64
		for _, trial := range r.Trials {
			if v, ok := trial.Values[k.key]; ok {
				all = append(all, v)
			}
		}
		scales[i] = scale(k.measure.Name, k.measure.Unit, all...)
		t.Columns = append(t.Columns, column{Name: headed(n.title(k.measure), scales[i]), Numeric: true})
	}
	for _, trial := range r.Trials {
		row := tableRow{Cells: []string{string(trial.Trial), strconv.Itoa(trial.Block), strconv.Itoa(trial.Attempt)}}
		row.Cells = append(append(row.Cells, levels(n, trial.Cell)...), statusText(trial))
		for i, k := range keys {
			v, ok := trial.Values[k.key]
			if !ok {
				row.Cells = append(row.Cells, quantity.Nothing)
				continue
			}
			row.Cells = append(row.Cells, scales[i].Number(v, scales[i].Decimals(v, 5)))
		}
		if !trial.Counted && trial.Role != record.RoleAA {
			row.Class = "open"
		}
		t.Rows = append(t.Rows, row)
	}
	return t
}

// statusText says how a trial ended and whether it stands behind the verdicts.
func statusText(t analysis.TrialRow) string {
	switch {
	case t.Role == record.RoleAA:
		return string(t.Status) + ", A/A"
	case t.Counted:
		return "counted"
	case t.Status == record.StatusComplete:
		return "complete, not counted"
	}
	return string(t.Status)
}

// lossTables tallies what does not count, by level, and lists it with reasons.
func lossTables(r *analysis.Result, n names) []table {
	tally := table{Title: "Trials by level", Caption: "If one level loses more trials than another, what is left may flatter it."}
	tally.Columns = append(text("Factor", "Level"), numeric("Trials", "Counted", "Invalid", "Failed", "Excluded", "Repeated with their block")...)
	for _, factor := range n.factors {
		tally.Rows = append(tally.Rows, tallyOf(r, factor)...)
	}
	list := table{Title: "Trials that do not count", Caption: "Nothing is deleted: each is in the record and in the table of every trial."}
	list.Columns = append([]column{{Name: "Trial", Code: true}, {Name: "Block", Numeric: true}, {Name: "Attempt", Numeric: true}}, text("Cell", "Status", "Reason")...)
	for _, t := range r.Trials {
		if t.Counted || t.Role == record.RoleAA {
			continue
		}
		list.add(string(t.Trial), strconv.Itoa(t.Block), strconv.Itoa(t.Attempt), t.Cell.Key(), string(t.Status), reasonOf(t))
	}
	if len(list.Rows) == 0 {
		return []table{tally}
	}
	return []table{tally, list}
}

func reasonOf(t analysis.TrialRow) string {
	if t.Reason != "" {
		return t.Reason
	}
	if t.Status == record.StatusComplete {
		return "its block was repeated"
	}
	return "no reason recorded"
}

func tallyOf(r *analysis.Result, factor string) []tableRow {
	var order []string
	counts := map[string]*[6]int{}
	for _, t := range r.Trials {
		level, ok := t.Cell.Level(factor)
		if !ok || t.Role == record.RoleAA {
			continue
		}
		if counts[level] == nil {
			counts[level] = new([6]int)
			order = append(order, level)
		}
		c := counts[level]
		c[0]++
		switch {
		case t.Counted:
			c[1]++
		case t.Status == record.StatusInvalid:
			c[2]++
		case t.Status == record.StatusFailed:
			c[3]++
		case t.Status == record.StatusExcluded:
			c[4]++
		default:
			c[5]++
		}
	}
	rows := make([]tableRow, len(order))
	for i, level := range order {
		rows[i].Cells = []string{factor, level}
		for _, c := range counts[level] {
			rows[i].Cells = append(rows[i].Cells, strconv.Itoa(c))
		}
	}
	return rows
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
func chartTable(c analysis.Chart) table {
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
			row = append(row, pointName(c, s, i), quantity.Significant(v, c.YUnit, 4))
			if intervals {
				row = append(row, bound(s.Low, i, c.YUnit), bound(s.High, i, c.YUnit))
			}
			t.add(row...)
		}
	}
	return t
}

func bound(list []float64, i int, unit string) string {
	if i >= len(list) {
		return quantity.Nothing
	}
	return quantity.Significant(list[i], unit, 4)
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
