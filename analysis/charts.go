package analysis

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"bakeoff/plan"
	"bakeoff/record"
	"bakeoff/unit"
)

// charts draws the primary measures, the findings on them, latency and time.
func (a *analyst) charts(r *Result, s *samples) []Chart {
	var out []Chart
	for _, m := range r.Measures {
		if m.Primary {
			out = append(out, a.bars(r, m))
			out = append(out, a.line(r, m)...)
		}
	}
	if len(out) == 0 && len(r.Measures) > 0 {
		out = append(out, a.bars(r, r.Measures[0]))
	}
	out = append(out, a.forests(r)...)
	for _, w := range a.plan.Workloads {
		out = append(out, a.percentileChart(w.Name)...)
		out = append(out, a.timeCharts(w.Name)...)
	}
	return out
}

// shortName names a cell by its levels, without the workload's.
func shortName(c record.Cell) string {
	var parts []string
	for _, l := range c {
		if l.Factor != plan.WorkloadFactor {
			parts = append(parts, l.Level)
		}
	}
	if len(parts) == 0 {
		return "all trials"
	}
	return strings.Join(parts, ", ")
}

// titled puts the workload before a title where there are several.
func titled(title, workload string) string {
	if workload == "" {
		return title
	}
	return workload + ": " + lowerFirst(title)
}

func slug(parts ...string) string {
	text := strings.ToLower(strings.Join(slices.DeleteFunc(parts, func(p string) bool { return p == "" }), "-"))
	return strings.Trim(strings.Map(func(r rune) rune {
		if r >= 'a' && r <= 'z' || r >= '0' && r <= '9' || r == '.' {
			return r
		}
		return '-'
	}, text), "-")
}

// bars shows one measure in every cell, with intervals and every trial.
func (a *analyst) bars(r *Result, m Measure) Chart {
	series := Series{Name: m.Title}
	var words []string
	for _, c := range r.Cells {
		if c.Measure != m.Name || c.Workload != m.Workload {
			continue
		}
		series.Labels = append(series.Labels, shortName(c.Cell))
		series.Y, series.Low, series.High = append(series.Y, c.Center), append(series.Low, c.Low), append(series.High, c.High)
		series.Points = append(series.Points, c.Values)
		words = append(words, fmt.Sprintf("%s: %s (%s to %s, %d trials)", shortName(c.Cell), amount(c.Measure, c.Unit, c.Center),
			amount(c.Measure, c.Unit, c.Low), amount(c.Measure, c.Unit, c.High), c.N))
	}
	return Chart{
		ID: slug("bars", m.Workload, m.Name), Kind: BarChart, Title: titled(m.Title, m.Workload),
		Caption: "Bars are geometric means over the blocks, lines their 95 % intervals (of each cell by itself; the verdicts rest on differences inside blocks), points the trials." + betterText(m.Better),
		Alt:     strings.Join(words, "; ") + ".", YLabel: m.Title, YUnit: m.Unit, Series: []Series{series},
	}
}

func betterText(d record.Direction) string {
	switch d {
	case record.HigherIsBetter:
		return " Higher is better."
	case record.LowerIsBetter:
		return " Lower is better."
	}
	return ""
}

// line shows a measure over the levels of a factor that are all numbers.
func (a *analyst) line(r *Result, m Measure) []Chart {
	var out []Chart
	for _, f := range a.plan.Factors {
		at, ok := numericLevels(f)
		if !ok {
			continue
		}
		if sweeps := a.sweeps(r, m, f); len(sweeps) > 0 {
			out = append(out, scalingChart(sweeps))
			continue
		}
		c := Chart{
			ID: slug("line", m.Workload, m.Name, f.Name), Kind: LineChart, Title: titled(m.Title, m.Workload) + " over " + f.Name,
			Caption: "Geometric means over the blocks with their 95 % intervals." + betterText(m.Better),
			XLabel:  f.Name, XUnit: levelUnit(f), YLabel: m.Title, YUnit: m.Unit, XLog: spansDecades(at), Series: a.lineSeries(r, m, f, at),
		}
		c.Alt = seriesWords(c)
		out = append(out, c)
	}
	return out
}

// lineSeries makes a line for each combination of the other factors' levels.
func (a *analyst) lineSeries(r *Result, m Measure, f plan.Factor, at map[string]float64) []Series {
	var out []Series
	for _, c := range r.Cells {
		level, has := c.Cell.Level(f.Name)
		if c.Measure != m.Name || c.Workload != m.Workload || !has {
			continue
		}
		name := shortName(without(c.Cell, f.Name))
		i := slices.IndexFunc(out, func(s Series) bool { return s.Name == name })
		if i < 0 {
			out, i = append(out, Series{Name: name}), len(out)
		}
		out[i].Labels, out[i].X, out[i].Y = append(out[i].Labels, level), append(out[i].X, at[level]), append(out[i].Y, c.Center)
		out[i].Low, out[i].High = append(out[i].Low, c.Low), append(out[i].High, c.High)
	}
	return out
}

