package run

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"bakeoff/host"
	"bakeoff/plan"
	"bakeoff/record"
)

// executor carries one run of a plan.
type executor struct {
	cfg      Config
	writer   *record.Writer
	machines []*machine
	lock     *host.HostLock
	resolver *resolver
	services []*liveService // in the order in which they were started
	outcomes []plan.Outcome
	pace     pace

	mu sync.Mutex // events come from one goroutine at a time
}

// Execute runs a plan, or goes on with a run that stopped half-way, until the
// plan is done, the operator stops it, or something is in the way. Whatever
// happens, settings are put back and services stopped before it returns. The
// summary is of use beside an error, too.
func Execute(ctx context.Context, config Config) (Summary, error) {
	cfg, err := config.withDefaults()
	if err != nil {
		return Summary{}, err
	}
	ms, err := machines(cfg.Plan, cfg.Agents)
	if err != nil {
		return Summary{}, err
	}
	lock, err := lockHost(cfg)
	if err != nil {
		return Summary{}, err
	}
	if err := leftBehind(cfg, lock); err != nil {
		return Summary{}, errors.Join(err, lock.Release())
	}
	x := &executor{cfg: cfg, machines: ms, lock: lock}
	events, done, err := x.open(ctx)
	if err != nil || done != nil {
		return orElse(done), errors.Join(err, lock.Release())
	}
	if dir, err := filepath.Abs(x.writer.Dir()); err == nil {
		lock.Hold(dir, cfg.Clock.Now())
	}
	summary, err := x.run(ctx, events)
	return summary, errors.Join(err, x.writer.Close(), lock.Release())
}

// lockHost keeps a second run off this machine.
func lockHost(cfg Config) (*host.HostLock, error) {
	dir, err := filepath.Abs(cmp.Or(cfg.Resume, cfg.Dir))
	if err != nil {
		return nil, fmt.Errorf("taking this machine's lock: %w", err)
	}
	if cfg.Resume == "" { // its record is made, and named, when nothing is in its way
		dir = fmt.Sprintf("of %s in %s (not begun)", cfg.Plan.Name, dir)
	}
	return host.Lock(cfg.LockDir, dir, cfg.Clock.Now())
}

func orElse(s *Summary) Summary {
	if s == nil {
		return Summary{}
	}
	return *s
}

// open makes a new record, or reopens one. It returns a summary where there is
// nothing to do.
func (x *executor) open(ctx context.Context) ([]record.Event, *Summary, error) {
	var events []record.Event
	var err error
	if x.cfg.Resume == "" {
		problems, checkErr := check(ctx, x.cfg, x.machines)
		if checkErr == nil && len(problems) > 0 {
			checkErr = &ProblemsError{problems}
		}
		if checkErr != nil {
			return nil, nil, checkErr
		}
		x.writer, err = record.Create(x.cfg.Dir, x.manifest(), x.cfg.Plan.Source, x.cfg.Clock.Now)
	} else {
		run, openErr := record.Open(x.cfg.Resume)
		if openErr != nil {
			return nil, nil, openErr
		}
		if err := x.mayResume(run); err != nil {
			return nil, nil, &RefusedError{err}
		}
		if run.Complete {
			return nil, &Summary{
				Dir: run.Dir, Outcome: Done, RootHash: run.RootHash, Trials: countTrials(run.Trials),
				Next: "the run is complete: there is nothing left to do; run its plan to measure anew",
			}, nil
		}
		x.outcomes = outcomesOf(run)
		x.writer, events, err = record.Reopen(x.cfg.Resume, x.cfg.Clock.Now)
	}
	if err != nil {
		return nil, nil, err
	}
	if err := x.resolveIn(); err != nil {
		return nil, nil, errors.Join(err, x.writer.Close())
	}
	return events, nil, nil
}

// resolveIn makes the resolver, with the work directory of the open record.
func (x *executor) resolveIn() error {
	work, err := x.writer.WorkDir()
	if err != nil {
		return fmt.Errorf("making the services' work directory: %w", err)
	}
	x.resolver = &resolver{plan: x.cfg.Plan, machines: x.machines, engines: x.cfg.Engines, workDir: work}
	return nil
}

func (x *executor) manifest() record.Manifest {
	p := x.cfg.Plan
	return record.Manifest{
		Title: p.Title, Build: x.cfg.Build, PlanName: p.Name, Seed: p.Seed, Host: x.cfg.Host,
		Command: x.cfg.Command, AA: p.AA, PostHocOf: x.cfg.PostHocOf,
	}
}

