package analysis

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"bakeoff/plan"
	"bakeoff/record"
	"bakeoff/stats"
)

// object notes an objection to one trial by a gate that looks at the whole run.
func (a *analyst) object(gate string, t record.Trial, o objection) {
	a.objections[t.ID] = append(a.objections[t.ID], gateNamed(gate).warn(o, limitsOf(a.plan.Limits), t))
}

// checkDataSets compares every trial's data set with that of the first complete
// trial of its cell.
func (a *analyst) checkDataSets() {
	first := map[string]record.DataSet{}
	for _, t := range a.run.Trials {
		looked, objected := false, false
		for _, l := range t.Loads {
			if l.DataSet == nil {
				continue
			}
			looked = true
			key := t.Cell.Key() + "\x00" + subjectOf(l)
			was, seen := first[key]
			switch {
			case !seen && t.Status == record.StatusComplete:
				first[key] = *l.DataSet
			case seen && (was.Items != l.DataSet.Items || was.Bytes != l.DataSet.Bytes || was.Fingerprint != l.DataSet.Fingerprint):
				objected = true
				a.object(gateDataSet, t, objection{subject: subjectOf(l), found: fmt.Sprintf("%d items, %d bytes, %s; in the first trial %d, %d, %s",
					l.DataSet.Items, l.DataSet.Bytes, l.DataSet.Fingerprint, was.Items, was.Bytes, was.Fingerprint)})
			}
		}
		if len(t.Loads) > 0 {
			blind := ""
			if !looked {
				blind = "the loads have no data set"
			}
			a.saw(gateDataSet, objected, blind)
		}
	}
}

// checkChanges objects to the trials in which a host was not what it was.
func (a *analyst) checkChanges() {
	changed := map[record.TrialID][]factChange{}
	for _, c := range a.facts.changed() {
		changed[c.trial] = append(changed[c.trial], c)
	}
	for _, t := range a.run.Trials {
		if len(t.Loads) == 0 {
			continue
		}
		if len(t.FactsBefore) == 0 {
			a.saw(gateChanged, false, "no facts of the hosts are on record")
			continue
		}
		cs := changed[t.ID]
		a.saw(gateChanged, len(cs) > 0, "")
		if len(cs) > 0 {
			a.object(gateChanged, t, objection{subject: cs[0].host, found: fmt.Sprintf("%s was %q and became %q %s%s",
				cs[0].path, cs[0].first, cs[0].later, cs[0].moment, andMore(len(cs)-1))})
		}
	}
}

func andMore(n int) string {
	if n <= 0 {
		return ""
	}
	return fmt.Sprintf(", and %d more", n)
}

// checkCores looks for cores that both the generator and a server may use.
func (a *analyst) checkCores(d *trialData) sight {
	s := sawNothing("no service runs on a generator's host")
	for _, service := range d.trial.Services {
		for _, l := range d.trial.Loads {
			if !d.sameMachine(service.Host, l.Host) {
				continue
			}
			s.blind = ""
			mine := generatorCPUs(d, l)
			switch {
			case service.CPUs == "" || mine == "":
				s.objections = append(s.objections, objection{subject: service.Name + " and " + subjectOf(l),
					found: fmt.Sprintf("the service may use %s, the generator %s", coresText(service.CPUs), coresText(mine))})
			case overlap(service.CPUs, mine) != "":
				s.objections = append(s.objections, objection{subject: service.Name + " and " + subjectOf(l),
					found: "both may use " + coresText(overlap(service.CPUs, mine))})
			}
		}
	}
	return s
}

// sameMachine says whether two names of hosts are one machine.
func (d *trialData) sameMachine(a, b string) bool {
	return a == b || d.names[a] != "" && d.names[a] == d.names[b]
}

// generatorCPUs are the cores that a load's workers may use, "" for all.
func generatorCPUs(d *trialData, l record.Load) string {
	if cpus := l.Parameters["cpus"]; cpus != "" {
		return cpus
	}
	i := slices.IndexFunc(d.resolved.Hosts, func(h plan.Host) bool { return h.Name == l.Host })
	if i < 0 {
		return ""
	}
	return d.resolved.Hosts[i].CPUs
}

