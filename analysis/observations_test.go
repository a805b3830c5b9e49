package analysis_test

import (
	"fmt"
	"math"
	"strings"
	"testing"

	"bakeoff/analysis"
	"bakeoff/plan"
	"bakeoff/record"
)

// printedTable is a published table of one storage experiment: reads and writes
// over IPv4 and IPv6 with offloads off, bandwidth and CPU as printed.
func printedTable() []record.Observation {
	half := func(digits int) *float64 {
		h := 0.5 * math.Pow(10, -float64(digits))
		return &h
	}
	var out []record.Observation
	for _, row := range []struct {
		load, ip, block string
		mbs, cpu        float64
	}{
		{"write", "4", "256K", 2174.01, 4.9}, {"write", "6", "256K", 2188.02, 4.9},
		{"write", "4", "64K", 2178.92, 6.6}, {"write", "6", "64K", 2185.76, 6.5},
		{"read", "4", "256K", 4996.95, 14.1}, {"read", "6", "256K", 5688.09, 13.6},
		{"read", "4", "64K", 4574.63, 13.9}, {"read", "6", "64K", 5024.53, 12.5},
	} {
		cell := record.Cell{{Factor: "load", Level: row.load}, {Factor: "ip", Level: row.ip}, {Factor: "block", Level: row.block}}
		out = append(out,
			record.Observation{Cell: cell, Measure: "bandwidth", Unit: "B/s", Better: record.HigherIsBetter, Value: row.mbs * 1048576, HalfWidth: scaledBy(half(2), 1048576), Text: fmt.Sprint(row.mbs)},
			record.Observation{Cell: cell, Measure: "cpu", Unit: "%", Better: record.LowerIsBetter, Value: row.cpu, HalfWidth: half(1), Text: fmt.Sprint(row.cpu)})
	}
	return out
}

func scaledBy(v *float64, by float64) *float64 {
	out := *v * by
	return &out
}

func TestPrintedFigures(t *testing.T) {
	obs := printedTable()
	p := analysis.Design(obs)
	p.Title = "IPv6 against IPv4"
	p.Compare = []plan.Comparison{{Factors: []string{"ip"}, Simple: true, Within: []string{"load", "block"}}}
	p.Primary = []plan.Primary{{Measure: "bandwidth", Better: record.HigherIsBetter}, {Measure: "cpu", Better: record.LowerIsBetter}}
	r, err := analysis.FromObservations(p, obs, analysis.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if !r.Printed || len(r.Findings) != 8 {
		t.Fatalf("printed %v, %d findings", r.Printed, len(r.Findings))
	}
	want := map[string]float64{ // as printed, to the last digit, which the source cut
		"bandwidth load=write, block=256K": 0.64, "cpu load=write, block=256K": 0.00,
		"bandwidth load=write, block=64K": 0.31, "cpu load=write, block=64K": 1.51,
		"bandwidth load=read, block=256K": 13.83, "cpu load=read, block=256K": 3.54,
		"bandwidth load=read, block=64K": 9.83, "cpu load=read, block=64K": 10.07,
	}
	for _, f := range r.Findings {
		printed, known := want[f.Measure+" "+f.Where.Key()]
		if !known || f.ImprovementPercent == nil || math.Abs(math.Trunc(*f.ImprovementPercent*100)/100-printed) > 1e-9 {
			t.Errorf("%s at %s: improvement %v, printed %v", f.Measure, f.Where.Key(), *f.ImprovementPercent, printed)
		}
		if f.Verdict != analysis.Descriptive || f.Low >= f.Effect || f.High <= f.Effect || !strings.Contains(f.Sentence, "printed digits") {
			t.Errorf("a printed figure has no verdict, and an interval from its digits: %+v", f)
		}
	}
	mustEncode(t, r)
}

func TestPrintedFigureWithOneDigit(t *testing.T) {
	half := 0.005e-3
	obs := []record.Observation{
		{Cell: record.Cell{{Factor: "server", Level: "old"}}, Measure: "write latency", Unit: "s", Better: record.LowerIsBetter, Value: 0.06e-3, HalfWidth: &half, Text: "0.06"},
		{Cell: record.Cell{{Factor: "server", Level: "new"}}, Measure: "write latency", Unit: "s", Better: record.LowerIsBetter, Value: 0.01e-3, HalfWidth: &half, Text: "0.01"},
	}
	r, err := analysis.FromObservations(analysis.Design(obs), obs, analysis.Options{})
	if err != nil {
		t.Fatal(err)
	}
	f := r.Findings[0]
	if len(f.Warnings) != 1 || f.Warnings[0].Gate != "resolution" || !strings.Contains(f.Warnings[0].Found, `"0.01"`) {
		t.Errorf("0.01 ms has one digit, and nobody warns: %+v", f.Warnings)
	}
	// From 0.005/0.065 to 0.015/0.055: 92 to 73 % less.
	if math.Abs(f.Low-0.0769) > 1e-4 || math.Abs(f.High-0.2727) > 1e-4 {
		t.Errorf("the digits leave %v to %v, want 0.0769 to 0.2727", f.Low, f.High)
	}
}

func TestImportedRepetitions(t *testing.T) {
	var obs []record.Observation
	for i, v := range []float64{100, 101, 99, 100, 102} {
		obs = append(obs, record.Observation{Cell: record.Cell{{Factor: "raid", Level: "5"}}, Block: i + 1, Measure: "iops", Unit: "1/s", Value: v},
			record.Observation{Cell: record.Cell{{Factor: "raid", Level: "10"}}, Block: i + 1, Measure: "iops", Unit: "1/s", Value: 2 * v})
	}
	p := analysis.Design(obs)
	p.Primary = []plan.Primary{{Measure: "iops", Better: record.HigherIsBetter, Margin: 0.02}}
	r, err := analysis.FromObservations(p, obs, analysis.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if f := r.Findings[0]; f.Verdict != analysis.Better || f.N != 5 || math.Abs(f.Effect-2) > 1e-9 {
		t.Errorf("%+v", f)
	}
}

func TestFiguresWithoutAPlace(t *testing.T) {
	obs := printedTable()
	p := analysis.Design(obs)
	obs[0].Cell = obs[0].Cell[:2]
	if _, err := analysis.FromObservations(p, obs, analysis.Options{}); err == nil || !strings.Contains(err.Error(), "load=write, ip=4") {
		t.Errorf("error: %v", err)
	}
	if _, err := analysis.FromObservations(p, nil, analysis.Options{}); err == nil {
		t.Error("no figures, and no error")
	}
}
