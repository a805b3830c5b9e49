package self

import (
	"cmp"
	"math"
	"slices"
	"strings"

	"bakeoff/hist"
	"bakeoff/plan"
	"bakeoff/record"
	"bakeoff/unit"
)

// chartName is how a report names a chart, from what it shows.
func chartName(parts ...string) string {
	text := strings.ToLower(strings.Join(slices.DeleteFunc(parts, func(p string) bool { return p == "" }), "-"))
	return strings.Trim(strings.Map(func(r rune) rune {
		if r >= 'a' && r <= 'z' || r >= '0' && r <= '9' || r == '.' {
			return r
		}
		return '-'
	}, text), "-")
}

// A chartAudit audits one chart; it says nothing about a chart of another name.
type chartAudit func(s *sheet, n *node)

// auditCharts audits every series of every chart, and its text alternative.
func (a *auditor) auditCharts() {
	known := a.chartAudits()
	for _, n := range a.report.at("charts").list() {
		audit := known[n.str("id")]
		if audit == nil {
			continue // its figures object by themselves
		}
		s := newSheet("chart "+n.str("id"), n)
		tell(n, "id")
		audit(s, n)
		for _, key := range []string{"title", "x_label", "y_label", "group"} {
			s.speaks(n.at(key), key, saysWords(n.str("id"))...)
		}
		a.add(s)
	}
}

func (a *auditor) chartAudits() map[string]chartAudit {
	out := map[string]chartAudit{}
	for _, key := range a.keys {
		workload := a.workloadName(key.workload)
		out[chartName("bars", workload, key.measure)] = func(s *sheet, n *node) { a.barChart(s, n, key) }
		out[chartName("effects", workload, key.measure)] = func(s *sheet, n *node) { a.forestChart(s, n, key) }
		for _, f := range a.plan.Factors {
			out[chartName("line", workload, key.measure, f.Name)] = func(s *sheet, n *node) { a.lineChart(s, n, key, f) }
			out[chartName("scaling", workload, key.measure, f.Name)] = func(s *sheet, n *node) { a.scalingChart(s, n, key, f) }
		}
	}
	for _, w := range a.plan.Workloads {
		name := a.workloadName(w.Name)
		out[chartName("latency", name)] = func(s *sheet, n *node) { a.percentileChart(s, n, w.Name) }
		out[chartName("time", name)] = func(s *sheet, n *node) { a.timeChart(s, n, w.Name, a.rateOverTime) }
		out[chartName("storage", name)] = func(s *sheet, n *node) { a.timeChart(s, n, w.Name, a.storageOverTime) }
		out[chartName("stack", name)] = func(s *sheet, n *node) { a.stackChart(s, n, w.Name) }
		out[chartName("cpu", name)] = func(s *sheet, n *node) { a.timeChart(s, n, w.Name, a.cpuOverTime) }
	}
	a.peakCharts(out)
	out["graded-power"] = func(s *sheet, n *node) { a.gradedChart(s, n, "W", func(x systemView) *estimate { return x.watts }) }
	out["graded-work-per-joule"] = func(s *sheet, n *node) {
		a.gradedChart(s, n, "ops/J", func(x systemView) *estimate { return x.perWatt })
	}
	return out
}

// parts audits a text whose parts stand one behind the other, each with its own
// figures.
func (s *sheet) parts(n *node, what string, pieces ...[]piece) {
	s.speaks(n, what, slices.Concat(pieces...)...)
}

