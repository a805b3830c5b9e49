package run

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"bakeoff/engine"
	"bakeoff/internal/osenv"
	"bakeoff/plan"
	"bakeoff/record"
)

// childVariable makes the test binary a bakeoff that is to be killed.
const childVariable = "BAKEOFF_RUN_TEST_CHILD"

// child is what such a process is told.
type child struct {
	Plan, Dir, LockDir, Resume string
	// The process kills itself at this event.
	Kind  EventKind
	Phase string
	Trial record.TrialID
}

func TestMain(m *testing.M) {
	if len(os.Args) > 1 && os.Args[1] == "embedded" {
		serveEmbedded(os.Args[2:])
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

func runChild(text string) error {
	var c child
	if err := json.Unmarshal([]byte(text), &c); err != nil {
		return err
	}
	p, err := plan.Parse("crash.yaml", []byte(c.Plan), nil)
	if err != nil {
		return err
	}
	cfg, err := localConfig(p, c.Dir, c.LockDir)
	if err != nil {
		return err
	}
	cfg.Resume = c.Resume
	cfg.Progress = func(e Event) {
		if e.Kind == c.Kind && e.Phase == c.Phase && e.Trial.ID == c.Trial {
			_ = syscall.Kill(os.Getpid(), syscall.SIGKILL)
			select {}
		}
	}
	_, err = Execute(context.Background(), cfg)
	return err
}

// localConfig is a run with the in-process agent.
func localConfig(p *plan.Plan, dir, lockDir string) (Config, error) {
	exe, err := os.Executable()
	if err != nil {
		return Config{}, err
	}
	env := &osenv.Env{LookupEnv: os.LookupEnv, Root: "/", Executable: exe, Clock: osenv.System{}}
	return Config{
		Plan: p, Dir: dir, LockDir: lockDir, Agents: map[string]Agent{"lab": NewLocal(env, engine.Lookup)},
		Engines: engine.Lookup, Host: "lab-7", Build: "test", Clock: osenv.System{},
	}, nil
}

// crashPlan has a real server, a setting that is kept in a file, and two cells.
func crashPlan(port int, file string) string {
	return fmt.Sprintf(`title: a run that is killed
hosts: {lab: {agent: local}}
services:
  redis:
    host: lab
    command: [redis-server, --port, "%[1]d", --bind, 127.0.0.1, --save, "", --appendonly, "no"]
    endpoint: "redis://127.0.0.1:%[1]d"
    version: [redis-server, --version]
    always: true
workloads:
  load: {engine: "null", source: lab, warmup: 10ms, window: 100ms}
settings:
  lab:
    command:
      mode: {apply: [sh, -c, "echo {value} > %[2]s"], read: [cat, "%[2]s"], value: base}
factors:
  mode: {fast: {settings.lab.command.mode.value: fast}, slow: {settings.lab.command.mode.value: slow}}
telemetry: {interval: 100ms, collectors: [cpu, process]}
repeat: {blocks: 2}
primary: {throughput: {better: higher, margin: 5%%}}
retries: 0
`, port, file)
}

func freePort(t *testing.T) int {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return l.Addr().(*net.TCPAddr).Port
}

// crash is one run on its own port, setting and directories.
type crash struct {
	t         *testing.T
	port      int
	file      string
	dir, lock string
	plan      string
}

func newCrash(t *testing.T) *crash {
	t.Helper()
	if testing.Short() {
		t.Skip("starts real servers")
	}
	tmp := t.TempDir()
	c := &crash{t: t, port: freePort(t), file: filepath.Join(tmp, "mode"), dir: filepath.Join(tmp, "runs"), lock: tmp}
	c.plan = crashPlan(c.port, c.file)
	if err := os.WriteFile(c.file, []byte("as it was\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	return c
}

// start starts a bakeoff in a process of its own.
func (c *crash) start(told child) (*exec.Cmd, *bytes.Buffer) {
	c.t.Helper()
	told.Plan, told.Dir, told.LockDir = c.plan, c.dir, c.lock
	text, err := json.Marshal(told)
	if err != nil {
		c.t.Fatal(err)
	}
	exe, err := os.Executable()
	if err != nil {
		c.t.Fatal(err)
	}
	cmd := exec.Command(exe)
	cmd.Env = append(os.Environ(), childVariable+"="+string(text))
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	if err := cmd.Start(); err != nil {
		c.t.Fatal(err)
	}
	return cmd, &stderr
}

// runDir is the one run directory there is; "" before there is one.
func (c *crash) runDir() string {
	c.t.Helper()
	dirs, err := filepath.Glob(filepath.Join(c.dir, "2*"))
	if err != nil || len(dirs) > 1 {
		c.t.Fatalf("run directories %v, %v", dirs, err)
	}
	if len(dirs) == 0 {
		return ""
	}
	return dirs[0]
}

// resume goes on in this process and checks that the run ends as if nothing
// had happened.
func (c *crash) resume() *record.Run {
	c.t.Helper()
	p, err := plan.Parse("crash.yaml", []byte(c.plan), nil)
	if err != nil {
		c.t.Fatal(err)
	}
	cfg, err := localConfig(p, c.dir, c.lock)
	if err != nil {
		c.t.Fatal(err)
	}
	cfg.Resume = c.runDir()
	s, err := Execute(context.Background(), cfg)
	if err != nil || s.Outcome != Done {
		c.t.Fatalf("resumed: %+v, %v", s, err)
	}
	run := verified(c.t, s.Dir)
	measured := map[string]int{}
	for _, tr := range run.Trials {
		if tr.Status == record.StatusComplete || tr.Status == record.StatusInvalid {
			measured[fmt.Sprintf("%s in block %d", tr.Cell.Key(), tr.Block)]++
		}
	}
	if len(measured) != 4 || !run.Complete {
		c.t.Errorf("measured %v, complete %t", measured, run.Complete)
	}
	c.untouched()
	return run
}

// untouched checks that setting and server are as before the run.
func (c *crash) untouched() {
	c.t.Helper()
	if text, err := os.ReadFile(c.file); err != nil || strings.TrimSpace(string(text)) != "as it was" {
		c.t.Errorf("the setting is %q after the run, %v", text, err)
	}
	if conn, err := net.DialTimeout("tcp", fmt.Sprintf("127.0.0.1:%d", c.port), time.Second); err == nil {
		conn.Close()
		c.t.Error("the server still runs after the run")
	}
}

// TestKilledInEveryPhase kills bakeoff with SIGKILL as each phase of the second
// trial begins and ends, and goes on with the run.
func TestKilledInEveryPhase(t *testing.T) {
	phases := []string{PhaseResolve, PhaseApply, PhaseReadBack, PhaseStart, PhasePrepare, PhaseFactsBefore,
		PhaseMeasure, PhaseFactsAfter, PhaseStop, PhaseRestore, PhaseWrite}
	for _, phase := range phases {
		for _, kind := range []EventKind{PhaseBegins, PhaseEnds} {
			t.Run(phase+"/"+string(kind), func(t *testing.T) {
				c := newCrash(t)
				cmd, stderr := c.start(child{Kind: kind, Phase: phase, Trial: "0002"})
				err := cmd.Wait()
				if status, ok := cmd.ProcessState.Sys().(syscall.WaitStatus); !ok || status.Signal() != syscall.SIGKILL {
					t.Fatalf("the process was not killed: %v\n%s", err, stderr)
				}
				run := c.resume()
				checkSecondTrial(t, run, phase == PhaseWrite && kind == PhaseEnds)
			})
		}
	}
}

// checkSecondTrial checks that the trial that was killed has its place.
func checkSecondTrial(t *testing.T, run *record.Run, written bool) {
	t.Helper()
	if written {
		if len(run.Trials) != 4 {
			t.Errorf("%d trials, want 4: %s", len(run.Trials), statuses(run))
		}
		return
	}
	tr := run.Trials[1]
	if len(run.Trials) != 5 || tr.Status != record.StatusInterrupted || !strings.Contains(tr.Reason, "SIGKILL") {
		t.Errorf("trials: %s; the second: %s", statuses(run), tr.Reason)
	}
	if next := run.Trials[2]; next.Cell.Key() != tr.Cell.Key() || next.Block != tr.Block || next.Attempt != tr.Attempt {
		t.Errorf("after the interrupted trial came %+v", next)
	}
}

// TestKilledAtAnyTime kills bakeoff again and again, a little later each time,
// resuming in between.
func TestKilledAtAnyTime(t *testing.T) {
	c := newCrash(t)
	for after := 150 * time.Millisecond; after < 1500*time.Millisecond; after += 190 * time.Millisecond {
		cmd, stderr := c.start(child{Resume: c.runDir()})
		ended := make(chan error, 1)
		go func() { ended <- cmd.Wait() }()
		select {
		case err := <-ended:
			if err != nil {
				t.Fatalf("%v\n%s", err, stderr)
			}
		case <-time.After(after):
			if err := cmd.Process.Kill(); err != nil {
				t.Fatal(err)
			}
			<-ended
		}
	}
	c.resume()
}
