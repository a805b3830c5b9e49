package self

import (
	"fmt"
	"math"
	"strings"

	"bakeoff/record"
)

// A tableView is a table as the record gives it: for each row the pieces that
// its cells may say.
type tableView struct {
	columns [][]piece // by column, of its head
	rows    []rowView
	notes   []piece
	caption []piece
}

// A rowView is one row: its name, by which it is found, and its cells.
type rowView struct {
	name  string // of the first cell
	cells [][]piece
}

// auditTables audits every table, cell by cell.
func (a *auditor) auditTables() {
	views := a.tableViews()
	for _, n := range a.report.at("tables").list() {
		id := n.str("id")
		view, known := views[id]
		if !known {
			continue // its figures object by themselves
		}
		s := newSheet("table "+id, n)
		tell(n, "id")
		s.speaks(n.at("title"), "title", saysWords(id)...)
		s.speaks(n.at("caption"), "caption", view.caption...)
		for i, c := range n.at("columns").list() {
			s.speaks(c, "column "+c.text, view.column(i)...)
		}
		s.tableRows(n, view)
		for _, note := range n.at("notes").list() {
			s.speaks(note, "note", view.notes...)
		}
		a.add(s)
	}
}

func (t tableView) column(i int) []piece {
	if i < len(t.columns) {
		return t.columns[i]
	}
	return nil
}

// tableRows audits the rows in their order.
func (s *sheet) tableRows(n *node, view tableView) {
	rows := n.at("rows").list()
	if len(rows) != len(view.rows) {
		s.fault("it has %d rows; the record gives %d", len(rows), len(view.rows))
	}
	for i, row := range rows {
		if i >= len(view.rows) {
			return
		}
		want := view.rows[i]
		for j, c := range row.list() {
			switch {
			case j == 0:
				s.same(c, "the row's name", want.name)
			case j <= len(want.cells):
				s.speaks(c, want.name+", "+columnName(n, j), want.cells[j-1]...)
			}
		}
	}
}

func columnName(n *node, i int) string {
	if list := n.at("columns").list(); i < len(list) {
		return list[i].text
	}
	return fmt.Sprintf("column %d", i+1)
}

// tableViews are the tables that a run's report may have.
func (a *auditor) tableViews() map[string]tableView {
	out := map[string]tableView{"losses": a.lossView(), "lost-trials": a.lostView()}
	for id, measure := range map[string]string{"cpu-efficiency": "cpu_efficiency", "energy-efficiency": "perf_per_watt", "price-efficiency": "perf_per_price"} {
		for _, key := range a.measureKeys() {
			if key.measure == measure {
				out[chartName(id, a.workloadName(key.workload))] = a.efficiencyView(key)
			}
		}
	}
	return out
}

// efficiencyView is one measure in every cell, with its interval and against the
// baseline; and what else belongs beside it.
func (a *auditor) efficiencyView(key measureKey) tableView {
	t := tableView{columns: [][]piece{nil, nil, saysWords("95 % interval")}}
	base := math.NaN()
	for _, cell := range a.plan.BaselineCells() {
		if c := a.cellView(key, cell); len(c.values) > 0 {
			base = c.center
		}
	}
	for _, cell := range a.plan.Cells() {
		c := a.cellView(key, cell)
		if len(c.values) == 0 {
			continue
		}
		of := func(v float64) truth { return truth{value: v, unit: "1"} }
		row := rowView{shortCell(cell), [][]piece{{saysNumber("the centre", of(c.center))},
			{saysNumber("the low end", of(c.low)), saysNumber("the high end", of(c.high))},
			{saysNumber("the trials", countTruth(len(c.values)))}, {saysNumber("the ratio", truth{value: c.center / base, unit: "x"})}}}
		switch key.measure {
		case "perf_per_watt":
			watts := a.cellView(measureKey{"", "power"}, cell).center
			row.cells = append(row.cells, []piece{saysNumber("the power", plainTruth(watts))}, []piece{saysNumber("the heat", plainTruth(watts * btuPerWattHour))})
		case "perf_per_price":
			row.cells = append(row.cells, a.pricePieces(cell))
		}
		t.rows = append(t.rows, row)
	}
	if key.measure == "perf_per_watt" {
		t.notes = append(a.meterPieces(), saysWords("1 W = 3.412 BTU/h")...)
	}
	return t
}

// btuPerWattHour is 3600 J over the international table's 1055.05585262 J.
const btuPerWattHour = 3600 / 1055.05585262

// pricePieces is the price of the machines under test in a cell.
func (a *auditor) pricePieces(cell record.Cell) []piece {
	for _, t := range a.run.Trials {
		if t.Cell.Key() == cell.Key() {
			if price, ok := a.views[t.ID].price(); ok {
				return saysWords(price.String())
			}
		}
	}
	return nil
}

// meterPieces say where the watts come from: each source in use, how often it
// reads and what it states of its uncertainty.
func (a *auditor) meterPieces() (out []piece) {
	for _, t := range a.run.Trials {
		v := a.views[t.ID]
		for _, machine := range v.underTest() {
			s, ok := v.powerOf(machine)
			if !ok || !a.counted[t.ID] {
				continue
			}
			out = append(append(out, saysWords(machine, s.name)...), saysNumber("the cadence", truth{value: s.cadence, unit: "s"}))
			if s.uncertainty != nil {
				out = append(out, saysNumber("the uncertainty", truth{value: *s.uncertainty, unit: "%"}))
			}
		}
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
			row := rowView{name: f.Name + "=" + l.Name}
			for _, what := range []string{"begun", "counted", "invalid", "failed", "excluded", "interrupted", "again"} {
				row.cells = append(row.cells, []piece{saysNumber(what, countTruth(counts[what]))})
			}
			t.rows = append(t.rows, row)
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
	return "again"
}

// lostView lists every trial that does not count.
func (a *auditor) lostView() (t tableView) {
	for _, trial := range a.run.Trials {
		if a.counted[trial.ID] {
			continue
		}
		t.rows = append(t.rows, rowView{string(trial.ID), [][]piece{
			{saysNumber("the block", countTruth(trial.Block))}, {saysNumber("the attempt", countTruth(trial.Attempt))},
			saysWords(strings.Join(strings.Split(trial.Cell.Key(), ", "), " ")), nil, a.reasonPieces(trial)}})
	}
	return t
}
