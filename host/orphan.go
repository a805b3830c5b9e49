package host

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/google/renameio/v2"
)

// pidFile is what is kept of a started service until it is stopped.
type pidFile struct {
	Service string      `json:"service"`
	Boot    string      `json:"boot_id"`
	mark                // of all its processes
	Members []ProcessID `json:"members"` // the first one first
}

// writePIDFile keeps the service's identity: its mark before anything is
// started, its processes once they are known.
func (s *Service) writePIDFile(context.Context) error {
	if s.spec.PIDFile == "" {
		return nil
	}
	boot, err := bootID()
	if err != nil {
		return err
	}
	kept := pidFile{Service: s.spec.Name, Boot: boot, mark: s.mark}
	if s.leader.PID != 0 {
		kept.Members = []ProcessID{s.leader}
		all, err := processes("/")
		if err != nil {
			return err
		}
		for _, p := range s.family(all) {
			if p.pid != s.leader.PID {
				kept.Members = append(kept.Members, ProcessID{PID: p.pid, Start: p.start, Boot: boot})
			}
		}
	}
	return kept.write(s.spec.PIDFile)
}

func (f pidFile) write(path string) error {
	data, err := json.MarshalIndent(f, "", "  ")
	if err == nil {
		err = renameio.WriteFile(path, append(data, '\n'), 0o644)
	}
	if err != nil {
		return fmt.Errorf("writing %s: %w", path, err)
	}
	return nil
}

func (s *Service) removePIDFile() error {
	if s.spec.PIDFile == "" {
		return nil
	}
	if err := os.Remove(s.spec.PIDFile); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("forgetting service %s: %w", s.spec.Name, err)
	}
	return nil
}

// EndOrphan ends what a service left behind whose bakeoff was killed, as its
// PID file names it: politely, by SIGKILL after the grace. It returns the PIDs
// that it ended and removes the file. A process whose start or boot differs, or
// that lacks the service's mark, is never touched. Without a file there is
// nothing to end, which is no error. The caller holds the host's lock, since a
// run that is alive has such files too.
func EndOrphan(ctx context.Context, path string, grace time.Duration) ([]int, error) {
	data, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("reading %s: %w", path, err)
	}
	kept, err := parsePIDFile(data)
	if err != nil {
		return nil, fmt.Errorf("reading %s: %w; end the processes of this service yourself, then remove the file", path, err)
	}
	ended, err := kept.end(ctx, grace)
	if err != nil {
		return ended, err
	}
	if err := os.Remove(path); err != nil {
		return ended, fmt.Errorf("forgetting service %s: %w", kept.Service, err)
	}
	return ended, nil
}

func parsePIDFile(data []byte) (pidFile, error) {
	var kept pidFile
	if err := json.Unmarshal(data, &kept); err != nil {
		return pidFile{}, err
	}
	if kept.Boot == "" || !strings.HasPrefix(kept.Variable, markName+"=") || len(kept.Variable) < len(markName)+17 {
		return pidFile{}, errors.New("found no boot or no mark; expected what bakeoff writes when it starts a service")
	}
	return kept, nil
}

// left returns the processes that are certainly the service's: those it is on
// record with, those that carry its mark, and those that share a session with
// one of these. (The kernel gives a session's number to no other process while
// the session has members.)
func (f pidFile) left() ([]ProcessID, error) {
	boot, err := bootID()
	if err != nil || boot != f.Boot {
		return nil, err
	}
	all, err := processes("/")
	if err != nil {
		return nil, err
	}
	certain := func(p stat) bool {
		return slices.Contains(f.Members, ProcessID{PID: p.pid, Start: p.start, Boot: boot}) || f.on(p.pid)
	}
	session := 0
	for _, p := range all {
		if len(f.Members) > 0 && p.session == f.Members[0].PID && certain(p) {
			session = p.session
		}
	}
	var left []ProcessID
	for _, p := range all {
		if p.pid != os.Getpid() && (session != 0 && p.session == session || certain(p)) {
			left = append(left, ProcessID{PID: p.pid, Start: p.start, Boot: boot})
		}
	}
	return left, nil
}

func (f pidFile) end(ctx context.Context, grace time.Duration) ([]int, error) {
	const stuck = 30 * time.Second
	left, err := f.left()
	if err != nil || len(left) == 0 {
		return nil, err
	}
	ended := bare(left)
	for _, p := range left {
		_ = p.Signal(syscall.SIGTERM) // gone already is what is wanted
	}
	if left, err = f.awaitNone(ctx, grace, 0); err == nil && len(left) > 0 {
		left, err = f.awaitNone(ctx, stuck, syscall.SIGKILL)
	}
	if err == nil && len(left) > 0 {
		err = fmt.Errorf("service %s: processes %v of an earlier run are still there", f.Service, bare(left))
	}
	return ended, err
}

// awaitNone waits until no process is left, for as long as d, and sends each
// the signal on the way.
func (f pidFile) awaitNone(ctx context.Context, d time.Duration, sig syscall.Signal) ([]ProcessID, error) {
	ctx, cancel := context.WithTimeout(ctx, d)
	defer cancel()
	for {
		left, err := f.left()
		if err != nil || len(left) == 0 {
			return left, err
		}
		for _, p := range left {
			_ = p.Signal(sig)
		}
		if ctx.Err() != nil {
			return left, nil
		}
		pause(ctx, 10*time.Millisecond, nil)
	}
}

func bare(all []ProcessID) []int {
	pids := make([]int, len(all))
	for i, p := range all {
		pids[i] = p.PID
	}
	return pids
}
