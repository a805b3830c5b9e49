package telemetry

import (
	"context"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"bakeoff/record"
)

var update = flag.Bool("update", false, "write the golden files and docs/telemetry.md afresh")

// tree is a directory that stands for "/", as a test changes it.
type tree struct {
	t   *testing.T
	dir string
}

// copyTree copies testdata/tree: files of a small virtual machine, with a
// partition, a device-mapper disk, cpufreq and throttle counters added by hand.
func copyTree(t *testing.T) tree {
	t.Helper()
	dir := t.TempDir()
	if err := os.CopyFS(dir, os.DirFS("testdata/tree")); err != nil {
		t.Fatal(err)
	}
	return tree{t, dir}
}

func emptyTree(t *testing.T) tree {
	t.Helper()
	return tree{t, t.TempDir()}
}

func (tr tree) write(name, text string) {
	tr.t.Helper()
	path := filepath.Join(tr.dir, name)
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		tr.t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		tr.t.Fatal(err)
	}
}

func (tr tree) remove(name string) {
	tr.t.Helper()
	if err := os.RemoveAll(filepath.Join(tr.dir, name)); err != nil {
		tr.t.Fatal(err)
	}
}

// domain writes one RAPL domain. They are written here, not kept in testdata:
// a colon in a file's name is refused by Go's module archives.
func (tr tree) domain(zone, name string, microjoules, limit uint64) {
	base := "sys/class/powercap/" + zone + "/"
	tr.write(base+"name", name+"\n")
	tr.write(base+"energy_uj", fmt.Sprintln(microjoules))
	tr.write(base+"max_energy_range_uj", fmt.Sprintln(limit))
}

// collect calls a collector once and returns its values by "metric instance".
func collect(t *testing.T, c Collector) map[string]float64 {
	t.Helper()
	samples, err := c.Collect(context.Background(), nil)
	if err != nil {
		t.Fatalf("collecting %s: %v", c.Describe().Name, err)
	}
	values := make(map[string]float64, len(samples))
	for _, s := range samples {
		key := strings.TrimSpace(s.Metric.Name + " " + s.Instance)
		if _, twice := values[key]; twice {
			t.Errorf("%s was given twice in one sample", key)
		}
		values[key] = s.Value
	}
	return values
}

// wantValues checks some of the values; a nil stands for absence.
func wantValues(t *testing.T, got map[string]float64, want map[string]any) {
	t.Helper()
	for key, value := range want {
		found, ok := got[key]
		switch v := value.(type) {
		case nil:
			if ok {
				t.Errorf("%s = %v, want none", key, found)
			}
		case int:
			if !ok || found != float64(v) {
				t.Errorf("%s = %v (there: %t), want %d", key, found, ok, v)
			}
		case float64:
			if !ok || found != v {
				t.Errorf("%s = %v (there: %t), want %v", key, found, ok, v)
			}
		default:
			t.Fatalf("%s: a test cannot want %T", key, value)
		}
	}
}

func treeConfig(root string) Config {
	return Config{Root: root, Self: 100, PageSize: 4096, Processes: []Process{{Name: "redis", PIDs: []int{200}}}}
}

// TestTreeGolden reads the whole tree with every collector.
func TestTreeGolden(t *testing.T) {
	tr := copyTree(t)
	tr.domain("intel-rapl:0", "package-0", 240_000_000, 262143328850)
	tr.domain("intel-rapl:0:0", "core", 100_000_000, 262143328850)
	tr.domain("intel-rapl:0:1", "dram", 30_000_000, 65712999613)
	tr.domain("intel-rapl:1", "psys", 300_000_000, 262143328850)
	tr.domain("intel-rapl-mmio:0", "package-0", 240_000_001, 262143328850)
	var out strings.Builder
	for _, c := range Table(treeConfig(tr.dir)) {
		name := c.Describe().Name
		if name == "clock" {
			continue // has no files
		}
		if p := c.Probe(context.Background()); p.Support != Supported {
			t.Errorf("%s: probe says %s: %s", name, p.Support, p.Reason)
		}
		samples, err := c.Collect(context.Background(), nil)
		if err != nil {
			t.Errorf("%s: %v", name, err)
		}
		for _, s := range samples {
			fmt.Fprintf(&out, "%s\t%s\t%s\t%v\t%s\n", name, s.Metric.Name, s.Instance, s.Value, s.Metric.Unit)
		}
	}
	golden(t, "testdata/tree.golden", out.String())
}

