package load

import (
	"math"

	"bakeoff/hist"
)

// phase is where in a trial something happened.
type phase int8

const (
	warming  phase = iota // before the window opened
	inWindow              // in the window
	draining              // after it closed
)

// edges are the window's, in nanoseconds of the Clock, and the interval's
// length. They belong to one recorder: a measurement that ends early ends for
// each worker when that worker learns of it, so that all its stamps agree.
type edges struct {
	begin int64 // of the warm-up
	open  int64
	close int64 // Forever until known, in a trial that ends when its work is done
	slice int64
}

// forever is a close that is not known yet.
const forever = int64(math.MaxInt64)

// slot identifies an interval of a trial: intervals begin anew at the window's
// edges, and count backwards from the open edge in the warm-up.
type slot struct {
	phase phase
	index int32
}

// locate returns the interval in which a moment lies, and its bounds.
func (e *edges) locate(at int64) (s slot, start, end int64) {
	origin, limit := e.open, e.close
	switch {
	case at >= e.close:
		s.phase, origin, limit = draining, e.close, forever
	case at >= e.open:
		s.phase = inWindow
	default:
		s.phase, limit = warming, e.open
	}
	i := (at - origin) / e.slice
	if at < origin && (at-origin)%e.slice != 0 {
		i--
	}
	start = origin + i*e.slice
	end = min(start+e.slice, limit)
	if s.phase == warming {
		start = max(start, min(e.begin, at))
	}
	s.index = int32(i)
	return s, start, end
}

// parts is into how many equal parts an interval's completions are counted, for
// judging whether the window was steady.
const parts = 10

// interval is what one recorder saw in one interval.
type interval struct {
	slot       slot
	start, end int64 // ns of the Clock
	kinds      []kindInterval
	completed  [parts]uint64  // in each part of the interval
	lag        hist.Histogram // intended -> sent, of all kinds
	backlog    hist.Histogram // intended -> close, of what was due and never offered
	late       bool           // seen after the interval was handed over

	part               int // the one that partStart and partEnd bound
	partStart, partEnd int64
	partLength         int64
}

// kindInterval is one kind of operation in one interval, by when it was done.
// The histograms hold the operations that were intended in the window, but the
// last one, for drawing, holds the rest.
type kindInterval struct {
	completed, failed, timedOut, dropped uint64
	misses, items, bytesIn, bytesOut     uint64
	censored                             uint64
	service, response, outside           hist.Histogram
}

func newInterval(kinds int) *interval {
	return &interval{kinds: make([]kindInterval, kinds)}
}

// place makes the interval the one that a moment lies in.
func (v *interval) place(e *edges, at int64) {
	v.slot, v.start, v.end = e.locate(at)
	v.partLength = max(e.slice/parts, 1)
	v.seekPart(at)
}

// seekPart moves to the part of the interval that a moment lies in.
func (v *interval) seekPart(at int64) {
	v.part = int(min(max((at-v.start)/v.partLength, 0), parts-1))
	v.partStart = v.start + int64(v.part)*v.partLength
	v.partEnd = v.partStart + v.partLength
}

func (v *interval) reset() {
	for i := range v.kinds {
		k := &v.kinds[i]
		service, response, outside := k.service, k.response, k.outside
		service.Reset()
		response.Reset()
		outside.Reset()
		*k = kindInterval{service: service, response: response, outside: outside}
	}
	v.completed = [parts]uint64{}
	v.lag.Reset()
	v.backlog.Reset()
	v.late = false
}

// merge adds what another recorder saw in the same interval.
func (v *interval) merge(o *interval) {
	v.start, v.end = min(v.start, o.start), max(v.end, o.end)
	for i := range o.kinds {
		v.kinds[i].merge(&o.kinds[i])
	}
	for i, n := range o.completed {
		v.completed[i] += n
	}
	v.lag.Merge(&o.lag)
	v.backlog.Merge(&o.backlog)
}

func (k *kindInterval) merge(o *kindInterval) {
	k.add(o)
	k.service.Merge(&o.service)
	k.response.Merge(&o.response)
	k.outside.Merge(&o.outside)
}

// add adds the counts alone.
func (k *kindInterval) add(o *kindInterval) {
	k.completed += o.completed
	k.failed += o.failed
	k.timedOut += o.timedOut
	k.dropped += o.dropped
	k.misses += o.misses
	k.items += o.items
	k.bytesIn += o.bytesIn
	k.bytesOut += o.bytesOut
	k.censored += o.censored
}
