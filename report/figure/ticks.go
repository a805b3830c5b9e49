package figure

import (
	"math"

	"bakeoff/report/quantity"
)

// A tick is one marked value of an axis.
type tick struct {
	at   float64
	text string
}

// An axis maps values to pixels.
type axis struct {
	from, to float64 // values at its ends
	log      bool
	a, b     float64 // pixels at its ends
	ticks    []tick
}

// at returns the pixel of a value. On a log axis, values that are not positive
// have no place: NaN.
func (x axis) at(v float64) float64 {
	if x.log {
		if v <= 0 {
			return math.NaN()
		}
		return x.a + (x.b-x.a)*math.Log(v/x.from)/math.Log(x.to/x.from)
	}
	return x.a + (x.b-x.a)*(v-x.from)/(x.to-x.from)
}

// clamp returns the pixel of a value, or of the nearest end.
func (x axis) clamp(v float64) float64 {
	return x.at(math.Min(math.Max(v, x.from), x.to))
}

// linearTicks returns about n round values between from and to: steps of 1, 2 or
// 5 times a power of ten. It also returns the step.
func linearTicks(from, to float64, n int) (values []float64, step float64) {
	span := to - from
	if !(span > 0) || math.IsInf(span, 0) || n < 1 {
		return []float64{from}, 0
	}
	step = roundStep(span / float64(n))
	first, last := math.Ceil(from/step-1e-12), math.Floor(to/step+1e-12)
	if last-first > 100 { // the span is lost in the values' size
		return []float64{from}, 0
	}
	for k := first; k <= last; k++ {
		values = append(values, k*step+0) // +0: no minus zero
	}
	return values, step
}

// roundStep returns the least of 1, 2 and 5 times a power of ten that is not
// below raw.
func roundStep(raw float64) float64 {
	power := math.Pow(10, math.Floor(math.Log10(raw)))
	for _, m := range []float64{1, 2, 5} {
		if m*power >= raw*(1-1e-9) {
			return m * power
		}
	}
	return 10 * power
}

// logTicks returns at most about n round values between two positive ones:
// powers of ten (every k-th of them over many decades), with their 2 and 5 fold
// where there is room. Below a decade it falls back to linear steps.
func logTicks(from, to float64, n int) []float64 {
	decades := math.Log10(to / from)
	if decades < 0.7 {
		values, _ := linearTicks(from, to, n)
		return values
	}
	multiples := []float64{1}
	switch {
	case decades*3 <= float64(n):
		multiples = []float64{1, 2, 5}
	case decades*2 <= float64(n):
		multiples = []float64{1, 3}
	}
	every := max(1, int(math.Ceil(decades/float64(max(n, 1)))))
	var values []float64
	for e := int(math.Floor(math.Log10(from))); float64(e) <= math.Log10(to)+1e-9; e++ {
		if e%every != 0 {
			continue
		}
		for _, m := range multiples {
			if v := m * math.Pow10(e); v >= from*(1-1e-9) && v <= to*(1+1e-9) {
				values = append(values, v)
			}
		}
	}
	return values
}

// labelled writes the ticks' texts. Values on a linear axis share the scale that
// its title names; those on a log axis carry their own prefix.
func labelled(values []float64, log bool, s quantity.Scale, unit string) []tick {
	out := make([]tick, len(values))
	decimals := s.Exact(values...)
	for i, v := range values {
		out[i] = tick{v, s.Number(v, decimals)}
		if log {
			out[i].text = quantity.Short(v, unit)
		}
	}
	return out
}

// fits reports whether the ticks' labels stay apart: side by side on a horizontal
// axis, one above the other on a vertical one.
func (x axis) fits() bool {
	const gap = 8
	for i := 1; i < len(x.ticks); i++ {
		left, right := x.ticks[i-1], x.ticks[i]
		need := tickSize + 3
		if x.horizontal() {
			need = (textWidth(left.text, tickSize)+textWidth(right.text, tickSize))/2 + gap
		}
		if math.Abs(x.at(right.at)-x.at(left.at)) < need {
			return false
		}
	}
	return true
}

// horizontal reports whether the axis runs to the right; vertical axes run up, from
// a large pixel to a small one.
func (x axis) horizontal() bool { return x.b > x.a }

// tickLabels writes the labels of a horizontal axis whose first pixel is at left,
// each as near to its tick as the bounds allow. What has no room is left out.
func (s *scene) tickLabels(x axis, left, y, low, high float64) {
	end := math.Inf(-1)
	for _, t := range x.ticks {
		half := textWidth(t.text, tickSize) / 2
		at := math.Min(math.Max(left+x.at(t.at), low+half), high-half)
		if at-half < low-0.1 || at-half < end+5 {
			continue
		}
		end = at + half
		s.word(word{x: at, y: y, text: t.text, anchor: atMiddle, class: "muted", size: tickSize})
	}
}

// valueAxis builds an axis over [from, to] between two pixels, with as many ticks
// as its length and their labels leave room for.
func valueAxis(from, to float64, log bool, a, b float64, unit string, s quantity.Scale) axis {
	x := axis{from: from, to: to, log: log, a: a, b: b}
	spacing := 46.0
	if x.horizontal() {
		spacing = 54
		if log {
			spacing = 40 // few round values lie on a short log axis
		}
	}
	for n := max(2, int(math.Abs(b-a)/spacing)); n >= 1; n-- {
		values, _ := linearTicks(from, to, n)
		if log {
			values = logTicks(from, to, n)
		}
		x.ticks = labelled(values, log, s, unit)
		if x.fits() {
			return x
		}
	}
	x.ticks = x.ticks[:min(1, len(x.ticks))]
	return x
}
