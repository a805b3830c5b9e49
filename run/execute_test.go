package run

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"bakeoff/internal/osenv"
	"bakeoff/plan"
	"bakeoff/record"
)

const fakePlan = `title: settings and services
hosts:
  lab: {agent: local}
  array: {agent: none, facts: {model: A300}}
services:
  store: {host: lab, command: [store, --threads, "{threads}"], options: {threads: "1"}, endpoint: "redis://127.0.0.1:6379"}
workloads:
  get: {engine: "null", service: store, warmup: 100ms, window: 10s}
factors:
  swappiness: {high: {settings.lab.sysctl.vm.swappiness: "90"}, low: {settings.lab.sysctl.vm.swappiness: "10"}}
settings: {lab: {sysctl: {vm.dirty_ratio: "30"}}}
primary: {throughput: {better: higher, margin: 5%}}
repeat: {blocks: 2}
retries: 1
`

func parse(t *testing.T, src string) *plan.Plan {
	t.Helper()
	p, err := plan.Parse("test.yaml", []byte(src), nil)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// newConfig is a run of the plan on the agent, behind JSON.
func newConfig(t *testing.T, p *plan.Plan, agent Agent) Config {
	t.Helper()
	dir := t.TempDir()
	return Config{
		Plan: p, Dir: filepath.Join(dir, "runs"), LockDir: filepath.Join(dir, "lock"), Agents: map[string]Agent{"lab": wire{t, agent}},
		Engines: fakeEngines, Host: "lab-7", Build: "test", Command: []string{"bakeoff", "run"}, Clock: osenv.System{},
	}
}

func verified(t *testing.T, dir string) *record.Run {
	t.Helper()
	report, err := record.Verify(dir)
	if err != nil || !report.OK() {
		t.Errorf("the record is not whole: %+v, %v", report, err)
	}
	run, err := record.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	return run
}

func statuses(run *record.Run) string {
	var all []string
	for _, tr := range run.Trials {
		all = append(all, string(tr.Status))
	}
	return strings.Join(all, " ")
}

func TestExecute(t *testing.T) {
	defer goleak.VerifyNone(t)
	agent := newFake()
	cfg := newConfig(t, parse(t, fakePlan), agent)
	var events []Event
	cfg.Progress = func(e Event) { events = append(events, e) }
	s, err := Execute(context.Background(), cfg)
	if err != nil || s.Outcome != Done || s.Trials[record.StatusComplete] != 4 || s.Resumable {
		t.Fatalf("summary %+v, %v", s, err)
	}
	agent.untouched(t)
	run := verified(t, s.Dir)
	if !run.Complete || run.RootHash != s.RootHash || statuses(run) != "complete complete complete complete" {
		t.Errorf("record: complete %t, %s, trials %s", run.Complete, run.RootHash, statuses(run))
	}
	checkTrial(t, run, run.Trials[0])
	first, last := events[0], events[len(events)-1]
	if first.Kind != RunBegins || last.Kind != RunEnds {
		t.Errorf("events from %s to %s", first.Kind, last.Kind)
	}
	var k []int
	for _, e := range events {
		if e.Kind == TrialBegins {
			k = append(k, e.Index, e.Total)
			if e.ETA == nil {
				t.Error("a trial of known length begins without an estimate")
			}
		}
	}
	if !slices.Equal(k, []int{1, 4, 2, 4, 3, 4, 4, 4}) {
		t.Errorf("index and total: %v", k)
	}
}

func checkTrial(t *testing.T, run *record.Run, tr record.Trial) {
	t.Helper()
	var phases []string
	for _, p := range tr.Phases {
		phases = append(phases, p.Name)
		if p.Error != "" || p.Ended.Before(p.Started) {
			t.Errorf("phase %+v", p)
		}
	}
	want := []string{PhaseResolve, PhaseApply, PhaseReadBack, PhaseStart, PhasePrepare, PhaseFactsBefore, PhaseMeasure, PhaseFactsAfter, PhaseStop, PhaseRestore}
	if !slices.Equal(phases, want) {
		t.Errorf("phases %v, want %v", phases, want)
	}
	if len(tr.Settings) != 2 {
		t.Fatalf("settings: %+v", tr.Settings)
	}
	for _, s := range tr.Settings {
		if s.Before == nil || s.ReadBack == nil || s.AtEnd == nil || s.Restored == nil ||
			*s.ReadBack != s.Wanted || *s.AtEnd != s.Wanted || *s.Restored != *s.Before || *s.Before == s.Wanted {
			t.Errorf("setting %+v", s)
		}
	}
	if len(tr.Services) != 1 || tr.Services[0].Host != "lab" || tr.Services[0].Name != "store" || tr.Services[0].Version != "v1" {
		t.Errorf("services: %+v", tr.Services)
	}
	readings, err := run.Readings(tr.ID, "lab")
	if err != nil || len(readings) != 2 || readings[0].Host != "lab" || len(tr.Costs["lab"]) != 1 {
		t.Errorf("telemetry: %v, %v, costs %v", readings, err, tr.Costs)
	}
	facts, err := run.Facts(tr.FactsBefore["lab"])
	if err != nil || facts.Host != "lab" || facts.Versions["store"] != "v1" {
		t.Errorf("facts: %+v, %v", facts, err)
	}
	declared, err := run.Facts(tr.FactsAfter["array"])
	if err != nil || declared.Declared["model"] != "A300" {
		t.Errorf("declared facts: %+v, %v", declared, err)
	}
	if text, err := os.ReadFile(filepath.Join(run.Dir, "trials", string(tr.ID), "service-store.log")); err != nil || string(text) != "store said goodbye\n" {
		t.Errorf("service's log: %q, %v", text, err)
	}
}

func TestBaselineAgainstItself(t *testing.T) {
	p := parse(t, fakePlan)
	p.AA = true
	s, err := Execute(context.Background(), newConfig(t, p, newFake()))
	if err != nil {
		t.Fatal(err)
	}
	run := verified(t, s.Dir)
	roles := map[record.Role]int{}
	for _, tr := range run.Trials {
		roles[tr.Role]++
	}
	if roles[record.RoleMeasure] != 4 || roles[record.RoleAA] != 2 || !run.Manifest.AA {
		t.Errorf("roles %v, manifest aa %t", roles, run.Manifest.AA)
	}
}

// TestFaultInEveryCall lets each of the agent's calls fail once: the trial
// fails with the phase and the reason, everything is put back, the block is
// repeated, and the run ends well.
func TestFaultInEveryCall(t *testing.T) {
	for method, phase := range map[string]string{
		"ReadSettings": PhaseApply, "ApplySetting": PhaseApply, "StartService": PhaseStart, "OpenLoad": PhasePrepare,
		"Facts": PhaseFactsBefore, "Measure": PhaseMeasure, "CheckService": PhaseFactsAfter, "CloseLoad": PhaseStop,
	} {
		t.Run(method, func(t *testing.T) {
			defer goleak.VerifyNone(t)
			agent := newFake()
			agent.fault = func(_ context.Context, m string, n int) error {
				if m == method && n == 1 {
					return errors.New("the cable was pulled")
				}
				return nil
			}
			s, err := Execute(context.Background(), newConfig(t, parse(t, fakePlan), agent))
			if err != nil || s.Outcome != Done {
				t.Fatalf("summary %+v, %v", s, err)
			}
			agent.untouched(t)
			run := verified(t, s.Dir)
			if statuses(run) != "failed complete complete complete complete" {
				t.Fatalf("trials: %s", statuses(run))
			}
			bad := run.Trials[0]
			if !strings.HasPrefix(bad.Reason, phase+": ") || !strings.Contains(bad.Reason, "the cable was pulled") {
				t.Errorf("reason %q, want phase %s", bad.Reason, phase)
			}
			if run.Trials[1].Attempt != 2 || run.Trials[1].Block != 1 {
				t.Errorf("after the failed trial came %+v", run.Trials[1])
			}
		})
	}
}

func TestServiceThatDies(t *testing.T) {
	agent := newFake()
	agent.fault = func(_ context.Context, m string, n int) error {
		agent.dead["store"] = m == "Measure" && n == 1 || agent.dead["store"] && m != "StartService"
		return nil
	}
	s, err := Execute(context.Background(), newConfig(t, parse(t, fakePlan), agent))
	if err != nil {
		t.Fatal(err)
	}
	run := verified(t, s.Dir)
	if got := run.Trials[0]; got.Status != record.StatusFailed || !strings.Contains(got.Reason, "service store: it ended by itself with signal: killed") {
		t.Errorf("trial: %s, %s", got.Status, got.Reason)
	}
}

func TestCellThatCannotBeMeasured(t *testing.T) {
	agent := newFake()
	agent.fault = func(_ context.Context, m string, _ int) error {
		if m == "Measure" {
			return errors.New("connection refused")
		}
		return nil
	}
	s, err := Execute(context.Background(), newConfig(t, parse(t, fakePlan), agent))
	var given *plan.GivenUpError
	if !errors.As(err, &given) || s.Outcome != GivenUp || !strings.Contains(err.Error(), "connection refused") || s.Next == "" {
		t.Errorf("summary %+v, %v", s, err)
	}
	agent.untouched(t)
	if run := verified(t, s.Dir); statuses(run) != "failed failed failed" || run.Complete {
		t.Errorf("trials: %s, complete %t", statuses(run), run.Complete)
	}
}

func TestSettingThatCannotBePutBack(t *testing.T) {
	agent := newFake()
	stuck := true
	agent.fault = func(_ context.Context, m string, _ int) error {
		if m == "RestoreSetting" && stuck {
			return errors.New("device busy")
		}
		return nil
	}
	cfg := newConfig(t, parse(t, fakePlan), agent)
	s, err := Execute(context.Background(), cfg)
	var left *LeftoverError
	if !errors.As(err, &left) || s.Outcome != Broken || !s.Resumable || !strings.Contains(err.Error(), `vm.dirty_ratio was "20" before the run and could not be put back: device busy`) {
		t.Fatalf("summary %+v, %v", s, err)
	}
	stuck = false
	cfg.Resume = s.Dir
	var undone []string
	cfg.Progress = func(e Event) { undone = append(undone, e.Undone...) }
	s, err = Execute(context.Background(), cfg)
	if err != nil || s.Outcome != Done {
		t.Fatalf("resumed: %+v, %v", s, err)
	}
	if len(undone) != 2 || !strings.Contains(undone[0], `put back to`) {
		t.Errorf("undone: %q", undone)
	}
	agent.untouched(t)
	verified(t, s.Dir)
}

func TestStallIsBroken(t *testing.T) {
	defer goleak.VerifyNone(t)
	agent := newFake()
	agent.fault = func(ctx context.Context, m string, n int) error {
		if m == "Measure" && n == 1 {
			<-ctx.Done()
			return context.Cause(ctx)
		}
		return nil
	}
	cfg := newConfig(t, parse(t, fakePlan), agent)
	cfg.Stall = 20 * time.Millisecond
	s, err := Execute(context.Background(), cfg)
	if err != nil {
		t.Fatal(err)
	}
	run := verified(t, s.Dir)
	if got := run.Trials[0]; got.Status != record.StatusFailed || !strings.Contains(got.Reason, "phase measure showed no progress for 20ms") {
		t.Errorf("trial: %s, %s", got.Status, got.Reason)
	}
}

// TestStop stops the run in different phases.
func TestStop(t *testing.T) {
	tests := map[string]struct {
		phase    string
		patience time.Duration
		cancel   bool
		want     string
	}{
		"before measuring":    {PhasePrepare, time.Hour, false, "interrupted"},
		"short measurement":   {PhaseMeasure, time.Hour, false, "complete"},
		"long measurement":    {PhaseMeasure, time.Second, false, "interrupted"},
		"after measuring":     {PhaseFactsAfter, time.Second, false, "complete"},
		"at once, measuring":  {PhaseMeasure, time.Hour, true, "interrupted"},
		"at once, in cleanup": {PhaseRestore, time.Hour, true, "complete"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			defer goleak.VerifyNone(t)
			agent := newFake()
			cfg := newConfig(t, parse(t, fakePlan), agent)
			stop, accepted := make(chan struct{}), make(chan struct{})
			ctx, cancel := context.WithCancel(context.Background())
			defer cancel()
			cfg.Stop, cfg.Patience = stop, tt.patience
			asked := false
			cfg.Progress = func(e Event) {
				if e.Kind == StopAccepted {
					close(accepted)
				}
				if e.Kind != PhaseBegins || e.Phase != tt.phase || asked {
					return
				}
				asked = true
				if tt.cancel {
					cancel()
				} else {
					close(stop)
				}
			}
			agent.fault = func(ctx context.Context, m string, n int) error {
				if !tt.cancel && n == 1 && (m == "OpenLoad" && tt.phase == PhasePrepare || m == "Measure" && tt.phase == PhaseMeasure) {
					<-accepted
					if tt.want == "interrupted" {
						<-ctx.Done()
					}
				}
				return nil
			}
			s, err := Execute(ctx, cfg)
			if err != nil || s.Outcome != Stopped || !s.Resumable || !strings.Contains(s.Next, "bakeoff run "+s.Dir) {
				t.Fatalf("summary %+v, %v", s, err)
			}
			agent.untouched(t)
			if run := verified(t, s.Dir); statuses(run) != tt.want || run.Complete {
				t.Errorf("trials: %s, want %s", statuses(run), tt.want)
			}
			resumeToTheEnd(t, cfg, s.Dir, agent)
		})
	}
}

