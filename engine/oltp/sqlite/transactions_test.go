package sqlite

import (
	"context"
	"errors"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"bakeoff/engine/oltp"
	"bakeoff/engine/oltp/tpcc"
)

// work does transactions and counts them by kind; the first row are the committed ones.
func work(t testing.TB, c oltp.Client, u *tpcc.User, n int) (counts [2][tpcc.Kinds]int) {
	t.Helper()
	var tx tpcc.Tx
	for range n {
		u.Next(&tx)
		got, err := c.Run(t.Context(), &tx)
		if err != nil {
			t.Error(err)
			return counts
		}
		if (got == tpcc.RolledBack) != (tx.Kind == tpcc.NewOrder && tx.Rollback) {
			t.Errorf("%v with rollback %v ended as %v", tx.Kind, tx.Rollback, got)
		}
		counts[got][tx.Kind]++
	}
	return counts
}

func TestConsistency(t *testing.T) {
	for _, p := range []tpcc.Profile{tpcc.HammerDB, tpcc.Spec} {
		t.Run(string(p), func(t *testing.T) {
			db := filled(t, p, "")
			before, err := db.Counters(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			done := work(t, connect(t, db), tpcc.NewUser(db.Rules, 0, 0), 2000)
			after, err := db.Counters(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			if got, want := int(after.NextOrders-before.NextOrders), done[tpcc.Committed][tpcc.NewOrder]; got != want {
				t.Errorf("d_next_o_id grew by %d, %d New-Orders were committed", got, want)
			}
			if got := after.Transactions - before.Transactions; got != 2000 {
				t.Errorf("%d transactions were counted, expected 2000", got)
			}
			for _, c := range tpcc.Conditions() {
				if !c.Applies(p, false) {
					continue
				}
				if got := one(t, db, c.Query); got != "0" {
					t.Errorf("condition %d (%s): %s violations", c.Number, c.Text, got)
				}
			}
			kept := one(t, db, "SELECT SUM(s_order_cnt) FROM stock") != "0"
			if kept != (p == tpcc.Spec) {
				t.Errorf("s_order_cnt is kept: %v", kept)
			}
			paid, _ := strconv.Atoi(one(t, db, "SELECT COUNT(*) - 30000 FROM history"))
			if paid != done[tpcc.Committed][tpcc.Payment] {
				t.Errorf("%d payments in history, %d were committed", paid, done[tpcc.Committed][tpcc.Payment])
			}
		})
	}
}

// TestRollback has an order for an item that there is not leave nothing.
func TestRollback(t *testing.T) {
	db := filled(t, tpcc.Spec, "")
	c := connect(t, db)
	before := sums(t, db)
	tx := tpcc.Tx{Kind: tpcc.NewOrder, Warehouse: 1, District: 3, Customer: 7, LineCount: 2, AllLocal: true, Rollback: true}
	tx.Lines[0], tx.Lines[1] = tpcc.Line{Item: 5, Supply: 1, Quantity: 3}, tpcc.Line{Item: tpcc.UnusedItem, Supply: 1, Quantity: 1}
	if got, err := c.Run(t.Context(), &tx); got != tpcc.RolledBack || err != nil {
		t.Errorf("%v, %v", got, err)
	}
	tx.Rollback = false // nobody asked for it: the database is at fault
	if got, err := c.Run(t.Context(), &tx); got != tpcc.Refused || err == nil {
		t.Errorf("%v, %v", got, err)
	}
	if after := sums(t, db); after != before {
		t.Errorf("found %s, expected %s", after, before)
	}
}

// TestPayment pins the arithmetic of one payment, exact to the cent.
func TestPayment(t *testing.T) {
	db := filled(t, tpcc.Spec, "")
	c := connect(t, db)
	if err := db.Exec(t.Context(), "UPDATE customer SET c_credit = 'BC', c_data = 'old' WHERE c_w_id = 1 AND c_d_id = 2 AND c_id = 77"); err != nil {
		t.Fatal(err)
	}
	tx := tpcc.Tx{Kind: tpcc.Payment, Warehouse: 1, District: 2, CustomerWarehouse: 1, CustomerDistrict: 2, Customer: 77, Amount: 1234_56}
	for range 3 {
		if got, err := c.Run(t.Context(), &tx); got != tpcc.Committed || err != nil {
			t.Fatal(got, err)
		}
	}
	for sql, want := range map[string]string{
		"SELECT w_ytd FROM warehouse WHERE w_id = 1":                                                          "303703.68",
		"SELECT d_ytd FROM district WHERE d_w_id = 1 AND d_id = 2":                                            "33703.68",
		"SELECT c_balance FROM customer WHERE c_w_id = 1 AND c_d_id = 2 AND c_id = 77":                        "-3713.68",
		"SELECT c_ytd_payment FROM customer WHERE c_w_id = 1 AND c_d_id = 2 AND c_id = 77":                    "3713.68",
		"SELECT c_payment_cnt FROM customer WHERE c_w_id = 1 AND c_d_id = 2 AND c_id = 77":                    "4",
		"SELECT c_data FROM customer WHERE c_w_id = 1 AND c_d_id = 2 AND c_id = 77":                           strings.Repeat("77 2 1 2 1 123456 ", 3) + "old",
		"SELECT COUNT(*) FROM history WHERE h_c_id = 77 AND h_d_id = 2 AND h_amount = 1234.56 AND h_w_id = 1": "3",
	} {
		if got := one(t, db, sql); got != want {
			t.Errorf("%s: %s, expected %s", sql, got, want)
		}
	}
}

// TestByName chooses the middle customer of a name by first name.
func TestByName(t *testing.T) {
	db := filled(t, tpcc.Spec, "")
	connect(t, db)
	tx := tpcc.Tx{Warehouse: 1, District: 4, LastName: 371}
	got, err := db.work.chosen(1, 4, &tx)
	if err != nil {
		t.Fatal(err)
	}
	rows, err := db.Query(t.Context(), "SELECT c_id FROM customer WHERE c_w_id = 1 AND c_d_id = 4 AND c_last = '"+tpcc.LastName(371)+"' ORDER BY c_first")
	if err != nil {
		t.Fatal(err)
	}
	if want := rows[(len(rows)+1)/2-1][0]; strconv.FormatInt(got, 10) != want {
		t.Errorf("chose %d of %v, expected %s", got, rows, want)
	}
}

// TestPlans has no statement of a transaction read a whole table.
func TestPlans(t *testing.T) {
	db := filled(t, tpcc.Spec, "")
	for _, x := range texts(new(statements), tpcc.Spec)[4:] {
		plan, err := db.Query(t.Context(), "EXPLAIN QUERY PLAN "+x.sql)
		if err != nil {
			t.Fatal(err)
		}
		for _, step := range plan {
			if strings.HasPrefix(step[3], "SCAN") || strings.Contains(step[3], "AUTOMATIC") || strings.Contains(step[3], "TEMP B-TREE FOR ORDER BY") {
				t.Errorf("%s: %s", x.sql, step[3])
			}
		}
	}
}

// TestUsers has users share the connection in turn.
func TestUsers(t *testing.T) {
	db := filled(t, tpcc.HammerDB, "")
	const users, each = 8, 100
	var all sync.WaitGroup
	for i := range users {
		c := connect(t, db)
		all.Go(func() { work(t, c, tpcc.NewUser(db.Rules, 0, i), each) })
	}
	all.Wait()
	counters, err := db.Counters(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if counters.Transactions != users*each || db.waited.Load() == 0 {
		t.Errorf("%d transactions, waited %v", counters.Transactions, time.Duration(db.waited.Load()))
	}
}

// TestTurns has users get the connection in the order in which they asked.
func TestTurns(t *testing.T) {
	db := open(t, "sqlite:", tpcc.Spec)
	if err := db.take(t.Context()); err != nil {
		t.Fatal(err)
	}
	const users = 5
	order := make(chan int, users)
	var all sync.WaitGroup
	for i := range users {
		asked := make(chan struct{})
		all.Go(func() {
			close(asked)
			if err := db.take(t.Context()); err != nil {
				t.Error(err)
			}
			order <- i
			db.give()
		})
		<-asked
		time.Sleep(20 * time.Millisecond) // until it waits, which cannot be seen from here
	}
	db.give()
	all.Wait()
	for i := range users {
		if got := <-order; got != i {
			t.Errorf("turn %d was user %d's", i, got)
		}
	}
}

func TestWaitEnds(t *testing.T) {
	db := filled(t, tpcc.HammerDB, "")
	c := connect(t, db)
	if err := db.take(t.Context()); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
	defer cancel()
	got, err := c.Run(ctx, &tpcc.Tx{Kind: tpcc.StockLevel, Warehouse: 1, District: 1, Threshold: 10})
	if got != tpcc.Broken || !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("%v, %v", got, err)
	}
	db.give()
}

// TestOtherProcess has a file that is locked from elsewhere be a conflict.
func TestOtherProcess(t *testing.T) {
	db := filled(t, tpcc.HammerDB, "")
	db.Timeout = 20 * time.Millisecond
	c := connect(t, db)
	other, err := openFile(db.path, false)
	if err != nil {
		t.Fatal(err)
	}
	defer other.close()
	if err := other.exec("BEGIN IMMEDIATE"); err != nil {
		t.Fatal(err)
	}
	tx := tpcc.Tx{Kind: tpcc.Payment, Warehouse: 1, District: 2, CustomerWarehouse: 1, CustomerDistrict: 2, Customer: 77, Amount: 100}
	if got, err := c.Run(t.Context(), &tx); got != tpcc.Conflict || err == nil {
		t.Errorf("%v, %v", got, err)
	}
	if err := other.exec("ROLLBACK"); err != nil {
		t.Fatal(err)
	}
	if got, err := c.Run(t.Context(), &tx); got != tpcc.Committed || err != nil {
		t.Errorf("%v, %v", got, err)
	}
}

func TestInterrupt(t *testing.T) {
	db := filled(t, tpcc.HammerDB, "")
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	_, err := db.Query(ctx, "SELECT COUNT(*) FROM stock a, stock b, stock c")
	if !errors.Is(err, context.DeadlineExceeded) {
		t.Error(err)
	}
	if got := one(t, db, "SELECT COUNT(*) FROM item"); got != "100000" {
		t.Errorf("afterwards: %s", got)
	}
}