func coresText(cpus string) string {
	if cpus == "" {
		return "all cores"
	}
	return "cores " + cpus
}

// overlap lists the cores in both lists, as "0,2".
func overlap(a, b string) string {
	other := cores(b)
	var both []string
	for _, c := range cores(a) {
		if slices.Contains(other, c) {
			both = append(both, strconv.Itoa(c))
		}
	}
	return strings.Join(both, ",")
}

// cores reads a list such as "0-3,8". What is not one has no cores.
func cores(list string) []int {
	var out []int
	for part := range strings.SplitSeq(list, ",") {
		from, to, isRange := strings.Cut(strings.TrimSpace(part), "-")
		first, err := strconv.Atoi(from)
		if err != nil {
			continue
		}
		last := first
		if isRange {
			if last, err = strconv.Atoi(to); err != nil || last-first > 1<<16 {
				continue
			}
		}
		for c := first; c <= last; c++ {
			out = append(out, c)
		}
	}
	return out
}

// checkGeneratorNIC compares the flow through a generator's interfaces with the
// rate of their links.
func (a *analyst) checkGeneratorNIC(d *trialData) sight {
	s := sawNothing("the generator runs on the machine under test, or its links' rates are not known")
	under := d.sutMachines()
	for _, l := range d.trial.Loads {
		machine := d.names[l.Host]
		if machine == "" || slices.Contains(under, machine) {
			continue
		}
		for _, direction := range []string{"nic.rx.bytes", "nic.tx.bytes"} {
			for _, nic := range d.machines[machine].instances(direction) {
				link, err := strconv.ParseFloat(a.facts.before[d.trial.ID][l.Host].values["nics."+nic+".bits_per_second"], 64)
				c, ok := d.machines[machine].counter(direction, nic, d.window)
				if err != nil || link <= 0 || !ok {
					continue
				}
				s.blind = ""
				if share := 100 * 8 * c.perSecond() / link; share > maxNICShare {
					s.objections = append(s.objections, objection{subject: nic + " on " + l.Host,
						found: fmt.Sprintf("%s %% of %s (%s)", plain(share), quantity(link, "bit/s"), direction)})
				}
			}
		}
	}
	return s
}

// checkPower says why there is no figure of power, or that there is one.
func checkPower(d *trialData) sight {
	s := sawNothing("no source of power was read")
	for _, machine := range d.sutMachines() {
		for _, m := range d.meters(machine) {
			s.blind = ""
			if !m.usable(d.window.seconds()) {
				s.objections = append(s.objections, objection{subject: m.name + " on " + machine, found: fmt.Sprintf(
					"one reading in %s, %s %% of a window of %s", quantity(m.seconds, "s"), plain(100*m.coverage), quantity(d.window.seconds(), "s"))})
			}
		}
	}
	return s
}

// checkDigits looks at figures that were read from text.
func checkDigits(d *trialData, obs []record.Observation) sight {
	s := sawNothing("no figure was read from text")
	for _, o := range obs {
		half, ok := printedHalfWidth(o)
		if !ok || o.Value == 0 {
			continue
		}
		s.blind = ""
		if share := half / math.Abs(o.Value); share > maxDigitShare {
			s.objections = append(s.objections, objection{subject: o.Measure, measures: []string{o.Measure}, workload: o.Workload,
				found: fmt.Sprintf("%q leaves ± %s %% open", o.Text, plain(100*share))})
		}
	}
	return s
}

// printedHalfWidth is half a unit of the last digit that was printed.
func printedHalfWidth(o record.Observation) (float64, bool) {
	if o.HalfWidth != nil {
		return *o.HalfWidth, true
	}
	digits := strings.TrimLeft(strings.ReplaceAll(strings.TrimSpace(o.Text), ",", ""), "+-")
	printed, err := strconv.ParseFloat(digits, 64)
	if err != nil || printed == 0 || strings.ContainsAny(digits, "xXpPeEnN") {
		return 0, false
	}
	_, fraction, _ := strings.Cut(digits, ".")
	// The figure may have been scaled since, as from ms to s.
	return 0.5 * math.Pow(10, -float64(len(fraction))) * math.Abs(o.Value) / printed, true
}

