package main

import (
	"context"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strconv"

	"golang.org/x/sys/unix"

	"bakeoff/host"
	"bakeoff/internal/osenv"
	"bakeoff/plan"
)

// quickPlan is the built-in plan, placed on this machine: a free port, a socket
// of its own, and cores of their own for server and generator where there are
// two.
func quickPlan(ctx context.Context, env *osenv.Env, aa bool) (*plan.Plan, error) {
	topology, err := host.ReadTopology(ctx, env.Root)
	if err != nil {
		return nil, err
	}
	port, err := freePort(ctx)
	if err != nil {
		return nil, err
	}
	socket, err := socketPath()
	if err != nil {
		return nil, err
	}
	h := plan.QuickHost{TCP: "redis://127.0.0.1:" + strconv.Itoa(port), Unix: "redis+unix://" + socket}
	h.GeneratorCPUs, h.ServerCPUs = twoCores(topology)
	p, err := plan.Parse("quick", plan.Quick(h), catalog{})
	if err != nil {
		return nil, fmt.Errorf("the built-in plan: %w", err)
	}
	p.AA = p.AA || aa
	return p, nil
}

// socketPath is a path for a Unix socket in the first folder that can hold one:
// its path has at most 107 bytes (unix(7)).
func socketPath() (string, error) {
	folders := []string{os.TempDir(), "/tmp", "/dev/shm"}
	for _, dir := range folders {
		path := filepath.Join(dir, fmt.Sprintf("bakeoff-quick-%d.sock", os.Getpid()))
		if filepath.IsAbs(path) && len(path) <= 107 && unix.Access(dir, unix.W_OK|unix.X_OK) == nil && !inProc(dir) {
			return path, nil
		}
	}
	return "", fmt.Errorf("no folder for a Unix socket among %v: set TMPDIR to one that can be written and has a short path", folders)
}

// inProc tells file systems in which access(2) allows what cannot be done.
func inProc(dir string) bool {
	var s unix.Statfs_t
	return unix.Statfs(dir, &s) == nil && (s.Type == unix.PROC_SUPER_MAGIC || s.Type == unix.SYSFS_MAGIC)
}

// freePort finds a port that nobody listens on now.
func freePort(ctx context.Context) (int, error) {
	var lc net.ListenConfig
	l, err := lc.Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return 0, fmt.Errorf("looking for a free port: %w", err)
	}
	port := l.Addr().(*net.TCPAddr).Port
	return port, l.Close()
}

// twoCores picks a processor for the generator and one on another core for the
// server; on another thread of the same core where there is only one core, and
// none where there is only one processor.
func twoCores(t host.Topology) (generator, server string) {
	if len(t.Allowed) < 2 {
		return "", ""
	}
	first := t.Allowed[0]
	second := t.Allowed[1]
	for _, n := range t.Allowed[1:] {
		if len(t.Siblings[first].And(host.CPUs{n})) == 0 {
			second = n
			break
		}
	}
	return strconv.Itoa(first), strconv.Itoa(second)
}
