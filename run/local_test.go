package run

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"go.uber.org/goleak"

	"bakeoff/engine"
	"bakeoff/host"
	"bakeoff/internal/osenv"
	"bakeoff/load"
	"bakeoff/plan"
	"bakeoff/record"
)

// serveEmbedded is what the test binary does as an embedded server: it accepts
// connections and holds them. It says on its output how it was called.
func serveEmbedded(args []string) {
	fmt.Println(args)
	u, err := url.Parse(args[slices.Index(args, "--listen")+1])
	if err != nil {
		os.Exit(1)
	}
	l, err := net.Listen("tcp", u.Host)
	if err != nil {
		os.Exit(1)
	}
	for {
		conn, err := l.Accept()
		if err != nil {
			os.Exit(1)
		}
		go io.Copy(io.Discard, conn)
	}
}

func parseTest(t *testing.T, src string) *plan.Plan {
	t.Helper()
	p, err := plan.Parse("local.yaml", []byte(src), nil)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// TestLocalRunOnRedis runs a plan on this machine, with a real server under
// test, everything that crosses the agent sent through JSON.
func TestLocalRunOnRedis(t *testing.T) {
	defer goleak.VerifyNone(t)
	c := newCrash(t)
	// Long enough that a busy machine cannot take all of the window.
	cfg, err := localConfig(parseTest(t, strings.Replace(c.plan, "window: 100ms", "window: 700ms", 1)), c.dir, c.lock)
	if err != nil {
		t.Fatal(err)
	}
	cfg.Agents["lab"] = wire{t, cfg.Agents["lab"]}
	var rate uint64
	cfg.Progress = func(e Event) {
		if e.Progress != nil && e.Progress.Phase == "window" {
			rate = max(rate, e.Progress.Interval.Completed)
		}
	}
	s, err := Execute(context.Background(), cfg)
	if err != nil || s.Outcome != Done {
		t.Fatalf("summary %+v, %v", s, err)
	}
	c.untouched()
	run := verified(t, s.Dir)
	if len(run.Trials) != 4 || rate == 0 {
		t.Fatalf("%d trials, highest live count %d", len(run.Trials), rate)
	}
	for _, tr := range run.Trials {
		checkLocalTrial(t, run, tr)
	}
}

func checkLocalTrial(t *testing.T, run *record.Run, tr record.Trial) {
	t.Helper()
	if tr.Status != record.StatusComplete && tr.Status != record.StatusInvalid {
		t.Fatalf("trial %s: %s, %s", tr.ID, tr.Status, tr.Reason)
	}
	redis := tr.Services[0]
	if len(redis.PIDs) == 0 || !strings.Contains(redis.Version, "Redis server") || redis.Host != "lab" {
		t.Errorf("service: %+v", redis)
	}
	mode, _ := tr.Cell.Level("mode")
	setting := tr.Settings[0]
	if *setting.Before != "as it was" || *setting.ReadBack != mode || *setting.AtEnd != mode || *setting.Restored != "as it was" {
		t.Errorf("setting: before %q, read back %q, at end %q, restored %q", *setting.Before, *setting.ReadBack, *setting.AtEnd, *setting.Restored)
	}
	l := tr.Loads[0]
	if l.Ledger.Completed == 0 || !l.Ledger.Closes() || l.Generator.NullNanosPerOp <= 0 || len(l.Latencies) == 0 {
		t.Errorf("load: %+v", l)
	}
	for _, latency := range l.Latencies {
		log, err := run.Log(tr.ID, latency.File)
		if err != nil {
			t.Error(err)
			continue
		}
		log.Close()
	}
	readings, err := run.Readings(tr.ID, "lab")
	if err != nil {
		t.Fatal(err)
	}
	if !slices.ContainsFunc(readings, func(r record.Reading) bool { return r.Collector == "process" && r.Instance == "redis" }) {
		t.Error("the server's own CPU was not read")
	}
	facts, err := run.Facts(tr.FactsBefore["lab"])
	if err != nil || facts.Kernel.Release == "" || !strings.Contains(facts.Versions["redis"], "Redis server") {
		t.Errorf("facts: kernel %q, versions %v, %v", facts.Kernel.Release, facts.Versions, err)
	}
}

// TestLocalServiceKilled kills the server under test while it is measured.
func TestLocalServiceKilled(t *testing.T) {
	defer goleak.VerifyNone(t)
	c := newCrash(t)
	cfg, err := localConfig(parseTest(t, strings.Replace(c.plan, "window: 100ms", "window: 1500ms", 1)), c.dir, c.lock)
	if err != nil {
		t.Fatal(err)
	}
	killed := false
	cfg.Progress = func(e Event) {
		if e.Kind == Measuring && e.Phase == PhaseMeasure && !killed {
			killed = true
			killListener(t, c.port)
		}
	}
	if _, err := Execute(context.Background(), cfg); err == nil || !killed {
		t.Errorf("a cell of the first block failed, and the run gave no error; killed %t", killed)
	}
	c.untouched()
	run := verified(t, c.runDir())
	if got := run.Trials[0]; got.Status != record.StatusFailed || !strings.Contains(got.Reason, "service redis") || !strings.Contains(got.Reason, "killed") {
		t.Errorf("trial: %s, %s", got.Status, got.Reason)
	}
	if run.Trials[0].Loads == nil {
		t.Error("what was measured until then is not in the record")
	}
}

// killListener kills the server that this test started on the port.
func killListener(t *testing.T, port int) {
	t.Helper()
	files, err := filepath.Glob("/proc/[0-9]*/cmdline")
	if err != nil {
		t.Error(err)
	}
	for _, f := range files {
		text, err := os.ReadFile(f)
		if err != nil || !strings.HasPrefix(string(text), "redis-server") || !strings.Contains(string(text), fmt.Sprintf(":%d", port)) {
			continue
		}
		var pid int
		if _, err := fmt.Sscanf(f, "/proc/%d/cmdline", &pid); err != nil {
			t.Error(err)
		}
		if err := syscall.Kill(pid, syscall.SIGKILL); err != nil {
			t.Error(err)
		}
	}
}

func newLocalAgent(t *testing.T, lookup func(string) (string, bool)) *Local {
	t.Helper()
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	return NewLocal(&osenv.Env{LookupEnv: lookup, Root: "/", Executable: exe, Clock: osenv.System{}}, engine.Lookup)
}

func TestLocalEmbeddedServer(t *testing.T) {
	defer goleak.VerifyNone(t)
	agent := newLocalAgent(t, os.LookupEnv)
	dir := t.TempDir()
	endpoint := fmt.Sprintf("tcp://127.0.0.1:%d", freePort(t))
	spec := ServiceSpec{
		ServiceSpec: host.ServiceSpec{Name: "kv", Endpoint: endpoint, Dir: filepath.Join(dir, "kv"), Log: filepath.Join(dir, "kv.log"), PIDFile: filepath.Join(dir, "kv.pid")},
		Embedded:    "kv", Options: map[string]string{"threads": "2", "a": "b"}, OwnDir: true,
	}
	stale := filepath.Join(dir, "kv", "dump.rdb")
	if err := errors.Join(os.Mkdir(filepath.Dir(stale), 0o755), os.WriteFile(stale, []byte("old"), 0o644)); err != nil {
		t.Fatal(err)
	}
	started, err := agent.StartService(context.Background(), spec)
	if err != nil || len(started.PIDs) == 0 {
		t.Fatalf("started %+v, %v", started, err)
	}
	if _, err := os.Stat(stale); !os.IsNotExist(err) {
		t.Error("the service found what an earlier one had left")
	}
	if err := agent.CheckService(context.Background(), "kv"); err != nil {
		t.Error(err)
	}
	ended, err := agent.StopService(context.Background(), "kv")
	if want := "[kv --listen " + endpoint + " --a b --threads 2]\n"; err != nil || string(ended.Log) != want {
		t.Errorf("log %q, want %q; %v", ended.Log, want, err)
	}
	if _, err := agent.StopService(context.Background(), "kv"); err != nil {
		t.Errorf("stopping it again: %v", err)
	}
	if err := agent.CheckService(context.Background(), "kv"); err == nil {
		t.Error("a stopped service is said to run")
	}
}

func TestLocalServiceThatDoesNotStart(t *testing.T) {
	agent := newLocalAgent(t, os.LookupEnv)
	spec := ServiceSpec{ServiceSpec: host.ServiceSpec{
		Name: "bad", Command: []string{"sh", "-c", "echo no such option; exit 3"}, Endpoint: "tcp://127.0.0.1:1", Log: filepath.Join(t.TempDir(), "log")}}
	_, err := agent.StartService(context.Background(), spec)
	if err == nil || !strings.Contains(err.Error(), "no such option") {
		t.Errorf("got %v", err)
	}
	ended, err := agent.StopService(context.Background(), "bad")
	if err != nil || !strings.Contains(string(ended.Log), "no such option") {
		t.Errorf("log %q, %v", ended.Log, err)
	}
}

func TestLocalSecrets(t *testing.T) {
	file := filepath.Join(t.TempDir(), "secret")
	if err := os.WriteFile(file, []byte("from a file\r\nmore\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	agent := newLocalAgent(t, func(name string) (string, bool) { return "from the environment", name == "PASSWORD" })
	got, err := agent.secrets(LoadSpec{SecretsFrom: []plan.Secret{{Name: "a", File: file}, {Name: "b", Env: "PASSWORD"}}})
	if err != nil || got["a"] != "from a file" || got["b"] != "from the environment" {
		t.Errorf("secrets %v, %v", got, err)
	}
	for _, s := range []plan.Secret{{Name: "a", File: file + "x"}, {Name: "b", Env: "NONE"}} {
		if _, err := agent.secrets(LoadSpec{SecretsFrom: []plan.Secret{s}}); err == nil || !strings.Contains(err.Error(), "secret "+s.Name) {
			t.Errorf("secret %+v: %v", s, err)
		}
	}
}

func TestLocalPlacesLoads(t *testing.T) {
	topology := host.Topology{Allowed: host.CPUs{0, 1, 2, 3}}
	agent := newLocalAgent(t, os.LookupEnv)
	place := func(asked string, nth int) []int {
		spec, _, err := agent.place(topology, LoadSpec{GeneratorCPUs: asked}, nth)
		if err != nil {
			t.Fatal(err)
		}
		return spec.Common.CPUs
	}
	if got := place("", 0); got != nil {
		t.Errorf("with nothing pinned the load is pinned to %v", got)
	}
	if got := place("2-3", 1); !slices.Equal(got, []int{3, 2}) {
		t.Errorf("asked for 2-3, the second load got %v", got)
	}
	agent.services = []*localService{{spec: ServiceSpec{ServiceSpec: host.ServiceSpec{Name: "s", CPUs: "0-1"}}}}
	if got := place("", 0); !slices.Equal(got, []int{2, 3}) {
		t.Errorf("beside a service on 0-1 the load got %v", got)
	}
}

func TestLocalCheck(t *testing.T) {
	agent := newLocalAgent(t, os.LookupEnv)
	spec := func(parameters map[string]any) LoadSpec {
		return LoadSpec{Spec: load.Spec{Workload: "w", Engine: "null", Part: load.Source, Parameters: parameters, Common: load.Common{Window: time.Second}}}
	}
	good := Job{Settings: []SettingSpec{{Kind: "command", Target: "x", Apply: []string{"true", "{value}"}, Read: []string{"echo", "1"}, Value: "1"}},
		Services: []ServiceSpec{{ServiceSpec: host.ServiceSpec{Name: "s", Command: []string{"sh"}, Ready: []string{"true"}}, OwnDir: true}}, Loads: []LoadSpec{spec(nil)}}
	if problems, err := agent.Check(context.Background(), good); err != nil || len(problems) > 0 {
		t.Errorf("problems %q, %v", problems, err)
	}
	bad := Job{
		Settings: []SettingSpec{{Kind: "sysctl", Target: "kernel.no_such_key", Value: "1"}, {Kind: "dial", Target: "x", Value: "1"}},
		Services: []ServiceSpec{
			{ServiceSpec: host.ServiceSpec{Name: "missing", Command: []string{"no-such-server"}, Ready: []string{"true"}}, OwnDir: true},
			{ServiceSpec: host.ServiceSpec{Name: "both", Command: []string{"sh"}}, Embedded: "kv"},
			{ServiceSpec: host.ServiceSpec{Name: "dir", Command: []string{"sh"}, Dir: "/no/such/dir"}},
		},
		Loads: []LoadSpec{spec(map[string]any{"dept": "1"}), {Spec: load.Spec{Workload: "far", Engine: "null", Host: "lab"}, GeneratorCPUs: "0,8000"}},
		Watch: WatchSpec{Collectors: []string{"thermometer"}, Power: []PowerSpec{{Kind: "guess"}}},
	}
	problems, err := agent.Check(context.Background(), bad)
	text := strings.Join(problems, "\n")
	for _, want := range []string{"/proc/sys/kernel/no_such_key", `kind "dial"`, "services.missing: command", "services.both: it has both", "services.dir: dir", `workloads.w: `, "depth", "workloads.far: hosts.lab.cpus: processors 8000", "telemetry: "} {
		if !strings.Contains(text, want) {
			t.Errorf("no problem names %q:\n%s", want, text)
		}
	}
	if err != nil || len(problems) != 8 {
		t.Errorf("%d problems, want 8: %v\n%s", len(problems), err, text)
	}
}

// TestLocalTargetThatRefuses measures a server that is not there.
func TestLocalTargetThatRefuses(t *testing.T) {
	if testing.Short() {
		t.Skip("runs a load")
	}
	src := fmt.Sprintf(`title: nobody there
hosts: {lab: {agent: local}}
workloads: {get: {engine: kv, target: "redis://127.0.0.1:%d", key_maximum: 10, window: 100ms}}
factors: {depth: {one: {workloads.get.pipeline: 1}, two: {workloads.get.pipeline: 2}}}
primary: {throughput: {better: higher, margin: 5%%}}
repeat: {blocks: 1}
retries: 0
`, freePort(t))
	tmp := t.TempDir()
	cfg, err := localConfig(parseTest(t, src), filepath.Join(tmp, "runs"), tmp)
	if err != nil {
		t.Fatal(err)
	}
	s, err := Execute(context.Background(), cfg)
	if err == nil || !strings.Contains(err.Error(), "connection refused") {
		t.Errorf("summary %+v, %v", s, err)
	}
	if run := verified(t, s.Dir); statuses(run) != "failed failed" {
		t.Errorf("trials: %s", statuses(run))
	}
}
