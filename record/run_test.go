package record

import (
	"bytes"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func clock() func() time.Time {
	at := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	return func() time.Time {
		at = at.Add(time.Second)
		return at
	}
}

const testPlan = "title: test\n"

// newRun makes a run directory with two trials and everything that a trial
// can have, and leaves it open.
func newRun(t *testing.T) *Writer {
	t.Helper()
	w, err := Create(filepath.Join(t.TempDir(), "runs"), Manifest{Title: "test", Host: "lab-7", Seed: 1<<63 + 7, Command: []string{"bakeoff", "run", "plan.yaml"}}, []byte(testPlan), clock())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { w.Close() })
	for _, id := range []TrialID{"0001", "0002"} {
		must(t, w.Append("trial-begin", map[string]string{"trial": string(id)}))
		must(t, w.WriteTrial(fullTrial(t, w, id)))
		must(t, w.Append("trial-end", map[string]string{"trial": string(id)}))
	}
	return w
}

func fullTrial(t *testing.T, w *Writer, id TrialID) Trial {
	t.Helper()
	must(t, w.WriteLog(id, "w.source.0.all.service.hlog", []byte("#[log]\n")))
	readings, err := w.WriteReadings(id, "sut one", testReadings())
	must(t, err)
	before, err := w.WriteFacts(id, "before", "sut one", Facts{Host: "sut one", Machine: Machine{Vendor: "Acme", Serial: "SN12345"}})
	must(t, err)
	return Trial{
		ID: id, Role: RoleMeasure, Block: 1, Attempt: 1, Cell: Cell{{"server", "redis"}}, Seed: 1<<64 - 1, Status: StatusComplete,
		Loads: []Load{{Workload: "w", Latencies: []Latency{
			{Kind: "all", Type: "service", File: "w.source.0.all.service.hlog"}}}},
		FactsBefore: map[string]string{"sut one": before},
		Readings:    map[string]string{"sut one": readings},
		Costs:       map[string][]CollectorCost{"sut one": {{Collector: "cpu", Support: "supported", Samples: 2}}},
	}
}

