package plan

import (
	"fmt"
	"os"
	"regexp"
	"strings"
	"testing"

	"go.yaml.in/yaml/v4"
)

const docsFile = "../docs/plan.md"

// keyTables are the tables of docs/plan.md, by their marks.
func keyTables() map[string][]field {
	var command []field
	for _, f := range settingFields() {
		if f.name == "command" {
			command = f.keys
		}
	}
	return map[string][]field{
		"top": topFields(), "hosts": hostFields(), "power": powerFields(), "services": serviceFields(), "workloads": workloadFields(), "settings": settingFields(),
		"command": command, "primary": primaryFields(), "repeat": repeatFields(), "limits": limitFields(), "telemetry": telemetryFields(), "money": moneyFields(),
		"operations": bracketFields(), "fleet": fleetFields(), "graded": gradedFields(), "peak": peakFields(),
	}
}

func (f field) form() string {
	form := map[shape]string{
		shapeLine: "text", shapePositive: "count above 0", shapeCPUs: "cores", shapeSeed: "number", shapeTexts: "list of text", shapeCommand: "list: program and arguments", shapeMap: "map of text",
		shapeSection: "map", shapeNamed: "name -> map", shapeSections: "list of maps", shapeTree: "map", shapeBool: "`true`, `false`", shapePercent: "percentage", shapeTariff: "money/kWh", shapeGrid: "g/kWh", shapeBrackets: "money, or list of maps",
	}[f.shape]
	switch {
	case f.shape == shapeEnum:
		form = "`" + strings.Join(f.values, "`, `") + "`"
	case form == "":
		form = string(f.shape)
	}
	if f.must {
		form += "; needed"
	}
	return form
}

func keyTable(fields []field) string {
	var b strings.Builder
	b.WriteString("| key | value | meaning |\n|---|---|---|\n")
	for _, f := range fields {
		fmt.Fprintf(&b, "| `%s` | %s | %s |\n", f.name, f.form(), f.doc)
		if f.shape == shapeSection && (f.name == "ready" || f.name == "stop") {
			for _, k := range f.keys {
				fmt.Fprintf(&b, "| `%s.%s` | %s | %s |\n", f.name, k.name, k.form(), k.doc)
			}
		}
	}
	return b.String()
}

// The tables of keys in the documentation are those of the parser.
func TestDocumentedKeys(t *testing.T) {
	src, err := os.ReadFile(docsFile)
	if err != nil {
		t.Fatal(err)
	}
	seen := map[string]bool{}
	mark := regexp.MustCompile(`(?s)<!-- keys: (\w+) -->\n.*?<!-- end -->`)
	want := mark.ReplaceAllStringFunc(string(src), func(block string) string {
		name := mark.FindStringSubmatch(block)[1]
		fields, ok := keyTables()[name]
		if !ok {
			t.Errorf("no table %q", name)
		}
		seen[name] = true
		return "<!-- keys: " + name + " -->\n" + keyTable(fields) + "<!-- end -->"
	})
	for name := range keyTables() {
		if !seen[name] {
			t.Errorf("%s has no table of the keys of %s", docsFile, name)
		}
	}
	if *update {
		if err := os.WriteFile(docsFile, []byte(want), 0o644); err != nil {
			t.Fatal(err)
		}
	} else if string(src) != want {
		t.Errorf("%s is not up to date; write it with go test ./plan -run TestDocumentedKeys -update", docsFile)
	}
}

// Every plan in the documentation is right, and so is every part of one, put in
// place of the same keys of a small plan.
func TestDocumentedPlans(t *testing.T) {
	src, err := os.ReadFile(docsFile)
	if err != nil {
		t.Fatal(err)
	}
	whole, parts := 0, 0
	for _, m := range regexp.MustCompile("(?s)```yaml (\\w+)\n(.*?)```").FindAllStringSubmatch(string(src), -1) {
		text := m[2]
		if m[1] == "part" {
			parts++
			text = completed(t, text)
		} else {
			whole++
		}
		if _, err := Parse(docsFile, []byte(text), testCatalog{}); err != nil {
			t.Errorf("%v\n%s", err, text)
		}
	}
	if all := strings.Count(string(src), "```yaml"); whole != 1 || parts != all-1 {
		t.Errorf("%d plans and %d parts of %d examples were tested", whole, parts, all)
	}
}

// completed adds the keys that a part of a plan leaves out.
func completed(t *testing.T, part string) string {
	t.Helper()
	rest := []string{"title: part", `workloads: {get: {engine: kv, target: "redis://127.0.0.1:6379", window: 5s}}`, "primary: {throughput: {better: higher, margin: 2%}}", "factors: {size: {small: {workloads.*.value_size: 1}, large: {workloads.*.value_size: 2}}}"}
	var keys map[string]any
	if err := yaml.Load([]byte(part), &keys); err != nil {
		t.Fatalf("%v in\n%s", err, part)
	}
	for _, line := range rest {
		key, _, _ := strings.Cut(line, ":")
		if _, ok := keys[key]; ok || key == "factors" && strings.Contains(part, "engine: exec") {
			continue
		}
		part += line + "\n"
	}
	if strings.Contains(part, "engine: exec") {
		part += "hosts: {a: {agent: local}}\nfactors: {n: {x: {workloads.own.workers: 1}, y: {workloads.own.workers: 2}}}\n"
	}
	return part
}
