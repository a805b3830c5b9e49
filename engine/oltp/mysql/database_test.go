package mysql

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"

	"bakeoff/engine/oltp"
	"bakeoff/engine/oltp/mysql/protocol"
	"bakeoff/engine/oltp/tpcc"
	"bakeoff/test/mariadbtest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// TestDatabase has one server and one loaded database for all that follows, in
// the order in which it stands there: a load is what takes time.
func TestDatabase(t *testing.T) {
	s := mariadbtest.Start(t, mariadbtest.Options{TLS: true})
	c := configuration(t, s, tpcc.Spec, 1)
	d := open(t, c)
	if columns, err := d.Columns(t.Context()); err != nil || len(columns) > 0 {
		t.Errorf("before the load: columns %v, error %v", columns, err)
	}
	if saved, err := d.Saved(t.Context()); err != nil || saved != "" {
		t.Errorf("before the load: saved %q, error %v", saved, err)
	}
	fill(t, d)
	consistent(t, d, true)
	if err := d.Save(t.Context(), "the 'first' one"); err != nil {
		t.Fatal(err)
	}
	initial := sums(t, d)
	f := fixture{s, c, d, initial}
	t.Run("data", f.data)
	t.Run("facts", f.facts)
	t.Run("finish again", f.finishAgain)
	t.Run("modes", f.modes)
	t.Run("restore", f.restore)
	t.Run("restore row by row", f.restoreRows)
	t.Run("restore after a crash in it", f.restoreInterrupted)
	t.Run("TLS", f.tls)
	t.Run("lock wait", f.lockWait)
	t.Run("deadlock", f.deadlock)
	t.Run("killed", f.killed)
	t.Run("unknown customer", f.unknownCustomer)
	t.Run("load", f.load)
	t.Run("schema of HammerDB", f.hammerDB)
}

type fixture struct {
	s       *mariadbtest.Server
	c       oltp.Config
	d       *database
	initial string
}

// sums are those of every table.
func sums(t testing.TB, d *database) string {
	t.Helper()
	var all strings.Builder
	for _, table := range tpcc.Tables() {
		rows, err := d.Query(t.Context(), table.SumQuery())
		if err != nil {
			t.Fatal(err)
		}
		sum, err := table.ReadSums(rows[0])
		if err != nil {
			t.Fatal(err)
		}
		fmt.Fprintln(&all, table.Name, sum)
	}
	return all.String()
}

