package olap

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"
)

// A folder is a session's own, for an embedded database that goes with it. It holds a
// file that is locked as long as the process lives, so that a later session can tell
// and remove what a process that was killed has left.
type folder struct {
	path string
	lock *os.File
}

const (
	folderPrefix = "bakeoff-olap-"
	folderLock   = "in-use"
)

// newFolder makes one, and removes those that nobody uses any more.
func newFolder() (*folder, error) {
	parent := os.TempDir()
	sweep(parent)
	path, err := os.MkdirTemp(parent, folderPrefix)
	if err != nil {
		return nil, fmt.Errorf("making a folder for the embedded database: %w", err)
	}
	lock, err := locked(filepath.Join(path, folderLock), os.O_CREATE)
	if err != nil {
		return nil, errors.Join(fmt.Errorf("making a folder for the embedded database: %w", err), os.RemoveAll(path))
	}
	return &folder{path, lock}, nil
}

// remove removes the folder with what is in it.
func (f *folder) remove() error { return errors.Join(os.RemoveAll(f.path), f.lock.Close()) }

// sweep is not worth an error: what cannot be removed is in nobody's way.
func sweep(parent string) {
	left, _ := filepath.Glob(filepath.Join(parent, folderPrefix+"*", folderLock))
	for _, path := range left {
		if lock, err := locked(path, 0); err == nil {
			_ = os.RemoveAll(filepath.Dir(path))
			_ = lock.Close()
		}
	}
}

// locked opens a file and locks it, which fails where another process, or another
// session of this one, has it.
func locked(path string, flags int) (*os.File, error) {
	file, err := os.OpenFile(path, os.O_RDWR|unix.O_NOFOLLOW|flags, 0o600)
	if err != nil {
		return nil, err
	}
	if err := unix.Flock(int(file.Fd()), unix.LOCK_EX|unix.LOCK_NB); err != nil {
		return nil, errors.Join(fmt.Errorf("locking %s: %w", path, err), file.Close())
	}
	return file, nil
}
