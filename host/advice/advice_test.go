package advice

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"bakeoff/foreign/inventory"
	"bakeoff/record"
)

// good is a host about which there is nothing to say.
func good() Host {
	return Host{
		Facts: record.Facts{
			CPU:     record.CPU{Threads: new(16), Governor: "performance", IdleStates: "POLL C1", IdleExitSeconds: new(2e-6)},
			NUMA:    []record.NUMANode{{Node: "0", CPUs: "0-7"}, {Node: "1", CPUs: "8-15"}},
			Sysctls: map[string]string{"net.ipv4.tcp_rmem": "4096 131072 16777216", "net.ipv4.tcp_wmem": "4096 16384 16777216", "net.core.netdev_max_backlog": "1000", "net.core.netdev_budget": "300"},
			NICs: []record.NIC{{
				Name: "eth0", Kind: "device", Driver: "mlx5_core", Firmware: "22.31", State: "up", BitsPerSecond: new(int64(25e9)), MTUBytes: new(9000),
				PCIe:     &record.PCIe{Address: "0000:3b:00.0", GTs: new(8.0), MaximumGTs: new(8.0), Width: new(8), MaximumWidth: new(8), SlotGTs: new(8.0), SlotWidth: new(16)},
				NUMANode: new(1), RxQueues: new(8), InterruptCPUs: "8-15",
				Rings: map[string]string{"rx": "8192 of 8192", "tx": "8192 of 8192"}, Channels: map[string]string{"combined": "8 of 63"},
				Coalesce: map[string]string{"adaptive_rx": "0", "adaptive_tx": "0"}, Offloads: map[string]string{"rx-gro": "on", "tx-checksum-ip-generic": "on", "tx-checksum-ipv4": "off"},
			}},
		},
		LoadCPUs: "8-11", RoundTripSeconds: 100e-6, PathMTU: 9000, BacklogDropped: new(uint64), BacklogSqueezed: new(uint64),
	}
}

func TestNothingToSayOfAGoodHost(t *testing.T) {
	if all := Of(good()); len(all) > 0 {
		t.Errorf("found %+v", all)
	}
}

