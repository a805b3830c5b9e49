package sqlserver

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"fmt"
	"io"
	"testing"

	mssql "github.com/microsoft/go-mssqldb"

	"bakeoff/engine/oltp"
	"bakeoff/engine/oltp/tpcc"
)

// standIn takes the driver's place: it keeps what it is asked and answers with
// what is set.
type standIn struct {
	asked   []string
	results [][][]driver.Value // sets of rows
	columns []string
	err     error
	answers map[string][][]driver.Value // by query, in place of results
}

func (s *standIn) Connect(context.Context) (driver.Conn, error) { return s, nil }
func (s *standIn) Driver() driver.Driver                        { return nil }
func (s *standIn) Begin() (driver.Tx, error)                    { return nil, driver.ErrSkip }
func (s *standIn) Close() error                                 { return nil }
func (s *standIn) CheckNamedValue(*driver.NamedValue) error     { return nil }
func (s *standIn) Prepare(string) (driver.Stmt, error)          { return nil, driver.ErrSkip }

func (s *standIn) QueryContext(_ context.Context, query string, args []driver.NamedValue) (driver.Rows, error) {
	s.ask(query, args)
	if s.err != nil {
		return nil, s.err
	}
	if rows, ok := s.answers[query]; ok {
		return &standInRows{s: &standIn{results: [][][]driver.Value{rows}}}, nil
	}
	return &standInRows{s: s}, nil
}

func (s *standIn) ExecContext(_ context.Context, query string, args []driver.NamedValue) (driver.Result, error) {
	s.ask(query, args)
	return driver.RowsAffected(0), s.err
}

func (s *standIn) ask(query string, args []driver.NamedValue) {
	text := query
	for _, a := range args {
		text += fmt.Sprintf(" %s=%v", a.Name, a.Value)
	}
	s.asked = append(s.asked, text)
}

type standInRows struct {
	s        *standIn
	set, row int
}

func (r *standInRows) Close() error           { return nil }
func (r *standInRows) HasNextResultSet() bool { return r.set+1 < len(r.s.results) }
func (r *standInRows) NextResultSet() error   { r.set++; r.row = 0; return nil }
func (r *standInRows) rows() [][]driver.Value { return r.s.results[r.set] }
func (r *standInRows) Next(d []driver.Value) error {
	if r.set >= len(r.s.results) || r.row >= len(r.rows()) {
		return io.EOF
	}
	copy(d, r.rows()[r.row])
	r.row++
	return nil
}

func (r *standInRows) Columns() []string {
	if r.s.columns != nil {
		return r.s.columns
	}
	if r.set >= len(r.s.results) || len(r.rows()) == 0 {
		return nil
	}
	return make([]string, len(r.rows()[0]))
}

func onStandIn(t *testing.T, s *standIn) *database {
	t.Helper()
	c := settings(t, "sqlserver://db.example/tpcc")
	c.Rules.Profile = tpcc.Spec
	db := sql.OpenDB(s)
	t.Cleanup(func() { db.Close() })
	return &database{Config: c, name: "tpcc", db: db, master: db}
}

func TestRun(t *testing.T) {
	for _, c := range []struct {
		name    string
		tx      tpcc.Tx
		results [][][]driver.Value
		err     error
		want    tpcc.Outcome
		asked   string
	}{
		{"commits", tpcc.Tx{Kind: tpcc.StockLevel, Warehouse: 1, District: 2, Threshold: 15}, [][][]driver.Value{{{int64(0), int64(9)}}}, nil,
			tpcc.Committed, "bakeoff_stock_level w=1 d=2 threshold=15"},
		{"two results", tpcc.Tx{Kind: tpcc.OrderStatus, Warehouse: 1, District: 2, Customer: 3}, [][][]driver.Value{{{int64(0), int64(3)}}, {{int64(1)}, {int64(1)}}}, nil,
			tpcc.Committed, "bakeoff_order_status w=1 d=2 c=3 last="},
		{"rolls back", tpcc.Tx{Kind: tpcc.NewOrder, Rollback: true}, [][][]driver.Value{{{int64(1), int64(3001)}}}, nil,
			tpcc.RolledBack, "bakeoff_new_order w=0 d=0 c=0 local=0 lines={bakeoff_lines []}"},
		{"rolls back unasked", tpcc.Tx{Kind: tpcc.NewOrder}, [][][]driver.Value{{{int64(1), int64(3001)}}}, nil,
			tpcc.Refused, "bakeoff_new_order w=0 d=0 c=0 local=0 lines={bakeoff_lines []}"},
		{"deadlock", tpcc.Tx{Kind: tpcc.Delivery, Warehouse: 1, Carrier: 7}, nil, mssql.Error{Number: 1205, Class: 13},
			tpcc.Conflict, "bakeoff_delivery w=1 carrier=7"},
		{"no answer", tpcc.Tx{Kind: tpcc.Delivery, Warehouse: 1, Carrier: 7}, [][][]driver.Value{}, nil,
			tpcc.Broken, "bakeoff_delivery w=1 carrier=7"},
	} {
		s := &standIn{results: c.results, err: c.err}
		user, err := onStandIn(t, s).Connect(t.Context(), 0)
		if err != nil {
			t.Fatal(err)
		}
		got, err := user.Run(t.Context(), &c.tx)
		if got != c.want || (err == nil) != (c.want == tpcc.Committed || c.want == tpcc.RolledBack) || len(s.asked) != 1 || s.asked[0] != c.asked {
			t.Errorf("%s: %v, %v; asked %q", c.name, got, err, s.asked)
		}
		if err := user.Close(); err != nil {
			t.Error(err)
		}
	}
}

