package telemetry

import (
	"os"
	"path/filepath"
	"testing"
)

// corpusFile reads a real file of another lab's, which this repository does not
// hold; it skips the test where the corpus is not beside the checkout.
func corpusFile(t *testing.T, name string) string {
	t.Helper()
	dir := filepath.Join("..", "..", "shared", "corpus")
	if _, err := os.Stat(dir); err != nil {
		t.Skipf("no corpus at %s: its real files are not read", dir)
	}
	data, err := os.ReadFile(filepath.Join(dir, name))
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

func TestCorpusInterrupts(t *testing.T) {
	const none = "CPU0\n"
	tests := map[string]map[string]any{
		"prometheus__node_exporter__interrupts": {
			"irq.count ehci_hcd:usb1, mmc0": 328511 + 322879 + 293782 + 351412, "irq.count dmar0": 0,
			"irq.count i8042": 17960 + 105 + 28 + 28 + 380847 + 1021 + 240 + 198, // two of them
			"irq.count LOC":   174326351 + 135776678 + 168393257 + 130980079, "irq.count ERR": 0,
		},
		"prometheus__node_exporter__interrupts_aarch64": {
			"irq.count arch_timer": 3287008667 + 3310445093 + 3301386305 + 3273132897 + 3368262064 + 3641875466 + 3360412019 + 3225020442,
			"irq.count ttyS0":      7819, "irq.count eth0-Tx-Rx-2": 1457922109 + 71, "irq.count ena-mgmnt@pci:0000:00:05.0": 51 + 32479308,
			"irq.count IPI0": 2768808080 + 2844211768 + 2878602432 + 2730576120 + 2723524623 + 3349096412 + 2717389879 + 2154252810,
			"irq.count Err":  0,
		},
		"RedHatInsights__insights-core__interrupts_multi.txt": {
			"irq.count 30":                  100 + 22 + 12 + 19 + 16 + 6 + 10 + 5, // the line names no device
			"irq.count ahci[0000:00:1f.2]":  242965 + 155333 + 52536 + 47894 + 35496 + 32961 + 27934 + 96634,
			"irq.count snd_hda_intel:card2": 123 + 95 + 81 + 18 + 61 + 9 + 23 + 38, "irq.count MIS": 0,
		},
	}
	for file, want := range tests {
		t.Run(file, func(t *testing.T) {
			tr := emptyTree(t)
			tr.write("proc/interrupts", corpusFile(t, "8_inventory/"+file))
			tr.write("proc/softirqs", none)
			wantValues(t, collect(t, newInterrupts(tr.dir)), want)
		})
	}
}

func TestCorpusSoftnet(t *testing.T) {
	tests := map[string]map[string]any{
		"RedHatInsights__insights-core__softnet_10col.txt": {"softnet.processed cpu0": 0x8e78, "softnet.dropped cpu0": 0x12, "softnet.time_squeeze cpu0": 1, "softnet.dropped cpu1": 0xff, "softnet.time_squeeze cpu3": 4},
		"RedHatInsights__insights-core__softnet_11col.txt": {"softnet.processed cpu0": 0x22be3, "softnet.dropped cpu0": 254, "softnet.time_squeeze cpu0": 18, "softnet.dropped cpu1": nil},
		"prometheus__node_exporter__softnet_stat":          {"softnet.processed cpu2": 0x551c3f, "softnet.dropped cpu1": 41, "softnet.time_squeeze cpu3": 50},
	}
	for file, want := range tests {
		t.Run(file, func(t *testing.T) {
			tr := emptyTree(t)
			tr.write("proc/net/softnet_stat", corpusFile(t, "8_inventory/"+file))
			wantValues(t, collect(t, newSoftnet(tr.dir)), want)
		})
	}
}

func TestCorpusRAPL(t *testing.T) {
	corpusFile(t, "README.md") // skips where there is no corpus
	tr := emptyTree(t)
	if err := os.CopyFS(filepath.Join(tr.dir, "sys/class/powercap"), os.DirFS("../../shared/corpus/7_telemetry/prometheus__procfs__rapl_tree")); err != nil {
		t.Fatal(err)
	}
	c := newRAPL(tr.dir)
	wantValues(t, collect(t, c), map[string]any{
		"rapl.energy package-0": 240422.366267, "rapl.energy package-0/core": 118821.284256, "rapl.energy package-10": 240422.366267,
	})
	tr.remove("sys/class/powercap/intel-rapl:0/energy_uj") // the corpus is read-only
	tr.write("sys/class/powercap/intel-rapl:0/energy_uj", "1000000\n")
	wantValues(t, collect(t, c), map[string]any{"rapl.energy package-0": 262144.32885})
	domains, err := RAPLDomains(tr.dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, d := range domains {
		if want := d.Name != "package-0/core"; d.Additive != want {
			t.Errorf("%s: additive %t, want %t", d.Name, d.Additive, want)
		}
	}
}
