package telemetry

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"testing"

	"pgregory.net/rapid"
)

// proc is one process of a tree that a test writes.
type proc struct {
	pid, ppid, start  int
	comm              string
	user, waited, rss int
	threads           int
	flags             int
}

func (tr tree) proc(p proc) {
	tr.write(fmt.Sprintf("proc/%d/stat", p.pid), fmt.Sprintf("%d (%s) S %d 1 1 0 -1 %d 0 0 0 0 %d 0 %d 0 20 0 %d 0 %d 0 %d 0 0\n",
		p.pid, p.comm, p.ppid, p.flags, p.user, p.waited, max(p.threads, 1), p.start, p.rss))
}

func (tr tree) end(pid int) { tr.remove(fmt.Sprintf("proc/%d", pid)) }

func (tr tree) hostTicks(user int) {
	tr.write("proc/stat", fmt.Sprintf("cpu %d 0 0 0 0 0 0 0\n", user))
}

func TestServiceRestart(t *testing.T) {
	tr := emptyTree(t)
	tr.hostTicks(0)
	tr.proc(proc{pid: 50, start: 1, comm: "bakeoff"})
	tr.proc(proc{pid: 60, start: 10, comm: "redis-server", user: 500, rss: 10})
	c := newProcess(tr.dir, []Process{{Name: "redis", Command: "redis-server"}}, 50, 4096)
	wantValues(t, collect(t, c), map[string]any{
		"process.cpu.user redis": 5, "process.count redis": 1, "process.started redis": 0, "process.rss redis": 40960, "process.cpu.user redis/60": 5,
		"process.io.read redis": nil, "process.switches.voluntary redis": nil,
	})
	tr.proc(proc{pid: 60, start: 10, comm: "redis-server", user: 900})
	collect(t, c)
	tr.end(60)
	wantValues(t, collect(t, c), map[string]any{"process.cpu.user redis": 9, "process.count redis": 0, "process.rss redis": nil, "process.cpu.user redis/60": nil})
	// It comes back with another PID and begins to count at 0.
	tr.proc(proc{pid: 61, start: 20, comm: "redis-server", user: 30})
	wantValues(t, collect(t, c), map[string]any{"process.cpu.user redis": 9.3, "process.count redis": 1, "process.started redis": 1})
	// And once more with the PID it had first.
	tr.end(61)
	tr.proc(proc{pid: 60, start: 30, comm: "redis-server", user: 1})
	wantValues(t, collect(t, c), map[string]any{"process.cpu.user redis": 9.31, "process.started redis": 2})
}

func TestGivenPIDUsedAgainIsSomebodyElses(t *testing.T) {
	tr := emptyTree(t)
	tr.hostTicks(0)
	tr.proc(proc{pid: 50, start: 1, comm: "bakeoff"})
	tr.proc(proc{pid: 60, start: 10, comm: "server", user: 500})
	c := newProcess(tr.dir, []Process{{Name: "db", PIDs: []int{60}}}, 50, 4096)
	collect(t, c)
	tr.proc(proc{pid: 60, start: 99, comm: "backup", user: 7})
	wantValues(t, collect(t, c), map[string]any{"process.cpu.user db": 5, "process.count db": 0, "neighbour.cpu": 0.07, "neighbour.cpu backup": 0.07})
}

func TestWhoseAProcessIs(t *testing.T) {
	tr := emptyTree(t)
	tr.hostTicks(10_000)
	for _, p := range []proc{
		{pid: 1, start: 0, comm: "init", user: 100},
		{pid: 2, start: 0, comm: "kthreadd", flags: 0x200000, user: 999},
		{pid: 50, ppid: 1, start: 5, comm: "bakeoff", user: 40},
		{pid: 60, ppid: 50, start: 10, comm: "postgres", user: 100}, // the service, started by bakeoff
		{pid: 61, ppid: 60, start: 11, comm: "postgres", user: 10},  // its child
		{pid: 62, ppid: 61, start: 12, comm: "postgres", user: 1},   // and the child's
		{pid: 70, ppid: 50, start: 13, comm: "pgbench", user: 2},    // the generator, started by bakeoff
		{pid: 80, ppid: 1, start: 3, comm: "cron", user: 4},
	} {
		tr.proc(p)
	}
	c := newProcess(tr.dir, []Process{{Name: "db", PIDs: []int{60}}}, 50, 4096)
	wantValues(t, collect(t, c), map[string]any{
		"process.cpu.user db": 1.11, "process.count db": 3, "self.cpu.user": 0.4, "self.children.cpu": 0, "neighbour.cpu": 0, "neighbour.unattributed": 0,
	})
	tr.hostTicks(10_400)
	tr.proc(proc{pid: 50, ppid: 1, start: 5, comm: "bakeoff", user: 45})                     // 5
	tr.proc(proc{pid: 62, ppid: 1, start: 12, comm: "postgres", user: 101})                  // 100: its parent ended
	tr.end(61)                                                                               //
	tr.proc(proc{pid: 60, ppid: 50, start: 10, comm: "postgres", user: 100, waited: 25})     // 15 more of pid 61, in its last moments
	tr.proc(proc{pid: 70, ppid: 50, start: 13, comm: "pgbench", user: 52})                   // 50
	tr.proc(proc{pid: 81, ppid: 80, start: 90, comm: "updatedb", user: 30})                  // 30
	tr.proc(proc{pid: 80, ppid: 1, start: 3, comm: "cron", user: 4, waited: 20})             // 20 of short-lived ones
	tr.proc(proc{pid: 2, start: 0, comm: "kthreadd", flags: 0x200000, user: 1_000_000})      // not read
	tr.proc(proc{pid: 3, ppid: 2, start: 95, comm: "kworker/0:1", flags: 0x200000, user: 9}) // not read
	wantValues(t, collect(t, c), map[string]any{
		"process.cpu.user db": 2.26, "process.count db": 2, "self.cpu.user": 0.45, "self.children.cpu": 0.5,
		"neighbour.cpu": 0.5, "neighbour.cpu updatedb": 0.3, "neighbour.cpu (ended)": 0.2, "neighbour.cpu cron": nil,
		"neighbour.unattributed": 4.0 - 0.05 - 1.15 - 0.5 - 0.5, // 1.8
	})
}

