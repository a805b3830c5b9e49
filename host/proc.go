package host

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// ProcessID names one process for good. A PID alone is used again once its
// process is gone; with the time it started and the boot it belongs to, it is not.
type ProcessID struct {
	PID   int    `json:"pid"`
	Start uint64 `json:"start_ticks"` // clock ticks from boot to the process's start (proc(5), field 22)
	Boot  string `json:"boot_id"`
}

// Identify names the process that has the PID now.
func Identify(pid int) (ProcessID, error) {
	boot, err := bootID()
	if err != nil {
		return ProcessID{}, err
	}
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return ProcessID{}, fmt.Errorf("identifying process %d: %w", pid, err)
	}
	s, err := parseStat(string(text))
	if err != nil {
		return ProcessID{}, fmt.Errorf("identifying process %d: %w", pid, err)
	}
	return ProcessID{PID: pid, Start: s.start, Boot: boot}, nil
}

func bootID() (string, error) {
	text, err := os.ReadFile("/proc/sys/kernel/random/boot_id")
	if err != nil {
		return "", fmt.Errorf("reading the boot's identity: %w", err)
	}
	return strings.TrimSpace(string(text)), nil
}

// Alive reports whether the process itself, not another with its PID, exists
// and has not ended; a zombie has.
func (p ProcessID) Alive() bool {
	now, err := Identify(p.PID)
	if err != nil || now != p {
		return false
	}
	s, err := readStat("/", p.PID)
	return err == nil && s.start == p.Start && !s.dead()
}

// Signal sends a signal to the process, and to no other: the handle is opened
// first and the identity checked then, so that the PID cannot change hands in
// between. It returns os.ErrProcessDone where the process is gone.
func (p ProcessID) Signal(sig syscall.Signal) error {
	handle, err := os.FindProcess(p.PID)
	if err != nil {
		return fmt.Errorf("signalling process %d: %w", p.PID, err)
	}
	defer handle.Release()
	if now, err := Identify(p.PID); err != nil || now != p {
		return os.ErrProcessDone
	}
	return handle.Signal(sig)
}

// stat is what is needed of /proc/PID/stat.
type stat struct {
	pid, parent, group, session int
	name                        string
	state                       byte
	start                       uint64
}

func (s stat) dead() bool { return s.state == 'Z' || s.state == 'X' }

// parseStat reads /proc/PID/stat (proc_pid_stat(5)). The name is in
// parentheses and may itself hold blanks and parentheses.
func parseStat(text string) (stat, error) {
	open, end := strings.IndexByte(text, '('), strings.LastIndexByte(text, ')')
	if open < 0 || end < open {
		return stat{}, fmt.Errorf("found %q; expected a process's stat with a name in parentheses", text)
	}
	f := strings.Fields(text[end+1:])
	if len(f) < 20 {
		return stat{}, fmt.Errorf("found %d fields after the name; expected 20 or more", len(f))
	}
	s := stat{name: text[open+1 : end], state: f[0][0]}
	var errs [5]error
	s.pid, errs[0] = strconv.Atoi(strings.TrimSpace(text[:open]))
	s.parent, errs[1] = strconv.Atoi(f[1])
	s.group, errs[2] = strconv.Atoi(f[2])
	s.session, errs[3] = strconv.Atoi(f[3])
	s.start, errs[4] = strconv.ParseUint(f[19], 10, 64)
	return s, errors.Join(errs[:]...)
}

func readStat(root string, pid int) (stat, error) {
	text, err := os.ReadFile(filepath.Join(root, "proc", strconv.Itoa(pid), "stat"))
	if err != nil {
		return stat{}, err
	}
	return parseStat(string(text))
}

// processes lists all processes that have not ended. One that ends while they
// are read is left out.
func processes(root string) ([]stat, error) {
	entries, err := os.ReadDir(filepath.Join(root, "proc"))
	if err != nil {
		return nil, fmt.Errorf("listing processes: %w", err)
	}
	var all []stat
	for _, e := range entries {
		pid, err := strconv.Atoi(e.Name())
		if err != nil {
			continue
		}
		if s, err := readStat(root, pid); err == nil && !s.dead() {
			all = append(all, s)
		}
	}
	return all, nil
}

// descendants returns those of all that came from the given PIDs, these
// included, by PID.
func descendants(all []stat, of ...int) []stat {
	children := map[int][]stat{}
	var found []stat
	for _, s := range all {
		children[s.parent] = append(children[s.parent], s)
		if slices.Contains(of, s.pid) {
			found = append(found, s)
		}
	}
	seen := map[int]bool{}
	for i := 0; i < len(found); i++ {
		if seen[found[i].pid] {
			continue
		}
		seen[found[i].pid] = true
		found = append(found, children[found[i].pid]...)
	}
	slices.SortFunc(found, func(a, b stat) int { return a.pid - b.pid })
	return slices.CompactFunc(found, func(a, b stat) bool { return a.pid == b.pid })
}

func pidsOf(all []stat) (pids []int) {
	for _, p := range all {
		pids = append(pids, p.pid)
	}
	return pids
}

// affinity returns the processors that each thread of a process may use.
func affinity(root string, pid int) (map[string]CPUs, error) {
	dir := filepath.Join(root, "proc", strconv.Itoa(pid), "task")
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil, fmt.Errorf("reading the threads of process %d: %w", pid, err)
	}
	threads := map[string]CPUs{}
	for _, e := range entries {
		text, err := os.ReadFile(filepath.Join(dir, e.Name(), "status"))
		if err != nil {
			continue // it ended
		}
		if threads[e.Name()], err = ParseCPUs(field(string(text), "Cpus_allowed_list:")); err != nil {
			return nil, fmt.Errorf("thread %s of process %d: %w", e.Name(), pid, err)
		}
	}
	return threads, nil
}

// field returns what follows a name at the start of a line.
func field(text, name string) string {
	for line := range strings.Lines(text) {
		if rest, ok := strings.CutPrefix(line, name); ok {
			return strings.TrimSpace(rest)
		}
	}
	return ""
}

// pause waits for d, or until ctx is done or stop is closed.
func pause(ctx context.Context, d time.Duration, stop <-chan struct{}) {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
	case <-ctx.Done():
	case <-stop:
	}
}
