package telemetry

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// diskCollector reads the I/O counters of block devices.
type diskCollector struct {
	source
	root   string
	family map[string]string // of a device, once it is known
}

func newDisk(root string) *diskCollector {
	return &diskCollector{newSource(diskMetrics()), root, make(map[string]string)}
}

func (c *diskCollector) Describe() Description {
	return Description{
		Name: "disk", Summary: "reads, writes, discards and flushes of disks, of devices made from others, and of partitions, each apart",
		Source: "/proc/diskstats (Documentation/admin-guide/iostats.rst)", Metrics: diskMetrics(),
	}
}

func (c *diskCollector) Probe(context.Context) Probed { return probeFile(c.root, "proc/diskstats") }

func (c *diskCollector) Collect(_ context.Context, dst []Sample) ([]Sample, error) {
	path := filepath.Join(c.root, "proc/diskstats")
	data, err := os.ReadFile(path)
	if err != nil {
		return dst, err
	}
	for number, line := range bytes.Split(data, []byte{'\n'}) {
		if len(line) == 0 {
			continue
		}
		device, err := parseDiskLine(line)
		if err != nil {
			return dst, fmt.Errorf("reading %s: line %d: %w", path, number+1, err)
		}
		dst = c.device(dst, device)
	}
	return dst, nil
}

// device appends one device's counters. A device that was never used, as the
// loop and RAM devices that wait for a use, is left out.
func (c *diskCollector) device(dst []Sample, d diskLine) []Sample {
	family := c.familyOf(d.name)
	if family == "virtual" && !d.used() {
		return dst
	}
	for i, raw := range d.columns {
		column := diskColumns[i]
		metric := family + column.suffix
		switch column.kind {
		case diskGauge:
			dst = c.value(dst, metric, d.name, float64(raw))
		case diskTime:
			dst = c.count(dst, metric, d.name, raw, 1e-3, wraps32)
		case diskSectors:
			dst = c.count(dst, metric, d.name, raw, sectorSize, restarts)
		default:
			dst = c.count(dst, metric, d.name, raw, 1, restarts)
		}
	}
	return dst
}

// sectorSize is the unit of the kernel's disk counters, whatever the device's
// own sectors are (Documentation/block/stat.rst).
const sectorSize = 512

type diskKind int

const (
	diskCount diskKind = iota
	diskSectors
	diskTime // milliseconds, printed from 32 bits
	diskGauge
)

// diskColumns are those of /proc/diskstats after the device's name. Kernels
// before 4.18 end after the first eleven, those before 5.5 before the flushes.
var diskColumns = [...]struct {
	suffix string
	kind   diskKind
}{
	{".read.ops", diskCount}, {".read.merges", diskCount}, {".read.bytes", diskSectors}, {".read.time", diskTime},
	{".write.ops", diskCount}, {".write.merges", diskCount}, {".write.bytes", diskSectors}, {".write.time", diskTime},
	{".in_flight", diskGauge}, {".busy", diskTime}, {".queue.time", diskTime},
	{".discard.ops", diskCount}, {".discard.merges", diskCount}, {".discard.bytes", diskSectors}, {".discard.time", diskTime},
	{".flush.ops", diskCount}, {".flush.time", diskTime},
}

type diskLine struct {
	name    string
	columns []uint64
}

func (d diskLine) used() bool {
	for _, v := range d.columns {
		if v != 0 {
			return true
		}
	}
	return false
}

func parseDiskLine(line []byte) (diskLine, error) {
	const numbers, fewest = 2, 11 // major and minor before the name; oldest layout after it
	fields := bytes.Fields(line)
	if len(fields) < numbers+1+fewest {
		return diskLine{}, fmt.Errorf("found %d columns, expected %d or more", len(fields), numbers+1+fewest)
	}
	d := diskLine{name: string(fields[numbers])}
	for _, field := range fields[numbers+1:] {
		if len(d.columns) == len(diskColumns) {
			break // a later kernel's columns
		}
		v, err := strconv.ParseUint(string(field), 10, 64)
		if err != nil {
			return diskLine{}, fmt.Errorf("device %s: found %.40q, expected a number", d.name, field)
		}
		d.columns = append(d.columns, v)
	}
	return d, nil
}

// familyOf says whether a device is a disk, a partition, or made from others.
func (c *diskCollector) familyOf(name string) string {
	if family, ok := c.family[name]; ok {
		return family
	}
	family := c.lookUpFamily(name)
	c.family[name] = family
	return family
}

func (c *diskCollector) lookUpFamily(name string) string {
	// sysfs writes a '/' in a device's name as '!', as in cciss!c0d0.
	dir := filepath.Join(c.root, "sys/class/block", strings.ReplaceAll(name, "/", "!"))
	if _, err := os.Stat(dir); err != nil {
		return familyByName(name)
	}
	if _, err := os.Stat(filepath.Join(dir, "partition")); err == nil {
		return "partition"
	}
	if _, err := os.Stat(filepath.Join(dir, "device")); err == nil {
		return "disk"
	}
	return "virtual"
}

// familyByName judges by the names that drivers give, where sysfs is silent.
func familyByName(name string) string {
	for _, prefix := range []string{"dm-", "md", "loop", "ram", "zram", "nbd", "drbd", "bcache", "rbd"} {
		if strings.HasPrefix(name, prefix) {
			return "virtual"
		}
	}
	last := name[len(name)-1]
	if last < '0' || last > '9' {
		return "disk"
	}
	digits := strings.TrimRight(name, "0123456789")
	// nvme0n1, mmcblk0, sr0 and fd0 end in a number but are whole; their
	// partitions put a p before it.
	for _, prefix := range []string{"nvme", "mmcblk", "cciss"} {
		if strings.HasPrefix(name, prefix) {
			if strings.HasSuffix(digits, "p") {
				return "partition"
			}
			return "disk"
		}
	}
	if digits == "sr" || digits == "fd" {
		return "disk"
	}
	return "partition"
}
