package mysql

import (
	"fmt"
	"testing"

	"bakeoff/engine/oltp"
	"bakeoff/engine/oltp/tpcc"
	"bakeoff/test/mariadbtest"
)

// TestModes runs the mix in every mode under both profiles, one after another on
// one database a profile, and checks that nothing is lost and all conditions hold.
func TestModes(t *testing.T) {
	s := mariadbtest.Start(t, mariadbtest.Options{})
	for _, p := range []tpcc.Profile{tpcc.HammerDB, tpcc.Spec} {
		t.Run(string(p), func(t *testing.T) {
			c := configuration(t, s, p, 1)
			fill(t, open(t, c))
			consistent(t, open(t, c), true)
			for _, mode := range []oltp.Mode{oltp.Procedures, oltp.ClientSQL} {
				for _, statements := range []oltp.Statements{oltp.AutoStatements, oltp.RowStatements, oltp.SetStatements} {
					t.Run(fmt.Sprint(mode, " ", statements), func(t *testing.T) {
						c.Mode, c.Statements = mode, statements
						c.Rules.Seed++
						runMode(t, open(t, c))
					})
				}
			}
		})
	}
}

func runMode(t *testing.T, d *database) {
	if err := d.Install(t.Context()); err != nil {
		t.Fatal(err)
	}
	before, err := d.Counters(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	const n = 1000
	counts := connect(t, d, 0).work(n)
	after, err := d.Counters(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	orders := counts[tpcc.NewOrder]
	if got := after.NextOrders - before.NextOrders; got != int64(orders[tpcc.Committed]) {
		t.Errorf("%d new orders in the database, %d committed", got, orders[tpcc.Committed])
	}
	if orders[tpcc.RolledBack] == 0 {
		t.Error("no order was rolled back of some 430, of which one in a hundred should be")
	}
	if got := after.Transactions - before.Transactions; got != n {
		t.Errorf("the server counts %d transactions, the user %d", got, n)
	}
	for k := range tpcc.Kinds {
		if counts[k][tpcc.Committed] == 0 {
			t.Errorf("no %s was committed", k)
		}
	}
	consistent(t, d, false)
}
