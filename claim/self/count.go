package self

import (
	"fmt"
	"slices"

	"bakeoff/plan"
	"bakeoff/record"
)

// gather puts together what the gates object to in each trial, and what the
// record itself holds.
func (a *auditor) gather(observed []record.Warning) {
	a.gates, a.warnings = map[record.TrialID][]objected{}, map[record.TrialID][]objected{}
	for _, w := range observed {
		if len(a.trial(w.Trial).Loads) > 0 && !slices.Contains(presenceGates(), w.Gate) {
			a.gates[w.Trial] = append(a.gates[w.Trial], objected{Warning: w})
		}
	}
	data, changes := a.dataSetObjections(), a.changeObjections()
	for _, t := range a.run.Trials {
		a.gates[t.ID] = append(a.gates[t.ID], a.ownObjections(a.views[t.ID])...)
		a.gates[t.ID] = append(append(a.gates[t.ID], data[t.ID]...), changes[t.ID]...)
		a.warnings[t.ID] = slices.Clone(a.gates[t.ID])
		for _, w := range t.Warnings {
			known := slices.ContainsFunc(a.gates[t.ID], func(o objected) bool { return o.Gate == w.Gate && o.Subject == w.Subject })
			if !known && !slices.Contains(presenceGates(), w.Gate) {
				a.warnings[t.ID] = append(a.warnings[t.ID], objected{Warning: w})
			}
		}
	}
}

// spoiled says whether a hard gate objects to a trial.
func (a *auditor) spoiled(t record.Trial) bool {
	for _, w := range a.warnings[t.ID] {
		if w.Severity == record.SeverityHard {
			return true
		}
	}
	return false
}

// count finds the trials that stand behind the verdicts: complete, not excluded,
// of the last attempt of their block, and no hard gate objects.
func (a *auditor) count() {
	a.counted = map[record.TrialID]bool{}
	last := a.lastAttempts()
	a.lost = a.givenUp(last)
	for _, t := range a.run.Trials {
		a.counted[t.ID] = a.lost == "" && t.Role != record.RoleSearch && t.Status == record.StatusComplete && t.Attempt == last[t.Block] && !a.spoiled(t)
	}
}

func (a *auditor) lastAttempts() map[int]int {
	last := map[int]int{}
	for _, t := range a.run.Trials {
		last[t.Block] = max(last[t.Block], t.Attempt)
	}
	return last
}

// givenUp says why a run ended for good in its first block, "" where it did not:
// a cell failed in the last attempt and was complete in none.
func (a *auditor) givenUp(last map[int]int) string {
	done := map[string]bool{}
	for _, t := range a.run.Trials {
		if t.Block == 1 && a.statusAsRun(t) == record.StatusComplete {
			done[t.Cell.Key()] = true
		}
	}
	for _, t := range a.run.Trials {
		if t.Block == 1 && last[1] == 1+a.plan.Retries && t.Attempt == last[1] && t.Role == record.RoleMeasure &&
			a.statusAsRun(t) == record.StatusFailed && !done[t.Cell.Key()] {
			return fmt.Sprintf("cell %q could not be measured in %d attempts: %s", t.Cell.Key(), t.Attempt, t.Reason)
		}
	}
	return ""
}

// statusAsRun is a trial's status before the operator excluded it.
func (a *auditor) statusAsRun(t record.Trial) record.Status {
	for _, x := range a.run.Exclusions {
		if x.Trial == t.ID {
			return x.Was
		}
	}
	return t.Status
}

// outcomes are the trials as the plan sees them.
func (a *auditor) asOutcomes() []plan.Outcome {
	out := make([]plan.Outcome, 0, len(a.run.Trials))
	for _, t := range a.run.Trials {
		o := plan.Outcome{Trial: plan.Trial{ID: t.ID, Role: t.Role, Block: t.Block, Attempt: t.Attempt, Cell: t.Cell, At: t.At, Seed: t.Seed},
			Status: a.statusAsRun(t), Excluded: t.Status == record.StatusExcluded, Reason: t.Reason}
		for _, measure := range a.plan.Decisive() {
			for key, value := range a.views[t.ID].values {
				if key.measure == measure {
					o.Values = append(o.Values, plan.Value{Workload: key.workload, Measure: key.measure, Value: value})
				}
			}
		}
		out = append(out, o)
	}
	return out
}
