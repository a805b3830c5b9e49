package stats

import "math"

// Line is a straight line fitted by least squares.
type Line struct {
	Intercept  float64
	Slope      float64
	SlopeSE    float64
	ResidualSD float64
	N          int
	Interval   Interval // of the slope
}

// LeastSquares fits y = intercept + slope x with the t interval of the slope on
// n-2 degrees of freedom. It reports false where the rows differ in length or
// all x are alike; with two points the line is there and its interval is NaN.
func LeastSquares(x, y []float64, alpha float64) (Line, bool) {
	n := len(x)
	if n != len(y) || n < 2 {
		return Line{}, false
	}
	mx, my := Mean(x), Mean(y)
	spread := sumOf(n, func(i int) float64 { return (x[i] - mx) * (x[i] - mx) })
	if !(spread > 0) {
		return Line{}, false
	}
	line := Line{Slope: sumOf(n, func(i int) float64 { return (x[i] - mx) * (y[i] - my) }) / spread, N: n}
	line.Intercept = my - line.Slope*mx
	squares := sumOf(n, func(i int) float64 {
		rest := (y[i] - my) - line.Slope*(x[i]-mx)
		return rest * rest
	})
	df := float64(n - 2)
	line.ResidualSD = math.Sqrt(squares / df)
	line.SlopeSE = line.ResidualSD / math.Sqrt(spread)
	half := TQuantile(1-alpha/2, df) * line.SlopeSE
	line.Interval = Interval{line.Slope - half, line.Slope + half}
	return line, true
}