// numericLevels reads the levels of a factor as sizes or counts; it is false
// where fewer than three are there, or one is not a number.
func numericLevels(f plan.Factor) (map[string]float64, bool) {
	read := unit.ParseCount
	if levelUnit(f) == "B" {
		read = unit.ParseSize
	}
	at := map[string]float64{}
	for _, l := range f.Levels {
		v, err := read(l.Name)
		if err != nil {
			return nil, false
		}
		at[l.Name] = float64(v)
	}
	return at, len(at) >= 3
}

// levelUnit is bytes where the key that a factor sets speaks of a size: there
// 4K is 4096 and not 4000.
func levelUnit(f plan.Factor) string {
	for _, l := range f.Levels {
		for _, set := range l.Sets {
			key := set.Path[strings.LastIndexByte(set.Path, '.')+1:]
			for _, word := range []string{"size", "block", "bytes", "memory", "buffer"} {
				if strings.Contains(key, word) {
					return "B"
				}
			}
		}
	}
	return "1"
}

func spansDecades(at map[string]float64) bool {
	low, high := math.Inf(1), 0.0
	for _, v := range at {
		low, high = min(low, v), max(high, v)
	}
	return low > 0 && high >= 10*low
}

// seriesWords is the text alternative of a chart of lines.
func seriesWords(c Chart) string {
	var words []string
	for _, s := range c.Series {
		var points []string
		for i, y := range s.Y {
			x := quantity(s.X[i], c.XUnit)
			if i < len(s.Labels) {
				x = s.Labels[i]
			}
			points = append(points, x+" "+quantity(y, c.YUnit))
		}
		words = append(words, s.Name+": "+strings.Join(points, ", "))
	}
	return strings.Join(words, "; ") + "."
}

// forests draws the judged findings of each primary measure against no effect
// and the margin.
func (a *analyst) forests(r *Result) []Chart {
	var out []Chart
	for _, m := range r.Measures {
		s := Series{Name: m.Title}
		var words []string
		for _, f := range r.Findings {
			if !f.Primary || f.Measure != m.Name || f.Workload != m.Workload || f.Scale != "ratio" || f.N < minBlocks {
				continue
			}
			name := forestLabel(f)
			s.Labels, s.Y = append(s.Labels, name), append(s.Y, f.Effect)
			s.Low, s.High = append(s.Low, f.Low), append(s.High, f.High)
			s.Notes = append(s.Notes, string(f.Verdict))
			words = append(words, fmt.Sprintf("%s: %s (%s to %s), %s", name, plain4(f.Effect), plain4(f.Low), plain4(f.High), f.Verdict))
		}
		if !m.Primary || len(s.Y) == 0 {
			continue
		}
		c := Chart{
			ID: slug("effects", m.Workload, m.Name), Kind: ForestChart, Title: titled(m.Title, m.Workload) + ": effects",
			Caption: "Ratios to the base with the intervals that the verdicts rest on. Right of 1 is more, left is less." + betterText(m.Better),
			Alt:     strings.Join(words, "; ") + ".", XLabel: "ratio to the base", XLog: true, Series: []Series{s},
			Lines: []RefLine{{Axis: "x", At: 1, Label: "no difference"}},
		}
		if m.Margin > 0 {
			c.Bands = []Band{{Axis: "x", From: 1 / (1 + m.Margin), To: 1 + m.Margin, Label: "margin ± " + plain(100*m.Margin) + " %"}}
		}
		out = append(out, c)
	}
	return out
}

func forestLabel(f Finding) string {
	name := fmt.Sprintf("%s: %s against %s", f.Factor, f.Against, f.Base)
	if len(f.Where) > 0 {
		name += " at " + f.Where.Key()
	}
	return name
}

// percentileChart draws latency by percentile, a line a cell.
func (a *analyst) percentileChart(workload string) []Chart {
	c := Chart{
		ID: slug("latency", a.workloadName(workload)), Kind: PercentileChart, Title: titled("Latency by percentile", a.workloadName(workload)),
		Caption: "Lines are of all operations of a cell's trials in one histogram; the shade spans the trials. " + a.latencyMeaning(workload),
		XLabel:  "percentile", XUnit: "1", YLabel: "latency", YUnit: "s", YLog: true,
	}
	var words []string
	for _, cell := range a.plan.Cells() {
		shape := a.shapes.latencies[shapeKey{workload, cell.Key()}]
		if shape == nil {
			continue
		}
		s := shape.series(shortName(cell))
		c.Series = append(c.Series, s)
		words = append(words, fmt.Sprintf("%s: median %s, 99 %% %s, largest %s", s.Name, quantity(float64(shape.merged.Quantile(0.5))/1e9, "s"),
			quantity(float64(shape.merged.Quantile(0.99))/1e9, "s"), quantity(float64(shape.merged.Max())/1e9, "s")))
	}
	if len(c.Series) == 0 {
		return nil
	}
	c.Alt = strings.Join(words, "; ") + "."
	return []Chart{c}
}

