// Package plan turns a plan file into factors, cells and trials: their order,
// seeds and hash. It is pure: it reads bytes and returns values, and every
// error names the line, what was found, what was expected and how to mend it.
package plan

import (
	"time"

	"bakeoff/record"
)

// A Plan is a bake-off as data. Slices keep the order written in the file.
type Plan struct {
	Title    string
	Question string // asked by the report's first line; made from the factors where absent

	Hosts     []Host
	Services  []Service
	Workloads []Workload
	Settings  []Setting // that hold for every trial
	Factors   []Factor

	Together bool // all workloads run at once in a trial; else they are a factor
	Ladder   bool // levels of the factors are cumulative, one step after another

	Compare  []Comparison
	Primary  []Primary
	Repeat   Repeat
	Order    Order
	Retries  int // how often a block with an invalid trial is repeated
	Limits   Limits
	Seed     uint64 // of the order and of every generator; from the plan's hash where absent
	SeedText string

	Telemetry Telemetry
	Money     Money

	Source []byte // the file, verbatim
	Hash   string // sha256:hex of Source
}

// Host is a machine that takes part.
type Host struct {
	Name      string
	Agent     string // "local" for this machine, "none" for one that is only declared
	Namespace string
	CPUs      string            // the cores that bakeoff's own generator may use there
	Facts     map[string]string // declared, for an agentless host
	Price     string            // as written, "31823.62 USD"
	Power     []PowerSource
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
	Command  []string          // empty: it runs already, at Endpoint
	Embedded string            // "kv": bakeoff's own server, started as a process of its own
	Options  map[string]string // of an embedded server
	Env      map[string]string
	Dir      string
	CPUs     string // cores to pin it to, "0-3"
	Endpoint string // URL the workloads use, "redis://127.0.0.1:6379"
	Ready    Ready
	Version  []string // command that prints its version
	Process  string   // name of the process to watch, for one that runs already
	Stop     Stop
	Restart  string // "trial" (default): started afresh for every trial; "cell"; "never"
}

// Ready says when a started service counts as up.
type Ready struct {
	Timeout time.Duration
	Command []string // exits 0 when up; without it, a connection to Endpoint is enough
}

// Stop says how a service is stopped: the signal, and how long before SIGKILL.
type Stop struct {
	Signal  string
	Timeout time.Duration
}

// Workload is one load: an engine, its parameters and where it runs.
type Workload struct {
	Name       string
	Engine     string
	Source     string // host
	Sink       string // host; "" for engines without one
	Service    string // whose endpoint is the target; or
	Target     string // a URL
	Instances  int
	Workers    int
	Rate       string // "30k": open loop
	Arrival    string
	Warmup     time.Duration
	Window     time.Duration
	OpTimeout  time.Duration
	DrainTime  time.Duration
	Deadline   time.Duration
	Parameters map[string]any // the engine's own
}

// Setting is one thing set on a host, with the value that a cell gives it.
type Setting struct {
	Host   string
	Kind   string // sysctl, file, governor, command; ethtool and others later
	Target string
	Value  any // text, or a map for kinds such as command {apply, read, restore}
}

// Factor is what is varied. The first level is the baseline unless named.
type Factor struct {
	Name     string
	Baseline string
	Hard     bool // randomised between whole plots, which then are its n
	Levels   []Level
}

// Level is one value of a factor: the paths it sets, in written order.
type Level struct {
	Name string
	Sets []Assignment
}

// Assignment gives one path of the description a value.
type Assignment struct {
	Path  string
	Value any
	Line  int
}

// Comparison is one effect the plan asks for: a factor's main effect, its
// simple effects at each combination of the others, or an interaction.
type Comparison struct {
	Factors []string // one for a main effect, two for an interaction
	Simple  bool     // inside each level of the others
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
	Collectors []string
	Processes  []string // beside those of the services
}

// Limits overrides the validity gates' thresholds; nil keeps the default.
type Limits struct {
	ErrorPercent *float64
	MissPercent  *float64
	StealPercent *float64
	SlopePercent *float64
	Excursion    *float64
	BusyPercent  *float64 // of the busiest generator worker
	RateShort    *float64 // how far below the target rate, in percent
}

// Money holds what costs need, as written.
type Money struct {
	Currency string
	Values   map[string]string
}
