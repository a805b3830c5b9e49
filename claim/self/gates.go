package self

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"bakeoff/plan"
	"bakeoff/record"
)

// looked says whether a gate could look at a trial.
func (a *auditor) looked(gate string, v *trialView) bool {
	anyLoad := func(has func(record.Load) bool) bool { return slices.ContainsFunc(v.Loads, has) }
	switch gate {
	case "ledger-not-closed", "errors", "misses", "measuring-clock", "clock-step":
		return len(v.Loads) > 0
	case "generator-stalled", "target-silent", "connections-down":
		return anyLoad(func(l record.Load) bool { return lookedForPresence(gate, l) })
	case "generator-saturated":
		return anyLoad(func(l record.Load) bool { return l.Generator.Workers > 0 && !l.Generator.Embedded })
	case "pacing-lag":
		return anyLoad(openLoop)
	case "target-rate-missed":
		return anyLoad(func(l record.Load) bool { return openLoop(l) && l.Window.Seconds > 0 })
	case "not-steady":
		return anyLoad(steadyKnown)
	case "short-window":
		return anyLoad(func(l record.Load) bool { return l.Ended != "done" })
	case "percentile-samples", "timeouts-censored":
		return anyLoad(func(l record.Load) bool {
			return slices.ContainsFunc(l.Latencies, func(x record.Latency) bool { return x.Type != "lag" })
		})
	case "setting-not-in-effect":
		return len(v.Settings) > 0
	case "data-set-changed":
		return anyLoad(func(l record.Load) bool { return l.DataSet != nil })
	case "host-changed":
		return len(v.FactsBefore) > 0
	case "telemetry-gaps":
		return len(v.watch.machines) > 0 || len(v.Costs) > 0
	case "telemetry-notes":
		return len(v.Costs) > 0
	case "telemetry-cost":
		return len(v.Costs) > 0 && v.watch.span.seconds() > 0
	case "resolution":
		return slices.ContainsFunc(a.observed[v.ID], func(o record.Observation) bool { _, ok := openByDigits(o); return ok })
	case "cores-shared":
		return anyLoad(func(l record.Load) bool {
			return slices.ContainsFunc(v.Services, func(s record.Service) bool { return v.oneMachine(s.Host, l.Host) })
		})
	case "generator-nic-saturated":
		seen := false
		a.links(v, func(record.Load, string, float64, float64) { seen = true })
		return seen
	case "power-coverage":
		return slices.ContainsFunc(v.underTest(), func(m string) bool { return len(v.powerSources(m)) > 0 })
	}
	return v.lookedAtHosts(gate)
}

// lookedAtHosts is looked of the gates that need telemetry.
func (v *trialView) lookedAtHosts(gate string) bool {
	for _, t := range v.watch.machines {
		has := func(metric, instance string) bool { _, ok := t.counter(metric, instance, v.watch.span); return ok }
		_, _, _, cpu := t.processors(v.watch.span)
		switch gate {
		case "cpu-steal":
			if cpu && has("cpu.steal", "") {
				return true
			}
		case "busy-neighbour":
			if cpu && has("neighbour.cpu", "") {
				return true
			}
		case "swapping":
			if has("swap.in", "") && has("swap.out", "") {
				return true
			}
		case "throttled":
			_, core := t.counters("throttle.core", v.watch.span, everyInstance)
			_, pack := t.counters("throttle.package", v.watch.span, everyInstance)
			if core || pack {
				return true
			}
		case "server-restarted":
			killed, ok := t.counter("mem.oom_kills", "", v.watch.span)
			if ok && math.Round(killed.total) >= 1 || slices.ContainsFunc(t.instances("process.started"), func(i string) bool {
				return !strings.Contains(i, "/") && has("process.started", i)
			}) {
				return true
			}
		}
	}
	return false
}

// steadyKnown says whether a load tells if it was in one state: by its own
// judgement, or by ten intervals of its window.
func steadyKnown(l record.Load) bool {
	if l.Steady != nil {
		return true
	}
	n, done := 0, uint64(0)
	for _, i := range l.Series {
		if i.Offset >= 0 && i.Seconds > 0 && i.Offset+i.Seconds <= l.Window.Seconds+1e-6 {
			n, done = n+1, done+i.Completed
		}
	}
	return n >= 10 && done > 0
}

// tally is how often a gate looked and objected.
type tally struct{ looked, objected int }

// tallyOf counts a gate's looks over the run.
func (a *auditor) tallyOf(gate string) tally {
	var t tally
	for _, trial := range a.run.Trials {
		v := a.views[trial.ID]
		if len(v.Loads) == 0 || v.Role == record.RoleSearch || !a.looked(gate, v) {
			continue
		}
		t.looked++
		if slices.ContainsFunc(a.gates[trial.ID], func(w objected) bool { return w.Gate == gate }) {
			t.objected++
		}
	}
	return t
}

