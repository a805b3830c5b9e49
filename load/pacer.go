package load

import (
	"errors"
	"fmt"
	"math"
	"time"

	"bakeoff/load/gen"
)

// A Pacer says when the operations of one worker of an open loop are due. It
// is a pure function of its schedule, its seed and how many operations were
// taken: it reads no clock. Times are nanoseconds from the schedule's start.
type Pacer struct {
	rate    profile
	arrive  arrivals
	at      float64 // operations of all workers before the next one, by the schedule
	next    int64   // when that is due
	limiter limiter
}

// A Schedule describes the open loop of all workers of a load together.
type Schedule struct {
	Steps    []RateStep // the last one's rate stays for ever
	Arrival  Arrival
	MaxBurst int           // of all workers; 0: a hundredth of a second's operations
	Quantum  time.Duration // between wake-ups: that much may be late without being a burst
	Workers  int
	Seed     uint64
	Instance int
}

// catchUp is how many times the highest rate a worker may offer while it makes
// up for a delay, beyond the burst that it may begin with.
const catchUp = 2

// lateness is up to when an operation counts as on time rather than as part of
// a catch-up burst.
const lateness = int64(time.Millisecond)

// NewPacer returns worker number w's part of a schedule. With constant arrivals
// the workers take turns, so that all together are evenly spaced; with Poisson
// arrivals each draws its own, which together are Poisson again.
func NewPacer(s Schedule, w int) (*Pacer, error) {
	rate, err := newProfile(s.Steps)
	if err != nil {
		return nil, err
	}
	if s.Workers < 1 || w < 0 || w >= s.Workers {
		return nil, fmt.Errorf("pacing worker %d of %d: expected 0 to one less than their number", w, s.Workers)
	}
	p := &Pacer{rate: rate}
	switch s.Arrival {
	case Constant, "":
		p.arrive = &evenArrivals{next: float64(w), step: float64(s.Workers)}
	case Poisson:
		stream := gen.Stream{Instance: uint8(s.Instance), Worker: uint16(w), Purpose: gen.PurposeArrivals}
		p.arrive = &poissonArrivals{r: gen.NewRand(s.Seed, stream), mean: float64(s.Workers)}
	default:
		return nil, fmt.Errorf("arrival: found %q, expected %s or %s", s.Arrival, Constant, Poisson)
	}
	p.limiter = newLimiter(s, rate.highest)
	p.take()
	return p, nil
}

// Never is later than any time a Pacer knows: nothing more is due.
const Never = int64(math.MaxInt64)

// Next returns when the next operation is due, Never after the last.
func (p *Pacer) Next() int64 { return p.next }

// Take takes the next operation if it is due at elapsed and may be offered now,
// and returns when it was due.
func (p *Pacer) Take(elapsed int64) (intended int64, ok bool) {
	if p.next > elapsed || !p.limiter.allow(elapsed, p.next) {
		return 0, false
	}
	return p.take(), true
}

// manyOperations is up to how many operations Rest tells one by one.
const manyOperations = 1 << 20

// Rest tells when the operations were due that are due by elapsed and were not
// taken, which they then are. Where they are very many it tells groups of them,
// evenly spread over the schedule's remaining operations, and the number of
// Poisson arrivals is drawn as a whole.
func (p *Pacer) Rest(elapsed int64, tell func(intended int64, n uint64)) {
	for range manyOperations {
		if p.next > elapsed || p.next == Never {
			return
		}
		tell(p.take(), 1)
	}
	if p.next > elapsed {
		return
	}
	left := p.arrive.between(p.at, p.rate.total(elapsed))
	groups := min(left, manyOperations)
	last := p.at
	for i := range groups {
		n := left*(i+1)/groups - left*i/groups
		tell(p.rate.when(last), n)
		last = p.at + (p.rate.total(elapsed)-p.at)*float64(i+1)/float64(groups)
	}
	p.at, p.next = math.Inf(1), Never
}

func (p *Pacer) take() (intended int64) {
	intended = p.next
	p.at = p.arrive.advance()
	p.next = p.rate.when(p.at)
	return intended
}

// Reserve takes the next operation, due or not, and returns when it is due and
// when it may be offered: later, where the burst limit holds it back. Both are
// Never after the last.
func (p *Pacer) Reserve(elapsed int64) (intended, offer int64) {
	if p.next == Never {
		return Never, Never
	}
	offer = p.next
	if elapsed > p.next {
		offer = p.limiter.opens(elapsed, p.next)
		p.limiter.allow(offer, p.next)
	}
	return p.take(), offer
}

// Wake returns when there will be something to take: the next operation's time
// or, where the burst limit holds it back, when that ends.
func (p *Pacer) Wake(elapsed int64) int64 {
	if p.next > elapsed {
		return p.next
	}
	return p.limiter.opens(elapsed, p.next)
}

// A limiter bounds what is offered late: a token bucket in the form of the
// generic cell rate algorithm (ITU-T I.371), for operations that are overdue.
type limiter struct {
	interval int64 // ns between late operations once the burst is spent
	burst    int64 // ns of intervals that may be spent at once
	grace    int64 // ns that an operation may be late and yet be on time
	at       int64 // when the bucket will be full again
}

