package record

import "time"

// A Load is what one instance of one part of one workload did in a trial.
type Load struct {
	Workload string `json:"workload"`
	Part     string `json:"part"` // source, sink, observer
	Host     string `json:"host"`
	Instance int    `json:"instance"`

	Engine     string            `json:"engine"`
	Parameters map[string]string `json:"parameters"` // every one, defaults included, as written in a plan
	Target     string            `json:"target,omitempty"`

	// Window is the measured interval. A trial that ends when its work is done
	// has the duration of that work as its window.
	Window Window `json:"window"`
	// Ended is "window" where a rate was measured, "done" where a duration was.
	Ended string `json:"ended"`

	Ledger Ledger      `json:"ledger"`
	Kinds  []KindCount `json:"kinds"`
	Series []Interval  `json:"series,omitempty"` // a second each, warm-up and drain included
	// Tenths are the ten parts of the window, in order; nil where it is shorter
	// than a second or ends with the work.
	Tenths    []Tenth       `json:"tenths,omitempty"`
	DataSet   *DataSet      `json:"data_set,omitempty"`
	Generator GeneratorCost `json:"generator"`
	// Server holds the target's version and the settings that matter, as it gave
	// them.
	Server    map[string]string `json:"server,omitempty"`
	Counters  []Counter         `json:"counters,omitempty"` // engine's snapshots at the window's edges
	Figures   []Figure          `json:"figures,omitempty"`  // what only the engine can know
	Latencies []Latency         `json:"latencies,omitempty"`

	Steady *Steadiness `json:"steady,omitempty"`
	Errors []ErrorKind `json:"errors,omitempty"`
}

// Window is an interval on the wall clock and on the host's monotonic clock.
type Window struct {
	Start   time.Time `json:"start"`
	End     time.Time `json:"end"`
	Seconds float64   `json:"seconds"` // by the monotonic clock
	Warmup  float64   `json:"warmup_seconds"`
	Drain   float64   `json:"drain_seconds"`
	// ClockErrorPPM is how far the measuring clock ran from the kernel's
	// monotonic clock over the trial, in parts per million.
	ClockErrorPPM float64 `json:"clock_error_ppm"`
	// ClockStepSeconds is the wall clock's step against the monotonic clock
	// between the edges of the trial.
	ClockStepSeconds float64 `json:"clock_step_seconds"`
}

// Ledger accounts for every operation of the window. It must close:
// InFlightOpen + Offered = Completed + Failed + TimedOut + Dropped + InFlightClose.
// Misses are completed operations, counted in KindCount.
type Ledger struct {
	InFlightOpen  uint64 `json:"in_flight_open"`
	Offered       uint64 `json:"offered"`
	Completed     uint64 `json:"completed"`
	Failed        uint64 `json:"failed"`
	TimedOut      uint64 `json:"timed_out"`
	Dropped       uint64 `json:"dropped"`
	InFlightClose uint64 `json:"in_flight_close"`
	// Backlog is how many operations were due but not yet offered at the
	// close, as an open loop has when the target is slower than the rate.
	Backlog uint64 `json:"backlog"`
}

// Closes reports whether nothing was lost or counted twice.
func (l Ledger) Closes() bool {
	return l.InFlightOpen+l.Offered == l.Completed+l.Failed+l.TimedOut+l.Dropped+l.InFlightClose
}

// KindCount counts the window's operations of one kind, such as get or set.
type KindCount struct {
	Kind      string `json:"kind"`
	Completed uint64 `json:"completed"`
	Failed    uint64 `json:"failed"`
	TimedOut  uint64 `json:"timed_out"`
	Dropped   uint64 `json:"dropped,omitempty"` // given up before they were sent
	Misses    uint64 `json:"misses"`            // completed, but what was asked for was not there
	Items     uint64 `json:"items"`             // keys, rows or blocks moved; differs from Completed for batches
	BytesIn   uint64 `json:"bytes_in"`
	BytesOut  uint64 `json:"bytes_out"`
}

// Interval is one second of a load, for the figures over time.
type Interval struct {
	Offset    float64 `json:"offset"`  // seconds from the window's start; negative in the warm-up
	Seconds   float64 `json:"seconds"` // its length
	Completed uint64  `json:"completed"`
	Failed    uint64  `json:"failed"`
	TimedOut  uint64  `json:"timed_out"`
	Misses    uint64  `json:"misses"`
	BytesIn   uint64  `json:"bytes_in"`
	BytesOut  uint64  `json:"bytes_out"`
	P50       int64   `json:"p50_ns"` // of the service time, for drawing only
	P99       int64   `json:"p99_ns"`
}

