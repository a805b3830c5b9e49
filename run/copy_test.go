package run

import (
	"context"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"bakeoff/analysis"
	"bakeoff/plan"
	"bakeoff/record"
)

// TestCopiesReportTheSame compares what a run on a real server says with what a
// copy of its directory and a redacted copy say.
func TestCopiesReportTheSame(t *testing.T) {
	c := newCrash(t)
	cfg, err := localConfig(parseTest(t, c.plan), c.dir, c.lock)
	if err != nil {
		t.Fatal(err)
	}
	s, err := Execute(context.Background(), cfg)
	if err != nil {
		t.Fatal(err)
	}
	want := observations(t, s.Dir)
	if len(want) == 0 {
		t.Fatal("the run says nothing")
	}
	elsewhere := filepath.Join(t.TempDir(), "copy")
	if err := os.CopyFS(elsewhere, os.DirFS(s.Dir)); err != nil {
		t.Fatal(err)
	}
	redacted := filepath.Join(t.TempDir(), "redacted")
	if _, err := record.Redact(s.Dir, redacted, "test", time.Now()); err != nil {
		t.Fatal(err)
	}
	for _, dir := range []string{elsewhere, redacted} {
		verified(t, dir)
		if d := cmp.Diff(want, observations(t, dir)); d != "" {
			t.Errorf("%s says something else:\n%s", filepath.Base(dir), d)
		}
	}
}

func observations(t *testing.T, dir string) []record.Observation {
	t.Helper()
	run, err := record.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	p, err := plan.Parse(run.Manifest.PlanName, run.Plan, nil)
	if err != nil {
		t.Fatal(err)
	}
	obs, _, err := analysis.Observe(run, p)
	if err != nil {
		t.Fatal(err)
	}
	return obs
}
