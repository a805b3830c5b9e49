package stats_test

import (
	"math"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"bakeoff/stats"
)

func TestUnimodal(t *testing.T) {
	ones := func(n int) []float64 { return slices.Repeat([]float64{1}, n) }
	for _, c := range []struct {
		name       string
		y, w, want []float64
	}{
		{"one mode stays", []float64{1, 3, 4, 2}, ones(4), []float64{1, 3, 4, 2}},
		{"a dip before the mode is levelled", []float64{1, 4, 2, 6, 5}, ones(5), []float64{1, 3, 3, 6, 5}},
		{"a bump after it too", []float64{6, 2, 4, 1}, ones(4), []float64{6, 3, 3, 1}},
		{"weights", []float64{1, 4, 2, 6}, []float64{1, 1, 3, 1}, []float64{1, 2.5, 2.5, 6}},
		{"rising", []float64{1, 2}, ones(2), []float64{1, 2}},
		{"one value", []float64{7}, ones(1), []float64{7}},
	} {
		if got := stats.Unimodal(c.y, c.w); !slices.Equal(got, c.want) {
			t.Errorf("%s: %v, expected %v", c.name, got, c.want)
		}
	}
}

// The fit has one mode, keeps the weighted sum, and no curve with one mode that
// is drawn at random lies nearer to the values.
func TestUnimodalIsNearest(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		y := rapid.SliceOfN(rapid.Float64Range(0, 100), 1, 9).Draw(t, "y")
		w := rapid.SliceOfN(rapid.Float64Range(0.5, 4), len(y), len(y)).Draw(t, "w")
		fit := stats.Unimodal(y, w)
		fallen := false
		for i := 1; i < len(fit); i++ {
			if fit[i] > fit[i-1] && fallen {
				t.Fatalf("%v rises after it fell", fit)
			}
			fallen = fallen || fit[i] < fit[i-1]
		}
		distance := func(c []float64) (sum float64) {
			for i := range c {
				sum += w[i] * (c[i] - y[i]) * (c[i] - y[i])
			}
			return sum
		}
		mode := rapid.IntRange(0, len(y)-1).Draw(t, "mode")
		other := rapid.SliceOfN(rapid.Float64Range(0, 100), len(y), len(y)).Draw(t, "other")
		slices.Sort(other[:mode+1])
		slices.Sort(other[mode:])
		slices.Reverse(other[mode:])
		slices.Sort(other[:mode+1])
		if other[mode] >= slices.Max(other) && distance(other) < distance(fit)*(1-1e-9) {
			t.Fatalf("%v is nearer to %v than %v", other, y, fit)
		}
		if sum := func(c []float64) (s float64) {
			for i := range c {
				s += w[i] * c[i]
			}
			return s
		}; math.Abs(sum(fit)-sum(y)) > 1e-9*sum(y) {
			t.Fatalf("%v does not keep the sum of %v", fit, y)
		}
	})
}
