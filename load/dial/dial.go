// Package dial opens the connections of a worker in goroutines, so that the
// worker's thread never waits for one, and hands over their sockets to its
// loop, with TLS where the target wants it.
package dial

import (
	"context"
	"io"
	"runtime"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sys/unix"
)

// Link is a connection that is ready for a loop, which then owns FD.
type Link struct {
	FD     int
	Sealed *Sealed // nil without TLS
}

// Close closes a link that no loop took over.
func (l Link) Close() error { return unix.Close(l.FD) }

// Opened is how an attempt to connect ended.
type Opened[K any, L io.Closer] struct {
	Key  K // what Begin was given
	Link L
	Err  error
}

// Dialer opens links in goroutines. K is what the caller knows a connection by,
// and L is a Link or what holds one.
type Dialer[K any, L io.Closer] struct {
	open   func(context.Context, K) (L, error)
	wake   func() error
	ctx    context.Context
	cancel context.CancelFunc
	done   chan Opened[K, L]
	all    sync.WaitGroup
	count  *atomic.Uint64

	user, system atomic.Int64 // nanoseconds of CPU
}

// New makes a dialer. Wake is called, from other goroutines, when an attempt has
// ended; at most so many may be under way at a time; count counts attempts.
func New[K any, L io.Closer](open func(context.Context, K) (L, error), wake func() error, most int, count *atomic.Uint64) *Dialer[K, L] {
	d := &Dialer[K, L]{open: open, wake: wake, done: make(chan Opened[K, L], most), count: count}
	d.ctx, d.cancel = context.WithCancel(context.Background())
	return d
}

// Begin starts an attempt.
func (d *Dialer[K, L]) Begin(key K) {
	d.count.Add(1)
	d.all.Go(func() {
		l, err := d.measured(key)
		d.done <- Opened[K, L]{key, l, err} // there is room for every connection
		_ = d.wake()                        // without it the worker finds out when it wakes for another reason
	})
}

// measured opens a link on a thread of its own, whose CPU time is that of the
// attempt and of nothing else.
func (d *Dialer[K, L]) measured(key K) (L, error) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	var before, after unix.Rusage
	ok := unix.Getrusage(unix.RUSAGE_THREAD, &before) == nil
	l, err := d.open(d.ctx, key)
	if ok && unix.Getrusage(unix.RUSAGE_THREAD, &after) == nil {
		d.user.Add(after.Utime.Nano() - before.Utime.Nano())
		d.system.Add(after.Stime.Nano() - before.Stime.Nano())
	}
	return l, err
}

// Assistance is the CPU time that connecting has taken, on threads other than
// the worker's: see load.Assisted.
func (d *Dialer[K, L]) Assistance() (user, system time.Duration) {
	return time.Duration(d.user.Load()), time.Duration(d.system.Load())
}

// Take returns an attempt that has ended, if there is one.
func (d *Dialer[K, L]) Take() (Opened[K, L], bool) {
	select {
	case o := <-d.done:
		return o, true
	default:
		return Opened[K, L]{}, false
	}
}

// Stop ends the attempts under way and closes what nobody took.
func (d *Dialer[K, L]) Stop() {
	d.cancel()
	d.all.Wait()
	for {
		o, ok := d.Take()
		if !ok {
			return
		}
		if o.Err == nil {
			_ = o.Link.Close()
		}
	}
}
