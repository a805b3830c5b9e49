package self

import (
	"math"
	"math/rand/v2"
	"slices"
)

// defaultDraws is how often the bootstrap of a report draws.
const defaultDraws = 10000

// rankView is Wilcoxon's signed-rank test and the interval that inverts it.
type rankView struct {
	p          float64
	low, high  float64
	confidence float64
	interval   bool // the number of blocks allows the confidence
}

// ranksOf works out the exact distribution of the sum of signed ranks, ties at
// their mean rank for the test.
func ranksOf(values []float64, alpha float64) rankView {
	var v rankView
	v.p = signedRankP(values)
	n := len(values)
	if n < 1 || n > 200 {
		return v
	}
	plainRanks := make([]int, n)
	for i := range plainRanks {
		plainRanks[i] = i + 1
	}
	chances := sumChances(plainRanks)
	below, cut := 0.0, 0
	for cut < len(chances) && below+chances[cut] <= alpha/2 {
		below, cut = below+chances[cut], cut+1
	}
	if cut == 0 {
		return v
	}
	var pairs []float64
	for i := range values {
		for _, other := range values[i:] {
			pairs = append(pairs, values[i]+(other-values[i])/2)
		}
	}
	slices.Sort(pairs)
	v.low, v.high, v.confidence, v.interval = pairs[cut-1], pairs[len(pairs)-cut], 1-2*below, true
	return v
}

func signedRankP(values []float64) float64 {
	var sizes []float64
	for _, x := range values {
		if x != 0 {
			sizes = append(sizes, math.Abs(x))
		}
	}
	slices.Sort(sizes)
	if len(sizes) == 0 || len(sizes) > 200 {
		return math.NaN()
	}
	doubled, positive, total := make([]int, 0, len(sizes)), 0, 0
	for _, size := range sizes {
		first, _ := slices.BinarySearch(sizes, size)
		last := first
		for last+1 < len(sizes) && sizes[last+1] == size {
			last++
		}
		doubled = append(doubled, first+last+2)
	}
	for _, rank := range doubled {
		total += rank
	}
	for _, x := range values {
		if x > 0 {
			at, _ := slices.BinarySearch(sizes, x)
			positive += doubled[at]
		}
	}
	tail := 0.0
	for _, chance := range sumChances(doubled)[:min(positive, total-positive)+1] {
		tail += chance
	}
	return min(1, 2*tail)
}

// sumChances is the chance of each sum of ranks when every sign is a fair coin.
func sumChances(ranks []int) []float64 {
	total := 0
	for _, r := range ranks {
		total += r
	}
	chances := make([]float64, total+1)
	chances[0] = 1
	for _, r := range ranks {
		next := make([]float64, total+1)
		for sum, chance := range chances {
			if chance == 0 {
				continue
			}
			next[sum] += chance / 2
			next[sum+r] += chance / 2
		}
		chances = next
	}
	return chances
}

// normalQuantile is the inverse of the standard normal distribution.
func normalQuantile(p float64) float64 { return -math.Sqrt2 * math.Erfcinv(2*p) }

func normalShare(z float64) float64 { return math.Erfc(-z/math.Sqrt2) / 2 }

// bootstrapOf is the bias-corrected and accelerated bootstrap interval of the
// mean. It draws from the plan's seed as the analysis does: another stream would
// give another interval. For the mean, the acceleration has a closed form.
func bootstrapOf(values []float64, alpha float64, draws int, seed uint64) (low, high float64, ok bool) {
	n := len(values)
	if n < 2 || draws < 100 {
		return 0, 0, false
	}
	rng := rand.New(rand.NewPCG(seed, uint64(n)))
	means, pick := make([]float64, draws), make([]float64, n)
	for i := range means {
		for j := range pick {
			pick[j] = values[rng.IntN(n)]
		}
		means[i] = plainMean(pick)
	}
	slices.Sort(means)
	mean := meanOf(values)
	below := 0.0
	for _, m := range means {
		switch {
		case math.Abs(m-mean) <= 1e-14*math.Abs(mean):
			below += 0.5
		case m < mean:
			below++
		}
	}
	bias := normalQuantile(below / float64(draws))
	if means[0] == means[draws-1] || math.IsNaN(bias) || math.IsInf(bias, 0) {
		return 0, 0, false
	}
	var squares, cubes float64
	for _, x := range values {
		d := x - mean
		squares, cubes = squares+d*d, cubes+d*d*d
	}
	acceleration := cubes / (6 * math.Pow(squares, 1.5))
	at := func(p float64) float64 {
		z := bias + normalQuantile(p)
		place := normalShare(bias+z/(1-acceleration*z)) * float64(draws-1)
		i := int(place)
		if i >= draws-1 {
			return means[draws-1]
		}
		return means[i] + (place-float64(i))*(means[i+1]-means[i])
	}
	return at(alpha / 2), at(1 - alpha/2), true
}

// plainMean is for draws, whose rounding changes nothing that is printed.
func plainMean(xs []float64) float64 {
	sum := 0.0
	for _, x := range xs {
		sum += x
	}
	return sum / float64(len(xs))
}

// secondOpinion audits the labelled checks beside a verdict.
func (a *auditor) secondOpinion(s *sheet, m *node, x *expected) {
	c, alpha := x.contrast, 1-x.level
	var pieces []piece
	of := func(what string, v float64) piece {
		return saysNumber(what, truth{value: c.whole(v), slack: max(c.slack(), 1e-12*math.Abs(c.whole(v)))})
	}
	if r := ranksOf(c.values, alpha); r.interval {
		pieces = append(pieces, of("the ranks' low end", r.low), of("the ranks' high end", r.high), saysNumber("their confidence", percentTruth(r.confidence)))
		if r.p < 0.0001 {
			pieces = append(pieces, saysWords("0.0001")...)
		} else {
			pieces = append(pieces, saysNumber("p", plainTruth(r.p)))
		}
	}
	if low, high, ok := bootstrapOf(c.values, alpha, defaultDraws, a.plan.Seed); ok && x.n() >= 20 {
		pieces = append(pieces, saysNumber("the number of draws", countTruth(defaultDraws)), of("the bootstrap's low end", low), of("the bootstrap's high end", high))
	}
	s.speaks(m, "second opinion", pieces...)
}
