package analysis_test

import (
	"bytes"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"testing"
	"time"

	"bakeoff/analysis"
	"bakeoff/hist"
	"bakeoff/plan"
	"bakeoff/record"
)

// A lab makes records as a run would: the plan says which trial is next, the
// lab makes up what it measures.
type lab struct {
	t     *testing.T
	plan  *plan.Plan
	build string
	epoch time.Time
	// rate is the true throughput of a cell; noise its coefficient of variation.
	rate  func(record.Cell) float64
	noise float64
	// spoil changes a trial and its telemetry before they are written.
	spoil func(*record.Trial, map[string][]record.Reading)
	facts func(*record.Trial, string, *record.Facts) // moment: before, after
	costs func([]record.CollectorCost)
	stop  int // after so many trials; 0 at the end of the plan
	seal  bool
	apart bool // each host is a machine of its own
}

const twoServers = `
title: Two servers
hosts:
  client: {agent: local, cpus: "0"}
  server: {agent: local, price: 1000.00 USD}
services:
  fast: {host: server, command: [fast-server, --port, "7000"], endpoint: "redis://127.0.0.1:7000", cpus: "1"}
  slow: {host: server, command: [slow-server, --port, "7001"], endpoint: "redis://127.0.0.1:7001", cpus: "1"}
workloads:
  get: {engine: kv, source: client, warmup: 1s, window: 10s}
factors:
  server:
    slow: {workloads.get.service: slow}
    fast: {workloads.get.service: fast}
primary:
  throughput: {better: higher, margin: 5%}
  latency.p99: {better: lower, margin: 5%}
repeat: {blocks: 8}
`

