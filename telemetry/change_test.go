package telemetry

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

// TestHotplug takes a core and a disk away between samples and brings them back.
func TestHotplug(t *testing.T) {
	tr := emptyTree(t)
	stat := func(total int, cores ...string) string {
		return fmt.Sprintf("cpu %d 0 0 1000 0 0 0 0 0 0\n%s", total, strings.Join(cores, ""))
	}
	core := func(n, user int) string { return fmt.Sprintf("cpu%d %d 0 0 500 0 0 0 0 0 0\n", n, user) }
	disk := func(name string, reads int) string {
		return fmt.Sprintf(" 8 0 %s %d 0 %d 5 0 0 0 0 0 5 5\n", name, reads, 8*reads)
	}
	cpu, disks := newCPU(tr.dir), newDisk(tr.dir)
	steps := []struct {
		stat, disks string
		want        map[string]any
	}{
		{stat(3000, core(0, 1000), core(1, 2000)), disk("sda", 100) + disk("sdb", 50), map[string]any{
			"cpu.user": 30, "cpu.user cpu1": 20, "cpu.online": 2, "disk.read.ops sdb": 50, "disk.read.bytes sda": 100 * 8 * 512}},
		{stat(3100, core(0, 1100)), disk("sda", 110), map[string]any{
			"cpu.user": 31, "cpu.user cpu0": 11, "cpu.user cpu1": nil, "cpu.online": 1, "disk.read.ops sdb": nil, "disk.read.ops sda": 110}},
		// The core's times begin again at 0, and so does the new disk.
		{stat(3200, core(0, 1200), core(1, 7)), disk("sda", 120) + disk("sdb", 4), map[string]any{
			"cpu.user cpu1": 20.07, "cpu.online": 2, "disk.read.ops sdb": 54}},
	}
	for i, step := range steps {
		tr.write("proc/stat", step.stat)
		tr.write("proc/diskstats", step.disks)
		got := collect(t, cpu)
		for k, v := range collect(t, disks) {
			got[k] = v
		}
		t.Log("step", i)
		wantValues(t, got, step.want)
	}
}

func TestNICsComeAndGo(t *testing.T) {
	tr := emptyTree(t)
	const head = "Inter-|   Receive |  Transmit\n face |bytes packets\n"
	line := func(name string, rx uint64) string {
		return fmt.Sprintf("%s: %d 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15\n", name, rx)
	}
	tr.write("sys/class/net/eth0/device/vendor", "0x8086\n")
	tr.write("sys/class/net/bond0/mtu", "1500\n")
	nic := newNIC(tr.dir)
	tr.write("proc/net/dev", head+line("eth0", 1<<32-100)+line("bond0", 9))
	wantValues(t, collect(t, nic), map[string]any{
		"nic.rx.bytes eth0": 1<<32 - 100, "vnic.rx.bytes bond0": 9, "nic.rx.errors eth0": 2, "nic.rx.drops eth0": 3,
		"nic.rx.fifo eth0": 4, "nic.rx.frame eth0": 5, "nic.rx.multicast eth0": 7, "nic.tx.bytes eth0": 8,
		"nic.tx.packets eth0": 9, "nic.tx.errors eth0": 10, "nic.tx.drops eth0": 11, "nic.tx.fifo eth0": 12,
		"nic.tx.collisions eth0": 13, "nic.tx.carrier eth0": 14, "nic.rx.bytes bond0": nil,
	})
	tr.write("proc/net/dev", head+line("eth0", 400)) // a 32-bit driver's counter wrapped
	wantValues(t, collect(t, nic), map[string]any{"nic.rx.bytes eth0": 1<<32 + 400, "vnic.rx.bytes bond0": nil})
	tr.write("proc/net/dev", head+line("eth0", 10)) // and then the driver was loaded again
	wantValues(t, collect(t, nic), map[string]any{"nic.rx.bytes eth0": 1<<32 + 410})
}

func TestDiskTimesWrap(t *testing.T) {
	tr := emptyTree(t)
	line := func(weighted uint64) string { return fmt.Sprintf(" 8 0 sda 1 0 8 1 1 0 8 1 0 1 %d\n", weighted) }
	disk := newDisk(tr.dir)
	tr.write("proc/diskstats", line(1<<32-1000))
	collect(t, disk)
	tr.write("proc/diskstats", line(500))
	wantValues(t, collect(t, disk), map[string]any{"disk.queue.time sda": 4294967.796})
}

