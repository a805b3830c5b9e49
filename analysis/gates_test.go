package analysis_test

import (
	"slices"
	"strings"
	"testing"

	"bakeoff/analysis"
	"bakeoff/plan"
	"bakeoff/record"
)

// sound is a trial that no gate objects to, with its telemetry.
func sound(t *testing.T) (record.Trial, map[string][]record.Reading, plan.Limits) {
	t.Helper()
	l := newLab(t, twoServers)
	l.stop = 1
	run := l.run()
	trial := run.Trials[0]
	rows, err := run.Readings(trial.ID, "server")
	if err != nil {
		t.Fatal(err)
	}
	return trial, map[string][]record.Reading{"server": rows, "client": rows}, l.plan.Limits
}

func TestSoundTrialPasses(t *testing.T) {
	trial, readings, limits := sound(t)
	if got := analysis.CheckTrial(trial, readings, limits); len(got) > 0 {
		t.Errorf("a sound trial is objected to: %+v", got)
	}
}

// ramp replaces one metric by a counter that grows by so much a second.
func ramp(rows map[string][]record.Reading, metric string, perSecond float64) {
	for i := range rows["server"] {
		r := &rows["server"][i]
		if r.Metric == metric {
			r.Value = perSecond * float64(r.Start-rows["server"][0].Start) / 1e9
		}
	}
}

