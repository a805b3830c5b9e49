package load

import (
	"runtime"
	"sync"
	"testing"

	"golang.org/x/sys/unix"
)

// TestPinningIsPutBack pins the process's first thread as a worker does, and
// finds it free again afterwards: it outlives its goroutine.
func TestPinningIsPutBack(t *testing.T) {
	var before unix.CPUSet
	if err := unix.SchedGetaffinity(unix.Getpid(), &before); err != nil {
		t.Fatal(err)
	}
	first := -1
	for cpu := range 1024 {
		if before.IsSet(cpu) {
			first = cpu
			break
		}
	}
	// Enough goroutines at once that one of them gets the first thread.
	var all sync.WaitGroup
	gate := make(chan struct{})
	for range 4 * runtime.GOMAXPROCS(0) {
		all.Go(func() {
			runtime.LockOSThread()
			defer keepThread()()
			if err := pinThread(first); err != nil {
				t.Error(err)
			}
			<-gate
		})
	}
	close(gate)
	all.Wait()
	var after unix.CPUSet
	if err := unix.SchedGetaffinity(unix.Getpid(), &after); err != nil {
		t.Fatal(err)
	}
	if after != before {
		t.Errorf("the first thread may use %d processors, before %d", after.Count(), before.Count())
	}
}

// TestWorkersOnOneCoreAreAsBusyAsItIs: each of them alone has but a part of it.
func TestWorkersOnOneCoreAreAsBusyAsItIs(t *testing.T) {
	var allowed unix.CPUSet
	if err := unix.SchedGetaffinity(unix.Getpid(), &allowed); err != nil {
		t.Fatal(err)
	}
	core := 0
	for !allowed.IsSet(core) {
		core++
	}
	f := batched(func(spec Spec) *echo { return &echo{clock: spec.Clock} })
	f.shape.InFlight, f.shape.Workers = 1, 4
	spec := short()
	spec.Common.CPUs = []int{core}
	result, err := opened(t, f, spec, Env{}).Measure(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	g := result.Load.Generator
	share := (g.UserSeconds + g.SystemSeconds) / result.Load.Window.Seconds
	if g.BusyFraction < 0.9*min(share, 1) || share == 0 {
		t.Errorf("the workers took %.2f of their core, and the busiest is said to be busy %.2f of the time", share, g.BusyFraction)
	}
}
