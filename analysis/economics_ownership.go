package analysis

import (
	"fmt"
	"math/big"
	"strings"

	"bakeoff/analysis/cost"
)

// option is one way to have a work done over the years.
type option struct {
	name  string
	fleet []cost.Fleet
	years []cost.Year
	base  bool // what the others are compared with
	// energy is whether all of its power and the tariff are known.
	energy bool
}

// ownershipTables are the cost of ownership over the years, year by year, when
// replacing pays, and what would turn the answer.
func (e *Economy) ownershipTables() []Table {
	if e.Money.Years == 0 || !e.priced() {
		return nil
	}
	d := e.demands()[0]
	total, years, flips := e.totalLayout(d), e.yearsLayout(), e.flipsLayout(d)
	conditions := e.conditions()
	detailed := e.detailed(conditions)
	for i, c := range conditions {
		options, missing := e.options(c, d)
		for _, m := range missing {
			total.note(m)
		}
		for _, o := range options {
			e.totalRow(total, c, o, options[0])
			if detailed < 0 || detailed == i {
				e.yearRows(years, c, o)
				e.flipRows(flips, c, o, options[0])
			}
		}
	}
	if detailed >= 0 {
		shortened := fmt.Sprintf("Of %d conditions the one under which the baseline does most is shown: %s.", len(conditions), conditions[detailed].name())
		years.note(shortened)
		flips.note(shortened)
	}
	if len(total.Rows) == 0 {
		return nil
	}
	e.ownershipNotes(total)
	return []Table{total.finish(), years.finish(), flips.finish()}
}

// manyConditions is up to how many conditions are shown year by year.
const manyConditions = 4

// detailed is the condition to show year by year, negative for all: where they
// are many, the one under which the baseline does most.
func (e *Economy) detailed(conditions []condition) int {
	if len(conditions) <= manyConditions {
		return -1
	}
	best, most := 0, new(big.Rat)
	for i, c := range conditions {
		if s, ok := c.find(e.Baseline); ok && s.Work != nil && s.Work.Point.Cmp(most) > 0 {
			best, most = i, s.Work.Point
		}
	}
	return best
}

// options are keeping what one owns, or buying the baseline, and every other
// system.
func (e *Economy) options(c condition, d demand) (out []option, missing []string) {
	if d.owned {
		kept, why := e.kept(c, d)
		if why != "" {
			return nil, []string{"Left out: " + why + "."}
		}
		out = append(out, kept)
	}
	for _, s := range c.systems {
		_, ratio, why := e.workOf(c, d, s)
		switch {
		case d.owned && ownedAlready(d, s):
			continue
		case why == "" && s.Price == nil:
			why = "the price of " + e.systemName(s) + " is not given (" + e.priceKey() + ")"
		}
		if why != "" {
			missing = append(missing, "Left out: "+why+".")
			continue
		}
		servers := intRat(e.terms().ServersFor(ratio).Safe)
		f := e.fleet(s, servers, 0)
		f.Price = e.price(s)
		out = append(out, e.option("buy "+grouped(servers, 0)+" "+e.systemName(s), []cost.Fleet{f}))
	}
	if len(out) > 0 {
		out[0].base = true
	}
	return out, missing
}

// ownedAlready says whether a system is part of what one owns.
func ownedAlready(d demand, s System) bool {
	c := condition{systems: []System{s}}
	for _, f := range d.parts {
		if _, ok := c.find(f.Levels); ok {
			return true
		}
	}
	return false
}

func (e *Economy) kept(c condition, d demand) (option, string) {
	var mix []cost.Fleet
	for _, f := range d.parts {
		s, ok := c.find(f.Levels)
		if !ok {
			return option{}, levelNames(f.Levels) + " is not among the systems" + under(c)
		}
		mix = append(mix, e.fleet(s, big.NewRat(int64(f.Servers), 1), f.Age))
	}
	return e.option("keep "+d.name, mix), ""
}

// fleet is so many servers of a system, without a price.
func (e *Economy) fleet(s System, servers *big.Rat, age int) cost.Fleet {
	f := cost.Fleet{Name: e.systemName(s), Count: servers, Support: s.Support, Age: age}
	if s.Watts != nil && e.Money.Tariff != nil {
		f.Watts = new(s.Watts.Estimate)
	}
	for _, b := range e.Money.Operations {
		f.Operations = append(f.Operations, cost.Bracket{Until: b.Until, PerYear: new(big.Rat).Mul(b.PerYear, big.NewRat(int64(max(s.Hosts, 1)), 1))})
	}
	return f
}

func (e *Economy) option(name string, mix []cost.Fleet) option {
	o := option{name: name, fleet: mix, energy: true}
	for _, f := range mix {
		o.energy = o.energy && f.Watts != nil
	}
	years, err := e.terms().Ownership(mix, e.Money.Years)
	if err == nil { // the plan's and the figures file's checks leave nothing to refuse
		o.years = years
	}
	return o
}

func (e *Economy) totalLayout(d demand) *layout {
	currency, n := e.currency(), e.Money.Years
	caption := fmt.Sprintf("What it costs to have the work of %s done for %d years: purchase in the first, energy, support and operations in each. "+
		"The number of servers is the safe one. The interval holds power and prices at their ends; what is not known is not counted.", d.name, n)
	return newLayout("money-ownership", fmt.Sprintf("Cost of ownership over %d years", n), caption).text("option", "condition").
		numbers("purchase ("+currency+")", "energy a year ("+currency+")", "support a year ("+currency+")", "operations in year 1 ("+currency+")", fmt.Sprintf("operations in year %d (%s)", n, currency)).
		numbers("total ("+currency+")", "interval of the total ("+currency+")", "against the first", "break-even (years)", "interval of the break-even (years)")
}

