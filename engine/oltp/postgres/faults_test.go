package postgres_test

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"os"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"golang.org/x/sys/unix"

	"bakeoff/engine/oltp"
	"bakeoff/engine/oltp/postgres"
	"bakeoff/engine/oltp/tpcc"
	"bakeoff/load"
	"bakeoff/record"
	"bakeoff/test/postgrestest"
)

func counter(r load.Result, name string) float64 {
	for _, c := range r.Load.Counters {
		if c.Name == name {
			return c.Close - c.Open
		}
	}
	return -1
}

func errorsOf(r load.Result) string { return fmt.Sprintf("%+v", r.Load.Errors) }

// during runs a load and does something while its window is open.
func during(t *testing.T, spec load.Spec, do func()) (load.Result, error) {
	t.Helper()
	r, _, err := begun(t, spec)
	if err != nil {
		t.Fatal(err)
	}
	var begun atomic.Bool
	done := make(chan struct{})
	result, err := r.Measure(t.Context(), func(p load.Progress) {
		if p.Phase == "window" && begun.CompareAndSwap(false, true) {
			go func() {
				defer close(done)
				do()
			}()
		}
	})
	if begun.Load() {
		<-done
	}
	if closing := r.Close(); closing != nil {
		t.Error(closing)
	}
	if !result.Load.Ledger.Closes() {
		t.Errorf("the ledger does not close: %+v", result.Load.Ledger)
	}
	return result, err
}

// survives are the faults of a server with data.
func survives(t *testing.T, s *postgrestest.Server) {
	own := s.Database("own")
	t.Run("connection limit", func(t *testing.T) {
		_, _, err := ran(t, specOf(own, parameters{"users": 100, "restore": "none"}))
		complains(t, err, "too many clients", "max_connections")
	})
	t.Run("locks", func(t *testing.T) { waitsForLocks(t, s) })
	t.Run("lock timeout", func(t *testing.T) { triesAgain(t, s) })
	t.Run("another load", func(t *testing.T) { noticesOthers(t, own) })
	t.Run("clock step", func(t *testing.T) { ignoresTheWallClock(t, own) })
	t.Run("data that are not as they should be", func(t *testing.T) { checksData(t, s) })
	t.Run("killed and restarted", func(t *testing.T) { outlivesRestart(t, s) })
	t.Run("commits lost", func(t *testing.T) { noticesLostCommits(t, s) })
	t.Run("gone", func(t *testing.T) { givesUp(t, s) })
}

// locked holds a lock for a while.
func locked(t *testing.T, url, lock string, while time.Duration) {
	ctx := context.Background()
	c, err := pgx.Connect(ctx, url)
	if err != nil {
		t.Error(err)
		return
	}
	defer c.Close(ctx)
	for _, sql := range []string{"BEGIN", lock, fmt.Sprintf("SELECT pg_sleep(%f)", while.Seconds()), "ROLLBACK"} {
		if _, err := c.Exec(ctx, sql); err != nil {
			t.Errorf("%s: %v", sql, err)
		}
	}
}

func waitsForLocks(t *testing.T, s *postgrestest.Server) {
	own := s.Database("own")
	spec := specOf(own, parameters{"restore": "none"})
	spec.Common.OpTimeout, spec.Common.Window = 300*time.Millisecond, 3*time.Second
	r, err := during(t, spec, func() { locked(t, own, "LOCK TABLE district IN ACCESS EXCLUSIVE MODE", time.Second) })
	if err != nil {
		t.Fatal(err)
	}
	l := r.Load.Ledger
	if l.TimedOut == 0 || l.Completed == 0 || counter(r, "reconnects") < 1 {
		t.Errorf("ledger %+v, counters %+v; want timeouts, and transactions after them", l, r.Load.Counters)
	}
	for _, w := range hard(r) {
		if strings.Contains(w, "verification") {
			t.Errorf("transactions that timed out are in doubt, not false: %s", w)
		}
	}
}

func triesAgain(t *testing.T, s *postgrestest.Server) {
	own := s.Database("own")
	execute(t, s.URL, "ALTER ROLE tester SET lock_timeout = '20ms'")
	defer execute(t, s.URL, "ALTER ROLE tester RESET lock_timeout")
	spec := specOf(own, parameters{"retries": 2, "restore": "none"})
	spec.Common.Window = 3 * time.Second
	r, err := during(t, spec, func() { locked(t, own, "UPDATE warehouse SET w_ytd = w_ytd", time.Second) })
	if err != nil {
		t.Fatal(err)
	}
	if counter(r, "conflicts") < 3 || counter(r, "retries") < 2 || !strings.Contains(errorsOf(r), "at the last of 3 attempts") || len(hard(r)) > 0 {
		t.Errorf("counters %+v, errors %s, warnings %q; want attempts that were given up", r.Load.Counters, errorsOf(r), hard(r))
	}
}

