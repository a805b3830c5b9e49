package self_test

import (
	"slices"
	"strings"
	"testing"

	"bakeoff/claim"
	"bakeoff/claim/self"
)

// What the newer parts of a report say in words and rows, and not in digits alone.
func TestWrongWordsAreNamed(t *testing.T) {
	table := func(r object, id string) object {
		for _, x := range r["tables"].([]any) {
			if x.(object)["id"] == id {
				return x.(object)
			}
		}
		t.Fatalf("no table %s", id)
		return nil
	}
	column := func(x object, head string) int {
		return slices.IndexFunc(x["columns"].([]any), func(c any) bool { return c == head })
	}
	put := func(id, head string, row int, text string) func(object) {
		return func(r object) {
			x := table(r, id)
			x["rows"].([]any)[row].([]any)[column(x, head)] = text
		}
	}
	for _, c := range []struct {
		design, name string
		edit         func(object)
		want         string
	}{
		{"peaks", "another limit", put("peaks", "limit", 0, "the generator"), "table peaks"},
		{"peaks", "another peak", put("peaks", "peak (connections)", 1, "128"), "table peaks"},
		{"peaks", "a load left out", func(r object) { x := table(r, "peak-curve"); x["rows"] = x["rows"].([]any)[1:] }, "table peak-curve"},
		{"peaks", "a trial at another load", func(r object) { r["trials"].([]any)[3].(object)["at"] = "31" }, "trial 0004"},
		{"ladder", "a step that helped", func(r object) { r["answer"] = strings.Replace(r["answer"].(string), "Made it worse", "Helped", 1) }, "the answer"},
		{"ladder", "another verdict", put("ladder", "verdict", 1, "better"), "table ladder"},
		{"queries", "another kind", put("profile", "kind", 0, "set"), "table profile"},
		{"instances", "another least", put("loads-at-once", "least", 0, "get on client"), "table loads-at-once"},
	} {
		t.Run(c.design+", "+c.name, func(t *testing.T) {
			t.Parallel()
			b := newBench(t, designs()[c.design])
			run := b.run()
			p, err := self.Prepare(run, b.plan)
			if err != nil {
				t.Fatal(err)
			}
			a, err := p.Audit(edited(t, b.printed(run), c.edit))
			if err != nil {
				t.Fatal(err)
			}
			if !slices.ContainsFunc(a.Outcomes, func(o claim.Outcome) bool { return o.Verdict.Raised() && o.ID == c.want }) {
				t.Errorf("%d are raised, none of them %q", a.Raised(), c.want)
			}
		})
	}
}
