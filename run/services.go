package run

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"time"

	"bakeoff/plan"
	"bakeoff/record"
)

// liveService is a service under test that is up.
type liveService struct {
	machine *machine
	spec    ServiceSpec
	restart plan.Restart
	cell    string // that it was started for
	started record.Service
	trial   record.TrialID // in which it was last used
}

// startServices starts what the cell needs and does not run yet.
func (r *trialRun) startServices(ctx context.Context, sign func()) error {
	x := r.x
	r.rec.Services = append(r.rec.Services, r.jobs.elsewhere...)
	if err := x.stopOutdated(ctx, r); err != nil {
		return err
	}
	for _, m := range x.machines {
		for _, s := range r.jobs.jobs[m].Services {
			sign()
			live := x.live(s.Name)
			if live == nil {
				var err error
				if live, err = x.start(ctx, r, m, s); err != nil {
					return err
				}
			}
			live.trial = r.t.ID
			described := live.started
			described.Name, described.Host = s.Name, r.hostOf(s.Name)
			r.rec.Services = append(r.rec.Services, described)
		}
	}
	return nil
}

// hostOf is the plan's name of the host that a service runs on.
func (r *trialRun) hostOf(service string) string {
	for _, s := range r.jobs.Services {
		if s.Name == service {
			return s.Host
		}
	}
	return ""
}

func (r *trialRun) restartOf(service string) plan.Restart {
	for _, s := range r.jobs.Services {
		if s.Name == service && s.Restart != "" {
			return s.Restart
		}
	}
	return plan.RestartTrial
}

func (x *executor) live(name string) *liveService {
	for _, s := range x.services {
		if s.spec.Name == name {
			return s
		}
	}
	return nil
}

// stopOutdated stops services of earlier trials that may not serve this one.
func (x *executor) stopOutdated(ctx context.Context, r *trialRun) error {
	var all error
	for _, s := range append([]*liveService(nil), x.services...) {
		if s.serves(r) {
			continue
		}
		all = errors.Join(all, x.stop(ctx, s))
	}
	return all
}

// serves reports whether a service that is up may stay for a trial.
func (s *liveService) serves(r *trialRun) bool {
	if s.restart == plan.RestartTrial || s.restart == plan.RestartCell && s.cell != r.t.Cell.Key() {
		return false
	}
	for _, spec := range r.jobs.jobs[s.machine].Services {
		if spec.Name == s.spec.Name {
			return reflect.DeepEqual(spec, s.spec)
		}
	}
	return true
}

// start starts one service. That it is about to be is in the journal first.
func (x *executor) start(ctx context.Context, r *trialRun, m *machine, s ServiceSpec) (*liveService, error) {
	e := serviceEvent{Trial: r.t.ID, Host: m.name, Service: s.Name}
	if err := x.record(x.writer.Append(evServiceStarting, e)); err != nil {
		return nil, err
	}
	live := &liveService{machine: m, spec: s, restart: r.restartOf(s.Name), cell: r.t.Cell.Key(), trial: r.t.ID}
	x.services = append(x.services, live)
	started, err := m.agent.StartService(ctx, s)
	if err != nil {
		return nil, fmt.Errorf("host %s: starting service %s: %w", m.name, s.Name, err)
	}
	live.started = started
	e.PIDs = started.PIDs
	return live, x.record(x.writer.Append(evServiceStarted, e))
}

// stop stops a service and keeps the end of what it printed.
func (x *executor) stop(ctx context.Context, s *liveService) error {
	limit := slack + time.Duration(s.spec.StopSeconds*float64(time.Second))
	ctx, cancel := detached(ctx, limit)
	defer cancel()
	stopped, err := s.machine.agent.StopService(ctx, s.spec.Name)
	if err != nil {
		return &LeftoverError{What: fmt.Sprintf("host %s: service %s may still be running", s.machine.name, s.spec.Name), Err: err}
	}
	for i, o := range x.services {
		if o == s {
			x.services = append(x.services[:i:i], x.services[i+1:]...)
			break
		}
	}
	if len(stopped.Log) > 0 {
		err = x.writer.WriteLog(s.trial, "service-"+s.spec.Name+".log", stopped.Log)
	}
	e := serviceEvent{Trial: s.trial, Host: s.machine.name, Service: s.spec.Name}
	return x.record(errors.Join(err, x.writer.Append(evServiceStopped, e)))
}

// stopAfter stops the services that live for one trial; after a trial that
// could not be measured, all.
func (x *executor) stopAfter(ctx context.Context, failed bool) error {
	var all error
	for i := len(x.services) - 1; i >= 0; i-- {
		if s := x.services[i]; failed || s.restart == plan.RestartTrial {
			all = errors.Join(all, x.stop(ctx, s))
		}
	}
	return all
}

// stopAll stops every service, last one first.
func (x *executor) stopAll(ctx context.Context) error { return x.stopAfter(ctx, true) }

// undo puts back what an earlier process left applied and ends what it left
// running, and says in words what that was.
func (x *executor) undo(ctx context.Context, left leftover) (undone []string, err error) {
	ended, err := x.endOrphans(ctx, left.services, left.trial != nil)
	undone = append(undone, ended...)
	for i := len(left.settings) - 1; i >= 0; i-- {
		s := left.settings[i]
		m, findErr := x.resolver.machine(s.Host, "a setting of the run before")
		if findErr != nil {
			err = errors.Join(err, findErr)
			continue
		}
		if _, restoreErr := x.restoreSetting(ctx, m, s); restoreErr != nil {
			err = errors.Join(err, restoreErr)
			continue
		}
		undone = append(undone, fmt.Sprintf("host %s: setting %s %s put back to %q", s.Host, s.Spec.Kind, s.Spec.Target, s.Before))
	}
	if len(undone) > 0 {
		err = errors.Join(err, x.record(x.writer.Append(evUndone, undoneEvent{undone})))
	}
	return undone, err
}

// endOrphans ends services that are left and, where a trial was broken off, what
// its loads had started.
func (x *executor) endOrphans(ctx context.Context, left []serviceEvent, broken bool) (undone []string, err error) {
	for _, m := range x.machines {
		var orphans []Orphan
		var events []serviceEvent
		for _, s := range left {
			if s.Host == m.name {
				// The run directory may have been moved since.
				orphans = append(orphans, Orphan{Name: s.Service, PIDFile: x.resolver.pidFile(s.Service)})
				events = append(events, s)
			}
		}
		if broken {
			orphans = append(orphans, Orphan{PIDFile: x.resolver.loadPIDFile(m)})
		}
		if len(orphans) == 0 {
			continue
		}
		limited, cancel := detached(ctx, 2*slack)
		ended, endErr := m.agent.EndOrphans(limited, orphans)
		cancel()
		if endErr != nil {
			err = errors.Join(err, &LeftoverError{What: fmt.Sprintf("host %s: a service of the run before may still be running", m.name), Err: endErr})
			continue
		}
		undone = append(undone, ended...)
		for _, e := range events {
			err = errors.Join(err, x.record(x.writer.Append(evServiceStopped, e)))
		}
	}
	return undone, err
}
