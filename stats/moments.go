package stats

import (
	"math"
	"slices"
)

// Sum adds with Neumaier's compensation (Neumaier, ZAMM 54, 1974), so that a
// long row of like values loses no digits.
func Sum(xs []float64) float64 {
	return sumOf(len(xs), func(i int) float64 { return xs[i] })
}

// sumOf adds n terms as Sum does, without a slice of them.
func sumOf(n int, term func(i int) float64) float64 {
	var sum, lost float64
	for i := range n {
		x := term(i)
		next := sum + x
		if math.Abs(sum) >= math.Abs(x) {
			lost += (sum - next) + x
		} else {
			lost += (x - next) + sum
		}
		sum = next
	}
	return sum + lost
}

// Mean is the arithmetic mean, NaN of nothing.
func Mean(xs []float64) float64 {
	if len(xs) == 0 {
		return math.NaN()
	}
	// The second pass takes out the rounding of the first.
	mean := Sum(xs) / float64(len(xs))
	return mean + sumOf(len(xs), func(i int) float64 { return xs[i] - mean })/float64(len(xs))
}

// Variance is the sample variance, with n-1 below; NaN of fewer than two
// values. It uses the corrected two-pass algorithm (Chan, Golub and LeVeque,
// The American Statistician 37, 1983).
func Variance(xs []float64) float64 {
	n := float64(len(xs))
	if n < 2 {
		return math.NaN()
	}
	mean := Mean(xs)
	left := sumOf(len(xs), func(i int) float64 { return xs[i] - mean })
	squares := sumOf(len(xs), func(i int) float64 { return (xs[i] - mean) * (xs[i] - mean) })
	return max(0, (squares-left*left/n)/(n-1))
}

// SD is the sample standard deviation, NaN of fewer than two values.
func SD(xs []float64) float64 { return math.Sqrt(Variance(xs)) }

// CV is the coefficient of variation SD/|mean|, as a fraction; NaN of fewer
// than two values or a mean of zero.
func CV(xs []float64) float64 {
	mean := Mean(xs)
	if mean == 0 {
		return math.NaN()
	}
	return SD(xs) / math.Abs(mean)
}

// GeometricMean is the exponential of the mean logarithm. It is NaN of nothing
// and where any value is not above zero.
func GeometricMean(xs []float64) float64 {
	logs, ok := Logs(xs)
	if !ok {
		return math.NaN()
	}
	return math.Exp(Mean(logs))
}

// Logs returns the natural logarithms, and false where a value is not above
// zero or not finite.
func Logs(xs []float64) ([]float64, bool) {
	out := make([]float64, len(xs))
	for i, x := range xs {
		if !(x > 0) || math.IsInf(x, 0) {
			return nil, false
		}
		out[i] = math.Log(x)
	}
	return out, true
}

// Median is the middle value, or the mean of the two middle ones; NaN of nothing.
func Median(xs []float64) float64 {
	if len(xs) == 0 {
		return math.NaN()
	}
	sorted := slices.Sorted(slices.Values(xs))
	n := len(sorted)
	return sorted[(n-1)/2] + (sorted[n/2]-sorted[(n-1)/2])/2
}

// quantileSorted interpolates linearly between order statistics (type 7 of
// Hyndman and Fan, The American Statistician 50, 1996).
func quantileSorted(sorted []float64, p float64) float64 {
	at := p * float64(len(sorted)-1)
	i := int(math.Floor(at))
	if i >= len(sorted)-1 {
		return sorted[len(sorted)-1]
	}
	return sorted[i] + (at-float64(i))*(sorted[i+1]-sorted[i])
}
