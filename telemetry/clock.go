package telemetry

import (
	"context"
	"fmt"

	"golang.org/x/sys/unix"
)

// clockCollector compares the wall clock with the monotonic clock.
type clockCollector struct {
	source
	kernel kernelClock
	base   int64 // wall less monotonic at the first sample, in nanoseconds
	begun  bool
}

// kernelClock is what the collector asks of the kernel.
type kernelClock interface {
	// Now returns the wall clock and the monotonic clock at one moment, in nanoseconds.
	Now() (wall, monotonic int64, err error)
	// Discipline returns what adjtimex(2) says of the wall clock.
	Discipline() (unix.Timex, error)
}

func newClock(kernel kernelClock) *clockCollector {
	return &clockCollector{source: newSource(clockMetrics()), kernel: kernel}
}

func (c *clockCollector) Describe() Description {
	return Description{
		Name: "clock", Summary: "steps and slewing of the wall clock, and how well it is disciplined",
		Source: "clock_gettime(2) and adjtimex(2)", Metrics: clockMetrics(),
	}
}

func (c *clockCollector) Probe(context.Context) Probed {
	if _, _, err := c.kernel.Now(); err != nil {
		return Probed{Unknown, err.Error()}
	}
	return Probed{Support: Supported}
}

func (c *clockCollector) Collect(_ context.Context, dst []Sample) ([]Sample, error) {
	wall, monotonic, err := c.kernel.Now()
	if err != nil {
		return dst, err
	}
	offset := wall - monotonic
	if !c.begun {
		c.begun, c.base = true, offset
	}
	dst = c.value(dst, "clock.offset", "", float64(offset-c.base)/1e9)
	timex, err := c.kernel.Discipline()
	if err != nil {
		return dst, fmt.Errorf("asking how the clock is disciplined: %w", err)
	}
	if timex.Status&unix.STA_UNSYNC != 0 {
		return c.value(dst, "clock.synchronised", "", 0), nil
	}
	dst = c.value(dst, "clock.synchronised", "", 1)
	dst = c.value(dst, "clock.error.max", "", float64(timex.Maxerror)/1e6)
	return c.value(dst, "clock.error.estimated", "", float64(timex.Esterror)/1e6), nil
}

// linuxClock is the kernel's own.
type linuxClock struct{}

func (linuxClock) Now() (wall, monotonic int64, err error) {
	var before, real, after unix.Timespec
	// The wall clock is read between two readings of the monotonic one, whose
	// middle is the moment of it.
	for _, c := range []struct {
		id int32
		ts *unix.Timespec
	}{{unix.CLOCK_MONOTONIC, &before}, {unix.CLOCK_REALTIME, &real}, {unix.CLOCK_MONOTONIC, &after}} {
		if err := unix.ClockGettime(c.id, c.ts); err != nil {
			return 0, 0, fmt.Errorf("reading the clock: %w", err)
		}
	}
	return real.Nano(), before.Nano() + (after.Nano()-before.Nano())/2, nil
}

func (linuxClock) Discipline() (unix.Timex, error) {
	var t unix.Timex
	_, err := unix.Adjtimex(&t)
	return t, err
}
