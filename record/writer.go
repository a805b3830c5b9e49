package record

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"sync"
	"time"

	"github.com/oklog/ulid/v2"
	"golang.org/x/sys/unix"
)

// A Writer writes one run directory. Files appear whole or not at all; the
// journal grows line by line and every line is on the disk when Append returns.
type Writer struct {
	dir string
	now func() time.Time

	mu      sync.Mutex
	journal *os.File
	sum     string // of the last line
	seq     uint64
	size    int64 // of the whole lines
	format  string
	last    time.Time // of the last event; of the run's beginning where there is none
	broken  error     // why the journal can take no more lines
}

// runID names a run directory: the time in UTC and a ULID, so that names sort
// by time and never collide.
func runID(at time.Time) string {
	return at.UTC().Format("20060102T150405Z") + "-" + ulid.MustNew(ulid.Timestamp(at), ulid.DefaultEntropy()).String()
}

// Create makes a new run directory below parent, which it makes where it is
// missing, with manifest, plan and an empty journal. The manifest's Format, ID,
// Created and PlanHash are filled in here.
func Create(parent string, m Manifest, plan []byte, now func() time.Time) (*Writer, error) {
	if err := os.MkdirAll(parent, 0o755); err != nil {
		return nil, fmt.Errorf("making the directory for runs: %w", err)
	}
	m.Format, m.Created = formatNow(), now().UTC()
	m.ID, m.PlanHash = runID(m.Created), HashBytes(plan)
	dir := filepath.Join(parent, m.ID)
	if err := createDir(dir, m, plan); err != nil {
		return nil, fmt.Errorf("making run directory %s: %w", dir, err)
	}
	w, _, err := Reopen(dir, now)
	return w, err
}

// createDir fills a temporary directory and renames it, so that a run
// directory is never seen half-made.
func createDir(dir string, m Manifest, plan []byte) (err error) {
	temp := tempName(filepath.Dir(dir))
	if err := os.Mkdir(temp, 0o755); err != nil {
		return err
	}
	defer func() {
		if err != nil {
			os.RemoveAll(temp)
		}
	}()
	manifest, err := json.MarshalIndent(m, "", "  ")
	if err != nil {
		return err
	}
	err = errors.Join(
		os.Mkdir(filepath.Join(temp, TrialsDir), 0o755),
		writeBytes(filepath.Join(temp, ManifestFile), append(manifest, '\n')),
		writeBytes(filepath.Join(temp, PlanFile), plan),
		writeBytes(filepath.Join(temp, JournalFile), nil),
	)
	if err != nil {
		return err
	}
	if err := os.Rename(temp, dir); err != nil {
		return err
	}
	return syncDir(filepath.Dir(dir))
}

// ErrInUse says that another process writes to the run directory.
var ErrInUse = errors.New("another bakeoff is writing to this run directory: wait for it, or stop it")

// Reopen opens an incomplete run directory to go on writing: it removes
// half-written files, cuts a torn last line off the journal, and returns the
// events so far.
func Reopen(dir string, now func() time.Time) (*Writer, []Event, error) {
	run, err := Open(dir)
	if err != nil {
		return nil, nil, err
	}
	if run.Complete {
		return nil, nil, fmt.Errorf("run directory %s is complete and sealed (%s): nothing can be added to it; begin a new run", dir, run.RootHash)
	}
	w := &Writer{dir: dir, now: now, format: run.Manifest.Format, last: run.Manifest.Created}
	events, err := w.openJournal()
	if err != nil {
		return nil, nil, fmt.Errorf("run directory %s: %w", dir, err)
	}
	if err := removeTemps(dir); err != nil {
		return nil, nil, errors.Join(fmt.Errorf("run directory %s: removing half-written files: %w", dir, err), w.Close())
	}
	return w, events, nil
}

// openJournal locks the journal, reads it and cuts off a torn last line.
func (w *Writer) openJournal() (events []Event, err error) {
	f, err := lockJournal(w.dir, os.O_RDWR|os.O_APPEND)
	if err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			f.Close()
		}
	}()
	j, err := ReadJournal(f)
	if err != nil {
		return nil, err
	}
	if j.Torn > 0 {
		if err := errors.Join(f.Truncate(j.size), f.Sync()); err != nil {
			return nil, fmt.Errorf("cutting the torn last line off %s: %w", JournalFile, err)
		}
	}
	w.journal, w.sum, w.seq, w.size = f, j.sum, uint64(len(j.Events)), j.size
	if n := len(j.Events); n > 0 {
		w.last = j.Events[n-1].At
	}
	return j.Events, nil
}

// lockJournal opens the journal and holds it against other writers; the lock
// ends with the process.
func lockJournal(dir string, flags int) (*os.File, error) {
	// Another's record may have anything in this place.
	f, err := os.OpenFile(filepath.Join(dir, JournalFile), flags|unix.O_NOFOLLOW|unix.O_NONBLOCK, 0)
	if err != nil {
		return nil, err
	}
	err = unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB)
	if errors.Is(err, unix.EWOULDBLOCK) {
		err = ErrInUse
	}
	if err != nil {
		f.Close()
		return nil, err
	}
	return f, nil
}

// Dir is the run directory.
func (w *Writer) Dir() string { return w.dir }

// WorkDir makes, and returns, a directory for what servers under test need
// while the run goes on: it is no part of the record, and Seal removes it.
func (w *Writer) WorkDir() (string, error) {
	dir, err := filepath.Abs(filepath.Join(w.dir, workDir))
	if err != nil {
		return "", err
	}
	return dir, makeDir(dir)
}

