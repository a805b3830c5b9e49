package foreign

import (
	"os"
	"path/filepath"
	"testing"
	"time"
)

// corpusFile reads a real file of another lab's, which this repository does not
// hold; it skips the test where the corpus is not beside the checkout.
func corpusFile(t *testing.T, name string) []byte {
	t.Helper()
	dir := filepath.Join("..", "..", "shared", "corpus", "7_telemetry")
	if _, err := os.Stat(dir); err != nil {
		t.Skipf("no corpus at %s: its real files are not read", dir)
	}
	data, err := os.ReadFile(filepath.Join(dir, name))
	if err != nil {
		t.Fatal(err)
	}
	return data
}

// TestCorpus reads the real files. The values are the index's, in base units,
// and others looked up in the files.
func TestCorpus(t *testing.T) {
	iostat := func(b []byte) (*Table, error) { return ReadIostat(b, false) }
	sysstat := func(b []byte) (*Table, error) { return ReadSysstatJSON(b, false) }
	const kib, mib = 1 << 10, 1 << 20
	tests := map[string]struct {
		read     func([]byte) (*Table, error)
		wants    []want
		warnings []string
	}{
		"GoogleCloudPlatform__PerfKitBenchmarker__sar_output.txt": {ReadSar, []want{
			{"cpu.user", "", 0, 0.9985, "1", SpanInterval}, {"cpu.user", "", 9, 0.8196, "1", SpanAverage}, {"cpu.steal", "", 9, 0.1799, "1", SpanAverage}}, nil},
		"GoogleCloudPlatform__PerfKitBenchmarker__nvidia_power_output.txt": {ReadNvidiaSMI, []want{{"power.draw", "gpu0", 0, 16.48, "W", ""}, {"power.draw", "gpu0", 1, 27.32, "W", ""}}, nil},
		"microsoft__VirtualClient__query-gpu-1xH100.csv": {ReadNvidiaSMI, []want{
			{"power.draw.average", "gpu0", 0, 70.89, "W", ""}, {"power.draw.instant", "gpu0", 0, 70.68, "W", ""}, {"memory.total", "gpu0", 0, 81559 * mib, "B", ""}}, nil},
		"microsoft__VirtualClient__query-gpu-8xH100.csv": {ReadNvidiaSMI, []want{{"power.draw.instant", "gpu7", 0, 71.44, "W", ""}}, []string{
			"gpu0 and gpu4 are all at", "gpu1 and gpu5 are all at", "gpu2 and gpu6 are all at", "gpu3 and gpu7 are all at"}},
		"influxdata__telegraf__turbostat_intel-unknown.txt": {ReadTurbostat, []want{
			{"power.package", "", 0, 87.38, "W", ""}, {"power.dram", "", 0, 27.80, "W", ""}, {"power.package", "package-0", 0, 45.14, "W", ""}, {"power.package", "package-1", 0, 42.18, "W", ""}}, nil},
		"influxdata__telegraf__turbostat_usec-whitespace-header.txt": {ReadTurbostat, []want{
			{"frequency.mean", "", 0, 41e6, "Hz", ""}, {"frequency.mean", "", 1, 50e6, "Hz", ""}, {"busy", "cpu0", 1, 0.0119, "1", ""}}, nil},
		"intel__lkp-tests__turbostat_1.txt": {ReadTurbostat, nil, []string{"a head without values"}},
		"intel__lkp-tests__turbostat_2.txt": {ReadTurbostat, []want{
			{"power.package", "", 0, 131.69, "W", ""}, {"power.dram", "", 0, 65.11, "W", ""}, {"power.package", "package-0", 0, 59.93, "W", ""}}, nil},
		"intel__lkp-tests__vmstat_1.txt": {ReadVmstat, []want{
			{"read.rate", "", 0, 54 * kib, "B/s", SpanBoot}, {"switches.rate", "", 1, 2187, "1/s", SpanInterval}, {"mem.free", "", 1, 224752 * kib, "B", SpanMoment}}, nil},
		"kellyjonbrazil__jc__jc_centos-7.7_vmstat-at-5-10.txt":        {ReadVmstat, []want{{"irq.rate", "", 0, 29, "1/s", SpanBoot}, {"mem.active", "", 3, 312752 * kib, "B", ""}}, nil},
		"kellyjonbrazil__jc__jc_generic_vmstat-extra-wide.txt":        {ReadVmstat, []want{{"mem.free", "", 0, 2430264 * kib, "B", ""}, {"cpu.idle", "", 0, 0.96, "1", ""}}, nil},
		"kellyjonbrazil__jc__jc_centos-7.7_vmstat-d.txt":              {ReadVmstat, []want{{"read.ops", "sda", 0, 15257, "1", ""}, {"write.bytes", "sda", 0, 1648657 * 512, "B", ""}, {"busy", "dm-0", 0, 44, "s", ""}}, nil},
		"kellyjonbrazil__jc__jc_centos-7.7_iostat-1.txt":              {iostat, []want{{"io.rate", "sda", 0, 0.24, "1/s", SpanBoot}, {"read.bytes", "dm-0", 0, 170325 * kib, "B", ""}, {"cpu.idle", "", 2, 1, "1", SpanInterval}}, nil},
		"kellyjonbrazil__jc__jc_centos-7.7_iostat-mx.txt":             {iostat, []want{{"read.rate", "sda", 0, 0.01 * mib, "B/s", ""}, {"request.size", "sda", 0, 52.51 * 512, "B", ""}, {"read.await", "sda", 0, 0.00053, "s", ""}}, nil},
		"kellyjonbrazil__jc__jc_ubuntu-20.10_iostat-x.txt":            {iostat, []want{{"read.ops.rate", "dm-0", 0, 2.38, "1/s", ""}, {"util", "dm-0", 0, 0.0034, "1", ""}, {"write.rate", "dm-0", 0, 129.42 * kib, "B/s", ""}}, []string{"12/02/2021 is read as month/day/year"}},
		"sysstat__sysstat__sysstat_expected.iostat-dec.txt":           {iostat, []want{{"io.rate", "sda", 0, 8.6, "1/s", SpanBoot}, {"cpu.idle", "", 1, 0.829, "1", SpanInterval}}, []string{"06/01/20 is read as"}},
		"sysstat__sysstat__sysstat_expected.iostat-pretty.txt":        {iostat, []want{{"io.rate", "sda", 0, 8.59, "1/s", ""}, {"io.rate", "sda12", 0, 1.88, "1/s", ""}}, []string{"06/01/20 is read as"}},
		"sysstat__sysstat__sysstat_expected.iostat-sigint.txt":        {iostat, []want{{"io.rate", "sda", 0, 8.59, "1/s", SpanBoot}, {"cpu.user", "", 2, 0.0196, "1", SpanInterval}}, []string{"06/01/20 is read as"}},
		"sysstat__sysstat__sysstat_expected.iostat-g-JSON.txt":        {sysstat, []want{{"io.rate", "sda", 0, 8.59, "1/s", SpanBoot}, {"read.rate", "sda", 0, 0.22 * mib, "B/s", ""}, {"io.rate", "disks", 0, 8.60, "1/s", ""}}, nil},
		"GoogleCloudPlatform__PerfKitBenchmarker__iostat_output.json": {sysstat, []want{{"read.ops.rate", "dm-0", 0, 1.39, "1/s", SpanBoot}, {"cpu.steal", "", 0, 0.0005, "1", ""}}, nil},
		"sysstat__sysstat__issue222_iostat_y_leading_comma.json.txt": {func(b []byte) (*Table, error) { return ReadSysstatJSON(b, true) }, []want{
			{"read.ops.rate", "sdc", 0, 282.5, "1/s", SpanInterval}, {"read.rate", "sdc", 0, 70208 * kib, "B/s", ""}, {"read.await", "sdc", 0, 0.03803, "s", ""}, {"util", "sdc", 0, 1, "1", ""}},
			[]string{"a comma before the first report"}},
		"sysstat__sysstat__sysstat_expected.iostat-x-p-ALL-JSON.txt": {sysstat, []want{{"read.ops.rate", "sda", 0, 6.9, "1/s", ""}, {"read.await", "sda1", 0, 0.06092, "s", ""}}, nil},
		"intel__lkp-tests__mpstat_1.txt":                             {sysstat, []want{{"cpu.user", "", 0, 0.0633, "1", ""}, {"cpu.system", "cpu2", 0, 0.1313, "1", ""}, {"cpu.user", "", 1, 0.2087, "1", ""}}, []string{"ends in the middle"}},
		"intel__lkp-tests__mpstat_2.txt":                             {sysstat, []want{{"node.cpu.user", "", 0, 0.1066, "1", ""}, {"node.cpu.idle", "", 3, 0.7904, "1", ""}}, nil},
		"intel__lkp-tests__mpstat_3.txt":                             {sysstat, []want{{"node.cpu.user", "", 1, 0.1883, "1", ""}}, []string{"ends in the middle"}},
		"sysstat__sysstat__sysstat_expected.mpstat-A-JSON.txt":       {sysstat, []want{{"cpu.nice", "cpu3", 0, 0.9955, "1", ""}, {"cpu.idle", "", 0, 0.8288, "1", ""}}, nil},
		"sysstat__sysstat__sysstat_expected.mpstat-T-JSON.txt":       {sysstat, []want{{"cpu.nice", "", 0, 0.3991, "1", ""}, {"cpu.softirq", "cpu0", 0, 0.0134, "1", ""}}, nil},
		"sysstat__sysstat__sysstat_expected.data-11.6.5-sadf-j.txt":  {sysstat, []want{{"fan", "f71858fg-isa-0200/1", 0, 1283, "1/min", ""}, {"temperature", "coretemp-isa-0000/9", 0, 33, "degC", ""}}, nil},
		"sysstat__sysstat__sysstat_expected.pidstat-At-ALL-JSON.txt": {sysstat, []want{}, nil},
	}
	for file, tt := range tests {
		t.Run(file, func(t *testing.T) {
			table, err := tt.read(corpusFile(t, file))
			if err != nil {
				t.Fatal(err)
			}
			check(t, table, tt.wants)
			wantWarnings(t, table, tt.warnings...)
		})
	}
}

