package plan

import (
	"fmt"
	"slices"
	"strings"

	"bakeoff/record"
	"bakeoff/unit"
)

// The defaults of a plan.
const (
	defaultBlocks  = 8
	defaultRetries = 2
	maxRetries     = 10
	minPilot       = 8 // below it, the pilot's variance says too little
)

// compare reads the comparisons; where none are written, each factor's main effect.
func (f *faults) compare(p *Plan, top *node) []Comparison {
	var out []Comparison
	section := top.get("compare")
	if section == nil {
		for _, factor := range p.compared() {
			out = append(out, Comparison{Factors: []string{factor.Name}})
		}
		return out
	}
	if p.Ladder {
		f.add(section.line, "compare", "comparisons of a ladder", "none: each step is compared with the one before it, and the last with the first", "remove compare")
		return nil
	}
	if len(section.items) == 0 {
		f.add(section.line, "compare", "no comparison", "the effects wanted", "leave compare out for the main effect of every factor")
	}
	for i, item := range section.items {
		c, ok := f.comparison(p, item, fmt.Sprintf("compare[%d]", i))
		if ok {
			out = append(out, c)
		}
	}
	return out
}

// comparison reads "a", "a x b", "a within b", "a within b x c" or "a within all".
func (f *faults) comparison(p *Plan, item *node, key string) (Comparison, bool) {
	effect, within, simple := strings.Cut(item.text, " within ")
	c := Comparison{Factors: strings.Split(effect, " x "), Simple: simple}
	if simple {
		c.Within = strings.Split(within, " x ")
	}
	var known []string
	for _, factor := range p.compared() {
		known = append(known, factor.Name)
	}
	if simple && within == "all" {
		c.Within = slices.DeleteFunc(slices.Clone(known), func(n string) bool { return n == effect })
	}
	named := append(slices.Clone(c.Factors), c.Within...)
	for i, name := range named {
		switch {
		case !slices.Contains(known, name):
			f.add(item.line, key, quote(name), "a factor of this plan ("+oneOf(known)+"), as a, a x b or a within b", meant(name, known))
			return c, false
		case slices.Contains(named[:i], name):
			f.add(item.line, key, "the factor "+name+" twice", "different factors", "")
			return c, false
		}
	}
	if len(c.Factors) > 2 || simple && (len(c.Factors) != 1 || len(c.Within) == 0) {
		f.add(item.line, key, quote(item.text), "a factor, an interaction of two (a x b), or a within b", "")
		return c, false
	}
	return c, true
}

// primary reads the measures that decide.
func (f *faults) primary(p *Plan, top *node) []Primary {
	var out []Primary
	for _, pair := range top.pairsOf("primary") {
		margin, _ := unit.ParsePercent(pair.value.textOf("margin"))
		if pair.value.get("margin") != nil && (margin <= 0 || margin >= 1) {
			f.add(pair.line, "primary."+pair.key+".margin", quote(pair.value.textOf("margin")), "a margin between 0% and 100%", "write the smallest difference that matters to you")
		}
		out = append(out, Primary{pair.key, record.Direction(pair.value.textOf("better")), margin})
	}
	if len(out) == 0 && len(p.compared()) > 0 {
		f.add(1, "primary", "no primary measure", "the measures that decide", "write primary: {throughput: {better: higher, margin: 2%}}, say")
	}
	return out
}

// repeat reads how many blocks there are.
func (f *faults) repeat(p *Plan, top *node) Repeat {
	section := top.get("repeat")
	if section == nil {
		return Repeat{Blocks: defaultBlocks}
	}
	r := Repeat{Blocks: section.countOf("blocks", 0), Pilot: section.countOf("pilot", 0), Max: section.countOf("max", 0)}
	r.Until, _ = unit.ParsePercent(section.textOf("until"))
	staged := section.get("pilot") != nil || section.get("until") != nil || section.get("max") != nil
	const both = "either {blocks: N}, or {pilot: 8, until: 1%, max: 30}"
	switch {
	case r.Blocks > 0 && staged:
		f.add(section.line, "repeat", "blocks together with pilot, until or max", both, "")
	case r.Blocks == 0 && (r.Pilot == 0 || section.get("until") == nil || r.Max == 0):
		f.add(section.line, "repeat", "neither blocks nor all of pilot, until and max", both, "")
	case staged && (r.Until <= 0 || r.Until >= 1):
		f.add(section.line, "repeat.until", quote(section.textOf("until")), "a half-width between 0% and 100%", "")
	case staged && r.Pilot < minPilot:
		f.add(section.line, "repeat.pilot", fmt.Sprint(r.Pilot), fmt.Sprintf("%d blocks or more, from which the spread is estimated", minPilot), "")
	case staged && r.Max < r.Pilot:
		f.add(section.line, "repeat.max", fmt.Sprint(r.Max), fmt.Sprintf("at least the %d blocks of the pilot", r.Pilot), "")
	case staged && slices.ContainsFunc(p.Primary, func(m Primary) bool { return m.Measure == OverallMeasure }):
		f.add(section.line, "repeat", "a pilot for "+OverallMeasure+", which no single trial has", "a number of blocks that is fixed in advance", "write {blocks: N}")
	case staged && len(p.compared()) == 0:
		f.add(section.line, "repeat", "a precision wanted of no comparison", "a factor to compare", "write {blocks: N}")
	}
	return r
}

