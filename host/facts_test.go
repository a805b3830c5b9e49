package host

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"bakeoff/record"
)

// corpus is a folder of real files of other labs, "" where it is not there.
func corpus(t testing.TB, name string) string {
	t.Helper()
	dir, err := filepath.Abs(filepath.Join("..", "..", "shared", "corpus", name))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(dir); err != nil {
		t.Logf("not checked against real files: %v", err)
		return ""
	}
	return dir
}

func TestRealPCITree(t *testing.T) {
	dir := corpus(t, "8_inventory/prometheus__procfs__pci_sysfs_tree")
	if dir == "" {
		return
	}
	root := t.TempDir()
	if err := os.Symlink(dir, filepath.Join(root, "sys")); err != nil {
		t.Fatal(err)
	}
	p := &part{ctx: t.Context(), tree: newTree(root, time.Second)}
	for path, want := range map[string]record.PCIe{
		"/sys/devices/pci0000:00/0000:00:02.1": {
			Address: "0000:00:02.1", ID: "1022:1634", Subsystem: "17aa:5095",
			GTs: new(8.0), MaximumGTs: new(8.0), Width: new(4), MaximumWidth: new(8),
		},
		"/sys/devices/pci0000:00/0000:00:02.1/0000:01:00.0": {
			Address: "0000:01:00.0", ID: "c0a9:540a", Subsystem: "c0a9:5021",
			GTs: new(8.0), MaximumGTs: new(8.0), Width: new(4), MaximumWidth: new(4), SlotGTs: new(8.0), SlotWidth: new(8),
		},
		"/sys/devices/pci0000:a2/0000:a2:00.0": {
			Address: "0000:a2:00.0", ID: "8086:159b", Subsystem: "8086:0003",
			GTs: new(16.0), MaximumGTs: new(16.0), Width: new(8), MaximumWidth: new(8),
		},
	} {
		if got := p.pcie(pciParent(path + "/net/eth0")); got == nil || cmp.Diff(want, *got) != "" {
			t.Errorf("%s (-want +got):\n%s", path, cmp.Diff(&want, got))
		}
	}
	if n := p.numaNode("/sys/devices/pci0000:00/0000:00:02.1/0000:01:00.0"); n != nil {
		t.Errorf("NUMA node = %d; -1 stands for unknown", *n)
	}
	if n := p.numaNode("/sys/devices/pci0000:a2/0000:a2:00.0/ice/net"); n == nil || *n != 1 {
		t.Errorf("NUMA node = %v; want 1", n)
	}
	nic := record.NIC{Name: "eth0"}
	p.link(&nic)
	want := record.NIC{
		Name: "eth0", Address: "01:01:01:01:01:01", State: "up", BitsPerSecond: new(int64(1_000_000_000)), Duplex: "full",
		MTUBytes: new(1500), TxQueueLength: new(1000),
	}
	if diff := cmp.Diff(want, nic); diff != "" {
		t.Errorf("eth0 (-want +got):\n%s", diff)
	}
	if len(p.errs) > 0 {
		t.Errorf("errors: %v", p.errs)
	}
}

// Every watched key is one that some kernel has: this one, or a real CentOS 7.
func TestWatchedSysctlsExist(t *testing.T) {
	old := ""
	if file := corpus(t, "8_inventory/kellyjonbrazil__jc__jc_centos7_sysctl-a.txt"); file != "" {
		old = content(t, "/", file)
	}
	seen := map[string]bool{}
	var missing []string
	for _, key := range watchedSysctls() {
		if seen[key] {
			t.Errorf("%s is listed twice", key)
		}
		seen[key] = true
		path, err := sysctlPath(key)
		if err != nil {
			t.Errorf("%s: %v", key, err)
		}
		if _, err := os.Stat(path); err != nil && !strings.Contains(old, key+" = ") {
			missing = append(missing, key)
		}
	}
	// Only with CONFIG_ENERGY_MODEL, CONFIG_SCHEDSTATS and CONFIG_RPS.
	if len(missing) > 8 {
		t.Errorf("neither this kernel nor an old one has %v: misspelt?", missing)
	}
	t.Logf("not on this kernel nor on an old one: %v", missing)
}

func TestParseMemInfo(t *testing.T) {
	got := parseMemInfo("MemTotal:       131923432 kB\nHugePages_Total:    1024\nBroken: many kB\nNoValue:\n\nMemTotal: 1 kB\nHugepagesize:\t2048 kB\n")
	want := map[string]*int64{"MemTotal": new(int64(131923432 << 10)), "HugePages_Total": new(int64(1024)), "Hugepagesize": new(int64(2 << 20))}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("parseMemInfo (-want +got):\n%s", diff)
	}
}

