package unit

import (
	"fmt"
	"math/big"
)

// An Interval holds every value from Low to High, both included, exactly. It is
// immutable.
type Interval struct {
	low, high *big.Rat
}

// NewInterval returns the interval between two values, in either order.
func NewInterval(a, b *big.Rat) Interval {
	if a.Cmp(b) > 0 {
		a, b = b, a
	}
	return Interval{new(big.Rat).Set(a), new(big.Rat).Set(b)}
}

// Exactly returns the interval that holds one value.
func Exactly(v *big.Rat) Interval { return NewInterval(v, v) }

// Around returns the interval from v - half to v + half.
func Around(v, half *big.Rat) Interval {
	return NewInterval(new(big.Rat).Sub(v, half), new(big.Rat).Add(v, half))
}

// Low returns the least value.
func (i Interval) Low() *big.Rat { return new(big.Rat).Set(i.low) }

// High returns the greatest value.
func (i Interval) High() *big.Rat { return new(big.Rat).Set(i.high) }

// Width returns High - Low.
func (i Interval) Width() *big.Rat { return new(big.Rat).Sub(i.high, i.low) }

// Holds reports whether v lies in the interval.
func (i Interval) Holds(v *big.Rat) bool { return i.low.Cmp(v) <= 0 && v.Cmp(i.high) <= 0 }

// Meets reports whether the two intervals have a value in common.
func (i Interval) Meets(o Interval) bool { return i.low.Cmp(o.high) <= 0 && o.low.Cmp(i.high) <= 0 }

// Join returns the least interval that holds both.
func (i Interval) Join(o Interval) Interval {
	low, high := i.low, i.high
	if o.low.Cmp(low) < 0 {
		low = o.low
	}
	if o.high.Cmp(high) > 0 {
		high = o.high
	}
	return Interval{low, high}
}

// Add returns every sum of a value of each.
func (i Interval) Add(o Interval) Interval {
	return Interval{new(big.Rat).Add(i.low, o.low), new(big.Rat).Add(i.high, o.high)}
}

// Neg returns the negative of every value.
func (i Interval) Neg() Interval {
	return Interval{new(big.Rat).Neg(i.high), new(big.Rat).Neg(i.low)}
}

// Sub returns every difference of a value of each.
func (i Interval) Sub(o Interval) Interval { return i.Add(o.Neg()) }

// Mul returns every product of a value of each.
func (i Interval) Mul(o Interval) Interval {
	products := []*big.Rat{
		new(big.Rat).Mul(i.low, o.low), new(big.Rat).Mul(i.low, o.high),
		new(big.Rat).Mul(i.high, o.low), new(big.Rat).Mul(i.high, o.high),
	}
	r := Interval{products[0], products[0]}
	for _, p := range products[1:] {
		r = r.Join(Interval{p, p})
	}
	return r
}

// Div returns every quotient of a value of each; o must not hold zero.
func (i Interval) Div(o Interval) (Interval, error) {
	if o.Holds(new(big.Rat)) {
		return Interval{}, fmt.Errorf("division by %s, which may be zero", o)
	}
	return i.Mul(Interval{new(big.Rat).Inv(o.high), new(big.Rat).Inv(o.low)}), nil
}

// String writes both ends with six decimals at most.
func (i Interval) String() string {
	if i.low.Cmp(i.high) == 0 {
		return trimmed(i.low)
	}
	return trimmed(i.low) + " to " + trimmed(i.high)
}

func trimmed(r *big.Rat) string {
	f, _ := r.Float64()
	return fmt.Sprintf("%.6g", f)
}
