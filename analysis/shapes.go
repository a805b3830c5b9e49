package analysis

import (
	"cmp"
	"math"
	"slices"

	"bakeoff/hist"
	"bakeoff/record"
	"bakeoff/stats"
)

// shapeBook holds what charts draw of the trials that count: latency by
// percentile over all of a cell's trials, and one trial of each cell over time.
type shapeBook struct {
	latencies map[shapeKey]*latencyShape
	times     map[shapeKey]*timeShape
	kinds     map[kindKey]*kindShape
	order     map[string][]string // a workload's kinds
}

func newShapeBook() *shapeBook {
	return &shapeBook{latencies: map[shapeKey]*latencyShape{}, times: map[shapeKey]*timeShape{}, kinds: map[kindKey]*kindShape{}, order: map[string][]string{}}
}

type shapeKey struct{ workload, cell string }

// latencyShape is a cell's operations of all trials in one histogram, and the
// quantiles of each trial by itself.
type latencyShape struct {
	merged *hist.Histogram
	trials [][]float64 // seconds, by trial and quantile
}

// timeShape is one trial over time.
type timeShape struct {
	trial      record.TrialID
	series     []point2 // operations a second
	cpu        []point2 // busy fraction of the machines under test
	storage    []point2 // bytes a second, read and written
	windowEnds float64  // seconds from the window's start
}

type point2 struct{ x, y float64 }

// chartQuantiles are the places at which latency is drawn; 1 is the largest.
func chartQuantiles() []float64 {
	return []float64{0, 0.1, 0.25, 0.5, 0.75, 0.9, 0.95, 0.975, 0.99, 0.995, 0.999, 0.9995, 0.9999, 0.99999, 1}
}

// shape reads the trials that count once more, for their distributions.
func (a *analyst) shape() error {
	a.shapes = newShapeBook()
	typical := a.typicalTrials()
	for _, t := range a.run.Trials {
		if !a.counted[t.ID] || t.Role != record.RoleMeasure {
			continue
		}
		d, err := loadTrial(a.run, a.plan, t)
		if err != nil {
			return err
		}
		a.shapes.addKinds(t.Cell.Key(), d)
		for _, w := range d.workloads() {
			key := shapeKey{w, t.Cell.Key()}
			a.shapes.addLatency(key, d)
			if typical[key] == t.ID {
				a.shapes.times[key] = d.overTime(w)
			}
		}
	}
	return nil
}

// typicalTrials picks for each workload and cell the trial whose throughput is
// nearest to the median: it stands for the cell in the figures over time.
func (a *analyst) typicalTrials() map[shapeKey]record.TrialID {
	rates := map[shapeKey][]record.Observation{}
	for _, o := range a.measured(record.RoleMeasure) {
		if o.Measure == "throughput" {
			key := shapeKey{o.Workload, o.Cell.Key()}
			rates[key] = append(rates[key], o)
		}
	}
	out := map[shapeKey]record.TrialID{}
	for key, all := range rates {
		values := make([]float64, len(all))
		for i, o := range all {
			values[i] = o.Value
		}
		median := stats.Median(values)
		best := slices.MinFunc(all, func(x, y record.Observation) int {
			return cmp.Or(cmp.Compare(math.Abs(x.Value-median), math.Abs(y.Value-median)), cmp.Compare(x.Trial, y.Trial))
		})
		out[key] = best.Trial
	}
	return out
}

// addLatency merges what a client of the workload felt in one trial.
func (b *shapeBook) addLatency(key shapeKey, d *trialData) {
	timing := serviceType
	if isOpenLoop(d.sources(key.workload)[0]) {
		timing = responseType
	}
	h := d.hists[histKey{key.workload, allKinds, timing}]
	if h == nil || h.Count() == 0 {
		return
	}
	s := b.latencies[key]
	if s == nil {
		s = &latencyShape{merged: hist.New()}
		b.latencies[key] = s
	}
	s.merged.Merge(h)
	var of []float64
	for _, q := range chartQuantiles() {
		of = append(of, float64(h.Quantile(q))/1e9)
	}
	s.trials = append(s.trials, of)
}

// overTime is a workload's throughput, warm-up included, and the CPU beside it.
// It ends with the window: in the drain nothing is offered, so that its rate
// would fall towards 0 and say nothing of the target.
func (d *trialData) overTime(workload string) *timeShape {
	s := &timeShape{trial: d.trial.ID}
	sum := map[float64]point2{}
	for _, l := range d.sources(workload) {
		s.windowEnds = max(s.windowEnds, l.Window.Seconds)
		for _, i := range l.Series {
			if i.Seconds <= 0 || i.Offset >= l.Window.Seconds {
				continue
			}
			slot := secondOf(i)
			p := sum[slot]
			sum[slot] = point2{i.Offset + i.Seconds/2, p.y + float64(i.Completed)/i.Seconds}
		}
	}
	for _, p := range sum {
		s.series = append(s.series, p)
	}
	slices.SortFunc(s.series, func(a, b point2) int { return cmp.Compare(a.x, b.x) })
	s.cpu, s.storage = d.cpuOverTime(s.windowEnds), d.storageOverTime(s.windowEnds)
	return s
}

// storageOverTime is what the disks of the first machine under test read and
// wrote between samples, up to the window's end.
func (d *trialData) storageOverTime(windowEnds float64) (out []point2) {
	machines := d.sutMachines()
	if len(machines) == 0 {
		return nil
	}
	sig := d.machines[machines[0]]
	disks := sig.instances("disk.read.bytes")
	if len(disks) == 0 {
		return nil
	}
	row := sig.rows[signalKey{"disk.read.bytes", disks[0]}]
	for i := 1; i < len(row); i++ {
		between := span{row[i-1].at, row[i].at}
		read, okRead := sig.counters("disk.read.bytes", between, func(string) bool { return true })
		written, okWritten := sig.counters("disk.write.bytes", between, func(string) bool { return true })
		middle := float64(row[i-1].at/2+row[i].at/2-d.window.from) / 1e9
		if okRead && okWritten && middle <= windowEnds {
			out = append(out, point2{middle, read.perSecond() + written.perSecond()})
		}
	}
	return out
}

// secondOf numbers the second in which an interval lies, from the window's
// start. Intervals begin anew at the window's edges: the first of the warm-up may
// begin late in its second, and the last of the window may end early.
func secondOf(i record.Interval) float64 {
	if i.Offset < 0 {
		return math.Round(i.Offset+i.Seconds) - 1
	}
	return math.Round(i.Offset)
}

// cpuOverTime is the busy fraction of the first machine under test between
// samples, up to the window's end, in seconds from its start.
func (d *trialData) cpuOverTime(windowEnds float64) []point2 {
	machines := d.sutMachines()
	if len(machines) == 0 {
		return nil
	}
	sig := d.machines[machines[0]]
	row := sig.rows[signalKey{"cpu.idle", ""}]
	var out []point2
	for i := 1; i < len(row); i++ {
		busy, all, ok := sig.cpuBusy(span{row[i-1].at, row[i].at})
		if !ok {
			continue
		}
		middle := float64(row[i-1].at/2+row[i].at/2-d.window.from) / 1e9
		if middle <= windowEnds {
			out = append(out, point2{middle, busy.total / all.total})
		}
	}
	return out
}
