package telemetry

import (
	"slices"

	"bakeoff/record"
)

// Metrics returns every metric that a collector of this product can give, in
// the order of the collectors. Its instances are named in each metric's Doc.
func Metrics() []Metric {
	var all []Metric
	for _, group := range [][]Metric{
		cpuMetrics(), frequencyMetrics(), memoryMetrics(), diskMetrics(), nicMetrics(), softnetMetrics(),
		interruptMetrics(), pressureMetrics(), raplMetrics(), throttleMetrics(),
		processMetrics(), clockMetrics(), PowerMetrics(),
	} {
		all = append(all, group...)
	}
	return all
}

// counter and gauge keep the tables below readable.
func counter(name, unit, doc string) Metric {
	return Metric{Name: name, Unit: unit, Kind: record.Counter64, Doc: doc}
}

func gauge(name, unit, doc string) Metric {
	return Metric{Name: name, Unit: unit, Kind: record.Gauge, Doc: doc}
}

func cpuMetrics() []Metric {
	return []Metric{
		counter("cpu.user", "s", `CPU time in user mode, guests included; instance "" is the whole host, "cpu0" one core`),
		counter("cpu.nice", "s", "CPU time in user mode at low priority; instances as cpu.user"),
		counter("cpu.system", "s", "CPU time in kernel mode, without interrupts; instances as cpu.user"),
		counter("cpu.idle", "s", "idle time without outstanding disk I/O; instances as cpu.user"),
		counter("cpu.iowait", "s", "idle time with outstanding disk I/O, a hint at best; instances as cpu.user"),
		counter("cpu.irq", "s", "CPU time in hardware interrupts; instances as cpu.user"),
		counter("cpu.softirq", "s", "CPU time in software interrupts; instances as cpu.user"),
		counter("cpu.steal", "s", "time that a hypervisor gave to others while this host wanted to run; instances as cpu.user"),
		counter("cpu.guest", "s", "the part of cpu.user spent in guests; instances as cpu.user"),
		counter("cpu.guest_nice", "s", "the part of cpu.nice spent in guests; instances as cpu.user"),
		gauge("cpu.online", "1", "cores online"),
		counter("cpu.switches", "1", "context switches of the host"),
		counter("cpu.forks", "1", "processes and threads created on the host"),
		gauge("cpu.runnable", "1", "threads running or ready to run"),
		gauge("cpu.blocked", "1", "threads blocked on I/O"),
	}
}

func frequencyMetrics() []Metric {
	return []Metric{
		gauge("cpu.frequency", "Hz", `present clock of a core as the kernel states it; instance "cpu0"`),
	}
}

func memoryMetrics() []Metric {
	return []Metric{
		gauge("mem.total", "B", "memory the kernel manages"),
		gauge("mem.free", "B", "memory used for nothing"),
		gauge("mem.available", "B", "memory that new work could have without swapping, as the kernel estimates"),
		gauge("mem.buffers", "B", "buffers of block devices"),
		gauge("mem.cached", "B", "page cache, shared memory included"),
		gauge("mem.anon", "B", "anonymous pages mapped by processes"),
		gauge("mem.shmem", "B", "shared memory and tmpfs"),
		gauge("mem.slab", "B", "kernel slabs"),
		gauge("mem.dirty", "B", "pages waiting to be written back"),
		gauge("mem.writeback", "B", "pages being written back"),
		gauge("mem.hugepages.total", "1", "huge pages reserved, of the default size"),
		gauge("mem.hugepages.free", "1", "huge pages reserved and not in use"),
		counter("mem.faults.major", "1", "page faults that had to wait for a disk"),
		counter("mem.oom_kills", "1", "processes killed for want of memory"),
		gauge("swap.total", "B", "swap space"),
		gauge("swap.free", "B", "swap space not in use"),
		counter("swap.in", "B", "bytes read back from swap"),
		counter("swap.out", "B", "bytes written to swap"),
	}
}

// diskFamilies are the prefixes of the disk metrics. Adding one family over its
// instances counts nothing twice; adding two families does.
func diskFamilies() []string { return []string{"disk", "virtual", "partition"} }

