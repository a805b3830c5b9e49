package hist

import (
	"bufio"
	"fmt"
	"io"
	"math"
)

// WriteHGRM writes the percentile table that HdrHistogram's plotters read
// (.hgrm): value, percentile as a fraction, count up to it, and 1/(1-percentile),
// with ticks lines for each halving of the distance to 100 %. Values are
// divided by unit: 1e6 writes nanoseconds as milliseconds.
func WriteHGRM(w io.Writer, h *Histogram, ticks int, unit float64) error {
	if ticks < 1 || !(unit > 0) {
		return fmt.Errorf("writing a percentile table: found %d ticks a half-distance and unit %g, expected both above 0", ticks, unit)
	}
	b := bufio.NewWriter(w)
	fmt.Fprintf(b, "%12s %14s %10s %14s\n\n", "Value", "Percentile", "TotalCount", "1/(1-Percentile)")
	h.percentiles(ticks, func(value int64, fraction float64, count uint64) {
		v := float64(value) / unit
		if fraction >= 1 {
			fmt.Fprintf(b, "%12.3f %2.12f %10d\n", v, 1.0, count)
			return
		}
		fmt.Fprintf(b, "%12.3f %2.12f %10d %14.2f\n", v, fraction, count, 1/(1-fraction))
	})
	fmt.Fprintf(b, "#[Mean    = %12.3f, StdDeviation   = %12.3f]\n", h.Mean()/unit, h.StdDev()/unit)
	fmt.Fprintf(b, "#[Max     = %12.3f, Total count    = %12d]\n", float64(h.Max())/unit, h.Count())
	fmt.Fprintf(b, "#[Buckets = %12d, SubBuckets     = %12d]\n", rowCount-1, 1<<subBucketMagnitude)
	if err := b.Flush(); err != nil {
		return fmt.Errorf("writing a percentile table: %w", err)
	}
	return nil
}

// percentiles calls line for each step of the table: the steps narrow by half
// with every halving of the distance to 100 %, and end with 100 % itself once
// they fall within the last bucket.
func (h *Histogram) percentiles(ticks int, line func(value int64, fraction float64, count uint64)) {
	total := h.Count()
	level, seen := 0.0, uint64(0) // level in percent
	for b := range h.Buckets {
		seen += b.Count
		reached := 100 * float64(seen) / float64(total)
		for reached >= level && level < 100 && seen < total {
			line(b.High, level/100, seen)
			halvings := math.Floor(math.Log2(100/(100-level))) + 1
			level += 100 / (float64(ticks) * math.Exp2(halvings))
		}
		if seen == total {
			h.lastPercentiles(b, level, total, line)
		}
	}
}

// lastPercentiles ends the table with the step that the last bucket reaches
// first and with 100 %.
func (h *Histogram) lastPercentiles(b Bucket, level float64, total uint64, line func(int64, float64, uint64)) {
	if level < 100 {
		line(b.High, level/100, total)
	}
	line(b.High, 1, total)
}
