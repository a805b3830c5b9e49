package run

import (
	"fmt"

	"bakeoff/analysis"
	"bakeoff/plan"
	"bakeoff/record"
)

// fillValues gives the pilot's outcomes the values of the primary measures,
// which decide how many blocks there are, and those of a peak search what it
// looks at.
func (x *executor) fillValues() error {
	p := x.cfg.Plan
	n := len(x.outcomes)
	var due []*plan.Outcome
	for i := range x.outcomes {
		o := &x.outcomes[i]
		search := o.Trial.Role == record.RoleSearch
		pilot := !search && o.Trial.Block <= p.Repeat.Pilot && x.outcomes[n-1].Trial.Block >= p.Repeat.Pilot
		if (search || pilot) && o.Status == record.StatusComplete && o.Values == nil {
			due = append(due, o)
		}
	}
	if len(due) == 0 {
		return nil
	}
	run, err := record.Open(x.writer.Dir())
	if err != nil {
		return err
	}
	for _, o := range due {
		t, err := run.Trial(o.Trial.ID)
		if err != nil {
			return err
		}
		obs, _, err := analysis.ObserveTrial(run, p, t)
		if err != nil {
			return fmt.Errorf("working out how the plan goes on: trial %s: %w", t.ID, err)
		}
		o.Values = analysis.Values(p, obs)
	}
	return nil
}
