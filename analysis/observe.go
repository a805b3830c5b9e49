package analysis

import (
	"math"
	"strings"

	"bakeoff/plan"
	"bakeoff/record"
)

// Observe turns a run's trials into observations: rates from ledgers and
// windows, percentiles from merged histograms, host figures from telemetry over
// the window. Every trial that has loads is observed, those that do not count
// included; the warnings are what the gates on single trials object to.
func Observe(run *record.Run, p *plan.Plan) ([]record.Observation, []record.Warning, error) {
	var obs []record.Observation
	var warnings []record.Warning
	for _, t := range run.Trials {
		of, w, err := ObserveTrial(run, p, t)
		if err != nil {
			return nil, nil, err
		}
		obs, warnings = append(obs, of...), append(warnings, w...)
	}
	return obs, warnings, nil
}

// ObserveTrial is Observe of one trial.
func ObserveTrial(run *record.Run, p *plan.Plan, t record.Trial) ([]record.Observation, []record.Warning, error) {
	d, err := loadTrial(run, p, t)
	if err != nil {
		return nil, nil, err
	}
	readings, err := readAll(run, t)
	if err != nil {
		return nil, nil, err
	}
	return d.observe(), CheckTrial(t, readings, p.Limits), nil
}

// Values picks what plan.Next goes by from a trial's observations.
func Values(p *plan.Plan, obs []record.Observation) []plan.Value {
	var out []plan.Value
	for _, measure := range p.Decisive() {
		for _, o := range obs {
			if o.Measure == measure {
				out = append(out, plan.Value{Workload: o.Workload, Measure: o.Measure, Value: o.Value})
			}
		}
	}
	return out
}

// observer collects the observations of one trial.
type observer struct {
	*trialData
	obs   []record.Observation
	given map[sampleKey]bool // figures of an engine's own
}

func (d *trialData) observe() []record.Observation {
	o := &observer{trialData: d, given: map[sampleKey]bool{}}
	if len(d.trial.Loads) == 0 {
		return nil
	}
	for _, w := range d.workloads() {
		o.workload(w)
	}
	o.totals()
	o.hosts()
	return o.obs
}

// add appends one value; what is not a number is absent. A figure that an engine
// gives under the name of a measure stands for that measure: whoever named it so
// means the tool's own.
func (o *observer) add(workload, measure, unit string, value float64) {
	if math.IsNaN(value) || math.IsInf(value, 0) || o.given[sampleKey{workload, measure}] {
		return
	}
	o.obs = append(o.obs, record.Observation{
		Cell: o.trial.Cell, Block: o.trial.Block, Trial: o.trial.ID, Role: o.trial.Role, Workload: workload,
		Measure: measure, Unit: unit, Better: describe(measure, unit).better, Value: value,
	})
}

// count is what a kind of operation did, as rates over the windows of all loads.
type count struct {
	completed, failed, misses           uint64
	throughput, items, in, out, seconds float64
}

func (c *count) add(k record.KindCount, seconds float64) {
	c.completed += k.Completed
	c.failed += k.Failed + k.TimedOut + k.Dropped
	c.misses += k.Misses
	c.throughput += float64(k.Completed) / seconds
	c.items += float64(k.Items) / seconds
	c.in += float64(k.BytesIn) / seconds
	c.out += float64(k.BytesOut) / seconds
}

// workload observes one workload over all its sources.
func (o *observer) workload(name string) {
	loads := o.sources(name)
	var total count
	kinds := map[string]*count{}
	var order []string
	duration := 0.0
	for _, l := range loads {
		if l.Window.Seconds <= 0 {
			return // nothing was measured
		}
		duration = max(duration, l.Window.Seconds)
		total.seconds = duration
		sum := record.KindCount{Completed: l.Ledger.Completed, Failed: l.Ledger.Failed, TimedOut: l.Ledger.TimedOut, Dropped: l.Ledger.Dropped}
		for _, k := range l.Kinds {
			sum.Misses, sum.Items = sum.Misses+k.Misses, sum.Items+k.Items
			sum.BytesIn, sum.BytesOut = sum.BytesIn+k.BytesIn, sum.BytesOut+k.BytesOut
			if kinds[k.Kind] == nil {
				kinds[k.Kind], order = &count{}, append(order, k.Kind)
			}
			kinds[k.Kind].add(k, l.Window.Seconds)
		}
		total.add(sum, l.Window.Seconds)
	}
	o.figures(name, loads)
	done := loads[0].Ended == endedDone
	if done {
		o.add(name, "duration", "s", duration)
	}
	o.rates(name, "", total, done)
	o.latencies(name, allKinds, isOpenLoop(loads[0]))
	o.generator(name, loads, total.completed)
	for _, k := range order {
		o.rates(name, k+".", *kinds[k], done)
		o.latencies(name, k, isOpenLoop(loads[0]))
	}
}

// rates observes what was done and moved. One operation that ends the trial has
// a duration, and its throughput says nothing more.
func (o *observer) rates(workload, prefix string, c count, done bool) {
	if !done || c.completed > 1 {
		o.add(workload, prefix+"throughput", "ops/s", c.throughput)
	}
	if c.items != c.throughput && c.items > 0 {
		o.add(workload, prefix+"items", "items/s", c.items)
	}
	if c.in+c.out > 0 {
		o.add(workload, prefix+"bandwidth", "B/s", c.in+c.out)
	}
	o.add(workload, prefix+"errors", "1", float64(c.failed)/float64(c.completed+c.failed))
	o.add(workload, prefix+"misses", "1", float64(c.misses)/float64(c.completed))
}

// latencies observes the percentiles of one kind from its merged histograms.
func (o *observer) latencies(workload, kind string, open bool) {
	for _, timing := range []string{responseType, serviceType, lagType} {
		h := o.hists[histKey{workload, kind, timing}]
		if h == nil || h.Count() == 0 {
			continue
		}
		for _, family := range familiesOf(timing, open) {
			name := kindPrefix(kind) + family + "."
			o.add(workload, name+"mean", "s", h.Mean()/1e9)
			for _, p := range percentiles() {
				if h.Count() >= minTailSamples {
					o.add(workload, name+p.name, "s", float64(h.Quantile(p.q))/1e9)
				}
			}
			o.add(workload, name+"max", "s", float64(h.Max())/1e9)
		}
	}
}

// generator observes what the load cost the machine that made it.
func (o *observer) generator(workload string, loads []record.Load, completed uint64) {
	cpu := 0.0
	for _, l := range loads {
		cpu += l.Generator.UserSeconds + l.Generator.SystemSeconds
	}
	if cpu > 0 && completed > 0 {
		o.add(workload, "generator_cpu", cpuPerMillion, 1e6*cpu/float64(completed))
	}
}

// figures observes what only the engine knows. Where several loads give one of
// the same name, each keeps its own.
func (o *observer) figures(workload string, loads []record.Load) {
	times := map[string]int{}
	for _, l := range loads {
		for _, f := range l.Figures {
			times[f.Name]++
		}
	}
	for _, l := range loads {
		for _, f := range l.Figures {
			name := f.Name
			if times[name] > 1 {
				name += "@" + strings.TrimPrefix(subjectOf(l), l.Workload+" ")
			}
			before := len(o.obs)
			if o.add(workload, name, f.Unit, f.Value); len(o.obs) > before {
				o.obs[before].Text = f.Text
				o.given[sampleKey{workload, name}] = true
			}
		}
	}
}
