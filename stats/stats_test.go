package stats_test

import (
	"math"
	"testing"

	"pgregory.net/rapid"

	"bakeoff/stats"
)

func rows(min, max int) *rapid.Generator[[]float64] {
	return rapid.SliceOfN(rapid.Float64Range(0.001, 1e6), min, max)
}

func TestTQuantileInvertsTCDF(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		df := rapid.Float64Range(0.5, 1e4).Draw(t, "df")
		p := rapid.Float64Range(1e-6, 1-1e-6).Draw(t, "p")
		q := stats.TQuantile(p, df)
		if got := stats.TCDF(q, df); math.Abs(got-p) > 1e-9*math.Max(p, 1e-3) {
			t.Fatalf("TCDF(TQuantile(%v, %v)) = %v", p, df, got)
		}
		if back := stats.TQuantile(1-p, df); math.Abs(back+q) > 1e-6*math.Max(1, math.Abs(q)) {
			t.Fatalf("quantiles of %v and %v are not symmetric: %v and %v", p, 1-p, q, back)
		}
	})
}

func TestMomentsFollowScaleAndShift(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		xs := rows(2, 50).Draw(t, "xs")
		a := rapid.Float64Range(0.1, 100).Draw(t, "a")
		b := rapid.Float64Range(-1e6, 1e6).Draw(t, "b")
		ys := make([]float64, len(xs))
		for i, x := range xs {
			ys[i] = a*x + b
		}
		scale := math.Abs(a)*1e6 + math.Abs(b)
		if got, want := stats.Mean(ys), a*stats.Mean(xs)+b; math.Abs(got-want) > 1e-12*scale {
			t.Fatalf("mean %v, want %v", got, want)
		}
		if got, want := stats.SD(ys), a*stats.SD(xs); math.Abs(got-want) > 1e-9*scale {
			t.Fatalf("sd %v, want %v", got, want)
		}
	})
}

func TestPairedRatioTurnsRound(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		base := rows(2, 30).Draw(t, "base")
		against := rapid.SliceOfN(rapid.Float64Range(0.001, 1e6), len(base), len(base)).Draw(t, "against")
		there, err := stats.PairedRatio(base, against, 0.05)
		if err != nil {
			t.Fatal(err)
		}
		back, err := stats.PairedRatio(against, base, 0.05)
		if err != nil {
			t.Fatal(err)
		}
		if math.Abs(there.Ratio*back.Ratio-1) > 1e-9 {
			t.Fatalf("ratios %v and %v are not reciprocal", there.Ratio, back.Ratio)
		}
		if math.Abs(math.Log(there.Interval.Low)+math.Log(back.Interval.High)) > 1e-9 {
			t.Fatalf("intervals %v and %v are not reciprocal", there.Interval, back.Interval)
		}
		if !there.Interval.Contains(there.Ratio) {
			t.Fatalf("%v does not contain %v", there.Interval, there.Ratio)
		}
	})
}

func TestSteinNGivesTheHalfWidth(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		pilot := rapid.IntRange(2, 30).Draw(t, "pilot")
		sd := rapid.Float64Range(1e-5, 0.5).Draw(t, "sd")
		half := rapid.Float64Range(1e-3, 0.2).Draw(t, "half")
		alpha := rapid.Float64Range(0.0005, 0.2).Draw(t, "alpha")
		df := float64(pilot - 1)
		n := stats.SteinN(sd, df, alpha, half, pilot)
		if n < pilot {
			t.Fatalf("n %d is below the pilot's %d", n, pilot)
		}
		if n == stats.MaxN {
			return
		}
		width := func(n int) float64 { return stats.TInterval(0, sd, n, df, alpha).HalfWidth() }
		if width(n) > half*(1+1e-9) {
			t.Fatalf("n %d gives a half-width of %v, want %v", n, width(n), half)
		}
		if n > pilot && width(n-1) <= half*(1-1e-9) {
			t.Fatalf("n %d is more than needed: %d gives %v", n, n-1, width(n-1))
		}
	})
}

func TestSteinNEdges(t *testing.T) {
	for _, c := range []struct {
		sd, half float64
		want     int
	}{
		{0, 0.01, 8}, {math.NaN(), 0.01, stats.MaxN}, {0.1, 0, stats.MaxN},
		{0.1, -1, stats.MaxN}, {0.1, math.NaN(), stats.MaxN}, {1e9, 1e-9, stats.MaxN}, {0, 0, stats.MaxN},
		// t(0.975, 7) = 2.3646: (2.3646 x 0.02 / 0.01)^2 = 22.37.
		{0.02, 0.01, 23}, {0.002, 0.01, 8},
	} {
		if got := stats.SteinN(c.sd, 7, 0.05, c.half, 8); got != c.want {
			t.Errorf("SteinN(%v, half-width %v) = %d, want %d", c.sd, c.half, got, c.want)
		}
	}
}

// TestSignedRankByEnumeration compares the exact p-value, ties included, with
// all 2^n signs counted one by one.
func TestSignedRankByEnumeration(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		whole := rapid.SliceOfN(rapid.IntRange(-6, 6), 1, 11).Draw(t, "diffs")
		diffs := make([]float64, len(whole))
		for i, d := range whole {
			diffs[i] = float64(d)
		}
		got := stats.SignedRank(diffs)
		want, n := enumerated(diffs)
		if got.N != n {
			t.Fatalf("N is %d, want %d", got.N, n)
		}
		if n > 0 && math.Abs(got.P-want) > 1e-12 {
			t.Fatalf("p is %v, enumeration gives %v", got.P, want)
		}
	})
}

