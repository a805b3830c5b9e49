package self

import (
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"

	"bakeoff/plan"
	"bakeoff/record"
)

// thresholds are the numbers in each gate's stated threshold, in their order:
// the plan's limits where it has them, else the product's own.
func (a *auditor) thresholds(gate string) []float64 {
	or := func(given *float64, otherwise float64) float64 {
		if given != nil {
			return *given
		}
		return otherwise
	}
	l := a.plan.Limits
	steal, neighbours, stall := or(l.StealPercent, 5), or(l.Neighbours, 25), or(l.Stall, 1)
	return map[string][]float64{
		"errors":                  {or(l.ErrorPercent, 0.1)},
		"misses":                  {or(l.MissPercent, 1)},
		"generator-saturated":     {or(l.BusyPercent, 90)},
		"generator-stalled":       {250, stall, 10 * stall, 50},
		"target-silent":           {500, or(l.Silence, 5), 2, 5, 50, 1000},
		"connections-down":        {or(l.Disconnected, 1)},
		"generator-nic-saturated": {90},
		"pacing-lag":              {99, 1},
		"target-rate-missed":      {or(l.RateShort, 1)},
		"not-steady":              {or(l.SlopePercent, 5), or(l.Excursion, 15), noOneState},
		"timeouts-censored":       {10},
		"short-window":            {5},
		"percentile-samples":      {10, 1},
		"resolution":              {5},
		"cpu-steal":               {steal / 5, steal},
		"swapping":                {1, 1},
		"busy-neighbour":          {neighbours / 5, neighbours},
		"measuring-clock":         {100, 1000},
		"clock-step":              {10, 100},
		"clock-offset":            {10},
		"telemetry-gaps":          {90},
		"telemetry-cost":          {2},
		"power-coverage":          {90},
		"too-few-blocks":          {2, 5},
		"drift-across-blocks":     {5},
		"uneven-losses":           {25},
	}[gate]
}

func (a *auditor) thresholdPieces(gate string) (out []piece) {
	for _, v := range a.thresholds(gate) {
		out = append(out, saysNumber("the threshold", plainTruth(v)))
	}
	return out
}

// matchWarnings audits a list of warnings against those that the record gives.
func (a *auditor) matchWarnings(s *sheet, list *node, want []objected) {
	used := make([]bool, len(want))
	for _, n := range list.list() {
		i := 0
		for i < len(want) && (used[i] || want[i].Gate != n.str("gate") || want[i].Subject != n.str("subject")) {
			i++
		}
		if i == len(want) {
			continue // its figures object by themselves
		}
		used[i] = true
		a.matchWarning(s, n, want[i])
	}
	for i, w := range want {
		if s.numbers++; !used[i] {
			s.fault("the warning %s about %q is left out", w.Gate, w.Subject)
		}
	}
}

func (a *auditor) matchWarning(s *sheet, n *node, w objected) {
	n.at("gate").told = true
	if m := n.at("subject"); m != nil {
		m.told = true // it was found by these
	}
	what := "the warning " + w.Gate
	s.same(n.at("severity"), what+"'s severity", string(w.Severity))
	s.same(n.at("trial"), what+"'s trial", string(w.Trial))
	s.same(n.at("cell"), what+"'s cell", w.Cell)
	if threshold := a.thresholdPieces(w.Gate); len(threshold) == 0 && w.Threshold != "" {
		s.same(n.at("threshold"), what+"'s threshold", w.Threshold)
	} else {
		s.speaks(n.at("threshold"), what+"'s threshold", threshold...)
	}
	if w.Advice != "" {
		s.same(n.at("advice"), what+"'s advice", w.Advice)
	} else {
		s.speaks(n.at("advice"), what+"'s advice")
	}
	if w.pieces == nil {
		s.same(n.at("found"), what, w.Found)
		return
	}
	s.speaks(n.at("found"), what, w.pieces...)
}

