package plan

import (
	"strings"
	"testing"

	"bakeoff/record"
)

const gradedPlan = `title: x
workloads: {get: {engine: kv, target: "redis://127.0.0.1:1", window: 5s, peak: 50k}}
factors:
  threads: {one: {workloads.get.peak: 40k}, two: {workloads.get.peak: 70k}}
graded: {levels: [100%, 50%, 12.5%]}
primary: {overall_perf_per_watt: {better: higher, margin: 2%}}
repeat: {blocks: 2}
seed: 3
`

// checkChange breaks one thing in a plan and wants it noted at a line.
func checkChange(t *testing.T, plan, old, new string, line int, want []string) {
	t.Helper()
	mustParse(t, plan)
	src := strings.Replace(plan, old, new, 1)
	if src == plan {
		t.Fatalf("%q is not in the plan", old)
	}
	_, err := Parse("plan.yaml", []byte(src), testCatalog{})
	checkFault(t, err, line, want)
}

// Each share reaches the workload as a rate of the cell's own peak.
func TestGradedRates(t *testing.T) {
	p := mustParse(t, gradedPlan)
	want := map[string]string{"one 100 %": "40000", "one 50 %": "20000", "one 12.5 %": "5000", "one idle": idleRate,
		"two 100 %": "70000", "two 50 %": "35000", "two 12.5 %": "8750", "two idle": idleRate}
	for _, c := range p.Cells() {
		r, err := p.Resolve(c)
		if err != nil {
			t.Fatal(err)
		}
		name := c[0].Level + " " + c[1].Level
		if got := r.Workloads[0].Rate; got != want[name] {
			t.Errorf("%s: rate %s, want %s", name, got, want[name])
		}
		delete(want, name)
	}
	if len(want) != 0 {
		t.Errorf("no cells for %v", want)
	}
	whole := mustParse(t, strings.Replace(strings.Replace(gradedPlan, "{levels: [100%, 50%, 12.5%]}", "{of: 1k, idle: false}", 1), "peak: ", "key_maximum: ", 3))
	var shares []string
	for _, l := range whole.Factor(GradedFactor).Levels {
		shares = append(shares, l.Name)
	}
	if got := strings.Join(shares, ", "); got != "100 %, 90 %, 80 %, 70 %, 60 %, 50 %, 40 %, 30 %, 20 %, 10 %" {
		t.Errorf("shares %s", got)
	}
	third, err := whole.Resolve(whole.Cells()[3])
	if err != nil || third.Workloads[0].Rate != "700" {
		t.Errorf("70 %% of 1k: %q, %v", third.Workloads[0].Rate, err)
	}
}

// A cell goes from its peak down to idle; which cell comes first is drawn.
func TestGradedOrder(t *testing.T) {
	p := mustParse(t, gradedPlan)
	p.AA = true
	first := map[string]bool{}
	for block := 1; block <= 20; block++ {
		var order []string
		for _, trial := range p.blockOrder(block, 1) {
			name := trial.Cell[0].Level + " " + trial.Cell[1].Level
			if trial.Role == record.RoleAA {
				name = "twin"
			}
			order = append(order, name)
		}
		text := strings.Join(order, ", ")
		one, two := "one 100 %, one 50 %, one 12.5 %, one idle", "two 100 %, two 50 %, two 12.5 %, two idle"
		if rest := strings.ReplaceAll(strings.ReplaceAll(strings.ReplaceAll(text, one, "1"), two, "2"), "twin", "a"); len(rest) != len("1, 2, a") {
			t.Fatalf("block %d: %s", block, text)
		}
		first[order[0]] = true
	}
	if len(first) != 3 {
		t.Errorf("first came only %v", first)
	}
}

// What is compared is the peak, and the figure over all levels that stands there.
func TestGradedEffects(t *testing.T) {
	p := mustParse(t, gradedPlan)
	effects := p.Effects()
	if len(effects) != 1 || p.Family() != 1 || effects[0].Where.Key() != "target_load=100 %" || len(effects[0].Terms) != 2 {
		t.Errorf("effects %+v", effects)
	}
	if share, ok := p.Share(p.Cells()[2]); !ok || share.RatString() != "1/8" {
		t.Errorf("share %v %v", share, ok)
	}
	if share, ok := p.Share(p.Cells()[3]); !ok || share.Sign() != 0 {
		t.Errorf("idle has the share %v %v", share, ok)
	}
	if _, ok := mustParse(t, good).Share(nil); ok {
		t.Error("a plan that is not graded has shares")
	}
}

func TestGradedFaults(t *testing.T) {
	for _, tt := range []struct {
		name, old, new string
		line           int
		want           []string
	}{
		{"no peak", ", peak: 50k}}\nfactors:\n  threads: {one: {workloads.get.peak: 40k}, two: {workloads.get.peak: 70k}}",
			"}}\nfactors:\n  threads: {one: {workloads.get.workers: 1}, two: {workloads.get.workers: 2}}", 2, []string{"no peak in a graded plan", "graded: {of: 50k}"}},
		{"peak without graded", "graded: {levels: [100%, 50%, 12.5%]}\n", "", 2, []string{"a peak in a plan that is not graded"}},
		{"rate", "peak: 50k", "peak: 50k, rate: 5k", 2, []string{"a rate in a graded plan", "write peak instead"}},
		{"first level", "[100%, 50%", "[90%, 50%", 5, []string{"100% as the first level"}},
		{"levels that rise", "50%, 12.5%", "50%, 60%", 5, []string{"graded.levels[2]", "fall from 100%"}},
		{"no share", "50%, 12.5%", "50%, 0%", 5, []string{"graded.levels[2]"}},
		{"no levels", "[100%, 50%, 12.5%]", "[]", 5, []string{"100% as the first level"}},
		{"deadline", "window: 5s", "deadline: 5s", 2, []string{"a load that can be held at a rate"}},
		{"ladder", "seed: 3", "ladder: true", 5, []string{"shares of a peak with a ladder"}},
		{"pilot", "repeat: {blocks: 2}", "repeat: {pilot: 8, until: 1%, max: 20}", 7, []string{"which no single trial has", "fixed in advance"}},
		{"the factor's name", "threads: {", "target_load: {", 5, []string{"another name for it"}},
	} {
		t.Run(tt.name, func(t *testing.T) { checkChange(t, gradedPlan, tt.old, tt.new, tt.line, tt.want) })
	}
}