func enumerated(diffs []float64) (p float64, n int) {
	var kept []float64
	for _, d := range diffs {
		if d != 0 {
			kept = append(kept, d)
		}
	}
	n = len(kept)
	ranks := make([]float64, n)
	for i, d := range kept {
		for _, e := range kept {
			switch {
			case math.Abs(e) < math.Abs(d):
				ranks[i]++
			case math.Abs(e) == math.Abs(d):
				ranks[i] += 0.5
			}
		}
		ranks[i] += 0.5
	}
	total, w := 0.0, 0.0
	for i, r := range ranks {
		total += r
		if kept[i] > 0 {
			w += r
		}
	}
	low, extreme := math.Min(w, total-w), 0
	for signs := range 1 << n {
		sum := 0.0
		for i, r := range ranks {
			if signs>>i&1 == 1 {
				sum += r
			}
		}
		if sum <= low+1e-9 {
			extreme++
		}
	}
	return math.Min(1, 2*float64(extreme)/float64(int(1)<<n)), n
}

func TestSignedRankIntervalAgreesWithTheTest(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		whole := rapid.SliceOfNDistinct(rapid.IntRange(-1000, 1000), 6, 25, rapid.ID).Draw(t, "diffs")
		diffs := make([]float64, len(whole))
		for i, d := range whole {
			diffs[i] = float64(d)
		}
		got, ok := stats.SignedRankInterval(diffs, 0.05)
		if !ok || got.Confidence < 0.95 {
			t.Fatalf("interval %+v, %v", got, ok)
		}
		shifted := func(by float64) float64 {
			out := make([]float64, len(diffs))
			for i, d := range diffs {
				out[i] = d - by
			}
			return stats.SignedRank(out).P
		}
		margin := 0.25 // between the Walsh averages, which are multiples of a half
		if p := shifted(got.Interval.Low - margin); p > 0.05+1e-9 {
			t.Fatalf("just below the interval p is %v", p)
		}
		if p := shifted(got.Interval.High + margin); p > 0.05+1e-9 {
			t.Fatalf("just above the interval p is %v", p)
		}
	})
}

func TestBCaIsSeeded(t *testing.T) {
	xs := []float64{1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 30, 12, 13, 14, 15, 16, 17, 18, 19, 20}
	a, ok := stats.BCa(xs, stats.Mean, 0.05, 2000, 1)
	b, _ := stats.BCa(xs, stats.Mean, 0.05, 2000, 1)
	c, _ := stats.BCa(xs, stats.Mean, 0.05, 2000, 2)
	if !ok || a != b {
		t.Errorf("the same seed gave %v and %v", a, b)
	}
	if a == c {
		t.Errorf("another seed gave the same interval %v", c)
	}
	if !a.Contains(stats.Mean(xs)) {
		t.Errorf("%v does not contain the mean", a)
	}
	for _, none := range [][]float64{nil, {1}, {2, 2, 2, 2}} {
		if got, ok := stats.BCa(none, stats.Mean, 0.05, 2000, 1); ok {
			t.Errorf("%v gave %v", none, got)
		}
	}
}

func TestNothingIsNotZero(t *testing.T) {
	for what, got := range map[string]float64{
		"mean of nothing": stats.Mean(nil), "variance of one": stats.Variance([]float64{1}),
		"geometric mean with a zero": stats.GeometricMean([]float64{1, 0}),
		"geometric mean of nothing":  stats.GeometricMean(nil),
		"median of nothing":          stats.Median(nil), "CV about zero": stats.CV([]float64{-1, 1}),
		"p of one":               stats.PairedP([]float64{1}),
		"interval of one":        stats.MeanInterval([]float64{1}, 0.05).Low,
		"interval of nothing":    stats.TInterval(1, 1, 0, 5, 0.05).High,
		"rank p of all zeros":    stats.SignedRank([]float64{0, 0}).P,
		"cdf without freedom":    stats.TCDF(1, 0),
		"Welch of one":           stats.Welch([]float64{1}, []float64{1, 2}, 0.05).Interval.Low,
		"normal quantile of one": stats.NormalQuantile(1),
	} {
		if !math.IsNaN(got) {
			t.Errorf("%s is %v, want NaN", what, got)
		}
	}
	if _, err := stats.LogRatios([]float64{1, 2}, []float64{1}); err == nil {
		t.Error("unpaired rows gave no error")
	}
	if _, err := stats.LogRatios([]float64{1, 0}, []float64{1, 2}); err == nil {
		t.Error("a zero gave no error")
	}
}

func TestSimpleValues(t *testing.T) {
	near(t, "geometric mean", stats.GeometricMean([]float64{1, 10, 100}), 10, 1e-12)
	near(t, "even median", stats.Median([]float64{4, 1, 3, 2}), 2.5, 0)
	near(t, "odd median", stats.Median([]float64{9, 1, 3}), 3, 0)
	near(t, "CV", stats.CV([]float64{9, 10, 11}), 0.1, 1e-12)
	near(t, "Bonferroni", stats.Bonferroni(0.05, 5), 0.01, 1e-15)
	near(t, "Bonferroni of none", stats.Bonferroni(0.05, 0), 0.05, 0)
	line, ok := stats.LeastSquares([]float64{1, 2, 3}, []float64{2, 4, 6}, 0.05)
	if !ok || line.Slope != 2 || line.SlopeSE != 0 {
		t.Errorf("line %+v", line)
	}
	if _, ok := stats.LeastSquares([]float64{1, 1}, []float64{2, 4}, 0.05); ok {
		t.Error("a vertical line was fitted")
	}
	two, ok := stats.LeastSquares([]float64{1, 2}, []float64{2, 4}, 0.05)
	if !ok || !math.IsNaN(two.Interval.Low) {
		t.Errorf("two points give %+v: no interval can come from them", two)
	}
}
