package foreign

import (
	"errors"
	"math"
	"strings"
	"testing"
	"time"
)

// want is one value that a right reader gets.
type want struct {
	metric, instance string
	report           int
	value            float64
	unit             string
	span             Span
}

func check(t *testing.T, table *Table, wants []want) {
	t.Helper()
	for _, w := range wants {
		var found []Value
		for _, v := range table.Find(w.metric, w.instance) {
			if v.Report == w.report && (w.span == "" || v.Span == w.span) {
				found = append(found, v)
			}
		}
		if len(found) != 1 {
			t.Errorf("%s of %q in report %d: %d values (%v), want 1", w.metric, w.instance, w.report, len(found), found)
			continue
		}
		if v := found[0]; math.Abs(v.Value-w.value) > 1e-9*math.Max(1, math.Abs(w.value)) || v.Unit != w.unit {
			t.Errorf("%s of %q in report %d: %v %s, want %v %s", w.metric, w.instance, w.report, v.Value, v.Unit, w.value, w.unit)
		}
	}
}

// sum adds a metric over the rows that may be added.
func sum(table *Table, metric string, report int) (total float64) {
	for _, v := range table.Values {
		if v.Metric == metric && v.Report == report && !v.Sum && !v.Part {
			total += v.Value
		}
	}
	return total
}

func wantWarnings(t *testing.T, table *Table, parts ...string) {
	t.Helper()
	all := strings.Join(table.Warnings, "\n")
	if len(table.Warnings) != len(parts) {
		t.Errorf("%d warnings, want %d: %s", len(table.Warnings), len(parts), all)
	}
	for _, p := range parts {
		if !strings.Contains(all, p) {
			t.Errorf("no warning says %q: %s", p, all)
		}
	}
}

const iostatText = `Linux 6.1.0-test (lab-1) 	06/21/25 	_x86_64_	(4 CPU)

avg-cpu:  %user   %nice %system %iowait  %steal   %idle
           1.00    0.00    2.50    0.00    0.00   96.50

Device             tps    kB_read/s    kB_wrtn/s    kB_read    kB_wrtn
sda               8.00       100.00        50.00       1000        500
sda1              3.00        40.00        50.00        400        500
nvme0n1           2.00        10.00         0.00        100          0
nvme0n1p1         2.00        10.00         0.00        100          0
 all             10.00       110.00        50.00       1100        500

avg-cpu:  %user   %nice %system %iowait  %steal   %idle
          10.00    0.00    0,50    0.00    0.00   89.50

Device             tps    kB_read/s    kB_wrtn/s    kB_read    kB_wrtn
sda               4.00         0.00         8.00          0          8
`

func TestIostat(t *testing.T) {
	table, err := ReadIostat([]byte(iostatText), false)
	if err != nil {
		t.Fatal(err)
	}
	check(t, table, []want{
		{"cpu.user", "", 0, 0.01, "1", SpanBoot}, {"cpu.system_and_irq", "", 1, 0.005, "1", SpanInterval},
		{"io.rate", "sda", 0, 8, "1/s", SpanBoot}, {"read.rate", "sda", 0, 102400, "B/s", ""}, {"read.bytes", "sda1", 0, 400 * 1024, "B", ""},
		{"write.rate", "sda", 1, 8192, "B/s", SpanInterval}, {"io.rate", "all", 0, 10, "1/s", ""},
	})
	if got := sum(table, "io.rate", 0); got != 10 {
		t.Errorf("the devices add up to %v, want 10: partitions and groups lie in the others", got)
	}
	if table.Host != "lab-1" || table.CPUs != 4 {
		t.Errorf("host %q with %d cores", table.Host, table.CPUs)
	}
	if table, err := ReadIostat([]byte(iostatText), true); err != nil || table.Values[0].Span != SpanInterval {
		t.Errorf("without the first report: %v %v", table.Values[0], err)
	}
}

const sarText = `Linux 6.1.0-test (lab-1) 	2025-03-04 	_x86_64_	(2 CPU)

11:59:59 PM     CPU     %user     %nice   %system   %iowait    %steal     %idle
12:00:09 AM     all     50.00      0.00      5.00      0.00      1.00     44.00
12:00:09 AM       1     60.00      0.00      5.00      0.00      1.00     34.00
12:00:19 AM     all     70.00      0.00      5.00      0.00      1.00     24.00
Average:        all     60.00      0.00      5.00      0.00      1.00     34.00

11:59:59 PM     IFACE   rxpck/s   txpck/s
12:00:09 AM      eth0     10.00     20.00
Average:         eth0     10.00     20.00
`