// barChart audits centres, intervals and points of one measure in every cell.
func (a *auditor) barChart(s *sheet, n *node, key measureKey) {
	var labels []string
	var centers, lows, highs []truth
	var points [][]float64
	var words [][]piece
	for _, cell := range a.plan.Cells() {
		c := a.cellView(key, cell)
		if len(c.values) == 0 {
			continue
		}
		of := func(v float64) truth { return truth{value: v, unit: c.unit} }
		labels = append(labels, shortCell(cell))
		low, high := c.ends()
		centers, lows, highs = append(centers, of(c.center)), append(lows, low), append(highs, high)
		points = append(points, c.values)
		words = append(words, saysWords(shortCell(cell)), []piece{saysNumber("the centre", of(c.center)), saysNumber("the low end", of(c.low)),
			saysNumber("the high end", of(c.high)), saysNumber("the trials", countTruth(len(c.values)))})
	}
	s.units(n, "", a.kinds[key].Unit)
	series := oneSeries(s, n)
	s.names(series.at("labels"), "labels", labels)
	s.series(series.at("y"), "y", centers)
	s.series(series.at("low"), "low", lows)
	s.series(series.at("high"), "high", highs)
	for i, row := range series.at("points").list() {
		if i < len(points) {
			s.series(row, "points", truthsOf(points[i], ""))
		}
	}
	s.speaks(series.at("name"), "name", saysWords(key.measure)...)
	s.speaks(n.at("caption"), "caption", saysWords("95 % intervals")...)
	s.parts(n.at("alt"), "the text alternative", words...)
}

// units audits what a chart says that its axes are in.
func (s *sheet) units(n *node, x, y string) {
	s.same(n.at("x_unit"), "x_unit", x)
	s.same(n.at("y_unit"), "y_unit", y)
}

// oneSeries is the series of a chart that has one.
func oneSeries(s *sheet, n *node) *node {
	list := n.at("series").list()
	if len(list) != 1 {
		s.fault("it has %d series; the record gives one", len(list))
		return nil
	}
	return list[0]
}

// lineChart audits a measure over a factor whose levels are numbers.
func (a *auditor) lineChart(s *sheet, n *node, key measureKey, f plan.Factor) {
	at, base, ok := levelNumbers(f)
	if !ok {
		return
	}
	s.units(n, base, a.kinds[key].Unit)
	order, bySeries := []string(nil), map[string][]cellView{}
	for _, cell := range a.plan.Cells() {
		c := a.cellView(key, cell)
		if len(c.values) == 0 {
			continue
		}
		name := shortCell(without(cell, f.Name))
		if bySeries[name] == nil {
			order = append(order, name)
		}
		bySeries[name] = append(bySeries[name], c)
	}
	var words [][]piece
	for i, series := range n.at("series").list() {
		if i >= len(order) {
			break
		}
		words = append(words, saysWords(order[i]), a.lineSeries(s, series, order[i], bySeries[order[i]], f.Name, at))
	}
	s.speaks(n.at("caption"), "caption", saysWords("95 % intervals")...)
	s.parts(n.at("alt"), "the text alternative", words...)
}

func (a *auditor) lineSeries(s *sheet, n *node, name string, cells []cellView, factor string, at map[string]float64) []piece {
	var labels []string
	var xs, ys, lows, highs []truth
	var words []piece
	for _, c := range cells {
		level, _ := c.cell.Level(factor)
		of := func(v float64) truth { return truth{value: v, unit: c.unit} }
		labels, xs, ys = append(labels, level), append(xs, plainTruth(at[level])), append(ys, of(c.center))
		low, high := c.ends()
		lows, highs = append(lows, low), append(highs, high)
		words = append(append(words, saysWords(level)...), saysNumber("the centre", of(c.center)))
	}
	s.same(n.at("name"), "name", name)
	s.names(n.at("labels"), "labels", labels)
	s.series(n.at("x"), "x", xs)
	s.series(n.at("y"), "y", ys)
	s.series(n.at("low"), "low", lows)
	s.series(n.at("high"), "high", highs)
	return words
}

func without(cell record.Cell, factor string) record.Cell {
	return slices.DeleteFunc(slices.Clone(cell), func(l record.Level) bool { return l.Factor == factor })
}

