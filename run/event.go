package run

import (
	"time"

	"bakeoff/load"
	"bakeoff/plan"
	"bakeoff/record"
)

// EventKind names what an Event tells.
type EventKind string

// The events of a run, in the order in which they come.
const (
	RunBegins    EventKind = "run-begins"    // Dir; Undone where a crash had left something
	TrialBegins  EventKind = "trial-begins"  // Trial, Index, Total, ETA
	PhaseBegins  EventKind = "phase-begins"  // Trial, Phase
	Measuring    EventKind = "measuring"     // Trial, Phase, Progress: once a second and workload
	PhaseEnds    EventKind = "phase-ends"    // Trial, Phase, Err
	TrialEnds    EventKind = "trial-ends"    // Trial, Status, Text, Warnings, ETA
	StopAccepted EventKind = "stop-accepted" // Text: what happens next
	RunEnds      EventKind = "run-ends"      // Text
)

// An Event is one step of a run, for whoever watches it. Events come from one
// goroutine at a time, and the run waits for their receiver.
type Event struct {
	Kind  EventKind
	At    time.Time
	Dir   string
	Trial plan.Trial
	// Index is the trial's place in the run, from 1. Total is how many the plan
	// asks for as far as it is known, repeated blocks included as they come.
	Index, Total int
	// ETA is the time until the run's end, nil where nothing is known yet.
	ETA      *time.Duration
	Phase    string
	Progress *load.Progress
	Status   record.Status
	Warnings []record.Warning
	Err      error
	Text     string
	Undone   []string
}

// The phases of a trial. They stand in the journal and in trial.json.
const (
	PhaseResolve     = "resolve"      // the cell's description, as the agents get it
	PhaseApply       = "apply"        // settings: read, journalled, set
	PhaseReadBack    = "read-back"    // settings: read again
	PhaseStart       = "start"        // services under test
	PhasePrepare     = "prepare"      // data sets: loaded or kept, and fingerprinted
	PhaseFactsBefore = "facts-before" // what the machines are
	PhaseMeasure     = "measure"      // warm-up, window, drain, verification
	PhaseFactsAfter  = "facts-after"  // and whether the settings still hold
	PhaseStop        = "stop"         // loads closed, services stopped
	PhaseRestore     = "restore"      // settings as they were
	PhaseWrite       = "write"        // the trial's files
)
