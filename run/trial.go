package run

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"bakeoff/analysis"
	"bakeoff/load"
	"bakeoff/plan"
	"bakeoff/record"
)

// trialRun is the life of one trial.
type trialRun struct {
	x        *executor
	t        plan.Trial
	rec      record.Trial
	jobs     resolved
	applied  []appliedSetting
	measured map[*machine]Measured
	fatal    error // why the run cannot go on

	mu       sync.Mutex
	phaseNow string
	began    time.Time // of the phase
}

// trial runs one trial from resolving its cell to its place in the record. An
// error means that the run cannot go on; a trial that failed is none.
func (x *executor) trial(ctx context.Context, t plan.Trial) (record.Trial, error) {
	r := &trialRun{x: x, t: t, rec: newTrial(t), measured: map[*machine]Measured{}}
	r.rec.Started = x.cfg.Clock.Now().UTC()
	index, total, eta := x.progress(t, r.planned())
	if err := x.record(x.writer.Append(evTrialBegin, planTrialEvent(t))); err != nil {
		r.rec.Status = record.StatusFailed
		return r.rec, err
	}
	x.emit(Event{Kind: TrialBegins, Trial: t, Index: index, Total: total, ETA: eta})
	r.live(ctx)
	r.cleanUp(ctx)
	r.rec.Ended = x.cfg.Clock.Now().UTC()
	r.write()
	x.pace.add(r.rec.Ended.Sub(r.rec.Started))
	_, _, eta = x.progress(t, 0)
	x.emit(Event{Kind: TrialEnds, Trial: t, Index: index, Total: total, ETA: eta, Status: r.rec.Status, Text: r.rec.Reason, Warnings: r.rec.Warnings})
	return r.rec, r.fatal
}

// planned is how long the trial's load will take, 0 where nobody knows.
func (r *trialRun) planned() time.Duration {
	jobs, err := r.x.resolver.resolve(r.t)
	if err != nil {
		return 0 // the trial itself will say so
	}
	d, known := jobs.duration()
	if !known {
		return 0
	}
	return d
}

// live takes the trial through its phases, until one fails.
func (r *trialRun) live(ctx context.Context) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	over := make(chan struct{})
	var watching sync.WaitGroup
	watching.Go(func() { r.watchStop(cancel, over) })
	defer watching.Wait()
	defer close(over)
	put := func(value func(*record.AppliedSetting) **string) func(context.Context, func()) error {
		return func(ctx context.Context, _ func()) error {
			return r.readBack(ctx, func(s *record.AppliedSetting, v *string) { *value(s) = v })
		}
	}
	for _, p := range []struct {
		name string
		fn   func(context.Context, func()) error
	}{
		{PhaseResolve, r.resolve},
		{PhaseApply, r.apply},
		{PhaseReadBack, put(func(s *record.AppliedSetting) **string { return &s.ReadBack })},
		{PhaseStart, r.startServices},
		{PhasePrepare, r.prepare},
		{PhaseFactsBefore, r.factsBefore},
		{PhaseMeasure, r.measure},
		{PhaseFactsAfter, func(ctx context.Context, sign func()) error {
			atEnd := put(func(s *record.AppliedSetting) **string { return &s.AtEnd })
			return errors.Join(r.checkServices(ctx), atEnd(ctx, sign), r.factsAfter(ctx))
		}},
	} {
		if err := r.phase(ctx, p.name, p.fn); err != nil {
			r.fail(ctx, p.name, err)
			r.gather()
			return
		}
	}
	r.judge(r.gather())
}

// watchdog is what ends a phase that hangs: starting services may be quiet for
// as long as they may take, the rest for as long as the run allows.
func (r *trialRun) watchdog(phase string) *watchdog {
	cfg := r.x.cfg
	dog := &watchdog{clock: cfg.Clock, stall: cfg.Stall, what: "phase " + phase}
	switch phase {
	case PhaseStart:
		for _, s := range r.jobs.Services {
			dog.stall = max(dog.stall, s.Ready.Timeout+slack)
		}
	case PhaseMeasure:
		if limit := r.jobs.limit(); limit > 0 {
			dog.limit = limit + 2*cfg.Stall
		}
	}
	return dog
}

