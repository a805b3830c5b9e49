// Package plan turns a plan file into factors, cells and trials: their order,
// seeds and hash. It is pure: it reads bytes and returns values, and every
// error names the line, what was found, what was expected and how to mend it.
//
// A plan describes hosts, services and workloads. A level of a factor is a map
// path -> value into that description. Resolve gives the description of one
// cell with the values in place; it is what a trial runs. The fields Hosts,
// Services, Workloads and Settings of Plan are the description before any
// level: what a level sets may be missing there.
package plan

import (
	"time"

	"bakeoff/record"
)

// A Plan is a bake-off as data. Slices keep the order written in the file.
type Plan struct {
	Name     string // of the file
	Title    string
	Question string // asked by the report's first line; made from the factors where absent

	Hosts     []Host
	Services  []Service
	Workloads []Workload
	Settings  []Setting // that hold for every trial
	// Factors in written order. Several workloads that do not run together are
	// the factor WorkloadFactor, which comes last and sets nothing.
	Factors []Factor

	Together bool // all workloads run at once in a trial; else they are a factor
	Ladder   bool // levels of the one factor are cumulative, one step after another

	Graded *Graded // nil: cells are run as they are described
	Peak   *Peak   // nil: no search for a best load

	Compare []Comparison
	Primary []Primary
	Repeat  Repeat
	Order   Order
	Retries int // how often a block with an invalid trial is repeated
	// AA adds a trial of the baseline to each block, so that the baseline is
	// compared with itself. The plan or the command line sets it.
	AA     bool
	Limits Limits
	Seed   uint64 // of the order and of every generator; from the plan's hash where absent

	Telemetry Telemetry
	Money     Money

	Source []byte // the file, verbatim
	Hash   string // sha256:hex of Source

	tree *node // the description, for Resolve
}

// WorkloadFactor is the name of the factor that several workloads form.
const WorkloadFactor = "workload"

// Host is a machine that takes part.
type Host struct {
	Name      string
	Agent     string // AgentLocal or AgentNone
	Namespace string // network namespace that loads and services run in
	CPUs      string // the cores that bakeoff's own generator may use there, "0-3,8"
	Facts     []Fact // declared, for a host without an agent
	Price     string // as written, "31823.62 USD"; "" where not given
	Support   string // for it and a year, as written; "" where not given
	Power     []PowerSource
}

// The agents that can act on a host.
const (
	AgentLocal = "local" // this machine
	AgentNone  = "none"  // nobody: the host is only declared
)

// Fact is one declared fact of a host.
type Fact struct {
	Name, Value string
}

// PowerSource says where a host's watts are read.
type PowerSource struct {
	Kind    string            // rapl, redfish, ipmi, snmp, prometheus, csv, command
	Class   string            // wall-meter, psu, bmc, rapl
	Options map[string]string // the rest, as written; secrets by file or environment only
}

// Service is a server under test: how to start, check and stop it, or where it
// already runs.
type Service struct {
	Name     string
	Host     string
	Command  []string          // empty: it runs already, at Endpoint; Resolve replaces {option}
	Embedded string            // "kv": bakeoff's own server, started as a process of its own
	Options  map[string]string // of an embedded server, or for {option} in Command, Env, Endpoint, Ready and Version
	Env      map[string]string
	Dir      string // working directory; "" is one of the run's own
	CPUs     string // cores to pin it to, "0-3"
	Endpoint string // URL the workloads use, "redis://127.0.0.1:6379"
	Ready    Ready
	Version  []string // command that prints its version
	Process  string   // name of the process to watch, for one that runs already
	Stop     Stop
	Restart  Restart
	Always   bool // runs in every trial, although no workload names it
}

// Restart says how long a started service lives.
type Restart string

// The lives of a service.
const (
	RestartTrial Restart = "trial" // started afresh for every trial; the default
	RestartCell  Restart = "cell"  // kept while the cell stays the same
	RestartNever Restart = "never" // started once, kept until its own description changes or the run ends
)

// Ready says when a started service counts as up.
type Ready struct {
	Timeout time.Duration // 30s where not given
	Command []string      // exits 0 when up; without it, a connection to Endpoint is enough
}

// Stop says how a service is stopped: the signal, and how long before SIGKILL.
type Stop struct {
	Signal  string        // TERM where not given
	Timeout time.Duration // 10s where not given
}

// Workload is one load: an engine, its parameters and where it runs.
type Workload struct {
	Name      string
	Engine    string
	Source    string // host
	Sink      string // host; "" for engines without one
	Service   string // whose endpoint is the target; or
	Target    string // a URL; Resolve puts the service's endpoint here
	Instances int    // of the load, 1 where not given
	Workers   int    // 0: the engine decides
	Rate      string // "30k": open loop; "" is a closed loop
	Peak      string // "50k": the rate at 100 % of a graded plan; "" where not given
	Arrival   string // constant or poisson; "" is constant
	MaxBurst  int    // 0: the driver decides
	Warmup    time.Duration
	Window    time.Duration // 0: the trial ends when the work is done
	OpTimeout time.Duration // 0: the driver decides
	DrainTime time.Duration // 0: the driver decides
	Deadline  time.Duration // of work that ends when done
	Secrets   []Secret
	// Parameters are the engine's own, exactly as written: each is a string, a
	// []any or a map[string]any of these. The engine reads the text by the
	// parameter's type, so that 010 or 2024-01-01 reaches it unchanged.
	Parameters map[string]any
}

