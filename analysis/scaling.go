package analysis

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"bakeoff/plan"
	"bakeoff/record"
	"bakeoff/stats"
)

// Bounds of what a sweep over a number of workers can say.
const (
	fitLevels  = 5    // levels that a fit needs: two more than it has parameters
	fitBlocks  = 3    // whole blocks that its intervals need
	fitWorst   = 0.10 // the farthest that a point may lie from the law
	fitReach   = 2.0  // how far beyond the largest level a peak is told, as a ratio
	kneeShare  = 0.5  // of what the first worker did: a step that gives less is beyond the knee
	fitPoints  = 32   // of a fitted line
	scaleLines = 2    // measured lines that are drawn with their ideal and their fit
)

// scales says whether a factor is a number of things that work at once, so that
// twice as many could do twice as much.
func scales(f plan.Factor) bool {
	if levelUnit(f) != "1" {
		return false
	}
	names := []string{f.Name}
	for _, s := range f.Levels[0].Sets {
		names = append(names, s.Path[strings.LastIndexByte(s.Path, '.')+1:])
	}
	words := []string{"cpu", "core", "thread", "worker", "user", "connection", "instance", "stream", "queue", "client", "process", "parallel", "node", "server"}
	for _, n := range names {
		for _, w := range words {
			if strings.Contains(n, w) {
				return true
			}
		}
	}
	return false
}

// A sweep is one measure over the levels of such a factor, all other levels held.
type sweep struct {
	factor  plan.Factor
	measure Measure
	name    string // of the levels held
	labels  []string
	at      []float64
	cells   []CellSummary
	blocks  []int // that hold every level
	law     *lawFit
}

// A lawFit is the universal scalability law fitted to a sweep, or why it is not.
type lawFit struct {
	stats.Scalability
	contention, coherency, peak stats.Interval
	refused                     string
}

// sweeps lists those of a measure of which more is better, over one factor.
func (a *analyst) sweeps(r *Result, m Measure, f plan.Factor) []*sweep {
	at, ok := numericLevels(f)
	if !ok || !scales(f) || m.Better != record.HigherIsBetter || slices.Min(valuesIn(at)) <= 0 {
		return nil
	}
	var out []*sweep
	for _, c := range r.Cells {
		level, has := c.Cell.Level(f.Name)
		if c.Measure != m.Name || c.Workload != m.Workload || !has || c.Center <= 0 {
			continue
		}
		name := shortName(without(c.Cell, f.Name))
		i := slices.IndexFunc(out, func(s *sweep) bool { return s.name == name })
		if i < 0 {
			i = len(out)
			out = append(out, &sweep{factor: f, measure: m, name: name})
		}
		s := out[i]
		k, _ := slices.BinarySearch(s.at, at[level])
		s.at, s.labels, s.cells = slices.Insert(s.at, k, at[level]), slices.Insert(s.labels, k, level), slices.Insert(s.cells, k, c)
	}
	out = slices.DeleteFunc(out, func(s *sweep) bool { return len(s.at) < 3 })
	for _, s := range out {
		s.blocks = s.wholeBlocks()
		s.law = s.fit()
	}
	return out
}

func valuesIn(m map[string]float64) []float64 {
	out := make([]float64, 0, len(m))
	for _, v := range m {
		out = append(out, v)
	}
	return out
}

// without leaves one factor's level out of a cell.
func without(c record.Cell, factor string) record.Cell {
	return slices.DeleteFunc(slices.Clone(c), func(l record.Level) bool { return l.Factor == factor })
}

// wholeBlocks are those in which every level was measured.
func (s *sweep) wholeBlocks() []int {
	var out []int
	for _, b := range s.cells[0].Blocks {
		if !slices.ContainsFunc(s.cells, func(c CellSummary) bool { return !slices.Contains(c.Blocks, b) }) {
			out = append(out, b)
		}
	}
	return out
}

// in is the value of one level in one block.
func (s *sweep) in(level, block int) float64 {
	c := s.cells[level]
	return c.Values[slices.Index(c.Blocks, block)]
}

// means are the geometric means of every level over the whole blocks, one of them
// left out; -1 leaves none out.
func (s *sweep) means(leave int) []float64 {
	out := make([]float64, len(s.cells))
	for i := range s.cells {
		var values []float64
		for k, b := range s.blocks {
			if k != leave {
				values = append(values, s.in(i, b))
			}
		}
		out[i] = stats.GeometricMean(values)
	}
	return out
}

