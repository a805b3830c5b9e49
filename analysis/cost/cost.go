// Package cost is the arithmetic of money and energy: what the same work costs
// on different systems, how many servers it takes, what they draw and cost over
// the years, when replacing what one owns pays, and which input would flip the
// answer. It is exact: on rationals, never on floating point.
package cost

import (
	"errors"
	"fmt"
	"math/big"

	"bakeoff/unit"
)

// An Estimate is a value and every value that it may be.
type Estimate struct {
	Point *big.Rat
	Range unit.Interval
}

// Exactly returns the estimate of a value that is known.
func Exactly(v *big.Rat) Estimate { return Estimate{new(big.Rat).Set(v), unit.Exactly(v)} }

// Between returns the estimate of a value that lies in an interval.
func Between(point, low, high *big.Rat) Estimate {
	return Estimate{new(big.Rat).Set(point), unit.NewInterval(low, high)}
}

// nothing is an amount of 0.
func nothing() Estimate { return Exactly(new(big.Rat)) }

// plus returns the sum of two estimates, which may be off together.
func (e Estimate) plus(o Estimate) Estimate {
	return Estimate{new(big.Rat).Add(e.Point, o.Point), e.Range.Add(o.Range)}
}

// Times returns the estimate multiplied by an exact number.
func (e Estimate) Times(by *big.Rat) Estimate { return e.times(by) }

// Over returns the quotient of two independent estimates; o must not hold zero.
func (e Estimate) Over(o Estimate) (Estimate, error) { return e.over(o) }

// Widened returns the estimate with a share of its value that may be wrong either
// way beside what its interval holds: a meter's uncertainty, or that of a price.
func (e Estimate) Widened(share *big.Rat) Estimate {
	one := big.NewRat(1, 1)
	factor := unit.NewInterval(new(big.Rat).Sub(one, share), new(big.Rat).Add(one, share))
	return Estimate{e.Point, e.Range.Mul(factor).Join(e.Range)}
}

// times returns the estimate multiplied by an exact number.
func (e Estimate) times(by *big.Rat) Estimate {
	return Estimate{new(big.Rat).Mul(e.Point, by), e.Range.Mul(unit.Exactly(by))}
}

// over returns the quotient of two independent estimates.
func (e Estimate) over(o Estimate) (Estimate, error) {
	in, err := e.Range.Div(o.Range)
	if err != nil {
		return Estimate{}, err
	}
	return Estimate{new(big.Rat).Quo(e.Point, o.Point), in}, nil
}

// Terms are what all systems share. A nil member is not known; what depends on
// it is then absent, never zero.
type Terms struct {
	Currency  string
	Tariff    *big.Rat // in the currency, a kWh
	Hours     *big.Rat // of operation a year; nil is 8,760
	Overhead  *big.Rat // energy of the data centre per energy of its machines (PUE); nil is 1
	Intensity *big.Rat // g of CO2e a kWh
	Headroom  *big.Rat // share of a server kept free; nil is none
}

// A year without a leap day, and the longest one.
const (
	hoursPerYear = 8760
	maxHours     = 8784
)

// Check says what is wrong with the terms.
func (t Terms) Check() error {
	one := big.NewRat(1, 1)
	switch {
	case t.Hours != nil && (t.Hours.Sign() <= 0 || t.Hours.Cmp(big.NewRat(maxHours, 1)) > 0):
		return fmt.Errorf("hours of operation a year: %s, expected more than 0 and at most %d", t.Hours.RatString(), maxHours)
	case t.Overhead != nil && t.Overhead.Cmp(one) < 0:
		return fmt.Errorf("overhead (PUE): %s, expected 1 or more", t.Overhead.FloatString(3))
	case t.Headroom != nil && (t.Headroom.Sign() < 0 || t.Headroom.Cmp(one) >= 0):
		return fmt.Errorf("headroom: %s, expected a share from 0 to below 1", t.Headroom.FloatString(3))
	case t.Tariff != nil && t.Tariff.Sign() < 0, t.Intensity != nil && t.Intensity.Sign() < 0:
		return errors.New("tariff and intensity: expected 0 or more")
	}
	return nil
}

func (t Terms) hours() *big.Rat    { return orElse(t.Hours, big.NewRat(hoursPerYear, 1)) }
func (t Terms) overhead() *big.Rat { return orElse(t.Overhead, big.NewRat(1, 1)) }

