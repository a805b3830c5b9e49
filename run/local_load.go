package run

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	"bakeoff/host"
	"bakeoff/load"
	"bakeoff/record"
	"bakeoff/telemetry"
	"bakeoff/telemetry/power"
)

// OpenLoad opens the sessions in the order given, each on cores of its own where
// there are some, and prepares their data sets one after the other. Those that
// are open stay.
func (l *Local) OpenLoad(ctx context.Context, specs []LoadSpec, progress func(load.Progress)) ([]*record.DataSet, error) {
	topology, err := host.ReadTopology(ctx, l.env.Root)
	if err != nil {
		return nil, err
	}
	sets := make([]*record.DataSet, 0, len(specs))
	for _, s := range specs {
		spec, warnings, err := l.place(topology, s, len(l.loads))
		if err != nil {
			return nil, fmt.Errorf("workload %s: %w", s.Workload, err)
		}
		l.warn(warnings)
		running, err := l.open(ctx, spec, s)
		if err != nil {
			return nil, fmt.Errorf("workload %s: %w", s.Workload, err)
		}
		l.loads = append(l.loads, running)
		set, err := running.Prepare(ctx, progress)
		if err != nil {
			return nil, fmt.Errorf("workload %s: preparing its data: %w", s.Workload, err)
		}
		sets = append(sets, set)
	}
	return sets, nil
}

func (l *Local) open(ctx context.Context, spec load.Spec, s LoadSpec) (*load.Running, error) {
	engine, err := l.engines(s.Engine)
	if err != nil {
		return nil, err
	}
	if spec.Secrets, err = l.secrets(s); err != nil {
		return nil, err
	}
	return load.Open(ctx, engine, spec, load.Env{Machine: l.shared, Wall: l.env.Clock})
}

// place gives a load its cores: those asked for or, where services are pinned,
// those that they leave. Where nothing is pinned, the kernel places everything.
func (l *Local) place(topology host.Topology, s LoadSpec, nth int) (load.Spec, []record.Warning, error) {
	asked, err := host.ParseCPUs(s.GeneratorCPUs)
	if err != nil {
		return load.Spec{}, nil, fmt.Errorf("cores of the generator: %w", err)
	}
	services, pinned := map[string]host.CPUs{}, false
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, service := range l.services {
		cpus, err := host.ParseCPUs(service.spec.CPUs)
		if err != nil {
			return load.Spec{}, nil, fmt.Errorf("cores of service %s: %w", service.spec.Name, err)
		}
		services[service.spec.Name] = cpus
		pinned = pinned || len(cpus) > 0
	}
	chosen, warnings := topology.Generator(asked, services)
	spec := s.Spec
	if pinned || len(asked) > 0 {
		// Loads that run together start at different cores.
		first := nth % max(1, len(chosen))
		spec.Common.CPUs = slices.Concat(chosen[first:], chosen[:first])
	}
	return spec, warnings, nil
}

// warn keeps each warning about the placing once.
func (l *Local) warn(warnings []record.Warning) {
	for _, w := range warnings {
		if !slices.Contains(l.warnings, w) {
			l.warnings = append(l.warnings, w)
		}
	}
}

// Measure runs what is open, all at once, with telemetry around it.
func (l *Local) Measure(ctx context.Context, watch WatchSpec, progress func(load.Progress)) (m Measured, err error) {
	brood, err := host.GatherBrood(watch.PIDFile)
	if err != nil {
		return Measured{}, err
	}
	defer func() {
		limited, cancel := detached(ctx, slack)
		defer cancel()
		_, endErr := brood.End(limited)
		err = errors.Join(err, endErr)
	}()
	return l.measure(ctx, watch, progress)
}

// measure is Measure without an eye on what the loads start.
func (l *Local) measure(ctx context.Context, watch WatchSpec, progress func(load.Progress)) (Measured, error) {
	samplers, err := l.samplers(watch)
	if err != nil {
		return Measured{}, err
	}
	for i, s := range samplers {
		if err := s.Start(ctx); err != nil {
			return Measured{}, errors.Join(err, stopAll(ctx, samplers[:i]))
		}
	}
	var m Measured
	var loadErr error
	if len(l.loads) > 0 {
		m.Results, loadErr = l.measureAll(ctx, progress)
	} else {
		progress(load.Progress{Phase: phaseWatch})
		<-ctx.Done() // the loads are elsewhere
	}
	m.Warnings = slices.Clone(l.warnings)
	limited, cancel := detached(ctx, slack)
	defer cancel()
	m.Readings, m.Costs, err = samplers[0].Stop(limited)
	for i, s := range samplers[1:] {
		readings, costs, stopErr := s.Stop(limited)
		err = errors.Join(err, stopErr)
		m.Metered = append(m.Metered, Metered{Host: watch.Meters[i].Host, Readings: readings, Costs: costs})
	}
	return m, errors.Join(loadErr, err)
}

// phaseWatch is the progress that tells that a machine without a load is watched.
const phaseWatch = "watch"