// mayResume refuses to go on with a record that this plan, build or machine
// did not begin.
func (x *executor) mayResume(run *record.Run) error {
	p, m := x.cfg.Plan, run.Manifest
	const otherwise = "or run the plan itself, to begin a new run"
	switch {
	case record.HashBytes(p.Source) != m.PlanHash:
		return fmt.Errorf("%s cannot be resumed: plan %s was changed since the run began (its hash was %s and is %s); restore the plan from %s/%s, %s",
			run.Dir, p.Name, m.PlanHash, record.HashBytes(p.Source), run.Dir, record.PlanFile, otherwise)
	case m.Host != x.cfg.Host:
		return fmt.Errorf("%s cannot be resumed here: it began on host %q and this is %q; resume it there, %s", run.Dir, m.Host, x.cfg.Host, otherwise)
	case m.Build != x.cfg.Build:
		return fmt.Errorf("%s cannot be resumed: it began with build %q and this is %q, and one run must not mix two; use that build, %s", run.Dir, m.Build, x.cfg.Build, otherwise)
	case m.Seed != p.Seed || m.AA != p.AA:
		return fmt.Errorf("%s cannot be resumed: it began with seed %d and aa %t, now they are %d and %t; give the options that it began with, %s",
			run.Dir, m.Seed, m.AA, p.Seed, p.AA, otherwise)
	case m.Redacted != nil:
		return fmt.Errorf("%s is a redacted copy, which cannot be resumed: resume the original, %s", run.Dir, otherwise)
	}
	return nil
}

// outcomesOf are the outcomes that a record holds, with the status that each
// trial was measured with.
func outcomesOf(run *record.Run) []plan.Outcome {
	was := map[record.TrialID]record.Status{}
	for _, e := range run.Exclusions {
		was[e.Trial] = e.Was
	}
	var all []plan.Outcome
	for _, t := range run.Trials {
		o := outcomeOf(t)
		if status, excluded := was[t.ID]; excluded {
			o.Status, o.Excluded = status, true
		}
		all = append(all, o)
	}
	return all
}

func outcomeOf(t record.Trial) plan.Outcome {
	return plan.Outcome{
		Trial:  plan.Trial{ID: t.ID, Role: t.Role, Block: t.Block, Attempt: t.Attempt, Cell: t.Cell, At: t.At, Seed: t.Seed},
		Status: t.Status, Reason: t.Reason,
	}
}

// run is the life of an opened record.
func (x *executor) run(ctx context.Context, events []record.Event) (Summary, error) {
	left, err := replayJournal(events)
	for _, o := range x.outcomes {
		if err == nil && !left.seen[o.Trial.ID] {
			err = fmt.Errorf("%s says nothing of trial %s, which the record has: its end is missing, and with it what may still have to be put back; restore it from a copy",
				record.JournalFile, o.Trial.ID)
		}
	}
	if err != nil {
		return x.summary(Broken, "the journal cannot be understood: begin a new run"), err
	}
	err = x.writer.Append(evBegin, beginEvent{Host: x.cfg.Host, Build: x.cfg.Build, PID: os.Getpid()})
	if err != nil {
		return x.broken(&recordError{err})
	}
	undone, err := x.undo(ctx, left)
	x.emit(Event{Kind: RunBegins, Dir: x.writer.Dir(), Undone: undone})
	if err == nil {
		x.lock.Settled()
		err = x.closeInterrupted(left)
	}
	if err != nil {
		return x.broken(err)
	}
	outcome, err := x.trials(ctx)
	if stopErr := x.stopAll(ctx); stopErr != nil {
		err = errors.Join(err, stopErr)
	}
	switch {
	case err != nil:
		return x.broken(err)
	case outcome == Stopped:
		return x.stopped()
	}
	return x.seal()
}

// trials runs one trial after another.
func (x *executor) trials(ctx context.Context) (Outcome, error) {
	for {
		if x.stopRequested(ctx) {
			return Stopped, nil
		}
		if err := x.fillValues(); err != nil {
			return Broken, err
		}
		t, more, err := plan.Next(x.cfg.Plan, x.outcomes)
		if err != nil || !more {
			return Done, err
		}
		rec, err := x.trial(ctx, t)
		x.outcomes = append(x.outcomes, outcomeOf(rec))
		if err != nil {
			return Broken, err
		}
	}
}

func (x *executor) stopRequested(ctx context.Context) bool {
	select {
	case <-x.cfg.Stop:
		return true
	default:
		return ctx.Err() != nil
	}
}

// seal ends a run that is done.
func (x *executor) seal() (Summary, error) {
	if err := x.writer.Append(evDone, doneEvent{Trials: len(x.outcomes)}); err != nil {
		return x.broken(&recordError{err})
	}
	root, err := x.writer.Seal()
	if err != nil {
		return x.broken(&recordError{err})
	}
	s := x.summary(Done, "to make its report: bakeoff report "+x.writer.Dir())
	s.RootHash, s.Resumable = root, false
	x.emit(Event{Kind: RunEnds, Text: s.Next})
	return s, nil
}

func (x *executor) stopped() (Summary, error) {
	if err := x.writer.Append(evStop, stopEvent{Reason: errStopped.Error()}); err != nil {
		return x.broken(&recordError{err})
	}
	s := x.summary(Stopped, "to go on where it stopped: bakeoff run "+x.writer.Dir())
	x.emit(Event{Kind: RunEnds, Text: s.Next})
	return s, nil
}

