package self_test

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
	"bakeoff/report"
)

// A bench makes a record as a run would: the plan says which trial is next, the
// bench makes up what it measures.
type bench struct {
	t      testing.TB
	plan   *plan.Plan
	rng    *rand.Rand
	w      *record.Writer
	epoch  time.Time
	noise  float64                   // coefficient of variation of the rates
	rate   func(record.Cell) float64 // true throughput
	spoil  func(*record.Trial)       // before it is judged and written
	facts  func(*record.Trial, string, *record.Facts)
	stop   int // after so many trials; 0 at the end of the plan
	trials int
	// apart gives client and server machines of their own; they are one else.
	apart bool
}

func newBench(t testing.TB, src string) *bench {
	t.Helper()
	p, err := plan.Parse("plan.yaml", []byte(src), nil)
	if err != nil {
		t.Fatal(err)
	}
	return &bench{t: t, plan: p, rng: rand.New(rand.NewPCG(p.Seed, 7)), noise: 0.012, epoch: time.Date(2026, 3, 2, 14, 0, 0, 0, time.UTC),
		rate: func(c record.Cell) float64 {
			rate := 40_000.0
			for i, l := range c {
				if percent := 0.0; l.Factor == plan.GradedFactor {
					fmt.Sscan(l.Level, &percent) // 0 for idle
					rate *= percent / 100
					continue
				}
				if n := 1.0; l.Factor == "threads" {
					fmt.Sscan(l.Level, &n)
					rate *= n / (1 + 0.08*(n-1) + 0.004*n*(n-1))
					continue
				}
				for _, r := range l.Level {
					rate *= 1 + 0.01*float64(r%7)*float64(i+1)
				}
			}
			return rate
		}}
}

func (b *bench) must(err error) {
	b.t.Helper()
	if err != nil {
		b.t.Fatal(err)
	}
}

// run makes the record and opens it.
func (b *bench) run() *record.Run {
	b.t.Helper()
	var err error
	b.w, err = record.Create(b.t.TempDir(), record.Manifest{Title: b.plan.Title, Build: "bakeoff 0.1.0", PlanName: "plan.yaml", Seed: b.plan.Seed,
		Host: "client", Command: []string{"bakeoff", "run", "--note", "it's 1", "plan.yaml"}, AA: b.plan.AA}, b.plan.Source, func() time.Time { return b.epoch })
	b.must(err)
	var outcomes []plan.Outcome
	for {
		next, more, err := plan.Next(b.plan, outcomes)
		if _, given := errors.AsType[*plan.GivenUpError](err); given {
			break
		}
		b.must(err)
		if !more || b.stop > 0 && len(outcomes) == b.stop {
			break
		}
		t := b.trial(next)
		outcomes = append(outcomes, plan.Outcome{Trial: next, Status: t.Status, Reason: t.Reason, Values: b.values(t)})
	}
	_, err = b.w.Seal()
	b.must(err)
	b.must(b.w.Close())
	run, err := record.Open(b.w.Dir())
	b.must(err)
	return run
}

// values are what a running bakeoff would tell the plan.
func (b *bench) values(t record.Trial) []plan.Value {
	if b.plan.Repeat.Pilot == 0 && t.Role != record.RoleSearch || len(t.Loads) == 0 {
		return nil
	}
	run, err := record.Open(b.w.Dir())
	b.must(err)
	obs, _, err := analysis.ObserveTrial(run, b.plan, t)
	b.must(err)
	return analysis.Values(b.plan, obs)
}

func (b *bench) trial(next plan.Trial) record.Trial {
	b.trials++
	start := b.epoch.Add(time.Duration(b.trials) * time.Minute)
	t := record.Trial{ID: next.ID, Role: next.Role, Block: next.Block, Attempt: next.Attempt, Cell: next.Cell, At: next.At, Seed: next.Seed,
		Status: record.StatusComplete, Started: start, Ended: start.Add(15 * time.Second)}
	resolved, err := b.plan.ResolveTrial(next)
	b.must(err)
	for _, s := range resolved.Services {
		t.Services = append(t.Services, record.Service{Name: s.Name, Host: s.Host, Command: s.Command, CPUs: s.CPUs, Endpoint: s.Endpoint, Version: s.Name + " 1.0.2"})
	}
	for _, x := range resolved.Settings {
		was := "0"
		t.Settings = append(t.Settings, record.AppliedSetting{Host: x.Host, Kind: x.Kind, Target: x.Target, Before: &was, Wanted: x.Value, ReadBack: &x.Value, AtEnd: &x.Value, Restored: &was})
	}
	for _, wl := range resolved.Workloads {
		for i := 1; i < wl.Instances; i++ {
			l := b.load(&t, wl, b.rate(next.Cell)*(1-0.1*float64(i)))
			l.Instance = i
			t.Loads = append(t.Loads, l)
		}
		t.Loads = append(t.Loads, b.load(&t, wl, b.rate(next.Cell)*served(next.At)*math.Exp(b.noise*b.rng.NormFloat64())))
	}
	readings := b.readings(t)
	if b.spoil != nil {
		b.spoil(&t)
	}
	for _, w := range analysis.CheckTrial(t, map[string][]record.Reading{"server": readings}, b.plan.Limits) {
		t.Warnings = append(t.Warnings, w)
		if w.Severity == record.SeverityHard && t.Status == record.StatusComplete {
			t.Status, t.Reason = record.StatusInvalid, w.Gate+": "+w.Found
		}
	}
	b.write(&t, readings)
	return t
}