func TestEachRule(t *testing.T) {
	for name, c := range map[string]struct {
		spoil   func(h *Host, n *record.NIC)
		rule    string
		weight  Weight
		found   string // part of it
		setting Setting
	}{
		"no link":               {func(_ *Host, n *record.NIC) { n.State = "down" }, "link", Fault, "operstate is down", Setting{}},
		"slow link":             {func(_ *Host, n *record.NIC) { n.PCIe.GTs = new(5.0) }, "pcie-speed", Fault, "runs at 5 GT/s", Setting{}},
		"old slot":              {func(_ *Host, n *record.NIC) { n.PCIe.MaximumGTs = new(16.0) }, "slot-speed", Try, "the slot can 8 GT/s", Setting{}},
		"lost lanes":            {func(_ *Host, n *record.NIC) { n.PCIe.Width = new(4) }, "pcie-width", Fault, "has 4 lanes", Setting{}},
		"narrow slot":           {func(_ *Host, n *record.NIC) { n.PCIe.MaximumWidth, n.PCIe.SlotWidth = new(16), new(8) }, "slot-width", Try, "has 8 lanes", Setting{}},
		"too little for a slot": {func(_ *Host, n *record.NIC) { n.BitsPerSecond = new(int64(100e9)) }, "pcie-bandwidth", Fault, "PCIe 3 x8 carries 52", Setting{}},
		"far load":              {func(h *Host, _ *record.NIC) { h.LoadCPUs = "0-3,8" }, "numa-load", Try, "4 of them are not on the card's node 1", Setting{}},
		"far interrupts":        {func(_ *Host, n *record.NIC) { n.InterruptCPUs = "0,8" }, "numa-interrupts", Try, "1 of them", Setting{"irq", "eth0", "spread 8-15"}},
		"few queues":            {func(_ *Host, n *record.NIC) { n.Channels["combined"] = "4 of 63" }, "queues", Try, "4 combined", Setting{"channels", "eth0", "combined=8"}},
		"short rings":           {func(_ *Host, n *record.NIC) { n.Rings["rx"] = "512 of 8192" }, "rings", Try, "rx 512", Setting{"rings", "eth0", "rx=8192"}},
		"adaptive":              {func(_ *Host, n *record.NIC) { n.Coalesce["adaptive_rx"] = "1" }, "interrupt-moderation", Try, "rx on", Setting{"coalesce", "eth0", "adaptive_rx=off"}},
		"no offload":            {func(_ *Host, n *record.NIC) { n.Offloads["rx-gro"] = "off" }, "offload", Try, "rx-gro is off", Setting{"ethtool", "eth0", "rx-gro=on"}},
		"small packets":         {func(_ *Host, n *record.NIC) { n.MTUBytes = new(1500) }, "mtu", Try, "MTU 1500 B", Setting{"mtu", "eth0", "9000"}},
		"small path":            {func(h *Host, _ *record.NIC) { h.PathMTU = 1500 }, "path-mtu", Fault, "1500 B", Setting{"mtu", "eth0", "1500"}},
		"long path":             {func(h *Host, _ *record.NIC) { h.RoundTripSeconds = 0.05 }, "socket-buffers", Try, "net.ipv4.tcp_rmem allows 16777216 B", Setting{"sysctl", "net.ipv4.tcp_rmem", "4096 131072 536870912"}},
		"one queue":             {func(_ *Host, n *record.NIC) { n.RxQueues = new(1) }, "one-queue", Try, "one receive queue for 16", Setting{"rps", "eth0", "0-15"}},
		"functions":             {func(_ *Host, n *record.NIC) { n.VirtualFunctions, n.MaximumVFs = new(4), new(128) }, "virtual-functions", Know, "4 virtual functions of 128", Setting{"vfs", "eth0", "0"}},
		"unknown firmware":      {func(_ *Host, n *record.NIC) { n.Firmware = "" }, "firmware", Know, "mlx5_core", Setting{}},
		"drops":                 {func(h *Host, _ *record.NIC) { h.Dropped = map[string]uint64{"eth0": 7} }, "drops", Try, "7 packets", Setting{}},
		"governor":              {func(h *Host, _ *record.NIC) { h.Facts.CPU.Governor = "powersave" }, "governor", Try, "powersave", Setting{"governor", "", "performance"}},
		"sleep": {func(h *Host, _ *record.NIC) {
			h.Facts.CPU.IdleStates, h.Facts.CPU.IdleExitSeconds = "POLL C1 C6", new(133e-6)
		}, "sleep-states", Try, "C6, which takes 133 µs", Setting{}},
		"irqbalance":   {func(h *Host, _ *record.NIC) { h.Facts.Daemons = map[string]string{"irqbalance": "running"} }, "irqbalance", Try, "is running", Setting{"irqbalance", "", "stopped"}},
		"full backlog": {func(h *Host, _ *record.NIC) { h.BacklogDropped = new(uint64(3)) }, "backlog", Try, "3 packets were dropped from full backlogs since the start (softnet_stat), which hold 1000", Setting{"sysctl", "net.core.netdev_max_backlog", "250000"}},
		"budget":       {func(h *Host, _ *record.NIC) { h.BacklogSqueezed = new(uint64(9)) }, "budget", Know, "9 times", Setting{}},
	} {
		t.Run(name, func(t *testing.T) {
			h := good()
			c.spoil(&h, &h.Facts.NICs[0])
			all := Of(h)
			i := slices.IndexFunc(all, func(a Advice) bool { return a.Rule == c.rule })
			if i < 0 {
				t.Fatalf("rule %s said nothing; others: %+v", c.rule, all)
			}
			a := all[i]
			if a.Weight != c.weight || !strings.Contains(a.Found, c.found) {
				t.Errorf("found %s, %q; expected %s, %q", a.Weight, a.Found, c.weight, c.found)
			}
			for what, text := range map[string]string{"expected": a.Expected, "reason": a.Reason, "effect": a.Effect, "action": a.Action} {
				if text == "" {
					t.Errorf("no %s", what)
				}
			}
			if c.setting == (Setting{}) && len(a.Settings) > 0 || c.setting != (Setting{}) && !slices.Contains(a.Settings, c.setting) {
				t.Errorf("settings %v, expected %v", a.Settings, c.setting)
			}
			for _, other := range all {
				if other.Rule != c.rule && other.Rule != "pcie-bandwidth" {
					t.Errorf("%s spoke too: %s", other.Rule, other.Found)
				}
			}
		})
	}
}

// TestTwoPortsInOneSlot is the dual-port 40 GbE card in a slot of eight lanes
// of generation 3: 80 Gb/s against 52, 35 % too much.
func TestTwoPortsInOneSlot(t *testing.T) {
	h := good()
	h.Facts.NICs[0].BitsPerSecond = new(int64(40e9))
	second := h.Facts.NICs[0]
	second.Name, second.PCIe = "eth1", new(*second.PCIe)
	second.PCIe.Address = "0000:3b:00.1"
	h.Facts.NICs = append(h.Facts.NICs, second)
	all := Of(h)
	if len(all) != 1 || all[0].Subject != "eth0, eth1" || !strings.Contains(all[0].Reason, "35 % of what the links could bring") {
		t.Errorf("found %+v", all)
	}
}

