package load

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"bakeoff/hist"
	"bakeoff/record"
)

// A collector merges what the recorders hand over: into the series, the
// interval logs and the window's totals. Its goroutine is the only one that
// writes; what it holds may be read once it has ended.
type collector struct {
	edges     edges // as planned
	kinds     []string
	recorders int
	emit      func(record.Interval, phase) // live, from the collector's goroutine

	full chan *interval
	free chan *interval
	quit chan struct{} // no recorder hands over any more, but ones that were given up
	done chan struct{}

	open   map[slot]*merged
	series map[slot]*second
	window []kindInterval // counts of the window, histograms of all that was intended in it
	lag    hist.Histogram
	rest   hist.Histogram // backlog
	logs   *logSet
	err    error // of writing a log

	scratch hist.Histogram
}

// merged is an interval that recorders still add to.
type merged struct {
	*interval
	shares int // recorders that have handed theirs over
}

// second is one finished interval.
type second struct {
	start, end int64
	interval   record.Interval // offset and length not yet known
	parts      [parts]uint64
}

// keepOpen is how many intervals wait for late shares before they are written.
const keepOpen = 3

func newCollector(e edges, kinds []string, recorders int, logs *logSet, emit func(record.Interval, phase)) *collector {
	room := 16 * recorders
	return &collector{
		edges: e, kinds: kinds, recorders: recorders, emit: emit, logs: logs,
		full: make(chan *interval, room), free: make(chan *interval, room), quit: make(chan struct{}), done: make(chan struct{}),
		open: map[slot]*merged{}, series: map[slot]*second{}, window: make([]kindInterval, len(kinds)),
	}
}

// swap is called by recorders.
func (c *collector) swap(v *interval) *interval {
	if v != nil {
		select {
		case c.full <- v:
		case <-c.done:
		}
	}
	select {
	case v := <-c.free:
		return v
	default:
		return newInterval(len(c.kinds))
	}
}

// run merges what is handed over until it is stopped.
func (c *collector) run() {
	defer close(c.done)
	for {
		select {
		case v := <-c.full:
			c.take(v)
			continue
		default:
		}
		select {
		case v := <-c.full:
			c.take(v)
		case <-c.quit:
			if len(c.full) > 0 {
				continue
			}
			for len(c.open) > 0 {
				c.finishOldest()
			}
			return
		}
	}
}

// stop merges what was handed over so far and ends the collector.
func (c *collector) stop() {
	close(c.quit)
	<-c.done
}

func (c *collector) take(v *interval) {
	m := c.open[v.slot]
	switch {
	case m == nil:
		m = &merged{interval: v}
		c.open[v.slot] = m
	default:
		m.merge(v)
		defer c.recycle(v)
	}
	if v.late {
		return
	}
	if m.shares++; m.shares == c.recorders {
		c.emit(c.summary(m.interval), m.slot.phase)
	}
	for len(c.open) > keepOpen {
		c.finishOldest()
	}
}

func (c *collector) recycle(v *interval) {
	v.reset()
	select {
	case c.free <- v:
	default:
	}
}

func (a slot) compare(b slot) int {
	return cmp.Or(cmp.Compare(a.phase, b.phase), cmp.Compare(a.index, b.index))
}

// finishOldest writes the oldest interval and counts it. What comes for it later
// makes another line of the log: merged, the lines are right in any number.
func (c *collector) finishOldest() {
	var oldest *merged
	for _, m := range c.open {
		if oldest == nil || m.slot.compare(oldest.slot) < 0 {
			oldest = m
		}
	}
	delete(c.open, oldest.slot)
	c.addSecond(oldest.interval)
	for i := range oldest.kinds {
		c.addKind(&c.window[i], &oldest.kinds[i], oldest.slot.phase)
	}
	c.lag.Merge(&oldest.lag)
	c.rest.Merge(&oldest.backlog)
	if oldest.slot.phase != warming && c.err == nil {
		c.err = c.writeLogs(oldest.interval)
	}
	c.recycle(oldest.interval)
}

