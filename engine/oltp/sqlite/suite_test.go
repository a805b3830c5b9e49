package sqlite

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"bakeoff/engine/oltp"
	"bakeoff/engine/oltp/tpcc"
	"bakeoff/load"
)

func TestMain(m *testing.M) {
	if path := os.Getenv("BAKEOFF_TEST_LOAD"); path != "" {
		loadForever(path)
	}
	cleanup := goleak.Cleanup(func(code int) {
		os.RemoveAll(loaded.dir)
		os.Exit(code)
	})
	goleak.VerifyTestMain(m, cleanup)
}

// settings are those of a load of one warehouse.
func settings(t testing.TB, target string, p tpcc.Profile) oltp.Config {
	t.Helper()
	u, err := url.Parse(target)
	if err != nil {
		t.Fatal(err)
	}
	return oltp.Config{
		URL: u, Mode: oltp.ClientSQL, Statements: oltp.AutoStatements, Schema: oltp.OwnSchema, Timeout: 10 * time.Second, Clock: new(load.Clock),
		Rules: tpcc.Rules{Profile: p, Warehouses: 1, Users: 1, Homes: tpcc.RandomHome, Seed: 1},
		Data:  tpcc.Data{Profile: p, Warehouses: 1, Seed: 1},
	}
}

func open(t testing.TB, target string, p tpcc.Profile) *database {
	t.Helper()
	db, err := Target{}.Open(settings(t, target, p))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { db.Close() })
	return db.(*database)
}

// fill loads a database from nothing.
func fill(ctx context.Context, db *database) error {
	if err := db.Create(ctx, tpcc.Tables()); err != nil {
		return err
	}
	for _, chunk := range db.Data.Chunks() {
		if err := db.Load(ctx, chunk); err != nil {
			return err
		}
	}
	return db.Finish(ctx, tpcc.Tables())
}

// loaded is a database that is loaded once for all tests.
var loaded struct {
	once sync.Once
	dir  string
	err  error
}

// filled opens a copy of the loaded database.
func filled(t testing.TB, p tpcc.Profile, options string) *database {
	t.Helper()
	if testing.Short() || slow {
		t.Skip("loads a database")
	}
	loaded.once.Do(func() { loaded.err = loadOnce(t) })
	if loaded.err != nil {
		t.Fatal(loaded.err)
	}
	path := filepath.Join(t.TempDir(), "db")
	if _, _, err := replicate(t.Context(), filepath.Join(loaded.dir, "db"), path); err != nil {
		t.Fatal(err)
	}
	return open(t, "sqlite:"+path+options, p)
}

// loadOnce has the engine load one warehouse.
func loadOnce(t testing.TB) (err error) {
	if loaded.dir, err = os.MkdirTemp("", "sqlite-test-"); err != nil {
		return err
	}
	spec := load.Spec{
		Workload: "w", Part: load.Source, Host: "here", Engine: "oltp", Target: "sqlite:" + filepath.Join(loaded.dir, "db"),
		Parameters: map[string]any{"profile": "spec", "restore": "reload"}, Common: load.Common{Window: time.Second},
	}
	running, err := load.Open(t.Context(), oltp.New(Target{}), spec, load.Env{Machine: load.NewMachine("/")})
	if err != nil {
		return err
	}
	_, err = running.Prepare(t.Context(), nil)
	return errors.Join(err, running.Close())
}

func connect(t testing.TB, db *database) oltp.Client {
	t.Helper()
	c, err := db.Connect(t.Context(), 0)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// one returns the single value of a query.
func one(t testing.TB, db *database, sql string) string {
	t.Helper()
	rows, err := db.Query(t.Context(), sql)
	if err != nil {
		t.Fatal(err)
	}
	if len(rows) != 1 || len(rows[0]) != 1 {
		t.Fatalf("%s: found %d rows, expected one of one value", sql, len(rows))
	}
	return rows[0][0]
}

// sums returns what SumQuery finds in every table.
func sums(t testing.TB, db *database) string {
	t.Helper()
	all := ""
	for _, table := range tpcc.Tables() {
		rows, err := db.Query(t.Context(), table.SumQuery())
		if err != nil {
			t.Fatal(err)
		}
		s, err := table.ReadSums(rows[0])
		if err != nil {
			t.Fatal(err)
		}
		all += fmt.Sprintln(table.Name, s.Rows, s.Columns)
	}
	return all
}

// loadForever is what a test has a process of its own do until it is killed.
func loadForever(path string) {
	u := &url.URL{Scheme: "sqlite", Path: path}
	c := oltp.Config{URL: u, Mode: oltp.ClientSQL, Timeout: time.Second, Clock: new(load.Clock), Data: tpcc.Data{Profile: tpcc.Spec, Warehouses: 100, Seed: 1}}
	db, err := Target{}.Open(c)
	if err == nil {
		err = fill(context.Background(), db.(*database))
	}
	fmt.Fprintln(os.Stderr, err)
	os.Exit(1)
}
