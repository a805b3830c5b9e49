package telemetry

import (
	"context"
	"fmt"
	"math"
	"runtime"
	"time"

	"golang.org/x/sys/unix"

	"bakeoff/record"
)

// grace is how long after its deadline a collector may take to notice it.
const grace = 100 * time.Millisecond

// A lane calls its collectors one after another at one cadence.
type lane struct {
	cfg      SamplerConfig
	period   time.Duration
	deadline time.Duration
	entries  []*laneEntry
	takes    []take
	thread   *collectThread
}

// laneEntry is one collector of a lane.
type laneEntry struct {
	collector Collector
	name      string
	cost      record.CollectorCost
	size      int            // samples it gave last
	hung      <-chan outcome // of a call that did not return in time
}

// take is what one call of a collector gave. Start and end are since the
// sampler's start, by the monotonic clock.
type take struct {
	entry      *laneEntry
	start, end time.Duration
	samples    []Sample
}

func newLane(cfg SamplerConfig, period, deadline time.Duration) *lane {
	if cfg.Deadline > 0 {
		deadline = cfg.Deadline
	}
	return &lane{cfg: cfg, period: period, deadline: deadline}
}

func (l *lane) add(c Collector, d Description) {
	l.entries = append(l.entries, &laneEntry{collector: c, name: d.Name, cost: record.CollectorCost{
		Collector: d.Name, Support: string(Unknown), Reason: "not probed",
		Class: d.Class, Cadence: d.Cadence, Uncertainty: d.Uncertainty,
	}})
}

// run probes the collectors and samples them until cadence is done, which ctx
// is the parent of.
func (l *lane) run(ctx, cadence context.Context, start time.Time) {
	for _, e := range l.entries {
		l.probe(ctx, e)
	}
	if cadence.Err() != nil {
		return
	}
	l.sample(ctx, start)
	due := firstTick(start.UnixNano(), l.period)
	for {
		missed := due.skipTo(l.cfg.Clock.Now().Sub(start))
		for _, e := range l.entries {
			if e.cost.Support != string(Unsupported) {
				e.cost.Missed += missed
			}
		}
		wait := due.at - l.cfg.Clock.Now().Sub(start)
		if l.cfg.Clock.Sleep(cadence, wait) != nil || cadence.Err() != nil {
			return
		}
		l.sample(ctx, start)
		due.at += due.period
	}
}

// ticks are the moments at which samples are due, since the sampler's start.
type ticks struct{ at, period time.Duration }

// firstTick is the first whole multiple of period on the wall clock that is at
// least half a period after the start, where the first sample is taken.
func firstTick(startNanos int64, period time.Duration) ticks {
	at := period - time.Duration(startNanos%int64(period))
	if at < period/2 {
		at += period
	}
	return ticks{at, period}
}

// skipTo leaves out the ticks before elapsed and returns how many they were.
func (t *ticks) skipTo(elapsed time.Duration) (missed int) {
	if elapsed <= t.at {
		return 0
	}
	n := (elapsed - t.at + t.period - 1) / t.period
	t.at += n * t.period
	return int(n)
}

// probe asks a collector whether its source is there. One that does not answer
// in time is used all the same, as it could not tell.
func (l *lane) probe(ctx context.Context, e *laneEntry) {
	probed := Probed{Unknown, "the probe did not answer in time"}
	out, ok := l.call(ctx, e, func(ctx context.Context) ([]Sample, error) {
		return nil, probeError{e.collector.Probe(ctx)}
	})
	if ok {
		probed = Probed{Unknown, out.err.Error()}
		if p, isProbe := out.err.(probeError); isProbe {
			probed = p.Probed
		}
	}
	e.cost.Support, e.cost.Reason = string(probed.Support), probed.Reason
}

// probeError carries a probe's outcome where a collection's error goes.
type probeError struct{ Probed }

func (p probeError) Error() string { return p.Reason }

// sample calls every collector that is supported once.
func (l *lane) sample(ctx context.Context, start time.Time) {
	for _, e := range l.entries {
		if e.cost.Support == string(Unsupported) || !e.returned() || ctx.Err() != nil {
			continue
		}
		begun := l.cfg.Clock.Now().Sub(start)
		out, ok := l.call(ctx, e, func(ctx context.Context) ([]Sample, error) {
			return e.collector.Collect(ctx, make([]Sample, 0, e.size))
		})
		end := l.cfg.Clock.Now().Sub(start)
		if ctx.Err() != nil && (!ok || out.err != nil) {
			return // called off, which is nobody's failure
		}
		e.cost.Seconds += (end - begun).Seconds()
		if !ok {
			e.fail(fmt.Errorf("did not return within %v", l.deadline))
			continue
		}
		e.cost.CPU += out.cpu.Seconds()
		e.size = len(out.samples)
		samples, err := finite(out.samples)
		if out.err != nil {
			err = out.err
		}
		if err != nil {
			e.fail(err)
		} else {
			e.cost.Samples++
		}
		l.takes = append(l.takes, take{e, begun, end, samples})
	}
}