func TestSwitchesOfAllThreads(t *testing.T) {
	tr := emptyTree(t)
	tr.hostTicks(0)
	tr.proc(proc{pid: 50, start: 1, comm: "bakeoff"})
	tr.proc(proc{pid: 60, start: 10, comm: "mysqld", threads: 3})
	thread := func(tid, voluntary, involuntary int) {
		tr.write(fmt.Sprintf("proc/60/task/%d/status", tid), fmt.Sprintf("Name:\tx\nvoluntary_ctxt_switches:\t%d\nnonvoluntary_ctxt_switches:\t%d\n", voluntary, involuntary))
	}
	thread(60, 10, 1)
	thread(61, 20, 2)
	thread(62, 40, 4)
	c := newProcess(tr.dir, []Process{{Name: "mysql", PIDs: []int{60}}}, 50, 4096)
	wantValues(t, collect(t, c), map[string]any{"process.switches.voluntary mysql": 70, "process.switches.involuntary mysql": 7})
	tr.remove("proc/60/task/62") // ended
	thread(61, 1, 0)             // ended, and its number used again
	thread(60, 11, 1)
	wantValues(t, collect(t, c), map[string]any{"process.switches.voluntary mysql": 72, "process.switches.involuntary mysql": 7})
	tr.proc(proc{pid: 60, start: 10, comm: "mysqld", threads: maxSwitchThreads + 1})
	wantValues(t, collect(t, c), map[string]any{"process.switches.voluntary mysql": nil, "process.cpu.user mysql": 0})
	tr.end(60)
	wantValues(t, collect(t, c), map[string]any{"process.switches.voluntary mysql": 72})
}

// simProcess is a process of the model below.
type simProcess struct {
	id          procID
	parent      *simProcess
	own, waited uint64
}

// TestGroupAgainstModel forks, works, ends and reaps at random. The sum must
// never fall, never exceed what was really used, and be exact while every
// process that ends is waited for by a parent in the group.
func TestGroupAgainstModel(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		reaped := rapid.Bool().Draw(t, "all are waited for")
		root := &simProcess{id: procID{1, 1}}
		live := []*simProcess{root}
		var truth, last uint64
		next := 2
		var g procGroup
		sample := func() {
			now := make(map[procID]usage)
			for _, p := range live {
				var u usage
				u.set(useUser, p.own, p.waited)
				now[p.id] = u
			}
			g.update(now)
			got, _ := g.total(useUser)
			if got < last || got > truth || reaped && got != truth {
				t.Fatalf("sum %d after %d, truth %d", got, last, truth)
			}
			last = got
		}
		sample()
		for range rapid.IntRange(0, 60).Draw(t, "steps") {
			p := live[rapid.IntRange(0, len(live)-1).Draw(t, "who")]
			switch rapid.IntRange(0, 3).Draw(t, "what") {
			case 0:
				n := rapid.Uint64Range(0, 50).Draw(t, "work")
				p.own += n
				truth += n
			case 1:
				live = append(live, &simProcess{id: procID{next, uint64(next)}, parent: p})
				next++
			case 2:
				if p == root {
					continue
				}
				live = endSim(live, p, reaped || rapid.Bool().Draw(t, "waited for"))
			case 3:
				sample()
			}
		}
		sample()
	})
}

// endSim ends a process; its children go to its parent.
func endSim(live []*simProcess, p *simProcess, waited bool) []*simProcess {
	if waited {
		p.parent.waited += p.own + p.waited
	}
	var rest []*simProcess
	for _, q := range live {
		if q.parent == p {
			q.parent = p.parent
		}
		if q != p {
			rest = append(rest, q)
		}
	}
	return rest
}

// TestOwnProcess reads this process and a child of its own from the real /proc.
func TestOwnProcess(t *testing.T) {
	child := exec.Command("sleep", "60")
	if err := child.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() {
		child.Process.Kill()
		child.Wait()
	}()
	c := newProcess("/", []Process{{Name: "sleeper", PIDs: []int{child.Process.Pid}}}, os.Getpid(), os.Getpagesize())
	if p := c.Probe(context.Background()); p.Support != Supported {
		t.Fatalf("probe says %s: %s", p.Support, p.Reason)
	}
	got := collect(t, c)
	wantValues(t, got, map[string]any{"process.count sleeper": 1, "process.threads sleeper": 1})
	if got["self.rss"] <= 0 || got["self.threads"] <= 0 {
		t.Errorf("own process: rss %v, threads %v", got["self.rss"], got["self.threads"])
	}
	child.Process.Kill()
	child.Wait()
	wantValues(t, collect(t, c), map[string]any{"process.count sleeper": 0})
}