// samplers returns the sampler of this machine, and one for each host whose
// meters this machine reads.
func (l *Local) samplers(watch WatchSpec) ([]*telemetry.Sampler, error) {
	cfg := telemetry.SamplerConfig{Host: watch.Host, Interval: time.Duration(watch.IntervalSeconds * float64(time.Second)), Clock: l.env.Clock}
	collectors, err := l.collectors(watch)
	if err != nil {
		return nil, err
	}
	all := []*telemetry.Sampler{telemetry.NewSampler(cfg, collectors)}
	for _, m := range watch.Meters {
		meters, err := l.meters(m.Power)
		if err != nil {
			return nil, fmt.Errorf("power of host %s: %w", m.Host, err)
		}
		cfg.Host = m.Host
		all = append(all, telemetry.NewSampler(cfg, meters))
	}
	return all, nil
}

// stopAll stops samplers whose readings are not wanted.
func stopAll(ctx context.Context, samplers []*telemetry.Sampler) error {
	limited, cancel := detached(ctx, slack)
	defer cancel()
	var all error
	for _, s := range samplers {
		_, _, err := s.Stop(limited)
		all = errors.Join(all, err)
	}
	return all
}

// meters opens sources of watts.
func (l *Local) meters(specs []PowerSpec) ([]telemetry.Collector, error) {
	var sources []power.Spec
	for _, p := range specs {
		sources = append(sources, power.Spec(p))
	}
	return power.OpenAll(sources, l.env)
}

// measureAll runs every open load, all connected before the first begins; one
// that fails ends the others. Loads that did not begin have no result.
func (l *Local) measureAll(ctx context.Context, progress func(load.Progress)) ([]load.Result, error) {
	for _, running := range l.loads {
		if err := running.Connect(ctx); err != nil {
			return nil, err
		}
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	results := make([]load.Result, len(l.loads))
	errs := make([]error, len(l.loads))
	var telling sync.Mutex
	tell := func(p load.Progress) {
		telling.Lock()
		defer telling.Unlock()
		progress(p)
	}
	var all sync.WaitGroup
	for i, running := range l.loads {
		all.Go(func() {
			if results[i], errs[i] = running.Measure(ctx, tell); errs[i] != nil {
				cancel()
			}
		})
	}
	all.Wait()
	results = slices.DeleteFunc(results, func(r load.Result) bool { return r.Load.Workload == "" })
	return results, firstCause(errs)
}

// firstCause leaves out the loads that ended only because another one failed.
func firstCause(errs []error) error {
	causes := slices.DeleteFunc(slices.Clone(errs), func(err error) bool {
		return err == nil || errors.Is(err, context.Canceled)
	})
	if len(causes) == 0 {
		return errors.Join(errs...)
	}
	return errors.Join(causes...)
}

// CloseLoad closes the sessions, sources before their sinks.
func (l *Local) CloseLoad(context.Context) error {
	var all error
	for _, running := range slices.Backward(l.loads) {
		all = errors.Join(all, running.Close())
	}
	l.loads, l.warnings = nil, nil
	return all
}

// collectors are those that a watch asks for, and every power source that the
// plan names.
func (l *Local) collectors(watch WatchSpec) ([]telemetry.Collector, error) {
	cfg := telemetry.Config{Root: l.env.Root, Self: l.bakeoff}
	for _, name := range slices.Sorted(maps.Keys(watch.Processes)) {
		cfg.Processes = append(cfg.Processes, telemetry.Process{Name: name, PIDs: watch.Processes[name]})
	}
	for _, name := range watch.Names {
		cfg.Processes = append(cfg.Processes, telemetry.Process{Name: name, Command: name})
	}
	meters, err := l.meters(watch.Power)
	if err != nil {
		return nil, err
	}
	hosts := slices.DeleteFunc(slices.Clone(watch.Collectors), func(name string) bool { return name == telemetry.PowerGroup })
	if len(watch.Collectors) > 0 && len(hosts) == 0 {
		return meters, nil
	}
	chosen, err := telemetry.Select(telemetry.Table(cfg), hosts)
	if watch.NoEnergy {
		chosen = slices.DeleteFunc(chosen, func(c telemetry.Collector) bool {
			return c.Describe().Name == "rapl"
		})
	}
	return append(chosen, meters...), err
}

// checkLoad opens a load without preparing it, which validates its parameters
// and sends nothing.
func (l *Local) checkLoad(ctx context.Context, s LoadSpec) error {
	asked, err := host.ParseCPUs(s.GeneratorCPUs)
	if err != nil {
		return fmt.Errorf("cores of the generator: %w", err)
	}
	topology, err := host.ReadTopology(ctx, l.env.Root)
	if err != nil {
		return err
	}
	if missing := asked.Without(topology.Allowed); len(missing) > 0 {
		return fmt.Errorf("hosts.%s.cpus: processors %s are not there for the generator; expected some of %s", s.Host, missing, topology.Allowed)
	}
	running, err := l.open(ctx, s.Spec, s)
	if err != nil {
		return err
	}
	if err := running.Close(); err != nil {
		return err
	}
	engine, err := l.engines(s.Engine)
	if err != nil {
		return err
	}
	if e, ok := engine.(localChecker); ok {
		return e.CheckHere(s.Spec)
	}
	return nil
}

// A localChecker is an engine that needs something of the machine that it runs
// on, and can tell beforehand whether it is there.
type localChecker interface {
	CheckHere(spec load.Spec) error
}
