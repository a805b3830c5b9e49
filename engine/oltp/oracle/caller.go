package oracle

import (
	"bytes"
	"context"
	"database/sql"
	_ "embed"
	"errors"
	"fmt"
	"strings"
	"text/template"

	"bakeoff/engine/oltp"
	"bakeoff/engine/oltp/tpcc"
)

//go:embed routines.sql.tmpl
var routinesText string

// routines returns the statements that make the package of routines. Under the
// profile hammerdb some columns stay as they were loaded.
func routines(p tpcc.Profile) ([]string, error) {
	t, err := template.New("routines").Parse(routinesText)
	if err != nil {
		return nil, err
	}
	var out bytes.Buffer
	if err := t.Execute(&out, struct{ Spec bool }{p == tpcc.Spec}); err != nil {
		return nil, err
	}
	return strings.Split(strings.TrimSpace(out.String()), "\n/\n"), nil
}

// faultsQuery finds what the compiler says: a package with errors is made all
// the same.
const faultsQuery = `SELECT type || ', line ' || line || ': ' || text FROM user_errors WHERE name = 'BAKEOFF_TPCC' AND attribute = 'ERROR' ORDER BY type, sequence`

// Install makes the routines anew.
func (d *database) Install(ctx context.Context) error {
	if d.Mode != oltp.Procedures {
		return nil
	}
	statements, err := routines(d.Rules.Profile)
	if err == nil {
		err = d.Exec(ctx, statements...)
	}
	if err != nil {
		return fmt.Errorf("making the routines: %w", err)
	}
	rows, err := d.Query(ctx, faultsQuery)
	if err != nil {
		return fmt.Errorf("asking whether the routines are right: %w", err)
	}
	if len(rows) > 0 {
		return fmt.Errorf("the server does not take the routines: %s", rows[0][0])
	}
	return nil
}

// calls are the blocks that call the routines, by kind.
func calls() [tpcc.Kinds]string {
	return [tpcc.Kinds]string{
		tpcc.NewOrder:    "BEGIN bakeoff_tpcc.new_order(:1, :2, :3, :4, :5, :6, :7, :8, :9, :10); END;",
		tpcc.Payment:     "BEGIN bakeoff_tpcc.payment(:1, :2, :3, :4, :5, :6, :7, :8, :9); END;",
		tpcc.Delivery:    "BEGIN bakeoff_tpcc.delivery(:1, :2, :3); END;",
		tpcc.OrderStatus: "BEGIN bakeoff_tpcc.order_status(:1, :2, :3, :4, :5, :6, :7); END;",
		tpcc.StockLevel:  "BEGIN bakeoff_tpcc.stock_level(:1, :2, :3, :4); END;",
	}
}

// caller is a user who calls the routines: one round trip a transaction.
type caller struct {
	conn     *sql.Conn
	prepared [tpcc.Kinds]*sql.Stmt

	// Arrays always have the most lines, so that a call always has one shape.
	items, supplies, quantities [tpcc.MaxLines]int64
	rolledBack, number, rows    int64
	value                       float64
}

func newCaller(ctx context.Context, conn *sql.Conn) (oltp.Client, error) {
	c := &caller{conn: conn}
	for kind, text := range calls() {
		var err error
		if c.prepared[kind], err = conn.PrepareContext(ctx, text); err != nil {
			return nil, errors.Join(fmt.Errorf("preparing %q: %w", text, err), c.free())
		}
	}
	return c, nil
}

func (c *caller) free() error {
	var errs []error
	for _, s := range c.prepared {
		if s != nil {
			errs = append(errs, s.Close())
		}
	}
	return errors.Join(errs...)
}

// Close ends the connection.
func (c *caller) Close() error { return errors.Join(c.free(), c.conn.Close()) }

// Run does one transaction.
func (c *caller) Run(ctx context.Context, tx *tpcc.Tx) (tpcc.Outcome, error) {
	c.rolledBack = 0
	_, err := c.prepared[tx.Kind].ExecContext(ctx, c.arguments(tx)...)
	switch {
	case err != nil || c.rolledBack == 0:
		return classify(ctx, tpcc.Committed, err)
	case tx.Rollback:
		return tpcc.RolledBack, nil
	}
	return tpcc.Refused, errors.New("an item or its stock is missing: the database is not what was loaded")
}

// arguments are those of a transaction's call, in the order of its routine.
func (c *caller) arguments(tx *tpcc.Tx) []any {
	w, d, customer := int64(tx.Warehouse), int64(tx.District), int64(tx.Customer)
	last := " " // "" is NULL here
	if tx.Customer == 0 {
		last = tpcc.LastName(int(tx.LastName))
	}
	number, value := sql.Out{Dest: &c.number}, sql.Out{Dest: &c.value}
	switch tx.Kind {
	case tpcc.NewOrder:
		for i, l := range tx.Lines[:tx.LineCount] {
			c.items[i], c.supplies[i], c.quantities[i] = int64(l.Item), int64(l.Supply), int64(l.Quantity)
		}
		local := int64(0)
		if tx.AllLocal {
			local = 1
		}
		return []any{w, d, customer, local, int64(tx.LineCount), c.items[:], c.supplies[:], c.quantities[:], sql.Out{Dest: &c.rolledBack}, value}
	case tpcc.Payment:
		return []any{w, d, int64(tx.CustomerWarehouse), int64(tx.CustomerDistrict), customer, last, int64(tx.Amount), number, value}
	case tpcc.Delivery:
		return []any{w, int64(tx.Carrier), number}
	case tpcc.OrderStatus:
		return []any{w, d, customer, last, number, value, sql.Out{Dest: &c.rows}}
	default:
		return []any{w, d, int64(tx.Threshold), number}
	}
}
