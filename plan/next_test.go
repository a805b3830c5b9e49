package plan

import (
	"errors"
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"bakeoff/record"
	"bakeoff/stats"
)

// design writes a plan with the given numbers of levels, and more keys.
func design(t testing.TB, more string, levels ...int) *Plan {
	t.Helper()
	src := "title: x\nworkloads: {get: {engine: kv, target: \"redis://127.0.0.1:1\", window: 5s}}\nprimary: {throughput: {better: higher, margin: 2%}}\n" + more + "\n"
	if len(levels) > 0 {
		src += "factors:\n"
	}
	for i, n := range levels {
		src += fmt.Sprintf("  f%d:\n", i)
		for l := range n {
			src += fmt.Sprintf("    l%d: {workloads.get.%s: %d}\n", l, []string{"key_maximum", "connections", "pipeline"}[i], l+1)
		}
	}
	return mustParse(t, src)
}

// play runs a plan to its end, with the outcomes that judge gives.
func play(t testing.TB, p *Plan, judge func(Trial) Outcome) []Outcome {
	t.Helper()
	var done []Outcome
	for {
		trial, more, err := Next(p, done)
		if err != nil {
			t.Fatal(err)
		}
		if !more {
			return done
		}
		o := judge(trial)
		o.Trial = trial
		done = append(done, o)
	}
}

func complete(Trial) Outcome { return Outcome{Status: record.StatusComplete} }

func places(outcomes []Outcome) string {
	var out []string
	for _, o := range outcomes {
		var name string
		for _, l := range o.Trial.Cell {
			name += strings.TrimPrefix(l.Level, "l")
		}
		if o.Trial.Role == record.RoleAA {
			name += "'"
		}
		out = append(out, fmt.Sprintf("%d.%d:%s", o.Trial.Block, o.Trial.Attempt, name))
	}
	return strings.Join(out, " ")
}

// The published first outputs of SplitMix64 for the seed 1234567.
func TestStreamIsSplitMix64(t *testing.T) {
	s := stream{1234567}
	for i, want := range []uint64{6457827717110365317, 3203168211198807973, 9817491932198370423, 4593380528125082431, 16408922859458223821} {
		if got := s.next(); got != want {
			t.Errorf("output %d = %d, want %d", i, got, want)
		}
	}
}

// All orders of three cells are equally likely, over blocks.
func TestOrdersAreUniform(t *testing.T) {
	p := design(t, "seed: 7", 3)
	count := map[string]float64{}
	const n = 6000
	for block := 1; block <= n; block++ {
		var order []Outcome
		for _, trial := range p.blockOrder(block, 1) {
			order = append(order, Outcome{Trial: Trial{Cell: trial.Cell}})
		}
		count[places(order)]++
	}
	chi2 := 0.0
	for _, c := range count {
		chi2 += (c - n/6) * (c - n/6) / (n / 6)
	}
	if len(count) != 6 || chi2 > 20.5 { // 0.999 quantile of chi-squared with 5 degrees
		t.Errorf("orders %v, chi-squared %.1f", count, chi2)
	}
}

// The order that docs/plan.md shows for repeating it by hand.
func TestOrderIsAsDocumented(t *testing.T) {
	p := design(t, "seed: 1\nrepeat: {blocks: 3}", 4)
	got := places(play(t, p, complete))
	const want = "1.1:2 1.1:0 1.1:3 1.1:1 2.1:0 2.1:1 2.1:3 2.1:2 3.1:2 3.1:3 3.1:0 3.1:1"
	if got != want {
		t.Errorf("order %s\nwant  %s", got, want)
	}
}

func TestOrders(t *testing.T) {
	abba := design(t, "order: abba\nrepeat: {blocks: 4}", 2)
	if got := places(play(t, abba, complete)); got != "1.1:0 1.1:1 2.1:1 2.1:0 3.1:0 3.1:1 4.1:1 4.1:0" {
		t.Error("abba:", got)
	}
	abba.AA = true
	if got := places(play(t, abba, complete)); got != "1.1:0 1.1:0' 1.1:1 2.1:1 2.1:0' 2.1:0 3.1:0 3.1:0' 3.1:1 4.1:1 4.1:0' 4.1:0" {
		t.Error("abba with aa:", got)
	}
	ladder := design(t, "ladder: true\nrepeat: {blocks: 2}", 3)
	if got := places(play(t, ladder, complete)); got != "1.1:0 1.1:1 1.1:2 2.1:0 2.1:1 2.1:2" {
		t.Error("ladder:", got)
	}
}

