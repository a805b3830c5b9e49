package stats_test

import (
	"math"
	"math/rand/v2"
	"testing"

	"pgregory.net/rapid"

	"bakeoff/stats"
)

// Points of the law give its parameters back, those at their bounds included.
func TestFitScalability(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		want := stats.Scalability{Rate: rapid.Float64Range(1, 1e6).Draw(t, "rate"),
			Contention: rapid.SampledFrom([]float64{0, 0.01, 0.08, 0.3}).Draw(t, "contention"),
			Coherency:  rapid.SampledFrom([]float64{0, 1e-5, 1e-3, 0.02}).Draw(t, "coherency")}
		var n, x []float64
		for _, workers := range []float64{1, 2, 4, 8, 16, 32}[:rapid.IntRange(4, 6).Draw(t, "points")] {
			n, x = append(n, workers), append(x, want.At(workers))
		}
		got, ok := stats.FitScalability(n, x)
		if !ok || math.Abs(got.Rate/want.Rate-1) > 1e-9 || math.Abs(got.Contention-want.Contention) > 1e-9 || math.Abs(got.Coherency-want.Coherency) > 1e-9 || got.Worst > 1e-9 {
			t.Fatalf("%+v (%t), expected %+v", got, ok, want)
		}
	})
}

// Published: the ray-tracing benchmark of Gunther, Guerrilla Capacity Planning
// (2007), measured at 1 to 64 processors: sigma near 0.05,
// kappa near 5e-6, fitted there to shares of the first point.
func TestFitScalabilityPublished(t *testing.T) {
	n := []float64{1, 4, 8, 12, 16, 20, 24, 28, 32, 48, 64}
	x := []float64{20, 78, 130, 170, 190, 200, 210, 230, 260, 280, 310}
	s, ok := stats.FitScalability(n, x)
	if !ok || math.Abs(s.Contention-0.05) > 0.01 || s.Coherency > 1e-4 {
		t.Errorf("%+v %t", s, ok)
	}
}

// What grows faster than the number of workers is no case of the law: its
// parameters stay at 0 and the distance shows.
func TestFitScalabilityBeyondTheLaw(t *testing.T) {
	s, ok := stats.FitScalability([]float64{1, 2, 4, 8}, []float64{1, 2.6, 6.5, 17})
	if !ok || s.Contention != 0 || s.Coherency != 0 || s.Worst < 0.2 {
		t.Errorf("%+v %t", s, ok)
	}
	for _, c := range [][2][]float64{{{1, 2, 4}, {1, 2, 3}}, {{1, 2, 4, 0}, {1, 2, 3, 4}}, {{1, 2, 4, 8}, {1, 2, 3, -1}}, {{3, 3, 3, 3}, {1, 2, 3, 4}}} {
		if s, ok := stats.FitScalability(c[0], c[1]); ok && len(c[0]) == 4 && c[0][1] != 3 || ok && len(c[0]) == 3 {
			t.Errorf("%v: %+v", c, s)
		}
	}
}

// The jackknife of a mean is its t interval, and that of a curved statistic
// covers as often as it says.
func TestJackknife(t *testing.T) {
	values := []float64{1, 2, 4, 8, 9}
	without := func(i int) float64 {
		sum := 0.0
		for k, v := range values {
			if k != i {
				sum += v
			}
		}
		return sum / 4
	}
	got, want := stats.Jackknife(stats.Mean(values), 5, without, 0.05), stats.MeanInterval(values, 0.05)
	if math.Abs(got.Low-want.Low) > 1e-12 || math.Abs(got.High-want.High) > 1e-12 {
		t.Errorf("%+v, expected %+v", got, want)
	}
	covered := 0
	const runs, blocks = 400, 8
	law := stats.Scalability{Rate: 1000, Contention: 0.05, Coherency: 0.002}
	workers := []float64{1, 2, 4, 8, 16, 32}
	for seed := range uint64(runs) {
		rng := rand.New(rand.NewPCG(seed, 1))
		logs := make([][]float64, blocks)
		for b := range logs {
			for _, n := range workers {
				logs[b] = append(logs[b], math.Log(law.At(n))+0.02*rng.NormFloat64())
			}
		}
		coherency := func(leave int) float64 {
			x := make([]float64, len(workers))
			for i := range workers {
				sum, n := 0.0, 0.0
				for b := range logs {
					if b != leave {
						sum, n = sum+logs[b][i], n+1
					}
				}
				x[i] = math.Exp(sum / n)
			}
			s, _ := stats.FitScalability(workers, x)
			return s.Coherency
		}
		if stats.Jackknife(coherency(-1), blocks, coherency, 0.05).Contains(law.Coherency) {
			covered++
		}
	}
	if share := float64(covered) / runs; share < 0.92 || share > 0.98 {
		t.Errorf("an interval of 95 %% holds the truth in %.1f %% of the runs", 100*share)
	}
}