func TestGates(t *testing.T) {
	text := func(s string) *string { return &s }
	for _, c := range []struct {
		gate     string
		severity record.Severity
		spoil    func(*record.Trial, map[string][]record.Reading)
	}{
		{"ledger-not-closed", record.SeverityHard, func(t *record.Trial, _ map[string][]record.Reading) { t.Loads[0].Ledger.Offered++ }},
		{"errors", record.SeverityHard, func(t *record.Trial, _ map[string][]record.Reading) {
			g := &t.Loads[0].Ledger
			g.Failed, g.Offered = g.Completed/500, g.Offered+g.Completed/500
		}},
		{"errors", record.SeverityHard, func(t *record.Trial, _ map[string][]record.Reading) { t.Loads[0].Ledger = record.Ledger{} }},
		{"misses", record.SeverityHard, func(t *record.Trial, _ map[string][]record.Reading) {
			t.Loads[0].Kinds[0].Misses = t.Loads[0].Kinds[0].Completed / 50
		}},
		{"generator-saturated", record.SeverityHard, func(t *record.Trial, _ map[string][]record.Reading) { t.Loads[0].Generator.BusyFraction = 0.91 }},
		{"pacing-lag", record.SeveritySoft, func(t *record.Trial, _ map[string][]record.Reading) {
			t.Loads[0].Generator.TargetRate = float64(t.Loads[0].Ledger.Completed) / 10
			t.Loads[0].Generator.PacingLagP99 = 2e6
		}},
		{"target-rate-missed", record.SeveritySoft, func(t *record.Trial, _ map[string][]record.Reading) {
			t.Loads[0].Generator.TargetRate = float64(t.Loads[0].Ledger.Completed) / 10 * 1.05
		}},
		{"not-steady", record.SeveritySoft, func(t *record.Trial, _ map[string][]record.Reading) {
			for i := range t.Loads[0].Series {
				t.Loads[0].Series[i].Completed += uint64(i) * 2000
			}
		}},
		{"not-steady", record.SeveritySoft, func(t *record.Trial, _ map[string][]record.Reading) { t.Loads[0].Series[5].Completed /= 2 }},
		{"short-window", record.SeverityNote, func(t *record.Trial, _ map[string][]record.Reading) { t.Loads[0].Window.Seconds = 2 }},
		{"percentile-samples", record.SeveritySoft, func(t *record.Trial, _ map[string][]record.Reading) {
			t.Loads[0].Ledger = record.Ledger{Offered: 5000, Completed: 5000}
		}},
		{"timeouts-censored", record.SeveritySoft, func(t *record.Trial, _ map[string][]record.Reading) {
			t.Loads[0].Latencies[0].Censored = t.Loads[0].Ledger.Completed / 50
		}},
		{"setting-not-in-effect", record.SeverityHard, func(t *record.Trial, _ map[string][]record.Reading) {
			t.Settings = []record.AppliedSetting{{Host: "server", Kind: "sysctl", Target: "vm.swappiness", Wanted: "10", ReadBack: text("60"), AtEnd: text("60")}}
		}},
		{"setting-not-in-effect", record.SeverityHard, func(t *record.Trial, _ map[string][]record.Reading) {
			t.Settings = []record.AppliedSetting{{Wanted: "10", ReadBack: text("10"), AtEnd: text("60")}}
		}},
		{"setting-not-in-effect", record.SeveritySoft, func(t *record.Trial, _ map[string][]record.Reading) {
			t.Settings = []record.AppliedSetting{{Wanted: "10", ReadBack: text("10")}}
		}},
		{"server-restarted", record.SeveritySoft, func(_ *record.Trial, r map[string][]record.Reading) { ramp(r, "process.started", 0.2) }},
		{"cpu-steal", record.SeveritySoft, func(_ *record.Trial, r map[string][]record.Reading) { ramp(r, "cpu.steal", 0.05) }},
		{"cpu-steal", record.SeverityHard, func(_ *record.Trial, r map[string][]record.Reading) { ramp(r, "cpu.steal", 0.2) }},
		{"swapping", record.SeveritySoft, func(_ *record.Trial, r map[string][]record.Reading) { ramp(r, "swap.in", 200e3) }},
		{"swapping", record.SeverityHard, func(_ *record.Trial, r map[string][]record.Reading) { ramp(r, "swap.out", 2e6) }},
		{"busy-neighbour", record.SeveritySoft, func(_ *record.Trial, r map[string][]record.Reading) { ramp(r, "neighbour.cpu", 0.2) }},
		{"busy-neighbour", record.SeverityHard, func(_ *record.Trial, r map[string][]record.Reading) { ramp(r, "neighbour.cpu", 0.6) }},
		// What the load goes to is no service of the plan, or was not watched:
		// then it is itself among the neighbours.
		{"busy-neighbour", record.SeveritySoft, func(t *record.Trial, r map[string][]record.Reading) {
			t.Loads[0].Target = "redis://127.0.0.1:6379"
			ramp(r, "neighbour.cpu", 0.6)
		}},
		{"busy-neighbour", record.SeveritySoft, func(t *record.Trial, r map[string][]record.Reading) {
			t.Services[0].Name = "other"
			ramp(r, "neighbour.cpu", 0.6)
		}},
		{"busy-neighbour", record.SeveritySoft, func(t *record.Trial, r map[string][]record.Reading) {
			t.Services = nil
			ramp(r, "neighbour.cpu", 0.6)
		}},
		{"busy-neighbour", record.SeverityHard, func(t *record.Trial, r map[string][]record.Reading) {
			t.Services, t.Loads[0].Target, t.Loads[0].Generator.Embedded = nil, "sqlite:file", true
			ramp(r, "neighbour.cpu", 0.6)
		}},
		{"errors", record.SeverityHard, func(t *record.Trial, _ map[string][]record.Reading) {
			g := &t.Loads[0].Ledger
			g.Dropped, g.Offered = g.Completed/500, g.Offered+g.Completed/500
		}},
		{"not-steady", record.SeveritySoft, func(t *record.Trial, _ map[string][]record.Reading) {
			t.Loads[0].Steady = &record.Steadiness{SlopePercent: -80, ExcursionPercent: 90, Intervals: 100}
		}},
		{"telemetry-notes", record.SeveritySoft, func(t *record.Trial, _ map[string][]record.Reading) {
			t.Costs["client"][0].Notes = []string{"consumption above the source's own limit"}
		}},
		{"telemetry-notes", record.SeverityNote, func(t *record.Trial, _ map[string][]record.Reading) {
			t.Costs["client"][1].Notes = []string{"the kernel gives no frequency"}
		}},
		{"measuring-clock", record.SeveritySoft, func(t *record.Trial, _ map[string][]record.Reading) { t.Loads[0].Window.ClockErrorPPM = -150 }},
		{"measuring-clock", record.SeverityHard, func(t *record.Trial, _ map[string][]record.Reading) { t.Loads[0].Window.ClockErrorPPM = 1500 }},
		{"clock-step", record.SeveritySoft, func(t *record.Trial, _ map[string][]record.Reading) { t.Loads[0].Window.ClockStepSeconds = -0.05 }},
		{"clock-step", record.SeverityHard, func(t *record.Trial, _ map[string][]record.Reading) { t.Loads[0].Window.ClockStepSeconds = 3600 }},
		{"telemetry-gaps", record.SeveritySoft, func(t *record.Trial, _ map[string][]record.Reading) {
			t.Costs["server"][0].Failures, t.Costs["client"][0].Failures = 3, 3
		}},
		{"telemetry-gaps", record.SeveritySoft, func(t *record.Trial, r map[string][]record.Reading) {
			from := t.Loads[0].Window.Start.UnixNano()
			late := slices.DeleteFunc(slices.Clone(r["server"]), func(x record.Reading) bool { return x.Start > from+2e9 && x.Start < from+7e9 })
			r["server"], r["client"] = late, late
		}},
		{"generator-stalled", record.SeveritySoft, func(t *record.Trial, _ map[string][]record.Reading) {
			t.Loads[0].Window.Seconds, t.Loads[0].Generator.Stalls = 60, &record.Stalls{TickMax: 550e6, TickTotal: 550e6}
		}},
		{"generator-stalled", record.SeverityHard, func(t *record.Trial, _ map[string][]record.Reading) {
			t.Loads[0].Generator.Stalls = &record.Stalls{TickMax: 260e6, TickTotal: 260e6}
		}},
		{"generator-stalled", record.SeverityHard, func(t *record.Trial, _ map[string][]record.Reading) {
			t.Loads[0].Generator.Stalls = &record.Stalls{WorkerMax: 2e9, WorkerTotal: 2e9}
		}},
		{"generator-stalled", record.SeverityHard, func(t *record.Trial, _ map[string][]record.Reading) {
			t.Loads[0].Generator.Stalls = &record.Stalls{TickMax: 60e6, TickTotal: 1100e6}
		}},
		{"target-silent", record.SeverityHard, func(t *record.Trial, _ map[string][]record.Reading) {
			for i := range 5 {
				t.Loads[0].Tenths[3+i].Completed = uint64(i % 2)
			}
		}},
		{"generator-stalled", record.SeverityHard, func(t *record.Trial, _ map[string][]record.Reading) { // it is not the target that was silent
			t.Loads[0].Generator.Stalls = &record.Stalls{TickMax: 2.2e9, TickTotal: 2.2e9}
			t.Loads[0].Tenths[3].Completed, t.Loads[0].Tenths[4].Completed = 0, 0
		}},
		{"connections-down", record.SeverityHard, func(t *record.Trial, _ map[string][]record.Reading) {
			t.Loads[0].Counters[0].Close, t.Loads[0].Counters[1].Close = 0.2, 31
		}},
		{"telemetry-cost", record.SeveritySoft, func(t *record.Trial, _ map[string][]record.Reading) { t.Costs["client"][1].CPU = 0.5 }},
	} {
		t.Run(c.gate+" "+string(c.severity), func(t *testing.T) {
			trial, readings, limits := sound(t)
			trial.Costs["client"], trial.Costs["server"] = slices.Clone(trial.Costs["client"]), slices.Clone(trial.Costs["server"])
			c.spoil(&trial, readings)
			got := analysis.CheckTrial(trial, readings, limits)
			i := slices.IndexFunc(got, func(w record.Warning) bool { return w.Gate == c.gate })
			if i < 0 {
				t.Fatalf("the gate is silent; heard were %+v", got)
			}
			w := got[i]
			if w.Severity != c.severity {
				t.Errorf("severity is %s, want %s: found %s", w.Severity, c.severity, w.Found)
			}
			if w.Found == "" || w.Threshold == "" || w.Advice == "" || w.Trial != trial.ID || w.Cell != trial.Cell.Key() {
				t.Errorf("the warning leaves something unsaid: %+v", w)
			}
			if n := len(got); n > 1 && c.gate != "errors" && c.gate != "percentile-samples" && c.gate != "timeouts-censored" {
				t.Errorf("one fault gave %d warnings: %+v", n, got)
			}
		})
	}
}

