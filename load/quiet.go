package load

import (
	"runtime"
	"runtime/debug"
	"sync"
)

// quiet keeps the runtime from disturbing measurements while any runs: the
// garbage collector off up to a bound on memory, and enough processors that a
// worker blocked in a system call starves nobody. It puts everything back when
// the last measurement ends. The state is the process's, so one quiet serves
// all loads of a process.
type quiet struct {
	mu      sync.Mutex
	holders int
	workers int // OS threads of all holders

	percent int   // as they were before
	limit   int64 // bytes
	procs   int
}

// heapRoom is how much garbage may pile up beyond twice what is live before the
// collector runs after all.
const heapRoom = 512 << 20

// hold begins a quiet time for so many locked threads.
func (q *quiet) hold(threads int) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.holders == 0 {
		runtime.GC()
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		q.percent = debug.SetGCPercent(-1)
		q.limit = debug.SetMemoryLimit(-1)
		debug.SetMemoryLimit(min(q.limit, int64(m.Sys+m.HeapAlloc)+heapRoom))
		q.procs = runtime.GOMAXPROCS(0)
	}
	q.holders++
	q.workers += threads
	if want := q.workers + 1; want > runtime.GOMAXPROCS(0) {
		runtime.GOMAXPROCS(want)
	}
}

// release ends it.
func (q *quiet) release(threads int) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.holders--
	q.workers -= threads
	if q.holders > 0 {
		return
	}
	debug.SetGCPercent(q.percent)
	debug.SetMemoryLimit(q.limit)
	if runtime.GOMAXPROCS(0) != q.procs {
		runtime.GOMAXPROCS(q.procs)
	}
}
