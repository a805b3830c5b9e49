package run

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"bakeoff/hist"
	"bakeoff/load"
	"bakeoff/record"
)

// fakeAgent acts on a machine that is a few maps. Faults are given by method.
type fakeAgent struct {
	mu       sync.Mutex
	settings map[string]string
	running  map[string]ServiceSpec
	opened   []LoadSpec
	calls    []string
	// fault is asked before every call, with the method's name and how often it
	// was called, from 1. What it returns is the call's error.
	fault   func(ctx context.Context, method string, n int) error
	counted map[string]int
	// served, where it is not nil, is what a load completes.
	served func(LoadSpec) uint64
	// readings is how many rows of telemetry a trial gives.
	readings int
	dead     map[string]bool
}

func newFake() *fakeAgent {
	return &fakeAgent{
		settings: map[string]string{"vm.swappiness": "60", "vm.dirty_ratio": "20"},
		running:  map[string]ServiceSpec{}, counted: map[string]int{}, readings: 2, dead: map[string]bool{},
		fault: func(context.Context, string, int) error { return nil },
	}
}

func (f *fakeAgent) call(ctx context.Context, method string) error {
	f.mu.Lock()
	f.counted[method]++
	n, fault := f.counted[method], f.fault
	f.calls = append(f.calls, method)
	f.mu.Unlock()
	if err := fault(ctx, method, n); err != nil {
		return err
	}
	return ctx.Err()
}

func (f *fakeAgent) Check(ctx context.Context, job Job) ([]string, error) {
	var problems []string
	for _, s := range job.Settings {
		if _, ok := f.settings[s.Target]; !ok {
			problems = append(problems, "no setting "+s.Target)
		}
	}
	return problems, f.call(ctx, "Check")
}

func (f *fakeAgent) Facts(ctx context.Context) (record.Facts, error) {
	return record.Facts{Machine: record.Machine{Vendor: "Acme"}}, f.call(ctx, "Facts")
}

func (f *fakeAgent) ReadSettings(ctx context.Context, s []SettingSpec) ([]*string, error) {
	values := make([]*string, len(s))
	for i := range s {
		if v, ok := f.settings[s[i].Target]; ok {
			values[i] = &v
		}
	}
	return values, f.call(ctx, "ReadSettings")
}

func (f *fakeAgent) ApplySetting(ctx context.Context, s SettingSpec) error {
	if err := f.call(ctx, "ApplySetting"); err != nil {
		return err
	}
	f.settings[s.Target] = s.Value
	return nil
}

func (f *fakeAgent) RestoreSetting(ctx context.Context, s SettingSpec, before string) error {
	if err := f.call(ctx, "RestoreSetting"); err != nil {
		return err
	}
	f.settings[s.Target] = before
	return nil
}

func (f *fakeAgent) StartService(ctx context.Context, s ServiceSpec) (record.Service, error) {
	if err := f.call(ctx, "StartService"); err != nil {
		return record.Service{}, err
	}
	f.running[s.Name] = s
	return record.Service{Name: s.Name, Command: s.Command, PIDs: []int{1000000 + len(f.calls)}, Version: "v1"}, nil
}

func (f *fakeAgent) StopService(ctx context.Context, name string) (Ended, error) {
	if err := f.call(ctx, "StopService"); err != nil {
		return Ended{}, err
	}
	delete(f.running, name)
	return Ended{Log: []byte(name + " said goodbye\n")}, nil
}

func (f *fakeAgent) CheckService(ctx context.Context, name string) error {
	if f.dead[name] {
		return errors.New("it ended by itself with signal: killed")
	}
	return f.call(ctx, "CheckService")
}

func (f *fakeAgent) EndOrphans(ctx context.Context, orphans []Orphan) (ended []string, err error) {
	if err := f.call(ctx, "EndOrphans"); err != nil {
		return nil, err
	}
	for _, o := range orphans {
		if _, ok := f.running[o.Name]; ok {
			delete(f.running, o.Name)
			ended = append(ended, "service "+o.Name+" ended")
		}
	}
	return ended, nil
}

func (f *fakeAgent) OpenLoad(ctx context.Context, specs []LoadSpec, progress func(load.Progress)) ([]*record.DataSet, error) {
	progress(load.Progress{Workload: specs[0].Workload, Phase: "prepare", Fraction: 0.5})
	f.opened = specs
	return make([]*record.DataSet, len(specs)), f.call(ctx, "OpenLoad")
}

func (f *fakeAgent) Measure(ctx context.Context, watch WatchSpec, progress func(load.Progress)) (Measured, error) {
	if err := f.call(ctx, "Measure"); err != nil {
		return Measured{}, err
	}
	var out Measured
	start := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	// Every second trial is a few percent faster, in a pattern that no block repeats.
	done := uint64(100000 + 3000*(f.counted["Measure"]%2) + 1000*(f.counted["Measure"]%5))
	for i, s := range f.opened {
		done := done
		if f.served != nil {
			done = f.served(s)
		}
		progress(load.Progress{Workload: s.Workload, Phase: "window", Fraction: 1})
		file := fmt.Sprintf("%s.%d.all.service.hlog", s.Workload, i)
		out.Results = append(out.Results, load.Result{
			Load: record.Load{
				Workload: s.Workload, Part: string(s.Part), Host: s.Host, Engine: s.Engine, Ended: "window",
				Window:    record.Window{Start: start, End: start.Add(10 * time.Second), Seconds: 10},
				Ledger:    record.Ledger{Offered: done, Completed: done},
				Kinds:     []record.KindCount{{Kind: "get", Completed: done}},
				Latencies: []record.Latency{{Kind: "all", Type: "service", File: file}},
			},
			Logs: map[string][]byte{file: f.log()},
		})
	}
	for i := range f.readings {
		out.Readings = append(out.Readings, record.Reading{Host: watch.Host, Metric: "cpu.user", Unit: "s", Kind: record.Counter64,
			Start: start.UnixNano() + int64(i), End: start.UnixNano() + int64(i) + 1, Value: float64(i * i)})
	}
	out.Costs = []record.CollectorCost{{Collector: "cpu", Support: "supported", Samples: f.readings}}
	return out, nil
}

