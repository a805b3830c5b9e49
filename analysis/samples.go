package analysis

import (
	"cmp"
	"math"
	"slices"
	"strconv"
	"strings"

	"bakeoff/plan"
	"bakeoff/record"
)

// samples are the observations that count, by measure, workload, block and cell.
type samples struct {
	values map[sampleKey]map[int]map[string]record.Observation
	kinds  map[sampleKey]measureKind
	order  []sampleKey
}

// sampleKey names one measure of one workload; workload "" is of the hosts.
type sampleKey struct{ workload, measure string }

// newSamples orders observations for judging. Of two in one place the first
// stays: a trial gives each measure once.
func newSamples(obs []record.Observation) *samples {
	s := &samples{values: map[sampleKey]map[int]map[string]record.Observation{}, kinds: map[sampleKey]measureKind{}}
	for _, o := range obs {
		if math.IsNaN(o.Value) || math.IsInf(o.Value, 0) {
			continue
		}
		key := sampleKey{o.Workload, o.Measure}
		if s.values[key] == nil {
			s.values[key] = map[int]map[string]record.Observation{}
			s.kinds[key] = describeObservation(o)
			s.order = append(s.order, key)
		}
		if s.values[key][o.Block] == nil {
			s.values[key][o.Block] = map[string]record.Observation{}
		}
		if _, taken := s.values[key][o.Block][o.Cell.Key()]; !taken {
			s.values[key][o.Block][o.Cell.Key()] = o
		}
	}
	slices.SortStableFunc(s.order, func(a, b sampleKey) int {
		return cmp.Or(cmp.Compare(hostsLast(a), hostsLast(b)), cmp.Compare(a.workload, b.workload), cmp.Compare(measureRank(a.measure), measureRank(b.measure)),
			cmp.Compare(a.measure, b.measure))
	})
	return s
}

func hostsLast(key sampleKey) int {
	if key.workload == "" {
		return 1
	}
	return 0
}

// describeObservation is the measure table's line, or what the observation says.
func describeObservation(o record.Observation) measureKind {
	m := describe(o.Measure, o.Unit)
	m.unit = o.Unit
	if o.Better != record.NoDirection {
		m.better = o.Better
	}
	return m
}

// blocks lists the blocks in which a measure was observed, in order.
func (s *samples) blocks(key sampleKey) []int {
	var out []int
	for b := range s.values[key] {
		out = append(out, b)
	}
	slices.Sort(out)
	return out
}

// at returns the observation of one cell in one block.
func (s *samples) at(key sampleKey, block int, cell record.Cell) (record.Observation, bool) {
	o, ok := s.values[key][block][cell.Key()]
	return o, ok
}

// find returns the key under which a measure of a workload stands: its own, or
// that of the hosts.
func (s *samples) find(workload, measure string) (sampleKey, bool) {
	for _, key := range []sampleKey{{workload, measure}, {"", measure}} {
		if len(s.values[key]) > 0 {
			return key, true
		}
	}
	return sampleKey{workload, measure}, false
}

// contrast is one effect as it was observed, block by block.
type contrast struct {
	effect  plan.Effect
	blocks  []int
	values  []float64 // of the effect: logarithms of ratios, or differences
	base    []float64 // of the base side, on the same scale
	against []float64
	log     bool
	// low and high are what the printed digits leave open, on the same scale.
	low, high []float64
	// bareLow and bareHigh are the same, with the digits of the values
	// themselves where none were printed.
	bareLow, bareHigh []float64
	trials            []record.TrialID
}

// contrast computes an effect in every block that has all its cells. The scale
// is that of ratios unless a value is not above zero.
func (s *samples) contrast(key sampleKey, e plan.Effect) contrast {
	c := contrast{effect: e, log: s.positive(key, e)}
	for _, block := range s.blocks(key) {
		value := func(cell record.Cell) (float64, bool) {
			o, ok := s.at(key, block, cell)
			return o.Value, ok
		}
		v, ok := e.In(value, c.log)
		if !ok {
			continue
		}
		base, against := sides(e, value, c.log)
		c.blocks, c.values = append(c.blocks, block), append(c.values, v)
		c.base, c.against = append(c.base, base), append(c.against, against)
		low, high := s.printedEnds(key, block, c, printedHalfWidth)
		c.low, c.high = append(c.low, low), append(c.high, high)
		low, high = s.printedEnds(key, block, c, bareHalfWidth)
		c.bareLow, c.bareHigh = append(c.bareLow, low), append(c.bareHigh, high)
		for _, t := range e.Terms {
			if o, _ := s.at(key, block, t.Cell); o.Trial != "" && !slices.Contains(c.trials, o.Trial) {
				c.trials = append(c.trials, o.Trial)
			}
		}
	}
	slices.Sort(c.trials)
	return c
}

// positive says whether every value of the effect's cells is above zero.
func (s *samples) positive(key sampleKey, e plan.Effect) bool {
	for _, block := range s.blocks(key) {
		for _, t := range e.Terms {
			if o, ok := s.at(key, block, t.Cell); ok && o.Value <= 0 {
				return false
			}
		}
	}
	return true
}

// sides splits an effect into what is compared: against - base is the effect.
// The first half of a plan's terms is the base side, of an interaction too.
func sides(e plan.Effect, value func(record.Cell) (float64, bool), log bool) (base, against float64) {
	half := len(e.Terms) / 2
	left, _ := plan.Effect{Terms: e.Terms[:half]}.In(value, log)
	right, _ := plan.Effect{Terms: e.Terms[half:]}.In(value, log)
	return 0 - left, right
}

// printedEnds is how small and how large the effect can be when every value is
// anywhere within half a unit of its last printed digit: interval arithmetic,
// since the values are independent.
func (s *samples) printedEnds(key sampleKey, block int, c contrast, halfOf func(record.Observation) (float64, bool)) (low, high float64) {
	for _, t := range c.effect.Terms {
		o, _ := s.at(key, block, t.Cell)
		half, _ := halfOf(o)
		least, most := o.Value-half, o.Value+half
		if c.log {
			least, most = math.Log(max(least, 0)), math.Log(most)
		}
		if t.Weight < 0 {
			least, most = most, least
		}
		low, high = low+t.Weight*least, high+t.Weight*most
	}
	return low, high
}

// bareHalfWidth is half a unit of the last printed digit or, where nothing was
// printed, of the last decimal of the value; of a whole number, half of one.
func bareHalfWidth(o record.Observation) (float64, bool) {
	if half, ok := printedHalfWidth(o); ok {
		return half, true
	}
	_, fraction, _ := strings.Cut(strconv.FormatFloat(o.Value, 'f', -1, 64), ".")
	return 0.5 * math.Pow(10, -float64(len(fraction))), true
}

// largestLog is the logarithm of the largest ratio that is written: some 1e299. An
// interval from two noisy blocks may reach beyond all numbers.
const largestLog = 690

// whole maps a value from the scale of the contrast to that of a finding.
func (c contrast) whole(v float64) float64 {
	if c.log {
		return math.Exp(min(v, largestLog))
	}
	return v
}
