package figure

import (
	"math"
	"sort"

	"bakeoff/analysis"
)

// How a key shows a series.
const (
	keyBar = iota
	keyLine
)

// drawKey lists the series in rows between left and left+width, from y down, and
// returns where it ends.
func drawKey(s *scene, c analysis.Chart, left, width, y float64, kind int) float64 {
	const sample, gap, step = 24.0, 18.0, 19.0
	x := left
	for i, ser := range c.Series {
		name := shorten(ser.Name, textSize, width-sample-6)
		need := sample + 6 + textWidth(name, textSize)
		if x > left && x+need > left+width {
			x, y = left, y+step
		}
		mid := y + 8
		class := "s" + itoa(i%together)
		if kind == keyBar {
			s.rect("bar "+class, s.fill(i), x, mid-6, sample, 12)
		} else {
			s.line("ln "+class+" d"+itoa(i%together), x, mid, x+sample, mid)
			s.marker("mk "+class, i, x+sample/2, mid, 3.6)
		}
		s.word(word{x: x + sample + 6, y: mid + 0.36*textSize, text: name, full: ser.Name})
		x += need + gap
	}
	return y + step + 4
}

// An endLabel names a line where it ends.
type endLabel struct {
	series int
	lines  []string
	cut    bool
	from   float64 // where the line ends
	y      float64 // middle of the label
	high   float64
}

// spread moves labels apart, as little as it takes, inside [top, bottom].
func spread(labels []endLabel, top, bottom float64) {
	sort.SliceStable(labels, func(i, j int) bool { return labels[i].from < labels[j].from })
	floor := top
	for i := range labels {
		l := &labels[i]
		l.y = math.Max(l.from, floor+l.high/2)
		floor = l.y + l.high/2
	}
	ceiling := bottom
	for i := len(labels) - 1; i >= 0; i-- {
		l := &labels[i]
		l.y = math.Min(l.y, ceiling-l.high/2)
		ceiling = l.y - l.high/2
	}
}

// drawEnds writes the names of the lines in the column right of x.
func drawEnds(s *scene, c analysis.Chart, labels []endLabel, x float64) {
	const step = lineSpace * textSize
	for _, l := range labels {
		class := "s" + itoa(l.series%together)
		s.line("leader", x+3, l.from, x+14, l.y)
		if c.Series[l.series].Model {
			s.path("ln thin "+class+" d"+itoa(l.series%together), "M"+px(x+14)+" "+px(l.y)+"H"+px(x+25))
		} else {
			s.marker("mk "+class, l.series, x+19, l.y, 3.6)
		}
		full := ""
		if l.cut {
			full = c.Series[l.series].Name
		}
		first := l.y - float64(len(l.lines)-1)*step/2 + 0.36*textSize
		s.lines(word{x: x + 27, y: first}, l.lines, full)
	}
}
