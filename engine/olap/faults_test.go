package olap_test

import (
	"context"
	"database/sql"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	_ "github.com/go-sql-driver/mysql"
	_ "github.com/jackc/pgx/v5/stdlib"

	"bakeoff/load"
	"bakeoff/test/mariadbtest"
	"bakeoff/test/postgrestest"
)

// goesOn cuts a load off after some of it, and checks that it is refused half-loaded
// and then completed, with the right answers.
func goesOn(t *testing.T, target string) {
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	r := opened(t, target, map[string]any{"scale": 0.05, "loaders": 1})
	var reached float64
	_, err := r.Prepare(ctx, func(p load.Progress) {
		if reached = max(reached, p.Fraction); p.Fraction > 0.3 {
			cancel()
		}
	})
	if !errors.Is(err, context.Canceled) && (err == nil || !strings.Contains(err.Error(), "interrupt")) {
		t.Fatalf("a load that was cancelled ended with %v", err)
	}
	want(t, prepareError(t, target, map[string]any{"scale": 0.05, "load": "keep"}), "half-loaded")
	again := opened(t, target, map[string]any{"scale": 0.05})
	least := 1.0
	set, err := again.Prepare(t.Context(), func(p load.Progress) { least = min(least, p.Fraction) })
	if err != nil {
		t.Fatal(err)
	}
	if set.Prepared != "loaded" || set.Items != 432_844 {
		t.Errorf("data set %+v, want it loaded with all its rows", set)
	}
	if least == 0 {
		t.Errorf("cut off at %.2f, the load began again at 0", reached)
	}
}

func want(t *testing.T, err error, texts ...string) {
	t.Helper()
	for _, text := range texts {
		if err == nil || !strings.Contains(err.Error(), text) {
			t.Errorf("found error %v, want one with %q", err, text)
		}
	}
}

func TestDataSetsThatCannotBeUsed(t *testing.T) {
	target := sqliteTarget(t)
	want(t, prepareError(t, target, map[string]any{"load": "keep"}), "there is no data set")
	if _, err := opened(t, target, map[string]any{"scale": 0.01}).Prepare(t.Context(), nil); err != nil {
		t.Fatal(err)
	}
	want(t, prepareError(t, target, map[string]any{"scale": 0.02}), "has scale factor 0.01, expected 0.02")
	db, err := sql.Open("sqlite", strings.TrimPrefix(target, "sqlite://"))
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	execute(t, db, "update lineitem set l_comment = l_comment || '!' where l_orderkey = 1")
	want(t, prepareError(t, target, map[string]any{"scale": 0.01}), "not what was loaded", "column l_comment")
	execute(t, db, "delete from nation where n_nationkey = 3")
	want(t, prepareError(t, target, map[string]any{"scale": 0.01}), "table nation has 24 rows, expected 25")
	if set, err := opened(t, target, map[string]any{"scale": 0.01, "load": "always"}).Prepare(t.Context(), nil); err != nil || set.Prepared != "loaded" {
		t.Errorf("loading anew: %+v, %v", set, err)
	}
	execute(t, db, "update bakeoff_olap set value = '0' where name = 'format'")
	want(t, prepareError(t, target, map[string]any{"scale": 0.01}), "format 0, expected 1")
	execute(t, db, "drop table bakeoff_olap")
	want(t, prepareError(t, target, map[string]any{"scale": 0.01, "load": "always"}), "was not loaded by bakeoff")
}

func execute(t *testing.T, db *sql.DB, statement string) {
	t.Helper()
	if _, err := db.ExecContext(t.Context(), statement); err != nil {
		t.Fatalf("%s: %v", statement, err)
	}
}

// TestAWrongAnswerIsNoAnswer changes data behind the load's back, so that some
// answers are wrong: they must not count as completed.
func TestAWrongAnswerIsNoAnswer(t *testing.T) {
	target := sqliteTarget(t)
	run(t, target, map[string]any{"scale": 0.01})
	db, err := sql.Open("sqlite", strings.TrimPrefix(target, "sqlite://"))
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	execute(t, db, "update lineitem set l_extendedprice = l_extendedprice + 1 where l_orderkey % 100 = 1")
	parameters := map[string]any{"scale": 0.01, "check": "mark", "validate": "never", "parameters": "validation"}
	result, _ := run(t, target, parameters)
	for _, k := range result.Load.Kinds {
		if wrong := k.Kind == "q1" || k.Kind == "q6"; wrong && (k.Completed != 0 || k.Failed != 1) {
			t.Errorf("%s: %d completed and %d failed, want it failed", k.Kind, k.Completed, k.Failed)
		}
		if k.Kind == "q4" && k.Completed != 1 {
			t.Errorf("q4, which does not look at prices: %d completed", k.Completed)
		}
	}
	if v := figure(result, "geometric_mean"); v != 0 {
		t.Errorf("wrong answers gave the geometric mean %g", v)
	}
	parameters["validate"] = "always"
	want(t, prepareError(t, target, parameters), "validating the data set", "wrong answer")
}