func TestSar(t *testing.T) {
	table, err := ReadSar([]byte(sarText))
	if err != nil {
		t.Fatal(err)
	}
	check(t, table, []want{
		{"cpu.user", "", 0, 0.5, "1", SpanInterval}, {"cpu.user", "cpu1", 0, 0.6, "1", SpanInterval}, {"cpu.user", "", 1, 0.7, "1", SpanInterval},
		{"cpu.user", "", 1, 0.6, "1", SpanAverage}, {"cpu.steal", "", 1, 0.01, "1", SpanAverage}, {"rxpck/s", "eth0", 0, 10, "", SpanInterval},
	})
	first := table.Find("cpu.user", "")[0]
	// The file's date is that of its beginning, a second before midnight.
	if want := time.Date(2025, 3, 5, 0, 0, 9, 0, time.UTC); !first.At.Equal(want) || first.Zoned || !first.Sum || !table.Find("rxpck/s", "eth0")[0].At.Equal(want) {
		t.Errorf("the first row is %+v", first)
	}
}

func TestDates(t *testing.T) {
	for text, want := range map[string]string{
		"2025-03-04": "2025-03-04 true", "05/21/2019": "2019-05-21 true", "21/05/2019": "2019-05-21 true", "06/01/20": "2020-06-01 false", "07/07/20": "2020-07-07 true",
	} {
		day, sure, ok := parseDate(text)
		if got := day.Format(time.DateOnly) + map[bool]string{true: " true", false: " false"}[sure]; !ok || got != want {
			t.Errorf("%s is %s, want %s", text, got, want)
		}
	}
	if _, _, ok := parseDate("x86/64/1"); ok {
		t.Error("took words for a date")
	}
}

const vmstatText = `procs -----------memory---------- ---swap-- -----io---- -system-- ------cpu----- -----timestamp-----
 r  b   swpd   free   buff  cache   si   so    bi    bo   in   cs us sy id wa st                 UTC
 2  0      0    100     10     20    0    0    54   141  129   23  1  1 98  0  0 2025-01-11 20:18:35
 1  1      4     90     10     20    1    2     0     4  753 2187  2  1 90  5  2 2025-01-11 20:18:36
`

func TestVmstat(t *testing.T) {
	table, err := ReadVmstat([]byte(vmstatText))
	if err != nil {
		t.Fatal(err)
	}
	check(t, table, []want{
		{"mem.free", "", 0, 102400, "B", SpanMoment}, {"read.rate", "", 0, 54 * 1024, "B/s", SpanBoot}, {"switches.rate", "", 1, 2187, "1/s", SpanInterval},
		{"cpu.steal", "", 1, 0.02, "1", SpanInterval}, {"swap.out.rate", "", 1, 2048, "B/s", ""}, {"blocked", "", 1, 1, "1", SpanMoment},
	})
	if at := table.Values[0]; !at.Zoned || !at.At.Equal(time.Date(2025, 1, 11, 20, 18, 35, 0, time.UTC)) {
		t.Errorf("stamped %v, with a zone: %t", at.At, at.Zoned)
	}
}

const turbostatText = `CPUID(0): GenuineIntel
Package	Core	CPU	Avg_MHz	Busy%	CoreTmp	PkgWatt	RAMWatt
-	-	-	10	1.00	50	100.50	20.25
0	0	0	12	1.20	50	60.25	10.00
0	0	2	8	0.80
1	0	1	12	1.20	45	40.25	10.25
Package	Core	CPU	Avg_MHz	Busy%	CoreTmp	PkgWatt	RAMWatt
-	-	-	20	2.00	50	110.00	21.00
`

func TestTurbostat(t *testing.T) {
	table, err := ReadTurbostat([]byte(turbostatText))
	if err != nil {
		t.Fatal(err)
	}
	check(t, table, []want{
		{"power.package", "", 0, 100.5, "W", ""}, {"power.package", "package-0", 0, 60.25, "W", ""}, {"power.dram", "package-1", 0, 10.25, "W", ""},
		{"busy", "cpu2", 0, 0.008, "1", ""}, {"frequency.mean", "cpu1", 0, 12e6, "Hz", ""}, {"power.package", "", 1, 110, "W", ""}, {"CoreTmp", "cpu1", 0, 45, "degC", ""},
	})
	if got := sum(table, "power.package", 0); got != 100.5 {
		t.Errorf("the packages add up to %v W, want 100.5", got)
	}
	if table, err := ReadTurbostat([]byte("Core\tCPU\tAvg_MHz\n")); err != nil || len(table.Values) != 0 || len(table.Warnings) != 1 {
		t.Errorf("a head alone: %+v %v", table, err)
	}
}

const nvidiaText = `timestamp, index, pci.bus_id, power.draw [W], memory.used [MiB], utilization.gpu [%], pstate
2025/03/15 13:57:59.791, 0, 00000000:0A:00.0, 70.89 W, 3 MiB, 50 %, P0
2025/03/15 13:57:59.815, 1, 00000000:0A:00.0, [N/A], 4, 25, P0
2025/03/15 13:58:00.791, 0, 00000000:0A:00.0, 71 W, 3 MiB, 51 %, P0
`

