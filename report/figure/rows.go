package figure

import (
	"math"
	"slices"
	"strings"

	"bakeoff/analysis"
	"bakeoff/report/quantity"
)

// Charts of categories run down the page: one row a category (or a category and
// series), the name at its left, the value at its right. On a narrow page the
// name stands above.

// A row is one line of such a chart.
type row struct {
	name    string
	heading bool // the name of a group, without a value
	series  int
	index   int    // of the value in its series
	value   string // printed at the right, or below the name
	note    string // printed bold behind it

	lines []string // the name, wrapped
	cut   bool
	top   float64
	mid   float64 // where the bar's middle is
	high  float64 // height
}

// rowsOf lists the rows: values of the same label stand together, under their
// label where there are several.
func rowsOf(c analysis.Chart) []row {
	var order []string
	groups := map[string][]row{}
	for si, s := range c.Series {
		for i := range s.Y {
			label := s.Name
			if i < len(s.Labels) {
				label = s.Labels[i]
			}
			if _, seen := groups[label]; !seen {
				order = append(order, label)
			}
			groups[label] = append(groups[label], row{name: s.Name, series: si, index: i})
		}
	}
	several := slices.ContainsFunc(order, func(l string) bool { return len(groups[l]) > 1 })
	var out []row
	for _, label := range order {
		group := groups[label]
		if c.Kind == analysis.StackChart {
			out = append(out, row{name: label})
			continue
		}
		if !several {
			group[0].name = label
			out = append(out, group[0])
			continue
		}
		out = append(out, row{name: label, heading: true})
		out = append(out, group...)
	}
	return out
}

// A grid is the layout of a chart of rows.
type grid struct {
	rows     []row
	narrow   bool
	thick    float64 // of a bar
	left     float64 // of the plot
	right    float64
	top      float64
	bottom   float64
	edge     float64 // where values printed at the right end
	values   axis
	scale    quantity.Scale
	unit     string
	log      bool
	below    bool // values are printed below the names
	headings bool
	printed  bool    // values are printed figures, whose intervals are of their digits
	ceiling  float64 // of the values
}

// drawRows draws a bar, forest or stack chart.
func drawRows(s *scene, c analysis.Chart, printed bool) {
	title, unit := axisTitle(c)
	g := &grid{rows: rowsOf(c), narrow: s.width < narrowBelow, unit: unit, printed: printed && c.Kind == analysis.BarChart, log: rowsLog(c), edge: s.width - 2}
	g.headings = slices.ContainsFunc(g.rows, func(r row) bool { return r.heading })
	domain := rowsDomain(c, g.log)
	g.scale, g.ceiling = quantity.For(unit, domain.low, domain.high), domain.high
	g.below = g.narrow && c.Kind == analysis.ForestChart
	g.describe(c)
	g.across(s)
	y := 4.0
	if c.Kind == analysis.StackChart {
		y = drawKey(s, c, 2, s.width-4, y, keyBar)
	}
	g.values = valueAxis(domain.low, domain.high, g.log, g.left, g.right, unit, g.scale)
	y = g.marks(s, c, y)
	g.down(y)
	g.back(s, c)
	switch c.Kind {
	case analysis.ForestChart:
		g.forest(s, c)
	case analysis.StackChart:
		g.stack(s, c)
	default:
		g.bars(s, c)
	}
	g.names(s)
	g.foot(s, g.title(c, title))
}

// describe writes each row's value.
func (g *grid) describe(c analysis.Chart) {
	sums := totals(c)
	for i := range g.rows {
		r := &g.rows[i]
		if r.heading {
			continue
		}
		if c.Kind == analysis.StackChart {
			r.value = g.scale.With(sums[r.name], g.stackDecimals())
			continue
		}
		s := c.Series[r.series]
		r.value = g.valueText(c, s.Y[r.index], pick(s.Low, r.index), pick(s.High, r.index))
		if r.index < len(s.Notes) {
			r.note = shorten(s.Notes[r.index], textSize, 90)
		}
	}
}

// valueText writes a value with its unit, in a forest chart with its interval: in
// the axis' scale, or in one of its own where the axis has no common scale or one
// that is far too large.
func (g *grid) valueText(c analysis.Chart, v, low, high float64) string {
	scale := g.scale
	if g.log && g.unit != "" || math.Abs(v) < scale.Factor/100 && v != 0 {
		scale = quantity.For(g.unit, v)
	}
	d := scale.DecimalsWithin(v, low, high, 4)
	if g.printed {
		d = scale.Printed(v, high-low)
	}
	if c.Kind == analysis.ForestChart && g.unit == "" {
		d = quantity.RatioDecimals(v, low, high)
	}
	text := scale.Number(v, d)
	if c.Kind == analysis.ForestChart && !math.IsNaN(low) && !math.IsNaN(high) {
		text += " " + scale.Interval(low, high, d)
	}
	return shorten(strings.TrimRight(text+quantity.Space+scale.Unit, quantity.Space), textSize, 250)
}

// stackDecimals are those of the parts and totals of a stack: alike, since they add up.
func (g *grid) stackDecimals() int { return g.scale.Decimals(g.ceiling, 3) }

// pick returns the i-th value, or NaN where there is none.
func pick(list []float64, i int) float64 {
	if i < len(list) {
		return list[i]
	}
	return math.NaN()
}

