package stats_test

import (
	"math"
	"testing"

	"bakeoff/stats"
)

// logRelativeError is the number of right digits, as NIST StRD defines it.
func logRelativeError(got, certified float64) float64 {
	if got == certified {
		return 15
	}
	return -math.Log10(math.Abs(got-certified) / math.Abs(certified))
}

func near(t *testing.T, what string, got, want, tolerance float64) {
	t.Helper()
	if !(math.Abs(got-want) <= tolerance) {
		t.Errorf("%s is %.12g, published is %.12g (tolerance %g)", what, got, want, tolerance)
	}
}

// alternating is the construction of NIST StRD's NumAcc2 to NumAcc4: one value,
// then 500 pairs around it.
func alternating(centre, low, high float64) []float64 {
	xs := []float64{centre}
	for range 500 {
		xs = append(xs, low, high)
	}
	return xs
}

// michelson is Michelson's speed of light in air, 1879 (NIST StRD, Michelso).
func michelson() []float64 {
	return []float64{
		299.85, 299.74, 299.90, 300.07, 299.93, 299.85, 299.95, 299.98, 299.98, 299.88,
		300.00, 299.98, 299.93, 299.65, 299.76, 299.81, 300.00, 300.00, 299.96, 299.96,
		299.96, 299.94, 299.96, 299.94, 299.88, 299.80, 299.85, 299.88, 299.90, 299.84,
		299.83, 299.79, 299.81, 299.88, 299.88, 299.83, 299.80, 299.79, 299.76, 299.80,
		299.88, 299.88, 299.88, 299.86, 299.72, 299.72, 299.62, 299.86, 299.97, 299.95,
		299.88, 299.91, 299.85, 299.87, 299.84, 299.84, 299.85, 299.84, 299.84, 299.84,
		299.89, 299.81, 299.81, 299.82, 299.80, 299.77, 299.76, 299.74, 299.75, 299.76,
		299.91, 299.92, 299.89, 299.86, 299.88, 299.72, 299.84, 299.85, 299.85, 299.78,
		299.89, 299.84, 299.78, 299.81, 299.76, 299.81, 299.79, 299.81, 299.82, 299.85,
		299.87, 299.87, 299.81, 299.74, 299.81, 299.94, 299.95, 299.80, 299.81, 299.87,
	}
}

func TestMomentsAgainstNIST(t *testing.T) {
	// https://www.itl.nist.gov/div898/strd/univ/homepage.html
	for _, c := range []struct {
		name     string
		xs       []float64
		mean, sd float64
		digits   float64 // of the standard deviation
	}{
		{"NumAcc1", []float64{10000001, 10000003, 10000002}, 10000002, 1, 14},
		{"NumAcc2", alternating(1.2, 1.1, 1.3), 1.2, 0.1, 13},
		{"NumAcc3", alternating(1000000.2, 1000000.1, 1000000.3), 1000000.2, 0.1, 9},
		{"NumAcc4", alternating(10000000.2, 10000000.1, 10000000.3), 10000000.2, 0.1, 8},
		{"Michelso", michelson(), 299.852400000000, 0.0790105478190518, 13},
	} {
		if got := logRelativeError(stats.Mean(c.xs), c.mean); got < 14 {
			t.Errorf("%s: mean %v has %.1f right digits, want 14", c.name, stats.Mean(c.xs), got)
		}
		if got := logRelativeError(stats.SD(c.xs), c.sd); got < c.digits {
			t.Errorf("%s: sd %v has %.1f right digits, want %v", c.name, stats.SD(c.xs), got, c.digits)
		}
	}
}

