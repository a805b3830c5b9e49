package redfish

import (
	"context"
	"fmt"
	"net/url"
	"path"
	"slices"
	"strings"
	"time"

	"bakeoff/telemetry/power/meter"
)

// source is a Redfish service as a meter.
type source struct {
	client  *client
	chassis []string
	paths   []string
	report  string
	metric  string
	shift   time.Duration
	targets []target
}

// Open takes the options of a Redfish source. Nothing is asked of the service yet.
func Open(o *meter.Options) (meter.Meter, error) {
	s := &source{
		client: newClient(o), chassis: o.List("chassis"), paths: o.List("paths"),
		report: o.Text("report", ""), metric: o.Text("metric", ""), shift: o.Duration("shift", 0),
	}
	switch {
	case s.report != "" && s.metric == "":
		o.Refuse("metric", "it is missing", "the MetricId in the report, as SystemPowerConsumption")
	case s.report == "" && (s.metric != "" || s.shift != 0):
		o.Refuse("report", "it is missing", "the metric report that metric and shift are about")
	}
	if n := b2i(len(s.chassis) > 0) + b2i(len(s.paths) > 0) + b2i(s.report != ""); n > 1 {
		o.Refuse("chassis", "more than one of chassis, paths and report", "one of them")
	}
	if mains, outlets := s.mixed(); mains != "" && outlets != "" {
		o.Refuse("paths", fmt.Sprintf("%s and %s of one unit", mains, outlets), "inlets or outlets: an inlet's power holds its outlets'")
	}
	return s, nil
}

func b2i(b bool) int {
	if b {
		return 1
	}
	return 0
}

// mixed finds an inlet and an outlet of one power distribution unit.
func (s *source) mixed() (mains, outlet string) {
	units := make(map[string]string)
	for _, p := range s.paths {
		unit, rest, ok := strings.Cut(p, "/Mains/")
		if ok && rest != "" {
			units[unit] = p
		}
		if strings.HasSuffix(trim(p), "/Metrics") {
			units[path.Dir(trim(p))] = p
		}
	}
	for _, p := range s.paths {
		unit, _, ok := strings.Cut(p, "/Outlets/")
		if ok && units[unit] != "" {
			return units[unit], p
		}
	}
	return "", ""
}

// Read gives the present power. Where the power is stated is found at the first
// reading, and again when it is no longer there.
func (s *source) Read(ctx context.Context) (meter.Reading, error) {
	if s.report != "" {
		return s.readReport(ctx)
	}
	if s.targets == nil {
		targets, err := s.find(ctx)
		if err != nil {
			return meter.Reading{}, err
		}
		s.targets = targets
		var notes []string
		for _, t := range targets {
			notes = append(notes, t.value.notes...)
		}
		reading, err := s.readTargets(ctx)
		for _, n := range reading.Notes {
			if !slices.Contains(notes, n) {
				notes = append(notes, n)
			}
		}
		reading.Notes = notes
		return reading, err
	}
	return s.readTargets(ctx)
}

func (s *source) find(ctx context.Context) ([]target, error) {
	if len(s.paths) == 0 {
		return discover(ctx, s.client, s.chassis)
	}
	var targets []target
	for _, p := range s.paths {
		targets = append(targets, target{chassis: path.Base(p), paths: []string{p}})
	}
	return targets, nil
}

// readTargets adds what the targets say. All must have a number, or the sum
// would be too small.
func (s *source) readTargets(ctx context.Context) (meter.Reading, error) {
	var reading meter.Reading
	var total float64
	for _, t := range s.targets {
		for _, p := range t.paths {
			data, err := s.client.get(ctx, p)
			if err != nil {
				if notThere(err) && len(s.paths) == 0 {
					s.targets = nil
				}
				return reading, err
			}
			f, err := parse(data, "")
			if err != nil {
				return reading, fmt.Errorf("%s: %w", p, err)
			}
			one, err := s.one(f, len(s.targets)*len(t.paths) > 1)
			reading.Notes = append(reading.Notes, one.Notes...)
			if err != nil {
				return reading, fmt.Errorf("%s: %w", p, err)
			}
			total += one.Power[0].Value
			reading.Parts = append(reading.Parts, one.Parts...)
			if len(s.targets)*len(t.paths) > 1 {
				reading.Parts = append(reading.Parts, meter.Part{Name: strings.Trim(p, "/"), Watts: one.Power[0].Value})
			}
		}
	}
	if err := meter.Check("the sum", total); err != nil {
		return reading, err
	}
	reading.Power = []meter.Watts{{Value: total}}
	return reading, nil
}

// one is the reading of one resource. Among several, one may be at 0 W, as the
// idle one of two feeds is.
func (s *source) one(f found, several bool) (meter.Reading, error) {
	if several && f.watts.ok && f.watts.value == 0 {
		return meter.Reading{Power: []meter.Watts{{}}, Notes: f.notes}, nil
	}
	return f.reading()
}

const reportsPath = "/redfish/v1/TelemetryService/MetricReports/"

// readReport gives all values of the report; those that were given before are
// told by their stamps.
func (s *source) readReport(ctx context.Context) (meter.Reading, error) {
	p := s.report
	if !strings.HasPrefix(p, "/") {
		p = reportsPath + url.PathEscape(p)
	}
	data, err := s.client.get(ctx, p)
	if err != nil {
		return meter.Reading{}, err
	}
	f, err := parseReport(data, s.metric)
	if err != nil {
		return meter.Reading{}, err
	}
	reading, err := f.reading()
	for i := range reading.Power {
		reading.Power[i].At = reading.Power[i].At.Add(s.shift)
	}
	return reading, err
}

// Close ends the session.
func (s *source) Close(ctx context.Context) error { return s.client.logout(ctx) }
