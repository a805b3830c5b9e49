package tpcc

import (
	"crypto/sha256"
	"fmt"
	"math"
	"strconv"
	"strings"
	"sync"
	"time"
)

// Sums are the number of a table's rows and the sums of its numeric columns, in
// their order, each times 10^Scale. Absent values count as nothing.
type Sums struct {
	Rows    int64
	Columns []int64
}

func (t Table) numeric() (columns []Column) {
	for _, c := range t.Columns {
		if c.Type == Int || c.Type == Small || c.Type == Decimal {
			columns = append(columns, c)
		}
	}
	return columns
}

// SumQuery is the query, of standard SQL, that gives a table's sums as one row.
func (t Table) SumQuery() string {
	parts := []string{"COUNT(*)"}
	for _, c := range t.numeric() {
		parts = append(parts, "SUM("+c.Name+")")
	}
	return "SELECT " + strings.Join(parts, ", ") + " FROM " + t.Name
}

// ReadSums reads the row that SumQuery gave, as text.
func (t Table) ReadSums(row []string) (Sums, error) {
	columns := t.numeric()
	if len(row) != len(columns)+1 {
		return Sums{}, fmt.Errorf("table %s: found %d sums, expected %d", t.Name, len(row), len(columns)+1)
	}
	s := Sums{Columns: make([]int64, len(columns))}
	var err error
	if s.Rows, err = strconv.ParseInt(row[0], 10, 64); err != nil {
		return Sums{}, fmt.Errorf("table %s: counting rows: %w", t.Name, err)
	}
	for i, c := range columns {
		if s.Columns[i], err = ParseScaled(row[i+1], c.Scale); err != nil {
			return Sums{}, fmt.Errorf("table %s: sum of %s: %w", t.Name, c.Name, err)
		}
	}
	return s, nil
}

// ParseScaled reads a decimal number and returns it times 10^scale, rounded to
// the nearest whole number, since some databases keep money as floating point;
// "" is 0.
func ParseScaled(text string, scale int) (int64, error) {
	if text == "" {
		return 0, nil
	}
	whole, fraction, _ := strings.Cut(text, ".")
	if len(fraction) <= scale {
		if n, err := strconv.ParseInt(whole+fraction+strings.Repeat("0", scale-len(fraction)), 10, 64); err == nil {
			return n, nil
		}
	}
	f, err := strconv.ParseFloat(text, 64)
	f *= math.Pow10(scale)
	if err != nil || !(math.Abs(f) < 1<<62) {
		return 0, fmt.Errorf("found %q, expected a number", text)
	}
	return int64(math.Round(f)), nil
}

// A Tally adds up what Data.Write generates. It is safe for concurrent use.
type Tally struct {
	mu   sync.Mutex
	sums [TableCount]Sums
}

// Sums returns what was added of a table so far.
func (t *Tally) Sums(id TableID) Sums {
	t.mu.Lock()
	defer t.mu.Unlock()
	s := t.sums[id]
	s.Columns = append(make([]int64, len(Tables()[id].numeric())-len(s.Columns)), s.Columns...)
	return s
}

func (t *Tally) add(id TableID, s Sums) {
	t.mu.Lock()
	defer t.mu.Unlock()
	all := &t.sums[id]
	if all.Columns == nil {
		all.Columns = make([]int64, len(s.Columns))
	}
	all.Rows += s.Rows
	for i, v := range s.Columns {
		all.Columns[i] += v
	}
}

// Fingerprint is the fingerprint of a data set of an identity with these sums.
func (t *Tally) Fingerprint(identity string) string {
	h := sha256.New()
	fmt.Fprintln(h, identity)
	for id := range TableCount {
		s := t.Sums(id)
		fmt.Fprintln(h, id, s.Rows, s.Columns)
	}
	return fmt.Sprintf("sha256:%x", h.Sum(nil))
}

// adder passes rows on and adds up their numbers.
type adder struct {
	RowWriter
	sums Sums
	// at is the numeric column that each column is, -1 for the others.
	at     []int
	column int
}

func newAdder(id TableID, w RowWriter) *adder {
	t := Tables()[id]
	a := &adder{RowWriter: w}
	for _, c := range t.Columns {
		at := -1
		if c.Type == Int || c.Type == Small || c.Type == Decimal {
			at = len(a.sums.Columns)
			a.sums.Columns = append(a.sums.Columns, 0)
		}
		a.at = append(a.at, at)
	}
	return a
}

func (a *adder) number(v int64) {
	a.sums.Columns[a.at[a.column]] += v
	a.column++
}

func (a *adder) Int(v int64) {
	a.number(v)
	a.RowWriter.Int(v)
}

func (a *adder) Decimal(v int64) {
	a.number(v)
	a.RowWriter.Decimal(v)
}

func (a *adder) Text(b []byte) {
	a.column++
	a.RowWriter.Text(b)
}

func (a *adder) Time(t time.Time) {
	a.column++
	a.RowWriter.Time(t)
}

func (a *adder) Null() {
	a.column++
	a.RowWriter.Null()
}

func (a *adder) EndRow() error {
	a.column = 0
	a.sums.Rows++
	return a.RowWriter.EndRow()
}

// Nowhere is a RowWriter that drops what it is given.
type Nowhere struct{}

// Int drops a whole number.
func (Nowhere) Int(int64) {}

// Decimal drops a decimal number.
func (Nowhere) Decimal(int64) {}

// Text drops a text.
func (Nowhere) Text([]byte) {}

// Time drops a date.
func (Nowhere) Time(time.Time) {}

// Null drops an absent value.
func (Nowhere) Null() {}

// EndRow drops a row.
func (Nowhere) EndRow() error { return nil }
