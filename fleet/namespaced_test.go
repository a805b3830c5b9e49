package fleet

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/vishvananda/netlink"
	"go.uber.org/goleak"

	"bakeoff/engine"
	"bakeoff/host"
	"bakeoff/internal/osenv"
	"bakeoff/lab"
	"bakeoff/plan"
	"bakeoff/record"
	"bakeoff/run"
)

func TestRunInTwoNamespaces(t *testing.T) {
	defer goleak.VerifyNone(t)
	h := newTwoHosts(t)
	s, err := h.execute("", nil)
	if err != nil || s.Outcome != run.Done {
		t.Fatalf("%+v, %v", s, err)
	}
	h.untouched()
	r := open(t, s.Dir)
	if len(r.Trials) != 4 {
		t.Fatalf("%d trials", len(r.Trials))
	}
	for _, tr := range r.Trials {
		h.checkTrial(r, tr)
	}
}

func (h *twoHosts) checkTrial(r *record.Run, tr record.Trial) {
	t := h.t
	t.Helper()
	if tr.Status != record.StatusComplete && tr.Status != record.StatusInvalid {
		t.Fatalf("trial %s: %s, %s", tr.ID, tr.Status, tr.Reason)
	}
	if len(tr.Loads) != 1 || tr.Loads[0].Ledger.Completed == 0 || tr.Loads[0].Host != "client" {
		t.Errorf("loads %+v", tr.Loads)
	}
	for _, s := range tr.Settings {
		if s.ReadBack == nil || *s.ReadBack != s.Wanted || s.AtEnd == nil || *s.AtEnd != s.Wanted || s.Restored == nil || *s.Restored != *s.Before {
			t.Errorf("setting %+v", s)
		}
	}
	for host, want := range map[string]string{"client": "vnic.rx.bytes eth0", "storage": "process.cpu.user redis"} {
		readings, err := r.Readings(tr.ID, host)
		if err != nil {
			t.Fatal(err)
		}
		var found, first, last int64
		for _, row := range readings {
			if row.Metric+" "+row.Instance == want {
				if found == 0 {
					first = row.Start
				}
				found, last = found+1, row.End
			}
			if row.Metric == "nic.rx.bytes" {
				t.Errorf("%s sees the machine's own interface %s", host, row.Instance)
			}
		}
		if window := tr.Loads[0].Window; found < 3 || first > window.Start.UnixNano() || last < window.End.UnixNano() {
			t.Errorf("%s: %d readings of %s from %d to %d for the window %v", host, found, want, first, last, window)
		}
		facts, err := r.Facts(tr.FactsBefore[host])
		if err != nil {
			t.Fatal(err)
		}
		eth0 := slices.IndexFunc(facts.NICs, func(n record.NIC) bool { return n.Name == "eth0" })
		if slices.ContainsFunc(facts.NICs, func(n record.NIC) bool { return n.Kind == "device" }) || eth0 < 0 || len(facts.NICs[eth0].Offloads) == 0 {
			t.Errorf("facts of %s list other interfaces than its own: %+v", host, facts.NICs)
		}
	}
}

// TestKilledInEveryPhase kills the run with SIGKILL in each phase of its first
// trial: settings in both namespaces, the server and the agents are gone or put
// right when it is resumed.
func TestKilledInEveryPhase(t *testing.T) {
	h := newTwoHosts(t)
	h.plan = strings.NewReplacer("blocks: 2", "blocks: 1", "window: 300ms", "window: 100ms").Replace(h.plan)
	for _, at := range []killing{
		{Kind: run.PhaseEnds, Phase: run.PhaseApply}, {Kind: run.PhaseEnds, Phase: run.PhaseStart},
		{Kind: run.PhaseEnds, Phase: run.PhasePrepare}, {Kind: run.PhaseBegins, Phase: run.PhaseMeasure},
		{Kind: run.PhaseBegins, Phase: run.PhaseStop}, {Kind: run.PhaseBegins, Phase: run.PhaseRestore},
	} {
		t.Run(at.Phase+"/"+string(at.Kind), func(t *testing.T) {
			h.dir, at.Trial = t.TempDir(), "0001"
			h.killed(at)
			dirs, err := filepath.Glob(filepath.Join(h.dir, "2*"))
			if err != nil || len(dirs) != 1 {
				t.Fatalf("run directories %v, %v", dirs, err)
			}
			s, err := h.execute(dirs[0], nil)
			if err != nil || s.Outcome != run.Done {
				t.Fatalf("resumed: %+v, %v", s, err)
			}
			h.untouched()
		})
	}
}

// killed runs the plan in a process that kills itself.
func (h *twoHosts) killed(told killing) {
	h.t.Helper()
	told.Plan, told.Dir, told.LockDir = h.plan, h.dir, h.lock
	text, err := json.Marshal(told)
	if err != nil {
		h.t.Fatal(err)
	}
	cmd := exec.Command(surroundings().Executable)
	cmd.Env = append(os.Environ(), childVariable+"="+string(text))
	out, err := cmd.CombinedOutput()
	if status, ok := cmd.ProcessState.Sys().(syscall.WaitStatus); !ok || status.Signal() != syscall.SIGKILL {
		h.t.Fatalf("the process was not killed: %v\n%s", err, out)
	}
}