func noticesOthers(t *testing.T, own string) {
	spec := specOf(own, nil)
	spec.Common.Window = 1500 * time.Millisecond
	r, err := during(t, spec, func() { execute(t, own, "UPDATE district SET d_next_o_id = d_next_o_id + 1") })
	if err != nil {
		t.Fatal(err)
	}
	if w := strings.Join(hard(r), "; "); !strings.Contains(w, "something else works in this database") || !strings.Contains(w, "condition 3") {
		t.Errorf("warnings %q; want New-Orders of others, and gaps", w)
	}
}

// stepping is a wall clock that jumps an hour back after some readings.
type stepping struct{ readings atomic.Int64 }

func (s *stepping) Now() time.Time {
	if s.readings.Add(1) > 1 {
		return time.Now().Add(-time.Hour)
	}
	return time.Now()
}

func (*stepping) Sleep(context.Context, time.Duration) error { return nil }

func ignoresTheWallClock(t *testing.T, own string) {
	r, err := load.Open(t.Context(), engine(), specOf(own, nil), load.Env{Wall: &stepping{}})
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	if _, err := r.Prepare(t.Context(), nil); err != nil {
		t.Fatal(err)
	}
	result, err := r.Measure(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	if step := result.Load.Window.ClockStepSeconds; step > -3000 {
		t.Errorf("a step of %.0f s is recorded, want an hour back", step)
	}
	if nopm := figure(result, "nopm"); nopm < 100 || nopm > 1e6 {
		t.Errorf("%.0f NOPM with a clock that steps", nopm)
	}
}

func checksData(t *testing.T, s *postgrestest.Server) {
	execute(t, s.URL, "DROP DATABASE IF EXISTS spoilt", "CREATE DATABASE spoilt TEMPLATE own_saved")
	spoilt := s.Database("spoilt")
	kept := parameters{"restore": "none"}
	execute(t, spoilt, "UPDATE warehouse SET w_ytd = 1")
	_, err := prepared(t, specOf(spoilt, kept))
	complains(t, err, "condition 1", "3.3.2.1", "condition 8", "violated 1 times")
	execute(t, spoilt, "ALTER TABLE stock DROP COLUMN s_data")
	_, err = prepared(t, specOf(spoilt, kept))
	complains(t, err, "no column stock.s_data", "replace: true")
	execute(t, spoilt, "UPDATE bakeoff_load SET content = replace(content, 'tpcc 1', 'tpcc 0') WHERE mark = 'identity'")
	_, err = prepared(t, specOf(spoilt, kept))
	complains(t, err, "another data set", "tpcc 0", "tpcc 1")
	// A copy that was saved from other data is not taken for these.
	execute(t, s.URL, "COMMENT ON DATABASE own_saved IS 'something else'")
	defer execute(t, s.URL, fmt.Sprintf("COMMENT ON DATABASE own_saved IS 'tpcc %d profile=hammerdb warehouses=1 seed=1'", tpcc.DataVersion))
	set, err := prepared(t, specOf(s.Database("own"), parameters{"restore": "none"}))
	if err != nil || set.Prepared != "kept" {
		t.Errorf("prepared as %+v, %v", set, err)
	}
}

func outlivesRestart(t *testing.T, s *postgrestest.Server) {
	execute(t, s.URL, "ALTER ROLE tester SET synchronous_commit = on")
	defer func() { execute(t, s.URL, "ALTER ROLE tester RESET synchronous_commit") }()
	spec := specOf(s.Database("own"), parameters{"restore": "none"})
	spec.Common.Window, spec.Common.OpTimeout = 4*time.Second, 20*time.Second
	r, err := during(t, spec, func() {
		s.Kill()
		s.Run()
	})
	if err != nil {
		t.Fatal(err)
	}
	l := r.Load.Ledger
	if l.Failed == 0 || l.Completed == 0 || counter(r, "reconnects") < 3 || counter(r, record.CounterDisconnected) <= 0 {
		t.Errorf("ledger %+v, counters %+v, errors %s; want failures, and transactions after them", l, r.Load.Counters, errorsOf(r))
	}
	if w := hard(r); len(w) > 0 {
		t.Errorf("every New-Order that was committed is there, but: %q", w)
	}
	if figure(r, "tpm") < 0 || figure(r, "nopm") < 0 {
		t.Errorf("figures %+v of a server that counts anew", r.Load.Figures)
	}
}

// noticesLostCommits: a server that does not wait for its log forgets what it
// committed when it crashes.
func noticesLostCommits(t *testing.T, s *postgrestest.Server) {
	var writer int
	ask(t, s.URL, "SELECT pid FROM pg_stat_activity WHERE backend_type = 'walwriter'", &writer)
	if err := unix.Kill(writer, unix.SIGSTOP); err != nil { // until it is killed with the rest
		t.Fatal(err)
	}
	spec := specOf(s.Database("own"), parameters{"restore": "none"})
	spec.Common.Window, spec.Common.OpTimeout = 3*time.Second, 20*time.Second
	r, err := during(t, spec, func() {
		s.Kill()
		s.Run()
	})
	if err != nil {
		t.Fatal(err)
	}
	if w := strings.Join(hard(r), "; "); !strings.Contains(w, "the others are lost") {
		t.Errorf("warnings %q; want New-Orders that were lost", w)
	}
}

func givesUp(t *testing.T, s *postgrestest.Server) {
	spec := specOf(s.Database("own"), parameters{"restore": "none"})
	spec.Common.Window, spec.Common.OpTimeout = 20*time.Second, 500*time.Millisecond
	r, err := during(t, spec, s.Kill)
	complains(t, err, "the target is gone", "refused")
	if l := r.Load.Ledger; l.Completed == 0 || l.Failed == 0 {
		t.Errorf("ledger %+v; want what was done until then, and failures", l)
	}
	s.Run()
}

// dialled connects a user by the package's own codec. The tables are missing, so
// that a login that worked ends with the preparation of its statements.
func dialled(t *testing.T, target, password string) error {
	t.Helper()
	u, err := url.Parse(target)
	if err != nil {
		t.Fatal(err)
	}
	db, err := postgres.Target{}.Open(oltp.Config{URL: u, User: u.User.Username(), Password: password, Mode: oltp.ClientSQL, Timeout: 5 * time.Second})
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	_, err = db.(oltp.Wired).Dial(t.Context(), 0)
	return err
}

func TestPasswords(t *testing.T) {
	for _, method := range []string{"scram-sha-256", "md5", "password"} {
		s := postgrestest.Start(t, postgrestest.Options{Auth: method})
		complains(t, dialled(t, s.URL, postgrestest.Password), "preparing statements")
		complains(t, dialled(t, s.URL, "wrong"), "password authentication failed", `user "tester"`, "was refused")
		complains(t, dialled(t, s.Database("missing"), postgrestest.Password), "does not exist", "name another database")
		spec := specOf(s.URL, nil)
		spec.Secrets = map[string]string{"password": "wrong"}
		_, err := prepared(t, spec)
		complains(t, err, "password authentication failed")
		if strings.Contains(err.Error(), "wrong") {
			t.Errorf("the password is in the error: %v", err)
		}
	}
}

var errCut = errors.New("cut off")

// TestLoadGoesOnAfterAKill cuts a load off, kills the server in the next, and
// wants the third to end with the data that one undisturbed load makes.
func TestLoadGoesOnAfterAKill(t *testing.T) {
	s := postgrestest.Start(t, postgrestest.Options{})
	spec := specOf(s.Database("half"), parameters{"loaders": 2})
	attempt := func(at float64, do func(context.CancelCauseFunc)) (*record.DataSet, error) {
		ctx, cancel := context.WithCancelCause(t.Context())
		defer cancel(nil)
		r, err := load.Open(ctx, engine(), spec, load.Env{})
		if err != nil {
			t.Fatal(err)
		}
		defer r.Close()
		return r.Prepare(ctx, func(p load.Progress) {
			if p.Fraction >= at {
				do(cancel)
			}
		})
	}
	_, err := attempt(0.1, func(cancel context.CancelCauseFunc) { cancel(errCut) })
	if !errors.Is(err, errCut) {
		t.Fatalf("found %v, want to be cut off", err)
	}
	complains(t, err, "begin again, and it goes on from here")
	_, err = prepared(t, specOf(s.Database("half"), parameters{"restore": "none"}))
	complains(t, err, "in part", "of 9 parts")
	killed := false
	_, err = attempt(0.4, func(context.CancelCauseFunc) {
		if !killed {
			killed = true
			s.Kill()
		}
	})
	if err == nil {
		t.Fatal("a load survived its server")
	}
	s.Run()
	set, err := attempt(0, func(context.CancelCauseFunc) {})
	if err != nil {
		t.Fatal(err)
	}
	again := tpcc.Data{Profile: tpcc.HammerDB, Warehouses: 1, Seed: 1, Tally: new(tpcc.Tally)}
	for _, c := range again.Chunks() {
		if err := again.Write(c, tpcc.Nowhere{}); err != nil {
			t.Fatal(err)
		}
	}
	want := again.Tally.Fingerprint(fmt.Sprintf("tpcc %d profile=hammerdb warehouses=1 seed=1", tpcc.DataVersion))
	if set.Prepared != "loaded" || set.Fingerprint != want {
		t.Errorf("data set %+v, want %s", set, want)
	}
}

// TestDiskFull loads onto a small file system.
func TestDiskFull(t *testing.T) {
	if os.Getuid() != 0 {
		t.Skip("a file system of its own can only be mounted by root")
	}
	dir := t.TempDir()
	if err := unix.Mount("tmpfs", dir, "tmpfs", 0, "size=120m,mode=0755"); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := unix.Unmount(dir, unix.MNT_DETACH); err != nil {
			t.Error(err)
		}
	})
	for _, parent := range []string{dir, strings.TrimSuffix(dir, "/001")} {
		if err := os.Chmod(parent, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	s := postgrestest.Start(t, postgrestest.Options{Dir: dir + "/data", Settings: []string{"max_wal_size = 32MB", "min_wal_size = 32MB"}})
	spec := specOf(s.Database("full"), parameters{"restore": "reload"})
	_, err := prepared(t, spec)
	complains(t, err, "the server's disk is full", "goes on from here")
}