func TestLeastSquaresAgainstNIST(t *testing.T) {
	// NIST StRD, linear regression, Norris (ozone monitors).
	y := []float64{0.1, 338.8, 118.1, 888.0, 9.2, 228.1, 668.5, 998.5, 449.1, 778.9, 559.2, 0.3,
		0.1, 778.1, 668.8, 339.3, 448.9, 10.8, 557.7, 228.3, 998.0, 888.8, 119.6, 0.3,
		0.6, 557.6, 339.3, 888.0, 998.5, 778.9, 10.2, 117.6, 228.9, 668.4, 449.2, 0.2}
	x := []float64{0.2, 337.4, 118.2, 884.6, 10.1, 226.5, 666.3, 996.3, 448.6, 777.0, 558.2, 0.4,
		0.6, 775.5, 666.9, 338.0, 447.5, 11.6, 556.0, 228.1, 995.8, 887.6, 120.2, 0.3,
		0.3, 556.8, 339.1, 887.2, 999.0, 779.0, 11.1, 118.3, 229.2, 669.1, 448.9, 0.5}
	line, ok := stats.LeastSquares(x, y, 0.05)
	if !ok {
		t.Fatal("no line")
	}
	for _, c := range []struct {
		what           string
		got, certified float64
	}{
		{"intercept", line.Intercept, -0.262323073774029},
		{"slope", line.Slope, 1.00211681802045},
		{"standard error of the slope", line.SlopeSE, 0.429796848199937e-03},
		{"residual deviation", line.ResidualSD, 0.884796396144373},
	} {
		if digits := logRelativeError(c.got, c.certified); digits < 11 {
			t.Errorf("%s %.15g has %.1f right digits of %.15g, want 11", c.what, c.got, digits, c.certified)
		}
	}
}

func TestTQuantileAgainstTables(t *testing.T) {
	// NIST/SEMATECH e-Handbook 1.3.6.7.2 and, with more digits, R's qt.
	for _, c := range []struct{ p, df, want, tolerance float64 }{
		{0.90, 1, 3.078, 5e-4}, {0.95, 1, 6.314, 5e-4}, {0.975, 1, 12.706, 5e-4},
		{0.99, 1, 31.821, 5e-4}, {0.995, 1, 63.657, 5e-4}, {0.999, 1, 318.309, 5e-4},
		{0.90, 7, 1.415, 5e-4}, {0.95, 7, 1.895, 5e-4}, {0.975, 7, 2.365, 5e-4},
		{0.99, 7, 2.998, 5e-4}, {0.995, 7, 3.499, 5e-4}, {0.999, 7, 4.785, 5e-4},
		{0.975, 29, 2.045, 5e-4}, {0.975, 100, 1.984, 5e-4}, {0.999, 60, 3.232, 5e-4},
		{0.975, 1, 12.7062047361747, 1e-11}, {0.975, 2, 4.30265272974946, 1e-12},
		{0.975, 5, 2.57058183563631, 1e-12}, {0.975, 7, 2.36462425159278, 1e-12},
		{0.975, 10, 2.22813885198627, 1e-12}, {0.975, 30, 2.04227245630124, 1e-12},
		{0.995, 9, 3.24983554159213, 1e-12},
		{0.025, 10, -2.22813885198627, 1e-12}, {0.5, 4, 0, 0},
		{0.975, math.Inf(1), 1.95996398454005, 1e-12}, {0.975, 1e9, 1.95996398454005, 1e-6},
	} {
		near(t, "t quantile", stats.TQuantile(c.p, c.df), c.want, c.tolerance)
	}
	for _, bad := range [][2]float64{{0, 5}, {1, 5}, {-1, 5}, {0.9, 0}, {0.9, -1}, {math.NaN(), 3}, {0.9, math.NaN()}} {
		if got := stats.TQuantile(bad[0], bad[1]); !math.IsNaN(got) {
			t.Errorf("TQuantile(%v, %v) = %v, want NaN", bad[0], bad[1], got)
		}
	}
}

func TestTIntervalDarwin(t *testing.T) {
	// Darwin's maize, crossed less self-fertilised in eighths of an inch
	// (Fisher, The Design of Experiments, 1935, chapter III): mean 20.933,
	// t = 2.148 on 14 degrees of freedom.
	d := []float64{49, -67, 8, 16, 6, 23, 28, 41, 14, 29, 56, 24, 75, 60, -48}
	near(t, "mean", stats.Mean(d), 20.933, 5e-4)
	near(t, "t", stats.Mean(d)/(stats.SD(d)/math.Sqrt(15)), 2.148, 5e-4)
	got := stats.MeanInterval(d, 0.05)
	near(t, "low", got.Low, 0.03, 0.01)
	near(t, "high", got.High, 41.84, 0.01)
	near(t, "p", stats.PairedP(d), 0.0497, 5e-5)
}

