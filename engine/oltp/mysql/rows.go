package mysql

import (
	"context"
	"database/sql"
	"fmt"
	"io"
	"strconv"
	"time"

	"bakeoff/engine/oltp/tpcc"
)

// The ways to write a value: as a line of LOAD DATA, or as SQL.
const (
	batchBytes = 64 << 10  // of lines that go to the driver in one piece
	insertSize = 256 << 10 // of one INSERT, below max_allowed_packet's smallest default
	stampForm  = "2006-01-02 15:04:05"
)

// values appends the values of rows to b, in one of the two forms.
type values struct {
	b       []byte
	scales  []int // of the table's columns
	column  int
	lines   bool // of LOAD DATA; else SQL
	rows    int64
	stamped time.Time // the moment that stamp holds
	stamp   []byte
}

func newValues(t tpcc.Table, lines bool) values {
	v := values{lines: lines, scales: make([]int, len(t.Columns))}
	for i, c := range t.Columns {
		v.scales[i] = c.Scale
	}
	return v
}

// begin appends what stands before a value.
func (v *values) begin() {
	switch {
	case v.column > 0 && v.lines:
		v.b = append(v.b, '\t')
	case v.column > 0:
		v.b = append(v.b, ',')
	case !v.lines && len(v.b) > 0:
		v.b = append(v.b, ',', '(')
	case !v.lines:
		v.b = append(v.b, '(')
	}
	v.column++
}

// Int appends a whole number.
func (v *values) Int(n int64) {
	v.begin()
	v.b = strconv.AppendInt(v.b, n, 10)
}

// Decimal appends a number of hundredths, or whatever the column's scale is.
func (v *values) Decimal(unscaled int64) {
	v.begin()
	v.b = appendDecimal(v.b, unscaled, v.scales[v.column-1])
}

// Text appends letters, digits and spaces.
func (v *values) Text(b []byte) {
	v.begin()
	if v.lines {
		v.b = append(v.b, b...)
		return
	}
	v.b = append(append(append(v.b, '\''), b...), '\'')
}

// Time appends a moment. Most rows have the same one.
func (v *values) Time(t time.Time) {
	if !t.Equal(v.stamped) || v.stamp == nil {
		v.stamped, v.stamp = t, t.UTC().AppendFormat(v.stamp[:0], stampForm)
	}
	v.Text(v.stamp)
}

// Null appends an absent value.
func (v *values) Null() {
	v.begin()
	if v.lines {
		v.b = append(v.b, '\\', 'N')
		return
	}
	v.b = append(v.b, "NULL"...)
}

// appendDecimal appends a number of tens to the power of -scale.
func appendDecimal(b []byte, unscaled int64, scale int) []byte {
	if unscaled < 0 {
		b, unscaled = append(b, '-'), -unscaled
	}
	unit := int64(1)
	for range scale {
		unit *= 10
	}
	b = strconv.AppendInt(b, unscaled/unit, 10)
	if scale == 0 {
		return b
	}
	b = append(b, '.')
	for rest := unscaled % unit; unit > 1; rest %= unit {
		unit /= 10
		b = append(b, '0'+byte(rest/unit))
	}
	return b
}

// lineWriter writes rows as the lines of LOAD DATA.
type lineWriter struct {
	values
	out io.Writer
}

// EndRow ends a line and passes lines on in pieces.
func (w *lineWriter) EndRow() error {
	w.b = append(w.b, '\n')
	w.rows++
	w.column = 0
	if len(w.b) < batchBytes {
		return nil
	}
	return w.flush()
}

func (w *lineWriter) flush() error {
	_, err := w.out.Write(w.b)
	w.b = w.b[:0]
	return err
}

// insertWriter writes rows by INSERT statements of many rows.
type insertWriter struct {
	values
	ctx  context.Context
	conn *sql.Conn
	head string
}

// EndRow ends a row and executes what has come together when it is enough.
func (w *insertWriter) EndRow() error {
	w.b = append(w.b, ')')
	w.rows++
	w.column = 0
	if len(w.b) < insertSize {
		return nil
	}
	return w.flush()
}

func (w *insertWriter) flush() error {
	if len(w.b) == 0 {
		return nil
	}
	_, err := w.conn.ExecContext(w.ctx, w.head+string(w.b))
	w.b = w.b[:0]
	if err != nil {
		return fmt.Errorf("inserting rows: %w", err)
	}
	return nil
}
