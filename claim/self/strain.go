package self

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// A strained is one resource at work in a trial, as a share of what it can do.
type strained struct {
	kind, what string
	share      float64
}

// strainLimits are the kinds of resource, in order, and the share from which each
// counts as the limit.
func strainLimits() []strained {
	return []strained{{kind: "generator", share: 0.9}, {kind: "server CPU", share: 0.9}, {kind: "disk", share: 0.9}, {kind: "link", share: 0.9}, {kind: "locks", share: 0.2}}
}

// strains are how near to its limits everything was in some trials of one load:
// of each kind the nearest.
func strains(trials []*trialView) (out []strained) {
	var all []strained
	for _, v := range trials {
		all = append(all, v.strains()...)
	}
	for _, kind := range strainLimits() {
		of := slices.DeleteFunc(slices.Clone(all), func(s strained) bool { return s.kind != kind.kind })
		if len(of) > 0 {
			out = append(out, slices.MaxFunc(of, func(x, y strained) int { return cmp.Compare(x.share, y.share) }))
		}
	}
	return out
}

func (v *trialView) strains() (out []strained) {
	span := v.watch.span
	for _, l := range v.Loads {
		if l.Generator.Workers > 0 && !l.Generator.Embedded {
			out = append(out, strained{"generator", loadName(l), l.Generator.BusyFraction})
		}
		waited, told := 0.0, false
		for _, c := range l.Counters {
			waits := slices.ContainsFunc([]string{"lock_time", "lock_wait"}, func(w string) bool { return strings.Contains(c.Name, w) }) || strings.HasSuffix(c.Name, "connection_wait")
			if waits && c.Unit == "s" {
				waited, told = waited+c.Close-c.Open, true
			}
		}
		if sessions, err := strconv.ParseFloat(v.At, 64); err == nil && told && !openLoop(l) {
			out = append(out, strained{"locks", loadName(l), waited / l.Window.Seconds / sessions})
		}
	}
	for _, m := range v.underTest() {
		t := v.watch.machines[m]
		if busy, all, coverage, ok := t.processors(span); ok && coverage >= 0.9 {
			out = append(out, strained{"server CPU", m, busy / all})
		}
		for _, disk := range t.instances("disk.busy") {
			if f, ok := t.counter("disk.busy", disk, span); ok && f.coverage >= 0.9 {
				out = append(out, strained{"disk", disk + " on " + m, f.rate})
			}
		}
	}
	for _, s := range v.Services {
		t, cores := v.watch.machines[v.watch.machineOf[s.Host]], len(coreList(s.CPUs))
		if t == nil || cores == 0 {
			continue
		}
		user, okUser := t.counter("process.cpu.user", s.Name, span)
		system, okSystem := t.counter("process.cpu.system", s.Name, span)
		if okUser && okSystem && min(user.coverage, system.coverage) >= 0.9 {
			out = append(out, strained{"server CPU", s.Name + " " + s.CPUs, (user.rate + system.rate) / float64(cores)})
		}
	}
	return append(out, v.links...)
}

// linkStrains are the links, as shares of their rates.
func (a *auditor) linkStrains(v *trialView) (out []strained) {
	for _, p := range a.passages(v) {
		binds := slices.MinFunc(p.bounds, func(x, y boundView) int { return cmp.Compare(x.bits, y.bits) })
		if strings.HasPrefix(binds.name, "link") || strings.HasPrefix(binds.name, "declared link") {
			out = append(out, strained{"link", p.host + p.device, p.bits / binds.bits})
		}
	}
	return out
}

// strainColumns are the shares of a load in the table of the curve.
func strainColumns(trials []*trialView) (out []column) {
	all := strains(trials)
	for _, kind := range strainLimits() {
		c := figuresIn(kind.kind)
		for _, s := range all {
			if s.kind == kind.kind {
				c.pieces = append(c.pieces, saysNumber("the share", percentTruth(s.share)))
			}
		}
		out = append(out, c)
	}
	return out
}

// limitOf is what bound a cell at its peak: the figures of the evidence, and the
// words that must name it.
func (a *auditor) limitOf(s searchView) (pieces []piece, says string) {
	p := a.plan.Peak
	i := slices.IndexFunc(s.loads, func(l searchedView) bool { return l.load == s.peak })
	if i < 0 {
		return []piece{}, "not done"
	}
	all := strains(s.loads[i].trials)
	var full []strained
	for _, k := range strainLimits() {
		for _, part := range all {
			if part.kind == k.kind && part.share >= k.share {
				full = append(full, part)
			}
		}
	}
	edge := i+1 < len(s.loads) && s.loads[i+1].load == s.limit
	switch {
	case len(full) > 0 && full[0].kind == "generator":
		return strainPieces(full), "the generator"
	case edge:
		pieces, says = a.edgeOf(s.loads[i+1])
		return append(pieces, strainPieces(full)...), says
	case len(full) > 0:
		return strainPieces(full), full[0].kind
	case s.peak == p.To:
		return saysWords(fmt.Sprint(p.To)), "the end of the range"
	case s.peak == p.From:
		return saysWords(fmt.Sprint(p.From)), "the start of the range"
	case len(all) > 0:
		return strainPieces(all), "none that telemetry shows"
	}
	return []piece{}, "not known"
}

func strainPieces(parts []strained) []piece {
	out := []piece{}
	for _, part := range parts {
		out = append(append(out, saysNumber("the share of "+part.kind, percentTruth(part.share))), saysWords(part.what)...)
	}
	return out
}

// edgeOf is what kept the search from a load.
func (a *auditor) edgeOf(l searchedView) ([]piece, string) {
	for k, c := range a.plan.Peak.Caps {
		if len(l.values) > 0 && l.capped[k] > c.Most {
			out := append(saysWords(c.Measure), saysNumber("the capped measure", truth{value: l.capped[k], unit: a.unitOf(c.Measure)}))
			return append(out, saysWords(fmt.Sprint(l.load), c.Text)...), "the cap"
		}
	}
	words := append(saysWords(fmt.Sprint(l.load)), saysWords(l.failed)...)
	if strings.HasPrefix(l.failed, "generator-saturated") {
		return words, "the generator"
	}
	return words, "could not be run"
}
