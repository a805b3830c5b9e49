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
		"00:1b:21:aa:bb:cc", "4c4c4544-0042-3510-8056-b4c04f4d3532", "Jane Doe", "swordfish", "opensesame", "newuser"}
}

func secretRun(t *testing.T, seal bool) string {
	t.Helper()
	m := Manifest{Title: "rack at ops@acme-corp.net", Host: "lab-7", PlanName: "a1.yaml", Command: []string{"/tmp/newuser/bin/bakeoff", "run", "/home/alice/a1.yaml"}}
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
	trial.Services = []Service{{Name: "redis", Host: host, Command: []string{"/tmp/newuser/bin/redis-cli", "-a", "swordfish"}, Facts: map[string]string{"pidfile": "/tmp/newuser/run/redis.pid"}, Endpoint: "redis://dbsrv1:6379", PIDs: []int{7}}}
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
	for _, inside := range []string{filepath.Join(dir, "copy"), filepath.Join(dir, TrialsDir, "copy")} {
		if _, err := Redact(dir, inside, "test", time.Now()); err == nil || !strings.Contains(err.Error(), "is inside the record") {
			t.Errorf("a copy inside the record: %v", err)
		}
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
		"web":                            "host-1",
		"website web-1 web.":             "website host-1-1 host-1.",
		"00:1b:21:aa:bb:cc":              "02:00:00:00:00:01",
		"at 12:30:45 on 0.0.0.0":         "at 12:30:45 on 0.0.0.0",
		"std::string ::1 ab::":           "std::string ::1 2001:db8::0:1",
		"version 300.1.2.3":              "version 300.1.2.3",
		"10.9.8.7 and 10.9.8.7":          "192.0.2.1 and 192.0.2.1",
		"--password=abc -p 6379":         "--password=secret-1 -p 6379",
		"password: 'abc'":                "password: 'secret-1'",
		"password_file: /run/pw":         "password_file: /run/pw",
		"/home/eve/x /Users/eve,":        "/home/user-1/x /Users/user-1,",
		"/tmp/newuser/bin/bakeoff":       "/directory-1/bakeoff",
		"--conf=/tmp/newuser/bin/a.conf": "--conf=/directory-1/a.conf",
		"-I/tmp/newuser/bin/a.h":         "-I/directory-1/a.h",
		"/tmp/newuser/bin/{port}/x":      "/directory-1/{port}/x",
		"unix:///tmp/newuser/bin/s":      "unix:///directory-1/s",
		"/tmp/a /usr/lib/x /sys/a/b/c":   "/tmp/a /usr/lib/x /sys/a/b/c",
		"trials/0001/x ../a/b/c 1/2/3":   "trials/0001/x ../a/b/c 1/2/3",
		"redis://127.0.0.1/a/b/c":        "redis://127.0.0.1/a/b/c",
	} {
		if got := r.text(in); got != want {
			t.Errorf("text(%q) = %q, want %q", in, got, want)
		}
	}
}

// TestDirectoriesAreRenamedAlike redacts paths that were found beforehand: a
// directory has one stand-in, alone and before a file, and stays renamed.
func TestDirectoriesAreRenamedAlike(t *testing.T) {
	r := newRenamer()
	r.command([]string{"/tmp/newuser/bin/redis-server", "--dir", "/srv/acme/data/r1"})
	r.find("/home/alice/acme/bin/bakeoff")
	r.prepare()
	for in, want := range map[string]string{
		"/tmp/newuser/bin/redis-server": "/directory-1/redis-server",
		"dir: /tmp/newuser/bin":         "dir: /directory-1",
		"/tmp/newuser":                  "/directory-2",
		"/srv/acme/data/r2":             "/directory-3/r2",
		"/home/alice/acme/bin/bakeoff":  "/home/user-1/directory-5/bakeoff",
		"/home/alice":                   "/home/user-1",
	} {
		got := r.text(in)
		if got != want || r.text(got) != got {
			t.Errorf("text(%q) = %q, and again %q; want %q", in, got, r.text(got), want)
		}
	}
}

// TestKernelArguments keeps what names nothing, and nothing else.
func TestKernelArguments(t *testing.T) {
	keep := "reboot=k nvproxy.enable=1 virtio_mmio.device=4K@0xd0000000:5 8250.nr_uarts=0 foo.mode=on bar=1,2-3"
	if got := (redactor{}).commandLine(keep); got != keep {
		t.Errorf("%q became %q", keep, got)
	}
	for _, secret := range []string{"root=/dev/sda1", "root=LABEL=alice", "ip=10.1.2.3", "systemd.hostname=a", "x=10.1.2.3", "x=fd00:1234::7", "x=00:1b:21:aa:bb:cc",
		"serial=1", "asset=12", "machine_id=12", "x=4c4c4544-0042-3510-8056-b4c04f4d3532", "x=12345678", "x=lab7", "x=alice", "x=/home/alice"} {
		name, _, _ := strings.Cut(secret, "=")
		if got := (redactor{}).commandLine(secret); got != name+"="+Redacted {
			t.Errorf("%q became %q", secret, got)
		}
	}
}
