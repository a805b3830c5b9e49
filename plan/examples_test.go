package plan

import (
	"os"
	"path/filepath"
	"testing"
)

// Every example is read back as a record's plan is, without the engines.
// engines_test.go checks them against the engines.
func TestExamplesWithoutEngines(t *testing.T) {
	files, err := filepath.Glob("../examples/*.yaml")
	if err != nil || len(files) < 6 {
		t.Fatalf("found %d examples: %v", len(files), err)
	}
	for _, f := range files {
		src, err := os.ReadFile(f)
		if err != nil {
			t.Fatal(err)
		}
		p, err := Parse(f, src, nil)
		if err != nil {
			t.Error(err)
			continue
		}
		e, err := p.Estimate()
		if err != nil {
			t.Error(err)
		}
		t.Logf("%s: %d cells, %d to %d trials, %v to %v, %d verdicts", f, e.Cells, e.Trials, e.MaxTrials, e.Time, e.MaxTime, p.Family())
	}
}