// The levels of a hard factor change no more often than they must, and come in
// both orders.
func TestHardFactors(t *testing.T) {
	p := design(t, "hard: [f1]\nrepeat: {blocks: 40}", 3, 2)
	first := map[string]int{}
	for block := 1; block <= 40; block++ {
		changes, last := 0, ""
		for i, trial := range p.blockOrder(block, 1) {
			level, _ := trial.Cell.Level("f1")
			if i == 0 {
				first[level]++
			}
			if level != last {
				changes++
			}
			last = level
		}
		if changes != 2 {
			t.Errorf("block %d changes the hard factor %d times", block, changes)
		}
	}
	if first["l0"] < 8 || first["l1"] < 8 {
		t.Errorf("whole plots are not shuffled: %v", first)
	}
}

func TestRetries(t *testing.T) {
	p := design(t, "order: abba\nretries: 1\nrepeat: {blocks: 2}", 2)
	bad := func(statuses ...record.Status) func(Trial) Outcome {
		i := -1
		return func(Trial) Outcome {
			if i++; i < len(statuses) {
				return Outcome{Status: statuses[i], Reason: "why"}
			}
			return Outcome{Status: record.StatusComplete}
		}
	}
	const ok, invalid, failed, cut = record.StatusComplete, record.StatusInvalid, record.StatusFailed, record.StatusInterrupted
	tests := map[string]struct {
		statuses []record.Status
		want     string
		counted  string
	}{
		"none":               {nil, "1.1:0 1.1:1 2.1:1 2.1:0", "0001 0002 0003 0004"},
		"first is invalid":   {[]record.Status{invalid}, "1.1:0 1.2:0 1.2:1 2.1:1 2.1:0", "0002 0003 0004 0005"},
		"second is invalid":  {[]record.Status{ok, invalid}, "1.1:0 1.1:1 1.2:0 1.2:1 2.1:1 2.1:0", "0003 0004 0005 0006"},
		"both attempts":      {[]record.Status{invalid, invalid}, "1.1:0 1.2:0 1.2:1 2.1:1 2.1:0", "0003 0004 0005"},
		"failed, then fine":  {[]record.Status{failed}, "1.1:0 1.2:0 1.2:1 2.1:1 2.1:0", "0002 0003 0004 0005"},
		"failed in block 2":  {[]record.Status{ok, ok, failed, failed}, "1.1:0 1.1:1 2.1:1 2.2:1 2.2:0", "0001 0002 0005"},
		"failed at last":     {[]record.Status{ok, invalid, failed}, "1.1:0 1.1:1 1.2:0 1.2:1 2.1:1 2.1:0", "0004 0005 0006"},
		"interrupted":        {[]record.Status{ok, cut, cut}, "1.1:0 1.1:1 1.1:1 1.1:1 2.1:1 2.1:0", "0001 0004 0005 0006"},
		"interrupted, again": {[]record.Status{cut, invalid, cut}, "1.1:0 1.1:0 1.2:0 1.2:0 1.2:1 2.1:1 2.1:0", "0004 0005 0006 0007"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			done := play(t, p, bad(tt.statuses...))
			if got := places(done); got != tt.want {
				t.Errorf("trials %s\nwant   %s", got, tt.want)
			}
			counted, err := Counted(p, done)
			if err != nil {
				t.Fatal(err)
			}
			var ids []string
			for _, o := range done {
				if counted[o.Trial.ID] {
					ids = append(ids, string(o.Trial.ID))
				}
			}
			if got := strings.Join(ids, " "); got != tt.counted {
				t.Errorf("counted %s, want %s", got, tt.counted)
			}
		})
	}
}

func TestGivenUp(t *testing.T) {
	p := design(t, "order: abba\nretries: 1\nrepeat: {blocks: 2}", 2)
	var done []Outcome
	for range 3 {
		trial, _, err := Next(p, done)
		if err != nil {
			t.Fatal(err)
		}
		status := record.StatusFailed
		if len(done) == 2 {
			status = record.StatusComplete
		}
		done = append(done, Outcome{Trial: trial, Status: status, Reason: "connection refused"})
	}
	_, more, err := Next(p, done)
	gave, ok := errors.AsType[*GivenUpError](err)
	if more || !ok || gave.Attempts != 2 || !strings.Contains(err.Error(), "connection refused") || gave.Cell.Key() != "f0=l0" {
		t.Errorf("%v, %v", more, err)
	}
}

