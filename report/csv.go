package report

import (
	"encoding/csv"
	"fmt"
	"io"
	"slices"
	"strconv"

	"bakeoff/analysis"
)

// csvBefore and csvAfter are the fixed columns of the CSV report, around the
// factors.
func csvBefore() []string { return []string{"run", "host", "workload"} }

func csvAfter() []string {
	return []string{"block", "attempt", "trial", "role", "status", "measure", "unit", "value", "counted"}
}

// CSV writes every value of every trial as tidy CSV (RFC 4180, UTF-8): one value a
// row, one column a factor, base units, every digit. A factor with the name of a
// fixed column is named factor.NAME. The columns:
//
//	run       the run's id
//	host      where the value was measured, where it is of one host
//	workload  the workload, where several ran
//	FACTOR…   the cell's level of each factor
//	block, attempt, trial, role (measure, aa), status (complete, invalid, failed, excluded)
//	measure, unit, value
//	counted   true where the value stands behind the verdicts
//
// Figures from print have no trials: each cell's values stand in rows of their own
// with no trial.
func CSV(w io.Writer, r *analysis.Result) error {
	n := namesOf(r)
	out := csv.NewWriter(w)
	rows := [][]string{csvHeader(n)}
	rows = append(rows, trialRows(r, n)...)
	if len(r.Trials) == 0 {
		rows = append(rows, cellRows(r, n)...)
	}
	if err := out.WriteAll(rows); err != nil {
		return fmt.Errorf("writing the CSV report: %w", err)
	}
	return nil
}

func csvHeader(n names) []string {
	fixed := append(csvBefore(), csvAfter()...)
	header := csvBefore()
	for _, f := range n.factors {
		for slices.Contains(fixed, f) {
			f = "factor." + f
		}
		header = append(header, f)
	}
	return append(header, csvAfter()...)
}

func trialRows(r *analysis.Result, n names) [][]string {
	var out [][]string
	keys := valueKeys(r)
	for _, t := range r.Trials {
		for _, k := range keys {
			v, ok := t.Values[k.key]
			if !ok {
				continue
			}
			row := append([]string{r.Run.ID, hostOf(r, k.measure), k.measure.Workload}, csvLevels(n, t.Cell)...)
			out = append(out, append(row, strconv.Itoa(t.Block), strconv.Itoa(t.Attempt), string(t.Trial), string(t.Role), string(t.Status),
				k.measure.Name, k.measure.Unit, digits(v), strconv.FormatBool(t.Counted)))
		}
	}
	return out
}

func cellRows(r *analysis.Result, n names) [][]string {
	var out [][]string
	for _, c := range r.Cells {
		for i, v := range c.Values {
			block := ""
			if i < len(c.Blocks) {
				block = strconv.Itoa(c.Blocks[i])
			}
			row := append([]string{r.Run.ID, hostOf(r, n.measure(c.Measure, c.Workload)), c.Workload}, csvLevels(n, c.Cell)...)
			out = append(out, append(row, block, "", "", "", "", c.Measure, c.Unit, digits(v), "true"))
		}
	}
	return out
}

// csvLevels lists a cell's levels; empty where it has none of a factor.
func csvLevels(n names, c interface{ Level(string) (string, bool) }) []string {
	out := make([]string, len(n.factors))
	for i, f := range n.factors {
		out[i], _ = c.Level(f)
	}
	return out
}

func hostOf(r *analysis.Result, m analysis.Measure) string {
	if m.Host == "" && len(r.Run.Hosts) == 1 {
		return r.Run.Hosts[0]
	}
	return m.Host
}

// digits writes a value with as many digits as it takes to read it back alike.
func digits(v float64) string { return strconv.FormatFloat(v, 'g', -1, 64) }
