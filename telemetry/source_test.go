package telemetry

import (
	"testing"

	"pgregory.net/rapid"
)

func TestGrowthRules(t *testing.T) {
	const top = 262143328850
	tests := map[string]struct {
		rule  growth
		reads []uint64
		want  uint64 // the total after the last
	}{
		"only grows":                 {restarts, []uint64{5, 7, 100}, 100},
		"restarts at 0":              {restarts, []uint64{100, 0, 40}, 140},
		"restarts twice":             {restarts, []uint64{100, 30, 10, 20}, 150},
		"32 bits wrap":               {wraps32, []uint64{1<<32 - 10, 15}, 1<<32 + 15},
		"32 bits restart":            {wraps32, []uint64{2_000_000_000, 15}, 2_000_000_015},
		"64 bits restart":            {wraps32, []uint64{1 << 40, 15}, 1<<40 + 15},
		"wraps at its own range":     {wrapsAt(top), []uint64{top - 1000, 500}, top + 500},
		"wraps at its range, twice":  {wrapsAt(top), []uint64{top - 1, 0, top - 1, 3}, 2*top + 3},
		"above its range: restarts":  {wrapsAt(100), []uint64{500, 20}, 520},
		"runs back a little":         {jitters, []uint64{1000, 999, 1001}, 1001},
		"runs back and stays":        {jitters, []uint64{1000, 999, 999}, 1000},
		"a core's times begin again": {jitters, []uint64{100_000, 2, 8}, 100_008},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			s := newSource(cpuMetrics())
			var got uint64
			for _, raw := range tt.reads {
				got = s.grow("cpu.user", "", raw, tt.rule)
			}
			if got != tt.want {
				t.Errorf("after %v: total %d, want %d", tt.reads, got, tt.want)
			}
		})
	}
}

// TestWrappingCounterIsExact models counters that wrap and are read often enough.
func TestWrappingCounterIsExact(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		modulus, rule := uint64(1)<<32, growth(wraps32)
		if rapid.Bool().Draw(t, "rapl") {
			highest := rapid.Uint64Range(1<<30, 1<<38).Draw(t, "highest")
			// The kernel's counter goes from its range to 0 in one step of no energy.
			modulus, rule = highest, wrapsAt(highest)
		}
		truth := rapid.Uint64Range(0, modulus-1).Draw(t, "first")
		s := newSource(cpuMetrics())
		s.grow("cpu.user", "", truth, rule)
		for range rapid.IntRange(1, 40).Draw(t, "samples") {
			truth += rapid.Uint64Range(0, modulus/4).Draw(t, "step")
			if got := s.grow("cpu.user", "", truth%modulus, rule); got != truth {
				t.Fatalf("total %d, want %d", got, truth)
			}
		}
	})
}

func TestCountersNeverFall(t *testing.T) {
	rules := map[string]growth{"restarts": restarts, "wraps32": wraps32, "wrapsAt": wrapsAt(1 << 20), "jitters": jitters}
	rapid.Check(t, func(t *rapid.T) {
		s := newSource(cpuMetrics())
		name := rapid.SampledFrom([]string{"restarts", "wraps32", "wrapsAt", "jitters"}).Draw(t, "rule")
		var last uint64
		for _, raw := range rapid.SliceOf(rapid.Uint64Range(0, 1<<34)).Draw(t, "reads") {
			got := s.grow("cpu.user", "", raw, rules[name])
			if got < last {
				t.Fatalf("%s: fell from %d to %d at %d", name, last, got, raw)
			}
			last = got
		}
	})
}

func TestScaled(t *testing.T) {
	for _, tt := range []struct {
		raw  uint64
		unit float64
		want float64
	}{{3535, 0.01, 35.35}, {240422366267, 1e-6, 240422.366267}, {3, 512, 1536}, {33903, 0.01, 339.03}} {
		if got := scaled(tt.raw, tt.unit); got != tt.want {
			t.Errorf("scaled(%d, %v) = %v, want %v", tt.raw, tt.unit, got, tt.want)
		}
	}
}