// findingWarnings are those that a finding must carry: about its blocks, and
// what the gates object to in its trials, one a gate.
func (a *auditor) findingWarnings(x *expected, n *node) []objected {
	var out []objected
	add := func(gate string, severity record.Severity, pieces ...piece) {
		out = append(out, objected{record.Warning{Gate: gate, Severity: severity, Subject: n.str("id")}, append([]piece{}, pieces...)})
	}
	blocks := saysNumber("the number of blocks", countTruth(x.n()))
	if x.primary {
		switch {
		case !x.known:
			add("not-observed", record.SeverityHard, saysWords(x.key.measure)...)
		case x.n() < 2:
			add("too-few-blocks", record.SeverityHard, blocks)
		default:
			if x.n() < 5 {
				add("too-few-blocks", record.SeveritySoft, blocks)
			}
			if short, pieces := a.imprecise(x); short {
				add("precision-not-reached", record.SeveritySoft, pieces...)
			}
		}
	}
	out = append(out, a.inherited(x)...)
	if x.primary && x.n() > 0 {
		if paths := a.undeclaredPaths(x); len(paths) > 0 {
			shown := paths[:min(6, len(paths))]
			pieces := saysWords(strings.Join(shown, ", "))
			if more := len(paths) - len(shown); more > 0 {
				pieces = append(pieces, saysNumber("the number of further differences", countTruth(more)))
			}
			add("undeclared-difference", record.SeveritySoft, pieces...)
		}
		if left := a.leftOut(x); len(left) > 0 {
			shown := left[:min(3, len(left))]
			pieces := saysWords(shown...)
			if more := len(left) - len(shown); more > 0 {
				pieces = append(pieces, saysNumber("the number of further trials", countTruth(more)))
			}
			add("excluded-by-hand", record.SeveritySoft, pieces...)
		}
	}
	return out
}

// leftOut tells of the complete trials of a finding's cells that an operator
// excluded.
func (a *auditor) leftOut(x *expected) (out []string) {
	for _, e := range a.run.Exclusions {
		t := a.trial(e.Trial)
		if e.Was == record.StatusComplete && t.Role == record.RoleMeasure && slices.Contains(x.effect.cells(), t.Cell.Key()) {
			out = append(out, string(t.ID)+" "+t.Cell.Key()+" "+e.Reason)
		}
	}
	return out
}

// imprecise says whether the half-width that the plan wants was not reached.
func (a *auditor) imprecise(x *expected) (bool, []piece) {
	until := a.plan.Repeat.Until
	if a.plan.Repeat.Pilot == 0 || until <= 0 {
		return false, nil
	}
	alpha := 1 - x.level
	half, wanted := x.basis.half(x.n(), alpha), math.Log1p(until)
	share := math.Expm1(half)
	if !x.contrast.log {
		wanted, share = until*math.Abs(x.base), half/math.Abs(x.base)
	}
	if half <= wanted*(1+1e-9) {
		return false, nil
	}
	needed, _ := blocksFor(x.basis.sd, x.basis.df, alpha, wanted, x.n())
	return true, []piece{saysNumber("the number of blocks", countTruth(x.n())), saysNumber("the half-width", percentTruth(share)),
		saysNumber("the half-width wanted", percentTruth(until)), saysNumber("the blocks that it needs", countTruth(needed))}
}

// inherited gathers what the gates object to in the trials behind a finding.
func (a *auditor) inherited(x *expected) (out []objected) {
	at := map[string]int{}
	trials := map[string][]record.TrialID{}
	for _, id := range x.contrast.trials {
		for _, w := range a.warnings[id] {
			severity, concerned := a.bearsOn(w, x)
			if !concerned || severity == record.SeverityNote {
				continue
			}
			i, known := at[w.Gate]
			if !known {
				i, at[w.Gate] = len(out), len(out)
				first := w
				first.Severity = severity
				out = append(out, first)
			}
			if severity == record.SeverityHard {
				out[i].Severity = severity
			}
			if !slices.Contains(trials[w.Gate], id) {
				trials[w.Gate] = append(trials[w.Gate], id)
			}
		}
	}
	for i := range out {
		if n := len(trials[out[i].Gate]); n > 1 {
			out[i].pieces = append([]piece{saysNumber("the trials it arose in", countTruth(n)),
				saysNumber("the trials", countTruth(len(x.contrast.trials)))}, out[i].said()...)
		}
		if pieces := a.unsettled(x); out[i].Gate == "not-steady" && pieces != nil {
			out[i].Severity, out[i].pieces = record.SeverityHard, append(slices.Clone(out[i].said()), pieces...)
		}
	}
	return out
}

// noOneState is how many times a limit of steadiness a trial may reach before
// its value counts as that of no one state.
const noOneState = 5

