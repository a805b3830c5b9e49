package self_test

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"bakeoff/claim"
	"bakeoff/claim/self"
)

// TestAbsenceIsWorkedOutAgain: a report that does not own that its generator or
// its target was gone is found out.
func TestAbsenceIsWorkedOutAgain(t *testing.T) {
	b := benchOf(t, "a generator and a target that were not there")
	run := b.run()
	report := b.printed(run)
	p, err := self.Prepare(run, b.plan)
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"generator-stalled", "target-silent", "connections-down"} {
		a, err := p.Audit(edited(t, report, func(r object) {
			for _, g := range r["gates"].([]any) {
				if g := g.(object); g["gate"] == name {
					if g["objected"] == json.Number("0") {
						t.Errorf("gate %s objects to nothing: the test is no good", name)
					}
					g["objected"] = 0
				}
			}
		}))
		if err != nil {
			t.Fatal(err)
		}
		if !slices.ContainsFunc(a.Outcomes, func(o claim.Outcome) bool { return o.Verdict.Raised() && strings.Contains(o.ID, name) }) {
			t.Errorf("%s: nothing is raised", name)
		}
	}
}
