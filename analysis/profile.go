package analysis

import (
	"fmt"
	"slices"
	"strings"

	"bakeoff/hist"
	"bakeoff/plan"
	"bakeoff/record"
)

// A kindKey names one kind of operation of a workload in a cell.
type kindKey struct{ workload, cell, kind string }

// kindShape is a kind's service time over all trials of a cell that count.
type kindShape struct {
	merged *hist.Histogram
	trials int
}

// total is the time that all operations took, in seconds.
func (k *kindShape) total() float64 { return k.merged.Mean() * float64(k.merged.Count()) / 1e9 }

// addKinds merges the service times of each kind in one trial.
func (b *shapeBook) addKinds(cell string, d *trialData) {
	for _, w := range d.workloads() {
		var kinds []string
		for _, l := range d.sources(w) {
			for _, k := range l.Kinds {
				kinds = addOnce(kinds, k.Kind)
			}
		}
		for _, kind := range kinds {
			h := d.hists[histKey{w, kind, serviceType}]
			if h == nil || h.Count() == 0 {
				continue
			}
			key := kindKey{w, cell, kind}
			if b.kinds[key] == nil {
				b.kinds[key] = &kindShape{merged: hist.New()}
			}
			b.kinds[key].merged.Merge(h)
			b.kinds[key].trials++
			b.order[w] = addOnce(b.order[w], kind)
		}
	}
}

// severalKinds lists the workloads with more than one kind of operation.
func (a *analyst) severalKinds() (out []string) {
	for _, w := range a.plan.Workloads {
		if len(a.shapes.order[w.Name]) > 1 {
			out = append(out, w.Name)
		}
	}
	return out
}

// profileTable is where the time goes, kind by kind.
func (a *analyst) profileTable(workload string) Table {
	l := newLayout(slug("profile", a.workloadName(workload)), titled("Time profile by kind of operation", a.workloadName(workload)),
		"Service time of all operations of a cell's trials that count, from merged histograms. The share is that of the time that all kinds took together.").
		text("cell", "kind").numbers("calls", "least", "average", "most", "median", "95 %", "99 %", "time in all", "share")
	for _, cell := range a.plan.Cells() {
		all := 0.0
		for _, kind := range a.shapes.order[workload] {
			if k := a.shapes.kinds[kindKey{workload, cell.Key(), kind}]; k != nil {
				all += k.total()
			}
		}
		for _, kind := range a.shapes.order[workload] {
			k := a.shapes.kinds[kindKey{workload, cell.Key(), kind}]
			if k == nil {
				continue
			}
			at := func(q float64) string { return quantity(float64(k.merged.Quantile(q))/1e9, "s") }
			l.row(shortName(cell), kind, fmt.Sprint(k.merged.Count()), at(0), quantity(k.merged.Mean()/1e9, "s"), at(1), at(0.5), at(0.95), at(0.99),
				quantity(k.total(), "s"), shareText(k.total()/all))
		}
	}
	return l.finish()
}

// kindTable compares the 95th percentile of each kind, which no verdict rests on.
func (a *analyst) kindTable(workload string, s *samples) Table {
	l := newLayout(slug("kind-latency", a.workloadName(workload)), titled("95th percentile latency by kind of operation", a.workloadName(workload)),
		"Compared inside blocks as the findings are, each with a 95 % interval of its own: with so many comparisons, one in twenty is outside by chance. No verdict rests on them.").
		text("comparison", "kind").numbers("base", "compared").text("change", "interval")
	j := &judge{plan: a.plan, samples: s, family: 1, options: a.options, several: len(a.plan.Workloads) > 1}
	for _, e := range a.plan.Effects() {
		if e.Workload != workload || e.Kind == plan.Interaction {
			continue
		}
		for _, kind := range a.shapes.order[workload] {
			key := sampleKey{workload, kind + ".latency.p95"}
			f, _ := j.finding(key, e, s.kinds[key], familyAlpha)
			if f.N > 0 {
				l.row(e.Factor+": "+e.Against+" against "+e.Base+whereText(f), kind, quantity(f.BaseValue, "s"), quantity(f.AgainstValue, "s"), difference(f), intervalText(f))
			}
		}
	}
	return l.finish()
}

