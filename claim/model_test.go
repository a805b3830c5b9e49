package claim

import (
	"fmt"
	"math/big"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// model is a report made from true values: two systems, two measures.
type model struct {
	oldRate, newRate int64 // thousandths of ops/s
	oldTime, newTime int64 // thousandths of ms
}

func drawModel(t *rapid.T) model {
	value := rapid.Int64Range(20_000, 9_000_000)
	return model{value.Draw(t, "old rate"), value.Draw(t, "new rate"), value.Draw(t, "old time"), value.Draw(t, "new time")}
}

// printed writes thousandths with three decimals.
func printed(thousandths int64) string {
	return big.NewRat(thousandths, 1000).FloatString(3)
}

// file is the figures file of the model with one claim.
func (m model) file(kind, measure, value string) string {
	return fmt.Sprintf(`title: A model
measures:
  rate: {unit: ops/s, better: higher}
  time: {unit: ms, better: lower}
tables:
  all: |
    system | rate | time
    old    | %s   | %s
    new    | %s   | %s
    other  | 7.000 | 7.000
claims:
  - id: it
    printed: %q
    %s: {of: %s, from: {system: old}, to: {system: new}}
`, printed(m.oldRate), printed(m.oldTime), printed(m.newRate), printed(m.newTime), value, kind, measure)
}

// percentText prints a ratio as percent, rounded to hundredths.
func percentText(r *big.Rat) string {
	return new(big.Rat).Mul(r, big.NewRat(100, 1)).FloatString(2) + " %"
}

func ratio(a, b int64) *big.Rat { return big.NewRat(a, b) }

func less1(r *big.Rat) *big.Rat { return new(big.Rat).Sub(r, big.NewRat(1, 1)) }

func neg(r *big.Rat) *big.Rat { return new(big.Rat).Neg(r) }

func auditOne(t *rapid.T, src string) Outcome {
	f, err := Read("model.yaml", []byte(src))
	if err != nil {
		t.Fatalf("%v\n%s", err, src)
	}
	a, err := f.Audit()
	if err != nil {
		t.Fatal(err)
	}
	return a.Outcomes[0]
}

// TestTrueConclusionsStand audits conclusions drawn rightly from a model.
func TestTrueConclusionsStand(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		m := drawModel(t)
		for _, c := range []struct{ kind, measure, value string }{
			{"improvement", "rate", percentText(less1(ratio(m.newRate, m.oldRate)))},
			{"improvement", "time", percentText(neg(less1(ratio(m.newTime, m.oldTime))))},
			{"more", "time", percentText(less1(ratio(m.newTime, m.oldTime)))},
			{"less", "rate", percentText(neg(less1(ratio(m.newRate, m.oldRate))))},
			{"faster", "time", percentText(less1(ratio(m.oldTime, m.newTime)))},
			{"ratio", "rate", ratio(m.newRate, m.oldRate).FloatString(2) + "x"},
		} {
			if o := auditOne(t, m.file(c.kind, c.measure, c.value)); o.Verdict != Follows {
				t.Errorf("%s of %s, printed %s: %s: %s", c.kind, c.measure, c.value, o.Verdict, o.Text)
			}
		}
	})
}

// TestPlantedErrorsAreNamed plants one error of each kind in a model's
// conclusion. The error must be found, and named among the causes, unless the
// wrong value happens to print as the right one.
func TestPlantedErrorsAreNamed(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		m := drawModel(t)
		rates, times := ratio(m.newRate, m.oldRate), ratio(m.newTime, m.oldTime)
		for _, c := range []struct {
			cause, kind, measure string
			wrong, right         *big.Rat
		}{
			{"wrong base", "improvement", "rate", neg(less1(ratio(m.oldRate, m.newRate))), less1(rates)},
			{"direction swapped", "improvement", "rate", neg(less1(rates)), less1(rates)},
			{"direction swapped", "improvement", "time", less1(times), neg(less1(times))},
			{"given as \"N % more\"", "improvement", "rate", rates, less1(rates)},
			{"ratio of times for ratio of rates", "faster", "time", neg(less1(times)), less1(ratio(m.oldTime, m.newTime))},
			{"ratio of rates for ratio of times", "improvement", "time", less1(ratio(m.oldTime, m.newTime)), neg(less1(times))},
			{"the wrong row", "improvement", "rate", less1(ratio(7000, m.oldRate)), less1(rates)},
			{"MB for MiB", "improvement", "rate", less1(new(big.Rat).Mul(rates, big.NewRat(1048576, 1000000))), less1(rates)},
			{"bits for bytes", "improvement", "rate", less1(new(big.Rat).Mul(rates, big.NewRat(8, 1))), less1(rates)},
		} {
			if near(c.wrong, c.right) {
				continue
			}
			o := auditOne(t, m.file(c.kind, c.measure, percentText(c.wrong)))
			if o.Verdict != DoesNot || !strings.Contains(strings.Join(o.Causes, "\n"), c.cause) {
				t.Errorf("%s: %s of %s, printed %s: %s: %s; causes %q", c.cause, c.kind, c.measure, percentText(c.wrong), o.Verdict, o.Text, o.Causes)
			}
		}
	})
}

// near reports whether two values cannot be told apart at the precision that a
// model prints.
func near(a, b *big.Rat) bool {
	d := new(big.Rat).Sub(a, b)
	allowed := new(big.Rat).Add(big.NewRat(1, 1000), new(big.Rat).Mul(big.NewRat(1, 1000), new(big.Rat).Abs(b)))
	return d.Abs(d).Cmp(allowed) < 0
}

// TestPercentagePoints plants the one error that needs percentages.
func TestPercentagePoints(t *testing.T) {
	src := `title: Points
measures: {cpu: {unit: "%", better: lower}}
tables:
  all: |
    system | cpu
    old    | 80.0
    new    | 60.0
claims:
  - {id: it, printed: 20.0 %, improvement: {of: cpu, from: {system: old}, to: {system: new}}}
  - {id: points, printed: -20.0 %, points: {of: cpu, from: {system: old}, to: {system: new}}}
`
	f, err := Read("points.yaml", []byte(src))
	if err != nil {
		t.Fatal(err)
	}
	a, err := f.Audit()
	if err != nil {
		t.Fatal(err)
	}
	if o := a.Outcomes[0]; o.Verdict != DoesNot || len(o.Causes) == 0 || !strings.Contains(o.Causes[0], "percentage points") {
		t.Errorf("a relative change given in points: %s, causes %q", o.Verdict, o.Causes)
	}
	if o := a.Outcomes[1]; o.Verdict != Follows {
		t.Errorf("points: %s: %s", o.Verdict, o.Text)
	}
}
