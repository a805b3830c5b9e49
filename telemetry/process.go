package telemetry

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"path/filepath"
	"slices"
	"strconv"
)

// A Process names a service whose processes are watched: those with the PIDs
// given and, where Command is given, all whose command has that name; with
// their children, and the children's.
type Process struct {
	Name    string // of the service, as "redis": the instance of its readings
	PIDs    []int
	Command string // as ps -o comm shows it; compared up to 15 bytes
}

// processCollector reads all processes: those of the named services, bakeoff's
// own, and everybody else's.
type processCollector struct {
	source
	root     string
	services []Process
	self     int
	pageSize int
	scanner  *procScanner

	roots    map[procID]string // of the PIDs that were given, once seen
	bound    map[int]bool      // PIDs that were given and seen; used again, they are others'
	owners   map[procID]string // of the processes of the last sample
	groups   map[string]*procGroup
	threads  map[procID]*threadMemory
	neighbor neighbours
}

// The owners of processes that belong to no service. Services cannot have
// these names: a blank is not allowed in a plan's names.
const (
	ownerNone     = ""
	ownerSelf     = " self"
	ownerChildren = " children"
)

func newProcess(root string, services []Process, self, pageSize int) *processCollector {
	c := &processCollector{
		source: newSource(processMetrics()), root: root, services: services, self: self, pageSize: pageSize,
		scanner: newProcScanner(root), roots: make(map[procID]string), bound: make(map[int]bool),
		groups:  map[string]*procGroup{ownerNone: {}, ownerChildren: {}},
		threads: make(map[procID]*threadMemory),
	}
	for _, s := range services {
		c.groups[s.Name] = &procGroup{}
	}
	return c
}

func (c *processCollector) Describe() Description {
	return Description{
		Name: "process", Summary: "CPU, memory, context switches and I/O of the named services; bakeoff's own cost; and what everybody else on the host used",
		Source: "/proc/PID/stat, io and task/*/status (proc(5)), CPU in ticks of 10 ms; kernel threads are not read", Metrics: processMetrics(),
	}
}

func (c *processCollector) Probe(context.Context) Probed {
	return probeFile(c.root, "proc", strconv.Itoa(c.self), "stat")
}

func (c *processCollector) Collect(ctx context.Context, dst []Sample) ([]Sample, error) {
	procs, err := c.scanner.scan()
	if err != nil {
		return dst, fmt.Errorf("scanning %s: %w", filepath.Join(c.root, "proc"), err)
	}
	slices.SortFunc(procs, func(a, b procStat) int { return cmp.Compare(a.pid, b.pid) })
	c.owners = c.classify(procs)
	maps.DeleteFunc(c.threads, func(id procID, _ *threadMemory) bool { _, runs := c.owners[id]; return !runs })
	members := make(map[string][]procStat)
	for _, p := range procs {
		owner := c.owners[p.id()]
		members[owner] = append(members[owner], p)
	}
	for _, s := range c.services {
		if dst, err = c.service(ctx, dst, s.Name, members[s.Name]); err != nil {
			return dst, err
		}
	}
	c.groups[ownerChildren].update(plainUsage(members[ownerChildren]))
	c.groups[ownerNone].update(plainUsage(members[ownerNone]))
	dst = c.ownCost(dst, members[ownerSelf])
	return c.everybodyElse(dst, members)
}

// classify says whose each process is. A process stays with the service it was
// first seen in, also when its parent ends.
func (c *processCollector) classify(procs []procStat) map[procID]string {
	byPID := make(map[int]*procStat, len(procs))
	for i := range procs {
		byPID[procs[i].pid] = &procs[i]
	}
	c.bindRoots(byPID)
	owners := make(map[procID]string, len(procs))
	var ownerOf func(p *procStat, depth int) string
	ownerOf = func(p *procStat, depth int) string {
		if owner, done := owners[p.id()]; done {
			return owner
		}
		owner := c.directOwner(p)
		// A parent that started later is another process with a PID used again.
		if parent := byPID[p.ppid]; owner == ownerNone && parent != nil && depth < len(procs) && parent.start <= p.start {
			if owner = ownerOf(parent, depth+1); owner == ownerSelf {
				owner = ownerChildren
			}
		}
		owners[p.id()] = owner
		return owner
	}
	for i := range procs {
		ownerOf(&procs[i], 0)
	}
	return owners
}

// bindRoots ties the PIDs that were given to the processes that have them now.
func (c *processCollector) bindRoots(byPID map[int]*procStat) {
	for _, s := range c.services {
		for _, pid := range s.PIDs {
			if p := byPID[pid]; p != nil && !c.bound[pid] {
				c.bound[pid] = true
				c.roots[p.id()] = s.Name
			}
		}
	}
}