// phase takes one step, journalled before and after.
func (r *trialRun) phase(ctx context.Context, name string, fn func(context.Context, func()) error) error {
	x := r.x
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	if err := x.record(x.writer.Append(evPhaseBegin, phaseEvent{Trial: r.t.ID, Phase: name})); err != nil {
		return err
	}
	started := x.cfg.Clock.Now()
	r.enter(name, started)
	x.emit(Event{Kind: PhaseBegins, Trial: r.t, Phase: name})
	dog := r.watchdog(name)
	err := dog.guard(ctx, func(ctx context.Context) error { return fn(ctx, dog.sign) })
	p := record.Phase{Name: name, Started: started.UTC(), Ended: x.cfg.Clock.Now().UTC()}
	if err != nil {
		p.Error = err.Error()
	}
	r.rec.Phases = append(r.rec.Phases, p)
	err = errors.Join(err, x.record(x.writer.Append(evPhaseEnd, phaseEvent{Trial: r.t.ID, Phase: name, Error: p.Error})))
	x.emit(Event{Kind: PhaseEnds, Trial: r.t, Phase: name, Err: err})
	return err
}

func (r *trialRun) enter(phase string, at time.Time) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.phaseNow, r.began = phase, at
}

// fail notes why the trial could not be measured. One that was stopped on
// purpose says nothing about the system under test.
func (r *trialRun) fail(ctx context.Context, phase string, err error) {
	reason := phase + ": " + err.Error()
	if ctx.Err() != nil {
		r.rec.Status, r.rec.Reason = record.StatusInterrupted, fmt.Sprintf("%s: %v", phase, errStopped)
		return
	}
	r.rec.Status, r.rec.Reason = record.StatusFailed, reason
	r.breaks(reason, err)
}

// breaks keeps the first error after which the run cannot go on. It is one of
// this machine's, not of the system under test: the trial is to be measured
// again once it is mended, and counts as interrupted.
func (r *trialRun) breaks(reason string, err error) {
	var left *LeftoverError
	var write *recordError
	if !errors.As(err, &left) && !errors.As(err, &write) {
		return
	}
	if r.fatal == nil {
		r.fatal = err
	}
	if r.rec.Status != record.StatusInterrupted {
		r.rec.Status, r.rec.Reason = record.StatusInterrupted, reason
	}
}

func (r *trialRun) resolve(context.Context, func()) error {
	var err error
	r.jobs, err = r.x.resolver.resolve(r.t)
	return err
}

