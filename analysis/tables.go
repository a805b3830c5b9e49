package analysis

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"bakeoff/record"
	"bakeoff/unit"
)

// tables are the efficiency of every cell and the trials that were lost.
func (a *analyst) tables(s *samples) []Table {
	var out []Table
	for _, t := range []struct{ id, title, caption, measure string }{
		{"cpu-efficiency", "CPU efficiency", "Work for each CPU second of the server's processes, over the window.", "cpu_efficiency"},
		{"energy-efficiency", "Energy efficiency", "Throughput over mean power, formed in each trial; power over the window only.", "perf_per_watt"},
		{"price-efficiency", "Work for the money", "Throughput over the price of the machines under test. The interval is that of the throughput: the price does not vary.", "perf_per_price"},
	} {
		for _, key := range s.order {
			if key.measure == t.measure {
				out = append(out, a.efficiency(s, key, t.id, t.title, t.caption))
			}
		}
	}
	if t, any := a.lossTable(); any {
		out = append(out, t, a.lostTrials())
	}
	return out
}

// efficiency lists one measure by cell, with its interval and against the baseline.
func (a *analyst) efficiency(s *samples, key sampleKey, id, title, caption string) Table {
	kind := s.kinds[key]
	t := Table{ID: slug(id, a.workloadName(key.workload)), Title: titled(title, a.workloadName(key.workload)), Caption: caption,
		Columns: []string{"cell", kind.title + " (" + kind.unit + ")", "95 % interval (" + kind.unit + ")", "trials", "against the baseline"},
		Numeric: []bool{false, true, true, true, true}}
	base := 0.0
	for _, cell := range a.plan.BaselineCells() {
		if c := summarise(s, key, cell); c.N > 0 {
			base = c.Center
		}
	}
	extra := a.efficiencyExtra(key.measure)
	t.Columns = append(t.Columns, extra.columns...)
	for _, cell := range a.plan.Cells() {
		c := summarise(s, key, cell)
		if c.N == 0 {
			continue
		}
		within := "one trial"
		if c.N > 1 {
			within = quantity(c.Low, "1") + " to " + quantity(c.High, "1")
		}
		ratio := ""
		if base > 0 {
			ratio = plain4(c.Center/base) + "x"
		}
		row := []string{shortName(cell), quantity(c.Center, "1"), within, fmt.Sprint(c.N), ratio}
		t.Rows = append(t.Rows, append(row, extra.values(s, cell)...))
	}
	for range extra.columns {
		t.Numeric = append(t.Numeric, true)
	}
	t.Notes = extra.notes
	return t
}

// extra is what one efficiency table shows beside the measure itself.
type extra struct {
	columns []string
	values  func(s *samples, cell record.Cell) []string
	notes   []string
}

func (a *analyst) efficiencyExtra(measure string) extra {
	switch measure {
	case "perf_per_watt":
		return extra{columns: []string{"power (W)", "heat (BTU/h)"}, notes: a.powerNotes(), values: func(s *samples, cell record.Cell) []string {
			watts := summarise(s, sampleKey{"", "power"}, cell)
			if watts.N == 0 {
				return []string{"", ""}
			}
			return []string{plain4(watts.Center), plain4(unit.Watts(watts.Center).BTUPerHour())}
		}}
	case "perf_per_price":
		return extra{columns: []string{"price"}, values: func(_ *samples, cell record.Cell) []string { return []string{a.priceText(cell)} }}
	}
	return extra{values: func(*samples, record.Cell) []string { return nil }}
}

// priceText is the price of the machines under test in a cell.
func (a *analyst) priceText(cell record.Cell) string {
	resolved, err := a.plan.Resolve(cell)
	if err != nil {
		return ""
	}
	for _, t := range a.run.Trials {
		if t.Cell.Key() != cell.Key() || len(t.Services) == 0 {
			continue
		}
		if price, ok := (&trialData{trial: t, resolved: resolved}).priceOf(); ok {
			return price.String()
		}
	}
	return ""
}

// powerNotes says where the watts come from, for each machine and source.
func (a *analyst) powerNotes() []string {
	var notes []string
	for _, t := range a.run.Trials {
		if !a.counted[t.ID] {
			continue
		}
		d, err := loadTrial(a.run, a.plan, t)
		if err != nil {
			continue // it was read a moment ago
		}
		for _, machine := range d.sutMachines() {
			if m, ok := d.meterOf(machine); ok {
				text := fmt.Sprintf("Power of %s: %s, class %s, a reading every %s", machine, m.name, cmp.Or(m.class, "not stated"), quantity(m.seconds, "s"))
				if m.uncertainty != nil {
					text += fmt.Sprintf(", uncertainty ± %s %% (which repetition does not reduce)", plain(*m.uncertainty))
				}
				notes = addOnce(notes, text+".")
			}
		}
		break
	}
	return append(notes, "1 W = 3.412 BTU/h.")
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
		if !a.counted[trial.ID] {
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
