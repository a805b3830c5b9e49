package self

import (
	"cmp"
	"fmt"
	"math"
	"math/big"
	"slices"
	"strings"

	"bakeoff/plan"
	"bakeoff/record"
	"bakeoff/unit"
)

// A systemView is what was under test in one cell, seen by one workload.
type systemView struct {
	cell           record.Cell
	workload       string
	workUnit       string
	work, cpu      *estimate
	watts, perWatt *estimate
	joules         *estimate
	price, support *big.Rat
	hosts          int
}

// An economyView is what the tables of efficiency, money and energy rest on.
type economyView struct {
	a         *auditor
	money     plan.Money
	factors   []string    // whose levels are systems
	baseline  record.Cell // of these factors
	systems   []systemView
	condition []conditionView
}

// A conditionView is systems that are compared with one another.
type conditionView struct {
	name    string
	systems []systemView
}

// economy describes every system that was measured, at the peak of a graded plan.
func (a *auditor) economy() *economyView {
	e := &economyView{a: a, money: a.plan.Money, factors: a.plan.SystemFactors()}
	for _, l := range a.plan.Baseline() {
		if slices.Contains(e.factors, l.Factor) {
			e.baseline = append(e.baseline, l)
		}
	}
	for _, cell := range a.plan.Cells() {
		if share, graded := a.plan.Share(cell); !graded || share.Cmp(big.NewRat(1, 1)) == 0 {
			e.systems = append(e.systems, a.systemsIn(cell)...)
		}
	}
	for _, s := range e.systems {
		var levels record.Cell
		for _, l := range s.cell {
			if !slices.Contains(e.factors, l.Factor) && l.Factor != plan.WorkloadFactor {
				levels = append(levels, l)
			}
		}
		name := joined(": ", s.workload, levels.Key())
		i := slices.IndexFunc(e.condition, func(c conditionView) bool { return c.name == name })
		if i < 0 {
			e.condition, i = append(e.condition, conditionView{name: name}), len(e.condition)
		}
		e.condition[i].systems = append(e.condition[i].systems, s)
	}
	return e
}

func (e *economyView) confidence() float64 { return cmp.Or(e.money.Confidence, plan.DefaultConfidence) }

func (e *economyView) currency() string { return cmp.Or(e.money.Currency, "unit of money") }

// intervalHead heads the column of an interval.
func (e *economyView) intervalHead() string {
	text := fmt.Sprintf("%.2f", 100*e.confidence())
	return strings.TrimSuffix(strings.TrimRight(text, "0"), ".") + " % interval"
}

// nameOf names a system by the levels of its factors.
func (e *economyView) nameOf(s systemView) string {
	var parts []string
	for _, l := range s.cell {
		if slices.Contains(e.factors, l.Factor) {
			parts = append(parts, l.Level)
		}
	}
	return cmp.Or(strings.Join(parts, ", "), "the system")
}

// find returns the system of a condition that has all the levels.
func (c conditionView) find(levels record.Cell) (systemView, bool) {
	for _, s := range c.systems {
		fits := true
		for _, want := range levels {
			have, ok := s.cell.Level(want.Factor)
			fits = fits && ok && have == want.Level
		}
		if fits {
			return s, true
		}
	}
	return systemView{}, false
}

// byBlock are a measure's values in one cell.
func (g *grid) byBlock(key measureKey, cell string) map[int]float64 {
	out := map[int]float64{}
	for block, byCell := range g.values[key] {
		if v, ok := byCell[cell]; ok {
			out[block] = v.value
		}
	}
	return out
}

// trialsIn lists the trials that count of one cell.
func (a *auditor) trialsIn(cell string) (out []*trialView) {
	for _, t := range a.run.Trials {
		if a.counted[t.ID] && t.Role == record.RoleMeasure && t.Cell.Key() == cell && len(a.observed[t.ID]) > 0 {
			out = append(out, a.views[t.ID])
		}
	}
	return out
}

