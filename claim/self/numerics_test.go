package self

import (
	"math"
	"math/rand/v2"
	"testing"

	"pgregory.net/rapid"

	"bakeoff/stats"
)

func near(a, b, share float64) bool { return math.Abs(a-b) <= share*math.Max(math.Abs(a), math.Abs(b)) }

// TestCriticalTIsThatOfTables takes values from the tables of Fisher and Yates
// and of Abramowitz and Stegun (26.10).
func TestCriticalTIsThatOfTables(t *testing.T) {
	tests := []struct {
		df    int
		alpha float64
		want  float64
	}{
		{1, 0.05, 12.706}, {1, 0.01, 63.657}, {2, 0.05, 4.303}, {3, 0.01, 5.841}, {4, 0.001, 8.610}, {7, 0.05, 2.365}, {7, 0.025, 2.841},
		{10, 0.1, 1.812}, {15, 0.02, 2.602}, {29, 0.05, 2.045}, {30, 0.05, 2.042}, {60, 0.01, 2.660}, {120, 0.05, 1.980},
	}
	for _, tt := range tests {
		if got := criticalT(tt.alpha, tt.df); math.Abs(got-tt.want) > 0.0006 {
			t.Errorf("t of %d degrees at %v is %v, want %v", tt.df, tt.alpha, got, tt.want)
		}
	}
	for _, bad := range []float64{criticalT(0.05, 0), criticalT(0, 5), criticalT(1, 5), criticalT(math.NaN(), 5)} {
		if !math.IsNaN(bad) {
			t.Errorf("got %v, want NaN", bad)
		}
	}
}

// TestTwoWaysToOneNumber compares the numerics here with those of package stats,
// which the analysis uses: neither knows of the other.
func TestTwoWaysToOneNumber(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		df := rapid.IntRange(1, 400).Draw(t, "df")
		alpha := rapid.Float64Range(1e-5, 0.5).Draw(t, "alpha")
		if a, b := criticalT(alpha, df), stats.TQuantile(1-alpha/2, float64(df)); !near(a, b, 2e-11) {
			t.Errorf("t of %d at %v: %v and %v", df, alpha, a, b)
		}
		xs := rapid.SliceOfN(rapid.Float64Range(0.5, 2), 2, 30).Draw(t, "xs")
		if a, b := meanOf(xs), stats.Mean(xs); !near(a, b, 1e-15) {
			t.Errorf("means %v and %v", a, b)
		}
		if a, b := deviationOf(xs), stats.SD(xs); math.Abs(a-b) > 1e-14 {
			t.Errorf("deviations %v and %v", a, b)
		}
		n, _ := blocksFor(deviationOf(xs), df, alpha, 0.01, 3)
		if want := stats.SteinN(stats.SD(xs), float64(df), alpha, 0.01, 3); n != want {
			t.Errorf("blocks %d and %d", n, want)
		}
		logs, _ := logsOf(xs)
		r, test := ranksOf(logs, alpha), stats.SignedRank(logs)
		within, ok := stats.SignedRankInterval(logs, alpha)
		if ok != r.interval || ok && (r.low != within.Interval.Low || r.high != within.Interval.High) || !near(r.p, test.P, 1e-12) && test.N > 0 {
			t.Errorf("ranks %+v, and %+v %+v", r, test, within)
		}
	})
}

// TestTheBootstrapIsThatOfTheAnalysis: the same stream gives the same interval.
// Values that tie make the share of draws below the mean a matter of rounding.
func TestTheBootstrapIsThatOfTheAnalysis(t *testing.T) {
	rng := rand.New(rand.NewPCG(5, 5))
	for n := 20; n < 60; n += 7 {
		xs := make([]float64, n)
		for i := range xs {
			xs[i] = rng.ExpFloat64() - 0.5
		}
		low, high, ok := bootstrapOf(xs, 0.025, 2000, 9)
		want, wanted := stats.BCa(xs, stats.Mean, 0.025, 2000, 9)
		if !ok || !wanted || !near(low, want.Low, 1e-9) || !near(high, want.High, 1e-9) {
			t.Errorf("%d values: %v to %v, and %+v", n, low, high, want)
		}
	}
	if _, _, ok := bootstrapOf([]float64{1, 1, 1}, 0.05, 500, 1); ok {
		t.Error("an interval of values without spread")
	}
}

func TestSignedRank(t *testing.T) {
	// Darwin's maize, 15 pairs in eighths of an inch: V is 96 and the exact
	// two-sided p 0.04126 (Fisher, The Design of Experiments, gives the pairs).
	diffs := []float64{49, -67, 8, 16, 6, 23, 28, 41, 14, 29, 56, 24, 75, 60, -48}
	if p := signedRankP(diffs); !near(p, 0.04126, 1e-4) {
		t.Errorf("p is %v, want 0.04126", p)
	}
	if p := signedRankP([]float64{1, 2, 3, 4, 5, 6, 7, 8}); !near(p, 2.0/256, 1e-12) {
		t.Errorf("p of eight of one sign is %v, want 2 / 2^8", p)
	}
	if p := signedRankP([]float64{0, 0}); !math.IsNaN(p) {
		t.Errorf("p of nothing is %v", p)
	}
}

func TestSlope(t *testing.T) {
	b, half, ok := slope([]float64{1, 2, 3, 4, 5}, []float64{2.2, 3.9, 6.1, 8.0, 9.8}, 0.05)
	if !ok || !near(b, 1.93, 1e-12) || !near(half, 0.13121, 1e-4) {
		t.Errorf("slope %v ± %v", b, half)
	}
	if _, _, ok := slope([]float64{1, 1, 1}, []float64{1, 2, 3}, 0.05); ok {
		t.Error("a slope over one place")
	}
}
