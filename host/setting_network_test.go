package host

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/safchain/ethtool"
	"pgregory.net/rapid"
)

func TestNetworkSettingsRefuse(t *testing.T) {
	for name, c := range map[string]struct {
		spec SettingSpec
		want string
	}{
		"interface":        {SettingSpec{Kind: "mtu", Target: "../eth0", Value: "9000"}, `interface "../eth0"`},
		"long interface":   {SettingSpec{Kind: "rps", Target: "eth0123456789abc", Value: "0"}, "at most 15 characters"},
		"mtu":              {SettingSpec{Kind: "mtu", Target: "eth0", Value: "jumbo"}, `found "jumbo"; expected bytes`},
		"offload":          {SettingSpec{Kind: "ethtool", Target: "eth0", Value: "turbo=on"}, `the offload "turbo"; expected one of gro`},
		"pair":             {SettingSpec{Kind: "ethtool", Target: "eth0", Value: "tso"}, `found "tso"; expected name=value`},
		"twice":            {SettingSpec{Kind: "ethtool", Target: "eth0", Value: "tso=on tso=off"}, `found "tso" twice`},
		"nothing":          {SettingSpec{Kind: "rings", Target: "eth0"}, "found no value"},
		"vfs":              {SettingSpec{Kind: "vfs", Target: "eth0", Value: "-1"}, "expected a number of virtual functions"},
		"qdisc":            {SettingSpec{Kind: "qdisc", Target: "eth0", Value: "tbf rate 1gbit"}, "parameters need a command"},
		"irq":              {SettingSpec{Kind: "irq", Target: "eth0", Value: "off"}, `found "off"; expected cores`},
		"rps":              {SettingSpec{Kind: "rps", Target: "eth0", Value: "many"}, "expected cores, as 0-3, or off"},
		"irqbalance":       {SettingSpec{Kind: "irqbalance", Value: "off"}, "expected stopped or running"},
		"spread of nobody": {SettingSpec{Kind: "irq", Target: "eth0", Value: "spread "}, "expected cores"},
	} {
		t.Run(name, func(t *testing.T) {
			s, err := NewSetting(c.spec)
			if err == nil || s != nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("NewSetting = %v, %v; want an error with %q", s, err, c.want)
			}
		})
	}
}

// nicTree is a machine with one card of two queues and three interrupts.
func nicTree(t *testing.T) string {
	return plant(t, map[string]string{
		"sys/class/net/eth0":                                  "-> ../../devices/pci0/card/net/eth0",
		"sys/devices/pci0/card/net/eth0/device":               "-> ../../../card",
		"sys/devices/pci0/card/net/eth0/mtu":                  "1500\n",
		"sys/devices/pci0/card/sriov_numvfs":                  "2\n",
		"sys/devices/pci0/card/sriov_totalvfs":                "64\n",
		"sys/devices/pci0/card/msi_irqs/24":                   "msix\n",
		"sys/devices/pci0/card/msi_irqs/25":                   "msix\n",
		"sys/devices/pci0/card/msi_irqs/100":                  "msix\n",
		"proc/irq/24/smp_affinity_list":                       "0-3\n",
		"proc/irq/25/smp_affinity_list":                       "1\n",
		"proc/irq/100/smp_affinity_list":                      "0-3\n",
		"sys/devices/pci0/card/net/eth0/queues/rx-0/rps_cpus": "0\n",
		"sys/devices/pci0/card/net/eth0/queues/rx-1/rps_cpus": "0\n",
		"sys/devices/pci0/card/net/eth0/queues/tx-0/xps_cpus": "00000001\n",
		"sys/devices/pci0/card/net/eth0/queues/tx-1/xps_cpus": "80000000,00000002\n",
	})
}

