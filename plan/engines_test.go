package plan_test

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"bakeoff/engine"
	"bakeoff/load"
	"bakeoff/plan"
	"bakeoff/telemetry"
)

// catalog is what the examples use of the binary.
type catalog struct{}

func (catalog) Collectors() []string {
	names := []string{telemetry.PowerGroup}
	for _, c := range telemetry.Table(telemetry.Config{}) {
		names = append(names, c.Describe().Name)
	}
	return names
}

func (catalog) Engines() []plan.Engine {
	var out []plan.Engine
	targeted := []string{"kv", "http", "net"}
	for _, e := range engine.Table() {
		d := e.Describe()
		described := plan.Engine{Name: e.Name(), Kinds: d.Kinds, Figures: d.Figures, Target: slices.Contains(targeted, e.Name()), Embedded: slices.Contains(targeted, e.Name())}
		for _, p := range d.Parameters {
			described.Parameters = append(described.Parameters, plan.Parameter{Name: p.Name, Type: string(p.Type), Default: p.Default, Values: p.Values, Doc: p.Doc})
		}
		described.Check = func(w plan.Workload) error {
			s, err := e.Open(context.Background(), load.Spec{Workload: w.Name, Part: load.Source, Engine: w.Engine, Target: w.Target, Parameters: w.Parameters, Common: load.Common{Workers: w.Workers}})
			if err != nil {
				return err
			}
			return s.Close()
		}
		out = append(out, described)
	}
	return out
}

// Every example is a plan that the engines of the binary can run.
func TestExamples(t *testing.T) {
	files, err := filepath.Glob("../examples/*.yaml")
	if err != nil || len(files) < 6 {
		t.Fatalf("found %d examples: %v", len(files), err)
	}
	plans := map[string][]byte{"template": plan.Template(), "quick": plan.Quick(plan.QuickHost{})}
	for _, f := range files {
		if plans[f], err = os.ReadFile(f); err != nil {
			t.Fatal(err)
		}
	}
	for name, src := range plans {
		p, err := plan.Parse(name, src, catalog{})
		if err != nil {
			t.Errorf("%v", err)
			continue
		}
		e, err := p.Estimate()
		if err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if len(p.Effects()) == 0 || p.Question == "" || e.Trials < 16 {
			t.Errorf("%s: %d comparisons, question %q, %d trials", name, len(p.Effects()), p.Question, e.Trials)
		}
		if f, ok := strings.CutPrefix(name, "../"); ok && !strings.Contains(string(src), f) && !strings.Contains(f, "a1-") {
			t.Errorf("%s does not say how to run it", name)
		}
		t.Logf("%s: %d cells, %d to %d trials, %v to %v", name, e.Cells, e.Trials, e.MaxTrials, e.Time, e.MaxTime)
	}
}
