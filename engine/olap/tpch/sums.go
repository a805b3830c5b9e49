package tpch

import (
	"fmt"
	"math/big"
	"strconv"
	"strings"

	"bakeoff/engine/olap/population"
)

// Sums are a table's or a part's rows in numbers: how many there are and, for
// each column, the sum of the keys and counts, of the hundredths of decimals, of
// the days of the month, or of the lengths of texts. Every dialect can count them.
type Sums struct {
	Rows    int64
	Columns []*big.Int
}

// Add adds the sums of another part of the same table.
func (s *Sums) Add(o Sums) {
	s.Rows += o.Rows
	for i, c := range o.Columns {
		if i == len(s.Columns) {
			s.Columns = append(s.Columns, new(big.Int))
		}
		s.Columns[i].Add(s.Columns[i], c)
	}
}

// Equal reports whether two are the same.
func (s Sums) Equal(o Sums) bool { return s.String() == o.String() }

// String has the rows and the sums, a space between them.
func (s Sums) String() string {
	b := strconv.AppendInt(nil, s.Rows, 10)
	for _, c := range s.Columns {
		b = c.Append(append(b, ' '), 10)
	}
	return string(b)
}

// ParseSums reads what String wrote.
func ParseSums(text string) (s Sums, err error) {
	fields := strings.Fields(text)
	if len(fields) == 0 {
		return s, fmt.Errorf("found %q, expected the sums of a table", text)
	}
	if s.Rows, err = strconv.ParseInt(fields[0], 10, 64); err != nil {
		return s, fmt.Errorf("found %q, expected a number of rows", fields[0])
	}
	for _, f := range fields[1:] {
		n, ok := new(big.Int).SetString(f, 10)
		if !ok {
			return s, fmt.Errorf("found %q, expected a whole number", f)
		}
		s.Columns = append(s.Columns, n)
	}
	return s, nil
}

// Difference names what differs in a table, "" where nothing does.
func (s Sums) Difference(t population.Table, want Sums) string {
	if s.Rows != want.Rows {
		return fmt.Sprintf("table %s has %d rows, expected %d", t, s.Rows, want.Rows)
	}
	columns := Columns(t)
	for i := range want.Columns {
		if i >= len(s.Columns) || s.Columns[i].Cmp(want.Columns[i]) != 0 {
			return fmt.Sprintf("table %s: column %s does not hold what was loaded", t, columns[i].Name)
		}
	}
	return ""
}

// SumsQuery returns the query of a table's sums: one row, the count first.
func SumsQuery(d Dialect, t population.Table) string {
	parts := []string{"count(*)"}
	for _, c := range Columns(t) {
		parts = append(parts, d.sumOf(c))
	}
	return "select " + strings.Join(parts, ", ") + " from " + t.String()
}

func (d Dialect) sumOf(c Column) string {
	inner := c.Name
	switch {
	case c.Type == Decimal && d == SQLite:
		return "sum(cast(round(" + c.Name + " * 100) as integer))"
	case c.Type == Decimal:
		return "sum(" + c.Name + ") * 100"
	case c.Type == Date && d == SQLite:
		inner = "cast(substr(" + c.Name + ", 9, 2) as integer)"
	case c.Type == Date && d == SQLServer:
		inner = "day(" + c.Name + ")"
	case c.Type == Date:
		inner = "extract(day from " + c.Name + ")"
	case c.Type == Char && d == Oracle:
		inner = "length(rtrim(" + c.Name + "))"
	case c.Type == Varchar && d == SQLServer:
		inner = "datalength(" + c.Name + ")"
	case c.Type == Char && d == SQLServer:
		inner = "len(" + c.Name + ")"
	case c.Type == Char || c.Type == Varchar:
		inner = "length(" + c.Name + ")"
	}
	if d == SQLServer {
		inner = "cast(" + inner + " as bigint)"
	}
	return "sum(" + inner + ")"
}

// ReadSums reads the row of a SumsQuery, as database/sql scans it. Sums over no rows are 0.
func ReadSums(values []any) (Sums, error) {
	texts := make([]string, len(values))
	for i, v := range values {
		switch x := v.(type) {
		case nil:
			texts[i] = "0"
		case []byte:
			texts[i] = string(x)
		default:
			texts[i] = fmt.Sprint(v)
		}
		if whole, fraction, ok := strings.Cut(texts[i], "."); ok && strings.Trim(fraction, "0") == "" {
			texts[i] = whole
		}
	}
	return ParseSums(strings.Join(texts, " "))
}

// Summing is an Encoder that sums the rows it passes on to another.
type Summing struct {
	population.Encoder
	rows    int64
	columns []int64
	next    int
}

// NewSumming sums what it passes on to e.
func NewSumming(e population.Encoder) *Summing { return &Summing{Encoder: e} }

func (s *Summing) add(v int64) {
	if s.next == len(s.columns) {
		s.columns = append(s.columns, 0)
	}
	s.columns[s.next] += v
	s.next++
}

// Int sums the number.
func (s *Summing) Int(v int64) {
	s.add(v)
	s.Encoder.Int(v)
}

// Decimal sums the hundredths.
func (s *Summing) Decimal(hundredths int64) {
	s.add(hundredths)
	s.Encoder.Decimal(hundredths)
}

// Date sums the day of the month.
func (s *Summing) Date(d population.Date) {
	s.add(int64(d.DayOfMonth()))
	s.Encoder.Date(d)
}

// Text sums the length.
func (s *Summing) Text(b []byte) {
	s.add(int64(len(b)))
	s.Encoder.Text(b)
}

// End counts the row.
func (s *Summing) End() {
	s.rows, s.next = s.rows+1, 0
	s.Encoder.End()
}

// Sums returns the sums so far.
func (s *Summing) Sums() Sums {
	sums := Sums{Rows: s.rows}
	for _, c := range s.columns {
		sums.Columns = append(sums.Columns, big.NewInt(c))
	}
	return sums
}

// Literals is an Encoder that writes rows as literals of SQL, for the VALUES of
// an insertion. No text of the population holds a quote or a backslash.
type Literals struct {
	Dialect Dialect
	Buffer  []byte
	Rows    int
	within  bool // a row
}

func (l *Literals) comma() {
	switch {
	case l.within:
		l.Buffer = append(l.Buffer, ',')
	case l.Rows > 0:
		l.Buffer = append(l.Buffer, ",("...)
	default:
		l.Buffer = append(l.Buffer, '(')
	}
	l.within = true
}

// Int writes a number.
func (l *Literals) Int(v int64) {
	l.comma()
	l.Buffer = strconv.AppendInt(l.Buffer, v, 10)
}

// Decimal writes hundredths.
func (l *Literals) Decimal(hundredths int64) {
	l.comma()
	l.Buffer = population.AppendDecimal(l.Buffer, hundredths)
}

// Date writes a day.
func (l *Literals) Date(d population.Date) {
	l.comma()
	if l.Dialect == Oracle {
		l.Buffer = append(l.Buffer, "date "...)
	}
	l.Buffer = append(d.Append(append(l.Buffer, '\'')), '\'')
}

// Text writes a text in quotes.
func (l *Literals) Text(b []byte) {
	l.comma()
	l.Buffer = append(append(append(l.Buffer, '\''), b...), '\'')
}

// End ends the row.
func (l *Literals) End() {
	l.Buffer = append(l.Buffer, ')')
	l.Rows++
	l.within = false
}

// Reset forgets the rows.
func (l *Literals) Reset() { l.Buffer, l.Rows = l.Buffer[:0], 0 }