func TestCounters(t *testing.T) {
	s := &standIn{answers: map[string][][]driver.Value{
		nextOrdersQuery:  {{"30010"}},
		performanceQuery: {{"Batch Requests/sec", int64(4711)}, {"Number of Deadlocks/sec", int64(2)}, {"Log Bytes Flushed/sec", int64(1 << 20)}},
	}}
	c, err := onStandIn(t, s).Counters(t.Context())
	if got := fmt.Sprint(c, err); got != "{30010 4711 0s [{deadlocks 1 2} {log_bytes B 1.048576e+06}]} <nil>" {
		t.Error(got)
	}
	s.answers[performanceQuery] = nil // a login that may not see them
	if c, err := onStandIn(t, s).Counters(t.Context()); err != nil || c.Transactions != -1 {
		t.Errorf("%+v, %v", c, err)
	}
}

func TestSaved(t *testing.T) {
	s := &standIn{columns: []string{"BackupName", "Position"}, results: [][][]driver.Value{{{"tpcc 1", int64(1)}}}}
	d := onStandIn(t, s)
	if got, err := d.Saved(t.Context()); got != "tpcc 1" || err != nil {
		t.Errorf("%q, %v", got, err)
	}
	for number, want := range map[int32]bool{3201: true, 3013: true, 18456: false} {
		s.err = mssql.Error{Number: number, Class: 16}
		if got, err := d.Saved(t.Context()); got != "" || (err == nil) != want {
			t.Errorf("error %d: %q, %v", number, got, err)
		}
	}
}

func TestSaveRestore(t *testing.T) {
	s := &standIn{results: [][][]driver.Value{{{"5"}}}}
	d := onStandIn(t, s)
	if err := d.Save(t.Context(), "it's"); err == nil {
		t.Error("a quote was taken")
	}
	if err := d.Save(t.Context(), "tpcc 1"); err != nil {
		t.Error(err)
	}
	if err := d.Restore(t.Context()); err != nil {
		t.Error(err)
	}
	want := []string{
		"BACKUP DATABASE [tpcc] TO DISK = N'tpcc-bakeoff-saved.bak' WITH INIT, FORMAT, COPY_ONLY, CHECKSUM, NAME = N'tpcc 1'",
		"SELECT DB_ID(@p1) =tpcc",
		"ALTER DATABASE [tpcc] SET SINGLE_USER WITH ROLLBACK IMMEDIATE",
		"RESTORE DATABASE [tpcc] FROM DISK = N'tpcc-bakeoff-saved.bak' WITH REPLACE, CHECKSUM",
		"ALTER DATABASE [tpcc] SET MULTI_USER",
	}
	if fmt.Sprint(s.asked) != fmt.Sprint(want) {
		t.Errorf("asked %q", s.asked)
	}
}

func TestFact(t *testing.T) {
	for name, want := range map[string]oltp.Fact{
		"max server memory (MB)":          {Name: "max server memory (MB)", Unit: "B", Value: 4 << 20, Text: "4"},
		"target_recovery_time_in_seconds": {Name: "target_recovery_time_in_seconds", Unit: "s", Value: 4, Text: "4"},
		"compatibility_level":             {Name: "compatibility_level", Unit: "1", Value: 4, Text: "4"},
	} {
		if got := fact(name, "4"); got != want {
			t.Errorf("%+v, expected %+v", got, want)
		}
	}
	if got := fact("edition", "Developer"); got.Unit != "" || got.Text != "Developer" {
		t.Errorf("%+v", got)
	}
}