func diskMetrics() []Metric {
	about := map[string]string{
		"disk":      `of a whole device; instance "sda", "nvme0n1"`,
		"virtual":   `of a device made from others or from memory (dm, md, loop, zram); instance "dm-0"`,
		"partition": `of a partition, counted in its disk too; instance "sda1"`,
	}
	var all []Metric
	for _, family := range diskFamilies() {
		of := about[family]
		for _, d := range []struct{ verb, noun string }{{"read", "reads"}, {"write", "writes"}, {"discard", "discards"}} {
			all = append(all,
				counter(family+"."+d.verb+".ops", "1", d.noun+" completed "+of),
				counter(family+"."+d.verb+".merges", "1", d.noun+" merged with a neighbour before they were queued "+of),
				counter(family+"."+d.verb+".bytes", "B", "bytes in completed "+d.noun+" "+of),
				counter(family+"."+d.verb+".time", "s", "time that "+d.noun+" took from queueing to completion, added over all of them "+of))
		}
		all = append(all,
			counter(family+".flush.ops", "1", "flushes completed "+of),
			counter(family+".flush.time", "s", "time that flushes took, added over all of them "+of),
			gauge(family+".in_flight", "1", "I/Os issued and not completed "+of),
			counter(family+".busy", "s", "time with at least one I/O in flight "+of),
			counter(family+".queue.time", "s", "time weighted by the I/Os in flight; its rate is the mean queue length "+of))
	}
	return all
}

// nicFamilies are the prefixes of the interface metrics, as diskFamilies.
func nicFamilies() []string { return []string{"nic", "vnic"} }

func nicMetrics() []Metric {
	about := map[string]string{
		"nic":  `of an interface with hardware behind it; instance "eth0"`,
		"vnic": `of an interface without hardware of its own (lo, bond, bridge, VLAN, veth); instance "lo"`,
	}
	var all []Metric
	for _, family := range nicFamilies() {
		of := about[family]
		for _, d := range []struct{ short, long string }{{"rx", "received"}, {"tx", "sent"}} {
			p := family + "." + d.short + "."
			all = append(all,
				counter(p+"bytes", "B", "bytes "+d.long+" "+of),
				counter(p+"packets", "1", "packets "+d.long+" "+of),
				counter(p+"errors", "1", "packets not "+d.long+" for an error "+of),
				counter(p+"drops", "1", "packets dropped, not "+d.long+" (missed ones included) "+of),
				counter(p+"fifo", "1", "FIFO errors, packets "+d.long+" "+of))
		}
		all = append(all,
			counter(family+".rx.frame", "1", "framing errors "+of),
			counter(family+".rx.multicast", "1", "multicast packets received "+of),
			counter(family+".tx.collisions", "1", "collisions "+of),
			counter(family+".tx.carrier", "1", "carrier errors "+of))
	}
	return all
}

func softnetMetrics() []Metric {
	return []Metric{
		counter("softnet.processed", "1", `packets that a core's network softirq processed; instance "cpu0"`),
		counter("softnet.dropped", "1", `packets dropped because a core's backlog was full; instance "cpu0"`),
		counter("softnet.time_squeeze", "1", `times a core's network softirq ran out of its budget with work left; instance "cpu0"`),
	}
}

func interruptMetrics() []Metric {
	return []Metric{
		counter("irq.count", "1", `interrupts of one device or kind, added over cores; instance is the device as /proc/interrupts names it ("eth0-TxRx-0") or the kind ("LOC")`),
		counter("irq.cpu", "1", `interrupts that one core took, added over devices and kinds (a few overlap, as NMI and PMI); instance "cpu0"`),
		counter("softirq.count", "1", `software interrupts of one kind, added over cores; instance "NET_RX"`),
	}
}

func pressureMetrics() []Metric {
	return []Metric{
		counter("psi.cpu.some", "s", "time in which at least one task waited for a CPU"),
		counter("psi.memory.some", "s", "time in which at least one task waited for memory"),
		counter("psi.memory.full", "s", "time in which all tasks that had work waited for memory"),
		counter("psi.io.some", "s", "time in which at least one task waited for I/O"),
		counter("psi.io.full", "s", "time in which all tasks that had work waited for I/O"),
		counter("psi.irq.full", "s", "time in which interrupts kept tasks from running"),
	}
}

