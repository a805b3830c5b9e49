package load

import (
	"bytes"
	"os"
	"strconv"
	"sync"
	"time"
)

// How the driver watches itself. A delay of some 10 ms is ordinary on a busy
// machine; what is below stallSlack is left out.
const (
	stallTick  = 20 * time.Millisecond
	stallSlack = int64(50 * time.Millisecond)
)

// delays adds up by how much something of the generator came late, as far as it
// lies in the window.
type delays struct {
	open, close    int64 // the window, on the measuring clock
	longest, total int64 // ns
}

func newDelays(e edges) delays { return delays{open: e.open, close: e.close} }

// note takes down what was due at one moment and came at another.
func (d *delays) note(due, came int64) {
	if came-due < stallSlack {
		return
	}
	lost := min(came, d.close) - max(due, d.open)
	if lost <= 0 {
		return
	}
	d.longest = max(d.longest, lost)
	d.total += lost
}

// worse keeps the larger of two.
func (d *delays) worse(o delays) {
	d.longest, d.total = max(d.longest, o.longest), max(d.total, o.total)
}

// sharedDelays is delays that many virtual users note into.
type sharedDelays struct {
	mu sync.Mutex
	delays
}

func (d *sharedDelays) note(due, came int64) {
	if came-due < stallSlack {
		return // nearly always
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	d.delays.note(due, came)
}

func (d *sharedDelays) read() delays {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.delays
}

// A metronome ticks beside the workers, whatever they do, and notes how late its
// ticks come: the whole process stood still for as long.
type metronome struct {
	delays
	quit, ended chan struct{}
}

func startMetronome(clock *Clock, e edges) *metronome {
	m := &metronome{delays: newDelays(e), quit: make(chan struct{}), ended: make(chan struct{})}
	go m.run(clock)
	return m
}

func (m *metronome) run(clock *Clock) {
	defer close(m.ended)
	ticker := time.NewTicker(stallTick)
	defer ticker.Stop()
	last, over := clock.Now(), false
	for !over {
		select {
		case <-ticker.C:
		case <-m.quit:
			over = true
		}
		now := clock.Now()
		m.note(last+int64(stallTick), now)
		last = now
	}
}

// stop ends it; what it noted may be read then.
func (m *metronome) stop() {
	close(m.quit)
	<-m.ended
}

// runDelay reads how long the calling thread has waited for a core since it began,
// in nanoseconds: the second figure of /proc/thread-self/schedstat
// (Documentation/scheduler/sched-stats.rst). It is false where the kernel keeps none.
func runDelay() (int64, bool) {
	text, err := os.ReadFile("/proc/thread-self/schedstat")
	if err != nil {
		return 0, false
	}
	fields := bytes.Fields(text)
	if len(fields) < 2 {
		return 0, false
	}
	n, err := strconv.ParseInt(string(fields[1]), 10, 64)
	return n, err == nil
}

// A pulse tells whether a worker's thread, when it goes on late, had no core or
// was held in a call: by the target, whose delays are no fault of the generator.
type pulse struct {
	delays
	meter  func() (int64, bool) // runDelay, of the worker's thread
	waited int64                // for a core, when last read
	known  bool
}

func newPulse(e edges) pulse { return pulse{delays: newDelays(e), meter: runDelay} }

// read begins anew to count.
func (p *pulse) read() { p.waited, p.known = p.meter() }

// late notes that the worker went on at now rather than when it should have. A
// kernel that does not tell why leaves the whole of it to the generator.
func (p *pulse) late(due, now int64) {
	before, known := p.waited, p.known
	if p.read(); known && p.known {
		due = max(due, now-(p.waited-before))
	}
	p.note(due, now)
}
