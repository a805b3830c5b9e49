package figure

import (
	"math"
	"sort"

	"bakeoff/analysis"
)

// A flag is a short text over a plot, at the value that it names.
type flag struct {
	x    float64
	text string
	rank int // tier, counted from the plot up
}

// flags sets texts above a plot between two pixels, in as many tiers as they
// need to stay apart.
func flags(items []flag, left, right float64) (out []flag, tiers int) {
	const gap = 10
	sort.SliceStable(items, func(i, j int) bool { return items[i].x < items[j].x })
	var ends []float64 // of each tier
	for _, f := range items {
		f.text = shorten(f.text, tickSize, right-left)
		half := textWidth(f.text, tickSize) / 2
		f.x = math.Min(math.Max(f.x, left+half), right-half)
		f.rank = len(ends)
		for tier, end := range ends {
			if f.x-half > end+gap {
				f.rank = tier
				break
			}
		}
		if f.rank == len(ends) {
			ends = append(ends, 0)
		}
		ends[f.rank] = f.x + half
		out = append(out, f)
	}
	return out, len(ends)
}

const flagStep = 15

// draw writes flags above y, the top of the plot.
func drawFlags(s *scene, items []flag, y float64) {
	for _, f := range items {
		s.word(word{x: f.x, y: y - 5 - float64(f.rank)*flagStep, text: f.text, anchor: atMiddle, class: "muted", size: tickSize})
	}
}

// marks names bands and lines above the plot, and returns where the plot begins.
func (g *grid) marks(s *scene, c analysis.Chart, y float64) float64 {
	var items []flag
	for _, b := range c.Bands {
		if b.Label != "" && !anyNaN(b.From, b.To) {
			items = append(items, flag{x: (g.values.clamp(b.From) + g.values.clamp(b.To)) / 2, text: b.Label})
		}
	}
	for _, l := range c.Lines {
		if l.Label != "" && !anyNaN(l.At) {
			items = append(items, flag{x: g.values.clamp(l.At), text: l.Label})
		}
	}
	placed, tiers := flags(items, 2, s.width-2)
	y += float64(tiers) * flagStep
	drawFlags(s, placed, y+4)
	if g.topScale() {
		y += 16
	}
	return y + 4
}

// back draws what stands behind the rows: bands, grid and lines. On a narrow page
// it stands behind the bars only, since names above them would be crossed.
func (g *grid) back(s *scene, c analysis.Chart) {
	if !g.narrow {
		g.backdrop(s, c, g.top, g.bottom)
		return
	}
	for _, r := range g.rows {
		if !r.heading {
			g.backdrop(s, c, r.mid-g.thick/2-3, r.mid+g.thick/2+4)
		}
	}
}

func (g *grid) backdrop(s *scene, c analysis.Chart, top, bottom float64) {
	for _, b := range c.Bands {
		from, to := g.values.clamp(b.From), g.values.clamp(b.To)
		s.rect("band", "", math.Min(from, to), top, math.Abs(to-from), bottom-top)
		s.line("bandedge", from, top, from, bottom)
		s.line("bandedge", to, top, to, bottom)
	}
	for _, t := range g.values.ticks {
		x := g.values.at(t.at)
		s.line("grid", x, top, x, bottom)
	}
	for _, l := range c.Lines {
		x := g.values.at(l.At)
		s.line("ref", x, top, x, bottom)
	}
	if !g.log && g.values.from <= 0 && g.values.to >= 0 {
		s.line("axis", g.values.at(0), top, g.values.at(0), bottom)
	}
}

// bars draws each value as a bar from zero (a point on a log axis, which has no
// zero), its interval as a whisker, and the trials as points in block order from
// the bar's upper edge to its lower.
func (g *grid) bars(s *scene, c analysis.Chart) {
	for _, r := range g.rows {
		if r.heading {
			continue
		}
		ser := c.Series[r.series]
		v := ser.Y[r.index]
		class := "s" + itoa(r.series%together)
		x := g.values.at(v)
		if g.log {
			s.marker("mk "+class, r.series, x, r.mid, 5)
		} else {
			zero := g.values.clamp(0)
			s.rect("bar "+class, s.fill(r.series), math.Min(zero, x), r.mid-g.thick/2, math.Abs(x-zero), g.thick)
		}
		if r.index < len(ser.Points) {
			g.trials(s, class, ser.Points[r.index], r)
		}
		g.whisker(s, pick(ser.Low, r.index), pick(ser.High, r.index), r.mid)
	}
}

func (g *grid) trials(s *scene, class string, values []float64, r row) {
	inner := g.thick - 6
	for i, v := range values {
		y := r.mid
		if len(values) > 1 {
			y += inner * (float64(i)/float64(len(values)-1) - 0.5)
		}
		s.marker("pt "+class, 0, g.values.at(v), y, 2.3)
	}
}

// whisker draws an interval with caps; a bound that is not known is not drawn.
func (g *grid) whisker(s *scene, low, high, y float64) {
	a, b := g.values.clamp(low), g.values.clamp(high)
	s.line("whisker", a, y, b, y)
	g.whiskerEnd(s, a, y, low < g.values.from, 1)
	g.whiskerEnd(s, b, y, high > g.values.to, -1)
}

// whiskerEnd draws a cap, or an arrow where the interval goes beyond the axis.
func (g *grid) whiskerEnd(s *scene, x, y float64, cut bool, inward float64) {
	if cut {
		s.path("whisker", "M"+px(x+inward*5)+" "+px(y-4)+"L"+px(x)+" "+px(y)+"L"+px(x+inward*5)+" "+px(y+4))
		return
	}
	s.line("whisker", x, y-4, x, y+4)
}

// forest draws each effect as a mark with its interval: filled where a verdict
// was reached, hollow where not.
func (g *grid) forest(s *scene, c analysis.Chart) {
	for _, r := range g.rows {
		if r.heading {
			continue
		}
		ser := c.Series[r.series]
		g.whisker(s, pick(ser.Low, r.index), pick(ser.High, r.index), r.mid)
		class, shape := "solid", 1
		switch analysis.Verdict(r.note) {
		case analysis.Better:
			shape = 2
		case analysis.Worse:
			shape = 4
		case analysis.Equivalent:
			shape = 3
		case analysis.Inconclusive, analysis.Invalid:
			class, shape = "hollow", 0
		}
		if v := ser.Y[r.index]; v >= g.values.from && v <= g.values.to {
			s.marker(class, shape, g.values.at(v), r.mid, 4.5)
		}
	}
}

// stack draws each series' share of a category behind the one before.
func (g *grid) stack(s *scene, c analysis.Chart) {
	ends := map[string]float64{}
	at := map[string]row{}
	for _, r := range g.rows {
		at[r.name] = r
	}
	for si, ser := range c.Series {
		for i, v := range ser.Y {
			label := ser.Name
			if i < len(ser.Labels) {
				label = ser.Labels[i]
			}
			if !(v > 0) || math.IsInf(v, 0) {
				continue
			}
			r := at[label]
			from, to := g.values.at(ends[label]), g.values.at(ends[label]+v)
			ends[label] += v
			s.rect("bar s"+itoa(si%together), s.fill(si), from, r.mid-g.thick/2, to-from, g.thick)
			text := g.scale.Number(v, g.stackDecimals())
			if len(c.Series) > together { // patterns come back: the name tells the parts apart
				text = ser.Name
			}
			if textWidth(text, tickSize)+10 < to-from {
				s.word(word{x: (from + to) / 2, y: r.mid + 0.36*tickSize, text: text, anchor: atMiddle, class: "halo", size: tickSize})
			}
		}
	}
}
