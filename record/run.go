package record

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"slices"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// A Run is a run directory opened for reading. It may still be incomplete, as
// while it runs or after a crash.
type Run struct {
	Dir      string
	Manifest Manifest
	Plan     []byte  // the plan file, verbatim
	Trials   []Trial // in the order they were run; exclusions are applied
	// RootHash is the hash of the hashes of all files ("sha256:" and hex), as
	// sealed where the run is Complete, of the files as they are where not.
	RootHash string
	Complete bool // all that the plan asked for was done, and the record sealed
	// Exclusions are the operator's, in the order they were made.
	Exclusions []Exclusion

	fsys fs.FS
}

// An Exclusion is an operator's decision to leave a trial out, with the reason.
// It is a file of its own, never an edit, and is printed with the report.
type Exclusion struct {
	Trial  TrialID   `json:"trial"`
	Reason string    `json:"reason"`
	By     string    `json:"by"`
	At     time.Time `json:"at"`
	// Was is the trial's status when it was excluded.
	Was Status `json:"was"`
}

// dirFS opens files below dir, and nothing outside it: names in a record that
// came from elsewhere are not to be trusted.
type dirFS string

func (d dirFS) Open(name string) (fs.File, error) {
	if !fs.ValidPath(name) {
		return nil, &fs.PathError{Op: "open", Path: name, Err: fs.ErrInvalid}
	}
	root, err := os.OpenRoot(string(d))
	if err != nil {
		return nil, err
	}
	defer root.Close()
	// A pipe would be waited for.
	f, err := root.OpenFile(name, os.O_RDONLY|unix.O_NONBLOCK, 0)
	if err != nil {
		return nil, err
	}
	info, err := f.Stat()
	if err == nil && !info.Mode().IsRegular() && !info.IsDir() {
		err = &notPlainError{name}
	}
	if err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return f, nil
}

// A notPlainError says that something in a record is no file that a record has.
type notPlainError struct{ name string }

func (e *notPlainError) Error() string { return e.name + " is not a plain file" }

// Open reads a run directory: manifest, plan, trials, exclusions and seal. It
// does not read the bulk (histograms, telemetry, facts), nor recompute the
// hashes of a complete run; Verify does.
func Open(dir string) (*Run, error) {
	if _, err := os.Stat(dir); err != nil {
		return nil, fmt.Errorf("opening the run directory: %w", err)
	}
	run, err := openFS(dirFS(dir))
	if err != nil {
		return nil, fmt.Errorf("run directory %s: %w", dir, err)
	}
	run.Dir = dir
	return run, nil
}

func openFS(fsys fs.FS) (*Run, error) {
	run := &Run{fsys: fsys}
	src, err := fs.ReadFile(fsys, ManifestFile)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("it has no %s: expected a directory that bakeoff run made, such as 20260131T120000Z-01KG2J3Z7M8R4T5V6W7X8Y9Z0A", ManifestFile)
	}
	if err != nil {
		return nil, err
	}
	if run.Manifest, err = parseManifest(src); err != nil {
		return nil, err
	}
	if run.Plan, err = fs.ReadFile(fsys, PlanFile); err != nil {
		return nil, err
	}
	if got := HashBytes(run.Plan); got != run.Manifest.PlanHash {
		return nil, fmt.Errorf("%s was changed: its hash is %s, the manifest's %s; restore it from the plan that was run", PlanFile, got, run.Manifest.PlanHash)
	}
	if run.Trials, err = readTrials(fsys); err != nil {
		return nil, err
	}
	if run.Exclusions, err = readExclusions(fsys); err != nil {
		return nil, err
	}
	if err := run.exclude(); err != nil {
		return nil, err
	}
	return run, run.readSeal()
}

func (r *Run) readSeal() error {
	seals, err := readSeals(r.fsys)
	if err != nil {
		return err
	}
	if len(seals) > 0 {
		r.Complete = true
		r.RootHash = seals[len(seals)-1].RootHash
		return nil
	}
	files, err := hashFiles(r.fsys, "", true)
	if err != nil {
		return err
	}
	r.RootHash = RootHash(files)
	return nil
}

