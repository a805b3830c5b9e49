package self_test

import (
	"math/rand/v2"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"bakeoff/claim"
	"bakeoff/claim/self"
	"bakeoff/plan"
	"bakeoff/record"
)

const oneService = `
hosts:
  client: {agent: local, cpus: "0"}
  server: {agent: local, price: 1000.00 USD}
services:
  s0: {host: server, command: [server, --port, "7000"], endpoint: "redis://127.0.0.1:7000", cpus: "1"}
`

const hosts = oneService + `  s1: {host: server, command: [server, --port, "7001"], endpoint: "redis://127.0.0.1:7001", cpus: "1"}
`

const primaries = `
primary:
  throughput: {better: higher, margin: 5%}
  latency.p99: {better: lower, margin: 2.5%}
`

const twoServers = `
title: Two servers, 1 against 2
question: Which is faster, s0 or s1?` + hosts + `
workloads:
  get: {engine: kv, source: client, warmup: 1s, window: 10s}
factors:
  server:
    v1: {workloads.get.service: s0}
    v2: {workloads.get.service: s1}
` + primaries

// designs are plans of every form that a report can have.
func designs() map[string]string {
	return map[string]string{
		"two servers":                    twoServers + "repeat: {blocks: 8}\n",
		"many blocks, for the bootstrap": twoServers + "repeat: {blocks: 20}\n",
		"one block":                      twoServers + "repeat: {blocks: 1}\n",
		"two blocks":                     twoServers + "repeat: {blocks: 2}\n",
		"pilot":                          twoServers + "repeat: {pilot: 8, until: 0.9%, max: 14}\n",
		"three factors": `
title: Two servers, three sizes, two depths` + hosts + `
workloads:
  get: {engine: kv, source: client, service: s0, warmup: 1s, window: 10s}
factors:
  server: {v1: {workloads.get.service: s0}, v2: {workloads.get.service: s1}}
  value: {32: {workloads.get.value_size: 32}, 1K: {workloads.get.value_size: 1K}, 64K: {workloads.get.value_size: 64K}}
  depth: {d1: {workloads.get.pipeline: 1}, d16: {workloads.get.pipeline: 16}}
compare: [server, value, server x depth, server within value, depth within all]
` + primaries + "repeat: {blocks: 2}\n",
		"workloads": `
title: Two workloads, one after the other` + hosts + `
workloads:
  get9: {engine: kv, source: client, service: s0, warmup: 1s, window: 10s}
  set1: {engine: kv, source: client, service: s0, warmup: 1s, window: 10s, rate: 30k}
factors:
  server: {v1: {workloads.*.service: s0}, v2: {workloads.*.service: s1}}
` + primaries + "repeat: {blocks: 4}\n",
		"together": `
title: Two workloads at once` + hosts + `
together: true
workloads:
  get9: {engine: kv, source: client, service: s0, warmup: 1s, window: 10s}
  set1: {engine: kv, source: client, service: s1, warmup: 1s, window: 10s, rate: 30k}
factors:
  size: {small: {workloads.*.value_size: 32}, large: {workloads.*.value_size: 1K}}
primary:
  throughput: {better: higher, margin: 5%}
  host_cpu: {better: lower, margin: 3%}
  total.throughput: {better: higher, margin: 4%}
repeat: {blocks: 6}
`,
		"against itself": twoServers + "repeat: {blocks: 6}\naa: true\n",
		"ladder": `
title: A ladder of steps` + oneService + `
ladder: true
workloads:
  get: {engine: kv, source: client, service: s0, warmup: 1s, window: 10s}
factors:
  step: {step 0: {workloads.get.pipeline: 1}, step 1: {workloads.get.pipeline: 4}, step 2: {workloads.get.pipeline: 16}}
` + primaries + "repeat: {blocks: 6}\n",
		"settings, hard": `
title: A setting` + oneService + `
workloads:
  get: {engine: kv, source: client, service: s0, warmup: 1s, window: 10s}
factors:
  backlog2: {low: {settings.server.sysctl.net.core.somaxconn: 128}, high: {settings.server.sysctl.net.core.somaxconn: 4096}}
hard: [backlog2]
` + primaries + "repeat: {blocks: 6}\n",
		"money": `
title: Three generations, 1 to 3
hosts:
  client: {agent: local, cpus: "0"}
  server: {agent: local}
services:
  s0: {host: server, command: [server, --port, "7000"], endpoint: "redis://127.0.0.1:7000", cpus: "1"}
workloads:
  get: {engine: kv, source: client, service: s0, warmup: 1s, window: 10s}
factors:
  system:
    R740: {hosts.server.price: 36895.85 USD, hosts.server.support: 800 USD}
    R750: {hosts.server.price: 30561.88 USD, hosts.server.support: 990.25 USD}
    R760: {hosts.server.price: 31823.62 USD, hosts.server.support: 1250.50 USD}
  load: {64c: {workloads.get.connections: 64}, 256c: {workloads.get.connections: 256}}
compare: [system within load]
primary:
  throughput: {better: higher, margin: 3%}
repeat: {blocks: 2}
money:
  currency: USD
  tariff: 0.123 USD/kWh
  hours: 8700
  pue: 1.45
  grid: 380 g/kWh
  support: 990.25 USD
  headroom: 20%
  confidence: 90%
  price_uncertainty: 2.5%
  operations: [{until: 3, per_year: 7541 USD}, {until: 5, per_year: 15000 USD}, {per_year: 22511 USD}]
  own: [{levels: {system: R740}, servers: 1148, age: 3}, {levels: {system: R750}, servers: 20, age: 1}]
  work: [{levels: {system: R760}, servers: 500}]
  years: 7
`,
		"bought new": `
title: Two generations
hosts:
  client: {agent: local, cpus: "0"}
  server: {agent: local}
services:
  s0: {host: server, command: [server, --port, "7000"], endpoint: "redis://127.0.0.1:7000", cpus: "1"}
workloads:
  get: {engine: kv, source: client, service: s0, warmup: 1s, window: 10s}
factors:
  system: {R740: {hosts.server.price: 36895.85 EUR}, R760: {hosts.server.price: 31823.62 EUR}}
primary:
  throughput: {better: higher, margin: 3%}
repeat: {blocks: 4}
money: {tariff: 0.3 EUR/kWh, years: 3, operations: 4000 EUR}
`,
		"graded": `
title: Work and power over the range` + hosts + `
workloads:
  get: {engine: kv, source: client, warmup: 1s, window: 10s}
factors:
  server: {v1: {workloads.get.service: s0}, v2: {workloads.get.service: s1}}
graded: {of: 30k, levels: [100%, 50%, 10%]}
primary:
  throughput: {better: higher, margin: 5%}
  overall_perf_per_watt: {better: higher, margin: 2%}
repeat: {blocks: 2}
`,
		"instances": `
title: Three instances at once` + hosts + `
workloads:
  get: {engine: kv, source: client, instances: 3, warmup: 1s, window: 10s}
factors:
  server: {v1: {workloads.get.service: s0}, v2: {workloads.get.service: s1}}
` + primaries + `repeat: {blocks: 3}
`,
		"cores": `
title: Two servers over their threads` + hosts + `
workloads:
  get: {engine: kv, source: client, service: s0, warmup: 1s, window: 10s}
factors:
  threads: {1: {workloads.get.pipeline: 1}, 2: {workloads.get.pipeline: 2}, 4: {workloads.get.pipeline: 4}, 8: {workloads.get.pipeline: 8}, 16: {workloads.get.pipeline: 16}}
  server: {v1: {workloads.get.service: s0}, v2: {workloads.get.service: s1}}
` + primaries + `repeat: {blocks: 4}
`,
		"queries": `
title: A set of queries that ends by itself` + hosts + `
workloads:
  get: {engine: kv, source: client, deadline: 1h}
factors:
  server: {v1: {workloads.get.service: s0}, v2: {workloads.get.service: s1}}
primary:
  duration: {better: lower, margin: 5%}
repeat: {blocks: 3}
`,
		"peaks": `
title: Two servers at their own peaks` + hosts + `
workloads:
  get: {engine: kv, source: client, warmup: 1s, window: 10s}
factors:
  server: {v1: {workloads.get.service: s0}, v2: {workloads.get.service: s1}}
peak: {over: workloads.get.connections, from: 4, to: 480, cap: {p99: 1ms, host_cpu: 95%}}
` + primaries + `repeat: {blocks: 3}
`,
		"peaks of two workloads": `
title: Two workloads at once, at their peak` + hosts + `
together: true
workloads:
  get9: {engine: kv, source: client, service: s0, warmup: 1s, window: 10s}
  set1: {engine: kv, source: client, service: s1, warmup: 1s, window: 10s}
factors:
  size: {small: {workloads.*.value_size: 32}, large: {workloads.*.value_size: 1K}}
peak: {over: workloads.*.connections, from: 4, to: 40, trials: 6}
primary:
  throughput: {better: higher, margin: 5%}
repeat: {blocks: 2}
`,
		"nothing compared": `
title: One server` + oneService + `
workloads:
  get: {engine: kv, source: client, service: s0, warmup: 1s, window: 10s}
repeat: {blocks: 3}
`,
	}
}

