package gen

import (
	"math"
	"testing"

	"pgregory.net/rapid"
)

// fits applies Pearson's chi-square test: counts against probabilities that sum
// to 1. The seeds are fixed, so the threshold (4.5 deviations by Wilson and
// Hilferty's approximation, one in 300,000) is met always or never.
func fits(t *testing.T, counts []uint64, p []float64) {
	t.Helper()
	var n, chi2 float64
	for _, c := range counts {
		n += float64(c)
	}
	for i, c := range counts {
		want := p[i] * n
		if want < 5 {
			t.Fatalf("bin %d expects only %g draws: too few for the test", i, want)
		}
		chi2 += (float64(c) - want) * (float64(c) - want) / want
	}
	df := float64(len(counts) - 1)
	v := 2 / (9 * df)
	if z := (math.Cbrt(chi2/df) - (1 - v)) / math.Sqrt(v); math.Abs(z) > 4.5 {
		t.Errorf("chi-square %g with %g degrees of freedom: %.1f deviations from what was expected", chi2, df, z)
	}
}

func even(n int) []float64 {
	p := make([]float64, n)
	for i := range p {
		p[i] = 1 / float64(n)
	}
	return p
}

const draws = 400_000

func histogram(t *testing.T, s KeySpec, bins int, bin func(uint64) int) []uint64 {
	t.Helper()
	k, err := NewKeys(s, NewRand(7, Stream{Purpose: PurposeKeys}))
	if err != nil {
		t.Fatal(err)
	}
	counts := make([]uint64, bins)
	for range draws {
		v := k.Next()
		if v >= s.Count {
			t.Fatalf("key %d of %d", v, s.Count)
		}
		counts[bin(v)]++
	}
	return counts
}

func TestRandIsUniform(t *testing.T) {
	for bit := 0; bit <= 56; bit += 8 {
		r, counts := NewRand(1, Stream{}), make([]uint64, 256)
		for range draws {
			counts[r.Uint64()>>bit&255]++
		}
		fits(t, counts, even(256))
	}
}

// TestStreamsAreIndependent pairs the numbers of neighbouring streams.
func TestStreamsAreIndependent(t *testing.T) {
	base := Stream{Instance: 1, Worker: 5, Purpose: PurposeKeys}
	for _, other := range []Stream{{2, 5, PurposeKeys}, {129, 5, PurposeKeys}, {1, 6, PurposeKeys}, {1, 5, PurposeSizes}} {
		for bit := 0; bit <= 60; bit += 12 {
			a, b := NewRand(3, base), NewRand(3, other)
			counts := make([]uint64, 256)
			for range draws {
				counts[a.Uint64()>>bit&15<<4|b.Uint64()>>bit&15]++
			}
			fits(t, counts, even(256))
		}
	}
}

func TestStreamsAreDisjointStretchesOfTheCycle(t *testing.T) {
	stream := rapid.Custom(func(t *rapid.T) Stream {
		return Stream{rapid.Uint8().Draw(t, "instance"), rapid.Uint16().Draw(t, "worker"), Purpose(rapid.IntRange(0, 15).Draw(t, "purpose"))}
	})
	inverse := uint64(1) // of step, modulo 2^64, by Newton's method
	for range 6 {
		inverse *= 2 - step*inverse
	}
	rapid.Check(t, func(t *rapid.T) {
		a, b := stream.Draw(t, "a"), stream.Draw(t, "b")
		seed := rapid.Uint64().Draw(t, "seed")
		apart := (NewRand(seed, a).state - NewRand(seed, b).state) * inverse
		if a != b && min(apart, -apart) < streamLength {
			t.Fatalf("streams %v and %v start %d numbers apart", a, b, apart)
		}
	})
}

func TestTheSameSeedGivesTheSameNumbers(t *testing.T) {
	s := Stream{Worker: 3, Purpose: PurposeData}
	a, b, c := NewRand(9, s), NewRand(9, s), NewRand(10, s)
	same := 0
	for range 1000 {
		x := a.Uint64()
		if x != b.Uint64() {
			t.Fatal("one seed gave two sequences")
		}
		if x == c.Uint64() {
			same++
		}
	}
	if same > 0 {
		t.Fatalf("another seed gave %d equal numbers", same)
	}
}

func TestBelowAndFloat(t *testing.T) {
	r, below, float := NewRand(1, Stream{}), make([]uint64, 100), make([]uint64, 100)
	for range draws {
		below[r.Below(100)]++
		float[int(r.Float()*100)]++
	}
	fits(t, below, even(100))
	fits(t, float, even(100))
}

func TestExpAndNormal(t *testing.T) {
	r, exp, normal := NewRand(2, Stream{}), make([]uint64, 50), make([]uint64, 50)
	for range draws {
		exp[int(50*-math.Expm1(-r.Exp()))]++
		normal[int(50*math.Erfc(-r.Normal()/math.Sqrt2)/2)]++
	}
	fits(t, exp, even(50))
	fits(t, normal, even(50))
}

func TestUniformKeys(t *testing.T) {
	counts := histogram(t, KeySpec{Pattern: Uniform, Count: 1000, Workers: 1}, 1000, func(k uint64) int { return int(k) })
	fits(t, counts, even(1000))
}

func TestGaussianKeys(t *testing.T) {
	const count, bins = 100_000, 40
	s := KeySpec{Pattern: Gaussian, Count: count, Workers: 1, Center: 0.4, Deviation: 0.3}
	counts := histogram(t, s, bins, func(k uint64) int { return int(k * bins / count) })
	cdf := func(x float64) float64 { return math.Erfc(-(x-0.4)/0.3/math.Sqrt2) / 2 }
	p := make([]float64, bins)
	for i := range p {
		p[i] = (cdf(float64(i+1)/bins) - cdf(float64(i)/bins)) / (cdf(1) - cdf(0))
	}
	fits(t, counts, p)
}

