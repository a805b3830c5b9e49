package stats

import (
	"math"
	"math/rand/v2"
	"slices"
)

// MinBootstrap is the fewest values from which a bootstrap interval is worth
// printing beside a t interval.
const MinBootstrap = 20

// BCa is the bias-corrected and accelerated bootstrap interval of a statistic
// (Efron, Journal of the American Statistical Association 82, 1987). The same
// seed gives the same interval. It reports false where there are too few values
// (below 2), resamples (below 100), or no spread to work on.
func BCa(xs []float64, statistic func([]float64) float64, alpha float64, resamples int, seed uint64) (Interval, bool) {
	if len(xs) < 2 || resamples < 100 {
		return Interval{}, false
	}
	observed := statistic(xs)
	draws := resample(xs, statistic, resamples, seed)
	if draws[0] == draws[len(draws)-1] {
		return Interval{}, false
	}
	bias, ok := biasCorrection(draws, observed)
	if !ok {
		return Interval{}, false
	}
	accel := acceleration(xs, statistic)
	at := func(p float64) float64 {
		z := bias + NormalQuantile(p)
		return quantileSorted(draws, NormalCDF(bias+z/(1-accel*z)))
	}
	return Interval{at(alpha / 2), at(1 - alpha/2)}, true
}

func resample(xs []float64, statistic func([]float64) float64, resamples int, seed uint64) []float64 {
	rng := rand.New(rand.NewPCG(seed, uint64(len(xs))))
	draws, pick := make([]float64, resamples), make([]float64, len(xs))
	for i := range draws {
		for j := range pick {
			pick[j] = xs[rng.IntN(len(xs))]
		}
		draws[i] = statistic(pick)
	}
	slices.Sort(draws)
	return draws
}

// biasCorrection is the normal quantile of the share of draws below what was
// observed, with half of those that equal it.
func biasCorrection(draws []float64, observed float64) (float64, bool) {
	below := 0.0
	for _, d := range draws {
		switch {
		case d < observed:
			below++
		case d == observed:
			below += 0.5
		}
	}
	z := NormalQuantile(below / float64(len(draws)))
	return z, !math.IsNaN(z)
}

// acceleration is the skewness of the jackknife values over six.
func acceleration(xs []float64, statistic func([]float64) float64) float64 {
	left, rest := make([]float64, len(xs)), make([]float64, 0, len(xs)-1)
	for i := range xs {
		rest = append(append(rest[:0], xs[:i]...), xs[i+1:]...)
		left[i] = statistic(rest)
	}
	mean := Mean(left)
	spread := sumOf(len(left), func(i int) float64 { return (mean - left[i]) * (mean - left[i]) })
	if spread == 0 {
		return 0
	}
	skew := sumOf(len(left), func(i int) float64 { return math.Pow(mean-left[i], 3) })
	return skew / (6 * math.Pow(spread, 1.5))
}
