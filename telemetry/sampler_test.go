package telemetry

import (
	"context"
	"errors"
	"fmt"
	"math"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"

	"bakeoff/record"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// fake is a collector that does what a test says.
type fake struct {
	name    string
	class   string
	cadence float64
	probe   Probed
	collect func(ctx context.Context, call int) (float64, error)
	metric  Metric
	calls   int
}

func newFake(name string, collect func(ctx context.Context, call int) (float64, error)) *fake {
	return &fake{name: name, probe: Probed{Support: Supported}, collect: collect, metric: Metric{Name: name + ".value", Unit: "1", Kind: record.Gauge}}
}

func (f *fake) Describe() Description {
	return Description{Name: f.name, Class: f.class, Cadence: f.cadence, Metrics: []Metric{f.metric}}
}

func (f *fake) Probe(context.Context) Probed { return f.probe }

func (f *fake) Collect(ctx context.Context, dst []Sample) ([]Sample, error) {
	f.calls++
	v, err := f.collect(ctx, f.calls)
	return append(dst, Sample{Metric: &f.metric, Value: v}), err
}

func counts(_ context.Context, call int) (float64, error) { return float64(call), nil }

// stamps returns when a collector's readings began, since the first of all.
func stamps(readings []record.Reading, collector string) []time.Duration {
	var at []time.Duration
	for _, r := range readings {
		if r.Collector == collector {
			at = append(at, time.Duration(r.Start-readings[0].Start))
		}
	}
	return at
}

func costOf(t *testing.T, costs []record.CollectorCost, name string) record.CollectorCost {
	t.Helper()
	for _, c := range costs {
		if c.Collector == name {
			return c
		}
	}
	t.Fatalf("no cost of %s", name)
	return record.CollectorCost{}
}

func sameStamps(t *testing.T, got []time.Duration, want ...time.Duration) {
	t.Helper()
	if len(got) != len(want) {
		t.Fatalf("samples at %v, want %v", got, want)
	}
	for i := range want {
		if got[i] != want[i] {
			t.Fatalf("samples at %v, want %v", got, want)
		}
	}
}

// TestCadence checks alignment to the wall clock, the first and the final
// sample, and that the work of a sample does not shift the next.
func TestCadence(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		time.Sleep(300 * time.Millisecond) // the bubble's clock begins at a whole second
		f := newFake("f", func(_ context.Context, call int) (float64, error) {
			time.Sleep(100 * time.Millisecond)
			return float64(call), nil
		})
		s := NewSampler(SamplerConfig{Host: "h", Interval: time.Second}, []Collector{f})
		if err := s.Start(t.Context()); err != nil {
			t.Fatal(err)
		}
		time.Sleep(3500 * time.Millisecond)
		readings, costs, err := s.Stop(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		const ms = time.Millisecond
		sameStamps(t, stamps(readings, "f"), 0, 700*ms, 1700*ms, 2700*ms, 3500*ms)
		for _, r := range readings {
			if r.End-r.Start != int64(100*ms) || r.Host != "h" || r.Metric != "f.value" || r.Unit != "1" || r.Kind != record.Gauge {
				t.Errorf("reading %+v", r)
			}
		}
		if first := readings[0].Start; first%int64(time.Second) != int64(300*ms) {
			t.Errorf("the first sample is stamped %d", first)
		}
		c := costOf(t, costs, "f")
		if c.Samples != 5 || c.Failures != 0 || c.Missed != 0 || math.Abs(c.Seconds-0.5) > 1e-9 || c.Support != "supported" {
			t.Errorf("cost %+v", c)
		}
	})
}

func TestMissedTicks(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFake("slow", func(_ context.Context, call int) (float64, error) {
			if call == 2 {
				time.Sleep(2500 * time.Millisecond)
			}
			return 0, nil
		})
		other := newFake("other", counts)
		s := NewSampler(SamplerConfig{Interval: time.Second, Deadline: time.Minute}, []Collector{f, other})
		if err := s.Start(t.Context()); err != nil {
			t.Fatal(err)
		}
		time.Sleep(5200 * time.Millisecond)
		readings, costs, err := s.Stop(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		// The call at 1 s ends at 3.5 s: the ticks of 2 s and 3 s are missed.
		sameStamps(t, stamps(readings, "slow"), 0, time.Second, 4*time.Second, 5*time.Second, 5200*time.Millisecond)
		for _, name := range []string{"slow", "other"} {
			if c := costOf(t, costs, name); c.Missed != 2 || c.Samples != 5 {
				t.Errorf("%s: %+v", name, c)
			}
		}
	})
}

