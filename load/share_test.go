package load

import (
	"math"
	"runtime"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// burn keeps the calling thread busy for so much CPU time of its own.
func burn(d time.Duration) {
	began := usage(unix.RUSAGE_THREAD)
	for x := 1.0; ; x = math.Sqrt(x + 1) {
		if now := usage(unix.RUSAGE_THREAD).sub(began); now.user+now.system >= d {
			return
		}
	}
}

func within(t *testing.T, what string, got, want, slack time.Duration) {
	t.Helper()
	if got < want-slack || got > want+slack {
		t.Errorf("%s: %v, want %v", what, got, want)
	}
}

// Two loads of virtual users and a worker on a thread of its own share a process.
// Each is charged with its part: not the whole of it three times.
func TestLoadsOfOneProcessAreChargedOnce(t *testing.T) {
	var p processShare
	p.join(30)
	p.join(10)
	const work, locked = 200 * time.Millisecond, 300 * time.Millisecond
	opened := p.read()
	busy, over := make(chan struct{}), make(chan struct{})
	ended := make(chan struct{})
	go func() { // a worker that ends within the window
		runtime.LockOSThread()
		unlock := p.lock()
		burn(locked / 3)
		unlock()
		close(ended)
	}()
	go func() { // and one that does not
		runtime.LockOSThread()
		defer p.lock()()
		burn(locked * 2 / 3)
		close(busy)
		<-over
	}()
	runtime.LockOSThread()
	burn(work)
	runtime.UnlockOSThread()
	<-ended
	<-busy
	closed := p.read()
	close(over)
	all := closed.all.sub(opened.all)
	whole := all.user + all.system
	if whole < work+locked-20*time.Millisecond {
		t.Fatalf("the process used %v, its threads %v", whole, work+locked)
	}
	// What else the process did, such as collecting garbage, is the users' too.
	rest := whole - (closed.locked - opened.locked)
	within(t, "locked threads", closed.locked-opened.locked, locked, 30*time.Millisecond)
	large, small := opened.between(closed, 30), opened.between(closed, 10)
	within(t, "30 of 40 users", large.user+large.system, rest*3/4, time.Millisecond)
	within(t, "10 of 40 users", small.user+small.system, rest/4, time.Millisecond)
	if rest < work-20*time.Millisecond {
		t.Errorf("the users' part is %v of the %v that they burnt", rest, work)
	}
}
