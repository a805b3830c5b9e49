// Package figure draws the charts of a result as static SVG: real text, no
// scripts, series told apart by shape and pattern as well as by colour. Each
// chart is laid out for the width that it is shown at, so that its text has the
// same size on a telephone and on paper. It computes nothing but positions.
package figure

import (
	"embed"
	"math"
	"slices"
	"strings"

	"bakeoff/analysis"
)

//go:embed figure.css
var files embed.FS

// Style returns the style sheet of the drawings, for the page that holds them. It
// takes its colours from the custom properties of Palette.
func Style() string { return file("figure.css") }

func file(name string) string {
	text, err := files.ReadFile(name)
	if err != nil {
		panic("figure: " + name + " is not embedded: " + err.Error()) // a build fault
	}
	return string(text)
}

// Options say how a chart is laid out.
type Options struct {
	Width float64 // in pixels; below 520 the layout is the narrow one
	ID    string  // prefix of the element ids, unique in the page
	// XFrom and XTo, where they differ, fix the x axis, so that charts of a group
	// can be read one against the other.
	XFrom, XTo float64
	// Printed is set for printed figures: bars carry the digits that were printed.
	Printed bool
}

// narrowBelow is the width under which names stand above their bars and keys
// above their lines.
const narrowBelow = 520

// A Drawing is a chart laid out.
type Drawing struct {
	Width, Height float64
	SVG           string
	labels        []label
}

// together is how many series one panel takes; more are drawn in small multiples.
const together = 6

// Draw lays a chart out.
func Draw(c analysis.Chart, o Options) Drawing {
	s := &scene{width: o.Width, id: o.ID}
	c = drawable(c)
	switch {
	case empty(c):
		s.height = 60
		s.rect("frame", "", 0.5, 0.5, s.width-1, s.height-1)
		s.word(word{x: s.width / 2, y: 35, text: "No data to draw", anchor: atMiddle, class: "muted"})
	case c.Kind == analysis.BarChart, c.Kind == analysis.ForestChart, c.Kind == analysis.StackChart:
		drawRows(s, c, o.Printed)
	default:
		drawPlot(s, c, o)
	}
	return Drawing{s.width, s.height, s.wrapUp(c), s.labels}
}

// wrapUp puts the root element around what was drawn. The title and the text
// alternative name and describe the image to readers who do not see it.
func (s *scene) wrapUp(c analysis.Chart) string {
	var b strings.Builder
	b.WriteString(`<svg class="fig" xmlns="http://www.w3.org/2000/svg" role="img" aria-labelledby="` + s.id + `-t ` + s.id + `-d" viewBox="0 0 ` +
		px(s.width) + " " + px(s.height) + `" width="` + px(s.width) + `" height="` + px(s.height) + `">` + "\n")
	b.WriteString(`<title id="` + s.id + `-t">` + escape(c.Title) + "</title>\n")
	b.WriteString(`<desc id="` + s.id + `-d">` + escape(c.Alt) + "</desc>\n")
	b.WriteString(s.patterns(len(c.Series)))
	b.Write(s.buf.Bytes())
	b.WriteString("</svg>\n")
	return b.String()
}

// patterns defines the fills of bars beyond the first series, which grey print
// would show alike.
func (s *scene) patterns(series int) string {
	if series < 2 || !strings.Contains(s.buf.String(), "url(#") {
		return ""
	}
	shapes := []string{
		"", // solid
		`<path d="M-1 7L7 -1M-1 1L1 -1M5 7L7 5"/>`,
		`<path d="M0 3H6"/>`,
		`<path d="M3 0V6M0 3H6"/>`,
		`<path d="M-1 -1L7 7M5 -1L7 1M-1 5L1 7"/>`,
		`<path d="M3 0V6"/>`,
	}
	var b strings.Builder
	b.WriteString("<defs>\n")
	for i := 1; i < min(series, len(shapes)); i++ {
		b.WriteString(`<pattern id="` + s.id + "-p" + itoa(i) + `" class="pattern s` + itoa(i) + `" width="6" height="6" patternUnits="userSpaceOnUse">` +
			`<rect width="6" height="6"/>` + shapes[i] + "</pattern>\n")
	}
	b.WriteString("</defs>\n")
	return b.String()
}

