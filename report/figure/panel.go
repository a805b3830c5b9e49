package figure

import (
	"math"
	"strings"

	"bakeoff/analysis"
)

// panel draws the i-th panel: all series, or the i-th one under its name.
func (p *plot) panel(s *scene, i int) {
	left := p.left + float64(i%p.cols)*(p.wide+p.gapX)
	top := p.top + float64(i/p.cols)*(p.high+p.gapY)
	first, last := 0, len(p.chart.Series)
	if p.panels() > 1 {
		first, last = i, i+1
		name := p.chart.Series[i].Name
		lines, cut := wrap(name, tickSize, p.wide, 3)
		for k, text := range lines {
			w := word{x: left, y: top - 7 - float64(len(lines)-1-k)*titleStep, text: text, size: tickSize}
			if cut && k == len(lines)-1 {
				w.full = name
			}
			s.word(w)
		}
	}
	p.behind(s, left, top)
	p.axes(s, i, left, top)
	for k := first; k < last; k++ {
		style := k
		if p.panels() > 1 {
			style = 0
		}
		p.series(s, p.chart.Series[k], style, left, top)
	}
	if p.names > 0 {
		p.endNames(s, left+p.wide, top)
	}
}

// behind draws bands, grid and lines.
func (p *plot) behind(s *scene, left, top float64) {
	for _, b := range p.chart.Bands {
		if b.Axis == "x" {
			from, to := left+p.x.clamp(b.From), left+p.x.clamp(b.To)
			s.rect("band", "", from, top, to-from, p.high)
			s.line("bandedge", from, top, from, top+p.high)
			s.line("bandedge", to, top, to, top+p.high)
			continue
		}
		from, to := top+p.y.clamp(b.To), top+p.y.clamp(b.From)
		s.rect("band", "", left, from, p.wide, to-from)
	}
	for _, t := range p.y.ticks {
		y := top + p.y.at(t.at)
		s.line("grid", left, y, left+p.wide, y)
	}
	for _, l := range p.chart.Lines {
		if l.Axis == "x" {
			x := left + p.x.clamp(l.At)
			s.line("ref", x, top, x, top+p.high)
			continue
		}
		y := top + p.y.clamp(l.At)
		s.line("ref", left, y, left+p.wide, y)
		if p.panels() == 1 && l.Label != "" {
			p.nameLine(s, l.Label, left, top, y)
		}
	}
}

// nameLine names a horizontal line above it, or below it, where no other text is.
func (p *plot) nameLine(s *scene, name string, left, top, y float64) {
	w := word{x: left + p.wide - 4, text: shorten(name, tickSize, p.wide-8), anchor: atEnd, class: "muted halo", size: tickSize}
	for _, offset := range []float64{-4, tickSize + 1} {
		w.y = y + offset
		box := boxOf(w)
		if box.top >= top && box.bottom <= top+p.high && s.free(box) {
			s.word(w)
			return
		}
	}
}

// axes draws the lines and labels of the axes: those of y in the first column,
// those of x under the last panel of each column.
func (p *plot) axes(s *scene, i int, left, top float64) {
	bottom := top + p.high
	s.line("axis", left, bottom, left+p.wide, bottom)
	if i%p.cols == 0 {
		for _, t := range p.y.ticks {
			s.word(word{x: left - 6, y: top + p.y.at(t.at) + 0.36*tickSize, text: t.text, anchor: atEnd, class: "muted", size: tickSize})
		}
	}
	lowest := i+p.cols >= p.panels()
	for _, t := range p.x.ticks {
		x := left + p.x.at(t.at)
		s.line("axis", x, bottom, x, bottom+4)
	}
	if !lowest {
		return
	}
	low, high := 1.0, s.width-p.names-1 // the middle of the gaps between the panels
	if i%p.cols > 0 {
		low = left - p.gapX/2 + 2
	}
	if i%p.cols < p.cols-1 && i < p.panels()-1 {
		high = left + p.wide + p.gapX/2 - 2
	}
	s.tickLabels(p.x, left, bottom+16, low, high)
}

