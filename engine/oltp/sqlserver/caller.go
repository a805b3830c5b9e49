package sqlserver

import (
	"bytes"
	"context"
	"database/sql"
	_ "embed"
	"errors"
	"fmt"
	"strings"
	"text/template"

	mssql "github.com/microsoft/go-mssqldb"

	"bakeoff/engine/oltp"
	"bakeoff/engine/oltp/tpcc"
)

//go:embed routines.sql.tmpl
var routinesText string

// routines returns the batches that make the routines. Under the profile
// hammerdb, some columns stay as they were loaded, and an order is worked on line
// by line, as HammerDB's routines do, unless sets are asked for.
func routines(p tpcc.Profile, s oltp.Statements) ([]string, error) {
	t, err := template.New("routines").Parse(routinesText)
	if err != nil {
		return nil, err
	}
	rows := s == oltp.RowStatements || s == oltp.AutoStatements && p == tpcc.HammerDB
	var out bytes.Buffer
	if err := t.Execute(&out, struct{ Spec, Rows bool }{p == tpcc.Spec, rows}); err != nil {
		return nil, err
	}
	return strings.Split(strings.TrimSpace(out.String()), "\nGO\n"), nil
}

// Install makes the routines anew.
func (d *database) Install(ctx context.Context) error {
	if d.Mode != oltp.Procedures {
		return nil
	}
	batches, err := routines(d.Rules.Profile, d.Statements)
	if err != nil {
		return fmt.Errorf("making the routines: %w", err)
	}
	if err := d.Exec(ctx, batches...); err != nil {
		return fmt.Errorf("making the routines: %w", err)
	}
	return nil
}

// line is a row of the type bakeoff_lines.
type line struct{ Number, Item, Supply, Quantity int32 }

// caller is a user who calls the routines: one round trip a transaction.
type caller struct {
	conn  *sql.Conn
	lines [tpcc.MaxLines]line
}

// Close ends the connection.
func (c *caller) Close() error { return c.conn.Close() }

// Run does one transaction.
func (c *caller) Run(ctx context.Context, tx *tpcc.Tx) (tpcc.Outcome, error) {
	routine, args := c.call(tx)
	ended, err := c.read(ctx, routine, args)
	if err == nil && (ended == tpcc.RolledBack) && !tx.Rollback {
		err = errors.New("an item or its stock is missing: the database is not what was loaded")
		return tpcc.Refused, err
	}
	return classify(ctx, ended, err)
}

// call returns a transaction's routine and its arguments.
func (c *caller) call(tx *tpcc.Tx) (routine string, args []any) {
	w, d, customer := sql.Named("w", int64(tx.Warehouse)), sql.Named("d", int64(tx.District)), sql.Named("c", int64(tx.Customer))
	last := sql.Named("last", mssql.VarChar(""))
	if tx.Customer == 0 {
		last.Value = mssql.VarChar(tpcc.LastName(int(tx.LastName)))
	}
	switch tx.Kind {
	case tpcc.NewOrder:
		lines := c.lines[:tx.LineCount]
		for i := range lines {
			l := tx.Lines[i]
			lines[i] = line{int32(i + 1), l.Item, l.Supply, int32(l.Quantity)}
		}
		local := int64(0)
		if tx.AllLocal {
			local = 1
		}
		return "bakeoff_new_order", []any{w, d, customer, sql.Named("local", local), sql.Named("lines", mssql.TVP{TypeName: "bakeoff_lines", Value: lines})}
	case tpcc.Payment:
		return "bakeoff_payment", []any{w, d, sql.Named("cw", int64(tx.CustomerWarehouse)), sql.Named("cd", int64(tx.CustomerDistrict)), customer, last,
			sql.Named("cents", int64(tx.Amount))}
	case tpcc.Delivery:
		return "bakeoff_delivery", []any{w, sql.Named("carrier", int64(tx.Carrier))}
	case tpcc.OrderStatus:
		return "bakeoff_order_status", []any{w, d, customer, last}
	default:
		return "bakeoff_stock_level", []any{w, d, sql.Named("threshold", int64(tx.Threshold))}
	}
}

// read calls a routine and takes all that it returns; the first value of the
// first row says whether it rolled back.
func (c *caller) read(ctx context.Context, routine string, args []any) (tpcc.Outcome, error) {
	rows, err := c.conn.QueryContext(ctx, routine, args...)
	if err != nil {
		return tpcc.Committed, err
	}
	defer rows.Close()
	ended, seen := tpcc.Committed, false
	for more := true; more; more = rows.NextResultSet() {
		names, err := rows.Columns()
		if err != nil {
			return ended, err
		}
		values := make([]any, len(names))
		for i := range values {
			values[i] = new(any)
		}
		for rows.Next() {
			if err := rows.Scan(values...); err != nil {
				return ended, err
			}
			if n, ok := (*values[0].(*any)).(int64); ok && !seen && n == 1 {
				ended = tpcc.RolledBack
			}
			seen = true
		}
	}
	if err := rows.Err(); err != nil {
		return ended, err
	}
	if !seen {
		return ended, fmt.Errorf("%s returned nothing: it is not the routine that was made", routine)
	}
	return ended, nil
}
