package analysis

import (
	"fmt"
	"slices"

	"bakeoff/plan"
	"bakeoff/record"
	"bakeoff/stats"
)

// addsUp says whether a measure of several loads at once is theirs together when
// it is summed: work a time. What the target counts as a whole, such as its
// transactions a minute, adds up over targets alone.
func addsUp(measure, unit string) (ofLoads, ofTargets bool) {
	switch measure {
	case "throughput", "items", "bandwidth":
		return true, true
	}
	return false, slices.Contains([]string{"NOPM", "TPM"}, unit)
}

// totals observes the sums over the workloads that run together: of one engine,
// since transactions and requests do not add up.
func (o *observer) totals() {
	names := o.workloads()
	if len(names) < 2 || !o.oneEngine() {
		return
	}
	apart := o.targetsApart()
	for _, first := range slices.Clone(o.obs) {
		ofLoads, ofTargets := addsUp(first.Measure, first.Unit)
		if first.Workload != names[0] || !ofLoads && !(ofTargets && apart) {
			continue
		}
		sum, found := 0.0, 0
		for _, x := range o.obs {
			if x.Measure == first.Measure && x.Unit == first.Unit && x.Workload != "" {
				sum, found = sum+x.Value, found+1
			}
		}
		if found == len(names) {
			o.add("", plan.TotalPrefix+first.Measure, first.Unit, sum)
		}
	}
}

func (o *observer) oneEngine() bool {
	return !slices.ContainsFunc(o.trial.Loads, func(l record.Load) bool { return l.Engine != o.trial.Loads[0].Engine })
}

// targetsApart says whether every workload works on a target of its own.
func (o *observer) targetsApart() bool {
	of := map[string]string{}
	for _, l := range o.trial.Loads {
		if was, known := of[l.Target]; known && was != l.Workload || l.Target == "" {
			return false
		}
		of[l.Target] = l.Workload
	}
	return true
}

// A loadShare is what one of several loads of one trial did.
type loadShare struct {
	name          string
	measure, unit string
	value         float64
}

// partsOf lists what the loads of a trial did that run at once: instances of a
// workload, or workloads together.
func partsOf(t record.Trial, together bool) (out []loadShare) {
	for _, w := range workloadsOf(t) {
		sources := sourcesOf(t, w)
		if len(sources) < 2 && !together {
			continue
		}
		for _, l := range sources {
			if l.Window.Seconds <= 0 || l.Ended == endedDone {
				continue
			}
			out = append(out, loadShare{subjectOf(l), "throughput", "ops/s", float64(l.Ledger.Completed) / l.Window.Seconds})
			for _, f := range l.Figures {
				if _, ofTargets := addsUp(f.Name, f.Unit); ofTargets && f.Name != "throughput" {
					out = append(out, loadShare{subjectOf(l), f.Name, f.Unit, f.Value})
				}
			}
		}
	}
	return out
}

// partsTable is the spread between loads that run at once: of every cell, the
// least and the most that one of them did.
func (a *analyst) partsTable() (Table, bool) {
	l := newLayout("loads-at-once", "Loads at once",
		"Every load that ran beside others: its mean over the trials that count. The spread is the distance of the least from the most, as a share of their mean: a total says little where one load starves the others.").
		text("cell", "measure").numbers("loads", "mean of a load").text("least").numbers("least value").text("most").numbers("most value", "spread")
	for _, cell := range a.plan.Cells() {
		for _, group := range a.partsIn(cell) {
			least, most, mean := spreadOf(group)
			l.row(a.searchName(cell), describe(least.measure, least.unit).title, fmt.Sprint(len(group)), amount(least.measure, least.unit, mean),
				least.name, amount(least.measure, least.unit, least.value), most.name, amount(most.measure, most.unit, most.value), shareText((most.value-least.value)/mean))
		}
	}
	return l.finish(), len(l.Rows) > 0
}

// shareText writes a share in percent.
func shareText(share float64) string { return plain(100*share) + " %" }

// spreadOf finds the least and the most of several loads, and their mean.
func spreadOf(group []loadShare) (least, most loadShare, mean float64) {
	least, most = group[0], group[0]
	sum := 0.0
	for _, p := range group {
		sum += p.value
		if p.value < least.value {
			least = p
		}
		if p.value > most.value {
			most = p
		}
	}
	return least, most, sum / float64(len(group))
}

// partsIn are the loads of a cell by measure, each with its mean over the trials
// that count; none where a cell has one load.
func (a *analyst) partsIn(cell record.Cell) [][]loadShare {
	values := map[loadShare][]float64{}
	var order []loadShare
	for _, t := range a.run.Trials {
		if !a.counted[t.ID] || t.Role != record.RoleMeasure || t.Cell.Key() != cell.Key() {
			continue
		}
		for _, p := range partsOf(t, a.plan.Together && len(a.plan.Workloads) > 1) {
			key := loadShare{name: p.name, measure: p.measure, unit: p.unit}
			if values[key] == nil {
				order = append(order, key)
			}
			values[key] = append(values[key], p.value)
		}
	}
	var out [][]loadShare
	for _, key := range order {
		p := key
		p.value = stats.Mean(values[key])
		i := slices.IndexFunc(out, func(g []loadShare) bool { return g[0].measure == p.measure && g[0].unit == p.unit })
		if i < 0 {
			out = append(out, []loadShare{p})
			continue
		}
		out[i] = append(out[i], p)
	}
	return slices.DeleteFunc(out, func(g []loadShare) bool { return len(g) < 2 })
}
