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
