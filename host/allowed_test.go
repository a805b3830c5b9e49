package host

import (
	"runtime"
	"testing"
)

// TestBoundThreadsDoNotChangeWhatMayBeUsed binds threads to one processor, as
// loads and services do, and finds the process's processors as they were.
func TestBoundThreadsDoNotChangeWhatMayBeUsed(t *testing.T) {
	before, err := ReadTopology(t.Context(), "/")
	if err != nil {
		t.Fatal(err)
	}
	bound, release := make(chan error), make(chan struct{})
	n := runtime.GOMAXPROCS(0)
	for range n {
		go func() {
			runtime.LockOSThread() // not unlocked: the thread ends with its binding
			bound <- PinThread(before.Allowed[:1])
			<-release
		}()
	}
	for range n {
		if err := <-bound; err != nil {
			t.Error(err)
		}
	}
	during, err := ReadTopology(t.Context(), "/")
	close(release)
	if err != nil || during.Allowed.String() != before.Allowed.String() {
		t.Errorf("may use %s (%v), before %s", during.Allowed, err, before.Allowed)
	}
}
