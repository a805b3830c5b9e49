package self

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"bakeoff/plan"
	"bakeoff/record"
)

// A searchView is the search for one cell's peak, worked out again from its
// trials.
type searchView struct {
	cell      record.Cell
	loads     []searchedView // rising
	peak      int64          // 0 while the search is not done
	limit     int64          // 0 for none
	best      float64
	exhausted bool
}

// A searchedView is one load of a search.
type searchedView struct {
	load     int64
	trials   []*trialView // that are complete
	values   []float64
	caps     [][]float64
	tries    int
	failed   string
	smoothed float64
	capped   []float64 // the caps' measures, smoothed
}

// workSearches reads the searches' trials, and smooths what they measured.
func (a *auditor) workSearches() []searchView {
	if a.plan.Peak == nil {
		return nil
	}
	var out []searchView
	for _, t := range a.run.Trials {
		if t.Role != record.RoleSearch || a.statusAsRun(t) == record.StatusInterrupted {
			continue
		}
		i := slices.IndexFunc(out, func(s searchView) bool { return s.cell.Key() == t.Cell.Key() })
		if i < 0 {
			i = len(out)
			out = append(out, searchView{cell: t.Cell})
		}
		a.searchTrial(&out[i], t)
	}
	planned, err := plan.Searches(a.plan, a.asOutcomes())
	for i := range out {
		s := &out[i]
		slices.SortFunc(s.loads, func(x, y searchedView) int { return int(x.load - y.load) })
		a.smooth(s)
		for _, p := range planned {
			if err == nil && p.Cell.Key() == s.cell.Key() {
				s.exhausted = p.Exhausted
				if p.Peak == 0 {
					s.peak = 0
				}
			}
		}
	}
	return out
}

// searchTrial adds one trial to a search.
func (a *auditor) searchTrial(s *searchView, t record.Trial) {
	load, err := strconv.ParseInt(t.At, 10, 64)
	if err != nil {
		return
	}
	i := slices.IndexFunc(s.loads, func(l searchedView) bool { return l.load == load })
	if i < 0 {
		i = len(s.loads)
		s.loads = append(s.loads, searchedView{load: load, caps: make([][]float64, len(a.plan.Peak.Caps))})
	}
	l := &s.loads[i]
	l.tries++
	if a.statusAsRun(t) != record.StatusComplete {
		if len(l.values) == 0 {
			l.failed = t.Reason
		}
		return
	}
	l.failed = ""
	v := a.views[t.ID]
	v.links = a.linkStrains(v)
	l.trials = append(l.trials, v)
	l.values = append(l.values, totalValue(a.searched(t.ID, a.plan.Peak.Measure)))
	for k, c := range a.plan.Peak.Caps {
		if values := a.searched(t.ID, c.Measure); len(values) > 0 {
			l.caps[k] = append(l.caps[k], slices.Max(values))
		}
	}
}

func totalValue(values []float64) float64 {
	sum, _ := totalOf(values).Float64()
	return sum
}

// searched are a trial's values of a measure, of the workloads whose load is
// searched.
func (a *auditor) searched(id record.TrialID, measure string) (out []float64) {
	for key, v := range a.views[id].values {
		if key.measure == measure && (key.workload == "" || a.plan.Peak.Concerns(key.workload)) {
			out = append(out, v)
		}
	}
	return out
}

// smooth works out the curves, the limit, the best and the peak.
func (a *auditor) smooth(s *searchView) {
	var ran []*searchedView
	for i := range s.loads {
		s.loads[i].smoothed = math.NaN()
		if len(s.loads[i].values) > 0 {
			ran = append(ran, &s.loads[i])
		}
	}
	for k := range a.plan.Peak.Caps {
		means, weights := meansOf(ran, func(l *searchedView) []float64 { return l.caps[k] })
		for i, l := range ran {
			l.capped = append(l.capped, risingAt(means, weights, i))
		}
	}
	var well []*searchedView
	for i := range s.loads {
		l := &s.loads[i]
		above := slices.ContainsFunc(a.plan.Peak.Caps, func(c plan.Cap) bool {
			k := slices.IndexFunc(a.plan.Peak.Caps, func(o plan.Cap) bool { return o.Measure == c.Measure })
			return k < len(l.capped) && l.capped[k] > c.Most
		})
		if above || len(l.values) == 0 {
			s.limit = l.load
			break
		}
		well = append(well, l)
	}
	means, weights := meansOf(well, func(l *searchedView) []float64 { return l.values })
	for i, v := range oneModed(means, weights) {
		well[i].smoothed = v
		s.best = max(s.best, v)
	}
	for _, l := range well {
		if s.peak == 0 && l.smoothed >= (1-max(0.01, min(s.doubt(well, l), 0.1)))*s.best*(1-1e-12) {
			s.peak = l.load
		}
	}
}

