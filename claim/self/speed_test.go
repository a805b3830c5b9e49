package self

import (
	"os"
	"testing"
	"time"

	"bakeoff/analysis"
	"bakeoff/plan"
	"bakeoff/record"
)

func TestSpeedOf(t *testing.T) {
	dir := os.Getenv("RUNDIR")
	if dir == "" {
		t.Skip()
	}
	run, err := record.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	p, err := plan.Parse("plan.yaml", run.Plan, nil)
	if err != nil {
		t.Fatal(err)
	}
	now := time.Now()
	if _, _, err := analysis.Observe(run, p); err != nil {
		t.Fatal(err)
	}
	t.Log("observe", time.Since(now))
	now = time.Now()
	a, err := newAuditor(run, p)
	t.Log("derive", time.Since(now))
	src, err := os.ReadFile(dir + "/report/report.json")
	if err != nil {
		t.Fatal(err)
	}
	now = time.Now()
	got, err := a.audit("report.json", src)
	t.Log("audit", time.Since(now), err, len(got.Outcomes), got.Raised(), got.Source)
	for _, o := range got.Outcomes {
		if o.Verdict.Raised() {
			t.Logf("line %d: %s: %s %q", o.Line, o.ID, o.Text, o.Rows)
		}
	}
}
