package self

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"bakeoff/plan"
	"bakeoff/record"
)

// An objection of a gate, as the audit expects it: in the words of the gate, or
// by the numbers that it must say.
type objected struct {
	record.Warning
	pieces []piece // of what was found; nil where Found is to be its very text
}

// ownObjections are those of the gates that look beyond single trials.
// Most of those on single trials are run again by analysis.Observe.
func (a *auditor) ownObjections(v *trialView) (out []objected) {
	add := func(gate, subject string, severity record.Severity, pieces ...piece) {
		if pieces == nil {
			pieces = []piece{}
		}
		out = append(out, objected{record.Warning{Gate: gate, Severity: severity, Subject: subject, Trial: v.ID, Cell: v.Cell.Key()}, pieces})
	}
	if len(v.Loads) == 0 {
		return nil
	}
	a.sharedCores(v, add)
	a.busyLinks(v, add)
	a.presence(v, add)
	for _, machine := range v.underTest() {
		for _, s := range v.powerSources(machine) {
			if !s.usable(v.watch.span.seconds()) {
				add("power-coverage", s.name+" on "+machine, record.SeveritySoft, saysNumber("the cadence", truth{value: s.cadence, unit: "s"}),
					saysNumber("the coverage", percentTruth(s.coverage)), saysNumber("the window", truth{value: v.watch.span.seconds(), unit: "s"}))
			}
		}
	}
	for _, o := range a.observed[v.ID] {
		if share, ok := openByDigits(o); ok && share > 0.05 {
			add("resolution", o.Measure, record.SeveritySoft, append(saysWords(o.Text), saysNumber("what the digits leave open", percentTruth(share)))...)
		}
	}
	return out
}

type objectFunc func(gate, subject string, severity record.Severity, pieces ...piece)

// sharedCores looks for cores that a service and a generator on one machine may
// both use.
func (a *auditor) sharedCores(v *trialView, add objectFunc) {
	for _, s := range v.Services {
		for _, l := range v.Loads {
			if !v.oneMachine(s.Host, l.Host) {
				continue
			}
			mine, both := v.generatorCores(l), commonCores(s.CPUs, v.generatorCores(l))
			switch {
			case s.CPUs == "" || mine == "":
				add("cores-shared", s.Name+" and "+loadName(l), record.SeveritySoft, saysWords(s.CPUs, mine)...)
			case both != "":
				add("cores-shared", s.Name+" and "+loadName(l), record.SeveritySoft, saysWords(both)...)
			}
		}
	}
}

func (v *trialView) oneMachine(a, b string) bool {
	return a == b || v.watch.machineOf[a] != "" && v.watch.machineOf[a] == v.watch.machineOf[b]
}

// generatorCores are the cores that a load may use, "" for all.
func (v *trialView) generatorCores(l record.Load) string {
	if cpus := l.Parameters["cpus"]; cpus != "" {
		return cpus
	}
	i := slices.IndexFunc(v.resolved.Hosts, func(h plan.Host) bool { return h.Name == l.Host })
	if i < 0 {
		return ""
	}
	return v.resolved.Hosts[i].CPUs
}

// commonCores lists the cores that stand in both lists.
func commonCores(a, b string) string {
	other := coreList(b)
	var both []string
	for _, c := range coreList(a) {
		if slices.Contains(other, c) {
			both = append(both, strconv.Itoa(c))
		}
	}
	return strings.Join(both, ",")
}

// coreList reads a list of cores such as "0-3,8".
func coreList(list string) (out []int) {
	for part := range strings.SplitSeq(list, ",") {
		first, last, ranged := strings.Cut(strings.TrimSpace(part), "-")
		from, err := strconv.Atoi(first)
		to := from
		if ranged && err == nil {
			to, err = strconv.Atoi(last)
		}
		if err != nil || to-from > 1<<16 {
			continue
		}
		for c := from; c <= to; c++ {
			out = append(out, c)
		}
	}
	return out
}

