package analysis

import (
	"fmt"
	"math/big"

	"bakeoff/analysis/cost"
)

// efficiencyPrice is the table of work for the money.
const efficiencyPrice = "efficiency-price"

// efficiencyTables are the work for each CPU second, for each joule and for each
// unit of money.
func (e *Economy) efficiencyTables() []Table {
	cpu := e.efficiency("efficiency-cpu", "Work for each CPU second", "What a system does for each second of CPU time of the server's processes.",
		"work per CPU second", func(s System) *Amount { return s.CPU })
	energy := e.efficiency("efficiency-energy", "Work for each joule", e.perWattCaption(),
		"work per joule", func(s System) *Amount { return s.perWatt() })
	price := e.efficiency(efficiencyPrice, "Work for the money", e.priceCaption(), "work per "+e.currency(), e.perPrice)
	return []Table{cpu, energy, price}
}

func (e *Economy) currency() string {
	if e.Money.Currency == "" {
		return "unit of money"
	}
	return e.Money.Currency
}

func (e *Economy) perWattCaption() string {
	if e.Printed {
		return "Work over power, as printed; the same as performance per watt. " + e.intervals()
	}
	return "Work over mean power, formed in each trial over its window; the same as performance per watt. " + e.intervals()
}

func (e *Economy) priceCaption() string {
	text := "Work over the price of what was under test. "
	if e.Printed {
		return text + e.intervals()
	}
	if e.Money.PriceUncertainty != nil {
		return text + fmt.Sprintf("The interval holds the scatter of the trials and, undiminished by their number, ± %s of the price.", percentOf(e.Money.PriceUncertainty))
	}
	return text + "The interval is that of the work: prices are taken for exact."
}

func percentOf(share *big.Rat) string {
	return grouped(new(big.Rat).Mul(share, big.NewRat(100, 1)), shownPercent(share)) + " %"
}

// shownPercent is how many decimals a share needs as a percentage.
func shownPercent(share *big.Rat) int {
	decimals, exact := new(big.Rat).Mul(share, big.NewRat(100, 1)).FloatPrec()
	if !exact {
		return 2
	}
	return min(decimals, 4)
}

// perWatt is the work for each joule: as it was formed per trial, or the quotient
// of figures that were given.
func (s System) perWatt() *Amount {
	if s.PerWatt != nil || s.Work == nil || s.Watts == nil || s.Work.Trials > 0 {
		return s.PerWatt
	}
	ratio, err := s.Work.Over(s.Watts.Estimate)
	if err != nil {
		return nil
	}
	return Given(ratio)
}

// perPrice is the work for each unit of money.
func (e *Economy) perPrice(s System) *Amount {
	price := e.price(s)
	if s.Work == nil || price == nil {
		return nil
	}
	ratio, err := s.Work.Over(*price)
	if err != nil {
		return nil
	}
	return &Amount{Estimate: ratio, Trials: s.Work.Trials}
}

// efficiency lists one figure of every system beside its work, against the
// baseline under the same condition.
func (e *Economy) efficiency(id, title, caption, what string, of func(System) *Amount) Table {
	l := newLayout(id, title, caption).text("system", "condition").
		numbers("work", what, e.confidence(), "trials", "against the baseline").text("unit of the work").numbers("price (" + e.currency() + ")")
	priced := id == efficiencyPrice
	for _, c := range e.conditions() {
		var base *Amount
		if s, ok := c.find(e.Baseline); ok {
			base = of(s)
		}
		for _, s := range c.systems {
			a := of(s)
			if a == nil {
				continue
			}
			work, against, trials, price := "", "", "", ""
			if priced {
				price = money(s.Price)
			}
			if s.Work != nil {
				work = shown(s.Work.Point)
			}
			if base != nil {
				against = times(a.Point, base.Point)
			}
			if a.Trials > 0 {
				trials = fmt.Sprint(a.Trials)
			}
			l.row(e.systemName(s), c.name(), work, shown(a.Point), a.interval(like(a.Point)), trials, against, s.WorkUnit, price)
		}
	}
	for _, n := range e.Notes {
		if id == "efficiency-energy" {
			l.note(n)
		}
	}
	return l.finish()
}

// energyTable is what every system draws, and what that is over a year.
func (e *Economy) energyTable() Table {
	terms := e.terms()
	l := newLayout("energy-systems", "Power, energy and heat", e.energyCaption()).text("system", "condition").
		numbers("power (W)", e.confidence()+" (W)", "energy over the window (J)", "heat (BTU/h)", "energy a year (kWh)").
		numbers("cost a year ("+e.currency()+")", "interval of the cost ("+e.currency()+")", "CO2e a year (kg)")
	for _, c := range e.conditions() {
		for _, s := range c.systems {
			if s.Watts == nil {
				continue
			}
			w := s.Watts.Estimate
			energyCost, costRange := e.yearly(w)
			joules := ""
			if s.Joules != nil {
				joules = shown(s.Joules.Point)
			}
			l.row(e.systemName(s), c.name(), shown(w.Point), s.Watts.interval(like(w.Point)), joules, shown(cost.Heat(w).Point),
				shown(terms.EnergyPerYear(w).Point), energyCost, costRange, e.carbon(w))
		}
	}
	if len(l.Rows) > 0 {
		e.energyNotes(l)
	}
	return l.finish()
}

func (e *Economy) energyCaption() string {
	hours, pue := "8,760", "no overhead of a data centre"
	if e.Money.Hours != nil {
		hours = grouped(e.Money.Hours, 0)
	}
	if e.Money.PUE != nil {
		pue = "a PUE of " + shown(e.Money.PUE)
	}
	power := "Mean power over the windows of the trials. " + e.intervals()
	if e.Printed {
		power = "Power as printed."
	}
	return fmt.Sprintf("%s A year is %s hours at that power, with %s. All power becomes heat: 1 W is 3.412 BTU/h.", power, hours, pue)
}

// yearly is the cost of a mean power for a year, with its interval.
func (e *Economy) yearly(watts cost.Estimate) (point, within string) {
	c, err := e.terms().EnergyCost(watts)
	if err != nil {
		return "", ""
	}
	return money(c.Point), between(c, money)
}

func (e *Economy) carbon(watts cost.Estimate) string {
	c, err := e.terms().Carbon(watts)
	if err != nil {
		return ""
	}
	return shown(c.Point)
}

// energyNotes says which keys would give what is absent.
func (e *Economy) energyNotes(l *layout) {
	if e.Money.Tariff == nil {
		l.note("No cost of energy: money.tariff is not given.")
	}
	if e.Money.Grid == nil {
		l.note("No CO2e: money.grid, the grams of CO2e a kWh, is not given.")
	}
}
