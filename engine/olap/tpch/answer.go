package tpch

import (
	"errors"
	"fmt"
	"hash/fnv"
	"math"
	"strconv"
	"strings"
	"time"
)

// value is how a column of an answer is judged (clause 2.1.3.5).
type value byte

// The values: small letters match exactly, capitals within a tolerance. Texts, days, counts, and decimals that stand in a table match
// exactly; what is computed has a tolerance, a narrower one than the specification's.
const (
	text    value = 's'
	day     value = 'd'
	count   value = 'i'
	decimal value = 'n' // of a table
	sum     value = 'S'
	average value = 'A' // or a ratio
)

func (v value) exact() bool { return v >= 'a' }

// shape is what every answer of a query has, whatever its parameters.
type shape struct {
	columns string // a value a column
	order   []int  // columns that the rows are sorted by, from 1; negative: downwards
	least   int    // rows
	most    int
}

func shapeOf(query int) shape {
	const any = math.MaxInt
	return [...]shape{
		{"ssSSSSAAAi", []int{1, 2}, 1, 4},
		{"nssissss", []int{-1, 3, 2, 4}, 0, 100},
		{"iSdi", []int{-2, 3}, 0, 10},
		{"si", []int{1}, 1, 5},
		{"sS", []int{-2}, 0, 5},
		{"S", nil, 1, 1},
		{"ssiS", []int{1, 2, 3}, 0, 4},
		{"iA", []int{1}, 0, 2},
		{"siS", []int{1, -2}, 1, 175},
		{"isSnssss", []int{-3}, 1, 20},
		{"iS", []int{-2}, 0, any},
		{"sii", []int{1}, 1, 2},
		{"ii", []int{-2, -1}, 1, any},
		{"A", nil, 1, 1},
		{"isssS", []int{1}, 1, any},
		{"ssii", []int{-4, 1, 2, 3}, 1, any},
		{"A", nil, 1, 1},
		{"siidnS", []int{-5, 4}, 0, 100},
		{"S", nil, 1, 1},
		{"ss", []int{1}, 0, any},
		{"si", []int{-2, 1}, 0, 100},
		{"siS", []int{1}, 0, 7},
	}[query-1]
}

// Answer is what is kept of a query's answer: enough to tell whether another one is
// the same, in whatever order rows stand that the query leaves open.
type Answer struct {
	Rows  int
	Exact uint64 // sum over the rows of a hash of the columns that match exactly
	// Sums are the columns with a tolerance, each summed over the rows with a
	// weight from 1 to 2 that follows from the row's hash.
	Sums []float64
}

// A Reader takes the rows of a query's answer, one after another, and checks
// what can be known without the right answer: how many columns and rows there are,
// that every value reads as what it is, and the order of the rows.
type Reader struct {
	query  int
	shape  shape
	answer Answer
	row    []field
	last   []field // of the row before
}

// field is one value, read.
type field struct {
	null   bool
	text   string
	number float64
}

// NewReader begins an answer of a query.
func NewReader(query int) *Reader {
	s := shapeOf(query)
	r := &Reader{query: query, shape: s, row: make([]field, len(s.columns)), last: make([]field, len(s.columns))}
	for i := range s.columns {
		if value(s.columns[i]).exact() {
			continue
		}
		r.answer.Sums = append(r.answer.Sums, 0)
	}
	return r
}

// Columns is how many columns the answer must have.
func (r *Reader) Columns() int { return len(r.shape.columns) }

// Row takes the next row, as database/sql scans it.
func (r *Reader) Row(values []any) error {
	if len(values) != len(r.row) {
		return fmt.Errorf("query %d: the answer has %d columns, expected %d", r.query, len(values), len(r.row))
	}
	r.row, r.last = r.last, r.row
	for i, v := range values {
		f, err := read(value(r.shape.columns[i]), v)
		if err != nil {
			return fmt.Errorf("query %d: row %d, column %d: %w", r.query, r.answer.Rows+1, i+1, err)
		}
		r.row[i] = f
	}
	if r.answer.Rows > 0 && r.misplaced() {
		return fmt.Errorf("query %d: row %d does not follow on the one before in the order that the query asks for", r.query, r.answer.Rows+1)
	}
	r.add()
	return nil
}

// add takes the row into the answer.
func (r *Reader) add() {
	h := fnv.New64a()
	for i, f := range r.row {
		exact := value(r.shape.columns[i]).exact()
		switch {
		case f.null:
			_, _ = h.Write([]byte{1})
		case exact:
			_, _ = h.Write([]byte(f.text))
		}
		_, _ = h.Write([]byte{0})
	}
	hash := mix(h.Sum64())
	weight, next := 1+float64(hash>>11)/(1<<53), 0
	for i, f := range r.row {
		if !value(r.shape.columns[i]).exact() {
			r.answer.Sums[next] += weight * f.number
			next++
		}
	}
	r.answer.Exact += hash
	r.answer.Rows++
}

