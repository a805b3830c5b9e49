package postgres_test

import (
	"context"
	"errors"
	"maps"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"go.uber.org/goleak"

	"bakeoff/engine/oltp"
	"bakeoff/engine/oltp/postgres"
	"bakeoff/load"
	"bakeoff/load/loadtest"
	"bakeoff/record"
	"bakeoff/test/postgrestest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func engine() oltp.Engine { return oltp.New(postgres.Target{}) }

type parameters = map[string]any

// specOf is a short load of three users on one warehouse.
func specOf(url string, given parameters) load.Spec {
	p := parameters{"users": 3}
	maps.Copy(p, given)
	return load.Spec{
		Workload: "oltp", Part: load.Source, Target: url, Parameters: p, Seed: 1,
		Common: load.Common{Warmup: 100 * time.Millisecond, Window: time.Second, OpTimeout: 5 * time.Second},
	}
}

// begun opens and prepares a load. It is closed by the caller.
func begun(t *testing.T, spec load.Spec) (*load.Running, *record.DataSet, error) {
	t.Helper()
	r, err := load.Open(t.Context(), engine(), spec, load.Env{})
	if err != nil {
		return nil, nil, err
	}
	set, err := r.Prepare(t.Context(), nil)
	if err != nil {
		return nil, nil, errors.Join(err, r.Close())
	}
	return r, set, nil
}

// prepared prepares a load and closes it.
func prepared(t *testing.T, spec load.Spec) (*record.DataSet, error) {
	t.Helper()
	r, set, err := begun(t, spec)
	if err != nil {
		return nil, err
	}
	return set, r.Close()
}

// ran runs a load, which may end with an error.
func ran(t *testing.T, spec load.Spec) (load.Result, *record.DataSet, error) {
	t.Helper()
	r, set, err := begun(t, spec)
	if err != nil {
		t.Fatal(err)
	}
	result, err := r.Measure(t.Context(), nil)
	if closing := r.Close(); closing != nil {
		t.Error(closing)
	}
	if !result.Load.Ledger.Closes() {
		t.Errorf("the ledger does not close: %+v", result.Load.Ledger)
	}
	return result, set, err
}

// measured runs a load that works.
func measured(t *testing.T, spec load.Spec) (load.Result, *record.DataSet) {
	t.Helper()
	result, set, err := ran(t, spec)
	if err != nil {
		t.Fatal(err)
	}
	return result, set
}

func figure(r load.Result, name string) float64 {
	for _, f := range r.Load.Figures {
		if f.Name == name {
			return f.Value
		}
	}
	return 0
}

func hard(r load.Result) (found []string) {
	for _, w := range r.Warnings {
		if w.Severity == record.SeverityHard {
			found = append(found, w.Gate+": "+w.Found)
		}
	}
	return found
}

// complains wants an error with all of some words.
func complains(t *testing.T, err error, words ...string) {
	t.Helper()
	if err == nil {
		t.Fatalf("no error, want one about %q", words)
	}
	for _, w := range words {
		if !strings.Contains(err.Error(), w) {
			t.Errorf("%q is missing in: %v", w, err)
		}
	}
}

// execute executes statements in a database.
func execute(t *testing.T, url string, statements ...string) {
	t.Helper()
	c, err := pgx.Connect(t.Context(), url)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close(context.Background())
	for _, sql := range statements {
		if _, err := c.Exec(t.Context(), sql, pgx.QueryExecModeSimpleProtocol); err != nil {
			t.Fatalf("%s: %v", sql, err)
		}
	}
}

// TestServer shares one server and what is loaded there.
func TestServer(t *testing.T) {
	s := postgrestest.Start(t, postgrestest.Options{TLS: true})
	own, rules := s.Database("own"), s.Database("rules")
	t.Run("load and restore", func(t *testing.T) { loadsAndRestores(t, own) })
	if t.Failed() {
		return
	}
	t.Run("client SQL", func(t *testing.T) {
		works(t, specOf(s.SocketDatabase("own"), parameters{"mode": "client-sql", "check": "full"}))
	})
	t.Run("specification", func(t *testing.T) {
		works(t, specOf(rules, parameters{"profile": "spec", "io": "epoll", "check": "full"}))
		works(t, specOf(rules, parameters{"profile": "spec", "mode": "client-sql", "check": "full"}))
	})
	t.Run("TLS", func(t *testing.T) { encrypts(t, s) })
	t.Run("refused", func(t *testing.T) { refuses(t, s) })
	t.Run("keying", func(t *testing.T) { typesAndThinks(t, own) })
	t.Run("two instances", func(t *testing.T) { runsTwice(t, s) })
	t.Run("HammerDB's schema", func(t *testing.T) { drivesHammerDB(t, s) })
	t.Run("faults", func(t *testing.T) { survives(t, s) })
	t.Run("suite", func(t *testing.T) {
		kept := parameters{"restore": "none", "check": "none"}
		sql := parameters{"restore": "none", "check": "none", "mode": "client-sql", "profile": "spec", "io": "epoll"}
		loadtest.Run(t, engine(), specOf(own, kept), specOf(s.SocketDatabase("rules"), sql))
	})
}

// works runs a load and wants every kind of transaction, and nothing else.
func works(t *testing.T, spec load.Spec) load.Result {
	t.Helper()
	r, _ := measured(t, spec)
	l := r.Load.Ledger
	if len(hard(r)) > 0 || l.Failed+l.TimedOut+l.Dropped > 0 {
		t.Errorf("ledger %+v, errors %+v, warnings %q", l, r.Load.Errors, hard(r))
	}
	orders := uint64(0)
	for _, k := range r.Load.Kinds {
		if k.Kind == "new_order" {
			orders = k.Completed
		}
	}
	nopm := figure(r, "nopm")
	if tpm := figure(r, "tpm"); tpm != 0 { // the server counts a second late, and the window is no longer
		t.Errorf("%.0f TPM, expected none of a short window", tpm)
	}
	if orders == 0 || nopm < float64(orders)*60*0.7 || nopm > float64(orders)*60*1.3 {
		t.Errorf("%d New-Orders in a second, at %.0f NOPM", orders, nopm)
	}
	return r
}

func loadsAndRestores(t *testing.T, url string) {
	spec := specOf(url, parameters{"check": "full"})
	r, set := measured(t, spec)
	if set.Prepared != "loaded" || set.Items < 590_000 || set.Items > 610_000 || set.Bytes < 50<<20 || figure(r, "load_time") <= 0 || figure(r, "load_rate") <= 0 {
		t.Errorf("data set %+v, figures %+v", set, r.Load.Figures)
	}
	again := works(t, spec)
	if d := again.Load.DataSet; d.Prepared != "restored" || d.Fingerprint != set.Fingerprint || figure(again, "restore_time") <= 0 {
		t.Errorf("second data set %+v, want %s restored; figures %+v", d, set.Fingerprint, again.Load.Figures)
	}
	for _, name := range []string{"product", "server_version", "shared_buffers", "fsync", "synchronous_commit", "wal_level"} {
		if again.Load.Server[name] == "" {
			t.Errorf("setting %s is missing in %v", name, again.Load.Server)
		}
	}
	kept := specOf(url, parameters{"restore": "none"})
	if d, err := prepared(t, kept); err != nil || d.Prepared != "kept" || d.Fingerprint == set.Fingerprint {
		t.Errorf("used data: %+v, %v; want another fingerprint than %s", d, err, set.Fingerprint)
	}
}

func encrypts(t *testing.T, s *postgrestest.Server) {
	r := works(t, specOf(s.Database("own"), parameters{"tls": true, "tls_ca": s.CA, "restore": "none"}))
	if !strings.Contains(r.Load.Server["connection_tls"], "TLSv1.3") || !strings.Contains(r.Load.Generator.Backend, "TLS") {
		t.Errorf("encrypted by %q over %q", r.Load.Server["connection_tls"], r.Load.Generator.Backend)
	}
	_, err := prepared(t, specOf(s.Database("own"), parameters{"tls": true, "restore": "none"}))
	complains(t, err, "certificate", "tls_ca")
	_, err = prepared(t, specOf(s.SocketDatabase("own"), parameters{"tls": true}))
	complains(t, err, "Unix socket")
}

func refuses(t *testing.T, s *postgrestest.Server) {
	_, err := prepared(t, specOf(s.Database("own"), parameters{"warehouses": 2}))
	complains(t, err, "another data set", "warehouses=1", "warehouses=2", "replace: true")
	_, err = prepared(t, specOf(s.Database("own"), parameters{"profile": "spec"}))
	complains(t, err, "profile=hammerdb", "profile=spec")
	_, err = prepared(t, specOf(s.Database("nothing"), parameters{"restore": "none"}))
	complains(t, err, "it is empty")
	execute(t, s.URL, "CREATE DATABASE others")
	execute(t, s.Database("others"), "CREATE TABLE customer (id int)")
	_, err = prepared(t, specOf(s.Database("others"), nil))
	complains(t, err, "another program", "customer", "replace: true")
	_, err = prepared(t, specOf(s.Database("others"), parameters{"schema": "hammerdb"}))
	complains(t, err, "no table item", "no column customer.c_id")
}

// typesAndThinks: with 18 seconds before a New-Order nothing but other kinds comes
// in two seconds, and what comes is not slower for it.
func typesAndThinks(t *testing.T, url string) {
	spec := specOf(url, parameters{"keying": true, "users": 30, "restore": "none"})
	spec.Common.Warmup, spec.Common.Window = 1900*time.Millisecond, 1500*time.Millisecond
	r, _ := measured(t, spec)
	for _, k := range r.Load.Kinds {
		if k.Kind == "new_order" && k.Completed > 0 {
			t.Errorf("%d New-Orders within seconds of the start, want 18 s of typing first", k.Completed)
		}
	}
	if n := r.Load.Ledger.Completed; n == 0 || n > 30 {
		t.Errorf("%d transactions of 30 users, want some and one a user at most", n)
	}
}

// runsTwice: the second instance has a database of its own, beside the first's.
func runsTwice(t *testing.T, s *postgrestest.Server) {
	execute(t, s.URL, "CREATE DATABASE own_1 TEMPLATE own_saved")
	second := specOf(s.Database("own"), parameters{"restore": "none"})
	second.Instance = 1
	before := count(t, s.Database("own"))
	works(t, second)
	if after := count(t, s.Database("own")); after != before {
		t.Errorf("the second instance placed %d orders in the first one's database", after-before)
	}
}

func count(t *testing.T, url string) (orders int) {
	t.Helper()
	ask(t, url, "SELECT count(*) FROM orders", &orders)
	return orders
}

// ask reads one value.
func ask(t *testing.T, url, sql string, value any) {
	t.Helper()
	c, err := pgx.Connect(t.Context(), url)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close(context.Background())
	if err := c.QueryRow(t.Context(), sql).Scan(value); err != nil {
		t.Fatal(err)
	}
}