// systemsIn describes what was under test in a cell, once for each workload;
// workloads that run together do one work.
func (a *auditor) systemsIn(cell record.Cell) (out []systemView) {
	resolved, err := a.plan.Resolve(cell)
	if err != nil || len(a.trialsIn(cell.Key())) == 0 {
		return nil
	}
	groups := [][]plan.Workload{resolved.Workloads}
	if !a.plan.Together {
		groups = nil
		for _, w := range resolved.Workloads {
			groups = append(groups, []plan.Workload{w})
		}
	}
	for _, g := range groups {
		s := systemView{cell: cell}
		if a.several() && !a.plan.Together {
			s.workload = g[0].Name
		}
		a.workIn(&s, g)
		a.powerIn(&s)
		a.pricesIn(&s, resolved)
		out = append(out, s)
	}
	return out
}

// workIn is the throughput of the workloads, added up where they are of one
// kind; or the first primary measure of which more is better.
func (a *auditor) workIn(s *systemView, workloads []plan.Workload) {
	names := []string{"throughput"}
	for _, m := range a.plan.Primary {
		if m.Better == record.HigherIsBetter && m.Measure != plan.OverallMeasure {
			names = append(names, m.Measure)
		}
	}
	for _, measure := range names {
		key := measureKey{workloads[0].Name, measure}
		total := a.samples.byBlock(key, s.cell.Key())
		if len(total) == 0 {
			continue
		}
		s.workUnit = a.kinds[key].Unit
		for _, w := range workloads[1:] {
			other := a.samples.byBlock(measureKey{w.Name, measure}, s.cell.Key())
			for block := range total {
				v, ok := other[block]
				if total[block] += v; !ok || w.Engine != workloads[0].Engine {
					delete(total, block)
				}
			}
		}
		s.work = estimateOf(total, a.plan.Money.Confidence)
		if len(workloads) == 1 {
			s.cpu = estimateOf(a.samples.byBlock(measureKey{workloads[0].Name, "cpu_efficiency"}, s.cell.Key()), a.plan.Money.Confidence)
		}
		return
	}
}

// powerIn is that of the hosts under test. What meters state of their
// uncertainty widens the intervals whole: trials do not reduce it.
func (a *auditor) powerIn(s *systemView) {
	cell, confidence := s.cell.Key(), a.plan.Money.Confidence
	watts := a.samples.byBlock(measureKey{"", "power"}, cell)
	s.watts = estimateOf(watts, confidence)
	s.joules = estimateOf(a.samples.byBlock(measureKey{"", "energy"}, cell), confidence)
	if s.watts == nil {
		return
	}
	if s.work != nil {
		ratios := map[int]float64{}
		for block, v := range s.work.blocks {
			if w, ok := watts[block]; ok && w > 0 {
				ratios[block] = v / w
			}
		}
		s.perWatt = estimateOf(ratios, confidence)
	}
	share := a.meterShare(cell)
	for _, e := range []**estimate{&s.watts, &s.joules, &s.perWatt} {
		if *e != nil && share != nil {
			*e = (*e).widened(share)
		}
	}
}

// meterShare is the largest uncertainty that the sources in use state in a cell,
// as a share; nil where none does.
func (a *auditor) meterShare(cell string) *big.Rat {
	var most *big.Rat
	for _, v := range a.trialsIn(cell) {
		for _, machine := range v.underTest() {
			s, ok := v.powerOf(machine)
			if !ok || s.uncertainty == nil {
				continue
			}
			if share := ratOf(*s.uncertainty / 100); most == nil || share.Cmp(most) > 0 {
				most = share
			}
		}
	}
	return most
}

// pricesIn adds up what the hosts under test cost; one without a price leaves it
// unknown.
func (a *auditor) pricesIn(s *systemView, r plan.Resolved) {
	names := map[string]bool{}
	for _, x := range r.Services {
		names[x.Host] = true
	}
	if len(r.Services) == 0 {
		for _, w := range r.Workloads {
			names[cmp.Or(w.Sink, w.Source)] = true
		}
	}
	s.price, s.support = new(big.Rat), new(big.Rat)
	for _, h := range r.Hosts {
		if !names[h.Name] {
			continue
		}
		s.hosts++
		s.price = addMoney(s.price, h.Price, nil)
		s.support = addMoney(s.support, h.Support, a.plan.Money.Support)
	}
	if s.hosts == 0 {
		s.price, s.support = nil, nil
	}
}

