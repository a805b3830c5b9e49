package record

import (
	"encoding/json"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

const secretPlan = `title: our rack at ops@acme-corp.net
hosts:
  sut: {agent: local}
services:
  redis: {host: sut, command: [redis-server, --requirepass, hunter2!, --dir, /home/alice/data], endpoint: "redis://bob:s3cret@dbsrv1.acme-corp.net:6379"}
  other: {endpoint: "redis://10.1.2.3:6379"}
  six: {endpoint: "redis://[fd00:1234::7]:6379"}
  local: {endpoint: "redis://127.0.0.1:6379"}
`

// leaks are in the record below, and must not be in its copy.
func leaks() []string {
	return []string{"acme-corp", "lab-7", "alice", "bob", "hunter2", "s3cret", "dbsrv1", "10.1.2.3", "fd00:1234", "SN12345",
		"00:1b:21:aa:bb:cc", "4c4c4544-0042-3510-8056-b4c04f4d3532", "Jane Doe", "swordfish", "opensesame"}
}

func secretRun(t *testing.T, seal bool) string {
	t.Helper()
	m := Manifest{Title: "rack at ops@acme-corp.net", Host: "lab-7", PlanName: "a1.yaml", Command: []string{"bakeoff", "run", "/home/alice/a1.yaml"}}
	w, err := Create(filepath.Join(t.TempDir(), "runs"), m, []byte(secretPlan), clock())
	must(t, err)
	must(t, w.Append("begin", map[string]any{"host": "lab-7", "boot": "4c4c4544-0042-3510-8056-b4c04f4d3532", "pid": 12345678901234567}))
	trial := fullTrial(t, w, "0001")
	host := "lab-7"
	facts := Facts{Host: host, Machine: Machine{Vendor: "Acme", Serial: "SN12345"}, OS: OS{Hostname: "lab-7"},
		NICs:   []NIC{{Name: "eth0", Address: "00:1b:21:aa:bb:cc", Firmware: "1.2.3.4"}},
		Disks:  []Disk{{Name: "nvme0n1", Serial: "X9"}, {Name: "nvme1n1", Serial: "X8"}},
		Kernel: Kernel{CommandLine: "root=UUID=4c4c4544-0042-3510-8056-b4c04f4d3532 mitigations=off ip=10.1.2.3"}}
	trial.FactsBefore[host], err = w.WriteFacts("0001", "before", host, facts)
	must(t, err)
	trial.Readings[host], err = w.WriteReadings("0001", host, []Reading{{Host: host, Metric: "cpu.user", Value: 1.5, Kind: Counter64}})
	must(t, err)
	must(t, w.WriteLog("0001", "x.hlog", []byte("#[Host lab-7]\nTag=lab-7,0.1,1.0,2.0,HISTFAAA/lab-7/swor\n")))
	must(t, w.WriteLog("0001", "service-redis.log", []byte("listening on 10.1.2.3, home /home/alice/data; token=opensesame\n")))
	must(t, w.WriteLog("0001", "core", []byte{0xff, 'a', 'l', 'i', 'c', 'e'}))
	trial.Services = []Service{{Name: "redis", Host: host, Command: []string{"redis-cli", "-a", "swordfish"}, Endpoint: "redis://dbsrv1:6379", PIDs: []int{7}}}
	trial.Reason = "lab-7 (dbsrv1.acme-corp.net) refused, as 10.1.2.3 did"
	must(t, w.WriteTrial(trial))
	must(t, w.Append("trial-end", map[string]any{"trial": "0001", "reason": trial.Reason, "hosts": []any{"lab-7"}}))
	if seal {
		_, err = w.Seal()
		must(t, err)
	}
	must(t, w.Close())
	_, err = Exclude(w.Dir(), Exclusion{Trial: "0001", Reason: "asked by Jane Doe", By: "Jane Doe", At: time.Date(2026, 3, 2, 0, 0, 0, 0, time.UTC)})
	must(t, err)
	return w.Dir()
}

func TestRedactRun(t *testing.T) {
	dir := secretRun(t, true)
	original, err := Open(dir)
	must(t, err)
	out := filepath.Join(t.TempDir(), "copy")
	m, err := Redact(dir, out, "test", time.Date(2026, 3, 3, 0, 0, 0, 0, time.UTC))
	must(t, err)
	if r, err := Verify(out); err != nil || !r.OK() || !r.Complete || r.RootHash == original.RootHash {
		t.Fatalf("verify: %+v, %v", r, err)
	}
	checkLeaks(t, out)
	run, err := Open(out)
	must(t, err)
	if d := cmp.Diff(m, run.Manifest); d != "" {
		t.Error(d)
	}
	if x := run.Manifest.Redacted; x.OriginalRootHash != original.RootHash || x.OriginalPlanHash != original.Manifest.PlanHash || x.Replaced["files left out"] != 1 {
		t.Errorf("redaction: %+v", x)
	}
	checkConsistent(t, run)
}

// checkLeaks looks for every leak in every file, names and telemetry included.
func checkLeaks(t *testing.T, dir string) {
	t.Helper()
	must(t, filepath.WalkDir(dir, func(name string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() {
			return err
		}
		src, err := os.ReadFile(name)
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(dir, name)
		for _, leak := range leaks() {
			if strings.Contains(rel, leak) || strings.Contains(string(src), leak) && !strings.Contains(string(src), "HISTFAAA/"+leak) {
				t.Errorf("%s holds %q:\n%s", rel, leak, src)
			}
		}
		return err
	}))
}

func checkConsistent(t *testing.T, run *Run) {
	t.Helper()
	host := run.Manifest.Host
	trial := run.Trials[0]
	if !strings.HasPrefix(host, "host-") || trial.Services[0].Host != host || !strings.HasPrefix(trial.Reason, "asked by user-") {
		t.Errorf("host %q, trial %+v", host, trial)
	}
	readings, err := run.Readings("0001", host)
	if err != nil || len(readings) != 1 || readings[0].Host != host || readings[0].Value != 1.5 {
		t.Errorf("readings of %q: %+v, %v", host, readings, err)
	}
	facts, err := run.Facts(trial.FactsBefore[host])
	must(t, err)
	if facts.OS.Hostname != host || facts.Host != host || facts.Machine.Vendor != "Acme" || facts.NICs[0].Firmware != "1.2.3.4" || !strings.Contains(facts.Kernel.CommandLine, "mitigations=off") {
		t.Errorf("facts: %+v", facts)
	}
	if a, b := facts.Disks[0].Serial, facts.Disks[1].Serial; a == b || a == "X9" || b == "X8" {
		t.Errorf("two disks have serial numbers %q and %q", a, b)
	}
	plan := string(run.Plan)
	for _, keep := range []string{"redis://127.0.0.1:6379", "requirepass", "redis://192.0.2.1:6379", "[2001:db8::0:1]", "sut: {agent: local}"} {
		if !strings.Contains(plan, keep) {
			t.Errorf("the plan has no %q:\n%s", keep, plan)
		}
	}
	events, err := run.Events()
	must(t, err)
	var begin struct {
		Host string
		Boot string
		PID  json.Number
	}
	must(t, json.Unmarshal(events[0].Data, &begin))
	if begin.Host != host || begin.PID != "12345678901234567" || !strings.Contains(begin.Boot, "-4000-8000-") {
		t.Errorf("first event: %+v", begin)
	}
}

func TestRedactIncompleteAndOccupied(t *testing.T) {
	dir := secretRun(t, false)
	out := filepath.Join(t.TempDir(), "copy")
	_, err := Redact(dir, out, "test", time.Now())
	must(t, err)
	if r, err := Verify(out); err != nil || !r.OK() || r.Complete {
		t.Errorf("verify: %+v, %v", r, err)
	}
	checkLeaks(t, out)
	if _, err := Redact(dir, out, "test", time.Now()); err == nil || !strings.Contains(err.Error(), "is there already") {
		t.Errorf("an existing directory was taken: %v", err)
	}
	left, err := filepath.Glob(filepath.Join(filepath.Dir(out), tempPrefix+"*"))
	if err != nil || len(left) > 0 {
		t.Errorf("left behind: %v, %v", left, err)
	}
}

func TestRenamerKeepsForm(t *testing.T) {
	r := newRenamer()
	r.host("web.acme.net")
	r.prepare()
	for in, want := range map[string]string{
		"web":                     "host-1",
		"website web-1 web.":      "website host-1-1 host-1.",
		"00:1b:21:aa:bb:cc":       "02:00:00:00:00:01",
		"at 12:30:45 on 0.0.0.0":  "at 12:30:45 on 0.0.0.0",
		"std::string ::1 ab::":    "std::string ::1 2001:db8::0:1",
		"version 300.1.2.3":       "version 300.1.2.3",
		"10.9.8.7 and 10.9.8.7":   "192.0.2.1 and 192.0.2.1",
		"--password=abc -p 6379":  "--password=secret-1 -p 6379",
		"password: 'abc'":         "password: 'secret-1'",
		"password_file: /run/pw":  "password_file: /run/pw",
		"/home/eve/x /Users/eve,": "/home/user-1/x /Users/user-1,",
	} {
		if got := r.text(in); got != want {
			t.Errorf("text(%q) = %q, want %q", in, got, want)
		}
	}
}
