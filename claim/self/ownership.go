package self

import (
	"fmt"
	"math"
	"math/big"
	"slices"
)

// ownership adds the cost of ownership over the years, year by year, and what
// would turn the answer.
func (e *economyView) ownership(out map[string]tableView) {
	var total, years, flips tableView
	priced := slices.ContainsFunc(e.systems, func(s systemView) bool { return s.price != nil })
	if e.money.Years == 0 || !priced {
		return
	}
	d := e.demands()[0]
	for _, c := range e.condition {
		options := e.options(c, d)
		for i, o := range options {
			total.row(e.totalColumns(c, o, options[0], i == 0)...)
			for j, y := range o.years {
				years.row(e.yearColumns(c, o, j+1, y)...)
			}
			if i > 0 && o.power == options[0].power {
				e.flipRows(&flips, c, o, options[0])
			}
		}
	}
	out["money-ownership"], out["money-years"], out["money-sensitivity"] = total, years, flips
}

// totalColumns are what an option costs over all years, against the first one.
func (e *economyView) totalColumns(c conditionView, o, base optionView, first bool) []column {
	in, n := e.currency(), e.money.Years
	year1, last := o.years[0], o.years[n-1]
	columns := []column{textIn("option", o.name), textIn("condition", c.name), figuresIn("purchase ("+in+")", year1.purchase.says("the purchase")),
		figuresIn("support a year ("+in+")", year1.support.says("the support")), figuresIn("operations in year 1 ("+in+")", year1.operations.says("the operations")),
		figuresIn(fmt.Sprintf("operations in year %d (%s)", n, in), last.operations.says("the operations")),
		figuresIn("total ("+in+")", last.all.says("the total")), last.all.column("interval of the total ("+in+")", "the total")}
	if o.power {
		columns = append(columns, figuresIn("energy a year ("+in+")", year1.energy.says("the energy")))
	}
	if first || o.power != base.power {
		return columns
	}
	columns = append(columns, changeIn("against the first", last.all.point, base.years[n-1].all.point))
	point := func(x *estimate) *big.Rat { return x.point }
	low := func(x *estimate) *big.Rat { return x.in.Low() }
	high := func(x *estimate) *big.Rat { return x.in.High() }
	return append(columns, figuresIn("break-even (years)", e.payback(base, o, point, point)...),
		figuresIn("interval of the break-even (years)", append(e.payback(base, o, high, low), e.payback(base, o, low, high)...)...))
}

// payback is after how many years what was saved makes up for what was paid;
// where it does not, a report says in how many years it does not.
func (e *economyView) payback(keep, replace optionView, keepEnd, replaceEnd func(*estimate) *big.Rat) []piece {
	ahead := new(big.Rat).Sub(replaceEnd(replace.years[0].purchase), keepEnd(keep.years[0].purchase))
	if ahead.Sign() <= 0 {
		return []piece{saysNumber("the break-even", plainTruth(0))}
	}
	for i := range keep.years {
		saved := new(big.Rat).Sub(keepEnd(keep.years[i].running()), replaceEnd(replace.years[i].running()))
		if saved.Cmp(ahead) >= 0 {
			at := new(big.Rat).Add(big.NewRat(int64(i), 1), new(big.Rat).Quo(ahead, saved))
			return []piece{saysNumber("the break-even", plainTruth(floatOf(at)))}
		}
		ahead.Sub(ahead, saved)
	}
	return []piece{saysNumber("the years in which it does not pay", countTruth(e.money.Years))}
}

func (e *economyView) yearColumns(c conditionView, o optionView, number int, y yearView) []column {
	in := e.currency()
	columns := []column{textIn("option", o.name), textIn("condition", c.name), figuresIn("year", saysNumber("the year", countTruth(number))),
		figuresIn("purchase ("+in+")", y.purchase.says("the purchase")), figuresIn("support ("+in+")", y.support.says("the support")),
		figuresIn("operations ("+in+")", y.operations.says("the operations")), figuresIn("in the year ("+in+")", y.sum.says("the year")),
		figuresIn("up to its end ("+in+")", y.all.says("all years up to it"))}
	if y.energy != nil {
		columns = append(columns, figuresIn("energy ("+in+")", y.energy.says("the energy")))
	}
	return columns
}

// A lever is an input of a comparison: what it is now, and how much of the gap
// between two options goes with it.
type lever struct {
	name, unit  string
	now         *big.Rat
	moves       *big.Rat
	least, most *big.Rat // that it can be
}

// turns is the value at which the gap closes, all else as it is; nil where no
// value does. The gap is linear in every input.
func (l lever) turns(gap *big.Rat) *big.Rat {
	if l.now == nil || l.now.Sign() <= 0 || l.moves.Sign() == 0 {
		return nil
	}
	share := new(big.Rat).Sub(big.NewRat(1, 1), new(big.Rat).Quo(gap, l.moves))
	at := share.Mul(share, l.now)
	if l.least != nil && at.Cmp(l.least) < 0 || l.most != nil && at.Cmp(l.most) > 0 {
		return nil
	}
	return at
}

