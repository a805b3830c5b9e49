package kv

import (
	"context"
	"fmt"

	"bakeoff/load"
	"bakeoff/load/dial"
	"bakeoff/load/ring"
	"bakeoff/record"
)

// session is one load on one target.
type session struct {
	c       *config
	backend string
	outage  dial.Outage
	control *control // opened when first needed
}

// newSession settles on the way of input and output, so that every worker's is
// the one that the record names.
func newSession(c *config) *session {
	s := &session{c: c, backend: string(c.io)}
	if c.io == ring.Auto {
		c.io = ring.URing
		s.backend = string(c.io)
		if err := ring.Available(); err != nil {
			c.io = ring.Epoll
			s.backend = fmt.Sprintf("%s (%v)", c.io, err)
		}
	}
	if c.gather.Lazy() {
		s.backend += ", receive stamps of the kernel"
	}
	if c.tls != nil {
		s.backend += ", TLS in the generator"
	}
	return s
}

// Shape gives each worker its share of the connections.
func (s *session) Shape() load.Shape {
	each := (s.c.connections + s.c.workers - 1) / s.c.workers
	return load.Shape{Workers: s.c.workers, InFlight: each * s.c.pipeline, Contract: load.Batched, Backend: s.backend}
}

// Worker opens worker i of n.
func (s *session) Worker(ctx context.Context, i, n int) (load.Worker, error) {
	if n != s.c.workers {
		return nil, fmt.Errorf("engine kv: asked for %d workers, expected %d", n, s.c.workers)
	}
	w, err := newWorker(ctx, s.c, i, n, &s.outage)
	if err != nil {
		return nil, fmt.Errorf("engine kv: %w", err)
	}
	return w, nil
}

// talk uses the control connection, opening it where there is none. One that
// failed is not used again.
func (s *session) talk(ctx context.Context, f func(*control) error) (err error) {
	if s.control == nil {
		if s.control, err = s.c.dialControl(ctx); err != nil {
			return err
		}
	}
	err = s.control.bounded(ctx, func(context.Context) error { return f(s.control) })
	if err != nil {
		s.control.close()
		s.control = nil
	}
	return err
}

// Snapshot reads the target's counters: those of INFO or stats that say what
// it did. Targets without them have none.
func (s *session) Snapshot(ctx context.Context) ([]load.Count, error) {
	counts := s.outage.Counts(s.c.spec.Clock.Now(), s.c.connections)
	err := s.talk(ctx, func(ctl *control) error {
		var err error
		counts, err = ctl.counters(counts)
		return err
	})
	if ctx.Err() != nil {
		return counts, fmt.Errorf("engine kv: reading the target's counters: %w", context.Cause(ctx))
	}
	// A target that is down, or that has no such command, has no counters: the
	// operations themselves tell what is wrong with it.
	_ = err
	return counts, nil
}

// Close ends the session.
func (s *session) Close() error {
	if s.control != nil {
		s.control.close()
		s.control = nil
	}
	return nil
}

// Prepare loads the data set, or checks the one that is there.
func (s *session) Prepare(ctx context.Context, progress func(float64)) (*record.DataSet, error) {
	set, err := s.prepare(ctx, progress)
	if err != nil {
		return nil, fmt.Errorf("engine kv: %w", err)
	}
	return set, nil
}

func (s *session) prepare(ctx context.Context, progress func(float64)) (*record.DataSet, error) {
	if s.c.flush {
		if err := s.talk(ctx, (*control).flush); err != nil {
			return nil, fmt.Errorf("emptying the target: %w", err)
		}
	}
	if s.c.preload == "none" {
		return nil, nil
	}
	set := s.c.dataSet()
	start := s.c.spec.Clock.Now()
	var err error
	set.Prepared = "kept"
	if s.c.preload == "all" {
		set.Prepared = "loaded"
		err = s.c.fill(ctx, progress)
	}
	if err == nil { // a target may drop what it acknowledged, when its memory is full
		err = s.sample(ctx, false)
	}
	set.Seconds = float64(s.c.spec.Clock.Now()-start) / 1e9
	return &set, err
}

// Forecast is the data set where it is to be loaded.
func (s *session) Forecast() *record.DataSet {
	if s.c.preload != "all" {
		return nil
	}
	set := s.c.dataSet()
	return &set
}

// Verify reads keys back after the window and checks their values.
func (s *session) Verify(ctx context.Context) error {
	if !s.c.verify {
		return nil
	}
	mayMiss := s.c.expiry.low > 0 || s.c.preload == "none"
	if err := s.sample(ctx, mayMiss); err != nil {
		return fmt.Errorf("engine kv: verifying the data after the window: %w", err)
	}
	return nil
}

// Fingerprint checks a sample of the data set and describes it.
func (s *session) Fingerprint(ctx context.Context) (record.DataSet, error) {
	if s.c.preload == "none" {
		return record.DataSet{Prepared: "none"}, nil
	}
	set := s.c.dataSet()
	set.Prepared = "kept"
	if err := s.sample(ctx, s.c.expiry.low > 0); err != nil {
		return record.DataSet{}, fmt.Errorf("engine kv: %w", err)
	}
	return set, nil
}
