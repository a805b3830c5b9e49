package stats

import (
	"cmp"
	"math"
	"slices"
)

// maxExactN bounds the signed-rank enumeration; above it the t interval and the
// bootstrap need no second opinion from ranks.
const maxExactN = 200

// SignedRankTest is Wilcoxon's signed-rank test of symmetry about zero.
type SignedRankTest struct {
	N int     // values that are not zero
	W float64 // sum of the ranks of the positive ones
	P float64 // exact and two-sided; NaN where N is 0 or above 200
}

// SignedRank tests whether paired differences are centred on zero (Wilcoxon,
// Biometrics Bulletin 1, 1945). Zeros are left out; ties share their mean rank,
// and the p-value stays exact, given the ties.
func SignedRank(diffs []float64) SignedRankTest {
	values := make([]float64, 0, len(diffs))
	for _, d := range diffs {
		if d != 0 {
			values = append(values, d)
		}
	}
	slices.SortFunc(values, func(a, b float64) int { return cmp.Compare(math.Abs(a), math.Abs(b)) })
	doubled := doubledRanks(values)
	w := 0
	for i, v := range values {
		if v > 0 {
			w += doubled[i]
		}
	}
	out := SignedRankTest{N: len(values), W: float64(w) / 2, P: math.NaN()}
	if out.N == 0 || out.N > maxExactN {
		return out
	}
	dist := rankSums(doubled)
	total := len(dist) - 1
	out.P = min(1, 2*lowerTail(dist, min(w, total-w)))
	return out
}

// doubledRanks gives twice the mid-rank of each value, which is whole even with ties.
func doubledRanks(sorted []float64) []int {
	out := make([]int, len(sorted))
	for i := 0; i < len(sorted); {
		j := i
		for j < len(sorted) && math.Abs(sorted[j]) == math.Abs(sorted[i]) {
			j++
		}
		for k := i; k < j; k++ {
			out[k] = i + 1 + j
		}
		i = j
	}
	return out
}

// rankSums is the exact distribution of the sum of ranks when every sign is a
// fair coin: element s is the probability of the sum s.
func rankSums(ranks []int) []float64 {
	total := 0
	for _, r := range ranks {
		total += r
	}
	dist := make([]float64, total+1)
	dist[0] = 1
	reach := 0
	for _, r := range ranks {
		reach += r
		for s := reach; s >= 0; s-- {
			p := dist[s] / 2
			if s >= r {
				p += dist[s-r] / 2
			}
			dist[s] = p
		}
	}
	return dist
}

func lowerTail(dist []float64, upTo int) float64 { return Sum(dist[:upTo+1]) }

// RankInterval is a location with its distribution-free interval.
type RankInterval struct {
	Center     float64 // Hodges-Lehmann: the median of the Walsh averages
	Interval   Interval
	Confidence float64 // achieved; at least 1-alpha
}

// SignedRankInterval inverts the signed-rank test by Walsh averages (Hollander
// and Wolfe, Nonparametric Statistical Methods, 3.3). It reports false where the
// number of values is too small for 1-alpha, or above 200.
func SignedRankInterval(diffs []float64, alpha float64) (RankInterval, bool) {
	n := len(diffs)
	if n < 1 || n > maxExactN {
		return RankInterval{}, false
	}
	ranks := make([]int, n)
	for i := range ranks {
		ranks[i] = i + 1
	}
	dist := rankSums(ranks)
	below, cut := 0.0, 0
	for cut < len(dist) && below+dist[cut] <= alpha/2 {
		below += dist[cut]
		cut++
	}
	if cut == 0 {
		return RankInterval{}, false
	}
	walsh := walshAverages(diffs)
	return RankInterval{
		Center:     Median(walsh),
		Interval:   Interval{walsh[cut-1], walsh[len(walsh)-cut]},
		Confidence: 1 - 2*below,
	}, true
}

// walshAverages are the means of all pairs, each value with itself included, sorted.
func walshAverages(xs []float64) []float64 {
	out := make([]float64, 0, len(xs)*(len(xs)+1)/2)
	for i := range xs {
		for j := i; j < len(xs); j++ {
			out = append(out, xs[i]+(xs[j]-xs[i])/2)
		}
	}
	slices.Sort(out)
	return out
}
