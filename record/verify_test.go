package record

import (
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"golang.org/x/sys/unix"
)

func sealed(t *testing.T) string {
	t.Helper()
	w := newRun(t)
	_, err := w.Seal()
	must(t, err)
	must(t, w.Close())
	return w.Dir()
}

func TestVerifyWholeRecord(t *testing.T) {
	dir := sealed(t)
	r, err := Verify(dir)
	if err != nil || !r.OK() || !r.Complete || r.RootHash != r.Sealed || r.Events != 4 {
		t.Errorf("verify: %+v, %v", r, err)
	}
}

// TestVerifyFindsEveryChangedByte changes one byte of each file, and leaves
// each file out.
func TestVerifyFindsEveryChangedByte(t *testing.T) {
	dir := sealed(t)
	_, err := Exclude(dir, Exclusion{Trial: "0002", Reason: "r", By: "b", At: time.Now()})
	must(t, err)
	var files []string
	must(t, filepath.WalkDir(dir, func(name string, e fs.DirEntry, err error) error {
		if err == nil && !e.IsDir() {
			files = append(files, name)
		}
		return err
	}))
	for _, name := range files {
		src, err := os.ReadFile(name)
		must(t, err)
		places := []int{0, len(src) / 2, len(src) - 1}
		if strings.HasPrefix(filepath.Base(name), "complete") { // nothing but itself vouches for it
			places = nil
			for at := range min(len(src), 120) {
				places = append(places, at)
			}
		}
		for _, at := range places {
			changed := slices.Clone(src)
			changed[at] ^= 1
			must(t, os.WriteFile(name, changed, 0o644))
			if r, err := Verify(dir); err == nil && r.OK() {
				t.Errorf("byte %d of %s changed: nothing found", at, name)
			}
		}
		must(t, os.Remove(name))
		if r, err := Verify(dir); err == nil && r.OK() && r.Complete {
			t.Errorf("%s removed: nothing found", name)
		}
		must(t, os.WriteFile(name, src, 0o644))
	}
}

func TestVerifyNamesWhatIsWrong(t *testing.T) {
	dir := sealed(t)
	must(t, os.WriteFile(filepath.Join(dir, "new.txt"), nil, 0o644))
	must(t, os.Remove(filepath.Join(dir, "trials/0001/readings-sut%20one.parquet")))
	replace("trials/0002/w.source.0.all.service.hlog", "log", "LOG")(t, dir)
	r, err := Verify(dir)
	must(t, err)
	if !slices.Equal(r.Extra, []string{"new.txt"}) ||
		!slices.Equal(r.Missing, []string{"trials/0001/readings-sut%20one.parquet"}) ||
		!slices.Equal(r.Changed, []string{"trials/0002/w.source.0.all.service.hlog"}) || len(r.Faults) > 0 {
		t.Errorf("verify: %+v", r)
	}
}

func TestVerifyIncompleteRecord(t *testing.T) {
	w := newRun(t)
	r, err := Verify(w.Dir())
	if err != nil || !r.OK() || r.Complete || r.Sealed != "" {
		t.Errorf("verify: %+v, %v", r, err)
	}
	must(t, os.Remove(filepath.Join(w.Dir(), "trials/0001/readings-sut%20one.parquet")))
	r, err = Verify(w.Dir())
	if err != nil || r.OK() || !strings.Contains(strings.Join(r.Faults, "\n"), "trial 0001 names trials/0001/readings-sut%20one.parquet") {
		t.Errorf("a missing file was not found: %+v, %v", r, err)
	}
}

func TestExclude(t *testing.T) {
	x := Exclusion{Trial: "0002", Reason: "the fan failed", By: "operator", At: time.Date(2026, 3, 2, 0, 0, 0, 0, time.UTC)}
	t.Run("complete", func(t *testing.T) {
		dir := sealed(t)
		before, err := Open(dir)
		must(t, err)
		root, err := Exclude(dir, x)
		must(t, err)
		run, err := Open(dir)
		must(t, err)
		if root == before.RootHash || run.RootHash != root || !run.Complete {
			t.Errorf("root hash %s became %s, opened as %s", before.RootHash, root, run.RootHash)
		}
		if tr := run.Trials[1]; tr.Status != StatusExcluded || tr.Reason != x.Reason || run.Exclusions[0].Was != StatusComplete {
			t.Errorf("excluded trial: %+v, %+v", tr, run.Exclusions)
		}
		if r, err := Verify(dir); err != nil || !r.OK() || r.Sealed != root {
			t.Errorf("verify: %+v, %v", r, err)
		}
		if _, err := Exclude(dir, x); err == nil || !strings.Contains(err.Error(), "excluded already") {
			t.Errorf("excluded twice: %v", err)
		}
	})
	t.Run("incomplete", func(t *testing.T) {
		w := newRun(t)
		if _, err := Exclude(w.Dir(), x); err == nil {
			t.Error("excluded while the run writes")
		}
		must(t, w.Close())
		root, err := Exclude(w.Dir(), x)
		must(t, err)
		run, err := Open(w.Dir())
		if err != nil || run.RootHash != root || run.Trials[1].Status != StatusExcluded {
			t.Errorf("opened %+v, %v", run, err)
		}
	})
	for name, bad := range map[string]Exclusion{
		"no such trial": {Trial: "0009", Reason: "r", By: "b", At: x.At},
		"no reason":     {Trial: "0001", By: "b", At: x.At},
		"nobody":        {Trial: "0001", Reason: "r", At: x.At},
		"no time":       {Trial: "0001", Reason: "r", By: "b"},
	} {
		if _, err := Exclude(sealed(t), bad); err == nil {
			t.Errorf("%s: accepted", name)
		}
	}
}

