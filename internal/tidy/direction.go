package tidy

import (
	"fmt"
	"slices"
	"strings"
)

// may lists, for each top-level folder, the folders of the module that its
// code (tests apart) may import. Imports point one way.
func may() map[string][]string {
	reading := []string{"record", "plan", "hist", "stats", "unit", "analysis", "internal/spelling"}
	writing := []string{"record", "hist", "unit", "load", "internal/osenv", "internal/spelling"}
	return map[string][]string{
		"stats":     {},
		"unit":      {},
		"hist":      {},
		"internal":  {},
		"schema":    {},
		"record":    {"hist", "unit"},
		"plan":      {"record", "stats", "unit", "internal/spelling"},
		"foreign":   {"record", "unit", "hist"},
		"load":      writing,
		"engine":    writing,
		"telemetry": {"record", "unit", "internal/osenv"},
		"host":      {"record", "unit", "foreign", "internal/osenv"},
		"lab":       {"record", "unit", "host", "internal/osenv"},
		"fleet":     {"record", "plan", "load", "host", "run", "internal/osenv"},
		"analysis":  reading,
		"claim":     reading,
		"report":    append([]string{"claim"}, reading...),
		"run":       {"record", "plan", "hist", "stats", "unit", "analysis", "load", "engine", "host", "telemetry", "internal/osenv"},
		"web":       append([]string{"report", "claim"}, reading...),
	}
}

// Directions checks that imports point one way and that engines know nothing
// of one another.
func (m *Module) Directions() (faults []string) {
	rules := may()
	for _, f := range m.Files {
		top, _, _ := strings.Cut(f.Dir(), "/")
		if f.Test() || top == "cmd" || top == "bench" || top == "test" {
			continue
		}
		allowed, known := rules[top]
		if !known {
			faults = append(faults, f.Path+": the layout has no folder "+top)
			continue
		}
		for _, dir := range f.imports() {
			if fault := direction(f, top, dir, allowed); fault != "" {
				faults = append(faults, fault)
			}
		}
	}
	return faults
}

func direction(f File, top, imported string, allowed []string) string {
	importedTop, rest, _ := strings.Cut(imported, "/")
	switch {
	case top == "engine" && importedTop == "engine":
		mine, _, _ := strings.Cut(strings.TrimPrefix(f.Dir(), "engine/"), "/")
		theirs, _, _ := strings.Cut(rest, "/")
		if f.Dir() != "engine" && mine != theirs {
			return fmt.Sprintf("%s imports %s: engines never import one another", f.Path, imported)
		}
	case importedTop == top, slices.Contains(allowed, importedTop), slices.Contains(allowed, imported):
	default:
		return fmt.Sprintf("%s imports %s: %s may import only %v", f.Path, imported, top, allowed)
	}
	return ""
}
