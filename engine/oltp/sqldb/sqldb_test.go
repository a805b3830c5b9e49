package sqldb

import (
	"context"
	"database/sql"
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	_ "modernc.org/sqlite"

	"bakeoff/engine/oltp/tpcc"
)

// sqlite is a dialect for tests: a database that is at hand everywhere.
func sqlite() Dialect {
	return Dialect{Placeholder: func(int) string { return "?" }, Now: "unixepoch()", OneRow: " LIMIT 1 OFFSET {skip}"}
}

// filled loads a warehouse.
func filled(t *testing.T) *sql.DB {
	t.Helper()
	db, err := sql.Open("sqlite", filepath.Join(t.TempDir(), "db")+"?_pragma=synchronous(off)&_pragma=journal_mode(memory)")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { db.Close() })
	db.SetMaxOpenConns(1)
	run := func(text string) {
		if _, err := db.Exec(text); err != nil {
			t.Fatal(text, err)
		}
	}
	run("BEGIN")
	for _, table := range tpcc.Tables() {
		columns := strings.Join(table.Names(), ", ")
		if table.Key != nil {
			columns += ", PRIMARY KEY (" + strings.Join(table.Key, ", ") + ")"
		}
		run("CREATE TABLE " + table.Name + " (" + columns + ")")
		stmt, err := db.Prepare("INSERT INTO " + table.Name + " VALUES (?" + strings.Repeat(", ?", len(table.Columns)-1) + ")")
		if err != nil {
			t.Fatal(err)
		}
		w := &Rows{Table: table, Put: func(row []any) error {
			_, err := stmt.Exec(row...)
			return err
		}}
		data := tpcc.Data{Profile: tpcc.Spec, Warehouses: 1, Seed: 1, Tally: new(tpcc.Tally)}
		chunk := tpcc.Chunk{Table: table.ID, Warehouse: 1}
		if table.ID == tpcc.Item {
			chunk.Warehouse = 0
		}
		if err := data.Write(chunk, w); err != nil {
			t.Fatal(err)
		}
		stmt.Close()
		for _, c := range table.Columns { // decimals came as text
			if c.Type == tpcc.Decimal {
				run(fmt.Sprintf("UPDATE %s SET %s = CAST(%[2]s AS REAL)", table.Name, c.Name))
			}
		}
	}
	run("CREATE INDEX by_name ON customer (c_w_id, c_d_id, c_last, c_first)")
	run("CREATE INDEX by_customer ON orders (o_w_id, o_d_id, o_c_id, o_id)")
	run("COMMIT")
	return db
}

// TestScript runs the script on a real database, by both profiles.
func TestScript(t *testing.T) {
	if testing.Short() {
		t.Skip("loads a database")
	}
	db := filled(t)
	for _, p := range []tpcc.Profile{tpcc.HammerDB, tpcc.Spec} {
		placed := text(t, db, "SELECT COUNT(*) FROM orders")
		runScript(t, db, p, 600)
		if text(t, db, "SELECT COUNT(*) FROM orders") == placed {
			t.Errorf("%s: no order was placed", p)
		}
		for _, c := range tpcc.Conditions() {
			if got := text(t, db, c.Query); c.Applies(p, false) && c.Number != 12 && got != "0" {
				t.Errorf("%s: condition %d (%s): %s violations", p, c.Number, c.Text, got)
			}
		}
		kept := text(t, db, "SELECT SUM(s_order_cnt) > 0 AND MAX(c_payment_cnt) > 1 AND MAX(c_delivery_cnt) > 0 FROM stock, (SELECT MAX(c_payment_cnt) AS c_payment_cnt, MAX(c_delivery_cnt) AS c_delivery_cnt FROM customer)")
		if (kept == "1") != (p == tpcc.Spec) {
			t.Errorf("%s: the counts are kept: %s", p, kept)
		}
	}
	if got := text(t, db, "SELECT COUNT(*) FROM customer WHERE c_credit = 'BC' AND c_data LIKE '% 1 % 1 %.__ %'"); got == "0" {
		t.Error("no customer of bad credit has a payment in c_data")
	}
}

func text(t *testing.T, db *sql.DB, query string) string {
	t.Helper()
	value, found, err := Text(t.Context(), db, query)
	if err != nil || !found {
		t.Fatal(query, found, err)
	}
	return value
}

func runScript(t *testing.T, db *sql.DB, p tpcc.Profile, n int) {
	t.Helper()
	ctx := context.Background()
	conn, err := db.Conn(ctx)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	script, err := Prepare(ctx, conn, sqlite(), p)
	if err != nil {
		t.Fatal(err)
	}
	defer script.Close()
	user := tpcc.NewUser(tpcc.Rules{Profile: p, Warehouses: 1, Users: 1, Homes: tpcc.RandomHome, Seed: 5}, 0, 0)
	var in tpcc.Tx
	for range n {
		user.Next(&in)
		got, err := script.Run(ctx, &in)
		if err != nil || (got == tpcc.RolledBack) != (in.Kind == tpcc.NewOrder && in.Rollback) {
			t.Fatalf("%s: %v ended as %v: %v", p, in.Kind, got, err)
		}
	}
}

func TestDecimal(t *testing.T) {
	for _, c := range []struct {
		unscaled int64
		scale    int
		want     string
	}{{0, 2, "0.00"}, {5, 2, "0.05"}, {-10_00, 2, "-10.00"}, {1999, 4, "0.1999"}, {-1, 4, "-0.0001"}, {7, 0, "7"}, {300_000_00, 2, "300000.00"}} {
		if got := Decimal(c.unscaled, c.scale); got != c.want {
			t.Errorf("%d with scale %d: %s, expected %s", c.unscaled, c.scale, got, c.want)
		}
		if back, err := tpcc.ParseScaled(c.want, c.scale); err != nil || back != c.unscaled {
			t.Errorf("%s: read back as %d, %v", c.want, back, err)
		}
	}
}
