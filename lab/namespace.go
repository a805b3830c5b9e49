package lab

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"

	"bakeoff/host"
)

// A namespace of ours is known by its mark, which stands in two places: as the
// alias of its loopback interface, and in the file that its name is mounted on.
// So it is known as ours from before it has a name until after it has lost it.

// mark is the text that tells a lab's namespaces from everybody else's.
func mark(lab, token string) string { return "bakeoff lab " + lab + " " + token }

func namePath(name string) string { return filepath.Join(host.NamespaceDir, name) }

// addNamespace makes a network namespace with a name and a mark. One that is
// there already is left alone, which is an error.
func addNamespace(name, mark string) error {
	err := markName(name, mark)
	if errors.Is(err, fs.ErrExist) {
		return fmt.Errorf("there is a network namespace %s already, which is not of this lab: choose another name for the lab, or remove it (ip netns delete %s)", name, name)
	}
	if err != nil {
		return fmt.Errorf("naming network namespace %s: %w", name, err)
	}
	return host.OnThread(func() error {
		if err := unix.Unshare(unix.CLONE_NEWNET); err != nil {
			return fmt.Errorf("making network namespace %s: %w", name, err)
		}
		lo, err := netlink.LinkByName("lo")
		if err == nil {
			err = netlink.LinkSetAlias(lo, mark)
		}
		if err != nil {
			return fmt.Errorf("marking network namespace %s: %w", name, err)
		}
		if err := unix.Mount(fmt.Sprintf("/proc/self/task/%d/ns/net", unix.Gettid()), namePath(name), "", unix.MS_BIND, ""); err != nil {
			return fmt.Errorf("naming network namespace %s: %w", name, err)
		}
		return nil
	})
}

// markName makes the file that a name is mounted on. It appears with the mark in
// it, or not at all.
func markName(name, mark string) error {
	fd, err := unix.Open(host.NamespaceDir, unix.O_TMPFILE|unix.O_WRONLY|unix.O_CLOEXEC, 0o444)
	if err != nil {
		return err
	}
	f := os.NewFile(uintptr(fd), name)
	defer f.Close()
	if _, err := f.WriteString(mark + "\n"); err != nil {
		return err
	}
	return unix.Linkat(unix.AT_FDCWD, fmt.Sprintf("/proc/self/fd/%d", fd), unix.AT_FDCWD, namePath(name), unix.AT_SYMLINK_FOLLOW)
}

// nameState says whose a name is.
type nameState int

const (
	nameFree   nameState = iota // nothing has it
	nameOurs                    // a namespace with the mark
	nameEmpty                   // ours, with no namespace behind it
	nameOthers                  // somebody else's
)

// lookUp says whose a name is.
func lookUp(name, mark string) (nameState, error) {
	path := namePath(name)
	var at unix.Statfs_t
	err := unix.Statfs(path, &at)
	if errors.Is(err, fs.ErrNotExist) {
		return nameFree, nil
	}
	if err != nil {
		return nameOthers, fmt.Errorf("looking at network namespace %s: %w", name, err)
	}
	if at.Type != unix.NSFS_MAGIC {
		text, err := os.ReadFile(path)
		if err == nil && strings.TrimSpace(string(text)) == mark {
			return nameEmpty, nil
		}
		return nameOthers, nil
	}
	alias := ""
	err = host.InNamespace(name, func() error {
		lo, err := netlink.LinkByName("lo")
		if err == nil {
			alias = lo.Attrs().Alias
		}
		return err
	})
	if err != nil {
		return nameOthers, fmt.Errorf("looking at network namespace %s: %w", name, err)
	}
	if alias == mark {
		return nameOurs, nil
	}
	return nameOthers, nil
}

// removeNamespace removes a namespace with the mark, its links first, so that
// they are gone when this returns. What has another mark, or none, is left
// alone. It returns whether there was something to remove.
func removeNamespace(name, mark string) (bool, error) {
	for removed := false; ; removed = true {
		state, err := lookUp(name, mark)
		switch {
		case err != nil:
			return removed, err
		case state == nameFree || state == nameOthers:
			return removed, nil
		case state == nameOurs:
			if err := removeLinks(name); err != nil {
				return removed, err
			}
			if err := unix.Unmount(namePath(name), unix.MNT_DETACH); err != nil {
				return removed, fmt.Errorf("removing network namespace %s: %w", name, err)
			}
			// What its name was mounted on is left.
		case state == nameEmpty:
			if err := os.Remove(namePath(name)); err != nil {
				return removed, fmt.Errorf("removing network namespace %s: %w", name, err)
			}
			return true, nil
		}
	}
}

// removeLinks deletes the virtual links of a namespace: the kernel would do so
// too, but later. Both ends of a pair go at once.
func removeLinks(name string) error {
	return host.InNamespace(name, func() error {
		links, err := netlink.LinkList()
		if err != nil {
			return fmt.Errorf("listing the links of %s: %w", name, err)
		}
		for _, l := range links {
			if l.Type() != "veth" {
				continue
			}
			if err := netlink.LinkDel(l); err != nil && !errors.Is(err, unix.ENODEV) {
				return fmt.Errorf("removing link %s of %s: %w", l.Attrs().Name, name, err)
			}
		}
		return nil
	})
}

// inside lists the processes in a namespace, this one left out.
func inside(name string) ([]int, error) {
	var want unix.Stat_t
	if err := unix.Stat(namePath(name), &want); err != nil {
		return nil, nil // it is gone
	}
	entries, err := os.ReadDir("/proc")
	if err != nil {
		return nil, fmt.Errorf("looking for processes in network namespace %s: %w", name, err)
	}
	var pids []int
	for _, e := range entries {
		pid, err := strconv.Atoi(e.Name())
		if err != nil || pid == os.Getpid() {
			continue
		}
		var its unix.Stat_t
		if unix.Stat("/proc/"+e.Name()+"/ns/net", &its) == nil && its.Ino == want.Ino && its.Dev == want.Dev {
			pids = append(pids, pid)
		}
	}
	slices.Sort(pids)
	return pids, nil
}