// linkShare is the share of a link's rate that a direction of an interface took;
// false where it cannot be told.
func (a *auditor) linkShare(v *trialView, l record.Load, nic, metric string) (share, bits float64, ok bool) {
	sheet, _ := a.facts.before(v.Trial, l.Host)
	bits, err := strconv.ParseFloat(sheet.values["nics."+nic+".bits_per_second"], 64)
	f, counted := v.watch.machines[v.watch.machineOf[l.Host]].counter(metric, nic, v.watch.span)
	return 8 * f.rate / bits, bits, err == nil && bits > 0 && counted
}

func (a *auditor) busyLinks(v *trialView, add objectFunc) {
	a.links(v, func(l record.Load, nic string, share, bits float64) {
		if share > 0.9 {
			add("generator-nic-saturated", nic+" on "+l.Host, record.SeveritySoft, append(saysWords(),
				saysNumber("the share of the link", percentTruth(share)), saysNumber("the link's rate", truth{value: bits, unit: "bit/s"}))...)
		}
	})
}

// links visits the links of generators that are not the machine under test.
func (a *auditor) links(v *trialView, visit func(l record.Load, nic string, share, bits float64)) {
	under := v.underTest()
	for _, l := range v.Loads {
		machine := v.watch.machineOf[l.Host]
		if machine == "" || slices.Contains(under, machine) {
			continue
		}
		for _, metric := range []string{"nic.rx.bytes", "nic.tx.bytes"} {
			for _, nic := range v.watch.machines[machine].instances(metric) {
				if share, bits, ok := a.linkShare(v, l, nic, metric); ok {
					visit(l, nic, share, bits)
				}
			}
		}
	}
}

// openByDigits is half a unit of the last printed digit, as a share of the
// value; false where the figure was not read from text.
func openByDigits(o record.Observation) (float64, bool) {
	if o.Value == 0 {
		return 0, false
	}
	if o.HalfWidth != nil {
		return *o.HalfWidth / math.Abs(o.Value), true
	}
	digits := strings.TrimLeft(strings.ReplaceAll(strings.TrimSpace(o.Text), ",", ""), "+-")
	printed, err := strconv.ParseFloat(digits, 64)
	if err != nil || printed == 0 || strings.ContainsAny(digits, "xXpPeEnN") {
		return 0, false
	}
	return halfDigit(digits) / printed, true
}

// dataSetObjections compares every trial's data set with that of the first
// complete trial of its cell.
func (a *auditor) dataSetObjections() map[record.TrialID][]objected {
	out := map[record.TrialID][]objected{}
	first := map[string]*record.DataSet{}
	for _, t := range a.run.Trials {
		for _, l := range t.Loads {
			d := l.DataSet
			if d == nil {
				continue
			}
			key := t.Cell.Key() + "\x00" + loadName(l)
			was := first[key]
			switch {
			case was == nil && t.Status == record.StatusComplete:
				first[key] = d
			case was != nil && (was.Items != d.Items || was.Bytes != d.Bytes || was.Fingerprint != d.Fingerprint):
				out[t.ID] = append(out[t.ID], objected{record.Warning{Gate: "data-set-changed", Severity: record.SeverityHard,
					Subject: loadName(l), Trial: t.ID, Cell: t.Cell.Key()},
					saysWords(fmt.Sprint(d.Items), fmt.Sprint(d.Bytes), d.Fingerprint, fmt.Sprint(was.Items), fmt.Sprint(was.Bytes), was.Fingerprint)})
			}
		}
	}
	return out
}

// changeObjections are those to trials in which a host was not what it was.
func (a *auditor) changeObjections() map[record.TrialID][]objected {
	out := map[record.TrialID][]objected{}
	more := map[record.TrialID]int{}
	for _, c := range a.facts.changes() {
		more[c.trial]++
		if len(out[c.trial]) > 0 {
			continue
		}
		t := a.trial(c.trial)
		if len(t.Loads) == 0 {
			continue
		}
		out[c.trial] = []objected{{record.Warning{Gate: "host-changed", Severity: record.SeveritySoft, Subject: c.host, Trial: c.trial, Cell: t.Cell.Key()},
			append([]piece{}, saysWords(c.path, c.was, c.is, c.between)...)}}
	}
	for id, list := range out {
		if n := more[id] - 1; n > 0 {
			list[0].pieces = append(list[0].pieces, saysNumber("the number of further changes", countTruth(n)))
		}
	}
	return out
}
