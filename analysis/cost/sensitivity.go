package cost

import (
	"fmt"
	"math/big"
	"slices"
)

// A Flip is an input whose other value would make two mixes cost the same.
type Flip struct {
	Input  string
	Unit   string
	Now    *big.Rat
	At     *big.Rat // the value at which the answer turns
	Change *big.Rat // (At - Now) / Now
}

// A comparison is one of keeping a mix and replacing it.
type comparison struct {
	terms         Terms
	keep, replace []Fleet
	years         int
}

// clone copies all that an input can be set in.
func (c comparison) clone() comparison {
	c.keep, c.replace = cloneMix(c.keep), cloneMix(c.replace)
	return c
}

func cloneMix(mix []Fleet) []Fleet {
	out := slices.Clone(mix)
	for i := range out {
		out[i].Operations = slices.Clone(out[i].Operations)
	}
	return out
}

// gap is how much more replacing costs than keeping.
func (c comparison) gap() (*big.Rat, error) {
	k, err := c.terms.total(c.keep, c.years)
	if err != nil {
		return nil, err
	}
	r, err := c.terms.total(c.replace, c.years)
	if err != nil {
		return nil, err
	}
	return new(big.Rat).Sub(r, k), nil
}

// gapUnchecked is gap for terms that a doubled input may have taken out of
// their range: only the slope is wanted.
func (c comparison) gapUnchecked() (*big.Rat, error) {
	if hours := c.terms.Hours; hours != nil && hours.Cmp(big.NewRat(maxHours, 1)) > 0 {
		// The hours act only through energy, as the overhead does.
		scale := new(big.Rat).Quo(hours, big.NewRat(hoursPerYear, 1))
		c.terms.Overhead = scale.Mul(scale, c.terms.overhead())
		c.terms.Hours = nil
	}
	return c.gap()
}

// An input of a comparison can be set to another value.
type input struct {
	name, unit string
	now        *big.Rat
	least      *big.Rat // that it can be; nil for 0
	most       *big.Rat // nil for any
	set        func(c *comparison, v *big.Rat)
}

// Sensitivity returns, for each input, the value at which keeping and
// replacing would cost the same over the years, those that need the least change
// first. Every input acts linearly, so that the value is exact; those that
// would have to be negative, or beyond their range, are left out. Numbers of
// servers are taken for fractions.
func (t Terms) Sensitivity(keep, replace []Fleet, years int) ([]Flip, error) {
	c := comparison{t, keep, replace, years}
	base, err := c.gap()
	if err != nil {
		return nil, err
	}
	var flips []Flip
	for _, in := range c.inputs() {
		doubled := c.clone()
		in.set(&doubled, new(big.Rat).Mul(in.now, big.NewRat(2, 1)))
		moved, err := doubled.gapUnchecked()
		if err != nil {
			return nil, err
		}
		slope := new(big.Rat).Sub(moved, base) // for a change of in.now
		if slope.Sign() == 0 {
			continue
		}
		change := new(big.Rat).Neg(new(big.Rat).Quo(base, slope))
		at := new(big.Rat).Add(in.now, new(big.Rat).Mul(in.now, change))
		if at.Cmp(orElse(in.least, new(big.Rat))) < 0 || in.most != nil && at.Cmp(in.most) > 0 {
			continue
		}
		flips = append(flips, Flip{in.name, in.unit, in.now, at, change})
	}
	slices.SortStableFunc(flips, func(a, b Flip) int {
		return new(big.Rat).Abs(a.Change).Cmp(new(big.Rat).Abs(b.Change))
	})
	return flips, nil
}

// inputs lists what a comparison rests on.
func (c comparison) inputs() []input {
	t := c.terms
	var all []input
	if t.Tariff != nil {
		all = append(all,
			input{"tariff", t.Currency + "/kWh", t.Tariff, nil, nil, func(c *comparison, v *big.Rat) { c.terms.Tariff = v }},
			input{"hours a year", "h", t.hours(), nil, big.NewRat(maxHours, 1), func(c *comparison, v *big.Rat) { c.terms.Hours = v }},
			input{"overhead (PUE)", "1", t.overhead(), big.NewRat(1, 1), nil, func(c *comparison, v *big.Rat) { c.terms.Overhead = v }})
	}
	for i, f := range c.keep {
		all = append(all, f.inputs(t.Currency, func(c *comparison) *Fleet { return &c.keep[i] })...)
	}
	for i, f := range c.replace {
		all = append(all, f.inputs(t.Currency, func(c *comparison) *Fleet { return &c.replace[i] })...)
	}
	return slices.DeleteFunc(all, func(in input) bool { return in.now == nil || in.now.Sign() <= 0 })
}

// inputs lists those of one fleet, which of returns in a comparison.
func (f Fleet) inputs(currency string, of func(*comparison) *Fleet) []input {
	point := func(e *Estimate) *big.Rat {
		if e == nil {
			return nil
		}
		return e.Point
	}
	all := []input{
		{name: "price of " + f.Name, unit: currency, now: point(f.Price), set: func(c *comparison, v *big.Rat) { of(c).Price = new(Exactly(v)) }},
		{name: "power of " + f.Name, unit: "W", now: point(f.Watts), set: func(c *comparison, v *big.Rat) { of(c).Watts = new(Exactly(v)) }},
		{name: "support of " + f.Name, unit: currency + " a year", now: f.Support, set: func(c *comparison, v *big.Rat) { of(c).Support = v }},
		{name: "servers of " + f.Name, unit: "servers", now: f.Count, set: func(c *comparison, v *big.Rat) { of(c).Count = v }},
	}
	for i, b := range f.Operations {
		name := fmt.Sprintf("operations of %s from year %d of age on", f.Name, firstYear(f.Operations, i))
		all = append(all, input{name: name, unit: currency + " a year", now: b.PerYear, set: func(c *comparison, v *big.Rat) { of(c).Operations[i].PerYear = v }})
	}
	return all
}

func firstYear(brackets []Bracket, i int) int {
	if i == 0 {
		return 1
	}
	return brackets[i-1].Until + 1
}