// The workers of an embedded database are as busy as it is.
func TestEmbeddedTargetIsNoBusyGenerator(t *testing.T) {
	l := newLab(t, twoServers)
	l.spoil = func(trial *record.Trial, _ map[string][]record.Reading) {
		trial.Loads[0].Generator.BusyFraction, trial.Loads[0].Generator.Embedded = 0.99, true
	}
	r := l.analyse(l.run())
	i := slices.IndexFunc(r.Gates, func(g analysis.GateResult) bool { return g.Gate == "generator-saturated" })
	if i < 0 || r.Gates[i].Checked != 0 || !strings.Contains(r.Gates[i].NotChecked, "the target's") || r.Gates[i].Objected > 0 {
		t.Errorf("the gate says %+v", r.Gates[i])
	}
}

func TestLimitsOfThePlan(t *testing.T) {
	trial, readings, limits := sound(t)
	trial.Loads[0].Generator.BusyFraction = 0.95
	high := 99.0
	limits.BusyPercent, limits.Neighbours = &high, &high
	ramp(readings, "neighbour.cpu", 0.3)
	if got := analysis.CheckTrial(trial, readings, limits); len(got) > 0 {
		t.Errorf("the plan allows 99 %%, and the gate still objects: %+v", got)
	}
}

func TestSettingsAreComparedAsTheKernelWritesThem(t *testing.T) {
	text := func(s string) *string { return &s }
	trial, readings, limits := sound(t)
	trial.Settings = []record.AppliedSetting{
		{Wanted: "4096 87380 16777216", ReadBack: text("4096\t87380\t16777216"), AtEnd: text("4096\t87380\t16777216\n")},
		{Wanted: "never", ReadBack: text("always madvise [never]"), AtEnd: text("always madvise [never]")},
	}
	if got := analysis.CheckTrial(trial, readings, limits); len(got) > 0 {
		t.Errorf("settings that hold are objected to: %+v", got)
	}
}

func TestGatesWithoutFood(t *testing.T) {
	l := newLab(t, twoServers)
	l.spoil = func(_ *record.Trial, readings map[string][]record.Reading) { readings["server"] = nil }
	r := l.analyse(l.run())
	for _, g := range r.Gates {
		if g.Checked == 0 && g.NotChecked == "" {
			t.Errorf("gate %s looked at nothing and does not say why", g.Gate)
		}
		if g.Title == "" || g.Threshold == "" {
			t.Errorf("gate %s has no title or threshold: %+v", g.Gate, g)
		}
	}
	for _, name := range []string{"cpu-steal", "swapping", "busy-neighbour", "server-restarted", "throttled", "power-coverage"} {
		i := slices.IndexFunc(r.Gates, func(g analysis.GateResult) bool { return g.Gate == name })
		if i < 0 || r.Gates[i].Checked != 0 {
			t.Errorf("gate %s claims to have looked without telemetry", name)
		}
	}
	if len(r.Findings) == 0 || r.Findings[0].Verdict != analysis.Better {
		t.Errorf("without telemetry the load is still judged: %+v", r.Answer)
	}
}
