package cost

import (
	"errors"
	"fmt"
	"math/big"
	"slices"
)

// A Fleet is servers of one system, with what one of them costs.
type Fleet struct {
	Name  string
	Count *big.Rat
	Price *big.Rat // of one; nil where it is owned already
	Watts *big.Rat // of one, mean; nil where it is not known
	// Support is the price of support for one server and year; nil is none.
	Support *big.Rat
	// Operations lists what operating one server costs a year, by its age.
	Operations []Bracket
	Age        int // full years in service at the start
}

// A Bracket is a cost a year that holds up to and in a year of age; the last
// bracket goes on.
type Bracket struct {
	Until   int // last year of age, from 1; 0 in the last bracket
	PerYear *big.Rat
}

// Check says what is wrong with the fleet.
func (f Fleet) Check() error {
	if f.Count == nil || f.Count.Sign() <= 0 {
		return fmt.Errorf("%s: expected one server or more", f.Name)
	}
	for i, b := range f.Operations {
		last := i == len(f.Operations)-1
		if b.PerYear.Sign() < 0 || !last && b.Until <= 0 || i > 0 && !last && b.Until <= f.Operations[i-1].Until {
			return fmt.Errorf("%s: operations: expected costs of 0 or more, by years of age that rise", f.Name)
		}
	}
	return nil
}

// operations returns the cost of operating one server in its year of age.
func (f Fleet) operations(age int) *big.Rat {
	for _, b := range f.Operations {
		if b.Until == 0 || age <= b.Until {
			return b.PerYear
		}
	}
	if n := len(f.Operations); n > 0 {
		return f.Operations[n-1].PerYear
	}
	return new(big.Rat)
}

// A Year is what a fleet costs up to the end of a year.
type Year struct {
	Year       int // from 1
	Purchase   *big.Rat
	Energy     *big.Rat
	Support    *big.Rat
	Operations *big.Rat
	Sum        *big.Rat // of this year
	Cumulative *big.Rat // of all years up to this one
}

// maxYears bounds how far ahead costs are worked out.
const maxYears = 50

// Ownership returns the cost of owning a fleet for so many years, year by year.
func (t Terms) Ownership(f Fleet, years int) ([]Year, error) {
	if years < 1 || years > maxYears {
		return nil, fmt.Errorf("%d years: expected 1 to %d", years, maxYears)
	}
	if err := errors.Join(t.Check(), f.Check()); err != nil {
		return nil, err
	}
	energy := new(big.Rat)
	if f.Watts != nil {
		e, err := t.EnergyCost(Exactly(new(big.Rat).Mul(f.Watts, f.Count)))
		if err != nil {
			return nil, fmt.Errorf("energy of %s: %w", f.Name, err)
		}
		energy = e.Point
	}
	all := make([]Year, years)
	sum := new(big.Rat)
	for i := range all {
		y := Year{Year: i + 1, Energy: energy, Purchase: new(big.Rat),
			Support:    new(big.Rat).Mul(orElse(f.Support, new(big.Rat)), f.Count),
			Operations: new(big.Rat).Mul(f.operations(f.Age+i+1), f.Count)}
		if i == 0 && f.Price != nil {
			y.Purchase.Mul(f.Price, f.Count)
		}
		y.Sum = new(big.Rat).Add(new(big.Rat).Add(y.Purchase, y.Energy), new(big.Rat).Add(y.Support, y.Operations))
		sum = new(big.Rat).Add(sum, y.Sum)
		y.Cumulative = sum
		all[i] = y
	}
	return all, nil
}

// total is the cost of owning a fleet for so many years.
func (t Terms) total(f Fleet, years int) (*big.Rat, error) {
	all, err := t.Ownership(f, years)
	if err != nil {
		return nil, err
	}
	return all[years-1].Cumulative, nil
}

// BreakEven returns after how many years, as a fraction, replacing has cost
// no more than keeping; nil where it does not within the years. Purchase falls
// due at the start, everything else evenly over each year.
func (t Terms) BreakEven(keep, replace Fleet, years int) (*big.Rat, error) {
	kept, err := t.Ownership(keep, years)
	if err != nil {
		return nil, err
	}
	replaced, err := t.Ownership(replace, years)
	if err != nil {
		return nil, err
	}
	// Ahead is how much more replacing has cost up to now.
	ahead := new(big.Rat).Sub(replaced[0].Purchase, kept[0].Purchase)
	if ahead.Sign() <= 0 {
		return new(big.Rat), nil
	}
	for i := range kept {
		saved := new(big.Rat).Sub(running(kept[i]), running(replaced[i]))
		if saved.Cmp(ahead) >= 0 {
			return new(big.Rat).Add(big.NewRat(int64(i), 1), ahead.Quo(ahead, saved)), nil
		}
		ahead.Sub(ahead, saved)
	}
	return nil, nil
}

func running(y Year) *big.Rat { return new(big.Rat).Sub(y.Sum, y.Purchase) }

// A Flip is an input whose other value would make the two fleets cost the same.
type Flip struct {
	Input  string
	Unit   string
	Now    *big.Rat
	At     *big.Rat // the value at which the answer turns
	Change *big.Rat // (At - Now) / Now
}

