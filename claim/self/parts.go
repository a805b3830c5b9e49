package self

import (
	"slices"

	"bakeoff/record"
)

// measureTotals adds up the work of the workloads that ran together: of one
// engine; what a target counts as a whole, over targets of their own.
func (v *trialView) measureTotals() {
	names := v.workloads()
	targets := map[string]string{}
	apart := true
	for _, l := range v.Loads {
		if l.Engine != v.Loads[0].Engine {
			return
		}
		was, known := targets[l.Target]
		apart = apart && l.Target != "" && (!known || was == l.Workload)
		targets[l.Target] = l.Workload
	}
	if len(names) < 2 {
		return
	}
	sums, found := map[string][]float64{}, map[string]int{}
	for _, w := range names {
		for key, value := range v.values {
			if key.workload == w && (worksAsLoads(key.measure) || apart && v.targetCounts(w, key.measure)) {
				sums[key.measure] = append(sums[key.measure], value)
				found[key.measure]++
			}
		}
	}
	for measure, values := range sums {
		if found[measure] == len(names) {
			v.values[measureKey{"", "total." + measure}] = totalValue(values)
		}
	}
}

func worksAsLoads(measure string) bool {
	return slices.Contains([]string{"throughput", "items", "bandwidth"}, measure)
}

// targetCounts says whether a figure is a count of the target's own transactions.
func (v *trialView) targetCounts(workload, measure string) bool {
	return slices.ContainsFunc(v.sources(workload), func(l record.Load) bool {
		return slices.ContainsFunc(l.Figures, func(f record.Figure) bool { return f.Name == measure && isTransactions(f) })
	})
}

func isTransactions(f record.Figure) bool { return f.Unit == "NOPM" || f.Unit == "TPM" }

// A loadPart is one of several loads at once: what it did in each trial.
type loadPart struct {
	name, measure, unit string
	values              []float64
}

// partsView is the table of the loads that ran at once.
func (a *auditor) partsView() (t tableView) {
	for _, cell := range a.plan.Cells() {
		var parts []loadPart
		add := func(name, measure, unit string, value float64) {
			i := slices.IndexFunc(parts, func(p loadPart) bool { return p.name == name && p.measure == measure && p.unit == unit })
			if i < 0 {
				i = len(parts)
				parts = append(parts, loadPart{name: name, measure: measure, unit: unit})
			}
			parts[i].values = append(parts[i].values, value)
		}
		for _, v := range a.trialsIn(cell.Key()) {
			for _, w := range v.workloads() {
				sources := v.sources(w)
				for _, l := range sources {
					if len(sources) < 2 && !(a.plan.Together && a.several()) || l.Window.Seconds <= 0 || l.Ended == "done" {
						continue
					}
					add(loadName(l), "throughput", "ops/s", float64(l.Ledger.Completed)/l.Window.Seconds)
					for _, f := range l.Figures {
						if isTransactions(f) && f.Name != "throughput" {
							add(loadName(l), f.Name, f.Unit, f.Value)
						}
					}
				}
			}
		}
		a.partRows(&t, a.searchName(cell), parts)
	}
	return t
}

// partRows adds a row for every measure of two loads or more.
func (a *auditor) partRows(t *tableView, cell string, parts []loadPart) {
	for i, first := range parts {
		same := func(p loadPart) bool { return p.measure == first.measure && p.unit == first.unit }
		if slices.IndexFunc(parts, same) < i {
			continue // with the first of its measure
		}
		var means []float64
		least, most := first, first
		for _, p := range parts {
			if !same(p) {
				continue
			}
			means = append(means, meanOf(p.values))
			if meanOf(p.values) < meanOf(least.values) {
				least = p
			}
			if meanOf(p.values) > meanOf(most.values) {
				most = p
			}
		}
		if len(means) < 2 {
			continue
		}
		of := func(what string, value float64) piece { return saysNumber(what, truth{value: value, unit: first.unit}) }
		t.row(textIn("cell", cell), textIn("measure", a.titleOf(first.measure)), figuresIn("loads", saysNumber("the loads", countTruth(len(means)))),
			figuresIn("mean of a load", of("the mean of a load", meanOf(means))), textIn("least", least.name), figuresIn("least value", of("the least", meanOf(least.values))),
			textIn("most", most.name), figuresIn("most value", of("the most", meanOf(most.values))),
			figuresIn("spread", saysNumber("the spread", percentTruth((meanOf(most.values)-meanOf(least.values))/meanOf(means)))))
	}
}
