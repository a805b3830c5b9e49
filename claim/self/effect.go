package self

import (
	"math"
	"slices"
	"strings"

	"bakeoff/plan"
	"bakeoff/record"
)

// familyError is the chance of any false verdict that all verdicts share.
const familyError = 0.05

// An effectView is one comparison that the plan asks for, as sets of cells: the
// effect is the mean over new less the mean over old, of logarithms where all
// values have one; of an interaction, with that of two other corners taken off.
type effectView struct {
	plan.Effect
	old, new         []string // cells, by key
	oldBase, newBase []string // of an interaction: the base's side
}

// viewEffect finds the cells of an effect from its levels.
func viewEffect(p *plan.Plan, e plan.Effect) effectView {
	v := effectView{Effect: e}
	if e.Kind != plan.Interaction {
		v.old = cellsWith(p, e.Where, record.Level{Factor: e.Factor, Level: e.Base})
		v.new = cellsWith(p, e.Where, record.Level{Factor: e.Factor, Level: e.Against})
		return v
	}
	nameA, nameB, _ := strings.Cut(e.Factor, " x ")
	a, b := p.Factor(nameA), p.Factor(nameB)
	if a == nil || b == nil {
		return v
	}
	for _, la := range a.Levels {
		for _, lb := range b.Levels {
			if la.Name+", "+lb.Name != e.Against {
				continue
			}
			corner := func(levelA, levelB string) []string {
				return cellsWith(p, e.Where, record.Level{Factor: nameA, Level: levelA}, record.Level{Factor: nameB, Level: levelB})
			}
			v.old, v.new = corner(a.Baseline, lb.Name), corner(la.Name, lb.Name)
			v.oldBase, v.newBase = corner(a.Baseline, b.Baseline), corner(la.Name, b.Baseline)
		}
	}
	return v
}

// cellsWith lists the cells that have all the levels.
func cellsWith(p *plan.Plan, where record.Cell, levels ...record.Level) (keys []string) {
	for _, c := range p.Cells() {
		fits := true
		for _, want := range append(slices.Clone(where), levels...) {
			level, ok := c.Level(want.Factor)
			fits = fits && ok && level == want.Level
		}
		if fits {
			keys = append(keys, c.Key())
		}
	}
	return keys
}

func (e effectView) cells() []string {
	return slices.Concat(e.oldBase, e.newBase, e.old, e.new)
}

// A contrastView is an effect as it was observed, block by block.
type contrastView struct {
	log           bool
	blocks        []int
	values        []float64
	base, against []float64 // the two sides
	// least and most are what the printed digits leave open of the values.
	least, most []float64
	// the same by the values' own digits, where none were printed
	bareLeast, bareMost []float64
	trials              []record.TrialID
}

// contrast works an effect out in every block that has all its cells.
func (g *grid) contrast(key measureKey, e effectView) contrastView {
	c := contrastView{log: true}
	cells := e.cells()
	for _, byCell := range g.values[key] {
		for _, cell := range cells {
			if v, ok := byCell[cell]; ok && v.value <= 0 {
				c.log = false
			}
		}
	}
	for _, block := range g.blocks(key) {
		byCell := g.values[key][block]
		if len(cells) == 0 || slices.ContainsFunc(cells, func(cell string) bool { _, ok := byCell[cell]; return !ok }) {
			continue
		}
		base, against := c.meanOver(byCell, e.old), c.meanOver(byCell, e.new)
		if e.Kind == plan.Interaction {
			base, against = c.meanOver(byCell, e.newBase)-c.meanOver(byCell, e.oldBase), against-base
		}
		c.blocks, c.values = append(c.blocks, block), append(c.values, against-base)
		c.base, c.against = append(c.base, base), append(c.against, against)
		least, most := c.openOver(byCell, e, func(v gridValue) float64 { return v.open })
		c.least, c.most = append(c.least, least), append(c.most, most)
		least, most = c.openOver(byCell, e, gridValue.bareOpen)
		c.bareLeast, c.bareMost = append(c.bareLeast, least), append(c.bareMost, most)
		for _, cell := range cells {
			if id := byCell[cell].trial; !slices.Contains(c.trials, id) {
				c.trials = append(c.trials, id)
			}
		}
	}
	slices.Sort(c.trials)
	return c
}

// meanOver averages over the cells of one side inside a block.
func (c contrastView) meanOver(byCell map[string]gridValue, cells []string) float64 {
	values := make([]float64, len(cells))
	for i, cell := range cells {
		values[i] = byCell[cell].value
		if c.log {
			values[i] = math.Log(values[i])
		}
	}
	return meanOf(values)
}

// openOver is how small and how large an effect may be in a block, when each
// value is anywhere within half a unit of its last printed digit.
func (c contrastView) openOver(byCell map[string]gridValue, e effectView, open func(gridValue) float64) (least, most float64) {
	for _, side := range []struct {
		cells []string
		sign  float64
	}{{e.new, 1}, {e.old, -1}, {e.newBase, -1}, {e.oldBase, 1}} {
		if len(side.cells) == 0 {
			continue
		}
		lows, highs := map[string]gridValue{}, map[string]gridValue{}
		for _, cell := range side.cells {
			v := byCell[cell]
			lows[cell], highs[cell] = gridValue{value: v.value - open(v)}, gridValue{value: v.value + open(v)}
			if c.log {
				lows[cell] = gridValue{value: max(v.value-open(v), 0)}
			}
		}
		low, high := c.meanOver(lows, side.cells), c.meanOver(highs, side.cells)
		if side.sign < 0 {
			low, high = -high, -low
		}
		least, most = least+low, most+high
	}
	return least, most
}

