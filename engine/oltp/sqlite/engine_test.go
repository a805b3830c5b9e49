package sqlite

import (
	"strings"
	"sync"
	"testing"
	"time"

	"bakeoff/engine/oltp"
	"bakeoff/engine/oltp/tpcc"
	"bakeoff/load"
	"bakeoff/load/loadtest"
)

// TestSuite has the engine on SQLite keep what the contracts of package load promise.
func TestSuite(t *testing.T) {
	file := "sqlite:" + filled(t, tpcc.Spec, "").path
	loadtest.Run(t, oltp.New(Target{}), load.Spec{Target: file, Parameters: parameters("3")})
	t.Run("locked", func(t *testing.T) { locked(t, file) })
}

func parameters(users string) map[string]any {
	return map[string]any{"profile": "spec", "users": users, "restore": "none", "retries": "0", "check": "none"}
}

// locked has another process lock the file in the window: transactions fail
// meanwhile, and go on afterwards.
func locked(t *testing.T, file string) {
	spec := load.Spec{
		Workload: "w", Part: load.Source, Host: "here", Engine: "oltp", Target: file, Seed: 1, Parameters: parameters("2"),
		Common: load.Common{Warmup: 50 * time.Millisecond, Window: 2 * time.Second, OpTimeout: 200 * time.Millisecond, DrainTime: 5 * time.Second},
	}
	running, err := load.Open(t.Context(), oltp.New(Target{}), spec, load.Env{Machine: load.NewMachine("/")})
	if err != nil {
		t.Fatal(err)
	}
	defer running.Close()
	if _, err := running.Prepare(t.Context(), nil); err != nil {
		t.Fatal(err)
	}
	var once sync.Once
	var others sync.WaitGroup
	result, err := running.Measure(t.Context(), func(p load.Progress) {
		if p.Phase == "window" {
			once.Do(func() { others.Go(func() { lock(t, strings.TrimPrefix(file, "sqlite:"), 5*spec.Common.OpTimeout) }) })
		}
	})
	others.Wait()
	if err != nil {
		t.Fatal(err)
	}
	loadtest.Check(t, result)
	ledger := result.Load.Ledger
	if ledger.Completed == 0 || ledger.Failed+ledger.TimedOut == 0 {
		t.Errorf("%+v: expected some to succeed and some to fail", ledger)
	}
	for _, e := range result.Load.Errors {
		if !strings.Contains(e.First, "locked") && !strings.Contains(e.First, "deadline") {
			t.Errorf("%+v", e)
		}
	}
}

// lock holds the file's lock as another process would.
func lock(t *testing.T, path string, long time.Duration) {
	other, err := openFile(path, false)
	if err != nil {
		t.Error(err)
		return
	}
	defer other.close()
	if err := other.exec("PRAGMA busy_timeout = 10000; BEGIN IMMEDIATE"); err != nil {
		t.Error(err)
	}
	<-time.After(long)
	if err := other.exec("ROLLBACK"); err != nil {
		t.Error(err)
	}
}
