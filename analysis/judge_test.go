package analysis

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"bakeoff/plan"
	"bakeoff/record"
	"bakeoff/stats"
)

func TestVerdicts(t *testing.T) {
	const up, down = record.HigherIsBetter, record.LowerIsBetter
	for _, c := range []struct {
		low, high, margin float64
		better            record.Direction
		want              Verdict
	}{
		{1.01, 1.05, 0.02, up, Better}, {1.01, 1.05, 0.02, down, Worse},
		{0.90, 0.97, 0.02, up, Worse}, {0.90, 0.97, 0.02, down, Better},
		// Inside the margin comes before direction: a difference too small to matter.
		{1.005, 1.015, 0.02, up, Equivalent}, {0.985, 0.995, 0.02, up, Equivalent},
		{1 / 1.02, 1.02, 0.02, up, Equivalent}, {1 / 1.02, 1.0201, 0.02, up, Inconclusive}, {0.98, 1.01, 0.02, up, Inconclusive},
		{0.99, 1.01, 0, up, Inconclusive}, {1.001, 1.002, 0, up, Better}, {1, 1, 0, up, Equivalent}, {1, 1.1, 0.02, up, Inconclusive},
		{math.NaN(), 1, 0.02, up, Invalid}, {1.1, 1.2, 0.02, record.NoDirection, Inconclusive},
	} {
		f := Finding{Low: c.low, High: c.high, Margin: c.margin, Better: c.better, Scale: "ratio"}
		if got := verdict(f); got != c.want {
			t.Errorf("[%v, %v], margin %v, %s is better: %s, want %s", c.low, c.high, c.margin, c.better, got, c.want)
		}
	}
	f := Finding{Low: -0.5, High: 0.9, Margin: 0.01, BaseValue: 100, Better: up, Scale: "difference"}
	if got := verdict(f); got != Equivalent {
		t.Errorf("a difference of less than 1 %% of 100: %s", got)
	}
	f.Low, f.High = 2, 3
	if got := verdict(f); got != Better {
		t.Errorf("a difference of 2 to 3: %s", got)
	}
}

// TestNeededNAlwaysGivesAVerdict: with as many blocks as the finding says, the
// interval is so narrow that no effect leaves it undecided.
func TestNeededNAlwaysGivesAVerdict(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := spread{sd: rapid.Float64Range(1e-4, 0.3).Draw(t, "sd"), df: float64(rapid.IntRange(1, 30).Draw(t, "df"))}
		f := Finding{N: int(s.df) + 1, Level: 0.95, Margin: rapid.Float64Range(0.001, 0.2).Draw(t, "margin"), Effect: 1, Scale: "ratio", Better: record.HigherIsBetter}
		n := neededN(f, s)
		if n >= stats.MaxN {
			return
		}
		half := s.half(n, 0.05)
		effect := rapid.Float64Range(-0.5, 0.5).Draw(t, "effect")
		f.Low, f.High = math.Exp(effect-half), math.Exp(effect+half)
		if got := verdict(f); got == Inconclusive || got == Invalid {
			t.Fatalf("%d blocks give ± %v, and an effect of %v is %s", n, half, effect, got)
		}
	})
}

// pairs makes observations of two levels in blocks.
func pairs(measure string, base, against []float64) []record.Observation {
	var out []record.Observation
	for i := range base {
		for level, v := range map[string]float64{"l0": base[i], "l1": against[i]} {
			out = append(out, record.Observation{Cell: record.Cell{{Factor: "system", Level: level}}, Block: i + 1, Workload: "load",
				Measure: measure, Unit: "ops/s", Value: v, Trial: record.TrialID(fmt.Sprintf("%s-%d", level, i))})
		}
	}
	return out
}

func twoLevels(margin float64) *plan.Plan {
	return simulatedPlan(scenario{levels: 2, measures: 1, repeat: plan.Repeat{Blocks: 8}, margin: margin})
}

