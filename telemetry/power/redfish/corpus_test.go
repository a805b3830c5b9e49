package redfish

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"bakeoff/telemetry/power/meter"
)

// corpusFile reads a real answer of another lab's service, which this
// repository does not hold; it skips the test where the corpus is not beside
// the checkout.
func corpusFile(t *testing.T, name string) []byte {
	t.Helper()
	dir := filepath.Join("..", "..", "..", "..", "shared", "corpus", "7_telemetry")
	if _, err := os.Stat(dir); err != nil {
		t.Skipf("no corpus at %s: its real files are not read", dir)
	}
	data, err := os.ReadFile(filepath.Join(dir, name))
	if err != nil {
		t.Fatal(err)
	}
	return data
}

// TestCorpus reads real answers. The watts are the index's; 0 stands for no
// reading. Notes are parts of what must be noted, and nothing else may be.
func TestCorpus(t *testing.T) {
	tests := map[string]struct {
		watts float64
		parts []float64
		notes []string
	}{
		"DMTF__Redfish-Mockup-Server__redfish_1U_Power.json":              {watts: 344, parts: []float64{325}},
		"DMTF__Redfish-Mockup-Server__redfish_1U_EnvironmentMetrics.json": {watts: 374},
		"DMTF__Redfish-Mockup-Server__redfish_1U_PowerSubsystem-PowerSupplies-Bay1-Metrics.json": {
			watts: 937.4, notes: []string{"it gives 937.4 W and takes 937.4 W, which no supply can"}},
		"DMTF__Redfish-Mockup-Server__redfish_1U_PowerSubsystem-PowerSupplies-Bay1.json": {},
		"DMTF__Redfish-Mockup-Server__redfish_1U_PowerSubsystem-PowerSupplies-Bay2.json": {},
		"DMTF__Redfish-Mockup-Server__redfish_1U_Sensors-TotalPower.json": {
			watts: 374, notes: []string{"374 W is not its own apparent power times power factor, 2749.2 VA x 0.99"}},
		"DMTF__Redfish-Mockup-Server__redfish_1U_Sensors-PS1InputPower.json": {
			watts: 374, notes: []string{"374 W is more than its own apparent power of 350 VA"}},
		"criteo__hwbench__redfish_Hpe-DL380_power.json": {watts: 301, parts: []float64{147, 154}},
		"influxdata__telegraf__redfish_dell_power.json": {watts: 429, parts: []float64{203}, notes: []string{
			"its input of 900 W is above its capacity of 750 W", "429 W is above its own limit of 348 W", "but the supplies add up to 203 W"}},
		"influxdata__telegraf__redfish_hp_power.json": {watts: 221, parts: []float64{0, 90}, notes: []string{"221 W, but the supplies add up to 90 W"}},
		"influxdata__telegraf__redfish_hp_power_subsys_metrics.json": {
			watts: 937.4, notes: []string{"which no supply can"}},
		"influxdata__telegraf__redfish_hp_power_subsys.json":                                                {},
		"influxdata__telegraf__redfish_hp_power_subsys_psu_1.json":                                          {},
		"ibm-openbmc__dev__issue288_power.json":                                                             {watts: 232},
		"openstack__sushy__power.json":                                                                      {watts: 1285, parts: []float64{650, 635}, notes: []string{"without what they lose"}},
		"spyroot__idrac_ctl__hpe_redfish_v1_Chassis_1_PowerSubsystem.json":                                  {},
		"spyroot__idrac_ctl__smc_redfish_v1_Chassis_Chassis_0_Sensors_Chassis_0_TotalHSC_Power_0.json":      {watts: 1355.398772},
		"spyroot__idrac_ctl__smc_redfish_v1_Chassis_HGX_CPU_0_Sensors_ProcessorModule_0_CPU_0_Power_0.json": {watts: 86.718},
		"spyroot__idrac_ctl__smc_redfish_v1_Chassis_HGX_Chassis_0_Controls_TotalGPU_Power_0.json":           {watts: 954.685},
		"criteo__hwbench__pdu_raritan-outlet.json":                                                          {watts: 386.839},
		"criteo__hwbench__pdu_raritan-pdu.json":                                                             {},
		"criteo__hwbench__pdu_enlogic-pdu.json":                                                             {},
		"criteo__hwbench__pdu_enlogic-outlet.json":                                                          {}, // 0 W: no reading of a host
	}
	for file, tt := range tests {
		t.Run(file, func(t *testing.T) {
			r, err := Parse(corpusFile(t, file))
			if (tt.watts == 0) != errors.Is(err, meter.ErrNoReading) || tt.watts != 0 && err != nil {
				t.Fatalf("error %v, with %v W expected", err, tt.watts)
			}
			if tt.watts != 0 && (len(r.Power) != 1 || !near(r.Power[0].Value, tt.watts)) {
				t.Errorf("power %v, want %v W", r.Power, tt.watts)
			}
			var parts []float64
			for _, p := range r.Parts {
				parts = append(parts, p.Watts)
			}
			if !slices.Equal(parts, tt.parts) {
				t.Errorf("parts %v, want %v", r.Parts, tt.parts)
			}
			wantNotes(t, r, tt.notes...)
		})
	}
}

