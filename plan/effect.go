package plan

import (
	"math"
	"slices"
	"strings"

	"bakeoff/record"
)

// EffectKind names what an effect compares.
type EffectKind string

// The kinds of effect.
const (
	MainEffect   EffectKind = "main"        // a level against the baseline, over the levels of all other factors
	SimpleEffect EffectKind = "simple"      // the same, with the levels of some others held fixed
	Interaction  EffectKind = "interaction" // how much the effect of one factor depends on another: a ratio of ratios
	StepEffect   EffectKind = "step"        // a step of a ladder against the step before it, and the last against the first
)

// An Effect is one comparison that the plan asks for, as a contrast over the
// cells of a block: the sum over Terms of Weight x ln(value) is the logarithm
// of the effect (Against over Base) in that block; without the logarithm it is
// the difference. Positive weights add up to 1, or to 2 for an interaction.
type Effect struct {
	Kind     EffectKind
	Factor   string // "ip", or "ip x offload"
	Base     string // level; "v4, off" for an interaction
	Against  string
	Where    record.Cell // levels held fixed, the workload's among them where it is a factor
	Workload string      // whose measures are compared
	Terms    []Term
}

// A Term is one cell of a contrast.
type Term struct {
	Cell   record.Cell
	Weight float64
}

// In returns the effect in one block from the value that each cell has there:
// the logarithm of the ratio, or the difference where log is false. It is false
// where a value is missing, or is not above 0 and has no logarithm.
func (e Effect) In(value func(record.Cell) (float64, bool), log bool) (float64, bool) {
	var sum float64
	for _, t := range e.Terms {
		v, ok := value(t.Cell)
		if !ok || math.IsNaN(v) || math.IsInf(v, 0) || log && v <= 0 {
			return 0, false
		}
		if log {
			v = math.Log(v)
		}
		sum += t.Weight * v
	}
	return sum, true
}

// Effects returns every comparison that the plan asks for, for each workload,
// in the order of compare. With each primary measure they are the family of
// verdicts (see Family). Workloads are never averaged over, nor are the shares
// of a graded plan, which are compared at the peak.
func (p *Plan) Effects() []Effect {
	var out []Effect
	for _, w := range p.Workloads {
		where := p.fixed(w.Name)
		cells := matching(p.Cells(), where)
		for _, c := range p.Compare {
			for _, e := range p.effects(c, cells) {
				e.Workload = w.Name
				e.Where = append(e.Where, where...)
				out = append(out, e)
			}
		}
	}
	return out
}

// effects returns the effects of one comparison over the cells of one workload.
func (p *Plan) effects(c Comparison, cells []record.Cell) []Effect {
	f := p.Factor(c.Factors[0])
	switch {
	case p.Ladder:
		return steps(f, cells)
	case len(c.Factors) == 2:
		return interactions(f, p.Factor(c.Factors[1]), cells)
	}
	kind := MainEffect
	if c.Simple {
		kind = SimpleEffect
	}
	var out []Effect
	for _, where := range combinations(p, c.Within) {
		for _, l := range f.Levels {
			if l.Name != f.Baseline {
				out = append(out, effect(kind, f, f.Baseline, l.Name, where, matching(cells, where)))
			}
		}
	}
	return out
}

// effect contrasts two levels of a factor over all the cells given.
func effect(kind EffectKind, f *Factor, base, against string, where record.Cell, cells []record.Cell) Effect {
	e := Effect{Kind: kind, Factor: f.Name, Base: base, Against: against, Where: slices.Clone(where)}
	minus := matching(cells, record.Cell{{Factor: f.Name, Level: base}})
	plus := matching(cells, record.Cell{{Factor: f.Name, Level: against}})
	e.Terms = append(weighted(minus, -1), weighted(plus, 1)...)
	return e
}

// steps contrasts each level of a ladder with the one before it, and the last
// with the first where that is another comparison.
func steps(f *Factor, cells []record.Cell) []Effect {
	var out []Effect
	n := len(f.Levels)
	for i := 1; i < n; i++ {
		out = append(out, effect(StepEffect, f, f.Levels[i-1].Name, f.Levels[i].Name, nil, cells))
	}
	if n > 2 {
		out = append(out, effect(StepEffect, f, f.Levels[0].Name, f.Levels[n-1].Name, nil, cells))
	}
	return out
}

