package report

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"bakeoff/analysis"
	"bakeoff/record"
)

// A stamp is a mark on the whole report that a reader must not miss.
type stamp struct {
	Title  string
	Detail string // what it rests on
	Text   string
}

// Head is the title with what it rests on, as a line of text begins.
func (s stamp) Head() string {
	if s.Detail == "" {
		return s.Title
	}
	return s.Title + " (" + s.Detail + ")"
}

func stamps(r *analysis.Result) []stamp {
	var out []stamp
	if r.Printed {
		out = append(out, stamp{Title: "From printed figures, not measured", Text: "The figures below were taken from a printed report. bakeoff did not run these trials: it cannot vouch for how they were made, and what depends on repetition is missing."})
	}
	if !r.Printed && !r.Run.Complete {
		out = append(out, stamp{Title: "Incomplete run", Text: "The run stopped before its plan was done. What follows rests on the trials that were completed."})
	}
	if r.Run.PostHoc {
		out = append(out, stamp{Title: "Post hoc", Text: "Blocks were added after the plan's end. Adding until a result appears raises the rate of false verdicts: repeat as a new run before relying on it."})
	}
	if count, detail := leftOut(r.Trials); count > 0 {
		out = append(out, stamp{Title: "Trials left out by the operator: " + strconv.Itoa(count), Detail: detail, Text: "Leaving trials out can change a verdict; with few blocks, to any verdict."})
	}
	if list := disturbed(r.Gates); len(list) > 0 {
		out = append(out, stamp{Title: "Disturbed measurements", Text: strings.Join(list, "; ") + ". Read the verdicts with that in mind; better, quieten the machine and run again."})
	}
	return out
}

// leftOut counts the trials that the operator excluded, and lists them by reason:
// "0005, 0007: a backup ran; 0011: a cable was pulled".
func leftOut(trials []analysis.TrialRow) (count int, detail string) {
	var reasons []string
	byReason := map[string][]record.TrialID{}
	for _, t := range trials {
		if t.Status != record.StatusExcluded {
			continue
		}
		count++
		reason := strings.TrimRight(orElse(t.Reason, "no reason recorded"), ". ")
		if byReason[reason] == nil {
			reasons = append(reasons, reason)
		}
		byReason[reason] = append(byReason[reason], t.Trial)
	}
	for i, reason := range reasons {
		reasons[i] = trialRange(byReason[reason]) + ": " + reason
	}
	return count, strings.Join(reasons, "; ")
}

// disturbed lists the gates on a trial's surroundings that objected to at least
// half of the trials that they looked at.
func disturbed(gates []analysis.GateResult) []string {
	surroundings := []string{"busy-neighbour", "not-steady", "cpu-steal", "throttled", "swapping"}
	var out []string
	for _, g := range gates {
		if g.Severity == record.SeverityNote || g.Objected == 0 || 2*g.Objected < g.Checked || !slices.Contains(surroundings, g.Gate) {
			continue
		}
		out = append(out, fmt.Sprintf("%s objected to %d of %d trials", orElse(g.Title, g.Gate), g.Objected, g.Checked))
	}
	return out
}