// broken ends a run that something is in the way of.
func (x *executor) broken(cause error) (Summary, error) {
	outcome, next := Broken, "mend that, then go on with: bakeoff run "+x.writer.Dir()
	var given *plan.GivenUpError
	if errors.As(cause, &given) {
		outcome, next = GivenUp, "look at "+x.writer.Dir()+" for what the trials say, mend it, and run the plan afresh"
	}
	var left *LeftoverError
	if errors.As(cause, &left) {
		next = "put back by hand what is named above; or mend what is in the way, and bakeoff run " + x.writer.Dir() + " tries again"
	}
	// The journal may be what is in the way: the cause is told in any case.
	_ = x.writer.Append(evStop, stopEvent{Reason: cause.Error()})
	s := x.summary(outcome, next)
	x.emit(Event{Kind: RunEnds, Err: cause, Text: next})
	return s, cause
}

func (x *executor) summary(o Outcome, next string) Summary {
	s := Summary{Dir: x.writer.Dir(), Outcome: o, Trials: map[record.Status]int{}, Resumable: o == Stopped || o == Broken, Next: next}
	for _, t := range x.outcomes {
		s.Trials[t.Status]++
	}
	return s
}

func countTrials(trials []record.Trial) map[record.Status]int {
	n := map[record.Status]int{}
	for _, t := range trials {
		n[t.Status]++
	}
	return n
}

// emit tells the watcher, one event at a time.
func (x *executor) emit(e Event) {
	x.mu.Lock()
	defer x.mu.Unlock()
	e.At = x.cfg.Clock.Now()
	x.cfg.Progress(e)
}

// closeInterrupted gives the trial that a crash cut short its place in the
// record.
func (x *executor) closeInterrupted(left leftover) error {
	if left.trial == nil {
		return nil
	}
	id := left.trial.Trial
	if slices.ContainsFunc(x.outcomes, func(o plan.Outcome) bool { return o.Trial.ID == id }) {
		// It was written; only the journal's last line on it is missing.
		o := x.outcomes[len(x.outcomes)-1]
		return x.record(x.writer.Append(evTrialEnd, trialEndEvent{Trial: id, Status: o.Status, Reason: o.Reason}))
	}
	t := newTrial(left.trial.plan())
	t.Status, t.Reason = record.StatusInterrupted, "bakeoff ended without warning in phase "+left.broken+", as by a crash, a power cut or SIGKILL"
	t.Phases = left.phases
	if n := len(t.Phases); n > 0 {
		t.Started, t.Ended = t.Phases[0].Started, t.Phases[n-1].Started
	}
	for _, s := range left.settings {
		t.Settings = append(t.Settings, record.AppliedSetting{
			Host: s.Host, Kind: s.Spec.Kind, Target: s.Spec.Target, Wanted: s.Spec.Value, Before: &s.Before, Restored: &s.Before})
	}
	err := errors.Join(
		x.writer.DiscardFiles(id), x.writer.WriteTrial(t),
		x.writer.Append(evTrialEnd, trialEndEvent{Trial: id, Status: t.Status, Reason: t.Reason}))
	x.outcomes = append(x.outcomes, outcomeOf(t))
	return x.record(err)
}

// record marks an error as one of writing the record.
func (x *executor) record(err error) error {
	if err == nil {
		return nil
	}
	return &recordError{err}
}

// pace estimates how long a run still takes.
type pace struct {
	took  time.Duration
	count int
}

func (p *pace) add(d time.Duration) { p.took, p.count = p.took+d, p.count+1 }

// progress places a trial in the run: its index, the total as far as it is
// known, and the time left with it and all after it.
func (x *executor) progress(t plan.Trial, planned time.Duration) (index, total int, eta *time.Duration) {
	p := x.cfg.Plan
	perBlock := len(p.Cells())
	if p.AA {
		perBlock += len(p.BaselineCells())
	}
	blocks := max(p.Repeat.Blocks, p.Repeat.Pilot)
	if d, decided, err := plan.Decide(p, x.outcomes); err == nil && decided {
		blocks = d.Blocks
	}
	at := 0
	for _, o := range x.outcomes {
		if o.Trial.Block == t.Block && t.Block > 0 && o.Trial.Attempt == t.Attempt && o.Status != record.StatusInterrupted {
			at++
		}
	}
	index = len(x.outcomes) + 1
	total = len(x.outcomes) + perBlock - at + max(0, blocks-max(t.Block, 1))*perBlock + p.SearchLeft(x.outcomes)
	each := planned
	if x.pace.count > 0 {
		each = x.pace.took / time.Duration(x.pace.count)
	}
	if each > 0 {
		left := each * time.Duration(total-len(x.outcomes))
		eta = &left
	}
	return index, total, eta
}

// processes maps the services that are up on a machine to their processes.
func (x *executor) processes(m *machine) map[string][]int {
	all := map[string][]int{}
	for _, s := range x.services {
		if s.machine == m && len(s.started.PIDs) > 0 {
			all[s.spec.Name] = slices.Clone(s.started.PIDs)
		}
	}
	return maps.Clone(all)
}