func TestSleep(t *testing.T) {
	// Student's sleep data (Biometrika 6, 1908), as R's documentation of
	// t.test prints them, paired and by Welch.
	a := []float64{0.7, -1.6, -0.2, -1.2, -0.1, 3.4, 3.7, 0.8, 0.0, 2.0}
	b := []float64{1.9, 0.8, 1.1, 0.1, -0.1, 4.4, 5.5, 1.6, 4.6, 3.4}
	d := make([]float64, len(a))
	for i := range a {
		d[i] = a[i] - b[i]
	}
	paired := stats.MeanInterval(d, 0.05)
	near(t, "paired low", paired.Low, -2.4598858, 5e-8)
	near(t, "paired high", paired.High, -0.7001142, 5e-8)
	near(t, "paired p", stats.PairedP(d), 0.002833, 5e-7)
	welch := stats.Welch(b, a, 0.05)
	near(t, "Welch df", welch.DF, 17.776, 5e-4)
	near(t, "Welch low", welch.Interval.Low, -3.3654832, 5e-8)
	near(t, "Welch high", welch.Interval.High, 0.2054832, 5e-8)
}

func TestSignedRankDepression(t *testing.T) {
	// Hamilton depression scale (Hollander and Wolfe, Nonparametric
	// Statistical Methods, 1973, 27-33): V = 40, exact one-sided p 0.01953;
	// estimate 0.46 with the 96.1 % interval 0.010 to 0.786.
	x := []float64{1.83, 0.50, 1.62, 2.48, 1.68, 1.88, 1.55, 3.06, 1.30}
	y := []float64{0.878, 0.647, 0.598, 2.05, 1.06, 1.29, 1.06, 3.14, 1.29}
	d := make([]float64, len(x))
	for i := range x {
		d[i] = x[i] - y[i]
	}
	test := stats.SignedRank(d)
	near(t, "W", test.W, 40, 0)
	near(t, "p", test.P, 2*0.01953, 1e-5)
	got, ok := stats.SignedRankInterval(d, 0.05)
	if !ok {
		t.Fatal("no interval from nine values")
	}
	near(t, "Hodges-Lehmann", got.Center, 0.46, 1e-9)
	near(t, "low", got.Interval.Low, 0.010, 1e-9)
	near(t, "high", got.Interval.High, 0.786, 1e-9)
	near(t, "confidence", got.Confidence, 0.961, 5e-4)
}

func TestSignedRankCriticalValues(t *testing.T) {
	// Two-sided critical values at 0.05: the largest W with p <= 0.05
	// (Siegel, Nonparametric Statistics, 1956, table G, exact part).
	for n, critical := range map[int]int{6: 0, 7: 2, 8: 3, 9: 5, 10: 8, 11: 10, 12: 13, 13: 17, 14: 21, 15: 25} {
		if p := stats.SignedRank(withRankSum(n, critical)).P; p > 0.05 {
			t.Errorf("n %d: W %d has p %v, the table says at most 0.05", n, critical, p)
		}
		if p := stats.SignedRank(withRankSum(n, critical+1)).P; p <= 0.05 {
			t.Errorf("n %d: W %d has p %v, the table says above 0.05", n, critical+1, p)
		}
		_, ok := stats.SignedRankInterval(withRankSum(n, critical), 0.05)
		if !ok {
			t.Errorf("n %d: no interval", n)
		}
	}
	if _, ok := stats.SignedRankInterval([]float64{1, 2, 3, 4, 5}, 0.05); ok {
		t.Error("five values cannot give 95 %: 2/2^5 is above 0.05")
	}
}

// withRankSum makes n differences 1..n whose positive ranks add up to w.
func withRankSum(n, w int) []float64 {
	out := make([]float64, n)
	for rank := n; rank >= 1; rank-- {
		out[rank-1] = -float64(rank)
		if rank <= w {
			out[rank-1], w = float64(rank), w-rank
		}
	}
	return out
}

func TestBCaSpatial(t *testing.T) {
	// Spatial test data A, plug-in variance 171.5, BCa 90 % interval 115.8 to
	// 259.6 (Efron and Tibshirani, An Introduction to the Bootstrap, 1993,
	// 14.2). Theirs comes from 2,000 resamples: hence the tolerance.
	a := []float64{48, 36, 20, 29, 42, 42, 20, 42, 22, 41, 45, 14, 6,
		0, 33, 28, 34, 4, 32, 24, 47, 41, 24, 26, 30, 41}
	variance := func(xs []float64) float64 { return stats.Variance(xs) * float64(len(xs)-1) / float64(len(xs)) }
	near(t, "plug-in variance", variance(a), 171.5, 0.05)
	got, ok := stats.BCa(a, variance, 0.10, 20000, 7)
	if !ok {
		t.Fatal("no interval")
	}
	near(t, "low", got.Low, 115.8, 4)
	near(t, "high", got.High, 259.6, 5)
}
