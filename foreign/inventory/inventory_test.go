package inventory

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"bakeoff/record"
)

const corpus = "../../../shared/corpus/8_inventory"

// read reads files of the corpus, which other labs published.
func read(t *testing.T, names ...string) Found {
	t.Helper()
	var f Found
	for _, name := range names {
		text, err := os.ReadFile(filepath.Join(corpus, name))
		if os.IsNotExist(err) {
			t.Skipf("the corpus is not here: %v", err)
		}
		if err != nil {
			t.Fatal(err)
		}
		if _, err := f.Read(name, string(text)); err != nil {
			t.Fatal(err)
		}
	}
	f.Join()
	return f
}

func TestCorpusEthtool(t *testing.T) {
	for name, want := range map[string]record.NIC{
		"kellyjonbrazil__jc__ethtool--default1.txt":             {Name: "enp0s3", Kind: "device", State: "up", BitsPerSecond: new(int64(1e9)), Duplex: "full"},
		"kellyjonbrazil__jc__ethtool--default2.txt":             {Name: "enp1s0", Kind: "device", State: "up", BitsPerSecond: new(int64(40e9)), Duplex: "full"},
		"Xilinx__open-nic-driver__issue29_ethtool_no_speed.txt": {Name: "enp24s0f1", Kind: "device", State: "up"},
		"ntop__ntopng__issue3177_ethtool_mlx4_10g.txt":          {Name: "enp5s0", Kind: "device", State: "up", BitsPerSecond: new(int64(10e9)), Duplex: "full"},
		"prometheus__node_exporter__ethtool_eth0_settings.txt":  {Name: "eth0", Kind: "device", State: "up", BitsPerSecond: new(int64(1e9)), Duplex: "full"},
		"openwrt__openwrt__pr19524_ethtool_empty_cage.txt":      {Name: "lan9", Kind: "device"},
		"RedHatInsights__insights-core__ethtool_g_nodevice.txt": {Name: "bond0.102", Kind: "device"},
	} {
		f := read(t, name)
		if diff := cmp.Diff([]record.NIC{want}, f.Facts.NICs); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
	f := read(t, "RedHatInsights__insights-core__ethtool_k_bond0.txt")
	o := f.Facts.NICs[0].Offloads
	for feature, want := range map[string]string{"rx-gro": "on", "rx-lro": "on", "tx-generic-segmentation": "off", "tx-tcp-segmentation": "on", "rx-hashing": "off", "rx-checksum": "", "tx-checksum-ipv4": ""} {
		if o[feature] != want {
			t.Errorf("feature %s: found %q, expected %q", feature, o[feature], want)
		}
	}
}

func TestCorpusLSPCI(t *testing.T) {
	f := read(t, "microsoft__VirtualClient__lspci_linux-1.txt")
	gpu := f.Cards["0001:00:00.0"]
	if l := gpu.Link; *l.MaximumGTs != 8 || *l.GTs != 2.5 || *l.MaximumWidth != 16 || *l.Width != 16 || *l.PayloadBytes != 256 {
		t.Errorf("the card's link: %+v", l)
	}
	if *gpu.NUMANode != 0 || *gpu.Vectors != 6 || gpu.Driver != "nvidia" {
		t.Errorf("the card: %+v", gpu)
	}
	nic := f.Cards["c93f:00:02.0"]
	if nic.Class != "Ethernet controller" || nic.Link.GTs != nil || nic.Link.Width != nil {
		t.Errorf("a virtual function without a link of its own: %+v", nic)
	}
	drive := read(t, "pciutils__pciutils__lspci_cap-phy32.txt").Cards["0000:2e:00.0"]
	if l := drive.Link; *l.MaximumGTs != 32 || *l.GTs != 16 || *l.Width != 2 {
		t.Errorf("a drive at half its speed: %+v", l)
	}
	if n := len(read(t, "microsoft__VirtualClient__lspci_physical_system_mellanox.txt").Cards); n != 25 {
		t.Errorf("found %d functions, expected 25", n)
	}
}

func TestCorpusMachine(t *testing.T) {
	f := read(t, "criteo__hwbench__lscpu_cpustorage.txt", "criteo__hwbench__numactl_2domains.txt")
	c := f.Facts.CPU
	if *c.Threads != 72 || *c.Sockets != 2 || *c.Cores != 36 || !strings.Contains(c.Model, "Gold 6240") {
		t.Errorf("processors: %+v", c)
	}
	want := []record.NUMANode{
		{Node: "0", CPUs: "0-17,36-53", Bytes: new(int64(193059 << 20)), Distances: "10 21"},
		{Node: "1", CPUs: "18-35,54-71", Bytes: new(int64(193522 << 20)), Distances: "21 10"},
	}
	if diff := cmp.Diff(want, f.Facts.NUMA); diff != "" {
		t.Errorf("nodes (-want +got):\n%s", diff)
	}
	old := read(t, "RedHatInsights__insights-core__softnet_10col.txt").Softnet
	if old[0].Dropped != 0x12 {
		t.Errorf("dropped %d, expected %d", old[0].Dropped, 0x12)
	}
	newer := read(t, "RedHatInsights__insights-core__softnet_11col.txt").Softnet
	if newer[0].Dropped != 254 || newer[0].Squeezed != 18 {
		t.Errorf("softnet: %+v", newer[0])
	}
	if s := read(t, "kellyjonbrazil__jc__jc_centos7_sysctl-a.txt").Facts.Sysctls; s["net.ipv4.tcp_rmem"] == "" || s["net.core.rmem_max"] == "" {
		t.Errorf("%d keys, without those of sockets", len(s))
	}
}

// TestEveryKindIsTold: the tools whose output the corpus lacks, and that each is
// told from the others.
func TestEveryKindIsTold(t *testing.T) {
	var f Found
	for _, c := range []struct{ tool, text string }{
		{"ethtool -i", "driver: mlx5_core\nversion: 6.1.0\nfirmware-version: 22.31.1014 (MT_0000000359)\nexpansion-rom-version: \nbus-info: 0000:3b:00.0\nsupports-statistics: yes\n"},
		{"ethtool -l", "Channel parameters for eth9:\nPre-set maximums:\nRX:\t\tn/a\nTX:\t\tn/a\nOther:\t\t1\nCombined:\t63\nCurrent hardware settings:\nRX:\t\tn/a\nTX:\t\tn/a\nOther:\t\t1\nCombined:\t8\n"},
		{"ethtool -g", "Ring parameters for eth9:\nPre-set maximums:\nRX:\t\t8192\nRX Mini:\t0\nTX:\t\t8192\nCurrent hardware settings:\nRX:\t\t1024\nRX Mini:\t0\nTX:\t\t512\n"},
		{"ethtool -c", "Coalesce parameters for eth9:\nAdaptive RX: on  TX: off\nstats-block-usecs: 0\nrx-usecs: 50\nrx-frames: n/a\ntx-usecs: 8\n"},
		{"ethtool -a", "Pause parameters for eth9:\nAutonegotiate:\ton\nRX:\t\toff\nTX:\t\ton\n"},
		{"lspci -vv", "3b:00.0 Ethernet controller: Some NIC\n\tNUMA node: 1\n\t\tDevCap:\tMaxPayload 512 bytes, PhantFunc 0\n\t\t\tMaxPayload 256 bytes, MaxReadReq 512 bytes\n\t\tLnkCap:\tPort #0, Speed 16GT/s, Width x16\n\t\tLnkSta:\tSpeed 8GT/s (downgraded), Width x8 (downgraded)\n\tCapabilities: [9c] MSI-X: Enable+ Count=64 Masked-\n\tCapabilities: [180 v1] Single Root I/O Virtualization (SR-IOV)\n\t\tInitial VFs: 8, Total VFs: 8, Number of VFs: 2, Function Dependency Link: 00\n"},
		{"/proc/interrupts", "           CPU0       CPU1\n 40:          1          0   PCI-MSI 1-edge      eth9-TxRx-0\n 41:          0          7   PCI-MSI 2-edge      eth9-TxRx-1\nNMI:          0          0   Non-maskable interrupts\n"},
		{"sysctl -a", "net.core.rmem_max = 212992\nnet.ipv4.tcp_rmem = 4096\t131072\t6291456\n"},
	} {
		tool, err := f.Read("host/ethtool-i-eth9.txt", c.text)
		if err != nil || tool != c.tool {
			t.Errorf("told as %q, %v, expected %s", tool, err, c.tool)
		}
	}
	f.Join()
	want := []record.NIC{{
		Name: "eth9", Kind: "device", Driver: "mlx5_core", DriverVersion: "6.1.0", Firmware: "22.31.1014 (MT_0000000359)",
		PCIe:     &record.PCIe{Address: "0000:3b:00.0", GTs: new(8.0), MaximumGTs: new(16.0), Width: new(8), MaximumWidth: new(16), PayloadBytes: new(256)},
		NUMANode: new(1), Interrupts: new(2), VirtualFunctions: new(2), MaximumVFs: new(8),
		Channels: map[string]string{"combined": "8 of 63"}, Rings: map[string]string{"rx": "1024 of 8192", "tx": "512 of 8192"},
		Coalesce: map[string]string{"adaptive_rx": "1", "adaptive_tx": "0", "rx_us": "50", "tx_us": "8"},
		Pause:    map[string]string{"autoneg": "on", "rx": "off", "tx": "on"},
	}}
	if diff := cmp.Diff(want, f.Facts.NICs); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if f.Facts.Sysctls["net.ipv4.tcp_rmem"] != "4096 131072 6291456" {
		t.Errorf("sysctls: %v", f.Facts.Sysctls)
	}
}

func TestUnknownText(t *testing.T) {
	var f Found
	for _, text := range []string{"", "hello", "a = b", "# comment\n"} {
		if tool, err := f.Read("x.txt", text); err == nil || !strings.Contains(err.Error(), "x.txt: expected the output of ethtool") {
			t.Errorf("%q: told as %q, %v", text, tool, err)
		}
	}
}

// FuzzRead: no text brings it down, and interfaces keep names of their own.
func FuzzRead(f *testing.F) {
	files, err := filepath.Glob(corpus + "/*.txt")
	if err != nil {
		f.Fatal(err)
	}
	for _, name := range files {
		if text, err := os.ReadFile(name); err == nil && len(text) < 4000 {
			f.Add(string(text))
		}
	}
	f.Add("driver: x\nbus-info: y\n")
	f.Fuzz(func(t *testing.T, text string) {
		var found Found
		for range 2 {
			if _, err := found.Read("file-eth0", text); err != nil {
				return
			}
		}
		found.Join()
		seen := map[string]bool{}
		for _, n := range found.Facts.NICs {
			if seen[n.Name] {
				t.Errorf("two interfaces are called %q", n.Name)
			}
			seen[n.Name] = true
		}
	})
}
