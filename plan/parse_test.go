package plan

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"bakeoff/record"
)

// a3 is the plan of the design, with what its network engine would need taken
// to the key-value engine.
const a3 = `title: IPv6 against IPv4
hosts:
  client: {agent: local, cpus: "0"}
  storage: {agent: none, price: 31823.62 USD, facts: {model: R760}}
services:
  redis: {host: storage, endpoint: "redis://192.0.2.1:6379"}
workloads:
  read:  {engine: kv, service: redis, ratio: "0:1", window: 30s}
  write: {engine: kv, service: redis, ratio: "1:0", warmup: 1m30s, window: 1d}
settings:
  client:
    governor: performance
    sysctl: {net.core.somaxconn: 4096}
factors:
  ip: {v4: {workloads.*.key_maximum: 4}, v6: {workloads.*.key_maximum: 6}}
  offload:
    off: {settings.client.sysctl.net.core.rmem_max: 1, settings.client.file./sys/kernel/mm/transparent_hugepage/enabled: never}
    on:  {settings.client.sysctl.net.core.rmem_max: 2, settings.client.file./sys/kernel/mm/transparent_hugepage/enabled: always}
  size: {256K: {workloads.*.value_size: 256K}, 64K: {workloads.*.value_size: 64K}}
baseline: {size: 64K}
compare: [ip, offload, ip x offload, size within all]
primary: {throughput: {better: higher, margin: 2%}, latency.p99: {better: lower, margin: 5%}}
repeat: {pilot: 8, until: 1%, max: 30}
telemetry: {interval: 500ms, collectors: [cpu, nic]}
limits: {errors: 0.1%, generator_busy: 80%}
money: {currency: USD, tariff: 0.12 USD/kWh, hours: 8760, pue: 1.5}
seed: 18446744073709551615
retries: 1
`