func TestVerifyFindsAnEditBetweenSeals(t *testing.T) {
	dir := sealed(t)
	replace("trials/0001/"+TrialFile, `"redis"`, `"other"`)(t, dir)
	x := Exclusion{Trial: "0002", Reason: "r", By: "b", At: time.Now().UTC()}
	if _, err := Exclude(dir, x); err == nil || !strings.Contains(err.Error(), "is not what was sealed (trials/0001/trial.json)") {
		t.Errorf("an edited record was sealed again: %v", err)
	}
	if _, err := Redact(dir, filepath.Join(t.TempDir(), "copy"), "b", x.At); err == nil || !strings.Contains(err.Error(), "is not what was sealed (trials/0001/trial.json)") {
		t.Errorf("an edited record was redacted: %v", err)
	}
	must(t, os.Mkdir(filepath.Join(dir, ExclusionsDir), 0o755))
	must(t, writeAtomic(filepath.Join(dir, ExclusionsDir, "0001.json"), func(w io.Writer) error { return writeJSON(w, x) }))
	_, err := seal(dir, 2, formatNow(), x.At)
	must(t, err)
	r, err := Verify(dir)
	must(t, err)
	if r.OK() || !strings.Contains(strings.Join(r.Faults, "\n"), "trials/0001/trial.json has another hash in complete.json") {
		t.Errorf("verify: %+v", r)
	}
}

func TestVerifyOfWhatIsNoRecord(t *testing.T) {
	if _, err := Verify(t.TempDir()); err == nil || !strings.Contains(err.Error(), "expected a directory that bakeoff run made") {
		t.Errorf("an empty directory: %v", err)
	}
	for name, odd := range map[string]func(string) error{
		"pipe":   func(at string) error { return unix.Mkfifo(at, 0o644) },
		"link":   func(at string) error { return os.Symlink("/etc/passwd", at) },
		"folder": func(at string) error { return os.Mkdir(at, 0o755) },
	} {
		for _, file := range []string{ManifestFile, PlanFile, JournalFile, "trials/0001/" + TrialFile} {
			dir := sealed(t)
			must(t, os.Remove(filepath.Join(dir, file)))
			must(t, odd(filepath.Join(dir, file)))
			if r, err := Verify(dir); err != nil || r.OK() {
				t.Errorf("a %s for %s: %+v %v", name, file, r, err)
			}
			if _, err := Open(dir); err == nil && file != JournalFile {
				t.Errorf("a %s for %s was opened", name, file)
			}
			if _, err := Exclude(dir, Exclusion{Trial: "0002", Reason: "r", By: "b", At: time.Now()}); err == nil {
				t.Errorf("a %s for %s: a trial was excluded", name, file)
			}
		}
	}
}

// An exclusion that a crash or a full disk cut short is as if it had not been.
func TestExclusionCutShort(t *testing.T) {
	dir := sealed(t)
	x := Exclusion{Trial: "0002", Reason: "r", By: "b", At: time.Now()}
	must(t, os.Mkdir(filepath.Join(dir, ExclusionsDir), 0o755))
	must(t, os.WriteFile(filepath.Join(dir, ExclusionsDir, "0001.json"), []byte(`{"trial":"0001","reason":"r","by":"b","was":"complete"}`), 0o644))
	must(t, os.WriteFile(filepath.Join(dir, ExclusionsDir, tempPrefix+"x"), nil, 0o644))
	_, err := Exclude(dir, x)
	must(t, err)
	run, err := Open(dir)
	must(t, err)
	if r, err := Verify(dir); err != nil || !r.OK() || len(run.Exclusions) != 1 || run.Exclusions[0].Trial != "0002" {
		t.Errorf("%+v %v %+v", r, err, run.Exclusions)
	}
}

// What is written is as private as the umask asks.
func TestUmask(t *testing.T) {
	old := unix.Umask(0o077)
	defer unix.Umask(old)
	dir := sealed(t)
	must(t, filepath.WalkDir(dir, func(name string, e fs.DirEntry, err error) error {
		must(t, err)
		info, err := e.Info()
		must(t, err)
		if info.Mode().Perm()&0o077 != 0 {
			t.Errorf("%s is %v", name, info.Mode())
		}
		return nil
	}))
}

// FuzzRecord gives the reader arbitrary manifests, trials, exclusions and seals.
func FuzzRecord(f *testing.F) {
	f.Add([]byte(`{"format":"bakeoff-record 1.0"}`), []byte(`{"id":"0001"}`), []byte(`{"trial":"0001","reason":"r"}`), []byte(`{"files":[]}`), []byte("PAR1"))
	f.Add([]byte(`{"format":"bakeoff-record 9.0"}`), []byte(`[]`), []byte(`null`), []byte(``), []byte(``))
	f.Fuzz(func(t *testing.T, manifest, trial, exclusion, seal, readings []byte) {
		fsys := fstest.MapFS{
			ManifestFile: {Data: manifest}, PlanFile: {Data: nil}, JournalFile: {Data: seal},
			"trials/0001/trial.json": {Data: trial}, "exclusions/0001.json": {Data: exclusion},
			"complete.json": {Data: seal}, "trials/0001/readings-a.parquet": {Data: readings},
		}
		run, err := openFS(fsys)
		if err == nil && run.Manifest.Format == "" {
			t.Error("a manifest without a format was opened")
		}
		if r, err := verifyFS(fsys); err == nil && r.OK() && r.Sealed != r.RootHash {
			t.Errorf("verified with root hash %s against %s", r.RootHash, r.Sealed)
		}
	})
}