// checkDesign judges order, ladder and the size of the whole run.
func (f *faults) checkDesign(p *Plan, top *node) {
	cells := len(p.Cells())
	line := func(key string) int {
		if n := top.get(key); n != nil {
			return n.line
		}
		return 1
	}
	blocks := max(p.Repeat.Blocks, p.Repeat.Max)
	if p.Retries > maxRetries {
		f.add(line("retries"), "retries", fmt.Sprint(p.Retries), fmt.Sprintf("at most %d", maxRetries), "a block that fails more often has a cause: find it")
	}
	hard := slices.ContainsFunc(p.Factors, func(x Factor) bool { return x.Hard })
	switch {
	case p.Order == OrderABBA && cells != 2:
		f.add(line("order"), "order", fmt.Sprintf("abba with %d cells", cells), "exactly two cells", "write order: blocks")
	case p.Order == OrderABBA && (blocks%2 != 0 || p.Repeat.Pilot%2 != 0):
		f.add(line("repeat"), "repeat", "an odd number of blocks with order: abba", "an even one, so that each order occurs as often", "")
	case p.Ladder && len(p.compared()) != 1:
		f.add(line("ladder"), "ladder", fmt.Sprintf("%d factors", len(p.compared())), "exactly one factor, whose levels are the steps", "")
	case p.Ladder && (p.Order == OrderABBA || hard):
		f.add(line("ladder"), "ladder", "a ladder with order: abba or a hard factor", "the steps in their written order", "remove order and hard")
	case p.Ladder && p.compared()[0].Baseline != p.compared()[0].Levels[0].Name:
		f.add(line("baseline"), "baseline", "another baseline than the first step", "none: a ladder begins at its first level", "remove baseline")
	case p.Order == OrderABBA && hard:
		f.add(line("hard"), "hard", "a hard factor with order: abba", "order: blocks", "")
	}
	if trials := float64(cells) * float64(blocks); trials > maxTrials {
		f.add(line("repeat"), "repeat", fmt.Sprintf("%d cells x %d blocks = %.0f trials", cells, blocks, trials), fmt.Sprintf("at most %d trials in a run", maxTrials), "leave levels or blocks out, or split the plan")
	}
}

// limits reads the thresholds that the plan changes.
func limits(top *node) Limits {
	n := top.get("limits")
	return Limits{
		ErrorPercent: n.percentOf("errors"), MissPercent: n.percentOf("misses"), StealPercent: n.percentOf("steal"), SlopePercent: n.percentOf("slope"),
		Excursion: n.percentOf("excursion"), BusyPercent: n.percentOf("generator_busy"), RateShort: n.percentOf("rate_shortfall"),
		Neighbours: n.percentOf("neighbours"), Stall: n.percentOf("generator_stall"), Silence: n.percentOf("silence"), Disconnected: n.percentOf("disconnected"),
	}
}

// telemetry reads what is watched.
func (f *faults) telemetry(top *node, catalog Catalog) Telemetry {
	n := top.get("telemetry")
	t := Telemetry{Interval: n.durationOf("interval", 1e9), Collectors: n.textsOf("collectors"), Processes: n.textsOf("processes")}
	if t.Interval < 1e8 {
		f.add(n.line, "telemetry.interval", quote(n.textOf("interval")), "100ms or more", "reading more often would disturb what is measured")
	}
	if catalog == nil {
		return t
	}
	known := catalog.Collectors()
	for _, name := range t.Collectors {
		if !slices.Contains(known, name) {
			f.add(n.get("collectors").line, "telemetry.collectors", quote(name), oneOf(known), meant(name, known))
		}
	}
	return t
}

// checkMeasures notes primary measures that no workload can give.
func (f *faults) checkMeasures(p *Plan, top *node, cells []Resolved, catalog Catalog) {
	if catalog == nil {
		return
	}
	possible := measures(cells, catalog)
	if p.Graded != nil {
		possible = append(possible, OverallMeasure)
	}
	if p.Together && len(p.Workloads) > 1 {
		for _, m := range slices.Clone(possible) {
			if !HostMeasure(m) && !strings.Contains(m, ".") {
				possible = append(possible, TotalPrefix+m)
			}
		}
	}
	f.checkSearchMeasures(p, top, possible)
	for _, pair := range top.pairsOf("primary") {
		if !slices.Contains(possible, pair.key) {
			f.add(pair.line, "primary."+pair.key, quote(pair.key), "a measure of these workloads, as "+oneOf(possible[:min(len(possible), 8)]), meant(pair.key, possible))
		}
	}
}

// measures lists the names that a primary measure can have.
func measures(cells []Resolved, catalog Catalog) []string {
	loads := []string{"throughput", "bandwidth"}
	open := false
	var out []string
	var kinds []string
	for _, r := range cells {
		for _, w := range r.Workloads {
			open = open || w.Rate != ""
			if figures, ok := w.Parameters["figures"].(map[string]any); ok {
				for name := range figures {
					out = append(out, name)
				}
			}
			for _, e := range catalog.Engines() {
				if e.Name == w.Engine {
					kinds, out = append(kinds, e.Kinds...), append(out, e.Figures...)
				}
			}
		}
	}
	prefixes := []string{"latency"}
	if open {
		prefixes = append(prefixes, "service", "response")
	}
	for _, prefix := range prefixes {
		for _, q := range []string{"p50", "p99", "mean", "p90", "p95", "p99.9", "max"} {
			loads = append(loads, prefix+"."+q)
		}
	}
	all := append(slices.Clone(loads), "duration", "items", "errors", "misses", "sut_cpu", "cpu_efficiency", "work_per_cpu_percent", "generator_cpu", "perf_per_watt", "perf_per_price")
	all = append(all, hostMeasures()...)
	for _, kind := range kinds {
		for _, l := range loads {
			all = append(all, kind+"."+l)
		}
	}
	slices.Sort(out)
	return slices.Compact(append(all, out...))
}
