package hist

import (
	"math"
	"slices"
	"testing"

	hdr "github.com/HdrHistogram/hdrhistogram-go"
	"pgregory.net/rapid"
)

// values draws latencies that spread over the whole range, not only its top.
func values(t *rapid.T, label string) []int64 {
	return rapid.SliceOfN(rapid.Custom(func(t *rapid.T) int64 {
		bits := rapid.IntRange(0, 41).Draw(t, "magnitude")
		return min(rapid.Int64Range(0, 1<<bits).Draw(t, "value"), Highest)
	}), 1, 300).Draw(t, label)
}

// peer returns the reference implementation with the same geometry.
func peer(vs ...int64) *hdr.Histogram {
	h := hdr.New(1, Highest, SignificantDigits)
	for _, v := range vs {
		if err := h.RecordValue(v); err != nil {
			panic(err)
		}
	}
	return h
}

func from(vs ...int64) *Histogram {
	h := New()
	for _, v := range vs {
		h.Record(v)
	}
	return h
}

// counts returns the counts in HdrHistogram's order.
func counts(h *Histogram) []int64 {
	out := make([]int64, countsLen)
	for r, row := range h.rows {
		for c := range rowSize {
			if row != nil {
				out[r*rowSize+c] = int64(row[c])
			}
		}
	}
	return out
}

func TestBucketsAreThoseOfHdrHistogram(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		vs := values(t, "values")
		h, ref := from(vs...), peer(vs...)
		if !slices.Equal(counts(h), ref.Export().Counts) {
			t.Fatalf("counts differ for %v", vs)
		}
		if h.Min() != ref.Min() || h.Max() != ref.Max() {
			t.Fatalf("min, max = %d, %d; want %d, %d", h.Min(), h.Max(), ref.Min(), ref.Max())
		}
		if !near(h.Mean(), ref.Mean()) || !near(h.StdDev(), ref.StdDev()) {
			t.Fatalf("mean, deviation = %g, %g; want %g, %g", h.Mean(), h.StdDev(), ref.Mean(), ref.StdDev())
		}
	})
}

func near(a, b float64) bool { return math.Abs(a-b) <= 1e-9*max(math.Abs(a), math.Abs(b), 1) }

func TestQuantileIsTheNearestRankOfTheSortedValues(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		vs := values(t, "values")
		h := from(vs...)
		slices.Sort(vs)
		q := rapid.OneOf(rapid.Float64Range(0, 1), rapid.SampledFrom([]float64{0.5, 0.9, 0.95, 0.99, 0.999, 1})).Draw(t, "q")
		rank := len(vs)
		for r := range vs { // the definition, in exact arithmetic on small numbers
			if float64(r+1) >= q*float64(len(vs))*(1-1e-15) {
				rank = r + 1
				break
			}
		}
		exact := vs[rank-1]
		got := h.Quantile(q)
		if q == 0 {
			if got != h.Min() {
				t.Fatalf("Quantile(0) = %d, want the minimum %d", got, h.Min())
			}
			return
		}
		if got < exact || float64(got-exact) > float64(exact)/1000 {
			t.Fatalf("Quantile(%g) of %d values = %d, want %d within 0.1 %%, rounded up", q, len(vs), got, exact)
		}
	})
}

func TestQuantileRank(t *testing.T) {
	h := New()
	for v := int64(1); v <= 100; v++ {
		h.Record(v)
	}
	for _, c := range []struct {
		q    float64
		want int64
	}{{-1, 1}, {0, 1}, {0.001, 1}, {0.01, 1}, {0.07, 7}, {0.5, 50}, {0.501, 51}, {0.99, 99}, {0.995, 100}, {1, 100}, {2, 100}, {math.NaN(), 1}} {
		if got := h.Quantile(c.q); got != c.want {
			t.Errorf("Quantile(%g) = %d, want %d", c.q, got, c.want)
		}
	}
}

func TestMergeIsExact(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		a, b := values(t, "a"), values(t, "b")
		merged := from(a...)
		merged.Merge(from(b...))
		if !slices.Equal(counts(merged), counts(from(append(a, b...)...))) {
			t.Fatal("merged counts differ from counts of all values")
		}
		if !slices.Equal(counts(merged.Clone()), counts(merged)) {
			t.Fatal("clone differs")
		}
	})
}

func TestOutsideTheRange(t *testing.T) {
	h := New()
	h.Record(Highest)
	if h.Overflow() != 0 || h.Count() != 1 {
		t.Fatalf("an hour is in range: overflow %d, count %d", h.Overflow(), h.Count())
	}
	h.RecordN(Highest+1, 2)
	h.Record(math.MaxInt64)
	h.Record(-5)
	if h.Overflow() != 4 || h.Count() != 5 {
		t.Fatalf("overflow %d, count %d; want 4, 5", h.Overflow(), h.Count())
	}
	if h.Min() != 0 || h.Quantile(0.9) != h.Max() || h.Max() < Highest {
		t.Fatalf("min %d, p90 %d, max %d; want 0 and the range's end", h.Min(), h.Quantile(0.9), h.Max())
	}
	sum := New()
	sum.Merge(h)
	if sum.Overflow() != 4 {
		t.Fatalf("merged overflow %d, want 4", sum.Overflow())
	}
	h.Reset()
	if h.Count() != 0 || h.Overflow() != 0 || h.Max() != 0 || h.Quantile(0.5) != 0 || h.Mean() != 0 || h.StdDev() != 0 {
		t.Fatal("a reset histogram is not empty")
	}
}

func TestRecordDoesNotAllocateOnceItsRowsAreThere(t *testing.T) {
	h := from(1, 5000, 1<<30)
	h.Reset()
	if n := testing.AllocsPerRun(100, func() {
		h.Record(1)
		h.RecordN(5000, 3)
		h.Record(1 << 30)
		h.Reset()
	}); n != 0 {
		t.Fatalf("%g allocations, want none", n)
	}
}
