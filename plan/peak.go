package plan

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"bakeoff/record"
	"bakeoff/unit"
)

// Peak asks for every cell to be measured at its own best load, as users of a
// database or requests a second: found first on trials of their own, which are
// never judged, and then measured afresh in blocks, since the best of a noisy
// search is too good.
type Peak struct {
	Over     string // the path whose value is searched: workloads.oltp.users
	Measure  string // that is to be the most it can be
	From, To int64  // loads searched
	Caps     []Cap
	Warmup   time.Duration // of the search's trials; 0: the workloads' own
	Window   time.Duration
	Trials   int // the most that are spent on one cell

	paths []pathKeys // wildcards replaced
}

// A Cap is a measure that must stay at or below a value, in base units.
type Cap struct {
	Measure string
	Most    float64
	Text    string // as written
}

func peakFields() []field {
	return []field{
		{name: "over", shape: shapeText, must: true, doc: "the path of the load: workloads.oltp.users, a rate, workers, or another whole number"},
		{name: "from", shape: shapeRate, must: true, doc: "the smallest load"},
		{name: "to", shape: shapeRate, must: true, doc: "the largest"},
		{name: "measure", shape: shapeMeasure, doc: "what is to be the most it can be; absent, the first primary measure of which more is better, else throughput"},
		{name: "cap", shape: shapeMap, doc: "measure -> the most it may be at the peak, as latency.p95: 10ms, or p95: 10ms for short"},
		{name: "warmup", shape: shapeDuration, doc: "of the trials of the search; absent, the workload's own"},
		{name: "window", shape: shapeDuration, doc: "of the trials of the search; absent, the workload's own"},
		{name: "trials", shape: shapePositive, doc: "the most that the search spends on one cell; absent, 40"},
	}
}

// peak reads what a peak search asks for, nil for a plan without one.
func (f *faults) peak(p *Plan, top *node) *Peak {
	n := top.get("peak")
	if n == nil || n.kind != mapping {
		return nil
	}
	k := &Peak{Over: n.textOf("over"), Measure: n.textOf("measure"), Trials: n.countOf("trials", searchTrials),
		Warmup: n.durationOf("warmup", 0), Window: n.durationOf("window", 0)}
	k.From, k.To = f.load(n, "from"), f.load(n, "to")
	if k.From > 0 && k.To > 0 && k.To < 2*k.From {
		f.add(n.get("to").line, "peak.to", quote(n.textOf("to")), fmt.Sprintf("at least twice peak.from, %d", k.From), "")
	}
	for _, c := range n.pairsOf("cap") {
		k.Caps = append(k.Caps, f.cap(c))
	}
	if n.get("cap") != nil && len(k.Caps) == 0 {
		f.add(n.get("cap").line, "peak.cap", "no cap", "measure: most, as p95: 10ms", "or leave cap out")
	}
	f.searched(p, k, n)
	switch {
	case p.Graded != nil:
		f.add(n.line, "peak", "a peak search in a graded plan", "one of the two", "find the peak first; a graded plan takes it as peak or graded.of")
	case k.Trials < 5:
		f.add(n.line, "peak.trials", fmt.Sprint(k.Trials), "at least 5", "")
	}
	return k
}

// load reads one end of the range.
func (f *faults) load(n *node, key string) int64 {
	if n.get(key) == nil {
		return 0 // noted by its shape
	}
	rate, err := unit.ParseRate(n.textOf(key))
	load := int64(rate)
	if err == nil && (float64(load) != rate || load < 1) {
		f.add(n.get(key).line, "peak."+key, quote(n.textOf(key)), "a whole number above 0", "")
	}
	return max(load, 1)
}

// cap reads one cap: p95 is short for latency.p95.
func (f *faults) cap(p pair) Cap {
	c := Cap{Measure: p.key, Text: p.value.text}
	if p.key == "mean" || p.key == "max" || strings.HasPrefix(p.key, "p") && strings.Trim(p.key, "p.0123456789") == "" {
		c.Measure = "latency." + p.key
	}
	var expected string
	switch {
	case strings.Contains(c.Measure, "latency.") || strings.Contains(c.Measure, "service.") || strings.Contains(c.Measure, "response."):
		d, err := unit.ParseDuration(c.Text)
		c.Most = d.Seconds()
		if err != nil || d <= 0 {
			expected = "a time, as 10ms"
		}
	case strings.HasSuffix(c.Text, "%"):
		share, err := unit.ParsePercent(c.Text)
		if c.Most = share; err != nil {
			expected = "a percentage, as 5%"
		}
	default:
		v, err := unit.ParseRate(c.Text)
		if c.Most = v; err != nil {
			expected = "a number, a percentage or, of a latency, a time"
		}
	}
	if expected != "" {
		f.add(p.line, "peak.cap."+p.key, quote(c.Text), expected, "")
	}
	return c
}