// series draws one line with its interval and trials.
func (p *plot) series(s *scene, ser analysis.Series, style int, left, top float64) {
	class := "s" + itoa(style%together)
	x := func(i int) float64 { return left + p.x.at(ser.X[i]) }
	y := func(v float64) float64 { return top + p.y.at(v) }
	marked := p.chart.Kind != analysis.TimeChart
	if len(ser.Low) >= len(ser.Y) && len(ser.High) >= len(ser.Y) {
		if p.chart.Kind == analysis.LineChart {
			for i := range ser.Y {
				low, high := y(ser.Low[i]), y(ser.High[i])
				s.line("whisker", x(i), low, x(i), high)
				s.line("whisker", x(i)-3.5, low, x(i)+3.5, low)
				s.line("whisker", x(i)-3.5, high, x(i)+3.5, high)
			}
		} else {
			s.path("shade "+class, p.ribbon(ser, left, top))
		}
	}
	for i, points := range ser.Points {
		for _, v := range points {
			if i < len(ser.X) {
				s.marker("pt "+class, 0, x(i)+trialOffset, y(v), 1.9)
			}
		}
	}
	if ser.Model {
		s.path("ln thin "+class+" d"+itoa(style%together), p.trace(ser, left, top))
		return
	}
	s.path("ln "+class+" d"+itoa(style%together), p.trace(ser, left, top))
	if marked {
		for i, v := range ser.Y {
			s.marker("mk "+class, style, x(i), y(v), 3.6)
		}
	}
}

// trialOffset sets the trials' points beside the centre's mark, which would hide them.
const trialOffset = 9

// ribbon outlines the interval along a line, where both bounds are known.
func (p *plot) ribbon(ser analysis.Series, left, top float64) string {
	var there, back []string
	for i := range ser.Y {
		low, high := p.y.clamp(ser.Low[i]), p.y.clamp(ser.High[i])
		x := left + p.x.at(ser.X[i])
		if anyNaN(low, high, x) {
			continue
		}
		there = append(there, px(x)+" "+px(top+high))
		back = append([]string{px(x) + " " + px(top+low)}, back...)
	}
	if len(there) < 2 {
		return ""
	}
	return "M" + strings.Join(append(there, back...), "L") + "Z"
}

// trace is the path of a line, broken where values are missing. Where there are
// more points than pixels, each pixel's least and largest value stand for it, so
// that no excursion is lost.
func (p *plot) trace(ser analysis.Series, left, top float64) string {
	var b strings.Builder
	pen := false
	for _, i := range p.kept(ser) {
		x, y := p.x.at(ser.X[i]), p.y.at(ser.Y[i])
		if anyNaN(x, y) {
			pen = false
			continue
		}
		if pen {
			b.WriteByte('L')
		} else {
			b.WriteByte('M')
		}
		pen = true
		b.WriteString(px(left+x) + " " + px(top+y))
	}
	return b.String()
}

// kept lists the points to draw.
func (p *plot) kept(ser analysis.Series) []int {
	n := len(ser.Y)
	if float64(n) <= 2*p.wide {
		out := make([]int, n)
		for i := range out {
			out[i] = i
		}
		return out
	}
	var out []int
	for start := 0; start < n; {
		pixel := math.Floor(p.x.at(ser.X[start]))
		least, most, end := start, start, start
		for ; end < n && math.Floor(p.x.at(ser.X[end])) == pixel; end++ {
			if ser.Y[end] < ser.Y[least] {
				least = end
			}
			if ser.Y[end] > ser.Y[most] {
				most = end
			}
		}
		if end == start { // not a number: a gap
			out = append(out, start)
			start++
			continue
		}
		out = append(out, min(least, most))
		if least != most {
			out = append(out, max(least, most))
		}
		start = end
	}
	return out
}

// endNames names each line where it ends.
func (p *plot) endNames(s *scene, right, top float64) {
	var labels []endLabel
	for i, ser := range p.chart.Series {
		end := math.NaN()
		for k := len(ser.Y) - 1; k >= 0 && math.IsNaN(end); k-- {
			end = p.y.at(ser.Y[k])
		}
		if math.IsNaN(end) {
			continue
		}
		lines, cut := wrap(ser.Name, textSize, p.names-29, 2)
		labels = append(labels, endLabel{series: i, lines: lines, cut: cut, from: top + end, high: float64(len(lines))*lineSpace*textSize + 2})
	}
	spread(labels, top-6, top+p.high+6)
	drawEnds(s, p.chart, labels, right)
}