// A trial that is there only for the noise floor never repeats a block.
func TestAATrials(t *testing.T) {
	p := design(t, "retries: 2\naa: true\nrepeat: {blocks: 3}", 2)
	done := play(t, p, func(trial Trial) Outcome {
		if trial.Role == record.RoleAA {
			return Outcome{Status: record.StatusInvalid}
		}
		return complete(trial)
	})
	if len(done) != 9 {
		t.Errorf("%d trials: %s", len(done), places(done))
	}
}

func TestForeignOutcomes(t *testing.T) {
	p := design(t, "seed: 1\nrepeat: {blocks: 2}", 4)
	done := play(t, p, complete)
	other := design(t, "seed: 2\nrepeat: {blocks: 2}", 4)
	if _, _, err := Next(other, done); err == nil || !strings.Contains(err.Error(), "another plan or seed") {
		t.Errorf("outcomes of another seed: %v", err)
	}
	shorter := design(t, "seed: 1\nrepeat: {blocks: 1}", 4)
	if _, _, err := Next(shorter, done); err == nil || !strings.Contains(err.Error(), "after the end of the plan") {
		t.Errorf("outcomes of a longer plan: %v", err)
	}
	done[3].Status = record.StatusExcluded
	if _, _, err := Next(p, done); err == nil || !strings.Contains(err.Error(), "status that it was measured with") {
		t.Errorf("a status that hides what happened: %v", err)
	}
}

// Trials of one block share a seed, so that all cells get the same work.
func TestSeeds(t *testing.T) {
	p := design(t, "repeat: {blocks: 5}", 3)
	seeds := map[uint64]int{}
	for _, o := range play(t, p, complete) {
		seeds[o.Trial.Seed]++
	}
	if len(seeds) != 5 {
		t.Errorf("seeds %v", seeds)
	}
	if again := mustParse(t, string(p.Source)); again.Seed != p.Seed {
		t.Error("the seed of the same file differs")
	}
}

// Whatever happens, resuming after any trial goes on with the same one, and
// every block ends with all cells measured once.
func TestNextIsReplay(t *testing.T) {
	designs := []*Plan{
		design(t, "repeat: {blocks: 3}\nretries: 2", 3, 2),
		design(t, "order: abba\nrepeat: {blocks: 4}\naa: true", 2),
		design(t, "hard: [f0]\nrepeat: {blocks: 3}\naa: true", 2, 2),
		design(t, "repeat: {pilot: 8, until: 2%, max: 14}", 2),
		design(t, "repeat: {blocks: 2}"),
		design(t, "graded: {of: 50k}\nrepeat: {blocks: 2}\naa: true", 2, 2),
	}
	statuses := []record.Status{record.StatusComplete, record.StatusComplete, record.StatusComplete, record.StatusComplete, record.StatusInvalid, record.StatusInterrupted}
	rapid.Check(t, func(rt *rapid.T) {
		p := rapid.SampledFrom(designs).Draw(rt, "design")
		var done []Outcome
		var due []Trial
		for len(done) < 300 {
			trial, more, err := Next(p, done)
			if err != nil {
				rt.Fatal(err)
			}
			if !more {
				break
			}
			due = append(due, trial)
			done = append(done, Outcome{
				Trial: trial, Status: rapid.SampledFrom(statuses).Draw(rt, "status"), Excluded: rapid.IntRange(0, 9).Draw(rt, "excluded") == 0,
				Values: []Value{{"get", "throughput", 1000 + rapid.Float64Range(-20, 20).Draw(rt, "value")}},
			})
		}
		at := rapid.IntRange(0, len(done)-1).Draw(rt, "resumed after")
		again, more, err := Next(p, done[:at])
		if err != nil || !more || cmp.Diff(due[at], again) != "" {
			rt.Fatalf("resumed after %d trials: %v, %v, %v; want %v", at, again, more, err, due[at])
		}
		checkBlocks(rt, p, done)
	})
}

