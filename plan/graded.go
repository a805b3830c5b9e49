package plan

import (
	"fmt"
	"math/big"
	"slices"
	"strconv"
	"strings"

	"bakeoff/record"
	"bakeoff/unit"
)

// Graded asks for every cell at shares of its own peak, and idle, as SPECpower
// does: the sum of work over the sum of watts then says how a system spends
// energy over its whole range. The shares are the levels of GradedFactor, which
// comes after the plan's own factors and sets the rate of each workload.
type Graded struct {
	Of     string     // peak of every workload that has none of its own, as a rate; "" where each has
	Shares []*big.Rat // of the peak, falling from 1
	Idle   bool       // last, with the connections open and nothing sent
}

// GradedFactor is the name of the factor that a graded plan's shares form.
const GradedFactor = "target_load"

// OverallMeasure is a graded plan's figure for each system and block: the sum
// of the work of all levels over the sum of their watts, in ops/J. It stands in
// the cells at the peak.
const OverallMeasure = "overall_perf_per_watt"

// IdleLevel is the name of its level without load.
const IdleLevel = "idle"

// idleRate keeps an open loop open and sends nothing: one operation in 11 days.
const idleRate = "0.000001"

func gradedFields() []field {
	return []field{
		{name: "of", shape: shapeRate, doc: "the peak of every workload that has no peak of its own, as 50k"},
		{name: "levels", shape: shapeTexts, doc: "shares of the peak, falling from 100%; absent, 100% to 10% by tens"},
		{name: "idle", shape: shapeBool, doc: "false: leave out the level without load"},
	}
}

// graded reads what a graded plan asks for, nil for any other.
func (f *faults) graded(top *node) *Graded {
	n := top.get("graded")
	if n == nil || n.kind != mapping {
		return nil
	}
	g := &Graded{Of: n.textOf("of"), Idle: n.textOf("idle") != "false"}
	levels := n.textsOf("levels")
	if n.get("levels") == nil {
		for percent := 100; percent > 0; percent -= 10 {
			levels = append(levels, strconv.Itoa(percent)+"%")
		}
	}
	for i, text := range levels {
		share := shareOf(text)
		falls := share != nil && share.Sign() > 0 && (i == 0 || share.Cmp(g.Shares[len(g.Shares)-1]) < 0)
		if !falls {
			f.add(n.get("levels").line, fmt.Sprintf("graded.levels[%d]", i), quote(text), "shares of the peak that fall from 100%, as [100%, 50%, 10%]", "")
			return nil
		}
		g.Shares = append(g.Shares, share)
	}
	if len(g.Shares) == 0 || g.Shares[0].Cmp(big.NewRat(1, 1)) != 0 {
		f.add(n.get("levels").line, "graded.levels", quote(strings.Join(levels, ", ")), "100% as the first level", "comparisons are made at the peak")
	}
	return g
}

// factor is the shares as levels.
func (g *Graded) factor(line int) Factor {
	f := Factor{Name: GradedFactor, Line: line}
	for _, s := range g.Shares {
		f.Levels = append(f.Levels, Level{Name: shareName(s), Line: line})
	}
	if g.Idle {
		f.Levels = append(f.Levels, Level{Name: IdleLevel, Line: line})
	}
	f.Baseline = f.Levels[0].Name
	return f
}

func shareName(share *big.Rat) string {
	return short(new(big.Rat).Mul(share, big.NewRat(100, 1))) + " %"
}

// short writes a decimal number with six decimals at most.
func short(v *big.Rat) string {
	text := v.FloatString(6)
	return strings.TrimSuffix(strings.TrimRight(text, "0"), ".")
}

// Share returns the share of its peak at which a cell is run: 0 for idle. It is
// false where the plan is not graded.
func (p *Plan) Share(cell record.Cell) (*big.Rat, bool) {
	name, ok := cell.Level(GradedFactor)
	if p.Graded == nil || !ok {
		return nil, false
	}
	for _, s := range p.Graded.Shares {
		if shareName(s) == name {
			return s, true
		}
	}
	return new(big.Rat), true
}

// rated puts the rates of a cell's share into the description.
func (p *Plan) rated(cell record.Cell, tree *node) *node {
	share, ok := p.Share(cell)
	if !ok {
		return tree
	}
	for _, w := range tree.pairsOf("workloads") {
		peak, err := unit.ParseRate(w.value.textOr("peak", p.Graded.Of))
		if err != nil {
			continue // noted by checkGraded
		}
		rate := idleRate
		if share.Sign() > 0 {
			rate = short(new(big.Rat).Mul(new(big.Rat).SetFloat64(peak), share))
		}
		line := w.line
		if own := w.value.get("peak"); own != nil {
			line = own.line
		}
		tree = tree.with(&node{kind: scalar, line: line, text: rate}, line, "workloads", w.key, "rate")
	}
	return tree
}

