package analysis

import (
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"testing"

	"bakeoff/plan"
	"bakeoff/record"
)

// The simulation drives the real path, plan.Decide and Judge, with noise as
// labs have it: skewed, drifting from block to block, and with the number of
// blocks set by the data. It is seeded, so that it passes or fails for good.
// BAKEOFF_LONG=1 runs ten times as many.

// noise gives one trial's value about a true one.
type noise func(rng *rand.Rand, truth float64) float64

func lognormal(sigma float64) noise {
	return func(rng *rand.Rand, truth float64) float64 {
		return truth * math.Exp(sigma*rng.NormFloat64()-sigma*sigma/2)
	}
}

// gammaNoise is skewed to the right: a gamma variable of the given whole shape,
// scaled to a coefficient of variation.
func gammaNoise(shape int, cv float64) noise {
	return func(rng *rand.Rand, truth float64) float64 {
		sum := 0.0
		for range shape {
			sum += rng.ExpFloat64()
		}
		standard := (sum - float64(shape)) / math.Sqrt(float64(shape))
		return truth * math.Max(1+cv*standard, 0.01)
	}
}

type scenario struct {
	name     string
	levels   int
	measures int
	repeat   plan.Repeat
	margin   float64
	noise    []noise // by level
	drift    float64 // of the logarithm, a random walk's step from block to block
	wave     float64 // amplitude of a slow wave over the blocks
	// centre is the true logarithm of the ratio of two levels where there is
	// no effect; not zero where two noises have different mean logarithms.
	centre func(level int) float64
}

func scenarios() []scenario {
	none := func(int) float64 { return 0 }
	steady := plan.Repeat{Blocks: 8}
	stein := plan.Repeat{Pilot: 8, Until: 0.01, Max: 2000}
	return []scenario{
		{name: "eight blocks, lognormal, drift", levels: 2, measures: 1, repeat: steady, margin: 0.02,
			noise: []noise{lognormal(0.05), lognormal(0.05)}, drift: 0.1, wave: 0.2, centre: none},
		{name: "eight blocks, one level skewed", levels: 2, measures: 1, repeat: steady, margin: 0.02,
			noise: []noise{gammaNoise(4, 0.03), lognormal(0.015)}, drift: 0.05, centre: nil},
		{name: "Stein, gamma, drift", levels: 2, measures: 1, repeat: stein, margin: 0.02,
			noise: []noise{gammaNoise(2, 0.03), gammaNoise(2, 0.03)}, drift: 0.1, centre: none},
		{name: "Stein, unlike lognormals", levels: 2, measures: 1, repeat: stein, margin: 0.02,
			noise: []noise{lognormal(0.01), lognormal(0.04)}, drift: 0.05, centre: nil},
		{name: "Stein cut short by its maximum", levels: 2, measures: 1, repeat: plan.Repeat{Pilot: 8, Until: 0.005, Max: 12}, margin: 0.02,
			noise: []noise{gammaNoise(2, 0.03), gammaNoise(2, 0.03)}, drift: 0.1, centre: none},
		{name: "family of four, eight blocks, gamma", levels: 3, measures: 2, repeat: steady, margin: 0,
			noise: []noise{gammaNoise(2, 0.05), gammaNoise(2, 0.05), gammaNoise(2, 0.05)}, drift: 0.1, wave: 0.1, centre: none},
		{name: "family of four, Stein, gamma", levels: 3, measures: 2, repeat: plan.Repeat{Pilot: 8, Until: 0.02, Max: 2000}, margin: 0,
			noise: []noise{gammaNoise(2, 0.02), gammaNoise(2, 0.02), gammaNoise(2, 0.02)}, drift: 0.05, wave: 0.05, centre: none},
	}
}

