package ipmi

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"bakeoff/telemetry/power/meter"
)

func TestChoose(t *testing.T) {
	on := func(name string, watts float64) Sensor { return Sensor{name, watts, true} }
	tests := map[string]struct {
		sensors []Sensor
		named   []string
		watts   float64
		fails   string // part of the error, where there is no reading
	}{
		"Dell":                {sensors: []Sensor{on("Pwr Consumption", 210)}, watts: 210},
		"Dell, older":         {sensors: []Sensor{on("System Level", 105), on("CPU1 Power", 40)}, watts: 105},
		"Supermicro":          {sensors: []Sensor{on("PW Consumption", 320)}, watts: 320},
		"HPE":                 {sensors: []Sensor{on("Power Meter", 221), on("Power Supply 1", 0), on("Power Supply 2", 90)}, watts: 221},
		"Lenovo":              {sensors: []Sensor{on("Sys Power", 240), on("CPU Power", 100), on("Mem Power", 30)}, watts: 240},
		"supplies":            {sensors: []Sensor{on("PSU1 Input Power", 130), on("PSU2 Input Power", 0), on("PSU1 Output Power", 110)}, watts: 130},
		"supplies, one off":   {sensors: []Sensor{on("PS1 Power In", 130), {Name: "PS2 Power In"}}, fails: `"PS2 Power In" has none now`},
		"only parts":          {sensors: []Sensor{on("CPU1 Power", 40), on("CPU2 Power", 41)}, fails: "is not clear: CPU1 Power, CPU2 Power"},
		"two of the whole":    {sensors: []Sensor{on("System Power", 40), on("Total Power", 41)}, fails: "is not clear"},
		"none":                {fails: "no sensor measures watts"},
		"zero":                {sensors: []Sensor{on("System Level", 0)}, fails: "is 0 W"},
		"named":               {sensors: []Sensor{on("Node0", 100), on("Node1", 50)}, named: []string{"node0", "Node1"}, watts: 150},
		"named, not there":    {sensors: []Sensor{on("Node0", 100)}, named: []string{"Node7"}, fails: `0 sensors that measure watts are called "Node7"`},
		"named, there twice":  {sensors: []Sensor{on("A", 100), on("A", 1)}, named: []string{"A"}, fails: "2 sensors"},
		"a negative supply":   {sensors: []Sensor{on("PS1 Power In", 130), on("PS2 Power In", -3)}, fails: "none now"},
		"sentinel as a whole": {sensors: []Sensor{on("System Level", 65535)}, fails: "stands for none"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			r, err := Choose(tt.sensors, tt.named)
			if tt.fails != "" {
				if err == nil || !strings.Contains(err.Error(), tt.fails) {
					t.Errorf("got %v (%v), want %q", r.Power, err, tt.fails)
				}
				return
			}
			if err != nil || len(r.Power) != 1 || r.Power[0].Value != tt.watts {
				t.Errorf("got %v (%v), want %v W", r.Power, err, tt.watts)
			}
		})
	}
}