func golden(t *testing.T, path, got string) {
	t.Helper()
	if *update {
		if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), got); diff != "" {
		t.Errorf("%s differs (-want +got); go test -update writes it afresh:\n%s", path, diff)
	}
}

// TestDescribed checks that collectors give only what they describe, and that
// every metric that is listed is given by some collector of the tree or says
// why not here.
func TestDescribed(t *testing.T) {
	names := make(map[string]bool)
	for _, m := range Metrics() {
		if names[m.Name] {
			t.Errorf("%s is listed twice", m.Name)
		}
		names[m.Name] = true
		if m.Doc == "" || m.Unit == "" || m.Kind != record.Counter64 && m.Kind != record.Gauge {
			t.Errorf("%s lacks a unit, a kind or a doc", m.Name)
		}
	}
	given := make(map[string]bool)
	tr := copyTree(t)
	tr.domain("intel-rapl:0", "package-0", 1, 2)
	tr.write("proc/pressure/irq", "full avg10=0.00 avg60=0.00 avg300=0.00 total=5\n")
	for _, c := range Table(treeConfig(tr.dir)) {
		described := make(map[string]Metric)
		for _, m := range c.Describe().Metrics {
			described[m.Name] = m
			if !names[m.Name] {
				t.Errorf("%s of %s is not in Metrics", m.Name, c.Describe().Name)
			}
		}
		samples, err := c.Collect(context.Background(), nil)
		if err != nil {
			t.Fatal(err)
		}
		for _, s := range samples {
			given[s.Metric.Name] = true
			if described[s.Metric.Name] != *s.Metric {
				t.Errorf("%s gave %v, which it does not describe", c.Describe().Name, *s.Metric)
			}
		}
	}
	for name := range names {
		needsMore := strings.HasPrefix(name, "power") || name == "energy" || strings.HasPrefix(name, "clock.error")
		if !given[name] && !needsMore {
			t.Errorf("no collector gave %s", name)
		}
	}
}

// TestProbesOfNothing checks that a host without the sources says so.
func TestProbesOfNothing(t *testing.T) {
	for _, c := range Table(Config{Root: t.TempDir()}) {
		d, p := c.Describe(), c.Probe(context.Background())
		if d.Name == "clock" {
			continue
		}
		if p.Support != Unsupported || p.Reason == "" {
			t.Errorf("%s: probe says %s (%q), want unsupported with a reason", d.Name, p.Support, p.Reason)
		}
		if _, err := c.Collect(context.Background(), nil); err == nil && d.Name != "throttle" {
			t.Errorf("%s collected from nothing without an error", d.Name)
		}
	}
}

func TestSelect(t *testing.T) {
	table := Table(Config{})
	chosen, err := Select(table, []string{"nic", "power", "cpu"})
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, c := range chosen {
		names = append(names, c.Describe().Name)
	}
	if diff := cmp.Diff([]string{"cpu", "nic"}, names); diff != "" {
		t.Error(diff)
	}
	if all, err := Select(table, nil); err != nil || len(all) != len(table) {
		t.Errorf("no names chose %d of %d (%v)", len(all), len(table), err)
	}
	if _, err := Select(table, []string{"disc"}); err == nil || !strings.Contains(err.Error(), `"disc"`) || !strings.Contains(err.Error(), "disk") {
		t.Errorf("got %v, want an error that names what was found and what is known", err)
	}
}
