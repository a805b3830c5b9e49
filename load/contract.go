// Package load holds the engine contracts and the only measuring loop: the
// drivers, the pacers, the ledger, and the generators of keys, values and sizes.
//
// An engine knows one kind of work (a protocol, a disk, a query set). It never
// times, paces, prints or starts goroutines in the measured path; the drivers
// here do, in the same way for all engines.
package load

import (
	"context"
	"time"

	"bakeoff/record"
)

// An Engine makes one kind of load. It is stateless; a Session holds the state.
type Engine interface {
	// Name is the engine's name in a plan, as "kv".
	Name() string
	// Describe documents the engine, its parameters and its kinds of operation.
	Describe() Description
	// Open validates the parameters and prepares a session. Nothing is sent
	// to the target before Session.Prepare or Session.Worker.
	Open(ctx context.Context, spec Spec) (Session, error)
}

// Description documents an engine for the plan's schema, its help and its errors.
type Description struct {
	Summary    string
	Parameters []Parameter
	Kinds      []string // of operation, in the order of Op and Completion kinds
	Parts      []Part
	// Target says what a target's URL looks like; "" leaves it to the command's help.
	Target string
	// Figures names what a Figurer of this engine gives, so that a plan may
	// judge it or search for its peak: nopm, say.
	Figures []string
}

// A Parameter is one key that the engine takes from a plan or the command line.
// Parameters that every engine shares (see Common) are not listed here.
type Parameter struct {
	Name    string
	Type    ParameterType
	Default string   // as written in a plan; "" where it has none
	Values  []string // allowed ones, for TypeEnum
	Unit    string
	Doc     string
	// Incomparable says that figures of different values follow different rules,
	// so that no plan may compare them.
	Incomparable bool
}

// ParameterType names how a parameter's text is read.
type ParameterType string

// The types of a parameter.
const (
	TypeString   ParameterType = "string"
	TypeBool     ParameterType = "bool" // true/false, on/off
	TypeInt      ParameterType = "int"  // 100k and 1M allowed
	TypeFloat    ParameterType = "float"
	TypeSize     ParameterType = "size"     // 32, 4K (KiB), 1MB
	TypeDuration ParameterType = "duration" // 5s, 200us
	TypeRate     ParameterType = "rate"     // operations a second: 30k, 1.5M
	TypePercent  ParameterType = "percent"
	TypeEnum     ParameterType = "enum"
	TypeList     ParameterType = "list"
	TypeMap      ParameterType = "map"
)

// A Part is one end of a load, bound to a host: sinks open first and close last.
type Part string

// The parts a session can have.
const (
	Source   Part = "source"
	Sink     Part = "sink"
	Observer Part = "observer"
)

// Spec is everything that one part of one workload needs to run once. It is
// serialisable: it crosses to the host that runs it.
type Spec struct {
	Workload   string            `json:"workload"`
	Part       Part              `json:"part"`
	Host       string            `json:"host"`
	Instance   int               `json:"instance"`
	Engine     string            `json:"engine"`
	Target     string            `json:"target,omitempty"` // URL of the service under test
	Parameters map[string]any    `json:"parameters"`       // the engine's own; unknown keys are refused by Open
	Secrets    map[string]string `json:"-"`                // never written anywhere
	Seed       uint64            `json:"seed"`
	Common     Common            `json:"common"`
	// Clock is the measuring clock, whose nanoseconds Op, Completion and
	// Batcher.Reap speak. Open of this package sets it before Engine.Open.
	Clock *Clock `json:"-"`
}

// Common holds the parameters that every engine shares; the driver acts on them.
type Common struct {
	Workers   int           `json:"workers"`   // OS threads (batches) or virtual users (blocking)
	InFlight  int           `json:"in_flight"` // operations in flight a worker; set by the engine through Shape
	Warmup    time.Duration `json:"warmup"`
	Window    time.Duration `json:"window"`     // 0: the trial ends when the work is done
	Deadline  time.Duration `json:"deadline"`   // of a trial that ends when done
	DrainTime time.Duration `json:"drain_time"` // how long to wait for what is in flight at the close
	OpTimeout time.Duration `json:"op_timeout"`
	Rate      float64       `json:"rate"`    // operations a second over all workers; 0 is a closed loop
	Arrival   Arrival       `json:"arrival"` // of an open loop
	MaxBurst  int           `json:"max_burst"`
	// Steps is a rate that changes over time, from the start of the warm-up,
	// in place of Rate: a staircase or a ramp. The last step's rate stays.
	Steps []RateStep `json:"steps,omitempty"`
	// Quantum is the least time between two wake-ups of an open loop. It saves
	// the generator's CPU and is paid in pacing lag, which is recorded.
	Quantum time.Duration `json:"quantum,omitempty"`
	CPUs    []int         `json:"cpus,omitempty"` // cores to pin workers to, in turn
}

