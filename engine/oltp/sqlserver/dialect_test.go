package sqlserver

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

	mssql "github.com/microsoft/go-mssqldb"
	"github.com/microsoft/go-mssqldb/msdsn"

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

func batches(t *testing.T, p tpcc.Profile, s oltp.Statements) string {
	t.Helper()
	all, err := routines(p, s)
	if err != nil {
		t.Fatal(err)
	}
	return strings.Join(all, "\nGO\n") + "\n"
}

func TestGolden(t *testing.T) {
	golden(t, "routines-hammerdb.sql", batches(t, tpcc.HammerDB, oltp.AutoStatements))
	golden(t, "routines-spec.sql", batches(t, tpcc.Spec, oltp.SetStatements))
	schema := ""
	for _, table := range tpcc.Tables() {
		schema += createTable(table) + ";\n"
	}
	for _, table := range tpcc.Tables() {
		for _, key := range keys(table) {
			schema += key + ";\n"
		}
	}
	golden(t, "schema.sql", schema)
	golden(t, "client-spec.sql", strings.Join(sqldb.Statements(dialect(), tpcc.Spec), ";\n")+";\n")
	golden(t, "queries.sql", strings.Join([]string{
		serverFacts, versionFacts, databaseFacts, nextOrdersQuery, performanceQuery, fmt.Sprintf(backupStatement, "tpcc", "tpcc.bak", "identity"),
		fmt.Sprintf(headerStatement, "tpcc.bak"), fmt.Sprintf(restoreStatement, "tpcc", "tpcc.bak"),
	}, ";\n")+";\n")
}

func TestStatements(t *testing.T) {
	const perLine = "WHILE @i <= @n"
	for _, c := range []struct {
		profile    tpcc.Profile
		statements oltp.Statements
		rows       bool
	}{
		{tpcc.HammerDB, oltp.AutoStatements, true}, {tpcc.HammerDB, oltp.SetStatements, false}, {tpcc.HammerDB, oltp.RowStatements, true},
		{tpcc.Spec, oltp.SetStatements, false}, {tpcc.Spec, oltp.RowStatements, true},
	} {
		text := batches(t, c.profile, c.statements)
		if got := strings.Contains(text, perLine); got != c.rows {
			t.Errorf("%s, %s: line by line: %v", c.profile, c.statements, got)
		}
		for _, kept := range []string{"s_order_cnt", "c_payment_cnt", "c_delivery_cnt", "c_ytd_payment"} {
			if got := strings.Contains(text, kept); got != (c.profile == tpcc.Spec) {
				t.Errorf("%s: %s is kept: %v", c.profile, kept, got)
			}
		}
	}
}

// TestArguments has every call's arguments be the parameters of its routine.
func TestArguments(t *testing.T) {
	text := batches(t, tpcc.Spec, oltp.SetStatements)
	for kind := range tpcc.Kinds {
		routine, args := new(caller).call(&tpcc.Tx{Kind: kind, LineCount: 5})
		var got []string
		for _, a := range args {
			got = append(got, "@"+a.(sql.NamedArg).Name)
		}
		head := regexp.MustCompile(`PROCEDURE ` + routine + `\n(.*)\nAS`).FindStringSubmatch(text)
		if head == nil {
			t.Fatalf("there is no routine %s", routine)
		}
		want := regexp.MustCompile(`@\w+`).FindAllString(head[1], -1)
		if fmt.Sprint(got) != fmt.Sprint(want) {
			t.Errorf("%s takes %v, expected %v", routine, got, want)
		}
	}
}

func TestLines(t *testing.T) {
	tx := tpcc.Tx{Kind: tpcc.NewOrder, Warehouse: 3, District: 4, Customer: 5, LineCount: 2, AllLocal: true}
	tx.Lines[0], tx.Lines[1] = tpcc.Line{Item: 10, Supply: 3, Quantity: 7}, tpcc.Line{Item: 11, Supply: 3, Quantity: 8}
	_, args := new(caller).call(&tx)
	want := "[{{} w 3} {{} d 4} {{} c 5} {{} local 1} {{} lines {bakeoff_lines [{1 10 3 7} {2 11 3 8}]}}]"
	if got := fmt.Sprint(args); got != want {
		t.Errorf("%s, expected %s", got, want)
	}
	_, args = new(caller).call(&tpcc.Tx{Kind: tpcc.Payment, Warehouse: 1, District: 2, CustomerWarehouse: 3, CustomerDistrict: 4, LastName: 371, Amount: 12345})
	want = "[{{} w 1} {{} d 2} {{} cw 3} {{} cd 4} {{} c 0} {{} last PRICALLYOUGHT} {{} cents 12345}]"
	if got := fmt.Sprint(args); got != want {
		t.Errorf("%s, expected %s", got, want)
	}
}