// doubt is the standard error of a load's distance to the best one, as a share:
// from the deviation between trials of one load.
func (s *searchView) doubt(well []*searchedView, l *searchedView) float64 {
	var squares []float64
	degrees, first := 0, 0
	for _, w := range well {
		for _, v := range w.values {
			d := v/meanOf(w.values) - 1
			squares = append(squares, d*d)
		}
		degrees += len(w.values) - 1
		if first == 0 && w.smoothed >= s.best*(1-1e-12) {
			first = len(w.values)
		}
	}
	if degrees < 2 || first == 0 {
		return 0
	}
	return math.Sqrt(totalValue(squares) / float64(degrees) * (1/float64(len(l.values)) + 1/float64(first)))
}

func meansOf(loads []*searchedView, of func(*searchedView) []float64) (means, weights []float64) {
	for _, l := range loads {
		means, weights = append(means, meanOf(of(l))), append(weights, float64(len(of(l))))
	}
	return means, weights
}

// risingAt is one place of the nearest curve that never falls, by the formula of
// the largest of the least means: over all stretches that hold the place, the
// largest beginning of the smallest ends.
func risingAt(y, w []float64, at int) float64 {
	most := math.Inf(-1)
	for from := 0; from <= at; from++ {
		least := math.Inf(1)
		for to := at; to < len(y); to++ {
			least = min(least, weighted(y[from:to+1], w[from:to+1]))
		}
		most = max(most, least)
	}
	return most
}

func weighted(y, w []float64) float64 {
	products := make([]float64, len(y))
	for i := range y {
		products[i] = y[i] * w[i]
	}
	return totalValue(products) / totalValue(w)
}

// oneModed is the nearest curve that rises to one peak and falls from there.
func oneModed(y, w []float64) []float64 {
	var nearest []float64
	least := math.Inf(1)
	for mode := range y {
		fit, squares := make([]float64, len(y)), make([]float64, len(y))
		backY, backW := slices.Clone(y[mode+1:]), slices.Clone(w[mode+1:])
		slices.Reverse(backY)
		slices.Reverse(backW)
		for i := range y {
			if i <= mode {
				fit[i] = risingAt(y[:mode+1], w[:mode+1], i)
			} else {
				fit[i] = risingAt(backY, backW, len(y)-1-i)
			}
			squares[i] = w[i] * (y[i] - fit[i]) * (y[i] - fit[i])
		}
		if sum := totalValue(squares); sum < least {
			nearest, least = fit, sum
		}
	}
	return nearest
}

// peakPieces are the figures of the paragraph on the search.
func (a *auditor) peakPieces() []piece {
	p := a.plan.Peak
	out := append(saysWords(p.Over[strings.LastIndexByte(p.Over, '.')+1:], "1 %", p.Measure), saysWords(fmt.Sprint(p.From), fmt.Sprint(p.To))...)
	for _, c := range p.Caps {
		out = append(out, saysWords(c.Measure, c.Text)...)
	}
	return out
}

// unitOf is the unit in which a measure was observed.
func (a *auditor) unitOf(measure string) string {
	for key, o := range a.kinds {
		if key.measure == measure {
			return o.Unit
		}
	}
	return ""
}

func (a *auditor) searchName(c record.Cell) string {
	if w, ok := c.Level(plan.WorkloadFactor); ok {
		return w + ": " + shortCell(c)
	}
	return shortCell(c)
}