// levelNumbers reads the levels of a factor as counts, or as sizes where the key
// that it sets speaks of one: there 4K is 4096 and not 4000.
func levelNumbers(f plan.Factor) (at map[string]float64, base string, ok bool) {
	read, base := unit.ParseCount, "1"
	for _, l := range f.Levels {
		for _, set := range l.Sets {
			key := set.Path[strings.LastIndexByte(set.Path, '.')+1:]
			if slices.ContainsFunc([]string{"size", "block", "bytes", "memory", "buffer"}, func(w string) bool { return strings.Contains(key, w) }) {
				read, base = unit.ParseSize, "B"
			}
		}
	}
	at = map[string]float64{}
	for _, l := range f.Levels {
		v, err := read(l.Name)
		if err != nil {
			return nil, "", false
		}
		at[l.Name] = float64(v)
	}
	return at, base, true
}

// forestChart audits the effects on a primary measure against the margin.
func (a *auditor) forestChart(s *sheet, n *node, key measureKey) {
	var labels, notes []string
	var values, lows, highs []truth
	var words [][]piece
	margin := 0.0
	for i, x := range a.wanted {
		if x.key != key || !x.contrast.log || x.n() < 2 {
			continue
		}
		margin = x.margin
		label := x.effect.Factor + ": " + x.effect.Against + " against " + x.effect.Base
		if where := x.fixed(); len(where) > 0 {
			label += " at " + where.Key()
		}
		labels = append(labels, label)
		if findings := a.primaryFindings(); i < len(findings) {
			notes = append(notes, findings[i].str("verdict"))
		}
		low, high := truth{value: x.low, slack: x.ending.at(x.low)}, truth{value: x.high, slack: x.ending.at(x.high)}
		values, lows, highs = append(values, plainTruth(x.value)), append(lows, low), append(highs, high)
		words = append(words, saysWords(label), []piece{saysNumber("the effect", plainTruth(x.value)), saysNumber("the low end", low), saysNumber("the high end", high)})
	}
	s.units(n, "", "")
	series := oneSeries(s, n)
	s.names(series.at("labels"), "labels", labels)
	s.names(series.at("notes"), "notes", notes)
	s.series(series.at("y"), "y", values)
	s.series(series.at("low"), "low", lows)
	s.series(series.at("high"), "high", highs)
	s.speaks(series.at("name"), "name", saysWords(key.measure)...)
	s.speaks(n.at("caption"), "caption", saysWords("1")...)
	s.parts(n.at("alt"), "the text alternative", words...)
	for _, line := range n.at("lines").list() {
		s.number(line.at("at"), "the line of no difference", plainTruth(1))
	}
	for _, band := range n.at("bands").list() {
		s.number(band.at("from"), "the margin's low end", plainTruth(1/(1+margin)))
		s.number(band.at("to"), "the margin's high end", plainTruth(1+margin))
		s.speaks(band.at("label"), "the margin", saysNumber("the margin", percentTruth(margin)))
	}
}

// chartShares are the quantiles at which latency may be drawn.
func chartShares() []float64 {
	return []float64{0, 0.1, 0.25, 0.5, 0.75, 0.9, 0.95, 0.975, 0.99, 0.995, 0.999, 0.9995, 0.9999, 0.99999, 1}
}

// feltLatency is the histogram of what a client of the workload felt.
func (v *trialView) feltLatency(workload string) *hist.Histogram {
	sources := v.sources(workload)
	if len(sources) == 0 {
		return nil
	}
	timing := "service"
	if openLoop(sources[0]) {
		timing = "response"
	}
	h := v.logs[logKey{workload, "all", timing}]
	if bucketsOf(h).n == 0 {
		return nil
	}
	return h
}

// latencyOf merges a cell's histograms, and keeps those of its trials.
func (a *auditor) latencyOf(workload, cell string) (merged *hist.Histogram, trials []buckets) {
	for _, t := range a.run.Trials {
		if !a.counted[t.ID] || t.Role != record.RoleMeasure || t.Cell.Key() != cell {
			continue
		}
		h := a.views[t.ID].feltLatency(workload)
		if h == nil {
			continue
		}
		if merged == nil {
			merged = hist.New()
		}
		merged.Merge(h)
		trials = append(trials, bucketsOf(h))
	}
	return merged, trials
}

