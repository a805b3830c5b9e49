package report

import (
	"bytes"
	"fmt"
	"io"
	"math"
	"strings"
	"unicode"

	"bakeoff/analysis"
	"bakeoff/record"
)

// GoBench writes the trials that stand behind the verdicts in the Go benchmark data
// format (golang.org/design/14313-benchmark-format), which benchstat reads: one line
// a trial, in the order of the run, with the cell's levels as /factor=level and
// every measure under a unit of its own, NAME-UNIT:
//
//	Unit throughput-ops/s better=higher
//	BenchmarkTrial/server=redis/size=32B 1 412300 throughput-ops/s 0.000183 latency.p99-sec
//
// Compare two levels with benchstat -col /server FILE. Characters that the format
// gives a meaning are written as %XX in names.
func GoBench(w io.Writer, r *analysis.Result) error {
	var b bytes.Buffer
	keys := valueKeys(r)
	for _, line := range [][2]string{{"bakeoff-run", r.Run.ID}, {"bakeoff-build", r.Run.Build}, {"bakeoff-plan", r.Run.PlanHash}} {
		if line[1] != "" {
			fmt.Fprintf(&b, "%s: %s\n", line[0], oneLine(line[1]))
		}
	}
	b.WriteByte('\n')
	for _, k := range keys {
		if k.measure.Better != record.NoDirection {
			fmt.Fprintf(&b, "Unit %s better=%s\n", benchUnit(k), k.measure.Better)
		}
	}
	b.WriteByte('\n')
	for _, t := range r.Trials {
		if t.Counted {
			benchLine(&b, t, keys)
		}
	}
	if _, err := w.Write(b.Bytes()); err != nil {
		return fmt.Errorf("writing the Go benchmark report: %w", err)
	}
	return nil
}

func benchLine(b *bytes.Buffer, t analysis.TrialRow, keys []valueKey) {
	var values strings.Builder
	for _, k := range keys {
		if v, ok := t.Values[k.key]; ok && !math.IsNaN(v) && !math.IsInf(v, 0) {
			fmt.Fprintf(&values, " %s %s", digits(v), benchUnit(k))
		}
	}
	if values.Len() == 0 {
		return
	}
	b.WriteString("BenchmarkTrial")
	for i, l := range t.Cell {
		level := benchName(l.Level)
		if i == len(t.Cell)-1 {
			level = notProcs(level)
		}
		b.WriteString("/" + benchName(l.Factor) + "=" + level)
	}
	fmt.Fprintf(b, " 1%s\n", values.String())
}

// benchUnit names a measure as the format wants it: one word, the unit last.
// Seconds are "sec" there, fractions "ratio".
func benchUnit(k valueKey) string {
	unit := k.measure.Unit
	switch unit {
	case "s":
		unit = "sec"
	case "1", "":
		unit = "ratio"
	}
	return benchName(strings.ReplaceAll(k.key, "/", ".")) + "-" + benchWord(unit)
}

// benchName writes a name without the characters that the format gives a meaning.
func benchName(s string) string {
	var b strings.Builder
	for _, r := range s {
		if unicode.IsLetter(r) || unicode.IsDigit(r) || strings.ContainsRune("._+-", r) {
			b.WriteRune(r)
			continue
		}
		for _, c := range []byte(string(r)) {
			fmt.Fprintf(&b, "%%%02X", c)
		}
	}
	if b.Len() == 0 {
		return "%00"
	}
	return b.String()
}

// benchWord is benchName for units, whose slash divides.
func benchWord(s string) string {
	parts := strings.Split(strings.ReplaceAll(s, " ", "-"), "/")
	for i := range parts {
		parts[i] = benchName(parts[i])
	}
	return strings.Join(parts, "/")
}

// notProcs escapes a last "-8", which would be read as GOMAXPROCS.
func notProcs(s string) string {
	at := strings.LastIndexByte(s, '-')
	if at < 0 || at == len(s)-1 || strings.Trim(s[at+1:], "0123456789") != "" {
		return s
	}
	return s[:at] + "%2D" + s[at+1:]
}

func oneLine(s string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsControl(r) {
			return ' '
		}
		return r
	}, s)
}
