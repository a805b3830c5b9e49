package population

// The random sequences are those of the minimal standard generator of Park and
// Miller: x -> 16807 x mod 2^31-1.
const (
	multiplier = 16807
	modulus    = 1<<31 - 1
)

func times(a, b uint64) uint64 {
	x := a * b
	x = x&modulus + x>>31
	if x >= modulus {
		x -= modulus
	}
	return x
}

// jump is multiplier^n mod modulus: what n draws multiply the state with.
func jump(n int64) uint64 {
	result, square := uint64(1), uint64(multiplier)
	for ; n > 0; n >>= 1 {
		if n&1 == 1 {
			result = times(result, square)
		}
		square = times(square, square)
	}
	return result
}

// seed is a column's sequence: its state before the first row, and how many
// draws each unit takes of it.
type seed struct {
	state uint64
	draws int64
}

// sequence is a column's sequence at some unit.
type sequence struct {
	state uint64 // within the unit
	next  uint64 // before the next unit
	step  uint64
}

// newSequence stands before a unit; the first is 1.
func newSequence(s seed, unit int64) sequence {
	return sequence{next: times(s.state, jump((unit-1)*s.draws)), step: jump(s.draws)}
}

// begin goes to the next unit.
func (q *sequence) begin() {
	q.state = q.next
	q.next = times(q.next, q.step)
}

// draw returns a number from low to high, both included.
func (q *sequence) draw(low, high int64) int64 {
	q.state = times(q.state, multiplier)
	return low + int64(float64(q.state)/modulus*float64(high-low+1))
}

// bits returns a number of which the lowest 30 bits are random. The
// specification's generator draws from 0 to 2^31-1 here and lets the size of
// that range overflow to -2^31; its strings show it.
func (q *sequence) bits() int64 {
	q.state = times(q.state, multiplier)
	return int64(float64(q.state) / modulus * -(1 << 31))
}

// Numbers is a sequence as the specification's generators draw from it, for
// the parameters of queries.
type Numbers struct{ seq sequence }

// NewNumbers begins a sequence. Different seeds may lead to the same draws; 0
// gives no random numbers.
func NewNumbers(seed uint64) *Numbers { return &Numbers{sequence{state: seed % modulus}} }

// Between draws a number from low to high, both included.
func (n *Numbers) Between(low, high int64) int64 { return n.seq.draw(low, high) }

// Raw is the sequence's state: the seed that would go on from here.
func (n *Numbers) Raw() uint64 { return n.seq.state }
