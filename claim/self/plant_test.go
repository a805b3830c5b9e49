package self_test

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"bakeoff/claim"
	"bakeoff/claim/self"
)

// digitsOf lists where the digits of a JSON report's figures stand: of its
// numbers, and of its texts that are values and not keys.
func digitsOf(report []byte) (places []int) {
	for at := 0; at < len(report); at++ {
		switch c := report[at]; {
		case c == '"':
			end := textEnd(report, at)
			if !bytes.HasPrefix(report[end:], []byte(":")) {
				places = append(places, digitsWithin(report, at, end)...)
			}
			at = end - 1
		case c >= '0' && c <= '9':
			places = append(places, at)
		}
	}
	return places
}

// textEnd is the place behind the quote that ends a text.
func textEnd(report []byte, at int) int {
	for at++; report[at] != '"'; at++ {
		if report[at] == '\\' {
			at++
		}
	}
	return at + 1
}

func digitsWithin(report []byte, from, to int) (places []int) {
	for at := from; at < to; at++ {
		switch c := report[at]; {
		case c == '\\' && report[at+1] == 'u':
			at += 5
		case c >= '0' && c <= '9':
			places = append(places, at)
		}
	}
	return places
}

// plant changes one digit.
func plant(report []byte, at int, digit byte) []byte {
	changed := bytes.Clone(report)
	changed[at] = digit
	return changed
}

func lineOf(report []byte, at int) int { return 1 + bytes.Count(report[:at], []byte("\n")) }

// element is the lines of the member of the result, or of the element of its
// list, that a line belongs to; and the line on which its list begins.
func element(lines []string, line int) (from, to, list int) {
	indent := func(l int) int { return len(lines[l-1]) - len(strings.TrimLeft(lines[l-1], " ")) }
	for from = line; indent(from) > 6; from-- {
	}
	for list = from; indent(list) > 4; list-- {
	}
	for to = line + 1; to < len(lines) && indent(to) > 6; to++ {
	}
	return from, to, list
}

// found says whether an audit raises a claim where an error was planted, or
// refuses the report.
func found(p self.Prepared, report []byte, lines []string, line int) bool {
	a, err := p.Audit(report)
	if err != nil {
		return true // 012 is no number in JSON
	}
	from, to, list := element(lines, line)
	return slices.ContainsFunc(a.Outcomes, func(o claim.Outcome) bool {
		return o.Verdict.Raised() && (o.Line >= from && o.Line <= to || o.Line == list)
	})
}

// A planting is an honest report in which errors are planted.
type planting struct {
	p      self.Prepared
	report []byte
	lines  []string
	places []int
}

func newPlanting(t *testing.T, b *bench) planting {
	t.Helper()
	run := b.run()
	g := planting{report: b.printed(run)}
	var err error
	if g.p, err = self.Prepare(run, b.plan); err != nil {
		t.Fatal(err)
	}
	g.lines, g.places = strings.Split(string(g.report), "\n"), digitsOf(g.report)
	return g
}

// try changes the digit at a place by so much, and says what was not found.
func (g planting) try(at int, by byte) string {
	digit, line := '0'+(g.report[at]-'0'+by)%10, lineOf(g.report, at)
	if found(g.p, plant(g.report, at, digit), g.lines, line) {
		return ""
	}
	return fmt.Sprintf("line %d: %c for %c is not found in %q of %.300s", line, digit, g.report[at], g.report[max(0, at-15):at+15], g.lines[line-1])
}

// TestPlantedErrorsAreFound changes digits anywhere in a report. A digit changes
// by two or more: where a value lies in the middle of two that can be printed,
// the last digit may be either.
func TestPlantedErrorsAreFound(t *testing.T) {
	for _, name := range []string{"workloads", "money", "graded", "against itself", "peaks", "ladder", "queries", "data set, facts and warnings of the load", "a generator and a target that were not there"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			g := newPlanting(t, benchOf(t, name))
			rapid.Check(t, func(t *rapid.T) {
				at := rapid.SampledFrom(g.places).Draw(t, "place")
				if missed := g.try(at, rapid.ByteRange(2, 8).Draw(t, "by")); missed != "" {
					t.Error(missed)
				}
			})
		})
	}
}

// benchOf makes a run of a design, or a mishap.
func benchOf(t *testing.T, name string) *bench {
	src, ok := designs()[name]
	if !ok {
		src = twoServers + "repeat: {blocks: 8}\n" + limitsOf(name)
	}
	b := newBench(t, src)
	if mishap := mishaps()[name]; mishap != nil {
		mishap(b)
	}
	return b
}
