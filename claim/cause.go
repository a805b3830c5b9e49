package claim

import (
	"fmt"
	"math/big"
	"slices"

	"bakeoff/record"
	"bakeoff/unit"
)

// A guess is one way in which a wrong figure comes about, and what it gives.
type guess struct {
	name string
	expr expression
	// scale multiplies the result; nil for 1.
	scale *big.Rat
}

// causes tries the known ways to get a comparison wrong, and names those that
// give what was printed.
func (f *Figures) causes(c Claim, right Derived) (found []string) {
	for _, g := range append(f.mistakes(c), f.substitutions(c)...) {
		d, err := f.derivedIn(g.expr, c.Printed[0].Unit)
		if err != nil {
			continue // a guess need not make sense in these units
		}
		if g.scale != nil {
			d.Point.Mul(d.Point, g.scale)
			d.Range = d.Range.Mul(unit.Exactly(g.scale))
		}
		if d.Point.Cmp(right.Point) == 0 {
			continue
		}
		if text, hit := f.hit(c.Printed[0], d); hit && !slices.Contains(found, g.name+text) {
			found = append(found, g.name+text)
		}
	}
	return found
}

// hit reports whether a guess gives what was printed. Only the figures as
// printed count: a wide interval would make any guess fit.
func (f *Figures) hit(printed Number, d Derived) (string, bool) {
	value := ": " + amount(d.Point, d.Unit)
	switch {
	case printed.Rounded().Holds(d.Point):
		return value, true
	case printed.CutFrom(d.Point):
		return value + ", cut off", true
	}
	return "", false
}

// mistakes lists the ways to confuse bases, directions, forms and units.
func (f *Figures) mistakes(c Claim) (guesses []guess) {
	if c.Kind == Standard {
		return standardMistakes(c)
	}
	if p := c.pair; p != nil {
		guesses = p.mistakes(c.Kind)
	}
	for _, s := range scales() {
		guesses = append(guesses, scaled(c, s.name, s.factor)...)
		guesses = append(guesses, scaled(c, s.name+", the other way", new(big.Rat).Inv(s.factor))...)
	}
	return guesses
}

// scaled lists the claim with a conversion forgotten: on one side of a
// comparison, or in the result of a figure that has a dimension.
func scaled(c Claim, name string, factor *big.Rat) []guess {
	times := constant{Number{Text: name, Value: factor, Unit: unit.One()}}
	p := c.pair
	if p == nil {
		if c.Printed[0].Unit.Alike(unit.One()) {
			return nil
		}
		return []guess{{"units: " + name, op(c.expr, '*', times), nil}}
	}
	var guesses []guess
	for _, side := range []pair{{p.from, op(p.to, '*', times), p.better}, {op(p.from, '*', times), p.to, p.better}} {
		if e, err := side.statement(c.Kind); err == nil {
			guesses = append(guesses, guess{"units: " + name + " on one side", e, nil})
		}
	}
	return guesses
}

func (p pair) mistakes(kind Kind) []guess {
	hundredth := big.NewRat(1, 100)
	ratio, inverse := op(p.to, '/', p.from), op(p.from, '/', p.to)
	back := pair{from: p.to, to: p.from, better: p.better}
	guesses := []guess{
		{"direction swapped", op(op(p.from, '-', p.to), '/', p.from), nil},
		{"direction swapped", op(op(p.to, '-', p.from), '/', p.from), nil},
		{"wrong base: divided by the new value instead of the old", op(op(p.to, '-', p.from), '/', p.to), nil},
		{"wrong base: divided by the new value instead of the old", op(op(p.from, '-', p.to), '/', p.to), nil},
		{"percentage points: the difference of two percentages given as a relative change", op(p.to, '-', p.from), nil},
		{"percentage points: the difference of two percentages given as a relative change", op(p.from, '-', p.to), nil},
	}
	if p.better == record.LowerIsBetter {
		guesses = append([]guess{
			{"ratio of times for ratio of rates", p.less(), nil},
			{"ratio of rates for ratio of times", op(inverse, '-', one()), nil},
		}, guesses...)
	}
	if kind == Ratio {
		return append(guesses, guess{"direction swapped: the ratio upside down", inverse, nil},
			guess{"\"N % more\" given as \"N x\"", back.improvement(), nil},
			guess{"\"N x more\" for \"N x\": one too few", op(ratio, '-', one()), nil},
			guess{"percent given as a factor", ratio, hundredth})
	}
	return append(guesses,
		guess{"\"N % of\" (or N x) given as \"N % more\"", ratio, nil},
		guess{"\"N % of\" (or N x) given as \"N % more\"", inverse, nil},
		guess{"a factor given as percent", ratio, hundredth})
}

// scales lists the conversions that are forgotten.
func scales() []struct {
	name   string
	factor *big.Rat
} {
	power := func(base, n int64) *big.Rat {
		r := big.NewRat(1, 1)
		for range n {
			r.Mul(r, big.NewRat(base, 1000))
		}
		return r
	}
	return []struct {
		name   string
		factor *big.Rat
	}{
		{"KB for KiB", power(1024, 1)},
		{"MB for MiB", power(1024, 2)},
		{"GB for GiB", power(1024, 3)},
		{"bits for bytes", big.NewRat(8, 1)},
		{"a factor of 1,000", big.NewRat(1000, 1)},
		{"minutes for seconds", big.NewRat(60, 1)},
	}
}

// substitutions lists the claim with one figure replaced by the same measure at
// another level: a row or a level mixed up.
func (f *Figures) substitutions(c Claim) (guesses []guess) {
	if c.pair == nil {
		return nil
	}
	for _, level := range f.others(c.pair.from) {
		p := pair{level, c.pair.to, c.pair.better}
		if level.String() == c.pair.to.String() {
			continue
		}
		if e, err := p.statement(c.Kind); err == nil {
			guesses = append(guesses, guess{fmt.Sprintf("the wrong row: with %s in the place of %s", level, c.pair.from), e, nil})
		}
	}
	for _, level := range f.others(c.pair.to) {
		p := pair{c.pair.from, level, c.pair.better}
		if level.String() == c.pair.from.String() {
			continue
		}
		if e, err := p.statement(c.Kind); err == nil {
			guesses = append(guesses, guess{fmt.Sprintf("the wrong row: with %s in the place of %s", level, c.pair.to), e, nil})
		}
	}
	return guesses
}

// others returns the references that differ from e in the level of one factor.
func (f *Figures) others(e expression) (refs []expression) {
	r, ok := e.(reference)
	if !ok {
		return nil
	}
	for i, l := range r.filter {
		for _, level := range f.levels(l.Factor) {
			filter := slices.Clone(r.filter)
			filter[i].Level = level
			if level != l.Level && len(f.selected(r.name, filter)) == 1 {
				refs = append(refs, reference{r.name, filter})
			}
		}
	}
	return refs
}

// nameSwapped looks for a level under which a claim about rows that were not
// printed would follow: the level's name may have been swapped.
func (f *Figures) nameSwapped(c Claim) (found []string) {
	if c.pair == nil || len(c.Printed) != 1 {
		return nil
	}
	for _, g := range f.substitutions(c) {
		d, err := f.derivedIn(g.expr, c.Printed[0].Unit)
		if err != nil {
			continue
		}
		if v, _ := compare(c.Printed[0], d, nil); !v.Raised() {
			found = append(found, g.name+" it follows: the names may have been swapped")
		}
	}
	return found
}