func testReadings() []Reading {
	return []Reading{
		{Host: "sut one", Collector: "cpu", Metric: "cpu.user", Unit: "s", Kind: Counter64, Start: 1, End: 2, Value: 3},
		{Host: "sut one", Collector: "cpu", Metric: "cpu.user", Unit: "s", Kind: Counter64, Start: 11, End: 12, Value: 4},
	}
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func TestWriteAndOpen(t *testing.T) {
	w := newRun(t)
	root, err := w.Seal()
	must(t, err)
	must(t, w.Close())
	run, err := Open(w.Dir())
	must(t, err)
	if !run.Complete || run.RootHash != root || len(run.Trials) != 2 || string(run.Plan) != testPlan {
		t.Fatalf("opened %+v", run)
	}
	if run.Manifest.Seed != 1<<63+7 || run.Trials[0].Seed != 1<<64-1 {
		t.Errorf("seeds changed: %d, %d", run.Manifest.Seed, run.Trials[0].Seed)
	}
	got, err := run.Readings("0001", "sut one")
	must(t, err)
	if d := cmp.Diff(testReadings(), got); d != "" {
		t.Error(d)
	}
	none, err := run.Readings("0001", "elsewhere")
	if err != nil || none != nil {
		t.Errorf("readings of a host without any: %v, %v", none, err)
	}
	log, err := run.Log("0002", "w.source.0.all.service.hlog")
	must(t, err)
	defer log.Close()
	if text, err := io.ReadAll(log); err != nil || string(text) != "#[log]\n" {
		t.Errorf("log: %q, %v", text, err)
	}
	facts, err := run.Facts(run.Trials[0].FactsBefore["sut one"])
	if err != nil || facts.Machine.Serial != "SN12345" {
		t.Errorf("facts: %+v, %v", facts, err)
	}
	events, err := run.Events()
	if err != nil || len(events) != 4 || events[3].Kind != "trial-end" || events[3].Seq != 4 {
		t.Errorf("events: %+v, %v", events, err)
	}
}

func TestRunDirectoryName(t *testing.T) {
	w := newRun(t)
	name := filepath.Base(w.Dir())
	if !strings.HasPrefix(name, "20260301T120001Z-") || len(name) != len("20260301T120001Z-")+26 {
		t.Errorf("run directory is named %s", name)
	}
	left, err := filepath.Glob(filepath.Join(filepath.Dir(w.Dir()), tempPrefix+"*"))
	if err != nil || len(left) > 0 {
		t.Errorf("left behind: %v, %v", left, err)
	}
}

// TestRootHashWithSha256sum recomputes the root hash with the command that
// docs/record.md gives.
func TestRootHashWithSha256sum(t *testing.T) {
	w := newRun(t)
	must(t, os.Mkdir(filepath.Join(w.Dir(), ReportDir), 0o755))
	must(t, os.WriteFile(filepath.Join(w.Dir(), ReportDir, "report.html"), []byte("derived"), 0o644))
	root, err := w.Seal()
	must(t, err)
	doc, err := os.ReadFile("../docs/record.md")
	must(t, err)
	_, after, ok := strings.Cut(string(doc), "```sh root-hash\n")
	script, _, _ := strings.Cut(after, "```")
	if !ok {
		t.Fatal("docs/record.md has no command for the root hash")
	}
	cmd := exec.Command("sh", "-c", script)
	cmd.Dir = w.Dir()
	out, err := cmd.CombinedOutput()
	if got := strings.Fields(string(out)); err != nil || len(got) == 0 || "sha256:"+got[0] != root {
		t.Errorf("the command gives %s (%v), want %s", out, err, root)
	}
}

func TestReopen(t *testing.T) {
	w := newRun(t)
	if _, _, err := Reopen(w.Dir(), clock()); !errors.Is(err, ErrInUse) {
		t.Errorf("a second writer got %v, want ErrInUse", err)
	}
	dir, err := w.WorkDir()
	must(t, err)
	work := filepath.Join(dir, "dump.rdb")
	must(t, os.WriteFile(work, []byte("data"), 0o644))
	must(t, w.Close())
	must(t, os.WriteFile(filepath.Join(w.Dir(), TrialsDir, "0001", tempPrefix+"1"), []byte("half"), 0o644))
	again, events, err := Reopen(w.Dir(), clock())
	must(t, err)
	defer again.Close()
	if len(events) != 4 {
		t.Errorf("%d events, want 4", len(events))
	}
	must(t, again.Append("resume", nil))
	if _, err := os.Stat(work); err != nil {
		t.Errorf("the work directory did not outlive the crash: %v", err)
	}
	if _, err := again.Seal(); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(filepath.Dir(work)); !os.IsNotExist(err) {
		t.Errorf("the work directory is still in the sealed record: %v", err)
	}
	if report, err := Verify(w.Dir()); err != nil || !report.OK() {
		t.Errorf("verify: %+v, %v", report, err)
	}
	if err := again.Append("more", nil); err == nil || !strings.Contains(err.Error(), "sealed") {
		t.Errorf("appending to a sealed record: %v", err)
	}
	must(t, again.Close())
	if _, _, err := Reopen(w.Dir(), clock()); err == nil || !strings.Contains(err.Error(), "begin a new run") {
		t.Errorf("reopening a sealed record: %v", err)
	}
}

func TestDiscardFiles(t *testing.T) {
	w := newRun(t)
	must(t, w.WriteLog("0003", "a.hlog", []byte("x")))
	must(t, w.DiscardFiles("0003"))
	if _, err := os.Stat(filepath.Join(w.Dir(), TrialsDir, "0003")); !os.IsNotExist(err) {
		t.Errorf("the unfinished trial is still there: %v", err)
	}
	must(t, w.DiscardFiles("0004"))
	if err := w.DiscardFiles("0001"); err == nil {
		t.Error("a finished trial was discarded")
	}
}

func TestOpenRefuses(t *testing.T) {
	tests := map[string]struct {
		change func(t *testing.T, dir string)
		want   string
	}{
		"newer major": {replace(ManifestFile, "bakeoff-record 1.0", "bakeoff-record 2.0"), `format is "bakeoff-record 2.0", and this build reads bakeoff-record up to 1.x`},
		"no format":   {replace(ManifestFile, "bakeoff-record 1.0", "x"), "this is not a bakeoff run record"},
		"no manifest": {remove(ManifestFile), "expected a directory that bakeoff run made"},
		"plan edited": {replace(PlanFile, "test", "best"), "plan.yaml was changed"},
		"trial json":  {replace(TrialsDir+"/0002/"+TrialFile, "{", "["), "trials/0002/trial.json"},
		"trial moved": {replace(TrialsDir+"/0002/"+TrialFile, `"0002"`, `"0001"`), `it says it is trial "0001"`},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			w := newRun(t)
			tt.change(t, w.Dir())
			_, err := Open(w.Dir())
			if err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("got %v, want %q", err, tt.want)
			}
		})
	}
}

