package kv

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os/exec"
	"path/filepath"
	"runtime"
	"testing"
	"time"

	"bakeoff/load"
)

// The real servers. A test that needs one fails where it is missing, unless -short.

// process is a server that a test started.
type process struct {
	cmd  *exec.Cmd
	done chan struct{}
}

func start(t *testing.T, name string, args ...string) *process {
	t.Helper()
	if testing.Short() {
		t.Skipf("needs %s", name)
	}
	cmd := exec.Command(name, args...)
	cmd.Dir = t.TempDir()
	if err := cmd.Start(); err != nil {
		t.Fatalf("starting %s: %v (this test needs it)", name, err)
	}
	p := &process{cmd, make(chan struct{})}
	go func() {
		defer close(p.done)
		_ = cmd.Wait()
	}()
	t.Cleanup(p.kill)
	return p
}

func (p *process) kill() {
	_ = p.cmd.Process.Kill()
	<-p.done
}

func freePort(t *testing.T) int {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return l.Addr().(*net.TCPAddr).Port
}

// await waits until something listens.
func await(t *testing.T, network, address string) {
	t.Helper()
	deadline := time.Now().Add(15 * time.Second)
	for {
		conn, err := net.Dial(network, address)
		if err == nil {
			conn.Close()
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("nothing listens on %s: %v", address, err)
		}
		<-time.After(5 * time.Millisecond)
	}
}

// startRedis starts a redis-server without persistence and returns its TCP and
// Unix targets.
func startRedis(t *testing.T, args ...string) (p *process, tcp, unix string) {
	t.Helper()
	port, socket := freePort(t), filepath.Join(t.TempDir(), "redis.sock")
	args = append([]string{"--port", fmt.Sprint(port), "--bind", "127.0.0.1", "--unixsocket", socket, "--save", "", "--appendonly", "no"}, args...)
	p = start(t, "redis-server", args...)
	await(t, "unix", socket)
	return p, fmt.Sprintf("redis://127.0.0.1:%d", port), "redis+unix://" + socket
}

// startMemcached starts a memcached and returns its TCP target.
func startMemcached(t *testing.T, args ...string) (p *process, target string) {
	t.Helper()
	port := freePort(t)
	args = append([]string{"-p", fmt.Sprint(port), "-l", "127.0.0.1", "-U", "0", "-u", "nobody", "-m", "256"}, args...)
	p = start(t, "memcached", args...)
	await(t, "tcp", fmt.Sprintf("127.0.0.1:%d", port))
	return p, fmt.Sprintf("memcache://127.0.0.1:%d", port)
}

// startMemcachedUnix starts a memcached on a Unix socket.
func startMemcachedUnix(t *testing.T) string {
	t.Helper()
	socket := filepath.Join(t.TempDir(), "mc.sock")
	start(t, "memcached", "-s", socket, "-u", "root")
	await(t, "unix", socket)
	return "memcache+unix://" + socket
}

// tally is what came back.
type tally struct {
	done     map[string]uint64 // operations by kind/status
	items    uint64
	in, out  uint64
	errs     map[string]uint64
	problems []string
}

func statusName(s load.OpStatus) string {
	return []string{"ok", "miss", "failed", "timed out", "dropped"}[s]
}

func (ta *tally) add(c load.Completion) {
	kind := Engine{}.Describe().Kinds[c.Kind]
	ta.done[kind+" "+statusName(c.Status)] += uint64(c.Count)
	ta.items += uint64(c.Items)
	ta.in += c.BytesIn
	ta.out += c.BytesOut
	if c.Err != nil {
		ta.errs[c.Err.Error()] += uint64(c.Count)
	}
	if c.Status == load.Failed && c.Err == nil {
		ta.problems = append(ta.problems, "a failed operation without an error")
	}
}

func newClock(t testing.TB) *load.Clock {
	t.Helper()
	clock, err := load.NewMachine("/").NewClock(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return clock
}

func newSpec(t testing.TB, target string, params map[string]any) load.Spec {
	return load.Spec{
		Workload: "test", Part: load.Source, Engine: "kv", Target: target, Parameters: params, Seed: 1,
		Clock: newClock(t), Common: load.Common{OpTimeout: 2 * time.Second},
	}
}

// drive is a closed loop as the drivers make it: it fills every slot, then
// submits each completion again, until enough operations came back or for long
// enough. It checks what every Batcher promises.
func drive(t *testing.T, spec load.Spec, enough uint64, during func(done uint64) (stop bool)) *tally {
	t.Helper()
	session, err := Engine{}.Open(t.Context(), spec)
	if err != nil {
		t.Fatal(err)
	}
	defer session.Close()
	if _, err := session.Prepare(t.Context(), nil); err != nil {
		t.Fatal(err)
	}
	return driveSession(t, session, spec, enough, during)
}

func driveSession(t *testing.T, session load.Session, spec load.Spec, enough uint64, during func(done uint64) (stop bool)) *tally {
	t.Helper()
	runtime.LockOSThread() // as the drivers do: a ring belongs to its thread
	defer runtime.UnlockOSThread()
	shape := session.Shape()
	opened, err := session.Worker(t.Context(), 0, shape.Workers)
	if err != nil {
		t.Fatal(err)
	}
	defer opened.Close()
	w := opened.(load.Batcher)
	ta := &tally{done: map[string]uint64{}, errs: map[string]uint64{}}
	var ops []load.Op
	now := spec.Clock.Now()
	for range shape.InFlight {
		ops = append(ops, load.Op{Count: 1, Slot: -1, Sent: now, Intended: now})
	}
	inFlight, finished := uint64(0), uint64(0)
	var done []load.Completion
	deadline := time.Now().Add(30 * time.Second)
	for stop := false; !stop || inFlight > 0; {
		if time.Now().After(deadline) {
			t.Fatalf("%d operations still in flight after 30 s: %v", inFlight, ta)
		}
		if !stop && len(ops) > 0 {
			n, err := w.Submit(ops)
			if err != nil || n != len(ops) {
				t.Fatalf("took %d of %d operations: %v", n, len(ops), err)
			}
			for _, op := range ops {
				inFlight += uint64(op.Count)
			}
		}
		ops = ops[:0]
		done, err = w.Reap(done[:0], spec.Clock.Now()+int64(20*time.Millisecond))
		if err != nil {
			t.Fatal(err)
		}
		for _, c := range done {
			if uint64(c.Count) > inFlight {
				t.Fatalf("%d operations came back, only %d were in flight", c.Count, inFlight)
			}
			inFlight -= uint64(c.Count)
			finished += uint64(c.Count)
			ta.add(c)
			now := spec.Clock.Now()
			ops = append(ops, load.Op{Count: c.Count, Slot: c.Slot, Sent: now, Intended: now})
		}
		stop = stop || finished >= enough || during != nil && during(finished)
	}
	return ta
}

// expect checks the tally: only these outcomes, at least one of each.
func (ta *tally) expect(t *testing.T, outcomes ...string) {
	t.Helper()
	want := map[string]bool{}
	for _, o := range outcomes {
		want[o] = true
		if ta.done[o] == 0 {
			t.Errorf("no operation ended as %q: %v, %v", o, ta.done, ta.errs)
		}
	}
	for o, n := range ta.done {
		if !want[o] {
			t.Errorf("%d operations ended as %q: %v", n, o, ta.errs)
		}
	}
	for _, p := range ta.problems {
		t.Error(p)
	}
}

func openError(t *testing.T, spec load.Spec) error {
	t.Helper()
	session, err := Engine{}.Open(context.Background(), spec)
	if err == nil {
		session.Close()
		return errors.New("no error")
	}
	return err
}
