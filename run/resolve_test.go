package run

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"bakeoff/load"
	"bakeoff/plan"
	"bakeoff/record"
)

// twoEnds is an engine with a source, a sink and an observer.
type twoEnds struct{ fakeEngine }

func (twoEnds) Describe() load.Description {
	return load.Description{Kinds: []string{"get"}, Parts: []load.Part{load.Source, load.Observer, load.Sink}}
}

func TestResolvePlacesParts(t *testing.T) {
	p := parse(t, `title: two ends
hosts:
  a: {agent: local, cpus: "1-2", power: [{kind: rapl, name: socket}]}
  b: {agent: local}
  array: {agent: none}
services:
  store: {host: array, endpoint: "redis://192.0.2.1:6379"}
workloads:
  w: {engine: net, source: a, sink: b, service: store, instances: 2, rate: 30k, window: 10s, warmup: 2s, secrets: {password: {env: PW}}}
factors: {size: {small: {workloads.w.size: 1}, large: {workloads.w.size: 2}}}
primary: {throughput: {better: higher, margin: 5%}}
telemetry: {interval: 500ms, collectors: [cpu], processes: [postgres]}
`)
	first, second := newFake(), newFake()
	ms, err := machines(p, map[string]Agent{"a": first, "b": second})
	if err != nil || len(ms) != 2 {
		t.Fatalf("machines %v, %v", ms, err)
	}
	r := &resolver{plan: p, machines: ms, engines: func(string) (load.Engine, error) { return twoEnds{}, nil }, workDir: "/work"}
	got, err := r.resolve(plan.Trial{Cell: p.Cells()[1], Seed: 7})
	if err != nil {
		t.Fatal(err)
	}
	if len(got.elsewhere) != 1 || got.elsewhere[0].Host != "array" {
		t.Errorf("services elsewhere: %+v", got.elsewhere)
	}
	var parts []string
	for _, l := range got.jobs[ms[0]].Loads {
		parts = append(parts, fmt.Sprint(l.Part, l.Instance))
		if l.Common.Rate != 30000 || l.Common.Arrival != load.Constant || l.Target != "redis://192.0.2.1:6379" || l.Host != "a" ||
			l.GeneratorCPUs != "1-2" || l.Seed != 7+uint64(l.Instance) || l.SecretsFrom[0].Env != "PW" || l.Parameters["size"] != "2" {
			t.Errorf("load: %+v", l)
		}
	}
	if !slices.Equal(parts, []string{"observer0", "observer1", "source0", "source1"}) {
		t.Errorf("on a: %v", parts)
	}
	if sinks := got.jobs[ms[1]].Loads; len(sinks) != 2 || sinks[0].Part != load.Sink || sinks[0].Host != "b" {
		t.Errorf("on b: %+v", sinks)
	}
	watch := got.jobs[ms[0]].Watch
	if watch.IntervalSeconds != 0.5 || !slices.Equal(watch.Collectors, []string{"cpu"}) || !slices.Equal(watch.Names, []string{"postgres"}) || len(watch.Power) != 1 {
		t.Errorf("watch on a: %+v", watch)
	}
	if d, known := got.duration(); d != 12*time.Second || !known {
		t.Errorf("duration %v, %t", d, known)
	}
}

