package analysis

import "bakeoff/plan"

// TuningOutcome is what a ladder showed of one of its steps.
type TuningOutcome struct {
	Step string `json:"step"`
	// Helped: at least one primary measure is better than at the step before,
	// and none is worse.
	Helped   bool      `json:"helped"`
	Findings []Finding `json:"findings"` // on primary measures, against the step before
}

// Tuning says which steps of a ladder helped measurably, in their order. The
// comparison of the last step with the first is none of a step.
func Tuning(r *Result, p *plan.Plan) []TuningOutcome {
	var out []TuningOutcome
	for i, level := range p.Factor(plan.TuningFactor).Levels {
		if i == 0 {
			continue
		}
		before := p.Factor(plan.TuningFactor).Levels[i-1].Name
		o := TuningOutcome{Step: level.Name}
		better, worse := false, false
		for _, f := range r.Findings {
			if !f.Primary || f.Base != before || f.Against != level.Name {
				continue
			}
			o.Findings = append(o.Findings, f)
			better = better || f.Verdict == Better
			worse = worse || f.Verdict == Worse
		}
		o.Helped = better && !worse
		out = append(out, o)
	}
	return out
}
