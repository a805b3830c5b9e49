// Package foreign reads what other people's tools printed. This part of it reads
// tools that watch a host: iostat, mpstat, pidstat, sar, sadf, vmstat, turbostat
// and nvidia-smi. It returns what they say, in base units, with what must not
// be added up marked as such, and a warning where a file contradicts itself.
package foreign

import (
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"
)

// A Table is what one file of one tool says.
type Table struct {
	Tool     string
	Host     string // as the tool names it; "" where it does not
	CPUs     int    // 0 where the tool does not say
	Values   []Value
	Warnings []string
}

// Value is one number of a Table.
type Value struct {
	Report   int       // the report it stands in, from 0
	At       time.Time // the report's stamp; zero where the tool gives none
	Zoned    bool      // At is a moment; else it is a local time, written as UTC, of a zone that is not stated
	Seconds  float64   // the interval that it is about; 0 where the tool does not say
	Span     Span
	Metric   string // as read.rate
	Column   string // as the tool names it
	Instance string // core, disk, device, process; "" for the whole
	Unit     string // base units: s, B, 1, W, Hz, B/s, 1/s
	Value    float64
	Sum      bool // it is a sum or a mean over other rows: never added to them
	Part     bool // it lies in another row, as a partition in its disk: never added to it
}

// Span says what time a value is about.
type Span string

// The spans.
const (
	SpanInterval Span = "interval"   // since the report before
	SpanBoot     Span = "since-boot" // since the host started: a mean over hours or months, not of the run
	SpanAverage  Span = "average"    // over all reports
	SpanMoment   Span = "moment"     // a level at a moment
)

// Find returns the values of one metric and instance, in the order of the file.
func (t *Table) Find(metric, instance string) []Value {
	var found []Value
	for _, v := range t.Values {
		if v.Metric == metric && v.Instance == instance {
			found = append(found, v)
		}
	}
	return found
}

func (t *Table) warn(format string, args ...any) {
	t.Warnings = append(t.Warnings, fmt.Sprintf(format, args...))
}

// quantity is what a column means: its metric, its base unit, and the number of
// columns' units in one base unit (over) or of base units in one of them (times).
type quantity struct {
	metric, unit string
	times, over  float64
}

func (q quantity) value(v float64) float64 {
	if q.over != 0 {
		return v / q.over
	}
	if q.times != 0 {
		return v * q.times
	}
	return v
}

// columns are what sysstat calls things, in its text and in its JSON. Its kB
// are 1024 bytes and its MB 1024 of those (iostat(1)).
func columns() map[string]quantity {
	const kib, mib = 1 << 10, 1 << 20
	m := map[string]quantity{
		"tps": {"io.rate", "1/s", 0, 0}, "aqu-sz": {"queue", "1", 0, 0}, "avgqu-sz": {"queue", "1", 0, 0}, "util": {"util", "1", 0, 100},
		"avgrq-sz": {"request.size", "B", 512, 0}, "await": {"await", "s", 0, 1e3}, "svctm": {"service.time", "s", 0, 1e3},
		"user": {"cpu.user", "1", 0, 100}, "usr": {"cpu.user", "1", 0, 100}, "nice": {"cpu.nice", "1", 0, 100},
		// %system holds interrupts, %sys does not (sar(1), mpstat(1)).
		"system": {"cpu.system_and_irq", "1", 0, 100}, "sys": {"cpu.system", "1", 0, 100},
		"iowait": {"cpu.iowait", "1", 0, 100}, "irq": {"cpu.irq", "1", 0, 100}, "soft": {"cpu.softirq", "1", 0, 100},
		"steal": {"cpu.steal", "1", 0, 100}, "guest": {"cpu.guest", "1", 0, 100}, "gnice": {"cpu.guest_nice", "1", 0, 100}, "idle": {"cpu.idle", "1", 0, 100},
		"degC": {"temperature", "degC", 0, 0}, "rpm": {"fan", "1/min", 0, 0}, "inV": {"voltage", "V", 0, 0},
	}
	for short, verb := range map[string]string{"r": "read", "w": "write", "d": "discard", "f": "flush"} {
		m[short+"/s"] = quantity{verb + ".ops.rate", "1/s", 0, 0}
		m[short+"kB/s"] = quantity{verb + ".rate", "B/s", kib, 0}
		m[short+"MB/s"] = quantity{verb + ".rate", "B/s", mib, 0}
		m[short+"sec/s"] = quantity{verb + ".rate", "B/s", 512, 0}
		m[short+"rqm/s"] = quantity{verb + ".merges.rate", "1/s", 0, 0}
		m[short+"rqm"] = quantity{verb + ".merges.share", "1", 0, 100}
		m[short+"_await"] = quantity{verb + ".await", "s", 0, 1e3}
		m[short+"areq-sz"] = quantity{verb + ".size", "B", kib, 0}
	}
	for past, verb := range map[string]string{"read": "read", "wrtn": "write", "dscd": "discard"} {
		m["kB_"+past+"/s"] = quantity{verb + ".rate", "B/s", kib, 0}
		m["MB_"+past+"/s"] = quantity{verb + ".rate", "B/s", mib, 0}
		m["Blk_"+past+"/s"] = quantity{verb + ".rate", "B/s", 512, 0}
		m["kB_"+past] = quantity{verb + ".bytes", "B", kib, 0}
		m["MB_"+past] = quantity{verb + ".bytes", "B", mib, 0}
		m["Blk_"+past] = quantity{verb + ".bytes", "B", 512, 0}
	}
	return m
}