func TestNetworkFilesAreSetAndRestored(t *testing.T) {
	for name, c := range map[string]struct {
		spec   SettingSpec
		before string
		files  map[string]string // once applied
	}{
		"mtu": {SettingSpec{Kind: "mtu", Target: "eth0", Value: "9000"}, "1500", map[string]string{"sys/class/net/eth0/mtu": "9000"}},
		"vfs": {SettingSpec{Kind: "vfs", Target: "eth0", Value: "8"}, "2", map[string]string{"sys/class/net/eth0/device/sriov_numvfs": "8"}},
		"irq": {SettingSpec{Kind: "irq", Target: "eth0", Value: "2-3"}, "24:0-3 25:1 100:0-3", map[string]string{
			"proc/irq/24/smp_affinity_list": "2-3", "proc/irq/25/smp_affinity_list": "2-3", "proc/irq/100/smp_affinity_list": "2-3"}},
		"irq spread": {SettingSpec{Kind: "irq", Target: "eth0", Value: "spread 0-1"}, "24:0-3 25:1 100:0-3", map[string]string{
			"proc/irq/24/smp_affinity_list": "0", "proc/irq/25/smp_affinity_list": "1", "proc/irq/100/smp_affinity_list": "0"}},
		"rps": {SettingSpec{Kind: "rps", Target: "eth0", Value: "0-3,33"}, "off", map[string]string{
			"sys/class/net/eth0/queues/rx-0/rps_cpus": "00000002,0000000f", "sys/class/net/eth0/queues/rx-1/rps_cpus": "00000002,0000000f"}},
		"xps": {SettingSpec{Kind: "xps", Target: "eth0", Value: "off"}, "tx-0:0 tx-1:1,63", map[string]string{
			"sys/class/net/eth0/queues/tx-0/xps_cpus": "0", "sys/class/net/eth0/queues/tx-1/xps_cpus": "0"}},
	} {
		t.Run(name, func(t *testing.T) {
			root := nicTree(t)
			c.spec.Root = root
			s := mustSetting(t, c.spec)
			before, err := s.Read(t.Context())
			if err != nil || before != c.before {
				t.Fatalf("before: %q, %v; want %q", before, err, c.before)
			}
			if err := s.Apply(t.Context()); err != nil {
				t.Fatal(err)
			}
			for file, want := range c.files {
				if got := strings.TrimSpace(content(t, root, file)); got != want {
					t.Errorf("%s holds %q; want %q", file, got, want)
				}
			}
			if got, err := s.Read(t.Context()); err != nil || !sameValue(got, c.spec.Value) {
				t.Errorf("it reads %q, %v; want %q", got, err, c.spec.Value)
			}
			if err := s.Restore(t.Context(), before); err != nil {
				t.Fatal(err)
			}
			if got, err := s.Read(t.Context()); err != nil || got != before {
				t.Errorf("restored, it reads %q, %v; want %q", got, err, before)
			}
		})
	}
}

func TestInterfaceRenamed(t *testing.T) {
	root := nicTree(t)
	for _, spec := range []SettingSpec{
		{Kind: "rps", Target: "eth7", Value: "0", Root: root}, {Kind: "irq", Target: "eth7", Value: "0", Root: root},
	} {
		if _, err := mustSetting(t, spec).Read(t.Context()); err == nil || !strings.Contains(err.Error(), "no interface eth7 here: found eth0; was it renamed?") {
			t.Errorf("%s: %v", spec.Kind, err)
		}
	}
	for _, spec := range []SettingSpec{
		{Kind: "ethtool", Target: "eth77", Value: "tso=off"}, {Kind: "channels", Target: "eth77", Value: "rx=1"}, {Kind: "qdisc", Target: "eth77", Value: "pfifo"},
	} {
		s := mustSetting(t, spec)
		if _, err := s.Read(t.Context()); !errors.Is(err, syscall.ENODEV) || !strings.Contains(err.Error(), "was it renamed?") {
			t.Errorf("%s: %v", spec.Kind, err)
		}
		if err := s.Apply(t.Context()); !errors.Is(err, syscall.ENODEV) || !strings.Contains(err.Error(), "was it renamed?") {
			t.Errorf("%s: %v", spec.Kind, err)
		}
	}
}

func TestVirtualFunctionsBeyondTheCard(t *testing.T) {
	s := mustSetting(t, SettingSpec{Kind: "vfs", Target: "eth0", Value: "65", Root: nicTree(t)})
	if err := s.Apply(t.Context()); err == nil || !strings.Contains(err.Error(), "at most 64 virtual functions") {
		t.Errorf("got %v", err)
	}
}

// A mask and its list are the same cores, whatever they are.
func TestMasksOfCores(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		cores := CPUs(rapid.SliceOfNDistinct(rapid.IntRange(0, 300), 1, 40, rapid.ID[int]).Draw(t, "cores"))
		slices.Sort(cores)
		s := coreFiles{mask: true}
		mask, err := s.encode(cores.String())
		if err != nil {
			t.Fatal(err)
		}
		if back, err := s.decode(mask); err != nil || back != cores.String() {
			t.Errorf("%s became %s and %s, %v", cores, mask, back, err)
		}
	})
}

