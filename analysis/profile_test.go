package analysis_test

import (
	"strings"
	"testing"

	"bakeoff/analysis"
	"bakeoff/record"
)

// twoKinds gives every trial a second kind of operation with the histogram of the
// first, and disks that work.
func twoKinds(done bool) func(*record.Trial, map[string][]record.Reading) {
	return func(t *record.Trial, readings map[string][]record.Reading) {
		l := &t.Loads[0]
		l.Kinds = append(l.Kinds, record.KindCount{Kind: "set", Completed: 5})
		for _, lat := range l.Latencies {
			if lat.Kind == "get" {
				lat.Kind = "set"
				l.Latencies = append(l.Latencies, lat)
				break
			}
		}
		if done {
			l.Ended = "done"
		}
		var more []record.Reading
		for _, r := range readings["server"] {
			if r.Metric != "disk.write.bytes" {
				continue
			}
			for metric, factor := range map[string]float64{"disk.read.bytes": 40, "disk.read.ops": 0.01, "disk.read.time": 1e-6, "disk.write.ops": 0.001, "disk.write.time": 1e-7} {
				extra := r
				extra.Metric, extra.Instance, extra.Value = metric, "sdb", r.Value*factor
				if metric != "disk.read.bytes" {
					extra.Unit = "1"
				}
				more = append(more, extra)
			}
		}
		readings["server"] = append(readings["server"], more...)
	}
}

// Where time goes by kind, what storage and CPU did beside the work, and the
// stack of work that ends by itself.
func TestKindsAndStorage(t *testing.T) {
	l := newLab(t, strings.Replace(twoServers, "blocks: 8", "blocks: 3", 1))
	l.spoil = twoKinds(false)
	r := l.analyse(l.run())
	profile := tableOf(t, r, "profile")
	if len(profile.Rows) != 4 || profile.Rows[1][1] != "set" || profile.Rows[0][10] != "50 %" {
		t.Errorf("profile %v", profile.Rows)
	}
	kinds := tableOf(t, r, "kind-latency")
	if len(kinds.Rows) != 2 || !strings.Contains(kinds.Rows[0][4], "% less time") || !strings.Contains(kinds.Rows[0][5], "95 % interval") {
		t.Errorf("p95 by kind %v", kinds.Rows)
	}
	work := tableOf(t, r, "work")
	want := map[string]string{"Read from disk": "40.00 MB/s", "Mean latency of disk reads": "100.0 µs", "Mean latency of disk writes": "100.0 µs", "Host CPU busy": "50 %"}
	for i, name := range work.Columns {
		if text, asked := want[name]; asked {
			delete(want, name)
			if work.Rows[0][i] != text {
				t.Errorf("%s is %s, expected %s", name, work.Rows[0][i], text)
			}
		}
	}
	if len(want) > 0 {
		t.Errorf("%v are missing in %v", want, work.Columns)
	}
	charts := map[string]analysis.Chart{}
	for _, c := range r.Charts {
		charts[c.ID] = c
	}
	if c := charts["storage"]; len(c.Series) != 2 || c.Series[0].Y[2] != 41e6 || c.Group != charts["time"].Group {
		t.Errorf("storage over time: %+v", c)
	}
	if _, stacked := charts["stack"]; stacked {
		t.Error("a load that is held for a window is stacked")
	}
	l.spoil = twoKinds(true)
	for _, c := range l.analyse(l.run()).Charts {
		charts[c.ID] = c
	}
	if c := charts["stack"]; len(c.Series) != 2 || len(c.Series[0].Y) != 2 || !(c.Series[0].Y[0] > 0) || c.Series[1].Name != "set" {
		t.Errorf("stack: %+v", c)
	}
}