// interactions contrasts the effect of a at each level of b with its effect at
// the baseline of b.
func interactions(a, b *Factor, cells []record.Cell) []Effect {
	var out []Effect
	for _, la := range a.Levels {
		for _, lb := range b.Levels {
			if la.Name == a.Baseline || lb.Name == b.Baseline {
				continue
			}
			e := Effect{Kind: Interaction, Factor: a.Name + " x " + b.Name, Base: a.Baseline + ", " + b.Baseline, Against: la.Name + ", " + lb.Name}
			corner := func(levelA, levelB string, weight float64) {
				at := record.Cell{{Factor: a.Name, Level: levelA}, {Factor: b.Name, Level: levelB}}
				e.Terms = append(e.Terms, weighted(matching(cells, at), weight)...)
			}
			corner(a.Baseline, b.Baseline, 1)
			corner(la.Name, b.Baseline, -1)
			corner(a.Baseline, lb.Name, -1)
			corner(la.Name, lb.Name, 1)
			out = append(out, e)
		}
	}
	return out
}

// weighted shares a weight out over cells.
func weighted(cells []record.Cell, weight float64) []Term {
	out := make([]Term, len(cells))
	for i, c := range cells {
		out[i] = Term{c, weight / float64(len(cells))}
	}
	return out
}

// matching returns the cells that have all the levels of where.
func matching(cells []record.Cell, where record.Cell) []record.Cell {
	var out []record.Cell
	for _, c := range cells {
		fits := !slices.ContainsFunc(where, func(w record.Level) bool {
			level, ok := c.Level(w.Factor)
			return !ok || level != w.Level
		})
		if fits {
			out = append(out, c)
		}
	}
	return out
}

// combinations returns all combinations of the named factors' levels; one
// empty combination for no factors.
func combinations(p *Plan, factors []string) []record.Cell {
	part := &Plan{}
	for _, name := range factors {
		part.Factors = append(part.Factors, *p.Factor(name))
	}
	return part.Cells()
}

// HostMeasure says whether a measure belongs to the hosts of a trial as a
// whole and not to one workload, so that workloads that run together share it.
// Their totals do, too.
func HostMeasure(measure string) bool {
	return slices.Contains(hostMeasures(), measure) || strings.HasPrefix(measure, TotalPrefix)
}

// TotalPrefix begins the measures of all workloads that run together: the sum
// of theirs within a trial, as total.throughput.
const TotalPrefix = "total."

func hostMeasures() []string {
	return []string{"host_cpu", "nic_rx", "nic_tx", "disk_read", "disk_write", "disk_read_latency", "disk_write_latency", "power", "energy"}
}

// Family returns how many verdicts the plan asks for: comparisons times primary
// measures. They share the 5 % of error (Bonferroni). A measure of the hosts
// counts once for workloads that run together.
func (p *Plan) Family() int {
	effects := len(p.Effects())
	perWorkload, perHost := effects, effects
	if p.Together && len(p.Workloads) > 0 {
		perHost = effects / len(p.Workloads)
	}
	n := 0
	for _, m := range p.Primary {
		if HostMeasure(m.Measure) {
			n += perHost
		} else {
			n += perWorkload
		}
	}
	return n
}

// ClimbEffects contrast every level of a ladder with the first, for each
// workload: what all steps up to it did together. They are not judged.
func (p *Plan) ClimbEffects() []Effect {
	if !p.Ladder {
		return nil
	}
	f := p.compared()[0]
	var out []Effect
	for _, w := range p.Workloads {
		where := p.fixed(w.Name)
		for _, l := range f.Levels[1:] {
			e := effect(StepEffect, f, f.Levels[0].Name, l.Name, where, matching(p.Cells(), where))
			e.Workload = w.Name
			out = append(out, e)
		}
	}
	return out
}
