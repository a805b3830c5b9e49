package run

import (
	"context"
	"errors"
	"fmt"
	"time"

	"bakeoff/internal/osenv"
	"bakeoff/load"
	"bakeoff/plan"
	"bakeoff/record"
)

// Config is everything that a run needs.
type Config struct {
	Plan *plan.Plan
	// Dir is the directory that run directories are made in. Resume is the run
	// directory to go on with; "" begins a new run.
	Dir    string
	Resume string

	Agents  map[string]Agent // by the plan's name of the host
	Engines func(name string) (load.Engine, error)

	Host    string   // this machine's name; a run resumes only where it began
	Build   string   // of this binary
	Command []string // the command line, for the record
	Clock   osenv.Clock
	// PostHocOf is the root hash of a record to which this run adds blocks.
	PostHocOf string

	// LockDir is a directory that all users of this machine share; a lock in it
	// keeps a second run off.
	LockDir string
	// Progress is told of every step, as it happens. It may be nil.
	Progress func(Event)
	// Stop, once closed, ends the run after the trial that is under way, or in
	// the midst of it where that would take longer than Patience. To restore
	// and stop at once, cancel the context.
	Stop <-chan struct{}
	// Patience is how long a stop waits for the trial under way; 0 is 30 s.
	Patience time.Duration
	// Stall is how long a phase may show no progress; 0 is 2 min.
	Stall time.Duration
}

// Outcome says how a run ended.
type Outcome string

// The ways in which a run ends.
const (
	Done    Outcome = "done"    // every trial that the plan asks for, and the record is sealed
	Stopped Outcome = "stopped" // by the operator; it can be resumed
	Broken  Outcome = "broken"  // something on this machine is in the way; it can be resumed once that is mended
	GivenUp Outcome = "given-up"
)

// Summary is what a run came to.
type Summary struct {
	Dir      string
	Outcome  Outcome
	RootHash string // of the sealed record; "" where it is not
	// Trials counts those in the record by status, of this process and those before.
	Trials map[record.Status]int
	// Resumable says that running the same plan on Dir goes on where it ended.
	Resumable bool
	// Next says what to do now, in a sentence.
	Next string
}

// errStopped ends a trial because the operator asked to stop.
var errStopped = errors.New("stopped by the operator")

// A LeftoverError says that something could not be put back as it was.
type LeftoverError struct {
	What string // that is still as the run left it, and how to mend it by hand
	Err  error
}

// Error says what is left, and why.
func (e *LeftoverError) Error() string { return fmt.Sprintf("%s: %v", e.What, e.Err) }

// Unwrap returns why it could not be put back.
func (e *LeftoverError) Unwrap() error { return e.Err }

// A RefusedError says why a run cannot be resumed: nothing was done.
type RefusedError struct{ err error }

func (e *RefusedError) Error() string { return e.err.Error() }
func (e *RefusedError) Unwrap() error { return e.err }

// A recordError says that the record could not be written.
type recordError struct{ err error }

func (e *recordError) Error() string { return "writing the record: " + e.err.Error() }
func (e *recordError) Unwrap() error { return e.err }

func (c *Config) withDefaults() (Config, error) {
	out := *c
	if out.Patience == 0 {
		out.Patience = 30 * time.Second
	}
	if out.Stall == 0 {
		out.Stall = 2 * time.Minute
	}
	if out.Progress == nil {
		out.Progress = func(Event) {}
	}
	for name, missing := range map[string]bool{
		"Plan": out.Plan == nil, "Engines": out.Engines == nil, "Clock": out.Clock == nil, "LockDir": out.LockDir == "", "Host": out.Host == "",
	} {
		if missing {
			return out, fmt.Errorf("run: the configuration has no %s", name)
		}
	}
	return out, nil
}

// detached is a context for putting things back: it outlives the run's own.
func detached(ctx context.Context, limit time.Duration) (context.Context, context.CancelFunc) {
	return context.WithTimeout(context.WithoutCancel(ctx), limit)
}
