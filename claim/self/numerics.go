package self

import (
	"math"
	"math/big"
)

// The audit of a report has its own numerics, so that a fault in those of the
// analysis shows: sums are exact to 300 bits, and Student's t comes from the
// finite series for whole degrees of freedom.

const exactBits = 300

// totalOf adds exactly to exactBits.
func totalOf(xs []float64) *big.Float {
	sum := new(big.Float).SetPrec(exactBits)
	for _, x := range xs {
		sum.Add(sum, new(big.Float).SetPrec(exactBits).SetFloat64(x))
	}
	return sum
}

func bigMean(xs []float64) *big.Float {
	n := new(big.Float).SetPrec(exactBits).SetInt64(int64(len(xs)))
	return new(big.Float).SetPrec(exactBits).Quo(totalOf(xs), n)
}

// meanOf is the arithmetic mean; NaN of nothing.
func meanOf(xs []float64) float64 {
	if len(xs) == 0 {
		return math.NaN()
	}
	mean, _ := bigMean(xs).Float64()
	return mean
}

// deviationOf is the sample standard deviation, with n-1 below; NaN of fewer
// than two values.
func deviationOf(xs []float64) float64 {
	if len(xs) < 2 {
		return math.NaN()
	}
	mean := bigMean(xs)
	sum := new(big.Float).SetPrec(exactBits)
	for _, x := range xs {
		d := new(big.Float).SetPrec(exactBits).SetFloat64(x)
		d.Sub(d, mean)
		sum.Add(sum, d.Mul(d, d))
	}
	sum.Quo(sum, new(big.Float).SetInt64(int64(len(xs)-1)))
	sd, _ := sum.Sqrt(sum).Float64()
	return sd
}

// logsOf returns the logarithms, and false where a value has none.
func logsOf(xs []float64) ([]float64, bool) {
	out := make([]float64, len(xs))
	for i, x := range xs {
		if !(x > 0) || math.IsInf(x, 0) {
			return nil, false
		}
		out[i] = math.Log(x)
	}
	return out, true
}

// within is the probability that Student's t with df degrees of freedom lies
// between -t and t, where theta is atan(t/√df): the finite series of
// Abramowitz and Stegun, 26.7.3 and 26.7.4.
func within(theta float64, df int) float64 {
	sin, cos := math.Sincos(theta)
	if df == 1 {
		return 2 * theta / math.Pi
	}
	term, sum := 1.0, 1.0
	first := 2 // of the factors below
	if df%2 == 1 {
		term, sum, first = cos, cos, 3
	}
	for k := first; k <= df-2; k += 2 {
		term *= cos * cos * float64(k-1) / float64(k)
		sum += term
	}
	if df%2 == 1 {
		return 2 / math.Pi * (theta + sin*sum)
	}
	return sin * sum
}

// criticalT is the t that Student's distribution with df degrees of freedom
// exceeds on either side with a probability of alpha in all.
func criticalT(alpha float64, df int) float64 {
	if df < 1 || !(alpha > 0 && alpha < 1) {
		return math.NaN()
	}
	low, high := 0.0, math.Pi/2
	for range 100 {
		middle := low + (high-low)/2
		if 1-within(middle, df) > alpha {
			low = middle
		} else {
			high = middle
		}
	}
	return math.Tan(low+(high-low)/2) * math.Sqrt(float64(df))
}

// blocksFor is Stein's second stage: the least number of blocks, not below
// floor, whose interval has the half-width; the greatest number there is where
// none does. The second result is the number before it was rounded up.
func blocksFor(sd float64, df int, alpha, half float64, floor int) (int, float64) {
	if sd == 0 && half > 0 {
		return floor, float64(floor)
	}
	root := criticalT(alpha, df) * sd / half
	n := root * root
	if !(half > 0) || !(math.Ceil(n) < math.MaxInt32) {
		return math.MaxInt32, n
	}
	return max(floor, int(math.Ceil(n))), n
}

// slope is the least-squares slope over x, with the half-width of its t
// interval; false where there are fewer than three points or x does not vary.
func slope(xs, ys []float64, alpha float64) (b, half float64, ok bool) {
	n := len(xs)
	if n < 3 {
		return 0, 0, false
	}
	mx, my := meanOf(xs), meanOf(ys)
	var sxx, sxy float64
	for i := range xs {
		sxx += (xs[i] - mx) * (xs[i] - mx)
		sxy += (xs[i] - mx) * (ys[i] - my)
	}
	if sxx == 0 {
		return 0, 0, false
	}
	b = sxy / sxx
	var left float64
	for i := range xs {
		r := ys[i] - my - b*(xs[i]-mx)
		left += r * r
	}
	return b, criticalT(alpha, n-2) * math.Sqrt(left/float64(n-2)/sxx), true
}

// ceil returns the least whole number that is not below v.
func ceil(v *big.Rat) *big.Int {
	q, m := new(big.Int).DivMod(v.Num(), v.Denom(), new(big.Int))
	if m.Sign() > 0 {
		q.Add(q, big.NewInt(1))
	}
	return q
}