// TestHangingCollector has one that ignores its context for a while.
func TestHangingCollector(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		release := make(chan struct{})
		hangs := newFake("hangs", func(_ context.Context, call int) (float64, error) {
			if call == 2 {
				<-release
			}
			return float64(call), nil
		})
		other := newFake("other", counts)
		s := NewSampler(SamplerConfig{Interval: time.Second, Deadline: 400 * time.Millisecond}, []Collector{hangs, other})
		if err := s.Start(t.Context()); err != nil {
			t.Fatal(err)
		}
		time.Sleep(3200 * time.Millisecond)
		close(release)
		time.Sleep(time.Second)
		readings, costs, err := s.Stop(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		c := costOf(t, costs, "hangs")
		// Fails at 1 s, still hangs at 2 s and 3 s; good at 0 s, 4 s and the end.
		if c.Failures != 3 || c.Samples != 3 || !strings.Contains(c.LastError, "did not return within 400ms") {
			t.Errorf("cost of the one that hangs: %+v", c)
		}
		for _, r := range readings {
			if r.Collector == "hangs" && r.Value == 2 {
				t.Error("the value of the call that was given up is among the readings")
			}
		}
		if c := costOf(t, costs, "other"); c.Samples != 6 || c.Failures != 0 || c.Missed != 0 {
			t.Errorf("the other one was held up: %+v", c)
		}
	})
}

func TestMeterHasALaneOfItsOwn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		meter := newFake("meter", func(ctx context.Context, call int) (float64, error) {
			if call == 2 {
				<-ctx.Done() // never answers, but heeds its deadline
				return 0, context.Cause(ctx)
			}
			time.Sleep(1500 * time.Millisecond)
			return 100, nil
		})
		meter.class, meter.cadence = "bmc", 3
		host := newFake("host", counts)
		s := NewSampler(SamplerConfig{Interval: time.Second}, []Collector{meter, host})
		if err := s.Start(t.Context()); err != nil {
			t.Fatal(err)
		}
		time.Sleep(20500 * time.Millisecond)
		readings, costs, err := s.Stop(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if c := costOf(t, costs, "host"); c.Samples != 22 || c.Missed != 0 {
			t.Errorf("the host's collector was held up: %+v", c)
		}
		c := costOf(t, costs, "meter")
		if c.Failures != 1 || c.Class != "bmc" || c.Cadence != 3 || !strings.Contains(c.LastError, "deadline") {
			t.Errorf("cost of the meter: %+v", c)
		}
		at := stamps(readings, "meter")
		for i := 2; i < len(at)-1; i++ {
			if at[i]-at[i-1] != 3*time.Second && i != 2 {
				t.Errorf("the meter was read at %v", at)
			}
		}
	})
}

func TestFailuresAreCounted(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		fails := newFake("fails", func(_ context.Context, call int) (float64, error) {
			if call == 1 {
				return 0, nil
			}
			return 0, errors.New("no such device")
		})
		panics := newFake("panics", func(context.Context, int) (float64, error) { panic("index out of range") })
		nan := newFake("nan", func(context.Context, int) (float64, error) { return math.NaN(), nil })
		absent := newFake("absent", counts)
		absent.probe = Probed{Unsupported, "no such file"}
		s := NewSampler(SamplerConfig{}, []Collector{fails, panics, nan, absent})
		if err := s.Start(t.Context()); err != nil {
			t.Fatal(err)
		}
		time.Sleep(1500 * time.Millisecond)
		readings, costs, err := s.Stop(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		for name, want := range map[string]struct {
			failures, samples int
			text              string
		}{"fails": {2, 1, "no such device"}, "panics": {3, 0, "panic: index out of range"}, "nan": {3, 0, `nan.value of "" is NaN`}, "absent": {0, 0, ""}} {
			if c := costOf(t, costs, name); c.Failures != want.failures || c.Samples != want.samples || c.LastError != want.text && !strings.Contains(c.LastError, want.text) {
				t.Errorf("%s: %+v", name, c)
			}
		}
		if c := costOf(t, costs, "absent"); c.Support != "unsupported" || c.Reason != "no such file" || absent.calls != 0 {
			t.Errorf("absent: %+v after %d calls", c, absent.calls)
		}
		for _, r := range readings {
			if math.IsNaN(r.Value) {
				t.Error("NaN among the readings")
			}
		}
	})
}

// TestCancelled checks that the end of Start's context ends the cadence, is no
// collector's failure, and leaves Stop its final sample.
func TestCancelled(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFake("f", func(ctx context.Context, call int) (float64, error) {
			if call == 2 {
				<-ctx.Done()
				return 0, ctx.Err()
			}
			return float64(call), nil
		})
		ctx, cancel := context.WithCancel(t.Context())
		s := NewSampler(SamplerConfig{Deadline: time.Minute}, []Collector{f})
		if err := s.Start(ctx); err != nil {
			t.Fatal(err)
		}
		time.Sleep(1500 * time.Millisecond)
		cancel()
		time.Sleep(10 * time.Second)
		readings, costs, err := s.Stop(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		sameStamps(t, stamps(readings, "f"), 0, 11500*time.Millisecond)
		if c := costOf(t, costs, "f"); c.Failures != 0 || c.Samples != 2 {
			t.Errorf("cost %+v", c)
		}
	})
}

func TestStopHonoursItsContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		meter := newFake("meter", func(ctx context.Context, call int) (float64, error) {
			if call > 1 {
				<-ctx.Done()
				return 0, ctx.Err()
			}
			return 1, nil
		})
		meter.class = "bmc"
		s := NewSampler(SamplerConfig{Deadline: time.Hour}, []Collector{meter})
		if err := s.Start(t.Context()); err != nil {
			t.Fatal(err)
		}
		time.Sleep(2500 * time.Millisecond)
		ctx, cancel := context.WithTimeout(t.Context(), 2*time.Second)
		defer cancel()
		begun := time.Now()
		readings, costs, err := s.Stop(ctx)
		if err != nil || time.Since(begun) > 3*time.Second {
			t.Errorf("stopped after %v with %v", time.Since(begun), err)
		}
		if c := costOf(t, costs, "meter"); c.Failures != 1 || c.LastError != "no final sample: context deadline exceeded" {
			t.Errorf("cost %+v, want the final sample as a failure", c)
		}
		if len(readings) != 1 {
			t.Errorf("%d readings, want the one that was taken before", len(readings))
		}
	})
}

// closing is a collector with a session, notes, and values with their own stamps.
type closing struct {
	*fake
	closed int
}

func (c *closing) Collect(_ context.Context, dst []Sample) ([]Sample, error) {
	return append(dst, Sample{Metric: &c.metric, Value: 7, At: 42}), nil
}

func (c *closing) Close(context.Context) error {
	c.closed++
	return errors.New("the session had ended")
}

func (c *closing) Notes() []string { return []string{fmt.Sprintf("closed %d times", c.closed)} }

func TestCloseNotesAndOwnStamps(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := &closing{fake: newFake("meter", nil)}
		s := NewSampler(SamplerConfig{}, []Collector{c})
		if err := s.Start(t.Context()); err != nil {
			t.Fatal(err)
		}
		time.Sleep(100 * time.Millisecond)
		readings, costs, err := s.Stop(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		for _, r := range readings {
			if r.Start != 42 || r.End != 42 {
				t.Errorf("reading %+v, want its own stamp", r)
			}
		}
		cost := costOf(t, costs, "meter")
		if c.closed != 1 || len(cost.Notes) != 1 || cost.Notes[0] != "closed 1 times" || cost.LastError != "closing: the session had ended" {
			t.Errorf("closed %d times, cost %+v", c.closed, cost)
		}
	})
}

func TestSamplerMisuse(t *testing.T) {
	s := NewSampler(SamplerConfig{}, nil)
	if _, _, err := s.Stop(context.Background()); err == nil {
		t.Error("stopped before it was started")
	}
	if err := s.Start(context.Background()); err != nil {
		t.Fatal(err)
	}
	if err := s.Start(context.Background()); err == nil {
		t.Error("started twice")
	}
	if _, _, err := s.Stop(context.Background()); err != nil {
		t.Error(err)
	}
}

func TestTicks(t *testing.T) {
	const s, ms = time.Second, time.Millisecond
	for _, tt := range []struct {
		start         int64
		period, first time.Duration
	}{{0, s, s}, {int64(300 * ms), s, 700 * ms}, {int64(700 * ms), s, 1300 * ms}, {int64(500 * ms), s, 500 * ms}, {int64(7 * s), 10 * s, 13 * s}} {
		if got := firstTick(tt.start, tt.period); got.at != tt.first {
			t.Errorf("from %v, every %v: first after %v, want %v", time.Duration(tt.start), tt.period, got.at, tt.first)
		}
	}
	due := ticks{at: 5 * s, period: s}
	for _, tt := range []struct {
		elapsed time.Duration
		missed  int
		at      time.Duration
	}{{4 * s, 0, 5 * s}, {5 * s, 0, 5 * s}, {5*s + 1, 1, 6 * s}, {9 * s, 3, 9 * s}} {
		if missed := due.skipTo(tt.elapsed); missed != tt.missed || due.at != tt.at {
			t.Errorf("at %v: missed %d, next at %v, want %d and %v", tt.elapsed, missed, due.at, tt.missed, tt.at)
		}
	}
}

// TestThisHost samples the machine that the test runs on, with every collector.
func TestThisHost(t *testing.T) {
	s := NewSampler(SamplerConfig{Host: "here", Interval: 20 * time.Millisecond}, Table(Config{}))
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	if err := s.Start(ctx); err != nil {
		t.Fatal(err)
	}
	spinUntil := time.Now().Add(100 * time.Millisecond)
	for time.Now().Before(spinUntil) { // so that there is CPU time to be seen
	}
	readings, costs, err := s.Stop(ctx)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range costs {
		if c.Failures > 0 {
			t.Errorf("%s failed %d times: %s", c.Collector, c.Failures, c.LastError)
		}
	}
	last := make(map[string]float64)
	for _, r := range readings {
		key := r.Metric + " " + r.Instance
		before, seen := last[key]
		if r.Kind == record.Counter64 && seen && r.Value < before {
			t.Errorf("%s fell from %v to %v", key, before, r.Value)
		}
		if r.End < r.Start || r.Host != "here" {
			t.Errorf("reading %+v", r)
		}
		last[key] = r.Value
	}
	for _, key := range []string{"cpu.user ", "mem.available ", "softnet.processed cpu0", "self.rss ", "clock.offset "} {
		if _, ok := last[key]; !ok {
			t.Errorf("no reading of %q", key)
		}
	}
}
