package load

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"sync"
	"sync/atomic"
	"time"

	"bakeoff/internal/osenv"
)

// crew is the driver of the blocking contract: a goroutine a virtual user.
// Users share recorders, so that ten thousand of them need not keep ten thousand
// sets of histograms; a lock costs little beside a blocking operation.
type crew struct {
	engine  string
	session Session
	shape   Shape
	process *processShare

	job     job
	begun   time.Time // wall clock at the job's begin, with its monotonic reading
	users   []*user
	shards  []*shard
	tickets *tickets // nil in a closed loop
	group   sync.WaitGroup

	stop    atomic.Bool
	stopped chan struct{}
	halted  sync.Once
	cancel  context.CancelFunc // of all that users do
	watched chan struct{}      // closed when watch has ended

	late            sharedDelays // of users that slept too long
	atOpen, atClose processReading
	started         bool
}

// shard is a recorder that several users share.
type shard struct {
	mu       sync.Mutex
	recorder *recorder
	users    []*user
	over     bool // finished: what still comes is left out
}

// tickets hands out the operations of an open loop to whoever is free.
type tickets struct {
	mu    sync.Mutex
	pacer *Pacer
}

// open opens the virtual users one after another.
func (c *crew) open(ctx context.Context) error {
	for i := range c.shape.Workers {
		w, err := c.session.Worker(ctx, i, c.shape.Workers)
		if err != nil {
			return errors.Join(fmt.Errorf("engine %s: opening virtual user %d of %d: %w", c.engine, i+1, c.shape.Workers, err), c.close())
		}
		d, ok := w.(Doer)
		if !ok {
			return errors.Join(fmt.Errorf("engine %s: its shape says %q, but its worker is a %T", c.engine, Blocking, w), w.Close(), c.close())
		}
		c.users = append(c.users, &user{crew: c, doer: d})
	}
	return nil
}

func (c *crew) start(j job) (<-chan struct{}, error) {
	c.job, c.started = j, true
	c.late.delays = newDelays(j.edges)
	c.stopped, c.watched = make(chan struct{}), make(chan struct{})
	if j.schedule != nil {
		all := *j.schedule
		all.Workers = 1
		p, err := NewPacer(all, 0)
		if err != nil {
			return nil, errors.Join(err, c.closeUsers())
		}
		c.tickets = &tickets{pacer: p}
	}
	c.shards = make([]*shard, c.recorders())
	for i := range c.shards {
		c.shards[i] = &shard{recorder: j.recorder()}
	}
	c.begun = osenv.System{}.Now().Add(-time.Duration(j.clock.Now() - j.edges.begin))
	ctx, cancel := context.WithCancel(context.Background())
	c.cancel = cancel
	c.process.join(len(c.users))
	for i, u := range c.users {
		u.shard = c.shards[i%len(c.shards)]
		u.shard.users = append(u.shard.users, u)
		u.begin(ctx)
		c.group.Add(1)
		go u.main(ctx)
	}
	ended := make(chan struct{})
	go func() {
		c.group.Wait()
		close(ended)
	}()
	go c.watch(ended)
	return ended, nil
}

func (c *crew) recorders() int { return min(c.shape.Workers, 2*runtime.NumCPU()) }

// watch ends intervals that no user ends, and operations that take too long,
// until all users have ended.
func (c *crew) watch(ended <-chan struct{}) {
	defer close(c.watched)
	tick := 20 * time.Millisecond
	if t := time.Duration(c.job.timeout) / 10; t > 0 {
		tick = min(tick, max(t, time.Millisecond))
	}
	ticker := time.NewTicker(tick)
	defer ticker.Stop()
	for {
		select {
		case <-ended:
			return
		case <-ticker.C:
		}
		now := c.job.clock.Now()
		for _, s := range c.shards {
			s.advance(now)
		}
		for _, u := range c.users {
			u.expire(now)
		}
	}
}

func (s *shard) advance(now int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.over && now >= s.recorder.cur.end {
		s.recorder.advance(now)
	}
}

// halt closes the window where it is open, and then ends what users do.
func (c *crew) halt() {
	c.halted.Do(func() {
		c.stop.Store(true)
		now := c.job.clock.Now()
		for _, s := range c.shards {
			s.mu.Lock()
			if !s.over {
				s.recorder.closeAt(now)
			}
			s.mu.Unlock()
		}
		close(c.stopped)
		c.cancel()
	})
}

func (c *crew) edge(opening bool) {
	if opening {
		c.atOpen = c.process.read()
		c.atClose = c.atOpen
		return
	}
	c.atClose = c.process.read()
}

// finish books what is still out and what was never offered.
func (c *crew) finish() outcome {
	o := outcome{finished: true}
	for _, u := range c.users {
		o.finished = o.finished && u.ended.Load() && u.finished
	}
	if o.finished {
		c.closeAtLast()
	} else {
		c.leave()
	}
	for _, s := range c.shards {
		s.settle(&o, c.job.clock.Now())
	}
	o.late = c.late.read()
	o.cpu = c.atOpen.between(c.atClose, len(c.users))
	c.process.join(-len(c.users))
	cores := min(len(c.users), runtime.NumCPU(), runtime.GOMAXPROCS(0))
	window := o.close - c.shards[0].recorder.edges.open
	o.busiest = fraction(float64(o.cpu.busy()), float64(window)*float64(cores))
	c.cancel()
	return o
}

// settle takes stock of a shard for good. What users do that have not ended is
// in flight.
func (s *shard) settle(o *outcome, now int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, u := range s.users {
		if u.ended.Load() {
			if o.err == nil {
				o.err = u.err
			}
			continue
		}
		o.stuck++
		if u.state.Load() != idle {
			s.recorder.offered(u.sent.Load(), 1)
		}
	}
	s.recorder.finish(now)
	s.over = true
	o.add(s.recorder)
}

// closeAtLast ends the window of work that is done with its last operation.
func (c *crew) closeAtLast() {
	last := c.job.edges.begin
	for _, s := range c.shards {
		last = max(last, s.recorder.lastDone)
	}
	for _, s := range c.shards {
		s.mu.Lock()
		s.recorder.closeAt(last + 1)
		s.mu.Unlock()
	}
}

// leave books what was due by the close and nobody was free to do.
func (c *crew) leave() {
	if c.tickets == nil {
		return
	}
	c.tickets.mu.Lock()
	defer c.tickets.mu.Unlock()
	s := c.shards[0]
	s.mu.Lock()
	defer s.mu.Unlock()
	e := s.recorder.edges
	c.tickets.pacer.Rest(e.close-1-e.begin, func(at int64, n uint64) { s.recorder.unsent(at+e.begin, n) })
}

func (c *crew) close() error {
	if c.started {
		return nil
	}
	return c.closeUsers()
}

func (c *crew) closeUsers() error {
	var errs []error
	for _, u := range c.users {
		errs = append(errs, u.doer.Close())
	}
	c.users = nil
	return errors.Join(errs...)
}