// TestSinksOpenFirst runs a plan whose source and sink are on two machines, with a
// third one that has no load: it is watched as long as the others are at work.
func TestSinksOpenFirst(t *testing.T) {
	p := parse(t, `title: three machines
hosts: {a: {agent: local}, b: {agent: local}, c: {agent: local}}
services: {store: {host: c, command: [store], endpoint: "redis://192.0.2.1:6379"}}
workloads: {w: {engine: net, source: a, sink: b, service: store, window: 10s, warmup: 2s}}
primary: {throughput: {better: higher, margin: 5%}}
repeat: {blocks: 1}
`)
	var mu sync.Mutex
	var opened []string
	cfg := newConfig(t, p, newFake())
	cfg.Engines = func(string) (load.Engine, error) { return twoEnds{}, nil }
	cfg.Agents = map[string]Agent{}
	watching, measured := make(chan struct{}), make(chan struct{})
	for _, name := range []string{"a", "b", "c"} {
		agent := newFake()
		agent.fault = func(ctx context.Context, method string, _ int) error {
			switch {
			case method == "OpenLoad":
				mu.Lock()
				defer mu.Unlock()
				opened = append(opened, name+" "+string(agent.opened[0].Part))
			case method == "Measure" && name == "c":
				<-ctx.Done() // as an agent without a load does
				close(measured)
			case method == "Measure":
				select {
				case <-watching:
				case <-measured:
					t.Error("the watch ended before the load began")
				}
			}
			return nil
		}
		cfg.Agents[name] = agent
	}
	cfg.Agents["c"] = watched{cfg.Agents["c"], watching}
	s, err := Execute(t.Context(), cfg)
	if err != nil || s.Outcome != Done {
		t.Fatalf("%+v, %v", s, err)
	}
	if got := strings.Join(opened, ", "); got != "b sink, a observer, a source" {
		t.Errorf("opened %s", got)
	}
	<-measured
	ms, err := machines(p, cfg.Agents)
	if err != nil {
		t.Fatal(err)
	}
	r := &resolver{plan: p, machines: ms, engines: cfg.Engines, workDir: "/work"}
	got, err := r.resolve(plan.Trial{Cell: p.Cells()[0]})
	if err != nil {
		t.Fatal(err)
	}
	for i, want := range []bool{true, true, false} { // the service's machine reads the energy
		if watch := got.jobs[ms[i]].Watch; watch.NoEnergy != want {
			t.Errorf("watch on %s: %+v", ms[i].name, watch)
		}
	}
}

// watched is an agent that tells when its watch begins.
type watched struct {
	Agent
	begun chan struct{}
}

func (w watched) Measure(ctx context.Context, spec WatchSpec, progress func(load.Progress)) (Measured, error) {
	progress(load.Progress{Phase: phaseWatch})
	close(w.begun)
	m, err := w.Agent.Measure(ctx, spec, progress)
	if errors.Is(err, context.Canceled) {
		err = nil
	}
	return m, err
}

// TestOneMachineWithTwoNames runs a plan whose two hosts are one machine.
func TestOneMachineWithTwoNames(t *testing.T) {
	p := parse(t, strings.NewReplacer("  lab: {agent: local}\n", "  lab: {agent: local}\n  client: {agent: local}\n",
		"service: store,", "service: store, source: client,").Replace(fakePlan))
	agent := newFake()
	cfg := newConfig(t, p, agent)
	cfg.Agents = map[string]Agent{"lab": agent, "client": agent}
	s, err := Execute(context.Background(), cfg)
	if err != nil {
		t.Fatal(err)
	}
	run := verified(t, s.Dir)
	tr := run.Trials[0]
	if tr.Readings["client"] == "" || tr.Readings["client"] != tr.Readings["lab"] || tr.FactsBefore["client"] != tr.FactsBefore["lab"] {
		t.Errorf("readings %v, facts %v", tr.Readings, tr.FactsBefore)
	}
	if agent.counted["Measure"] != 4 {
		t.Errorf("measured %d times in 4 trials", agent.counted["Measure"])
	}
}

// TestRestart counts how often a service is started in four trials of two cells.
func TestRestart(t *testing.T) {
	for restart, check := range map[plan.Restart]func(starts, changes int) bool{
		plan.RestartTrial: func(starts, _ int) bool { return starts == 4 },
		plan.RestartCell:  func(starts, changes int) bool { return starts == changes },
		plan.RestartNever: func(starts, _ int) bool { return starts == 1 },
	} {
		t.Run(string(restart), func(t *testing.T) {
			agent := newFake()
			p := parse(t, strings.Replace(fakePlan, "store: {host: lab,", "store: {host: lab, restart: "+string(restart)+",", 1))
			s, err := Execute(context.Background(), newConfig(t, p, agent))
			if err != nil {
				t.Fatal(err)
			}
			agent.untouched(t)
			run := verified(t, s.Dir)
			changes := 0
			for i, tr := range run.Trials {
				if i == 0 || tr.Cell.Key() != run.Trials[i-1].Cell.Key() {
					changes++
				}
				if tr.Status != record.StatusComplete || len(tr.Services) != 1 {
					t.Errorf("trial %+v", tr)
				}
			}
			if !check(agent.counted["StartService"], changes) {
				t.Errorf("%d starts in 4 trials with %d changes of the cell", agent.counted["StartService"], changes)
			}
		})
	}
}
