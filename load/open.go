package load

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"time"

	"bakeoff/internal/osenv"
	"bakeoff/record"
)

// What a Spec leaves out.
const (
	defaultOpTimeout = 10 * time.Second
	drainBeyond      = time.Second // the drain's length beyond the operations' timeout
	defaultPatience  = 5 * time.Second
)

// Running is one part of one workload, opened. Its methods are called from one
// goroutine.
type Running struct {
	spec    Spec
	engine  Engine
	kinds   []string
	params  map[string]string // effective
	session Session
	shape   Shape
	machine *Machine
	wall    osenv.Clock
	clock   *Clock
	driver  driver

	patience time.Duration // with workers that do not come back
	dataset  *record.DataSet
	settings map[string]string // the target's
	null     float64           // ns an operation
	warnings []record.Warning
	ready    bool
	measured bool
	closed   bool
}

// Open validates a spec and opens its engine's session. Nothing is sent to the
// target before Prepare.
func Open(ctx context.Context, engine Engine, spec Spec, env Env) (*Running, error) {
	d := engine.Describe()
	if err := checkKinds(engine.Name(), d.Kinds); err != nil {
		return nil, err
	}
	params, err := ReadParams(engine.Name(), d, spec.Parameters)
	if err != nil {
		return nil, err
	}
	if spec.Common, err = checkCommon(engine.Name(), spec.Common); err != nil {
		return nil, err
	}
	if env.Machine == nil {
		env.Machine = NewMachine("/")
	}
	if env.Wall == nil {
		env.Wall = osenv.System{}
	}
	if spec.Clock, err = env.Machine.NewClock(ctx); err != nil {
		return nil, err
	}
	session, err := engine.Open(ctx, spec)
	if err != nil {
		return nil, fmt.Errorf("engine %s: opening a session: %w", engine.Name(), err)
	}
	r := &Running{
		spec: spec, engine: engine, kinds: d.Kinds, params: params.Effective(), session: session,
		shape: session.Shape(), machine: env.Machine, wall: env.Wall, clock: spec.Clock, patience: defaultPatience,
	}
	if t := r.shape.OpTimeout; t > 0 {
		r.spec.Common.OpTimeout, r.spec.Common.DrainTime = t, max(spec.Common.DrainTime, t+drainBeyond)
	}
	if r.shape.Rate > 0 && spec.Common.Rate == 0 && len(spec.Common.Steps) == 0 {
		r.spec.Common.Rate = r.shape.Rate
	}
	if r.driver, err = r.newDriver(); err != nil {
		return nil, errors.Join(err, session.Close())
	}
	return r, nil
}

// checkKinds wants names that can be part of a measure's and a file's.
func checkKinds(engine string, kinds []string) error {
	word := regexp.MustCompile(`^[a-z0-9][a-z0-9_-]*$`)
	if len(kinds) == 0 || len(kinds) > 255 {
		return fmt.Errorf("engine %s: it describes %d kinds of operation, expected 1 to 255", engine, len(kinds))
	}
	for i, k := range kinds {
		if !word.MatchString(k) || k == allKinds || slices.Contains(kinds[:i], k) {
			return fmt.Errorf("engine %s: kind of operation %q: expected a name of its own in lower case, and not %q", engine, k, allKinds)
		}
	}
	return nil
}

// checkCommon fills in defaults.
func checkCommon(engine string, c Common) (Common, error) {
	for _, d := range []struct {
		key   string
		value time.Duration
	}{
		{"warmup", c.Warmup}, {"window", c.Window}, {"deadline", c.Deadline}, {"drain", c.DrainTime},
		{"op_timeout", c.OpTimeout}, {"quantum", c.Quantum},
	} {
		if d.value < 0 || d.value > 1<<62 {
			return c, fmt.Errorf("engine %s: %s: found %v, expected a duration of 0 or more", engine, d.key, d.value)
		}
	}
	if !(c.Rate >= 0 && c.Rate <= maxRate) {
		return c, fmt.Errorf("engine %s: rate: found %g operations a second, expected 0 (a closed loop) to 1e9", engine, c.Rate)
	}
	if c.Rate > 0 && len(c.Steps) > 0 {
		return c, fmt.Errorf("engine %s: found both a rate and steps of it, expected one of them", engine)
	}
	if c.MaxBurst < 0 || c.Workers < 0 {
		return c, fmt.Errorf("engine %s: found %d workers and a burst of %d, expected 0 (the engine's own) or more", engine, c.Workers, c.MaxBurst)
	}
	if c.OpTimeout == 0 {
		c.OpTimeout = defaultOpTimeout
	}
	if c.DrainTime == 0 {
		c.DrainTime = c.OpTimeout + drainBeyond
	}
	return c, nil
}

