package olap_test

import (
	"fmt"
	"strings"
	"testing"

	"bakeoff/load"
)

// TestDatabasesAgree: every database gives the right answers to the validation
// parameters, and the same ones as the others to parameters drawn from a seed.
func TestDatabasesAgree(t *testing.T) {
	_, pg := postgresTarget(t)
	_, maria := mariadbTarget(t)
	answers := map[string]map[string]string{}
	for name, target := range map[string]string{"sqlite": sqliteTarget(t), "postgres": pg, "mariadb": maria} {
		result, prepared := run(t, target, map[string]any{"scale": 0.01, "mode": "both", "streams": 2, "parameters": "validation"})
		if prepared != "loaded" {
			t.Errorf("%s: the data set was %s", name, prepared)
		}
		done := kinds(t, result)
		for q := 1; q <= 22; q++ {
			if n := done[fmt.Sprintf("q%d", q)]; n != 3 {
				t.Errorf("%s: query %d was answered %d times, want 3", name, q, n)
			}
		}
		result, prepared = run(t, target, map[string]any{"scale": 0.01, "mode": "both", "streams": 2})
		if prepared != "kept" {
			t.Errorf("%s: the second time the data set was %s", name, prepared)
		}
		kinds(t, result)
		answers[name] = answersOf(t, result)
		if len(result.Load.Server) < 5 {
			t.Errorf("%s: the record has only the settings %v", name, result.Load.Server)
		}
	}
	for key, want := range answers["postgres"] {
		for _, name := range []string{"sqlite", "mariadb"} {
			if got := answers[name][key]; got != want {
				t.Errorf("%s, %s: %s, PostgreSQL has %s", name, key, got, want)
			}
		}
	}
}

// answersOf reads the list of queries in the record: rows and the hash of what
// matches exactly, by stream, query and parameters.
func answersOf(t *testing.T, r load.Result) map[string]string {
	t.Helper()
	answers := map[string]string{}
	for name, content := range r.Logs {
		if !strings.HasSuffix(name, "queries.txt") {
			continue
		}
		for line := range strings.Lines(string(content)) {
			f := strings.Fields(line)
			if len(f) < 8 || !strings.HasPrefix(f[1], "q") {
				continue
			}
			rows, rest, _ := strings.Cut(f[5], ":")
			hash, _, _ := strings.Cut(rest, ":")
			answers[f[0]+" "+f[1]+" "+strings.Join(f[6:], " ")] = rows + " " + hash
		}
	}
	if len(answers) == 0 {
		t.Fatalf("the record has no list of queries, among %d logs", len(r.Logs))
	}
	return answers
}

// TestRefreshesAreRestored runs refresh functions and looks at what is there
// afterwards, for each way of restoring it.
func TestRefreshesAreRestored(t *testing.T) {
	_, pg := postgresTarget(t)
	_, maria := mariadbTarget(t)
	for _, tt := range []struct{ name, target, restore string }{
		{"sqlite copy", sqliteTarget(t), "auto"}, {"postgres copy", pg, "copy"}, {"postgres undo", pg, "undo"}, {"mariadb undo", maria, "auto"}, {"mariadb load", maria, "load"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			parameters := map[string]any{"scale": 0.01, "mode": "both", "streams": 2, "refresh": true, "restore": tt.restore}
			first, _ := run(t, tt.target, parameters)
			if done := kinds(t, first); done["rf1"] != 3 || done["rf2"] != 3 {
				t.Errorf("%d and %d refresh functions were done, want 3 of each", done["rf1"], done["rf2"])
			}
			for _, name := range []string{"unaudited_power_at_size", "unaudited_throughput_at_size", "unaudited_queries_per_hour", "geometric_mean"} {
				if figure(first, name) <= 0 {
					t.Errorf("figure %s is %g", name, figure(first, name))
				}
			}
			second, prepared := run(t, tt.target, parameters)
			if prepared != "restored" {
				t.Errorf("the data set was %s, want it restored", prepared)
			}
			if a, b := first.Load.DataSet.Fingerprint, second.Load.DataSet.Fingerprint; a != b {
				t.Errorf("the data set changed from %s to %s", a, b)
			}
			if a, b := answersOf(t, first), answersOf(t, second); a["0 q1"] != b["0 q1"] {
				t.Errorf("other answers after the restore: %s and %s", a["0 q1"], b["0 q1"])
			}
			if figure(second, "restore_time") <= 0 {
				t.Error("the record does not say how long the restore took")
			}
		})
	}
}

func figure(r load.Result, name string) float64 {
	for _, f := range r.Load.Figures {
		if f.Name == name {
			return f.Value
		}
	}
	return 0
}

// TestSubsetsHaveNoComposite: without every query there is neither a mean
// nor a rate.
func TestSubsetsHaveNoComposite(t *testing.T) {
	result, _ := run(t, sqliteTarget(t), map[string]any{"scale": 0.01, "refresh": true, "queries": "1,6"})
	if v := figure(result, "geometric_mean"); v != 0 {
		t.Errorf("two queries gave the geometric mean %g", v)
	}
	if v := figure(result, "unaudited_power_at_size"); v != 0 {
		t.Errorf("two queries gave the power metric %g", v)
	}
}

// TestALoadGoesOn cuts loads off and lets them go on.
func TestALoadGoesOn(t *testing.T) {
	_, pg := postgresTarget(t)
	for name, target := range map[string]string{"sqlite": sqliteTarget(t), "postgres": pg} {
		t.Run(name, func(t *testing.T) { goesOn(t, target) })
	}
}
