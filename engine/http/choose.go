package http

import (
	"sort"

	"bakeoff/load/gen"
)

// chooser says which request is next.
type chooser struct {
	all    []request
	one    bool
	at     int       // of a sequential order
	bounds []float64 // sums of the weights up to each request; nil where all weigh the same
	random *gen.Rand
}

func newChooser(c *config, random *gen.Rand, worker, workers int) chooser {
	ch := chooser{all: c.requests, one: len(c.requests) == 1, at: -1, random: random}
	if c.sequential {
		first, _ := gen.Share(uint64(len(c.requests)), worker, workers)
		ch.at = int(first) % len(c.requests)
		return ch
	}
	same, sum := true, 0.0
	bounds := make([]float64, len(c.requests))
	for i := range c.requests {
		same = same && c.requests[i].weight == c.requests[0].weight
		sum += c.requests[i].weight
		bounds[i] = sum
	}
	if !same {
		ch.bounds = bounds
	}
	return ch
}

func (ch *chooser) next() *request {
	switch {
	case ch.one:
		return &ch.all[0]
	case ch.at >= 0:
		r := &ch.all[ch.at]
		if ch.at++; ch.at == len(ch.all) {
			ch.at = 0
		}
		return r
	case ch.bounds == nil:
		return &ch.all[ch.random.Below(uint64(len(ch.all)))]
	}
	x := ch.random.Float() * ch.bounds[len(ch.bounds)-1]
	i := sort.SearchFloat64s(ch.bounds, x)
	if i < len(ch.bounds) && ch.bounds[i] == x { // a weight's share is half open: its end is the next one's
		i++
	}
	return &ch.all[min(i, len(ch.all)-1)]
}