// Append adds one event to the journal and returns when it is on the disk. A
// line that could not be written whole is taken back; where even that fails,
// the journal takes no more.
func (w *Writer) Append(kind string, data any) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.broken != nil {
		return fmt.Errorf("journalling %s: %w", kind, w.broken)
	}
	raw, err := json.Marshal(data)
	if err != nil {
		return fmt.Errorf("journalling %s: %w", kind, err)
	}
	e := Event{Seq: w.seq + 1, At: w.now().UTC(), Kind: kind, Data: raw}
	line, sum, err := formatLine(e, w.sum)
	if err != nil {
		return err
	}
	if _, err := w.journal.Write(line); err != nil {
		return fmt.Errorf("journalling %s: %w", kind, w.takeBack(err))
	}
	if err := w.journal.Sync(); err != nil {
		// After a failed sync nobody knows what the disk holds.
		w.broken = err
		return fmt.Errorf("journalling %s: %w", kind, err)
	}
	w.seq, w.sum, w.size, w.last = e.Seq, sum, w.size+int64(len(line)), e.At
	return nil
}

func (w *Writer) takeBack(cause error) error {
	if err := w.journal.Truncate(w.size); err != nil {
		w.broken = errors.Join(cause, err)
	}
	return cause
}

// trialFile returns the path of one of a trial's files, relative to the run
// directory, after making its directory.
func (w *Writer) trialFile(id TrialID, name string) (string, error) {
	rel := path.Join(TrialsDir, fileName(string(id)))
	if err := makeDir(filepath.Join(w.dir, filepath.FromSlash(rel))); err != nil {
		return "", fmt.Errorf("trial %s: %w", id, err)
	}
	return path.Join(rel, fileName(name)), nil
}

// writeTrialFile writes one of a trial's files and returns its path relative
// to the run directory.
func (w *Writer) writeTrialFile(id TrialID, name string, write func(io.Writer) error) (string, error) {
	rel, err := w.trialFile(id, name)
	if err != nil {
		return "", err
	}
	return rel, writeAtomic(filepath.Join(w.dir, filepath.FromSlash(rel)), write)
}

// WriteLog writes one histogram log (or another of an engine's files) of a
// trial. The name is one that Latency.File gives.
func (w *Writer) WriteLog(id TrialID, name string, src []byte) error {
	if fileName(name) != name || name == TrialFile {
		return fmt.Errorf("trial %s: log %q: its name must be of letters, digits, \".\", \"_\" and \"-\", and not %s", id, name, TrialFile)
	}
	_, err := w.writeTrialFile(id, name, func(out io.Writer) error {
		_, err := out.Write(src)
		return err
	})
	return err
}

// WriteReadings writes one host's telemetry of a trial and returns the file's
// path for Trial.Readings.
func (w *Writer) WriteReadings(id TrialID, host string, readings []Reading) (string, error) {
	return w.writeTrialFile(id, "readings-"+host+".parquet", func(out io.Writer) error {
		return WriteReadings(out, readings)
	})
}

// WriteFacts writes what a host is at one moment of a trial ("before",
// "after") and returns the file's path for Trial.FactsBefore and FactsAfter.
func (w *Writer) WriteFacts(id TrialID, moment, host string, f Facts) (string, error) {
	return w.writeTrialFile(id, "facts-"+moment+"-"+host+".json", func(out io.Writer) error {
		return writeJSON(out, f)
	})
}

// WriteTrial writes trial.json, which makes the trial part of the record.
func (w *Writer) WriteTrial(t Trial) error {
	_, err := w.writeTrialFile(t.ID, TrialFile, func(out io.Writer) error {
		return writeJSON(out, t)
	})
	return err
}

// DiscardFiles removes the files of a trial that was not finished, so that the
// record holds nothing that no trial.json vouches for.
func (w *Writer) DiscardFiles(id TrialID) error {
	dir := filepath.Join(w.dir, TrialsDir, fileName(string(id)))
	if _, err := os.Stat(filepath.Join(dir, TrialFile)); !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("trial %s is written: it stays as it is (%w)", id, errors.Join(fs.ErrExist, err))
	}
	if err := os.RemoveAll(dir); err != nil {
		return fmt.Errorf("removing the unfinished trial %s: %w", id, err)
	}
	return syncDir(filepath.Dir(dir))
}

// Seal marks the record complete: it hashes every file, writes the first seal
// and returns the root hash. Nothing can be appended afterwards.
func (w *Writer) Seal() (string, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.broken != nil {
		return "", fmt.Errorf("sealing the record: the journal is not whole: %w", w.broken)
	}
	err := errors.Join(removeTemps(w.dir), os.RemoveAll(filepath.Join(w.dir, workDir)))
	if err != nil {
		return "", fmt.Errorf("sealing the record: %w", err)
	}
	root, err := seal(w.dir, 1, w.format, w.last)
	if err == nil {
		w.broken = errors.New("the record is sealed")
	}
	return root, err
}

// seal writes the n-th seal.
func seal(dir string, n int, format string, at time.Time) (string, error) {
	files, err := hashFiles(dirFS(dir), sealName(n), false)
	if err != nil {
		return "", err
	}
	s := Seal{Format: format, Sealed: at.UTC(), Files: files, RootHash: RootHash(files)}
	err = writeAtomic(filepath.Join(dir, sealName(n)), func(out io.Writer) error { return writeJSON(out, s) })
	if err != nil {
		return "", fmt.Errorf("sealing the record: %w", err)
	}
	return s.RootHash, nil
}

// Close ends the writing and gives up the lock. It is safe to call twice.
func (w *Writer) Close() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.journal == nil {
		return nil
	}
	err := w.journal.Close()
	w.journal, w.broken = nil, errors.New("the record is closed")
	return err
}

func writeJSON(out io.Writer, v any) error {
	enc := json.NewEncoder(out)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", " ")
	return enc.Encode(v)
}
