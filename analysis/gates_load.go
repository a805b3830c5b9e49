package analysis

import (
	"fmt"
	"math"
	"strings"

	"bakeoff/record"
	"bakeoff/stats"
)

// subjectOf names a load among the loads of its trial.
func subjectOf(l record.Load) string {
	name := l.Workload
	if l.Part != "" && l.Part != sourcePart {
		name += " " + l.Part
	}
	if l.Instance > 0 {
		name += fmt.Sprintf(" instance %d", l.Instance)
	}
	return name + " on " + l.Host
}

const sourcePart = "source"

func checkLedger(c *trialCheck) sight {
	if len(c.trial.Loads) == 0 {
		return sawNothing("the trial has no load")
	}
	var s sight
	for _, l := range c.trial.Loads {
		if g := l.Ledger; !g.Closes() {
			s.objections = append(s.objections, objection{subject: subjectOf(l), found: fmt.Sprintf(
				"%d + %d offered, but %d completed + %d failed + %d timed out + %d dropped + %d still in flight",
				g.InFlightOpen, g.Offered, g.Completed, g.Failed, g.TimedOut, g.Dropped, g.InFlightClose)})
		}
	}
	return s
}

func checkErrors(c *trialCheck) sight {
	if len(c.trial.Loads) == 0 {
		return sawNothing("the trial has no load")
	}
	var s sight
	for _, l := range c.trial.Loads {
		bad := l.Ledger.Failed + l.Ledger.TimedOut + l.Ledger.Dropped
		ended := bad + l.Ledger.Completed
		if ended == 0 && isIdle(l) {
			continue
		}
		if ended == 0 {
			s.objections = append(s.objections, objection{subject: subjectOf(l), found: "no operation ended in the window"})
			continue
		}
		share := 100 * float64(bad) / float64(ended)
		if share > c.limits.errors {
			found := fmt.Sprintf("%s %% (%d failed, %d timed out, %d dropped of %d)", plain(share), l.Ledger.Failed, l.Ledger.TimedOut, l.Ledger.Dropped, ended)
			if len(l.Errors) > 0 {
				found += ": " + l.Errors[0].First
			}
			s.objections = append(s.objections, objection{subject: subjectOf(l), found: found})
		}
	}
	return s
}

// isIdle says whether nothing was due in the window, as at the idle level of a
// graded plan.
func isIdle(l record.Load) bool {
	return isOpenLoop(l) && l.Generator.TargetRate*l.Window.Seconds < 1
}

func checkMisses(c *trialCheck) sight {
	if len(c.trial.Loads) == 0 {
		return sawNothing("the trial has no load")
	}
	var s sight
	for _, l := range c.trial.Loads {
		for _, k := range l.Kinds {
			if k.Completed == 0 {
				continue
			}
			if share := 100 * float64(k.Misses) / float64(k.Completed); share > c.limits.misses {
				s.objections = append(s.objections, objection{subject: subjectOf(l),
					found: fmt.Sprintf("%s %% of %s (%d of %d)", plain(share), k.Kind, k.Misses, k.Completed)})
			}
		}
	}
	return s
}

func checkGenerator(c *trialCheck) sight {
	s, looked := sawNothing("the loads do not report how busy their workers are"), false
	for _, l := range c.trial.Loads {
		if l.Generator.Embedded {
			s.blind = "the target works in the generator's own threads: their CPU is the target's"
			continue
		}
		if l.Generator.Workers == 0 {
			continue
		}
		looked = true
		if busy := 100 * l.Generator.BusyFraction; busy > c.limits.busy {
			s.objections = append(s.objections, objection{subject: subjectOf(l),
				found: fmt.Sprintf("the busiest of %d workers was busy %s %% of the window", l.Generator.Workers, plain(busy))})
		}
	}
	if looked {
		s.blind = ""
	}
	return s
}

func checkPacing(c *trialCheck) sight {
	s := sawNothing("no open loop: nothing is due at a time of its own")
	for _, l := range c.trial.Loads {
		if l.Generator.TargetRate <= 0 {
			continue
		}
		s.blind = ""
		if lag := float64(l.Generator.PacingLagP99) / 1e9; lag > maxPacingLag {
			s.objections = append(s.objections, objection{subject: subjectOf(l),
				found: "99 % were sent within " + quantity(lag, "s")})
		}
	}
	return s
}