// stackChart is the time that each kind took in a cell, one on another, of work
// that ends by itself: of a query set, the time of each query.
func (a *analyst) stackChart(workload string) []Chart {
	name := a.workloadName(workload)
	c := Chart{ID: slug("stack", name), Kind: StackChart, Title: titled("Time by kind of operation", name),
		Caption: "Service time of all operations of a kind, mean of the trials that count. Where several run at once, the sum is longer than the trial.",
		YLabel:  "time", YUnit: "s"}
	var cells []record.Cell
	for _, cell := range a.plan.Cells() {
		if slices.ContainsFunc(a.shapes.order[workload], func(k string) bool { return a.shapes.kinds[kindKey{workload, cell.Key(), k}] != nil }) {
			cells = append(cells, cell)
		}
	}
	var words []string
	for _, kind := range a.shapes.order[workload] {
		s := Series{Name: kind}
		var parts []string
		for _, cell := range cells {
			mean := 0.0
			if k := a.shapes.kinds[kindKey{workload, cell.Key(), kind}]; k != nil {
				mean = k.total() / float64(k.trials)
			}
			s.Labels, s.Y = append(s.Labels, shortName(cell)), append(s.Y, mean)
			parts = append(parts, shortName(cell)+" "+quantity(mean, "s"))
		}
		c.Series = append(c.Series, s)
		words = append(words, kind+": "+strings.Join(parts, ", "))
	}
	c.Alt = strings.Join(words, "; ") + "."
	return []Chart{c}
}

// endsDone says whether a workload's trials end when its work is done.
func (a *analyst) endsDone(workload string) bool {
	for _, t := range a.run.Trials {
		for _, l := range t.Loads {
			if l.Workload == workload && a.counted[t.ID] {
				return l.Ended == endedDone
			}
		}
	}
	return false
}

// kindParts are the tables and charts of workloads with several kinds.
func (a *analyst) kindParts(s *samples) (tables []Table, charts []Chart) {
	for _, w := range a.severalKinds() {
		for _, t := range []Table{a.profileTable(w), a.kindTable(w, s)} {
			if len(t.Rows) > 0 {
				tables = append(tables, t)
			}
		}
		if a.endsDone(w) {
			charts = append(charts, a.stackChart(w)...)
		}
	}
	return tables, charts
}

// workTable sets work, storage and CPU side by side, a row a cell.
func (a *analyst) workTable(r *Result) (Table, bool) {
	l := newLayout("work", "Work, storage and CPU",
		"Centres over the blocks that count; their intervals stand with the cells. Latency of disks is from queueing to completion (/proc/diskstats), CPU is that of the machines under test.").
		text("cell", "workload")
	workloads := []string{""}
	if len(a.plan.Workloads) > 1 {
		workloads = workloads[:0]
		for _, w := range a.plan.Workloads {
			workloads = append(workloads, w.Name)
		}
	}
	columns := a.workColumns(r)
	for _, c := range columns {
		l.numbers(describe(c, "").title)
	}
	for _, cell := range a.plan.Cells() {
		for _, w := range workloads {
			row, any := []string{shortName(cell), w}, false
			for _, measure := range columns {
				text := ""
				for _, c := range r.Cells {
					if c.Measure == measure && c.Cell.Key() == cell.Key() && (c.Workload == w || c.Workload == "") {
						text, any = amount(c.Measure, c.Unit, c.Center), any || c.Workload == w && !plan.HostMeasure(measure)
					}
				}
				row = append(row, text)
			}
			if any {
				l.row(row...)
			}
		}
	}
	return l.finish(), len(columns) > 1 && len(l.Rows) > 0
}

// busyDisk is from how many bytes a second the storage is worth columns and a
// figure.
const busyDisk = 1e6

// workColumns are the measures of the table of work that were observed.
func (a *analyst) workColumns(r *Result) (out []string) {
	wanted := []string{"throughput"}
	for _, c := range r.Cells {
		if slices.Contains([]string{"NOPM", "TPM"}, c.Unit) && !strings.Contains(c.Measure, "@") {
			wanted = addOnce(wanted, c.Measure)
		}
	}
	wanted = append(wanted, "duration")
	if slices.ContainsFunc(r.Cells, func(c CellSummary) bool {
		return strings.HasPrefix(c.Measure, "disk_") && c.Unit == "B/s" && c.Center >= busyDisk
	}) {
		wanted = append(wanted, "disk_read", "disk_write", "disk_read_latency", "disk_write_latency")
	}
	wanted = append(wanted, "host_cpu", "cpu_efficiency", "work_per_cpu_percent")
	for _, m := range wanted {
		if slices.ContainsFunc(r.Cells, func(c CellSummary) bool { return c.Measure == m }) {
			out = append(out, m)
		}
	}
	return out
}

// work is the table of work, where storage had something to do.
func (a *analyst) work(r *Result) []Table {
	if t, any := a.workTable(r); any {
		return []Table{t}
	}
	return nil
}