func TestNvidia(t *testing.T) {
	table, err := ReadNvidiaSMI([]byte(nvidiaText))
	if err != nil {
		t.Fatal(err)
	}
	check(t, table, []want{
		{"power.draw", "gpu0", 0, 70.89, "W", SpanMoment}, {"memory.used", "gpu1", 0, 4 << 20, "B", ""}, {"utilization.gpu", "gpu1", 0, 0.25, "1", ""},
		{"power.draw", "gpu0", 1, 71, "W", ""},
	})
	if len(table.Find("power.draw", "gpu1")) != 0 || len(table.Find("pstate", "gpu0")) != 0 {
		t.Error("read a number where there is none")
	}
	wantWarnings(t, table, "gpu0 and gpu1 are all at PCI address 00000000:0A:00.0")
}

const mpstatJSON = `{"sysstat": {"hosts": [{"nodename": "lab-1", "number-of-cpus": 2, "statistics": [
 {"timestamp": "12:00:00", "cpu-load": [{"cpu": "-1", "usr": 10.0, "sys": 5.0, "idle": 85.0}, {"cpu": "0", "usr": 15.0, "sys": 5.0, "idle": 80.0}, {"cpu": "1", "usr": 5.0, "sys": 5.0, "idle": 90.0}],
  "node-load": [{"node": "all", "usr": 10.0}, {"node": "0", "usr": 10.0}]}
`

func TestSysstatJSON(t *testing.T) {
	table, err := ReadSysstatJSON([]byte(mpstatJSON), false) // stopped before its end
	if err != nil {
		t.Fatal(err)
	}
	wantWarnings(t, table, "ends in the middle")
	check(t, table, []want{
		{"cpu.user", "", 0, 0.1, "1", SpanInterval}, {"cpu.user", "cpu0", 0, 0.15, "1", ""}, {"cpu.system", "cpu1", 0, 0.05, "1", ""}, {"node.cpu.user", "node0", 0, 0.1, "1", ""},
	})
	if got := sum(table, "cpu.user", 0); got != 0.2 {
		t.Errorf("the cores add up to %v, want 0.2", got)
	}
}

func TestOtherFilesAreRefused(t *testing.T) {
	for name, read := range map[string]func([]byte) (*Table, error){
		"iostat": func(b []byte) (*Table, error) { return ReadIostat(b, false) }, "sar": ReadSar, "vmstat": ReadVmstat, "turbostat": ReadTurbostat, "nvidia-smi": ReadNvidiaSMI,
	} {
		for _, text := range []string{"", "hello, world\n", "a b c\n1 2 3\n"} {
			if _, err := read([]byte(text)); !errors.Is(err, errOther) || !strings.Contains(err.Error(), name) {
				t.Errorf("%s read %q: %v", name, text, err)
			}
		}
	}
	for _, text := range []string{"{", "[]", `{"sysstat": {"hosts": []}}`, `{"sysstat": {"hosts": [{}, {}]}}`} {
		if _, err := ReadSysstatJSON([]byte(text), false); err == nil {
			t.Errorf("JSON %q was read", text)
		}
	}
}

func TestFaultsAreLocated(t *testing.T) {
	for name, tt := range map[string]struct {
		text string
		read func([]byte) (*Table, error)
		want string
	}{
		"iostat columns": {"Device tps kB_read/s\nsda 1\n", func(b []byte) (*Table, error) { return ReadIostat(b, false) }, "line 2: found 1 values for 2 columns"},
		"iostat number":  {"Device tps\nsda many\n", func(b []byte) (*Table, error) { return ReadIostat(b, false) }, `tps: found "many"`},
		"sar columns":    {"10:00:00 CPU %user\n10:00:01 all 5 5\n", ReadSar, "line 2: found 3 values for 2 columns"},
		"vmstat stamp":   {"r b swpd UTC\n1 1 1 soon later\n", ReadVmstat, "expected a stamp"},
		"turbostat":      {"CPU Avg_MHz\n0 fast\n", ReadTurbostat, `line 2: Avg_MHz: found "fast"`},
		"nvidia stamp":   {"index, timestamp, power.draw [W]\n0, soon, 5 W\n", ReadNvidiaSMI, "row 2: timestamp: found"},
	} {
		if _, err := tt.read([]byte(tt.text)); err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s: got %v, want %q", name, err, tt.want)
		}
	}
}

func FuzzReaders(f *testing.F) {
	for _, text := range []string{iostatText, sarText, vmstatText, turbostatText, nvidiaText, mpstatJSON, ".0,,,\n,,0,\n"} {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		for _, read := range []func([]byte) (*Table, error){
			func(b []byte) (*Table, error) { return ReadIostat(b, false) }, ReadSar, ReadVmstat, ReadTurbostat, ReadNvidiaSMI,
			func(b []byte) (*Table, error) { return ReadSysstatJSON(b, false) },
		} {
			table, err := read(data)
			if err != nil {
				continue
			}
			for _, v := range table.Values {
				if v.Metric == "" || math.IsNaN(v.Value) || v.Report < 0 {
					t.Fatalf("%+v", v)
				}
			}
		}
	})
}
