package load

import (
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"
)

func steady(rate float64) []RateStep { return []RateStep{{From: rate, To: rate}} }

func pacer(t testing.TB, s Schedule, w int) *Pacer {
	t.Helper()
	p, err := NewPacer(s, w)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// all takes everything that is due by a time, one operation after another.
func all(p *Pacer, by int64) (due []int64) {
	p.Rest(by, func(at int64, n uint64) {
		for range n {
			due = append(due, at)
		}
	})
	return due
}

func TestConstantArrivalsAreEvenOverAllWorkers(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		workers := rapid.IntRange(1, 9).Draw(t, "workers")
		rate := rapid.Float64Range(1, 1e6).Draw(t, "rate")
		by := int64(1e9 * rapid.Float64Range(0, 2000/rate).Draw(t, "seconds"))
		var due []int64
		for w := range workers {
			p, err := NewPacer(Schedule{Steps: steady(rate), Workers: workers}, w)
			if err != nil {
				t.Fatal(err)
			}
			due = append(due, all(p, by)...)
		}
		slices.Sort(due)
		if want := int(float64(by)/1e9*rate) + 1; len(due) < want-1 || len(due) > want+1 {
			t.Fatalf("%d operations due by %d ns at %g/s, want %d", len(due), by, rate, want)
		}
		for i, at := range due {
			if want := float64(i) / rate * 1e9; math.Abs(float64(at)-want) > 2 {
				t.Fatalf("operation %d of all workers is due at %d, want %g", i, at, want)
			}
		}
	})
}

// steps draws schedules that go up, down, and through zero.
func steps(t *rapid.T) []RateStep {
	list := rapid.SliceOfN(rapid.Custom(func(t *rapid.T) RateStep {
		rate := rapid.OneOf(rapid.Just(0.0), rapid.Float64Range(1, 10_000))
		from := rate.Draw(t, "from")
		to := rapid.OneOf(rapid.Just(from), rate).Draw(t, "to")
		return RateStep{time.Duration(rapid.IntRange(1, 500).Draw(t, "ms")) * time.Millisecond, from, to}
	}), 1, 5).Draw(t, "steps")
	list[0].To += 1 // not all zero
	return list
}

// TestSchedulesKeepTheirRate counts what is due against the area below the rate.
func TestSchedulesKeepTheirRate(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		list := steps(t)
		p, err := NewPacer(Schedule{Steps: list, Workers: 1}, 0)
		if err != nil {
			t.Fatal(err)
		}
		by := int64(rapid.Float64Range(0, 3).Draw(t, "seconds") * 1e9)
		due := all(p, by)
		area := integrate(list, by)
		if math.Abs(float64(len(due))-area) > 1.01 {
			t.Fatalf("%d operations due by %d ns of %v, want %g", len(due), by, list, area)
		}
		if !slices.IsSorted(due) || len(due) > 0 && due[len(due)-1] > by {
			t.Fatalf("operations are due out of order or too late: %v", due)
		}
		if p.Next() <= by {
			t.Fatalf("the next operation was due at %d, before %d", p.Next(), by)
		}
		if got := meanRate(list, 0, by+1) * float64(by+1) / 1e9; math.Abs(got-area) > 1e-4*(1+area) {
			t.Fatalf("the mean rate gives %g operations, want %g", got, area)
		}
	})
}

// integrate sums the rate in small steps, independently of the profile.
func integrate(list []RateStep, by int64) (area float64) {
	left := float64(by) / 1e9
	for i, s := range list {
		d := min(s.Duration.Seconds(), left)
		end := s.From + (s.To-s.From)*d/s.Duration.Seconds()
		area += d * (s.From + end) / 2
		left -= d
		if i == len(list)-1 {
			area += left * s.To
		}
	}
	return area
}