func checkRate(c *trialCheck) sight {
	s := sawNothing("no open loop: there is no target rate")
	for _, l := range c.trial.Loads {
		target, seconds := l.Generator.TargetRate, l.Window.Seconds
		if target <= 0 || seconds <= 0 {
			continue
		}
		s.blind = ""
		got := float64(l.Ledger.Completed) / seconds
		short := 100 * (1 - got/target)
		if short > c.limits.rateShort+300/math.Sqrt(target*seconds) {
			s.objections = append(s.objections, objection{
				subject: subjectOf(l), workload: l.Workload, measures: latencyMeasures(l),
				found: fmt.Sprintf("%s against a target of %s: %s %% short", quantity(got, "ops/s"), quantity(target, "ops/s"), plain(short))})
		}
	}
	return s
}

// latencyMeasures names the latency measures that a load gives.
func latencyMeasures(l record.Load) []string {
	var names []string
	for _, kind := range kindsOf(l) {
		for _, family := range []string{"latency", "service", "response"} {
			for _, p := range percentiles() {
				names = append(names, kindPrefix(kind)+family+"."+p.name)
			}
			names = append(names, kindPrefix(kind)+family+".mean", kindPrefix(kind)+family+".max")
		}
	}
	return names
}

// kindsOf lists the kinds of a load's latencies, "all" included.
func kindsOf(l record.Load) []string {
	var kinds []string
	seen := map[string]bool{}
	for _, lat := range l.Latencies {
		if !seen[lat.Kind] {
			seen[lat.Kind] = true
			kinds = append(kinds, lat.Kind)
		}
	}
	return kinds
}

func checkSteady(c *trialCheck) sight {
	s := sawNothing("no load has %d intervals of its window on record", minSteadySeconds)
	for _, l := range c.trial.Loads {
		state := steadiness(l)
		if state == nil {
			continue
		}
		s.blind = ""
		beyond := func(times float64) bool {
			slope, tenth := countingNoise(l.Ledger.Completed)
			return math.Abs(state.SlopePercent) > times*c.limits.slope+slope || state.ExcursionPercent > times*c.limits.excursion+tenth
		}
		if beyond(1) {
			s.objections = append(s.objections, objection{subject: subjectOf(l), severity: record.SeveritySoft, workload: l.Workload, stateless: beyond(noOneState),
				found: fmt.Sprintf("slope %+.1f %% over the window, largest excursion %.1f %%", state.SlopePercent, state.ExcursionPercent)})
		}
	}
	return s
}

// countingNoise is three standard deviations, in percent, of the slope over a
// window and of a tenth of it, where n operations come at random times at one rate.
func countingNoise(n uint64) (slope, tenth float64) {
	return 300 * math.Sqrt(12/float64(n)), 300 * math.Sqrt(10/float64(n))
}

// steadiness is what the load found from the fine parts of its window, or what
// its intervals tell where there are enough; else nil.
func steadiness(l record.Load) *record.Steadiness {
	if l.Steady != nil {
		return l.Steady
	}
	var at, rate []float64
	for _, i := range l.Series {
		if i.Offset < 0 || i.Seconds <= 0 || i.Offset+i.Seconds > l.Window.Seconds+1e-6 {
			continue
		}
		at, rate = append(at, i.Offset+i.Seconds/2), append(rate, float64(i.Completed)/i.Seconds)
	}
	mean := stats.Mean(rate)
	line, ok := stats.LeastSquares(at, rate, 0.05)
	if len(rate) < minSteadySeconds || mean <= 0 || !ok {
		return nil
	}
	worst := 0.0
	for tenth := range 10 {
		part := rate[tenth*len(rate)/10 : (tenth+1)*len(rate)/10]
		worst = max(worst, math.Abs(stats.Mean(part)/mean-1))
	}
	return &record.Steadiness{
		SlopePercent:     100 * line.Slope * l.Window.Seconds / mean,
		ExcursionPercent: 100 * worst, Intervals: len(rate),
	}
}

func checkWindow(c *trialCheck) sight {
	s := sawNothing("no load is measured over a window")
	for _, l := range c.trial.Loads {
		if l.Ended == endedDone {
			continue
		}
		s.blind = ""
		if l.Window.Seconds < 0.99*minWindow { // the edges are not to the microsecond
			s.objections = append(s.objections, objection{subject: subjectOf(l), found: quantity(l.Window.Seconds, "s")})
		}
	}
	return s
}

const endedDone = "done"

// tail is how many of a latency's operations there are, and for how many of them
// only the least that they can have taken is known.
type tail struct {
	kind      string
	families  []string // measure families that this histogram feeds
	total     uint64
	timedOut  uint64 // stand with their timeout, above nearly all others
	unsent    uint64 // stand with their wait until the close, anywhere among the others
	workload  string
	subjectOf string
}

func (t tail) censored() uint64 { return t.timedOut + t.unsent }