func (f *fakeAgent) log() []byte {
	h := hist.New()
	h.RecordN(1_000_000, 1000)
	var out bytes.Buffer
	if err := hist.WriteLog(&out, hist.Header{}, []hist.Interval{{Length: 10 * time.Second, Hist: h}}); err != nil {
		panic(err)
	}
	return out.Bytes()
}

func (f *fakeAgent) CloseLoad(ctx context.Context) error {
	f.opened = nil
	return f.call(ctx, "CloseLoad")
}

// untouched fails the test where the machine is not as it was.
func (f *fakeAgent) untouched(t *testing.T) {
	t.Helper()
	for k, want := range map[string]string{"vm.swappiness": "60", "vm.dirty_ratio": "20"} {
		if f.settings[k] != want {
			t.Errorf("setting %s is %q after the run, was %q before", k, f.settings[k], want)
		}
	}
	if len(f.running) > 0 || len(f.opened) > 0 {
		t.Errorf("still there after the run: services %v, loads %v", f.running, f.opened)
	}
}

// wire is an agent behind JSON, as one on another machine would be.
type wire struct {
	t     *testing.T
	agent Agent
}

func cross[T any](t *testing.T, v T) T {
	t.Helper()
	raw, err := json.Marshal(v)
	if err != nil {
		t.Errorf("%T cannot cross to another machine: %v", v, err)
	}
	var out T
	if err := json.Unmarshal(raw, &out); err != nil {
		t.Errorf("%T cannot cross to another machine: %v", v, err)
	}
	return out
}

func (w wire) progress(fn func(load.Progress)) func(load.Progress) {
	return func(p load.Progress) { fn(cross(w.t, p)) }
}

func (w wire) Check(ctx context.Context, job Job) ([]string, error) {
	v, err := w.agent.Check(ctx, cross(w.t, job))
	return cross(w.t, v), err
}

func (w wire) Facts(ctx context.Context) (record.Facts, error) {
	v, err := w.agent.Facts(ctx)
	return cross(w.t, v), err
}

func (w wire) ReadSettings(ctx context.Context, s []SettingSpec) ([]*string, error) {
	v, err := w.agent.ReadSettings(ctx, cross(w.t, s))
	return cross(w.t, v), err
}

func (w wire) ApplySetting(ctx context.Context, s SettingSpec) error {
	return w.agent.ApplySetting(ctx, cross(w.t, s))
}

func (w wire) RestoreSetting(ctx context.Context, s SettingSpec, before string) error {
	return w.agent.RestoreSetting(ctx, cross(w.t, s), before)
}

func (w wire) StartService(ctx context.Context, s ServiceSpec) (record.Service, error) {
	v, err := w.agent.StartService(ctx, cross(w.t, s))
	return cross(w.t, v), err
}

func (w wire) StopService(ctx context.Context, name string) (Ended, error) {
	v, err := w.agent.StopService(ctx, name)
	return cross(w.t, v), err
}

func (w wire) CheckService(ctx context.Context, name string) error {
	return w.agent.CheckService(ctx, name)
}

func (w wire) EndOrphans(ctx context.Context, o []Orphan) ([]string, error) {
	v, err := w.agent.EndOrphans(ctx, cross(w.t, o))
	return cross(w.t, v), err
}

func (w wire) OpenLoad(ctx context.Context, specs []LoadSpec, progress func(load.Progress)) ([]*record.DataSet, error) {
	v, err := w.agent.OpenLoad(ctx, cross(w.t, specs), w.progress(progress))
	return cross(w.t, v), err
}

func (w wire) Measure(ctx context.Context, watch WatchSpec, progress func(load.Progress)) (Measured, error) {
	v, err := w.agent.Measure(ctx, cross(w.t, watch), w.progress(progress))
	return cross(w.t, v), err
}

func (w wire) CloseLoad(ctx context.Context) error { return w.agent.CloseLoad(ctx) }

// fakeEngine describes an engine of one part; nothing is ever opened.
type fakeEngine struct{}

func (fakeEngine) Name() string { return "null" }

func (fakeEngine) Describe() load.Description {
	return load.Description{Kinds: []string{"get"}, Parts: []load.Part{load.Source}}
}

func (fakeEngine) Open(context.Context, load.Spec) (load.Session, error) {
	return nil, errors.New("never opened")
}

func fakeEngines(name string) (load.Engine, error) {
	if !slices.Contains([]string{"null", "kv"}, name) {
		return nil, fmt.Errorf("no engine %q", name)
	}
	return fakeEngine{}, nil
}
