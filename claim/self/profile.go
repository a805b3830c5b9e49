package self

import (
	"fmt"
	"math/big"
	"slices"
	"strings"

	"bakeoff/hist"
	"bakeoff/plan"
	"bakeoff/record"
)

// A kindView is the service time of one kind of operation over a cell's trials.
type kindView struct {
	kind   string
	all    *hist.Histogram
	trials int
}

// seconds is the time that all its operations took.
func (k kindView) seconds() float64 {
	b := bucketsOf(k.all)
	return b.mean() * float64(b.n) / 1e9
}

// kindNames lists a workload's kinds in the order in which they came up.
func (a *auditor) kindNames(workload string) (names []string) {
	for _, t := range a.run.Trials {
		if !a.counted[t.ID] || t.Role != record.RoleMeasure {
			continue
		}
		for _, name := range a.views[t.ID].timedKinds(workload) {
			if !slices.Contains(names, name) {
				names = append(names, name)
			}
		}
	}
	return names
}

// timedKinds lists the kinds of which a trial has service times.
func (v *trialView) timedKinds(workload string) (names []string) {
	for _, l := range v.sources(workload) {
		for _, k := range l.Kinds {
			if !slices.Contains(names, k.Kind) && bucketsOf(v.logs[logKey{workload, k.Kind, "service"}]).n > 0 {
				names = append(names, k.Kind)
			}
		}
	}
	return names
}

// kindsIn merges each kind's histograms over the trials of a cell that count.
func (a *auditor) kindsIn(workload, cell string) (out []kindView) {
	for _, v := range a.trialsIn(cell) {
		for _, name := range v.timedKinds(workload) {
			i := slices.IndexFunc(out, func(k kindView) bool { return k.kind == name })
			if i < 0 {
				i = len(out)
				out = append(out, kindView{kind: name, all: hist.New()})
			}
			out[i].all.Merge(v.logs[logKey{workload, name, "service"}])
			out[i].trials++
		}
	}
	return out
}

// kindsOf are a cell's kinds in the workload's order.
func (a *auditor) kindsOf(workload, cell string) (out []kindView) {
	in := a.kindsIn(workload, cell)
	for _, name := range a.kindNames(workload) {
		for _, k := range in {
			if k.kind == name {
				out = append(out, k)
			}
		}
	}
	return out
}

// profileView is where the time goes, kind by kind.
func (a *auditor) profileView(workload string) (t tableView) {
	t.caption = nil
	for _, cell := range a.plan.Cells() {
		kinds := a.kindsOf(workload, cell.Key())
		var totals []float64
		for _, k := range kinds {
			totals = append(totals, k.seconds())
		}
		for i, k := range kinds {
			b := bucketsOf(k.all)
			seconds := func(head, what string, v float64) column {
				return figuresIn(head, saysNumber(what, truth{value: v, unit: "s"}))
			}
			at := func(head string, numerator, denominator int64) column {
				return seconds(head, "the quantile", float64(b.at(big.NewRat(numerator, denominator)))/1e9)
			}
			t.row(textIn("cell", shortCell(cell)), textIn("kind", k.kind), figuresIn("calls", saysNumber("the calls", countTruth(int(b.n)))),
				at("least", 0, 1), seconds("average", "the mean", b.mean()/1e9), at("most", 1, 1), at("median", 1, 2), at("95 %", 95, 100), at("99 %", 99, 100),
				seconds("time in all", "the time in all", totals[i]), figuresIn("share", saysNumber("the share", percentTruth(totals[i]/totalValue(totals)))))
		}
	}
	return t
}

// kindView compares the 95th percentile of each kind.
func (a *auditor) kindView(workload string) (t tableView) {
	t.caption = saysWords("95 %", "95 %")
	for _, e := range a.plan.Effects() {
		if e.Workload != workload || e.Kind == plan.Interaction {
			continue
		}
		for _, kind := range a.kindNames(workload) {
			x := &expected{effect: viewEffect(a.plan, e), key: measureKey{workload, kind + ".latency.p95"}, known: true}
			a.work(x)
			if x.n() == 0 {
				continue
			}
			of := func(v float64, unit string) truth { return truth{value: v, unit: unit, slack: x.contrast.slack()} }
			unit := "x"
			if !x.contrast.log {
				unit = x.unit
			}
			where := ""
			if fixed := x.fixed(); len(fixed) > 0 {
				where = " at " + fixed.Key()
			}
			t.row(textIn("comparison", e.Factor+": "+e.Against+" against "+e.Base+where), textIn("kind", kind),
				figuresIn("base", saysNumber("the base", of(x.base, x.unit))), figuresIn("compared", saysNumber("the value compared", of(x.against, x.unit))),
				figuresIn("change", x.differencePieces(of, unit)...),
				figuresIn("interval", saysNumber("the ratio", of(x.value, unit)), saysNumber("the confidence", percentTruth(x.level)),
					saysNumber("the low end", of(x.low, unit)), saysNumber("the high end", of(x.high, unit)), saysNumber("the blocks", countTruth(x.n()))))
		}
	}
	return t
}

