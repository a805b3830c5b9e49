package analysis

import (
	"fmt"
	"math"
	"strings"

	"bakeoff/stats"
)

// secondOpinion checks a verdict's interval by methods that assume less: exact
// signed ranks where the number of blocks allows the confidence, and a BCa
// bootstrap from 20 blocks. They are labelled checks and change no verdict.
func (j *judge) secondOpinion(c contrast, f Finding) string {
	var parts []string
	test := stats.SignedRank(c.values)
	if within, ok := stats.SignedRankInterval(c.values, 1-f.Level); ok {
		low, high := c.whole(within.Interval.Low), c.whole(within.Interval.High)
		parts = append(parts, fmt.Sprintf("exact signed-rank: %s to %s at %s %%, p = %s (%s)",
			plain4(low), plain4(high), percentText(within.Confidence), probability(test.P), agreement(f, low, high)))
	}
	if len(c.values) >= stats.MinBootstrap && j.options.resamples() > 0 {
		within, ok := stats.BCa(c.values, stats.Mean, 1-f.Level, j.options.resamples(), j.plan.Seed)
		if ok {
			low, high := c.whole(within.Low), c.whole(within.High)
			parts = append(parts, fmt.Sprintf("BCa bootstrap of %d resamples: %s to %s (%s)",
				j.options.resamples(), plain4(low), plain4(high), agreement(f, low, high)))
		}
	}
	return strings.Join(parts, "; ")
}

// agreement compares the verdict that another interval would give.
func agreement(f Finding, low, high float64) string {
	other := f
	other.Low, other.High = low, high
	if got := verdict(other); got != verdict(f) {
		return "would be " + string(got)
	}
	return "agrees"
}

func probability(p float64) string {
	switch {
	case math.IsNaN(p):
		return "not known"
	case p < 0.0001:
		return "below 0.0001"
	}
	return plain(p)
}

// percentText writes a confidence without claiming more of it: 99.1667 % is 99.17.
func percentText(level float64) string {
	text := fmt.Sprintf("%.2f", 100*level)
	return strings.TrimSuffix(strings.TrimRight(text, "0"), ".")
}

// plain4 writes a ratio or a difference with four significant digits.
func plain4(v float64) string {
	if v == 0 || math.IsNaN(v) || math.IsInf(v, 0) {
		return plain(v)
	}
	decimals := 3 - int(math.Floor(math.Log10(math.Abs(v))))
	return fmt.Sprintf("%.*f", min(max(decimals, 0), 12), v)
}
