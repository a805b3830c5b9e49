package power

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"math"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"bakeoff/internal/osenv"
	"bakeoff/record"
	"bakeoff/telemetry"
	"bakeoff/telemetry/power/meter"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// testClock is a clock that a test moves.
type testClock struct{ now time.Time }

func (c *testClock) Now() time.Time { return c.now }
func (c *testClock) Sleep(ctx context.Context, d time.Duration) error {
	c.now = c.now.Add(d)
	return nil
}

func testEnv(root string) (*osenv.Env, *testClock) {
	clock := &testClock{time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)}
	return &osenv.Env{
		Root: root, Dir: root, Clock: clock,
		LookupEnv: func(key string) (string, bool) { return "sesame-street", key == "TOKEN" },
	}, clock
}

func mustOpen(t *testing.T, spec Spec, env *osenv.Env) telemetry.Collector {
	t.Helper()
	c, err := Open(spec, env)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// collect returns the values by "metric instance".
func collect(t *testing.T, c telemetry.Collector) map[string]float64 {
	t.Helper()
	samples, err := c.Collect(context.Background(), nil)
	if err != nil {
		t.Fatal(err)
	}
	values := make(map[string]float64)
	for _, s := range samples {
		values[s.Metric.Name+" "+s.Instance] = s.Value
	}
	return values
}

func write(t *testing.T, dir, name, text string) {
	t.Helper()
	path := filepath.Join(dir, name)
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

func domain(t *testing.T, root, zone, name string, microjoules, limit uint64) {
	base := "sys/class/powercap/" + zone + "/"
	write(t, root, base+"name", name+"\n")
	write(t, root, base+"energy_uj", fmt.Sprintln(microjoules))
	write(t, root, base+"max_energy_range_uj", fmt.Sprintln(limit))
}

func TestRAPLAsASource(t *testing.T) {
	root := t.TempDir()
	env, clock := testEnv(root)
	const limit = 262143328850
	domain(t, root, "intel-rapl:0", "package-0", limit-50_000_000, limit)
	domain(t, root, "intel-rapl:0:0", "core", 1, limit)
	domain(t, root, "intel-rapl:0:1", "dram", 5_000_000, limit)
	domain(t, root, "intel-rapl:1", "psys", 9_000_000, limit)
	c := mustOpen(t, Spec{Kind: "rapl"}, env)
	if d := c.Describe(); d.Name != "power/rapl" || d.Class != "rapl" || d.Cadence != 0.001 || d.Uncertainty != nil {
		t.Errorf("described as %+v", d)
	}
	if p := c.Probe(context.Background()); p.Support != telemetry.Supported {
		t.Fatalf("probe: %+v", p)
	}
	clock.now = clock.now.Add(2 * time.Second)
	domain(t, root, "intel-rapl:0", "package-0", 150_000_000, limit) // 200 J later, wrapped
	domain(t, root, "intel-rapl:0:0", "core", 190_000_000, limit)    // inside the package
	domain(t, root, "intel-rapl:0:1", "dram", 25_000_000, limit)     // 20 J
	got := collect(t, c)
	if math.Abs(got["power rapl"]-110) > 1e-6 || len(got) != 2 {
		t.Errorf("got %v, want (200 J + 20 J) / 2 s", got)
	}
	before := got["energy rapl"]
	clock.now = clock.now.Add(10 * time.Millisecond)
	if got := collect(t, c); got["energy rapl"] != before || len(got) != 1 {
		t.Errorf("10 ms later: %v, want the energy alone", got)
	}
	clock.now = clock.now.Add(time.Second)
	domain(t, root, "intel-rapl:0:1", "dram", 35_000_000, limit)
	if got := collect(t, c); math.Abs(got["power rapl"]-10/1.01) > 1e-6 || math.Abs(got["energy rapl"]-before-10) > 1e-6 {
		t.Errorf("got %v, want 10 J over 1.01 s", got)
	}
}

func TestCommand(t *testing.T) {
	env, _ := testEnv(t.TempDir())
	tests := map[string]struct {
		options map[string]string
		watts   float64
		fails   string
	}{
		"number":         {map[string]string{"command": "echo 231.5"}, 231.5, ""},
		"last number":    {map[string]string{"command": "printf 'watts\\n100\\n 200 \\ndone\\n'"}, 200, ""},
		"pattern":        {map[string]string{"command": "echo 'AC: 412 W, 1.8 A'", "pattern": `([0-9.]+) W`}, 412, ""},
		"kilowatts":      {map[string]string{"command": "echo 0.4125", "unit": "kW"}, 412.5, ""},
		"ipmitool":       {map[string]string{"command": "echo 'System Level     | 98h | ok  |  7.1 | 105 Watts'", "format": "ipmitool"}, 105, ""},
		"zero":           {map[string]string{"command": "echo 0"}, 0, "no reading"},
		"words":          {map[string]string{"command": "echo n/a"}, 0, "no line is a number"},
		"no match":       {map[string]string{"command": "echo 5", "pattern": "x([0-9])"}, 0, "does not match"},
		"no number":      {map[string]string{"command": "echo x-", "pattern": "x(.)"}, 0, "no number"},
		"fails":          {map[string]string{"command": "echo 5; echo broken >&2; exit 3"}, 0, "exit status 3: \"broken\""},
		"not a number":   {map[string]string{"command": "echo NaN"}, 0, "is NaN"},
		"not to be run":  {map[string]string{"command": "/nonexistent/watts"}, 0, "exit status 127"},
		"more than ever": {map[string]string{"command": "echo 1e9"}, 0, "above"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			c := mustOpen(t, Spec{Kind: "command", Class: "wall-meter", Options: tt.options}, env)
			samples, err := c.Collect(context.Background(), nil)
			if tt.fails != "" {
				if err == nil || !strings.Contains(err.Error(), tt.fails) || len(samples) > 0 {
					t.Errorf("got %v (%v), want %q", samples, err, tt.fails)
				}
				return
			}
			if err != nil || len(samples) != 1 || samples[0].Value != tt.watts || samples[0].Instance != "command" {
				t.Errorf("got %v (%v), want %v W", samples, err, tt.watts)
			}
		})
	}
}

// TestCommandThatHangs checks that a deadline ends what the shell started, too.
func TestCommandThatHangs(t *testing.T) {
	dir := t.TempDir()
	env, _ := testEnv(dir)
	c := mustOpen(t, Spec{Kind: "command", Class: "bmc", Options: map[string]string{"command": "sleep 1000 & echo $! > child; wait"}}, env)
	ctx, cancel := context.WithCancelCause(context.Background())
	done := make(chan error, 1)
	go func() {
		_, err := c.Collect(ctx, nil)
		done <- err
	}()
	var child int
	for child == 0 {
		data, _ := os.ReadFile(filepath.Join(dir, "child"))
		fmt.Sscan(string(data), &child)
	}
	cancel(errors.New("the deadline"))
	if err := <-done; err == nil || !strings.Contains(err.Error(), "the deadline") {
		t.Errorf("got %v, want the deadline", err)
	}
	deadline := time.Now().Add(10 * time.Second)
	for {
		state, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", child))
		if err != nil || strings.Contains(string(state), ") Z") {
			break
		}
		if time.Now().After(deadline) {
			t.Fatalf("process %d goes on: %s", child, state)
		}
	}
}

const exposition = `# HELP node_power_watts Power of the node.
# TYPE node_power_watts gauge
node_power_watts{chassis="1",sensor="total"} 412.5
node_power_watts{chassis="2",sensor="total"} 300 1772366399500
node_power_watts{chassis="1",sensor="cpu"} 200
# TYPE joules_total counter
joules_total 5
untyped_milliwatts 231500
`

func TestPrometheus(t *testing.T) {
	var status int
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Authorization") != "Bearer sesame-street" {
			w.WriteHeader(http.StatusUnauthorized)
			return
		}
		w.WriteHeader(status)
		fmt.Fprint(w, exposition)
	}))
	defer server.Close()
	env, _ := testEnv(t.TempDir())
	tests := map[string]struct {
		options map[string]string
		watts   float64
		at      int64
		fails   string
	}{
		"one series":     {map[string]string{"metric": "node_power_watts", "labels": "sensor=total,chassis=1"}, 412.5, 0, ""},
		"own stamp":      {map[string]string{"metric": "node_power_watts", "labels": `chassis="2"`}, 300, 1772366399500, ""},
		"sum":            {map[string]string{"metric": "node_power_watts", "labels": "sensor=total", "sum": "true"}, 712.5, 0, ""},
		"no type, mW":    {map[string]string{"metric": "untyped_milliwatts", "unit": "mW"}, 231.5, 0, ""},
		"ambiguous":      {map[string]string{"metric": "node_power_watts", "labels": "sensor=total"}, 0, 0, "2 of 3 series"},
		"no such series": {map[string]string{"metric": "node_power_watts", "labels": "rack=9"}, 0, 0, "0 of 3 series"},
		"no such metric": {map[string]string{"metric": "watts"}, 0, 0, "has no metric watts"},
		"a counter":      {map[string]string{"metric": "joules_total"}, 0, 0, "it is a counter, expected a gauge"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			status = http.StatusOK
			tt.options["url"], tt.options["token_env"], tt.options["insecure"] = server.URL+"/metrics", "TOKEN", "true"
			c := mustOpen(t, Spec{Kind: "prometheus", Class: "psu", Options: tt.options}, env)
			defer c.(telemetry.Closer).Close(context.Background())
			samples, err := c.Collect(context.Background(), nil)
			if tt.fails != "" {
				if err == nil || !strings.Contains(err.Error(), tt.fails) {
					t.Errorf("got %v (%v), want %q", samples, err, tt.fails)
				}
				return
			}
			if err != nil || len(samples) != 1 || samples[0].Value != tt.watts || samples[0].At != tt.at*1e6 {
				t.Errorf("got %v (%v), want %v W at %d", samples, err, tt.watts, tt.at)
			}
		})
	}
	t.Run("faults", func(t *testing.T) {
		status = http.StatusServiceUnavailable
		c := mustOpen(t, Spec{Kind: "prometheus", Class: "psu", Options: map[string]string{"url": server.URL, "metric": "m", "token_env": "TOKEN"}}, env)
		defer c.(telemetry.Closer).Close(context.Background())
		if p := c.Probe(context.Background()); p.Support != telemetry.Unknown || !strings.Contains(p.Reason, "503") {
			t.Errorf("an exporter that is not ready: %+v", p)
		}
		c = mustOpen(t, Spec{Kind: "prometheus", Class: "psu", Options: map[string]string{"url": server.URL, "metric": "m"}}, env)
		defer c.(telemetry.Closer).Close(context.Background())
		if p := c.Probe(context.Background()); p.Support != telemetry.Unsupported || !strings.Contains(p.Reason, "refused") {
			t.Errorf("an exporter that wants a token: %+v", p)
		}
	})
}

