package dial

import (
	"fmt"
	"math"
	"time"
)

const (
	firstDelay = int64(time.Millisecond)
	maxDelay   = int64(500 * time.Millisecond)
)

// Again says when a connection that is down is to be opened again: at once, where
// it had answered before it was lost, else less and less often.
type Again struct {
	answered bool // since it was opened
	dialing  bool
	at       int64 // ns of the load's clock
	delay    int64 // how long it waited for that, in ns
}

// Opened notes that the connection is up.
func (a *Again) Opened() { a.answered, a.dialing = false, false }

// Answered notes that something came back on it.
func (a *Again) Answered() { a.answered = true }

// Later sets the next attempt, of a connection that was lost or could not be opened.
func (a *Again) Later(now int64) {
	a.dialing = false
	if a.answered {
		a.AtOnce()
		return
	}
	a.delay = min(max(2*a.delay, firstDelay), maxDelay)
	a.at = now + a.delay
}

// AtOnce sets it to now, of a connection that was closed to open it anew.
func (a *Again) AtOnce() { a.answered, a.delay, a.at = false, 0, 0 }

// Reopen begins an attempt for each connection that is down and due, and returns
// when the next one is, in nanoseconds of the load's clock. Again is nil of those that are up.
func (d *Dialer[K, L]) Reopen(now int64, conns []K, again func(K) *Again) (wake int64) {
	wake = math.MaxInt64
	for _, c := range conns {
		a := again(c)
		switch {
		case a == nil || a.dialing:
		case a.at > now:
			wake = min(wake, a.at)
		default:
			a.dialing = true
			d.Begin(c)
		}
	}
	return wake
}

// Absence notices that there is no target any more.
type Absence struct {
	Err   error // of the last attempt to connect; nil where it succeeded
	since int64 // ns of the load's clock since when no connection is up; 0 while one is
}

// Over is an error where no connection has been up for longer than patience.
// It is told at each turn whether none is.
func (a *Absence) Over(none bool, now int64, patience time.Duration) error {
	if !none {
		a.since = 0
		return nil
	}
	if a.since == 0 {
		a.since = now
	}
	if now-a.since <= int64(patience) || a.Err == nil {
		return nil
	}
	return fmt.Errorf("the target is gone, no connection could be opened for %v: %w", patience, a.Err)
}
