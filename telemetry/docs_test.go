package telemetry

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

const (
	docsFile  = "../docs/telemetry.md"
	docsBegin = "<!-- metrics: written by go test ./telemetry -update -->\n"
	docsEnd   = "<!-- end of metrics -->\n"
)

// TestDocs keeps the tables of docs/telemetry.md true.
func TestDocs(t *testing.T) {
	data, err := os.ReadFile(docsFile)
	if err != nil {
		t.Fatal(err)
	}
	before, rest, ok := strings.Cut(string(data), docsBegin)
	found, after, ended := strings.Cut(rest, docsEnd)
	if !ok || !ended {
		t.Fatalf("%s lacks the lines %q and %q", docsFile, docsBegin, docsEnd)
	}
	want := metricsTable()
	if *update {
		if err := os.WriteFile(docsFile, []byte(before+docsBegin+want+docsEnd+after), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	if diff := cmp.Diff(want, found); diff != "" {
		t.Errorf("%s is out of date (-want +found); go test ./telemetry -update writes it afresh:\n%s", docsFile, diff)
	}
}

func metricsTable() string {
	var out strings.Builder
	listed := 0
	for _, c := range Table(Config{}) {
		d := c.Describe()
		fmt.Fprintf(&out, "\n### %s\n\n%s. Source: %s.\n", d.Name, sentence(d.Summary), d.Source)
		writeMetrics(&out, d.Metrics)
		listed += len(d.Metrics)
	}
	fmt.Fprintf(&out, "\n### %s\n\nPower sources, as a plan's hosts name them.\n", PowerGroup)
	writeMetrics(&out, PowerMetrics())
	if listed+len(PowerMetrics()) != len(Metrics()) {
		out.WriteString("\nMetrics lists others than the collectors do.\n")
	}
	return out.String() + "\n"
}

func writeMetrics(out *strings.Builder, metrics []Metric) {
	out.WriteString("\n| metric | unit | kind | meaning |\n|---|---|---|---|\n")
	for _, m := range metrics {
		fmt.Fprintf(out, "| `%s` | %s | %s | %s |\n", m.Name, m.Unit, m.Kind, m.Doc)
	}
}

func sentence(s string) string { return strings.ToUpper(s[:1]) + s[1:] }