// checkRun runs the gates on the design and its outcome, and adds the run's
// warnings.
func (a *analyst) checkRun(r *Result, s *samples) {
	for _, f := range r.Findings {
		if !f.Primary {
			continue
		}
		for _, g := range []string{gateBlocks, gateAbsent, gatePrecision, gateUndeclared} {
			objected := slices.ContainsFunc(f.Warnings, func(w record.Warning) bool { return w.Gate == g })
			blind := ""
			if g == gatePrecision && a.plan.Repeat.Pilot == 0 {
				blind = "the number of blocks was fixed in advance"
			}
			if g == gateUndeclared && len(a.facts.hosts()) == 0 {
				blind = "no facts of the hosts are on record"
			}
			a.saw(g, objected, blind)
		}
	}
	a.saw(gateUnit, true, "")
	r.Warnings = append(r.Warnings, a.runWarning(gateUnit, "", "every level was measured on one machine"))
	r.Warnings = append(r.Warnings, a.checkShort()...)
	r.Warnings = append(r.Warnings, a.checkPostHoc()...)
	r.Warnings = append(r.Warnings, a.checkDrift(s)...)
	r.Warnings = append(r.Warnings, a.checkAttrition()...)
	r.Warnings = append(r.Warnings, a.checkNoise(r.Noise)...)
}

func (a *analyst) runWarning(gate, subject, found string) record.Warning {
	g := gateNamed(gate)
	return record.Warning{Gate: gate, Severity: g.severity, Subject: subject, Found: found,
		Threshold: g.threshold(limitsOf(a.plan.Limits)), Advice: g.advice}
}

// checkShort compares the blocks that were begun with those that the plan asks for.
func (a *analyst) checkShort() []record.Warning {
	next, more, err := plan.Next(a.plan, a.outcomes())
	if err != nil {
		a.saw(gateShort, true, "")
		return []record.Warning{a.runWarning(gateShort, "", err.Error())}
	}
	a.saw(gateShort, more, "")
	if !more {
		return nil
	}
	return []record.Warning{a.runWarning(gateShort, "", fmt.Sprintf("the run ends before cell %q of block %d", next.Cell.Key(), next.Block))}
}

func (a *analyst) checkPostHoc() []record.Warning {
	of := a.run.Manifest.PostHocOf
	a.saw(gatePostHoc, of != "", "")
	if of == "" {
		return nil
	}
	return []record.Warning{a.runWarning(gatePostHoc, "", "these blocks were added to record "+of)}
}

// checkDrift fits the mean of all cells over the blocks.
func (a *analyst) checkDrift(s *samples) []record.Warning {
	var out []record.Warning
	for _, m := range a.plan.Primary {
		for _, key := range s.order {
			if key.measure != m.Measure {
				continue
			}
			found, blind := drift(a.plan, s, key)
			a.saw(gateDrift, found != "", blind)
			if found != "" {
				out = append(out, a.runWarning(gateDrift, describe(key.measure, "").title, found))
			}
		}
	}
	return out
}

// drift says by how much a measure went up or down over the blocks.
func drift(p *plan.Plan, s *samples, key sampleKey) (found, blind string) {
	var at, level []float64
	for _, block := range s.blocks(key) {
		var values []float64
		for _, cell := range p.Cells() {
			if o, ok := s.at(key, block, cell); ok {
				values = append(values, o.Value)
			}
		}
		if mean := stats.GeometricMean(values); !math.IsNaN(mean) && len(values) == len(s.cells(key)) {
			at, level = append(at, float64(block)), append(level, math.Log(mean))
		}
	}
	line, ok := stats.LeastSquares(at, level, familyAlpha)
	if !ok || len(at) < 4 {
		return "", "fewer than four whole blocks"
	}
	change := 100 * math.Expm1(line.Slope*(at[len(at)-1]-at[0]))
	if math.Abs(change) <= maxDrift || line.Interval.Contains(0) {
		return "", ""
	}
	return fmt.Sprintf("%+.1f %% from block %.0f to block %.0f", change, at[0], at[len(at)-1]), ""
}

