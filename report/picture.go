package report

import (
	"math"
	"strings"

	"bakeoff/analysis"
	"bakeoff/report/figure"
	"bakeoff/report/quantity"
)

// The size of the picture of an interval in the verdict table, in pixels.
const (
	pictureWidth  = 200.0
	pictureHeight = 22.0
)

// effectReach returns how far from 1 the pictures of a table reach, as the
// logarithm of a ratio, and whether some interval is cut there.
func effectReach(findings []analysis.Finding) (reach float64, cut bool) {
	var sizes []float64
	least := 0.0
	for _, f := range findings {
		if f.Scale == "difference" {
			continue
		}
		size := 0.0
		for _, v := range []float64{f.Effect, f.Low, f.High} {
			if v > 0 && !math.IsInf(v, 0) {
				size = math.Max(size, math.Abs(math.Log(v)))
			}
		}
		sizes = append(sizes, size)
		least = math.Max(least, 1.6*math.Log1p(f.Margin))
	}
	return figure.Reach(sizes, least)
}

// effectPicture draws one interval on a logarithmic scale with 1 in the middle
// and the margin shaded. It holds no text: the numbers stand beside it.
func effectPicture(f analysis.Finding, reach float64) string {
	const mid = pictureHeight / 2
	place := func(v float64) float64 {
		if v <= 0 {
			return 0
		}
		share := math.Max(-1, math.Min(1, math.Log(v)/reach))
		return pictureWidth/2 + share*(pictureWidth/2-6)
	}
	n := func(v float64) string { return strings.Replace(quantity.Fixed(v, 1), "−", "-", 1) }
	var b strings.Builder
	b.WriteString(`<svg class="fig picture" aria-hidden="true" viewBox="0 0 200 22" width="200" height="22">`)
	if f.Margin > 0 {
		from, to := place(1/(1+f.Margin)), place(1+f.Margin)
		b.WriteString(`<rect class="band" x="` + n(from) + `" y="0" width="` + n(to-from) + `" height="22"/>`)
	}
	b.WriteString(`<path class="ref" d="M100 0V22"/>`)
	if !math.IsNaN(f.Low) && !math.IsNaN(f.High) && f.High > 0 {
		low, high := place(f.Low), place(f.High)
		b.WriteString(`<path class="whisker" d="M` + n(low) + " " + n(mid) + "H" + n(high) + `"/>`)
		b.WriteString(end(n, low, f.Low <= 0 || math.Log(f.Low) < -reach, -1) + end(n, high, math.Log(f.High) > reach, 1))
	}
	if f.Effect > 0 && math.Abs(math.Log(f.Effect)) <= reach {
		b.WriteString(mark(n, f.Verdict, place(f.Effect), mid))
	}
	b.WriteString("</svg>")
	return b.String()
}

// end draws an interval's cap, or an arrow where it is cut.
func end(n func(float64) string, x float64, cut bool, side float64) string {
	if cut {
		return `<path class="whisker" d="M` + n(x-side*5) + " 7L" + n(x) + " 11L" + n(x-side*5) + ` 15"/>`
	}
	return `<path class="whisker" d="M` + n(x) + ` 7V15"/>`
}

// mark draws the effect itself in the shape of its verdict.
func mark(n func(float64) string, v analysis.Verdict, x, y float64) string {
	switch v {
	case analysis.Better:
		return `<path class="solid" d="M` + n(x) + " " + n(y-5.5) + "L" + n(x+5) + " " + n(y+4) + "L" + n(x-5) + " " + n(y+4) + `Z"/>`
	case analysis.Worse:
		return `<path class="solid" d="M` + n(x) + " " + n(y+5.5) + "L" + n(x+5) + " " + n(y-4) + "L" + n(x-5) + " " + n(y-4) + `Z"/>`
	case analysis.Equivalent:
		return `<path class="solid" d="M` + n(x) + " " + n(y-5.5) + "L" + n(x+5.5) + " " + n(y) + "L" + n(x) + " " + n(y+5.5) + "L" + n(x-5.5) + " " + n(y) + `Z"/>`
	}
	return `<circle class="hollow" cx="` + n(x) + `" cy="` + n(y) + `" r="4"/>`
}
