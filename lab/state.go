package lab

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// DefaultStateDir is where the labs of a machine are on record while they are
// there. It is empty, or not there at all, when none is.
const DefaultStateDir = "/run/bakeoff-lab"

// phase says what a process was about when it last wrote a lab's state.
type phase string

const (
	phaseBusy phase = "busy" // building, running or removing: without a process, it died
	phaseUp   phase = "up"   // built, and left up on purpose
)

// State is what is kept of a lab while it is there.
type State struct {
	Lab        string    `json:"lab"`
	Phase      phase     `json:"phase"`
	File       string    `json:"file"` // absolute
	Hash       string    `json:"hash"` // of the file
	Token      string    `json:"token"`
	Boot       string    `json:"boot_id"`
	PID        int       `json:"pid"`
	Since      time.Time `json:"since"`
	Namespaces []string  `json:"namespaces"`
	// MadeDir says that the folder of named namespaces was not there before.
	MadeDir bool `json:"made_dir,omitempty"`
}

// A stateFile is a lab's state and its lock: who has it open and locked is the
// only process at work on the lab. The kernel drops the lock with its process.
type stateFile struct {
	file *os.File
	path string
}

// BusyError says that another process is at work on a lab.
type BusyError struct {
	Lab string
	PID int // 0 where it is not known
}

func (e *BusyError) Error() string {
	if e.PID == 0 {
		return fmt.Sprintf("another bakeoff is at work on lab %s: wait until it is done", e.Lab)
	}
	return fmt.Sprintf("another bakeoff (pid %d) is at work on lab %s: wait until it is done, or stop it", e.PID, e.Lab)
}

func statePath(dir, lab string) string { return filepath.Join(dir, lab+".json") }

// openState opens and locks a lab's state, and makes it where it is missing.
func openState(dir, lab string) (*stateFile, error) {
	path := statePath(dir, lab)
	for {
		if err := os.Mkdir(dir, 0o755); err != nil && !errors.Is(err, fs.ErrExist) {
			return nil, fmt.Errorf("making %s, where labs are on record: %w", dir, err)
		}
		f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE|unix.O_NOFOLLOW, 0o644)
		if errors.Is(err, fs.ErrNotExist) {
			continue // the last lab's end took the folder with it
		}
		if err != nil {
			return nil, fmt.Errorf("opening the state of lab %s: %w", lab, err)
		}
		if err := unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB); err != nil {
			defer f.Close()
			if !errors.Is(err, unix.EWOULDBLOCK) {
				return nil, fmt.Errorf("locking the state of lab %s: %w", lab, err)
			}
			busy := &BusyError{Lab: lab}
			if s, err := readState(f); err == nil && s != nil {
				busy.PID = s.PID
			}
			return nil, busy
		}
		if sameFile(f, path) {
			return &stateFile{f, path}, nil
		}
		if err := f.Close(); err != nil { // removed between opening and locking
			return nil, fmt.Errorf("locking the state of lab %s: %w", lab, err)
		}
	}
}

func sameFile(f *os.File, path string) bool {
	mine, err := f.Stat()
	if err != nil {
		return false
	}
	there, err := os.Stat(path)
	return err == nil && os.SameFile(mine, there)
}

// read returns the state, nil where nothing was written yet.
func (s *stateFile) read() (*State, error) {
	state, err := readState(s.file)
	if err != nil {
		return nil, fmt.Errorf("reading %s: %w; see ip netns for what is left of the lab, then remove the file", s.path, err)
	}
	return state, nil
}

func readState(f *os.File) (*State, error) {
	data, err := io.ReadAll(io.NewSectionReader(f, 0, 1<<20))
	if err != nil || len(data) == 0 {
		return nil, err
	}
	return parseState(data)
}

func parseState(data []byte) (*State, error) {
	var s State
	if err := json.Unmarshal(data, &s); err != nil {
		return nil, err
	}
	if !isName(s.Lab) || s.Token == "" || s.Boot == "" {
		return nil, errors.New("found no lab, no token or no boot; expected what bakeoff writes when it builds a lab")
	}
	for _, name := range s.Namespaces {
		if !strings.HasPrefix(name, prefix(s.Lab)) || name != filepath.Base(name) {
			return nil, fmt.Errorf("found the namespace %q; expected names that begin with %s", name, prefix(s.Lab))
		}
	}
	return &s, nil
}

// write replaces the text in place, since the lock is on this very file.
func (s *stateFile) write(state State) error {
	data, err := json.Marshal(state)
	if err == nil {
		data = append(data, '\n')
		// Blanks over what was longer before: JSON takes them.
		if info, statErr := s.file.Stat(); statErr == nil {
			for int64(len(data)) < info.Size() {
				data = append(data, ' ')
			}
		}
		_, err = s.file.WriteAt(data, 0)
	}
	if err != nil {
		return fmt.Errorf("writing %s: %w", s.path, err)
	}
	return nil
}

// close gives the lab free and leaves its state.
func (s *stateFile) close() error { return s.file.Close() }

// remove forgets the lab, and the folder where it was the last.
func (s *stateFile) remove() error {
	err := os.Remove(s.path)
	if err == nil {
		_ = os.Remove(filepath.Dir(s.path)) // others may be there
	}
	if err := errors.Join(err, s.file.Close()); err != nil {
		return fmt.Errorf("forgetting the lab: %w", err)
	}
	return nil
}

// States lists the labs that are on record in a folder, in alphabetical order.
func States(dir string) ([]State, error) {
	paths, err := filepath.Glob(filepath.Join(dir, "*.json"))
	if err != nil {
		return nil, fmt.Errorf("listing the labs in %s: %w", dir, err)
	}
	var all []State
	for _, path := range paths {
		data, err := os.ReadFile(path)
		if errors.Is(err, fs.ErrNotExist) || err == nil && len(data) == 0 {
			continue
		}
		if err != nil {
			return nil, fmt.Errorf("reading the state of a lab: %w", err)
		}
		s, err := parseState(data)
		if err != nil {
			return nil, fmt.Errorf("reading %s: %w", path, err)
		}
		all = append(all, *s)
	}
	return all, nil
}
