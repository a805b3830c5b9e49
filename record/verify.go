package record

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// A Report says whether a record is what was sealed.
type Report struct {
	Dir      string
	Complete bool
	Files    int   // that were hashed
	Bytes    int64 // in them
	Events   int   // of the journal
	Torn     int   // bytes of a line that a crash cut off
	// RootHash is recomputed from the files; Sealed is what the last seal says.
	RootHash string
	Sealed   string
	Missing  []string // sealed, but not there
	Extra    []string // there, but not sealed
	Changed  []string // other content than was sealed
	Faults   []string // anything else, each with what to do
}

// OK reports whether nothing is wrong. An incomplete record can be OK: what
// there is of it is whole, but nothing vouches that it is unchanged.
func (r Report) OK() bool {
	return len(r.Missing)+len(r.Extra)+len(r.Changed)+len(r.Faults) == 0
}

// Verify hashes every file of a record and compares it with the seals; it reads
// the manifest, the plan's hash, the journal's chain and every trial, and looks
// for every file that a trial names. The error is for a directory that cannot
// be read at all; what is wrong with the record is in the report.
func Verify(dir string) (Report, error) {
	if _, err := os.Stat(dir); err != nil {
		return Report{}, fmt.Errorf("verifying: %w", err)
	}
	if !looksLikeRecord(dir) {
		return Report{Dir: dir}, fmt.Errorf("verifying %s: it has neither %s nor %s: expected a directory that bakeoff run made", dir, ManifestFile, sealName(1))
	}
	report, err := verifyFS(dirFS(dir))
	report.Dir = dir
	if err != nil {
		return report, fmt.Errorf("verifying %s: %w", dir, err)
	}
	return report, nil
}

// looksLikeRecord keeps any other directory, a home say, from being hashed.
func looksLikeRecord(dir string) bool {
	for _, name := range []string{ManifestFile, sealName(1)} {
		if _, err := os.Lstat(filepath.Join(dir, name)); err == nil {
			return true
		}
	}
	return false
}

// Err says that the record is not what was sealed; nil where it is.
func (r Report) Err() error {
	if r.OK() {
		return nil
	}
	first := slices.Concat(r.Changed, r.Missing, r.Extra, r.Faults)[0]
	return fmt.Errorf("%s is not what was sealed (%s): bakeoff verify says what differs; take a copy that is whole", r.Dir, first)
}

func verifyFS(fsys fs.FS) (Report, error) {
	var r Report
	seals, err := readSeals(fsys)
	if err != nil {
		r.Faults = append(r.Faults, err.Error())
	}
	r.Complete = len(seals) > 0
	files, err := hashFiles(fsys, sealName(max(1, len(seals))), !r.Complete)
	if odd, ok := errors.AsType[*notPlainError](err); ok {
		r.Faults = append(r.Faults, odd.Error()+": a record has none but plain files")
		return r, nil
	}
	if err != nil {
		return r, err
	}
	r.Files, r.RootHash = len(files), RootHash(files)
	for _, f := range files {
		r.Bytes += f.Bytes
	}
	if r.Complete {
		last := seals[len(seals)-1]
		r.Sealed = last.RootHash
		r.compare(last.Files, files)
		for n, s := range seals[:len(seals)-1] {
			r.compareSeals(sealName(n+1), s.Files, last.Files)
		}
	}
	last := r.verifyJournal(fsys)
	r.verifyContent(fsys, files, seals, last)
	return r, nil
}

func byPath(files []FileHash) map[string]FileHash {
	m := make(map[string]FileHash, len(files))
	for _, f := range files {
		m[f.Path] = f
	}
	return m
}

func (r *Report) compare(sealed, found []FileHash) {
	is := byPath(found)
	for _, f := range sealed {
		got, ok := is[f.Path]
		switch {
		case !ok:
			r.Missing = append(r.Missing, f.Path)
		case got.SHA256 != f.SHA256:
			r.Changed = append(r.Changed, f.Path)
		}
	}
	was := byPath(sealed)
	for _, f := range found {
		if _, ok := was[f.Path]; !ok {
			r.Extra = append(r.Extra, f.Path)
		}
	}
}