// TestCorpusSums adds what may be added.
func TestCorpusSums(t *testing.T) {
	gpus, err := ReadNvidiaSMI(corpusFile(t, "microsoft__VirtualClient__query-gpu-8xH100.csv"))
	if err != nil {
		t.Fatal(err)
	}
	if got := sum(gpus, "power.draw.instant", 0); got < 570.279 || got > 570.281 {
		t.Errorf("eight cards add up to %v W, want 570.28", got)
	}
	groups, err := ReadSysstatJSON(corpusFile(t, "sysstat__sysstat__sysstat_expected.iostat-g-JSON.txt"), false)
	if err != nil {
		t.Fatal(err)
	}
	if got := sum(groups, "io.rate", 0); got < 8.599 || got > 8.601 {
		t.Errorf("the disks add up to %v tps, want 8.60", got)
	}
	disks, err := ReadSysstatJSON(corpusFile(t, "sysstat__sysstat__sysstat_expected.iostat-x-p-ALL-JSON.txt"), false)
	if err != nil {
		t.Fatal(err)
	}
	for _, v := range disks.Find("read.ops.rate", "sda9") {
		if !v.Part {
			t.Errorf("sda9 is not marked as a part of sda")
		}
	}
	sar, err := ReadSar(corpusFile(t, "GoogleCloudPlatform__PerfKitBenchmarker__sar_output.txt"))
	if err != nil {
		t.Fatal(err)
	}
	if v := sar.Values[0]; !v.At.Equal(time.Date(2019, 5, 21, 18, 42, 39, 0, time.UTC)) || v.Zoned {
		t.Errorf("the first row is of %v", v.At)
	}
	sadf, err := ReadSysstatJSON(corpusFile(t, "sysstat__sysstat__sysstat_expected.data-11.6.5-sadf-j.txt"), false)
	if err != nil {
		t.Fatal(err)
	}
	if v := sadf.Values[0]; v.Seconds != 46 || !v.Zoned || !v.At.Equal(time.Date(2018, 8, 29, 9, 34, 34, 0, time.UTC)) {
		t.Errorf("the first value is %+v", v)
	}
	pids, err := ReadSysstatJSON(corpusFile(t, "sysstat__sysstat__sysstat_expected.pidstat-At-ALL-JSON.txt"), false)
	if err != nil {
		t.Fatal(err)
	}
	found := 0
	for _, v := range pids.Values {
		if v.Column == "task-cpu-load.usr" && v.Instance == "8741" && v.Value == 0.97 && !v.Part {
			found++
		}
		if v.Column == "task-cpu-load.usr" && v.Instance == "8741/8741" && !v.Part {
			t.Error("a thread is not marked as a part of its process")
		}
	}
	if found != 1 {
		t.Errorf("process 8741 was found %d times", found)
	}
}