// latencyMeaning says which of the two times is shown.
func (a *analyst) latencyMeaning(workload string) string {
	for _, w := range a.plan.Workloads {
		if w.Name == workload && w.Rate != "" {
			return "Response time: from when an operation was due to when it was done."
		}
	}
	return "Service time where the loop is closed, response time where it is open."
}

// series draws a shape as far as its number of operations carries.
func (l *latencyShape) series(name string) Series {
	s := Series{Name: name}
	n := float64(l.merged.Count())
	for i, q := range chartQuantiles() {
		if q > 0.5 && q < 1 && (1-q)*n < minTailSamples {
			continue
		}
		s.X, s.Y = append(s.X, q), append(s.Y, float64(l.merged.Quantile(q))/1e9)
		low, high := math.Inf(1), 0.0
		for _, of := range l.trials {
			low, high = min(low, of[i]), max(high, of[i])
		}
		s.Low, s.High = append(s.Low, low), append(s.High, high)
	}
	return s
}

// timeCharts draws throughput over time and the CPU beside it, of the trial of
// each cell that is nearest to its median.
func (a *analyst) timeCharts(workload string) []Chart {
	name := a.workloadName(workload)
	rate := Chart{ID: slug("time", name), Kind: TimeChart, Title: titled("Throughput over time", name), Group: slug("time", name),
		XLabel: "time from the window's start", XUnit: "s", YLabel: "Throughput", YUnit: "ops/s"}
	cpu := Chart{ID: slug("cpu", name), Kind: TimeChart, Title: titled("CPU of the machine under test over time", name), Group: rate.Group,
		XLabel: rate.XLabel, XUnit: "s", YLabel: "busy", YUnit: "1"}
	storage := Chart{ID: slug("storage", name), Kind: TimeChart, Title: titled("Storage throughput of the machine under test over time", name), Group: rate.Group,
		XLabel: rate.XLabel, XUnit: "s", YLabel: "read and written", YUnit: "B/s"}
	busy := false
	var trials []string
	window := 0.0
	for _, cell := range a.plan.Cells() {
		t := a.shapes.times[shapeKey{workload, cell.Key()}]
		if t == nil || len(t.series) < 2 {
			continue
		}
		label := shortName(cell)
		rate.Series = append(rate.Series, timeSeries(label, t.series))
		if len(t.cpu) > 0 {
			cpu.Series = append(cpu.Series, timeSeries(label, t.cpu))
		}
		if len(t.storage) > 0 {
			storage.Series = append(storage.Series, timeSeries(label, t.storage))
			busy = busy || slices.ContainsFunc(t.storage, func(p point2) bool { return p.y >= busyDisk })
		}
		trials = append(trials, fmt.Sprintf("%s: trial %s", label, t.trial))
		window = max(window, t.windowEnds)
	}
	if len(rate.Series) == 0 {
		return nil
	}
	caption := "One trial of each cell, the one nearest to the cell's median (" + strings.Join(trials, "; ") + "). The window is shaded; what lies before it is warm-up and is not counted. The drain after it is not drawn."
	out := []Chart{rate}
	if len(cpu.Series) > 0 {
		out = append(out, cpu)
	}
	if busy {
		out = append(out, storage)
	}
	for i := range out {
		out[i].Caption, out[i].Alt = caption, timeWords(out[i], window)
		out[i].Bands = []Band{{Axis: "x", From: 0, To: window, Label: "window"}}
	}
	return out
}

func timeSeries(name string, points []point2) Series {
	s := Series{Name: name}
	for _, p := range points {
		s.X, s.Y = append(s.X, p.x), append(s.Y, p.y)
	}
	return s
}

// timeWords gives the least and the most inside the window.
func timeWords(c Chart, window float64) string {
	var words []string
	for _, s := range c.Series {
		low, high := math.Inf(1), math.Inf(-1)
		for i, y := range s.Y {
			if s.X[i] >= 0 && s.X[i] <= window {
				low, high = min(low, y), max(high, y)
			}
		}
		if low <= high {
			words = append(words, fmt.Sprintf("%s: between %s and %s in the window", s.Name, quantity(low, c.YUnit), quantity(high, c.YUnit)))
		}
	}
	return strings.Join(words, "; ") + "."
}
