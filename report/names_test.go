package report

import (
	"strings"
	"testing"

	"bakeoff/analysis"
	"bakeoff/record"
	"bakeoff/report/quantity"
)

func TestPercent(t *testing.T) {
	for fraction, want := range map[float64]string{0.95: "95", 0.98333333: "98.33", 0.99872: "99.87", 0.02: "2", 0.015: "1.5", 0.99999: "99.999", 0.00001: "0.001", 1: "100", 0: "0"} {
		if got := percent(fraction); got != want+quantity.Space+"%" {
			t.Errorf("%v is written %q, want %s %%", fraction, got, want)
		}
	}
}

// Records made apart have no blocks in common, and a warning that both sides give
// is said once.
func TestComparisonOfRecords(t *testing.T) {
	r := twoCells()
	w := record.Warning{Gate: "not-interleaved", Severity: record.SeveritySoft, Found: "records made apart"}
	for i := range r.Findings {
		f := &r.Findings[i]
		f.Kind, f.Factor, f.Warnings = analysis.SimpleEffect, "record", []record.Warning{w, w}
	}
	for ext, f := range formats() {
		if ext != ".html" && ext != ".md" {
			continue
		}
		text := string(render(t, f, r))
		if strings.Contains(text, "n counts blocks") || !strings.Contains(text, "n counts trials; the records were not interleaved.") {
			t.Errorf("%s: n does not count blocks here", ext)
		}
		primary, _ := primaries(r)
		if got := strings.Count(text, "not-interleaved (soft): records made apart"); got != len(primary) {
			t.Errorf("%s: the warning of %d findings stands %d times", ext, len(primary), got)
		}
	}
}