// fit fits the universal scalability law, or says what the points lack for it.
func (s *sweep) fit() *lawFit {
	switch {
	case len(s.at) < fitLevels:
		return &lawFit{refused: fmt.Sprintf("%d levels: a fit of its three parameters needs %d", len(s.at), fitLevels)}
	case len(s.blocks) < fitBlocks:
		return &lawFit{refused: fmt.Sprintf("%d whole blocks: its intervals need %d", len(s.blocks), fitBlocks)}
	}
	law, ok := stats.FitScalability(s.at, s.means(-1))
	if !ok {
		return &lawFit{refused: "the levels do not tell its parameters apart"}
	}
	if law.Worst > fitWorst {
		return &lawFit{refused: fmt.Sprintf("a point lies %s from the nearest curve of the law, more than %s: it does not hold here", shareText(law.Worst), shareText(fitWorst))}
	}
	l := &lawFit{Scalability: law}
	of := func(estimate float64, pick func(stats.Scalability) float64) stats.Interval {
		return stats.Jackknife(estimate, len(s.blocks), func(i int) float64 {
			left, _ := stats.FitScalability(s.at, s.means(i))
			return pick(left)
		}, familyAlpha)
	}
	l.contention = of(law.Contention, func(x stats.Scalability) float64 { return x.Contention })
	l.coherency = of(law.Coherency, func(x stats.Scalability) float64 { return x.Coherency })
	if l.coherency.Low > 0 && law.Contention < 1 {
		l.peak = of(math.Log(law.Peak()), func(x stats.Scalability) float64 { return math.Log(x.Peak()) }).Exp()
	}
	return l
}

// peakText is where the law says that the most is, as far as the points reach.
func (s *sweep) peakText() (at, within, remark string) {
	l, largest := s.law, s.at[len(s.at)-1]
	switch {
	case !(l.coherency.Low > 0):
		return "", "", "no cost of coherency is shown: no peak"
	case !(l.Contention < 1) || !(l.Peak() <= fitReach*largest) || !(l.peak.High <= 2*fitReach*largest):
		return "", "", fmt.Sprintf("the peak lies too far beyond %s to be told", s.labels[len(s.labels)-1])
	}
	return plain(l.Peak()), plain(l.peak.Low) + " to " + plain(l.peak.High), ""
}

// efficiency is the speed-up at a level as a share of the ideal, with its 95 %
// interval from the blocks' log ratios.
func (s *sweep) efficiency(level int) (share float64, within stats.Interval) {
	var logs []float64
	for _, b := range s.blocks {
		logs = append(logs, math.Log(s.in(level, b)/s.in(0, b))-math.Log(s.at[level]/s.at[0]))
	}
	return math.Exp(stats.Mean(logs)), stats.MeanInterval(logs, familyAlpha).Exp()
}

// stepShare is what each worker that a step added did, as a share of what each of
// the first level did.
func (s *sweep) stepShare(level int, means []float64) float64 {
	return (means[level] - means[level-1]) / (s.at[level] - s.at[level-1]) / (means[0] / s.at[0])
}

// knee is the last level up to which every step gave at least kneeShare; -1 where
// all did.
func (s *sweep) knee(means []float64) int {
	for i := 1; i < len(s.at); i++ {
		if s.stepShare(i, means) < kneeShare {
			return i - 1
		}
	}
	return -1
}

// scalingTables are the steps of each sweep, and the law fitted to it.
func scalingTables(all []*sweep) []Table {
	steps := newLayout("scaling-steps", "Scaling, step by step",
		"The speed-up is against the first level. Efficiency is the speed-up as a share of the ideal one, that of the levels, with its 95 % interval from the ratios inside blocks. What a step gives is what each that it added did, as a share of what each of the first level did; the knee is the last level before a step that gives less than half.").
		text("measure", "line", "level").numbers("value", "speed-up", "efficiency", "interval", "the step gives").text("")
	law := newLayout("scaling-law", "Universal scalability law",
		"Fitted by least squares of relative distances to the means over the blocks (Gunther): contention is the share that waits for its turn, coherency what every pair costs in keeping in step. Intervals are 95 %, by leaving out one block at a time.").
		text("measure", "line").numbers("of one", "contention", "contention interval", "coherency", "coherency interval", "farthest point", "most at", "most at interval").text("remark")
	for _, s := range all {
		s.stepRows(steps)
		s.lawRow(law)
	}
	var out []Table
	for _, l := range []*layout{steps, law} {
		if len(l.Rows) > 0 {
			out = append(out, l.finish())
		}
	}
	return out
}

