package analysis

import (
	"fmt"
	"math/big"
	"slices"
	"strings"

	"bakeoff/analysis/cost"
	"bakeoff/plan"
	"bakeoff/record"
)

// An Economy is what the tables of efficiency, money, energy and consolidation
// are worked out from: systems with what they do, draw and cost, and the terms.
// Runs and printed figures both make one.
type Economy struct {
	Money plan.Money
	// SystemFactors are the factors whose levels are systems that one could buy
	// instead of one another. The levels of all others are conditions: systems
	// are compared under one condition at a time.
	SystemFactors []string
	Baseline      record.Cell // levels of the system factors that others are compared with
	Systems       []System    // in the order of the report
	Notes         []string    // on where the watts come from
	// Printed is true for figures that were given: their intervals are what the
	// printed digits leave open.
	Printed bool
}

// A System is what was under test in one cell, seen by one workload. What is
// not known is nil.
type System struct {
	Cell     record.Cell
	Workload string // "" where there is one
	WorkName string // of what it does, as "Throughput"
	WorkUnit string // a rate, as "ops/s"
	Hosts    int    // that it consists of
	Work     *Amount
	CPU      *Amount  // work for each CPU second
	Watts    *Amount  // of all its hosts
	PerWatt  *Amount  // formed per trial
	Joules   *Amount  // over the window
	Price    *big.Rat // of all its hosts
	Support  *big.Rat // of all its hosts, for a year
}

// An Amount is a value with every value that it may be.
type Amount struct {
	cost.Estimate
	Trials int             // that the interval rests on; 0 for figures that were given
	Blocks map[int]float64 // the value in each block, of what was measured
}

// Given returns the amount of a figure that was given with its interval.
func Given(e cost.Estimate) *Amount { return &Amount{Estimate: e} }

// demand is an amount of work to be done, as so many servers of systems.
type demand struct {
	name  string
	parts []plan.Fleet
	owned bool
}

// condition is the systems that are compared with one another.
type condition struct {
	workload string
	levels   record.Cell
	systems  []System
}

// Tables works out every table that the figures allow. What a table lacks, its
// notes say, with the key that would give it.
func (e *Economy) Tables() []Table {
	var out []Table
	add := func(tables ...Table) {
		for _, t := range tables {
			if len(t.Rows) > 0 {
				out = append(out, t)
			}
		}
	}
	add(e.efficiencyTables()...)
	add(e.energyTable())
	if e.priced() || e.sized() {
		add(e.sameWorkTable())
	}
	if e.sized() {
		add(e.consolidationTable(), e.fleetEnergyTable())
	}
	add(e.ownershipTables()...)
	if len(out) > 0 {
		add(e.termsTable())
	}
	return out
}

// priceKey is where a price would be given.
func (e *Economy) priceKey() string {
	if e.Printed {
		return "economics.systems.NAME.price"
	}
	return "hosts.NAME.price"
}

// intervals says what the intervals of a table hold.
func (e *Economy) intervals() string {
	if e.Printed {
		return "Intervals are what the printed digits leave open; they say nothing of repetition."
	}
	return "Intervals hold the scatter of the trials and, undiminished by their number, the uncertainty that the meter states."
}

// priced says whether any system has a price.
func (e *Economy) priced() bool {
	return slices.ContainsFunc(e.Systems, func(s System) bool { return s.Price != nil })
}

// sized says whether the terms name an amount of work.
func (e *Economy) sized() bool { return len(e.Money.Own)+len(e.Money.Work) > 0 }

func (e *Economy) terms() cost.Terms {
	m := e.Money
	return cost.Terms{Currency: m.Currency, Tariff: m.Tariff, Hours: m.Hours, Overhead: m.PUE, Intensity: m.Grid, Headroom: m.Headroom}
}

// confidence heads the column of an interval.
func (e *Economy) confidence() string {
	if e.Printed {
		return "by the printed digits"
	}
	level := e.Money.Confidence
	if level == 0 {
		level = plan.DefaultConfidence
	}
	return percentText(level) + " % interval"
}

// conditions groups the systems that are compared with one another.
func (e *Economy) conditions() []condition {
	var out []condition
	for _, s := range e.Systems {
		var levels record.Cell
		for _, l := range s.Cell {
			if !slices.Contains(e.SystemFactors, l.Factor) && l.Factor != plan.WorkloadFactor {
				levels = append(levels, l)
			}
		}
		i := slices.IndexFunc(out, func(c condition) bool { return c.workload == s.Workload && c.levels.Key() == levels.Key() })
		if i < 0 {
			out, i = append(out, condition{workload: s.Workload, levels: levels}), len(out)
		}
		out[i].systems = append(out[i].systems, s)
	}
	return out
}