func orElse(v, other *big.Rat) *big.Rat {
	if v == nil {
		return other
	}
	return v
}

// EnergyPerYear returns the kWh a year that a mean power draws, the overhead of
// the data centre included.
func (t Terms) EnergyPerYear(watts Estimate) Estimate {
	hours := new(big.Rat).Mul(t.hours(), t.overhead())
	return watts.times(hours.Quo(hours, big.NewRat(1000, 1)))
}

// EnergyCost returns what a mean power costs a year: kW x hours x tariff x
// overhead. It is an error where no tariff is known.
func (t Terms) EnergyCost(watts Estimate) (Estimate, error) {
	if t.Tariff == nil {
		return Estimate{}, errors.New("no tariff is given")
	}
	return t.EnergyPerYear(watts).times(t.Tariff), nil
}

// Carbon returns the kg of CO2e a year.
func (t Terms) Carbon(watts Estimate) (Estimate, error) {
	if t.Intensity == nil {
		return Estimate{}, errors.New("no intensity of the grid is given")
	}
	return t.EnergyPerYear(watts).times(new(big.Rat).Quo(t.Intensity, big.NewRat(1000, 1))), nil
}

// Heat returns the BTU/h that a mean power becomes: 1 W is 3.412 BTU/h.
func Heat(watts Estimate) Estimate { return watts.times(big.NewRat(3412141633, 1000000000)) }

// Need is how many servers a work takes.
type Need struct {
	Fraction Estimate // of servers, headroom included
	Whole    *big.Int // by the figures as they stand
	Safe     *big.Int // whatever value in their intervals is true
	// Spare is the work that the whole ones can do beyond what is asked, and
	// SafeSpare what the safe ones can.
	Spare, SafeSpare Estimate
}

// Servers returns how many servers the work takes when each does so much of it
// and keeps the headroom free.
func (t Terms) Servers(work, each Estimate) (Need, error) {
	ratio, err := work.over(each)
	if err != nil {
		return Need{}, fmt.Errorf("servers needed: %w", err)
	}
	n := t.ServersFor(ratio)
	n.Spare = spare(n.Whole, work, each)
	n.SafeSpare = spare(n.Safe, work, each)
	return n, nil
}

// ServersFor returns how many servers a work takes that is so many times what
// one of them does, as where the two were measured side by side. What is spare
// is in servers.
func (t Terms) ServersFor(ratio Estimate) Need {
	fraction := ratio
	if t.Headroom != nil {
		fraction = ratio.times(new(big.Rat).Inv(new(big.Rat).Sub(big.NewRat(1, 1), t.Headroom)))
	}
	n := Need{Fraction: fraction, Whole: ceil(fraction.Point), Safe: ceil(fraction.Range.High())}
	one := Exactly(big.NewRat(1, 1))
	n.Spare, n.SafeSpare = spare(n.Whole, ratio, one), spare(n.Safe, ratio, one)
	return n
}

// spare is what so many servers do beyond a work.
func spare(servers *big.Int, work, each Estimate) Estimate {
	capacity := each.times(new(big.Rat).SetInt(servers))
	return Estimate{new(big.Rat).Sub(capacity.Point, work.Point), capacity.Range.Sub(work.Range)}
}

// ceil returns the least whole number that is not below v.
func ceil(v *big.Rat) *big.Int {
	q, m := new(big.Int).DivMod(v.Num(), v.Denom(), new(big.Int))
	if m.Sign() > 0 {
		q.Add(q, big.NewInt(1))
	}
	return q
}

// SameWork returns the price of servers for the work: the fraction of servers
// times the price of one.
func (t Terms) SameWork(work, each Estimate, price *big.Rat) (Estimate, error) {
	n, err := t.Servers(work, each)
	if err != nil {
		return Estimate{}, err
	}
	return n.Fraction.times(price), nil
}

// A Group is so many servers that each do so much work, of a mix to be replaced.
type Group struct {
	Count *big.Rat
	Each  Estimate
}

// Demand returns the work of a mix of systems.
func Demand(groups []Group) Estimate {
	sum := nothing()
	for _, g := range groups {
		sum = sum.plus(g.Each.times(g.Count))
	}
	return sum
}