// served is what a load of so many users does, as a share of the most: it rises
// to 60 users and falls from 90.
func served(at string) float64 {
	users := 60.0
	fmt.Sscan(at, &users)
	return min(users/60, 1, 90/users)
}

// load makes up one load and writes its histogram logs.
func (b *bench) load(t *record.Trial, wl plan.Workload, rate float64) record.Load {
	const window = 10.0
	n := uint64(rate * window)
	open := wl.Rate != ""
	bad := min(n, 7)
	out := record.Load{Workload: wl.Name, Part: "source", Host: wl.Source, Engine: wl.Engine, Target: wl.Target, Ended: "window",
		Parameters: map[string]string{"connections": "8", "in_flight": "8", "value_size": "32"},
		Window:     record.Window{Start: t.Started.Add(time.Second), End: t.Started.Add(11 * time.Second), Seconds: window, Warmup: 1},
		Ledger:     record.Ledger{InFlightOpen: 8, Offered: n + bad, Completed: n, Failed: bad, InFlightClose: 8},
		Kinds: []record.KindCount{{Kind: "get", Completed: n - n/10, Misses: n / 2000, Items: n, BytesIn: 32 * n, BytesOut: 40 * n},
			{Kind: "set", Completed: n / 10, Failed: bad, Items: n / 10, BytesIn: 3 * n, BytesOut: 50 * n}},
		DataSet: &record.DataSet{Items: 1000, Bytes: 32000, Fingerprint: "xxh64:1f2e", Prepared: "loaded"},
		Generator: record.GeneratorCost{UserSeconds: 3.25, SystemSeconds: 2.125, BusyFraction: 0.5, Workers: 1, NullNanosPerOp: 40,
			Stalls: &record.Stalls{TickMax: 61e6, TickTotal: 180e6, WorkerMax: 72e6, WorkerTotal: 90e6}},
		Figures: []record.Figure{{Name: "depth", Unit: "1", Value: 3.5 + b.rng.Float64(), Text: ""}, {Name: "nopm", Unit: "NOPM", Value: 20 * rate}},
		Counters: []record.Counter{{Name: "hits", Unit: "1", Open: 10, Close: 10 + rate}, {Name: record.CounterDisconnected, Unit: "s", Open: 0.25, Close: 0.2625},
			{Name: record.CounterFailedConnects, Unit: "1", Open: 2, Close: 5}},
	}
	if open {
		out.Generator.TargetRate = max(rate, 1e-6)
	}
	for range 10 {
		out.Tenths = append(out.Tenths, record.Tenth{Seconds: window / 10, Completed: n / 10})
		if open {
			out.Tenths[len(out.Tenths)-1].Due = out.Generator.TargetRate * window / 10
		}
	}
	for i := -1; i < 11; i++ {
		out.Series = append(out.Series, record.Interval{Offset: float64(i), Seconds: 1, Completed: uint64(rate * (1 + 0.002*b.rng.NormFloat64()))})
	}
	if wl.Window == 0 {
		out.Ended = "done"
	}
	for _, kind := range []string{"all", "get", "set"} {
		if n == 0 {
			break // idle: nothing was due
		}
		b.log(t, &out, kind, "service", rate, 1)
		if open {
			b.log(t, &out, kind, "response", rate, 1.7)
		}
	}
	return out
}

func (b *bench) log(t *record.Trial, l *record.Load, kind, timing string, rate, stretch float64) {
	h := hist.New()
	for i := range 2000 {
		h.RecordN(int64(stretch*1e9/rate*math.Exp(0.3*b.rng.NormFloat64())), uint64(1+i%3))
	}
	file := l.Workload + fmt.Sprint(len(t.Loads)) + "." + kind + "." + timing + ".hlog"
	var text bytes.Buffer
	b.must(hist.WriteLog(&text, hist.Header{Start: t.Started}, []hist.Interval{{Length: 10 * time.Second, Hist: h}}))
	b.must(b.w.WriteLog(t.ID, file, text.Bytes()))
	l.Latencies = append(l.Latencies, record.Latency{Kind: kind, Type: timing, File: file})
}