func TestClassify(t *testing.T) {
	over, cancel := context.WithCancel(t.Context())
	cancel()
	for _, c := range []struct {
		ctx  context.Context
		err  error
		want tpcc.Outcome
	}{
		{t.Context(), nil, tpcc.RolledBack},
		{t.Context(), mssql.Error{Number: 1205, Class: 13}, tpcc.Conflict},
		{t.Context(), fmt.Errorf("committing: %w", mssql.Error{Number: 3960, Class: 16}), tpcc.Conflict},
		{t.Context(), mssql.Error{Number: 1222, Class: 16}, tpcc.Conflict},
		{t.Context(), mssql.Error{Number: 50001, Class: 16}, tpcc.Refused},
		{t.Context(), mssql.Error{Number: 9002, Class: 17}, tpcc.Refused}, // the log is full
		{t.Context(), mssql.Error{Number: 596, Class: 21}, tpcc.Broken},
		{t.Context(), io.EOF, tpcc.Broken},
		{over, mssql.Error{Number: 1205, Class: 13}, tpcc.Broken},
	} {
		got, err := classify(c.ctx, tpcc.RolledBack, c.err)
		if got != c.want || (err == nil) != (c.err == nil) {
			t.Errorf("%v is %v, %v, expected %v", c.err, got, err, c.want)
		}
	}
}

func settings(t *testing.T, target string) oltp.Config {
	t.Helper()
	u, err := url.Parse(target)
	if err != nil {
		t.Fatal(err)
	}
	return oltp.Config{URL: u, User: u.User.Username(), Password: "secret", Timeout: 3 * time.Second, Mode: oltp.Procedures, Schema: oltp.OwnSchema}
}

func TestConfigure(t *testing.T) {
	name, s, err := configure(settings(t, "sqlserver://tester@db.example:1444/bench"))
	if err != nil {
		t.Fatal(err)
	}
	got := fmt.Sprint(name, s.Host, s.Port, s.User, s.Password, s.Encryption == msdsn.EncryptionDisabled, s.DialTimeout)
	if want := fmt.Sprint("bench", "db.example", 1444, "tester", "secret", true, 3*time.Second); got != want {
		t.Errorf("%s, expected %s", got, want)
	}
	c := settings(t, "sqlserver://[::1]")
	c.Instance = 2
	if name, s, err = configure(c); err != nil || name != "tpcc_2" || s.Host != "::1" || s.Port != 1433 || s.User != "sa" {
		t.Errorf("%s %s %d %s %v", name, s.Host, s.Port, s.User, err)
	}
	for target, want := range map[string]string{
		"sqlserver:///tpcc":        "it names no host: expected sqlserver://HOST/DATABASE",
		"sqlserver://h/a]b":        `database "a]b": expected a name of up to 128 characters, without slashes, brackets and quotes`,
		"sqlserver://h:0/x":        `port "0": expected 1 to 65535`,
		"sqlserver://h/x?encrypt=": `unknown options "encrypt=": expected none; TLS is asked for with the parameter tls`,
	} {
		if _, _, err := configure(settings(t, target)); err == nil || err.Error() != want {
			t.Errorf("%s: %v, expected %s", target, err, want)
		}
	}
	c = settings(t, "sqlserver://h/x")
	c.Schema = oltp.HammerDBSchema
	if _, _, err := configure(c); err == nil {
		t.Error("HammerDB's schema was taken")
	}
}

// TestNobodyThere connects to a port where nobody listens.
func TestNobodyThere(t *testing.T) {
	db, err := Target{}.Open(settings(t, "sqlserver://127.0.0.1:1/tpcc"))
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	_, err = db.Columns(t.Context())
	if err == nil || !strings.Contains(err.Error(), "asking 127.0.0.1:1 for the database tpcc") || strings.Contains(err.Error(), "secret") {
		t.Error(err)
	}
	if _, err := db.(oltp.Blocking).Connect(t.Context(), 0); err == nil {
		t.Error("connected to nobody")
	}
	if errors.Is(err, context.Canceled) {
		t.Error(err)
	}
}
