// Package power reads the power of a host from meters: of the wall, of its
// supplies, of its management controller, of its processor.
//
// Every source gives "power" in watts, with the source's name as the instance.
// Sources see the same watts at different places and are never added.
package power

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"bakeoff/internal/osenv"
	"bakeoff/telemetry"
	"bakeoff/telemetry/power/meter"
)

// Spec is one source of watts, as a plan's host names it.
type Spec struct {
	Kind    string            // one of Kinds
	Class   string            // what the watts are of: wall-meter, psu, bmc, rapl; "" for the kind's own
	Options map[string]string // of the kind, and those that every kind takes
}

// A Kind is a way to read watts.
type Kind struct {
	Name    string
	Summary string
	Class   string        // where the plan says none
	Cadence time.Duration // between the source's own updates, where the plan says none
	Options []Option
	open    func(*meter.Options) (meter.Meter, error)
}

// An Option of a kind.
type Option struct{ Name, Doc string }

// CommonOptions are those that every kind takes.
func CommonOptions() []Option {
	return []Option{
		{"name", "names the source in readings and reports; the kind's name where absent"},
		{"cadence", "time between the source's own updates, as 1s: it is not read more often, and windows shorter than three of them give no energy"},
		{"uncertainty", "of a reading, as the maker states it, as 1%; unknown where absent"},
	}
}

// Lookup returns a kind by its name.
func Lookup(name string) (Kind, error) {
	var known []string
	for _, k := range Kinds() {
		if k.Name == name {
			return k, nil
		}
		known = append(known, k.Name)
	}
	return Kind{}, fmt.Errorf("power source of kind %q: expected one of %v", name, known)
}

// Open returns the collector of a source. Nothing is asked of it before Probe.
// The error says every option that is wrong.
func Open(spec Spec, env *osenv.Env) (telemetry.Collector, error) {
	kind, err := Lookup(spec.Kind)
	if err != nil {
		return nil, err
	}
	name := spec.Options["name"]
	if name == "" {
		name = kind.Name
	}
	options := meter.NewOptions(env, fmt.Sprintf("power source %q", name), spec.Options)
	options.Text("name", "")
	c := &collector{
		kind: kind, name: name, class: spec.Class,
		cadence: options.Duration("cadence", kind.Cadence), uncertainty: options.Percent("uncertainty"),
		metrics: make(map[string]*telemetry.Metric),
	}
	if c.class == "" {
		c.class = kind.Class
	}
	if !slices.Contains(Classes(), c.class) {
		options.Refuse("class", fmt.Sprintf("found %q", c.class), fmt.Sprintf("what the watts are of, one of %v", Classes()))
	}
	metrics := telemetry.PowerMetrics()
	for i := range metrics {
		c.metrics[metrics[i].Name] = &metrics[i]
	}
	if c.meter, err = kind.open(options); err != nil {
		return nil, err
	}
	if err := options.Err(); err != nil {
		return nil, err
	}
	c.note(options.Notes()...)
	return c, nil
}

// OpenAll opens several sources, whose names must differ.
func OpenAll(specs []Spec, env *osenv.Env) ([]telemetry.Collector, error) {
	var all []telemetry.Collector
	var errs []error
	names := make(map[string]bool)
	for _, spec := range specs {
		c, err := Open(spec, env)
		if err != nil {
			errs = append(errs, err)
			continue
		}
		name := c.Describe().Name
		if names[name] {
			errs = append(errs, fmt.Errorf("%s: two sources have this name: give one of them another with name", name))
		}
		names[name] = true
		all = append(all, c)
	}
	return all, errors.Join(errs...)
}

// Classes are the classes of a source, from the wall inwards.
func Classes() []string { return []string{"wall-meter", "psu", "bmc", "rapl"} }

// collector turns a meter's readings into samples.
type collector struct {
	kind        Kind
	name        string
	class       string
	cadence     time.Duration
	uncertainty *float64
	metrics     map[string]*telemetry.Metric
	meter       meter.Meter
	notes       []string
	last        time.Time // of the values that carry their own stamps
}

func (c *collector) Describe() telemetry.Description {
	return telemetry.Description{
		Name: telemetry.PowerGroup + "/" + c.name, Summary: "power of source " + c.name, Source: c.kind.Summary,
		Metrics: telemetry.PowerMetrics(), Class: c.class, Cadence: c.cadence.Seconds(), Uncertainty: c.uncertainty,
	}
}

// Probe reads once. A source that does not answer now may answer later; one
// that refuses the credentials is not asked again.
func (c *collector) Probe(ctx context.Context) telemetry.Probed {
	reading, err := c.meter.Read(ctx)
	c.note(reading.Notes...)
	switch {
	case errors.Is(err, meter.ErrRefused):
		return telemetry.Probed{Support: telemetry.Unsupported, Reason: err.Error()}
	case err != nil:
		return telemetry.Probed{Support: telemetry.Unknown, Reason: err.Error()}
	}
	return telemetry.Probed{Support: telemetry.Supported}
}

func (c *collector) Collect(ctx context.Context, dst []telemetry.Sample) ([]telemetry.Sample, error) {
	reading, err := c.meter.Read(ctx)
	c.note(reading.Notes...)
	for _, w := range reading.Power {
		sample := telemetry.Sample{Metric: c.metrics["power"], Instance: c.name, Value: w.Value}
		if !w.At.IsZero() {
			if !w.At.After(c.last) {
				continue // given before
			}
			c.last = w.At
			sample.At = w.At.UnixNano()
		}
		dst = append(dst, sample)
	}
	for _, p := range reading.Parts {
		dst = append(dst, telemetry.Sample{Metric: c.metrics["power.part"], Instance: c.name + "/" + p.Name, Value: p.Watts})
	}
	if reading.Joules != nil {
		dst = append(dst, telemetry.Sample{Metric: c.metrics["energy"], Instance: c.name, Value: *reading.Joules})
	}
	return dst, err
}

// Close ends the meter's session.
func (c *collector) Close(ctx context.Context) error { return c.meter.Close(ctx) }

// Notes returns what the meter's readings showed.
func (c *collector) Notes() []string { return slices.Clone(c.notes) }

// mostNotes bounds the notes of a source whose text changes with every reading.
const mostNotes = 20

func (c *collector) note(notes ...string) {
	for _, n := range notes {
		if len(c.notes) < mostNotes && !slices.Contains(c.notes, n) {
			c.notes = append(c.notes, n)
		}
	}
}
