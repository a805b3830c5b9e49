package self

import (
	"fmt"
	"strings"

	"bakeoff/record"
)

// A tableView is a table as the record gives it: its rows in order, each cell by
// its column's head. A column that no row fills may be left out of a report.
type tableView struct {
	rows    []rowView
	heads   []string // that it may have
	caption []piece
	notes   []piece
}

// A rowView is the cells of one row, by column.
type rowView map[string]entry

// An entry is what one cell may say: a text of the record's, or figures.
type entry struct {
	text   string
	pieces []piece
	says   string // that must stand in it, "" for nothing
}

// A column is one head of a table, with what a row has there.
type column struct {
	head string
	entry
}

func textIn(head, text string) column { return column{head, entry{text: text}} }
func figuresIn(head string, pieces ...piece) column {
	return column{head, entry{pieces: append([]piece{}, pieces...)}}
}

// row adds a row.
func (t *tableView) row(columns ...column) {
	r := rowView{}
	for _, c := range columns {
		if len(t.rows) == 0 {
			t.heads = append(t.heads, c.head)
		}
		r[c.head] = c.entry
	}
	t.rows = append(t.rows, r)
}

// auditTables audits every table, cell by cell.
func (a *auditor) auditTables() {
	views := a.tableViews()
	for _, n := range a.report.at("tables").list() {
		view, known := views[n.str("id")]
		if !known {
			continue // its figures object by themselves
		}
		s := newSheet("table "+n.str("id"), n)
		tell(n, "id")
		s.speaks(n.at("title"), "title", append(saysWords(n.str("id")), view.caption...)...)
		s.speaks(n.at("caption"), "caption", view.caption...)
		s.tableRows(n, view)
		for _, note := range n.at("notes").list() {
			s.speaks(note, "note", view.notes...)
		}
		a.add(s)
	}
}

// tableRows audits the heads, and the rows in their order.
func (s *sheet) tableRows(n *node, view tableView) {
	heads := n.at("columns").list()
	for _, h := range heads {
		for _, known := range view.heads {
			if h.text == known {
				s.same(h, "the column", known)
			}
		}
	}
	rows := n.at("rows").list()
	if len(rows) != len(view.rows) {
		s.fault("it has %d rows; the record gives %d", len(rows), len(view.rows))
	}
	for i, row := range rows {
		if i >= len(view.rows) {
			return
		}
		for j, c := range row.list() {
			if j < len(heads) {
				s.tableCell(c, fmt.Sprintf("row %d, %s", i+1, heads[j].text), view.rows[i], heads[j].text)
			}
		}
	}
}

func (s *sheet) tableCell(c *node, what string, row rowView, head string) {
	want, known := row[head]
	if known && want.says != "" {
		s.says(c, what, want.says)
	}
	switch {
	case !known:
	case want.pieces == nil:
		s.same(c, what, want.text)
	default:
		s.speaks(c, what, want.pieces...)
	}
}

// tableViews are the tables that a run's report may have.
func (a *auditor) tableViews() map[string]tableView {
	out := map[string]tableView{"losses": a.lossView(), "lost-trials": a.lostView()}
	for id, view := range a.economyViews() {
		out[id] = view
	}
	out["loads-at-once"] = a.partsView()
	out["scaling-steps"], out["scaling-law"] = a.scalingViews()
	out["work"], out["ladder"] = a.workView(), a.ladderView()
	for _, w := range a.plan.Workloads {
		out[chartName("profile", a.workloadName(w.Name))], out[chartName("kind-latency", a.workloadName(w.Name))] = a.profileView(w.Name), a.kindView(w.Name)
	}
	if len(a.searches) > 0 {
		out["peaks"], out["peak-curve"] = a.peakView(), a.curveView()
	}
	return out
}

// lossView counts, for every level, the trials that were begun and what became
// of them.
func (a *auditor) lossView() (t tableView) {
	for _, f := range a.plan.Factors {
		for _, l := range f.Levels {
			counts := map[string]int{}
			for _, trial := range a.run.Trials {
				if level, ok := trial.Cell.Level(f.Name); ok && level == l.Name && trial.Role == record.RoleMeasure {
					counts["begun"]++
					counts[a.fate(trial)]++
				}
			}
			columns := []column{textIn("level", f.Name+"="+l.Name)}
			for _, fate := range []string{"begun", "counted", "invalid", "failed", "excluded", "interrupted", "measured again with their block"} {
				columns = append(columns, figuresIn(fate, saysNumber(fate, countTruth(counts[fate]))))
			}
			t.row(columns...)
		}
	}
	return t
}

// fate is what became of a trial.
func (a *auditor) fate(t record.Trial) string {
	switch {
	case a.counted[t.ID]:
		return "counted"
	case t.Status == record.StatusFailed, t.Status == record.StatusExcluded, t.Status == record.StatusInterrupted:
		return string(t.Status)
	case t.Status == record.StatusInvalid || a.spoiled(t):
		return "invalid"
	}
	return "measured again with their block"
}

// lostView lists every trial that does not count.
func (a *auditor) lostView() (t tableView) {
	for _, trial := range a.run.Trials {
		if a.counted[trial.ID] || trial.Role == record.RoleSearch {
			continue
		}
		t.row(textIn("trial", string(trial.ID)), figuresIn("block", saysNumber("the block", countTruth(trial.Block))),
			figuresIn("attempt", saysNumber("the attempt", countTruth(trial.Attempt))), textIn("cell", trial.Cell.Key()),
			textIn("status", string(trial.Status)), figuresIn("reason", a.reasonPieces(trial)...))
	}
	return t
}

// conditionText joins what names a condition.
func joined(sep string, parts ...string) string {
	var out []string
	for _, p := range parts {
		if p != "" {
			out = append(out, p)
		}
	}
	return strings.Join(out, sep)
}
