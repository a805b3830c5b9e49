package load

import (
	"errors"
	"math"
	"strings"
	"sync/atomic"
	"testing"
	"time"
)

func TestOpenRefuses(t *testing.T) {
	with := func(change func(*Spec)) Spec {
		s := short()
		change(&s)
		return s
	}
	good := func() *fake { return batched(func(spec Spec) *echo { return &echo{clock: spec.Clock} }) }
	shaped := func(s Shape) *fake { f := good(); f.shape = s; return f }
	named := func(kinds ...string) *fake { f := good(); f.kinds = kinds; return f }
	for _, c := range []struct {
		name string
		f    *fake
		spec Spec
		want string
	}{
		{"parameter", good(), with(func(s *Spec) { s.Parameters = map[string]any{"sise": 1} }), `engine fake: unknown parameter "sise": did you mean "size"?`},
		{"no window", good(), with(func(s *Spec) { s.Common.Window = 0 }), "engine fake: found no window"},
		{"negative", good(), with(func(s *Spec) { s.Common.Warmup = -1 }), "engine fake: warmup: found -1ns"},
		{"rate", good(), with(func(s *Spec) { s.Common.Rate = math.Inf(1) }), "engine fake: rate: found +Inf"},
		{"negative rate", good(), with(func(s *Spec) { s.Common.Rate = -1 }), "engine fake: rate: found -1"},
		{"rate twice", good(), with(func(s *Spec) { s.Common.Rate, s.Common.Steps = 1, steady(1) }), "both a rate and steps"},
		{"arrival", good(), with(func(s *Spec) { s.Common.Rate, s.Common.Arrival = 1, "often" }), `engine fake: arrival: found "often"`},
		{"workers", good(), with(func(s *Spec) { s.Common.Workers = -1 }), "found -1 workers"},
		{"contract", shaped(Shape{Contract: "x", Workers: 1, InFlight: 1}), short(), `its shape has the contract "x"`},
		{"shape", shaped(Shape{Contract: Batched, Workers: 1 << 20}), short(), "its shape has 1048576 workers"},
		{"kinds", named("get", "get"), short(), `kind of operation "get"`},
		{"kind's name", named("Get All"), short(), `kind of operation "Get All"`},
		{"kind all", named("all"), short(), `kind of operation "all"`},
		{"engine", &fake{open: func(Spec) error { return errBroken }}, short(), "engine fake: opening a session: connection reset"},
	} {
		t.Run(c.name, func(t *testing.T) {
			if _, err := Open(t.Context(), c.f, c.spec, Env{}); err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("error %v, want one with %q", err, c.want)
			}
		})
	}
}

func TestDefaults(t *testing.T) {
	f := batched(func(spec Spec) *echo { return &echo{clock: spec.Clock} })
	spec := short()
	spec.Common.OpTimeout, spec.Common.DrainTime = 0, 0
	opened(t, f, spec, Env{})
	if c := f.spec.Common; c.OpTimeout != 10*time.Second || c.DrainTime != 11*time.Second || f.spec.Clock == nil {
		t.Errorf("the engine was given %+v", c)
	}
}

func TestAWorkerThatCannotOpen(t *testing.T) {
	for _, contract := range []Contract{Batched, Blocking} {
		var closed atomic.Int64
		f := &fake{shape: Shape{Contract: contract, Workers: 4}}
		f.worker = func(spec Spec, i int) (Worker, error) {
			if i == 2 {
				return nil, errBroken
			}
			w := &echo{clock: spec.Clock, closed: func() error { closed.Add(1); return nil }}
			if contract == Blocking {
				return countingDoer{&script{}, &closed}, nil
			}
			return w, nil
		}
		r := opened(t, f, short(), Env{})
		_, err := r.Measure(t.Context(), nil)
		if !errors.Is(err, errBroken) || !strings.Contains(err.Error(), "3 of 4") {
			t.Errorf("%s: error %v", contract, err)
		}
		if closed := closed.Load(); closed != 2 {
			t.Errorf("%s: %d workers were closed, want the two that had opened", contract, closed)
		}
	}
}

type countingDoer struct {
	*script
	closed *atomic.Int64
}

func (c countingDoer) Close() error { c.closed.Add(1); return nil }

func TestAWorkerOfTheWrongContract(t *testing.T) {
	for contract, other := range map[Contract]Worker{Batched: &script{}, Blocking: &echo{}} {
		f := &fake{shape: Shape{Contract: contract}, worker: func(Spec, int) (Worker, error) { return other, nil }}
		_, err := opened(t, f, short(), Env{}).Measure(t.Context(), nil)
		if err == nil || !strings.Contains(err.Error(), "its shape says \""+string(contract)+"\"") && !strings.Contains(err.Error(), "the engine's shape says \""+string(contract)+"\"") {
			t.Errorf("%s: error %v", contract, err)
		}
	}
}

func TestPinning(t *testing.T) {
	f := batched(func(spec Spec) *echo { return &echo{clock: spec.Clock, delay: time.Millisecond} })
	spec := short()
	spec.Common.CPUs = []int{0}
	result, err := opened(t, f, spec, Env{}).Measure(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	if got := result.Load.Parameters["cpus"]; got != "0" {
		t.Errorf("cores %q", got)
	}
	for _, cpu := range []int{-1, 9999} {
		spec.Common.CPUs = []int{cpu}
		_, err := opened(t, f, spec, Env{}).Measure(t.Context(), nil)
		if err == nil || !strings.Contains(err.Error(), "pinning a worker to core") {
			t.Errorf("core %d: error %v", cpu, err)
		}
	}
}

// TestCloseReportsAndIsSafeTwice closes what fails to close.
func TestCloseReportsAndIsSafeTwice(t *testing.T) {
	f := batched(func(spec Spec) *echo {
		return &echo{clock: spec.Clock, closed: func() error { return errBroken }}
	})
	r, err := Open(t.Context(), f, short(), Env{})
	if err != nil {
		t.Fatal(err)
	}
	if err := r.Connect(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := r.Close(); !errors.Is(err, errBroken) {
		t.Errorf("error %v", err)
	}
	if err := r.Close(); err != nil || f.closed != 1 {
		t.Errorf("closed again: %v; the session was closed %d times", err, f.closed)
	}
}

func TestFilesOfTwoLoadsDiffer(t *testing.T) {
	seen := map[string]string{}
	for _, s := range []Spec{
		{Workload: "a b", Host: "h"}, {Workload: "a_b", Host: "h"}, {Workload: "a/b", Host: "h"}, {Workload: "", Host: "h"},
		{Workload: "a_b", Host: "h", Instance: 1}, {Workload: "a_b", Host: "h", Part: Sink}, {Workload: "a_b", Host: "g"},
	} {
		name := newLogSet(s, time.Time{}, nil).file("all", "service")
		if strings.ContainsAny(name, "/ ") || seen[name] != "" {
			t.Errorf("%+v has the file %q, as %s", s, name, seen[name])
		}
		seen[name] = s.Workload + "," + s.Host
	}
}