// unsettled finds the first cell of which more than half the trials behind a
// finding were in no one state; nil where there is none.
func (a *auditor) unsettled(x *expected) []piece {
	all, bad := map[string]int{}, map[string]int{}
	for _, id := range x.contrast.trials {
		cell := a.trial(id).Cell.Key()
		all[cell]++
		if slices.ContainsFunc(a.warnings[id], func(w objected) bool {
			_, concerned := a.bearsOn(w, x)
			return w.Gate == "not-steady" && concerned && a.stateless(a.trial(id), w)
		}) {
			bad[cell]++
		}
	}
	for _, cell := range slices.Sorted(maps.Keys(bad)) {
		if 2*bad[cell] > all[cell] {
			pieces := []piece{saysNumber("the unsteady trials", countTruth(bad[cell])), saysNumber("the trials of the cell", countTruth(all[cell]))}
			return append(append(pieces, saysWords(cell)...), saysNumber("the times a threshold", plainTruth(noOneState)))
		}
	}
	return nil
}

// stateless says whether slope or excursion is noOneState times its limit: as the
// load judged itself, or as the gate found it.
func (a *auditor) stateless(t record.Trial, found objected) bool {
	limits := a.thresholds("not-steady")
	slope, tenth := 0.0, 0.0
	for _, l := range t.Loads {
		if loadName(l) != found.Subject {
			continue
		}
		// Three standard deviations of operations that come at random times.
		n := float64(l.Ledger.Completed)
		slope, tenth = 300*math.Sqrt(12/n), 300*math.Sqrt(10/n)
		if l.Steady != nil {
			return math.Abs(l.Steady.SlopePercent) > noOneState*limits[0]+slope || l.Steady.ExcursionPercent > noOneState*limits[1]+tenth
		}
	}
	for i, w := range numbersIn(found.Found) {
		if v, err := strconv.ParseFloat(plainDigits(w.text), 64); i < 2 && err == nil && v > noOneState*limits[i]+[]float64{slope, tenth}[i] {
			return true
		}
	}
	return false
}

// bearsOn says whether an objection touches a finding's measure, and how hard.
// What makes only some measures unusable leaves the trial valid and is hard here.
func (a *auditor) bearsOn(w objected, x *expected) (record.Severity, bool) {
	measures, load := "", w.Subject
	switch w.Gate {
	case "percentile-samples", "timeouts-censored":
		measures, load, _ = strings.Cut(w.Subject, " of ")
	case "target-rate-missed", "not-steady":
	case "resolution":
		return w.Severity, w.Subject == x.key.measure
	case "telemetry-notes": // a soft one is of a meter
		return w.Severity, slices.Contains([]string{"power", "energy", "perf_per_watt", plan.OverallMeasure}, x.key.measure)
	default:
		return w.Severity, true
	}
	if a.several() && x.key.workload != "" && !strings.HasPrefix(load, x.key.workload+" ") {
		return w.Severity, false
	}
	switch w.Gate {
	case "target-rate-missed":
		return record.SeverityHard, isLatency(x.key.measure)
	case "not-steady":
		return w.Severity, true
	}
	severity := record.SeverityHard
	if w.Gate == "percentile-samples" && beyond(w.Found) >= 1 || w.Gate == "timeouts-censored" && strings.HasSuffix(w.Found, "may be longer") {
		severity = record.SeveritySoft
	}
	return severity, slices.Contains(strings.Split(measures, ", "), x.key.measure)
}

// beyond is how many operations lie beyond a percentile, as its gate says.
func beyond(found string) float64 {
	words := numbersIn(found)
	if len(words) == 0 {
		return 0
	}
	n, _ := strconv.ParseFloat(words[0].text, 64)
	return n
}

// isLatency says whether a measure is a latency's percentile, mean or maximum.
func isLatency(measure string) bool {
	parts := strings.Split(measure, ".")
	return slices.ContainsFunc(parts, func(p string) bool { return slices.Contains([]string{"latency", "service", "response"}, p) })
}

// undeclaredPaths lists the facts that differ between the two sides of a finding
// and that the report does not call declared.
func (a *auditor) undeclaredPaths(x *expected) (paths []string) {
	sides := map[string]bool{}
	for _, id := range x.contrast.trials {
		sides[a.trial(id).Cell.Key()] = true
	}
	for _, d := range a.report.at("differing_facts").list() {
		values := map[string]bool{}
		by := d.at("values")
		if d.is("declared") || by == nil || by.str("before") != by.str("after") {
			continue
		}
		for i, cell := range by.keys {
			if sides[cell] {
				values[by.items[i].text] = true
			}
		}
		if len(values) > 1 {
			paths = append(paths, d.str("path")+" ("+d.str("host")+")")
		}
	}
	return paths
}