// percentileChart audits latency by percentile, a line a cell.
func (a *auditor) percentileChart(s *sheet, n *node, workload string) {
	s.units(n, "1", "s")
	list := n.at("series").list()
	var words [][]piece
	i := 0
	for _, cell := range a.plan.Cells() {
		merged, trials := a.latencyOf(workload, cell.Key())
		if merged == nil {
			continue
		}
		all := bucketsOf(merged)
		seconds := func(share float64) truth { return all.truthAt(share) }
		words = append(words, saysWords(shortCell(cell)), []piece{saysNumber("the median", seconds(0.5))}, saysWords("99 %"),
			[]piece{saysNumber("the 99th percentile", seconds(0.99)), saysNumber("the largest", seconds(1))})
		if i < len(list) {
			percentileSeries(s, list[i], shortCell(cell), all, trials)
		}
		i++
	}
	if i != len(list) {
		s.fault("it has %d series; the record gives %d", len(list), i)
	}
	s.speaks(n.at("caption"), "caption")
	s.parts(n.at("alt"), "the text alternative", words...)
}

// truthAt is a quantile in seconds.
func (b buckets) truthAt(share float64) truth {
	return truth{value: float64(b.at(exactShare(share))) / 1e9, unit: "s"}
}

func percentileSeries(s *sheet, n *node, name string, merged buckets, trials []buckets) {
	var xs, ys, lows, highs []truth
	total := float64(merged.n)
	for _, share := range chartShares() {
		if share > 0.5 && share < 1 && (1-share)*total < 10 {
			continue
		}
		low, high := math.Inf(1), 0.0
		for _, h := range trials {
			v := h.truthAt(share).value
			low, high = min(low, v), max(high, v)
		}
		xs, ys = append(xs, plainTruth(share)), append(ys, merged.truthAt(share))
		lows, highs = append(lows, truth{value: low, unit: "s"}), append(highs, truth{value: high, unit: "s"})
	}
	s.same(n.at("name"), "name", name)
	s.series(n.at("x"), "x", xs)
	s.series(n.at("y"), "y", ys)
	s.series(n.at("low"), "low", lows)
	s.series(n.at("high"), "high", highs)
}

// typicalTrial is the trial of a cell whose throughput is nearest to the median.
func (a *auditor) typicalTrial(workload, cell string) *trialView {
	var rates []float64
	var ids []record.TrialID
	for _, b := range a.samples.blocks(measureKey{workload, "throughput"}) {
		if v, ok := a.samples.values[measureKey{workload, "throughput"}][b][cell]; ok {
			rates, ids = append(rates, v.value), append(ids, v.trial)
		}
	}
	if len(ids) == 0 {
		return nil
	}
	sorted := slices.Sorted(slices.Values(rates))
	n := len(sorted)
	median := sorted[(n-1)/2] + (sorted[n/2]-sorted[(n-1)/2])/2
	best := 0
	for i := range ids {
		if cmp.Or(cmp.Compare(math.Abs(rates[i]-median), math.Abs(rates[best]-median)), cmp.Compare(ids[i], ids[best])) < 0 {
			best = i
		}
	}
	return a.views[ids[best]]
}

// overTime is a row of points of one trial, in seconds from the window's start.
type overTime struct{ xs, ys []float64 }