func TestRAPLWrapAndNesting(t *testing.T) {
	tr := emptyTree(t)
	const limit, dramLimit = 262143328850, 65712999613
	rapl := newRAPL(tr.dir)
	tr.domain("intel-rapl:0", "package-0", limit-1_000_000, limit)
	tr.domain("intel-rapl:0:0", "core", 7_000_000, limit)
	tr.domain("intel-rapl:0:1", "dram", dramLimit-2_000_000, dramLimit)
	collect(t, rapl)
	tr.domain("intel-rapl:0", "package-0", 4_000_000, limit)
	tr.domain("intel-rapl:0:1", "dram", 1_000_000, dramLimit)
	wantValues(t, collect(t, rapl), map[string]any{
		"rapl.energy package-0": 262147.32885, "rapl.energy package-0/dram": 65713.999613, "rapl.energy package-0/core": 7,
	})
	tr.remove("sys/class/powercap/intel-rapl:0:1")
	wantValues(t, collect(t, rapl), map[string]any{"rapl.energy package-0/dram": nil, "rapl.energy package-0/core": 7})
	tr.domain("intel-rapl:0", "package-0", limit+1, limit)
	if _, err := rapl.Collect(context.Background(), nil); err == nil || !strings.Contains(err.Error(), "above its own range") {
		t.Errorf("a counter above its own range gave %v", err)
	}
}

func TestRAPLAdditive(t *testing.T) {
	tr := emptyTree(t)
	for zone, name := range map[string]string{
		"intel-rapl:0": "package-0", "intel-rapl:0:0": "core", "intel-rapl:0:1": "uncore", "intel-rapl:0:2": "dram",
		"intel-rapl:1": "package-1", "intel-rapl:1:0": "dram", "intel-rapl:2": "psys", "intel-rapl-mmio:0": "package-0",
	} {
		tr.domain(zone, name, 1, 100)
	}
	domains, err := RAPLDomains(tr.dir)
	if err != nil {
		t.Fatal(err)
	}
	got := make(map[string]bool)
	for _, d := range domains {
		got[d.Name] = d.Additive
	}
	want := map[string]bool{
		"package-0": true, "package-0/core": false, "package-0/uncore": false, "package-0/dram": true,
		"package-1": true, "package-1/dram": true, "psys": false,
	}
	if fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("got %v, want %v", got, want)
	}
}

func TestInterruptsAreUnwrapped(t *testing.T) {
	tr := emptyTree(t)
	irq := newInterrupts(tr.dir)
	sample := func(head string, eth0, eth1, local string) map[string]float64 {
		tr.write("proc/interrupts", head+"\n 24: "+eth0+" PCI-MSI 1-edge      eth0\n 25: "+eth1+" PCI-MSI 2-edge      eth0\nLOC: "+local+" Local timer interrupts\nERR: 3\n")
		tr.write("proc/softirqs", head+"\n NET_RX: "+local+"\n")
		return collect(t, irq)
	}
	wantValues(t, sample("CPU0 CPU1", "4294967290 5", "10 0", "1 2"), map[string]any{
		"irq.count eth0": 4294967305, "irq.count LOC": 3, "irq.count ERR": 3, "irq.cpu cpu0": 4294967301, "softirq.count NET_RX": 3,
	})
	wantValues(t, sample("CPU0 CPU1", "10 5", "10 0", "1 2"), map[string]any{"irq.count eth0": 4294967321, "irq.cpu cpu0": 4294967317})
	// Core 1 goes offline: its column goes, its counts stay in the totals.
	wantValues(t, sample("CPU0", "11", "10", "1"), map[string]any{"irq.count eth0": 4294967322, "irq.cpu cpu1": nil, "irq.count LOC": 3})
	wantValues(t, sample("CPU0 CPU1", "11 6", "10 0", "1 4"), map[string]any{"irq.count eth0": 4294967323, "irq.cpu cpu1": 10, "irq.count LOC": 5})
}

func TestSoftnetWraps(t *testing.T) {
	tr := emptyTree(t)
	soft := newSoftnet(tr.dir)
	row := func(processed, dropped, squeezed, cpu uint32) string {
		return fmt.Sprintf("%08x %08x %08x 0 0 0 0 0 0 0 0 0 %08x 0 0\n", processed, dropped, squeezed, cpu)
	}
	tr.write("proc/net/softnet_stat", row(1<<32-1, 2, 3, 0)+row(5, 0, 0, 4))
	wantValues(t, collect(t, soft), map[string]any{"softnet.processed cpu0": 1<<32 - 1, "softnet.dropped cpu0": 2, "softnet.time_squeeze cpu0": 3, "softnet.processed cpu4": 5})
	tr.write("proc/net/softnet_stat", row(9, 4, 3, 0))
	wantValues(t, collect(t, soft), map[string]any{"softnet.processed cpu0": 1<<32 + 9, "softnet.dropped cpu0": 4, "softnet.processed cpu4": nil})
}

