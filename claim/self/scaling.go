package self

import (
	"math"
	"math/big"
	"slices"
	"strings"

	"bakeoff/plan"
	"bakeoff/record"
)

// A sweepView is a measure over a factor of things that work at once, worked out
// again from the values in the blocks.
type sweepView struct {
	key    measureKey
	factor plan.Factor
	name   string
	labels []string
	at     []float64
	cells  []cellView
	blocks []int // that hold every level
}

// scalingWords are those that name what works at once.
func scalingWords() []string {
	return []string{"cpu", "core", "thread", "worker", "user", "connection", "instance", "stream", "queue", "client", "process", "parallel", "node", "server"}
}

// sweepsOf are those of one measure over one factor.
func (a *auditor) sweepsOf(key measureKey, f plan.Factor) (out []*sweepView) {
	at, base, ok := levelNumbers(f)
	names := f.Name
	for _, s := range f.Levels[0].Sets {
		names += " " + s.Path[strings.LastIndexByte(s.Path, '.')+1:]
	}
	counts := slices.ContainsFunc(scalingWords(), func(w string) bool { return strings.Contains(names, w) })
	if !ok || base != "1" || len(at) < 3 || !counts || a.betterOf(key) != record.HigherIsBetter {
		return nil
	}
	for _, x := range at {
		if x <= 0 {
			return nil
		}
	}
	for _, cell := range a.plan.Cells() {
		c := a.cellView(key, cell)
		level, _ := cell.Level(f.Name)
		if len(c.values) == 0 || c.center <= 0 {
			continue
		}
		name := shortCell(without(cell, f.Name))
		i := slices.IndexFunc(out, func(s *sweepView) bool { return s.name == name })
		if i < 0 {
			i = len(out)
			out = append(out, &sweepView{key: key, factor: f, name: name})
		}
		s := out[i]
		k := 0
		for k < len(s.at) && s.at[k] < at[level] {
			k++
		}
		s.at, s.labels, s.cells = slices.Insert(s.at, k, at[level]), slices.Insert(s.labels, k, level), slices.Insert(s.cells, k, c)
	}
	out = slices.DeleteFunc(out, func(s *sweepView) bool { return len(s.at) < 3 })
	for _, s := range out {
		held := map[int]int{}
		for _, c := range s.cells {
			for _, b := range c.blocks {
				held[b]++
			}
		}
		for _, b := range s.cells[0].blocks {
			if held[b] == len(s.cells) {
				s.blocks = append(s.blocks, b)
			}
		}
	}
	return out
}

// betterOf is the direction of a measure: the plan's for a primary one.
func (a *auditor) betterOf(key measureKey) record.Direction {
	for _, p := range a.plan.Primary {
		if p.Measure == key.measure && p.Better != record.NoDirection {
			return p.Better
		}
	}
	return a.kinds[key].Better
}

// primaryKeys are the measures that are judged, in the report's order.
func (a *auditor) primaryKeys() (out []measureKey) {
	for _, p := range a.plan.Primary {
		var workloads []measureKey
		for _, key := range a.keys {
			if key.measure == p.Measure && key.workload != "" {
				workloads = append(workloads, key)
			}
		}
		out = append(out, workloads...)
		if host := (measureKey{"", p.Measure}); slices.Contains(a.keys, host) {
			out = append(out, host)
		}
	}
	return out
}

// logs are the logarithms of one level's values in the whole blocks.
func (s *sweepView) logs(level int) (out []float64) {
	c := s.cells[level]
	for i, b := range c.blocks {
		if slices.Contains(s.blocks, b) {
			out = append(out, math.Log(c.values[i]))
		}
	}
	return out
}

// means are the geometric means of the levels, without one of the whole blocks;
// -1 for all of them.
func (s *sweepView) means(leave int) []float64 {
	out := make([]float64, len(s.at))
	for i := range s.at {
		logs := s.logs(i)
		if leave >= 0 {
			logs = slices.Delete(logs, leave, leave+1)
		}
		out[i] = math.Exp(meanOf(logs))
	}
	return out
}

// A lawView is the universal scalability law: x(n) = rate n / (1 + contention (n
// - 1) + coherency n (n - 1)).
type lawView struct{ rate, contention, coherency, worst float64 }