// checkGraded notes what does not go with shares of a peak.
func (f *faults) checkGraded(p *Plan, top *node) {
	for _, w := range p.written("peak") {
		if p.Graded == nil {
			f.add(w.line, w.key, "a peak in a plan that is not graded", "graded with it", "write graded: {}, or remove peak")
		}
	}
	if p.Graded == nil {
		return
	}
	for _, w := range p.written("rate") {
		f.add(w.line, w.key, "a rate in a graded plan", "no rate: the levels of "+GradedFactor+" set it", "write peak instead")
	}
	if p.Ladder {
		f.add(top.get("graded").line, "graded", "shares of a peak with a ladder", "one of the two", "")
	}
}

// graded notes a workload of a graded plan that has no peak to be a share of.
func (c cellCheck) graded(w Workload) {
	key := "workloads." + w.Name
	switch {
	case c.tree.get("graded") == nil:
	case w.Rate == "":
		c.add(c.at("workloads", w.Name, "engine"), key, "no peak in a graded plan", "the operations a second that 100 % are",
			"write peak: 50k there or in each level, or graded: {of: 50k}; a plan without rate and graded finds it")
	case w.Window == 0:
		c.add(c.at("workloads", w.Name, "deadline"), key, "work that ends by itself in a graded plan", "a load that can be held at a rate for a window", "write window: 1m")
	}
}

// written lists where a key of a workload is given a value: in the description,
// and in levels.
func (p *Plan) written(key string) (out []pair) {
	for _, w := range p.tree.pairsOf("workloads") {
		for _, pair := range w.value.pairs {
			if pair.key == key {
				pair.key = "workloads." + w.key + "." + key
				out = append(out, pair)
			}
		}
	}
	for _, factor := range p.Factors {
		for _, l := range factor.Levels {
			for _, s := range l.Sets {
				if strings.HasPrefix(s.Path, "workloads.") && strings.HasSuffix(s.Path, "."+key) {
					out = append(out, pair{"factors." + factor.Name + "." + l.Name + "." + s.Path, s.Line, s.value})
				}
			}
		}
	}
	return out
}

// withGraded adds the factor of a graded plan, before that of the workloads.
func (f *faults) withGraded(p *Plan, top *node) []Factor {
	if p.Graded == nil || len(p.Graded.Shares) == 0 {
		return p.Factors
	}
	line := top.get("graded").line
	if p.Factor(GradedFactor) != nil {
		f.add(line, "graded", "a factor named "+GradedFactor, "another name for it", "the shares of the peak are the factor "+GradedFactor)
		return p.Factors
	}
	at := len(p.Factors)
	if p.workloadFactor() {
		at--
	}
	return slices.Insert(slices.Clone(p.Factors), at, p.Graded.factor(line))
}

// atPeak is the level of a graded plan's peak, no level for any other.
func (p *Plan) atPeak() record.Cell {
	if f := p.Factor(GradedFactor); p.Graded != nil && f != nil {
		return record.Cell{{Factor: GradedFactor, Level: f.Levels[0].Name}}
	}
	return nil
}

// fixed are the levels at which the effects of a workload are compared: its own,
// and the peak of a graded plan.
func (p *Plan) fixed(workload string) record.Cell {
	where := p.atPeak()
	if p.workloadFactor() {
		where = append(where, record.Level{Factor: WorkloadFactor, Level: workload})
	}
	return where
}

// grades puts every level of a graded plan in the place of the first: a cell is
// taken from its peak down to idle, as SPECpower does. The twin of an A/A trial
// stays at the peak.
func (p *Plan) grades(trials []Trial) []Trial {
	f := p.Factor(GradedFactor)
	if p.Graded == nil || f == nil {
		return trials
	}
	var out []Trial
	for _, t := range trials {
		if t.Role != record.RoleMeasure {
			out = append(out, t)
			continue
		}
		at := slices.IndexFunc(t.Cell, func(l record.Level) bool { return l.Factor == GradedFactor })
		for _, l := range f.Levels {
			t.Cell = slices.Clone(t.Cell)
			t.Cell[at].Level = l.Name
			out = append(out, t)
		}
	}
	return out
}