// simulatedPlan compares the levels of one factor on some measures.
func simulatedPlan(s scenario) *plan.Plan {
	p := &plan.Plan{
		Title: "simulation", Workloads: []plan.Workload{{Name: "load"}}, Repeat: s.repeat, Order: plan.OrderBlocks, Seed: 1,
		Compare: []plan.Comparison{{Factors: []string{"system"}}},
		Factors: []plan.Factor{{Name: "system", Baseline: "l0"}},
	}
	for i := range s.levels {
		p.Factors[0].Levels = append(p.Factors[0].Levels, plan.Level{Name: fmt.Sprintf("l%d", i)})
	}
	for m := range s.measures {
		p.Primary = append(p.Primary, plan.Primary{Measure: fmt.Sprintf("m%d", m), Better: record.HigherIsBetter, Margin: s.margin})
	}
	return p
}

// simulator makes blocks of one simulated run.
type simulator struct {
	s    scenario
	p    *plan.Plan
	rng  *rand.Rand
	walk float64
}

// value is what one trial gives for each measure.
func (m *simulator) values(level, block int) []plan.Value {
	var out []plan.Value
	for i := range m.s.measures {
		truth := 1000 * math.Exp(m.walk+m.s.wave*math.Sin(float64(block)/3))
		out = append(out, plan.Value{Workload: "load", Measure: fmt.Sprintf("m%d", i), Value: m.s.noise[level](m.rng, truth)})
	}
	return out
}

// block appends the outcomes of the next block, in the order that plan.Next asks
// for: the first one asks it, the rest repeat its cells.
func (m *simulator) block(outcomes []plan.Outcome, block int) []plan.Outcome {
	m.walk += m.s.drift * m.rng.NormFloat64()
	for range m.p.Cells() {
		next, more, err := plan.Next(m.p, outcomes)
		if err != nil || !more {
			return outcomes
		}
		var level int
		fmt.Sscanf(next.Cell[0].Level, "l%d", &level)
		outcomes = append(outcomes, plan.Outcome{Trial: next, Status: record.StatusComplete, Values: m.values(level, block)})
	}
	return outcomes
}

// run simulates one run to its end and returns its observations.
func (m *simulator) run(t *testing.T) []record.Observation {
	pilot := max(m.s.repeat.Pilot, m.s.repeat.Blocks)
	var outcomes []plan.Outcome
	for b := range pilot {
		outcomes = m.block(outcomes, b+1)
	}
	blocks := pilot
	if m.s.repeat.Pilot > 0 {
		d, ok, err := plan.Decide(m.p, outcomes)
		if err != nil || !ok {
			t.Fatalf("deciding after %d outcomes: %v, %v", len(outcomes), ok, err)
		}
		blocks = d.Blocks
	}
	var obs []record.Observation
	for _, o := range outcomes {
		obs = append(obs, observations(o.Trial.Cell, o.Trial.Block, o.Values)...)
	}
	// The rest without plan.Next, whose order within a block does not matter here.
	for b := pilot + 1; b <= blocks; b++ {
		m.walk += m.s.drift * m.rng.NormFloat64()
		for level, cell := range m.p.Cells() {
			obs = append(obs, observations(cell, b, m.values(level, b))...)
		}
	}
	return obs
}

func observations(cell record.Cell, block int, values []plan.Value) []record.Observation {
	var out []record.Observation
	for _, v := range values {
		out = append(out, record.Observation{Cell: cell, Block: block, Workload: v.Workload, Measure: v.Measure,
			Unit: "ops/s", Value: v.Value, Role: record.RoleMeasure})
	}
	return out
}

// tally counts what a scenario's findings did.
type tally struct {
	runs, findings    int
	covered, together int // intervals that hold the truth; runs in which all do
	falseRuns         int // with a better or worse where there is no effect
	blocks            int
}

func (s scenario) simulate(t *testing.T, runs int) tally {
	p := simulatedPlan(s)
	truth := s.truth()
	var out tally
	for i := range runs {
		m := &simulator{s: s, p: p, rng: rand.New(rand.NewPCG(uint64(i), 20))}
		all, wrong := true, false
		for _, f := range Judge(p, m.run(t), Options{Resamples: -1}) {
			var level int
			fmt.Sscanf(f.Against, "l%d", &level)
			holds := f.Low <= truth[level] && truth[level] <= f.High
			out.findings++
			if holds {
				out.covered++
			}
			all = all && holds
			wrong = wrong || f.Verdict == Better || f.Verdict == Worse
			out.blocks += f.N
		}
		out.runs++
		if all {
			out.together++
		}
		if wrong {
			out.falseRuns++
		}
	}
	return out
}