func TestJudgeIsStatsOnBlocks(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(2, 15).Draw(t, "n")
		draw := rapid.SliceOfN(rapid.Float64Range(50, 200), n, n)
		base, against := draw.Draw(t, "base"), draw.Draw(t, "against")
		f := Judge(twoLevels(0.02), pairs("m0", base, against), Options{Resamples: -1})[0]
		want, err := stats.PairedRatio(base, against, 0.05)
		if err != nil {
			t.Fatal(err)
		}
		if math.Abs(f.Effect-want.Ratio) > 1e-12 || math.Abs(f.Low-want.Interval.Low) > 1e-12 || math.Abs(f.High-want.Interval.High) > 1e-12 {
			t.Fatalf("judged %v [%v, %v], stats say %+v", f.Effect, f.Low, f.High, want)
		}
		if f.N != n || len(f.Trials) != 2*n || f.Level != 0.95 {
			t.Fatalf("n %d, %d trials, level %v", f.N, len(f.Trials), f.Level)
		}
	})
}

// TestJudgeKnowsNoUnits: values in another unit give the same verdict, and
// levels that change places give the opposite one.
func TestJudgeKnowsNoUnits(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(2, 12).Draw(t, "n")
		draw := rapid.SliceOfN(rapid.Float64Range(90, 110), n, n)
		base, against := draw.Draw(t, "base"), draw.Draw(t, "against")
		scale := rapid.Float64Range(1e-6, 1e6).Draw(t, "scale")
		scaled := func(xs []float64) []float64 {
			out := make([]float64, len(xs))
			for i, x := range xs {
				out[i] = scale * x
			}
			return out
		}
		p := twoLevels(0.05)
		one := Judge(p, pairs("m0", base, against), Options{Resamples: -1})[0]
		other := Judge(p, pairs("m0", scaled(base), scaled(against)), Options{Resamples: -1})[0]
		turned := Judge(p, pairs("m0", against, base), Options{Resamples: -1})[0]
		if one.Verdict != other.Verdict || math.Abs(one.Effect/other.Effect-1) > 1e-9 {
			t.Fatalf("%s %v, in another unit %s %v", one.Verdict, one.Effect, other.Verdict, other.Effect)
		}
		opposite := map[Verdict]Verdict{Better: Worse, Worse: Better, Equivalent: Equivalent, Inconclusive: Inconclusive}
		if turned.Verdict != opposite[one.Verdict] || math.Abs(one.Effect*turned.Effect-1) > 1e-9 {
			t.Fatalf("%s %v, turned round %s %v", one.Verdict, one.Effect, turned.Verdict, turned.Effect)
		}
	})
}

func TestValuesThatAreNotAboveZero(t *testing.T) {
	f := Judge(twoLevels(0.02), pairs("m0", []float64{0, 1, 2, 1}, []float64{5, 6, 7, 7}), Options{Resamples: -1})[0]
	if f.Scale != "difference" || math.Abs(f.Effect-5.25) > 1e-12 || f.BaseValue != 1 || f.AgainstValue != 6.25 || f.Verdict != Better {
		t.Errorf("%+v", f)
	}
	nothing := Judge(twoLevels(0.02), pairs("m0", []float64{0, 0, 0}, []float64{0, 0, 0}), Options{Resamples: -1})[0]
	if nothing.Verdict != Equivalent || nothing.ImprovementPercent != nil {
		t.Errorf("nothing against nothing: %+v", nothing)
	}
}

// From -2 to -1 is better where higher is, and no improvement in percent.
func TestNegativeBaseHasNoPercentage(t *testing.T) {
	f := Judge(twoLevels(0.02), pairs("m0", []float64{-2, -2.1, -1.9}, []float64{-1, -1.1, -0.9}), Options{Resamples: -1})[0]
	if f.Verdict != Better || f.ImprovementPercent != nil {
		t.Errorf("%s, improvement %v", f.Verdict, f.ImprovementPercent)
	}
}

// Two blocks that differ by orders of magnitude leave an interval beyond all
// numbers: it must not be written as 0.
func TestEndlessIntervalStaysAnInterval(t *testing.T) {
	f := Judge(twoLevels(0.02), pairs("m0", []float64{1, 1}, []float64{1e-9, 1e90}), Options{Resamples: -1})[0]
	r := &Result{Findings: []Finding{f}}
	stabilise(r)
	if got := r.Findings[0]; got.High < 1e100 || got.Verdict != Inconclusive {
		t.Errorf("%s, %v to %v", got.Verdict, got.Low, got.High)
	}
}