func audit(t testing.TB, b *bench, run *record.Run, report []byte) claim.Audit {
	t.Helper()
	a, err := self.AuditReport(run, b.plan, "report.json", report)
	if err != nil {
		t.Fatal(err)
	}
	return a
}

// mustFollow fails for every claim of an honest report that is raised.
func mustFollow(t *testing.T, a claim.Audit) {
	t.Helper()
	for _, o := range a.Outcomes {
		if o.Verdict.Raised() {
			t.Errorf("line %d: %s: %s %q", o.Line, o.ID, o.Text, o.Rows)
		}
	}
	if len(a.Outcomes) < 50 {
		t.Errorf("only %d claims were audited", len(a.Outcomes))
	}
}

func TestHonestReportsFollow(t *testing.T) {
	for name, src := range designs() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := newBench(t, src)
			run := b.run()
			mustFollow(t, audit(t, b, run, b.printed(run)))
		})
	}
}

// mishaps are what goes wrong in a run, or differs between its levels.
func mishaps() map[string]func(*bench) {
	return map[string]func(*bench){
		"a spoiled trial": func(b *bench) {
			b.spoil = func(t *record.Trial) {
				if t.Block == 3 && t.Attempt == 1 && b.trials%2 == 0 {
					t.Loads[0].Ledger.Failed += t.Loads[0].Ledger.Completed / 50
					t.Loads[0].Ledger.Offered += t.Loads[0].Ledger.Completed / 50
				}
			}
		},
		"a failed trial and an interrupted one": func(b *bench) {
			b.spoil = func(t *record.Trial) {
				switch {
				case t.Block == 2 && t.Attempt == 1 && t.Cell[0].Level == "v2":
					t.Status, t.Reason, t.Loads = record.StatusFailed, "after 3 s: connection refused by 127.0.0.1:7001", nil
				case t.Block == 4 && b.trials == 9:
					t.Status, t.Reason, t.Loads = record.StatusInterrupted, "Ctrl-C", nil
				}
			}
		},
		"every trial of a level": func(b *bench) {
			b.spoil = func(t *record.Trial) {
				if t.Cell[0].Level == "v2" {
					t.Loads[0].Generator.BusyFraction = 0.97
				}
			}
		},
		"a cell that never works": func(b *bench) {
			b.spoil = func(t *record.Trial) {
				if t.Cell[0].Level == "v2" {
					t.Status, t.Reason, t.Loads = record.StatusFailed, "exit status 3", nil
				}
			}
		},
		"stopped early": func(b *bench) { b.stop = 9 },
		"a generator and a target that were not there": func(b *bench) {
			b.spoil = func(t *record.Trial) {
				l := &t.Loads[0]
				switch {
				case t.Block == 2 && t.Attempt == 1 && b.trials%2 == 0:
					l.Generator.Stalls = &record.Stalls{TickMax: 2.0347e9, TickTotal: 2.0981e9}
				case t.Block == 4 && t.Attempt == 1 && b.trials%2 == 0:
					for i := range 5 {
						l.Tenths[4+i].Completed = uint64(i % 3)
					}
				case t.Block == 5 && t.Attempt == 1 && b.trials%2 == 0:
					l.Counters[1].Close, l.Counters[2].Close = 1.734, 97
				case t.Block == 7:
					l.Window.Seconds, l.Generator.Stalls = 60, &record.Stalls{WorkerMax: 411e6, WorkerTotal: 2.22e9}
				case t.Block == 8:
					l.Tenths, l.Generator.Stalls, l.Counters = nil, nil, nil
				}
			}
		},
		"shared cores, clock and windows": func(b *bench) {
			b.spoil = func(t *record.Trial) {
				t.Loads[0].Parameters["cpus"] = "0-1"
				t.Loads[0].Window.ClockErrorPPM = 150
				t.Loads[0].Window.Seconds = 4.5
				t.Loads[0].Latencies[0].Censored = 3
			}
		},
		"nothing done": func(b *bench) {
			b.spoil = func(t *record.Trial) {
				for i := range t.Loads[0].Kinds {
					t.Loads[0].Kinds[i].Misses = 0
				}
				if t.Block == 2 {
					t.Loads[0].Figures[0].Value = 0
				}
				t.Loads[0].Figures[0].Text = "0.3"
			}
		},
		"data set, facts and warnings of the load": func(b *bench) {
			b.spoil = func(t *record.Trial) {
				if t.Block == 5 {
					t.Loads[0].DataSet.Items++
				}
				t.Warnings = append(t.Warnings, record.Warning{Gate: "counters-missing", Severity: record.SeveritySoft, Subject: "get", Found: "1 of 3 answered", Threshold: "all 3"})
			}
			b.facts = func(t *record.Trial, moment string, f *record.Facts) {
				if t.Block == 6 {
					f.Kernel.Release = "6.12.2"
				}
				f.Versions["other"] = t.Cell[0].Level
				if moment == "after" && t.Block == 7 {
					f.Versions["late"] = "2.0"
				}
				if moment == "after" && t.Block == 8 { // a change without a digit
					f.Versions["daemon"] = "running"
				}
			}
		},
		"devices and a saturated link": func(b *bench) {
			b.apart = true
			b.facts = func(_ *record.Trial, _ string, f *record.Facts) {
				slot := &record.PCIe{GTs: new(8.0), Width: new(4)}
				f.NICs = []record.NIC{{Name: "eth0", Kind: "device", BitsPerSecond: new(int64(60_000_000)), PCIe: slot}}
				f.Disks = []record.Disk{{Name: "sda", Driver: "nvme", PCIe: slot}}
			}
		},
		"several loads": func(b *bench) {
			b.spoil = func(t *record.Trial) {
				second, sink := t.Loads[0], t.Loads[0]
				second.Instance, second.Window.Seconds = 1, 9.5
				sink.Part, sink.Latencies, sink.Kinds = "sink", nil, nil
				t.Loads = append(t.Loads, second, sink)
			}
		},
		"noise without bounds":             func(b *bench) { b.noise = 3 },
		"noise without bounds, two blocks": func(b *bench) { b.noise, b.stop = 4, 4 },
		"drift and noise": func(b *bench) {
			b.noise = 0.2
			b.rate = func(record.Cell) float64 { return 30_000 * (1 + 0.05*float64(b.trials)) }
		},
	}
}