func TestHotKeys(t *testing.T) {
	const count = 100
	counts := histogram(t, KeySpec{Pattern: Hot, Count: count, Workers: 1, HotKeys: 0.2, HotDraws: 0.8}, count, func(k uint64) int { return int(k) })
	p := make([]float64, count)
	for i := range p {
		p[i] = 0.2 / 80
		if i < 20 {
			p[i] = 0.8 / 20
		}
	}
	fits(t, counts, p)
}

// TestZipfKeys covers the table and the computed draw, at, below and above
// theta = 1, with the tail of the ranks in one bin.
func TestZipfKeys(t *testing.T) {
	for _, count := range []uint64{1, 2, 1000, aliasKeys, aliasKeys + 1, 1_000_000} {
		for _, theta := range []float64{0.3, 0.99, 1, 1.2, 2.5} {
			zipfFits(t, count, theta)
		}
	}
	// The computed draw must also be right where the table is in use.
	z, counts := newInversion(50, 1, NewRand(4, Stream{})), make([]uint64, 50)
	for range draws {
		counts[z.Next()]++
	}
	fits(t, counts, zipfWeights(50, 1))
}

func zipfWeights(n int, theta float64) []float64 {
	p, sum := make([]float64, n), 0.0
	for i := range p {
		p[i] = math.Pow(float64(i+1), -theta)
		sum += p[i]
	}
	for i := range p {
		p[i] /= sum
	}
	return p
}

func zipfFits(t *testing.T, count uint64, theta float64) {
	t.Helper()
	// Bins: each of the first ranks while they are expected often enough, then
	// ranks in powers of two, the last with the rest.
	p := zipfWeights(int(count), theta)
	binOf := make([]int, count)
	var expected []float64
	for i := range p {
		if len(expected) == 0 || expected[len(expected)-1]*draws >= 50 && (i < 64 || i&(i-1) == 0) {
			expected = append(expected, 0)
		}
		binOf[i] = len(expected) - 1
		expected[binOf[i]] += p[i]
	}
	if last := len(expected) - 1; last > 0 && expected[last]*draws < 50 {
		expected[last-1] += expected[last]
		expected = expected[:last]
	}
	counts := histogram(t, KeySpec{Pattern: Zipf, Count: count, Workers: 1, Theta: theta}, len(expected), func(k uint64) int {
		return min(binOf[k], len(expected)-1)
	})
	if len(expected) == 1 {
		return
	}
	t.Logf("%d keys, theta %g: %d bins", count, theta, len(expected))
	fits(t, counts, expected)
}

func TestEveryKeyInTurn(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		count := rapid.Uint64Range(1, 200).Draw(t, "count")
		workers := rapid.IntRange(1, 20).Draw(t, "workers")
		for _, pattern := range []Pattern{Sequential, Parallel} {
			seen := make([]int, count)
			for w := range workers {
				k, err := NewKeys(KeySpec{Pattern: pattern, Count: count, Worker: w, Workers: workers}, nil)
				if err != nil {
					t.Fatal(err)
				}
				first, last := Share(count, w, workers)
				for range last - first {
					seen[k.Next()]++
				}
			}
			for k, n := range seen {
				if n != 1 {
					t.Fatalf("%s: key %d came %d times in one round of %d workers", pattern, k, n, workers)
				}
			}
		}
	})
}

func TestWorkersBeyondTheKeysShareThem(t *testing.T) {
	for _, pattern := range Patterns() {
		k, err := NewKeys(KeySpec{Pattern: pattern, Count: 2, Worker: 9, Workers: 10, Theta: 1, Center: 0.5, Deviation: 0.2, HotKeys: 0.5, HotDraws: 0.5}, NewRand(1, Stream{}))
		if err != nil {
			t.Fatal(err)
		}
		for range 100 {
			if v := k.Next(); v > 1 {
				t.Fatalf("%s: key %d of 2", pattern, v)
			}
		}
	}
}

func TestSequentialGoesRound(t *testing.T) {
	k, err := NewKeys(KeySpec{Pattern: Sequential, Count: 5, Worker: 1, Workers: 2}, nil)
	if err != nil {
		t.Fatal(err)
	}
	for i, want := range []uint64{1, 3, 0, 2, 4, 1} {
		if got := k.Next(); got != want {
			t.Fatalf("draw %d is %d, want %d", i, got, want)
		}
	}
}

func BenchmarkRand(b *testing.B) {
	r := NewRand(1, Stream{})
	for b.Loop() {
		r.Uint64()
	}
}

func BenchmarkExp(b *testing.B) {
	r := NewRand(1, Stream{})
	b.ReportAllocs()
	for b.Loop() {
		r.Exp()
	}
}

func BenchmarkKeys(b *testing.B) {
	for name, s := range map[string]KeySpec{
		"uniform":      {Pattern: Uniform, Count: 1e6},
		"gaussian":     {Pattern: Gaussian, Count: 1e6, Center: 0.5, Deviation: 0.15},
		"hot":          {Pattern: Hot, Count: 1e6, HotKeys: 0.2, HotDraws: 0.8},
		"zipf-table":   {Pattern: Zipf, Count: aliasKeys, Theta: 0.99},
		"zipf-compute": {Pattern: Zipf, Count: 1e6, Theta: 0.99},
	} {
		s.Workers = 1
		k, err := NewKeys(s, NewRand(1, Stream{}))
		if err != nil {
			b.Fatal(err)
		}
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				k.Next()
			}
		})
	}
}