// meaning is what a column is; one that is not known keeps its name and has no unit.
func meaning(known map[string]quantity, column string) quantity {
	if q, ok := known[strings.TrimPrefix(column, "%")]; ok {
		return q
	}
	return quantity{metric: column}
}

// number reads a number as the tools print it. In some locales they print a
// decimal comma.
func number(text string) (float64, error) {
	v, err := strconv.ParseFloat(text, 64)
	if err != nil && strings.Count(text, ",") == 1 {
		v, err = strconv.ParseFloat(strings.Replace(text, ",", ".", 1), 64)
	}
	if err != nil || math.IsNaN(v) || math.IsInf(v, 0) {
		return 0, fmt.Errorf("found %.40q, expected a number", text)
	}
	return v, nil
}

// errOther is the error of a file that is of another tool than asked for.
var errOther = errors.New("this is not the output of the tool")

func otherTool(tool, expected string) error {
	return fmt.Errorf("%s: %w: expected %s", tool, errOther, expected)
}

// head is the first line of sysstat's texts: "Linux 5.8.0 (host) 12/02/2021
// _x86_64_ (2 CPU)".
type head struct {
	host string
	cpus int
	date time.Time
}

// readHead reads that line, and says so where its date can be read in two ways.
func (t *Table) readHead(line string) (h head, ok bool) {
	if !strings.HasPrefix(line, "Linux ") {
		return h, false
	}
	for _, field := range strings.Fields(strings.NewReplacer("(", " (", ")", ") ").Replace(line)) {
		if name := strings.Trim(field, "()"); strings.HasPrefix(field, "(") && h.host == "" {
			h.host = name
		}
		if date, sure, ok := parseDate(field); ok {
			h.date = date
			if !sure {
				t.warn("the date %s is read as month/day/year, as most locales of these tools write it; it could be day/month", field)
			}
		}
	}
	if at := strings.LastIndexByte(line, '('); at >= 0 {
		if n, err := strconv.Atoi(strings.TrimSuffix(strings.TrimSuffix(strings.TrimSpace(line[at+1:]), ")"), " CPU")); err == nil {
			h.cpus = n
		}
	}
	return h, true
}

// parseDate reads a day; sure is false where day and month could be either way round.
func parseDate(text string) (day time.Time, sure, ok bool) {
	if at, err := time.Parse(time.DateOnly, text); err == nil {
		return at, true, true
	}
	for _, layout := range []string{"01/02/2006", "01/02/06"} {
		if at, err := time.Parse(layout, text); err == nil {
			return at, at.Day() > 12 || at.Day() == int(at.Month()), true
		}
	}
	for _, layout := range []string{"02/01/2006", "02/01/06", "02.01.2006"} {
		if at, err := time.Parse(layout, text); err == nil {
			return at, true, true
		}
	}
	return time.Time{}, false, false
}

// partitionOf reports whether name is a partition of disk: sda1 of sda,
// nvme0n1p2 of nvme0n1.
func partitionOf(name, disk string) bool {
	rest, ok := strings.CutPrefix(name, disk)
	if !ok || rest == "" || disk == "" {
		return false
	}
	if last := disk[len(disk)-1]; last >= '0' && last <= '9' {
		if rest, ok = strings.CutPrefix(rest, "p"); !ok {
			return false
		}
	}
	return rest != "" && strings.Trim(rest, "0123456789") == ""
}

// markPartitions marks the rows of partitions whose disk has rows too.
func (t *Table) markPartitions(from int) {
	names := make(map[string]bool)
	for _, v := range t.Values[from:] {
		names[v.Instance] = true
	}
	part := make(map[string]bool)
	for name := range names {
		for end := 1; end < len(name); end++ {
			if names[name[:end]] && partitionOf(name, name[:end]) {
				part[name] = true
			}
		}
	}
	for i := range t.Values[from:] {
		v := &t.Values[from+i]
		v.Part = v.Part || part[v.Instance]
	}
}