func TestAbsentMeasure(t *testing.T) {
	f := Judge(twoLevels(0.02), pairs("other", []float64{1, 2}, []float64{1, 2}), Options{})[0]
	if f.Verdict != Invalid || f.Warnings[0].Gate != gateAbsent {
		t.Errorf("a primary measure that nobody observed: %+v", f)
	}
}

func TestIncompleteBlocksDoNotCount(t *testing.T) {
	obs := pairs("m0", []float64{100, 101, 99, 100}, []float64{110, 111, 109, 500})
	obs = slices.DeleteFunc(obs, func(o record.Observation) bool { return o.Block == 4 && o.Cell[0].Level == "l0" })
	f := Judge(twoLevels(0.02), obs, Options{Resamples: -1})[0]
	if f.N != 3 || math.Abs(f.Effect-1.1) > 1e-3 {
		t.Errorf("n %d, effect %v: the block without its base must not count", f.N, f.Effect)
	}
}

func TestSecondOpinions(t *testing.T) {
	base, against := make([]float64, 24), make([]float64, 24)
	for i := range base {
		base[i], against[i] = 100+float64(i%5), 120+float64(i%7)
	}
	f := Judge(twoLevels(0.02), pairs("m0", base, against), Options{Resamples: 1000})[0]
	if !strings.Contains(f.SecondOpinion, "signed-rank") || !strings.Contains(f.SecondOpinion, "BCa") || strings.Contains(f.SecondOpinion, "would be") {
		t.Errorf("second opinion: %s", f.SecondOpinion)
	}
	few := Judge(twoLevels(0.02), pairs("m0", base[:5], against[:5]), Options{})[0]
	if few.SecondOpinion != "" {
		t.Errorf("five blocks carry no signed-rank test at 95 %%, and yet: %s", few.SecondOpinion)
	}
}

func TestSentences(t *testing.T) {
	base := Finding{Factor: "server", Base: "old", Against: "new", Measure: "throughput", Unit: "ops/s", Better: record.HigherIsBetter, Scale: "ratio",
		BaseValue: 100_000, AgainstValue: 130_600, Effect: 1.306, Low: 1.29, High: 1.322, Level: 0.95, N: 8, Verdict: Better, Margin: 0.02}
	with := func(change func(*Finding)) Finding {
		f := base
		change(&f)
		return f
	}
	latency := with(func(f *Finding) {
		f.Measure, f.Unit, f.Better, f.BaseValue, f.AgainstValue = "latency.p99", "s", record.LowerIsBetter, 1e-3, 0.907e-3
		f.Effect, f.Low, f.High = 0.907, 0.897, 0.917
	})
	for _, c := range []struct {
		f    Finding
		want string
	}{
		{base, "Throughput with server=new is 130.6 k ops/s, against 100.0 k ops/s with server=old (base): 30.6 % more = 1.306x (95 % interval 1.290x to 1.322x, 8 blocks): better."},
		{latency, "99th percentile latency with server=new is 907.0 µs, against 1.000 ms with server=old (base): 9.3 % less time = 1.103x as fast (ratio of times 0.907x, 95 % interval 0.897x to 0.917x, 8 blocks): better."},
		{with(func(f *Finding) { f.Verdict, f.NeededN = Inconclusive, 40 }), "Throughput with server=new is 130.6 k ops/s, against 100.0 k ops/s with server=old (base): 30.6 % more = 1.306x (95 % interval 1.290x to 1.322x, 8 blocks): inconclusive, a new run needs 40 blocks."},
		{with(func(f *Finding) { f.Verdict, f.Workload = Equivalent, "read" }), "read: Throughput with server=new is 130.6 k ops/s, against 100.0 k ops/s with server=old (base): 30.6 % more = 1.306x (95 % interval 1.290x to 1.322x, 8 blocks): equivalent, no difference of more than 2 %."},
		{with(func(f *Finding) {
			f.Scale, f.Effect, f.Low, f.High, f.BaseValue, f.AgainstValue, f.Measure, f.Unit, f.Verdict = "difference", 0.01, 0.005, 0.015, 0, 0.01, "errors", "1", Descriptive
		}), "Errors, timeouts and drops with server=new is 1 %, against 0 % with server=old (base): a difference of +1 percentage points (95 % interval +0.5 percentage points to +1.5 percentage points, 8 blocks)."},
		{with(func(f *Finding) {
			f.Verdict, f.NeededN, f.Low, f.High, f.Effect, f.AgainstValue = Inconclusive, 12031, 0.02, 60, 1.1, 110_000
		}),
			"Throughput with server=new is 110.0 k ops/s, against 100.0 k ops/s with server=old (base): 10 % more = 1.10x (95 % interval 0.02x to 60.00x, 8 blocks): inconclusive, a verdict would take more blocks than are worth running: " +
				"the interval reaches 202 times the margin to either side, and the validity gates may say where the noise comes from."},
		{with(func(f *Finding) {
			f.Verdict, f.Low, f.High, f.Effect, f.AgainstValue = Inconclusive, 0.000012, 9.7e12, 1.1, 110_000
		}),
			"Throughput with server=new is 110.0 k ops/s, against 100.0 k ops/s with server=old (base): 10 % more = 1.10x (95 % interval 1.2e-05x to 9.7e+12x, 8 blocks): inconclusive."},
		{with(func(f *Finding) { f.N, f.Verdict, f.Where = 0, Descriptive, record.Cell{{Factor: "ip", Level: "v6"}} }),
			"Throughput of server=new cannot be compared with server=old: no block holds both at ip=v6."},
	} {
		if got := sentence(c.f, describe(c.f.Measure, c.f.Unit).title); got != c.want {
			t.Errorf("\n got %s\nwant %s", got, c.want)
		}
	}
}

