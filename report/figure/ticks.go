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
	first, last := math.Ceil(from/step-1e-9), math.Floor(to/step+1e-9)
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

// fits reports whether tick labels set along a horizontal axis stay apart.
func (x axis) fits(size float64) bool {
	const gap = 8
	for i := 1; i < len(x.ticks); i++ {
		left, right := x.ticks[i-1], x.ticks[i]
		room := math.Abs(x.at(right.at) - x.at(left.at))
		if room < (textWidth(left.text, size)+textWidth(right.text, size))/2+gap {
			return false
		}
	}
	return true
}

// valueAxis builds an axis over [from, to] between two pixels, with as many ticks
// as its length has room for. On a horizontal axis the labels must fit side by
// side.
func valueAxis(from, to float64, log bool, a, b float64, unit string, s quantity.Scale) axis {
	x := axis{from: from, to: to, log: log, a: a, b: b}
	horizontal := b > a // vertical axes run up, from a large pixel to a small one
	spacing := 46.0
	if horizontal {
		spacing = 54 // as long as the labels leave room
		if log {
			spacing = 40 // few round values lie on a short log axis
		}
	}
	for n := max(2, int(math.Abs(b-a)/spacing)); n >= 1; n-- {
		if log {
			x.ticks = labelled(logTicks(from, to, n), true, s, unit)
		} else {
			values, _ := linearTicks(from, to, n)
			x.ticks = labelled(values, false, s, unit)
		}
		if !horizontal || x.fits(tickSize) {
			break
		}
	}
	return x
}
