package host

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/gofrs/flock"
)

// Holder says who holds a host's lock.
type Holder struct {
	PID   int       `json:"pid"`
	Run   string    `json:"run"` // the run's directory
	Since time.Time `json:"since"`
}

// A HostLock keeps every other run off this host: two loads at once would
// measure one another. The kernel drops it when its process ends, however.
type HostLock struct{ lock *flock.Flock }

// LockedError says that another run has the host.
type LockedError struct {
	Path   string
	Holder *Holder // nil where the holder has not written who it is
}

func (e *LockedError) Error() string {
	if e.Holder == nil {
		return fmt.Sprintf("another bakeoff is at work on this host (it holds %s): wait until it is done", e.Path)
	}
	return fmt.Sprintf("another bakeoff is at work on this host: pid %d, run %s, since %s: wait until it is done, or stop it",
		e.Holder.PID, e.Holder.Run, e.Holder.Since.Format(time.RFC3339))
}

// Lock takes the host's lock in a directory that all users of the host share,
// without waiting. run is the run's directory, since the time now. When another
// has it, the error is a *LockedError.
func Lock(dir, run string, since time.Time) (*HostLock, error) {
	path := filepath.Join(dir, "host.lock")
	l := flock.New(path, flock.SetFlag(os.O_CREATE|os.O_RDWR), flock.SetPermissions(0o666))
	ok, err := l.TryLock()
	if errors.Is(err, fs.ErrPermission) {
		// Another user made it: reading is enough for a lock.
		l = flock.New(path, flock.SetFlag(os.O_RDONLY))
		ok, err = l.TryLock()
	}
	if err != nil {
		return nil, fmt.Errorf("taking the host's lock %s: %w", path, err)
	}
	if !ok {
		return nil, errors.Join(&LockedError{Path: path, Holder: readHolder(path)}, l.Close())
	}
	data, err := json.Marshal(Holder{PID: os.Getpid(), Run: run, Since: since})
	if err != nil {
		return nil, errors.Join(fmt.Errorf("taking the host's lock %s: %w", path, err), l.Close())
	}
	// The file itself is rewritten, not replaced: the lock is on its inode. That
	// it may not be written by this user only makes the other's error poorer.
	_ = os.WriteFile(path, data, 0o666)
	return &HostLock{lock: l}, nil
}

// readHolder reads who holds the lock, nil where that cannot be told.
func readHolder(path string) *Holder {
	data, err := os.ReadFile(path)
	if err != nil {
		return nil
	}
	var h Holder
	if json.Unmarshal(data, &h) != nil || h.PID == 0 {
		return nil
	}
	return &h
}

// Release gives the host free. It is safe to call twice. The file stays, since
// removing it would let two runs lock two files of one name.
func (l *HostLock) Release() error {
	if err := l.lock.Close(); err != nil {
		return fmt.Errorf("giving the host free: %w", err)
	}
	return nil
}