// data checks texts and moments, which no sum covers, and the schema.
func (f fixture) data(t *testing.T) {
	for query, want := range map[string]string{
		"SELECT COUNT(*) FROM customer WHERE c_since = '2024-01-01 00:00:00' AND c_middle = 'OE' AND c_last RLIKE '^[A-Z]{9,}'": "30000",
		"SELECT COUNT(*) FROM order_line WHERE CHAR_LENGTH(ol_dist_info) = 24 AND (ol_delivery_d IS NULL) = (ol_o_id > 2100)":   "",
		"SELECT COUNT(*) FROM orders WHERE (o_carrier_id IS NULL) = (o_id > 2100)":                                              "30000",
		"SELECT COUNT(*) FROM item WHERE i_data LIKE '%ORIGINAL%'":                                                              "",
	} {
		rows, err := f.d.Query(t.Context(), query)
		if err != nil {
			t.Fatal(err)
		}
		if got := rows[0][0]; got == "0" || want != "" && got != want {
			t.Errorf("%s gives %s, want %s", query, got, want)
		}
	}
	columns, err := f.d.Columns(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for _, table := range tpcc.Tables() {
		if d := cmp.Diff(table.Names(), columns[table.Name]); d != "" {
			t.Errorf("table %s: %s", table.Name, d)
		}
	}
}

func (f fixture) facts(t *testing.T) {
	facts, err := f.d.Facts(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	found := map[string]oltp.Fact{}
	for _, fact := range facts {
		found[fact.Name] = fact
	}
	if got := found["innodb_buffer_pool_size"]; got.Value != 128<<20 || got.Unit != "B" {
		t.Errorf("innodb_buffer_pool_size is %+v", got)
	}
	if got := found["innodb_flush_log_at_trx_commit"]; got.Text != "0" {
		t.Errorf("innodb_flush_log_at_trx_commit is %+v", got)
	}
	for _, name := range []string{"version", "sync_binlog", "log_bin", "tx_isolation", "innodb_flush_method"} {
		if found[name].Text == "" {
			t.Errorf("no fact %s", name)
		}
	}
}

func (f fixture) finishAgain(t *testing.T) {
	if err := f.d.Finish(t.Context(), tpcc.Tables()); err != nil {
		t.Error(err)
	}
}

// restored brings the data back between parts of the test.
func (f fixture) restored(t *testing.T) {
	t.Helper()
	if err := f.d.Restore(t.Context()); err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(f.initial, sums(t, f.d)); d != "" {
		t.Error(d)
	}
}

func (f fixture) restore(t *testing.T) {
	if sums(t, f.d) == f.initial {
		t.Fatal("nothing has changed that could be restored")
	}
	saved, err := f.d.Saved(t.Context())
	if err != nil || saved != "the 'first' one" {
		t.Errorf("saved is %q, %v", saved, err)
	}
	files, err := f.d.files(t.Context(), f.d.savedName(), f.d.name)
	if err != nil || files == nil {
		t.Fatalf("the files of the server are not found: %v", err)
	}
	if err := files.unlock(); err != nil {
		t.Error(err)
	}
	f.restored(t)
	consistent(t, f.d, true)
}

func (f fixture) restoreRows(t *testing.T) {
	for _, name := range f.d.savedTables() {
		if err := f.d.Exec(t.Context(), "DELETE FROM "+name); err != nil {
			t.Fatal(err)
		}
	}
	if err := f.d.copyAllRows(t.Context(), f.d.savedName(), f.d.name); err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(f.initial, sums(t, f.d)); d != "" {
		t.Error(d)
	}
}

// restoreInterrupted restores what a crash left behind in the middle of it: tables
// without their space, files that the server has not taken in.
func (f fixture) restoreInterrupted(t *testing.T) {
	if err := f.d.Exec(t.Context(), "ALTER TABLE district DISCARD TABLESPACE", "ALTER TABLE item DISCARD TABLESPACE"); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"district.ibd", "district.cfg", "item.cfg"} {
		if err := os.WriteFile(filepath.Join(f.s.DataDir, f.d.name, name), []byte("half a file"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	f.s.SQL("CREATE TABLE tpcc_saved.bakeoff_settings (name VARCHAR(64), value DOUBLE); INSERT INTO tpcc_saved.bakeoff_settings VALUES ('innodb_io_capacity', 333)")
	f.restored(t)
	if got := f.s.SQL("SELECT @@innodb_io_capacity, @@innodb_io_capacity_max, @@innodb_max_dirty_pages_pct, @@innodb_max_dirty_pages_pct_lwm"); got != "333\t2000\t90.000000\t0.000000\n" {
		t.Errorf("settings afterwards are %q", got)
	}
}

// modes runs the mix in every mode under both profiles; spec first, since the
// other one does not keep all that it checks.
func (f fixture) modes(t *testing.T) {
	for _, p := range []tpcc.Profile{tpcc.Spec, tpcc.HammerDB} {
		for _, mode := range []oltp.Mode{oltp.Procedures, oltp.ClientSQL} {
			for _, statements := range []oltp.Statements{oltp.AutoStatements, oltp.RowStatements, oltp.SetStatements} {
				if statements == oltp.AutoStatements && (p == tpcc.Spec || mode == oltp.ClientSQL) {
					continue // it is one of the others
				}
				t.Run(fmt.Sprint(p, " ", mode, " ", statements), func(t *testing.T) {
					f.c.Rules.Profile, f.c.Mode, f.c.Statements = p, mode, statements
					f.c.Rules.Seed++
					runMode(t, open(t, f.c))
				})
			}
		}
	}
}

// runMode does transactions and checks that the server has done as many and as
// they should be.
func runMode(t *testing.T, d *database) {
	if err := d.Install(t.Context()); err != nil {
		t.Fatal(err)
	}
	before, err := d.Counters(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	const n = 300
	u := connect(t, d, 0)
	counts := u.work(n - 1)
	if outcome, err := u.run(t.Context(), unusedItem()); outcome != tpcc.RolledBack {
		t.Errorf("an order of an unused item: outcome %d, %v", outcome, err)
	}
	after, err := d.Counters(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	orders := counts[tpcc.NewOrder]
	if got := after.NextOrders - before.NextOrders; got != int64(orders[tpcc.Committed]) {
		t.Errorf("%d new orders in the database, %d committed", got, orders[tpcc.Committed])
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

func (f fixture) tls(t *testing.T) {
	c := f.c
	u, err := url.Parse("mariadb://root@" + f.s.Address() + "/tpcc")
	if err != nil {
		t.Fatal(err)
	}
	c.URL = u
	c.TLS = trusting(t, f.s.CA)
	d := open(t, c)
	if err := d.Install(t.Context()); err != nil {
		t.Fatal(err)
	}
	if n := connect(t, d, 0).work(50)[tpcc.NewOrder][tpcc.Committed]; n == 0 {
		t.Error("no order over TLS")
	}
	c.TLS = c.TLS.Clone()
	c.TLS.ServerName = "elsewhere"
	if _, err := open(t, c).Dial(t.Context(), 0); err == nil || !strings.Contains(err.Error(), "tls_ca") {
		t.Errorf("error %v, want one about the certificate", err)
	}
}

// unusedItem is a New-Order that must roll back.
func unusedItem() *tpcc.Tx {
	tx := &tpcc.Tx{Kind: tpcc.NewOrder, Warehouse: 1, District: 3, Customer: 7, LineCount: 5, AllLocal: true, Rollback: true}
	for i := range tx.LineCount {
		tx.Lines[i] = tpcc.Line{Item: int32(i) + 1, Supply: 1, Quantity: 3}
	}
	tx.Lines[4].Item = tpcc.UnusedItem
	return tx
}

// payment is one of a customer of warehouse 1.
func payment() *tpcc.Tx {
	return &tpcc.Tx{Kind: tpcc.Payment, Warehouse: 1, District: 1, Customer: 5, CustomerWarehouse: 1, CustomerDistrict: 1, Amount: 12_34}
}

// holding has another session hold what a statement locks, until release.
func (f fixture) holding(t *testing.T, statement string) (release func()) {
	t.Helper()
	conn, err := f.d.db.Conn(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if err := execAll(t.Context(), conn, "START TRANSACTION", statement); err != nil {
		t.Fatal(err)
	}
	return func() {
		if err := errors.Join(execAll(context.Background(), conn, "ROLLBACK"), conn.Close()); err != nil {
			t.Error(err)
		}
	}
}

// everyWay calls do for each way to do transactions.
func (f fixture) everyWay(t *testing.T, do func(*testing.T, *database)) {
	for _, way := range []struct {
		mode       oltp.Mode
		profile    tpcc.Profile
		statements oltp.Statements
	}{
		{oltp.Procedures, tpcc.Spec, oltp.SetStatements}, {oltp.Procedures, tpcc.HammerDB, oltp.AutoStatements},
		{oltp.ClientSQL, tpcc.Spec, oltp.RowStatements},
	} {
		t.Run(fmt.Sprint(way.mode, " ", way.statements), func(t *testing.T) {
			c := f.c
			c.Mode, c.Rules.Profile, c.Statements = way.mode, way.profile, way.statements
			d := open(t, c)
			if err := d.Install(t.Context()); err != nil {
				t.Fatal(err)
			}
			do(t, d)
		})
	}
}

// lockWait meets a lock that is held for longer than the server waits.
func (f fixture) lockWait(t *testing.T) {
	f.s.SQL("SET GLOBAL innodb_lock_wait_timeout = 1")
	defer f.s.SQL("SET GLOBAL innodb_lock_wait_timeout = 50")
	f.everyWay(t, func(t *testing.T, d *database) {
		u := connect(t, d, 0)
		before := sums(t, d)
		release := f.holding(t, "UPDATE customer SET c_middle = 'XX' WHERE c_w_id = 1 AND c_d_id = 1 AND c_id = 5")
		outcome, err := u.run(t.Context(), payment())
		release()
		var refusal *protocol.ServerError
		if outcome != tpcc.Conflict || !errors.As(err, &refusal) || refusal.Code != errLockWaitTimeout {
			t.Errorf("outcome %d, %v; want a conflict of code 1205", outcome, err)
		}
		if d := cmp.Diff(before, sums(t, d)); d != "" {
			t.Errorf("something of it stayed: %s", d)
		}
		if outcome, err := u.run(t.Context(), payment()); outcome != tpcc.Committed {
			t.Errorf("tried again: outcome %d, %v", outcome, err)
		}
	})
}

// deadlock has the user hold the warehouse and want the customer, and the other
// session the reverse, with so much done that the server gives the user up.
func (f fixture) deadlock(t *testing.T) {
	f.everyWay(t, func(t *testing.T, d *database) {
		u := connect(t, d, 0)
		before := sums(t, d)
		conn, err := f.d.db.Conn(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = conn.Close() }()
		if err := execAll(t.Context(), conn, "START TRANSACTION", "UPDATE customer SET c_middle = 'XX' WHERE c_w_id = 1 AND c_d_id IN (1, 2)"); err != nil {
			t.Fatal(err)
		}
		type end struct {
			outcome tpcc.Outcome
			err     error
		}
		ended := make(chan end, 1)
		go func() {
			outcome, err := u.run(t.Context(), payment())
			ended <- end{outcome, err}
		}()
		f.awaitWaiting(t)
		if err := execAll(t.Context(), conn, "UPDATE warehouse SET w_name = w_name WHERE w_id = 1", "ROLLBACK"); err != nil {
			t.Fatal(err)
		}
		var refusal *protocol.ServerError
		if e := <-ended; e.outcome != tpcc.Conflict || !errors.As(e.err, &refusal) || refusal.Code != errDeadlock {
			t.Errorf("outcome %d, %v; want a conflict of code 1213", e.outcome, e.err)
		}
		if d := cmp.Diff(before, sums(t, d)); d != "" {
			t.Errorf("something of it stayed: %s", d)
		}
		if outcome, err := u.run(t.Context(), payment()); outcome != tpcc.Committed {
			t.Errorf("tried again: outcome %d, %v", outcome, err)
		}
	})
}

// awaitWaiting waits until a transaction waits for a lock, and returns the number
// of its connection.
func (f fixture) awaitWaiting(t *testing.T) string {
	t.Helper()
	// The server makes this table anew 100 ms after it was last read, not earlier.
	tick := time.NewTicker(150 * time.Millisecond)
	defer tick.Stop()
	for range 200 {
		rows, err := rowsOf(t.Context(), f.d.server, "SELECT trx_mysql_thread_id FROM information_schema.innodb_trx WHERE trx_state = 'LOCK WAIT'")
		if err != nil {
			t.Fatal(err)
		}
		if len(rows) > 0 {
			return rows[0][0]
		}
		<-tick.C
	}
	t.Fatal("nothing waits for a lock")
	return ""
}

// killed has somebody end a statement, and then the connection, in the middle of
// a transaction: nothing of either may stay.
func (f fixture) killed(t *testing.T) {
	f.everyWay(t, func(t *testing.T, d *database) {
		u := connect(t, d, 0)
		before := sums(t, d)
		for _, how := range []string{"KILL QUERY ", "KILL CONNECTION "} {
			release := f.holding(t, "UPDATE customer SET c_middle = 'XX' WHERE c_w_id = 1 AND c_d_id = 1 AND c_id = 5")
			outcome := make(chan tpcc.Outcome, 1)
			go func() {
				o, _ := u.run(t.Context(), payment())
				outcome <- o
			}()
			f.s.SQL(how + f.awaitWaiting(t))
			want := tpcc.Refused
			if how == "KILL CONNECTION " {
				want = tpcc.Broken
			}
			if o := <-outcome; o != want {
				t.Errorf("%s: outcome %d, want %d", how, o, want)
			}
			release()
			if d := cmp.Diff(before, sums(t, d)); d != "" {
				t.Errorf("something of it stayed: %s", d)
			}
		}
	})
}

func (f fixture) unknownCustomer(t *testing.T) {
	f.everyWay(t, func(t *testing.T, d *database) {
		u := connect(t, d, 0)
		before := sums(t, d)
		tx := payment()
		tx.Customer, tx.LastName = 0, 999
		f.s.SQL("UPDATE tpcc.customer SET c_last = 'x' WHERE c_w_id = 1 AND c_d_id = 1 AND c_last = '" + tpcc.LastName(999) + "'")
		order := &tpcc.Tx{Kind: tpcc.NewOrder, Warehouse: 7, District: 1, Customer: 1, LineCount: 5}
		for _, tx := range []*tpcc.Tx{tx, order} {
			if outcome, err := u.run(t.Context(), tx); outcome != tpcc.Refused || err == nil {
				t.Errorf("%s: outcome %d, %v; want a refusal", tx.Kind, outcome, err)
			}
		}
		if d := cmp.Diff(before, sums(t, d)); d != "" {
			t.Errorf("something of it stayed: %s", d)
		}
	})
	f.restored(t)
}
