// Package gather has a worker wait for several answers at a time: one wake-up then
// serves them all. Each keeps the moment at which the kernel had it, so that the wait
// is in no latency. In an open loop that changes nothing else; in a closed loop less
// is in flight meanwhile.
package gather

import (
	"fmt"
	"time"

	"bakeoff/internal/osenv"
	"bakeoff/load"
	"bakeoff/load/ring"
)

// Policy says what answers may wait for. Its zero value has each taken as it comes.
type Policy struct {
	// Patience is how long an answer may lie in the socket before it is taken.
	Patience time.Duration
	// Answers is how many of them end the wait earlier; 0: none do.
	Answers int
}

// patience is that of a closed loop whose load names no quantum. It bounds what a
// target that answers fewer than were waited for loses.
const patience = 200 * time.Microsecond

// Parameter is the engines' parameter "gather".
func Parameter() load.Parameter {
	return load.Parameter{
		Name: "gather", Type: load.TypeInt, Default: "1",
		Doc:          "Answers that a worker waits for at a time in a closed loop (at most half of what it has in flight; for 200us, or the quantum, at most), so that one wake-up serves them all. Latencies end when the kernel received an answer, but its connection stays idle until the others' are there: less is in flight than the connections say, by up to as many, and throughput and latencies are those of that smaller load. For finding out what a server can do with a generator short of CPU; never compare it with loads of another gather. TCP, without discard.",
		Incomparable: true,
	}
}

// Open is the policy of an open loop, whose answers may wait for its quantum; that
// of a closed loop is zero.
func Open(common load.Common, network string) Policy {
	if network == "tcp" && isOpen(common) {
		return Policy{Patience: common.Quantum}
	}
	return Policy{}
}

func isOpen(common load.Common) bool { return common.Rate > 0 || len(common.Steps) > 0 }

// Read reads the parameter, for workers that have so many operations in flight on
// a network.
func Read(p *load.Params, common load.Common, network string, inFlight int) (Policy, error) {
	n := p.Int("gather")
	open := isOpen(common)
	switch {
	case n < 1 || n > 1 && int64(inFlight) < 2*n:
		return Policy{}, fmt.Errorf("parameter \"gather\": found %d, expected 1, or up to %d: half of the %d operations that a worker has in flight", n, max(inFlight/2, 1), inFlight)
	case n > 1 && network != "tcp":
		return Policy{}, fmt.Errorf("parameter \"gather\": found %d on a %s socket, expected 1: the kernel stamps what it receives by TCP alone, and latencies would hold the wait", n, network)
	case n > 1 && open:
		return Policy{}, fmt.Errorf("parameter \"gather\": found %d in an open loop, expected 1: there the quantum says how long answers may wait", n)
	case n == 1:
		return Open(common, network), nil
	case common.Quantum > 0:
		return Policy{common.Quantum, int(n)}, nil
	}
	return Policy{patience, int(n)}, nil
}

// Lazy reports whether answers wait at all, and so must be stamped.
func (p Policy) Lazy() bool { return p.Patience > 0 }

// Waiter waits on a loop, made with Config.Stamps where the policy is lazy.
type Waiter struct {
	policy Policy
	loop   *ring.Loop
	clock  *load.Clock
	wall   osenv.Clock
	offset int64 // of the wall clock from the measuring clock, in nanoseconds
}

// New makes a waiter.
func New(p Policy, loop *ring.Loop, clock *load.Clock) *Waiter {
	return &Waiter{policy: p, loop: loop, clock: clock, wall: osenv.System{}}
}

// Wait is the loop's, with patience.
func (w *Waiter) Wait(timeout time.Duration) ([]ring.Event, error) {
	p := w.policy
	if !p.Lazy() {
		return w.loop.Wait(timeout)
	}
	events, err := w.first(min(timeout, p.Patience))
	if len(events) == 0 && err == nil && timeout > p.Patience {
		events, err = w.loop.Wait(timeout - p.Patience)
	}
	w.offset = w.wall.Now().UnixNano() - w.clock.Now()
	return events, err
}

func (w *Waiter) first(timeout time.Duration) ([]ring.Event, error) {
	if w.policy.Answers > 0 {
		return w.loop.WaitFor(timeout, w.policy.Answers)
	}
	return w.loop.WaitOut(timeout)
}

// Stamp is when the kernel received what an event of the last Wait brought, in
// nanoseconds of the measuring clock; 0: unknown.
func (w *Waiter) Stamp(e *ring.Event) int64 {
	if e.Stamp == 0 || !w.policy.Lazy() {
		return 0
	}
	return e.Stamp - w.offset
}
