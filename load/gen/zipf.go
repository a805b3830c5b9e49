package gen

import (
	"fmt"
	"math"
	"math/bits"
)

// aliasKeys is up to how many keys a Zipf distribution is drawn from a table of
// 8 bytes a key, which takes a quarter of the time of computing it but misses
// the cache above.
const aliasKeys = 1 << 16

func newZipf(s KeySpec, r *Rand) (Keys, error) {
	if !(s.Theta > 0) || s.Theta > 20 {
		return nil, fmt.Errorf("theta of zipf keys: found %g, expected above 0 and up to 20", s.Theta)
	}
	if s.Count > 1<<52 {
		return nil, fmt.Errorf("number of zipf keys: found %d, expected at most 2^52", s.Count)
	}
	if s.Count > aliasKeys {
		return newInversion(s.Count, s.Theta, r), nil
	}
	weights := make([]float64, s.Count)
	for i := range weights {
		weights[i] = math.Pow(float64(i+1), -s.Theta)
	}
	return &aliasDraw{newAlias(weights), r}, nil
}

// alias draws from any discrete distribution in constant time, of one random
// number (Walker 1977, built as Vose 1991).
type alias []column

// column stands for its own number with a chance of keep / 2^32, else for other.
type column struct{ keep, other uint32 }

func newAlias(weights []float64) alias {
	n, sum := len(weights), 0.0
	for i := n - 1; i >= 0; i-- { // a Zipf distribution's small ones first
		sum += weights[i]
	}
	a, scaled := make(alias, n), make([]float64, n)
	var small, large []uint32
	for i, w := range weights {
		a[i] = column{keep: math.MaxUint32, other: uint32(i)}
		scaled[i] = w / sum * float64(n)
		if scaled[i] < 1 {
			small = append(small, uint32(i))
		} else {
			large = append(large, uint32(i))
		}
	}
	// What one of the lists leaves over is 1 but for rounding.
	for len(small) > 0 && len(large) > 0 {
		s, l := small[len(small)-1], large[len(large)-1]
		small = small[:len(small)-1]
		a[s] = column{keep: uint32(scaled[s] * (1 << 32)), other: l}
		scaled[l] -= 1 - scaled[s]
		if scaled[l] < 1 {
			large = large[:len(large)-1]
			small = append(small, l)
		}
	}
	return a
}

func (a alias) draw(r *Rand) uint64 {
	i, fraction := bits.Mul64(r.Uint64(), uint64(len(a)))
	c := a[i]
	if uint32(fraction>>32) < c.keep {
		return i
	}
	return uint64(c.other)
}

type aliasDraw struct {
	alias
	r *Rand
}

func (a *aliasDraw) Next() uint64 { return a.draw(a.r) }

// inversion draws from a Zipf distribution by rejection-inversion (Hörmann and
// Derflinger 1996): exact for any theta above 0 and any count, without tables.
// x runs from 1; h is x^-theta and its integral is taken so that the terms
// near theta = 1 stay accurate.
type inversion struct {
	r              *Rand
	theta          float64
	count          float64
	first, last    float64 // of the integral, at both ends
	acceptDistance float64
}

func newInversion(count uint64, theta float64, r *Rand) *inversion {
	z := &inversion{r: r, theta: theta, count: float64(count)}
	z.first = z.integral(1.5) - 1
	z.last = z.integral(z.count + 0.5)
	z.acceptDistance = 2 - z.inverse(z.integral(2.5)-z.weight(2))
	return z
}

func (z *inversion) Next() uint64 {
	for {
		u := z.last + z.r.Float()*(z.first-z.last)
		x := z.inverse(u)
		k := min(max(math.Floor(x+0.5), 1), z.count)
		if k-x <= z.acceptDistance || u >= z.integral(k+0.5)-z.weight(k) {
			return uint64(k) - 1
		}
	}
}

func (z *inversion) weight(x float64) float64 { return math.Exp(-z.theta * math.Log(x)) }

// integral returns (x^(1-theta) - 1) / (1-theta), and log x at theta = 1.
func (z *inversion) integral(x float64) float64 {
	l := math.Log(x)
	return expm1Over((1-z.theta)*l) * l
}

// inverse is the inverse of integral.
func (z *inversion) inverse(y float64) float64 {
	t := max(y*(1-z.theta), -1)
	return math.Exp(log1pOver(t) * y)
}

// expm1Over returns (e^x - 1) / x.
func expm1Over(x float64) float64 {
	if math.Abs(x) > 1e-8 {
		return math.Expm1(x) / x
	}
	return 1 + x/2*(1+x/3)
}

// log1pOver returns log(1+x) / x.
func log1pOver(x float64) float64 {
	if math.Abs(x) > 1e-8 {
		return math.Log1p(x) / x
	}
	return 1 - x*(0.5-x/3)
}
