package self

import (
	"fmt"
	"math/big"

	"bakeoff/plan"
)

// economyViews are the tables of efficiency, energy, money and consolidation.
func (a *auditor) economyViews() map[string]tableView {
	e := a.economy()
	out := map[string]tableView{
		"efficiency-cpu":        e.efficiency("work per CPU second", func(s systemView) *estimate { return s.cpu }),
		"efficiency-energy":     e.efficiency("work per joule", func(s systemView) *estimate { return s.perWatt }),
		"efficiency-price":      e.efficiency("work per "+e.currency(), e.perPrice),
		"energy-systems":        e.energyOfSystems(),
		"money-same-work":       e.sameWork(),
		"consolidation-servers": e.consolidation(),
		"energy-same-work":      e.energyOfWork(),
		"energy-sources":        a.sourcesView(),
		"limits-shares":         a.limitsView(),
		"efficiency-graded":     a.gradedView(),
		"money-terms":           e.termsView(),
	}
	e.ownership(out)
	for id, view := range out {
		view.caption = append(view.caption, e.captionPieces()...)
		view.notes = append(view.notes, e.notePieces()...)
		out[id] = view
	}
	return out
}

// termsView is what money and energy rest on beside what was measured.
func (e *economyView) termsView() (t tableView) {
	m := e.money
	row := func(term string, pieces ...piece) {
		t.row(textIn("term", term), figuresIn("value", pieces...))
	}
	given := func(term string, v *big.Rat) {
		if v != nil {
			row(term, append([]piece{saysNumber(term, plainTruth(floatOf(v)))}, saysWords("CO2e")...)...)
		}
	}
	given("tariff", m.Tariff)
	given("hours of operation a year", m.Hours)
	given("PUE", m.PUE)
	given("CO2e of the energy", m.Grid)
	given("support, a host and year", m.Support)
	for i, b := range m.Operations {
		given("operations, a host and year"+bracketText(m.Operations, i), b.PerYear)
	}
	if m.Years > 0 {
		row("years", saysNumber("the years", countTruth(m.Years)))
	}
	if m.Headroom != nil {
		row("headroom", saysNumber("the headroom", percentTruth(floatOf(m.Headroom))))
	}
	if m.PriceUncertainty != nil {
		row("uncertainty of prices", saysNumber("the uncertainty", percentTruth(floatOf(m.PriceUncertainty))))
	}
	for _, f := range m.Own {
		row("owned today", append(saysWords(fleetText([]plan.Fleet{f})), saysNumber("the age", countTruth(f.Age)))...)
	}
	return t
}

// bracketText says for which years of age a bracket holds, "" where there is one.
func bracketText(all []plan.Bracket, i int) string {
	from := 1
	if i > 0 {
		from = all[i-1].Until + 1
	}
	switch {
	case len(all) == 1:
		return ""
	case all[i].Until == 0:
		return fmt.Sprintf(", from year %d of age on", from)
	}
	return fmt.Sprintf(", years %d to %d of age", from, all[i].Until)
}

// captionPieces are the terms that captions may name, in their order there.
func (e *economyView) captionPieces() (out []piece) {
	m := e.money
	percent := func(what string, share *big.Rat) {
		if share != nil {
			out = append(out, saysNumber(what, percentTruth(floatOf(share))))
		}
	}
	percent("the uncertainty of prices", m.PriceUncertainty)
	percent("the headroom", m.Headroom)
	first := saysWords(e.demands()[0].name)
	out = append(append(out, first...), saysNumber("the years", countTruth(m.Years)))
	out = append(out, first...)
	hours := big.NewRat(8760, 1)
	if m.Hours != nil {
		hours = m.Hours
	}
	out = append(out, saysNumber("the hours of a year", plainTruth(floatOf(hours))))
	if m.PUE != nil {
		out = append(out, saysNumber("the PUE", plainTruth(floatOf(m.PUE))))
	}
	return append(out, saysWords("1 W is 3.412 BTU/h", "transactions of 128 B", "near 100 %")...)
}

// notePieces are what notes may name: the sources of power, systems and amounts
// of work.
func (e *economyView) notePieces() []piece {
	out := append(e.a.meterPieces(), saysWords("No CO2e: grams of CO2e a kWh")...)
	for range 2 { // a note may name two
		for _, d := range e.demands() {
			out = append(out, saysWords(d.name)...)
		}
		for _, c := range e.condition {
			for _, s := range c.systems {
				out = append(out, saysWords(e.nameOf(s), c.name)...)
			}
		}
	}
	return out
}

