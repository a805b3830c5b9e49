package analysis

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"

	"bakeoff/plan"
	"bakeoff/record"
	"bakeoff/stats"
)

// peakParts are the tables and curves of a peak search; none where the plan
// asks for none.
func (a *analyst) peakParts(s *samples) ([]Table, []Chart) {
	if a.plan.Peak == nil || len(a.searches) == 0 {
		return nil, nil
	}
	tables := []Table{a.peakTable(s), a.curveTable()}
	charts := a.peakCharts(a.plan.Peak.Measure, func(l plan.SearchedLoad) (float64, []float64) { return l.Smoothed, l.Values }, nil)
	for k, c := range a.plan.Peak.Caps {
		charts = append(charts, a.peakCharts(c.Measure, func(l plan.SearchedLoad) (float64, []float64) {
			if len(l.Values) == 0 {
				return math.NaN(), nil
			}
			return l.SmoothedCaps[k], l.Caps[k]
		}, &c)...)
	}
	return tables, charts
}

// loadName is what a search varies, as users.
func (a *analyst) loadName() string {
	over := a.plan.Peak.Over
	return over[strings.LastIndexByte(over, '.')+1:]
}

// peakText says how the loads were found, "" where none was searched.
func (a *analyst) peakText() string {
	p := a.plan.Peak
	if p == nil {
		return ""
	}
	text := fmt.Sprintf("Every cell was measured at its own peak: the smallest number of %s within 1 %% of the best smoothed %s, or as near to it as trials of one load are to each other, searched from %d to %d",
		a.loadName(), lowerFirst(describe(p.Measure, "").title), p.From, p.To)
	for i, c := range p.Caps {
		text += fmt.Sprintf("%s %s at most %s", []string{", with", " and"}[min(i, 1)], c.Measure, c.Text)
	}
	return text + ". Trials of the search are never judged; values at the peaks come from the blocks alone."
}

// searchName names the cell of a search in tables.
func (a *analyst) searchName(c record.Cell) string {
	name := shortName(c)
	if w, ok := c.Level(plan.WorkloadFactor); ok {
		return w + ": " + name
	}
	return name
}

// measureUnit is the unit of a measure as it was observed, "" where it was not.
func (a *analyst) measureUnit(measure string) string {
	for _, t := range a.run.Trials {
		for _, o := range a.obs[t.ID] {
			if o.Measure == measure {
				return o.Unit
			}
		}
	}
	return describe(measure, "").unit
}

// peakTable says for each cell where its peak lies, what was measured there
// afresh, and what bound it.
func (a *analyst) peakTable(s *samples) Table {
	p := a.plan.Peak
	unit := a.measureUnit(p.Measure)
	l := newLayout("peaks", "The peak of each cell",
		fmt.Sprintf("%s from %d to %d was searched for the most %s, on trials that are never judged. The best of a noisy search is too good: the value judged is the one measured afresh, in blocks.",
			p.Over, p.From, p.To, lowerFirst(describe(p.Measure, "").title))).
		text("cell").numbers("peak ("+a.loadName()+")", "seen in the search", "measured afresh", "95 % interval")
	for _, c := range p.Caps {
		l.numbers(c.Measure + " measured afresh")
	}
	l.text("limit").numbers("loads searched", "trials")
	for _, found := range a.searches {
		row := []string{a.searchName(found.Cell), found.At(), "", "", ""}
		if i := slices.IndexFunc(found.Loads, func(l plan.SearchedLoad) bool { return l.Load == found.Peak }); i >= 0 {
			row[2] = amount(p.Measure, unit, found.Loads[i].Smoothed)
		}
		if values := a.afresh(s, p.Measure, found.Cell, sumOf); len(values) > 0 {
			center, low, high := centre(values)
			row[3] = amount(p.Measure, unit, center)
			row[4] = amount(p.Measure, unit, low) + " to " + amount(p.Measure, unit, high)
		}
		for _, c := range p.Caps {
			text := ""
			if values := a.afresh(s, c.Measure, found.Cell, slices.Max); len(values) > 0 {
				center, _, _ := centre(values)
				if text = amount(c.Measure, a.measureUnit(c.Measure), center); center > c.Most {
					text += ", above the cap"
				}
			}
			row = append(row, text)
		}
		tries := 0
		for _, load := range found.Loads {
			tries += load.Tries
		}
		l.row(append(row, a.limitText(found), fmt.Sprint(len(found.Loads)), fmt.Sprint(tries))...)
		if found.Exhausted {
			l.note(fmt.Sprintf("%s: the search ended at its most trials (peak.trials: %d): a better load may lie between those searched.", a.searchName(found.Cell), p.Trials))
		}
	}
	l.note("The limit is named from telemetry of the trials at the peak: what was nearest to all that it can do.")
	return l.finish()
}