func TestPoissonArrivals(t *testing.T) {
	const rate, workers, seconds = 5000, 4, 20
	var due []int64
	for w := range workers {
		due = append(due, all(pacer(t, Schedule{Steps: steady(rate), Arrival: Poisson, Workers: workers, Seed: 3}, w), seconds*1e9)...)
	}
	slices.Sort(due)
	// Gaps of a Poisson process are exponential: compare their distribution
	// function with the largest gap that Kolmogorov allows once in 10,000.
	gaps := make([]float64, len(due)-1)
	for i := range gaps {
		gaps[i] = float64(due[i+1]-due[i]) / 1e9 * rate
	}
	slices.Sort(gaps)
	worst := 0.0
	for i, g := range gaps {
		worst = max(worst, math.Abs(-math.Expm1(-g)-float64(i)/float64(len(gaps))))
	}
	if limit := 2.2 / math.Sqrt(float64(len(gaps))); worst > limit {
		t.Errorf("the gaps lie %g from an exponential distribution, at most %g", worst, limit)
	}
	if n, want := float64(len(due)), float64(rate*seconds); math.Abs(n-want) > 4*math.Sqrt(want) {
		t.Errorf("%g arrivals, want %g within four deviations", n, want)
	}
}

func TestPoissonArrivalsFollowTheSeed(t *testing.T) {
	s := Schedule{Steps: steady(1000), Arrival: Poisson, Workers: 2, Seed: 3}
	first := all(pacer(t, s, 0), 1e9)
	if !slices.Equal(first, all(pacer(t, s, 0), 1e9)) {
		t.Error("one seed gave two schedules")
	}
	if slices.Equal(first, all(pacer(t, s, 1), 1e9)) {
		t.Error("two workers have one schedule")
	}
	s.Seed = 4
	if slices.Equal(first, all(pacer(t, s, 0), 1e9)) {
		t.Error("two seeds gave one schedule")
	}
}

// TestNoCatchUpBurst stalls a worker and counts what it may then offer late, in
// every stretch of time.
func TestNoCatchUpBurst(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		rate := rapid.Float64Range(100, 1e6).Draw(t, "rate")
		burst := rapid.IntRange(1, 1000).Draw(t, "burst")
		arrival := rapid.SampledFrom([]Arrival{Constant, Poisson}).Draw(t, "arrival")
		p, err := NewPacer(Schedule{Steps: steady(rate), MaxBurst: burst, Workers: 1, Arrival: arrival}, 0)
		if err != nil {
			t.Fatal(err)
		}
		var late []int64 // when late operations were offered
		now := int64(0)
		for range 200 {
			stall := rapid.SampledFrom([]float64{0.1, 1, 10, 500}).Draw(t, "stall") // in operations' time
			now += int64(stall / rate * 1e9)
			for len(late) < 3000 {
				at, ok := p.Take(now)
				if !ok {
					break
				}
				if at > now {
					t.Fatalf("an operation due at %d was taken at %d", at, now)
				}
				if now-at > lateness {
					late = append(late, now)
				}
			}
			if wake := p.Wake(now); wake <= now {
				if _, ok := p.Take(now); !ok {
					t.Fatalf("at %d the pacer asks to be woken at %d and has nothing", now, wake)
				}
			}
		}
		for i := range late {
			for _, j := range []int{i + 1, i + 7, i + 100, len(late) - 1} {
				if j <= i || j >= len(late) {
					continue
				}
				most := float64(burst) + catchUp*rate*float64(late[j]-late[i])/1e9 + 1
				if n := float64(j - i + 1); n > most {
					t.Fatalf("%g late operations within %d ns, at most %g", n, late[j]-late[i], most)
				}
			}
		}
	})
}

