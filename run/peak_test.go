package run

import (
	"context"
	"strings"
	"testing"

	"go.uber.org/goleak"

	"bakeoff/analysis"
	"bakeoff/plan"
	"bakeoff/record"
)

const peakPlan = `title: peaks
hosts: {lab: {agent: local}}
workloads: {get: {engine: "null", target: "redis://127.0.0.1:6379", warmup: 100ms, window: 10s}}
factors: {swappiness: {high: {settings.lab.sysctl.vm.swappiness: "90"}, low: {settings.lab.sysctl.vm.swappiness: "10"}}}
peak: {over: workloads.get.workers, from: 2, to: 64, window: 5s}
primary: {throughput: {better: higher, margin: 5%}}
repeat: {blocks: 2}
`

// A run that searches for peaks and is stopped again and again goes on where it
// was, and measures each cell at the load that its search found.
func TestExecutePeak(t *testing.T) {
	defer goleak.VerifyNone(t)
	agent := newFake()
	agent.served = func(s LoadSpec) uint64 {
		best := 20
		if agent.settings["vm.swappiness"] == "10" {
			best = 9
		}
		return uint64(10_000 * min(s.Common.Workers, best))
	}
	p := parse(t, peakPlan)
	cfg := newConfig(t, p, agent)
	var last Event
	for tries := 0; ; tries++ {
		stop := make(chan struct{})
		cfg.Stop = stop
		begun := 0
		cfg.Progress = func(e Event) {
			if e.Kind == TrialBegins {
				last = e
				if begun++; begun == 7 {
					close(stop)
				}
			}
		}
		s, err := Execute(context.Background(), cfg)
		if err != nil {
			t.Fatal(err)
		}
		if cfg.Resume = s.Dir; s.Outcome == Done {
			if tries == 0 {
				t.Error("the run was never stopped")
			}
			break
		}
	}
	agent.untouched(t)
	if last.Index != last.Total {
		t.Errorf("the last trial is %d of %d", last.Index, last.Total)
	}
	run := verified(t, cfg.Resume)
	peaks := map[string]string{}
	for _, tr := range run.Trials {
		switch tr.Role {
		case record.RoleMeasure:
			if tr.Status == record.StatusComplete {
				peaks[tr.Cell.Key()] += tr.At + " "
			}
		case record.RoleSearch:
			if tr.Block != 0 || tr.At == "" {
				t.Errorf("trial %s searches in block %d at %q", tr.ID, tr.Block, tr.At)
			}
		}
	}
	if peaks["swappiness=high"] != "20 20 " || peaks["swappiness=low"] != "9 9 " {
		t.Errorf("measured at %v", peaks)
	}
	if _, more, err := plan.Next(p, outcomesWith(t, run, p)); more || err != nil {
		t.Errorf("the record asks for more: %t, %v", more, err)
	}
	result, err := analysis.Analyse(run, p, analysis.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if result.Tables[0].ID != "peaks" || len(result.Tables[0].Rows) != 2 || result.Tables[0].Rows[0][1] != "20" || !strings.HasPrefix(result.Charts[0].ID, "bars") {
		t.Errorf("tables %+v", result.Tables[0])
	}
}

// outcomesWith are a record's outcomes with the values that the search goes by.
func outcomesWith(t *testing.T, run *record.Run, p *plan.Plan) []plan.Outcome {
	t.Helper()
	outcomes := outcomesOf(run)
	for i, tr := range run.Trials {
		obs, _, err := analysis.ObserveTrial(run, p, tr)
		if err != nil {
			t.Fatal(err)
		}
		outcomes[i].Values = analysis.Values(p, obs)
	}
	return outcomes
}
