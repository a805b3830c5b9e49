package null_test

import (
	"testing"

	"bakeoff/engine/null"
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
