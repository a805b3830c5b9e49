package claim

import (
	"fmt"
	"slices"
	"strings"

	"bakeoff/record"
	"bakeoff/unit"
)

// A Measure is a column of printed values.
type Measure struct {
	Name   string
	Title  string
	Unit   unit.Unit
	Better record.Direction
}

// A Table is a table of a report, typed off: columns that are measures hold
// numbers, the others are factors and hold levels.
type Table struct {
	Name    string
	Factors []string
	Rows    []Row
}

// A Row is one line of a table. A measure that the report left empty, printed
// as - or n/a, is absent from Values.
type Row struct {
	Table  string
	Levels record.Cell
	Values map[string]Number
}

// key names the row's levels.
func (r Row) key() string { return r.Levels.Key() }

// has reports whether the row's levels are those of the filter.
func (r Row) has(filter record.Cell) bool {
	for _, want := range filter {
		level, ok := r.Levels.Level(want.Factor)
		if want.Factor == "table" {
			level, ok = r.Table, true
		}
		if !ok || level != want.Level {
			return false
		}
	}
	return true
}

// parseTable reads a table whose cells are parted by bars. The first line names
// the columns; a line of dashes is skipped.
func parseTable(name, text string, measures []Measure) (Table, error) {
	t := Table{Name: name}
	var columns []string
	for i, line := range strings.Split(text, "\n") {
		cells := cellsOf(line)
		switch {
		case len(cells) == 0:
			continue
		case columns == nil:
			columns = cells
			if err := t.head(columns, measures); err != nil {
				return Table{}, err
			}
			continue
		case len(cells) != len(columns):
			return Table{}, fmt.Errorf("line %d of the table has %d cells, its head has %d: %q", i+1, len(cells), len(columns), strings.TrimSpace(line))
		}
		row, err := t.row(columns, cells, measures)
		if err != nil {
			return Table{}, fmt.Errorf("line %d of the table: %w", i+1, err)
		}
		t.Rows = append(t.Rows, row)
	}
	if len(t.Rows) == 0 {
		return Table{}, fmt.Errorf("the table has no rows; write its head and each row on a line, cells parted by |")
	}
	return t, nil
}

// cellsOf splits a line at its bars, those at its ends left out; nil for an
// empty line or a rule of dashes.
func cellsOf(line string) []string {
	line = strings.Trim(strings.TrimSpace(line), "|")
	if strings.Trim(line, "-|: ") == "" {
		return nil
	}
	cells := strings.Split(line, "|")
	for i := range cells {
		cells[i] = strings.TrimSpace(cells[i])
	}
	return cells
}

func (t *Table) head(columns []string, measures []Measure) error {
	for i, c := range columns {
		if c == "" || slices.Contains(columns[:i], c) {
			return fmt.Errorf("the table's head has the column %q twice or without a name", c)
		}
		if !slices.ContainsFunc(measures, func(m Measure) bool { return m.Name == c }) {
			t.Factors = append(t.Factors, c)
		}
	}
	if len(t.Factors) == len(columns) {
		return fmt.Errorf("none of the table's columns %v is a measure; name it under measures, with its unit", columns)
	}
	return nil
}

func (t *Table) row(columns, cells []string, measures []Measure) (Row, error) {
	row := Row{Table: t.Name, Values: map[string]Number{}}
	for i, c := range columns {
		at := slices.IndexFunc(measures, func(m Measure) bool { return m.Name == c })
		if at < 0 {
			row.Levels = append(row.Levels, record.Level{Factor: c, Level: cells[i]})
			continue
		}
		if absent(cells[i]) {
			continue
		}
		n, err := ParseNumber(cells[i], measures[at].Unit)
		if err != nil {
			return Row{}, fmt.Errorf("%s: %w", c, err)
		}
		if err := n.Unit.Addable(measures[at].Unit); err != nil {
			return Row{}, fmt.Errorf("%s: %q in a column of %s: %w", c, cells[i], measures[at].Unit, err)
		}
		n.place = t.Name + " " + strings.Join(cells, "|") + " " + c
		row.Values[c] = n
	}
	for _, other := range t.Rows {
		if other.key() == row.key() {
			return Row{}, fmt.Errorf("the levels %s stand in two rows; add a factor that tells them apart", row.key())
		}
	}
	return row, nil
}

func absent(cell string) bool {
	return cell == "" || cell == "-" || cell == "–" || strings.EqualFold(cell, "n/a")
}
