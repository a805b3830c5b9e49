package analysis

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"bakeoff/plan"
	"bakeoff/record"
	"bakeoff/stats"
)

func (a *analyst) runInfo() RunInfo {
	m := a.run.Manifest
	info := RunInfo{ID: m.ID, RootHash: a.run.RootHash, PlanHash: m.PlanHash, Build: m.Build, Started: m.Created.UTC(),
		Complete: a.run.Complete, PostHoc: m.PostHocOf != "", Replicated: a.replicated("")}
	blocks := map[int]bool{}
	for _, t := range a.run.Trials {
		if end := t.Ended.UTC(); end.After(info.Ended) {
			info.Ended = end
		}
		if a.counted[t.ID] && t.Role == record.RoleMeasure {
			blocks[t.Block] = true
		}
	}
	info.Blocks = len(blocks)
	for _, h := range a.plan.Hosts {
		info.Hosts = append(info.Hosts, h.Name)
	}
	return info
}

// measures describes what was observed, primary ones first in the plan's order.
func (a *analyst) measures(s *samples) []Measure {
	var out []Measure
	for _, key := range s.order {
		kind := s.kinds[key]
		m := Measure{Name: key.measure, Title: kind.title, Unit: kind.unit, Better: kind.better, Workload: a.workloadName(key.workload)}
		if i := a.primaryIndex(key.measure); i >= 0 {
			m.Primary, m.Margin = true, a.plan.Primary[i].Margin
			m.Better = cmp.Or(a.plan.Primary[i].Better, m.Better)
		}
		out = append(out, m)
	}
	slices.SortStableFunc(out, func(x, y Measure) int {
		return cmp.Compare(a.primaryRank(x), a.primaryRank(y))
	})
	return out
}

func (a *analyst) primaryIndex(measure string) int {
	return slices.IndexFunc(a.plan.Primary, func(p plan.Primary) bool { return p.Measure == measure })
}

func (a *analyst) primaryRank(m Measure) int {
	if i := a.primaryIndex(m.Name); i >= 0 {
		return i
	}
	return len(a.plan.Primary)
}

// cellSummaries summarises every measure in every cell, in the plan's order.
func cellSummaries(p *plan.Plan, s *samples) []CellSummary {
	var out []CellSummary
	for _, key := range s.order {
		for _, cell := range p.Cells() {
			c := summarise(s, key, cell)
			if c.N == 0 {
				continue
			}
			if len(p.Workloads) > 1 {
				c.Workload = key.workload
			}
			out = append(out, c)
		}
	}
	return out
}

// summarise is one measure in one cell: the geometric mean with its t interval
// on logarithms, or the arithmetic one where a value is not above zero.
func summarise(s *samples, key sampleKey, cell record.Cell) CellSummary {
	c := CellSummary{Cell: cell, Measure: key.measure, Unit: s.kinds[key].unit}
	for _, block := range s.blocks(key) {
		if o, ok := s.at(key, block, cell); ok {
			c.Values, c.Blocks = append(c.Values, o.Value), append(c.Blocks, block)
		}
	}
	c.N = len(c.Values)
	if c.N == 0 {
		return c
	}
	c.Min, c.Max = slices.Min(c.Values), slices.Max(c.Values)
	within := stats.Interval{}
	if logs, ok := stats.Logs(c.Values); ok {
		c.Center, within = stats.GeometricMean(c.Values), stats.MeanInterval(logs, familyAlpha).Exp()
	} else {
		c.Center, within = stats.Mean(c.Values), stats.MeanInterval(c.Values, familyAlpha)
	}
	c.Low, c.High = within.Low, within.High
	if c.N < 2 {
		c.Low, c.High = c.Center, c.Center
		return c
	}
	if cv := 100 * stats.CV(c.Values); cv == cv {
		c.CVPercent = &cv
	}
	return c
}

// trialRows is the raw table: every trial, with why it does not count.
func (a *analyst) trialRows() []TrialRow {
	out := make([]TrialRow, 0, len(a.run.Trials))
	for _, t := range a.run.Trials {
		row := TrialRow{Trial: t.ID, Role: t.Role, Block: t.Block, Attempt: t.Attempt, Cell: t.Cell, At: t.At, Status: t.Status,
			Reason: a.reasons[t.ID], Counted: a.counted[t.ID], Values: map[string]float64{}, Warnings: a.warnings(t)}
		for _, o := range a.obs[t.ID] {
			name := o.Measure
			if o.Workload != "" && len(a.plan.Workloads) > 1 {
				name = o.Workload + "/" + name
			}
			row.Values[name] = o.Value
		}
		out = append(out, row)
	}
	return out
}

// settingRows lists the settings, those of one course together.
func (a *analyst) settingRows() []SettingRow {
	var rows []SettingRow
	all := map[string]bool{}
	index := map[string]int{}
	for _, t := range a.run.Trials {
		all[t.Cell.Key()] = true
		for _, s := range t.Settings {
			key := strings.Join([]string{s.Host, s.Kind, s.Target, textOf(s.Before), s.Wanted, textOf(s.ReadBack), textOf(s.AtEnd), textOf(s.Restored)}, "\x00")
			i, known := index[key]
			if !known {
				i, index[key] = len(rows), len(rows)
				rows = append(rows, SettingRow{Host: s.Host, Kind: s.Kind, Target: s.Target, Before: s.Before, Wanted: s.Wanted,
					ReadBack: s.ReadBack, AtEnd: s.AtEnd, Restored: s.Restored})
			}
			rows[i].Trials++
			rows[i].Cells = addOnce(rows[i].Cells, t.Cell.Key())
		}
	}
	for i := range rows {
		if len(rows[i].Cells) == len(all) {
			rows[i].Cells = nil
		}
	}
	return rows
}

func textOf(s *string) string {
	if s == nil {
		return "\x01"
	}
	return *s
}

func addOnce(list []string, s string) []string {
	if slices.Contains(list, s) {
		return list
	}
	return append(list, s)
}

// serviceRows lists the servers under test, those that ran alike together.
func (a *analyst) serviceRows() []ServiceRow {
	var rows []ServiceRow
	all := map[string]bool{}
	index := map[string]int{}
	for _, t := range a.run.Trials {
		all[t.Cell.Key()] = true
		for _, s := range t.Services {
			key := fmt.Sprint(s.Name, s.Host, s.Command, s.CPUs, s.Endpoint, s.Version, sortedPairs(s.Facts))
			i, known := index[key]
			if !known {
				i, index[key] = len(rows), len(rows)
				rows = append(rows, ServiceRow{Name: s.Name, Host: s.Host, Command: s.Command, CPUs: s.CPUs,
					Endpoint: s.Endpoint, Version: s.Version, Facts: s.Facts})
			}
			rows[i].Trials++
			rows[i].Cells = addOnce(rows[i].Cells, t.Cell.Key())
		}
	}
	for i := range rows {
		if len(rows[i].Cells) == len(all) {
			rows[i].Cells = nil
		}
	}
	return rows
}

func sortedPairs(m map[string]string) string {
	var b strings.Builder
	for _, k := range sortedKeys(m) {
		b.WriteString(k + "=" + m[k] + "\x00")
	}
	return b.String()
}
