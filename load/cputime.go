package load

import (
	"fmt"
	"math"
	"time"

	"golang.org/x/sys/unix"
)

// cpuTime is CPU that was used, by a thread or by the process.
type cpuTime struct {
	user, system time.Duration
	spin         time.Duration // of both, on polling that found nothing
}

func (a cpuTime) sub(b cpuTime) cpuTime {
	return cpuTime{a.user - b.user, a.system - b.system, a.spin - b.spin}
}

func (a cpuTime) add(b cpuTime) cpuTime {
	return cpuTime{a.user + b.user, a.system + b.system, a.spin + b.spin}
}

func (a cpuTime) busy() time.Duration { return max(a.user+a.system-a.spin, 0) }

// An Assisted worker has some of its work done on other threads, such as
// connecting: it says how much CPU that has taken so far.
type Assisted interface {
	Assistance() (user, system time.Duration)
}

// threadTime reads the CPU time of the calling thread (getrusage(2)), with that
// of the threads that assist its worker, and what the worker says that it spent on
// spinning.
func threadTime(w Worker) func() cpuTime {
	spinner, _ := w.(Spinner)
	assisted, _ := w.(Assisted)
	return func() cpuTime {
		t := usage(unix.RUSAGE_THREAD)
		if spinner != nil {
			t.spin = spinner.Spin()
		}
		if assisted != nil {
			user, system := assisted.Assistance()
			t.user, t.system = t.user+user, t.system+system
		}
		return t
	}
}

func usage(who int) cpuTime {
	var u unix.Rusage
	if err := unix.Getrusage(who, &u); err != nil {
		return cpuTime{} // only EFAULT and EINVAL, which our arguments are not
	}
	return cpuTime{user: time.Duration(u.Utime.Nano()), system: time.Duration(u.Stime.Nano())}
}

// keepThread returns what puts the calling thread's pinning and timer slack
// back as they are now. What cannot be read is left as it is.
func keepThread() (restore func()) {
	var cores unix.CPUSet
	if err := unix.SchedGetaffinity(0, &cores); err != nil {
		return func() {}
	}
	return func() {
		_ = unix.SchedSetaffinity(0, &cores)
		_ = unix.Prctl(unix.PR_SET_TIMERSLACK, 0, 0, 0, 0) // 0 is the process's own
	}
}

// pinThread pins the calling thread to one core.
func pinThread(cpu int) error {
	if cpu < 0 {
		return fmt.Errorf("pinning a worker to core %d: no such core", cpu)
	}
	var set unix.CPUSet
	set.Set(cpu)
	if err := unix.SchedSetaffinity(0, &set); err != nil {
		return fmt.Errorf("pinning a worker to core %d: %w", cpu, err)
	}
	return nil
}

// sharpenTimers makes the calling thread's waits end when they should, rather
// than up to 50 us later (PR_SET_TIMERSLACK, prctl(2)). Where it is refused
// the pacing lag tells.
func sharpenTimers() { _ = unix.Prctl(unix.PR_SET_TIMERSLACK, 1, 0, 0, 0) }

// perMillion returns CPU seconds for a million operations; 0 without operations.
func perMillion(t cpuTime, operations uint64) float64 {
	if operations == 0 {
		return 0
	}
	return (t.user + t.system).Seconds() / float64(operations) * 1e6
}

// fraction returns a/b between 0 and 1.
func fraction(a, b float64) float64 {
	if !(b > 0) {
		return 0
	}
	return math.Min(math.Max(a/b, 0), 1)
}
