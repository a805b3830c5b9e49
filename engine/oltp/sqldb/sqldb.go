// Package sqldb is what the targets share that are driven through database/sql: the
// transactions as statements from the client, rows as text, and values in the
// form that drivers take.
package sqldb

import (
	"context"
	"database/sql"
	"fmt"
	"time"

	"bakeoff/engine/oltp/tpcc"
)

// Querier is a *sql.DB, *sql.Conn or *sql.Tx.
type Querier interface {
	QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error)
}

// Texts runs a query and returns its values as text, "" for an absent one.
func Texts(ctx context.Context, q Querier, query string, args ...any) (all [][]string, err error) {
	rows, err := q.QueryContext(ctx, query, args...)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	names, err := rows.Columns()
	if err != nil {
		return nil, err
	}
	values := make([]sql.NullString, len(names))
	into := make([]any, len(names))
	for i := range values {
		into[i] = &values[i]
	}
	for rows.Next() {
		if err := rows.Scan(into...); err != nil {
			return nil, err
		}
		row := make([]string, len(values))
		for i, v := range values {
			row[i] = v.String
		}
		all = append(all, row)
	}
	return all, rows.Err()
}

// Text runs a query of one value; there is none where it has no row.
func Text(ctx context.Context, q Querier, query string, args ...any) (value string, found bool, err error) {
	rows, err := Texts(ctx, q, query, args...)
	if err != nil || len(rows) == 0 {
		return "", false, err
	}
	if len(rows) > 1 || len(rows[0]) != 1 {
		return "", false, fmt.Errorf("found %d rows, expected one of one value", len(rows))
	}
	return rows[0][0], true, nil
}

// Decimal writes a decimal number that is given times 10^scale.
func Decimal(unscaled int64, scale int) string {
	sign := ""
	if unscaled < 0 {
		sign, unscaled = "-", -unscaled
	}
	digits := fmt.Sprintf("%0*d", scale+1, unscaled)
	if scale == 0 {
		return sign + digits
	}
	at := len(digits) - scale
	return sign + digits[:at] + "." + digits[at:]
}

// Rows is a tpcc.RowWriter that hands rows on as values: int64, string (decimal
// numbers too), time.Time and nil. The slice is its own again after Put.
type Rows struct {
	Table tpcc.Table
	Put   func(row []any) error
	Count int64 // of the rows that were put

	row []any
}

// Int takes a whole number.
func (r *Rows) Int(v int64) { r.row = append(r.row, v) }

// Decimal takes a decimal number, with the scale of its column.
func (r *Rows) Decimal(v int64) {
	r.row = append(r.row, Decimal(v, r.Table.Columns[len(r.row)].Scale))
}

// Text takes a text.
func (r *Rows) Text(b []byte) { r.row = append(r.row, string(b)) }

// Time takes a date.
func (r *Rows) Time(t time.Time) { r.row = append(r.row, t) }

// Null takes an absent value.
func (r *Rows) Null() { r.row = append(r.row, nil) }

// EndRow hands the row on.
func (r *Rows) EndRow() error {
	err := r.Put(r.row)
	r.row = r.row[:0]
	r.Count++
	return err
}