// fill returns the fill attribute of the n-th series' bars: nothing for the
// first, whose class fills it, a pattern for the rest.
func (s *scene) fill(n int) string {
	if n%together == 0 {
		return ""
	}
	return "url(#" + s.id + "-p" + itoa(n%together) + ")"
}

// Standalone returns the drawing as an SVG file of its own, with its styles and
// with colours for light and dark surroundings.
func (d Drawing) Standalone() string {
	style := "<style>\n" + Palette() + Style() + "</style>\n"
	at := strings.Index(d.SVG, ">\n") + 2
	return d.SVG[:at] + style + `<rect class="paper" width="100%" height="100%"/>` + "\n" + d.SVG[at:]
}

// drawable replaces values that no axis can hold by gaps.
func drawable(c analysis.Chart) analysis.Chart {
	c.Series = slices.Clone(c.Series)
	for i := range c.Series {
		s := &c.Series[i]
		s.X, s.Y, s.Low, s.High = finite(s.X), finite(s.Y), finite(s.Low), finite(s.High)
		s.Points = slices.Clone(s.Points)
		for k := range s.Points {
			s.Points[k] = finite(s.Points[k])
		}
	}
	c.Bands = slices.Clone(c.Bands)
	for i := range c.Bands {
		c.Bands[i].From, c.Bands[i].To = held(c.Bands[i].From), held(c.Bands[i].To)
	}
	c.Lines = slices.Clone(c.Lines)
	for i := range c.Lines {
		c.Lines[i].At = held(c.Lines[i].At)
	}
	return c
}

func finite(values []float64) []float64 {
	out := make([]float64, len(values))
	for i, v := range values {
		out[i] = held(v)
	}
	return out
}

// held returns v, or NaN where its size is beyond any quantity of this world.
func held(v float64) float64 {
	const most, least = 1e30, 1e-30
	switch size := math.Abs(v); {
	case size > most:
		return math.NaN()
	case size < least:
		return 0
	}
	return v
}

func empty(c analysis.Chart) bool {
	for _, s := range c.Series {
		for _, v := range s.Y {
			if !math.IsNaN(v) && !math.IsInf(v, 0) {
				return false
			}
		}
	}
	return true
}

// Reach returns how far from the middle a log axis of effects goes, given how far
// each of their intervals does, and whether some interval is cut there: one wild
// interval must not make all others look like points. It is at least least.
func Reach(sizes []float64, least float64) (reach float64, cut bool) {
	if len(sizes) == 0 {
		return math.Max(least, 1), false
	}
	sorted := slices.Sorted(slices.Values(sizes))
	largest, middle := sorted[len(sorted)-1], sorted[len(sorted)/2]
	reach = math.Max(largest*1.06, least)
	if middle > 0 && largest > 4*middle {
		reach = math.Max(2*middle, least)
	}
	if reach == 0 {
		reach = 0.01
	}
	return reach, largest > reach
}

// A span is the range of the values that an axis must hold.
type span struct{ low, high float64 }

func newSpan() span { return span{math.Inf(1), math.Inf(-1)} }

func (r *span) add(log bool, values ...float64) {
	for _, v := range values {
		if math.IsNaN(v) || math.IsInf(v, 0) || (log && v <= 0) {
			continue
		}
		r.low, r.high = math.Min(r.low, v), math.Max(r.high, v)
	}
}

func (r span) ok() bool { return r.low <= r.high }

// widened leaves room at both ends, by a share of the span (of its logarithm).
func (r span) widened(log bool, share float64) span {
	switch {
	case !r.ok() && log:
		return span{1, 10}
	case !r.ok():
		return span{0, 1}
	case log:
		f := math.Pow(r.high/r.low, share)
		if f < 1.0001 {
			f = 1.1
		}
		return span{r.low / f, r.high * f}
	}
	d := (r.high - r.low) * share
	if d == 0 {
		d = math.Max(math.Abs(r.high)*0.1, 1e-12)
	}
	return span{r.low - d, r.high + d}
}

// fromZero extends the span to zero, with room at the far end only.
func (r span) fromZero() span {
	if !r.ok() || (r.low >= 0 && r.high <= 0) {
		return span{0, 1}
	}
	out := span{math.Min(r.low, 0), math.Max(r.high, 0)}
	room := (out.high - out.low) * 0.04
	if out.high > 0 {
		out.high += room
	}
	if out.low < 0 {
		out.low -= room
	}
	return out
}