// TestAbsentIsNothing: of what is not known nothing is said.
func TestAbsentIsNothing(t *testing.T) {
	h := Host{Facts: record.Facts{NICs: []record.NIC{{Name: "eth0", Kind: "device"}, {Name: "lo", Kind: "loopback"}}}}
	if all := Of(h); len(all) > 0 {
		t.Errorf("found %+v", all)
	}
}

type clock struct{}

func (clock) Now() time.Time { return time.Unix(0, 0) }

// TestLookBelowARoot reads a tree of another machine.
func TestLookBelowARoot(t *testing.T) {
	root := t.TempDir()
	for name, text := range map[string]string{
		"sys/class/net/eth5/device/x":                    "",
		"sys/class/net/eth5/operstate":                   "down\n",
		"sys/class/net/eth5/statistics/rx_dropped":       "4\n",
		"sys/class/net/eth5/statistics/rx_missed_errors": "3\n",
		"proc/net/softnet_stat":                          "0000000a 00000002 00000001 00000000 00000000 00000000 00000000 00000000 00000000 00000000\n0000000a 00000003 00000000 00000000 00000000 00000000 00000000 00000000 00000000 00000000\n",
	} {
		path := filepath.Join(root, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	h, errs := Look(t.Context(), root, clock{})
	if len(errs) > 0 {
		t.Error(errs)
	}
	if h.BacklogDropped == nil || *h.BacklogDropped != 5 || *h.BacklogSqueezed != 1 || h.Dropped["eth5"] != 7 {
		t.Errorf("found %+v", h)
	}
	if all := Of(h); len(all) == 0 || all[0].Rule != "link" {
		t.Errorf("found %+v", all)
	}
}

// TestPublishedSlot reads the tree of another lab: a port with four of its eight lanes.
func TestPublishedSlot(t *testing.T) {
	const root = "../../../shared/corpus/8_inventory/prometheus__procfs__pci_sysfs_tree/devices/pci0000:00/0000:00:02.1"
	read := func(name string) string {
		text, err := os.ReadFile(filepath.Join(root, name))
		if os.IsNotExist(err) {
			t.Skipf("the corpus is not here: %v", err)
		}
		if err != nil {
			t.Fatal(err)
		}
		return strings.TrimSpace(string(text))
	}
	if read("current_link_width") != "4" || read("max_link_width") != "8" {
		t.Fatal("the corpus has other values")
	}
	h := good()
	h.Facts.NICs[0].PCIe = &record.PCIe{Address: "0000:01:00.0", Width: new(4), MaximumWidth: new(8)}
	if all := Of(h); len(all) != 1 || all[0].Rule != "pcie-width" {
		t.Errorf("found %+v", all)
	}
}

func TestPathMTU(t *testing.T) {
	mtu, err := PathMTU(t.Context(), "127.0.0.1")
	if err != nil || mtu < 1280 {
		t.Errorf("found %d, %v", mtu, err)
	}
	if _, err := PathMTU(t.Context(), "no such address"); err == nil {
		t.Error("an address that is none was taken")
	}
}

func TestSoftnetOfNoProcessor(t *testing.T) {
	var h Host
	h.Softnet(nil)
	if h.BacklogDropped != nil {
		t.Error("absent became zero")
	}
	h.Softnet([]inventory.Softnet{{Dropped: 1}})
	if *h.BacklogDropped != 1 || *h.BacklogSqueezed != 0 {
		t.Errorf("found %v", h)
	}
}

func TestSettingsAsPlansHaveThem(t *testing.T) {
	for _, c := range []struct {
		s           Setting
		path, value string
	}{
		{Setting{"rings", "eth0", "rx=4096 tx=4096"}, "settings.a.rings.eth0", "{rx: 4096, tx: 4096}"},
		{Setting{"mtu", "eth0", "9000"}, "settings.a.mtu.eth0", "9000"},
		{Setting{"irq", "eth0", "spread 0-3"}, "settings.a.irq.eth0", "spread 0-3"},
		{Setting{"governor", "", "performance"}, "settings.a.governor", "performance"},
	} {
		if got := c.s.PlanPath("a"); got != c.path || c.s.PlanValue() != c.value {
			t.Errorf("found %s: %s, expected %s: %s", got, c.s.PlanValue(), c.path, c.value)
		}
	}
}