func raplMetrics() []Metric {
	return []Metric{
		counter("rapl.energy", "J", `energy of one RAPL domain, wraps taken out; instance "package-0" (holds its core and uncore, not its dram), "package-0/core", "package-0/dram", "psys" (holds packages): only packages and drams may be added`),
	}
}

func throttleMetrics() []Metric {
	return []Metric{
		counter("throttle.core", "1", `times a core was slowed down for heat; instance "cpu0"`),
		counter("throttle.core.time", "s", `time a core was slowed down for heat; instance "cpu0"`),
		counter("throttle.package", "1", `times a package was slowed down for heat; instance "package-0"`),
		counter("throttle.package.time", "s", `time a package was slowed down for heat; instance "package-0"`),
	}
}

func processMetrics() []Metric {
	return slices.Concat(serviceMetrics(), selfMetrics(), neighbourMetrics())
}

func serviceMetrics() []Metric {
	const of = `; instance "redis" is a service with all its processes and their children, ended ones included, "redis/1234" one process that runs`
	return []Metric{
		counter("process.cpu.user", "s", "CPU time in user mode"+of),
		counter("process.cpu.system", "s", "CPU time in kernel mode"+of),
		gauge("process.rss", "B", "resident memory, pages shared between processes counted in each"+of),
		gauge("process.threads", "1", "threads"+of),
		counter("process.switches.voluntary", "1", "times a thread gave up its CPU to wait; absent above 256 threads"+of),
		counter("process.switches.involuntary", "1", "times a thread was taken off its CPU; absent above 256 threads"+of),
		counter("process.faults.major", "1", "page faults that had to wait for a disk"+of),
		counter("process.io.read", "B", "bytes fetched from storage"+of),
		counter("process.io.write", "B", "bytes sent to storage"+of),
		gauge("process.count", "1", `processes that run; instance is the service`),
		counter("process.started", "1", `processes seen to start since sampling began, so a restart shows; instance is the service`),
	}
}

func selfMetrics() []Metric {
	return []Metric{
		counter("self.cpu.user", "s", "CPU time in user mode of the bakeoff process itself, without its children"),
		counter("self.cpu.system", "s", "CPU time in kernel mode of the bakeoff process itself, without its children"),
		gauge("self.rss", "B", "resident memory of the bakeoff process itself"),
		gauge("self.threads", "1", "threads of the bakeoff process itself"),
		counter("self.children.cpu", "s", "CPU time since sampling began of processes that bakeoff started, other than named services, such as the commands of an exec workload"),
	}
}

func neighbourMetrics() []Metric {
	return []Metric{
		counter("neighbour.cpu", "s", `CPU time since sampling began of processes that are neither a named service nor bakeoff; instance "" is all of them, else the command's name ("(ended)" for processes too short-lived to be seen), given once it has used 0.05 s`),
		counter("neighbour.unattributed", "s", "CPU time since sampling began, in user and kernel mode, that no visible process accounts for: kernel threads, and processes outside this PID namespace; a lower bound"),
	}
}

func clockMetrics() []Metric {
	return []Metric{
		gauge("clock.offset", "s", "wall clock less monotonic clock, 0 at the first sample: a jump is a step of the wall clock, a slope its slewing"),
		gauge("clock.synchronised", "1", "1 where the kernel says that its clock is disciplined, 0 where it is not"),
		gauge("clock.error.max", "s", "largest error of the wall clock, as the time daemon states it; absent where not synchronised"),
		gauge("clock.error.estimated", "s", "error of the wall clock that the time daemon estimates; absent where not synchronised"),
	}
}

// PowerMetrics returns the metrics that power sources give.
func PowerMetrics() []Metric {
	return []Metric{
		gauge("power", "W", "electrical power that a source reports for all it measures; instance is the source's name. Sources overlap (a wall meter and a BMC see the same watts): never add them"),
		counter("energy", "J", "energy that a source has counted, wraps and resets taken out; instance is the source's name"),
		gauge("power.part", "W", `a part of what its source reports in "power", never to be added to it; instance "source/part"`),
	}
}
