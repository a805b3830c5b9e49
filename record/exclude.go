package record

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
)

// Exclude leaves a trial of a record out of every verdict. It adds a file, and
// to a complete record a further seal over everything; it edits nothing. It
// returns the record's new root hash.
func Exclude(dir string, x Exclusion) (root string, err error) {
	lock, err := lockJournal(dir, os.O_RDONLY)
	if err != nil {
		return "", fmt.Errorf("excluding trial %s: run directory %s: %w", x.Trial, dir, err)
	}
	defer lock.Close()
	if err := dropUnsealed(dir); err != nil {
		return "", fmt.Errorf("excluding trial %s: %w", x.Trial, err)
	}
	run, err := Open(dir)
	if err != nil {
		return "", err
	}
	if x, err = checkExclusion(run, x); err != nil {
		return "", fmt.Errorf("excluding trial %q: %w", x.Trial, err)
	}
	if err := makeDir(filepath.Join(dir, ExclusionsDir)); err != nil {
		return "", fmt.Errorf("excluding trial %s: %w", x.Trial, err)
	}
	file := filepath.Join(dir, ExclusionsDir, fmt.Sprintf("%04d.json", len(run.Exclusions)+1))
	if err := writeAtomic(file, func(out io.Writer) error { return writeJSON(out, x) }); err != nil {
		return "", err
	}
	if !run.Complete {
		again, err := Open(dir)
		if err != nil {
			return "", err
		}
		return again.RootHash, nil
	}
	seals, err := readSeals(run.fsys)
	if err != nil {
		return "", err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, os.Remove(file))
		}
	}()
	return seal(dir, len(seals)+1, run.Manifest.Format, x.At)
}

// dropUnsealed removes what an exclusion that was cut short, as by a crash,
// left in a complete record: no seal vouches for it. A record that differs from
// its seal in anything else is refused.
func dropUnsealed(dir string) error {
	r, err := Verify(dir)
	if err != nil || r.OK() {
		return err
	}
	for _, name := range r.Extra {
		if path.Dir(name) != ExclusionsDir {
			return r.Err()
		}
	}
	if len(r.Changed)+len(r.Missing)+len(r.Faults) > 0 {
		return r.Err()
	}
	for _, name := range r.Extra {
		err = errors.Join(err, os.Remove(filepath.Join(dir, filepath.FromSlash(name))))
	}
	return err
}

func checkExclusion(run *Run, x Exclusion) (Exclusion, error) {
	i := slices.IndexFunc(run.Trials, func(t Trial) bool { return t.ID == x.Trial })
	switch {
	case i < 0:
		return x, fmt.Errorf("the record has no such trial; it has %d trials", len(run.Trials))
	case run.Trials[i].Status == StatusExcluded:
		return x, fmt.Errorf("it is excluded already: %s", run.Trials[i].Reason)
	case strings.TrimSpace(x.Reason) == "":
		return x, fmt.Errorf("no reason is given; it is printed with the report, so say why")
	case strings.TrimSpace(x.By) == "":
		return x, fmt.Errorf("it is not said who excludes it")
	case x.At.IsZero():
		return x, fmt.Errorf("it is not said when")
	}
	x.Was = run.Trials[i].Status
	x.At = x.At.UTC()
	return x, nil
}