// flipRows lists the inputs that would make two options cost the same, those that
// need the least change first.
func (e *economyView) flipRows(t *tableView, c conditionView, o, base optionView) {
	n := e.money.Years
	gap := new(big.Rat).Sub(o.years[n-1].all.point, base.years[n-1].all.point)
	type flip struct {
		lever
		at, change *big.Rat
	}
	var flips []flip
	for _, l := range e.levers(o, base) {
		if at := l.turns(gap); at != nil {
			change := new(big.Rat).Quo(new(big.Rat).Sub(at, l.now), l.now)
			flips = append(flips, flip{l, at, change})
		}
	}
	slices.SortStableFunc(flips, func(x, y flip) int {
		return new(big.Rat).Abs(x.change).Cmp(new(big.Rat).Abs(y.change))
	})
	off := o.years[n-1].all.off + base.years[n-1].all.off
	row := func(input string, now, at *big.Rat, unit string, moves *big.Rat) {
		size := math.Abs(floatOf(now))
		where := truth{value: floatOf(at), slack: size*off/math.Abs(floatOf(moves)) + floatShare*(size+math.Abs(floatOf(at)))}
		t.row(textIn("option", o.name), textIn("condition", c.name), textIn("input", input),
			figuresIn("now", saysNumber("now", truth{value: floatOf(now), slack: floatShare * size})),
			figuresIn("turns at", saysNumber("where it turns", where)), changeIn("change", at, now), textIn("unit", unit))
	}
	for _, f := range flips {
		row(f.name, f.now, f.at, f.unit, f.moves)
		for _, s := range c.systems {
			if name := e.nameOf(s); s.work != nil && f.at.Sign() > 0 && len(o.mix) == 1 && o.mix[0].name == name && f.name == "servers of "+name {
				row("work of one "+name, s.work.point, new(big.Rat).Mul(s.work.point, new(big.Rat).Quo(f.now, f.at)), s.workUnit, f.moves)
			}
		}
	}
}

// levers lists what a comparison of two options rests on.
func (e *economyView) levers(o, base optionView) []lever {
	zero, one := new(big.Rat), big.NewRat(1, 1)
	var out []lever
	if e.money.Tariff != nil {
		hours, overhead := e.money.Hours, e.money.PUE
		if hours == nil {
			hours = big.NewRat(8760, 1)
		}
		if overhead == nil {
			overhead = one
		}
		energy := new(big.Rat).Sub(e.energyOf(o.mix), e.energyOf(base.mix))
		out = append(out, lever{"tariff", e.money.Currency + "/kWh", e.money.Tariff, energy, zero, nil},
			lever{"hours a year", "h", hours, energy, zero, big.NewRat(8784, 1)}, lever{"overhead (PUE)", "1", overhead, energy, one, nil})
	}
	for _, m := range base.mix {
		out = append(out, e.mixLevers(m, big.NewRat(-1, 1))...)
	}
	for _, m := range o.mix {
		out = append(out, e.mixLevers(m, one)...)
	}
	return out
}

// energyOf is the cost of all years' energy of a mix, where all of it is known.
func (e *economyView) energyOf(mix []mixView) *big.Rat {
	sum := new(big.Rat)
	for _, m := range mix {
		if m.watts == nil {
			return new(big.Rat)
		}
		_, cost, _ := e.yearly(m.watts.times(m.servers))
		sum.Add(sum, new(big.Rat).Mul(cost.point, big.NewRat(int64(e.money.Years), 1)))
	}
	return sum
}

// mixLevers are those of one fleet; sign is -1 on the side that is kept.
func (e *economyView) mixLevers(m mixView, sign *big.Rat) []lever {
	in, zero, years := e.currency(), new(big.Rat), big.NewRat(int64(e.money.Years), 1)
	price, watts, support := new(big.Rat), new(big.Rat), new(big.Rat)
	var priceNow, wattsNow *big.Rat
	if m.price != nil {
		priceNow = m.price.point
		price.Mul(priceNow, m.servers)
	}
	if m.watts != nil {
		wattsNow = m.watts.point
		watts = e.energyOf([]mixView{m})
	}
	if m.support != nil {
		support.Mul(new(big.Rat).Mul(m.support, m.servers), years)
	}
	brackets := make([]*big.Rat, len(m.operations))
	all := new(big.Rat).Add(price, new(big.Rat).Add(watts, support))
	for i := range brackets {
		brackets[i] = new(big.Rat)
	}
	for year := range e.money.Years {
		if i := bracketAt(m, m.age+year+1); i >= 0 {
			cost := new(big.Rat).Mul(m.operations[i].PerYear, m.servers)
			brackets[i].Add(brackets[i], cost)
			all.Add(all, cost)
		}
	}
	signed := func(v *big.Rat) *big.Rat { return new(big.Rat).Mul(sign, v) }
	out := []lever{{"price of " + m.name, in, priceNow, signed(price), zero, nil}, {"power of " + m.name, "W", wattsNow, signed(watts), zero, nil},
		{"support of " + m.name, in + " a year", m.support, signed(support), zero, nil}, {"servers of " + m.name, "servers", m.servers, signed(all), zero, nil}}
	for i, b := range m.operations {
		from := 1
		if i > 0 {
			from = m.operations[i-1].Until + 1
		}
		out = append(out, lever{fmt.Sprintf("operations of %s from year %d of age on", m.name, from), in + " a year", b.PerYear, signed(brackets[i]), zero, nil})
	}
	return out
}

// bracketAt is the bracket that holds in a year of age; -1 where there is none.
func bracketAt(m mixView, age int) int {
	for i, b := range m.operations {
		if b.Until == 0 || age <= b.Until || i == len(m.operations)-1 {
			return i
		}
	}
	return -1
}