func (e *economyView) perPrice(s systemView) *estimate {
	price := e.priceOf(s)
	if s.work == nil || price == nil {
		return nil
	}
	return s.work.over(price)
}

// interval is a column of an estimate's interval, empty where one trial or the
// digits have none.
func (e *estimate) column(head, what string) column {
	return figuresIn(head, e.saysInterval(what)...)
}

// efficiency lists one figure of every system beside its work.
func (e *economyView) efficiency(what string, of func(systemView) *estimate) (t tableView) {
	for _, c := range e.condition {
		base := (*estimate)(nil)
		if s, ok := c.find(e.baseline); ok {
			base = of(s)
		}
		for _, s := range c.systems {
			x := of(s)
			if x == nil {
				continue
			}
			columns := []column{textIn("system", e.nameOf(s)), textIn("condition", c.name), figuresIn(what, x.says(what)),
				x.column(e.intervalHead(), what), figuresIn("trials", saysNumber("the trials", countTruth(x.trials))), textIn("unit of the work", s.workUnit)}
			if s.work != nil {
				columns = append(columns, figuresIn("work", s.work.says("the work")))
			}
			if base != nil && base.point.Sign() != 0 {
				ratio := new(big.Rat).Quo(x.point, base.point)
				columns = append(columns, figuresIn("against the baseline", saysNumber("the ratio", truth{value: floatOf(ratio), unit: "x"})))
			}
			if what == "work per "+e.currency() && s.price != nil {
				columns = append(columns, figuresIn("price ("+e.currency()+")", saysNumber("the price", plainTruth(floatOf(s.price)))))
			}
			t.row(columns...)
		}
	}
	return t
}

// yearly are the kWh a year of a mean power, their cost and CO2e; nil for what is
// not known.
func (e *economyView) yearly(watts *estimate) (kwh, cost, carbon *estimate) {
	hours, overhead := big.NewRat(8760, 1), big.NewRat(1, 1)
	if e.money.Hours != nil {
		hours = e.money.Hours
	}
	if e.money.PUE != nil {
		overhead = e.money.PUE
	}
	thousand := big.NewRat(1000, 1)
	factor := new(big.Rat).Mul(hours, overhead)
	kwh = watts.times(factor.Quo(factor, thousand))
	if e.money.Tariff != nil {
		cost = kwh.times(e.money.Tariff)
	}
	if e.money.Grid != nil {
		carbon = kwh.times(new(big.Rat).Quo(e.money.Grid, thousand))
	}
	return kwh, cost, carbon
}

// heat is the BTU/h that power becomes: 3600 J an hour over the 1055.05585262 J
// of the international table's BTU. A report multiplies by ten digits of that.
func heat(watts *estimate) *estimate {
	out := watts.times(new(big.Rat).Quo(big.NewRat(3600, 1), big.NewRat(105505585262, 100000000)))
	out.off += 2e-10 * floatOf(out.point)
	return out
}

// powerColumns are what a mean power is over a year.
func (e *economyView) powerColumns(watts *estimate) []column {
	kwh, cost, carbon := e.yearly(watts)
	out := []column{figuresIn("power (W)", watts.says("the power")), figuresIn("heat (BTU/h)", heat(watts).says("the heat")),
		figuresIn("energy a year (kWh)", kwh.says("the energy"))}
	if cost != nil {
		head := "cost a year (" + e.currency() + ")"
		out = append(out, figuresIn(head, cost.says("the cost")), cost.column("interval of the cost ("+e.currency()+")", "the cost"))
	}
	if carbon != nil {
		out = append(out, figuresIn("CO2e a year (kg)", carbon.says("the CO2e")))
	}
	return out
}

// energyOfSystems is what every system draws.
func (e *economyView) energyOfSystems() (t tableView) {
	for _, c := range e.condition {
		for _, s := range c.systems {
			if s.watts == nil {
				continue
			}
			columns := append([]column{textIn("system", e.nameOf(s)), textIn("condition", c.name), s.watts.column(e.intervalHead()+" (W)", "the power")}, e.powerColumns(s.watts)...)
			if s.joules != nil {
				columns = append(columns, figuresIn("energy over the window (J)", s.joules.says("the energy over the window")))
			}
			t.row(columns...)
		}
	}
	return t
}