// mix spreads a hash over all bits (the finalizer of MurmurHash3).
func mix(h uint64) uint64 {
	h = (h ^ h>>33) * 0xff51afd7ed558ccd
	h = (h ^ h>>33) * 0xc4ceb9fe1a85ec53
	return h ^ h>>33
}

// misplaced is whether the row should stand before the last one.
func (r *Reader) misplaced() bool {
	for _, column := range r.shape.order {
		i, sign := column-1, 1
		if column < 0 {
			i, sign = -column-1, -1
		}
		a, b := r.last[i], r.row[i]
		order := 0
		switch kind := value(r.shape.columns[i]); {
		case kind == text || kind == day:
			order = strings.Compare(a.text, b.text)
		case a.number < b.number:
			order = -1
		case a.number > b.number:
			order = 1
		}
		if order != 0 {
			return order*sign > 0
		}
	}
	return false
}

// Answer ends the answer.
func (r *Reader) Answer() (Answer, error) {
	if r.answer.Rows < r.shape.least || r.answer.Rows > r.shape.most {
		return r.answer, fmt.Errorf("query %d: the answer has %d rows, expected %d to %d", r.query, r.answer.Rows, r.shape.least, r.shape.most)
	}
	return r.answer, nil
}

// Tolerances of one value. Clause 2.1.3.5 allows 100 for a sum and 1 % for an average or
// a ratio; what databases print differs by much less.
const (
	sumTolerance     = 0.01 // and the rounding of binary fractions:
	binaryTolerance  = 1e-9
	averageTolerance = 1e-4
)

// Same says how a differs from the right answer of a query, or nil.
func (a Answer) Same(query int, right Answer) error {
	switch {
	case a.Rows != right.Rows:
		return fmt.Errorf("query %d: wrong answer: %d rows, expected %d", query, a.Rows, right.Rows)
	case a.Exact != right.Exact:
		return fmt.Errorf("query %d: wrong answer: a text, date, key or count differs from the right one", query)
	case len(a.Sums) != len(right.Sums):
		return errors.New("the right answer has another number of columns")
	}
	next := 0
	for i := range shapeOf(query).columns {
		kind := value(shapeOf(query).columns[i])
		if kind.exact() {
			continue
		}
		got, want := a.Sums[next], right.Sums[next]
		allowed := 2*sumTolerance*float64(a.Rows) + binaryTolerance*math.Abs(want)
		if kind == average {
			allowed = averageTolerance * math.Abs(want)
		}
		if !(math.Abs(got-want) <= allowed) {
			return fmt.Errorf("query %d: wrong answer: column %d is off by a weighted %g in all, of %g; at most %g is allowed", query, i+1, got-want, want, allowed)
		}
		next++
	}
	return nil
}

// read reads a value as drivers give it.
func read(kind value, v any) (field, error) {
	if v == nil {
		return field{null: true}, nil
	}
	var s string
	switch x := v.(type) {
	case string:
		s = x
	case []byte:
		s = string(x)
	case time.Time:
		s = x.Format(time.DateOnly)
	case int64:
		s = strconv.FormatInt(x, 10)
	case float64:
		return readNumber(kind, x)
	default:
		s = fmt.Sprint(v)
	}
	switch kind {
	case text:
		return field{text: strings.TrimRight(s, " ")}, nil
	case day:
		if len(s) < len(time.DateOnly) {
			return field{}, fmt.Errorf("found %q, expected a date", s)
		}
		return field{text: s[:len(time.DateOnly)]}, nil
	}
	n, err := strconv.ParseFloat(strings.TrimSpace(s), 64)
	if err != nil {
		return field{}, fmt.Errorf("found %q, expected a number", s)
	}
	return readNumber(kind, n)
}

func readNumber(kind value, n float64) (field, error) {
	if math.IsNaN(n) || math.IsInf(n, 0) {
		return field{}, fmt.Errorf("found %g, expected a number", n)
	}
	f := field{number: n}
	switch kind {
	case count:
		if n != math.Trunc(n) {
			return field{}, fmt.Errorf("found %g, expected a whole number", n)
		}
		f.text = strconv.FormatFloat(n, 'f', 0, 64)
	case decimal:
		f.text = strconv.FormatFloat(n, 'f', 2, 64)
	case text, day:
		return field{}, fmt.Errorf("found the number %g, expected text", n)
	}
	return f, nil
}
