package analysis

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"slices"

	"bakeoff/plan"
	"bakeoff/record"
)

// Design makes a plan out of observations that come without one, such as
// printed figures: factors and levels in the order of their appearance, the
// first level for the baseline, and the main effect of every factor. The caller
// sets the title, what is primary and what to compare.
func Design(obs []record.Observation) *plan.Plan {
	p := &plan.Plan{}
	workloads := map[string]bool{}
	for _, o := range obs {
		if !workloads[o.Workload] {
			workloads[o.Workload] = true
			p.Workloads = append(p.Workloads, plan.Workload{Name: o.Workload})
		}
		for _, l := range o.Cell {
			addLevel(p, l)
		}
	}
	for i, f := range p.Factors {
		p.Factors[i].Baseline = f.Levels[0].Name
		if f.Name != plan.WorkloadFactor {
			p.Compare = append(p.Compare, plan.Comparison{Factors: []string{f.Name}})
		}
	}
	return p
}

func addLevel(p *plan.Plan, l record.Level) {
	i := slices.IndexFunc(p.Factors, func(f plan.Factor) bool { return f.Name == l.Factor })
	if i < 0 {
		p.Factors, i = append(p.Factors, plan.Factor{Name: l.Factor}), len(p.Factors)
	}
	f := &p.Factors[i]
	if !slices.ContainsFunc(f.Levels, func(have plan.Level) bool { return have.Name == l.Level }) {
		f.Levels = append(f.Levels, plan.Level{Name: l.Level})
	}
}

// FromObservations analyses observations that come from no run of bakeoff:
// printed figures, or other tools' results. The plan says what to compare (see
// Design). Figures that stand alone in their cell get no verdict: their interval
// is what the printed digits leave open.
func FromObservations(p *plan.Plan, obs []record.Observation, o Options) (*Result, error) {
	if len(obs) == 0 {
		return nil, errors.New("analysing figures: there are none; expected at least one observation")
	}
	if err := checkCells(p, obs); err != nil {
		return nil, err
	}
	s := newSamples(obs)
	j := &judge{plan: p, samples: s, family: max(p.Family(), 1), options: o, several: len(p.Workloads) > 1, printed: true}
	a := &analyst{run: &record.Run{}, plan: p, options: o,
		shapes: newShapeBook()}
	r := &Result{Title: p.Title, Question: p.Question, Printed: printedOnly(obs), Measures: a.measures(s), Cells: cellSummaries(p, s)}
	for _, f := range j.findings() {
		if f.N == 0 {
			continue // the figures are not a whole table
		}
		f.Replicated = "not stated"
		if w, coarse := coarseDigits(f, s, p); coarse {
			f.Warnings = append(f.Warnings, w)
		}
		f.Sentence = sentence(f, describe(f.Measure, f.Unit).title)
		r.Findings = append(r.Findings, f)
	}
	r.Charts = a.charts(r, s)
	r.Method = []string{"The figures were taken as given; bakeoff did not measure them. Improvements are (new - old)/old where higher is better and (old - new)/old where lower is better. " +
		"Where a cell holds one figure, the interval is what its printed digits leave open and says nothing of repetition."}
	r.Answer = Answer(r)
	stabilise(r)
	return r, nil
}

func printedOnly(obs []record.Observation) bool {
	return !slices.ContainsFunc(obs, func(o record.Observation) bool { return o.Trial != "" })
}

// checkCells makes sure that every observation has a place in the plan.
func checkCells(p *plan.Plan, obs []record.Observation) error {
	known := map[string]bool{}
	for _, c := range p.Cells() {
		known[c.Key()] = true
	}
	for _, o := range obs {
		if !known[o.Cell.Key()] {
			return fmt.Errorf("analysing figures: %s is in cell %q, which the plan does not have: every figure needs a level of each factor, in the same order", o.Measure, o.Cell.Key())
		}
	}
	return nil
}

// coarseDigits warns of a finding on a figure that was printed with too few
// digits, naming the coarsest.
func coarseDigits(f Finding, s *samples, p *plan.Plan) (record.Warning, bool) {
	worst, found := maxDigitShare, ""
	for _, o := range behind(f, s, p) {
		half, printed := printedHalfWidth(o)
		share := half / math.Abs(o.Value)
		if !printed || o.Value == 0 || share <= worst {
			continue
		}
		worst = share
		found = fmt.Sprintf("%q in cell %q leaves ± %s %% open", cmp.Or(o.Text, plain4(o.Value)), o.Cell.Key(), plain(100*share))
	}
	return findingWarning(gateDigits, record.SeveritySoft, f, found), found != ""
}

// behind lists the observations that a finding rests on.
func behind(f Finding, s *samples, p *plan.Plan) []record.Observation {
	var out []record.Observation
	for _, e := range p.Effects() {
		for _, key := range s.order {
			if key.measure != f.Measure || findingID(key, e) != f.ID {
				continue
			}
			for _, t := range e.Terms {
				out = append(out, s.cellValues(key, t.Cell)...)
			}
		}
	}
	return out
}