// rings is a driver's block of values.
func ringDriver(now *ethtool.Ring, clamp uint32) numberDriver[ethtool.Ring] {
	return numberDriver[ethtool.Ring]{
		get: func(*ethtool.Ethtool, string) (ethtool.Ring, error) { return *now, nil },
		put: func(_ *ethtool.Ethtool, _ string, r ethtool.Ring) (ethtool.Ring, error) {
			r.RxPending = min(r.RxPending, clamp)
			*now = r
			return r, nil
		},
		numbers: ringNumbers,
	}
}

func TestNumbersOfADriver(t *testing.T) {
	now := ethtool.Ring{RxMaxPending: 4096, TxMaxPending: 4096, RxPending: 512, TxPending: 256}
	setting := func(value string, clamp uint32) nicSetting {
		s := mustSetting(t, SettingSpec{Kind: "rings", Target: "eth0", Value: value}).(nicSetting)
		s.driver = ringDriver(&now, clamp)
		return s
	}
	s := setting("rx=4096 tx=1024", 4096)
	before, err := s.Read(t.Context())
	if err != nil || before != "rx=512 tx=256" {
		t.Fatalf("before: %q, %v", before, err)
	}
	if err := s.Apply(t.Context()); err != nil || now.RxPending != 4096 || now.TxPending != 1024 {
		t.Errorf("applied: %+v, %v", now, err)
	}
	if err := s.Restore(t.Context(), before); err != nil || now.RxPending != 512 || now.TxPending != 256 {
		t.Errorf("restored: %+v, %v", now, err)
	}
	for value, want := range map[string]string{
		"rx=9000":   "found rx=9000; the driver allows at most 4096",
		"rx_mini=1": "the driver has no rx_mini",
		"rx=many":   "expected a whole number",
		"depth=1":   `found the name "depth"; expected one of rx, tx`,
	} {
		if err := setting(value, 4096).Apply(t.Context()); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: got %v; want %q", value, err, want)
		}
	}
	// A driver that takes less than it was asked for says nothing of it.
	if err := setting("rx=4096", 1024).Apply(t.Context()); err == nil || !strings.Contains(err.Error(), `it was taken, but reads "rx=1024" afterwards`) {
		t.Errorf("clamped: %v", err)
	}
	on := uint32(1)
	n := number{name: "adaptive_rx", now: &on, onOff: true}
	if err := n.set("off"); err != nil || on != 0 || n.text() != "off" {
		t.Errorf("switched to %d, %v", on, err)
	}
	if err := n.set("1"); err == nil {
		t.Error("1 is taken for on")
	}
}

func TestIRQBalanceIsPausedAndGoesOn(t *testing.T) {
	if pids, err := named("/", "irqbalance"); err != nil || len(pids) > 0 {
		t.Skipf("an irqbalance runs here already: %v, %v", pids, err)
	}
	s := mustSetting(t, SettingSpec{Kind: "irqbalance", Value: "stopped"})
	if now, err := s.Read(t.Context()); now != "stopped" || err != nil {
		t.Errorf("without one: %q, %v", now, err)
	}
	if err := mustSetting(t, SettingSpec{Kind: "irqbalance", Value: "running"}).Apply(t.Context()); err == nil || !strings.Contains(err.Error(), "systemctl start irqbalance") {
		t.Errorf("started from nothing: %v", err)
	}
	sleep, err := exec.LookPath("sleep")
	if err != nil {
		t.Fatal(err)
	}
	stand := filepath.Join(t.TempDir(), "irqbalance")
	data, err := os.ReadFile(sleep)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(stand, data, 0o755); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(stand, "60")
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := cmd.Process.Kill(); err != nil {
			t.Error(err)
		}
		_ = cmd.Wait() // it was killed
	}()
	before, err := s.Read(t.Context())
	if err != nil || before != "running" {
		t.Fatalf("before: %q, %v", before, err)
	}
	if err := s.Apply(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := s.Restore(t.Context(), before); err != nil {
		t.Fatal(err)
	}
	if now, err := s.Read(t.Context()); now != "running" || err != nil {
		t.Errorf("restored: %q, %v", now, err)
	}
}
