package figure

import (
	"math"
	"slices"

	"bakeoff/analysis"
	"bakeoff/report/quantity"
)

// A plot is the layout of a chart of lines: percentiles, time, numeric factors.
// It is one panel, or a grid of small ones where there are many series.
type plot struct {
	chart  analysis.Chart
	x, y   axis
	yTitle string
	xTitle string
	cols   int
	rows   int
	left   float64 // of the first panel
	top    float64
	wide   float64 // of one panel
	high   float64
	gapX   float64
	gapY   float64
	titles int     // lines of the small panels' titles
	names  float64 // width of the column of names at the right; 0 for a key or panel titles
}

// drawPlot draws a chart of lines.
func drawPlot(s *scene, c analysis.Chart, o Options) {
	p := &plot{chart: c, cols: 1, rows: 1}
	if c.Kind == analysis.PercentileChart {
		p.chart = byTail(c)
	}
	p.drop()
	ySpan, yScale, yUnit := p.vertical()
	s.word(word{x: 2, y: 13, text: shorten(p.yTitle, textSize, s.width-4), full: p.yTitle})
	y := 22.0
	y = p.arrange(s, y)
	p.y = valueAxis(ySpan.low, ySpan.high, p.chart.YLog, p.high, 0, yUnit, yScale)
	p.left = p.yLabelWidth() + 8
	p.wide = (s.width - p.left - 10 - p.names - float64(p.cols-1)*p.gapX) / float64(p.cols)
	p.horizontal(o)
	if p.panels() == 1 {
		y = p.flags(s, y)
	}
	p.top = y
	for i := range p.panels() {
		p.panel(s, i)
	}
	p.feet(s)
}

func (p *plot) panels() int {
	if len(p.chart.Series) > together {
		return len(p.chart.Series)
	}
	return 1
}

// drop replaces what a log axis cannot show by gaps.
func (p *plot) drop() {
	series := make([]analysis.Series, len(p.chart.Series))
	for i, s := range p.chart.Series {
		n := len(s.Y)
		if len(s.X) > 0 {
			n = min(n, len(s.X))
		}
		x, y := make([]float64, n), append([]float64(nil), s.Y[:n]...)
		for k := range n {
			x[k] = float64(k + 1)
			if len(s.X) > 0 {
				x[k] = s.X[k]
			}
			if p.chart.YLog && y[k] <= 0 || p.chart.XLog && x[k] <= 0 {
				y[k] = math.NaN()
			}
		}
		s.X, s.Y = x, y
		series[i] = s
	}
	p.chart.Series = series
}

// vertical returns the domain, scale and unit of the y axis, and fixes its title.
func (p *plot) vertical() (span, quantity.Scale, string) {
	c := p.chart
	r := newSpan()
	for _, s := range c.Series {
		r.add(c.YLog, s.Y...)
		r.add(c.YLog, s.Low...)
		r.add(c.YLog, s.High...)
		for _, points := range s.Points {
			r.add(c.YLog, points...)
		}
	}
	for _, l := range c.Lines {
		if l.Axis == "y" {
			r.add(c.YLog, l.At)
		}
	}
	if c.YLog {
		r = r.widened(true, 0.05)
	} else {
		r = r.fromZero()
	}
	title, unit := splitUnit(c.YLabel, c.YUnit)
	scale := quantity.For(unit, r.low, r.high)
	if Percent(c) {
		scale = quantity.FractionOf()
	}
	p.yTitle = withUnit(title, scale.Unit)
	if c.YLog {
		p.yTitle = logTitle(title, unit)
	}
	return r, scale, unit
}

// arrange chooses panels, key or names at the right, and returns where the
// panels begin.
func (p *plot) arrange(s *scene, y float64) float64 {
	narrow := s.width < narrowBelow
	if n := p.panels(); n > 1 {
		p.small(s, narrow)
		return y + float64(p.titles)*titleStep + 4
	}
	p.high = math.Round(math.Min(s.width*0.44, 300))
	if len(p.chart.Series) == 1 && p.chart.Series[0].Name == "" {
		return y
	}
	if narrow {
		p.high = math.Round(s.width * 0.58)
		return drawKey(s, p.chart, 2, s.width-4, y, keyLine)
	}
	for _, ser := range p.chart.Series {
		p.names = math.Max(p.names, textWidth(ser.Name, textSize)+30)
	}
	p.names = math.Min(p.names, 0.28*s.width)
	return y
}

// titleStep is the height of a line of a panel's title.
const titleStep = 14.0

// small fixes the grid of small panels: as many columns as leave their names
// readable.
func (p *plot) small(s *scene, narrow bool) {
	n := p.panels()
	tries := []int{4, 3}
	if narrow {
		tries = []int{2, 1}
	}
	for _, cols := range tries {
		p.cols, p.titles = min(n, cols), 1
		width := (s.width-60)/float64(p.cols) - 14
		whole := true
		for _, ser := range p.chart.Series {
			lines, cut := wrap(ser.Name, tickSize, width, 3)
			p.titles = max(p.titles, len(lines))
			whole = whole && !cut
		}
		if whole && p.titles < 3 {
			break
		}
	}
	p.rows = (n + p.cols - 1) / p.cols
	p.high, p.gapX, p.gapY = 84, 14, 26+float64(p.titles)*titleStep
}