// addMoney adds an amount, or the one that stands for it; nil where there is
// none.
func addMoney(sum *big.Rat, text string, otherwise *big.Rat) *big.Rat {
	amount := otherwise
	if m, err := unit.ParseMoney(text); err == nil {
		amount = m.Amount()
	}
	if sum == nil || amount == nil {
		return nil
	}
	return new(big.Rat).Add(sum, amount)
}

// priceOf is a system's price with the uncertainty of prices; nil for none.
func (e *economyView) priceOf(s systemView) *estimate {
	if s.price == nil {
		return nil
	}
	p := exactly(s.price)
	if e.money.PriceUncertainty != nil {
		p = p.widened(e.money.PriceUncertainty)
	}
	return p
}

// A demandView is an amount of work to be done, as so many servers of systems.
type demandView struct {
	name  string
	parts []plan.Fleet
	owned bool
}

// demands are what one owns, each further amount of work, and where neither is
// given what one server of the baseline does.
func (e *economyView) demands() (out []demandView) {
	if len(e.money.Own) > 0 {
		out = append(out, demandView{fleetText(e.money.Own), e.money.Own, true})
	}
	for _, f := range e.money.Work {
		out = append(out, demandView{fleetText([]plan.Fleet{f}), []plan.Fleet{f}, false})
	}
	if len(out) == 0 {
		one := []plan.Fleet{{Levels: e.baseline, Servers: 1}}
		out = append(out, demandView{fleetText(one), one, false})
	}
	return out
}

func fleetText(fleets []plan.Fleet) string {
	parts := make([]string, len(fleets))
	for i, f := range fleets {
		parts[i] = joined(" ", threes(f.Servers), levelText(f.Levels))
	}
	return strings.Join(parts, " + ")
}

func levelText(c record.Cell) string {
	parts := make([]string, len(c))
	for i, l := range c {
		parts[i] = l.Level
	}
	return strings.Join(parts, ", ")
}

// threes writes a whole number with its digits in threes.
func threes(n int) string {
	text := fmt.Sprint(n)
	for i := len(text) - 3; i > 0; i -= 3 {
		text = text[:i] + "," + text[i:]
	}
	return text
}

// workOf is a demand as work under one condition, and as how many times the work
// of one server of the target; nil where that cannot be told.
func (e *economyView) workOf(c conditionView, d demandView, target systemView) (work, ratio *estimate) {
	work = exactly(new(big.Rat))
	var parts []systemView
	for _, f := range d.parts {
		s, ok := c.find(f.Levels)
		if !ok || s.work == nil || target.work == nil {
			return nil, nil
		}
		work = work.plus(s.work.times(big.NewRat(int64(f.Servers), 1)))
		parts = append(parts, s)
	}
	if len(parts) == 1 && parts[0].cell.Key() == target.cell.Key() {
		return work, exactly(big.NewRat(int64(d.parts[0].Servers), 1))
	}
	ratios := map[int]float64{}
	for block, each := range target.work.blocks {
		sum := 0.0
		for i, s := range parts {
			v, ok := s.work.blocks[block]
			if !ok {
				v = math.NaN()
			}
			sum += float64(d.parts[i].Servers) * v
		}
		if r := sum / each; r > 0 && !math.IsInf(r, 0) {
			ratios[block] = r
		}
	}
	if len(ratios) >= 2 {
		if paired := estimateOf(ratios, e.confidence()); paired != nil {
			return work, paired
		}
	}
	return work, work.over(target.work)
}

// A needView is how many servers a work takes.
type needView struct {
	fraction    *estimate
	whole, safe *big.Rat
}

// servers are those that a work takes, the headroom kept free.
func (e *economyView) servers(ratio *estimate) needView {
	if h := e.money.Headroom; h != nil {
		ratio = ratio.times(new(big.Rat).Inv(new(big.Rat).Sub(big.NewRat(1, 1), h)))
	}
	return needView{ratio, new(big.Rat).SetInt(ceil(ratio.point)), new(big.Rat).SetInt(ceil(ratio.in.High()))}
}
