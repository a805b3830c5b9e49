package engine

import (
	"strings"
	"testing"

	"bakeoff/load"
)

func TestTable(t *testing.T) {
	seen := map[string]bool{}
	for _, e := range Table() {
		if seen[e.Name()] {
			t.Errorf("two engines are called %q", e.Name())
		}
		seen[e.Name()] = true
		if found, err := Lookup(e.Name()); err != nil || found.Name() != e.Name() {
			t.Errorf("Lookup(%q) = %v, %v", e.Name(), found, err)
		}
		if _, err := load.ReadParams(e.Name(), e.Describe(), nil); err != nil {
			t.Error(err)
		}
	}
}

func TestLookupNamesTheNearest(t *testing.T) {
	for name, want := range map[string]string{
		"nul":     `unknown engine "nul": did you mean "null"?`,
		"cassava": `unknown engine "cassava": expected one of null`,
	} {
		if _, err := Lookup(name); err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("Lookup(%q): %v, want %q", name, err, want)
		}
	}
}