// fakeKernel is a wall clock that a test moves.
type fakeKernel struct {
	wall, monotonic int64
	timex           unix.Timex
}

func (k *fakeKernel) Now() (int64, int64, error)      { return k.wall, k.monotonic, nil }
func (k *fakeKernel) Discipline() (unix.Timex, error) { return k.timex, nil }

func TestClockStep(t *testing.T) {
	k := &fakeKernel{wall: 1_700_000_000_000_000_000, monotonic: 5, timex: unix.Timex{Status: unix.STA_UNSYNC, Maxerror: 16_000_000}}
	clock := newClock(k)
	wantValues(t, collect(t, clock), map[string]any{"clock.offset": 0, "clock.synchronised": 0, "clock.error.max": nil, "clock.error.estimated": nil})
	k.wall, k.monotonic = k.wall+1_000_000_000-250_000_000, k.monotonic+1_000_000_000 // stepped back by 0.25 s
	k.timex = unix.Timex{Status: unix.STA_PLL, Maxerror: 1500, Esterror: 20}
	wantValues(t, collect(t, clock), map[string]any{"clock.offset": -0.25, "clock.synchronised": 1, "clock.error.max": 0.0015, "clock.error.estimated": 0.00002})
}

func TestFrequencySources(t *testing.T) {
	tr := emptyTree(t)
	f := newFrequency(tr.dir)
	tr.write("proc/cpuinfo", "processor\t: 0\ncpu MHz\t\t: 2596.120\n\nprocessor\t: 3\ncpu MHz\t\t: 800.5\n")
	wantValues(t, collect(t, f), map[string]any{"cpu.frequency cpu0": 2596.120 * 1e6, "cpu.frequency cpu3": 800.5e6})
	tr.write("sys/devices/system/cpu/cpu7/cpufreq/scaling_cur_freq", "1200000\n")
	wantValues(t, collect(t, f), map[string]any{"cpu.frequency cpu7": 1.2e9, "cpu.frequency cpu0": nil})
	tr.write("sys/devices/system/cpu/cpu7/cpufreq/scaling_cur_freq", "<unknown>\n")
	wantValues(t, collect(t, f), map[string]any{"cpu.frequency cpu7": nil, "cpu.frequency cpu0": 2596.120 * 1e6})
}

// TestBrokenFiles checks that what cannot be read is an error that says where.
func TestBrokenFiles(t *testing.T) {
	tests := map[string]struct {
		file, text, want string
		collector        func(root string) Collector
	}{
		"stat":       {"proc/stat", "cpu 1 2 x 4\n", "line 1: cpu: found \"x\"", func(r string) Collector { return newCPU(r) }},
		"stat short": {"proc/stat", "cpu 1 2 3\n", "found 3 columns", func(r string) Collector { return newCPU(r) }},
		"no cpu":     {"proc/stat", "intr 1\n", "no line begins with cpu", func(r string) Collector { return newCPU(r) }},
		"diskstats":  {"proc/diskstats", "8 0 sda 1 2\n", "line 1: found 5 columns", func(r string) Collector { return newDisk(r) }},
		"disk value": {"proc/diskstats", "8 0 sda 1 2 3 4 5 6 7 -8 9 10 11\n", `found "-8"`, func(r string) Collector { return newDisk(r) }},
		"interrupts": {"proc/interrupts", "CPU0 CPU1\n 1: 5\n", "found 1 counts, expected one for each of 2", func(r string) Collector { return newInterrupts(r) }},
		"head":       {"proc/interrupts", "cores\n", "expected CPU and a number", func(r string) Collector { return newInterrupts(r) }},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			tr := emptyTree(t)
			tr.write(tt.file, tt.text)
			_, err := tt.collector(tr.dir).Collect(context.Background(), nil)
			if err == nil || !strings.Contains(err.Error(), tt.want) || !strings.Contains(err.Error(), tt.file) {
				t.Errorf("got %v, want the file and %q", err, tt.want)
			}
		})
	}
}
