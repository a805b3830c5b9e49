package load

import (
	"context"
	"errors"
	"fmt"
	"time"

	"bakeoff/record"
)

// measurement is what one Measure knows.
type measurement struct {
	*Running
	ctx     context.Context
	job     job
	ended   <-chan struct{} // all workers have
	began   instant
	ending  instant
	opening []Count // snapshots at the window's edges
	closing []Count
	outcome outcome
	ticks   *metronome
	news    *news
}

// instant is one moment on three clocks.
type instant struct {
	clock, mono int64 // ns
	wall        time.Time
}

func (r *Running) instant() instant {
	own, mono := r.clock.pair()
	// Without the monotonic reading, so that a step of the wall clock shows.
	return instant{own, mono, r.wall.Now().Round(0)}
}

// Measure runs the load once: warm-up, window, drain, verification. Where it
// returns an error after the work has begun, the result is whole all the same:
// everything that was done until then is counted, and the error says what ended
// the measurement early.
func (r *Running) Measure(ctx context.Context, progress func(Progress)) (Result, error) {
	if r.measured {
		return Result{}, fmt.Errorf("engine %s: a session is measured only once", r.engine.Name())
	}
	if err := r.Connect(ctx); err != nil {
		return Result{}, err
	}
	r.measured = true
	threads := 0
	if r.shape.Contract == Batched {
		threads = r.shape.Workers
	} else if len(r.spec.Common.CPUs) > 0 {
		r.warn("cpus-not-applied", record.SeverityNote, "virtual users are not pinned", "workers on the cores that the plan gives them",
			"Start bakeoff itself on those cores (taskset), or leave cpus out.")
	}
	r.machine.quiet.hold(threads)
	defer r.machine.quiet.release(threads)
	m := &measurement{Running: r, ctx: ctx, news: newNews(progress)}
	defer m.news.end()
	if err := m.start(); err != nil {
		return Result{}, err
	}
	early := m.watch()
	m.ending = m.instant()
	m.outcome = r.driver.finish()
	m.ticks.stop()
	m.job.collector.stop()
	err := m.judge(early)
	result := m.result()
	if err == nil {
		err = m.conclude(&result)
	}
	if a, ok := m.session.(Artifacter); ok {
		for name, content := range a.Artifacts() {
			result.Logs[m.job.collector.logs.name+"."+name] = content
		}
	}
	result.Warnings = r.warnings
	return result, errors.Join(err, m.job.collector.err)
}

// start sets the workers to work.
func (m *measurement) start() error {
	c := m.spec.Common
	m.began = m.instant()
	e := edges{begin: m.began.clock, open: m.began.clock + int64(c.Warmup), slice: intervalLength}
	e.close = e.open + int64(c.Window)
	if m.shape.Done {
		e.open, e.close = e.begin, forever
		if c.Deadline > 0 {
			e.close = e.open + int64(c.Deadline)
		}
	}
	schedule := m.schedule()
	logs := newLogSet(m.spec, m.wallAt(e.open), latencyTypes(schedule != nil))
	m.job = job{
		clock: m.clock, edges: e, schedule: schedule,
		drain: int64(c.DrainTime), quantum: int64(c.Quantum), timeout: int64(c.OpTimeout),
		collector: newCollector(e, m.kinds, m.driver.recorders(), logs, m.tell),
	}
	go m.job.collector.run()
	m.ticks = startMetronome(m.clock, e)
	err := m.announce(e)
	if err == nil {
		m.ended, err = m.driver.start(m.job)
	}
	if err != nil {
		m.ticks.stop()
		m.job.collector.stop()
		return fmt.Errorf("engine %s: starting the load: %w", m.engine.Name(), err)
	}
	return nil
}

// announce tells the session when the window will be.
func (m *measurement) announce(e edges) error {
	if w, ok := m.session.(Windower); ok {
		return w.Window(m.ctx, e.open, e.close)
	}
	return nil
}

// wallAt returns the wall clock at a moment of the measuring clock.
func (m *measurement) wallAt(at int64) time.Time {
	return m.began.wall.Add(time.Duration(at - m.began.clock))
}

// tell turns a finished interval into progress.
func (m *measurement) tell(iv record.Interval, p phase) {
	c := m.spec.Common
	at, f := iv.Offset+iv.Seconds, 1.0
	switch p {
	case warming:
		f = fraction(at+c.Warmup.Seconds(), c.Warmup.Seconds())
	case inWindow:
		f = fraction(at, c.Window.Seconds())
	}
	m.news.send(Progress{Workload: m.spec.Workload, Phase: p.String(), Fraction: f, Interval: iv})
}

// watch waits for the window's edges and for the workers to end. It returns what
// ended the work early from outside of them.
func (m *measurement) watch() error {
	e := m.job.edges
	event := m.wait(e.open)
	if event == reached {
		m.driver.edge(true)
		m.opening = m.snapshot("opens")
		event = m.wait(e.close)
		m.driver.edge(false)
	}
	if event == cancelled {
		return m.stop(context.Cause(m.ctx))
	}
	if event == allEnded {
		m.closing = m.snapshot("is done")
		return nil
	}
	m.closing = m.snapshot("closes")
	if m.shape.Done {
		return m.stop(nil) // work that is not done by its deadline has failed: nothing is waited for
	}
	switch m.wait(e.close + m.job.drain) {
	case cancelled:
		return m.stop(context.Cause(m.ctx))
	case reached:
		return m.stop(nil)
	}
	return nil
}

