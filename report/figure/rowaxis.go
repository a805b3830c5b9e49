package figure

import (
	"math"
	"slices"

	"bakeoff/analysis"
	"bakeoff/report/quantity"
)

// rowsLog reports whether the value axis is logarithmic, which it cannot be where
// a value is zero or below.
func rowsLog(c analysis.Chart) bool {
	if !c.XLog && !c.YLog || c.Kind == analysis.StackChart {
		return false
	}
	for _, s := range c.Series {
		for _, list := range [][]float64{s.Y, s.Low, s.High} {
			if slices.ContainsFunc(list, func(v float64) bool { return v <= 0 }) {
				return false
			}
		}
	}
	return true
}

func rowsDomain(c analysis.Chart, log bool) span {
	r := newSpan()
	if c.Kind == analysis.StackChart {
		for _, total := range totals(c) {
			r.add(false, total)
		}
		return r.fromZero()
	}
	for _, s := range c.Series {
		r.add(log, s.Y...)
		r.add(log, s.Low...)
		r.add(log, s.High...)
		for _, p := range s.Points {
			r.add(log, p...)
		}
	}
	for _, l := range c.Lines {
		r.add(log, l.At)
	}
	for _, b := range c.Bands {
		r.add(log, b.From, b.To)
	}
	switch {
	case log && c.Kind == analysis.ForestChart:
		return withinReach(c, r).widened(true, 0.06)
	case log || c.Kind == analysis.ForestChart:
		return r.widened(log, 0.06)
	}
	return r.fromZero()
}

// withinReach cuts the domain of a chart of ratios where a few intervals are much
// wider than the rest.
func withinReach(c analysis.Chart, r span) span {
	var sizes []float64
	least := 0.0
	for _, s := range c.Series {
		for i := range s.Y {
			one := newSpan()
			one.add(true, s.Y[i], pick(s.Low, i), pick(s.High, i))
			if one.ok() {
				sizes = append(sizes, math.Max(-math.Log(one.low), math.Log(one.high)))
			}
		}
	}
	for _, b := range c.Bands {
		least = math.Max(least, math.Max(-math.Log(b.From), math.Log(b.To)))
	}
	reach, cut := Reach(sizes, least)
	if !cut {
		return r
	}
	return span{math.Max(r.low, math.Exp(-reach)), math.Min(r.high, math.Exp(reach))}
}

func (g *grid) title(c analysis.Chart, title string) string {
	text := withUnit(title, g.scale.Unit)
	switch {
	case g.log:
		if g.cut(c) {
			return logTitle(title, g.unit) + "; arrows: the interval goes on"
		}
		return logTitle(title, g.unit)
	case c.Kind == analysis.BarChart, c.Kind == analysis.StackChart:
		return text + ", bars start at 0"
	}
	return text
}

// cut reports whether an interval goes beyond the axis.
func (g *grid) cut(c analysis.Chart) bool {
	for _, s := range c.Series {
		for _, list := range [][]float64{s.Low, s.High} {
			if slices.ContainsFunc(list, func(v float64) bool { return v < g.values.from || v > g.values.to }) {
				return true
			}
		}
	}
	return false
}

// logTitle is the title of a log axis, whose marks carry prefixes, and units
// where these are symbols.
func logTitle(title, unit string) string {
	if !quantity.Symbol(unit) {
		title = withUnit(title, quantity.Plain(unit))
	}
	return title + ", log scale"
}

func withUnit(title, unit string) string {
	switch {
	case unit == "":
		return title
	case title == "":
		return unit
	}
	return title + " (" + unit + ")"
}

// axisTitle returns the title and unit of the value axis of a chart of rows,
// which its maker may have thought of as either axis.
func axisTitle(c analysis.Chart) (title, unit string) {
	title, unit = c.YLabel, c.YUnit
	if title == "" || (c.Kind == analysis.ForestChart && c.XLabel != "") {
		title = c.XLabel
	}
	if unit == "" {
		unit = c.XUnit
	}
	return splitUnit(title, unit)
}

// splitUnit takes a known base unit off the end of an axis title, "Latency (s)",
// where it was not given apart, so that it can be scaled.
func splitUnit(title, unit string) (string, string) {
	switch unit {
	case "":
	case "x": // a ratio is a plain number
		return title, ""
	default:
		return title, unit
	}
	for _, u := range []string{"ops/s", "B/s", "s", "B", "W", "J", "ops/J", "Hz", "%"} {
		suffix := " (" + u + ")"
		if n := len(title) - len(suffix); n > 0 && title[n:] == suffix {
			return title[:n], u
		}
	}
	return title, ""
}