// at calls act once, in the midst of the second trial's window.
func at(trial record.TrialID, act func()) func(run.Event) {
	acted := false
	return func(e run.Event) {
		if !acted && e.Kind == run.PhaseBegins && e.Phase == run.PhaseMeasure && e.Trial.ID == trial {
			acted = true
			act()
		}
	}
}

// TestAgentKilled kills the agent of each host in mid-run: the trial fails with
// the reason, settings are put back by a new agent, and the run goes on.
func TestAgentKilled(t *testing.T) {
	for _, name := range []string{"client", "storage"} {
		t.Run(name, func(t *testing.T) {
			defer goleak.VerifyNone(t)
			h := newTwoHosts(t)
			h.plan = strings.NewReplacer("retries: 0", "retries: 5", "blocks: 2", "blocks: 1").Replace(h.plan)
			s, err := h.execute("", at("0002", func() {
				for _, pid := range insideNamespace(t, h.lab.Namespace(name)) {
					if comm, _ := os.ReadFile(fmt.Sprintf("/proc/%d/comm", pid)); strings.HasPrefix(string(comm), "fleet.test") {
						_ = syscall.Kill(pid, syscall.SIGKILL)
					}
				}
			}))
			if err != nil || s.Outcome != run.Done {
				t.Fatalf("%+v, %v", s, err)
			}
			h.untouched()
			tr := open(t, s.Dir).Trials[1]
			if tr.Status != record.StatusFailed || !strings.Contains(tr.Reason, "the agent is lost") {
				t.Errorf("the second trial: %s, %s", tr.Status, tr.Reason)
			}
		})
	}
}

// TestLinkDown takes the link down in mid-run.
func TestLinkDown(t *testing.T) {
	defer goleak.VerifyNone(t)
	h := newTwoHosts(t)
	h.plan = strings.NewReplacer("retries: 0", "retries: 5", "blocks: 2", "blocks: 1", "window: 300ms", "window: 1500ms").Replace(h.plan)
	set := func(up bool) {
		err := host.InNamespace(h.storage, func() error {
			l, err := netlink.LinkByName("eth0")
			if err != nil {
				return err
			}
			if up {
				return netlink.LinkSetUp(l)
			}
			return netlink.LinkSetDown(l)
		})
		if err != nil {
			t.Error(err)
		}
	}
	down := at("0002", func() { set(false) })
	s, err := h.execute("", func(e run.Event) {
		down(e)
		if e.Kind == run.TrialEnds && e.Trial.ID == "0002" {
			set(true)
		}
	})
	if err != nil || s.Outcome != run.Done {
		t.Fatalf("%+v, %v", s, err)
	}
	h.untouched()
	if tr := open(t, s.Dir).Trials[1]; tr.Status == record.StatusComplete {
		t.Errorf("a trial with its link down counts: %s, %+v", tr.Status, tr.Loads)
	}
}

func TestNamespaceIsMissing(t *testing.T) {
	defer goleak.VerifyNone(t)
	h := newTwoHosts(t)
	h.plan = strings.Replace(h.plan, h.client, "bakeoff-no-such-lab-client", 1)
	_, err := h.execute("", nil)
	var problems *run.ProblemsError
	if !errors.As(err, &problems) || !strings.Contains(err.Error(), `host client: there is no network namespace "bakeoff-no-such-lab-client"`) {
		t.Errorf("got %v", err)
	}
}

// TestUndoWithoutItsNamespaces undoes a killed run whose lab is gone: settings
// went with it, those of the machine are put back all the same.
func TestUndoWithoutItsNamespaces(t *testing.T) {
	defer goleak.VerifyNone(t)
	h := newTwoHosts(t)
	h.killed(killing{Kind: run.PhaseEnds, Phase: run.PhaseApply, Trial: "0002"})
	dirs, err := filepath.Glob(filepath.Join(h.dir, "2*"))
	if err != nil || len(dirs) != 1 {
		t.Fatalf("run directories %v, %v", dirs, err)
	}
	if err := h.built.Remove(); err != nil {
		t.Fatal(err)
	}
	p, err := plan.Parse("crash.yaml", []byte(h.plan), nil)
	if err != nil {
		t.Fatal(err)
	}
	f := Assemble(surroundings(), p.Hosts, engine.Lookup)
	defer f.Close()
	cfg := config(p, f, h.dir, h.lock)
	cfg.Resume = dirs[0]
	undone, err := run.Undo(context.Background(), cfg)
	if err != nil || len(undone) < 2 {
		t.Errorf("undone %q, %v", undone, err)
	}
	h.built, err = (&lab.Keeper{StateDir: filepath.Join(h.lock, "labs"), Clock: osenv.System{}}).Build(h.lab)
	if err != nil {
		t.Fatal(err)
	}
}

