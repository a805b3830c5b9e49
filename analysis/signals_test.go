package analysis

import (
	"math"
	"testing"

	"pgregory.net/rapid"

	"bakeoff/record"
)

const second = int64(1e9)

func readingsOf(metric, instance string, kind record.MetricKind, values ...float64) []record.Reading {
	var out []record.Reading
	for i, v := range values {
		at := int64(i) * second
		out = append(out, record.Reading{Collector: "c", Metric: metric, Instance: instance, Kind: kind, Start: at - 1000, End: at + 1000, Value: v})
	}
	return out
}

func TestCounterIsInterpolatedAtTheEdges(t *testing.T) {
	s := newSignals(readingsOf("cpu.user", "", record.Counter64, 0, 10, 20, 40, 60))
	for _, c := range []struct{ from, to, total, coverage float64 }{
		{0, 4, 60, 1}, {0.5, 1.5, 10, 1}, {1.5, 2.5, 15, 1}, {2.25, 2.75, 10, 1}, {-1, 1, 10, 0.5}, {3, 7, 20, 0.25},
	} {
		got, ok := s.counter("cpu.user", "", span{int64(c.from * 1e9), int64(c.to * 1e9)})
		if !ok || math.Abs(got.total-c.total) > 1e-6 || math.Abs(got.coverage-c.coverage) > 1e-6 {
			t.Errorf("from %v to %v s: %+v (%v), want %v over %v of it", c.from, c.to, got, ok, c.total, c.coverage)
		}
	}
	if _, ok := s.counter("cpu.user", "", span{10 * second, 20 * second}); ok {
		t.Error("a window without samples has a rate")
	}
	if _, ok := s.counter("cpu.idle", "", span{0, second}); ok {
		t.Error("a metric that nobody read has a rate")
	}
}

func TestCounterThatFalls(t *testing.T) {
	s := newSignals(readingsOf("nic.rx.bytes", "eth0", record.Counter64, 0, 10, 5, 15))
	if got, ok := s.counter("nic.rx.bytes", "eth0", span{0, 3 * second}); ok {
		t.Errorf("a counter that fell gives %+v", got)
	}
}

func TestGapsAreNotCovered(t *testing.T) {
	rows := readingsOf("cpu.user", "", record.Counter64, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10)
	rows = append(rows[:3], rows[8:]...) // nothing from 2 s to 8 s
	got, ok := newSignals(rows).counter("cpu.user", "", span{0, 10 * second})
	if !ok || math.Abs(got.coverage-0.4) > 1e-6 || math.Abs(got.perSecond()-1) > 1e-6 {
		t.Errorf("%+v: want 4 of 10 s covered, at 1 a second", got)
	}
}

func TestGaugeMean(t *testing.T) {
	s := newSignals(readingsOf("power", "pdu", record.Gauge, 100, 200, 200, 100))
	got, ok := s.gauge("power", "pdu", span{0, 3 * second})
	if !ok || math.Abs(got.perSecond()-500.0/3) > 1e-6 {
		t.Errorf("mean power %v, want 166.67 W", got.perSecond())
	}
}

// TestSumsAddUp: a counter over two neighbouring spans is that over both.
func TestSumsAddUp(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		steps := rapid.SliceOfN(rapid.Float64Range(0, 100), 3, 20).Draw(t, "steps")
		values, sum := []float64{0}, 0.0
		for _, s := range steps {
			sum += s
			values = append(values, sum)
		}
		s := newSignals(readingsOf("c", "", record.Counter64, values...))
		end := int64(len(steps)) * second
		middle := rapid.Int64Range(1, end-1).Draw(t, "middle")
		a, okA := s.counter("c", "", span{0, middle})
		b, okB := s.counter("c", "", span{middle, end})
		if !okA || !okB || math.Abs(a.total+b.total-sum) > 1e-6 {
			t.Fatalf("%v and %v make %v", a.total, b.total, sum)
		}
	})
}

func TestMeters(t *testing.T) {
	bmc := readingsOf("power", "bmc", record.Gauge, 180, 180, 180, 180, 180, 180)
	wall := readingsOf("power", "wall", record.Gauge, 200, 200, 200, 200, 200, 200)
	rapl := append(readingsOf("rapl.energy", "package-0", record.Counter64, 0, 50, 100, 150, 200, 250),
		readingsOf("rapl.energy", "package-0/dram", record.Counter64, 0, 5, 10, 15, 20, 25)...)
	rapl = append(rapl, readingsOf("rapl.energy", "package-0/core", record.Counter64, 0, 30, 60, 90, 120, 150)...)
	rapl = append(rapl, readingsOf("rapl.energy", "psys", record.Counter64, 0, 90, 180, 270, 360, 450)...)
	for i := range wall {
		bmc[i].Collector, wall[i].Collector = "redfish", "pdu"
	}
	cost := func(wallCadence float64) map[string][]record.CollectorCost {
		return map[string][]record.CollectorCost{"h": {{Collector: "redfish", Class: "bmc", Cadence: 1}, {Collector: "pdu", Class: "wall-meter", Cadence: wallCadence}}}
	}
	of := func(rows []record.Reading, wallCadence float64) (meter, bool) {
		d := &trialData{machines: map[string]*signals{"h": newSignals(rows)}, names: map[string]string{"h": "h"},
			costs: cost(wallCadence), window: span{0, 5 * second}}
		return d.meterOf("h")
	}
	all := append(append(append([]record.Reading{}, rapl...), bmc...), wall...)
	if m, ok := of(all, 1); !ok || m.name != "wall" || m.watts != 200 || m.class != "wall-meter" {
		t.Errorf("the wall meter comes first: %+v", m)
	}
	if m, ok := of(all, 2); !ok || m.name != "bmc" || m.watts != 180 {
		t.Errorf("a wall meter that reads every 2 s has no three readings in 5 s: %+v", m)
	}
	if m, ok := of(rapl, 1); !ok || math.Abs(m.watts-55) > 1e-9 || m.class != "rapl" {
		t.Errorf("RAPL is packages and memory, not the cores inside them nor the platform: %+v", m)
	}
	if m, ok := of(bmc[:2], 1); ok {
		t.Errorf("one second of five was covered: %+v", m)
	}
}