func TestParseLimits(t *testing.T) {
	got := parseLimits("Limit                     Soft Limit           Hard Limit           Units     \n" +
		"Max cpu time              unlimited            unlimited            seconds   \n" +
		"Max open files            1024                 524288               files     \n" +
		"Max nice priority         0                    0                    \nMax\nMax  x\n")
	want := map[string]string{"cpu_time": "unlimited", "open_files": "1024 (hard 524288) files", "nice_priority": "0"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("parseLimits (-want +got):\n%s", diff)
	}
}

func TestParseCPUInfo(t *testing.T) {
	for name, c := range map[string]struct {
		text string
		want cpuInfo
	}{
		"empty": {"", cpuInfo{}},
		"power": {
			"processor\t: 0\ncpu\t\t: POWER9, altivec supported\nclock\t\t: 3800.000000MHz\nrevision\t: 2.3 (pvr 004e 1203)\n",
			cpuInfo{model: "POWER9, altivec supported", signature: "2.3 (pvr 004e 1203)", threads: 1, flags: []string{}},
		},
		"one without the last blank": {
			"processor : 0\nvendor_id : A\ncpu family : 25\nmodel : 1\nmodel name : M\nstepping : 1\nmicrocode : 0xa\ncpu MHz : 1500.5\nflags : a hypervisor",
			cpuInfo{vendor: "A", model: "M", signature: "25-1-1", microcode: "0xa", threads: 1, flags: []string{"a", "hypervisor"}, slowest: 1500.5, fastest: 1500.5},
		},
		"no processors": {"Hardware : X\nRevision : 0\n", cpuInfo{}},
	} {
		if diff := cmp.Diff(c.want, parseCPUInfo(c.text), cmp.AllowUnexported(cpuInfo{})); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}

func TestParseCacheSize(t *testing.T) {
	for in, want := range map[string]int64{"32K": 32 << 10, "1M": 1 << 20, "1G": 1 << 30} {
		if got, err := parseCacheSize(in); err != nil || got == nil || *got != want {
			t.Errorf("parseCacheSize(%q) = %v, %v; want %d", in, got, err, want)
		}
	}
	if got, err := parseCacheSize("0K"); got != nil || err != nil {
		t.Errorf("parseCacheSize(0K) = %v, %v; want none", got, err)
	}
	for _, in := range []string{"K", "x", "-1K", "99999999999K"} {
		if got, err := parseCacheSize(in); err == nil {
			t.Errorf("parseCacheSize(%q) = %v; want an error", in, got)
		}
	}
}

func TestIsPCIAddress(t *testing.T) {
	for in, want := range map[string]bool{
		"0000:3b:00.0": true, "10000:01:00.7": true, "0000:3b:00.8": false, "0000:3b:00": false, "pci0000:00": false,
		"host0": false, "": false, "0:0:0:0": false, "zzzz:00:00.0": false, "0000:00:02.1:pcie010": false,
	} {
		if got := isPCIAddress(in); got != want {
			t.Errorf("isPCIAddress(%q) = %v; want %v", in, got, want)
		}
	}
}

func TestLinkSpeed(t *testing.T) {
	for in, want := range map[int64]int64{1000: 1e9, 400000: 4e11, -1: 0, 0: 0, 65535: 0, 4294967295: 0} {
		got := linkSpeed(&in)
		if want == 0 && got != nil || want != 0 && (got == nil || *got != want) {
			t.Errorf("linkSpeed(%d) = %v; want %d", in, got, want)
		}
	}
}

func TestUnquote(t *testing.T) {
	for in, want := range map[string]string{`"a b"`: "a b", `'a'`: "a", `a`: "a", `"a\"b\$c"`: `a"b$c`, `"`: `"`, `"a'`: `"a'`, "": ""} {
		if got := unquote(in); got != want {
			t.Errorf("unquote(%s) = %s; want %s", in, got, want)
		}
	}
}

func FuzzParsers(f *testing.F) {
	f.Add("processor\t: 0\nmodel name\t: M\nmicrocode\t: 0x1\ncpu MHz\t: 1\n\nprocessor : 1\nmicrocode : 0x2\n")
	f.Add("MemTotal:       131923432 kB\n")
	f.Add("Max open files            1024                 524288               files     \n")
	f.Add("PRETTY_NAME=\"x\"\n")
	f.Fuzz(func(t *testing.T, s string) {
		info := parseCPUInfo(s)
		if info.slowest > info.fastest || info.threads < 0 {
			t.Errorf("parseCPUInfo(%q) = %+v", s, info)
		}
		for name, value := range parseLimits(s) {
			if name == "" || value == "" {
				t.Errorf("parseLimits(%q) has %q = %q", s, name, value)
			}
		}
		for name, value := range parseMemInfo(s) {
			if value == nil {
				t.Errorf("parseMemInfo(%q): %s is nil", s, name)
			}
		}
		for _, v := range keyed(s, "=") {
			unquote(v)
		}
		if s != "" {
			if size, err := parseCacheSize(s); err == nil && size != nil && *size <= 0 {
				t.Errorf("parseCacheSize(%q) = %d", s, *size)
			}
		}
		isPCIAddress(s)
		pciParent(s)
	})
}