func parse(t *testing.T, src string) *plan.Plan {
	t.Helper()
	p, err := plan.Parse("plan.yaml", []byte(src), nil)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func newLab(t *testing.T, src string) *lab {
	return &lab{t: t, plan: parse(t, src), build: "test", epoch: time.Date(2026, 3, 2, 14, 0, 0, 0, time.UTC), noise: 0.01, seal: true,
		rate: func(c record.Cell) float64 {
			if level, _ := c.Level("server"); level == "fast" {
				return 130_000
			}
			return 100_000
		}}
}

// run makes the record and opens it.
func (l *lab) run() *record.Run {
	l.t.Helper()
	w, err := record.Create(l.t.TempDir(), record.Manifest{Title: l.plan.Title, Build: l.build, PlanName: "plan.yaml", Seed: l.plan.Seed,
		Host: "client", Command: []string{"bakeoff", "run", "plan.yaml"}, AA: l.plan.AA}, l.plan.Source, func() time.Time { return l.epoch })
	l.must(err)
	rng := rand.New(rand.NewPCG(l.plan.Seed, 1))
	var outcomes []plan.Outcome
	for {
		next, more, err := plan.Next(l.plan, outcomes)
		var givenUp *plan.GivenUpError
		if errors.As(err, &givenUp) {
			break
		}
		l.must(err)
		if !more || l.stop > 0 && len(outcomes) == l.stop {
			break
		}
		t := l.trial(w, next, rng)
		outcomes = append(outcomes, plan.Outcome{Trial: next, Status: t.Status, Reason: t.Reason, Values: l.values(w, t)})
	}
	if l.seal {
		_, err = w.Seal()
		l.must(err)
	}
	l.must(w.Close())
	run, err := record.Open(w.Dir())
	l.must(err)
	return run
}

// values are what a running bakeoff would tell the plan.
func (l *lab) values(w *record.Writer, t record.Trial) []plan.Value {
	if l.plan.Repeat.Pilot == 0 && t.Role != record.RoleSearch || len(t.Loads) == 0 {
		return nil
	}
	run, err := record.Open(w.Dir())
	l.must(err)
	obs, _, err := analysis.ObserveTrial(run, l.plan, t)
	l.must(err)
	return analysis.Values(l.plan, obs)
}

func (l *lab) must(err error) {
	l.t.Helper()
	if err != nil {
		l.t.Fatal(err)
	}
}

// trial makes up one trial and writes it.
func (l *lab) trial(w *record.Writer, next plan.Trial, rng *rand.Rand) record.Trial {
	var number int
	fmt.Sscan(string(next.ID), &number)
	start := l.epoch.Add(time.Duration(number) * time.Minute)
	t := record.Trial{ID: next.ID, Role: next.Role, Block: next.Block, Attempt: next.Attempt, Cell: next.Cell, At: next.At, Seed: next.Seed,
		Status: record.StatusComplete, Started: start, Ended: start.Add(15 * time.Second)}
	resolved, err := l.plan.ResolveTrial(next)
	l.must(err)
	rate := l.rate(next.Cell) * served(next.At) * math.Exp(l.noise*rng.NormFloat64())
	for _, s := range resolved.Services {
		t.Services = append(t.Services, record.Service{Name: s.Name, Host: s.Host, Command: s.Command, CPUs: s.CPUs, Endpoint: s.Endpoint, PIDs: []int{number}, Version: s.Name + " 1.0"})
	}
	logs := map[string]*hist.Histogram{}
	for _, wl := range resolved.Workloads {
		t.Loads = append(t.Loads, l.load(wl, start, rate, logs))
	}
	readings := map[string][]record.Reading{"server": l.readings(t)}
	if l.spoil != nil {
		l.spoil(&t, readings)
	}
	for _, warning := range analysis.CheckTrial(t, readings, l.plan.Limits) {
		t.Warnings = append(t.Warnings, warning)
		if warning.Severity == record.SeverityHard && t.Status == record.StatusComplete {
			t.Status, t.Reason = record.StatusInvalid, warning.Gate+": "+warning.Found
		}
	}
	l.write(w, &t, readings, logs)
	return t
}

// served is what a load of so many users does, as a share of the most: it rises
// to 60 users and falls from 90.
func served(at string) float64 {
	users := 60.0
	fmt.Sscan(at, &users)
	return min(users/60, 1, 90/users)
}

// load makes up one load: every operation takes a millisecond times the base
// rate over its own.
func (l *lab) load(wl plan.Workload, start time.Time, rate float64, logs map[string]*hist.Histogram) record.Load {
	const window = 10.0
	n := uint64(rate * window)
	out := record.Load{Workload: wl.Name, Part: "source", Host: wl.Source, Engine: wl.Engine, Target: wl.Target, Ended: "window",
		Parameters: map[string]string{"connections": "8", "in_flight": "8", "value_size": "32"},
		Counters:   []record.Counter{{Name: record.CounterDisconnected, Unit: "s"}, {Name: record.CounterFailedConnects, Unit: "1"}},
		Window:     record.Window{Start: start.Add(time.Second), End: start.Add(11 * time.Second), Seconds: window, Warmup: 1},
		Ledger:     record.Ledger{InFlightOpen: 8, Offered: n, Completed: n, InFlightClose: 8},
		Kinds:      []record.KindCount{{Kind: "get", Completed: n, Items: n, BytesIn: 32 * n, BytesOut: 40 * n}},
		DataSet:    &record.DataSet{Items: 1000, Bytes: 32000, Fingerprint: "xxh64:1", Prepared: "loaded"},
		Generator:  record.GeneratorCost{UserSeconds: 3, SystemSeconds: 2, BusyFraction: 0.5, Workers: 1, NullNanosPerOp: 40, Stalls: &record.Stalls{TickMax: 80e6, TickTotal: 140e6}},
	}
	for range 10 {
		out.Tenths = append(out.Tenths, record.Tenth{Seconds: window / 10, Completed: n / 10})
	}
	for i := -1; i < 10; i++ {
		out.Series = append(out.Series, record.Interval{Offset: float64(i), Seconds: 1, Completed: uint64(rate)})
	}
	h := hist.New()
	for q := range 1000 {
		ns := 1e8 / rate * 1e6 * (0.5 + float64(q)/1000) / 100
		h.RecordN(int64(ns), n/1000)
	}
	h.RecordN(int64(1e12/rate), n%1000)
	for _, kind := range []string{"all", "get"} {
		file := "get.source.client.0." + kind + ".service.hlog"
		logs[file] = h
		out.Latencies = append(out.Latencies, record.Latency{Kind: kind, Type: "service", File: file})
	}
	return out
}

// readings makes up telemetry every second: two cores, one of them busy.
func (l *lab) readings(t record.Trial) []record.Reading {
	var out []record.Reading
	at := t.Started.UnixNano()
	for i := range 14 {
		s := float64(i)
		add := func(collector, metric, instance, unit string, kind record.MetricKind, v float64) {
			out = append(out, record.Reading{Host: "server", Collector: collector, Metric: metric, Instance: instance, Unit: unit, Kind: kind,
				Start: at - 1000, End: at + 1000, Value: v})
		}
		add("cpu", "cpu.user", "", "s", record.Counter64, 100+0.6*s)
		add("cpu", "cpu.system", "", "s", record.Counter64, 50+0.4*s)
		add("cpu", "cpu.idle", "", "s", record.Counter64, 1000+s)
		add("cpu", "cpu.steal", "", "s", record.Counter64, 3)
		add("memory", "mem.available", "", "B", record.Gauge, 1e9)
		add("memory", "swap.in", "", "B", record.Counter64, 0)
		add("memory", "swap.out", "", "B", record.Counter64, 0)
		add("nic", "nic.rx.bytes", "eth0", "B", record.Counter64, 5e6*s)
		add("nic", "nic.tx.bytes", "eth0", "B", record.Counter64, 7e6*s)
		add("disk", "disk.read.bytes", "sda", "B", record.Counter64, 0)
		add("disk", "disk.write.bytes", "sda", "B", record.Counter64, 1e6*s)
		add("neighbour", "neighbour.cpu", "", "s", record.Counter64, 0.001*s)
		add("meter", "power", "pdu", "W", record.Gauge, 200)
		for _, svc := range t.Services {
			add("process", "process.cpu.user", svc.Name, "s", record.Counter64, 0.5*s)
			add("process", "process.cpu.system", svc.Name, "s", record.Counter64, 0.3*s)
			add("process", "process.started", svc.Name, "1", record.Counter64, 1)
		}
		at += int64(time.Second)
	}
	return out
}

func (l *lab) write(w *record.Writer, t *record.Trial, readings map[string][]record.Reading, logs map[string]*hist.Histogram) {
	for file, h := range logs {
		var b bytes.Buffer
		l.must(hist.WriteLog(&b, hist.Header{Start: t.Started}, []hist.Interval{{Length: 10 * time.Second, Hist: h}}))
		l.must(w.WriteLog(t.ID, file, b.Bytes()))
	}
	apart := map[string]string{}
	for host, rows := range readings {
		if rows == nil {
			continue
		}
		file, err := w.WriteReadings(t.ID, host, rows)
		l.must(err)
		if t.Readings = l.locals(file); l.apart {
			apart[host] = file
			t.Readings = apart
		}
		costs := []record.CollectorCost{{Collector: "meter", Support: "supported", Class: "wall-meter", Cadence: 1, Samples: 14},
			{Collector: "cpu", Support: "supported", Samples: 14, CPU: 0.001}}
		if l.costs != nil {
			l.costs(costs)
		}
		t.Costs = map[string][]record.CollectorCost{}
		for name := range t.Readings {
			t.Costs[name] = costs
		}
	}
	for _, moment := range []string{"before", "after"} {
		f := record.Facts{Host: "server", Taken: t.Started, Kernel: record.Kernel{Release: "6.12.1"}}
		if len(t.Services) > 0 {
			f.Versions = map[string]string{"server": t.Services[0].Version}
		}
		if l.facts != nil {
			l.facts(t, moment, &f)
		}
		file, err := w.WriteFacts(t.ID, moment, "server", f)
		l.must(err)
		files := l.locals(file)
		for _, h := range l.plan.Hosts {
			if h.Agent == plan.AgentNone {
				f := record.Facts{Host: h.Name, Declared: map[string]string{}}
				for _, d := range h.Facts {
					f.Declared[d.Name] = d.Value
				}
				files[h.Name], err = w.WriteFacts(t.ID, moment, h.Name, f)
				l.must(err)
			}
		}
		if moment == "before" {
			t.FactsBefore = files
		} else {
			t.FactsAfter = files
		}
	}
	l.must(w.WriteTrial(*t))
}

// locals gives a file to every name that stands for the one machine here.
func (l *lab) locals(file string) map[string]string {
	out := map[string]string{}
	for _, h := range l.plan.Hosts {
		if h.Agent != plan.AgentNone {
			out[h.Name] = file
		}
	}
	return out
}

func (l *lab) analyse(run *record.Run) *analysis.Result {
	l.t.Helper()
	r, err := analysis.Analyse(run, l.plan, analysis.Options{Resamples: 500})
	l.must(err)
	return r
}