func (l lawView) at(n float64) float64 {
	return l.rate * n / (1 + l.contention*(n-1) + l.coherency*n*(n-1))
}

// lawOf is the nearest law by relative distances of n/x: of the solutions of the
// normal equations with some parameters at 0, the nearest without one below 0.
func lawOf(n, x []float64) (best lawView, ok bool) {
	least := math.Inf(1)
	for _, columns := range [][]int{{0, 1, 2}, {0, 1}, {0, 2}, {0}} {
		solution := normalEquations(n, x, columns)
		if solution == nil || solution[0] <= 0 || solution[1] < 0 || solution[2] < 0 {
			continue
		}
		l := lawView{rate: 1 / solution[0], contention: solution[1] / solution[0], coherency: solution[2] / solution[0]}
		var squares []float64
		for i := range n {
			d := 1 - x[i]/l.at(n[i])
			squares, l.worst = append(squares, d*d), max(l.worst, math.Abs(d))
		}
		if sum := totalValue(squares); sum < least*(1-1e-12) {
			best, least, ok = l, sum, true
		}
	}
	return best, ok
}

// normalEquations solves the least squares of 1 by the columns given, exactly to
// many digits, by Gauss's elimination; nil where it has no one solution.
func normalEquations(n, x []float64, columns []int) []float64 {
	big3 := func(v float64) *big.Float { return new(big.Float).SetPrec(exactBits).SetFloat64(v) }
	k := len(columns)
	rows := make([][]*big.Float, k)
	for i := range rows {
		rows[i] = make([]*big.Float, k+1)
		for j := range rows[i] {
			rows[i][j] = big3(0)
		}
	}
	for p := range n {
		weight := new(big.Float).SetPrec(exactBits).Quo(big3(x[p]), big3(n[p]))
		values := []*big.Float{big3(1), big3(n[p] - 1), big3(n[p] * (n[p] - 1))}
		row := make([]*big.Float, k+1)
		for j, c := range columns {
			row[j] = new(big.Float).SetPrec(exactBits).Mul(weight, values[c])
		}
		row[k] = big3(1)
		for i := range k {
			for j := range row {
				rows[i][j].Add(rows[i][j], new(big.Float).SetPrec(exactBits).Mul(row[i], row[j]))
			}
		}
	}
	for i := range k {
		if rows[i][i].Sign() <= 0 {
			return nil
		}
		for other := range k {
			if other == i {
				continue
			}
			factor := new(big.Float).SetPrec(exactBits).Quo(rows[other][i], rows[i][i])
			for j := range k + 1 {
				rows[other][j].Sub(rows[other][j], new(big.Float).SetPrec(exactBits).Mul(factor, rows[i][j]))
			}
		}
	}
	out := make([]float64, 3)
	for i, c := range columns {
		out[c], _ = new(big.Float).Quo(rows[i][k], rows[i][i]).Float64()
	}
	return out
}

// leftOut is the interval of a parameter, by leaving out one block at a time.
func (s *sweepView) leftOut(estimate float64, pick func(lawView) float64) (low, high float64) {
	n := len(s.blocks)
	without := make([]float64, n)
	for i := range without {
		l, _ := lawOf(s.at, s.means(i))
		without[i] = pick(l)
	}
	half := criticalT(familyError, n-1) * deviationOf(without) * float64(n-1) / math.Sqrt(float64(n))
	return estimate - half, estimate + half
}

// refused says why the law is not fitted, by the figures of the reason; nil where
// it is.
func (s *sweepView) refused() (lawView, []piece) {
	switch {
	case len(s.at) < 5:
		return lawView{}, []piece{saysNumber("the levels", countTruth(len(s.at))), saysNumber("the levels needed", countTruth(5))}
	case len(s.blocks) < 3:
		return lawView{}, []piece{saysNumber("the blocks", countTruth(len(s.blocks))), saysNumber("the blocks needed", countTruth(3))}
	}
	l, ok := lawOf(s.at, s.means(-1))
	if !ok {
		return l, []piece{}
	}
	if l.worst > 0.1 {
		return l, []piece{saysNumber("the farthest point", percentTruth(l.worst)), saysNumber("the farthest allowed", percentTruth(0.1))}
	}
	return l, nil
}