// rateOverTime is a workload's operations a second, warm-up included and the
// drain left out. Seconds are counted from the window's start either way: the
// first of the warm-up may be short, as the last of the window.
func (a *auditor) rateOverTime(v *trialView, workload string) (overTime, string) {
	at, rate := map[float64]float64{}, map[float64]float64{}
	for _, l := range v.sources(workload) {
		for _, i := range l.Series {
			if i.Seconds > 0 && i.Offset < l.Window.Seconds {
				slot := math.Round(i.Offset)
				if end := i.Offset + i.Seconds; i.Offset < 0 {
					slot = math.Round(end) - 1
				}
				at[slot] = i.Offset + i.Seconds/2
				rate[slot] += float64(i.Completed) / i.Seconds
			}
		}
	}
	var slots []float64
	for slot := range at {
		slots = append(slots, slot)
	}
	slices.SortFunc(slots, func(x, y float64) int { return cmp.Compare(at[x], at[y]) })
	var out overTime
	for _, slot := range slots {
		out.xs, out.ys = append(out.xs, at[slot]), append(out.ys, rate[slot])
	}
	return out, "ops/s"
}

// cpuOverTime is the busy fraction of the first machine under test.
func (a *auditor) cpuOverTime(v *trialView, workload string) (overTime, string) {
	var out overTime
	end := 0.0
	for _, l := range v.sources(workload) {
		end = max(end, l.Window.Seconds)
	}
	machines := v.underTest()
	if len(machines) == 0 {
		return out, "1"
	}
	t := v.watch.machines[machines[0]]
	marks := t.of[trackKey{"cpu.idle", ""}]
	for i := 1; i < len(marks); i++ {
		between := span{marks[i-1].at, marks[i].at}
		if busy, all, _, ok := t.processors(between); ok {
			middle := float64(between.from/2+between.to/2-v.watch.span.from) / 1e9
			if middle <= end {
				out.xs, out.ys = append(out.xs, middle), append(out.ys, busy/all)
			}
		}
	}
	return out, "1"
}

// timeChart audits one trial of each cell over time.
func (a *auditor) timeChart(s *sheet, n *node, workload string, row func(*trialView, string) (overTime, string)) {
	var names []string
	var rows []overTime
	var caption []piece
	window, base := 0.0, ""
	for _, cell := range a.plan.Cells() {
		v := a.typicalTrial(workload, cell.Key())
		if v == nil {
			continue
		}
		if rate, _ := a.rateOverTime(v, workload); len(rate.xs) < 2 {
			continue
		}
		caption = append(append(caption, saysWords(shortCell(cell))...), saysWords(string(v.ID))...)
		for _, l := range v.sources(workload) {
			window = max(window, l.Window.Seconds)
		}
		points, unit := row(v, workload)
		if base = unit; len(points.xs) > 0 {
			names, rows = append(names, shortCell(cell)), append(rows, points)
		}
	}
	s.units(n, "s", base)
	var words [][]piece
	list := n.at("series").list()
	if len(list) != len(rows) {
		s.fault("it has %d series; the record gives %d", len(list), len(rows))
	}
	for i := 0; i < min(len(list), len(rows)); i++ {
		s.same(list[i].at("name"), "name", names[i])
		s.series(list[i].at("x"), "x", truthsOf(rows[i].xs, "s"))
		s.series(list[i].at("y"), "y", truthsOf(rows[i].ys, base))
		words = append(words, saysWords(names[i]), rows[i].extremes(window, base))
	}
	s.speaks(n.at("caption"), "caption", caption...)
	s.parts(n.at("alt"), "the text alternative", words...)
	for _, band := range n.at("bands").list() {
		s.number(band.at("from"), "the window's start", plainTruth(0))
		s.number(band.at("to"), "the window's end", truth{value: window, unit: "s"})
	}
}

// extremes is the least and the most inside the window.
func (o overTime) extremes(window float64, base string) []piece {
	low, high := math.Inf(1), math.Inf(-1)
	for i, y := range o.ys {
		if o.xs[i] >= 0 && o.xs[i] <= window {
			low, high = min(low, y), max(high, y)
		}
	}
	return []piece{saysNumber("the least", truth{value: low, unit: base}), saysNumber("the most", truth{value: high, unit: base})}
}