// over visits every system for every demand under every condition.
func (e *economyView) over(visit func(d demandView, c conditionView, s systemView, work, ratio *estimate)) {
	for _, d := range e.demands() {
		for _, c := range e.condition {
			for _, s := range c.systems {
				work, ratio := e.workOf(c, d, s)
				visit(d, c, s, work, ratio)
			}
		}
	}
}

// sameWork is how many servers of each system do the same work, and their price.
func (e *economyView) sameWork() (t tableView) {
	var first *big.Rat
	at := ""
	e.over(func(d demandView, c conditionView, s systemView, _, ratio *estimate) {
		if key := d.name + "\x00" + c.name; key != at {
			first, at = nil, key
		}
		if ratio == nil {
			return
		}
		n := e.servers(ratio)
		columns := []column{textIn("for the work of", d.name), textIn("condition", c.name), textIn("system", e.nameOf(s)),
			figuresIn("servers needed", n.fraction.says("the servers")), n.fraction.column(e.intervalHead(), "the servers"),
			figuresIn("whole", saysNumber("the whole servers", plainTruth(floatOf(n.whole)))), figuresIn("safe", saysNumber("the safe servers", plainTruth(floatOf(n.safe))))}
		if price := e.priceOf(s); price != nil {
			in := e.currency()
			all := n.fraction.by(price)
			if first == nil {
				first = all.point
			}
			columns = append(columns, figuresIn("price of the fraction ("+in+")", all.says("the price")), all.column("interval of the price ("+in+")", "the price"),
				figuresIn("price of the safe number ("+in+")", price.times(n.safe).says("the price of the safe number")), changeIn("against the first", all.point, first))
		}
		t.row(columns...)
	})
	return t
}

// changeIn is a column of how much more or less a is than b.
func changeIn(head string, a, b *big.Rat) column {
	if b.Sign() == 0 {
		return figuresIn(head)
	}
	d := new(big.Rat).Quo(new(big.Rat).Sub(a, b), b)
	return figuresIn(head, saysNumber("the change", percentTruth(floatOf(d))))
}

// consolidation is how many of one system do the work of how many others.
func (e *economyView) consolidation() (t tableView) {
	e.over(func(d demandView, c conditionView, s systemView, work, ratio *estimate) {
		if ratio == nil || ratio.in.Width().Sign() == 0 && len(d.parts) == 1 && e.nameOf(s) == levelText(d.parts[0].Levels) {
			return
		}
		n := e.servers(ratio)
		capacity := s.work.times(n.safe)
		spare := capacity.less(work)
		share := new(big.Rat).Quo(spare.point, capacity.point)
		owned := 0
		for _, f := range d.parts {
			owned += f.Servers
		}
		t.row(textIn("from", d.name), textIn("condition", c.name), textIn("to", e.nameOf(s)),
			figuresIn("N : M", saysNumber("N", countTruth(owned)), saysNumber("M", plainTruth(floatOf(n.safe)))),
			figuresIn("servers needed", n.fraction.says("the servers")), n.fraction.column(e.intervalHead(), "the servers"),
			figuresIn("spare work", spare.says("the spare work")), spare.column("interval of the spare work", "the spare work"),
			figuresIn("spare share", saysNumber("the spare share", percentTruth(floatOf(share)))), textIn("unit of the work", s.workUnit))
	})
	return t
}

// energyOfWork is what the servers for a work draw, against the mix that does it.
func (e *economyView) energyOfWork() (t tableView) {
	e.over(func(d demandView, c conditionView, s systemView, _, ratio *estimate) {
		if ratio == nil || s.watts == nil {
			return
		}
		n := e.servers(ratio)
		watts := s.watts.times(n.safe)
		columns := append([]column{textIn("for the work of", d.name), textIn("condition", c.name), textIn("system", e.nameOf(s)),
			figuresIn("servers", saysNumber("the servers", plainTruth(floatOf(n.safe)))), watts.column("interval (W)", "the power")}, e.powerColumns(watts)...)
		if now := fleetWatts(c, d); now != nil {
			columns = append(columns, changeIn("against what does it now", watts.point, now.point))
		}
		t.row(columns...)
	})
	return t
}