func (l lawView) peak() float64 { return math.Sqrt(max(1-l.contention, 0) / l.coherency) }

// kneeOf is the last level before a step that gives less than half of what the
// first level gave; -1 for none.
func (s *sweepView) kneeOf(means []float64) int {
	for i := 1; i < len(means); i++ {
		if s.gives(i, means) < 0.5 {
			return i - 1
		}
	}
	return -1
}

func (s *sweepView) gives(i int, means []float64) float64 {
	return (means[i] - means[i-1]) * s.at[0] / ((s.at[i] - s.at[i-1]) * means[0])
}

// scalingViews are the tables of the sweeps.
func (a *auditor) scalingViews() (steps, law tableView) {
	steps.caption, law.caption = saysWords("95 %"), saysWords("95 %")
	for _, key := range a.primaryKeys() {
		for _, f := range a.plan.Factors {
			for _, s := range a.sweepsOf(key, f) {
				a.stepRows(&steps, s)
				a.lawRow(&law, s)
			}
		}
	}
	return steps, law
}

func (a *auditor) sweepTitle(s *sweepView) string {
	title := a.titleOf(s.key.measure)
	if w := a.workloadName(s.key.workload); w != "" {
		title = w + ": " + lowered(title)
	}
	return title + " over " + s.factor.Name
}

func (a *auditor) stepRows(t *tableView, s *sweepView) {
	if len(s.blocks) == 0 {
		return
	}
	means := s.means(-1)
	knee := s.kneeOf(means)
	for i, c := range s.cells {
		efficiency, within, gives := []piece{}, []piece{}, []piece{}
		if i > 0 {
			first, own := s.logs(0), s.logs(i)
			for k := range own {
				own[k] -= first[k] + math.Log(s.at[i]/s.at[0])
			}
			v := summaryOf(expAll(own), "")
			efficiency = append(efficiency, saysNumber("the efficiency", percentTruth(v.center)))
			if len(own) > 1 {
				within = append(within, saysNumber("the low end", plainTruth(100*v.low)), saysNumber("the high end", percentTruth(v.high)))
			}
			gives = append(gives, saysNumber("what the step gives", percentTruth(s.gives(i, means))))
		}
		remark := figuresIn("")
		if i == knee {
			remark.says = "the knee"
		}
		t.row(textIn("measure", a.sweepTitle(s)), textIn("line", s.name), textIn("level", s.labels[i]), figuresIn("value", saysNumber("the mean", truth{value: means[i], unit: c.unit})),
			figuresIn("speed-up", saysNumber("the speed-up", truth{value: means[i] / means[0], unit: "x"})), figuresIn("efficiency", efficiency...),
			figuresIn("interval", within...), figuresIn("the step gives", gives...), remark)
	}
	if knee < 0 {
		t.notes = append(t.notes, saysWords(a.sweepTitle(s), s.name, s.labels[len(s.labels)-1])...)
	}
}

func expAll(logs []float64) []float64 {
	out := make([]float64, len(logs))
	for i, v := range logs {
		out[i] = math.Exp(v)
	}
	return out
}

func (a *auditor) lawRow(t *tableView, s *sweepView) {
	row := []column{textIn("measure", a.sweepTitle(s)), textIn("line", s.name)}
	l, why := s.refused()
	if why != nil {
		for _, head := range []string{"of one", "contention", "contention interval", "coherency", "coherency interval", "farthest point", "most at", "most at interval"} {
			row = append(row, textIn(head, ""))
		}
		remark := figuresIn("remark", why...)
		remark.says = "refused"
		t.row(append(row, remark)...)
		return
	}
	contentionLow, contentionHigh := s.leftOut(l.contention, func(x lawView) float64 { return x.contention })
	coherencyLow, coherencyHigh := s.leftOut(l.coherency, func(x lawView) float64 { return x.coherency })
	row = append(row, figuresIn("of one", saysNumber("the rate of one", truth{value: l.rate, unit: s.cells[0].unit})),
		figuresIn("contention", saysNumber("the contention", percentTruth(l.contention))),
		figuresIn("contention interval", saysNumber("the low end", plainTruth(100*max(contentionLow, 0))), saysNumber("the high end", percentTruth(contentionHigh))),
		figuresIn("coherency", saysNumber("the coherency", percentTruth(l.coherency))),
		figuresIn("coherency interval", saysNumber("the low end", plainTruth(100*max(coherencyLow, 0))), saysNumber("the high end", percentTruth(coherencyHigh))),
		figuresIn("farthest point", saysNumber("the farthest point", percentTruth(l.worst))))
	t.row(append(row, s.peakColumns(l, coherencyLow)...)...)
}

