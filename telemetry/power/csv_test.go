package power

import (
	"context"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"bakeoff/telemetry"
)

func appendTo(t *testing.T, path, text string) {
	t.Helper()
	f, err := os.OpenFile(path, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o644)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if _, err := f.WriteString(text); err != nil {
		t.Fatal(err)
	}
}

// moments returns watts and times as text, "12:00:01.000 400".
func moments(samples []telemetry.Sample) string {
	var out []string
	for _, s := range samples {
		out = append(out, time.Unix(0, s.At).UTC().Format("15:04:05.000 ")+strconv.FormatFloat(s.Value, 'f', -1, 64))
	}
	return strings.Join(out, "; ")
}

// TestMeterLog follows a log as its meter writes it, with a clock of its own.
func TestMeterLog(t *testing.T) {
	dir := t.TempDir()
	env, _ := testEnv(dir) // it is 12:00:00 UTC here
	path := filepath.Join(dir, "meter.csv")
	// The meter shows local time, two hours ahead of UTC, and is 1.5 s behind.
	appendTo(t, path, "\ufeffDate;Time;Volt;Watt\r\n2026-03-01;13:00:00;230;999,9\r\n2026-03-01;13:59:58,5;230;400,5\r\n2026-03-01;13:59:59,5;230;401,")
	c := mustOpen(t, Spec{Kind: "csv", Options: map[string]string{
		"file": "meter.csv", "column": "Watt", "time": "Date, Time", "format": "2006-01-02 15:04:05", "zone": "+02:00",
		"shift": "1.5s", "delimiter": ";", "decimal": ",", "name": "wall", "uncertainty": "0.5%",
	}}, env)
	if d := c.Describe(); d.Class != "wall-meter" || d.Cadence != 1 || *d.Uncertainty != 0.5 {
		t.Errorf("described as %+v", d)
	}
	ctx := context.Background()
	step := func(want string) {
		t.Helper()
		samples, err := c.Collect(ctx, nil)
		if err != nil {
			t.Fatal(err)
		}
		if got := moments(samples); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
	step("12:00:00.000 400.5") // the row of an hour ago is left out, and the last has no end yet
	step("")
	appendTo(t, path, "5\r\n")
	step("12:00:01.000 401.5")
	appendTo(t, path, "2026-03-01;14:00:00,5;230;OL\r\n2026-03-01;14:00:03,5;230;0\r\n2026-03-01;14:00:04,5;230;1.234,5\r\n")
	step("12:00:06.000 1234.5")
	appendTo(t, path, "2026-03-01;14:00:02,5;230;402,5\r\n2026-03-01;14:00:07,5;230;403,5\r\n")
	step("12:00:09.000 403.5")
	notes := c.(telemetry.Noter).Notes()
	for _, want := range []string{"rows without a reading, the first in line 5", "went back or stood still, first in line 8"} {
		if !strings.Contains(strings.Join(notes, "\n"), want) {
			t.Errorf("no note says %q: %q", want, notes)
		}
	}
	// A new file, as at midnight.
	if err := os.WriteFile(path, []byte("Date;Time;Volt;Watt\r\n2026-03-01;14:00:09,5;230;500\r\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	step("12:00:11.000 500")
	appendTo(t, path, "2026-03-01;soon;230;500\r\n2026-03-01;14:00:10,5;230;501\r\n")
	if _, err := c.Collect(ctx, nil); err == nil || !strings.Contains(err.Error(), `line 3: found "2026-03-01 soon", expected a time like`) {
		t.Errorf("got %v, want the line and the time", err)
	}
	step("12:00:12.000 501")
}

func TestMeterLogFormats(t *testing.T) {
	for name, tt := range map[string]struct {
		text    string
		options map[string]string
		want    string
	}{
		"RFC 3339": {"t,w\n2026-03-01T13:00:01+01:00,10.5\n", map[string]string{}, "12:00:01.000 10.5"},
		"unix":     {"t,w\n1772366401.25,10\n", map[string]string{"format": "unix"}, "12:00:01.250 10"},
		"unix ms":  {"t,w\n1772366401250,10\n", map[string]string{"format": "unix_ms"}, "12:00:01.250 10"},
		"tab, kW":  {"t\tw\n1772366401\t0.5\n", map[string]string{"format": "unix", "delimiter": "tab", "unit": "kW"}, "12:00:01.000 500"},
		"quoted":   {"\"t\",\"a,b\",\"w\"\n1772366401,\"x,y\",\"12\"\n", map[string]string{"format": "unix"}, "12:00:01.000 12"},
		"DST zone": {"t,w\n2026-03-01 13:00:01,9\n", map[string]string{"format": "2006-01-02 15:04:05", "zone": "Europe/Berlin"}, "12:00:01.000 9"},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			env, _ := testEnv(dir)
			write(t, dir, "m.csv", tt.text)
			options := map[string]string{"file": "m.csv", "column": "w", "time": "t"}
			for k, v := range tt.options {
				options[k] = v
			}
			samples, err := mustOpen(t, Spec{Kind: "csv", Options: options}, env).Collect(context.Background(), nil)
			if err != nil || moments(samples) != tt.want {
				t.Errorf("got %q (%v), want %q", moments(samples), err, tt.want)
			}
		})
	}
}

func TestMeterLogRefused(t *testing.T) {
	dir := t.TempDir()
	env, _ := testEnv(dir)
	write(t, dir, "m.csv", "t,w,w\n1,2,3\n")
	base := map[string]string{"file": "m.csv", "column": "w", "time": "t", "format": "unix"}
	for name, tt := range map[string]struct {
		change map[string]string
		want   string
	}{
		"no zone":       {map[string]string{"format": "2006-01-02 15:04"}, "zone: it is missing, and the format has none"},
		"zone":          {map[string]string{"format": "15:04", "zone": "Moon"}, `found "Moon"`},
		"delimiter":     {map[string]string{"delimiter": "ab"}, "one character, or tab"},
		"comma twice":   {map[string]string{"decimal": ","}, "a comma, as is the decimal sign"},
		"no time":       {map[string]string{"time": ""}, "time: it is missing"},
		"two columns":   {nil, `2 columns are named "w"`},
		"no column":     {map[string]string{"column": "watts"}, `0 columns are named "watts"`},
		"no such file":  {map[string]string{"file": "other.csv"}, "other.csv: no such file"},
		"shift in text": {map[string]string{"shift": "later"}, "a length of time"},
	} {
		t.Run(name, func(t *testing.T) {
			options := make(map[string]string)
			for k, v := range base {
				options[k] = v
			}
			for k, v := range tt.change {
				options[k] = v
			}
			c, err := Open(Spec{Kind: "csv", Options: options}, env)
			if err == nil {
				_, err = c.Collect(context.Background(), nil)
			}
			if err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("got %v, want %q", err, tt.want)
			}
		})
	}
}

func FuzzMeterLog(f *testing.F) {
	f.Add("t,w\n1772366401,10\n1772366402,x\n")
	f.Add("\ufeff\"t\",w\r\n1772366401,10\r\n")
	f.Add("w,t\n,\n5,1e300\n")
	dir := f.TempDir()
	f.Fuzz(func(t *testing.T, text string) {
		env, _ := testEnv(dir)
		write(t, dir, "m.csv", text)
		c := mustOpen(t, Spec{Kind: "csv", Options: map[string]string{"file": "m.csv", "column": "w", "time": "t", "format": "unix"}}, env)
		samples, _ := c.Collect(context.Background(), nil)
		last := int64(0)
		for _, s := range samples {
			if s.Value <= 0 || s.At <= last {
				t.Fatalf("%v W at %d after %d", s.Value, s.At, last)
			}
			last = s.At
		}
	})
}
