package main

import (
	"bufio"
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"bakeoff/lab"
	"bakeoff/plan"
)

// TestA3FitsItsLab checks that the plan's hosts and endpoints are the lab's.
func TestA3FitsItsLab(t *testing.T) {
	l, err := readLab("../../examples/a3-ipv6/lab.yaml")
	if err != nil {
		t.Fatal(err)
	}
	src, err := os.ReadFile("../../examples/a3-ipv6/plan.yaml")
	if err != nil {
		t.Fatal(err)
	}
	p, err := plan.Parse("plan.yaml", src, catalog{})
	if err != nil {
		t.Fatal(err)
	}
	if err := usesLab(p, l); err != nil {
		t.Error(err)
	}
	for _, h := range p.Hosts {
		if h.Namespace != "" && l.Namespace(h.Name) != h.Namespace {
			t.Errorf("host %s is %s; the lab's is %s", h.Name, h.Namespace, l.Namespace(h.Name))
		}
	}
	for _, cell := range p.Cells() {
		r, err := p.Resolve(cell)
		if err != nil {
			t.Fatal(err)
		}
		if endpoint := r.Services[0].Endpoint; !reaches(l, endpoint) {
			t.Errorf("cell %s: no host of the lab has the address in %s", cell.Key(), endpoint)
		}
	}
}

func reaches(l *lab.Lab, endpoint string) bool {
	for _, path := range l.Paths() {
		if path.From == "client" && strings.Contains(endpoint, path.Address.String()) && path.Broken == "" {
			return true
		}
	}
	return false
}

// TestLabRunIsKilled kills bakeoff lab run in mid-trial with SIGKILL; the next
// one removes what is left, and goes on with the run.
func TestLabRunIsKilled(t *testing.T) {
	if testing.Short() {
		t.Skip("builds network namespaces")
	}
	if os.Geteuid() != 0 {
		t.Fatal("this test builds network namespaces, which needs root; go test -short leaves it out")
	}
	dir := t.TempDir()
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	bakeoff := filepath.Join(dir, "bakeoff") // by which name the test binary is bakeoff
	data, err := os.ReadFile(exe)
	if err == nil {
		err = os.WriteFile(bakeoff, data, 0o755)
	}
	if err != nil {
		t.Fatal(err)
	}
	name := fmt.Sprintf("k%d", os.Getpid())
	write := func(file, text string) {
		if err := os.WriteFile(filepath.Join(dir, file), []byte(strings.ReplaceAll(text, "NAME", name)), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	write("lab.yaml", `lab: NAME
hosts: {a: , b: }
links:
  - ends:
      a: {interface: eth0, addresses: [10.0.0.1/24]}
      b: {interface: eth0, addresses: [10.0.0.2/24]}
`)
	write("plan.yaml", `title: a lab that is killed
hosts:
  client: {agent: local, namespace: bakeoff-NAME-a}
  storage: {agent: local, namespace: bakeoff-NAME-b}
services:
  kv: {host: storage, embedded: kv, endpoint: "redis://10.0.0.2:6379"}
workloads:
  get: {engine: kv, source: client, service: kv, warmup: 50ms, window: 300ms}
settings:
  client: {sysctl: {net.ipv4.tcp_sack: 0}}
telemetry: {interval: 100ms, collectors: [cpu]}
repeat: {blocks: 3}
limits: {neighbours: 100%}
retries: 0
`)
	command := func(args ...string) *exec.Cmd {
		cmd := exec.Command(bakeoff, args...)
		cmd.Dir = dir
		cmd.Env = append(os.Environ(), "BAKEOFF_LAB_DIR="+filepath.Join(dir, "labs"), "BAKEOFF_LOCK_DIR="+filepath.Join(dir, "lock"))
		return cmd
	}
	killAfterFirstTrial(t, command("lab", "run", "lab.yaml", "plan.yaml"))
	if _, err := os.Stat("/run/netns/bakeoff-" + name + "-a"); err != nil {
		t.Errorf("there is nothing to remove: %v", err)
	}
	runs, err := filepath.Glob(filepath.Join(dir, "runs", "2*"))
	if err != nil || len(runs) != 1 {
		t.Fatalf("run directories %v, %v", runs, err)
	}
	out, err := command("lab", "run", "lab.yaml", runs[0]).CombinedOutput()
	if err != nil && err.Error() != "exit status 3" { // findings of so short windows may be invalid
		t.Fatalf("resumed: %v\n%s", err, out)
	}
	for _, want := range []string{"removed what a lab that was killed had left: bakeoff-" + name + "-a", "Report: "} {
		if !strings.Contains(string(out), want) {
			t.Errorf("nothing says %q:\n%s", want, out)
		}
	}
	left, err := filepath.Glob("/run/netns/bakeoff-" + name + "-*")
	if err != nil || len(left) > 0 {
		t.Errorf("left behind: %v, %v", left, err)
	}
	if _, err := os.Stat(filepath.Join(dir, "labs")); err == nil {
		t.Error("the folder of states is left behind")
	}
}

// killAfterFirstTrial kills a run once its first trial is told of.
func killAfterFirstTrial(t *testing.T, cmd *exec.Cmd) {
	t.Helper()
	stderr, err := cmd.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	var stdout bytes.Buffer
	cmd.Stdout = &stdout
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	var told strings.Builder
	killed := false
	for lines := bufio.NewScanner(stderr); lines.Scan(); {
		told.WriteString(lines.Text() + "\n")
		if strings.HasPrefix(lines.Text(), "0001 ") {
			killed = true
			if err := cmd.Process.Kill(); err != nil {
				t.Fatal(err)
			}
		}
	}
	if err := cmd.Wait(); err == nil || !killed {
		t.Fatalf("it was not killed: %v\n%s%s", err, &told, &stdout)
	}
}
