package analysis_test

import (
	"math"
	"slices"
	"strings"
	"testing"

	"bakeoff/analysis"
	"bakeoff/record"
)

func chartNamed(t *testing.T, r *analysis.Result, id string) analysis.Chart {
	t.Helper()
	i := slices.IndexFunc(r.Charts, func(c analysis.Chart) bool { return c.ID == id })
	if i < 0 {
		t.Fatalf("there is no chart %s", id)
	}
	return r.Charts[i]
}

// A warm-up of 1.2 s begins with a short interval, the window of 9.5 s ends with
// one, and the drain completes what was in flight: none of that may look like a
// change of the rate.
func TestTimeChartShowsOneRateForOneRate(t *testing.T) {
	l := newLab(t, twoServers)
	l.noise = 0
	l.spoil = func(t *record.Trial, _ map[string][]record.Reading) {
		load := &t.Loads[0]
		load.Window.Seconds, load.Window.Warmup = 9.5, 1.2
		load.Window.End = load.Window.Start.Add(9500e6)
		whole := load.Series[0].Completed
		at := func(offset, seconds float64, completed uint64) record.Interval {
			// The measuring clock runs 90 ppm fast.
			return record.Interval{Offset: offset * 1.00009, Seconds: seconds * 1.00009, Completed: completed}
		}
		load.Window.Seconds *= 1.00009
		load.Series = []record.Interval{at(-1.2, 0.2, whole/5), at(-1, 1, whole)}
		for i := range 9 {
			load.Series = append(load.Series, at(float64(i), 1, whole))
		}
		load.Series = append(load.Series, at(9, 0.5, whole/2), at(9.5, 0.8, 8))
	}
	c := chartNamed(t, l.analyse(l.run()), "time")
	for _, s := range c.Series {
		if len(s.Y) != 12 {
			t.Errorf("%s has %d points, want 2 of the warm-up and 10 of the window: %v", s.Name, len(s.Y), s.X)
		}
		for i, y := range s.Y {
			if math.Abs(y/s.Y[1]-1) > 1e-4 {
				t.Errorf("%s: %v ops/s at %v s, where the load ran at %v throughout", s.Name, y, s.X[i], s.Y[1])
			}
		}
	}
	if !strings.Contains(c.Caption, "drain") {
		t.Errorf("the caption does not say what became of the drain: %s", c.Caption)
	}
	for _, s := range chartNamed(t, l.analyse(l.run()), "cpu").Series {
		if last := s.X[len(s.X)-1]; last > c.Bands[0].To {
			t.Errorf("%s: CPU is drawn at %v s, after the window's end at %v s", s.Name, last, c.Bands[0].To)
		}
	}
}