// cells lists the cells in which a measure was observed, by key.
func (s *samples) cells(key sampleKey) map[string]bool {
	out := map[string]bool{}
	for _, cells := range s.values[key] {
		for cell := range cells {
			out[cell] = true
		}
	}
	return out
}

// checkAttrition compares the levels of each factor by the share of their
// trials that was lost.
func (a *analyst) checkAttrition() []record.Warning {
	var out []record.Warning
	for _, f := range a.plan.Factors {
		low, high := 1.0, 0.0
		var worst string
		for _, l := range f.Levels {
			begun, spoiled := a.losses(f.Name, l.Name)
			if begun == 0 {
				continue
			}
			share := float64(spoiled) / float64(begun)
			if share > high {
				high, worst = share, l.Name
			}
			low = min(low, share)
		}
		objected := high-low > maxAttrition
		a.saw(gateAttrition, objected, "")
		if objected {
			out = append(out, a.runWarning(gateAttrition, f.Name, fmt.Sprintf(
				"%s %% of the trials of %s=%s, %s %% of another level's", plain(100*high), f.Name, worst, plain(100*low))))
		}
	}
	return out
}

// losses counts a level's trials, and those that were spoiled themselves.
func (a *analyst) losses(factor, level string) (begun, spoiled int) {
	for _, t := range a.run.Trials {
		if l, ok := t.Cell.Level(factor); !ok || l != level || t.Role != record.RoleMeasure || t.Status == record.StatusInterrupted {
			continue
		}
		begun++
		if t.Status != record.StatusComplete || hasHard(a.warnings(t)) {
			spoiled++
		}
	}
	return begun, spoiled
}

func (a *analyst) checkNoise(floors []NoiseFloor) []record.Warning {
	if len(floors) == 0 {
		a.saw(gateNoise, false, "the baseline was not run against itself (bakeoff run --aa)")
		return nil
	}
	var out []record.Warning
	for _, n := range floors {
		found := n.Verdict == Better || n.Verdict == Worse
		a.saw(gateNoise, found, "")
		if found {
			out = append(out, a.runWarning(gateNoise, n.Measure, n.Sentence))
		}
	}
	return out
}

// undeclared warns of what differs between the two sides of a finding and is
// not in the plan.
func (a *analyst) undeclared(f Finding) []record.Warning {
	sides := map[string]bool{}
	for _, id := range f.Trials {
		sides[a.trial(id).Cell.Key()] = true
	}
	var paths []string
	for _, d := range a.differ {
		if d.Declared || d.Values["before"] != d.Values["after"] {
			continue // a change over time has a gate of its own
		}
		values := map[string]bool{}
		for cell, v := range d.Values {
			if sides[cell] {
				values[v] = true
			}
		}
		if len(values) > 1 {
			paths = append(paths, d.Path+" ("+d.Host+")")
		}
	}
	if len(paths) == 0 {
		return nil
	}
	shown := paths[:min(6, len(paths))]
	return []record.Warning{findingWarning(gateUndeclared, record.SeveritySoft, f,
		strings.Join(shown, ", ")+andMore(len(paths)-len(shown)))}
}

// gateResults is the validity page: every gate, what it saw, and why it could
// not look.
func (a *analyst) gateResults() []GateResult {
	var out []GateResult
	for _, g := range gates() {
		if g.name == gateUnpaired {
			continue // only of records made apart
		}
		r := GateResult{Gate: g.name, Title: g.title, Threshold: g.threshold(limitsOf(a.plan.Limits)), Severity: g.severity, NotChecked: g.blind}
		if l := a.looked[g.name]; l != nil {
			r.Checked, r.Objected = l.checked, l.objected
			if l.checked == 0 {
				r.NotChecked = l.blind
			}
		} else if g.blind == "" {
			r.NotChecked = "the run has no trial or finding to look at"
		}
		out = append(out, r)
	}
	return out
}