// prepare opens the loads and brings their data sets to their starting state:
// on all machines the sinks first, the sources last.
func (r *trialRun) prepare(ctx context.Context, sign func()) error {
	for _, part := range partsInOrder() {
		err := r.each(func(m *machine) error {
			var specs []LoadSpec
			for _, s := range r.jobs.jobs[m].Loads {
				if s.Part == part {
					specs = append(specs, s)
				}
			}
			if len(specs) == 0 {
				return nil
			}
			_, err := m.agent.OpenLoad(ctx, specs, r.report(PhasePrepare, sign))
			return err
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// report passes a load's progress on, and takes it for a sign of life.
func (r *trialRun) report(phase string, sign func()) func(load.Progress) {
	return func(p load.Progress) {
		sign()
		r.x.emit(Event{Kind: Measuring, Trial: r.t, Phase: phase, Progress: &p})
	}
}

// each acts on all machines at once and returns when all are done.
func (r *trialRun) each(fn func(*machine) error) error {
	errs := make([]error, len(r.x.machines))
	var all sync.WaitGroup
	for i, m := range r.x.machines {
		all.Go(func() {
			if err := fn(m); err != nil {
				errs[i] = fmt.Errorf("host %s: %w", m.name, err)
			}
		})
	}
	all.Wait()
	return firstCause(errs)
}

func (r *trialRun) checkServices(ctx context.Context) error {
	var all error
	for _, s := range r.x.services {
		if err := s.machine.agent.CheckService(ctx, s.spec.Name); err != nil {
			all = errors.Join(all, fmt.Errorf("host %s: service %s: %w", s.machine.name, s.spec.Name, err))
		}
	}
	return all
}

// gather puts what was measured into the trial, and returns its telemetry by
// host. Of a trial that failed, it is what there was until then.
func (r *trialRun) gather() map[string][]record.Reading {
	readings := map[string][]record.Reading{}
	for _, m := range r.x.machines {
		got := r.measured[m]
		r.rec.Warnings = append(r.rec.Warnings, got.Warnings...)
		for _, res := range got.Results {
			r.rec.Loads = append(r.rec.Loads, res.Load)
			r.rec.Warnings = append(r.rec.Warnings, res.Warnings...)
		}
		for _, name := range m.names {
			readings[name] = got.Readings
		}
	}
	return readings
}

// judge looks at what was measured with the gates that look at one trial.
func (r *trialRun) judge(readings map[string][]record.Reading) {
	r.rec.Warnings = append(r.rec.Warnings, analysis.CheckTrial(r.rec, readings, r.x.cfg.Plan.Limits)...)
	r.rec.Status = record.StatusComplete
	for i, w := range r.rec.Warnings {
		r.rec.Warnings[i].Trial, r.rec.Warnings[i].Cell = r.t.ID, r.t.Cell.Key()
		if w.Severity == record.SeverityHard && r.rec.Status == record.StatusComplete {
			r.rec.Status, r.rec.Reason = record.StatusInvalid, fmt.Sprintf("%s: found %s, expected %s", w.Gate, w.Found, w.Threshold)
		}
	}
}

// cleanUp closes the loads, stops the services and puts the settings back,
// whatever happened before; nothing cuts it short but its own deadlines.
func (r *trialRun) cleanUp(ctx context.Context) {
	failed := r.rec.Status == record.StatusFailed || r.rec.Status == record.StatusInterrupted
	r.always(ctx, PhaseStop, func(ctx context.Context) error {
		err := r.each(func(m *machine) error {
			limited, cancel := detached(ctx, slack)
			defer cancel()
			return m.agent.CloseLoad(limited)
		})
		return errors.Join(err, r.x.stopAfter(ctx, failed))
	})
	r.always(ctx, PhaseRestore, r.restore)
}

// always is a phase that takes place even where the journal cannot be written.
func (r *trialRun) always(ctx context.Context, name string, fn func(context.Context) error) {
	x := r.x
	before := x.record(x.writer.Append(evPhaseBegin, phaseEvent{Trial: r.t.ID, Phase: name}))
	p := record.Phase{Name: name, Started: x.cfg.Clock.Now().UTC()}
	r.enter(name, p.Started)
	x.emit(Event{Kind: PhaseBegins, Trial: r.t, Phase: name})
	err := fn(context.WithoutCancel(ctx))
	p.Ended = x.cfg.Clock.Now().UTC()
	if err != nil {
		p.Error = err.Error()
	}
	r.rec.Phases = append(r.rec.Phases, p)
	after := x.record(x.writer.Append(evPhaseEnd, phaseEvent{Trial: r.t.ID, Phase: name, Error: p.Error}))
	x.emit(Event{Kind: PhaseEnds, Trial: r.t, Phase: name, Err: err})
	if err != nil && r.rec.Status != record.StatusFailed && r.rec.Status != record.StatusInterrupted {
		r.rec.Status, r.rec.Reason = record.StatusFailed, name+": "+err.Error()
	}
	if all := errors.Join(err, before, after); all != nil {
		r.breaks(name+": "+all.Error(), all)
	}
}

// watchStop ends the trial where the operator asks to stop and it would take
// too long to finish.
func (r *trialRun) watchStop(cancel context.CancelCauseFunc, over <-chan struct{}) {
	select {
	case <-over:
		return
	case <-r.x.cfg.Stop:
	}
	left, finish := r.worthFinishing()
	if finish {
		r.x.emit(Event{Kind: StopAccepted, Trial: r.t, Text: fmt.Sprintf("stopping after this trial, in about %s; interrupt again to stop at once", left.Round(time.Second))})
		return
	}
	r.x.emit(Event{Kind: StopAccepted, Trial: r.t, Text: "stopping: this trial is given up, settings are put back and services stopped"})
	cancel(errStopped)
}

// worthFinishing reports whether what was measured so far is worth waiting for,
// and how long that takes.
func (r *trialRun) worthFinishing() (left time.Duration, finish bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	switch r.phaseNow {
	case PhaseMeasure:
		total, known := r.jobs.duration()
		left = max(0, total-r.x.cfg.Clock.Now().Sub(r.began))
		return left, known && left <= r.x.cfg.Patience
	case PhaseFactsAfter, PhaseStop, PhaseRestore, PhaseWrite:
		return 0, true
	}
	return 0, false
}