// stackChart audits the time of each kind in every cell, mean of its trials.
func (a *auditor) stackChart(s *sheet, n *node, workload string) {
	s.units(n, "", "s")
	list := n.at("series").list()
	names := a.kindNames(workload)
	if len(list) != len(names) {
		s.fault("it has %d series; the record gives %d", len(list), len(names))
	}
	var words [][]piece
	for i, name := range names {
		var labels []string
		var ys []truth
		words = append(words, saysWords(name))
		for _, cell := range a.plan.Cells() {
			kinds := a.kindsOf(workload, cell.Key())
			if len(kinds) == 0 {
				continue
			}
			mean := 0.0
			for _, k := range kinds {
				if k.kind == name {
					mean = k.seconds() / float64(k.trials)
				}
			}
			y := truth{value: mean, unit: "s"}
			labels, ys = append(labels, shortCell(cell)), append(ys, y)
			words = append(words, saysWords(shortCell(cell)), []piece{saysNumber("the time", y)})
		}
		if i < len(list) {
			s.same(list[i].at("name"), "name", name)
			s.names(list[i].at("labels"), "labels", labels)
			s.series(list[i].at("y"), "y", ys)
		}
	}
	s.speaks(n.at("caption"), "caption")
	s.parts(n.at("alt"), "the text alternative", words...)
}

// storageOverTime is what the disks of the first machine under test moved.
func (a *auditor) storageOverTime(v *trialView, workload string) (overTime, string) {
	var out overTime
	end := 0.0
	for _, l := range v.sources(workload) {
		end = max(end, l.Window.Seconds)
	}
	machines := v.underTest()
	if len(machines) == 0 {
		return out, "B/s"
	}
	t := v.watch.machines[machines[0]]
	disks := t.instances("disk.read.bytes")
	if len(disks) == 0 {
		return out, "B/s"
	}
	marks := t.of[trackKey{"disk.read.bytes", disks[0]}]
	for i := 1; i < len(marks); i++ {
		between := span{marks[i-1].at, marks[i].at}
		read, okRead := t.counters("disk.read.bytes", between, everyInstance)
		written, okWritten := t.counters("disk.write.bytes", between, everyInstance)
		middle := float64(between.from/2+between.to/2-v.watch.span.from) / 1e9
		if okRead && okWritten && middle <= end {
			out.xs, out.ys = append(out.xs, middle), append(out.ys, read.rate+written.rate)
		}
	}
	return out, "B/s"
}

// workView sets work, storage and CPU side by side.
func (a *auditor) workView() (t tableView) {
	columns := []string{"throughput"}
	busy := false
	for _, c := range a.cells {
		if (c.unit == "NOPM" || c.unit == "TPM") && !strings.Contains(c.key.measure, "@") && !slices.Contains(columns, c.key.measure) {
			columns = append(columns, c.key.measure)
		}
		busy = busy || c.unit == "B/s" && strings.HasPrefix(c.key.measure, "disk_") && c.center >= 1e6
	}
	columns = append(columns, "duration")
	if busy {
		columns = append(columns, "disk_read", "disk_write", "disk_read_latency", "disk_write_latency")
	}
	columns = append(columns, "host_cpu", "cpu_efficiency", "work_per_cpu_percent")
	workloads := []string{""}
	if a.several() {
		workloads = nil
		for _, w := range a.plan.Workloads {
			workloads = append(workloads, w.Name)
		}
	}
	for _, cell := range a.plan.Cells() {
		for _, w := range workloads {
			row, own := []column{textIn("cell", shortCell(cell)), textIn("workload", w)}, false
			for _, measure := range columns {
				at := figuresIn(a.titleOf(measure))
				for _, key := range a.keys {
					if c := a.cellView(key, cell); key.measure == measure && len(c.values) > 0 && (a.workloadName(key.workload) == w || key.workload == "") {
						at.pieces = []piece{saysNumber(fmt.Sprintf("the centre of %s", measure), truth{value: c.center, unit: c.unit})}
						own = own || a.workloadName(key.workload) == w && !plan.HostMeasure(measure)
					}
				}
				row = append(row, at)
			}
			if own {
				t.row(row...)
			}
		}
	}
	return t
}