// readings makes up telemetry of the server every second.
func (b *bench) readings(t record.Trial) (out []record.Reading) {
	at := t.Started.UnixNano() + 300_000_000
	busy := 0.2 + float64(t.Loads[0].Ledger.Completed)/1e6 + 0.02*b.rng.Float64()
	for i := range 14 {
		s := float64(i)
		add := func(collector, metric, instance, unit string, kind record.MetricKind, v float64) {
			out = append(out, record.Reading{Host: "server", Collector: collector, Metric: metric, Instance: instance, Unit: unit, Kind: kind,
				Start: at - 1000, End: at + 3000, Value: v})
		}
		add("cpu", "cpu.user", "", "s", record.Counter64, 100+busy*s)
		add("cpu", "cpu.system", "", "s", record.Counter64, 50+0.4*s)
		add("cpu", "cpu.idle", "", "s", record.Counter64, 1000+s)
		add("cpu", "cpu.steal", "", "s", record.Counter64, 3)
		add("memory", "mem.available", "", "B", record.Gauge, 1e9)
		add("memory", "swap.in", "", "B", record.Counter64, 0)
		add("memory", "swap.out", "", "B", record.Counter64, 0)
		add("nic", "nic.rx.bytes", "eth0", "B", record.Counter64, 5e6*s+1e5*s*s)
		add("nic", "nic.tx.bytes", "eth0", "B", record.Counter64, 7e6*s)
		add("nic", "nic.tx.packets", "eth0", "1", record.Counter64, 9e3*s)
		add("disk", "disk.write.bytes", "sda", "B", record.Counter64, 1e6*s)
		add("disk", "disk.write.ops", "sda", "1", record.Counter64, 250*s)
		add("disk", "disk.write.time", "sda", "s", record.Counter64, 0.031*s)
		add("disk", "disk.busy", "sda", "s", record.Counter64, 0.21*s)
		for d, bytes := range map[string]float64{"sda": 3e6, "nvme0n1": 8e7} {
			add("disk", "disk.read.bytes", d, "B", record.Counter64, bytes*s+1e4*s*s)
			add("disk", "disk.read.ops", d, "1", record.Counter64, bytes/4096*s)
			add("disk", "disk.read.time", d, "s", record.Counter64, 0.09*busy*s)
		}
		add("neighbour", "neighbour.cpu", "", "s", record.Counter64, 0.001*s)
		add("meter", "power", "pdu", "W", record.Gauge, 200+50*busy+s)
		add("rapl", "rapl.energy", "package-0", "J", record.Counter64, 90*s)
		for _, svc := range t.Services {
			add("process", "process.cpu.user", svc.Name, "s", record.Counter64, busy*s)
			add("process", "process.cpu.system", svc.Name, "s", record.Counter64, 0.3*s)
			add("process", "process.started", svc.Name, "1", record.Counter64, 1)
		}
		at += int64(time.Second)
	}
	return out
}

func (b *bench) write(t *record.Trial, readings []record.Reading) {
	file, err := b.w.WriteReadings(t.ID, "server", readings)
	b.must(err)
	t.Readings = map[string]string{"client": file, "server": file} // one machine under two names
	if b.apart {
		other, err := b.w.WriteReadings(t.ID, "client", readings)
		b.must(err)
		t.Readings["client"] = other
	}
	costs := []record.CollectorCost{{Collector: "meter", Support: "supported", Class: "wall-meter", Cadence: 1, Samples: 14, Uncertainty: new(1.5)},
		{Collector: "rapl", Support: "supported", Class: "rapl", Samples: 14}, {Collector: "cpu", Support: "supported", Samples: 14, CPU: 0.001}}
	t.Costs = map[string][]record.CollectorCost{"client": costs, "server": costs}
	for _, moment := range []string{"before", "after"} {
		version := ""
		if len(t.Services) > 0 {
			version = t.Services[0].Version
		}
		f := record.Facts{Host: "server", Taken: t.Started, Kernel: record.Kernel{Release: "6.12.1"}, Versions: map[string]string{"server": version}}
		if b.facts != nil {
			b.facts(t, moment, &f)
		}
		file, err := b.w.WriteFacts(t.ID, moment, "server", f)
		b.must(err)
		files := map[string]string{"client": file, "server": file}
		if moment == "before" {
			t.FactsBefore = files
		} else {
			t.FactsAfter = files
		}
	}
	b.must(b.w.WriteTrial(*t))
}

// printed is the report that bakeoff writes of a record.
func (b *bench) printed(run *record.Run) []byte {
	b.t.Helper()
	r, err := analysis.Analyse(run, b.plan, analysis.Options{})
	b.must(err)
	var out bytes.Buffer
	b.must(report.JSON(&out, r))
	return out.Bytes()
}
