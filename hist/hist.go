// Package hist holds the histogram that every latency goes through, and reads
// and writes it as others do: the HdrHistogram interval log and the percentile
// table.
//
// The buckets are those of an HdrHistogram for 1 ns to 1 h with three
// significant digits, so that conversion either way is exact. A Histogram is
// nothing but its counts: what is computed from it is the same before and after
// it was merged, written and read.
package hist

import (
	"math"
	"math/bits"
)

// The range and the resolution of a Histogram.
const (
	Highest            = 3_600_000_000_000 // ns: an hour
	SignificantDigits  = 3                 // a value is known to better than 0.1 %
	subBucketMagnitude = 11                // 2048 sub-buckets: unit resolution up to 2 * 10^3
	rowSize            = 1 << (subBucketMagnitude - 1)
	rowCount           = 33 // the first two rows are linear, each further one spans a power of two
	countsLen          = rowCount * rowSize
)

// A Histogram counts values of 1 ns to 1 h (and 0) with three significant
// digits. The zero value is empty and ready. It allocates 8 KiB for each power
// of two in which values fall, once. It is not safe for concurrent use.
type Histogram struct {
	rows     [rowCount]*[rowSize]uint64
	overflow uint64
}

// New returns an empty histogram.
func New() *Histogram { return new(Histogram) }

// Record counts one value, in nanoseconds.
func (h *Histogram) Record(ns int64) { h.RecordN(ns, 1) }

// RecordN counts one value, in nanoseconds, n times. A value above Highest
// counts as Highest, a negative one as 0, and both in Overflow too.
func (h *Histogram) RecordN(ns int64, n uint64) {
	if uint64(ns) > Highest {
		h.recordOutside(ns, n)
		return
	}
	i := index(uint64(ns))
	row := h.rows[i/rowSize]
	if row == nil {
		row = h.addRow(i / rowSize)
	}
	row[i%rowSize] += n
}

// index returns the position of a value among the counts of an HdrHistogram
// with a lowest discernible value of 1 and three significant digits.
func index(v uint64) uint {
	shift := uint(bits.Len64(v|(1<<subBucketMagnitude-1))) - subBucketMagnitude
	return shift*rowSize + uint(v>>(shift&63))
}

// lowest returns the lowest value counted at an index, and how many
// consecutive values are.
func lowest(i uint) (value, width int64) {
	if i < 2*rowSize {
		return int64(i), 1
	}
	shift := i/rowSize - 1
	return int64(i%rowSize+rowSize) << shift, 1 << shift
}

func (h *Histogram) addRow(r uint) *[rowSize]uint64 {
	h.rows[r] = new([rowSize]uint64)
	return h.rows[r]
}

func (h *Histogram) recordOutside(ns int64, n uint64) {
	h.overflow += n
	if ns < 0 {
		h.RecordN(0, n)
		return
	}
	h.RecordN(Highest, n)
}

// Merge adds the counts of another histogram, exactly.
func (h *Histogram) Merge(o *Histogram) {
	h.overflow += o.overflow
	for r, from := range o.rows {
		if from == nil {
			continue
		}
		to := h.rows[r]
		if to == nil {
			to = h.addRow(uint(r))
		}
		for i, n := range from {
			to[i] += n
		}
	}
}

// Reset empties the histogram and keeps its memory.
func (h *Histogram) Reset() {
	h.overflow = 0
	for _, row := range h.rows {
		if row != nil {
			clear(row[:])
		}
	}
}

// Clone returns a histogram with the same counts.
func (h *Histogram) Clone() *Histogram {
	c := New()
	c.Merge(h)
	return c
}

// Count returns how many values were recorded, those outside the range included.
func (h *Histogram) Count() uint64 {
	var total uint64
	for _, row := range h.rows {
		if row == nil {
			continue
		}
		for _, n := range row {
			total += n
		}
	}
	return total
}

// Overflow returns how many values were outside 0 to Highest. They are counted
// at the nearest end, so that a percentile there is a bound, not a measurement.
func (h *Histogram) Overflow() uint64 { return h.overflow }

// A Bucket is a count of values that the histogram does not tell apart.
type Bucket struct {
	Low, High int64 // ns, both included
	Count     uint64
}

// Buckets yields the buckets that are not empty, in rising order.
func (h *Histogram) Buckets(yield func(Bucket) bool) {
	for r, row := range h.rows {
		if row == nil {
			continue
		}
		for c, n := range row {
			if n == 0 {
				continue
			}
			low, width := lowest(uint(r*rowSize + c))
			if !yield(Bucket{Low: low, High: low + width - 1, Count: n}) {
				return
			}
		}
	}
}

// Min returns the lowest value, in nanoseconds, to the histogram's resolution,
// rounded down; 0 where the histogram is empty.
func (h *Histogram) Min() int64 {
	for b := range h.Buckets {
		return b.Low
	}
	return 0
}

// Max returns the highest value, in nanoseconds, to the histogram's resolution,
// rounded up; 0 where the histogram is empty.
func (h *Histogram) Max() int64 {
	for r := rowCount - 1; r >= 0; r-- {
		row := h.rows[r]
		if row == nil {
			continue
		}
		for c := rowSize - 1; c >= 0; c-- {
			if row[c] != 0 {
				low, width := lowest(uint(r*rowSize + c))
				return low + width - 1
			}
		}
	}
	return 0
}

// Quantile returns the lowest value, rounded up to the histogram's resolution,
// that a fraction q (0 to 1) of the values do not exceed: the nearest-rank
// definition, as HdrHistogram has it. At q = 0 it is Min; it is 0 where the
// histogram is empty.
func (h *Histogram) Quantile(q float64) int64 {
	if !(q > 0) {
		return h.Min()
	}
	rank := h.rank(q)
	var seen uint64
	for b := range h.Buckets {
		seen += b.Count
		if seen >= rank {
			return b.High
		}
	}
	return 0
}

// rank returns which value, counted from 1 upwards, stands at a quantile.
func (h *Histogram) rank(q float64) uint64 {
	total := h.Count()
	if q >= 1 {
		return total
	}
	// 0.07 * 100 is 7.000000000000001 in binary: one step down, lest the
	// rank be 8.
	r := math.Ceil(math.Nextafter(q, 0) * float64(total))
	return min(max(uint64(r), 1), total)
}

// Mean returns the mean in nanoseconds, each value taken at the middle of its
// bucket as HdrHistogram does; 0 where the histogram is empty.
func (h *Histogram) Mean() float64 {
	var sum, total float64
	for b := range h.Buckets {
		sum += float64(b.Count) * b.middle()
		total += float64(b.Count)
	}
	if total == 0 {
		return 0
	}
	return sum / total
}

// StdDev returns the standard deviation of the values (divided by their
// number) in nanoseconds, taken as in Mean; 0 where the histogram is empty.
func (h *Histogram) StdDev() float64 {
	mean := h.Mean()
	var sum, total float64
	for b := range h.Buckets {
		d := b.middle() - mean
		sum += d * d * float64(b.Count)
		total += float64(b.Count)
	}
	if total == 0 {
		return 0
	}
	return math.Sqrt(sum / total)
}

// middle is HdrHistogram's median equivalent value.
func (b Bucket) middle() float64 { return float64(b.Low + (b.High-b.Low+1)/2) }