// resumeToTheEnd goes on with a run and expects every cell of every block.
func resumeToTheEnd(t *testing.T, cfg Config, dir string, agent *fakeAgent) {
	t.Helper()
	cfg.Resume, cfg.Stop, cfg.Progress = dir, nil, nil
	agent.fault = func(context.Context, string, int) error { return nil }
	s, err := Execute(context.Background(), cfg)
	if err != nil || s.Outcome != Done || s.Trials[record.StatusComplete] != 4 {
		t.Fatalf("resumed: %+v, %v", s, err)
	}
	agent.untouched(t)
	if run := verified(t, s.Dir); !run.Complete {
		t.Error("the resumed record is not sealed")
	}
	again, err := Execute(context.Background(), cfg)
	if err != nil || again.Outcome != Done || again.RootHash != s.RootHash || !strings.Contains(again.Next, "nothing left to do") {
		t.Errorf("resuming a complete run: %+v, %v", again, err)
	}
}

// TestPilotDecides runs a plan whose pilot asks for more blocks, and stops and
// resumes it after the pilot: the number of blocks stays the same.
func TestPilotDecides(t *testing.T) {
	src := strings.Replace(fakePlan, "repeat: {blocks: 2}", "repeat: {pilot: 8, until: 1%, max: 10}", 1)
	agent := newFake()
	cfg := newConfig(t, parse(t, src), agent)
	stop := make(chan struct{})
	cfg.Stop = stop
	var totals []int
	cfg.Progress = func(e Event) {
		if e.Kind != TrialBegins {
			return
		}
		totals = append(totals, e.Total)
		if e.Index == 18 {
			close(stop)
		}
	}
	s, err := Execute(context.Background(), cfg)
	if err != nil || s.Outcome != Stopped {
		t.Fatalf("summary %+v, %v", s, err)
	}
	cfg.Resume, cfg.Stop, cfg.Progress = s.Dir, nil, nil
	s, err = Execute(context.Background(), cfg)
	if err != nil || s.Outcome != Done || s.Trials[record.StatusComplete] != 20 {
		t.Fatalf("summary %+v, %v", s, err)
	}
	if totals[0] != 16 || totals[16] != 20 {
		t.Errorf("totals %v: expected 16 until the pilot is done, then 20", totals)
	}
	if run := verified(t, s.Dir); run.Trials[len(run.Trials)-1].Block != 10 {
		t.Errorf("the last trial is %+v", run.Trials[len(run.Trials)-1])
	}
}

