package analysis

import (
	"fmt"
	"math/big"
	"strings"

	"bakeoff/analysis/cost"
)

// sameWorkTable is how many servers of each system do the same work, and what
// they cost.
func (e *Economy) sameWorkTable() Table {
	currency := e.currency()
	l := newLayout("money-same-work", "Servers and price for the same work", e.sameWorkCaption()).text("for the work of", "condition", "system").
		numbers("servers needed", e.confidence(), "whole", "safe").
		numbers("price of the fraction ("+currency+")", "interval of the price ("+currency+")", "price of the safe number ("+currency+")", "against the first")
	for _, d := range e.demands() {
		for _, c := range e.conditions() {
			var first *big.Rat
			for _, s := range c.systems {
				_, ratio, missing := e.workOf(c, d, s)
				if missing != "" {
					l.note("Left out: " + missing + ".")
					continue
				}
				n := e.terms().ServersFor(ratio)
				row := []string{d.name, c.name(), e.systemName(s), servers(n.Fraction.Point), between(n.Fraction, servers), grouped(intRat(n.Whole), 0), grouped(intRat(n.Safe), 0)}
				l.row(append(row, e.priceOfWork(s, n, &first)...)...)
			}
		}
	}
	if !e.priced() {
		l.note("No price is given: " + e.priceKey() + " gives the price of the same work.")
	}
	return l.finish()
}

// servers writes a number of servers with two decimals, and with four where two
// would make a whole number of one that is not.
func servers(v *big.Rat) string {
	if text := grouped(v, 2); v.IsInt() || !strings.HasSuffix(text, ".00") {
		return text
	}
	return grouped(v, 4)
}

func intRat(n *big.Int) *big.Rat { return new(big.Rat).SetInt(n) }

func (e *Economy) sameWorkCaption() string {
	return "A fraction of a server cannot be bought: whole is the next whole number, and safe is the one that is enough at the unfavourable end of the interval. " +
		e.headroomText() + " The price of the fraction compares systems; the price of the safe number is what one would pay."
}

func (e *Economy) headroomText() string {
	if e.Money.Headroom == nil {
		return "No headroom is kept."
	}
	return fmt.Sprintf("%s of every server is kept free.", percentOf(e.Money.Headroom))
}

// priceOfWork is the price of a number of servers, against the first system that
// has one.
func (e *Economy) priceOfWork(s System, n cost.Need, first **big.Rat) []string {
	price := e.price(s)
	if price == nil {
		return []string{"", "", "", ""}
	}
	point := new(big.Rat).Mul(n.Fraction.Point, price.Point)
	within := cost.Estimate{Point: point, Range: n.Fraction.Range.Mul(price.Range)}
	if *first == nil {
		*first = point
	}
	return []string{money(point), between(within, money), money(price.Times(intRat(n.Safe)).Point), percentChange(point, *first)}
}

// consolidationTable is how many of one system do the work of how many others.
func (e *Economy) consolidationTable() Table {
	l := newLayout("consolidation-servers", "Consolidation", "N : M in whole servers: N of what stands on the left are replaced by M of the system, whatever values in the intervals are true. "+
		e.headroomText()+" What is spare is the work that M servers can do beyond what is asked, the headroom included.").
		text("from", "condition", "to").numbers("N : M", "servers needed", e.confidence(), "spare work", "interval of the spare work", "spare share").text("unit of the work")
	for _, d := range e.demands() {
		for _, c := range e.conditions() {
			for _, s := range c.systems {
				work, ratio, missing := e.workOf(c, d, s)
				if missing != "" || ratio.Range.Width().Sign() == 0 && len(d.parts) == 1 && e.systemName(s) == levelNames(d.parts[0].Levels) {
					l.note(leftOut(missing))
					continue
				}
				n := e.terms().ServersFor(ratio)
				capacity := s.Work.Times(intRat(n.Safe))
				spare := cost.Between(new(big.Rat).Sub(capacity.Point, work.Point), new(big.Rat).Sub(capacity.Range.Low(), work.Range.High()), new(big.Rat).Sub(capacity.Range.High(), work.Range.Low()))
				share := new(big.Rat).Quo(spare.Point, capacity.Point)
				l.row(d.name, c.name(), e.systemName(s), d.ratio(n), servers(n.Fraction.Point), between(n.Fraction, servers),
					shown(spare.Point), between(spare, like(spare.Point)), share.Mul(share, big.NewRat(100, 1)).FloatString(1)+" %", s.WorkUnit)
			}
		}
	}
	return l.finish()
}

func leftOut(missing string) string {
	if missing == "" {
		return ""
	}
	return "Left out: " + missing + "."
}

// ratio writes N : M.
func (d demand) ratio(n cost.Need) string {
	have := 0
	for _, f := range d.parts {
		have += f.Servers
	}
	return grouped(big.NewRat(int64(have), 1), 0) + " : " + grouped(intRat(n.Safe), 0)
}

// fleetEnergyTable is what the servers for a work draw, against the mix whose
// work it is.
func (e *Economy) fleetEnergyTable() Table {
	currency := e.currency()
	l := newLayout("energy-same-work", "Power and energy for the same work", "Of the safe number of servers, under the load that was measured. "+e.energyCaption()).
		text("for the work of", "condition", "system").numbers("servers", "power (W)", "interval (W)", "against what does it now", "heat (BTU/h)", "energy a year (kWh)", "cost a year ("+currency+")", "CO2e a year (kg)")
	for _, d := range e.demands() {
		for _, c := range e.conditions() {
			now, known := e.fleetWatts(c, d)
			for _, s := range c.systems {
				_, ratio, missing := e.workOf(c, d, s)
				if missing != "" || s.Watts == nil {
					continue
				}
				n := e.terms().ServersFor(ratio)
				w := s.Watts.Times(intRat(n.Safe))
				against := ""
				if known {
					against = percentChange(w.Point, now.Point)
				}
				year, _ := e.yearly(w)
				l.row(d.name, c.name(), e.systemName(s), grouped(intRat(n.Safe), 0), shown(w.Point), between(w, like(w.Point)), against,
					shown(cost.Heat(w).Point), shown(e.terms().EnergyPerYear(w).Point), year, e.carbon(w))
			}
		}
	}
	if len(l.Rows) > 0 {
		e.energyNotes(l)
	}
	return l.finish()
}

// fleetWatts is what the mix of a demand draws itself, false where a part of it
// is not known.
func (e *Economy) fleetWatts(c condition, d demand) (cost.Estimate, bool) {
	var groups []cost.Group
	for _, f := range d.parts {
		s, ok := c.find(f.Levels)
		if !ok || s.Watts == nil {
			return cost.Estimate{}, false
		}
		groups = append(groups, cost.Group{Count: big.NewRat(int64(f.Servers), 1), Each: s.Watts.Estimate})
	}
	return cost.Demand(groups), true
}
