package host

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"

	"golang.org/x/sys/unix"
)

// NamespaceDir is where named network namespaces are kept (ip-netns(8)).
const NamespaceDir = "/run/netns"

// A NamespaceError says why a network namespace cannot be entered.
type NamespaceError struct {
	Name string
	Err  error
}

// Error says how to mend it, too.
func (e *NamespaceError) Error() string {
	switch {
	case errors.Is(e.Err, fs.ErrNotExist):
		return fmt.Sprintf("there is no network namespace %q: found %s; make it (ip netns add %s), or build the lab it belongs to (bakeoff lab up FILE)",
			e.Name, foundNamespaces(), e.Name)
	case errors.Is(e.Err, fs.ErrPermission):
		return fmt.Sprintf("entering the network namespace %q needs root (CAP_SYS_ADMIN): run bakeoff as root, or start it inside (ip netns exec %s) and leave the key out",
			e.Name, e.Name)
	}
	return fmt.Sprintf("entering the network namespace %q: %v", e.Name, e.Err)
}

// Unwrap returns what the kernel said.
func (e *NamespaceError) Unwrap() error { return e.Err }

func foundNamespaces() string {
	entries, _ := os.ReadDir(NamespaceDir) // none is what there is then
	var names []string
	for _, e := range entries {
		names = append(names, e.Name())
	}
	if len(names) == 0 {
		return "none in " + NamespaceDir
	}
	slices.Sort(names)
	return strings.Join(names, ", ")
}

// InNamespace runs f on a thread of its own that is in the named network
// namespace, and returns when f does. What f starts is in the namespace, too,
// and lives no longer than f where it asks for the parent-death signal. Sockets
// that f opens stay in the namespace.
//
// Only this one thread moves: f must not hand work to goroutines, which run
// elsewhere.
func InNamespace(name string, f func() error) error {
	if name == "" || name != filepath.Base(name) || strings.HasPrefix(name, ".") {
		return &NamespaceError{name, errors.New("expected a name of those that ip netns lists")}
	}
	file, err := os.Open(filepath.Join(NamespaceDir, name))
	if err != nil {
		return &NamespaceError{name, unpathed(err)}
	}
	defer file.Close()
	return OnThread(func() error {
		if err := unix.Setns(int(file.Fd()), unix.CLONE_NEWNET); err != nil {
			return &NamespaceError{name, err}
		}
		return f()
	})
}

// OnThread runs f on an operating system thread of its own, which ends with f:
// whatever f changes of it is gone then. It is never the process's first
// thread, whose namespaces others take for those of the process.
func OnThread(f func() error) error {
	done := make(chan error, 1)
	go func() {
		runtime.LockOSThread() // never unlocked
		if unix.Gettid() != os.Getpid() {
			done <- f()
			return
		}
		// While this goroutine holds the first thread, another gets another.
		err := OnThread(f)
		runtime.UnlockOSThread()
		done <- err
	}()
	return <-done
}

// OwnMounts gives the calling thread, and what it starts, a file system tree in
// which /sys is that of its network namespace: /sys/class/net lists the
// namespace's interfaces. What is mounted below /sys stays there. Mounts of
// others still arrive, its own reach nobody. The thread is one of OnThread.
func OwnMounts() error {
	if err := unix.Unshare(unix.CLONE_NEWNS); err != nil {
		return fmt.Errorf("taking a mount namespace: %w", err)
	}
	if err := unix.Mount("", "/", "", unix.MS_SLAVE|unix.MS_REC, ""); err != nil {
		return fmt.Errorf("keeping mounts to itself: %w", err)
	}
	below, err := mountsBelow("/sys/")
	if err != nil {
		return err
	}
	held := make([]*os.File, len(below))
	for i, dir := range below {
		fd, err := unix.Open(dir, unix.O_PATH|unix.O_CLOEXEC, 0)
		if err != nil {
			continue // hidden below another mount
		}
		held[i] = os.NewFile(uintptr(fd), dir)
		defer held[i].Close()
	}
	if err := unix.Mount("sysfs", "/sys", "sysfs", unix.MS_NOSUID|unix.MS_NODEV|unix.MS_NOEXEC, ""); err != nil {
		return fmt.Errorf("mounting the namespace's /sys: %w", err)
	}
	for i, f := range held {
		if f == nil {
			continue
		}
		from := fmt.Sprintf("/proc/self/task/%d/fd/%d", unix.Gettid(), f.Fd())
		if err := unix.Mount(from, below[i], "", unix.MS_BIND, ""); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("keeping %s: %w", below[i], err)
		}
	}
	return nil
}

// mountsBelow lists the mount points below a directory, in the order in which
// they were mounted (proc_pid_mountinfo(5), field 5).
func mountsBelow(dir string) ([]string, error) {
	text, err := os.ReadFile(fmt.Sprintf("/proc/self/task/%d/mountinfo", unix.Gettid()))
	if err != nil {
		return nil, fmt.Errorf("listing what is mounted: %w", err)
	}
	var found []string
	for line := range strings.Lines(string(text)) {
		if f := strings.Fields(line); len(f) > 4 && strings.HasPrefix(f[4], dir) && !slices.Contains(found, f[4]) {
			found = append(found, f[4])
		}
	}
	return found, nil
}

// InNetworkNamespace reports whether a setting belongs to its network namespace,
// and is gone where that is gone, rather than to the machine.
func InNetworkNamespace(s SettingSpec) bool {
	switch s.Kind {
	case KindSysctl:
		path, err := sysctlPath(s.Target)
		return err == nil && strings.HasPrefix(path, "/proc/sys/net/")
	case KindFile:
		path, err := settingPath(s.Target)
		return err == nil && (strings.HasPrefix(path, "/proc/sys/net/") || strings.HasPrefix(path, netDir))
	}
	return slices.Contains([]string{
		KindEthtool, KindRings, KindChannels, KindCoalesce, KindPause, KindMTU, KindVFs, KindQdisc, KindRPS, KindXPS}, s.Kind)
}