// An input of a comparison can be set to another value.
type input struct {
	name, unit string
	now        *big.Rat
	set        func(t *Terms, keep, replace *Fleet, v *big.Rat)
}

// Sensitivity returns, for each input, the value at which keeping and
// replacing would cost the same over the years, those that need the least change
// first. Every input acts linearly, so that the value is exact; those that
// would have to be negative, or beyond their range, are left out.
func (t Terms) Sensitivity(keep, replace Fleet, years int) ([]Flip, error) {
	base, err := t.gap(keep, replace, years)
	if err != nil {
		return nil, err
	}
	var flips []Flip
	for _, in := range t.inputs(keep, replace) {
		other := new(big.Rat).Mul(in.now, big.NewRat(2, 1))
		terms, k, r := t, keep, replace
		k.Operations, r.Operations = slices.Clone(k.Operations), slices.Clone(r.Operations)
		in.set(&terms, &k, &r, other)
		moved, err := terms.gapUnchecked(k, r, years)
		if err != nil {
			return nil, err
		}
		slope := new(big.Rat).Sub(moved, base) // for a change of in.now
		if slope.Sign() == 0 {
			continue
		}
		change := new(big.Rat).Neg(new(big.Rat).Quo(base, slope))
		at := new(big.Rat).Add(in.now, new(big.Rat).Mul(in.now, change))
		if at.Sign() < 0 || in.name == "overhead (PUE)" && at.Cmp(big.NewRat(1, 1)) < 0 || in.name == "hours a year" && at.Cmp(big.NewRat(8784, 1)) > 0 {
			continue
		}
		flips = append(flips, Flip{in.name, in.unit, in.now, at, change})
	}
	slices.SortStableFunc(flips, func(a, b Flip) int {
		return new(big.Rat).Abs(a.Change).Cmp(new(big.Rat).Abs(b.Change))
	})
	return flips, nil
}

// gap is how much more replacing costs than keeping.
func (t Terms) gap(keep, replace Fleet, years int) (*big.Rat, error) {
	k, err := t.total(keep, years)
	if err != nil {
		return nil, err
	}
	r, err := t.total(replace, years)
	if err != nil {
		return nil, err
	}
	return new(big.Rat).Sub(r, k), nil
}

// gapUnchecked is gap for terms that a doubled input may have taken out of
// their range: only the slope is wanted.
func (t Terms) gapUnchecked(keep, replace Fleet, years int) (*big.Rat, error) {
	hours := t.hours()
	if t.Hours != nil && t.Hours.Cmp(big.NewRat(8784, 1)) > 0 {
		// The hours act only through energy, as the overhead does.
		scale := new(big.Rat).Quo(hours, big.NewRat(hoursPerYear, 1))
		t.Overhead = scale.Mul(scale, t.overhead())
		t.Hours = nil
	}
	return t.gap(keep, replace, years)
}

func (t Terms) inputs(keep, replace Fleet) []input {
	var all []input
	add := func(name, unit string, now *big.Rat, set func(*Terms, *Fleet, *Fleet, *big.Rat)) {
		if now != nil && now.Sign() > 0 {
			all = append(all, input{name, unit, now, set})
		}
	}
	add("tariff", t.Currency+"/kWh", t.Tariff, func(t *Terms, _, _ *Fleet, v *big.Rat) { t.Tariff = v })
	if t.Tariff != nil {
		add("hours a year", "h", t.hours(), func(t *Terms, _, _ *Fleet, v *big.Rat) { t.Hours = v })
		add("overhead (PUE)", "1", t.overhead(), func(t *Terms, _, _ *Fleet, v *big.Rat) { t.Overhead = v })
	}
	sides := []struct {
		fleet Fleet
		of    func(keep, replace *Fleet) *Fleet
	}{
		{keep, func(k, _ *Fleet) *Fleet { return k }},
		{replace, func(_, r *Fleet) *Fleet { return r }},
	}
	for _, s := range sides {
		add("price of "+s.fleet.Name, t.Currency, s.fleet.Price, func(_ *Terms, k, r *Fleet, v *big.Rat) { s.of(k, r).Price = v })
		add("power of "+s.fleet.Name, "W", s.fleet.Watts, func(_ *Terms, k, r *Fleet, v *big.Rat) { s.of(k, r).Watts = v })
		add("support of "+s.fleet.Name, t.Currency+"/year", s.fleet.Support, func(_ *Terms, k, r *Fleet, v *big.Rat) { s.of(k, r).Support = v })
		add("servers of "+s.fleet.Name, "servers", s.fleet.Count, func(_ *Terms, k, r *Fleet, v *big.Rat) { s.of(k, r).Count = v })
		for i, b := range s.fleet.Operations {
			name := fmt.Sprintf("operations of %s from year %d on", s.fleet.Name, firstYear(s.fleet.Operations, i))
			add(name, t.Currency+"/year", b.PerYear, func(_ *Terms, k, r *Fleet, v *big.Rat) { s.of(k, r).Operations[i].PerYear = v })
		}
	}
	return all
}

func firstYear(brackets []Bracket, i int) int {
	if i == 0 {
		return 1
	}
	return brackets[i-1].Until + 1
}