func (e *Economy) totalRow(l *layout, c condition, o, base option) {
	if o.years == nil {
		return
	}
	first, last := o.years[0], o.years[len(o.years)-1]
	energy := ""
	if o.energy {
		energy = money(first.Energy.Point)
	}
	support := ""
	if first.Support.Point.Sign() > 0 {
		support = money(first.Support.Point)
	}
	operations, later := "", ""
	if len(e.Money.Operations) > 0 {
		operations = money(first.Operations.Point)
		if len(e.Money.Operations) > 1 {
			later = money(last.Operations.Point)
		}
	}
	against, at, within := "", "", ""
	if !o.base && o.energy == base.energy {
		against = percentChange(last.Cumulative.Point, base.years[len(base.years)-1].Cumulative.Point)
		at, within = e.breakEven(base, o)
	} else if !o.base {
		l.note(fmt.Sprintf("%s is not compared with %s: the power of one of the two is not known, so that its total has no energy in it.", o.name, base.name))
	}
	l.row(o.name, c.name(), money(first.Purchase.Point), energy, support, operations, later, money(last.Cumulative.Point), between(last.Cumulative, money), against, at, within)
}

// breakEven is after how many years an option has cost no more than the base.
func (e *Economy) breakEven(base, o option) (point, within string) {
	p, err := e.terms().BreakEven(base.fleet, o.fleet, e.Money.Years)
	if err != nil {
		return "", ""
	}
	never := fmt.Sprintf("not in %d", e.Money.Years)
	write := func(v *big.Rat) string {
		if v == nil {
			return never
		}
		return v.FloatString(2)
	}
	point = write(p.Years)
	if low, high := write(p.Earliest), write(p.Latest); low != high {
		within = low + " to " + high
	}
	return point, within
}

func (e *Economy) yearsLayout() *layout {
	currency := e.currency()
	return newLayout("money-years", "Cost of ownership, year by year", "The same, by year. Servers in service before are older by that, and their operations cost what they cost at that age.").
		text("option", "condition").numbers("year", "purchase ("+currency+")", "energy ("+currency+")", "support ("+currency+")", "operations ("+currency+")", "in the year ("+currency+")", "up to its end ("+currency+")")
}

func (e *Economy) yearRows(l *layout, c condition, o option) {
	or := func(known bool, v cost.Estimate) string {
		if !known {
			return ""
		}
		return money(v.Point)
	}
	for _, y := range o.years {
		energy := ""
		if o.energy {
			energy = money(y.Energy.Point)
		}
		l.row(o.name, c.name(), fmt.Sprint(y.Year), or(y.Purchase.Point.Sign() > 0, y.Purchase), energy, or(y.Support.Point.Sign() > 0, y.Support),
			or(len(e.Money.Operations) > 0, y.Operations), money(y.Sum.Point), money(y.Cumulative.Point))
	}
}

func (e *Economy) flipsLayout(d demand) *layout {
	return newLayout("money-sensitivity", "What would turn the answer", fmt.Sprintf(
		"The value of each input, all others as they are, at which an option costs as much over %d years as the first one, %s; those that need the least change first. An input that is not listed cannot turn it alone.",
		e.Money.Years, e.baseName(d))).text("option", "condition", "input").numbers("now", "turns at", "change").text("unit")
}

func (e *Economy) baseName(d demand) string {
	if d.owned {
		return "keep " + d.name
	}
	return "buying the system that is listed first"
}

func (e *Economy) flipRows(l *layout, c condition, o, base option) {
	if o.base || o.energy != base.energy {
		return
	}
	flips, err := e.terms().Sensitivity(base.fleet, o.fleet, e.Money.Years)
	if err != nil {
		return
	}
	for _, f := range flips {
		now, at := shown(f.Now), shown(f.At)
		if f.Unit == e.Money.Currency || strings.HasSuffix(f.Unit, " a year") {
			now, at = money(f.Now), money(f.At)
		}
		l.row(o.name, c.name(), f.Input, now, at, percentChange(f.At, f.Now), f.Unit)
		e.workFlip(l, c, o, f)
	}
}

// workFlip says the same of what one server does as of how many are needed: the
// fewer, the more each does.
func (e *Economy) workFlip(l *layout, c condition, o option, f cost.Flip) {
	for _, s := range c.systems {
		if s.Work == nil || f.At.Sign() <= 0 || len(o.fleet) != 1 || o.fleet[0].Name != e.systemName(s) || f.Input != "servers of "+e.systemName(s) {
			continue
		}
		at := new(big.Rat).Mul(s.Work.Point, new(big.Rat).Quo(f.Now, f.At))
		l.row(o.name, c.name(), "work of one "+e.systemName(s), shown(s.Work.Point), shown(at), percentChange(at, s.Work.Point), s.WorkUnit)
	}
}

// ownershipNotes says which keys would give what is not counted.
func (e *Economy) ownershipNotes(l *layout) {
	m := e.Money
	if len(m.Own) == 0 {
		l.note("Nothing is compared with what one owns: money.own is not given.")
	}
	if m.Tariff == nil {
		l.note("No energy is counted: money.tariff is not given.")
	}
	if len(m.Operations) == 0 {
		l.note("No operations are counted: money.operations is not given.")
	}
	supported := false
	for _, s := range e.Systems {
		supported = supported || s.Support != nil
		if s.Watts == nil && m.Tariff != nil {
			l.note("No energy of " + e.systemName(s) + " is counted: its power is not known.")
		}
	}
	if !supported {
		l.note("No support is counted: money.support is not given.")
	}
}