func TestResumeRefuses(t *testing.T) {
	agent := newFake()
	cfg := newConfig(t, parse(t, fakePlan), agent)
	stop := make(chan struct{})
	close(stop)
	cfg.Stop = stop
	s, err := Execute(context.Background(), cfg)
	if err != nil || s.Outcome != Stopped {
		t.Fatalf("summary %+v, %v", s, err)
	}
	cfg.Resume, cfg.Stop = s.Dir, nil
	for name, tt := range map[string]struct {
		change func(*Config)
		want   string
	}{
		"changed plan":  {func(c *Config) { c.Plan = parse(t, fakePlan+"# later\n") }, "was changed since the run began"},
		"another host":  {func(c *Config) { c.Host = "lab-8" }, `it began on host "lab-7" and this is "lab-8"`},
		"another build": {func(c *Config) { c.Build = "other" }, "one run must not mix two"},
		"aa added":      {func(c *Config) { c.Plan = parse(t, fakePlan); c.Plan.AA = true }, "aa false"},
		"no such run":   {func(c *Config) { c.Resume += "x" }, "no such file"},
	} {
		t.Run(name, func(t *testing.T) {
			other := cfg
			tt.change(&other)
			_, err := Execute(context.Background(), other)
			if err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("got %v, want %q", err, tt.want)
			}
		})
	}
}