// auditGates audits the validity page: how many trials or findings each gate
// looked at, and how many it objected to.
func (a *auditor) auditGates() {
	run := a.runTallies()
	for _, n := range a.report.at("gates").list() {
		gate := n.str("gate")
		if n.at("gate") == nil {
			continue
		}
		n.at("gate").told = true
		s := newSheet("gate "+gate, n)
		t, known := run[gate]
		if !known && slices.Contains(trialGates(), gate) {
			t = a.tallyOf(gate)
		} else if !known {
			t = a.recordedTally(gate)
		}
		s.count(n.at("checked"), "checked", t.looked)
		s.count(n.at("objected"), "objected", t.objected)
		s.speaks(n.at("title"), "title")
		threshold := a.thresholdPieces(gate)
		if text := a.recordedThreshold(gate); len(threshold) == 0 && text != "" {
			threshold = saysWords(text)
		}
		s.speaks(n.at("threshold"), "threshold", threshold...)
		var why []piece
		if gate == "not-steady" {
			why = append(why, saysNumber("the intervals that it needs", countTruth(10)))
		}
		s.speaks(n.at("not_checked"), "not_checked", why...)
		a.add(s)
	}
}

// trialGates are the gates that look at single trials.
func trialGates() []string {
	return []string{"ledger-not-closed", "errors", "misses", "generator-stalled", "target-silent", "connections-down", "generator-saturated", "generator-nic-saturated", "pacing-lag",
		"target-rate-missed", "not-steady", "short-window", "percentile-samples", "timeouts-censored", "resolution",
		"setting-not-in-effect", "data-set-changed", "host-changed", "server-restarted", "cores-shared", "cpu-steal", "throttled",
		"swapping", "busy-neighbour", "measuring-clock", "clock-step", "telemetry-gaps", "telemetry-cost", "telemetry-notes", "power-coverage"}
}

// recordedTally is that of a gate which only the load or its engine can feed: it
// is known by the warnings in the record.
func (a *auditor) recordedTally(gate string) (t tally) {
	for _, trial := range a.run.Trials {
		if trial.Role == record.RoleSearch {
			continue // the page is of what may be judged
		}
		if len(trial.Loads) > 0 {
			t.looked++
		}
		if slices.ContainsFunc(trial.Warnings, func(w record.Warning) bool { return w.Gate == gate }) {
			t.objected++
		}
	}
	return t
}

func (a *auditor) recordedThreshold(gate string) string {
	for _, trial := range a.run.Trials {
		for _, w := range trial.Warnings {
			if w.Gate == gate {
				return w.Threshold
			}
		}
	}
	return ""
}

// runTallies are those of the gates on the design, the findings and the run.
func (a *auditor) runTallies() map[string]tally {
	one := func(objected bool) tally {
		if objected {
			return tally{1, 1}
		}
		return tally{1, 0}
	}
	out := map[string]tally{"one-machine": {1, 1}, "clock-offset": {}, "post-hoc": one(a.run.Manifest.PostHocOf != "")}
	_, more, err := plan.Next(a.plan, a.asOutcomes())
	out["stopped-early"] = one(more || err != nil)
	findings := a.primaryFindings()
	for i, x := range a.wanted {
		if i >= len(findings) {
			break
		}
		warnings := a.findingWarnings(x, findings[i])
		for _, gate := range []string{"too-few-blocks", "not-observed", "precision-not-reached", "undeclared-difference", "excluded-by-hand"} {
			t := out[gate]
			if gate == "precision-not-reached" && a.plan.Repeat.Pilot == 0 || gate == "undeclared-difference" && !a.anyFacts() {
				out[gate] = t
				continue
			}
			t.looked++
			if slices.ContainsFunc(warnings, func(w objected) bool { return w.Gate == gate }) {
				t.objected++
			}
			out[gate] = t
		}
	}
	for _, w := range a.driftLooks() {
		out["drift-across-blocks"] = out["drift-across-blocks"].plus(w)
	}
	for _, w := range a.attritionLooks() {
		out["uneven-losses"] = out["uneven-losses"].plus(w)
	}
	for _, f := range a.floors {
		out["noise-floor"] = out["noise-floor"].plus(look{objected: f.differs()})
	}
	for _, gate := range []string{"too-few-blocks", "not-observed", "precision-not-reached", "undeclared-difference", "excluded-by-hand", "drift-across-blocks", "uneven-losses", "noise-floor"} {
		out[gate] = out[gate].plus(look{blind: true})
	}
	return out
}

func (t tally) plus(l look) tally {
	if !l.blind {
		t.looked++
		if l.objected {
			t.objected++
		}
	}
	return t
}

func (a *auditor) anyFacts() bool {
	return slices.ContainsFunc(a.run.Trials, func(t record.Trial) bool { return len(t.FactsBefore) > 0 })
}

