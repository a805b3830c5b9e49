package gen

import (
	"bytes"
	"math"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

func TestRangeSizes(t *testing.T) {
	s, err := RangeSizes(10, 59)
	if err != nil {
		t.Fatal(err)
	}
	r, counts := NewRand(1, Stream{}), make([]uint64, 50)
	for range draws {
		counts[s.Next(r)-10]++
	}
	fits(t, counts, even(50))
	if s.Max() != 59 || s.Mean() != 34.5 {
		t.Errorf("max %d, mean %g; want 59, 34.5", s.Max(), s.Mean())
	}
}

func TestWeightedSizes(t *testing.T) {
	s, err := WeightedSizes([]WeightedSize{{32, 5}, {64, 3}, {4096, 2}})
	if err != nil {
		t.Fatal(err)
	}
	r := NewRand(1, Stream{})
	at, counts, byKey := map[int]int{32: 0, 64: 1, 4096: 2}, make([]uint64, 3), make([]uint64, 3)
	for key := range uint64(draws) {
		counts[at[s.Next(r)]]++
		byKey[at[s.Of(5, key)]]++
	}
	p := []float64{0.5, 0.3, 0.2}
	fits(t, counts, p)
	fits(t, byKey, p)
	if want := 0.5*32 + 0.3*64 + 0.2*4096; s.Max() != 4096 || math.Abs(s.Mean()-want) > 1e-9 {
		t.Errorf("max %d, mean %g; want 4096, %g", s.Max(), s.Mean(), want)
	}
}

func TestAliasFitsAnyWeights(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		weights := rapid.SliceOfN(rapid.Float64Range(0.001, 1000), 1, 40).Draw(t, "weights")
		a, sum, got := newAlias(weights), 0.0, make([]float64, len(weights))
		for _, w := range weights {
			sum += w
		}
		for i, c := range a {
			keep := float64(c.keep) / (1 << 32)
			got[i] += keep / float64(len(a))
			got[c.other] += (1 - keep) / float64(len(a))
		}
		for i, w := range weights {
			if math.Abs(got[i]-w/sum) > 1e-8 {
				t.Fatalf("choice %d has probability %g, want %g", i, got[i], w/sum)
			}
		}
	})
}

func TestSizesOfAKeyStay(t *testing.T) {
	s, err := RangeSizes(1, 1000)
	if err != nil {
		t.Fatal(err)
	}
	differ := 0
	for key := range uint64(1000) {
		if s.Of(1, key) != s.Of(1, key) {
			t.Fatal("a key has two sizes")
		}
		if s.Of(1, key) != s.Of(2, key) {
			differ++
		}
	}
	if differ < 900 {
		t.Errorf("another seed changed %d of 1000 sizes", differ)
	}
}

func TestVerifiableValues(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(0, 100).Draw(t, "bytes")
		key, version := rapid.Uint64().Draw(t, "key"), rapid.Uint64().Draw(t, "version")
		v := make([]byte, n)
		FillVerifiable(v, key, version)
		got, err := Verify(v, key)
		if err != nil {
			t.Fatal(err)
		}
		if want := version; n >= versionBytes && got != want || n < versionBytes && got != 0 {
			t.Fatalf("version %d of %d bytes, want %d", got, n, want)
		}
		if n <= versionBytes+1 { // too few bytes to tell for sure
			return
		}
		at := rapid.IntRange(0, n-1).Draw(t, "corrupt")
		v[at] ^= byte(rapid.IntRange(1, 255).Draw(t, "flip"))
		if _, err := Verify(v, key); err == nil && at >= versionBytes {
			t.Fatalf("a value corrupt at byte %d of %d passed", at, n)
		}
	})
}

func TestVerifyTellsWhatIsWrong(t *testing.T) {
	v := make([]byte, 64)
	FillVerifiable(v, 5, 1)
	v[20] ^= 1
	if _, err := Verify(v, 5); err == nil || !strings.Contains(err.Error(), "value of key 5 (64 bytes): found 0x") || !strings.Contains(err.Error(), "at byte 20") {
		t.Errorf("error %v", err)
	}
	v[20] ^= 1
	if _, err := Verify(v, 6); err == nil {
		t.Error("another key's value passed")
	}
	if _, err := Verify(v[:32], 5); err != nil {
		t.Errorf("a value's head is one of its own: %v", err)
	}
	bad := append(bytes.Clone(v[:8]), v[16:]...)
	if _, err := Verify(bad, 5); err == nil {
		t.Error("a value with a hole passed")
	}
}

func TestFill(t *testing.T) {
	b := make([]byte, 20)
	FillConstant(b, 'x')
	if string(b) != strings.Repeat("x", 20) {
		t.Errorf("constant data is %q", b)
	}
	counts, r := make([]uint64, 256), NewRand(1, Stream{Purpose: PurposeData})
	for range draws / 16 {
		FillRandom(b, r)
		for _, c := range b {
			counts[c]++
		}
	}
	fits(t, counts, even(256))
}

func TestBadSpecsAreRefused(t *testing.T) {
	for _, c := range []struct {
		name string
		err  error
		want string
	}{
		{"no keys", keysError(KeySpec{Pattern: Uniform, Workers: 1}), "number of keys: found 0"},
		{"workers", keysError(KeySpec{Pattern: Uniform, Count: 1, Worker: 2, Workers: 2}), "worker of keys: found 2 of 2"},
		{"pattern", keysError(KeySpec{Pattern: "x", Count: 1, Workers: 1}), `key pattern: found "x", expected one of [uniform`},
		{"theta", keysError(KeySpec{Pattern: Zipf, Count: 1, Workers: 1, Theta: math.NaN()}), "theta of zipf keys: found NaN"},
		{"zipf count", keysError(KeySpec{Pattern: Zipf, Count: 1 << 60, Workers: 1, Theta: 1}), "expected at most 2^52"},
		{"deviation", keysError(KeySpec{Pattern: Gaussian, Count: 1, Workers: 1}), "deviation of gaussian keys: found 0"},
		{"centre", keysError(KeySpec{Pattern: Gaussian, Count: 1, Workers: 1, Deviation: 1, Center: 2}), "centre of gaussian keys: found 2"},
		{"hot", keysError(KeySpec{Pattern: Hot, Count: 1, Workers: 1, HotKeys: 1.5}), "hot keys: found 1.5"},
		{"range", sizesError(RangeSizes(5, 4)), "sizes: found 5 to 4 bytes"},
		{"negative", sizesError(FixedSize(-1)), "sizes: found -1 to -1"},
		{"empty list", sizesError(WeightedSizes(nil)), "sizes: found an empty list"},
		{"weight", sizesError(WeightedSizes([]WeightedSize{{1, 0}})), "sizes: found weight 0 for 1 bytes"},
		{"huge", sizesError(WeightedSizes([]WeightedSize{{1 << 40, 1}})), "sizes: found 1099511627776 bytes"},
	} {
		if c.err == nil || !strings.Contains(c.err.Error(), c.want) {
			t.Errorf("%s: error %v, want one with %q", c.name, c.err, c.want)
		}
	}
}

func keysError(s KeySpec) error { _, err := NewKeys(s, NewRand(1, Stream{})); return err }

func sizesError(_ *Sizes, err error) error { return err }
