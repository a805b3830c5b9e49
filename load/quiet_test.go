package load

import (
	"math"
	"runtime"
	"runtime/debug"
	"testing"
)

// runtimeState reads the collector's percentage, the memory limit and the
// number of processors.
func runtimeState() [3]int64 {
	percent := debug.SetGCPercent(50)
	debug.SetGCPercent(percent)
	return [3]int64{int64(percent), debug.SetMemoryLimit(-1), int64(runtime.GOMAXPROCS(0))}
}

func TestQuietPutsEverythingBack(t *testing.T) {
	before := runtimeState()
	var q quiet
	q.hold(3)
	held := runtimeState()
	if held[0] != -1 || held[1] == math.MaxInt64 || held[2] < 4 {
		t.Errorf("while held: %v; want the collector off, a memory limit and at least 4 processors", held)
	}
	q.hold(2)
	if n := runtimeState()[2]; n < 6 {
		t.Errorf("%d processors for five threads, want at least 6", n)
	}
	q.release(3)
	if s := runtimeState(); s[0] != -1 || s[1] != held[1] {
		t.Errorf("after the first of two was released: %v", s)
	}
	q.release(2)
	if after := runtimeState(); after != before {
		t.Errorf("after: %v, before: %v", after, before)
	}
}
