package gen

import "fmt"

// Sizes draws the sizes of values, in bytes.
type Sizes struct {
	low, span uint64 // without choices: uniform in [low, low+span)
	choices   []int
	alias     alias
	max       int
	mean      float64
}

// maxSize keeps a value within what its length prefix and memory can hold.
const maxSize = 1 << 30

// FixedSize returns sizes that are all n bytes.
func FixedSize(n int) (*Sizes, error) { return RangeSizes(n, n) }

// RangeSizes returns sizes uniform from low to high bytes, both included.
func RangeSizes(low, high int) (*Sizes, error) {
	if low < 0 || high > maxSize || low > high {
		return nil, fmt.Errorf("sizes: found %d to %d bytes, expected 0 to %d, the lower first", low, high, maxSize)
	}
	return &Sizes{low: uint64(low), span: uint64(high-low) + 1, max: high, mean: float64(low+high) / 2}, nil
}

// A WeightedSize is one choice of WeightedSizes.
type WeightedSize struct {
	Size   int
	Weight float64 // relative to the others
}

// WeightedSizes returns sizes drawn from a list by weight.
func WeightedSizes(list []WeightedSize) (*Sizes, error) {
	if len(list) == 0 {
		return nil, fmt.Errorf("sizes: found an empty list, expected at least one size")
	}
	s := &Sizes{}
	weights, sum := make([]float64, len(list)), 0.0
	for i, c := range list {
		if c.Size < 0 || c.Size > maxSize {
			return nil, fmt.Errorf("sizes: found %d bytes, expected 0 to %d", c.Size, maxSize)
		}
		if !(c.Weight > 0) || c.Weight > 1e12 {
			return nil, fmt.Errorf("sizes: found weight %g for %d bytes, expected above 0", c.Weight, c.Size)
		}
		s.choices = append(s.choices, c.Size)
		s.max = max(s.max, c.Size)
		weights[i] = c.Weight
		sum += c.Weight
	}
	for i, c := range list {
		s.mean += float64(c.Size) * weights[i] / sum
	}
	s.alias = newAlias(weights)
	return s, nil
}

// Next draws a size.
func (s *Sizes) Next(r *Rand) int {
	if s.choices != nil {
		return s.choices[s.alias.draw(r)]
	}
	return int(s.low + r.Below(s.span))
}

// Of returns the size that belongs to a key under a seed, always the same:
// a data set filled twice is the same data set.
func (s *Sizes) Of(seed, key uint64) int {
	if s.choices == nil && s.span == 1 {
		return int(s.low)
	}
	r := Rand{state: Mix(seed ^ Mix(key))}
	return s.Next(&r)
}

// Max returns the largest size.
func (s *Sizes) Max() int { return s.max }

// Mean returns the expected size.
func (s *Sizes) Mean() float64 { return s.mean }
