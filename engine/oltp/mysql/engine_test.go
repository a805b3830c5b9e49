package mysql_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net/url"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"bakeoff/engine/oltp"
	"bakeoff/engine/oltp/mysql"
	"bakeoff/load"
	"bakeoff/load/loadtest"
	"bakeoff/record"
	"bakeoff/test/mariadbtest"
)

func engine() oltp.Engine { return oltp.New(mysql.Target{}) }

type parameters = map[string]any

func target(s *mariadbtest.Server, database string) string {
	return "mysql://root@localhost/" + database + "?socket=" + url.QueryEscape(s.Socket)
}

// specOf is a short load of three users on one warehouse.
func specOf(target string, given parameters) load.Spec {
	p := parameters{"users": 3}
	maps.Copy(p, given)
	return load.Spec{
		Workload: "orders", Part: load.Source, Target: target, Parameters: p, Seed: 1,
		Common: load.Common{Warmup: 200 * time.Millisecond, Window: time.Second, OpTimeout: 20 * time.Second},
	}
}

// prepared opens and prepares a load, which is closed with the test.
func prepared(t *testing.T, spec load.Spec) (*load.Running, *record.DataSet, error) {
	t.Helper()
	r, err := load.Open(t.Context(), engine(), spec, load.Env{})
	if err != nil {
		return nil, nil, err
	}
	t.Cleanup(func() {
		if err := r.Close(); err != nil {
			t.Error(err)
		}
	})
	set, err := r.Prepare(t.Context(), nil)
	return r, set, err
}

// measured prepares and runs a load, and does something while its window is open.
func measured(t *testing.T, spec load.Spec, meanwhile func()) (load.Result, error) {
	t.Helper()
	r, _, err := prepared(t, spec)
	if err != nil {
		t.Fatal(err)
	}
	var begun atomic.Bool
	done := make(chan struct{})
	result, err := r.Measure(t.Context(), func(p load.Progress) {
		if p.Phase == "window" && begun.CompareAndSwap(false, true) {
			go func() {
				defer close(done)
				meanwhile()
			}()
		}
	})
	if begun.Load() {
		<-done
	}
	loadtest.Check(t, result)
	return result, err
}

func nothing() {}

func hard(r load.Result) string {
	var all []string
	for _, w := range r.Warnings {
		if w.Severity == record.SeverityHard {
			all = append(all, w.Gate+": "+w.Found)
		}
	}
	return strings.Join(all, "; ")
}

func counted(r load.Result, name string) float64 {
	for _, c := range r.Load.Counters {
		if c.Name == name {
			return c.Close - c.Open
		}
	}
	return -1
}

// wants an error with all of some words.
func wants(t *testing.T, err error, words ...string) {
	t.Helper()
	for _, w := range words {
		if err == nil || !strings.Contains(err.Error(), w) {
			t.Errorf("error %v, want one about %q", err, w)
		}
	}
}

// TestEngine has one server for the suite and for the faults of a server that
// holds data: a load is what takes time.
func TestEngine(t *testing.T) {
	s := mariadbtest.Start(t, mariadbtest.Options{Args: []string{"--max-connections=30", "--innodb-flush-log-at-trx-commit=2"}})
	spec := specOf(target(s, "own"), parameters{"check": "none"})
	t.Run("loaded", func(t *testing.T) { loads(t, s) })
	t.Run("suite", func(t *testing.T) { loadtest.Run(t, engine(), spec) })
	t.Run("figures", func(t *testing.T) { figures(t, s) })
	t.Run("connection limit", func(t *testing.T) { limited(t, s) })
	t.Run("lock storm", func(t *testing.T) { storm(t, s) })
	t.Run("killed and restarted", func(t *testing.T) { restarted(t, s) })
	t.Run("gone", func(t *testing.T) { gone(t, s) })
}

