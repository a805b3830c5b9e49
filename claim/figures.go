package claim

import (
	"fmt"
	"slices"
	"strings"

	"bakeoff/record"
)

// Figures is everything a report printed: its tables, single values, the
// configuration it disclosed, and the conclusions it drew.
type Figures struct {
	Name     string // the file's
	Title    string
	Question string
	Source   string // the document: title, publisher, date
	Measures []Measure
	Baseline map[string]string // factor -> level
	Tables   []Table
	Values   []Value
	Systems  []Disclosure
	Claims   []Claim
	Hash     string // sha256:hex of the file

	economics *economics          // nil where the file has none
	named     map[string][]string // factor -> levels that no table has
}

// A Value is a single printed figure with a name.
type Value struct {
	Name   string
	Number Number
}

// A Disclosure is one fact that the report discloses of the levels of a factor.
type Disclosure struct {
	Factor string
	Fact   string
	Levels map[string]string
	Varied bool // it is what the comparison is about
}

// id tells numbers apart: the same digits in two cells are two numbers.
func (n Number) id() string { return n.place + "\x00" + n.Text }

// lookup returns the one figure that a reference names.
func (f *Figures) lookup(r reference) (Number, error) {
	if len(r.filter) == 0 {
		if i := slices.IndexFunc(f.Values, func(v Value) bool { return v.Name == r.name }); i >= 0 {
			return f.Values[i].Number, nil
		}
	}
	rows := f.selected(r.name, r.filter)
	switch len(rows) {
	case 1:
		return rows[0].Values[r.name], nil
	case 0:
		return Number{}, f.missing(r)
	}
	return Number{}, fmt.Errorf("%s names %d rows, among them %s and %s; give more levels", r, len(rows), rows[0].key(), rows[1].key())
}

// selected returns the rows that have the measure and the levels.
func (f *Figures) selected(measure string, filter record.Cell) (rows []Row) {
	for _, t := range f.Tables {
		for _, row := range t.Rows {
			if _, has := row.Values[measure]; has && row.has(filter) {
				rows = append(rows, row)
			}
		}
	}
	return rows
}

// missingError says that a claim rests on a figure that was not printed.
type missingError struct{ text string }

func (e *missingError) Error() string { return e.text }

func (f *Figures) missing(r reference) error {
	if len(f.selected(r.name, nil)) > 0 {
		return &missingError{fmt.Sprintf("no row with a value of %s has %s", r.name, r.filter.Key())}
	}
	known := make([]string, 0, len(f.Values)+len(f.Measures))
	for _, v := range f.Values {
		known = append(known, v.Name)
	}
	for _, m := range f.Measures {
		known = append(known, m.Name)
	}
	if slices.Contains(known, r.name) {
		return &missingError{fmt.Sprintf("no value of %s is printed", r.name)}
	}
	return fmt.Errorf("no figure is named %q; there are %s", r.name, strings.Join(known, ", "))
}

// measure returns the measure of that name.
func (f *Figures) measure(name string) (Measure, bool) {
	i := slices.IndexFunc(f.Measures, func(m Measure) bool { return m.Name == name })
	if i < 0 {
		return Measure{}, false
	}
	return f.Measures[i], true
}

// levels returns the levels that a factor has in the tables, in their order.
func (f *Figures) levels(factor string) (levels []string) {
	for _, t := range f.Tables {
		for _, row := range t.Rows {
			if level, ok := row.Levels.Level(factor); ok && !slices.Contains(levels, level) {
				levels = append(levels, level)
			}
		}
	}
	return levels
}