// readTrials reads every trial that has a trial.json, in the order of their IDs.
func readTrials(fsys fs.FS) ([]Trial, error) {
	entries, err := fs.ReadDir(fsys, TrialsDir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	var trials []Trial
	for _, e := range entries {
		t, err := readTrial(fsys, e.Name())
		if errors.Is(err, fs.ErrNotExist) {
			continue // not finished
		}
		if err != nil {
			return nil, err
		}
		trials = append(trials, t)
	}
	return trials, nil
}

func readTrial(fsys fs.FS, name string) (Trial, error) {
	file := path.Join(TrialsDir, name, TrialFile)
	var t Trial
	if err := readJSON(fsys, file, &t); err != nil {
		return Trial{}, err
	}
	if string(t.ID) != name {
		return Trial{}, fmt.Errorf("%s: it says it is trial %q", file, t.ID)
	}
	return t, nil
}

func readJSON(fsys fs.FS, file string, v any) error {
	src, err := fs.ReadFile(fsys, file)
	if err != nil {
		return err
	}
	if err := json.Unmarshal(src, v); err != nil {
		return fmt.Errorf("reading %s: %w", file, err)
	}
	return nil
}

func readExclusions(fsys fs.FS) ([]Exclusion, error) {
	entries, err := fs.ReadDir(fsys, ExclusionsDir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	var all []Exclusion
	for _, e := range entries {
		if strings.HasPrefix(e.Name(), tempPrefix) {
			continue
		}
		var x Exclusion
		if err := readJSON(fsys, path.Join(ExclusionsDir, e.Name()), &x); err != nil {
			return nil, err
		}
		all = append(all, x)
	}
	return all, nil
}

// exclude marks the excluded trials.
func (r *Run) exclude() error {
	for _, x := range r.Exclusions {
		i := slices.IndexFunc(r.Trials, func(t Trial) bool { return t.ID == x.Trial })
		if i < 0 {
			return fmt.Errorf("%s names trial %q, which the record does not have", ExclusionsDir, x.Trial)
		}
		r.Trials[i].Status = StatusExcluded
		r.Trials[i].Reason = x.Reason
	}
	return nil
}

// Trial returns the trial with this ID.
func (r *Run) Trial(id TrialID) (Trial, error) {
	for _, t := range r.Trials {
		if t.ID == id {
			return t, nil
		}
	}
	return Trial{}, fmt.Errorf("the record has no trial %q; it has %d trials", id, len(r.Trials))
}

// Readings returns the telemetry of one host in one trial, in the order it was
// taken; nil where the trial has none of that host.
func (r *Run) Readings(id TrialID, host string) ([]Reading, error) {
	t, err := r.Trial(id)
	if err != nil {
		return nil, err
	}
	file, ok := t.Readings[host]
	if !ok {
		return nil, nil
	}
	src, err := fs.ReadFile(r.fsys, file)
	if err != nil {
		return nil, fmt.Errorf("trial %s: telemetry of %s: %w", id, host, err)
	}
	readings, err := ReadReadings(bytes.NewReader(src), int64(len(src)))
	if err != nil {
		return nil, fmt.Errorf("trial %s: %s: %w", id, file, err)
	}
	return readings, nil
}

// Log opens one of a trial's HdrHistogram interval logs, as Latency.File names
// it. The caller closes it.
func (r *Run) Log(id TrialID, file string) (io.ReadCloser, error) {
	f, err := r.fsys.Open(path.Join(TrialsDir, string(id), file))
	if err != nil {
		return nil, fmt.Errorf("trial %s: histogram log: %w", id, err)
	}
	return f, nil
}

// Facts reads one file of facts, as Trial.FactsBefore and FactsAfter name it.
func (r *Run) Facts(file string) (Facts, error) {
	var f Facts
	if err := readJSON(r.fsys, file, &f); err != nil {
		return Facts{}, fmt.Errorf("facts: %w", err)
	}
	return f, nil
}

// Events reads the journal. A line torn by a crash is left out.
func (r *Run) Events() ([]Event, error) {
	f, err := r.fsys.Open(JournalFile)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	j, err := ReadJournal(f)
	return j.Events, err
}