// addKind adds to the totals: counts of what was done in the window, and the
// latencies of what was intended in it, whenever they were done.
func (c *collector) addKind(total, k *kindInterval, p phase) {
	if p == inWindow {
		total.add(k)
	} else {
		total.censored += k.censored
	}
	total.service.Merge(&k.service)
	total.response.Merge(&k.response)
}

func (c *collector) addSecond(v *interval) {
	s := c.series[v.slot]
	if s == nil {
		c.series[v.slot] = &second{start: v.start, end: v.end, interval: c.summary(v), parts: v.completed}
		return
	}
	more := c.summary(v)
	s.start, s.end = min(s.start, v.start), max(s.end, v.end)
	s.interval.Completed += more.Completed
	s.interval.Failed += more.Failed
	s.interval.TimedOut += more.TimedOut
	s.interval.Misses += more.Misses
	s.interval.BytesIn += more.BytesIn
	s.interval.BytesOut += more.BytesOut
	for i, n := range v.completed {
		s.parts[i] += n
	}
}

// summary is an interval as it is drawn.
func (c *collector) summary(v *interval) record.Interval {
	out := record.Interval{
		Offset:  time.Duration(v.start - c.edges.open).Seconds(),
		Seconds: time.Duration(v.end - v.start).Seconds(),
	}
	c.scratch.Reset()
	for i := range v.kinds {
		k := &v.kinds[i]
		out.Completed += k.completed
		out.Failed += k.failed
		out.TimedOut += k.timedOut
		out.Misses += k.misses
		out.BytesIn += k.bytesIn
		out.BytesOut += k.bytesOut
		c.scratch.Merge(&k.service)
		c.scratch.Merge(&k.outside)
	}
	out.P50, out.P99 = c.scratch.Quantile(0.5), c.scratch.Quantile(0.99)
	return out
}

// slots returns the finished intervals in order.
func (c *collector) slots() []slot {
	var out []slot
	for s := range c.series {
		out = append(out, s)
	}
	slices.SortFunc(out, slot.compare)
	return out
}

// writeLogs adds one interval to every log.
func (c *collector) writeLogs(v *interval) error {
	for _, t := range c.logs.types {
		c.scratch.Reset()
		for i := range v.kinds {
			h := t.of(v, i)
			if h == nil {
				continue
			}
			c.scratch.Merge(h)
			if err := c.logs.write(v, c.edges.open, c.kinds[i], t.name, h); err != nil {
				return err
			}
		}
		if t.all != nil {
			c.scratch.Merge(t.all(v))
		}
		if err := c.logs.write(v, c.edges.open, allKinds, t.name, &c.scratch); err != nil {
			return err
		}
	}
	return nil
}

// allKinds names the merged histogram of all kinds of operation.
const allKinds = "all"

// latencyType is one way of timing operations.
type latencyType struct {
	name string
	of   func(v *interval, kind int) *hist.Histogram // nil where it is not kept by kind
	all  func(v *interval) *hist.Histogram           // what belongs to no kind; may be nil
}

// latencyTypes returns what is timed: in an open loop the response from when an
// operation was due, and the lag with which it was sent, too.
func latencyTypes(openLoop bool) []latencyType {
	service := latencyType{name: "service", of: func(v *interval, k int) *hist.Histogram { return &v.kinds[k].service }}
	if !openLoop {
		return []latencyType{service}
	}
	return []latencyType{
		service,
		{
			name: "response",
			of:   func(v *interval, k int) *hist.Histogram { return &v.kinds[k].response },
			all:  func(v *interval) *hist.Histogram { return &v.backlog },
		},
		{
			name: "lag",
			of:   func(*interval, int) *hist.Histogram { return nil },
			all:  func(v *interval) *hist.Histogram { return &v.lag },
		},
	}
}

// String names a phase as Progress does.
func (p phase) String() string {
	switch p {
	case warming:
		return "warm-up"
	case inWindow:
		return "window"
	case draining:
		return "drain"
	}
	return fmt.Sprintf("phase %d", int8(p))
}