// fleetWatts is what the mix of a demand draws itself; nil where it is not known.
func fleetWatts(c conditionView, d demandView) *estimate {
	sum := exactly(new(big.Rat))
	for _, f := range d.parts {
		s, ok := c.find(f.Levels)
		if !ok || s.watts == nil {
			return nil
		}
		sum = sum.plus(s.watts.times(big.NewRat(int64(f.Servers), 1)))
	}
	return sum
}

// A mixView is servers of one system, with what one of them costs.
type mixView struct {
	name         string
	servers      *big.Rat
	price, watts *estimate // of one
	support      *big.Rat
	operations   []plan.Bracket // of all hosts of one
	age          int
}

// operate is what operating one costs in its year of age.
func (m mixView) operate(age int) *big.Rat {
	if i := bracketAt(m, age); i >= 0 {
		return m.operations[i].PerYear
	}
	return new(big.Rat)
}

// An optionView is one way to have a work done over the years.
type optionView struct {
	name  string
	mix   []mixView
	years []yearView
	power bool // all of it and the tariff are known
}

// A yearView is what an option costs in one year, and up to its end.
type yearView struct {
	purchase, energy, support, operations, sum, all *estimate
}

func (y yearView) running() *estimate {
	sum := y.support.plus(y.operations)
	if y.energy != nil {
		sum = sum.plus(y.energy)
	}
	return sum
}

// option works out the years of a mix.
func (e *economyView) option(name string, mix []mixView) optionView {
	o := optionView{name: name, mix: mix, power: true}
	for _, m := range mix {
		o.power = o.power && m.watts != nil
	}
	total := exactly(new(big.Rat))
	for i := range e.money.Years {
		y := e.year(mix, i, o.power)
		y.sum = y.running().plus(y.purchase)
		total = total.plus(y.sum)
		y.all = total
		o.years = append(o.years, y)
	}
	return o
}

func (e *economyView) year(mix []mixView, i int, power bool) yearView {
	nothing := func() *estimate { return exactly(new(big.Rat)) }
	y := yearView{purchase: nothing(), support: nothing(), operations: nothing()}
	if power {
		y.energy = nothing()
	}
	for _, m := range mix {
		if m.price != nil && i == 0 {
			y.purchase = y.purchase.plus(m.price.times(m.servers))
		}
		if m.support != nil {
			y.support = y.support.plus(exactly(new(big.Rat).Mul(m.support, m.servers)))
		}
		y.operations = y.operations.plus(exactly(new(big.Rat).Mul(m.operate(m.age+i+1), m.servers)))
		if power {
			_, cost, _ := e.yearly(m.watts.times(m.servers))
			y.energy = y.energy.plus(cost)
		}
	}
	return y
}

// mix is so many servers of a system, without a price.
func (e *economyView) mix(s systemView, servers *big.Rat, age int) mixView {
	m := mixView{name: e.nameOf(s), servers: servers, support: s.support, age: age}
	if s.watts != nil && e.money.Tariff != nil {
		m.watts = s.watts
	}
	for _, b := range e.money.Operations {
		m.operations = append(m.operations, plan.Bracket{Until: b.Until, PerYear: new(big.Rat).Mul(b.PerYear, big.NewRat(int64(max(s.hosts, 1)), 1))})
	}
	return m
}

// options are keeping what one owns, or buying the baseline, and every other
// system.
func (e *economyView) options(c conditionView, d demandView) (out []optionView) {
	if d.owned {
		var mix []mixView
		for _, f := range d.parts {
			s, ok := c.find(f.Levels)
			if !ok {
				return nil
			}
			mix = append(mix, e.mix(s, big.NewRat(int64(f.Servers), 1), f.Age))
		}
		out = append(out, e.option("keep "+d.name, mix))
	}
	for _, s := range c.systems {
		_, ratio := e.workOf(c, d, s)
		if d.owned && ownedAlready(d, s) || ratio == nil || s.price == nil {
			continue
		}
		n := e.servers(ratio).safe
		m := e.mix(s, n, 0)
		m.price = e.priceOf(s)
		out = append(out, e.option(fmt.Sprintf("buy %s %s", threes(int(n.Num().Int64())), m.name), []mixView{m}))
	}
	return out
}

func ownedAlready(d demandView, s systemView) bool {
	c := conditionView{systems: []systemView{s}}
	for _, f := range d.parts {
		if _, ok := c.find(f.Levels); ok {
			return true
		}
	}
	return false
}