func (s *sweep) heading() string {
	return titled(s.measure.Title, s.measure.Workload) + " over " + s.factor.Name
}

func (s *sweep) stepRows(l *layout) {
	if len(s.blocks) == 0 {
		return
	}
	means := s.means(-1)
	knee := s.knee(means)
	for i, c := range s.cells {
		row := []string{s.heading(), s.name, s.labels[i], amount(c.Measure, c.Unit, means[i]), ratioText(means[i]/means[0], 3), "", "", "", ""}
		if i > 0 {
			share, within := s.efficiency(i)
			row[5] = shareText(share)
			if len(s.blocks) > 1 {
				row[6] = plain(100*within.Low) + " to " + shareText(within.High)
			}
			row[7] = shareText(s.stepShare(i, means))
		}
		if i == knee {
			row[8] = "the knee"
		}
		l.row(row...)
	}
	if knee < 0 {
		l.note(fmt.Sprintf("%s, %s: no knee up to %s, every step gave at least half of the ideal.", s.heading(), s.name, s.labels[len(s.labels)-1]))
	}
}

func (s *sweep) lawRow(l *layout) {
	row := []string{s.heading(), s.name, "", "", "", "", "", "", "", "", ""}
	if s.law.refused != "" {
		row[10] = "refused: " + s.law.refused
		l.row(row...)
		return
	}
	f := s.law
	row[2] = amount(s.measure.Name, s.measure.Unit, f.Rate)
	row[3], row[4] = shareText(f.Contention), plain(100*max(f.contention.Low, 0))+" to "+shareText(f.contention.High)
	row[5], row[6] = shareText(f.Coherency), plain(100*max(f.coherency.Low, 0))+" to "+shareText(f.coherency.High)
	row[7] = shareText(f.Worst)
	row[8], row[9], row[10] = s.peakText()
	l.row(row...)
}

// scalingChart draws the sweeps of one measure over one factor, with the ideal
// and the fitted law of few lines and the knee of each.
func scalingChart(all []*sweep) Chart {
	first := all[0]
	m, f := first.measure, first.factor
	at, _ := numericLevels(f)
	c := Chart{ID: slug("scaling", m.Workload, m.Name, f.Name), Kind: LineChart, Title: first.heading(),
		Caption: "Geometric means over the blocks with their 95 % intervals. The ideal is what as many times the first level would do; the law is Gunther's, where the points support it. The knee is the last level before a step that gives less than half of the ideal." + betterText(m.Better),
		XLabel:  f.Name, XUnit: "1", YLabel: m.Title, YUnit: m.Unit, XLog: spansDecades(at), YLog: spansDecades(at)}
	for _, s := range all {
		line := Series{Name: s.name, Labels: s.labels, X: s.at}
		for _, cell := range s.cells {
			line.Y, line.Low, line.High = append(line.Y, cell.Center), append(line.Low, cell.Low), append(line.High, cell.High)
		}
		c.Series = append(c.Series, line)
		if len(s.blocks) == 0 {
			continue
		}
		if knee := s.knee(s.means(-1)); knee >= 0 {
			c.Lines = append(c.Lines, RefLine{Axis: "x", At: s.at[knee], Label: "knee of " + s.name + ": " + s.labels[knee]})
		}
	}
	c.Alt = seriesWords(c)
	if len(all) > scaleLines {
		return c
	}
	for _, s := range all {
		ideal := Series{Name: "ideal of " + s.name, Model: true}
		for _, x := range s.at {
			ideal.X, ideal.Y = append(ideal.X, x), append(ideal.Y, s.cells[0].Center*x/s.at[0])
		}
		c.Series = append(c.Series, ideal)
		if s.law.refused == "" {
			c.Series = append(c.Series, s.law.line("law of "+s.name, s.at[0], s.at[len(s.at)-1]))
		}
	}
	return c
}

// line is the law between two numbers of workers, evenly on a logarithmic scale.
func (l *lawFit) line(name string, from, to float64) Series {
	s := Series{Name: name, Model: true}
	for i := range fitPoints {
		x := from * math.Pow(to/from, float64(i)/(fitPoints-1))
		s.X, s.Y = append(s.X, x), append(s.Y, l.At(x))
	}
	return s
}

// scaling are the tables of every sweep of a primary measure.
func (a *analyst) scaling(r *Result) []Table {
	var all []*sweep
	for _, m := range r.Measures {
		for _, f := range a.plan.Factors {
			if m.Primary {
				all = append(all, a.sweeps(r, m, f)...)
			}
		}
	}
	return scalingTables(all)
}
