package telemetry

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"syscall"
)

// procStat is the part of /proc/PID/stat that is used (proc(5)). Times are in
// ticks, memory in pages.
type procStat struct {
	pid, ppid             int
	comm                  string // at most 15 bytes
	kernel                bool   // a kernel thread
	start                 uint64 // ticks after boot: with the PID it names a process for ever
	user, system          uint64
	waitedUser, waitedSys uint64 // of children that ended and were waited for
	faults, waitedFaults  uint64 // major ones
	threads               uint64
	rss                   uint64
}

// procID names one process, also when its PID is used again.
type procID struct {
	pid   int
	start uint64
}

func (p *procStat) id() procID { return procID{p.pid, p.start} }

// parseProcStat reads the text of /proc/PID/stat.
func parseProcStat(data []byte) (procStat, error) {
	var p procStat
	// The command may hold blanks and parentheses of its own.
	open, end := bytes.IndexByte(data, '('), bytes.LastIndexByte(data, ')')
	if open < 1 || end < open {
		return p, fmt.Errorf("found %.40q, expected PID (command) and 36 or more columns", data)
	}
	pid, err := strconv.ParseInt(string(bytes.TrimSpace(data[:open])), 10, 32)
	if err != nil {
		return p, fmt.Errorf("found %.40q, expected a PID", data[:open])
	}
	p.pid, p.comm = int(pid), string(data[open+1:end])
	const first, last = 3, 24 // columns that fields holds and that are used, as proc(5) numbers them
	fields := bytes.Fields(data[end+1:])
	if len(fields) < last-first+1 {
		return p, fmt.Errorf("process %d: found %d columns, expected %d or more", p.pid, len(fields)+first-1, last)
	}
	var flags, ppid uint64
	for _, column := range []struct {
		number int
		target *uint64
	}{
		{4, &ppid}, {9, &flags}, {12, &p.faults}, {13, &p.waitedFaults}, {14, &p.user}, {15, &p.system},
		{16, &p.waitedUser}, {17, &p.waitedSys}, {20, &p.threads}, {22, &p.start}, {24, &p.rss},
	} {
		text := fields[column.number-first]
		*column.target, err = strconv.ParseUint(string(text), 10, 64)
		if err != nil {
			return p, fmt.Errorf("process %d: column %d: found %.40q, expected a number", p.pid, column.number, text)
		}
	}
	const kthread = 0x00200000 // PF_KTHREAD
	p.ppid, p.kernel = int(ppid), flags&kthread != 0
	return p, nil
}

// procScanner reads the processes of a host.
type procScanner struct {
	root   string
	kernel map[int]bool // PIDs of kernel threads, which are not read again
	scans  int
}

// forgetScans is after how many scans the kernel threads are read again: a
// worker's PID may have come to another process.
const forgetScans = 60

func newProcScanner(root string) *procScanner {
	return &procScanner{root: root, kernel: make(map[int]bool)}
}

// scan reads every process but the kernel's threads. One that ends meanwhile is
// left out.
func (s *procScanner) scan() ([]procStat, error) {
	dir, err := os.Open(filepath.Join(s.root, "proc"))
	if err != nil {
		return nil, err
	}
	defer dir.Close()
	names, err := dir.Readdirnames(-1)
	if err != nil {
		return nil, err
	}
	if s.scans++; s.scans%forgetScans == 0 {
		clear(s.kernel)
	}
	var all []procStat
	present := make(map[int]bool, len(s.kernel))
	for _, name := range names {
		pid, err := strconv.Atoi(name)
		if err != nil {
			continue
		}
		if s.kernel[pid] {
			present[pid] = true
			continue
		}
		p, err := s.read(pid)
		if gone(err) {
			continue
		}
		if err != nil {
			return nil, err
		}
		if p.kernel {
			present[pid] = true
			continue
		}
		all = append(all, p)
	}
	s.kernel = present
	return all, nil
}

func (s *procScanner) read(pid int) (procStat, error) {
	path := filepath.Join(s.root, "proc", strconv.Itoa(pid), "stat")
	data, err := os.ReadFile(path)
	if err != nil {
		return procStat{}, err
	}
	p, err := parseProcStat(data)
	if err != nil {
		return p, fmt.Errorf("reading %s: %w", path, err)
	}
	return p, nil
}

// gone reports whether an error says that a process or core went away.
func gone(err error) bool {
	return errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ESRCH)
}

// maxSwitchThreads bounds the threads of a process whose context switches are
// read, one file a thread.
const maxSwitchThreads = 256

// switches holds the context switches of one thread, or of several.
type switches struct{ voluntary, involuntary uint64 }

// readSwitches reads the context switches of each thread of a process: the
// process's own file has those of its first thread only.
func (s *procScanner) readSwitches(pid int) (map[int]switches, error) {
	base := filepath.Join(s.root, "proc", strconv.Itoa(pid), "task")
	entries, err := os.ReadDir(base)
	if err != nil {
		return nil, err
	}
	threads := make(map[int]switches, len(entries))
	for _, e := range entries {
		tid, err := strconv.Atoi(e.Name())
		if err != nil {
			continue
		}
		data, err := os.ReadFile(filepath.Join(base, e.Name(), "status"))
		if gone(err) {
			continue
		}
		if err != nil {
			return nil, err
		}
		if threads[tid], err = parseSwitches(data); err != nil {
			return nil, fmt.Errorf("reading %s/%s/status: %w", base, e.Name(), err)
		}
	}
	return threads, nil
}

// parseSwitches reads the context switches from a thread's status file.
func parseSwitches(data []byte) (switches, error) {
	var s switches
	values := map[string]*uint64{"voluntary_ctxt_switches": &s.voluntary, "nonvoluntary_ctxt_switches": &s.involuntary}
	return s, parseKeyed(data, values)
}

// procIO is what a process and its threads fetched from and sent to storage, in
// bytes, with what its waited-for children did (kernel/exit.c).
type procIO struct{ read, write uint64 }

func (s *procScanner) readIO(pid int) (procIO, error) {
	path := filepath.Join(s.root, "proc", strconv.Itoa(pid), "io")
	data, err := os.ReadFile(path)
	if err != nil {
		return procIO{}, err
	}
	io, err := parseProcIO(data)
	if err != nil {
		return procIO{}, fmt.Errorf("reading %s: %w", path, err)
	}
	return io, nil
}

func parseProcIO(data []byte) (procIO, error) {
	var io procIO
	return io, parseKeyed(data, map[string]*uint64{"read_bytes": &io.read, "write_bytes": &io.write})
}

// parseKeyed fills in the values of lines "key: number"; all must be there.
func parseKeyed(data []byte, values map[string]*uint64) error {
	found := 0
	for number, line := range bytes.Split(data, []byte{'\n'}) {
		key, text, _ := bytes.Cut(line, []byte{':'})
		target, ok := values[string(key)]
		if !ok {
			continue
		}
		v, err := strconv.ParseUint(string(bytes.TrimSpace(text)), 10, 64)
		if err != nil {
			return fmt.Errorf("line %d: found %.40q, expected a number", number+1, line)
		}
		*target = v
		found++
	}
	if found != len(values) {
		return fmt.Errorf("found %d of the %d lines that are needed", found, len(values))
	}
	return nil
}
