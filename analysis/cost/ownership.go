package cost

import (
	"errors"
	"fmt"
	"math/big"
)

// A Fleet is servers of one system, with what one of them costs.
type Fleet struct {
	Name  string
	Count *big.Rat
	Price *Estimate // of one; nil where it is owned already
	Watts *Estimate // of one, mean; nil where it is not known, or no tariff is
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

// A Year is what a mix of fleets costs in one year, and up to its end.
type Year struct {
	Year       int // from 1
	Purchase   Estimate
	Energy     *Estimate // nil where the power of a fleet is not known
	Support    Estimate
	Operations Estimate
	Sum        Estimate // of this year, without what is not known
	Cumulative Estimate // of all years up to this one
}

// running is the year's cost without the purchase.
func (y Year) running() Estimate {
	sum := y.Support.plus(y.Operations)
	if y.Energy != nil {
		sum = sum.plus(*y.Energy)
	}
	return sum
}

// maxYears bounds how far ahead costs are worked out.
const maxYears = 50

// Ownership returns the cost of owning a mix of fleets for so many years, year
// by year. Purchase falls due in the first.
func (t Terms) Ownership(mix []Fleet, years int) ([]Year, error) {
	if years < 1 || years > maxYears {
		return nil, fmt.Errorf("%d years: expected 1 to %d", years, maxYears)
	}
	all := make([]Year, years)
	for i := range all {
		all[i] = Year{Year: i + 1, Purchase: nothing(), Support: nothing(), Operations: nothing(), Energy: new(nothing())}
	}
	for _, f := range mix {
		if err := errors.Join(t.Check(), f.Check()); err != nil {
			return nil, err
		}
		if err := t.addFleet(all, f); err != nil {
			return nil, err
		}
	}
	sum := nothing()
	for i := range all {
		y := &all[i]
		y.Sum = y.running().plus(y.Purchase)
		sum = sum.plus(y.Sum)
		y.Cumulative = sum
	}
	return all, nil
}

func (t Terms) addFleet(all []Year, f Fleet) error {
	var energy *Estimate
	if f.Watts != nil {
		e, err := t.EnergyCost(f.Watts.times(f.Count))
		if err != nil {
			return fmt.Errorf("energy of %s: %w", f.Name, err)
		}
		energy = &e
	}
	support := Exactly(new(big.Rat).Mul(orElse(f.Support, new(big.Rat)), f.Count))
	for i := range all {
		y := &all[i]
		if i == 0 && f.Price != nil {
			y.Purchase = y.Purchase.plus(f.Price.times(f.Count))
		}
		y.Support = y.Support.plus(support)
		y.Operations = y.Operations.plus(Exactly(new(big.Rat).Mul(f.operations(f.Age+i+1), f.Count)))
		if energy == nil || y.Energy == nil {
			y.Energy = nil
			continue
		}
		y.Energy = new(y.Energy.plus(*energy))
	}
	return nil
}

// total is the cost of owning a mix for so many years, by the points.
func (t Terms) total(mix []Fleet, years int) (*big.Rat, error) {
	all, err := t.Ownership(mix, years)
	if err != nil {
		return nil, err
	}
	return all[years-1].Cumulative.Point, nil
}

// A Payback is after how many years, as a fraction, replacing has cost no more
// than keeping: by the figures as they stand, and at the ends of their intervals
// that are kindest and least kind to replacing. Each is nil where that does not
// happen within the years.
type Payback struct {
	Years, Earliest, Latest *big.Rat
}

// BreakEven works out the payback of replacing one mix by another. Purchase falls
// due at the start, everything else evenly over each year.
func (t Terms) BreakEven(keep, replace []Fleet, years int) (Payback, error) {
	kept, err := t.Ownership(keep, years)
	if err != nil {
		return Payback{}, err
	}
	replaced, err := t.Ownership(replace, years)
	if err != nil {
		return Payback{}, err
	}
	if (kept[0].Energy == nil) != (replaced[0].Energy == nil) {
		return Payback{}, errors.New("the energy of one side is not known, that of the other is: they cannot be compared")
	}
	point := func(e Estimate) *big.Rat { return e.Point }
	low := func(e Estimate) *big.Rat { return e.Range.Low() }
	high := func(e Estimate) *big.Rat { return e.Range.High() }
	return Payback{meet(kept, replaced, point, point), meet(kept, replaced, high, low), meet(kept, replaced, low, high)}, nil
}

// meet finds when what was saved makes up for what replacing cost more.
func meet(kept, replaced []Year, keepEnd, replaceEnd func(Estimate) *big.Rat) *big.Rat {
	ahead := new(big.Rat).Sub(replaceEnd(replaced[0].Purchase), keepEnd(kept[0].Purchase))
	if ahead.Sign() <= 0 {
		return new(big.Rat)
	}
	for i := range kept {
		saved := new(big.Rat).Sub(keepEnd(kept[i].running()), replaceEnd(replaced[i].running()))
		if saved.Cmp(ahead) >= 0 {
			return new(big.Rat).Add(big.NewRat(int64(i), 1), ahead.Quo(ahead, saved))
		}
		ahead.Sub(ahead, saved)
	}
	return nil
}
