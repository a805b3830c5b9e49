package dial

import (
	"sync"
	"sync/atomic"

	"bakeoff/load"
	"bakeoff/record"
)

// Outage counts for how long the connections of a load are down, over all its
// workers: from when one is lost or cannot be opened, to when it is up again. A
// connection that the load closes to open it anew is not down. A gate rests on
// it, since a closed loop sends nothing on a connection that is down, and so
// has few failures to show for it.
type Outage struct {
	Attempts atomic.Uint64 // to connect again
	Failed   atomic.Uint64 // of these

	mu    sync.Mutex
	ended int64 // ns, of connections that are up again
	down  int64 // connections that are down now
	since int64 // sum of when they went down, ns
}

// Begin notes that a connection went down at a moment of the load's clock.
func (o *Outage) Begin(at int64) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.down++
	o.since += at
}

// End notes that one which went down then is up, or needed no more.
func (o *Outage) End(since, at int64) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.down--
	o.since -= since
	o.ended += at - since
}

// nanos is the time that connections were down until now, all together.
func (o *Outage) nanos(now int64) int64 {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.ended + o.down*now - o.since
}

// Counts are the counters for a session's Snapshot.
func (o *Outage) Counts(now int64, connections int) []load.Count {
	return []load.Count{
		{Name: "reconnects", Unit: "1", Value: float64(o.Attempts.Load())},
		{Name: record.CounterFailedConnects, Unit: "1", Value: float64(o.Failed.Load())},
		{Name: record.CounterDisconnected, Unit: "s", Value: float64(o.nanos(now)) / 1e9 / float64(connections)},
	}
}