// loads cuts a load off, kills the server in the next, and wants a third one to
// go on from there.
func loads(t *testing.T, s *mariadbtest.Server) {
	spec := specOf(target(s, "own"), parameters{"loaders": 2})
	cut := errors.New("cut off")
	attempt := func(at float64, do func(context.CancelCauseFunc)) (*record.DataSet, error) {
		ctx, cancel := context.WithCancelCause(t.Context())
		defer cancel(nil)
		r, err := load.Open(ctx, engine(), spec, load.Env{})
		if err != nil {
			t.Fatal(err)
		}
		defer func() {
			if err := r.Close(); err != nil {
				t.Error(err)
			}
		}()
		var done atomic.Bool
		return r.Prepare(ctx, func(p load.Progress) {
			if p.Fraction >= at && done.CompareAndSwap(false, true) {
				do(cancel)
			}
		})
	}
	if _, err := attempt(0.1, func(cancel context.CancelCauseFunc) { cancel(cut) }); !errors.Is(err, cut) {
		t.Errorf("error %v, want to be cut off", err)
	}
	_, _, err := prepared(t, specOf(target(s, "own"), parameters{"restore": "none"}))
	wants(t, err, "in part")
	if _, err := attempt(0.4, func(context.CancelCauseFunc) { s.Kill() }); err == nil {
		t.Error("a load outlived its server")
	}
	s.Run()
	set, err := attempt(0, func(context.CancelCauseFunc) {})
	if err != nil || set.Prepared != "loaded" {
		t.Fatalf("prepared as %+v, %v", set, err)
	}
	again, err := attempt(0, func(context.CancelCauseFunc) {})
	if err != nil || again.Prepared != "restored" || again.Fingerprint != set.Fingerprint {
		t.Errorf("prepared again as %+v after %+v, %v", again, set, err)
	}
}

// figures checks that HammerDB's figures are there and in HammerDB's proportion:
// of 23 transactions, 10 are New-Orders.
func figures(t *testing.T, s *mariadbtest.Server) {
	spec := specOf(target(s, "own"), nil)
	spec.Common.Window = 2 * time.Second
	var r load.Result
	found := map[string]float64{}
	for range 5 { // a machine that is busy may take so long to read the counters that there is no TPM
		var err error
		if r, err = measured(t, spec, nothing); err != nil || hard(r) != "" {
			t.Fatal(err, hard(r))
		}
		for _, f := range r.Load.Figures {
			found[f.Name] = f.Value
		}
		if _, told := found["tpm"]; told {
			break
		}
	}
	if ratio := found["tpm"] / found["nopm"]; ratio < 2 || ratio > 2.7 {
		t.Errorf("%v: TPM is %.2f times NOPM, want about 2.3", found, ratio)
	}
	if found["restore_time"] <= 0 {
		t.Errorf("no time of the restore in %v", found)
	}
	if counted(r, "target.log_written") <= 0 {
		t.Errorf("the server wrote no log: %+v", r.Load.Counters)
	}
}

func limited(t *testing.T, s *mariadbtest.Server) {
	r, _, err := prepared(t, specOf(target(s, "own"), parameters{"users": 60, "check": "none"}))
	if err != nil {
		t.Fatal(err)
	}
	_, err = r.Measure(t.Context(), nil)
	wants(t, err, "Too many connections", "use fewer users")
}

// storm locks all customers for longer than the server lets a transaction wait.
func storm(t *testing.T, s *mariadbtest.Server) {
	s.SQL("SET GLOBAL innodb_lock_wait_timeout = 1")
	defer s.SQL("SET GLOBAL innodb_lock_wait_timeout = 50")
	spec := specOf(target(s, "own"), parameters{"retries": 1})
	spec.Common.Window = 5 * time.Second
	r, err := measured(t, spec, func() {
		s.SQL("USE own; START TRANSACTION; UPDATE warehouse SET w_ytd = w_ytd + 1; UPDATE customer SET c_credit_lim = c_credit_lim + 1; DO SLEEP(3); ROLLBACK")
	})
	if err != nil {
		t.Fatal(err)
	}
	if counted(r, "conflicts") < 2 || counted(r, "retries") < 1 || r.Load.Ledger.Completed == 0 {
		t.Errorf("counters %+v, ledger %+v; want conflicts, attempts again, and transactions after them", r.Load.Counters, r.Load.Ledger)
	}
	if w := hard(r); strings.Contains(w, "verification") {
		t.Errorf("nothing of what was given up may stay, but: %s", w)
	}
}

