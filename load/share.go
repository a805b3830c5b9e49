package load

import (
	"sync"
	"time"

	"golang.org/x/sys/unix"
)

// processShare tells what one load's virtual users cost from what else goes on in
// the process, which alone can be metered: goroutines have no CPU time of their
// own. Locked threads do, and are left out; the rest is shared out by users. It
// is safe for concurrent use.
type processShare struct {
	mu     sync.Mutex
	locked map[int]time.Duration // by thread: its CPU time when it was locked
	gone   time.Duration         // of locked threads that are no more
	users  int                   // of all loads that run
}

// lock leaves the calling thread out, which is locked to its goroutine, until the
// function that it returns is called on it.
func (p *processShare) lock() (unlock func()) {
	tid := unix.Gettid()
	began := threadCPU(tid)
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.locked == nil {
		p.locked = map[int]time.Duration{}
	}
	p.locked[tid] = began
	return func() {
		p.mu.Lock()
		defer p.mu.Unlock()
		p.gone += threadCPU(tid) - began
		delete(p.locked, tid)
	}
}

// join adds virtual users, or takes them away where n is negative.
func (p *processShare) join(n int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.users += n
}

// processReading is the process's CPU time at one moment.
type processReading struct {
	all    cpuTime
	locked time.Duration
	users  int
}

func (p *processShare) read() processReading {
	p.mu.Lock()
	defer p.mu.Unlock()
	r := processReading{all: usage(unix.RUSAGE_SELF), locked: p.gone, users: p.users}
	for tid, began := range p.locked {
		r.locked += threadCPU(tid) - began
	}
	return r
}

// between is what so many users have used from one moment to another.
func (r processReading) between(later processReading, users int) cpuTime {
	all := later.all.sub(r.all)
	total := all.user + all.system
	if total <= 0 || users <= 0 {
		return cpuTime{}
	}
	rest := fraction(float64(total-(later.locked-r.locked)), float64(total))
	rest *= fraction(float64(users), float64(max(r.users, later.users)))
	return cpuTime{user: time.Duration(rest * float64(all.user)), system: time.Duration(rest * float64(all.system))}
}

// threadCPU reads the CPU time of a thread of this process, by the id of its clock
// (linux/posix-timers.h, CPUCLOCK_PERTHREAD_MASK | CPUCLOCK_SCHED).
func threadCPU(tid int) time.Duration {
	var t unix.Timespec
	if err := unix.ClockGettime(int32(^tid<<3|6), &t); err != nil {
		return 0 // the thread has ended
	}
	return time.Duration(t.Nano())
}