// peakView is the table of the peaks.
func (a *auditor) peakView() (t tableView) {
	p := a.plan.Peak
	unit := a.unitOf(p.Measure)
	t.caption = saysWords(p.Over, fmt.Sprint(p.From), fmt.Sprint(p.To), p.Measure)
	t.notes = []piece{}
	name := p.Over[strings.LastIndexByte(p.Over, '.')+1:]
	for _, s := range a.searches {
		seen, tries := []piece{}, 0
		at := ""
		if s.peak > 0 {
			at = fmt.Sprint(s.peak)
		}
		for _, l := range s.loads {
			tries += l.tries
			if l.load == s.peak {
				seen = append(seen, saysNumber("the value of the search", truth{value: l.smoothed, unit: unit}))
			}
		}
		columns := []column{textIn("cell", a.searchName(s.cell)), textIn("peak ("+name+")", at), figuresIn("seen in the search", seen...)}
		columns = append(columns, a.afreshColumns(s)...)
		pieces, says := a.limitOf(s)
		limit := figuresIn("limit", pieces...)
		limit.says = says
		t.row(append(columns, limit, figuresIn("loads searched", saysNumber("the loads", countTruth(len(s.loads)))),
			figuresIn("trials", saysNumber("the trials", countTruth(tries))))...)
		if s.exhausted {
			t.notes = append(t.notes, append(saysWords(a.searchName(s.cell)), saysNumber("the most trials", countTruth(p.Trials)))...)
		}
	}
	return t
}

// afreshColumns are what the blocks measured at the peak.
func (a *auditor) afreshColumns(s searchView) []column {
	p := a.plan.Peak
	v := summaryOf(a.afresh(p.Measure, s.cell, totalValue), a.unitOf(p.Measure))
	center, within := []piece{}, []piece{}
	if len(v.values) > 0 {
		low, high := v.ends()
		center = append(center, saysNumber("the value measured afresh", truth{value: v.center, unit: v.unit}))
		within = append(within, saysNumber("the low end", low), saysNumber("the high end", high))
	}
	columns := []column{figuresIn("measured afresh", center...), figuresIn("95 % interval", within...)}
	for _, c := range p.Caps {
		v := summaryOf(a.afresh(c.Measure, s.cell, slices.Max[[]float64]), a.unitOf(c.Measure))
		at := figuresIn(c.Measure + " measured afresh")
		if len(v.values) > 0 {
			at.pieces = append(at.pieces, saysNumber("the capped measure", truth{value: v.center, unit: v.unit}))
			if v.center > c.Most {
				at.says = "above the cap"
			}
		}
		columns = append(columns, at)
	}
	return columns
}

// afresh are a measure's values in the blocks of a cell, over the workloads whose
// load is searched.
func (a *auditor) afresh(measure string, cell record.Cell, over func([]float64) float64) (out []float64) {
	byBlock := map[int][]float64{}
	last := 0
	for _, t := range a.run.Trials {
		if !a.counted[t.ID] || t.Role != record.RoleMeasure || t.Cell.Key() != cell.Key() {
			continue
		}
		byBlock[t.Block], last = a.searched(t.ID, measure), max(last, t.Block)
	}
	for b := 1; b <= last; b++ {
		if len(byBlock[b]) > 0 {
			out = append(out, over(byBlock[b]))
		}
	}
	return out
}

// curveView is the table of the whole curves.
func (a *auditor) curveView() (t tableView) {
	p := a.plan.Peak
	unit := a.unitOf(p.Measure)
	t.caption = saysWords("1 %")
	name := p.Over[strings.LastIndexByte(p.Over, '.')+1:]
	for _, s := range a.searches {
		for _, l := range s.loads {
			value, smooth := figuresIn(a.titleOf(p.Measure)), figuresIn("smoothed")
			if len(l.values) > 0 {
				value.pieces = append(value.pieces, saysNumber("the mean", truth{value: meanOf(l.values), unit: unit}))
			}
			if !math.IsNaN(l.smoothed) {
				smooth.pieces = append(smooth.pieces, saysNumber("the smoothed value", truth{value: l.smoothed, unit: unit}))
			}
			columns := []column{textIn("cell", a.searchName(s.cell)), figuresIn(name, saysNumber("the load", countTruth(int(l.load)))),
				figuresIn("trials", saysNumber("the trials", countTruth(l.tries))), value, smooth}
			for k, c := range p.Caps {
				at := figuresIn(c.Measure + ", smoothed")
				if len(l.values) > 0 {
					at.pieces = append(at.pieces, saysNumber("the capped measure", truth{value: l.capped[k], unit: a.unitOf(c.Measure)}))
				}
				columns = append(columns, at)
			}
			columns = append(columns, strainColumns(l.trials)...)
			remark := figuresIn("", saysWords(l.failed)...)
			if remark.says = ""; l.load == s.peak {
				remark.says = "the peak"
			}
			t.row(append(columns, remark)...)
		}
	}
	return t
}

