package olap_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"testing"
	"time"

	"go.uber.org/goleak"

	"bakeoff/engine/olap"
	"bakeoff/engine/olap/mysql"
	"bakeoff/engine/olap/postgres"
	"bakeoff/engine/olap/sqlite"
	"bakeoff/load"
	"bakeoff/load/loadtest"
	"bakeoff/test/mariadbtest"
	"bakeoff/test/postgrestest"
)

func TestMain(m *testing.M) {
	kept, err := olap.Keep(shared)
	if err != nil {
		panic(err)
	}
	goleak.VerifyTestMain(m, goleak.Cleanup(func(code int) {
		runtime.KeepAlive(kept)
		os.Exit(code)
	}))
}

// shared is one engine for all tests: its sessions share the pseudo text.
var shared = olap.New(sqlite.Target{}, postgres.Target{}, mysql.Target{})

func engine() olap.Engine { return shared }

// sqliteTarget is a file that goes with the test.
func sqliteTarget(t *testing.T) string {
	return "sqlite://" + filepath.Join(t.TempDir(), "tpch.sqlite")
}

func postgresTarget(t *testing.T, settings ...string) (*postgrestest.Server, string) {
	s := postgrestest.Start(t, postgrestest.Options{Settings: settings})
	return s, s.Database("tpch")
}

func mariadbTarget(t *testing.T) (*mariadbtest.Server, string) {
	s := mariadbtest.Start(t, mariadbtest.Options{})
	return s, fmt.Sprintf("mysql://%s@%s/tpch", mariadbtest.Root, s.Address())
}

// TestConformance is the suite that every engine passes.
func TestConformance(t *testing.T) {
	small := map[string]any{"scale": 0.01, "queries": "2,4,6,10-17,19-20"}
	loadtest.Run(t, engine(),
		load.Spec{Target: sqliteTarget(t), Parameters: small},
		load.Spec{Target: sqliteTarget(t), Parameters: map[string]any{"scale": 0.01, "mode": "throughput", "streams": 2, "refresh": true, "queries": "4,6,15"}},
	)
}

func TestConformanceOnPostgreSQL(t *testing.T) {
	_, target := postgresTarget(t)
	loadtest.Run(t, engine(), load.Spec{Target: target, Parameters: map[string]any{"scale": 0.01, "parallel": 2, "queries": "2,3,6,11"}})
}

func TestTargetsThatFail(t *testing.T) {
	for _, scheme := range []string{"postgres", "mysql"} {
		t.Run(scheme, func(t *testing.T) {
			t.Run("silent", func(t *testing.T) {
				target := scheme + "://u@" + loadtest.SilentTarget(t) + "/tpch"
				loadtest.Silent(t, engine(), load.Spec{Target: target, Parameters: map[string]any{"timeout": "200ms"}})
			})
			t.Run("refused", func(t *testing.T) {
				loadtest.Refused(t, engine(), load.Spec{Target: scheme + "://u@" + loadtest.ClosedTarget(t) + "/tpch"})
			})
		})
	}
}

func TestTheServerDies(t *testing.T) {
	t.Run("postgres", func(t *testing.T) {
		s, target := postgresTarget(t)
		dies(t, target, s.Kill)
	})
	t.Run("mysql", func(t *testing.T) {
		s, target := mariadbTarget(t)
		dies(t, target, s.Kill)
	})
}

// dies kills a server at work on a data set that is there already.
func dies(t *testing.T, target string, kill func()) {
	parameters := map[string]any{"scale": 0.01, "validate": "never"}
	r := opened(t, target, parameters)
	if _, err := r.Prepare(t.Context(), nil); err != nil {
		t.Fatal(err)
	}
	parameters["mode"], parameters["streams"], parameters["timeout"] = "throughput", 30, "20s"
	loadtest.Dies(t, engine(), load.Spec{Target: target, Parameters: parameters}, kill)
}

// run runs a load once.
func run(t *testing.T, target string, parameters map[string]any) (load.Result, string) {
	t.Helper()
	r := opened(t, target, parameters)
	set, err := r.Prepare(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	result, err := r.Measure(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	loadtest.Check(t, result)
	if err := r.Close(); err != nil {
		t.Error(err)
	}
	return result, set.Prepared
}

func specOf(target string, parameters map[string]any) load.Spec {
	return load.Spec{Workload: "w", Part: load.Source, Engine: "olap", Target: target, Parameters: parameters, Seed: 7,
		Common: load.Common{Deadline: 5 * time.Minute}}
}

func opened(t *testing.T, target string, parameters map[string]any) *load.Running {
	t.Helper()
	r, err := load.Open(t.Context(), engine(), specOf(target, parameters), load.Env{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := r.Close(); err != nil {
			t.Error(err)
		}
	})
	return r
}

// prepareError is why a data set cannot be prepared.
func prepareError(t *testing.T, target string, parameters map[string]any) error {
	t.Helper()
	r := opened(t, target, parameters)
	_, err := r.Prepare(t.Context(), nil)
	err = errors.Join(err, r.Close())
	if err == nil {
		t.Fatal("the data set was prepared, want an error")
	}
	return err
}

// kinds maps each kind of operation to how many were completed; those that failed
// fail the test.
func kinds(t *testing.T, r load.Result) map[string]uint64 {
	t.Helper()
	done := map[string]uint64{}
	for _, k := range r.Load.Kinds {
		done[k.Kind] = k.Completed
		if k.Failed+k.TimedOut > 0 {
			t.Errorf("%s: %d failed, %d timed out: %v", k.Kind, k.Failed, k.TimedOut, r.Load.Errors)
		}
	}
	return done
}
