package bench

import (
	"testing"

	hdr "github.com/HdrHistogram/hdrhistogram-go"

	"bakeoff/hist"
	"bakeoff/load/gen"
)

// BenchmarkHist compares our histogram's record with that of the reference
// implementation, on latencies around 100 us. The target is under 3 ns.
func BenchmarkHist(b *testing.B) {
	const mask = 1<<12 - 1
	values, r := make([]int64, mask+1), gen.NewRand(1, gen.Stream{})
	for i := range values {
		values[i] = int64(100_000 * r.Exp())
	}
	b.Run("record/hist", func(b *testing.B) {
		h := hist.New()
		for i := 0; b.Loop(); i++ {
			h.Record(values[i&mask])
		}
	})
	b.Run("record/hdrhistogram-go", func(b *testing.B) {
		h := hdr.New(1, hist.Highest, hist.SignificantDigits)
		for i := 0; b.Loop(); i++ {
			if err := h.RecordValue(values[i&mask]); err != nil {
				b.Fatal(err)
			}
		}
	})
	full := hist.New()
	for _, v := range values {
		full.Record(v)
	}
	b.Run("merge/hist", func(b *testing.B) {
		h := hist.New()
		for b.Loop() {
			h.Merge(full)
		}
	})
	b.Run("quantile/hist", func(b *testing.B) {
		for b.Loop() {
			full.Quantile(0.99)
		}
	})
}