// compareSeals checks that a later seal only adds to an earlier one.
func (r *Report) compareSeals(name string, earlier, last []FileHash) {
	now := byPath(last)
	for _, f := range earlier {
		if now[f.Path].SHA256 != f.SHA256 {
			r.Faults = append(r.Faults, fmt.Sprintf("%s has another hash in %s than in the last seal: it was changed after the record was first sealed", f.Path, name))
		}
	}
}

// verifyJournal checks the chain of the journal's lines and returns the time of
// the last event.
func (r *Report) verifyJournal(fsys fs.FS) (last time.Time) {
	f, err := fsys.Open(JournalFile)
	if err != nil {
		r.Faults = append(r.Faults, err.Error())
		return last
	}
	defer f.Close()
	j, err := ReadJournal(f)
	if err != nil {
		r.Faults = append(r.Faults, err.Error())
	}
	r.Events, r.Torn = len(j.Events), j.Torn
	if r.Complete && j.Torn > 0 {
		r.Faults = append(r.Faults, fmt.Sprintf("%s ends in a line without a newline, in a record that is complete", JournalFile))
	}
	if n := len(j.Events); n > 0 {
		last = j.Events[n-1].At
	}
	return last
}

// verifyContent reads the record as analysis would, and looks for every file
// that a trial names.
func (r *Report) verifyContent(fsys fs.FS, files []FileHash, seals []Seal, last time.Time) {
	run, err := openFS(fsys)
	if err != nil {
		r.Faults = append(r.Faults, err.Error())
		return
	}
	for n := range seals {
		if err := run.verifySeal(seals[:n+1], last); err != nil {
			r.Faults = append(r.Faults, fmt.Sprintf("%s: %v", sealName(n+1), err))
		}
	}
	have := byPath(files)
	for _, t := range run.Trials {
		for _, file := range t.files() {
			if _, ok := have[file]; !ok && !slices.Contains(r.Missing, file) {
				r.Faults = append(r.Faults, fmt.Sprintf("trial %s names %s, which is not there", t.ID, file))
			}
		}
		for host := range t.Readings {
			if _, err := run.Readings(t.ID, host); err != nil && !errors.Is(err, fs.ErrNotExist) {
				r.Faults = append(r.Faults, err.Error())
			}
		}
	}
}

// verifySeal checks what no hash covers: the last of these seals itself, byte
// for byte. All of it but the list of files stands elsewhere in the record too.
func (r *Run) verifySeal(seals []Seal, journal time.Time) error {
	n := len(seals)
	s := seals[n-1]
	src, err := fs.ReadFile(r.fsys, sealName(n))
	if err != nil {
		return err
	}
	s.Format, s.Sealed = r.Manifest.Format, journal.UTC()
	switch {
	case n > 1:
		if s.Sealed, err = r.excludedAt(seals[n-2], s); err != nil {
			return err
		}
	case r.Manifest.Redacted != nil:
		s.Sealed = r.Manifest.Redacted.At
	case journal.IsZero():
		s.Sealed = r.Manifest.Created
	}
	var again bytes.Buffer
	if err := writeJSON(&again, s); err != nil {
		return err
	}
	if !bytes.Equal(src, again.Bytes()) {
		return errors.New("it was changed: it is not what bakeoff writes for this record")
	}
	return nil
}

// excludedAt is the time of the exclusion that a seal adds to the one before.
func (r *Run) excludedAt(before, s Seal) (time.Time, error) {
	had := byPath(before.Files)
	for _, f := range s.Files {
		if _, ok := had[f.Path]; ok || path.Dir(f.Path) != ExclusionsDir {
			continue
		}
		var x Exclusion
		err := readJSON(r.fsys, f.Path, &x)
		return x.At.UTC(), err
	}
	return time.Time{}, errors.New("it adds no exclusion to the seal before")
}

// files lists the files that a trial names, relative to the run directory.
func (t Trial) files() []string {
	var files []string
	for _, m := range []map[string]string{t.FactsBefore, t.FactsAfter, t.Readings} {
		for _, file := range m {
			files = append(files, file)
		}
	}
	for _, l := range t.Loads {
		for _, h := range l.Latencies {
			if h.File != "" {
				files = append(files, path.Join(TrialsDir, string(t.ID), h.File))
			}
		}
	}
	slices.SortFunc(files, strings.Compare)
	return slices.Compact(files)
}
