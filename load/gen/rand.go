// Package gen makes what a load sends: random numbers, keys, sizes and values,
// each fast enough for the measured path, reproducible from a seed, and never
// the same sequence in two workers.
package gen

import (
	"math/bits"
	"math/rand/v2"
)

// Rand is a counter-based generator: the state steps by a constant through all
// 2^64 values and wyhash's multiply-and-fold makes each into a number (wyrand,
// Wang Yi 2019). It passes the usual test batteries, takes about two nanoseconds
// and is not for secrets. It is not safe for concurrent use.
type Rand struct{ state uint64 }

const (
	step   = 0xa0761d6478bd642f
	secret = 0xe7037ed1a0b428db
)

// A Stream identifies one sequence of random numbers among those of a seed.
type Stream struct {
	Instance uint8   // of the part of the workload
	Worker   uint16  // of the instance
	Purpose  Purpose // in the worker
}

// Purpose keeps apart the sequences that one worker draws.
type Purpose uint8

// What random numbers are for, at most 16 purposes. Engines may add their own
// from PurposeEngine on.
const (
	PurposeArrivals Purpose = iota
	PurposeKeys
	PurposeSizes
	PurposeData
	PurposeMix // which kind of operation comes next
	PurposeLatency
	PurposeEngine
)

// streamLength is how many numbers a stream has before it reaches the next one:
// nearly 2^36, some hours at five million a second. It is odd, since streams
// whose states share their low bits would be correlated.
const streamLength = 1<<36 - 0x3d4d51cb

// NewRand returns the generator of one stream of a seed. Two streams of one
// seed are disjoint stretches of one cycle: they never share a sequence.
func NewRand(seed uint64, s Stream) *Rand {
	number := uint64(s.Instance)<<20 | uint64(s.Worker)<<4 | uint64(s.Purpose&15)
	return &Rand{state: Mix(seed) + number*streamLength*step}
}

// Mix scatters a number over all 64 bits, one to one (the finaliser of
// SplitMix64, Steele et al. 2014).
func Mix(v uint64) uint64 {
	v += 0x9e3779b97f4a7c15
	v = (v ^ v>>30) * 0xbf58476d1ce4e5b9
	v = (v ^ v>>27) * 0x94d049bb133111eb
	return v ^ v>>31
}

// Uint64 returns a number uniform over all 64 bits.
func (r *Rand) Uint64() uint64 {
	r.state += step
	hi, lo := bits.Mul64(r.state, r.state^secret)
	return hi ^ lo
}

// Below returns a number uniform in [0, n); n must not be 0. The bias of
// multiplying instead of rejecting is below n / 2^64.
func (r *Rand) Below(n uint64) uint64 {
	hi, _ := bits.Mul64(r.Uint64(), n)
	return hi
}

// Float returns a number uniform in [0, 1), a multiple of 2^-53.
func (r *Rand) Float() float64 { return float64(r.Uint64()>>11) / (1 << 53) }

// Exp returns an exponential number with mean 1.
func (r *Rand) Exp() float64 { return rand.New(r).ExpFloat64() }

// Normal returns a normal number with mean 0 and deviation 1.
func (r *Rand) Normal() float64 { return rand.New(r).NormFloat64() }