func TestSecondRunOnTheSameHost(t *testing.T) {
	agent := newFake()
	cfg := newConfig(t, parse(t, fakePlan), agent)
	second := cfg
	second.Dir = filepath.Join(t.TempDir(), "elsewhere")
	var refused error
	named := ""
	cfg.Progress = func(e Event) {
		if e.Dir != "" {
			named = e.Dir
		}
		if e.Kind == TrialBegins && e.Index == 1 {
			_, refused = Execute(context.Background(), second)
		}
	}
	if _, err := Execute(context.Background(), cfg); err != nil {
		t.Fatal(err)
	}
	if refused == nil || !strings.Contains(refused.Error(), "another bakeoff is at work on this host") || named == "" || !strings.Contains(refused.Error(), named) {
		t.Errorf("the second run got %v", refused)
	}
	if _, err := os.Stat(second.Dir); !os.IsNotExist(err) {
		t.Error("the refused run left a directory")
	}
	second.Progress = nil
	if _, err := Execute(context.Background(), second); err != nil {
		t.Errorf("after the first run had ended: %v", err)
	}
}

func TestConfigurationIsComplete(t *testing.T) {
	cfg := newConfig(t, parse(t, fakePlan), newFake())
	for name, change := range map[string]func(*Config){
		"Plan":    func(c *Config) { c.Plan = nil },
		"LockDir": func(c *Config) { c.LockDir = "" },
		"nobody acts on it": func(c *Config) {
			c.Agents = nil
		},
	} {
		broken := cfg
		change(&broken)
		if _, err := Execute(context.Background(), broken); err == nil || !strings.Contains(err.Error(), name) {
			t.Errorf("without %s: %v", name, err)
		}
	}
}
