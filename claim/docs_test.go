package claim_test

import (
	"bytes"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"bakeoff/analysis"
	"bakeoff/claim"
	"bakeoff/report"
)

// block is one code block of the documentation.
type block struct{ language, text string }

func blocks(t *testing.T, file string) []block {
	t.Helper()
	src, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	var out []block
	for _, m := range regexp.MustCompile("(?s)```([a-z ]*)\n(.*?)```").FindAllStringSubmatch(string(src), -1) {
		out = append(out, block{m[1], m[2]})
	}
	return out
}

func audited(t *testing.T, name string, src []byte) (*claim.Figures, claim.Audit, string) {
	t.Helper()
	figures, err := claim.Read(name, src)
	if err != nil {
		t.Fatalf("%v\n%s", err, src)
	}
	audit, err := figures.Audit()
	if err != nil {
		t.Fatalf("%v\n%s", err, src)
	}
	var text bytes.Buffer
	if err := report.AuditText(&text, audit, report.TextOptions{}); err != nil {
		t.Fatal(err)
	}
	return figures, audit, text.String()
}

// TestAuditingAReport follows the walk through a report: every file that it shows
// is read, every output that it shows is what comes out, and every conclusion
// stands but those that it says do not.
func TestAuditingAReport(t *testing.T) {
	var file, last string
	outputs, steps := 0, 0
	for _, b := range blocks(t, "../docs/auditing-a-report.md") {
		switch b.language {
		case "yaml file":
			file = b.text
		case "yaml claims":
			steps++
			src := file + "\n" + b.text
			figures, audit, text := audited(t, "my-report.yaml", []byte(src))
			last = text
			if _, err := figures.Result(); err != nil {
				t.Errorf("%v\n%s", err, src)
			}
			if raised := audit.Raised(); raised > 0 && !strings.Contains(b.text, "12.15 %") {
				t.Errorf("%d claims are objected to:\n%s", raised, text)
			}
		case "text":
			outputs++
			if !strings.Contains(last, strings.TrimRight(b.text, "\n")) {
				t.Errorf("the output shown is not what comes out:\n%s\nbut\n%s", b.text, last)
			}
		}
	}
	if steps != 5 || outputs != 2 {
		t.Errorf("%d steps and %d outputs were tested", steps, outputs)
	}
	src, err := os.ReadFile("../examples/published/a3-ipv6-offload.yaml")
	if err != nil {
		t.Fatal(err)
	}
	_, audit, _ := audited(t, "a3-ipv6-offload.yaml", src)
	if len(audit.Outcomes) != 26 || audit.Count(claim.Follows) != 20 || audit.Count(claim.OnlyCut) != 6 {
		t.Errorf("%d claims, %d follow, %d are cut", len(audit.Outcomes), audit.Count(claim.Follows), audit.Count(claim.OnlyCut))
	}
}

// The walk shows every kind of statement that there is.
func TestEveryKindIsDocumented(t *testing.T) {
	var text strings.Builder
	for _, b := range blocks(t, "../docs/auditing-a-report.md") {
		text.WriteString(b.text)
	}
	for _, kind := range claim.Kinds() {
		if !strings.Contains(text.String(), " "+string(kind)+":") {
			t.Errorf("no example of %s", kind)
		}
	}
}

// TestPrintedResultsRender renders every published report in every form.
func TestPrintedResultsRender(t *testing.T) {
	files, err := filepath.Glob("../examples/published/*.yaml")
	if err != nil || len(files) < 15 {
		t.Fatalf("%d published reports (%v)", len(files), err)
	}
	for _, file := range files {
		src, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		figures, _, _ := audited(t, filepath.Base(file), src)
		result, err := figures.Result()
		if err != nil {
			t.Fatal(err)
		}
		for name, render := range map[string]func(io.Writer, *analysis.Result) error{
			"html": report.HTML, "markdown": report.Markdown, "json": report.JSON, "csv": report.CSV, "bench": report.GoBench,
		} {
			var out bytes.Buffer
			if err := render(&out, result); err != nil {
				t.Errorf("%s as %s: %v", file, name, err)
			}
			if (name == "html" || name == "markdown") && !strings.Contains(out.String(), "From printed figures, not measured") {
				t.Errorf("%s as %s does not say that it was not measured", file, name)
			}
		}
	}
}