// tails lists the latency histograms that are shown of the trial with their
// counts: those of one workload's sources are merged into one.
func tails(c *trialCheck) []tail {
	var out []tail
	for _, w := range workloadsOf(c.trial) {
		loads := sourcesOf(c.trial, w)
		at := map[record.Latency]int{}
		for _, l := range loads {
			for _, lat := range l.Latencies {
				if lat.Type == lagType {
					continue
				}
				key := record.Latency{Kind: lat.Kind, Type: lat.Type}
				i, known := at[key]
				if !known {
					i, at[key] = len(out), len(out)
					out = append(out, tail{kind: lat.Kind, families: familiesOf(lat.Type, isOpenLoop(l)), workload: w, subjectOf: sourcesText(loads)})
				}
				out[i].add(l, lat)
			}
		}
	}
	return out
}

// sourcesText names a workload's sources.
func sourcesText(loads []record.Load) string {
	if len(loads) == 1 {
		return subjectOf(loads[0])
	}
	return fmt.Sprintf("%s over %d loads", loads[0].Workload, len(loads))
}

// add takes in one source's histogram.
func (t *tail) add(l record.Load, lat record.Latency) {
	unsent := unsentIn(l, lat)
	t.total += countOf(l, lat.Kind) + unsent
	t.timedOut += lat.Censored - unsent
	t.unsent += unsent
}

// unsentIn is how many operations of a response time were due and never sent: they
// have no service time, so that its histogram does without them.
func unsentIn(l record.Load, response record.Latency) uint64 {
	if response.Type != responseType {
		return 0
	}
	for _, lat := range l.Latencies {
		if lat.Kind == response.Kind && lat.Type == serviceType && lat.Censored <= response.Censored {
			return response.Censored - lat.Censored
		}
	}
	return min(l.Ledger.Backlog, response.Censored)
}

// countOf is how many operations of a kind a window's histogram holds.
func countOf(l record.Load, kind string) uint64 {
	if kind == allKinds {
		return l.Ledger.Completed + l.Ledger.TimedOut
	}
	for _, k := range l.Kinds {
		if k.Kind == kind {
			return k.Completed + k.TimedOut
		}
	}
	return 0
}

// measuresOf names the measures that hold one figure of the histogram.
func (t tail) measuresOf(figure string) []string {
	var names []string
	for _, family := range t.families {
		names = append(names, kindPrefix(t.kind)+family+"."+figure)
	}
	return names
}

func checkTail(c *trialCheck) sight {
	rows := tails(c)
	if len(rows) == 0 {
		return sawNothing("the trial has no latencies")
	}
	var s sight
	for _, t := range rows {
		if t.total < minTailSamples {
			continue // no percentiles are given
		}
		for _, p := range percentiles() {
			beyond := (1 - p.q) * float64(t.total)
			if beyond >= minTailSamples {
				continue
			}
			severity := record.SeveritySoft
			if beyond < 1-1e-9 {
				severity = record.SeverityHard
			}
			s.objections = append(s.objections, objection{
				subject: strings.Join(t.measuresOf(p.name), ", ") + " of " + t.subjectOf, severity: severity,
				found:    fmt.Sprintf("%s of %d operations lie beyond it", plain(beyond), t.total),
				measures: t.measuresOf(p.name), workload: t.workload})
		}
	}
	return s
}

func checkCensored(c *trialCheck) sight {
	rows := tails(c)
	if len(rows) == 0 {
		return sawNothing("the trial has no latencies")
	}
	var s sight
	for _, t := range rows {
		if t.censored() == 0 {
			continue
		}
		for _, p := range percentiles() {
			beyond := (1 - p.q) * float64(t.total)
			switch {
			case float64(t.censored()) >= beyond:
				s.objections = append(s.objections, t.bound(record.SeverityHard, p.name))
			case float64(t.unsent) >= maxUnsentShare*beyond:
				s.objections = append(s.objections, t.bound(record.SeveritySoft, p.name))
			}
		}
		s.objections = append(s.objections, t.bound(record.SeverityHard, "max"), t.bound(record.SeveritySoft, "mean"))
	}
	return s
}

// bound objects to a figure that is only the least that it can be.
func (t tail) bound(severity record.Severity, figure string) objection {
	why := fmt.Sprintf("%d of %d timed out", t.timedOut, t.total)
	switch {
	case t.timedOut == 0:
		why = fmt.Sprintf("%d of %d were due and never sent", t.unsent, t.total)
	case t.unsent > 0:
		why += fmt.Sprintf(", %d were due and never sent", t.unsent)
	}
	if severity == record.SeveritySoft {
		why += ": the true value may be longer"
	} else {
		why += ": the true value is longer"
	}
	names := t.measuresOf(figure)
	return objection{subject: strings.Join(names, ", ") + " of " + t.subjectOf, found: why, severity: severity, measures: names, workload: t.workload}
}
