package plan

import (
	"testing"

	"bakeoff/record"
	"bakeoff/stats"
)

// Where a value is not above zero the effect is judged as a difference, and until
// is a share of the base: the blocks without a zero alone would say that the
// pilot's 8 are enough.
func TestSteinOfValuesNotAboveZero(t *testing.T) {
	p := design(t, "repeat: {pilot: 8, until: 20%, max: 400}", 2)
	value := func(trial Trial) float64 {
		level, _ := trial.Cell.Level("f0")
		switch {
		case level == "l0" && trial.Block == 3:
			return 0
		case level == "l0":
			return 10
		}
		return 20
	}
	done := play(t, p, func(trial Trial) Outcome {
		return Outcome{Status: record.StatusComplete, Values: []Value{{"get", "throughput", value(trial)}}}
	})
	differences := []float64{10, 10, 20, 10, 10, 10, 10, 10}
	want := stats.SteinN(stats.SD(differences), 7, 0.05, 0.2*70/8, 8)
	d, ok, err := Decide(p, done)
	if err != nil || !ok || want <= 8 || d.Blocks != want || d.Needs[0].Pilot != 8 {
		t.Errorf("decided %+v (%v, %v), want %d blocks", d, ok, err, want)
	}
}

// Every measure that a load or a host gives can decide, the duration of work that
// ends by itself first of all.
func TestMeasuresThatCanDecide(t *testing.T) {
	for _, measure := range append(hostMeasures(), "duration", "throughput", "items", "bandwidth", "errors", "misses", "sut_cpu", "cpu_efficiency",
		"generator_cpu", "perf_per_watt", "perf_per_price", "latency.p99.9", "latency.mean", "get.latency.p50") {
		mustParse(t, "title: x\nworkloads: {get: {engine: kv, target: \"redis://127.0.0.1:1\", window: 5s}}\n"+
			"factors: {size: {s: {workloads.get.value_size: 1}, l: {workloads.get.value_size: 2}}}\n"+
			"primary: {"+measure+": {better: lower, margin: 2%}}\n")
	}
}