func TestReserveHoldsBackWhatIsLate(t *testing.T) {
	p := pacer(t, Schedule{Steps: steady(1000), MaxBurst: 5, Workers: 1}, 0)
	now, atOnce := int64(1e9), 0
	for range 5 {
		if _, offer := p.Reserve(now); offer == now {
			atOnce++
		}
	}
	if atOnce != 5 {
		t.Errorf("%d late operations at once, want the burst of 5", atOnce)
	}
	for i := range 10 {
		intended, offer := p.Reserve(now)
		if want := now + int64(i+1)*1e9/(catchUp*1000); offer != want || intended != int64(i+5)*1e6 {
			t.Errorf("operation %d, due at %d, may be offered at %d; want %d", i, intended, offer, want)
		}
	}
	early := pacer(t, Schedule{Steps: steady(1000), Workers: 1}, 0)
	if intended, offer := early.Reserve(0); intended != 0 || offer != 0 {
		t.Errorf("the first operation: %d, %d", intended, offer)
	}
	if intended, offer := early.Reserve(0); intended != 1e6 || offer != 1e6 {
		t.Errorf("an operation that is not due yet: %d, %d; want 1 ms", intended, offer)
	}
}

func TestRestOfVeryMany(t *testing.T) {
	const rate, seconds = 10_000_000, 2
	for _, arrival := range []Arrival{Constant, Poisson} {
		p := pacer(t, Schedule{Steps: steady(rate), Arrival: arrival, Workers: 2}, 1)
		var n, weighted float64
		last := int64(0)
		p.Rest(seconds*1e9, func(at int64, group uint64) {
			if at < last || at > seconds*1e9 {
				t.Fatalf("%s: %d after %d", arrival, at, last)
			}
			last = at
			n += float64(group)
			weighted += float64(group) * float64(at)
		})
		want := float64(rate * seconds / 2)
		if math.Abs(n-want) > 5*math.Sqrt(want) {
			t.Errorf("%s: %g operations, want %g", arrival, n, want)
		}
		if mean := weighted / n / 1e9; math.Abs(mean-seconds/2.0) > 0.01 {
			t.Errorf("%s: due at %g s in the mean, want 1", arrival, mean)
		}
		if p.Next() != Never {
			t.Errorf("%s: something is left", arrival)
		}
	}
}

func TestARateThatEndsAtZero(t *testing.T) {
	p := pacer(t, Schedule{Steps: []RateStep{{time.Second, 10, 10}, {0, 0, 0}}, Workers: 1}, 0)
	if due := all(p, 100e9); len(due) != 10 && len(due) != 11 {
		t.Errorf("%d operations, want 10", len(due))
	}
	if p.Next() != Never || p.Wake(200e9) != Never {
		t.Errorf("the next operation is due at %d", p.Next())
	}
	if _, ok := p.Take(300e9); ok {
		t.Error("an operation was taken after the last")
	}
	if at, offer := p.Reserve(300e9); at != Never || offer != Never {
		t.Error("an operation was reserved after the last")
	}
}

func TestBadSchedules(t *testing.T) {
	for _, c := range []struct {
		name string
		s    Schedule
		w    int
		want string
	}{
		{"no steps", Schedule{Workers: 1}, 0, "rate: found no steps"},
		{"zero", Schedule{Steps: steady(0), Workers: 1}, 0, "found 0 operations a second in all steps"},
		{"negative", Schedule{Steps: steady(-1), Workers: 1}, 0, "rate step 1: found -1 operations a second"},
		{"NaN", Schedule{Steps: steady(math.NaN()), Workers: 1}, 0, "rate step 1: found NaN"},
		{"no duration", Schedule{Steps: append(steady(1), steady(2)...), Workers: 1}, 0, "rate step 1: found a duration of 0s"},
		{"arrival", Schedule{Steps: steady(1), Workers: 1, Arrival: "x"}, 0, `arrival: found "x", expected constant or poisson`},
		{"worker", Schedule{Steps: steady(1), Workers: 1}, 1, "pacing worker 1 of 1"},
	} {
		if _, err := NewPacer(c.s, c.w); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: error %v, want one with %q", c.name, err, c.want)
		}
	}
}