// checkBlocks fails unless the last attempt of each block but the last one has
// every trial of the block.
func checkBlocks(t *rapid.T, p *Plan, done []Outcome) {
	ended := map[int]map[string]int{}
	last := map[int]int{}
	for _, o := range done {
		if o.Trial.Attempt != last[o.Trial.Block] {
			last[o.Trial.Block] = o.Trial.Attempt
			ended[o.Trial.Block] = map[string]int{}
		}
		if o.Status != record.StatusInterrupted {
			ended[o.Trial.Block][o.Trial.Cell.Key()+string(o.Trial.Role)]++
		}
	}
	for block := 1; block < len(last); block++ {
		for key, n := range ended[block] {
			if n != 1 || len(ended[block]) != len(p.blockOrder(1, 1)) {
				t.Fatalf("block %d: %q measured %d times, %d trials in all", block, key, n, len(ended[block]))
			}
		}
	}
}

func TestSteinsSecondStage(t *testing.T) {
	p := design(t, "repeat: {pilot: 8, until: 2%, max: 40}", 3)
	value := func(trial Trial) float64 { // level 1 is noisy, level 2 is not
		level, _ := trial.Cell.Level("f0")
		noise := math.Sin(float64(trial.Block * 7))
		return 1000 * math.Exp(map[string]float64{"l0": 0, "l1": 0.03, "l2": 0.001}[level]*noise)
	}
	done := play(t, p, func(trial Trial) Outcome {
		return Outcome{Status: record.StatusComplete, Values: []Value{{"get", "throughput", value(trial)}}}
	})
	var logs []float64
	for block := 1; block <= 8; block++ {
		logs = append(logs, 0.03*math.Sin(float64(block*7)))
	}
	want := stats.SteinN(stats.SD(logs), 7, 0.05/2, math.Log(1.02), 8)
	d, ok, err := Decide(p, done)
	if err != nil || !ok || d.Needed != want || d.Blocks != want || len(done) != 3*want || want <= 8 || want >= 40 {
		t.Errorf("decided %+v (%v, %v), want %d; %d trials", d, ok, err, want, len(done))
	}
	if d.Needs[1].Blocks != 8 || d.Needs[1].Effect.Against != "l2" || d.Needs[0].Pilot != 8 {
		t.Errorf("needs %+v", d.Needs)
	}
	if _, ok, err := Decide(p, done[:23]); ok || err != nil {
		t.Errorf("decided before the pilot's end: %v", err)
	}
	if _, ok, err := Decide(p, done[:24]); !ok || err != nil {
		t.Errorf("not decided at the pilot's end: %v", err)
	}
}

// A measure that one workload alone has is not waited for in the others.
func TestSteinOfOneWorkloadsMeasure(t *testing.T) {
	p := mustParse(t, `title: x
workloads:
  get: {engine: kv, target: "redis://127.0.0.1:1", window: 5s}
  own: {engine: exec, command: [x], figures: {score: {pattern: '(.)', unit: 1}}, deadline: 5s}
factors: {workers: {one: {workloads.*.workers: 1}, two: {workloads.*.workers: 2}}}
primary: {score: {better: higher, margin: 2%}}
repeat: {pilot: 8, until: 2%, max: 40}
`)
	done := play(t, p, func(trial Trial) Outcome {
		o := Outcome{Status: record.StatusComplete}
		if w, _ := trial.Cell.Level(WorkloadFactor); w == "own" {
			o.Values = []Value{{"own", "score", 100}}
		}
		return o
	})
	d, ok, err := Decide(p, done)
	if err != nil || !ok || d.Blocks != 8 || len(d.Needs) != 1 || d.Needs[0].Effect.Workload != "own" {
		t.Errorf("%+v %v %v", d, ok, err)
	}
}

func TestSteinWithoutValues(t *testing.T) {
	p := design(t, "repeat: {pilot: 8, until: 2%, max: 12}", 2)
	done := play(t, p, complete)
	d, ok, err := Decide(p, done)
	if err != nil || !ok || d.Blocks != 12 || d.Needed != stats.MaxN || len(done) != 24 {
		t.Errorf("a pilot that tells nothing needs the most blocks: %+v %v %v, %d trials", d, ok, err, len(done))
	}
}

