package load

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"bakeoff/internal/osenv"
)

// tree writes files below a root of their own.
func tree(t *testing.T, files map[string]string) string {
	t.Helper()
	root := t.TempDir()
	for name, text := range files {
		path := filepath.Join(root, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return root
}

const (
	cpuinfo  = "proc/cpuinfo"
	current  = "sys/devices/system/clocksource/clocksource0/current_clocksource"
	goodFlag = "processor\t: 0\nflags\t\t: fpu tsc constant_tsc nonstop_tsc rdtscp\nbugs\t\t: \n\nprocessor\t: 1\nflags\t\t: fpu\n"
)

func TestTheCounterIsTrustedOnlyWhereItMayBe(t *testing.T) {
	if !tscSupported {
		t.Skip("no time-stamp counter on this architecture")
	}
	for _, c := range []struct {
		name  string
		files map[string]string
		want  string // "" for trust
	}{
		{"good", map[string]string{cpuinfo: goodFlag, current: "tsc\n"}, ""},
		{"stops in deep sleep", map[string]string{cpuinfo: "flags : constant_tsc\n", current: "tsc\n"}, "lacks nonstop_tsc"},
		{"varies", map[string]string{cpuinfo: "flags : nonstop_tsc\n", current: "tsc\n"}, "lacks constant_tsc"},
		{"kernel prefers another", map[string]string{cpuinfo: goodFlag, current: "hpet\n"}, "is hpet, not tsc"},
		{"no clock source", map[string]string{cpuinfo: goodFlag}, "clock source could not be read"},
		{"no cpuinfo", nil, "flags could not be read"},
	} {
		t.Run(c.name, func(t *testing.T) {
			m := NewMachine(tree(t, c.files))
			clock, err := m.NewClock(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			source, reason := clock.Source()
			if (source == SourceTSC) != (c.want == "") || !strings.Contains(reason, c.want) {
				t.Errorf("source %s, reason %q; want reason %q", source, reason, c.want)
			}
		})
	}
}

// TestClocksRunAtOneRate compares both sources with CLOCK_MONOTONIC.
func TestClocksRunAtOneRate(t *testing.T) {
	m := NewMachine("/")
	tsc, err := m.NewClock(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []*Clock{tsc, monotonicClock("test")} {
		source, _ := c.Source()
		own0, mono0 := c.pair()
		if own0 <= 0 {
			t.Errorf("%s: the clock began at %d", source, own0)
		}
		if err := (osenv.System{}).Sleep(t.Context(), 50*time.Millisecond); err != nil {
			t.Fatal(err)
		}
		own1, mono1 := c.pair()
		// A counter that is trusted is calibrated to some parts in a million; a
		// wrong scale would be out by far more than this.
		if off := float64(own1-own0)/float64(mono1-mono0) - 1; off > 1e-3 || off < -1e-3 {
			t.Errorf("%s: the clock is out by %g", source, off)
		}
		last := c.Now()
		for range 10_000 {
			now := c.Now()
			if now < last {
				t.Fatalf("%s: the clock went back from %d to %d", source, last, now)
			}
			last = now
		}
	}
	if n := testing.AllocsPerRun(100, func() { tsc.Now() }); n != 0 {
		t.Errorf("reading the clock allocates %g times", n)
	}
}

func TestABrokenCounterIsNotTrusted(t *testing.T) {
	if !tscSupported {
		t.Skip("no time-stamp counter on this architecture")
	}
	for _, c := range []struct {
		a, b moment
		want string
	}{
		{moment{100, 100}, moment{100, 200}, "did not run"},
		{moment{100, 100}, moment{200, 100}, "did not run"},
		{moment{0, 0}, moment{1, 1e9}, "takes 1e+09 ns a tick"},
		{moment{0, 0}, moment{1e9, 1}, "takes 1e-09 ns a tick"},
	} {
		if source, reason := tscClock(c.a, c.b).Source(); source != SourceMonotonic || !strings.Contains(reason, c.want) {
			t.Errorf("%v, %v: %s, %q", c.a, c.b, source, reason)
		}
	}
}

func TestCalibrationEndsWithItsContext(t *testing.T) {
	if distrust("/") != "" {
		t.Skip("the counter is not calibrated here")
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := NewMachine("/").NewClock(ctx); err == nil || !strings.Contains(err.Error(), "calibrating the measuring clock") {
		t.Errorf("error %v", err)
	}
}

func TestScaleFindsDriftAndSteps(t *testing.T) {
	wall := time.Unix(1_700_000_000, 0)
	from := instant{clock: 1000, mono: 5000, wall: wall}
	to := instant{clock: 1000 + 1_000_100_000, mono: 5000 + 1_000_000_000, wall: wall.Add(1500 * time.Millisecond)}
	s := newScale(from, to)
	if s.errorPPM < 99.9 || s.errorPPM > 100.1 {
		t.Errorf("error %g ppm, want 100", s.errorPPM)
	}
	if s.stepSeconds < 0.4999999 || s.stepSeconds > 0.5000001 {
		t.Errorf("step %g s, want 0.5", s.stepSeconds)
	}
	if got := s.seconds(1_000_100_000); got < 0.9999999 || got > 1.0000001 {
		t.Errorf("%g s, want 1 of CLOCK_MONOTONIC", got)
	}
	if s := newScale(from, from); s.seconds(1e9) != 1 || s.errorPPM != 0 {
		t.Errorf("without any time: %+v", s)
	}
}

func TestNullCostIsMeasuredOnce(t *testing.T) {
	m := NewMachine("/")
	for _, c := range []Contract{Batched, Blocking} {
		first, err := m.nullCost(t.Context(), c)
		if err != nil {
			t.Fatal(err)
		}
		if !(first > 1) || first > 1e6 {
			t.Errorf("%s: the driver costs %g ns an operation", c, first)
		}
		if again, err := m.nullCost(t.Context(), c); err != nil || again != first {
			t.Errorf("%s: measured again: %g, %v; want %g", c, again, err, first)
		}
	}
}
