package bench

import (
	"testing"
	"time"

	"bakeoff/engine/null"
	"bakeoff/load"
)

// BenchmarkDriver measures what the driver itself costs an operation, against an
// engine that does nothing: stamps, books, histograms and intervals included. The
// target is under 60 ns with one operation in flight, the worst case; batches
// share stamps.
//
// Each iteration is one measurement of a tenth of a second; ns/op is about the
// iteration, ns/operation about the driver.
func BenchmarkDriver(b *testing.B) {
	machine := load.NewMachine("/")
	for _, c := range []struct {
		name   string
		params map[string]any
		common load.Common
	}{
		{"batched/depth=1", map[string]any{"depth": 1}, load.Common{}},
		{"batched/depth=1/two-kinds", map[string]any{"depth": 1, "writes": "50%"}, load.Common{}},
		{"batched/depth=16", map[string]any{"depth": 16}, load.Common{}},
		{"batched/depth=256", map[string]any{"depth": 256}, load.Common{}},
		{"batched/open-loop", map[string]any{"depth": 64}, load.Common{Rate: 1e8, MaxBurst: 1e9}},
		{"batched/open-loop/poisson", map[string]any{"depth": 64}, load.Common{Rate: 1e8, MaxBurst: 1e9, Arrival: load.Poisson}},
		{"blocking/users=1", map[string]any{"contract": "blocking"}, load.Common{}},
		{"blocking/users=16", map[string]any{"contract": "blocking"}, load.Common{Workers: 16}},
	} {
		b.Run(c.name, func(b *testing.B) {
			var operations uint64
			var busy float64
			for b.Loop() {
				r := measure(b, machine, c.params, c.common)
				operations += r.Load.Ledger.Completed
				busy += r.Load.Generator.UserSeconds + r.Load.Generator.SystemSeconds
			}
			b.ReportMetric(busy*1e9/float64(operations), "ns/operation")
		})
	}
}

func measure(b *testing.B, machine *load.Machine, params map[string]any, common load.Common) load.Result {
	b.Helper()
	common.Warmup, common.Window, common.DrainTime = 10*time.Millisecond, 100*time.Millisecond, 100*time.Millisecond
	r, err := load.Open(b.Context(), null.Engine{}, load.Spec{Seed: 1, Parameters: params, Common: common}, load.Env{Machine: machine})
	if err != nil {
		b.Fatal(err)
	}
	result, err := r.Measure(b.Context(), nil)
	if err != nil {
		b.Fatal(err)
	}
	if err := r.Close(); err != nil {
		b.Fatal(err)
	}
	return result
}