// peakColumns are where the law has its most, as far as the points tell.
func (s *sweepView) peakColumns(l lawView, coherencyLow float64) []column {
	largest := s.at[len(s.at)-1]
	none := func(says string, words ...piece) []column {
		remark := figuresIn("remark", words...)
		remark.says = says
		return []column{textIn("most at", ""), textIn("most at interval", ""), remark}
	}
	if !(coherencyLow > 0) {
		return none("no peak")
	}
	low, high := s.leftOut(math.Log(l.peak()), func(x lawView) float64 { return math.Log(x.peak()) })
	if !(l.contention < 1) || !(l.peak() <= 2*largest) || !(math.Exp(high) <= 4*largest) {
		return none("too far", saysWords(s.labels[len(s.labels)-1])...)
	}
	return []column{figuresIn("most at", saysNumber("the peak", plainTruth(l.peak()))),
		figuresIn("most at interval", saysNumber("the low end", plainTruth(math.Exp(low))), saysNumber("the high end", plainTruth(math.Exp(high)))), textIn("remark", "")}
}

// scalingChart audits the sweeps of one measure over one factor, with ideal and
// law where there are few.
func (a *auditor) scalingChart(s *sheet, n *node, key measureKey, f plan.Factor) {
	sweeps := a.sweepsOf(key, f)
	s.units(n, "1", a.kinds[key].Unit)
	list, lines := n.at("series").list(), n.at("lines").list()
	next, marked := 0, 0
	take := func() *node {
		if next++; next <= len(list) {
			return list[next-1]
		}
		s.fault("a series is left out: there are %d", len(list))
		return nil
	}
	var words [][]piece
	for _, x := range sweeps {
		at := map[string]float64{}
		for i, l := range x.labels {
			at[l] = x.at[i]
		}
		words = append(words, saysWords(x.name), a.lineSeries(s, take(), x.name, x.cells, f.Name, at))
		if knee := x.kneeOf(x.means(-1)); len(x.blocks) > 0 && knee >= 0 && marked < len(lines) {
			s.number(lines[marked].at("at"), "the knee", plainTruth(x.at[knee]))
			s.speaks(lines[marked].at("label"), "the knee", saysWords(x.name, x.labels[knee])...)
			marked++
		}
	}
	s.speaks(n.at("caption"), "caption", saysWords("95 %")...)
	s.parts(n.at("alt"), "the text alternative", words...)
	if len(sweeps) > 2 {
		return
	}
	for _, x := range sweeps {
		ideal := take()
		s.same(ideal.at("name"), "name", "ideal of "+x.name)
		s.flag(ideal.at("model"), "model", true)
		var ys []truth
		for _, at := range x.at {
			ys = append(ys, truth{value: x.cells[0].center / x.at[0] * at, unit: x.cells[0].unit})
		}
		s.series(ideal.at("x"), "x", truthsOf(x.at, ""))
		s.series(ideal.at("y"), "y", ys)
		if l, why := x.refused(); why == nil {
			x.auditLaw(s, take(), l)
		}
	}
}

// auditLaw audits the line of a law: 32 points, evenly on a logarithmic scale.
func (x *sweepView) auditLaw(s *sheet, n *node, l lawView) {
	s.same(n.at("name"), "name", "law of "+x.name)
	s.flag(n.at("model"), "model", true)
	var xs, ys []truth
	from, to := x.at[0], x.at[len(x.at)-1]
	for i := range 32 {
		at := from * math.Pow(to/from, float64(i)/31)
		xs = append(xs, truth{value: at, slack: 1e-9 * at})
		ys = append(ys, truth{value: l.at(at), unit: x.cells[0].unit, slack: 1e-9 * l.at(at)})
	}
	s.series(n.at("x"), "x", xs)
	s.series(n.at("y"), "y", ys)
}