// valueWidths returns the widths of the columns of values and of notes.
func (g *grid) valueWidths() (value, note float64) {
	for _, r := range g.rows {
		value = math.Max(value, textWidth(r.value, textSize))
		if r.note != "" {
			note = math.Max(note, textWidth(r.note, textSize)*boldFactor+noteGap)
		}
	}
	return value, note
}

// noteGap stands between a value and its note.
const noteGap = 10.0

// across fixes the columns.
func (g *grid) across(s *scene) {
	value, note := g.valueWidths()
	name := 0.0
	for _, r := range g.rows {
		name = math.Max(name, textWidth(r.name, textSize)*r.weight()+g.indent(r))
	}
	indent := 14.0 // half a tick label may stand out at either end
	if g.narrow {
		g.left, g.right = indent, s.width-indent-4
		width := s.width - 4
		if !g.below {
			width -= value + note + 14
		}
		g.wrapNames(width, 3)
		return
	}
	right := value + note + 22
	column := math.Min(name, 0.64*s.width-right)
	column = math.Min(math.Max(column, 0.2*s.width), 0.36*s.width)
	g.wrapNames(column, 3)
	g.left = column + 14
	g.right = s.width - right
}

func (r row) weight() float64 {
	if r.heading {
		return boldFactor
	}
	return 1
}

func (g *grid) indent(r row) float64 {
	if g.headings && !r.heading {
		return 12
	}
	return 0
}

func (g *grid) wrapNames(width float64, lines int) {
	for i := range g.rows {
		r := &g.rows[i]
		r.lines, r.cut = wrap(r.name, textSize*r.weight(), width-g.indent(*r), lines)
		if len(r.lines) == 0 {
			r.lines = []string{""} // its line holds the value
		}
	}
}

// down fixes the heights, from y.
func (g *grid) down(y float64) {
	gap := 12.0
	g.thick = 20
	if len(g.rows) > 16 {
		g.thick, gap = 14, 7
	}
	if g.narrow {
		gap = 14
	}
	g.top = y
	y += gap / 2
	for i := range g.rows {
		r := &g.rows[i]
		if r.heading && i > 0 {
			y += gap * 0.7
		}
		text := float64(len(r.lines)) * lineSpace * textSize
		r.top = y
		switch {
		case r.heading:
			r.high = text + 2
		case g.narrow:
			if g.below {
				text += lineSpace * textSize
			}
			r.mid = y + text + 3 + g.thick/2
			r.high = text + 3 + g.thick
		default:
			r.high = math.Max(g.thick, text)
			r.mid = y + r.high/2
		}
		y += r.high + gap
	}
	g.bottom = y - gap/2
}

// names writes names and values.
func (g *grid) names(s *scene) {
	const step = lineSpace * textSize
	for _, r := range g.rows {
		full := ""
		if r.cut {
			full = r.name
		}
		x := 2 + g.indent(r)
		first := r.top + 0.76*textSize + 1
		if !g.narrow && !r.heading {
			first = r.mid - float64(len(r.lines)-1)*step/2 + 0.36*textSize
		}
		s.lines(word{x: x, y: first, bold: r.heading}, r.lines, full)
		if r.heading {
			continue
		}
		y := r.mid + 0.36*textSize
		switch {
		case g.below:
			y = first + float64(len(r.lines))*step
			value := shorten(r.value, textSize, s.width-x-4-textWidth(r.note, textSize)*boldFactor-noteGap)
			s.word(word{x: x, y: y, text: value, class: "muted"})
			s.word(word{x: x + textWidth(value, textSize) + noteGap, y: y, text: r.note, bold: true})
			continue
		case g.narrow:
			y = first + float64(len(r.lines)-1)*step
		}
		g.valueAtRight(s, r, y)
	}
}

func (g *grid) valueAtRight(s *scene, r row, y float64) {
	if r.note == "" {
		s.word(word{x: g.edge, y: y, text: r.value, anchor: atEnd})
		return
	}
	_, note := g.valueWidths()
	s.word(word{x: g.edge - note, y: y, text: r.value, anchor: atEnd})
	s.word(word{x: g.edge - note + noteGap, y: y, text: r.note, bold: true})
}

// foot draws the value axis and its title, and closes the drawing below it.
func (g *grid) foot(s *scene, title string) {
	g.scaleMarks(s, g.bottom, 1)
	if g.topScale() {
		g.scaleMarks(s, g.top, -1)
	}
	s.height = s.axisTitle(title, (g.left+g.right)/2, g.bottom+34)
}

// topScale reports whether the axis stands above the rows too, as it does where
// the one below them may be out of sight.
func (g *grid) topScale() bool { return len(g.rows) > 16 }

// scaleMarks draws the value axis, its labels on one side.
func (g *grid) scaleMarks(s *scene, y, side float64) {
	s.line("axis", g.left, y, g.right, y)
	text := y + 16
	if side < 0 {
		text = y - 7
	}
	for _, t := range g.values.ticks {
		x := g.values.at(t.at)
		s.line("axis", x, y, x, y+4*side)
	}
	s.tickLabels(g.values, 0, text, 1, s.width-1)
}

func totals(c analysis.Chart) map[string]float64 {
	out := map[string]float64{}
	if c.Kind != analysis.StackChart {
		return out
	}
	for _, s := range c.Series {
		for i, v := range s.Y {
			label := s.Name
			if i < len(s.Labels) {
				label = s.Labels[i]
			}
			if v > 0 && !math.IsInf(v, 0) { // a stack has no place for less than nothing
				out[label] += v
			}
		}
	}
	return out
}
