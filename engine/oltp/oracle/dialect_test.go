package oracle

import (
	"context"
	"database/sql"
	"errors"
	"flag"
	"fmt"
	"io"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"bakeoff/engine/oltp"
	"bakeoff/engine/oltp/sqldb"
	"bakeoff/engine/oltp/tpcc"
)

var update = flag.Bool("update", false, "write the golden files")

func golden(t *testing.T, name, got string) {
	t.Helper()
	path := filepath.Join("testdata", name)
	if *update {
		if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if got != string(want) {
		t.Errorf("%s differs from what is generated; go test -update writes it, look at the difference", path)
	}
}

func routineText(t *testing.T, p tpcc.Profile) string {
	t.Helper()
	all, err := routines(p)
	if err != nil || len(all) != 2 {
		t.Fatalf("%d statements, %v", len(all), err)
	}
	return strings.Join(all, "\n/\n") + "\n/\n"
}

func TestGolden(t *testing.T) {
	golden(t, "routines-hammerdb.sql", routineText(t, tpcc.HammerDB))
	golden(t, "routines-spec.sql", routineText(t, tpcc.Spec))
	schema := ""
	for _, table := range tpcc.Tables() {
		schema += createTable(table) + ";\n" + insertRow(table) + ";\n"
		for _, key := range keys(table) {
			schema += key + ";\n"
		}
	}
	golden(t, "schema.sql", schema)
	golden(t, "client-spec.sql", strings.Join(sqldb.Statements(dialect(), tpcc.Spec), ";\n")+";\n")
	golden(t, "queries.sql", strings.Join([]string{versionFacts, parameterFacts, databaseFacts, nextOrdersQuery, sysstatQuery, faultsQuery}, ";\n")+";\n")
}

func TestProfiles(t *testing.T) {
	for _, p := range []tpcc.Profile{tpcc.HammerDB, tpcc.Spec} {
		text := routineText(t, p)
		for _, kept := range []string{"s_order_cnt", "c_payment_cnt", "c_delivery_cnt", "c_ytd_payment"} {
			if got := strings.Contains(text, kept); got != (p == tpcc.Spec) {
				t.Errorf("%s: %s is kept: %v", p, kept, got)
			}
		}
	}
}

// TestArguments has every call's arguments be as many, and of the directions, as
// the parameters of its routine.
func TestArguments(t *testing.T) {
	text := routineText(t, tpcc.Spec)
	head := text[:strings.Index(text, "\n/\n")]
	for kind, call := range calls() {
		name := regexp.MustCompile(`bakeoff_tpcc\.(\w+)`).FindStringSubmatch(call)[1]
		declared := regexp.MustCompile(`(?s)PROCEDURE ` + name + ` \((.*?)\);`).FindStringSubmatch(head)
		if declared == nil {
			t.Fatalf("there is no routine %s", name)
		}
		var want, got []string
		for parameter := range strings.SplitSeq(declared[1], ",") {
			fields := strings.Fields(parameter)
			want = append(want, fmt.Sprint(fields[1] == "OUT", fields[2] == "numbers"))
		}
		for _, a := range new(caller).arguments(&tpcc.Tx{Kind: tpcc.Kind(kind), LineCount: 5}) {
			_, out := a.(sql.Out)
			_, array := a.([]int64)
			got = append(got, fmt.Sprint(out, array))
		}
		if fmt.Sprint(got) != fmt.Sprint(want) {
			t.Errorf("%s takes %v (out, array), expected %v", name, got, want)
		}
		if n := strings.Count(call, ":"); n != len(got) {
			t.Errorf("%s has %d places for %d arguments", call, n, len(got))
		}
	}
}

func TestLines(t *testing.T) {
	tx := tpcc.Tx{Kind: tpcc.NewOrder, Warehouse: 3, District: 4, Customer: 5, LineCount: 2, AllLocal: true}
	tx.Lines[0], tx.Lines[1] = tpcc.Line{Item: 10, Supply: 3, Quantity: 7}, tpcc.Line{Item: 11, Supply: 3, Quantity: 8}
	got := fmt.Sprint(new(caller).arguments(&tx)[:8])
	rest := strings.Repeat(" 0", tpcc.MaxLines-2)
	if want := "[3 4 5 1 2 [10 11" + rest + "] [3 3" + rest + "] [7 8" + rest + "]]"; got != want {
		t.Errorf("%s, expected %s", got, want)
	}
	got = fmt.Sprint(new(caller).arguments(&tpcc.Tx{Kind: tpcc.Payment, Warehouse: 1, District: 2, CustomerWarehouse: 3, CustomerDistrict: 4, LastName: 371, Amount: 12345})[:7])
	if want := "[1 2 3 4 0 PRICALLYOUGHT 12345]"; got != want {
		t.Errorf("%s, expected %s", got, want)
	}
}

func TestClassify(t *testing.T) {
	for code, want := range map[int]tpcc.Outcome{
		60: tpcc.Conflict, 8177: tpcc.Conflict, 54: tpcc.Conflict,
		1403: tpcc.Refused, 1653: tpcc.Refused, // no data found, the tablespace is full
		3113: tpcc.Broken, 12541: tpcc.Broken, 0: tpcc.Broken,
	} {
		if got := meaning(code); got != want {
			t.Errorf("ORA-%05d is %v, expected %v", code, got, want)
		}
	}
	if got, err := classify(t.Context(), tpcc.RolledBack, nil); got != tpcc.RolledBack || err != nil {
		t.Errorf("%v, %v", got, err)
	}
	over, cancel := context.WithCancel(t.Context())
	cancel()
	if got, err := classify(over, tpcc.Committed, io.EOF); got != tpcc.Broken || !errors.Is(err, context.Canceled) {
		t.Errorf("%v, %v", got, err)
	}
}

func settings(t *testing.T, target string) oltp.Config {
	t.Helper()
	u, err := url.Parse(target)
	if err != nil {
		t.Fatal(err)
	}
	return oltp.Config{URL: u, User: u.User.Username(), Password: "se/cr@et", Timeout: 3 * time.Second, Mode: oltp.Procedures, Schema: oltp.OwnSchema}
}

func TestAddress(t *testing.T) {
	c := settings(t, "oracle://bench@db.example:1522/FREEPDB1")
	c.Instance = 2
	dsn, user, err := address(c)
	want := "oracle://bench_2:se%2Fcr%40et@db.example:1522/FREEPDB1?CONNECTION+TIMEOUT=3"
	if err != nil || user != "bench_2" || dsn != want {
		t.Errorf("%s, %s, %v, expected %s", dsn, user, err, want)
	}
	for target, want := range map[string]string{
		"oracle://h":         "expected oracle://USER@HOST:PORT/SERVICE",
		"oracle:///svc":      "expected oracle://USER@HOST:PORT/SERVICE",
		"oracle://h:70000/s": `port "70000": expected 1 to 65535`,
		"oracle://a'b@h/s":   `user "a'b": expected a letter and up to 29 letters, digits and _, $, #`,
		"oracle://h/s?ssl=1": `unknown options "ssl=1": expected none; TLS is asked for with the parameter tls`,
	} {
		if _, _, err := address(settings(t, target)); err == nil || err.Error() != want {
			t.Errorf("%s: %v, expected %s", target, err, want)
		}
	}
	c = settings(t, "oracle://h/s")
	c.Statements = oltp.RowStatements
	if _, _, err := address(c); err == nil {
		t.Error("routines line by line were taken")
	}
}

// TestColumns gathers a table by columns, as it goes in.
func TestColumns(t *testing.T) {
	var sizes []int
	w := &columns{table: tpcc.Tables()[tpcc.NewOrderTable], flush: func(args []any) error {
		sizes = append(sizes, len(args[0].([]sql.NullInt64)), len(args))
		return nil
	}}
	w.begin()
	if err := (tpcc.Data{Profile: tpcc.Spec, Warehouses: 1, Seed: 1}).Write(tpcc.Chunk{Table: tpcc.NewOrderTable, Warehouse: 1}, w); err != nil {
		t.Fatal(err)
	}
	if err := w.send(); err != nil {
		t.Fatal(err)
	}
	if got := fmt.Sprint(sizes, w.count); got != "[2000 3 2000 3 2000 3 2000 3 1000 3] 9000" {
		t.Error(got)
	}
	nulls, all := 0, 0
	w = &columns{table: tpcc.Tables()[tpcc.OrderLine], flush: func(args []any) error {
		for i, at := range args[6].([]sql.NullTime) {
			if !at.Valid {
				nulls++
			}
			if amount := args[8].([]sql.NullInt64)[i]; amount.Int64 > 0 == at.Valid {
				t.Errorf("an amount of %d and a delivery %v", amount.Int64, at)
			}
			all++
		}
		return nil
	}}
	w.begin()
	if err := (tpcc.Data{Profile: tpcc.Spec, Warehouses: 1, Seed: 1}).Write(tpcc.Chunk{Table: tpcc.OrderLine, Warehouse: 1}, w); err != nil {
		t.Fatal(err)
	}
	if nulls == 0 || nulls == all {
		t.Errorf("%d of %d lines are not delivered", nulls, all)
	}
}