// Secret names where a secret comes from; the secret itself is never in a plan.
type Secret struct {
	Name string // as the engine knows it, "password"
	File string // whose first line it is; or
	Env  string // the environment variable that holds it
}

// Setting is one thing set on a host, with the value that a cell gives it.
type Setting struct {
	Host   string
	Kind   string // sysctl, file, governor, command
	Target string // sysctl key, path, command's name; "" for governor
	Value  string // wanted, as read back
	// The commands of kind command: {value} in Apply is the value, Read prints
	// it, {before} in Restore is what Read printed before.
	Apply, Read, Restore []string
}

// Factor is what is varied. The first level is the baseline unless named.
type Factor struct {
	Name     string
	Baseline string
	Hard     bool // randomised between whole plots, which then are its n
	Levels   []Level
	Line     int
}

// Level is one value of a factor: the paths it sets, in written order, with
// wildcards replaced by the names they stand for.
type Level struct {
	Name string
	Sets []Assignment
	Line int
}

// Assignment gives one path of the description a value: a string, []any or
// map[string]any, as in Workload.Parameters.
type Assignment struct {
	Path  string
	Value any
	Line  int

	keys  pathKeys
	value *node
}

// Comparison is one effect the plan asks for: a factor's main effect, its
// simple effects inside levels of others, or an interaction of two factors.
type Comparison struct {
	Factors []string // one for a main or simple effect, two for an interaction
	Within  []string // the factors whose levels are held fixed, of a simple effect
	Simple  bool     // inside each level of Within
}

// Primary is a measure on which the bake-off is judged.
type Primary struct {
	Measure string
	Better  record.Direction
	Margin  float64 // smallest difference that matters, as a fraction: 0.02 for 2 %
}

// Repeat says how many blocks there are: Blocks, fixed in advance; or a pilot
// that fixes the number for the wanted interval half-width (Stein's two stages).
type Repeat struct {
	Blocks int
	Pilot  int
	Until  float64 // half-width of the interval, as a fraction
	Max    int
}

// Order says how the trials of a block are ordered.
type Order string

// The orders.
const (
	OrderBlocks Order = "blocks" // each block a seeded shuffle of all cells
	OrderABBA   Order = "abba"   // two cells: A B, B A, ...
)

// Telemetry says what is watched, and how often.
type Telemetry struct {
	Interval   time.Duration
	Collectors []string // empty: all that the host supports
	Processes  []string // beside those of the services
}

// Limits overrides the validity gates' thresholds; nil keeps the default.
// Values are in percent.
type Limits struct {
	ErrorPercent *float64
	MissPercent  *float64
	StealPercent *float64
	SlopePercent *float64
	Excursion    *float64
	BusyPercent  *float64 // of the busiest generator worker
	RateShort    *float64 // how far below the target rate
	Neighbours   *float64 // of the host's CPU time, taken by others
	Stall        *float64 // of the window, for which the generator may stand still at a time
	Silence      *float64 // of the window, in which next to nothing may come back at a time
	Disconnected *float64 // of the window, for which an average connection may be down
}

// Resolved is the description of one cell: what a trial of it runs.
type Resolved struct {
	Cell      record.Cell
	Hosts     []Host
	Services  []Service // those that the cell's workloads name, and those that always run
	Workloads []Workload
	Settings  []Setting
}

// Trial is one measured run that the plan asks for.
type Trial struct {
	ID      record.TrialID // four-digit sequence number in the run
	Role    record.Role
	Block   int // pass over all cells, from 1; 0 in a peak search
	Attempt int // of the block, from 1; of the load in a peak search
	Cell    record.Cell
	At      string // the load, of a plan that searches for peaks
	Seed    uint64 // of every generator; the same for all trials of a block
}

// Outcome is how a trial ended, as the journal tells it. Outcomes are all that
// Next goes by, in the order in which the trials were begun.
type Outcome struct {
	Trial  Trial
	Status record.Status // as measured: of an excluded trial, the status it had before
	// Excluded is true where the operator left the trial out of the verdicts.
	// It never changes which trials are run.
	Excluded bool
	Reason   string
	// Values are those of the primary measures, and of what a peak search
	// looks at. They are needed for a plan that is repeated until a precision
	// is reached, and for the trials of a search.
	Values []Value
}

// Value is one measure in one trial.
type Value struct {
	Workload string // "" for measures of a host
	Measure  string
	Value    float64
}

// Catalog knows what a plan may name. A nil Catalog leaves engines, their
// parameters and collectors unchecked, as a reader of records wants it.
type Catalog interface {
	Engines() []Engine
	Collectors() []string
}

// Engine describes one engine to the plan.
type Engine struct {
	Name       string
	Parameters []Parameter // beside those that every workload has
	Kinds      []string    // of operation
	Figures    []string    // that it gives of its own, as nopm
	Target     bool        // it needs a service or a target
	Embedded   bool        // bakeoff has an embedded server for it
	Options    []Option    // of the embedded server
	// Check, where it is not nil, judges what the types of the parameters
	// cannot tell. It contacts nothing.
	Check func(w Workload) error
}

// Option describes one option of an embedded server.
type Option struct {
	Name  string
	Check func(value string) error // says what is wrong with a value; nil takes any
}

// Parameter describes one parameter of an engine. Type is one of string, bool,
// int, float, size, duration, rate, percent, enum, list and map.
type Parameter struct {
	Name    string
	Type    string
	Default string
	Values  []string // of an enum
	Doc     string
	// Incomparable values are never to be mixed in one plan.
	Incomparable bool
}
