package record

import (
	"strings"
	"time"
)

// A Level names one value of one factor, as in {Factor: "server", Level: "redis"}.
type Level struct {
	Factor string `json:"factor"`
	Level  string `json:"level"`
}

// A Cell is one combination of levels, in the order of the plan's factors.
type Cell []Level

// Key is the cell's canonical name, "factor=level" pairs joined by ", ".
func (c Cell) Key() string {
	parts := make([]string, len(c))
	for i, l := range c {
		parts[i] = l.Factor + "=" + l.Level
	}
	return strings.Join(parts, ", ")
}

// Level returns the level of the named factor, and whether the cell has it.
func (c Cell) Level(factor string) (string, bool) {
	for _, l := range c {
		if l.Factor == factor {
			return l.Level, true
		}
	}
	return "", false
}

// Status says how a trial ended.
type Status string

// The ways in which a trial ends. Excluded is an operator's decision, recorded
// with a reason; it never deletes anything.
const (
	StatusComplete Status = "complete" // measured, and no hard gate objected
	StatusInvalid  Status = "invalid"  // measured, but a hard gate objected
	StatusFailed   Status = "failed"   // could not be measured
	StatusExcluded Status = "excluded" // left out by the operator
	// StatusInterrupted marks a trial that the operator or a crash cut short.
	// It says nothing about the system under test: the same cell of the same
	// attempt is measured again, in the next trial.
	StatusInterrupted Status = "interrupted"
)

// Role says what a trial is for. Only measured trials are judged.
type Role string

// The purposes of a trial.
const (
	RoleMeasure Role = "measure" // counts for the verdicts
	RoleAA      Role = "aa"      // the baseline against itself: the lab's noise floor
	RoleSearch  Role = "search"  // looks for the peak of its cell; never judged
)

// TrialID identifies one trial inside a run: its four-digit sequence number,
// which is also the name of its directory below trials/.
type TrialID string

// A Trial is one measured run of one cell, as written to trials/ID/trial.json.
type Trial struct {
	ID      TrialID `json:"id"`
	Role    Role    `json:"role"`
	Block   int     `json:"block"`   // pass over all cells, from 1; 0 in a search
	Attempt int     `json:"attempt"` // of the block, from 1; a block with an invalid trial is repeated whole
	Cell    Cell    `json:"cell"`
	// At is the load of a plan that searches for peaks: the value that
	// peak.over had in this trial.
	At   string `json:"at,omitempty"`
	Seed uint64 `json:"seed"` // seeds every generator of this trial

	Status  Status    `json:"status"`
	Reason  string    `json:"reason,omitempty"` // why it failed, is invalid or was excluded
	Started time.Time `json:"started"`
	Ended   time.Time `json:"ended"`

	Phases   []Phase          `json:"phases"`
	Settings []AppliedSetting `json:"settings,omitempty"`
	Services []Service        `json:"services,omitempty"`
	Loads    []Load           `json:"loads"`
	Warnings []Warning        `json:"warnings,omitempty"`

	// FactsBefore and FactsAfter map a host's name to the file, relative to
	// the run directory, that holds its facts at that moment.
	FactsBefore map[string]string `json:"facts_before,omitempty"`
	FactsAfter  map[string]string `json:"facts_after,omitempty"`
	// Readings maps a host's name to its Parquet file of telemetry.
	Readings map[string]string `json:"readings,omitempty"`
	// Costs maps a host's name to what its collectors cost and missed.
	Costs map[string][]CollectorCost `json:"costs,omitempty"`
}

// A Phase is one step of a trial's life, with the wall clock at its edges.
type Phase struct {
	Name    string    `json:"name"` // a run.Phase* name: apply, prepare, measure ...
	Started time.Time `json:"started"`
	Ended   time.Time `json:"ended"`
	Error   string    `json:"error,omitempty"`
}

// Severity orders warnings: a hard one makes a trial or a finding invalid.
type Severity string

// The severities of a warning.
const (
	SeverityHard Severity = "hard" // the trial or finding is invalid
	SeveritySoft Severity = "soft" // printed beside the figure it may have changed
	SeverityNote Severity = "note" // worth knowing; changes nothing
)

// A Warning is a validity gate that objected. It travels with the numbers.
type Warning struct {
	Gate      string   `json:"gate"` // stable name, as "generator-saturated"
	Severity  Severity `json:"severity"`
	Subject   string   `json:"subject,omitempty"` // what it is about: a host, a load, a setting, a cell
	Found     string   `json:"found"`             // with its unit
	Threshold string   `json:"threshold"`         // with its unit
	Advice    string   `json:"advice"`            // what to do about it
	Trial     TrialID  `json:"trial,omitempty"`   // the trial it arose in
	Cell      string   `json:"cell,omitempty"`    // Cell.Key(), where it is about one
}

// AppliedSetting is one setting as it was found, asked for, read back and restored.
type AppliedSetting struct {
	Host     string  `json:"host"`
	Kind     string  `json:"kind"`   // sysctl, file, governor, command ...
	Target   string  `json:"target"` // what is set: a key, a path, a name
	Before   *string `json:"before"` // nil where it could not be read
	Wanted   string  `json:"wanted"`
	ReadBack *string `json:"read_back"` // after apply
	AtEnd    *string `json:"at_end"`    // read again after the window
	Restored *string `json:"restored"`  // read after restore
}

// Service is a server under test as it ran in one trial.
type Service struct {
	Name     string            `json:"name"`
	Host     string            `json:"host"`
	Command  []string          `json:"command,omitempty"` // empty where it already ran
	PIDs     []int             `json:"pids,omitempty"`
	CPUs     string            `json:"cpus,omitempty"` // the cores it was pinned to, as "0-3"
	Endpoint string            `json:"endpoint,omitempty"`
	Version  string            `json:"version,omitempty"`
	Facts    map[string]string `json:"facts,omitempty"` // settings of the server that matter
}
