package plan_test

import (
	"strings"
	"testing"

	"bakeoff/plan"
)

const tunable = `title: t
workloads:
  w: {engine: kv, target: "redis://127.0.0.1:1", window: 1s}
primary: {throughput: {better: higher, margin: 2%}}
repeat: {blocks: 8}`

func TestTuningLadderIsAPlan(t *testing.T) {
	steps, err := plan.TuningSteps("steps.yaml", []byte(`
buffers: {settings.local.sysctl.net.core.rmem_max: 16777216, settings.local.sysctl.net.ipv4.tcp_rmem: "4096 87380 16777216"}
"a: colon":
  settings.local.file: {/sys/x: 1}
more: {settings.local.sysctl.net.core.rmem_max: 33554432}
`))
	if err != nil {
		t.Fatal(err)
	}
	text, err := plan.TuningLadder("t.yaml", []byte(tunable), steps)
	if err != nil {
		t.Fatal(err)
	}
	p, err := plan.Parse("t.yaml", text, catalog{})
	if err != nil {
		t.Fatalf("%v\n%s", err, text)
	}
	levels := p.Factor(plan.TuningFactor).Levels
	if !p.Ladder || len(levels) != 4 || levels[0].Name != plan.AsFound || levels[2].Name != "a: colon" {
		t.Fatalf("found levels %+v", levels)
	}
	r, err := p.Resolve(p.Cells()[3])
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]string{}
	for _, s := range r.Settings {
		got[s.Kind+" "+s.Target] = s.Value
	}
	for target, want := range map[string]string{"sysctl net.core.rmem_max": "33554432", "sysctl net.ipv4.tcp_rmem": "4096 87380 16777216", "file /sys/x": "1"} {
		if got[target] != want {
			t.Errorf("%s: found %q, expected %q", target, got[target], want)
		}
	}
}

func TestTogetherTheLaterStepHasTheLastWord(t *testing.T) {
	all := plan.Together("all", []plan.TuningStep{
		{Name: "1", Sets: []plan.TuningValue{{Path: "a", Value: "1"}, {Path: "b", Value: "1"}}},
		{Name: "2", Sets: []plan.TuningValue{{Path: "a", Value: "2"}}},
	})
	if got := all.Level(); got != `{a: "2", b: "1"}` {
		t.Errorf("found %s", got)
	}
}

func TestTuningRefuses(t *testing.T) {
	for text, want := range map[string]string{
		"":                        "expected steps by name",
		"[a]":                     "expected steps by name",
		"{}":                      "holds no step",
		"a: b":                    "expected a map of what it sets",
		"a: {}":                   "expected a map of what it sets",
		"a: {b: 1}\nb: {c: 1}\n:": "s.yaml",
	} {
		if steps, err := plan.TuningSteps("s.yaml", []byte(text)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: found %v, %v, expected an error with %q", text, steps, err, want)
		}
	}
	step := []plan.TuningStep{{Name: "a", Sets: []plan.TuningValue{{Path: "b", Value: "c"}}}}
	for _, more := range []string{"factors: {}", "ladder: true", "compare: [a]", "peak: {}", "graded: {}"} {
		if _, err := plan.TuningLadder("t.yaml", []byte(tunable+"\n"+more), step); err == nil {
			t.Errorf("%s: taken", more)
		}
	}
	if _, err := plan.TuningLadder("t.yaml", []byte(tunable), nil); err == nil {
		t.Error("no steps: taken")
	}
}

func FuzzTuningSteps(f *testing.F) {
	f.Add("a: {b: 1}\nc: {d: [1, 2], e: {f: g}}")
	f.Add("a: &x {b: 1}\nc: *x")
	f.Fuzz(func(t *testing.T, text string) {
		steps, err := plan.TuningSteps("s.yaml", []byte(text))
		if err == nil && len(steps) == 0 {
			t.Error("no steps and no error")
		}
	})
}