// truth is the true geometric ratio of each level to the base: 1 where the
// noises are alike, else by a large sample of their logarithms.
func (s scenario) truth() []float64 {
	out := make([]float64, s.levels)
	means := make([]float64, s.levels)
	for level := range out {
		rng := rand.New(rand.NewPCG(99, uint64(level)))
		if s.centre != nil {
			continue
		}
		const draws = 4_000_000
		for range draws {
			means[level] += math.Log(s.noise[level](rng, 1)) / draws
		}
	}
	for level := range out {
		out[level] = math.Exp(means[level] - means[0])
	}
	return out
}

func TestSimulation(t *testing.T) {
	runs := 2000
	if testing.Short() {
		runs = 300
	}
	if os.Getenv("BAKEOFF_LONG") != "" {
		runs = 20000
	}
	for _, s := range scenarios() {
		t.Run(s.name, func(t *testing.T) {
			t.Parallel()
			got := s.simulate(t, runs)
			family := float64(simulatedPlan(s).Family())
			level := 1 - familyAlpha/family
			cover := float64(got.covered) / float64(got.findings)
			together := float64(got.together) / float64(got.runs)
			wrong := float64(got.falseRuns) / float64(got.runs)
			t.Logf("each interval at %.4f covers %.4f, all of a run %.4f; false verdicts in %.4f of the runs; %.1f blocks on average",
				level, cover, together, wrong, float64(got.blocks)/float64(got.findings))
			// Three standard errors of the simulation itself.
			slack := 3 * math.Sqrt(familyAlpha*(1-familyAlpha)/float64(got.runs))
			room := 0.02
			if testing.Short() {
				room += slack // a few runs tell no more
			}
			if family == 1 && math.Abs(cover-0.95) > room {
				t.Errorf("95 %% intervals cover %.4f, want 0.93 to 0.97", cover)
			}
			if together < 0.93 {
				t.Errorf("all intervals of a run hold in %.4f of the runs, want at least 0.93", together)
			}
			if s.centre != nil && wrong > familyAlpha+slack {
				t.Errorf("false verdicts in %.4f of the runs, want at most %.2f (and %.4f for the simulation)", wrong, familyAlpha, slack)
			}
		})
	}
}

// A level that is better by exactly the margin is not equivalent: saying so is as
// false as a difference where there is none.
func TestSimulatedEquivalence(t *testing.T) {
	runs := 2000
	if testing.Short() {
		runs = 300
	}
	by := func(ratio float64, n noise) noise {
		return func(rng *rand.Rand, truth float64) float64 { return n(rng, ratio*truth) }
	}
	const margin = 0.02
	for name, repeat := range map[string]plan.Repeat{"eight blocks": {Blocks: 8}, "Stein": {Pilot: 8, Until: 0.005, Max: 2000}} {
		for _, ratio := range []float64{1 + margin, 1 / (1 + margin), 1} {
			n := gammaNoise(4, 0.006)
			s := scenario{levels: 2, measures: 1, repeat: repeat, margin: margin, noise: []noise{n, by(ratio, n)}, drift: 0.1}
			p := simulatedPlan(s)
			equivalent := 0
			for i := range runs {
				m := &simulator{s: s, p: p, rng: rand.New(rand.NewPCG(uint64(i), 21))}
				if Judge(p, m.run(t), Options{Resamples: -1})[0].Verdict == Equivalent {
					equivalent++
				}
			}
			share := float64(equivalent) / float64(runs)
			t.Logf("%s, true ratio %.4f: equivalent in %.4f of the runs", name, ratio, share)
			if ratio == 1 && share < 0.95 {
				t.Errorf("%s: levels that are alike are equivalent in %.4f of the runs only", name, share)
			}
			if slack := 3 * math.Sqrt(familyAlpha*(1-familyAlpha)/float64(runs)); ratio != 1 && share > familyAlpha+slack {
				t.Errorf("%s: levels that differ by the margin are called equivalent in %.4f of the runs, want at most %.2f", name, share, familyAlpha)
			}
		}
	}
}
