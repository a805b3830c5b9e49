package analysis

import (
	"fmt"
	"slices"
	"strings"

	"bakeoff/record"
)

// tables are the loads at once, and the trials that were lost.
func (a *analyst) tables() []Table {
	var out []Table
	if t, any := a.partsTable(); any {
		out = append(out, t)
	}
	if t, any := a.lossTable(); any {
		out = append(out, t, a.lostTrials())
	}
	return out
}

// lossTable counts, for every level, the trials that were begun and those that
// do not count.
func (a *analyst) lossTable() (Table, bool) {
	t := Table{ID: "losses", Title: "Trials that do not count, by level",
		Caption: "A lost trial takes its block with it; unlike losses between levels would bias what is left.",
		Columns: []string{"level", "begun", "counted", "invalid", "failed", "excluded", "interrupted", "measured again with their block"},
		Numeric: []bool{false, true, true, true, true, true, true, true}}
	any := false
	for _, f := range a.plan.Factors {
		for _, l := range f.Levels {
			n := a.lossesOf(f.Name, l.Name)
			any = any || n.begun > n.counted
			t.Rows = append(t.Rows, []string{f.Name + "=" + l.Name, fmt.Sprint(n.begun), fmt.Sprint(n.counted), fmt.Sprint(n.invalid),
				fmt.Sprint(n.failed), fmt.Sprint(n.excluded), fmt.Sprint(n.interrupted), fmt.Sprint(n.again)})
		}
	}
	return t, any
}

type lossCount struct{ begun, counted, invalid, failed, excluded, interrupted, again int }

func (a *analyst) lossesOf(factor, level string) lossCount {
	var n lossCount
	for _, t := range a.run.Trials {
		if l, ok := t.Cell.Level(factor); !ok || l != level || t.Role != record.RoleMeasure {
			continue
		}
		n.begun++
		switch {
		case a.counted[t.ID]:
			n.counted++
		case t.Status == record.StatusFailed:
			n.failed++
		case t.Status == record.StatusExcluded:
			n.excluded++
		case t.Status == record.StatusInterrupted:
			n.interrupted++
		case t.Status == record.StatusInvalid || hasHard(a.warnings(t)):
			n.invalid++
		default:
			n.again++
		}
	}
	return n
}

// lostTrials lists every trial that does not count with its reason.
func (a *analyst) lostTrials() Table {
	t := Table{ID: "lost-trials", Title: "Trials that do not count", Caption: "Nothing is deleted: their values are in the raw table.",
		Columns: []string{"trial", "block", "attempt", "cell", "status", "reason"}, Numeric: []bool{false, true, true, false, false, false}}
	for _, trial := range a.run.Trials {
		if !a.counted[trial.ID] && trial.Role != record.RoleSearch {
			t.Rows = append(t.Rows, []string{string(trial.ID), fmt.Sprint(trial.Block), fmt.Sprint(trial.Attempt), trial.Cell.Key(),
				string(trial.Status), a.reasons[trial.ID]})
		}
	}
	return t
}

// loadSummary writes a load's parameters in the order of their names, those that
// were not alike in all trials named as varied.
func loadSummary(loads []record.Load) string {
	first := loads[0]
	var parts []string
	for _, name := range sortedKeys(first.Parameters) {
		value := first.Parameters[name]
		varied := slices.ContainsFunc(loads, func(l record.Load) bool { return l.Parameters[name] != value })
		if varied {
			value = "varied by the plan"
		}
		parts = append(parts, name+" = "+value)
	}
	return strings.Join(parts, ", ")
}
