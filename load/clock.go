package load

import (
	"bytes"
	"fmt"
	"math/bits"
	"os"
	"path/filepath"
	"strings"
	"time"
	_ "unsafe" // for linkname
)

// A Clock tells the time of a measurement in nanoseconds, always above 0, from
// about when the clock was made. It reads the processor's time-stamp counter
// where that can be trusted (see ClockSource), and CLOCK_MONOTONIC elsewhere.
// Reading it does not allocate, and any number of goroutines may do so.
type Clock struct {
	source ClockSource
	reason string // why it is not the counter
	zero   uint64 // ticks, or nanoseconds of CLOCK_MONOTONIC, at zero
	scale  uint64 // nanoseconds a tick, in units of 2^-32
}

// ClockSource names what a Clock reads.
type ClockSource string

// The sources of a Clock.
const (
	// SourceTSC is the time-stamp counter (RDTSC), calibrated against
	// CLOCK_MONOTONIC. It is trusted where the processor says that it runs at
	// one rate in all states (constant_tsc, nonstop_tsc) and the kernel, which
	// watches it for steps between cores, uses it as its own clock source.
	SourceTSC ClockSource = "tsc"
	// SourceMonotonic is CLOCK_MONOTONIC, through the runtime.
	SourceMonotonic ClockSource = "monotonic"
)

// clockHead is where a clock starts, so that no moment is 0 or negative, even
// on a core whose counter is some ticks behind.
const clockHead = int64(time.Millisecond)

// Now returns the nanoseconds.
func (c *Clock) Now() int64 {
	if c.source != SourceTSC {
		return nanotime() - int64(c.zero)
	}
	hi, lo := bits.Mul64(ticks()-c.zero, c.scale)
	return int64(hi<<32 | lo>>32)
}

// Source says what the clock reads, and why where it is not the counter.
func (c *Clock) Source() (source ClockSource, reason string) { return c.source, c.reason }

// nanotime reads CLOCK_MONOTONIC in nanoseconds, in half the time of time.Now.
//
//go:linkname nanotime runtime.nanotime
func nanotime() int64

// monotonicClock returns a clock that reads CLOCK_MONOTONIC.
func monotonicClock(reason string) *Clock {
	return &Clock{source: SourceMonotonic, reason: reason, zero: uint64(nanotime() - clockHead)}
}

// A moment is one instant on the counter and on CLOCK_MONOTONIC.
type moment struct {
	ticks uint64
	mono  int64 // ns
}

// momentNow reads both, as near to each other as it can be had: the closest
// of several attempts, which interrupts seldom all hit.
func momentNow() moment {
	best, gap := moment{}, ^uint64(0)
	for range 16 {
		before := ticks()
		mono := nanotime()
		after := ticks()
		if after-before < gap {
			best, gap = moment{before + (after-before)/2, mono}, after-before
		}
	}
	return best
}

// minCalibration is the least time between the moments that a counter is
// calibrated on: reading them is uncertain by some 20 ns, one part in a million.
const minCalibration = 20 * time.Millisecond

// tscClock returns a clock on the counter, by two moments that lie at least
// minCalibration apart.
func tscClock(a, b moment) *Clock {
	if b.ticks <= a.ticks || b.mono <= a.mono {
		return monotonicClock("the time-stamp counter did not run during calibration")
	}
	perTick := float64(b.mono-a.mono) / float64(b.ticks-a.ticks)
	if perTick < 0.05 || perTick > 100 {
		return monotonicClock(fmt.Sprintf("the time-stamp counter takes %g ns a tick", perTick))
	}
	return &Clock{
		source: SourceTSC,
		zero:   ticks() - uint64(float64(clockHead)/perTick),
		scale:  uint64(perTick*(1<<32) + 0.5),
	}
}

// pair reads the clock beside CLOCK_MONOTONIC.
func (c *Clock) pair() (own, mono int64) {
	gap := int64(1) << 62
	for range 16 {
		before := c.Now()
		m := nanotime()
		after := c.Now()
		if after-before < gap {
			own, mono, gap = before+(after-before)/2, m, after-before
		}
	}
	return own, mono
}

// distrust says why the time-stamp counter cannot be the clock, "" where it
// can, from the files of /proc and /sys below root.
func distrust(root string) string {
	if !tscSupported {
		return "this architecture has no time-stamp counter that bakeoff reads"
	}
	cpuinfo, err := os.ReadFile(filepath.Join(root, "proc/cpuinfo"))
	if err != nil {
		return "the processor's flags could not be read: " + err.Error()
	}
	flags := cpuFlags(cpuinfo)
	for _, want := range []string{"constant_tsc", "nonstop_tsc"} {
		if !flags[want] {
			return "the processor lacks " + want
		}
	}
	source, err := os.ReadFile(filepath.Join(root, "sys/devices/system/clocksource/clocksource0/current_clocksource"))
	if err != nil {
		return "the kernel's clock source could not be read: " + err.Error()
	}
	if s := strings.TrimSpace(string(source)); s != "tsc" {
		return fmt.Sprintf("the kernel's clock source is %s, not tsc", s)
	}
	return ""
}

// cpuFlags returns the flags of the first processor in /proc/cpuinfo.
func cpuFlags(cpuinfo []byte) map[string]bool {
	flags := map[string]bool{}
	for line := range bytes.Lines(cpuinfo) {
		name, value, ok := strings.Cut(string(line), ":")
		if !ok || strings.TrimSpace(name) != "flags" {
			continue
		}
		for _, f := range strings.Fields(value) {
			flags[f] = true
		}
		break
	}
	return flags
}
