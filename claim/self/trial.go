package self

import (
	"fmt"
	"math/big"
	"slices"
	"strconv"
	"strings"

	"bakeoff/hist"
	"bakeoff/plan"
	"bakeoff/record"
)

// measureKey names one measure of one workload; workload "" is of the hosts.
type measureKey struct{ workload, measure string }

// A trialView is one trial as the audit itself reads it from the record.
type trialView struct {
	record.Trial
	resolved plan.Resolved
	logs     map[logKey]*hist.Histogram
	watch    *watched
	values   map[measureKey]float64
	noise    map[measureKey]float64 // that the digits of counters leave in a value
	links    []strained             // as shares of their rates, of the trials of a search
}

type logKey struct{ workload, kind, timing string }

// viewOf reads one trial's loads, histograms and telemetry.
func viewOf(run *record.Run, p *plan.Plan, t record.Trial) (*trialView, error) {
	v := &trialView{Trial: t, logs: map[logKey]*hist.Histogram{}, values: map[measureKey]float64{}, noise: map[measureKey]float64{}}
	if r, err := p.ResolveTrial(plan.Trial{Role: t.Role, Cell: t.Cell, At: t.At}); err == nil {
		v.resolved = r
	}
	for _, w := range v.workloads() {
		for _, l := range v.sources(w) {
			for _, lat := range l.Latencies {
				if err := v.readLog(run, w, lat); err != nil {
					return nil, err
				}
			}
		}
	}
	var err error
	if v.watch, err = watch(run, t); err != nil {
		return nil, err
	}
	if len(t.Loads) > 0 {
		for _, w := range v.workloads() {
			v.measureLoad(w)
		}
		v.measureTotals()
		v.measureHosts()
	}
	return v, nil
}

func (v *trialView) readLog(run *record.Run, workload string, lat record.Latency) error {
	f, err := run.Log(v.ID, lat.File)
	if err != nil {
		return err
	}
	defer f.Close()
	intervals, err := hist.ReadLog(f)
	if err != nil {
		return fmt.Errorf("trial %s: histogram log %s: %w", v.ID, lat.File, err)
	}
	key := logKey{workload, lat.Kind, lat.Type}
	if v.logs[key] == nil {
		v.logs[key] = hist.New()
	}
	for _, i := range intervals {
		v.logs[key].Merge(i.Hist)
	}
	return nil
}

// workloads lists the trial's workloads in the order of its loads.
func (v *trialView) workloads() (names []string) {
	for _, l := range v.Loads {
		if !slices.Contains(names, l.Workload) {
			names = append(names, l.Workload)
		}
	}
	return names
}

// sources are the loads that make a workload's operations: its sources, or all
// its parts where none is one.
func (v *trialView) sources(workload string) []record.Load {
	var all, sources []record.Load
	for _, l := range v.Loads {
		if l.Workload == workload {
			all = append(all, l)
			if l.Part == "source" || l.Part == "" {
				sources = append(sources, l)
			}
		}
	}
	if len(sources) > 0 {
		return sources
	}
	return all
}

// openLoop says whether a load has an arrival rate of its own.
func openLoop(l record.Load) bool { return l.Generator.TargetRate > 0 }

// A work is what was done of one kind, as counts and as rates over the windows.
type work struct {
	completed, bad, misses   uint64
	rate, itemRate, byteRate float64
}

func (w *work) add(completed, bad, misses, items, bytes uint64, seconds float64) {
	w.completed, w.bad, w.misses = w.completed+completed, w.bad+bad, w.misses+misses
	w.rate += float64(completed) / seconds
	w.itemRate += float64(items) / seconds
	w.byteRate += float64(bytes) / seconds
}

// measureLoad works a workload's measures out from ledgers, counts and
// histograms.
func (v *trialView) measureLoad(workload string) {
	loads := v.sources(workload)
	kinds := map[string]*work{"": {}}
	duration, cpu := 0.0, 0.0
	for _, l := range loads {
		seconds := l.Window.Seconds
		if seconds <= 0 {
			return
		}
		duration = max(duration, seconds)
		cpu += l.Generator.UserSeconds + l.Generator.SystemSeconds
		var misses, items, bytes uint64
		for _, k := range l.Kinds {
			if kinds[k.Kind+"."] == nil {
				kinds[k.Kind+"."] = &work{}
			}
			kinds[k.Kind+"."].add(k.Completed, k.Failed+k.TimedOut+k.Dropped, k.Misses, k.Items, k.BytesIn+k.BytesOut, seconds)
			misses, items, bytes = misses+k.Misses, items+k.Items, bytes+k.BytesIn+k.BytesOut
		}
		kinds[""].add(l.Ledger.Completed, l.Ledger.Failed+l.Ledger.TimedOut+l.Ledger.Dropped, misses, items, bytes, seconds)
	}
	put := func(measure string, value float64) { v.values[measureKey{workload, measure}] = value }
	done := loads[0].Ended == "done"
	if done {
		put("duration", duration)
	}
	if n := kinds[""].completed; cpu > 0 && n > 0 {
		put("generator_cpu", 1e6*cpu/float64(n))
	}
	for prefix, w := range kinds {
		w.measure(prefix, done, put)
		v.latencies(workload, strings.TrimSuffix(prefix, "."), openLoop(loads[0]), put)
	}
	v.engineFigures(loads, put)
}