func TestWrongPasswords(t *testing.T) {
	s := postgrestest.Start(t, postgrestest.Options{Auth: "scram-sha-256"})
	want(t, prepareError(t, s.Database("tpch"), nil), "password")
	maria, target := mariadbTarget(t)
	maria.SQL("create user guest@'127.0.0.1' identified by 'secret'")
	want(t, prepareError(t, strings.Replace(target, mariadbtest.Root+"@", "guest@", 1), nil), "Access denied for user 'guest'")
}

// TestTimeouts: a query that takes too long is ended, counted as timed out, and
// the next one runs.
func TestTimeouts(t *testing.T) {
	s, target := postgresTarget(t)
	run(t, target, map[string]any{"scale": 0.01, "queries": "1"})
	db, err := sql.Open("pgx", target)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	// A view in the place of a table, which takes its time.
	execute(t, db, "alter table region rename to region_fast")
	execute(t, db, "create view region as select r.* from region_fast r, pg_sleep(60)")
	result, _ := run(t, target, map[string]any{"scale": 0.01, "queries": "1,2,6", "timeout": "500ms", "check": "mark", "validate": "never"})
	for _, k := range result.Load.Kinds {
		if ok := k.Kind == "q1" || k.Kind == "q6"; ok && k.Completed != 1 || k.Kind == "q2" && k.TimedOut != 1 {
			t.Errorf("%s: %d completed, %d timed out", k.Kind, k.Completed, k.TimedOut)
		}
	}
	_ = s
	if n := sleepers(t, db); n != 0 {
		t.Errorf("%d queries go on at the server", n)
	}
}

// sleepers counts queries that still sleep, once those that are being ended are gone.
func sleepers(t *testing.T, db *sql.DB) (n int) {
	t.Helper()
	for deadline := time.Now().Add(5 * time.Second); time.Now().Before(deadline); {
		if err := db.QueryRowContext(t.Context(), "select count(*) from pg_stat_activity where wait_event = 'PgSleep'").Scan(&n); err != nil {
			t.Fatal(err)
		}
		if n == 0 {
			return 0
		}
		execute(t, db, "select pg_sleep(0.05)")
	}
	return n
}

// TestTheDiskIsFull loads onto a file system with too little room.
func TestTheDiskIsFull(t *testing.T) {
	dir := t.TempDir()
	if out, err := exec.Command("mount", "-t", "tmpfs", "-o", "size=8m", "tmpfs", dir).CombinedOutput(); err != nil {
		t.Skipf("mounting a small file system needs root: %v: %s", err, out)
	}
	defer func() {
		if out, err := exec.Command("umount", dir).CombinedOutput(); err != nil {
			t.Errorf("%v: %s", err, out)
		}
	}()
	r := opened(t, "sqlite://"+filepath.Join(dir, "tpch.sqlite"), map[string]any{"scale": 0.1})
	_, err := r.Prepare(t.Context(), nil)
	want(t, err, "loading ", "full")
	if err := r.Close(); err != nil {
		t.Error(err)
	}
}

func TestTheFolderIsMissing(t *testing.T) {
	want(t, prepareError(t, "sqlite:///no/such/folder/x.sqlite", nil), "no folder that is there")
}

// TestUsersWithoutRightsUndo: one that may not create databases restores row by row.
func TestUsersWithoutRightsUndo(t *testing.T) {
	s, target := postgresTarget(t)
	db, err := sql.Open("pgx", s.URL)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	execute(t, db, "create role worker login")
	execute(t, db, "create database tpch owner worker")
	target = strings.Replace(target, postgrestest.User+"@", "worker@", 1)
	parameters := map[string]any{"scale": 0.01, "refresh": true, "queries": "1"}
	run(t, target, parameters)
	if _, prepared := run(t, target, parameters); prepared != "restored" {
		t.Errorf("the data set was %s", prepared)
	}
	parameters["restore"] = "copy"
	want(t, prepareError(t, target, parameters), "may not create databases")
}

// TestNothingIsLeft: an embedded database without a path goes with its session.
func TestNothingIsLeft(t *testing.T) {
	t.Setenv("TMPDIR", t.TempDir())
	r := opened(t, "", map[string]any{"scale": 0.01})
	if _, err := r.Prepare(t.Context(), nil); err != nil {
		t.Fatal(err)
	}
	if files := temporary(t); len(files) == 0 {
		t.Error("the database lies somewhere else")
	}
	if err := r.Close(); err != nil {
		t.Fatal(err)
	}
	if files := temporary(t); len(files) != 0 {
		t.Errorf("the session has left %v", files)
	}
}

func temporary(t *testing.T) []string {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(os.TempDir(), "*"))
	if err != nil {
		t.Fatal(err)
	}
	return files
}
