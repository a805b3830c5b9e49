// Package redfish reads the power of servers, chassis and power distribution
// units over DMTF Redfish (DSP0266, DSP8010).
package redfish

import (
	"encoding/json"
	"fmt"
	"math"
	"strings"

	"bakeoff/telemetry/power/meter"
)

// found is what one resource says about power.
type found struct {
	watts    number
	basis    string // of watts: what it is the power of, in words
	supplies []supply
	parts    []meter.Part
	log      []meter.Watts // of a metric report
	notes    []string
}

// supply is one power supply of a chassis.
type supply struct {
	id     string // names it wherever it is listed again
	name   string
	watts  float64
	ok     bool // it has a reading
	output bool // the reading is what it gives, not what it takes
}

func (f *found) note(format string, args ...any) {
	f.notes = append(f.notes, fmt.Sprintf(format, args...))
}

// status is the state that every resource may have.
type status struct {
	State  text `json:"State"`
	Health text `json:"Health"`
}

// off reports whether a resource is there but measures nothing.
func (s status) off() bool {
	switch s.State {
	case "Absent", "Disabled", "UnavailableOffline", "StandbyOffline", "Deferring", "Updating":
		return true
	}
	return false
}

// excerpt is a sensor's reading inside another resource.
type excerpt struct {
	Reading     number `json:"Reading"`
	ApparentVA  number `json:"ApparentVA"`
	PowerFactor number `json:"PowerFactor"`
}

// Parse reads a resource, whatever it is, and returns its power. A resource
// that knows of no power gives an error that wraps meter.ErrNoReading.
func Parse(data []byte) (meter.Reading, error) {
	f, err := parse(data, "")
	if err != nil {
		return meter.Reading{}, err
	}
	return f.reading()
}

// reading turns one resource's power into a reading.
func (f *found) reading() (meter.Reading, error) {
	r := meter.Reading{Notes: f.notes, Parts: f.parts}
	for _, s := range f.supplies {
		if s.ok {
			r.Parts = append(r.Parts, meter.Part{Name: s.name, Watts: s.watts})
		}
	}
	if len(f.log) > 0 {
		r.Power = f.log
		return r, nil
	}
	if !f.watts.ok {
		return r, meter.NoReading("%s", f.basis)
	}
	if err := meter.Check(f.basis, f.watts.value); err != nil {
		return r, err
	}
	r.Power = []meter.Watts{{Value: f.watts.value}}
	return r, nil
}

// parse reads a resource by its type. metric names what is wanted of a report.
func parse(data []byte, metric string) (found, error) {
	var head struct {
		Type         text            `json:"@odata.type"`
		PowerControl json.RawMessage `json:"PowerControl"`
	}
	if err := json.Unmarshal(data, &head); err != nil {
		return found{}, fmt.Errorf("no JSON object: %w", err)
	}
	// "#Power.v1_7_1.Power" is of type Power.
	kind, _, _ := strings.Cut(strings.TrimPrefix(string(head.Type), "#"), ".")
	switch kind {
	case "Power":
		return parsePower(data)
	case "MetricReport":
		return parseReport(data, metric)
	case "EnvironmentMetrics", "Outlet", "OutletGroup", "Circuit", "PowerDistributionMetrics":
		return parseExcerpt(data, kind)
	case "Sensor":
		return parseSensor(data)
	case "Control":
		return parseControl(data)
	case "PowerSupplyMetrics":
		return parseSupplyMetrics(data)
	case "PowerSupply", "PowerSubsystem", "PowerDistribution", "Chassis":
		return found{basis: "a resource of type " + kind + " holds no power itself"}, nil
	case "":
		if head.PowerControl != nil {
			return parsePower(data)
		}
	}
	return found{}, fmt.Errorf("a resource of type %q has no power that is known here", kind)
}