// measure gives the rates and shares of one kind of operation.
func (w *work) measure(prefix string, done bool, put func(string, float64)) {
	if !done || w.completed > 1 {
		put(prefix+"throughput", w.rate)
	}
	if w.itemRate > 0 && w.itemRate != w.rate {
		put(prefix+"items", w.itemRate)
	}
	if w.byteRate > 0 {
		put(prefix+"bandwidth", w.byteRate)
	}
	if w.completed+w.bad > 0 {
		put(prefix+"errors", float64(w.bad)/float64(w.completed+w.bad))
	}
	if w.completed > 0 {
		put(prefix+"misses", float64(w.misses)/float64(w.completed))
	}
}

// latencies gives the percentiles of one kind from its merged histograms. What a
// client feels, the response time of an open loop and the service time of a
// closed one, is "latency".
func (v *trialView) latencies(workload, kind string, open bool, put func(string, float64)) {
	prefix, logged := "", kind
	if kind == "" {
		logged = "all"
	} else {
		prefix = kind + "."
	}
	for _, timing := range []string{"service", "response", "lag"} {
		h := bucketsOf(v.logs[logKey{workload, logged, timing}])
		if h.n == 0 {
			continue
		}
		families := []string{timing}
		switch {
		case timing == "response" && open:
			families = []string{"latency", "response"}
		case timing == "service" && !open:
			families = []string{"latency"}
		}
		for _, family := range families {
			name := prefix + family + "."
			put(name+"mean", h.mean()/1e9)
			put(name+"max", float64(h.at(big.NewRat(1, 1)))/1e9)
			for _, p := range shownPercentiles() {
				if h.n >= 10 {
					put(name+p, float64(h.at(percentileShare(p)))/1e9)
				}
			}
		}
	}
}

func shownPercentiles() []string { return []string{"p50", "p90", "p95", "p99", "p99.9"} }

// percentileShare is 99.9 / 100 for p99.9, exactly.
func percentileShare(name string) *big.Rat {
	share, ok := new(big.Rat).SetString(strings.TrimPrefix(name, "p"))
	if !ok {
		return new(big.Rat)
	}
	return share.Quo(share, big.NewRat(100, 1))
}

// exactShare is the decimal that a quantile is written as.
func exactShare(q float64) *big.Rat {
	share, ok := new(big.Rat).SetString(strconv.FormatFloat(q, 'f', -1, 64))
	if !ok {
		return new(big.Rat)
	}
	return share
}

// buckets are those of a histogram that are not empty, in rising order.
type buckets struct {
	list []hist.Bucket
	n    uint64
}

func bucketsOf(h *hist.Histogram) buckets {
	var b buckets
	if h == nil {
		return b
	}
	for bucket := range h.Buckets {
		b.list, b.n = append(b.list, bucket), b.n+bucket.Count
	}
	return b
}

// mean takes each value at the middle of its bucket, in nanoseconds.
func (b buckets) mean() float64 {
	sum := new(big.Int)
	for _, x := range b.list {
		part := new(big.Int).SetUint64(x.Count)
		sum.Add(sum, part.Mul(part, big.NewInt(x.Low+(x.High-x.Low+1)/2)))
	}
	mean, _ := new(big.Rat).SetFrac(sum, new(big.Int).SetUint64(b.n)).Float64()
	return mean
}

// at is the nearest rank: the least value that a share of all do not exceed,
// rounded up to its bucket's end, in nanoseconds; the least of all for none.
func (b buckets) at(share *big.Rat) int64 {
	n := new(big.Rat).SetInt(new(big.Int).SetUint64(b.n))
	rank := ceil(n.Mul(n, share)).Uint64()
	var seen uint64
	for _, x := range b.list {
		switch seen += x.Count; {
		case rank == 0:
			return x.Low
		case seen >= rank:
			return x.High
		}
	}
	return 0
}

// engineFigures gives what only the engine knows. Where several loads have one of
// the same name, each keeps its own.
func (v *trialView) engineFigures(loads []record.Load, put func(string, float64)) {
	times := map[string]int{}
	for _, l := range loads {
		for _, f := range l.Figures {
			times[f.Name]++
		}
	}
	for _, l := range loads {
		for _, f := range l.Figures {
			if times[f.Name] == 1 {
				put(f.Name, f.Value)
			} else {
				put(f.Name+"@"+strings.TrimPrefix(loadName(l), l.Workload+" "), f.Value)
			}
		}
	}
}

// loadName names a load among those of its trial.
func loadName(l record.Load) string {
	name := l.Workload
	if l.Part != "" && l.Part != "source" {
		name += " " + l.Part
	}
	if l.Instance > 0 {
		name += fmt.Sprintf(" instance %d", l.Instance)
	}
	return name + " on " + l.Host
}