// Trials that are excluded once the number of blocks is fixed take nothing
// back that was begun.
func TestExclusionNeverUnmakesBlocks(t *testing.T) {
	p := design(t, "repeat: {pilot: 8, until: 2%, max: 20}", 2)
	done := play(t, p, func(trial Trial) Outcome {
		v := 1000.0
		if trial.Block == 3 && trial.Cell[0].Level == "l1" {
			v = 1300 // one outlier makes many blocks
		}
		return Outcome{Status: record.StatusComplete, Values: []Value{{"get", "throughput", v}}}
	})
	if len(done) != 40 {
		t.Fatalf("%d trials, want 40", len(done))
	}
	for i := range done {
		done[i].Excluded = done[i].Trial.Block == 3
	}
	if _, more, err := Next(p, done[:31]); err != nil || !more {
		t.Errorf("a block that was begun is finished: %v %v", more, err)
	}
	if _, more, err := Next(p, done[:32]); err != nil || more {
		t.Errorf("no further block is needed now: %v %v", more, err)
	}
}

// The contrasts recover effects that were put into a multiplicative model.
func TestEffectsRecoverAModel(t *testing.T) {
	p := design(t, "compare: [f0, f1, f0 x f1, f0 within f1]", 2, 3)
	model := func(c record.Cell) (float64, bool) {
		a, b := float64(c[0].Level[1]-'0'), float64(c[1].Level[1]-'0')
		return 1000 * math.Exp(0.1*a+0.05*b+0.02*a*b), true
	}
	want := map[string]float64{
		"main f0 l0>l1":                     0.1 + 0.02,
		"main f1 l0>l1":                     0.05 + 0.01,
		"main f1 l0>l2":                     0.1 + 0.02,
		"interaction f0 x f1 l0, l0>l1, l1": 0.02,
		"interaction f0 x f1 l0, l0>l1, l2": 0.04,
		"simple f0 l0>l1 f1=l0":             0.1,
		"simple f0 l0>l1 f1=l1":             0.12,
		"simple f0 l0>l1 f1=l2":             0.14,
	}
	effects := p.Effects()
	for _, e := range effects {
		name := strings.TrimSpace(fmt.Sprintf("%s %s %s>%s %s", e.Kind, e.Factor, e.Base, e.Against, e.Where.Key()))
		got, ok := e.In(model, true)
		if w, known := want[name]; !ok || !known || math.Abs(got-w) > 1e-12 {
			t.Errorf("%s = %v, want %v (%v)", name, got, w, known)
		}
	}
	if len(effects) != len(want) || p.Family() != len(want) {
		t.Errorf("%d effects, want %d", len(effects), len(want))
	}
	if _, ok := effects[0].In(func(record.Cell) (float64, bool) { return 0, true }, true); ok {
		t.Error("0 has no logarithm")
	}
	if d, ok := effects[0].In(func(c record.Cell) (float64, bool) { return float64(c[0].Level[1] - '0'), true }, false); !ok || d != 1 {
		t.Errorf("difference %v", d)
	}
}

// Measures of the hosts are one verdict for workloads that run together.
func TestFamilyOfWorkloadsTogether(t *testing.T) {
	src := `title: x
workloads:
  a: {engine: kv, target: "redis://127.0.0.1:1", window: 5s}
  b: {engine: kv, target: "redis://127.0.0.1:2", window: 5s}
factors: {size: {s: {workloads.*.value_size: 1}, l: {workloads.*.value_size: 2}}}
primary: {throughput: {better: higher, margin: 2%}, power: {better: lower, margin: 5%}}
`
	if p := mustParse(t, src); p.Family() != 4 || len(p.Cells()) != 4 || len(p.BaselineCells()) != 2 {
		t.Errorf("one after the other: family %d, %d cells, %d baselines", p.Family(), len(p.Cells()), len(p.BaselineCells()))
	}
	if p := mustParse(t, src+"together: true\n"); p.Family() != 3 || len(p.Cells()) != 2 {
		t.Errorf("together: family %d, %d cells", p.Family(), len(p.Cells()))
	}
	for _, measure := range hostMeasures() {
		src := strings.Replace(src, "power: {better: lower", measure+": {better: lower", 1)
		if p := mustParse(t, src+"together: true\n"); p.Family() != 3 {
			t.Errorf("%s, together: family %d", measure, p.Family())
		}
	}
}
