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

// A rawGroup is the trials of one workload and the values to show of them.
type rawGroup struct {
	workload string
	keys     []valueKey
	trials   []analysis.TrialRow
	left     int // values that are only in the formats for programs
}

// rawGroups parts the trials by workload. Of their values it keeps those that
// some comparison is about, hosts' ones included; a run holds far more than a
// page can.
func rawGroups(r *analysis.Result) []rawGroup {
	compared := map[string]bool{}
	for _, f := range r.Findings {
		compared[f.Measure+" "+f.Workload] = true
	}
	all := valueKeys(r)
	shown := slices.DeleteFunc(slices.Clone(all), func(k valueKey) bool {
		return !k.measure.Primary && !compared[k.measure.Name+" "+k.measure.Workload]
	})
	if len(shown) == 0 {
		shown = all[:min(len(all), 2*columnsTogether)]
	}
	var out []rawGroup
	for _, workload := range workloadsOf(shown) {
		g := rawGroup{workload: workload}
		mine := func(k valueKey) bool { return k.measure.Workload == workload || k.measure.Workload == "" }
		for _, k := range shown {
			if mine(k) {
				g.keys = append(g.keys, k)
			}
		}
		for _, k := range all {
			if mine(k) {
				g.left++
			}
		}
		g.left -= len(g.keys)
		for _, t := range r.Trials {
			if ofWorkload(t, workload, all) {
				g.trials = append(g.trials, t)
			}
		}
		out = append(out, g)
	}
	return out
}

// workloadsOf lists the workloads that values are of; one without a name where
// none is.
func workloadsOf(keys []valueKey) []string {
	var out []string
	for _, k := range keys {
		if w := k.measure.Workload; w != "" && !slices.Contains(out, w) {
			out = append(out, w)
		}
	}
	if len(out) == 0 {
		return []string{""}
	}
	return out
}

// ofWorkload reports whether a trial ran a workload: it has values of it, or it
// has none at all and its cell does not name another one.
func ofWorkload(t analysis.TrialRow, workload string, keys []valueKey) bool {
	others := false
	for _, k := range keys {
		if _, has := t.Values[k.key]; !has || k.measure.Workload == "" {
			continue
		}
		if k.measure.Workload == workload {
			return true
		}
		others = true
	}
	if level, ok := t.Cell.Level("workload"); ok && workload != "" {
		return level == workload
	}
	return !others
}

// rawTables lists every trial, by workload and a few measures to a table.
func rawTables(r *analysis.Result, n names) []table {
	groups := rawGroups(r)
	var out []table
	for _, g := range groups {
		title := "Every trial"
		if len(groups) > 1 {
			title += ", " + g.workload
		}
		chunks := slices.Collect(slices.Chunk(g.keys, columnsTogether))
		if len(chunks) == 0 {
			chunks = [][]valueKey{nil}
		}
		for i, chunk := range chunks {
			t := rawTable(g.trials, n, chunk)
			if len(chunks) > 1 || len(groups) > 1 {
				t.Title = part(title, i, len(chunks))
			}
			if g.left > 0 {
				t.Caption += fmt.Sprintf(" So are %d further values of each trial.", g.left)
			}
			out = append(out, t)
		}
	}
	return out
}

func rawTable(trials []analysis.TrialRow, n names, keys []valueKey) table {
	t := table{Passable: true, Caption: "In the order of the run. Values are shortened; every digit is in the CSV and JSON reports."}
	t.Columns = append([]column{{Name: "Trial", Code: true}}, numeric("Block", "Attempt")...)
	t.Columns = append(t.Columns, text(n.factors...)...)
	loads := slices.ContainsFunc(trials, func(t analysis.TrialRow) bool { return t.At != "" })
	if loads {
		t.Columns = append(t.Columns, numeric("Load")...)
	}
	t.Columns = append(t.Columns, column{Name: "Status"})
	scales := make([]quantity.Scale, len(keys))
	for i, k := range keys {
		var all []float64
		for _, trial := range trials {
			if v, ok := trial.Values[k.key]; ok {
				all = append(all, v)
			}
		}
		scales[i] = scale(k.measure.Name, k.measure.Unit, all...)
		t.Columns = append(t.Columns, column{Name: headed(orElse(k.measure.Title, k.measure.Name), scales[i]), Numeric: true})
	}
	for _, trial := range trials {
		row := tableRow{Cells: []string{string(trial.Trial), strconv.Itoa(trial.Block), strconv.Itoa(trial.Attempt)}}
		row.Cells = append(row.Cells, levels(n, trial.Cell)...)
		if loads {
			row.Cells = append(row.Cells, trial.At)
		}
		row.Cells = append(row.Cells, statusText(trial))
		for i, k := range keys {
			v, ok := trial.Values[k.key]
			if !ok {
				row.Cells = append(row.Cells, quantity.Nothing)
				continue
			}
			row.Cells = append(row.Cells, scales[i].Number(v, scales[i].Decimals(v, 5)))
		}
		if !trial.Counted && judgeable(trial) {
			row.Class = "open"
		}
		t.Rows = append(t.Rows, row)
	}
	return t
}

// judgeable says whether a trial was meant for the verdicts.
func judgeable(t analysis.TrialRow) bool {
	return t.Role != record.RoleAA && t.Role != record.RoleSearch
}

// statusText says how a trial ended and whether it stands behind the verdicts.
func statusText(t analysis.TrialRow) string {
	switch {
	case t.Role == record.RoleAA:
		return string(t.Status) + ", A/A"
	case t.Role == record.RoleSearch:
		return string(t.Status) + ", peak search"
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
		if t.Counted || !judgeable(t) {
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
		if !ok || !judgeable(t) {
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