// whole maps a value to the scale of a finding: a ratio, of at most e^690, or a
// difference.
func (c contrastView) whole(v float64) float64 {
	if c.log {
		return math.Exp(min(v, 690))
	}
	return v
}

// slack is what digits that cancel may cost a difference of large values.
func (c contrastView) slack() float64 {
	most := 0.0
	for i := range c.base {
		most = max(most, math.Abs(c.base[i]), math.Abs(c.against[i]))
	}
	if c.log {
		return 0 // logarithms are small numbers: nothing is lost
	}
	return 1e-14 * most
}

// basis is the deviation that an interval rests on.
type basis struct {
	sd    float64
	df    int
	pilot int // blocks of the pilot where it has set their number; 0 for all
	// beyond is the pilot's blocks where it was set aside for a spread of all
	// blocks that is far above its own.
	beyond int
}

// luckyPilot is how much more than the pilot all blocks may spread before the
// pilot counts as lucky.
const luckyPilot = 1.5

// basisOf is that of all blocks, or of the pilot of Stein's two stages, unless
// all blocks spread luckyPilot times as much and make the wider interval.
func (c contrastView) basisOf(pilotBlocks int, alpha float64) basis {
	var pilot []float64
	for i, b := range c.blocks {
		if b <= pilotBlocks {
			pilot = append(pilot, c.values[i])
		}
	}
	all := basis{sd: deviationOf(c.values), df: len(c.values) - 1}
	if len(pilot) < 2 {
		return all
	}
	first := basis{sd: deviationOf(pilot), df: len(pilot) - 1, pilot: len(pilot)}
	if all.sd > luckyPilot*first.sd && all.half(1, alpha) > first.half(1, alpha) {
		all.beyond = len(pilot)
		return all
	}
	return first
}

// half is the half-width of the interval over n blocks.
func (b basis) half(n int, alpha float64) float64 {
	return criticalT(alpha, b.df) * b.sd / math.Sqrt(float64(n))
}

// An ending is how far the ends of an interval may be off for what is known of
// the quantiles of t: of a ratio, as a share of the end.
type ending struct {
	off float64
	log bool
}

func endingOf(half, alpha float64, log bool) ending {
	return ending{(1e-14 + 3e-16/alpha) * half, log}
}

// at is how far an end may be off.
func (e ending) at(end float64) float64 {
	if e.log {
		return e.off * math.Abs(end)
	}
	return e.off
}

// An expected finding is one that the report must have, worked out again.
type expected struct {
	effect    effectView
	key       measureKey
	contrast  contrastView
	primary   bool
	known     bool // the measure was observed
	better    record.Direction
	unit      string
	margin    float64
	family    int
	level     float64
	basis     basis
	base      float64
	against   float64
	value     float64
	low, high float64
	ending    ending
	// coarse is true where the digits leave more open than repetition does.
	coarse   bool
	improved *float64 // percent
}

func (x *expected) n() int { return len(x.contrast.values) }

// workFindings works out the findings of the primary measures, in the report's
// order.
func (a *auditor) workFindings() (out []*expected) {
	for _, m := range a.plan.Primary {
		anywhere := slices.ContainsFunc(a.keys, func(k measureKey) bool { return k.measure == m.Measure })
		for _, e := range a.plan.Effects() {
			key, found := a.samples.find(e.Workload, m.Measure)
			if !a.concerns(key, e) || !found && anywhere {
				continue
			}
			x := &expected{effect: viewEffect(a.plan, e), key: key, primary: true, known: found, margin: m.Margin, better: m.Better,
				family: max(a.plan.Family(), 1)}
			a.work(x)
			out = append(out, x)
		}
	}
	return out
}

// concerns says whether an effect is judged on a measure: on one of the hosts,
// once for workloads that run together.
func (a *auditor) concerns(key measureKey, e plan.Effect) bool {
	if key.workload != "" {
		return key.workload == e.Workload
	}
	return !a.plan.Together || e.Workload == a.plan.Workloads[0].Name
}

// work works a finding out.
func (a *auditor) work(x *expected) {
	kind := a.kinds[x.key]
	x.unit = kind.Unit
	if x.better == record.NoDirection {
		x.better = kind.Better
	}
	x.contrast = a.samples.contrast(x.key, x.effect)
	alpha := familyError
	if x.primary {
		alpha /= float64(x.family)
	} else {
		x.family = 1
	}
	x.level = 1 - alpha
	if x.n() == 0 {
		x.improved = nil
		return
	}
	c := x.contrast
	x.basis = c.basisOf(a.plan.Repeat.Pilot, alpha)
	mean := meanOf(c.values)
	x.value, x.low, x.high = c.whole(mean), c.whole(mean), c.whole(mean)
	if x.n() > 1 {
		half := x.basis.half(x.n(), alpha)
		x.low, x.high = c.whole(mean-half), c.whole(mean+half)
		x.ending = endingOf(half, alpha, c.log)
	}
	leastOf, mostOf := c.least, c.most
	scale := max(math.Abs(x.value), 1)
	if !c.log {
		scale = max(math.Abs(c.whole(meanOf(c.base))), math.Abs(c.whole(meanOf(c.against))))
	}
	if x.n() > 1 && x.high-x.low <= 1e-9*scale && math.Abs(x.value-c.whole(0)) > 1e-9*scale {
		leastOf, mostOf = c.bareLeast, c.bareMost
	}
	least, most := c.whole(plainMean(leastOf)), c.whole(plainMean(mostOf))
	if x.n() == 1 {
		x.low, x.high = least, most
	} else if least < most && (least < x.low || most > x.high) {
		x.low, x.high, x.coarse = min(least, x.low), max(most, x.high), true
	}
	x.base, x.against = c.whole(meanOf(c.base)), c.whole(meanOf(c.against))
	x.improved = x.improvement()
}