func mustParse(t testing.TB, src string) *Plan {
	t.Helper()
	p, err := Parse("plan.yaml", []byte(src), testCatalog{})
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func TestParse(t *testing.T) {
	p := mustParse(t, a3)
	if p.Seed != 1<<64-1 || p.Retries != 1 || p.Order != OrderBlocks || p.Title != "IPv6 against IPv4" {
		t.Errorf("seed %d, retries %d, order %s", p.Seed, p.Retries, p.Order)
	}
	if diff := cmp.Diff(Repeat{Pilot: 8, Until: 0.01, Max: 30}, p.Repeat); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff(Telemetry{Interval: 500 * time.Millisecond, Collectors: []string{"cpu", "nic"}}, p.Telemetry); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff([]Primary{{"throughput", record.HigherIsBetter, 0.02}, {"latency.p99", record.LowerIsBetter, 0.05}}, p.Primary); diff != "" {
		t.Error(diff)
	}
	if *p.Limits.ErrorPercent != 0.1 || *p.Limits.BusyPercent != 80 || p.Limits.SlopePercent != nil {
		t.Errorf("limits %+v", p.Limits)
	}
	if len(p.Factors) != 4 || p.Factors[3].Name != WorkloadFactor || p.Factors[2].Baseline != "64K" || p.Factors[0].Baseline != "v4" {
		t.Errorf("factors %+v", p.Factors)
	}
	// 2 ip, 2 offload, 1 interaction, 1 size in each of 4 combinations; for two workloads.
	if n := len(p.Effects()); n != 2*(1+1+1+4) || p.Family() != 2*n {
		t.Errorf("%d effects, family of %d", n, p.Family())
	}
	if want := "What does ip (v4 or v6) and offload (off or on) and size (256K or 64K) change in throughput and latency.p99?"; p.Question != want {
		t.Errorf("question %q", p.Question)
	}
}

func TestResolve(t *testing.T) {
	p := mustParse(t, a3)
	cell := record.Cell{{Factor: "ip", Level: "v6"}, {Factor: "offload", Level: "on"}, {Factor: "size", Level: "64K"}, {Factor: WorkloadFactor, Level: "write"}}
	got, err := p.Resolve(cell)
	if err != nil {
		t.Fatal(err)
	}
	want := Resolved{
		Cell: cell,
		Hosts: []Host{
			{Name: "client", Agent: AgentLocal, CPUs: "0"},
			{Name: "storage", Agent: AgentNone, Facts: []Fact{{"model", "R760"}}, Price: "31823.62 USD"},
		},
		Services: []Service{{
			Name: "redis", Host: "storage", Endpoint: "redis://192.0.2.1:6379", Ready: Ready{Timeout: 30 * time.Second},
			Stop: Stop{"TERM", 10 * time.Second}, Restart: RestartTrial,
		}},
		Workloads: []Workload{{
			Name: "write", Engine: "kv", Source: "client", Service: "redis", Target: "redis://192.0.2.1:6379", Instances: 1,
			Warmup: 90 * time.Second, Window: 24 * time.Hour, Parameters: map[string]any{"ratio": "1:0", "key_maximum": "6", "value_size": "64K"},
		}},
		Settings: []Setting{
			{Host: "client", Kind: "governor", Value: "performance"},
			{Host: "client", Kind: "sysctl", Target: "net.core.somaxconn", Value: "4096"},
			{Host: "client", Kind: "sysctl", Target: "net.core.rmem_max", Value: "2"},
			{Host: "client", Kind: "file", Target: "/sys/kernel/mm/transparent_hugepage/enabled", Value: "always"},
		},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	for _, bad := range []record.Cell{{}, cell[:3], append(cell[:3:3], record.Level{Factor: WorkloadFactor, Level: "scan"})} {
		if _, err := p.Resolve(bad); err == nil {
			t.Errorf("cell %q is not of this plan", bad.Key())
		}
	}
}

// A record is read back without engines, to the same plan.
func TestParseWithoutCatalog(t *testing.T) {
	with := mustParse(t, a3)
	without, err := Parse("plan.yaml", []byte(a3), nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range with.Cells() {
		a, errA := with.Resolve(c)
		b, errB := without.Resolve(c)
		if diff := cmp.Diff(a, b); diff != "" || errA != nil || errB != nil {
			t.Errorf("%s: %s %v %v", c.Key(), diff, errA, errB)
		}
	}
}

func TestServiceOptions(t *testing.T) {
	p := mustParse(t, `title: threads
hosts: {server: {agent: local}}
services:
  redis:
    command: [redis-server, --port, "{port}", --io-threads, "{threads}", --save, ""]
    options: {port: 6399, threads: 1}
    env: {PORT: "{port}"}
    endpoint: redis://127.0.0.1:{port}
    version: [redis-server, --version]
    stop: {signal: INT, timeout: 3s}
    restart: never
  noise: {command: [sleep, "60"], endpoint: "tcp://127.0.0.1:1", always: true}
  other: {embedded: kv, endpoint: "redis+unix:///tmp/x.sock"}
workloads: {get: {engine: kv, window: 5s, secrets: {password: {env: PW}}}}
factors:
  threads: {one: {services.redis.options.threads: 1}, four: {services.redis.options.threads: 4}}
  server: {redis: {workloads.get.service: redis}, other: {workloads.get.service: other}}
primary: {throughput: {better: higher, margin: 2%}}
`)
	got, err := p.Resolve(record.Cell{{Factor: "threads", Level: "four"}, {Factor: "server", Level: "redis"}})
	if err != nil {
		t.Fatal(err)
	}
	want := []Service{
		{
			Name: "redis", Host: "server", Command: []string{"redis-server", "--port", "6399", "--io-threads", "4", "--save", ""},
			Options: map[string]string{"port": "6399", "threads": "4"}, Env: map[string]string{"PORT": "6399"}, Endpoint: "redis://127.0.0.1:6399",
			Ready: Ready{Timeout: 30 * time.Second}, Version: []string{"redis-server", "--version"}, Stop: Stop{"INT", 3 * time.Second}, Restart: RestartNever,
		},
		{
			Name: "noise", Host: "server", Command: []string{"sleep", "60"}, Endpoint: "tcp://127.0.0.1:1",
			Ready: Ready{Timeout: 30 * time.Second}, Stop: Stop{"TERM", 10 * time.Second}, Restart: RestartTrial, Always: true,
		},
	}
	if diff := cmp.Diff(want, got.Services); diff != "" {
		t.Error(diff)
	}
	if w := got.Workloads[0]; w.Target != "redis://127.0.0.1:6399" || w.Warmup != time.Second || w.Secrets[0] != (Secret{Name: "password", Env: "PW"}) {
		t.Errorf("workload %+v", w)
	}
	again, err := p.Resolve(p.Cells()[0])
	if err != nil || again.Services[0].Command[4] != "1" {
		t.Errorf("resolving one cell changed another: %v %v", again.Services[0].Command, err)
	}
}

func TestLadder(t *testing.T) {
	p := mustParse(t, `title: recipe
workloads: {get: {engine: kv, target: "redis://127.0.0.1:1", window: 5s}}
ladder: true
factors:
  step:
    start: {}
    pipeline: {workloads.get.pipeline: 16}
    keys: {workloads.get.key_maximum: 10}
    more: {workloads.get.pipeline: 64}
primary: {throughput: {better: higher, margin: 2%}}
`)
	var got []map[string]any
	for _, c := range p.Cells() {
		r, err := p.Resolve(c)
		if err != nil {
			t.Fatal(err)
		}
		got = append(got, r.Workloads[0].Parameters)
	}
	want := []map[string]any{{}, {"pipeline": "16"}, {"pipeline": "16", "key_maximum": "10"}, {"pipeline": "64", "key_maximum": "10"}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	var pairs []string
	for _, e := range p.Effects() {
		pairs = append(pairs, e.Base+">"+e.Against)
	}
	if diff := cmp.Diff([]string{"start>pipeline", "pipeline>keys", "keys>more", "start>more"}, pairs); diff != "" {
		t.Error(diff)
	}
}

// Text stays as it was written, whatever YAML would make of it.
func TestTextIsVerbatim(t *testing.T) {
	p := mustParse(t, `title: 2024-01-01
workloads: {get: {engine: exec, window: 5s, command: [echo, 010, 2024-01-01, yes, 1e3, 0x10, ~x, "null"], figures: {n: {pattern: '(\d+)', unit: 1}}}}
`)
	want := []any{"echo", "010", "2024-01-01", "yes", "1e3", "0x10", "~x", "null"}
	if diff := cmp.Diff(want, p.Workloads[0].Parameters["command"]); diff != "" || p.Title != "2024-01-01" {
		t.Error(diff)
	}
	if len(p.Cells()) != 1 || p.Cells()[0].Key() != "" {
		t.Errorf("a plan without factors has one cell, found %v", p.Cells())
	}
}

func TestErrorsAreCollectedInOrder(t *testing.T) {
	_, err := Parse("p.yaml", []byte("title: x\nworkloads:\n  get: {engine: kv, window: 30}\nrepeat: {blocks: 0}\nseed: abc\n"), testCatalog{})
	all, ok := errors.AsType[Errors](err)
	if !ok || len(all) != 3 {
		t.Fatalf("want 3 errors, found %v", err)
	}
	for i, want := range []string{"p.yaml:3: workloads.get.window", "p.yaml:4: repeat.blocks", "p.yaml:5: seed"} {
		if !strings.HasPrefix(all[i].Error(), want) {
			t.Errorf("error %d: %v", i, all[i])
		}
	}
	if one, ok := errors.AsType[*Error](err); !ok || one.Line != 3 {
		t.Errorf("a single error should be found by errors.As: %v", one)
	}
	many := "title: x\nworkloads: {}\n" + strings.Repeat("k: 1\n", 1)
	for i := range 40 {
		many += strings.Repeat("z", i+1) + ": 1\n"
	}
	if _, err := Parse("p.yaml", []byte(many), nil); err == nil || strings.Count(err.Error(), "\n") != maxErrors {
		t.Errorf("errors should be bounded: %v", err)
	}
}