func sumOf(values []float64) float64 {
	sum := 0.0
	for _, v := range values {
		sum += v
	}
	return sum
}

// afresh is what the blocks of a cell measured, over the workloads whose load is
// searched.
func (a *analyst) afresh(s *samples, measure string, cell record.Cell, over func([]float64) float64) []float64 {
	byBlock := map[int][]float64{}
	for _, key := range s.order {
		if key.measure != measure || key.workload != "" && !a.plan.Peak.Concerns(key.workload) {
			continue
		}
		for _, block := range s.blocks(key) {
			if o, ok := s.at(key, block, cell); ok {
				byBlock[block] = append(byBlock[block], o.Value)
			}
		}
	}
	var out []float64
	for _, block := range slices.Sorted(maps.Keys(byBlock)) {
		out = append(out, over(byBlock[block]))
	}
	return out
}

// centre is the geometric mean with its 95 % interval, or the arithmetic one
// where a value is not above zero.
func centre(values []float64) (center, low, high float64) {
	if len(values) < 2 {
		return values[0], values[0], values[0]
	}
	if logs, ok := stats.Logs(values); ok {
		within := stats.MeanInterval(logs, familyAlpha).Exp()
		return stats.GeometricMean(values), within.Low, within.High
	}
	within := stats.MeanInterval(values, familyAlpha)
	return stats.Mean(values), within.Low, within.High
}

// limitText names what bound a cell at its peak, with the evidence.
func (a *analyst) limitText(found plan.Search) string {
	if found.Peak == 0 {
		return "the search is not done"
	}
	p := a.plan.Peak
	i := slices.IndexFunc(found.Loads, func(l plan.SearchedLoad) bool { return l.Load == found.Peak })
	strained := worst(a.strains, found.Loads[i].Trials)
	full := strained.full()
	edge := i+1 < len(found.Loads) && found.Loads[i+1].Load == found.Limit
	switch {
	case len(full) > 0 && full[0].kind == "generator":
		return "the generator: " + strainText(full) + "; the server may do more"
	case edge && len(full) > 0:
		return a.edgeText(found.Loads[i+1]) + "; at the peak " + strainText(full)
	case edge:
		return a.edgeText(found.Loads[i+1])
	case len(full) > 0:
		return strainText(full)
	case found.Peak == p.To:
		return fmt.Sprintf("the end of the range, %d: more might do better", p.To)
	case found.Peak == p.From:
		return fmt.Sprintf("the start of the range, %d: fewer might do as well", p.From)
	case len(strained.parts) > 0:
		return "none that telemetry shows: " + strainText(strained.parts)
	}
	return "not known: there is no telemetry of it"
}

// full are the parts at their limits, the generator first.
func (s strain) full() (out []strainPart) {
	for _, kind := range strainKinds() {
		if part := s.of(kind.name); part != nil && part.share >= kind.full {
			out = append(out, *part)
		}
	}
	return out
}

func strainText(parts []strainPart) string {
	words := make([]string, len(parts))
	for i, part := range parts {
		words[i] = fmt.Sprintf("%s %s %% (%s)", part.kind, plain(100*part.share), part.what)
	}
	return strings.Join(words, ", ")
}

// edgeText says what kept the search from the next load.
func (a *analyst) edgeText(l plan.SearchedLoad) string {
	for k, c := range a.plan.Peak.Caps {
		if len(l.Values) > 0 && l.SmoothedCaps[k] > c.Most {
			return fmt.Sprintf("the cap: %s is %s at %d, above %s", c.Measure, amount(c.Measure, a.measureUnit(c.Measure), l.SmoothedCaps[k]), l.Load, c.Text)
		}
	}
	if strings.HasPrefix(l.Failed, gateGenerator) {
		return fmt.Sprintf("the generator: at %d, %s; the server may do more", l.Load, l.Failed)
	}
	return fmt.Sprintf("%d could not be run: %s", l.Load, l.Failed)
}