// name says which condition it is, "" where there is one.
func (c condition) name() string {
	parts := []string{c.workload, c.levels.Key()}
	return strings.Join(slices.DeleteFunc(parts, func(p string) bool { return p == "" }), ": ")
}

// find returns the system of a condition that has all the levels.
func (c condition) find(levels record.Cell) (System, bool) {
	i := slices.IndexFunc(c.systems, func(s System) bool {
		return !slices.ContainsFunc(levels, func(want record.Level) bool {
			have, ok := s.Cell.Level(want.Factor)
			return !ok || have != want.Level
		})
	})
	if i < 0 {
		return System{}, false
	}
	return c.systems[i], true
}

// systemName names a system by the levels of its factors.
func (e *Economy) systemName(s System) string {
	var parts []string
	for _, l := range s.Cell {
		if slices.Contains(e.SystemFactors, l.Factor) {
			parts = append(parts, l.Level)
		}
	}
	if len(parts) == 0 {
		return "the system"
	}
	return strings.Join(parts, ", ")
}

// demands are the amounts of work to be priced: what one owns, each further one,
// and where neither is given what one server of the baseline does.
func (e *Economy) demands() []demand {
	var out []demand
	if len(e.Money.Own) > 0 {
		out = append(out, demand{name: fleetNames(e.Money.Own), parts: e.Money.Own, owned: true})
	}
	for _, f := range e.Money.Work {
		one := []plan.Fleet{f}
		out = append(out, demand{name: fleetNames(one), parts: one})
	}
	if len(out) == 0 {
		one := []plan.Fleet{{Levels: e.Baseline, Servers: 1}}
		out = append(out, demand{name: fleetNames(one), parts: one})
	}
	return out
}

func fleetNames(fleets []plan.Fleet) string {
	parts := make([]string, len(fleets))
	for i, f := range fleets {
		parts[i] = strings.TrimSpace(grouped(big.NewRat(int64(f.Servers), 1), 0) + " " + levelNames(f.Levels))
	}
	return strings.Join(parts, " + ")
}

func levelNames(c record.Cell) string {
	parts := make([]string, len(c))
	for i, l := range c {
		parts[i] = l.Level
	}
	return strings.Join(parts, ", ")
}

// price is a system's price with the uncertainty of prices.
func (e *Economy) price(s System) *cost.Estimate {
	if s.Price == nil {
		return nil
	}
	p := cost.Exactly(s.Price)
	if e.Money.PriceUncertainty != nil {
		p = p.Widened(e.Money.PriceUncertainty)
	}
	return &p
}

// workOf is a demand in the work of the systems under one condition, and how
// many times what one server of the target does it is. It says why where that
// cannot be told.
func (e *Economy) workOf(c condition, d demand, target System) (work, ratio cost.Estimate, missing string) {
	var groups []cost.Group
	var parts []part
	for _, f := range d.parts {
		s, ok := c.find(f.Levels)
		switch {
		case !ok:
			return work, ratio, fmt.Sprintf("%s is not among the systems%s", levelNames(f.Levels), under(c))
		case s.Work == nil:
			return work, ratio, fmt.Sprintf("what %s does is not known%s", levelNames(f.Levels), under(c))
		}
		groups = append(groups, cost.Group{Count: big.NewRat(int64(f.Servers), 1), Each: s.Work.Estimate})
		parts = append(parts, part{float64(f.Servers), s})
	}
	if target.Work == nil {
		return work, ratio, fmt.Sprintf("what %s does is not known%s", e.systemName(target), under(c))
	}
	work = cost.Demand(groups)
	if len(parts) == 1 && parts[0].system.Cell.Key() == target.Cell.Key() {
		return work, cost.Exactly(groups[0].Count), ""
	}
	if paired, ok := e.paired(parts, target); ok {
		return work, paired, ""
	}
	ratio, err := work.Over(target.Work.Estimate)
	if err != nil {
		return work, ratio, fmt.Sprintf("what %s does may be nothing%s", e.systemName(target), under(c))
	}
	return work, ratio, ""
}

func under(c condition) string {
	if c.name() == "" {
		return ""
	}
	return " at " + c.name()
}
