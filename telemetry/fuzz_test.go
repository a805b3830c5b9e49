package telemetry

import (
	"os"
	"strings"
	"testing"
)

func seed(f *testing.F, file string) {
	f.Helper()
	data, err := os.ReadFile(file)
	if err != nil {
		f.Fatal(err)
	}
	f.Add(data)
}

func FuzzStat(f *testing.F) {
	seed(f, "testdata/tree/proc/stat")
	f.Add([]byte("cpu 1 2 3 4\ncpu0 1 2 3 4\nctxt 5"))
	f.Fuzz(func(t *testing.T, data []byte) {
		stat, err := parseStat(data)
		if err != nil {
			return
		}
		if len(stat.cpus) == 0 {
			t.Fatal("no cpu line and no error")
		}
		for _, line := range stat.cpus {
			if len(line.ticks) < 4 || len(line.ticks) > len(cpuStates) || line.cpu < wholeHost {
				t.Fatalf("bad line %+v", line)
			}
		}
	})
}

func FuzzDiskLine(f *testing.F) {
	f.Add([]byte(" 254 0 vda 71693 15903 3343850 9202 62702 60929 7223600 25039 0 13032 37082 45334 28 2838192 2428 11284 412"))
	f.Add([]byte("8 1 sda1 1 2 3 4 5 6 7 8 9 10 11"))
	f.Fuzz(func(t *testing.T, line []byte) {
		d, err := parseDiskLine(line)
		if err == nil && (d.name == "" || len(d.columns) < 11 || len(d.columns) > len(diskColumns)) {
			t.Fatalf("bad line %+v", d)
		}
		if err == nil {
			familyByName(d.name)
		}
	})
}

func FuzzInterrupts(f *testing.F) {
	seed(f, "testdata/tree/proc/interrupts")
	seed(f, "testdata/tree/proc/softirqs")
	f.Add([]byte("   CPU0 CPU7\n 10: 3287008667 1     GICv3  27 Level     arch_timer\nIPI0:2768808080 2 Rescheduling interrupts\nErr: 0\n"))
	f.Fuzz(func(t *testing.T, data []byte) {
		table, err := parseInterrupts(data)
		if err != nil {
			return
		}
		for _, line := range table.lines {
			if line.device != strings.TrimSpace(line.device) {
				t.Fatalf("device %q of %q", line.device, line.label)
			}
			if n := len(line.counts); n != len(table.cpus) && !(n == 1 && line.ofHost) {
				t.Fatalf("%d counts of %q for %d cores", n, line.label, len(table.cpus))
			}
		}
		if _, err := parseSoftirqs(data); err != nil {
			t.Fatalf("reads as interrupts but not as softirqs: %v", err)
		}
	})
}

func FuzzProcStat(f *testing.F) {
	seed(f, "testdata/tree/proc/200/stat")
	seed(f, "testdata/tree/proc/201/stat")
	f.Fuzz(func(t *testing.T, data []byte) {
		p, err := parseProcStat(data)
		if err == nil && !strings.Contains(string(data), "("+p.comm+")") {
			t.Fatalf("command %q is not in the text", p.comm)
		}
	})
}

func FuzzKeyed(f *testing.F) {
	seed(f, "testdata/tree/proc/200/io")
	seed(f, "testdata/tree/proc/200/task/210/status")
	f.Fuzz(func(t *testing.T, data []byte) {
		_, errIO := parseProcIO(data)
		_, errSwitches := parseSwitches(data)
		if errIO == nil && !strings.Contains(string(data), "read_bytes:") || errSwitches == nil && !strings.Contains(string(data), "ctxt_switches:") {
			t.Fatal("read what is not there")
		}
	})
}