func restarted(t *testing.T, s *mariadbtest.Server) {
	spec := specOf(target(s, "own"), nil)
	spec.Common.Window = 6 * time.Second
	r, err := measured(t, spec, func() {
		s.Kill()
		s.Run()
	})
	if err != nil {
		t.Fatal(err)
	}
	l := r.Load.Ledger
	if l.Failed == 0 || l.Completed == 0 || counted(r, "reconnects") < 3 || counted(r, record.CounterDisconnected) <= 0 {
		t.Errorf("ledger %+v, counters %+v; want failures, and transactions after them", l, r.Load.Counters)
	}
	if w := hard(r); strings.Contains(w, "verification") {
		t.Errorf("every New-Order that was committed is there, but: %s\n%s", w, s.Log())
		println(s.DataDir)
		time.Sleep(100 * time.Second)
	}
}

func gone(t *testing.T, s *mariadbtest.Server) {
	spec := specOf(target(s, "own"), nil)
	spec.Common.Window, spec.Common.OpTimeout = 20*time.Second, time.Second
	r, err := measured(t, spec, s.Kill)
	wants(t, err, "the target is gone")
	if l := r.Load.Ledger; l.Completed == 0 || l.Failed == 0 {
		t.Errorf("ledger %+v; want what was done until then, and failures", l)
	}
	_, _, err = prepared(t, spec)
	wants(t, err, s.Socket, "connect")
}

func TestPassword(t *testing.T) {
	s := mariadbtest.Start(t, mariadbtest.Options{})
	s.SQL("CREATE USER tester@localhost IDENTIFIED BY 'right'; GRANT ALL ON *.* TO tester@localhost")
	spec := specOf(strings.Replace(target(s, "own"), "root@", "tester@", 1), nil)
	spec.Secrets = map[string]string{"password": "quite wrong"}
	_, _, err := prepared(t, spec)
	wants(t, err, "Access denied", "tester")
	if strings.Contains(fmt.Sprint(err), "quite wrong") {
		t.Errorf("the password is in the error: %v", err)
	}
}

// TestDiskFull loads on a server whose table space cannot grow.
func TestDiskFull(t *testing.T) {
	s := mariadbtest.Start(t, mariadbtest.Options{Args: []string{"--innodb-file-per-table=0", "--innodb-data-file-path=ibdata1:12M;ibdata2:30M"}})
	_, _, err := prepared(t, specOf(target(s, "own"), nil))
	wants(t, err, "is full", "make room")
	if got := s.SQL("SELECT COUNT(*) FROM own.bakeoff_load WHERE mark LIKE '%stock%'; SELECT COUNT(*) FROM own.stock"); got != "0\n0\n" {
		t.Errorf("marks and rows of what did not fit: %q", got)
	}
}

func TestTargets(t *testing.T) {
	for text, words := range map[string][]string{
		"mysql://h/a%60b":                      {"a`b", "without quotes"},
		"mysql://h/d?sock=/x":                  {"sock", "expected socket"},
		"mysql://u:hidden@h/d":                 {"password", "file or environment"},
		"mysql://h/" + strings.Repeat("n", 70): {"up to 58 characters"},
	} {
		_, err := engine().Open(t.Context(), specOf(text, nil))
		wants(t, err, words...)
		if strings.Contains(fmt.Sprint(err), "hidden") {
			t.Errorf("the password is in the error: %v", err)
		}
	}
}