func TestOpenRefuses(t *testing.T) {
	env, _ := testEnv(t.TempDir())
	for name, tt := range map[string]struct {
		spec Spec
		want string
	}{
		"kind":            {Spec{Kind: "crystal"}, `power source of kind "crystal": expected one of [rapl redfish`},
		"no class":        {Spec{Kind: "command", Options: map[string]string{"command": "x"}}, "class: found"},
		"class":           {Spec{Kind: "rapl", Class: "sun"}, `found "sun"`},
		"option":          {Spec{Kind: "rapl", Options: map[string]string{"watts": "5"}}, "watts: no such option; it takes cadence, name, uncertainty"},
		"cadence":         {Spec{Kind: "rapl", Options: map[string]string{"cadence": "often"}}, "a length of time"},
		"uncertainty":     {Spec{Kind: "rapl", Options: map[string]string{"uncertainty": "1"}}, "a percentage"},
		"pattern":         {Spec{Kind: "command", Class: "bmc", Options: map[string]string{"command": "x", "pattern": "("}}, "pattern"},
		"group":           {Spec{Kind: "command", Class: "bmc", Options: map[string]string{"command": "x", "pattern": "5"}}, "has no group"},
		"two formats":     {Spec{Kind: "command", Class: "bmc", Options: map[string]string{"command": "x", "format": "ipmitool", "unit": "kW"}}, "ipmitool with a pattern or a unit"},
		"labels":          {Spec{Kind: "prometheus", Class: "bmc", Options: map[string]string{"url": "http://x", "metric": "m", "labels": "a"}}, "label=value"},
		"several at once": {Spec{Kind: "prometheus", Class: "bmc", Options: map[string]string{}}, "metric: it is missing"},
	} {
		if _, err := Open(tt.spec, env); err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s: got %v, want %q", name, err, tt.want)
		}
	}
	if _, err := OpenAll([]Spec{{Kind: "rapl"}, {Kind: "rapl"}}, env); err == nil || !strings.Contains(err.Error(), "two sources have this name") {
		t.Errorf("two of a name: got %v", err)
	}
	all, err := OpenAll([]Spec{{Kind: "rapl"}, {Kind: "rapl", Options: map[string]string{"name": "cpu", "cadence": "2s", "uncertainty": "5%"}}}, env)
	if err != nil || len(all) != 2 {
		t.Fatal(all, err)
	}
	if d := all[1].Describe(); d.Name != "power/cpu" || d.Cadence != 2 || *d.Uncertainty != 5 {
		t.Errorf("described as %+v", d)
	}
	if _, err := telemetry.Select(append(telemetry.Table(telemetry.Config{}), all...), []string{"power", "cpu"}); err != nil {
		t.Error(err)
	}
}

