package tidy

import (
	"os"
	"strings"
	"testing"
	"testing/fstest"
)

func TestModuleKeepsTheRules(t *testing.T) {
	m, err := Load(os.DirFS("../.."))
	if err != nil {
		t.Fatal(err)
	}
	for name, check := range checks(m) {
		for _, fault := range check() {
			t.Errorf("%s: %s", name, fault)
		}
	}
}

func checks(m *Module) map[string]func() []string {
	return map[string]func() []string{
		"sizes": m.Sizes, "names": m.Names, "surroundings": m.Surroundings, "inits": m.Inits,
		"globals": m.Globals, "comments": m.Comments, "directions": m.Directions,
	}
}

// TestRulesFindFaults shows each rule a file that breaks it.
func TestRulesFindFaults(t *testing.T) {
	long := "// Package stats is.\npackage stats\n\nfunc long() {\n" + strings.Repeat("\t_ = 1\n", 80) + "}\n"
	tests := map[string]struct{ path, src, want string }{
		"sizes":        {"stats/a.go", long, "long has 82 lines"},
		"names":        {"util/a.go", "// Package util is.\npackage util\n", "tells a newcomer nothing"},
		"surroundings": {"stats/a.go", "// Package stats is.\npackage stats\n\nimport \"time\"\n\nfunc f() { time.Now() }\n", "time.Now in the core"},
		"inits":        {"stats/a.go", "// Package stats is.\npackage stats\n\nfunc init() {}\n", "func init"},
		"globals":      {"stats/a.go", "// Package stats is.\npackage stats\n\nvar n int\n\nfunc f() { n++ }\n", "package variable n"},
		"comments":     {"stats/a.go", "// Package stats is.\npackage stats\n\nfunc F() {}\n", "F has no comment"},
		"directions":   {"stats/a.go", "// Package stats is.\npackage stats\n\nimport \"bakeoff/load\"\n\nvar _ = load.F\n", "stats may import only"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			m, err := Load(fstest.MapFS{tt.path: {Data: []byte(tt.src)}})
			if err != nil {
				t.Fatal(err)
			}
			got := strings.Join(checks(m)[name](), "\n")
			if !strings.Contains(got, tt.want) {
				t.Errorf("got %q, want it to contain %q", got, tt.want)
			}
		})
	}
}

func TestEnginesNeverImportOneAnother(t *testing.T) {
	src := "// Package kv is.\npackage kv\n\nimport \"bakeoff/engine/null\"\n\nvar _ = null.F\n"
	m, err := Load(fstest.MapFS{"engine/kv/a.go": {Data: []byte(src)}})
	if err != nil {
		t.Fatal(err)
	}
	if got := m.Directions(); len(got) != 1 || !strings.Contains(got[0], "never import one another") {
		t.Errorf("got %q", got)
	}
}
