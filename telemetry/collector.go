// Package telemetry watches a host while a load is measured: the collector
// contract, the sampler that owns the cadence, and the collectors.
package telemetry

import (
	"context"

	"bakeoff/record"
)

// A Collector reads one source, such as /proc/stat.
type Collector interface {
	// Describe names the collector and every metric it can give.
	Describe() Description
	// Probe says whether the source is there.
	Probe(ctx context.Context) Probed
	// Collect appends the present values to dst. The sampler stamps the
	// readings with the start and end of the call.
	Collect(ctx context.Context, dst []Sample) ([]Sample, error)
}

// Description documents a collector.
type Description struct {
	Name    string // as "cpu"
	Summary string
	Source  string // as "/proc/stat (proc(5))"
	Metrics []Metric
	// Class, Cadence and Uncertainty describe a meter; empty for the rest.
	Class       string
	Cadence     float64  // seconds between the source's own updates
	Uncertainty *float64 // percent
}

// A Metric is one quantity that a collector gives.
type Metric struct {
	Name string // as "cpu.user"
	Unit string // as "s", "B", "1", "W"
	Kind record.MetricKind
	Doc  string
}

// A Sample is one value without its stamps.
type Sample struct {
	Metric   *Metric
	Instance string
	Value    float64
	// At is the value's own moment, in nanoseconds of Unix time, where the
	// source states one, as a meter's log does; 0 leaves it to the sampler.
	At int64
}

// Side interfaces, for what only some collectors have.
type (
	// A Closer holds something beyond the last sample, such as a session on
	// another machine. The sampler closes it when it stops.
	Closer interface {
		Close(ctx context.Context) error
	}
	// A Noter noticed what the readings' user should know, such as a source
	// that contradicts itself: a sentence each, none twice. Asked for after Close.
	Noter interface {
		Notes() []string
	}
)

// Probed says whether a collector's source is there.
type Probed struct {
	Support Support
	Reason  string // why not, or why it could not tell
}

// Support is the outcome of a probe.
type Support string

// The outcomes of a probe.
const (
	Supported   Support = "supported"
	Unsupported Support = "unsupported"
	Unknown     Support = "unknown"
)