// titleOf is how the report calls a measure.
func (a *auditor) titleOf(measure string) string {
	for _, n := range a.report.at("measures").list() {
		if n.str("name") == measure {
			return n.str("title")
		}
	}
	return measure
}

// peakCharts are the audits of the curves, by the charts' names.
func (a *auditor) peakCharts(out map[string]chartAudit) {
	if a.plan.Peak == nil {
		return
	}
	workloads := []string{""}
	for _, w := range a.plan.Workloads {
		workloads = append(workloads, w.Name)
	}
	for _, w := range workloads {
		out[chartName("peak", w, a.plan.Peak.Measure)] = func(s *sheet, n *node) { a.peakChart(s, n, w, -1) }
		for k, c := range a.plan.Peak.Caps {
			out[chartName("peak", w, c.Measure)] = func(s *sheet, n *node) { a.peakChart(s, n, w, k) }
		}
	}
}

// peakChart audits the curves of one measure: that searched for, or a cap's.
func (a *auditor) peakChart(s *sheet, n *node, workload string, limit int) {
	measure := a.plan.Peak.Measure
	if limit >= 0 {
		measure = a.plan.Peak.Caps[limit].Measure
	}
	unit := a.unitOf(measure)
	s.units(n, "1", unit)
	list, lines := n.at("series").list(), n.at("lines").list()
	if limit >= 0 && len(lines) > 0 {
		s.number(lines[0].at("at"), "the cap", truth{value: a.plan.Peak.Caps[limit].Most, unit: unit})
		s.speaks(lines[0].at("label"), "the cap", saysWords(a.plan.Peak.Caps[limit].Text)...)
		lines = lines[1:]
	}
	var words [][]piece
	i, marked := 0, 0
	for _, found := range a.searches {
		if w, _ := found.cell.Level(plan.WorkloadFactor); w != workload {
			continue
		}
		if i >= len(list) {
			s.fault("the curve of %s is left out", shortCell(found.cell))
			break
		}
		words = append(words, a.peakSeries(s, list[i], found, limit, unit))
		i++
		if found.peak > 0 && marked < len(lines) {
			s.number(lines[marked].at("at"), "the peak", plainTruth(float64(found.peak)))
			s.speaks(lines[marked].at("label"), "the peak", append(saysWords(shortCell(found.cell)), saysWords(fmt.Sprint(found.peak))...)...)
			marked++
		}
	}
	s.speaks(n.at("caption"), "caption")
	s.parts(n.at("alt"), "the text alternative", words...)
}

func (a *auditor) peakSeries(s *sheet, n *node, found searchView, limit int, unit string) []piece {
	s.same(n.at("name"), "name", shortCell(found.cell))
	words := saysWords(shortCell(found.cell))
	var xs, ys []truth
	var points [][]float64
	for _, l := range found.loads {
		y, values := l.smoothed, l.values
		if limit >= 0 {
			if y, values = math.NaN(), nil; len(l.values) > 0 {
				y, values = l.capped[limit], l.caps[limit]
			}
		}
		if math.IsNaN(y) {
			continue
		}
		x := truth{value: float64(l.load), unit: "1"}
		xs, ys, points = append(xs, x), append(ys, truth{value: y, unit: unit}), append(points, values)
		words = append(words, saysNumber("the load", x), saysNumber("the value", truth{value: y, unit: unit}))
	}
	s.series(n.at("x"), "x", xs)
	s.series(n.at("y"), "y", ys)
	for i, row := range n.at("points").list() {
		if i < len(points) {
			s.series(row, "points", truthsOf(points[i], unit))
		}
	}
	return words
}