// maxThreads leaves room below the 10,000 threads that Go allows a process.
const maxThreads = 8192

// newDriver checks the session's shape and makes its driver.
func (r *Running) newDriver() (driver, error) {
	name, s, c := r.engine.Name(), r.shape, r.spec.Common
	if s.Workers < 1 || s.Workers > 1<<16 || s.InFlight < 1 || s.InFlight > 1<<24 {
		return nil, fmt.Errorf("engine %s: its shape has %d workers with %d operations in flight, expected 1 to 65,536 with 1 to 2^24", name, s.Workers, s.InFlight)
	}
	if s.Contract == Batched && s.Workers > maxThreads {
		return nil, fmt.Errorf("engine %s: %d workers, a thread each; expected at most %d", name, s.Workers, maxThreads)
	}
	if !s.Done && c.Window == 0 {
		return nil, fmt.Errorf("engine %s: found no window, expected one above 0: its work has no end of its own", name)
	}
	if schedule := r.schedule(); schedule != nil {
		if _, err := NewPacer(*schedule, 0); err != nil {
			return nil, fmt.Errorf("engine %s: %w", name, err)
		}
	}
	switch s.Contract {
	case Batched:
		return &threads{engine: name, session: r.session, shape: s, cpus: c.CPUs, process: &r.machine.process}, nil
	case Blocking:
		return &crew{engine: name, session: r.session, shape: s, process: &r.machine.process}, nil
	}
	return nil, fmt.Errorf("engine %s: its shape has the contract %q, expected %q or %q", name, s.Contract, Batched, Blocking)
}

// schedule returns the open loop's, nil for a closed loop.
func (r *Running) schedule() *Schedule {
	c := r.spec.Common
	steps := c.Steps
	if len(steps) == 0 {
		if c.Rate == 0 {
			return nil
		}
		steps = []RateStep{{From: c.Rate, To: c.Rate}}
	}
	return &Schedule{
		Steps: steps, Arrival: c.Arrival, MaxBurst: c.MaxBurst, Quantum: c.Quantum,
		Workers: r.shape.Workers, Seed: r.spec.Seed, Instance: r.spec.Instance,
	}
}

// Forecast is what Prepare will load, as far as the engine knows beforehand; nil
// where it loads nothing.
func (r *Running) Forecast() *record.DataSet {
	if f, ok := r.session.(Forecaster); ok {
		return f.Forecast()
	}
	return nil
}

// EndsByItself reports whether the load is over when its work is done, rather than
// when a window is.
func (r *Running) EndsByItself() bool { return r.shape.Done }

// Prepare brings the data set to its starting state. It returns nil where the
// load has none.
func (r *Running) Prepare(ctx context.Context, progress func(Progress)) (*record.DataSet, error) {
	tell := func(fraction float64) {
		if progress != nil {
			progress(Progress{Workload: r.spec.Workload, Phase: "prepare", Fraction: fraction})
		}
	}
	ds, err := r.session.Prepare(ctx, tell)
	if err != nil {
		return nil, fmt.Errorf("engine %s: preparing the data set: %w", r.engine.Name(), err)
	}
	r.dataset = ds
	if i, ok := r.session.(Informer); ok {
		if r.settings, err = i.Settings(ctx); err != nil {
			return nil, fmt.Errorf("engine %s: reading the target's settings: %w", r.engine.Name(), err)
		}
	}
	return ds, nil
}

// Connect opens the workers, as Measure would. A run that starts several loads
// at once connects them all first.
func (r *Running) Connect(ctx context.Context) error {
	if r.ready {
		return nil
	}
	null, err := r.machine.nullCost(ctx, r.shape.Contract)
	if err != nil {
		return err
	}
	r.null = null
	if err := r.driver.open(ctx); err != nil {
		return err
	}
	r.ready = true
	return nil
}

// Close ends the session. It is safe to call twice.
func (r *Running) Close() error {
	if r.closed {
		return nil
	}
	r.closed = true
	err := errors.Join(r.driver.close(), r.session.Close())
	if err != nil {
		return fmt.Errorf("engine %s: closing the session: %w", r.engine.Name(), err)
	}
	return nil
}
