package null_test

import (
	"bytes"
	"math"
	"strings"
	"testing"
	"time"

	"bakeoff/engine/null"
	"bakeoff/hist"
	"bakeoff/load"
	"bakeoff/load/loadtest"
)

func spec(workers int, params map[string]any) load.Spec {
	return load.Spec{Parameters: params, Common: load.Common{Workers: workers}}
}

func TestSuite(t *testing.T) {
	loadtest.Run(t, null.Engine{},
		spec(1, nil),
		spec(2, map[string]any{"depth": 64, "writes": "30%", "misses": "5%"}),
		spec(1, map[string]any{"depth": 16, "latency": "200us", "distribution": "exponential", "failures": "1%"}),
		spec(3, map[string]any{"contract": "blocking", "writes": "50%"}),
		spec(20, map[string]any{"contract": "blocking", "latency": "1ms", "distribution": "lognormal", "misses": "1%"}),
		spec(2, map[string]any{"operations": "100k", "depth": 8}),
		spec(4, map[string]any{"operations": "2k", "contract": "blocking"}),
	)
}

// run measures a null load of a given mix.
func run(t *testing.T, common load.Common, params map[string]any) load.Result {
	t.Helper()
	common.Window, common.OpTimeout = 400*time.Millisecond, 50*time.Millisecond
	r, err := load.Open(t.Context(), null.Engine{}, load.Spec{Seed: 1, Parameters: params, Common: common}, load.Env{})
	if err != nil {
		t.Fatal(err)
	}
	result, err := r.Measure(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	if err := r.Close(); err != nil {
		t.Error(err)
	}
	loadtest.Check(t, result)
	return result
}

// TestTheMixIsWhatWasAskedFor compares the fractions of kinds and fates, within
// five deviations.
func TestTheMixIsWhatWasAskedFor(t *testing.T) {
	for _, contract := range []string{"batched", "blocking"} {
		l := run(t, load.Common{Workers: 2}, map[string]any{
			"contract": contract, "depth": 16, "writes": "30%", "misses": "10%", "failures": "5%",
		}).Load
		var ended, writes, misses float64
		for _, k := range l.Kinds {
			n := float64(k.Completed + k.Failed + k.TimedOut)
			ended += n
			misses += float64(k.Misses)
			if k.Kind == "write" {
				writes = n
			}
		}
		for name, f := range map[string]struct{ got, want float64 }{
			"writes": {writes, 0.3}, "misses": {misses, 0.1}, "failures": {float64(l.Ledger.Failed), 0.05},
		} {
			if d := math.Sqrt(f.want * (1 - f.want) / ended); math.Abs(f.got/ended-f.want) > 5*d {
				t.Errorf("%s: %s are %g of %g operations, want %g", contract, name, f.got/ended, ended, f.want)
			}
		}
	}
}

func TestSimulatedLatencies(t *testing.T) {
	for distribution, quantiles := range map[string]map[float64]float64{ // of a latency of 2 ms
		"constant":    {0.01: 2, 0.5: 2, 0.99: 2},
		"exponential": {0.5: 2 * math.Ln2, 0.9: 2 * math.Ln10},
		"lognormal":   {0.5: 2, 0.9: 2 * math.Exp(0.5*1.2816)},
	} {
		result := run(t, load.Common{Workers: 1, Warmup: 50 * time.Millisecond}, map[string]any{"depth": 64, "latency": "2ms", "distribution": distribution})
		sum := hist.New()
		for _, l := range result.Load.Latencies {
			if l.Kind != "all" {
				continue
			}
			intervals, err := hist.ReadLog(bytes.NewReader(result.Logs[l.File]))
			if err != nil {
				t.Fatal(err)
			}
			for _, iv := range intervals {
				sum.Merge(iv.Hist)
			}
		}
		for q, want := range quantiles {
			// The stamps are those of the simulation, not of its timers: only the
			// number of draws blurs them.
			if got := float64(sum.Quantile(q)) / 1e6; math.Abs(got-want)/want > 0.1 {
				t.Errorf("%s: quantile %g of %d is %g ms, want %g", distribution, q, sum.Count(), got, want)
			}
		}
	}
}

func TestTimeoutsComeBack(t *testing.T) {
	for _, contract := range []string{"batched", "blocking"} {
		l := run(t, load.Common{Workers: 4}, map[string]any{"contract": contract, "depth": 4, "timeouts": "100%"}).Load
		if l.Ledger.TimedOut == 0 || l.Ledger.Completed != 0 {
			t.Errorf("%s: ledger %+v", contract, l.Ledger)
		}
	}
}

func TestBadParameters(t *testing.T) {
	for name, c := range map[string]struct {
		params map[string]any
		want   string
	}{
		"depth":      {map[string]any{"depth": 0}, `parameter "depth": found 0, expected 1`},
		"operations": {map[string]any{"operations": -1}, `parameter "operations": found -1`},
		"sigma":      {map[string]any{"sigma": 9.0}, `parameter "sigma": found 9`},
		"sum":        {map[string]any{"misses": "60%", "failures": "60%"}, "expected at most 100 %"},
		"contract":   {map[string]any{"contract": "batch"}, `found "batch": did you mean "batched"?`},
	} {
		if _, err := (null.Engine{}).Open(t.Context(), load.Spec{Parameters: c.params}); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: error %v, want one with %q", name, err, c.want)
		}
	}
}