// searched checks the path of a search: a number of workloads, which nothing
// else sets, and of each workload that runs.
func (f *faults) searched(p *Plan, k *Peak, n *node) {
	over := n.get("over")
	if over == nil {
		return
	}
	k.paths = f.expand(p.tree, k.Over, over.line)
	for _, path := range k.paths {
		if path[0] != "workloads" || len(path) != 3 {
			f.add(over.line, "peak.over", quote(k.Over), "a key of a workload, as workloads.oltp.users or workloads.*.rate", "")
			return
		}
		f.checkPath(p.tree, path, over.line)
		if own := p.tree.get("workloads").get(path[1]).get(path[2]); own != nil {
			f.add(own.line, path.String(), "a value of what the peak search sets", "none: it tries loads from peak.from to peak.to", "remove it")
		}
		for _, factor := range p.Factors {
			for _, set := range allSets(factor) {
				if path.contains(set.keys) {
					f.add(set.Line, "factors."+factor.Name, set.Path+", which the peak search sets", "each value set once", "take it out of the factor, or search for no peak")
				}
			}
		}
	}
	if !p.Together {
		for _, w := range p.tree.pairsOf("workloads") {
			if !k.Concerns(w.key) {
				f.add(over.line, "peak.over", quote(k.Over), "a load of every workload, since each is measured at its peak", "write workloads.*."+k.Over[strings.LastIndexByte(k.Over, '.')+1:])
				return
			}
		}
	}
}

// Decisive lists the measures by which Next goes: the primary ones, and those
// that a peak search looks at.
func (p *Plan) Decisive() []string {
	var out []string
	add := func(measure string) {
		if !slices.Contains(out, measure) {
			out = append(out, measure)
		}
	}
	for _, m := range p.Primary {
		add(m.Measure)
	}
	if p.Peak != nil {
		add(p.Peak.Measure)
		for _, c := range p.Peak.Caps {
			add(c.Measure)
		}
	}
	return out
}

// Concerns says whether the search sets the load of a workload.
func (p *Peak) Concerns(workload string) bool {
	return slices.ContainsFunc(p.paths, func(k pathKeys) bool { return k[1] == workload })
}

// peakMeasure chooses what is searched for where the plan does not say.
func (p *Plan) peakMeasure() {
	if p.Peak == nil || p.Peak.Measure != "" {
		return
	}
	p.Peak.Measure = "throughput"
	for _, m := range p.Primary {
		if m.Better == record.HigherIsBetter {
			p.Peak.Measure = m.Measure
			return
		}
	}
}

// checkSearchType notes a load that is no number, as far as the engine tells.
func (f *faults) checkSearchType(p *Plan, top *node, catalog Catalog) {
	if p.Peak == nil || catalog == nil {
		return
	}
	for _, path := range p.Peak.paths {
		if slices.Contains([]string{"rate", "workers", "instances", "max_burst"}, path[2]) {
			continue
		}
		for _, w := range p.Workloads {
			for _, e := range catalog.Engines() {
				if w.Name != path[1] || w.Engine != e.Name {
					continue
				}
				i := slices.IndexFunc(e.Parameters, func(q Parameter) bool { return q.Name == path[2] })
				if i < 0 || !slices.Contains([]string{"int", "rate"}, e.Parameters[i].Type) {
					f.add(top.get("peak").get("over").line, "peak.over", quote(p.Peak.Over), "rate, workers, instances, or a whole number that the engine "+e.Name+" takes", "")
				}
			}
		}
	}
}

// checkSearchMeasures notes measures of a search that no workload can give.
func (f *faults) checkSearchMeasures(p *Plan, top *node, possible []string) {
	if p.Peak == nil {
		return
	}
	n := top.get("peak")
	if m := n.get("measure"); m != nil && !slices.Contains(possible, m.text) {
		f.add(m.line, "peak.measure", quote(m.text), "a measure of these workloads, as "+few(possible), meant(m.text, possible))
	}
	for i, c := range n.pairsOf("cap") {
		if measure := p.Peak.Caps[i].Measure; !slices.Contains(possible, measure) {
			f.add(c.line, "peak.cap."+c.key, quote(measure), "a measure of these workloads, as "+few(possible), meant(measure, possible))
		}
	}
}

// ResolveTrial returns the description of what one trial runs: that of its cell,
// at its load where the plan searches for a peak.
func (p *Plan) ResolveTrial(t Trial) (Resolved, error) {
	f := &faults{file: p.Name}
	tree, err := p.at(t.Cell)
	if err != nil {
		return Resolved{}, err
	}
	if p.Peak != nil && t.At != "" {
		tree = p.Peak.put(tree, t.At)
	}
	if p.Peak != nil && t.Role == record.RoleSearch {
		tree = p.Peak.shorten(tree)
	}
	r := p.resolve(t.Cell, tree, f)
	return r, f.err()
}

// put gives the searched paths a value.
func (p *Peak) put(tree *node, load string) *node {
	for _, path := range p.paths {
		line := tree.get("workloads").get(path[1]).line
		tree = tree.with(&node{kind: scalar, line: line, text: load}, line, path...)
	}
	return tree
}

// shorten gives the workloads the warm-up and window of the search.
func (p *Peak) shorten(tree *node) *node {
	for _, w := range tree.pairsOf("workloads") {
		for key, d := range map[string]time.Duration{"warmup": p.Warmup, "window": p.Window} {
			if d > 0 && tree.get("workloads").get(w.key).get("window") != nil {
				tree = tree.with(&node{kind: scalar, line: w.line, text: d.String()}, w.line, "workloads", w.key, key)
			}
		}
	}
	return tree
}
