package plan

import (
	"math"

	"bakeoff/record"
	"bakeoff/stats"
)

// Decision says how many blocks a plan that is repeated until a precision is
// reached needs, by its pilot.
type Decision struct {
	Blocks int // that are run: the most that any verdict needs, at most Repeat.Max
	Needed int // the most that any verdict needs; stats.MaxN where that cannot be told
	// Needs has one entry for each verdict, in the order of Primary and, for
	// each, of Effects; none for workloads that do not have the measure.
	Needs []Need
}

// Need is what one verdict's pilot says.
type Need struct {
	Measure string
	Effect  Effect
	Pilot   int     // pilot blocks in which the effect could be computed
	SD      float64 // between the pilot's blocks: of the effect's logarithm, or of the difference where a value is not above 0
	Blocks  int     // needed; stats.MaxN where the pilot cannot tell
}

// Decide returns how many blocks the pilot asks for. It is false for a plan
// with a fixed number of blocks, and while the pilot is not complete.
//
// For each primary measure and comparison, Stein's second stage takes the
// deviation of the block log ratios in the pilot and the t quantile that the
// family of verdicts leaves (Bonferroni); the most demanding one decides.
func Decide(p *Plan, outcomes []Outcome) (Decision, bool, error) {
	h, err := replay(p, outcomes)
	if err != nil || p.Repeat.Pilot == 0 || !h.pilotDone(p) {
		return Decision{}, false, err
	}
	return *h.decided, true, nil
}

// pilotDone says whether every trial of the pilot has ended.
func (h *history) pilotDone(p *Plan) bool {
	return h.next == nil || h.next.Block > p.Repeat.Pilot
}

// wants says whether the plan has a block of that number, as far as the blocks
// before it tell: those of the pilot, until the pilot is done.
func (h *history) wants(p *Plan, block int) bool {
	switch {
	case p.Repeat.Pilot == 0:
		return block <= p.Repeat.Blocks
	case block <= p.Repeat.Pilot:
		return true
	case h.decided == nil:
		d := p.decide(h.blocks[:p.Repeat.Pilot])
		h.decided = &d
	}
	return block <= h.decided.Blocks
}

func (p *Plan) decide(pilot [][]Outcome) Decision {
	d := Decision{Needed: p.Repeat.Pilot}
	alpha := 0.05 / float64(max(p.Family(), 1))
	effects := p.Effects()
	blocks := make([]map[string]Outcome, len(pilot))
	for i, b := range pilot {
		blocks[i] = counting(b)
	}
	for _, m := range p.Primary {
		anywhere := observed(blocks, m.Measure, p.Workloads...)
		for _, e := range effects {
			if anywhere && !observed(blocks, m.Measure, Workload{Name: e.Workload}) {
				continue // a measure of another workload only
			}
			n := need(m.Measure, e, blocks, alpha, p.Repeat)
			d.Needs = append(d.Needs, n)
			d.Needed = max(d.Needed, n.Blocks)
		}
	}
	d.Blocks = min(d.Needed, p.Repeat.Max)
	if p.Order == OrderABBA {
		d.Blocks += d.Blocks % 2 // Max is even, see checkRepeat
	}
	return d
}

// need applies Stein's second stage to one effect.
func need(measure string, e Effect, pilot []map[string]Outcome, alpha float64, r Repeat) Need {
	n := Need{Measure: measure, Effect: e, Blocks: stats.MaxN}
	var ratios, differences, bases []float64
	for _, block := range pilot {
		value := func(c record.Cell) (float64, bool) { return block[c.Key()].measured(e.Workload, measure) }
		if d, ok := e.In(value, false); ok {
			base, _ := Effect{Terms: e.Terms[:len(e.Terms)/2]}.In(value, false)
			differences, bases = append(differences, d), append(bases, base)
		}
		if v, ok := e.In(value, true); ok {
			ratios = append(ratios, v)
		}
	}
	if n.Pilot = len(differences); n.Pilot < 2 {
		return n
	}
	effects, half := ratios, math.Log1p(r.Until)
	if len(ratios) < n.Pilot { // as the finding will be judged
		effects, half = differences, r.Until*math.Abs(stats.Mean(bases))
	}
	n.SD = stats.SD(effects)
	n.Blocks = stats.SteinN(n.SD, float64(n.Pilot-1), alpha, half, r.Pilot)
	return n
}

// observed says whether any trial of the blocks has a measure of one of the
// workloads, or of their hosts.
func observed(blocks []map[string]Outcome, measure string, workloads ...Workload) bool {
	for _, b := range blocks {
		for _, o := range b {
			for _, w := range workloads {
				if _, ok := o.measured(w.Name, measure); ok {
					return true
				}
			}
		}
	}
	return false
}

// counting returns the measured outcomes of a block that count, by cell.
func counting(block []Outcome) map[string]Outcome {
	out := map[string]Outcome{}
	for _, o := range block {
		if o.counts() && o.Trial.Role == record.RoleMeasure {
			out[o.Trial.Cell.Key()] = o
		}
	}
	return out
}

// measured finds the value of a workload's or a host's measure in an outcome.
func (o Outcome) measured(workload, measure string) (float64, bool) {
	for _, v := range o.Values {
		if v.Measure == measure && (v.Workload == workload || v.Workload == "") {
			return v.Value, true
		}
	}
	return 0, false
}
