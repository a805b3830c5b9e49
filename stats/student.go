package stats

import (
	"math"

	"gonum.org/v1/gonum/mathext"
	"gonum.org/v1/gonum/stat/distuv"
)

// Interval is a closed stretch of the real line.
type Interval struct{ Low, High float64 }

// Contains reports whether x lies in the interval, its ends included.
func (i Interval) Contains(x float64) bool { return i.Low <= x && x <= i.High }

// HalfWidth is half the interval's length.
func (i Interval) HalfWidth() float64 { return (i.High - i.Low) / 2 }

// Exp maps an interval of logarithms to one of ratios.
func (i Interval) Exp() Interval { return Interval{math.Exp(i.Low), math.Exp(i.High)} }

// TCDF is the probability that Student's t with df degrees of freedom is at
// most t. NaN where df is not above zero.
func TCDF(t, df float64) float64 {
	switch {
	case !(df > 0) || math.IsNaN(t):
		return math.NaN()
	case math.IsInf(df, 1):
		return NormalCDF(t)
	case t == 0:
		return 0.5
	}
	tail := tailT(math.Abs(t), df)
	if t > 0 {
		return 1 - tail
	}
	return tail
}

// tailT is the probability above t >= 0 (Abramowitz and Stegun 26.7.1). Near
// zero it takes the complement, whose argument keeps its digits at large df.
func tailT(t, df float64) float64 {
	if t < 2 && t*t < df {
		return 0.5 * (1 - mathext.RegIncBeta(0.5, df/2, t*t/(df+t*t)))
	}
	return 0.5 * mathext.RegIncBeta(df/2, 0.5, df/(df+t*t))
}

// TQuantile is the value that Student's t with df degrees of freedom stays
// below with probability p: to nine digits up to df 10,000, to six beyond. NaN
// where p is not inside (0, 1) or df not above zero.
func TQuantile(p, df float64) float64 {
	switch {
	case !(p > 0 && p < 1) || !(df > 0):
		return math.NaN()
	case p == 0.5:
		return 0
	case math.IsInf(df, 1):
		return NormalQuantile(p)
	case p < 0.5:
		return -upperT(p, df)
	}
	return upperT(1-p, df)
}

// upperT finds t > 0 with a tail of q < 0.5 above it, by bisection on the
// incomplete beta function: slower than a closed form, and as right as that
// function is.
func upperT(q, df float64) float64 {
	low, high := 0.0, 1.0
	for tailT(high, df) > q && high < 1e300 {
		low, high = high, high*2
	}
	for range 200 {
		mid := low + (high-low)/2
		if mid == low || mid == high {
			break
		}
		if tailT(mid, df) > q {
			low = mid
		} else {
			high = mid
		}
	}
	return low + (high-low)/2
}

// NormalCDF is the standard normal distribution function.
func NormalCDF(z float64) float64 { return 0.5 * math.Erfc(-z/math.Sqrt2) }

// NormalQuantile is the inverse of NormalCDF, NaN outside (0, 1).
func NormalQuantile(p float64) float64 {
	if !(p > 0 && p < 1) {
		return math.NaN()
	}
	return distuv.UnitNormal.Quantile(p)
}

// TInterval is the interval mean ± t sd/√n, with t of df degrees of freedom.
// NaN where n is below 1 or df not above zero.
func TInterval(mean, sd float64, n int, df, alpha float64) Interval {
	if n < 1 {
		return Interval{math.NaN(), math.NaN()}
	}
	half := TQuantile(1-alpha/2, df) * sd / math.Sqrt(float64(n))
	return Interval{mean - half, mean + half}
}

// MeanInterval is the t interval of the mean of independent values.
func MeanInterval(xs []float64, alpha float64) Interval {
	return TInterval(Mean(xs), SD(xs), len(xs), float64(len(xs)-1), alpha)
}

// PairedP is the two-sided p-value of a mean of zero by the t test. It is 1
// where all values are zero and NaN of fewer than two.
func PairedP(xs []float64) float64 {
	n := float64(len(xs))
	if n < 2 {
		return math.NaN()
	}
	mean, sd := Mean(xs), SD(xs)
	if sd == 0 {
		if mean == 0 {
			return 1
		}
		return 0
	}
	return 2 * TCDF(-math.Abs(mean)/(sd/math.Sqrt(n)), n-1)
}

// Bonferroni shares alpha among m comparisons, so that the chance of any false
// one is at most alpha.
func Bonferroni(alpha float64, m int) float64 {
	return alpha / float64(max(m, 1))
}

// Unpaired is a comparison of two independent rows of values.
type Unpaired struct {
	Difference float64 // mean of b - mean of a
	DF         float64 // Satterthwaite's
	Interval   Interval
}

// Welch compares the means of independent rows without assuming equal variances
// (Welch, Biometrika 34, 1947). NaN where a row has fewer than two values.
func Welch(a, b []float64, alpha float64) Unpaired {
	va, vb := Variance(a)/float64(len(a)), Variance(b)/float64(len(b))
	diff := Mean(b) - Mean(a)
	if va+vb == 0 {
		return Unpaired{diff, float64(len(a) + len(b) - 2), Interval{diff, diff}}
	}
	df := (va + vb) * (va + vb) /
		(va*va/float64(len(a)-1) + vb*vb/float64(len(b)-1))
	half := TQuantile(1-alpha/2, df) * math.Sqrt(va+vb)
	return Unpaired{diff, df, Interval{diff - half, diff + half}}
}
