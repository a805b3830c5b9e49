package figure

import (
	"math"
	"slices"
	"sort"

	"bakeoff/analysis"
	"bakeoff/report/quantity"
)

// The percentile axis is logarithmic in what is left above: each step from 90 to
// 99 to 99.9 % is as wide as the one before, as in HdrHistogram's plots.

// maxGap is how far beyond the last percentile the largest value stands, in
// powers of ten.
const maxGap = 0.5

// tail returns the place of a quantile: -log10(1-q).
func tail(q float64) float64 { return -math.Log10(1 - q) }

// byTail replaces quantiles by their places. The largest value (quantile 1) has
// no place on such an axis: it stands a step beyond the last one.
func byTail(c analysis.Chart) analysis.Chart {
	last := 0.0
	for _, s := range c.Series {
		for _, q := range s.X {
			if q < 1 {
				last = math.Max(last, tail(q))
			}
		}
	}
	series := make([]analysis.Series, len(c.Series))
	for i, s := range c.Series {
		x := make([]float64, len(s.X))
		for k, q := range s.X {
			x[k] = last + maxGap
			if q < 1 {
				x[k] = tail(q)
			}
		}
		s.X = x
		series[i] = s
	}
	c.Series = series
	return c
}

// tailAxis marks the customary percentiles inside the span.
func tailAxis(r span, wide float64) axis {
	if !r.ok() || r.low == r.high {
		r = span{0, 3}
	}
	x := axis{from: math.Min(r.low, 0.301), to: r.high, a: 0, b: wide}
	for _, q := range []float64{0, 0.5, 0.9, 0.99, 0.999, 0.9999, 0.99999, 0.999999} {
		if t := tail(q); t >= x.from-1e-3 && t <= x.to+1e-9 {
			x.ticks = append(x.ticks, tick{t, percentText(q)})
		}
	}
	if n := len(x.ticks); n > 0 && x.to-x.ticks[n-1].at > maxGap-1e-9 && x.to-x.ticks[n-1].at < 1 {
		x.ticks = append(x.ticks, tick{x.to, "max"})
	}
	x.thin()
	return x
}

func percentText(q float64) string {
	percent := q * 100
	return quantity.Fixed(percent, quantity.Scale{Factor: 1}.Exact(percent)) + quantity.Space + "%"
}

// thin drops ticks whose labels would run into the one behind: the ends of an axis
// are what is asked for first.
func (x *axis) thin() {
	var kept []tick
	start := math.Inf(1)
	for _, t := range slices.Backward(x.ticks) {
		half := textWidth(t.text, tickSize) / 2
		if x.at(t.at)+half > start-6 {
			continue
		}
		start = x.at(t.at) - half
		kept = append(kept, t)
	}
	slices.Reverse(kept)
	x.ticks = kept
}

func sortTicks(ticks []tick) []tick {
	sort.SliceStable(ticks, func(i, j int) bool { return ticks[i].at < ticks[j].at })
	return ticks
}