// parseExcerpt reads resources that state their power as PowerWatts.Reading.
func parseExcerpt(data []byte, kind string) (found, error) {
	var r struct {
		Name       text
		Status     status
		PowerWatts *excerpt
	}
	if err := json.Unmarshal(data, &r); err != nil {
		return found{}, fmt.Errorf("%s: %w", kind, err)
	}
	f := found{basis: "PowerWatts of " + kind + " " + string(r.Name)}
	if r.PowerWatts == nil || r.Status.off() {
		return f, nil
	}
	f.watts = r.PowerWatts.Reading
	f.checkApparent(*r.PowerWatts)
	return f, nil
}

// checkApparent notes a power that its own apparent power contradicts.
func (f *found) checkApparent(e excerpt) {
	if !e.Reading.ok || !e.ApparentVA.ok || e.ApparentVA.value <= 0 {
		return
	}
	if e.Reading.value > e.ApparentVA.value*1.02 {
		f.note("%s: %v W is more than its own apparent power of %v VA", f.basis, e.Reading.value, e.ApparentVA.value)
		return
	}
	if product := e.ApparentVA.value * e.PowerFactor.value; e.PowerFactor.ok && meter.Differ(product, e.Reading.value) {
		f.note("%s: %v W is not its own apparent power times power factor, %v VA x %v", f.basis, e.Reading.value, e.ApparentVA.value, e.PowerFactor.value)
	}
}

func parseSensor(data []byte) (found, error) {
	var r struct {
		excerpt
		ID              text `json:"Id"`
		Status          status
		ReadingType     text
		ReadingUnits    text
		ReadingRangeMin number
		ReadingRangeMax number
	}
	if err := json.Unmarshal(data, &r); err != nil {
		return found{}, fmt.Errorf("resource Sensor: %w", err)
	}
	f := found{basis: "sensor " + string(r.ID)}
	if r.ReadingType != "Power" && r.ReadingType != "" || r.ReadingUnits != "W" {
		f.basis += " measures " + string(r.ReadingType) + " in " + string(r.ReadingUnits) + ", not power in W"
		return f, nil
	}
	if r.Status.off() {
		f.basis += " is " + string(r.Status.State)
		return f, nil
	}
	f.watts = r.Reading
	if r.Reading.ok && r.ReadingRangeMax.ok && r.Reading.value > r.ReadingRangeMax.value {
		f.note("%s: %v W is above its own range, which ends at %v W", f.basis, r.Reading.value, r.ReadingRangeMax.value)
	}
	f.checkApparent(r.excerpt)
	return f, nil
}

func parseControl(data []byte) (found, error) {
	var r struct {
		ID            text `json:"Id"`
		ControlType   text
		SetPointUnits text
		Sensor        *excerpt
	}
	if err := json.Unmarshal(data, &r); err != nil {
		return found{}, fmt.Errorf("resource Control: %w", err)
	}
	f := found{basis: "the sensor of control " + string(r.ID)}
	if r.ControlType == "Power" && r.SetPointUnits == "W" && r.Sensor != nil {
		f.watts = r.Sensor.Reading
	}
	return f, nil
}

func parseSupplyMetrics(data []byte) (found, error) {
	var r struct {
		Name             text
		Status           status
		InputPowerWatts  *excerpt
		OutputPowerWatts *excerpt
	}
	if err := json.Unmarshal(data, &r); err != nil {
		return found{}, fmt.Errorf("resource PowerSupplyMetrics: %w", err)
	}
	f := found{basis: "input power of " + string(r.Name)}
	if r.Status.off() || r.InputPowerWatts == nil {
		return f, nil
	}
	f.watts = r.InputPowerWatts.Reading
	if out := r.OutputPowerWatts; out != nil && f.watts.ok && out.Reading.ok && f.watts.value > 0 && out.Reading.value >= f.watts.value {
		f.note("%s: it gives %v W and takes %v W, which no supply can", f.basis, out.Reading.value, f.watts.value)
	}
	return f, nil
}

// sum adds the readings of supplies; it is a number only if each has one.
func sum(supplies []supply) number {
	total := number{ok: len(supplies) > 0}
	for _, s := range supplies {
		total.value += s.watts
		total.ok = total.ok && s.ok
	}
	total.value = math.Round(total.value*1e6) / 1e6
	return total
}
