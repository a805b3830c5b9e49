// Package run executes a plan: it journals every step before it takes it,
// resumes where a crash left off, and puts back every setting it changed.
package run

import (
	"context"

	"bakeoff/host"
	"bakeoff/load"
	"bakeoff/plan"
	"bakeoff/record"
)

// An Agent acts on one machine. Everything that crosses it is serialisable: the
// in-process agent (Local) is one implementation, package fleet carries the calls
// to others. Calls never overlap, but for those of different agents.
type Agent interface {
	// Check says what would keep these settings, services and loads from
	// running here: a problem a line, each with how to mend it. It changes
	// nothing.
	Check(ctx context.Context, job Job) ([]string, error)
	// Facts says what the machine is now.
	Facts(ctx context.Context) (record.Facts, error)

	// ReadSettings returns the present value of each setting, in order, nil
	// where it cannot be read.
	ReadSettings(ctx context.Context, s []SettingSpec) ([]*string, error)
	// ApplySetting sets one value; one that is not in effect afterwards is an error.
	ApplySetting(ctx context.Context, s SettingSpec) error
	// RestoreSetting puts back the value that ReadSettings found before.
	RestoreSetting(ctx context.Context, s SettingSpec, before string) error

	// StartService starts a server under test, pinned, and returns when it is
	// ready. One that runs already is found and described.
	StartService(ctx context.Context, s ServiceSpec) (record.Service, error)
	// StopService stops it: politely, then by SIGKILL after its timeout. It is
	// safe to call for one that is not running.
	StopService(ctx context.Context, name string) (Ended, error)
	// CheckService returns an error, with the end of its output, where a
	// service that was started has died.
	CheckService(ctx context.Context, name string) error
	// EndOrphans ends processes that an earlier process of bakeoff started
	// and did not live to stop, and no others. It returns what it ended, in words.
	EndOrphans(ctx context.Context, orphans []Orphan) ([]string, error)

	// OpenLoad opens sessions and prepares their data sets: one DataSet for
	// each spec, nil for a load without one. What is open stays. Progress may be
	// called from time to time, from one goroutine.
	OpenLoad(ctx context.Context, specs []LoadSpec, progress func(load.Progress)) ([]*record.DataSet, error)
	// Measure runs what OpenLoad opened: warm-up, window, drain, verification,
	// with telemetry around it. What was measured until an error comes with it.
	// Where nothing is open, progress is called once telemetry is being taken,
	// which lasts until ctx is done and is no error then.
	Measure(ctx context.Context, watch WatchSpec, progress func(load.Progress)) (Measured, error)
	// CloseLoad closes the sessions. It is safe to call when none is open.
	CloseLoad(ctx context.Context) error
}

// SettingSpec is one setting to be applied on a machine.
type SettingSpec = host.SettingSpec

// ServiceSpec is a server under test, resolved for one cell.
type ServiceSpec struct {
	host.ServiceSpec
	// Embedded names bakeoff's own server ("kv"), started as a process of its
	// own from the agent's own binary; Command is then empty.
	Embedded string            `json:"embedded,omitempty"`
	Options  map[string]string `json:"options,omitempty"` // of an embedded server
	// OwnDir says that Dir is the run's: it is emptied before each start, so
	// that nothing of the last trial is found there.
	OwnDir bool `json:"own_dir,omitempty"`
}

// Ended is what is left of a service that was stopped.
type Ended struct {
	// Log is the end of what it printed, at most 1 MiB.
	Log []byte `json:"log,omitempty"`
}

// An Orphan identifies the processes of a service, or those that loads started,
// so that they can be ended after a crash, and nothing else in their place.
type Orphan struct {
	Name string `json:"name"` // of the service; "" for the loads
	// PIDFile is where the agent keeps the processes' identity, from before
	// they are started until they have stopped.
	PIDFile string `json:"pid_file"`
}

// LoadSpec is one part of one workload, for the machine that runs it.
type LoadSpec struct {
	load.Spec
	// SecretsFrom names files and environment variables of the machine that
	// runs the load: the secrets themselves never cross.
	SecretsFrom []plan.Secret `json:"secrets_from,omitempty"`
	// GeneratorCPUs lists the cores of the load's workers ("2-5"); empty: those
	// that no service is pinned to.
	GeneratorCPUs string `json:"generator_cpus,omitempty"`
}

// WatchSpec says what telemetry is taken while a load is measured.
type WatchSpec struct {
	Host            string           `json:"host"` // stands in every reading
	IntervalSeconds float64          `json:"interval_seconds"`
	Collectors      []string         `json:"collectors,omitempty"` // empty: all that are supported
	Processes       map[string][]int `json:"processes,omitempty"`  // name -> PIDs
	Names           []string         `json:"names,omitempty"`      // processes to be found by name
	Power           []PowerSpec      `json:"power,omitempty"`
	// Meters are those of hosts without an agent, which this machine reads.
	Meters []MeterSpec `json:"meters,omitempty"`
	// PIDFile is where the identity of what the loads start is kept while they
	// run, for EndOrphans.
	PIDFile string `json:"pid_file,omitempty"`
	// NoEnergy says that another host of the plan is the same machine and reads
	// its energy counters: they are not to be counted twice.
	NoEnergy bool `json:"no_energy,omitempty"`
}

// MeterSpec lists the sources of watts of a host that nobody acts on.
type MeterSpec struct {
	Host  string      `json:"host"`
	Power []PowerSpec `json:"power"`
}

// Metered is what the meters of such a host gave.
type Metered struct {
	Host     string                 `json:"host"`
	Readings []record.Reading       `json:"readings"`
	Costs    []record.CollectorCost `json:"costs"`
}

// PowerSpec is one source of watts.
type PowerSpec struct {
	Kind    string            `json:"kind"`
	Class   string            `json:"class"`
	Options map[string]string `json:"options,omitempty"`
}

// Measured is what one machine's loads and collectors produced in one trial.
type Measured struct {
	Results  []load.Result          `json:"results"` // in the order of OpenLoad's specs
	Readings []record.Reading       `json:"readings"`
	Costs    []record.CollectorCost `json:"costs"`
	Warnings []record.Warning       `json:"warnings,omitempty"` // of placing the loads
	Metered  []Metered              `json:"metered,omitempty"`  // for WatchSpec.Meters, in order
}