// TestSecretsStayHidden prints a secret in every way that code prints things.
func TestSecretsStayHidden(t *testing.T) {
	s := meter.NewSecret("sesame-street")
	held := struct{ Password meter.Secret }{s}
	var log strings.Builder
	slog.New(slog.NewTextHandler(&log, nil)).Info("x", "secret", s, "held", held)
	encoded, err := json.Marshal(held)
	if err != nil {
		t.Fatal(err)
	}
	for _, text := range []string{
		fmt.Sprint(s), fmt.Sprintf("%v %+v %#v %q %s", s, held, s, s, s), string(encoded), log.String(), fmt.Sprintf("%#v", &held), fmt.Sprint(errors.New(s.String())),
	} {
		if strings.Contains(text, "sesame") {
			t.Errorf("a secret shows in %q", text)
		}
	}
}

// TestNoSecretInARecord samples a source with a token and looks for it in all
// that is kept.
func TestNoSecretInARecord(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { fmt.Fprint(w, exposition) }))
	defer server.Close()
	env, _ := testEnv(t.TempDir())
	c := mustOpen(t, Spec{Kind: "prometheus", Class: "psu", Options: map[string]string{"url": server.URL, "metric": "nothing", "token_env": "TOKEN"}}, env)
	s := telemetry.NewSampler(telemetry.SamplerConfig{Host: "h"}, []telemetry.Collector{c})
	if err := s.Start(context.Background()); err != nil {
		t.Fatal(err)
	}
	readings, costs, err := s.Stop(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	kept, err := json.Marshal(struct {
		Readings []record.Reading
		Costs    []record.CollectorCost
	}{readings, costs})
	if err != nil {
		t.Fatal(err)
	}
	if strings.Contains(string(kept), "sesame") || !strings.Contains(string(kept), "has no metric nothing") {
		t.Errorf("kept: %s", kept)
	}
}