func newLimiter(s Schedule, highest float64) limiter {
	burst := float64(s.MaxBurst)
	if burst <= 0 {
		burst = max(16, highest*max(0.01, 2*s.Quantum.Seconds()))
	}
	n := float64(s.Workers)
	interval := max(1, int64(1e9*n/(catchUp*highest)))
	return limiter{
		interval: interval,
		burst:    int64(max(burst/n, 1)-1) * interval,
		grace:    lateness + int64(s.Quantum),
	}
}

func (l *limiter) allow(now, intended int64) bool {
	if now-intended <= l.grace {
		return true
	}
	if now < l.at-l.burst {
		return false
	}
	l.at = max(l.at, now) + l.interval
	return true
}

func (l *limiter) opens(now, intended int64) int64 {
	if now-intended <= l.grace {
		return now
	}
	return max(now, l.at-l.burst)
}

// arrivals yields how many operations of all workers come, by the schedule,
// before this worker's next one: spaced evenly or at random.
type arrivals interface {
	advance() float64
	// between counts this worker's operations in [from, to), from being one.
	between(from, to float64) uint64
}

type evenArrivals struct{ next, step float64 }

func (a *evenArrivals) advance() float64 {
	n := a.next
	a.next += a.step
	return n
}

func (a *evenArrivals) between(from, to float64) uint64 {
	return uint64(max(math.Ceil((to-from)/a.step), 0))
}

type poissonArrivals struct {
	r        *gen.Rand
	at, mean float64
}

func (a *poissonArrivals) advance() float64 {
	a.at += a.mean * a.r.Exp()
	return a.at
}

// between draws from the normal distribution, which a Poisson distribution of
// a mean this large does not differ from.
func (a *poissonArrivals) between(from, to float64) uint64 {
	mean := max((to-from)/a.mean, 0)
	return 1 + uint64(max(mean+math.Sqrt(mean)*a.r.Normal(), 0))
}

// profile is a rate over time: pieces in which it changes evenly.
type profile struct {
	pieces  []piece
	highest float64
}

type piece struct {
	start, before float64 // seconds and operations at its start
	from, slope   float64 // operations a second, and a second squared
	seconds       float64 // its length; infinite in the last
	operations    float64 // in it; infinite in the last
}

// maxRate bounds a rate: more than a nanosecond can tell apart.
const maxRate = 1e9

func newProfile(steps []RateStep) (profile, error) {
	if len(steps) == 0 {
		return profile{}, errors.New("rate: found no steps, expected at least one")
	}
	var p profile
	at, count := 0.0, 0.0
	for i, s := range steps {
		for _, r := range []float64{s.From, s.To} {
			if !(r >= 0 && r <= maxRate) {
				return profile{}, fmt.Errorf("rate step %d: found %g operations a second, expected 0 to 1e9", i+1, r)
			}
			p.highest = max(p.highest, r)
		}
		last := i == len(steps)-1
		if s.Duration < 0 || s.Duration == 0 && !last {
			return profile{}, fmt.Errorf("rate step %d: found a duration of %v, expected one above 0", i+1, s.Duration)
		}
		if s.Duration > 0 {
			d := s.Duration.Seconds()
			n := d * (s.From + s.To) / 2
			p.pieces = append(p.pieces, piece{at, count, s.From, (s.To - s.From) / d, d, n})
			at, count = at+d, count+n
		}
		if last {
			p.pieces = append(p.pieces, piece{at, count, s.To, 0, math.Inf(1), math.Inf(1)})
		}
	}
	if p.highest == 0 {
		return profile{}, errors.New("rate: found 0 operations a second in all steps, expected some above 0")
	}
	return p, nil
}

// when returns the time at which n operations have come before.
func (p *profile) when(n float64) int64 {
	// A worker's operations come in order, so that pieces behind are done with.
	for len(p.pieces) > 1 && n >= p.pieces[0].before+p.pieces[0].operations {
		p.pieces = p.pieces[1:]
	}
	q := &p.pieces[0]
	return q.when(n - q.before)
}

// when solves from*x + slope/2*x^2 = n for x, in the form that does not cancel.
func (q *piece) when(n float64) int64 {
	if n <= 0 && q.from > 0 {
		return int64(q.start * 1e9)
	}
	root := math.Sqrt(max(q.from*q.from+2*q.slope*n, 0))
	x := 2 * n / (q.from + root)
	if n <= 0 {
		x = 0
	}
	at := (q.start + x) * 1e9
	if !(at < math.MaxInt64/2) { // a rate of 0, for ever
		return Never
	}
	return int64(at)
}

// total returns how many operations of all workers the schedule has before a
// time, in nanoseconds from its start: one that when has not left behind.
func (p *profile) total(elapsed int64) float64 {
	t, n := float64(elapsed)/1e9, 0.0
	for _, q := range p.pieces {
		if x := min(t-q.start, q.seconds); x > 0 {
			n = q.before + q.from*x + q.slope/2*x*x
		}
	}
	return n
}
