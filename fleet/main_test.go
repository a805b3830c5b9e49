package fleet

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"bakeoff/engine"
	"bakeoff/host"
	"bakeoff/internal/osenv"
	"bakeoff/lab"
	"bakeoff/plan"
	"bakeoff/record"
	"bakeoff/run"
)

// childVariable makes the test binary a bakeoff that is to be killed.
const childVariable = "BAKEOFF_FLEET_TEST_CHILD"

// killing is what such a process is told.
type killing struct {
	Plan, Dir, LockDir, Resume string
	Kind                       run.EventKind // at which it kills itself
	Phase                      string
	Trial                      record.TrialID
}

func TestMain(m *testing.M) {
	if len(os.Args) > 1 && os.Args[1] == AgentCommand {
		env := surroundings()
		if err := Serve(context.Background(), os.Stdin, os.Stdout, run.NewLocalFor(env, engine.Lookup, os.Getppid())); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	if text, ok := os.LookupEnv(childVariable); ok {
		if err := runChild(text); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	os.Exit(m.Run())
}

func surroundings() *osenv.Env {
	exe, err := os.Executable()
	if err != nil {
		panic(err)
	}
	return &osenv.Env{LookupEnv: os.LookupEnv, Root: "/", Executable: exe, Clock: osenv.System{}}
}

func runChild(text string) error {
	var c killing
	if err := json.Unmarshal([]byte(text), &c); err != nil {
		return err
	}
	p, err := plan.Parse("crash.yaml", []byte(c.Plan), nil)
	if err != nil {
		return err
	}
	f := Assemble(surroundings(), p.Hosts, engine.Lookup)
	cfg := config(p, f, c.Dir, c.LockDir)
	cfg.Resume = c.Resume
	cfg.Progress = func(e run.Event) {
		if e.Kind == c.Kind && e.Phase == c.Phase && e.Trial.ID == c.Trial {
			_ = syscall.Kill(os.Getpid(), syscall.SIGKILL)
			select {}
		}
	}
	_, err = run.Execute(context.Background(), cfg)
	return errors.Join(err, f.Close())
}

func config(p *plan.Plan, f *Fleet, dir, lockDir string) run.Config {
	return run.Config{
		Plan: p, Dir: dir, LockDir: lockDir, Agents: f.Agents(), Engines: engine.Lookup,
		Host: "lab-7", Build: "test", Clock: osenv.System{},
	}
}

// twoHosts is a lab of two hosts on one link, and a plan in it.
type twoHosts struct {
	t                *testing.T
	lab              *lab.Lab
	built            *lab.Built
	plan             string
	dir, lock        string
	client, storage  string // their namespaces
	namespacesBefore []string
}

func newTwoHosts(t *testing.T) *twoHosts {
	t.Helper()
	if testing.Short() {
		t.Skip("builds network namespaces and starts real servers")
	}
	if os.Geteuid() != 0 {
		t.Fatal("this test builds network namespaces, which needs root; go test -short leaves it out")
	}
	h := &twoHosts{t: t, namespacesBefore: names(t)}
	tmp := t.TempDir()
	l, err := lab.Parse("lab.yaml", fmt.Appendf(nil, `lab: f%d
hosts: {client: , storage: }
links:
  - ends:
      client: {interface: eth0, addresses: [10.0.0.1/24, "fd00::1/64"]}
      storage: {interface: eth0, addresses: [10.0.0.2/24, "fd00::2/64"]}
`, os.Getpid()))
	if err != nil {
		t.Fatal(err)
	}
	h.lab, h.dir, h.lock = l, filepath.Join(tmp, "runs"), tmp
	h.client, h.storage = l.Namespace("client"), l.Namespace("storage")
	keeper := &lab.Keeper{StateDir: filepath.Join(tmp, "labs"), Clock: osenv.System{}}
	if h.built, err = keeper.Build(l); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(h.nothingLeft)
	h.plan = fmt.Sprintf(`title: two hosts in namespaces
hosts:
  client: {agent: local, namespace: %s}
  storage: {agent: local, namespace: %s}
services:
  redis:
    host: storage
    command: [redis-server, --port, "6379", --bind, 10.0.0.2, --save, "", --appendonly, "no", --protected-mode, "no"]
    endpoint: "redis://10.0.0.2:6379"
workloads:
  get: {engine: kv, source: client, service: redis, key_maximum: 100, warmup: 50ms, window: 300ms, op_timeout: 500ms}
settings:
  client: {sysctl: {net.ipv4.tcp_sack: 0}}
factors:
  ttl: {low: {settings.storage.sysctl.net.ipv4.ip_default_ttl: 60}, high: {settings.storage.sysctl.net.ipv4.ip_default_ttl: 200}}
telemetry: {interval: 100ms, collectors: [cpu, process, nic]}
repeat: {blocks: 2}
limits: {neighbours: 100%%}
primary: {throughput: {better: higher, margin: 5%%}}
retries: 0
`, h.client, h.storage)
	return h
}

func names(t *testing.T) []string {
	t.Helper()
	entries, err := os.ReadDir(host.NamespaceDir)
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		t.Fatal(err)
	}
	var all []string
	for _, e := range entries {
		if !strings.HasPrefix(e.Name(), "bakeoff-") || strings.HasPrefix(e.Name(), fmt.Sprintf("bakeoff-f%d-", os.Getpid())) {
			all = append(all, e.Name())
		}
	}
	return all
}

// nothingLeft takes the lab down and looks for what is left of it.
func (h *twoHosts) nothingLeft() {
	h.t.Helper()
	for _, name := range []string{h.client, h.storage} {
		for _, pid := range insideNamespace(h.t, name) {
			comm, _ := os.ReadFile(fmt.Sprintf("/proc/%d/comm", pid))
			h.t.Errorf("process %d (%s) is left in %s", pid, strings.TrimSpace(string(comm)), name)
		}
	}
	if err := h.built.Remove(); err != nil {
		h.t.Error(err)
	}
	if after := names(h.t); !slices.Equal(after, h.namespacesBefore) {
		h.t.Errorf("namespaces before %v, after %v", h.namespacesBefore, after)
	}
}

func insideNamespace(t *testing.T, name string) []int {
	t.Helper()
	var want syscall.Stat_t
	if err := syscall.Stat(filepath.Join(host.NamespaceDir, name), &want); err != nil {
		return nil
	}
	procs, err := filepath.Glob("/proc/[0-9]*")
	if err != nil {
		t.Fatal(err)
	}
	var pids []int
	for _, p := range procs {
		var its syscall.Stat_t
		if syscall.Stat(p+"/ns/net", &its) == nil && its.Ino == want.Ino && its.Dev == want.Dev {
			var pid int
			fmt.Sscan(filepath.Base(p), &pid)
			pids = append(pids, pid)
		}
	}
	return pids
}

func (h *twoHosts) sysctl(namespace, key string) string {
	h.t.Helper()
	text := ""
	err := host.InNamespace(namespace, func() error {
		data, err := os.ReadFile("/proc/sys/net/ipv4/" + key)
		text = strings.TrimSpace(string(data))
		return err
	})
	if err != nil {
		h.t.Fatal(err)
	}
	return text
}

// untouched checks that both hosts are as the lab made them.
func (h *twoHosts) untouched() {
	h.t.Helper()
	if sack, ttl := h.sysctl(h.client, "tcp_sack"), h.sysctl(h.storage, "ip_default_ttl"); sack != "1" || ttl != "64" {
		h.t.Errorf("after the run, tcp_sack is %s and ip_default_ttl is %s", sack, ttl)
	}
}

// execute runs the plan in this process.
func (h *twoHosts) execute(resume string, watch func(run.Event)) (run.Summary, error) {
	h.t.Helper()
	p, err := plan.Parse("crash.yaml", []byte(h.plan), nil)
	if err != nil {
		h.t.Fatal(err)
	}
	f := Assemble(surroundings(), p.Hosts, engine.Lookup)
	cfg := config(p, f, h.dir, h.lock)
	cfg.Resume, cfg.Progress = resume, watch
	s, err := run.Execute(context.Background(), cfg)
	if err := f.Close(); err != nil {
		h.t.Error(err)
	}
	return s, err
}

func open(t *testing.T, dir string) *record.Run {
	t.Helper()
	r, err := record.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	return r
}
