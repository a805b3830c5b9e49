package load

import (
	"math/bits"
	"time"
)

// A Clock tells the time of a measurement in nanoseconds since the clock was
// made. It reads the processor's time-stamp counter where that can be trusted
// (see ClockSource), and the runtime's monotonic clock elsewhere. Reading it
// does not allocate, and any number of goroutines may do so.
type Clock struct {
	source ClockSource
	base   uint64 // ticks at zero
	scale  uint64 // nanoseconds a tick, in units of 2^-32
	start  time.Time
}

// Now returns the nanoseconds since the clock was made; never negative.
func (c *Clock) Now() int64 {
	if c.source != SourceTSC {
		return int64(time.Since(c.start))
	}
	// A core whose counter is some ticks behind must not wrap around.
	d := int64(ticks() - c.base)
	if d < 0 {
		return 0
	}
	hi, lo := bits.Mul64(uint64(d), c.scale)
	return int64(hi<<32 | lo>>32)
}

// Source says what the clock reads.
func (c *Clock) Source() ClockSource { return c.source }

// ClockSource names what a Clock reads.
type ClockSource string

// The sources of a Clock.
const (
	SourceTSC       ClockSource = "tsc"       // invariant time-stamp counter, calibrated against CLOCK_MONOTONIC
	SourceMonotonic ClockSource = "monotonic" // the runtime's monotonic clock
)