// finalSample samples once more, and counts a failure of each collector that
// ctx leaves no time for.
func (l *lane) finalSample(ctx context.Context, start time.Time) {
	before := make([]int, len(l.entries))
	for i, e := range l.entries {
		before[i] = e.cost.Samples + e.cost.Failures
	}
	l.sample(ctx, start)
	for i, e := range l.entries {
		if e.cost.Support != string(Unsupported) && e.cost.Samples+e.cost.Failures == before[i] {
			e.fail(fmt.Errorf("no final sample: %w", context.Cause(ctx)))
		}
	}
}

// returned reports whether the collector is free: a call that was left behind
// counts as a failure until it returns.
func (e *laneEntry) returned() bool {
	if e.hung == nil {
		return true
	}
	select {
	case <-e.hung:
		e.hung = nil
		return true
	default:
		e.cost.Failures++
		return false
	}
}

func (e *laneEntry) fail(err error) {
	e.cost.Failures++
	e.cost.LastError = err.Error()
}

// finite leaves out what is no number: it would spoil every sum it is in.
func finite(samples []Sample) ([]Sample, error) {
	kept := samples[:0]
	var err error
	for _, s := range samples {
		if math.IsNaN(s.Value) || math.IsInf(s.Value, 0) {
			err = fmt.Errorf("%s of %q is %v: left out", s.Metric.Name, s.Instance, s.Value)
			continue
		}
		kept = append(kept, s)
	}
	return kept, err
}

// readings appends the lane's readings to dst, stamped with the wall clock of
// the sampler's start plus monotonic time, which a step of the clock leaves alone.
func (l *lane) readings(dst []record.Reading, host string, startNanos int64) []record.Reading {
	for _, t := range l.takes {
		for _, s := range t.samples {
			r := record.Reading{
				Host: host, Collector: t.entry.name, Metric: s.Metric.Name, Instance: s.Instance,
				Unit: s.Metric.Unit, Kind: s.Metric.Kind,
				Start: startNanos + int64(t.start), End: startNanos + int64(t.end), Value: s.Value,
			}
			if s.At != 0 {
				r.Start, r.End = s.At, s.At
			}
			dst = append(dst, r)
		}
	}
	return dst
}

// end closes the collectors that have something to close and takes their notes.
// One that still hangs is left alone.
func (l *lane) end(ctx context.Context) {
	for _, e := range l.entries {
		if e.hung != nil && !e.returned() {
			continue
		}
		if c, ok := e.collector.(Closer); ok {
			out, returned := l.call(ctx, e, func(ctx context.Context) ([]Sample, error) { return nil, c.Close(ctx) })
			if returned && out.err != nil {
				e.cost.LastError = fmt.Sprintf("closing: %v", out.err)
			}
			if !returned {
				continue
			}
		}
		if n, ok := e.collector.(Noter); ok {
			e.cost.Notes = n.Notes()
		}
	}
	l.close()
}

// outcome is what a call gave, and the CPU time that its thread spent on it.
type outcome struct {
	samples []Sample
	err     error
	cpu     time.Duration
}

type collectCall struct {
	do   func() ([]Sample, error)
	done chan<- outcome
}

// collectThread is an OS thread that makes calls one after another.
type collectThread struct{ calls chan collectCall }

// call makes one call on the lane's thread and waits for it until its deadline
// and a moment of grace. When that has passed it reports false, leaves the
// thread to the call, and the lane takes another.
func (l *lane) call(ctx context.Context, e *laneEntry, do func(context.Context) ([]Sample, error)) (outcome, bool) {
	if l.thread == nil {
		l.thread = &collectThread{make(chan collectCall)}
		go l.thread.run()
	}
	ctx, cancel := context.WithTimeout(ctx, l.deadline)
	defer cancel()
	done := make(chan outcome, 1)
	l.thread.calls <- collectCall{func() ([]Sample, error) { return do(ctx) }, done}
	select {
	case out := <-done:
		return out, true
	case <-ctx.Done():
	}
	late := time.NewTimer(grace)
	defer late.Stop()
	select {
	case out := <-done:
		return out, true
	case <-late.C:
		e.hung = done
		l.close()
		return outcome{}, false
	}
}

// close lets the lane's thread end after the call it is in.
func (l *lane) close() {
	if l.thread != nil {
		close(l.thread.calls)
		l.thread = nil
	}
}

func (t *collectThread) run() {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	for call := range t.calls {
		before := threadCPU()
		var out outcome
		out.samples, out.err = guarded(call.do)
		out.cpu = threadCPU() - before
		call.done <- out
	}
}

// guarded turns a panic into an error: a collector that meets what its author
// did not think of must not end the measurement.
func guarded(do func() ([]Sample, error)) (samples []Sample, err error) {
	defer func() {
		if p := recover(); p != nil {
			samples, err = nil, fmt.Errorf("panic: %v", p)
		}
	}()
	return do()
}

// threadCPU is the CPU time of the calling thread, 0 where it is not known.
func threadCPU() time.Duration {
	var ts unix.Timespec
	if unix.ClockGettime(unix.CLOCK_THREAD_CPUTIME_ID, &ts) != nil {
		return 0
	}
	return time.Duration(ts.Nano())
}