func corpusText(t *testing.T, name string) string {
	t.Helper()
	dir := filepath.Join("..", "..", "..", "..", "shared", "corpus", "7_telemetry")
	if _, err := os.Stat(dir); err != nil {
		t.Skipf("no corpus at %s: its real files are not read", dir)
	}
	data, err := os.ReadFile(filepath.Join(dir, name))
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

// TestCorpus reads what ipmitool printed in other labs. 0 W stands for no reading.
func TestCorpus(t *testing.T) {
	tests := map[string]struct {
		watts float64
		parts string
		note  string
	}{
		"influxdata__telegraf__ipmitool_dcmi_power_reading.txt":               {watts: 167, parts: "[]"},
		"openbmc__phosphor-host-ipmid__issue167_dcmi_360W_deactivated.txt":    {watts: 360, parts: "[]", note: "measurement is deactivated"},
		"openbmc__phosphor-host-ipmid__issue167_dcmi_zero_deactivated.txt":    {},
		"influxdata__telegraf__ipmitool_sdr_v1.txt":                           {watts: 210, parts: "[]"},
		"ateodorescu__home-assistant-ipmi__issue13_dell_sdr_type_current.txt": {watts: 105, parts: "[]"},
		"ateodorescu__home-assistant-ipmi__issue13_sdr_current_dcmi.txt":      {watts: 292, parts: "[{PS1 Power In 132} {PS2 Power In 160}]"},
		"ateodorescu__home-assistant-ipmi__issue27_sensor_watts_line.txt":     {watts: 189, parts: "[]"},
		"criteo__hwbench__ipmitool_1818_stdout.txt":                           {}, // lan print
	}
	for file, tt := range tests {
		t.Run(file, func(t *testing.T) {
			r, err := ParseText(corpusText(t, file), nil)
			if tt.watts == 0 {
				if !errors.Is(err, meter.ErrNoReading) {
					t.Errorf("got %v (%v), want no reading", r.Power, err)
				}
				return
			}
			if err != nil || len(r.Power) != 1 || r.Power[0].Value != tt.watts || fmt.Sprint(r.Parts) != tt.parts {
				t.Errorf("got %+v (%v), want %v W and parts %s", r, err, tt.watts, tt.parts)
			}
			if (tt.note != "") != (len(r.Notes) > 0) || tt.note != "" && !strings.Contains(r.Notes[0], tt.note) {
				t.Errorf("notes %q, want %q", r.Notes, tt.note)
			}
		})
	}
	d, found, err := parseDCMI(corpusText(t, "influxdata__telegraf__ipmitool_dcmi_power_reading.txt"))
	if want := (DCMI{Current: 167, Least: 124, Most: 422, Mean: 156, Active: true, Stamp: 1470086571}); !found || err != nil || d != want {
		t.Errorf("%+v (%t, %v), want %+v", d, found, err, want)
	}
}

func TestTextFaults(t *testing.T) {
	for text, want := range map[string]string{
		"Instantaneous power reading: many Watts\n": "line 1: found",
		"Instantaneous power reading: 5 Amps\n":     "expected a number of Watts",
		"System Level | much Watts | ok\n":          `line 1: found "much"`,
		"":                                          "no sensor measures watts",
	} {
		if _, err := ParseText(text, nil); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: got %v, want %q", text, err, want)
		}
	}
}

func TestOptionsRefused(t *testing.T) {
	for name, tt := range map[string]struct {
		options map[string]string
		want    string
	}{
		"no address":    {map[string]string{}, "address: it is missing"},
		"local address": {map[string]string{"interface": "local", "address": "x"}, "an address for the local device"},
		"password":      {map[string]string{"address": "x", "password": "hunter2"}, "a secret in the plan"},
		"privilege":     {map[string]string{"address": "x", "privilege": "root"}, "one of user, operator, administrator"},
	} {
		if _, err := open(t, tt.options); err == nil || !strings.Contains(err.Error(), tt.want) || strings.Contains(err.Error(), "hunter2") {
			t.Errorf("%s: got %v, want %q", name, err, tt.want)
		}
	}
}

func FuzzParseText(f *testing.F) {
	f.Add("Instantaneous power reading:                   167 Watts\nPower reading state is:                   activated\n")
	f.Add("PS1 Power In     | 52h | ok  | 10.1 | 132 Watts\n")
	f.Add("System Level     | 189.000    | Watts      | ok    | na        | na        | na        | 917.000   | 966.000   | na\n")
	f.Add("Avg Power        | 210 Watts         | ok\nFan 1            | 0x00              | ok\n")
	f.Fuzz(func(t *testing.T, text string) {
		r, err := ParseText(text, nil)
		if err == nil && (len(r.Power) != 1 || meter.Check("", r.Power[0].Value) != nil) {
			t.Fatalf("%+v without an error", r)
		}
	})
}
