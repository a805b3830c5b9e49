// Package loadtest is the suite of tests that every engine passes: what the
// contracts of package load promise, checked from outside.
package loadtest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"bakeoff/hist"
	"bakeoff/load"
	"bakeoff/record"
)

// Run puts an engine through the whole suite, once for each spec. The specs name
// a target that works; what they leave out of warm-up and window is filled in
// with fractions of a second.
func Run(t *testing.T, engine load.Engine, specs ...load.Spec) {
	t.Helper()
	t.Run("description", func(t *testing.T) { describes(t, engine) })
	machine := load.NewMachine("/")
	for i, spec := range specs {
		s := suite{engine, filled(engine, spec), load.Env{Machine: machine}}
		t.Run(fmt.Sprintf("spec %d", i+1), func(t *testing.T) {
			t.Run("unknown parameter", s.unknownParameter)
			t.Run("measure", s.measure)
			t.Run("open loop", s.openLoop)
			t.Run("close twice", s.closeTwice)
			t.Run("close before the work", s.closeEarly)
			t.Run("cancel", s.cancel)
			t.Run("every operation once", s.everyOperationOnce)
			t.Run("seed", s.seed)
			t.Run("pauses", s.pauses)
		})
	}
}

type suite struct {
	engine load.Engine
	spec   load.Spec
	env    load.Env
}

func filled(engine load.Engine, s load.Spec) load.Spec {
	s.Engine = engine.Name()
	if s.Workload == "" {
		s.Workload = "suite"
	}
	if s.Host == "" {
		s.Host = "here"
	}
	if s.Part == "" {
		s.Part = load.Source
	}
	c := &s.Common
	if c.Warmup == 0 {
		c.Warmup = 50 * time.Millisecond
	}
	if c.Window == 0 {
		c.Window = 300 * time.Millisecond
	}
	if c.OpTimeout == 0 {
		c.OpTimeout = 2 * time.Second
	}
	if s.Seed == 0 {
		s.Seed = 1
	}
	return s
}

// noLeaks checks at the end of a test that it left no goroutine behind.
func noLeaks(t *testing.T) {
	before := goleak.IgnoreCurrent()
	t.Cleanup(func() { goleak.VerifyNone(t, before) })
}

func describes(t *testing.T, e load.Engine) {
	d := e.Describe()
	if e.Name() == "" || d.Summary == "" || len(d.Kinds) == 0 {
		t.Errorf("engine %q describes itself as %q with kinds %v: all are wanted", e.Name(), d.Summary, d.Kinds)
	}
	seen := map[string]bool{}
	for _, p := range d.Parameters {
		if p.Doc == "" || p.Name == "" || seen[p.Name] {
			t.Errorf("parameter %q lacks a name of its own or a text", p.Name)
		}
		seen[p.Name] = true
	}
	if _, err := load.ReadParams(e.Name(), d, nil); err != nil {
		t.Errorf("its defaults do not fit its own description: %v", err)
	}
}

func (s suite) open(t *testing.T, spec load.Spec) *load.Running {
	t.Helper()
	return prepared(t, s.engine, spec, s.env)
}

// prepared opens and prepares a load, which is closed with the test at the latest.
func prepared(t *testing.T, engine load.Engine, spec load.Spec, env load.Env) *load.Running {
	t.Helper()
	r, err := load.Open(t.Context(), engine, spec, env)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := r.Close(); err != nil {
			t.Error(err)
		}
	})
	if _, err := r.Prepare(t.Context(), nil); err != nil {
		t.Fatal(err)
	}
	return r
}

