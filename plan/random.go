package plan

import "math/bits"

// A stream is SplitMix64 (Steele, Lea and Flood, OOPSLA 2014): small enough to
// be repeated by anybody in any language, which the order of a bake-off has to be.
type stream struct{ state uint64 }

func (s *stream) next() uint64 {
	s.state += 0x9e3779b97f4a7c15
	z := s.state
	z = (z ^ z>>30) * 0xbf58476d1ce4e5b9
	z = (z ^ z>>27) * 0x94d049bb133111eb
	return z ^ z>>31
}

// newStream returns the stream of a seed and further numbers, such as block
// and attempt: each number is mixed (xor) into the output so far, which then
// is the next state.
func newStream(seed uint64, numbers ...uint64) *stream {
	s := &stream{seed}
	for _, n := range numbers {
		s.state = s.next() ^ n
	}
	return s
}

// below returns a uniform number in [0, n): the high word of a 64-bit output
// times n, where outputs that would favour some numbers are drawn again
// (Lemire, ACM TOMACS 29, 2019).
func (s *stream) below(n uint64) uint64 {
	high, low := bits.Mul64(s.next(), n)
	for low < -n%n {
		high, low = bits.Mul64(s.next(), n)
	}
	return high
}

// shuffle permutes n things, from the last to the first (Fisher-Yates, Knuth's
// algorithm P).
func (s *stream) shuffle(n int, swap func(i, j int)) {
	for i := n - 1; i > 0; i-- {
		swap(i, int(s.below(uint64(i+1))))
	}
}
