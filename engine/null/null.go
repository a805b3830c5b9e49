// Package null is the engine that does nothing: it gives back at once, or after
// a simulated latency, what it is given. It measures the driver itself, and tries
// a plan or a report without a server.
package null

import (
	"context"
	"errors"
	"fmt"
	"math"
	"sync/atomic"
	"time"

	"bakeoff/load"
	"bakeoff/load/gen"
	"bakeoff/record"
)

// Engine is the null engine.
type Engine struct{}

// The kinds of operation, as Describe lists them.
const (
	read = iota
	write
)

// Name returns "null".
func (Engine) Name() string { return "null" }

// Describe documents the engine.
func (Engine) Describe() load.Description {
	return load.Description{
		Summary: "Does nothing, at once or after a simulated latency: the cost of the driver itself.",
		Kinds:   []string{"read", "write"},
		Parts:   []load.Part{load.Source},
		Parameters: []load.Parameter{
			{Name: "contract", Type: load.TypeEnum, Default: "batched", Values: []string{"batched", "blocking"}, Doc: "a thread a worker that takes batches, or a goroutine a virtual user"},
			{Name: "depth", Type: load.TypeInt, Default: "1", Doc: "operations in flight a worker, of the batched contract"},
			{Name: "latency", Type: load.TypeDuration, Doc: "simulated latency: the mean, or the median of the lognormal distribution; absent, none"},
			{Name: "distribution", Type: load.TypeEnum, Default: "constant", Values: []string{"constant", "exponential", "lognormal"}, Doc: "of the latency"},
			{Name: "sigma", Type: load.TypeFloat, Default: "0.5", Doc: "of the lognormal distribution's logarithm"},
			{Name: "writes", Type: load.TypePercent, Default: "0%", Doc: "of the operations are writes, the rest reads"},
			{Name: "misses", Type: load.TypePercent, Default: "0%", Doc: "of the operations miss"},
			{Name: "failures", Type: load.TypePercent, Default: "0%", Doc: "of the operations fail"},
			{Name: "timeouts", Type: load.TypePercent, Default: "0%", Doc: "of the operations are never answered"},
			{Name: "operations", Type: load.TypeInt, Doc: "after which the work is done, all workers together; absent, it has no end of its own"},
		},
	}
}

// Open validates the parameters.
func (e Engine) Open(_ context.Context, spec load.Spec) (load.Session, error) {
	p, err := load.ReadParams(e.Name(), e.Describe(), spec.Parameters)
	if err != nil {
		return nil, err
	}
	s := &session{
		spec: spec, latency: p.Duration("latency"), distribution: p.String("distribution"), sigma: p.Float("sigma"),
		writes: p.Percent("writes"), misses: p.Percent("misses"), failures: p.Percent("failures"), timeouts: p.Percent("timeouts"),
		limit: math.MaxInt64,
		shape: load.Shape{
			Workers: max(spec.Common.Workers, 1), InFlight: int(p.Int("depth")), Contract: load.Contract(p.String("contract")),
			Backend: p.String("contract"), Done: p.Has("operations"),
		},
	}
	if p.Has("operations") {
		s.limit = p.Int("operations")
	}
	if s.shape.Contract == load.Blocking {
		s.shape.InFlight = 1
	}
	return s, s.check()
}

func (s *session) check() error {
	if s.shape.InFlight < 1 || s.shape.InFlight > 1<<20 {
		return fmt.Errorf("engine null: parameter \"depth\": found %d, expected 1 to 1048576", s.shape.InFlight)
	}
	if s.limit < 0 {
		return fmt.Errorf("engine null: parameter \"operations\": found %d, expected 0 or more", s.limit)
	}
	if !(s.sigma >= 0 && s.sigma <= 5) {
		return fmt.Errorf("engine null: parameter \"sigma\": found %g, expected 0 to 5", s.sigma)
	}
	if sum := s.misses + s.failures + s.timeouts; sum > 1 || s.writes > 1 {
		return fmt.Errorf("engine null: found %g %% writes, and %g %% misses, failures and timeouts together; expected at most 100 %%", 100*s.writes, 100*sum)
	}
	return nil
}

type session struct {
	spec         load.Spec
	shape        load.Shape
	latency      time.Duration
	distribution string
	sigma        float64
	writes       float64
	misses       float64 // of all operations, as the next two
	failures     float64
	timeouts     float64
	limit        int64 // operations of all workers
	given        atomic.Int64
}

func (s *session) Shape() load.Shape { return s.shape }

func (s *session) Prepare(context.Context, func(float64)) (*record.DataSet, error) { return nil, nil }

func (s *session) Worker(_ context.Context, i, _ int) (load.Worker, error) {
	stream := func(p gen.Purpose) *gen.Rand {
		return gen.NewRand(s.spec.Seed, gen.Stream{Instance: uint8(s.spec.Instance), Worker: uint16(i), Purpose: p})
	}
	w := worker{s: s, mix: stream(gen.PurposeMix), delay: stream(gen.PurposeLatency)}
	if s.shape.Contract == load.Batched {
		b := &batcher{worker: w, clock: s.spec.Clock}
		b.instant = s.latency == 0 && s.timeouts == 0
		return b, nil
	}
	return &doer{w}, nil
}

func (s *session) Snapshot(context.Context) ([]load.Count, error) {
	if s.limit == math.MaxInt64 { // they are not counted
		return nil, nil
	}
	return []load.Count{{Name: "operations", Unit: "1", Value: float64(min(s.given.Load(), s.limit))}}, nil
}

func (s *session) Close() error { return nil }

// worker draws how operations go.
type worker struct {
	s          *session
	mix, delay *gen.Rand
}

// errRefused is what a failed operation fails with.
var errRefused = errors.New("refused, as the plan's failures ask for")

// kind draws what the next operation is.
func (w *worker) kind() uint8 {
	if w.s.writes > 0 && w.mix.Float() < w.s.writes {
		return write
	}
	return read
}

// fate draws how the next operation ends.
func (w *worker) fate() load.OpStatus {
	s := w.s
	if s.misses+s.failures+s.timeouts == 0 {
		return load.OK
	}
	u := w.mix.Float()
	switch {
	case u < s.misses:
		return load.Miss
	case u < s.misses+s.failures:
		return load.Failed
	case u < s.misses+s.failures+s.timeouts:
		return load.TimedOut
	}
	return load.OK
}

// takes how long the next operation takes, in nanoseconds.
func (w *worker) takes() int64 {
	mean := float64(w.s.latency)
	switch w.s.distribution {
	case "exponential":
		mean *= w.delay.Exp()
	case "lognormal":
		mean *= math.Exp(w.s.sigma * w.delay.Normal())
	}
	return int64(min(mean, math.MaxInt64/4))
}

// claim says whether there is any work left, and takes n operations of it.
func (w *worker) claim(n int64) bool {
	if w.s.limit == math.MaxInt64 {
		return true
	}
	return w.s.given.Add(n)-n < w.s.limit
}