// Measure opens a load, prepares it, measures it once, checks what it did and closes it.
func Measure(t *testing.T, engine load.Engine, spec load.Spec) load.Result {
	t.Helper()
	r := prepared(t, engine, spec, load.Env{})
	result, err := r.Measure(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	Check(t, result)
	if err := r.Close(); err != nil {
		t.Error(err)
	}
	return result
}

func (s suite) unknownParameter(t *testing.T) {
	spec := s.spec
	spec.Parameters = map[string]any{"no-such-parameter": 1}
	for k, v := range s.spec.Parameters {
		spec.Parameters[k] = v
	}
	// The engine itself must refuse it, not only the driver.
	session, err := s.engine.Open(t.Context(), spec)
	if err == nil {
		t.Fatal(errors.Join(errors.New("an unknown parameter was taken"), session.Close()))
	}
	if !strings.Contains(err.Error(), "no-such-parameter") {
		t.Errorf("the error does not name the parameter: %v", err)
	}
}

func (s suite) measure(t *testing.T) {
	noLeaks(t)
	r := s.open(t, s.spec)
	var told []load.Progress
	result, err := r.Measure(t.Context(), func(p load.Progress) { told = append(told, p) })
	if err != nil {
		t.Fatal(err)
	}
	Check(t, result)
	if result.Load.Ledger.Completed == 0 {
		t.Error("nothing completed")
	}
	for _, w := range result.Warnings {
		if w.Severity == record.SeverityHard {
			t.Errorf("warning %s: %s", w.Gate, w.Found)
		}
	}
	if len(told) == 0 {
		t.Error("no progress was told")
	}
	if _, err := r.Measure(t.Context(), nil); err == nil {
		t.Error("a session was measured twice")
	}
}

func (s suite) openLoop(t *testing.T) {
	noLeaks(t)
	spec := s.spec
	spec.Common.Rate, spec.Common.Arrival = 500, load.Poisson
	if s.done(t) { // work with an end of its own should come to it
		spec.Common.Rate = 100_000
	}
	result, err := s.open(t, spec).Measure(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	Check(t, result)
	want := map[string]bool{"service": true, "response": true, "lag": true}
	for _, l := range result.Load.Latencies {
		delete(want, l.Type)
	}
	if len(want) > 0 {
		t.Errorf("no log of %v", want)
	}
}

// done says whether the spec's work has an end of its own.
func (s suite) done(t *testing.T) bool {
	t.Helper()
	session, err := s.engine.Open(t.Context(), s.withClock(t))
	if err != nil {
		t.Fatal(err)
	}
	defer closes(t, session.Close)
	return session.Shape().Done
}

func (s suite) closeTwice(t *testing.T) {
	session, err := s.engine.Open(t.Context(), s.withClock(t))
	if err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if err := session.Close(); err != nil {
			t.Errorf("Close: %v", err)
		}
	}
}

func (s suite) withClock(t *testing.T) load.Spec {
	t.Helper()
	spec := s.spec
	clock, err := s.env.Machine.NewClock(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	spec.Clock = clock
	return spec
}

// closeEarly closes a load that was connected and never measured.
func (s suite) closeEarly(t *testing.T) {
	noLeaks(t)
	r := s.open(t, s.spec)
	if err := r.Connect(t.Context()); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if err := r.Close(); err != nil {
			t.Errorf("Close: %v", err)
		}
	}
}

// quick is within what a cancelled measurement must have returned.
const quick = 20 * time.Second // far from the hour that was asked for, and kind to a machine that is busy

func (s suite) cancel(t *testing.T) {
	noLeaks(t)
	spec := s.spec
	spec.Common.Window, spec.Common.Warmup = time.Hour, 0
	r := s.open(t, spec)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	var cancelled time.Time
	timer := time.AfterFunc(200*time.Millisecond, func() { cancelled = time.Now(); cancel() })
	defer timer.Stop()
	result, err := r.Measure(ctx, nil)
	if result.Load.Ended == "done" {
		return // it had nothing left to do before that
	}
	if !errors.Is(err, context.Canceled) {
		t.Errorf("error %v, want %v", err, context.Canceled)
	}
	if took := time.Since(cancelled); took > quick {
		t.Errorf("it took %v to stop", took)
	}
	Check(t, result)
}

// Check checks that a result is whole: the ledger closes, its parts agree, and
// the logs hold what they should.
func Check(t *testing.T, result load.Result) {
	t.Helper()
	l := result.Load
	if !l.Ledger.Closes() {
		t.Errorf("the ledger does not close: %+v", l.Ledger)
	}
	var kinds, series record.KindCount
	for _, k := range l.Kinds {
		kinds.Completed += k.Completed
		kinds.Failed += k.Failed
		kinds.TimedOut += k.TimedOut
	}
	for _, i := range l.Series {
		if i.Offset >= -1e-9 && i.Offset < l.Window.Seconds-1e-9 {
			series.Completed += i.Completed
			series.Failed += i.Failed
			series.TimedOut += i.TimedOut
		}
	}
	if kinds.Completed != l.Ledger.Completed || kinds.Failed != l.Ledger.Failed || kinds.TimedOut != l.Ledger.TimedOut {
		t.Errorf("the kinds sum to %+v, the ledger is %+v", kinds, l.Ledger)
	}
	if series.Completed != kinds.Completed || series.Failed != kinds.Failed || series.TimedOut != kinds.TimedOut {
		t.Errorf("the series sums to %+v, the kinds to %+v", series, kinds)
	}
	if l.Ledger.Failed > 0 && len(l.Errors) == 0 {
		t.Errorf("%d operations failed and no error says why", l.Ledger.Failed)
	}
	checkLogs(t, result)
}

// checkLogs reads every log back: the log of all kinds holds as many operations
// as those of the kinds together, and those that were never sent.
func checkLogs(t *testing.T, result load.Result) {
	t.Helper()
	count := map[string]uint64{}
	for _, l := range result.Load.Latencies {
		log, ok := result.Logs[l.File]
		if !ok {
			t.Errorf("there is no log %q", l.File)
			continue
		}
		intervals, err := hist.ReadLog(bytes.NewReader(log))
		if err != nil {
			t.Errorf("%s: %v", l.File, err)
			continue
		}
		sum := hist.New()
		for _, iv := range intervals {
			sum.Merge(iv.Hist)
		}
		if sum.Count() < l.Censored {
			t.Errorf("%s: %d censored of %d", l.File, l.Censored, sum.Count())
		}
		if sum.Overflow() != l.Overflow {
			t.Errorf("%s: overflow %d, the load says %d", l.File, sum.Overflow(), l.Overflow)
		}
		if l.Kind == "all" {
			count[l.Type] += sum.Count()
		} else if l.Type == "service" {
			count["kinds"] += sum.Count()
		}
	}
	if count["service"] != count["kinds"] {
		t.Errorf("the log of all kinds holds %d operations, those of the kinds %d", count["service"], count["kinds"])
	}
	if r := count["response"]; r != 0 && r < count["service"] {
		t.Errorf("%d response times for %d service times", r, count["service"])
	}
}