// RateStep is a stretch of time in which the rate goes evenly from one value
// to another; the two are the same in a staircase.
type RateStep struct {
	Duration time.Duration `json:"duration"`
	From     float64       `json:"from"` // operations a second over all workers
	To       float64       `json:"to"`
}

// Arrival names how the operations of an open loop are spaced.
type Arrival string

// The arrival processes.
const (
	Constant Arrival = "constant"
	Poisson  Arrival = "poisson"
)

// A Session is one engine at work on one target. Its methods are called from
// one goroutine, in this order: Prepare, Worker (once a worker), Snapshot at
// both edges of the window, Verify and Figures where it has them, Close.
type Session interface {
	// Shape says how many workers the session wants, how many operations a
	// worker can have in flight, and which of the two contracts they follow.
	Shape() Shape
	// Prepare brings the data set to its starting state and describes it; it
	// returns nil where the load has none. Progress may be called from time to
	// time with a fraction of the whole.
	Prepare(ctx context.Context, progress func(fraction float64)) (*record.DataSet, error)
	// Worker opens worker number i of n: a Doer or a Batcher, as Shape says.
	// Calls never overlap. A Batcher is opened, used and closed on one locked
	// and pinned OS thread, so that it may own a ring or an epoll instance. A
	// worker is closed when its work is over: before Verify and Figures.
	Worker(ctx context.Context, i, n int) (Worker, error)
	// Snapshot reads the engine's and the target's own counters, while the
	// workers are at work. An engine with connections counts how long they are
	// down (record.CounterDisconnected): a gate rests on it.
	Snapshot(ctx context.Context) ([]Count, error)
	// Close ends the session and frees what it holds. It is safe to call twice.
	Close() error
}

// Shape says what a session's workers look like.
type Shape struct {
	Workers  int
	InFlight int // slots a worker: connections x pipeline, or 1 for a Doer
	Contract Contract
	Backend  string // io_uring, epoll, blocking: for the record
	// Done is true where the trial ends when the work is done rather than
	// after a window.
	Done bool
	// OpTimeout takes the place of Common.OpTimeout where the engine has a
	// parameter of its own for it, as one whose operations take minutes; 0: it has none.
	OpTimeout time.Duration
	// Rate is an open loop that the engine's own parameters ask for, in operations a
	// second over all workers, where Common has neither rate nor steps; 0: none.
	Rate float64
	// Embedded is a target that is a library in the workers' own threads: the CPU
	// that they take is the target's work, and says nothing of the generator.
	Embedded bool
}

// Contract names one of the two worker contracts.
type Contract string

// The two worker contracts.
const (
	Blocking Contract = "blocking" // a goroutine a virtual user: Doer
	Batched  Contract = "batched"  // an OS thread a worker: Batcher
)

// A Count is a counter of the engine or the target, read by Snapshot.
type Count struct {
	Name  string
	Unit  string
	Value float64
}

// A Worker is a Doer or a Batcher.
type Worker interface {
	Close() error
}

// A Doer does one blocking operation at a time.
type Doer interface {
	Worker
	// Do does one operation and fills in the outcome: op.Kind, Status, Items,
	// Bytes. An error means that the worker cannot go on; an operation
	// that failed is op.Status = Failed, with op.Err saying how. ErrDone ends
	// the work of this virtual user.
	Do(ctx context.Context, op *Op) error
}

// A Batcher takes and gives back operations in batches.
type Batcher interface {
	Worker
	// Submit takes operations and returns how many it took, from the front;
	// fewer than all means that no slot is free. An Op stands for Count
	// operations with one stamp; it is taken whole or not at all, may be
	// spread over slots, and may come back in several completions. Submit may
	// keep what it took in a buffer until Reap. ErrDone says that there is
	// nothing left to do: what is in flight is then reaped, and the work ends.
	//
	// A closed loop first submits Shape.InFlight operations of Count 1 and
	// Slot -1, then one Op for each completion, with its Count and Slot. An
	// open loop submits what is due, each with its own intended time and Slot
	// -1, never more than Shape.InFlight in flight.
	Submit(ops []Op) (int, error)
	// Reap sends what is buffered, waits until at least one operation is
	// complete or the clock reaches until (nanoseconds of Clock; 0: do not
	// wait), and appends what completed to dst. Every operation that Submit
	// took comes back exactly once, timed out and failed ones included.
	// An error means that the worker cannot go on; completions that come with
	// it still count. The driver never asks to wait for much more than 100 ms.
	Reap(dst []Completion, until int64) ([]Completion, error)
}