var errDeadline = errors.New("the work was not done by its deadline")

// event is what a wait ended with.
type event int

const (
	reached event = iota
	allEnded
	cancelled
)

// wait waits until a moment of the clock, the end of all workers or of the
// context.
func (m *measurement) wait(until int64) event {
	if until < forever {
		timer := time.NewTimer(time.Duration(until - m.clock.Now()))
		defer timer.Stop()
		return m.first(timer.C)
	}
	return m.first(nil)
}

func (m *measurement) first(timer <-chan time.Time) event {
	select {
	case <-m.ended:
		return allEnded
	case <-m.ctx.Done():
		return cancelled
	case <-timer:
		return reached
	}
}

// stop halts the workers, gives them some time to come back, and returns why.
func (m *measurement) stop(why error) error {
	m.driver.halt()
	timer := time.NewTimer(m.patience)
	defer timer.Stop()
	select {
	case <-m.ended:
	case <-timer.C:
	}
	return why
}

// snapshotTime bounds the reading of counters, lest it outlast the window.
const snapshotTime = 5 * time.Second

// snapshot reads the engine's counters. What it cannot read is missing from the
// record, and says so; what comes with the error stands.
func (m *measurement) snapshot(when string) []Count {
	ctx, cancel := context.WithTimeout(m.ctx, snapshotTime)
	defer cancel()
	counts, err := m.session.Snapshot(ctx)
	if err != nil {
		m.warn("counters-missing", record.SeveritySoft, "as the window "+when+": "+err.Error(),
			"the engine reads its counters at both edges", "See whether the target answered at that moment.")
	}
	return counts
}

func (r *Running) warn(gate string, severity record.Severity, found, threshold, advice string) {
	subject := r.spec.Workload
	if r.spec.Host != "" {
		subject += " on " + r.spec.Host
	}
	r.warnings = append(r.warnings, record.Warning{
		Gate: gate, Severity: severity, Subject: subject, Found: found, Threshold: threshold, Advice: advice,
	})
}

// judge returns what ended the measurement early, if anything did, and warns of
// what makes its counts doubtful.
func (m *measurement) judge(early error) error {
	o := &m.outcome
	name := m.engine.Name()
	if early == nil && m.shape.Done && !o.finished {
		early = fmt.Errorf("%w of %v", errDeadline, m.spec.Common.Deadline)
	}
	for _, f := range o.faults {
		m.warn("engine-contract", record.SeverityHard, f, "what the engine gives back is what it was given",
			"The counts cannot be trusted: report this as a fault of the engine, with the record.")
	}
	switch {
	case o.err != nil:
		return fmt.Errorf("engine %s: the load ended early, %s: %w", name, m.progressText(), o.err)
	case o.stuck > 0:
		return errors.Join(early, fmt.Errorf("engine %s: %d of %d workers did not come back %v after they should have ended",
			name, o.stuck, m.shape.Workers, m.patience))
	case early != nil:
		return fmt.Errorf("engine %s: the load ended early, %s: %w", name, m.progressText(), early)
	}
	if out := o.book.out(); out > 0 {
		m.warnLost(out)
	}
	return nil
}

// progressText says how far a measurement had come.
func (m *measurement) progressText() string {
	e := m.job.edges
	at := min(m.outcome.close, m.ending.clock)
	if at <= e.open && !m.shape.Done {
		return fmt.Sprintf("%v into its warm-up of %v", rounded(at-e.begin), m.spec.Common.Warmup)
	}
	if e.close == forever || m.shape.Done {
		return fmt.Sprintf("after %v of work", rounded(at-e.open))
	}
	return fmt.Sprintf("%v into its window of %v", rounded(at-e.open), m.spec.Common.Window)
}

func rounded(ns int64) time.Duration { return time.Duration(ns).Round(time.Millisecond) }

// warnLost tells of operations that never came back.
func (m *measurement) warnLost(out int64) {
	c := m.spec.Common
	if c.DrainTime >= c.OpTimeout {
		m.warn("operations-lost", record.SeverityHard, fmt.Sprintf("%d operations neither came back nor timed out", out),
			fmt.Sprintf("every operation comes back within its timeout of %v", c.OpTimeout),
			"Report this as a fault of the engine, with the record.")
		return
	}
	m.warn("operations-undrained", record.SeveritySoft, fmt.Sprintf("%d operations were in flight when the drain of %v ended", out, c.DrainTime),
		"every operation of the window is waited for",
		"Their latencies are missing, and may be the longest: make the drain as long as op_timeout.")
}

// conclude has the session verify its data and give its own figures.
func (m *measurement) conclude(result *Result) error {
	if f, ok := m.session.(Figurer); ok {
		figures, err := f.Figures(m.ctx)
		if err != nil {
			return fmt.Errorf("engine %s: reading its figures: %w", m.engine.Name(), err)
		}
		result.Load.Figures = figures
	}
	v, ok := m.session.(Verifier)
	if !ok {
		return nil
	}
	if err := v.Verify(m.ctx); err != nil {
		m.warn("verification-failed", record.SeverityHard, err.Error(), "the data read back is the data written",
			"The target lost or changed data: the trial says nothing about a server that works.")
	}
	return nil
}
