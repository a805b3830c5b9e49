package load

import (
	"math"

	"bakeoff/record"
)

// steadiness judges from the completions in equal, consecutive parts of the
// window whether it was in one state: by the least-squares slope of the rate, and
// by how far any tenth of the window lies from the mean. It is nil where there
// are too few parts.
func steadiness(counts []float64) *record.Steadiness {
	n := len(counts)
	if n < parts {
		return nil
	}
	sum := 0.0
	for _, c := range counts {
		sum += c
	}
	mean := sum / float64(n)
	if mean == 0 {
		return nil
	}
	var sxy, sxx float64
	for i, c := range counts {
		x := float64(i) - float64(n-1)/2
		sxy += x * (c - mean)
		sxx += x * x
	}
	worst := 0.0
	for i := range parts {
		from, to := i*n/parts, (i+1)*n/parts
		tenth := 0.0
		for _, c := range counts[from:to] {
			tenth += c
		}
		worst = max(worst, math.Abs(tenth/float64(to-from)/mean-1))
	}
	return &record.Steadiness{
		SlopePercent: 100 * sxy / sxx * float64(n) / mean, ExcursionPercent: 100 * worst, Intervals: n,
	}
}
