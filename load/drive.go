package load

import (
	"context"
	"time"
)

// A driver runs the workers of one contract. Its methods are called from one
// goroutine, in this order; halt from any, any number of times, once started.
type driver interface {
	// open opens every worker, or none.
	open(ctx context.Context) error
	// recorders is among how many recorders the workers are spread.
	recorders() int
	// start sets them to work at once. The channel is closed when all have
	// ended: by themselves, or since one failed and the others were halted.
	start(j job) (ended <-chan struct{}, err error)
	// halt ends the work now, without a drain.
	halt()
	// edge tells of the window's opening or close as it happens, for what is
	// measured from outside the workers.
	edge(opening bool)
	// finish hands over what the recorders still hold and returns the outcome.
	// Workers that have not ended are left behind and counted.
	finish() outcome
	// close closes workers that were opened and never started.
	close() error
}

// job is what the workers are to do.
type job struct {
	clock     *Clock
	edges     edges
	schedule  *Schedule // nil in a closed loop
	drain     int64     // ns
	quantum   int64     // ns
	timeout   int64     // ns; of one operation
	collector *collector
}

func (j *job) recorder() *recorder {
	return newRecorder(j.edges, j.collector.kinds, j.schedule != nil, j.collector)
}

// outcome is what the workers did, all together.
type outcome struct {
	book     account
	errors   errorTable
	faults   []string // breaches of the contract by the engine
	close    int64    // of the window, the latest of all workers
	lastDone int64
	finished bool    // all workers had nothing left to do
	busiest  float64 // busy fraction of the busiest worker
	cpu      cpuTime // over the window
	late     delays  // of the worker that came the latest
	stuck    int     // workers that did not come back
	err      error   // the first that ended a worker early
}

// add books one recorder.
func (o *outcome) add(r *recorder) {
	o.book.merge(&r.book)
	o.errors.merge(&r.errors)
	if r.fault != "" {
		o.faults = append(o.faults, r.fault)
	}
	o.close = max(o.close, r.edges.close)
	o.lastDone = max(o.lastDone, r.lastDone)
}

// intervalLength is how much of a load one line of its series covers.
const intervalLength = int64(time.Second)