func TestOpenIgnoresFieldsOfNewerMinorVersions(t *testing.T) {
	w := newRun(t)
	replace(ManifestFile, `"bakeoff-record 1.0"`, `"bakeoff-record 1.9", "new": {"a": 1}`)(t, w.Dir())
	replace(TrialsDir+"/0001/"+TrialFile, "{", `{"new": [1],`)(t, w.Dir())
	if _, err := Open(w.Dir()); err != nil {
		t.Error(err)
	}
}

// TestOpenStaysInside shows that a record from elsewhere cannot make bakeoff
// read other files.
func TestOpenStaysInside(t *testing.T) {
	w := newRun(t)
	secret := filepath.Join(filepath.Dir(w.Dir()), "secret")
	must(t, os.WriteFile(secret, []byte("{}"), 0o644))
	must(t, os.Symlink(secret, filepath.Join(w.Dir(), "link.json")))
	run, err := Open(w.Dir())
	if err == nil {
		_, err = run.Facts("link.json")
	}
	if err == nil {
		t.Error("a link out of the record was followed")
	}
	must(t, os.Remove(filepath.Join(w.Dir(), "link.json")))
	run, err = Open(w.Dir())
	must(t, err)
	for _, name := range []string{"../secret", "/etc/passwd", "trials/../../secret"} {
		if _, err := run.Facts(name); err == nil {
			t.Errorf("%s was read", name)
		}
	}
	if _, err := run.Log("0001", "../../../secret"); err == nil {
		t.Error("a log outside the record was opened")
	}
}

func replace(file, old, new string) func(*testing.T, string) {
	return func(t *testing.T, dir string) {
		t.Helper()
		name := filepath.Join(dir, file)
		src, err := os.ReadFile(name)
		must(t, err)
		if !bytes.Contains(src, []byte(old)) {
			t.Fatalf("%s does not contain %q", file, old)
		}
		must(t, os.WriteFile(name, bytes.Replace(src, []byte(old), []byte(new), 1), 0o644))
	}
}

func remove(file string) func(*testing.T, string) {
	return func(t *testing.T, dir string) {
		t.Helper()
		must(t, os.Remove(filepath.Join(dir, file)))
	}
}

func TestFileNames(t *testing.T) {
	for in, want := range map[string]string{"sut one": "sut%20one", "a/b": "a%2Fb", "..": "%2E.", "näh": "n%C3%A4h", "x.y_z-1": "x.y_z-1"} {
		if got := fileName(in); got != want {
			t.Errorf("fileName(%q) = %q, want %q", in, got, want)
		}
	}
}