func TestMeasureTitles(t *testing.T) {
	for name, want := range map[string]string{
		"throughput": "Throughput", "latency.p99.9": "99.9th percentile latency", "get.latency.p50": "GET median latency",
		"set.throughput": "SET throughput", "response.mean": "Mean response time", "get.service.max": "GET largest service time",
		"queries_per_hour": "queries_per_hour", "neworder.p95": "neworder.p95",
	} {
		if got := describe(name, "").title; got != want {
			t.Errorf("%s is called %q, want %q", name, got, want)
		}
	}
	if a, b := measureRank("throughput"), measureRank("latency.p99"); a >= b {
		t.Errorf("throughput comes before latency: %d, %d", a, b)
	}
}

func TestStable(t *testing.T) {
	value := 1.0 / 3
	r := &Result{Findings: []Finding{{Effect: 2.0 / 3, High: math.Inf(1), Low: math.NaN(), ImprovementPercent: &value}},
		Trials: []TrialRow{{Values: map[string]float64{"x": 1e10 / 3}}}, Charts: []Chart{{Series: []Series{{Points: [][]float64{{1.0 / 7}}}}}}}
	stabilise(r)
	f := r.Findings[0]
	if f.Effect != 0.6666666667 || f.High != 0 || f.Low != 0 || *f.ImprovementPercent != 0.3333333333 {
		t.Errorf("%+v", f)
	}
	if r.Trials[0].Values["x"] != 3333333333 || r.Charts[0].Series[0].Points[0][0] != 0.1428571429 {
		t.Errorf("%+v", r)
	}
	if value != 1.0/3 {
		t.Error("the value behind a pointer was changed, though it may belong to the record")
	}
}

func TestCores(t *testing.T) {
	for _, c := range []struct{ a, b, want string }{
		{"0-3", "2-5", "2,3"}, {"0", "1", ""}, {"0-1,8", "8", "8"}, {"", "1", ""}, {"x", "1", ""}, {"1-x", "1", ""}, {"0-99999999", "1", ""},
	} {
		if got := overlap(c.a, c.b); got != c.want {
			t.Errorf("overlap(%q, %q) = %q, want %q", c.a, c.b, got, c.want)
		}
	}
}

func TestShellLine(t *testing.T) {
	got := shellLine([]string{"redis-server", "--save", "", "--port=7000", "it's", "a b"})
	if want := `redis-server --save '' --port=7000 'it'\''s' 'a b'`; got != want {
		t.Errorf("%s, want %s", got, want)
	}
}