// TestAgentStartsNothingOfItsOwnAccord makes a fleet and closes it.
func TestAgentStartsNothingOfItsOwnAccord(t *testing.T) {
	defer goleak.VerifyNone(t)
	f := Assemble(surroundings(), []plan.Host{{Name: "a", Agent: plan.AgentLocal, Namespace: "x"}, {Name: "b", Agent: plan.AgentLocal, Namespace: "x"},
		{Name: "c", Agent: plan.AgentLocal}, {Name: "d", Agent: plan.AgentLocal}, {Name: "e", Agent: plan.AgentNone}}, engine.Lookup)
	agents := f.Agents()
	if len(agents) != 4 || agents["a"] != agents["b"] || agents["c"] != agents["d"] || agents["a"] == agents["c"] {
		t.Errorf("agents %v", agents)
	}
	if err := f.Close(); err != nil {
		t.Error(err)
	}
}

// TestInterfaceSettings applies, reads back and restores what virtual interfaces
// have, in a run; and one interface is renamed in the midst of it.
func TestInterfaceSettings(t *testing.T) {
	defer goleak.VerifyNone(t)
	h := newTwoHosts(t)
	h.plan = strings.NewReplacer(
		"client: {sysctl: {net.ipv4.tcp_sack: 0}}", `client:
    ethtool: {eth0: {tso: off, gso: off, gro: off, sg: off, tx: off}}
    qdisc: {eth0: pfifo}
    mtu: {eth0: 1400}
  storage:
    ethtool: {eth0: {tso: off}}
    rps: {eth0: 0-1}
    xps: {eth0: 0}`,
		"blocks: 2", "blocks: 1").Replace(h.plan)
	s, err := h.execute("", nil)
	if err != nil || s.Outcome != run.Done {
		t.Fatalf("%+v, %v", s, err)
	}
	before := map[string]string{
		"client ethtool": "tso=on gso=on gro=off sg=on tx=on", "client qdisc": "noqueue", "client mtu": "1500",
		"storage ethtool": "tso=on", "storage rps": "off", "storage xps": "off", "storage sysctl": "64",
	}
	for _, tr := range open(t, s.Dir).Trials {
		if len(tr.Settings) != len(before) {
			t.Errorf("%d settings in trial %s", len(tr.Settings), tr.ID)
		}
		for _, s := range tr.Settings {
			if s.AtEnd == nil || *s.AtEnd != s.Wanted || s.Restored == nil || *s.Restored != *s.Before || *s.Before != before[s.Host+" "+s.Kind] {
				t.Errorf("setting %+v was %q", s, *s.Before)
			}
		}
	}
	rename := func(from, to string) {
		err := host.InNamespace(h.client, func() error {
			l, err := netlink.LinkByName(from)
			if err == nil {
				err = netlink.LinkSetName(l, to)
			}
			return err
		})
		if err != nil {
			t.Error(err)
		}
	}
	h.dir = t.TempDir()
	s, err = h.execute("", at("0001", func() { rename("eth0", "eth9") }))
	if err == nil || !strings.Contains(err.Error(), "no interface eth0 here: found eth9, lo; was it renamed?") || !s.Resumable {
		t.Fatalf("the interface was renamed: %+v, %v", s, err)
	}
	rename("eth9", "eth0")
	if s, err = h.execute(s.Dir, nil); err != nil || s.Outcome != run.Done {
		t.Fatalf("resumed: %+v, %v", s, err)
	}
	err = host.InNamespace(h.client, func() error {
		for _, name := range []string{"tso", "gso", "sg", "tx"} {
			if got, err := host.ReadOffload("eth0", name); got != "on" || err != nil {
				t.Errorf("%s is %q after the run, %v", name, got, err)
			}
		}
		return nil
	})
	if err != nil {
		t.Error(err)
	}
}

// TestAgentAnswersInsideItsNamespace looks at what the process inside sees.
func TestAgentAnswersInsideItsNamespace(t *testing.T) {
	defer goleak.VerifyNone(t)
	h := newTwoHosts(t)
	n := NewNamespaced(surroundings(), h.client)
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	value := "1450"
	specs := []run.SettingSpec{{Kind: "file", Target: "/sys/class/net/eth0/mtu", Value: value}}
	before, err := n.ReadSettings(ctx, specs)
	if err != nil || len(before) != 1 || before[0] == nil || *before[0] != "1500" {
		t.Fatalf("MTU of eth0 inside: %v, %v", before, err)
	}
	if err := n.ApplySetting(ctx, specs[0]); err != nil {
		t.Fatal(err)
	}
	if outside, err := net.InterfaceByName("eth0"); err == nil && outside.MTU == 1450 {
		t.Error("the machine's own eth0 was set")
	}
	if pid := n.PID(); pid == 0 || !slices.Contains(insideNamespace(t, h.client), pid) {
		t.Errorf("the agent is process %d", pid)
	}
	if _, err := os.Stat(fmt.Sprintf("/proc/%d/root/sys/fs/cgroup/cgroup.controllers", n.PID())); err != nil {
		if _, outside := os.Stat("/sys/fs/cgroup/cgroup.controllers"); outside == nil {
			t.Errorf("what is mounted below /sys is not there inside: %v", err)
		}
	}
	if err := n.Close(); err != nil {
		t.Error(err)
	}
}