func near(a, b float64) bool { return a-b < 1e-9 && b-a < 1e-9 }

// TestCorpusStatistics reads what controllers say of the time before.
func TestCorpusStatistics(t *testing.T) {
	for file, want := range map[string][4]float64{ // least, most, mean, minutes
		"DMTF__Redfish-Mockup-Server__redfish_1U_Power.json": {271, 489, 319, 30},
		"criteo__hwbench__redfish_Hpe-DL380_power.json":      {233, 468, 238, 20},
		"influxdata__telegraf__redfish_dell_power.json":      {425, 436, 426, 1},
		"influxdata__telegraf__redfish_hp_power.json":        {220, 252, 221, 20},
	} {
		var r powerResource
		if err := json.Unmarshal(corpusFile(t, file), &r); err != nil {
			t.Fatal(err)
		}
		m := r.PowerControl[0].PowerMetrics
		got := [4]float64{m.MinConsumedWatts.value, m.MaxConsumedWatts.value, m.AverageConsumedWatts.value, m.IntervalInMin.value}
		if got != want {
			t.Errorf("%s: %v, want %v", file, got, want)
		}
	}
}

// TestCorpusOutlet reads an outlet that is at 0 W, which counts among several.
func TestCorpusOutlet(t *testing.T) {
	f, err := parse(corpusFile(t, "criteo__hwbench__pdu_enlogic-outlet.json"), "")
	if err != nil || !f.watts.ok || f.watts.value != 0 {
		t.Errorf("%+v %v, want 0 W", f, err)
	}
}

// TestCorpusFujitsu reads a fragment of an answer, whose ends are missing here.
func TestCorpusFujitsu(t *testing.T) {
	text := strings.TrimRight(string(corpusFile(t, "mrlhansen__idrac_exporter__issue121_fujitsu_power_fragment.json.txt")), " \n,")
	r, err := Parse([]byte("{" + text + "]}}}"))
	if err != nil {
		t.Fatal(err)
	}
	wantWatts(t, r, 150)
	if len(r.Parts) != 2 || r.Parts[0].Watts != 80 || r.Parts[1].Watts != 70 {
		t.Errorf("parts %v, want the two supplies", r.Parts)
	}
	wantNotes(t, r)
}

// TestCorpusReport reads a report whose values are strings.
func TestCorpusReport(t *testing.T) {
	data := corpusFile(t, "spyroot__idrac_ctl__hpe_redfish_v1_TelemetryService_MetricReports_CPUUtilCustom1.json")
	var report struct{ MetricValues []metricValue }
	if err := json.Unmarshal(data, &report); err != nil {
		t.Fatal(err)
	}
	if n := len(report.MetricValues); n != 30 {
		t.Fatalf("%d values, want 30", n)
	}
	var last time.Time
	var gaps []time.Duration
	for _, v := range report.MetricValues {
		at, err := time.Parse(time.RFC3339, string(v.Timestamp))
		if err != nil || v.MetricID != "CPUUtil" || !v.MetricValue.ok {
			t.Fatalf("%+v %v, want a number of CPUUtil", v, err)
		}
		if !last.IsZero() {
			gaps = append(gaps, at.Sub(last))
		}
		last = at
	}
	// The report says every 20 s; the service is late by up to 5 s now and then.
	slices.Sort(gaps)
	if report.MetricValues[0].MetricValue.value != 0 || gaps[0] != 20*time.Second || gaps[len(gaps)/2] != 20*time.Second || gaps[len(gaps)-1] != 25*time.Second {
		t.Errorf("the first value is %v, the gaps are %v", report.MetricValues[0].MetricValue, gaps)
	}
	f, err := parseReport(data, "CPUUtil")
	if err != nil {
		t.Fatal(err)
	}
	for _, w := range f.log {
		if w.Value <= 0 {
			t.Errorf("%v was taken for power", w.Value)
		}
	}
}