func (p *plot) yLabelWidth() float64 {
	w := 0.0
	for _, t := range p.y.ticks {
		w = math.Max(w, textWidth(t.text, tickSize))
	}
	return w + 2
}

// horizontal fixes the x axis of a panel, in pixels from the panel's left edge.
func (p *plot) horizontal(o Options) {
	c := p.chart
	r := newSpan()
	for _, s := range c.Series {
		r.add(c.XLog, s.X...)
	}
	for _, b := range c.Bands {
		if b.Axis == "x" {
			r.add(c.XLog, b.From, b.To)
		}
	}
	if o.XFrom < o.XTo {
		r = span{o.XFrom, o.XTo}
	}
	title, unit := splitUnit(c.XLabel, c.XUnit)
	switch c.Kind {
	case analysis.PercentileChart:
		p.x = tailAxis(r, p.wide)
		p.xTitle = title
		return
	case analysis.TimeChart:
		if r.low == r.high {
			r = r.widened(false, 0.1)
		}
		p.x = valueAxis(r.low, r.high, false, 0, p.wide, "s", quantity.Scale{Factor: 1})
		p.xTitle = withUnit(title, quantity.Plain(unit))
		return
	}
	p.factorAxis(r, title, unit)
}

// factorAxis fixes the x axis of a chart over a factor's numeric levels.
func (p *plot) factorAxis(r span, title, unit string) {
	c := p.chart
	r = r.widened(c.XLog, 0.03)
	scale := quantity.For(unit, r.low, r.high)
	p.x = valueAxis(r.low, r.high, c.XLog, 0, p.wide, unit, scale)
	p.xTitle = withUnit(title, scale.Unit)
	if own := levelTicks(c, scale); len(own) > 0 {
		p.x.ticks = own
		p.x.thin()
		p.xTitle = withUnit(title, labelledUnit(c, scale))
	} else if c.XLog {
		p.xTitle = withUnit(title, quantity.Plain(unit))
	}
	if c.XLog {
		p.xTitle += ", log scale"
	}
}

// levelTicks marks the levels of a numeric factor themselves, by their names.
func levelTicks(c analysis.Chart, scale quantity.Scale) []tick {
	seen := map[float64]string{}
	var order []float64
	for _, s := range c.Series {
		if s.Model {
			continue
		}
		for i, x := range s.X {
			if _, known := seen[x]; known || math.IsNaN(x) {
				continue
			}
			seen[x] = scale.Number(x, scale.Exact(x))
			if i < len(s.Labels) && s.Labels[i] != "" {
				seen[x] = s.Labels[i]
			}
			order = append(order, x)
		}
	}
	if len(order) > 12 {
		return nil
	}
	out := make([]tick, len(order))
	for i, x := range order {
		out[i] = tick{x, shorten(seen[x], tickSize, 90)}
	}
	return sortTicks(out)
}

// labelledUnit returns the unit for the axis title: none where the levels' names
// carry it.
func labelledUnit(c analysis.Chart, scale quantity.Scale) string {
	for _, s := range c.Series {
		if len(s.Labels) > 0 {
			return ""
		}
	}
	return scale.Unit
}

// flags names bands and lines of the x axis above the panel.
func (p *plot) flags(s *scene, y float64) float64 {
	var items []flag
	for _, b := range p.chart.Bands {
		if b.Axis == "x" && b.Label != "" && !anyNaN(b.From, b.To) {
			items = append(items, flag{x: p.left + (p.x.clamp(b.From)+p.x.clamp(b.To))/2, text: b.Label})
		}
	}
	for _, l := range p.chart.Lines {
		if l.Axis == "x" && l.Label != "" && !anyNaN(l.At) {
			items = append(items, flag{x: p.left + p.x.clamp(l.At), text: l.Label})
		}
	}
	placed, tiers := flags(items, p.left, p.left+p.wide)
	y += float64(tiers) * flagStep
	drawFlags(s, placed, y+2)
	return y + 2
}

// feet writes the x axis' title and closes the drawing.
func (p *plot) feet(s *scene) {
	bottom := p.top + float64(p.rows)*p.high + float64(p.rows-1)*p.gapY
	centre := p.left + (s.width-p.left-p.names-10)/2
	if p.panels() > 1 {
		centre = s.width / 2
	}
	s.height = s.axisTitle(p.xTitle, centre, bottom+36)
}

// Percent reports whether a chart over time shows fractions, as of busy time: its
// axis has them as percentages.
func Percent(c analysis.Chart) bool {
	if _, unit := splitUnit(c.YLabel, c.YUnit); unit != "1" || c.Kind != analysis.TimeChart {
		return false
	}
	for _, s := range c.Series {
		for _, list := range [][]float64{s.Y, s.Low, s.High} {
			if slices.ContainsFunc(list, func(v float64) bool { return v < 0 || v >= 1.1 }) {
				return false
			}
		}
	}
	return true
}

// ValueUnit is the base unit of a chart's values, where it is given or stands in
// the title of their axis.
func ValueUnit(c analysis.Chart) string {
	if c.Kind == analysis.BarChart || c.Kind == analysis.ForestChart || c.Kind == analysis.StackChart {
		_, unit := axisTitle(c)
		return unit
	}
	_, unit := splitUnit(c.YLabel, c.YUnit)
	return unit
}
