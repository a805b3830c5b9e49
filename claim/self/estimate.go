package self

import (
	"maps"
	"math"
	"math/big"
	"slices"
	"strconv"

	"bakeoff/unit"
)

// An estimate is a value and every value that it may be, exactly.
type estimate struct {
	point *big.Rat
	in    unit.Interval
	// off and endsOff are how far point and ends may be off, for the last digit of
	// measured values: money is printed to the cent.
	off, endsOff float64
	// trials is how many values it rests on; 0 for what was worked out.
	trials int
	blocks map[int]float64
}

func exactly(v *big.Rat) *estimate { return &estimate{point: v, in: unit.Exactly(v)} }

func (e *estimate) times(by *big.Rat) *estimate {
	size := math.Abs(floatOf(by))
	return &estimate{point: new(big.Rat).Mul(e.point, by), in: e.in.Mul(unit.Exactly(by)), off: e.off * size, endsOff: e.endsOff * size, trials: e.trials}
}

func (e *estimate) plus(o *estimate) *estimate {
	return &estimate{point: new(big.Rat).Add(e.point, o.point), in: e.in.Add(o.in), off: e.off + o.off, endsOff: e.endsOff + o.endsOff}
}

// less is the difference of two that are off independently.
func (e *estimate) less(o *estimate) *estimate {
	minus := o.times(big.NewRat(-1, 1))
	return e.plus(minus)
}

// by is the product of two that are off independently.
func (e *estimate) by(o *estimate) *estimate {
	out := &estimate{point: new(big.Rat).Mul(e.point, o.point), in: e.in.Mul(o.in), trials: e.trials}
	return out.offAs(e, o)
}

// over is the quotient of two that are off independently; nil where the divisor
// may be zero.
func (e *estimate) over(o *estimate) *estimate {
	in, err := e.in.Div(o.in)
	if err != nil {
		return nil
	}
	out := &estimate{point: new(big.Rat).Quo(e.point, o.point), in: in, trials: e.trials}
	return out.offAs(e, o)
}

// offAs takes over by what share two others are off together.
func (e *estimate) offAs(a, b *estimate) *estimate {
	share := func(off float64, of ...*big.Rat) float64 {
		least := math.Inf(1)
		for _, v := range of {
			least = min(least, math.Abs(floatOf(v)))
		}
		if off == 0 || least == 0 {
			return 0
		}
		return off / least
	}
	e.off = math.Abs(floatOf(e.point)) * (share(a.off, a.point) + share(b.off, b.point))
	largest := max(math.Abs(floatOf(e.in.Low())), math.Abs(floatOf(e.in.High())))
	e.endsOff = largest * (share(a.endsOff, a.in.High()) + share(b.endsOff, b.in.Low(), b.in.High()))
	return e
}

// widened adds a share of the value that may be wrong either way.
func (e *estimate) widened(share *big.Rat) *estimate {
	one := big.NewRat(1, 1)
	factor := unit.NewInterval(new(big.Rat).Sub(one, share), new(big.Rat).Add(one, share))
	out := *e
	out.in, out.endsOff = e.in.Mul(factor).Join(e.in), 2*e.endsOff
	return &out
}

func floatOf(r *big.Rat) float64 {
	f, _ := r.Float64()
	return f
}

// measuredDigits is how many digits a measured value keeps where money is worked
// out from it: from there on all is exact.
const measuredDigits = 12

// ratOf is a measured value as a decimal number of measuredDigits.
func ratOf(f float64) *big.Rat {
	r, ok := new(big.Rat).SetString(strconv.FormatFloat(f, 'e', measuredDigits-1, 64))
	if !ok {
		return new(big.Rat)
	}
	return r
}

// rounds is how far a value may be off as ratOf writes it: a unit of the last
// digit where it lies so near to the middle of two that floating point decides.
func rounds(f, slack float64) float64 {
	if ratOf(f-slack).Cmp(ratOf(f+slack)) == 0 {
		return 0
	}
	return 2 * halfUnit(f, measuredDigits)
}

// truths are the point and the ends of an estimate, as they are printed.
func (e *estimate) truths(base string) (point, low, high truth) {
	return truth{value: floatOf(e.point), unit: base, slack: e.off}, truth{value: floatOf(e.in.Low()), unit: base, slack: e.endsOff},
		truth{value: floatOf(e.in.High()), unit: base, slack: e.endsOff}
}

// says is the piece of an estimate's point.
func (e *estimate) says(what string) piece {
	point, _, _ := e.truths("")
	return saysNumber(what, point)
}

// saysInterval is the pieces of its interval.
func (e *estimate) saysInterval(what string) []piece {
	_, low, high := e.truths("")
	return []piece{saysNumber("the low end of "+what, low), saysNumber("the high end of "+what, high)}
}

// estimateOf is what values by block amount to, at a confidence; nil of none.
func estimateOf(byBlock map[int]float64, confidence float64) *estimate {
	var values []float64
	for _, b := range slices.Sorted(maps.Keys(byBlock)) {
		values = append(values, byBlock[b])
	}
	if len(values) == 0 {
		return nil
	}
	if len(values) == 1 {
		out := exactly(ratOf(values[0]))
		out.trials, out.blocks = 1, byBlock
		return out
	}
	scaled, back := values, func(v float64) float64 { return v }
	if logs, ok := logsOf(values); ok {
		scaled, back = logs, math.Exp
	}
	mean, half := meanOf(scaled), basis{sd: deviationOf(scaled), df: len(scaled) - 1}.half(len(scaled), 1-confidence)
	ends := []float64{back(mean), back(mean - half), back(mean + half)}
	if slices.ContainsFunc(ends, func(v float64) bool { return math.IsNaN(v) || math.IsInf(v, 0) }) {
		return nil
	}
	out := &estimate{point: ratOf(ends[0]), in: unit.NewInterval(ratOf(ends[1]), ratOf(ends[2])), trials: len(values), blocks: byBlock}
	end := endingOf(half, 1-confidence, true)
	slack := func(v float64) float64 { return floatShare*math.Abs(v) + end.at(v) }
	out.off = rounds(ends[0], floatShare*math.Abs(ends[0]))
	out.endsOff = max(rounds(ends[1], slack(ends[1])), rounds(ends[2], slack(ends[2])))
	return out
}