// Op is one operation, or Count of them with the same stamps.
type Op struct {
	Intended int64  // Clock nanoseconds at which it was due
	Sent     int64  // set by the driver before Submit or Do
	Count    uint32 // of operations; a Doer always gets 1
	Slot     int32  // the slot to use, as the completion that freed it named; -1 for any

	// Filled in by a Doer.
	Kind     uint8
	Status   OpStatus
	Items    uint32
	BytesIn  uint64
	BytesOut uint64
	Err      error
}

// Completion is an operation that came back, or Count of them with the same
// stamps, kind and status. Intended and Sent are those of the Op, unchanged.
type Completion struct {
	Intended int64
	Sent     int64
	Done     int64 // 0: the driver stamps it when Reap returns
	Count    uint32
	Slot     int32
	Items    uint32 // over all Count
	Kind     uint8
	Status   OpStatus
	BytesIn  uint64 // over all Count
	BytesOut uint64 // over all Count
	Err      error  // of a failed one; may be nil where a like one was reported before
}

// OpStatus says how an operation ended.
type OpStatus uint8

// The ways an operation ends.
const (
	OK       OpStatus = iota
	Miss              // completed, but what was asked for was not there
	Failed            // the target refused it or answered wrongly
	TimedOut          // no answer within OpTimeout; its true latency is longer
	Dropped           // given up before it was sent
)

// Side interfaces, for what only some sessions and workers can do.
type (
	// A Spinner is a Batcher that polls without waiting: it says how much CPU
	// it has spent so far on polls that found nothing, which is not work.
	Spinner interface {
		Spin() time.Duration
	}
	// A Pauser is a worker whose users pause between operations, as people do who
	// type and think. The driver waits, in a closed loop: a pause is neither part of
	// an operation's latency, nor is anything in flight meanwhile.
	Pauser interface {
		// Pauses says whether there are pauses at all. It does not change.
		Pauses() bool
		// Pause says how long the user of a slot pauses before the next operation;
		// it is called once before each. A Doer has slot 0; a Batcher's slots go
		// from 0 to Shape.InFlight - 1, and every one of its operations has Count 1
		// and the slot whose user paused.
		Pause(slot int32) time.Duration
	}
	// A Waiter is a Doer whose user may have to wait for other users before an
	// operation, as a stream that begins when another has ended. The driver calls
	// Wait before each, in a closed loop; an error, as that of ctx, ends the work.
	Waiter interface {
		Wait(ctx context.Context) error
	}
	// An Informer can read the target's version and the settings that matter to
	// the result. Called once, when the data set is prepared.
	Informer interface {
		Settings(ctx context.Context) (map[string]string, error)
	}
	// A Windower counts something by itself and wants to know in advance when the
	// window opens and closes, in nanoseconds of Spec.Clock: its Snapshots come a
	// little later than that. Called once, before the work begins; the close of work
	// that ends by itself lies beyond all times.
	Windower interface {
		Window(ctx context.Context, open, close int64) error
	}
	// A Verifier checks the data after the window; an error makes the trial invalid.
	Verifier interface {
		Verify(ctx context.Context) error
	}
	// A Figurer knows named values beyond the ledger's, such as those picked
	// from a command's output. Called after the drain.
	Figurer interface {
		Figures(ctx context.Context) ([]record.Figure, error)
	}
	// An Artifacter has files that belong to the record, such as what a
	// command printed, by names of letters, digits, ".", "_" and "-". Called
	// last, also after a failure.
	Artifacter interface {
		Artifacts() map[string][]byte
	}
	// A Forecaster can say, before Prepare, what Prepare will load; nil where it
	// loads nothing. It contacts nothing.
	Forecaster interface {
		Forecast() *record.DataSet
	}
	// A Fingerprinter can say what state the data set is in now.
	Fingerprinter interface {
		Fingerprint(ctx context.Context) (record.DataSet, error)
	}
)
