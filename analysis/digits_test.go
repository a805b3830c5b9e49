package analysis

import (
	"strconv"
	"strings"
	"testing"

	"bakeoff/plan"
	"bakeoff/record"
)

// printedBlocks are figures that a tool printed alike in every block.
func printedBlocks(printed bool, base, against string) []record.Observation {
	var out []record.Observation
	for block := 1; block <= 8; block++ {
		for level, text := range map[string]string{"a": base, "b": against} {
			v, _ := strconv.ParseFloat(text, 64)
			o := record.Observation{Cell: record.Cell{{Factor: "f", Level: level}}, Block: block, Trial: record.TrialID(level + strconv.Itoa(block)),
				Role: record.RoleMeasure, Measure: "score", Unit: "s", Better: record.LowerIsBetter, Value: v}
			if printed {
				o.Text = text
			}
			out = append(out, o)
		}
	}
	return out
}

// Figures that are the same in every block have no spread, and an interval of no
// width says better of anything: what their digits leave open decides.
func TestDigitsBoundTheInterval(t *testing.T) {
	for _, c := range []struct {
		base, against string
		want          Verdict
	}{
		{"1.2", "1.3", Inconclusive}, // between 1.25/1.25 and 1.35/1.15
		{"1.2", "1.4", Worse},        // at least 1.35/1.25
		{"5.0", "5.0", Inconclusive}, // 1 % open on either side, margin 2 %
		{"5.00", "5.00", Equivalent},
		{"5.00", "5.04", Equivalent},
		{"20", "10", Better},
		{"0", "0", Equivalent},
	} {
		for _, printed := range []bool{true, false} {
			if !printed && strings.HasSuffix(c.base, "0") && strings.Contains(c.base, ".") {
				continue // the value alone does not hold its last zeros
			}
			obs := printedBlocks(printed, c.base, c.against)
			p := Design(obs)
			p.Factors[0].Levels = []plan.Level{{Name: "a"}, {Name: "b"}}
			p.Factors[0].Baseline = "a"
			p.Primary = []plan.Primary{{Measure: "score", Better: record.LowerIsBetter, Margin: 0.02}}
			f := Judge(p, obs, Options{Resamples: -1})[0]
			if f.Verdict != c.want || f.N != 8 {
				t.Errorf("%s against %s (printed %t): %s, expected %s: [%g, %g] %s", c.against, c.base, printed, f.Verdict, c.want, f.Low, f.High, f.Coarse)
			}
			if f.Verdict == Inconclusive && (f.NeededN != 0 || !strings.Contains(sentence(f, "Score"), "inconclusive, for the few digits of its figures")) {
				t.Errorf("%s against %s: %d more blocks, %s", c.against, c.base, f.NeededN, sentence(f, "Score"))
			}
		}
	}
}

// Where repetition tells more than the digits leave open, the interval is that
// of the repetition.
func TestFineDigitsChangeNothing(t *testing.T) {
	var printed, plain []record.Observation
	for i, o := range printedBlocks(false, "1", "1.05") {
		o.Value *= 1 + 0.01*float64(i%5)
		plain = append(plain, o)
		o.Text = strconv.FormatFloat(o.Value, 'f', 6, 64)
		printed = append(printed, o)
	}
	judged := func(obs []record.Observation) Finding {
		p := Design(plain)
		p.Primary = []plan.Primary{{Measure: "score", Better: record.LowerIsBetter, Margin: 0.02}}
		return Judge(p, obs, Options{Resamples: -1})[0]
	}
	if a, b := judged(plain), judged(printed); a.Low != b.Low || a.High != b.High || b.Coarse != "" {
		t.Errorf("[%v, %v] became [%v, %v] %s", a.Low, a.High, b.Low, b.High, b.Coarse)
	}
}