// directOwner is the owner that a process has whatever its parent.
func (c *processCollector) directOwner(p *procStat) string {
	before := c.owners[p.id()]
	if before != ownerNone && before != ownerChildren {
		return before
	}
	if name, ok := c.roots[p.id()]; ok {
		return name
	}
	const commBytes = 15 // TASK_COMM_LEN less its final 0
	for _, s := range c.services {
		if s.Command != "" && p.comm == s.Command[:min(len(s.Command), commBytes)] && p.pid != c.self {
			return s.Name
		}
	}
	if p.pid == c.self {
		return ownerSelf
	}
	return before
}

// plainUsage is what processes used, by their stat files alone.
func plainUsage(procs []procStat) map[procID]usage {
	all := make(map[procID]usage, len(procs))
	for i := range procs {
		p := &procs[i]
		var u usage
		u.set(useUser, p.user, p.waitedUser)
		u.set(useSystem, p.system, p.waitedSys)
		u.set(useFaults, p.faults, p.waitedFaults)
		all[p.id()] = u
	}
	return all
}

// service appends one service's readings, and those of each of its processes.
func (c *processCollector) service(ctx context.Context, dst []Sample, name string, procs []procStat) ([]Sample, error) {
	group := c.groups[name]
	all := plainUsage(procs)
	var rss, threads uint64
	for _, p := range procs {
		if err := ctx.Err(); err != nil {
			return dst, err
		}
		u := all[p.id()]
		if err := c.detail(&u, p); err != nil {
			return dst, err
		}
		all[p.id()] = u
		instance := name + "/" + strconv.Itoa(p.pid)
		for k, counter := range usageMetrics {
			if u.known[k] {
				dst = c.value(dst, counter.metric, instance, scaled(u.own[k], counter.unit))
			}
		}
		dst = c.value(dst, "process.rss", instance, float64(p.rss*uint64(c.pageSize)))
		dst = c.value(dst, "process.threads", instance, float64(p.threads))
		rss += p.rss
		threads += p.threads
	}
	group.update(all)
	for k, counter := range usageMetrics {
		if sum, known := group.total(k); known {
			dst = c.value(dst, counter.metric, name, scaled(sum, counter.unit))
		}
	}
	if len(procs) > 0 {
		dst = c.value(dst, "process.rss", name, float64(rss*uint64(c.pageSize)))
		dst = c.value(dst, "process.threads", name, float64(threads))
	}
	dst = c.value(dst, "process.count", name, float64(len(procs)))
	return c.value(dst, "process.started", name, float64(group.started)), nil
}

// usageMetrics are the metrics of a usage's counters, with the unit of one.
var usageMetrics = [usageCounters]struct {
	metric string
	unit   float64
}{
	useUser:        {"process.cpu.user", userTick},
	useSystem:      {"process.cpu.system", userTick},
	useFaults:      {"process.faults.major", 1},
	useRead:        {"process.io.read", 1},
	useWrite:       {"process.io.write", 1},
	useVoluntary:   {"process.switches.voluntary", 1},
	useInvoluntary: {"process.switches.involuntary", 1},
}

// detail reads what only a service's processes are read for. What may not be
// read, or is gone by now, stays unknown.
func (c *processCollector) detail(u *usage, p procStat) error {
	io, err := c.scanner.readIO(p.pid)
	switch {
	case err == nil:
		u.set(useRead, io.read, 0)
		u.set(useWrite, io.write, 0)
	case !gone(err) && !errors.Is(err, fs.ErrPermission):
		return err
	}
	if p.threads > maxSwitchThreads {
		return nil
	}
	threads, err := c.scanner.readSwitches(p.pid)
	if gone(err) {
		return nil
	}
	if err != nil {
		return err
	}
	memory := c.threads[p.id()]
	if memory == nil {
		memory = &threadMemory{}
		c.threads[p.id()] = memory
	}
	sum := memory.update(threads)
	u.set(useVoluntary, sum.voluntary, 0)
	u.set(useInvoluntary, sum.involuntary, 0)
	return nil
}

// threadMemory keeps the context switches of threads that ended.
type threadMemory struct {
	last map[int]switches
	kept switches
}

func (m *threadMemory) update(now map[int]switches) switches {
	for tid, before := range m.last {
		// Fewer than before: another thread with the number of one that ended.
		if s, runs := now[tid]; !runs || s.voluntary < before.voluntary || s.involuntary < before.involuntary {
			m.kept.voluntary += before.voluntary
			m.kept.involuntary += before.involuntary
		}
	}
	m.last = now
	sum := m.kept
	for _, s := range now {
		sum.voluntary += s.voluntary
		sum.involuntary += s.involuntary
	}
	return sum
}

// ownCost appends what bakeoff itself and its children cost.
func (c *processCollector) ownCost(dst []Sample, self []procStat) []Sample {
	for _, p := range self {
		dst = c.value(dst, "self.cpu.user", "", scaled(p.user, userTick))
		dst = c.value(dst, "self.cpu.system", "", scaled(p.system, userTick))
		dst = c.value(dst, "self.rss", "", float64(p.rss*uint64(c.pageSize)))
		dst = c.value(dst, "self.threads", "", float64(p.threads))
	}
	return dst
}
