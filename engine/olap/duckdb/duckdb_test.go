//go:build duckdb

package duckdb_test

import (
	"path/filepath"
	"testing"

	"bakeoff/engine/olap"
	"bakeoff/engine/olap/duckdb"
	"bakeoff/load"
	"bakeoff/load/loadtest"
)

func engine() load.Engine { return olap.New(duckdb.Target{}) }

func run(t *testing.T, target string, parameters map[string]any) (load.Result, string) {
	t.Helper()
	spec := load.Spec{Workload: "w", Part: load.Source, Engine: "olap", Target: target, Parameters: parameters, Seed: 7}
	r, err := load.Open(t.Context(), engine(), spec, load.Env{})
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	set, err := r.Prepare(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	result, err := r.Measure(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	loadtest.Check(t, result)
	if l := result.Load; l.Ledger.Failed+l.Ledger.TimedOut > 0 {
		t.Fatalf("%d operations failed, %d timed out: %v", l.Ledger.Failed, l.Ledger.TimedOut, l.Errors)
	}
	return result, set.Prepared
}

// TestAnswersAtScaleFactor1 compares every answer with the published ones.
func TestAnswersAtScaleFactor1(t *testing.T) {
	if testing.Short() {
		t.Skip("loads 1 GB")
	}
	result, _ := run(t, "duckdb:", map[string]any{"scale": 1, "parameters": "validation", "validate": "never"})
	if n := result.Load.Ledger.Completed; n != 22 {
		t.Errorf("%d queries were answered, want 22", n)
	}
	if result.Load.Server["version"] == "" {
		t.Errorf("the record has only the settings %v", result.Load.Server)
	}
}

func TestRefreshesAreRestored(t *testing.T) {
	for _, restore := range []string{"copy", "undo"} {
		target := "duckdb://" + filepath.Join(t.TempDir(), "tpch.duckdb")
		parameters := map[string]any{"scale": 0.01, "mode": "both", "refresh": true, "parallel": 2, "restore": restore}
		first, _ := run(t, target, parameters)
		second, prepared := run(t, target, parameters)
		if prepared != "restored" || first.Load.DataSet.Fingerprint != second.Load.DataSet.Fingerprint {
			t.Errorf("%s: the data set was %s: %s and %s", restore, prepared, first.Load.DataSet.Fingerprint, second.Load.DataSet.Fingerprint)
		}
		if got := second.Load.Server["threads"]; got != "2" {
			t.Errorf("%s threads, want 2", got)
		}
	}
}

func TestConformance(t *testing.T) {
	loadtest.Run(t, engine(), load.Spec{Target: "duckdb://" + filepath.Join(t.TempDir(), "tpch.duckdb"), Parameters: map[string]any{"scale": 0.01}})
}
