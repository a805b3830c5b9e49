package stats

import (
	"math"
	"slices"
)

// Isotonic returns the least-squares curve that never falls through values y
// with weights w above 0, by pooling adjacent violators (Ayer et al., Annals of
// Mathematical Statistics 26, 1955). The rows have the same length.
func Isotonic(y, w []float64) []float64 {
	type pool struct {
		sum, weight float64
		n           int
	}
	mean := func(p pool) float64 { return p.sum / p.weight }
	var pools []pool
	for i := range y {
		pools = append(pools, pool{y[i] * w[i], w[i], 1})
		for k := len(pools) - 1; k > 0 && mean(pools[k-1]) >= mean(pools[k]); k-- {
			last := pools[k]
			pools = pools[:k]
			pools[k-1].sum += last.sum
			pools[k-1].weight += last.weight
			pools[k-1].n += last.n
		}
	}
	out := make([]float64, 0, len(y))
	for _, p := range pools {
		for range p.n {
			out = append(out, mean(p))
		}
	}
	return out
}

// Unimodal returns the least-squares curve that rises to one mode and falls
// from there (Frisén, The Statistician 35, 1986): of all places of the mode the
// one with the least sum of squares. A curve that only rises or only falls is
// one of them.
func Unimodal(y, w []float64) []float64 {
	var best []float64
	least := math.Inf(1)
	for mode := range y {
		fit := Isotonic(y[:mode+1], w[:mode+1])
		fall, weights := slices.Clone(y[mode+1:]), slices.Clone(w[mode+1:])
		slices.Reverse(fall)
		slices.Reverse(weights)
		fall = Isotonic(fall, weights)
		slices.Reverse(fall)
		fit = append(fit, fall...)
		squares := sumOf(len(y), func(i int) float64 { return w[i] * (y[i] - fit[i]) * (y[i] - fit[i]) })
		if squares < least {
			best, least = fit, squares
		}
	}
	return best
}