// Tenth is what a load completed in a tenth of its window, to the nearest 100 ms.
type Tenth struct {
	Seconds   float64 `json:"seconds"` // its length
	Completed uint64  `json:"completed"`
	// Due is how many operations an open loop's schedule has in it, on average;
	// absent in a closed loop, where nothing is due at a time of its own.
	Due float64 `json:"due,omitempty"`
}

// DataSet identifies what the load worked on.
type DataSet struct {
	Items       uint64  `json:"items"`
	Bytes       uint64  `json:"bytes"`
	Fingerprint string  `json:"fingerprint"` // algorithm:hex
	Prepared    string  `json:"prepared"`    // loaded, kept, none
	Seconds     float64 `json:"seconds"`     // spent on preparing it
}

// GeneratorCost is what the load cost the machine that made it.
type GeneratorCost struct {
	UserSeconds   float64 `json:"user_seconds"`   // CPU, over the window
	SystemSeconds float64 `json:"system_seconds"` // CPU, over the window
	CPUPerMillion float64 `json:"cpu_seconds_per_million_ops"`
	BusyFraction  float64 `json:"busy_fraction"` // of the busiest worker, or of a core that workers share, without the spin of their loops
	// Shared are workers without threads of their own: BusyFraction is then that of
	// all cores that they can use.
	Shared         bool    `json:"shared,omitempty"`
	Workers        int     `json:"workers"`
	PacingLagP50   int64   `json:"pacing_lag_p50_ns"` // intended start -> sent; 0 in a closed loop
	PacingLagP99   int64   `json:"pacing_lag_p99_ns"`
	PacingLagMax   int64   `json:"pacing_lag_max_ns"`
	TargetRate     float64 `json:"target_rate"`       // operations a second; 0 in a closed loop
	NullNanosPerOp float64 `json:"null_ns_per_op"`    // the driver's own cost, measured with the null engine on this host
	Backend        string  `json:"backend,omitempty"` // io_uring, epoll, blocking
	// Embedded is a target that is a library in the workers' own threads: the CPU
	// here is its work then.
	Embedded bool `json:"embedded,omitempty"`
	// Stalls is nil where the generator did not watch itself.
	Stalls *Stalls `json:"stalls,omitempty"`
}

// Stalls tell for how long the generator itself stood still in the window: its
// process was stopped, its machine paused, or it got no core. Delays of less than
// 50 ms are those of any scheduler, and count as none.
type Stalls struct {
	// TickMax is the longest, and TickTotal the sum, by which the driver's own
	// tick, every 20 ms, came late.
	TickMax   int64 `json:"tick_late_max_ns"`
	TickTotal int64 `json:"tick_late_total_ns"`
	// WorkerMax is the longest, and WorkerTotal the sum for the worker that lost
	// the most, by which a worker went on later than it should: beyond what it
	// waited for, and not since the target or the kernel held it in a call.
	WorkerMax   int64 `json:"worker_late_max_ns"`
	WorkerTotal int64 `json:"worker_late_total_ns"`
}

// CounterDisconnected names the counter of an engine whose connections can be
// lost: seconds that a connection was down, since it was lost or could not be
// opened, on average over the load's connections. What the load itself closes to
// open anew is not down.
const CounterDisconnected = "disconnected"

// CounterFailedConnects names the counter of its vain attempts to connect.
const CounterFailedConnects = "failed_connects"

// Counter is an engine's own count at the edges of the window.
type Counter struct {
	Name  string  `json:"name"`
	Unit  string  `json:"unit"`
	Open  float64 `json:"open"`
	Close float64 `json:"close"`
}

// Figure is a named value that only the engine can know, such as one picked
// from a command's output.
type Figure struct {
	Name  string  `json:"name"`
	Unit  string  `json:"unit"`
	Value float64 `json:"value"`
	Text  string  `json:"text,omitempty"` // as it was printed, where it was
}

// Latency names one merged histogram of the window and where its log is.
type Latency struct {
	Kind string `json:"kind"` // a KindCount's, or "all"
	Type string `json:"type"` // service (sent -> done), response (intended -> done), lag (intended -> sent)
	File string `json:"file"` // HdrHistogram interval log, relative to the trial's directory
	// Censored counts operations that timed out and stand in the histogram
	// with the timeout as their (least possible) value.
	Censored uint64 `json:"censored"`
	Overflow uint64 `json:"overflow"` // beyond the histogram's range
}

// Steadiness judges whether the window was in one state.
type Steadiness struct {
	SlopePercent     float64 `json:"slope_percent"`     // least-squares change of throughput over the window, of its mean
	ExcursionPercent float64 `json:"excursion_percent"` // the largest distance of a tenth of the window from the mean
	Intervals        int     `json:"intervals"`
}

// ErrorKind counts errors alike, with the first one's text.
type ErrorKind struct {
	Kind  string `json:"kind"`
	Count uint64 `json:"count"`
	First string `json:"first"`
}