func TestReportsOfRunsThatWentWrongFollow(t *testing.T) {
	for name, mishap := range mishaps() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := newBench(t, twoServers+"repeat: {blocks: 8}\n"+limitsOf(name))
			mishap(b)
			run := b.run()
			mustFollow(t, audit(t, b, run, b.printed(run)))
		})
	}
}

func limitsOf(name string) string {
	if strings.HasPrefix(name, "drift") {
		return "limits: {misses: 3%, steal: 7%}\n"
	}
	return ""
}

// reopened reads a record afresh, with the plan that it holds.
func reopened(b *bench, dir string) *record.Run {
	run, err := record.Open(dir)
	b.must(err)
	b.plan, err = plan.Parse(run.Manifest.PlanName, run.Plan, nil)
	b.must(err)
	b.plan.AA = run.Manifest.AA
	return run
}

func TestReportsOfChangedRecordsFollow(t *testing.T) {
	b := newBench(t, twoServers+"repeat: {blocks: 3}\n")
	run := b.run()
	_, err := record.Exclude(run.Dir, record.Exclusion{Trial: "0003", Reason: "a backup ran at 02:00", By: "operator", At: b.epoch.Add(time.Hour)})
	b.must(err)
	run = reopened(b, run.Dir)
	mustFollow(t, audit(t, b, run, b.printed(run)))
	copied := filepath.Join(t.TempDir(), "redacted")
	_, err = record.Redact(run.Dir, copied, "bakeoff 0.1.0", b.epoch.Add(2*time.Hour))
	b.must(err)
	run = reopened(b, copied)
	mustFollow(t, audit(t, b, run, b.printed(run)))
}

// TestHonestReportsOfAnyNoiseFollow: from noise that only the last digits show to
// noise that leaves nothing to see, and from a few operations a second up.
func TestHonestReportsOfAnyNoiseFollow(t *testing.T) {
	if testing.Short() {
		t.Skip("writes many records")
	}
	names := []string{"two servers", "workloads", "together", "pilot", "against itself", "money", "graded", "ladder", "bought new"}
	noises, scales := []float64{1e-9, 1e-4, 0.005, 0.03, 0.1, 0.5}, []float64{1, 1e-3, 37.7, 1e4}
	for i := range 2 * len(names) {
		t.Run(names[i%len(names)], func(t *testing.T) {
			t.Parallel()
			b := benchOf(t, names[i%len(names)])
			b.rng, b.noise = rand.New(rand.NewPCG(uint64(i), 99)), noises[i%len(noises)]
			rate := b.rate
			b.rate = func(c record.Cell) float64 { return scales[i%len(scales)] * rate(c) }
			run := b.run()
			mustFollow(t, audit(t, b, run, b.printed(run)))
		})
	}
}
