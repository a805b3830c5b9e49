package analysis

import (
	"fmt"
	"math/big"

	"bakeoff/plan"
	"bakeoff/record"
)

// overall forms a graded plan's figure over all levels in each block: the sum of
// the work over the sum of the watts, as SPECpower does. It stands in the trial
// at the peak.
func overall(p *plan.Plan, obs []record.Observation) []record.Observation {
	if p.Graded == nil {
		return nil
	}
	x := newEconomist(p, obs, newLedgerBook(nil))
	var out []record.Observation
	for _, o := range obs {
		share, graded := p.Share(o.Cell)
		if !graded || share.Cmp(big.NewRat(1, 1)) != 0 || o.Measure != "throughput" {
			continue
		}
		work, watts, whole := 0.0, 0.0, true
		for _, cell := range x.ladder(o.Cell) {
			v, hasWork := x.values[economyKey{cell.Key(), o.Workload, "throughput"}][o.Block]
			w, hasWatts := x.values[economyKey{cell.Key(), "", "power"}][o.Block]
			whole = whole && hasWork && hasWatts
			work, watts = work+v, watts+w
		}
		if !whole || watts <= 0 || p.Together && len(p.Workloads) > 1 {
			continue
		}
		o.Measure, o.Unit, o.Better, o.Value = plan.OverallMeasure, "ops/J", record.HigherIsBetter, work/watts
		out = append(out, o)
	}
	return out
}

// ladder lists the cells that differ from one in the share of the peak alone,
// falling.
func (x *economist) ladder(cell record.Cell) []record.Cell {
	var out []record.Cell
	for _, c := range x.plan.Cells() {
		same := true
		for i := range c {
			same = same && (c[i].Factor == plan.GradedFactor || c[i] == cell[i])
		}
		if same {
			out = append(out, c)
		}
	}
	return out
}

// grade is one level of one system.
type grade struct {
	share      float64
	name       string
	work, watt *Amount
	perWatt    *Amount
}

// gradedTables are the levels of each system, and over all of them.
func (x *economist) gradedTables() ([]Table, []Chart) {
	if x.plan.Graded == nil {
		return nil, nil
	}
	l := newLayout("efficiency-graded", "Work and power over the range of loads",
		"Every level is a share of the system's own peak. The last row of a system is the sum of the work over the sum of the watts, formed in each block, as SPECpower does.").
		text("system", "target load").numbers("work (ops/s)", "power (W)", "interval (W)", "work per joule (ops/J)", "interval (ops/J)", "blocks")
	power := gradedChart("power", "Power over the load", "Power", "W")
	perWatt := gradedChart("work-per-joule", "Work per joule over the load", "Work per joule", "ops/J")
	for _, cell := range x.plan.Cells() {
		share, graded := x.plan.Share(cell)
		if !graded || share.Cmp(big.NewRat(1, 1)) != 0 {
			continue
		}
		for _, s := range x.systems(cell) {
			x.gradedRows(l, &power, &perWatt, s)
		}
	}
	if len(l.Rows) == 0 {
		return nil, nil
	}
	power.Alt, perWatt.Alt = seriesWords(power), seriesWords(perWatt)
	return []Table{l.finish()}, []Chart{power, perWatt}
}

func gradedChart(id, title, label, unit string) Chart {
	return Chart{ID: "graded-" + id, Kind: LineChart, Title: title, Caption: "Each level is a share of the system's own peak, idle is 0. Geometric means over the blocks with their intervals; where a level does no work, the mean.",
		XLabel: "target load", XUnit: "%", YLabel: label, YUnit: unit}
}

// gradedRows adds one system's levels to the table and a line to each chart.
func (x *economist) gradedRows(l *layout, power, perWatt *Chart, peak System) {
	name := shortName(withoutShare(peak.Cell))
	watts, ratio := Series{Name: name}, Series{Name: name}
	for _, g := range x.grades(peak) {
		work, power, within, per, perWithin, blocks := "", "", "", "", "", ""
		if g.work != nil {
			work, blocks = shown(g.work.Point), fmt.Sprint(g.work.Trials)
		}
		if g.watt != nil {
			power, within = shown(g.watt.Point), g.watt.interval(like(g.watt.Point))
			watts.add(100*g.share, g.name, g.watt)
		}
		if g.perWatt != nil {
			per, perWithin = shown(g.perWatt.Point), g.perWatt.interval(like(g.perWatt.Point))
			ratio.add(100*g.share, g.name, g.perWatt)
		}
		l.row(name, g.name, work, power, within, per, perWithin, blocks)
	}
	key := economyKey{peak.Cell.Key(), x.workloadOf(peak), plan.OverallMeasure}
	if all := amountOf(x.values[key], x.plan.Money.Confidence); all != nil {
		if share := x.uncertainty(key.cell); share != nil {
			all.Estimate = all.Widened(share)
		}
		l.row(name, "all levels", "", "", "", shown(all.Point), all.interval(like(all.Point)), fmt.Sprint(all.Trials))
	}
	if len(watts.Y) > 0 {
		power.Series = append(power.Series, watts)
	}
	if len(ratio.Y) > 0 {
		perWatt.Series = append(perWatt.Series, ratio)
	}
}

// workloadOf names the workload of a system's observations.
func (x *economist) workloadOf(s System) string {
	if s.Workload != "" || len(x.plan.Workloads) == 0 {
		return s.Workload
	}
	return x.plan.Workloads[0].Name
}

// grades are a system's levels, falling.
func (x *economist) grades(peak System) []grade {
	var out []grade
	for _, cell := range x.ladder(peak.Cell) {
		for _, s := range x.systems(cell) {
			if s.Workload != peak.Workload {
				continue
			}
			share, _ := x.plan.Share(cell)
			at, _ := share.Float64()
			level, _ := cell.Level(plan.GradedFactor)
			out = append(out, grade{at, level, s.Work, s.Watts, s.PerWatt})
		}
	}
	return out
}

func withoutShare(c record.Cell) record.Cell {
	var out record.Cell
	for _, l := range c {
		if l.Factor != plan.GradedFactor {
			out = append(out, l)
		}
	}
	return out
}

// add puts an amount on a line, from idle to the peak.
func (s *Series) add(x float64, label string, a *Amount) {
	f := func(v *big.Rat) float64 { y, _ := v.Float64(); return y }
	s.X = append([]float64{x}, s.X...)
	s.Labels = append([]string{label}, s.Labels...)
	s.Y = append([]float64{f(a.Point)}, s.Y...)
	s.Low = append([]float64{f(a.Range.Low())}, s.Low...)
	s.High = append([]float64{f(a.Range.High())}, s.High...)
}
