package host

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"golang.org/x/sys/unix"
)

// Holder says who holds a host's lock.
type Holder struct {
	PID   int       `json:"pid"`
	Run   string    `json:"run"` // the run's directory
	Since time.Time `json:"since"`
}

// A HostLock keeps every other run off this host: two loads at once would
// measure one another. The kernel drops it when its process ends, however.
type HostLock struct {
	file *os.File
	// died is the holder before, where it ended without giving the host free;
	// it stays on record until Settled.
	died *Holder
}

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

// dyingPatience is how long a lock may outlive its holder: a child that it was
// about to start may have it for a moment longer.
const dyingPatience = 2 * time.Second

// Lock takes the host's lock in a directory that all users of the host share,
// and makes the directory where only it is missing. run is the run's directory,
// since the time now. It does not wait for another that has the lock; the error
// is a *LockedError then.
func Lock(dir, run string, since time.Time) (*HostLock, error) {
	if err := os.Mkdir(dir, 0o777); err == nil {
		_ = os.Chmod(dir, 0o777|fs.ModeSticky) // past the umask: others lock here too
	}
	path := filepath.Join(dir, "host.lock")
	f, err := openLock(path)
	if err != nil {
		err = fmt.Errorf("taking the host's lock %s: %w", path, unpathed(err))
		if errors.Is(err, fs.ErrPermission) {
			err = fmt.Errorf("%w: the user who made it may let others read it (chmod o+rx its directory, o+r the file), or remove it", err)
		}
		return nil, err
	}
	if err := tryLock(f, path); err != nil {
		return nil, errors.Join(err, f.Close())
	}
	l := &HostLock{file: f, died: readHolder(f)}
	l.Hold(run, since)
	return l, nil
}

// openLock opens the file of the lock, and follows no link: the directory may be
// anybody's.
func openLock(path string) (*os.File, error) {
	const flags = unix.O_NOFOLLOW | unix.O_NONBLOCK
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE|flags, 0o644)
	if errors.Is(err, fs.ErrPermission) {
		f, err = os.OpenFile(path, os.O_RDONLY|flags, 0) // another user's: reading is enough for a lock
	}
	if err != nil {
		return nil, err
	}
	info, err := f.Stat()
	if err == nil && !info.Mode().IsRegular() {
		err = errors.New("it is not a plain file: remove it")
	}
	if err != nil {
		return nil, errors.Join(err, f.Close())
	}
	_ = f.Chmod(0o644) // past the umask; not allowed on another user's
	return f, nil
}

func tryLock(f *os.File, path string) error {
	for began := time.Duration(0); ; began += 50 * time.Millisecond {
		err := unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB)
		if err == nil {
			return nil
		}
		if !errors.Is(err, unix.EWOULDBLOCK) {
			return fmt.Errorf("taking the host's lock %s: %w", path, err)
		}
		holder := readHolder(f)
		if holder == nil || alive(holder.PID) || began >= dyingPatience {
			return &LockedError{Path: path, Holder: holder}
		}
		pause(context.Background(), 50*time.Millisecond, nil)
	}
}

func alive(pid int) bool {
	s, err := readStat("/", pid)
	return err == nil && !s.dead()
}

// readHolder reads who holds the lock, nil where that cannot be told.
func readHolder(f *os.File) *Holder {
	data, err := io.ReadAll(io.NewSectionReader(f, 0, 1<<16))
	if err != nil {
		return nil
	}
	var h Holder
	if json.Unmarshal(data, &h) != nil || h.PID == 0 {
		return nil
	}
	return &h
}

// Died is the run that had the host last and ended without giving it free, as
// by SIGKILL or a power cut: it may have left something changed. It is nil
// where the last one ended well, or nobody knows.
func (l *HostLock) Died() *Holder { return l.died }

// Settled forgets the run that died: what it left is put right.
func (l *HostLock) Settled() { l.died = nil }

// Hold writes who has the host.
func (l *HostLock) Hold(run string, since time.Time) {
	l.write(&Holder{PID: os.Getpid(), Run: run, Since: since})
}

// write rewrites the file itself, nil as an empty one: the lock is on its
// inode. That another user's file cannot be written only makes the other's
// error poorer.
func (l *HostLock) write(h *Holder) {
	var data []byte
	if h != nil {
		data, _ = json.Marshal(h) // plain fields
	}
	if l.file.Truncate(0) == nil {
		_, _ = l.file.WriteAt(data, 0)
	}
}

// Release gives the host free. It is safe to call twice. The file stays, since
// removing it would let two runs lock two files of one name.
func (l *HostLock) Release() error {
	if l.file == nil {
		return nil
	}
	l.write(l.died)
	err := l.file.Close()
	l.file = nil
	if err != nil {
		return fmt.Errorf("giving the host free: %w", err)
	}
	return nil
}