// A look is what a gate on the run saw of one measure or factor.
type look struct {
	blind, objected bool
	subject         string
	pieces          []piece
}

// auditRunWarnings audits the warnings about the run as a whole.
func (a *auditor) auditRunWarnings() {
	var want []objected
	add := func(gate string, severity record.Severity, subject string, pieces ...piece) {
		want = append(want, objected{record.Warning{Gate: gate, Severity: severity, Subject: subject}, append([]piece{}, pieces...)})
	}
	add("one-machine", record.SeverityNote, "")
	next, more, err := plan.Next(a.plan, a.asOutcomes())
	switch {
	case err != nil:
		add("stopped-early", record.SeveritySoft, "", saysWords(err.Error())...)
	case more:
		add("stopped-early", record.SeveritySoft, "", append(saysWords(next.Cell.Key()), saysNumber("the block", countTruth(next.Block)))...)
	}
	if of := a.run.Manifest.PostHocOf; of != "" {
		add("post-hoc", record.SeveritySoft, "", saysWords(of)...)
	}
	for _, l := range a.driftLooks() {
		if l.objected {
			add("drift-across-blocks", record.SeveritySoft, l.subject, l.pieces...)
		}
	}
	for _, l := range a.attritionLooks() {
		if l.objected {
			add("uneven-losses", record.SeveritySoft, l.subject, l.pieces...)
		}
	}
	for _, f := range a.floors {
		if f.differs() {
			add("noise-floor", record.SeveritySoft, f.key.measure, f.pieces()...)
		}
	}
	s := newSheet("warnings about the run", a.report.at("warnings"))
	a.matchRunWarnings(s, want)
	a.add(s)
}

// matchRunWarnings is matchWarnings for subjects that name a measure by its
// title.
func (a *auditor) matchRunWarnings(s *sheet, want []objected) {
	titles := map[string]string{}
	for _, m := range a.report.at("measures").list() {
		titles[m.str("name")] = m.str("title")
	}
	for i := range want {
		if title := titles[want[i].Subject]; want[i].Gate == "drift-across-blocks" && title != "" {
			want[i].Subject = title
		}
	}
	a.matchWarnings(s, a.report.at("warnings"), want)
}

// driftLooks fits each primary measure, the mean over all cells, over the
// blocks.
func (a *auditor) driftLooks() (out []look) {
	for _, m := range a.plan.Primary {
		for _, key := range a.keys {
			if key.measure == m.Measure {
				out = append(out, a.driftOf(key))
			}
		}
	}
	return out
}

func (a *auditor) driftOf(key measureKey) look {
	cells := map[string]bool{}
	for _, byCell := range a.samples.values[key] {
		for cell := range byCell {
			cells[cell] = true
		}
	}
	var at, level []float64
	for _, block := range a.samples.blocks(key) {
		var values []float64
		for _, cell := range a.plan.Cells() {
			if v, ok := a.samples.values[key][block][cell.Key()]; ok {
				values = append(values, v.value)
			}
		}
		if logs, ok := logsOf(values); ok && len(values) == len(cells) {
			at, level = append(at, float64(block)), append(level, meanOf(logs))
		}
	}
	b, half, ok := slope(at, level, familyError)
	if !ok || len(at) < 4 {
		return look{blind: true}
	}
	change := math.Expm1(b * (at[len(at)-1] - at[0]))
	return look{objected: math.Abs(change) > 0.05 && math.Abs(b) > half, subject: key.measure, pieces: []piece{
		saysNumber("the drift", percentTruth(change)), saysNumber("the first block", plainTruth(at[0])), saysNumber("the last block", plainTruth(at[len(at)-1]))}}
}

// attritionLooks compares the levels of each factor by the share of their
// trials that was lost.
func (a *auditor) attritionLooks() (out []look) {
	for _, f := range a.plan.Factors {
		low, high, worst := 1.0, 0.0, ""
		for _, l := range f.Levels {
			begun, lost := a.lossesAt(f.Name, l.Name)
			if begun == 0 {
				continue
			}
			share := float64(lost) / float64(begun)
			if share > high {
				high, worst = share, l.Name
			}
			low = min(low, share)
		}
		pieces := append([]piece{saysNumber("the share lost", percentTruth(high))}, saysWords(fmt.Sprintf("%s=%s", f.Name, worst))...)
		out = append(out, look{objected: high-low > 0.25, subject: f.Name, pieces: append(pieces, saysNumber("the other share", percentTruth(low)))})
	}
	return out
}

func (a *auditor) lossesAt(factor, level string) (begun, lost int) {
	for _, t := range a.run.Trials {
		if l, ok := t.Cell.Level(factor); !ok || l != level || t.Role != record.RoleMeasure || t.Status == record.StatusInterrupted {
			continue
		}
		begun++
		if t.Status != record.StatusComplete || a.spoiled(t) {
			lost++
		}
	}
	return begun, lost
}
