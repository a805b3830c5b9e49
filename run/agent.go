// Package run executes a plan: it journals every step before it takes it,
// resumes where a crash left off, and puts back every setting it changed.
package run

import (
	"context"

	"bakeoff/load"
	"bakeoff/record"
)

// An Agent acts on one host. Everything that crosses it is serialisable: the
// in-process agent is one implementation, agents on other hosts are another.
type Agent interface {
	// Facts says what the host is now.
	Facts(ctx context.Context) (record.Facts, error)

	// ReadSettings returns the present value of each setting, in order, nil
	// where it cannot be read.
	ReadSettings(ctx context.Context, s []SettingSpec) ([]*string, error)
	// ApplySetting sets one value.
	ApplySetting(ctx context.Context, s SettingSpec) error
	// RestoreSetting puts back the value that ReadSettings found before.
	RestoreSetting(ctx context.Context, s SettingSpec, before string) error

	// StartService starts a server under test, pinned, and returns when it is
	// ready. One that runs already is found and described.
	StartService(ctx context.Context, s ServiceSpec) (record.Service, error)
	// StopService stops it: politely, then by SIGKILL after its timeout.
	StopService(ctx context.Context, name string) error

	// OpenLoad opens sessions and prepares their data sets.
	OpenLoad(ctx context.Context, specs []load.Spec, progress func(load.Progress)) ([]record.DataSet, error)
	// Measure runs what OpenLoad opened: warm-up, window, drain, verification,
	// with telemetry around it.
	Measure(ctx context.Context, watch WatchSpec, progress func(load.Progress)) (Measured, error)
	// CloseLoad closes the sessions. It is safe to call when none is open.
	CloseLoad(ctx context.Context) error
}

// SettingSpec is one setting to be applied on a host.
type SettingSpec struct {
	Kind   string `json:"kind"`
	Target string `json:"target"`
	Value  string `json:"value"`
	// Apply, Read and Restore are the command triple of kind "command".
	Apply   []string `json:"apply,omitempty"`
	Read    []string `json:"read,omitempty"`
	Restore []string `json:"restore,omitempty"`
}

// ServiceSpec is a server under test, resolved for one cell.
type ServiceSpec struct {
	Name         string            `json:"name"`
	Command      []string          `json:"command,omitempty"`
	Env          map[string]string `json:"env,omitempty"`
	Dir          string            `json:"dir,omitempty"`
	CPUs         string            `json:"cpus,omitempty"`
	Endpoint     string            `json:"endpoint"`
	ReadySeconds float64           `json:"ready_seconds"`
	Ready        []string          `json:"ready,omitempty"`
	Version      []string          `json:"version,omitempty"`
	Process      string            `json:"process,omitempty"`
	Signal       string            `json:"signal,omitempty"`
	StopSeconds  float64           `json:"stop_seconds"`
	Log          string            `json:"log,omitempty"` // file that takes its output
}

// WatchSpec says what telemetry is taken while a load is measured.
type WatchSpec struct {
	IntervalSeconds float64          `json:"interval_seconds"`
	Collectors      []string         `json:"collectors,omitempty"` // empty: all that are supported
	Processes       map[string][]int `json:"processes,omitempty"`  // name -> PIDs
	Power           []PowerSpec      `json:"power,omitempty"`
}

// PowerSpec is one source of watts.
type PowerSpec struct {
	Kind    string            `json:"kind"`
	Class   string            `json:"class"`
	Options map[string]string `json:"options,omitempty"`
}

// Measured is what one host's loads and collectors produced in one trial.
type Measured struct {
	Results  []load.Result          `json:"results"`
	Readings []record.Reading       `json:"readings"`
	Costs    []record.CollectorCost `json:"costs"`
}
