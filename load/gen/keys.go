package gen

import (
	"fmt"
	"math"
)

// Keys draws the numbers of keys, from 0 to one less than their count.
type Keys interface{ Next() uint64 }

// Pattern names how keys are drawn.
type Pattern string

// The patterns.
const (
	Uniform    Pattern = "uniform"
	Sequential Pattern = "sequential" // all workers together walk the keys in order, over and over
	Parallel   Pattern = "parallel"   // each worker walks its own share of the keys in order
	Gaussian   Pattern = "gaussian"   // normal around the middle, within the keys
	Zipf       Pattern = "zipf"       // key i with weight 1/(i+1)^theta
	Hot        Pattern = "hot"        // some of the keys get most of the draws
)

// Patterns lists all patterns.
func Patterns() []Pattern { return []Pattern{Uniform, Sequential, Parallel, Gaussian, Zipf, Hot} }

// KeySpec says which keys one worker draws.
type KeySpec struct {
	Pattern Pattern
	Count   uint64 // of keys, all workers together

	Worker, Workers int // this worker's number from 0, and how many there are

	Theta     float64 // of Zipf, above 0
	Center    float64 // of Gaussian: the mean as a fraction of the keys
	Deviation float64 // of Gaussian: standard deviation as a fraction of the keys, above 0
	HotKeys   float64 // of Hot: the fraction of the keys that is hot, the first ones
	HotDraws  float64 // of Hot: the fraction of the draws that goes to them
}

// NewKeys returns the keys that a spec asks for, drawn from r. The keys then
// own r.
func NewKeys(s KeySpec, r *Rand) (Keys, error) {
	if s.Count == 0 || s.Count > 1<<62 {
		return nil, fmt.Errorf("number of keys: found %d, expected 1 to 2^62", s.Count)
	}
	if s.Workers < 1 || s.Worker < 0 || s.Worker >= s.Workers {
		return nil, fmt.Errorf("worker of keys: found %d of %d, expected 0 to one less than their number", s.Worker, s.Workers)
	}
	switch s.Pattern {
	case Uniform:
		return &uniform{r, s.Count}, nil
	case Sequential:
		return &sequential{next: uint64(s.Worker) % s.Count, count: s.Count, stride: uint64(s.Workers)}, nil
	case Parallel:
		return newParallel(s), nil
	case Gaussian:
		return newGaussian(s, r)
	case Zipf:
		return newZipf(s, r)
	case Hot:
		return newHot(s, r)
	}
	return nil, fmt.Errorf("key pattern: found %q, expected one of %v", s.Pattern, Patterns())
}

type uniform struct {
	r     *Rand
	count uint64
}

func (k *uniform) Next() uint64 { return k.r.Below(k.count) }

type sequential struct{ next, count, stride uint64 }

func (k *sequential) Next() uint64 {
	n := k.next
	k.next = (n + k.stride) % k.count
	return n
}

// parallel walks [first, first+count).
type parallel struct{ first, count, at uint64 }

func newParallel(s KeySpec) *parallel {
	first, last := share(s.Count, uint64(s.Worker), uint64(s.Workers))
	if first == last { // more workers than keys: some share one
		return &parallel{first: uint64(s.Worker) % s.Count, count: 1}
	}
	return &parallel{first: first, count: last - first}
}

// share returns worker w's part of count keys, the parts differing by at most one.
func share(count, w, workers uint64) (first, last uint64) {
	size, rest := count/workers, count%workers
	return w*size + min(w, rest), (w+1)*size + min(w+1, rest)
}

// Share returns the keys [first, last) that fall to one worker where each has
// its own part, as in filling a data set.
func Share(count uint64, worker, workers int) (first, last uint64) {
	return share(count, uint64(worker), uint64(workers))
}

func (k *parallel) Next() uint64 {
	n := k.first + k.at
	if k.at++; k.at == k.count {
		k.at = 0
	}
	return n
}

type gaussian struct {
	r               *Rand
	mean, deviation float64
	count           uint64
}

func newGaussian(s KeySpec, r *Rand) (Keys, error) {
	if !(s.Deviation > 0) || s.Deviation > 1 {
		return nil, fmt.Errorf("deviation of gaussian keys: found %g, expected a fraction of the keys above 0 and up to 1", s.Deviation)
	}
	if !(s.Center >= 0 && s.Center <= 1) {
		return nil, fmt.Errorf("centre of gaussian keys: found %g, expected a fraction of the keys, 0 to 1", s.Center)
	}
	n := float64(s.Count)
	return &gaussian{r: r, mean: s.Center * n, deviation: s.Deviation * n, count: s.Count}, nil
}

// Next draws again what falls outside: the distribution is truncated, not
// heaped at its ends.
func (k *gaussian) Next() uint64 {
	for {
		v := math.Floor(k.mean + k.deviation*k.r.Normal())
		if v >= 0 && v < float64(k.count) {
			return uint64(v)
		}
	}
}

// hot draws below draws*2^64 from the first keys, else from the rest.
type hot struct {
	r           *Rand
	draws       float64
	hotKeys, of uint64
}

func newHot(s KeySpec, r *Rand) (Keys, error) {
	if !(s.HotKeys > 0 && s.HotKeys < 1) || !(s.HotDraws >= 0 && s.HotDraws <= 1) {
		return nil, fmt.Errorf("hot keys: found %g of the keys for %g of the draws, expected fractions of 1, as 0.2 and 0.8", s.HotKeys, s.HotDraws)
	}
	n := uint64(math.Round(s.HotKeys * float64(s.Count)))
	n = min(max(n, 1), s.Count)
	if n == s.Count {
		return &uniform{r, s.Count}, nil
	}
	return &hot{r: r, draws: s.HotDraws, hotKeys: n, of: s.Count}, nil
}

func (k *hot) Next() uint64 {
	if k.r.Float() < k.draws {
		return k.r.Below(k.hotKeys)
	}
	return k.hotKeys + k.r.Below(k.of-k.hotKeys)
}
