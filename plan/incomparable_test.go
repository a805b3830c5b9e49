package plan

import (
	"strings"
	"testing"
)

// ruled is a catalog with an engine that has two sets of rules.
type ruled struct{ testCatalog }

func (ruled) Engines() []Engine {
	return []Engine{{Name: "trade", Parameters: []Parameter{
		{Name: "rules", Type: "enum", Values: []string{"old", "new"}, Default: "old", Incomparable: true}, {Name: "users", Type: "int", Default: "1"},
	}}}
}

func TestIncomparableLevelsAreRefused(t *testing.T) {
	source := func(levels string) []byte {
		return []byte("title: t\nhosts: {here: {agent: local}}\nworkloads: {w: {engine: trade, source: here, window: 5s}}\nfactors: {f: " + levels +
			"}\nprimary: {throughput: {better: higher, margin: 2%}}\nrepeat: {blocks: 3}\n")
	}
	for levels, refused := range map[string]bool{
		"{a: {workloads.w.rules: old}, b: {workloads.w.rules: new}}":                                             true,
		"{a: {workloads.w.users: 1}, b: {workloads.w.users: 2}}":                                                 false,
		"{a: {workloads.w.users: 1, workloads.w.rules: new}, b: {workloads.w.users: 2, workloads.w.rules: new}}": false,
	} {
		_, err := Parse("plan.yaml", source(levels), ruled{})
		if (err != nil) != refused {
			t.Errorf("%s: found %v, refused: %t", levels, err, refused)
		}
		if refused && (err == nil || !strings.Contains(err.Error(), `workloads.w.rules: found "old" in one cell and "new" in another`)) {
			t.Errorf("%s: found %v", levels, err)
		}
	}
}