// curveTable is the whole curve of every search.
func (a *analyst) curveTable() Table {
	p := a.plan.Peak
	unit := a.measureUnit(p.Measure)
	l := newLayout("peak-curve", "The whole curve of the search",
		"Every load that was searched. Smoothed is the curve nearest to the trials (least squares) that rises to one peak and falls from there; a capped measure's is the nearest that never falls. The peak is the smallest load within 1 % of the best, or as near as trials of one load are to each other.").
		text("cell").numbers(a.loadName(), "trials", describe(p.Measure, "").title, "smoothed")
	for _, c := range p.Caps {
		l.numbers(c.Measure + ", smoothed")
	}
	for _, kind := range strainKinds() {
		l.numbers(kind.name)
	}
	l.text("")
	for _, found := range a.searches {
		for _, load := range found.Loads {
			row := []string{a.searchName(found.Cell), fmt.Sprint(load.Load), fmt.Sprint(load.Tries), "", ""}
			if len(load.Values) > 0 {
				row[3] = amount(p.Measure, unit, load.Mean())
			}
			if !math.IsNaN(load.Smoothed) {
				row[4] = amount(p.Measure, unit, load.Smoothed)
			}
			for k, c := range p.Caps {
				text := ""
				if len(load.Values) > 0 {
					text = amount(c.Measure, a.measureUnit(c.Measure), load.SmoothedCaps[k])
				}
				row = append(row, text)
			}
			strained := worst(a.strains, load.Trials)
			for _, kind := range strainKinds() {
				text := ""
				if part := strained.of(kind.name); part != nil {
					text = plain(100*part.share) + " %"
				}
				row = append(row, text)
			}
			l.row(append(row, loadRemark(found, load))...)
		}
	}
	return l.finish()
}

// loadRemark says what a load is in its search.
func loadRemark(found plan.Search, l plan.SearchedLoad) string {
	switch {
	case l.Load == found.Peak:
		return "the peak"
	case len(l.Values) == 0:
		return "could not be run: " + l.Failed
	case l.Load == found.Limit:
		return "above a cap"
	case found.Limit > 0 && l.Load > found.Limit:
		return "beyond the limit"
	case l.Smoothed >= found.Best*(1-1e-12):
		return "the best"
	}
	return ""
}

// peakCharts draws a measure over the load, a line a cell with every trial's
// point, one chart a workload.
func (a *analyst) peakCharts(measure string, of func(plan.SearchedLoad) (float64, []float64), limit *plan.Cap) []Chart {
	var out []Chart
	title := describe(measure, "").title
	for _, found := range a.searches {
		workload, _ := found.Cell.Level(plan.WorkloadFactor)
		id := slug("peak", workload, measure)
		i := slices.IndexFunc(out, func(c Chart) bool { return c.ID == id })
		if i < 0 {
			i = len(out)
			out = append(out, Chart{ID: id, Kind: LineChart, Title: titled(title, workload) + " over " + a.loadName(),
				Caption: "Lines are the smoothed curves of the search, points its trials, and the peak of each cell is marked. What is judged was measured afresh at the peaks." + betterText(describe(measure, "").better),
				XLabel:  a.loadName(), XUnit: "1", YLabel: title, YUnit: a.measureUnit(measure), XLog: true})
			if limit != nil {
				out[i].Lines = []RefLine{{Axis: "y", At: limit.Most, Label: "cap " + limit.Text}}
			}
		}
		line := Series{Name: shortName(found.Cell)}
		for _, l := range found.Loads {
			if smoothed, values := of(l); !math.IsNaN(smoothed) {
				line.X, line.Y, line.Points = append(line.X, float64(l.Load)), append(line.Y, smoothed), append(line.Points, values)
			}
		}
		if len(line.X) == 0 {
			continue
		}
		out[i].Series = append(out[i].Series, line)
		if found.Peak > 0 {
			out[i].Lines = append(out[i].Lines, RefLine{Axis: "x", At: float64(found.Peak), Label: "peak of " + line.Name + ": " + found.At()})
		}
	}
	out = slices.DeleteFunc(out, func(c Chart) bool { return len(c.Series) == 0 })
	for i := range out {
		out[i].Alt = seriesWords(out[i])
	}
	return out
}
