package redfish

import (
	"encoding/json"
	"fmt"
	"slices"

	"bakeoff/telemetry/power/meter"
)

// powerResource is the resource Power of a chassis (schema Power v1), with
// what makers put beside it.
type powerResource struct {
	PowerControl  []powerControl
	PowerSupplies []powerSupply
	Oem           struct {
		Fujitsu struct {
			Chassis struct{ CurrentPowerConsumptionW number } `json:"ChassisPowerConsumption"`
			Sensors []struct {
				Designation              text
				EntityID                 text `json:"EntityId"`
				CurrentPowerConsumptionW number
			} `json:"ChassisPowerSensors"`
		} `json:"ts_fujitsu"`
	}
}

type powerControl struct {
	ID                 string `json:"@odata.id"`
	MemberID           text   `json:"MemberId"`
	Name               text
	PhysicalContext    text
	Status             status
	PowerConsumedWatts number
	PowerCapacityWatts number
	PowerLimit         struct{ LimitInWatts number }
	PowerMetrics       struct{ MinConsumedWatts, MaxConsumedWatts, AverageConsumedWatts, IntervalInMin number }
}

type powerSupply struct {
	ID                   string `json:"@odata.id"`
	MemberID             text   `json:"MemberId"`
	Name                 text
	SerialNumber         text
	Status               status
	PowerCapacityWatts   number
	PowerInputWatts      number
	PowerOutputWatts     number
	LastPowerOutputWatts number
}

func parsePower(data []byte) (found, error) {
	var r powerResource
	if err := json.Unmarshal(data, &r); err != nil {
		return found{}, fmt.Errorf("resource Power: %w", err)
	}
	f := found{basis: "PowerConsumedWatts of Power"}
	f.takeSupplies(r.PowerSupplies)
	f.takeControls(r.PowerControl)
	if !f.watts.ok {
		f.takeFujitsu(r)
	}
	if f.watts.ok {
		f.compareSupplies()
		return f, nil
	}
	if total := sum(f.supplies); total.ok {
		f.watts, f.basis = total, "the sum of what the supplies take"
		if slices.ContainsFunc(f.supplies, func(s supply) bool { return s.output }) {
			f.basis = "the sum of what the supplies give"
			f.note("no consumption is stated: the power is what the supplies give, without what they lose")
		}
	}
	return f, nil
}

// takeControls takes the consumption of the whole: the first control, or the
// one that says it is the chassis'. Others are of processors, memory or zones.
func (f *found) takeControls(controls []powerControl) {
	whole := 0
	for i, c := range controls {
		if c.PhysicalContext == "Chassis" {
			whole = i
			break
		}
	}
	for i, c := range controls {
		if i != whole && c.PowerConsumedWatts.ok && meter.Check("", c.PowerConsumedWatts.value) == nil {
			f.parts = append(f.parts, meter.Part{Name: cmpText(c.Name, c.MemberID, i), Watts: c.PowerConsumedWatts.value})
		}
	}
	if whole >= len(controls) {
		return
	}
	c := controls[whole]
	watts := c.PowerConsumedWatts
	if c.Status.off() || !watts.ok || meter.Check("", watts.value) != nil {
		f.basis = "PowerConsumedWatts is " + describe(watts) + " and nothing else states the power"
		return
	}
	f.watts = watts
	if limit := c.PowerLimit.LimitInWatts; limit.ok && limit.value > 0 && watts.value > limit.value {
		f.note("PowerConsumedWatts of %v W is above its own limit of %v W", watts.value, limit.value)
	}
	if most := c.PowerCapacityWatts; most.ok && most.value > 0 && watts.value > most.value {
		f.note("PowerConsumedWatts of %v W is above its own capacity of %v W", watts.value, most.value)
	}
	m := c.PowerMetrics
	low, high, mean := m.MinConsumedWatts, m.MaxConsumedWatts, m.AverageConsumedWatts
	if low.ok && high.ok && mean.ok && mean.value > 0 && (mean.value < low.value || mean.value > high.value) {
		f.note("AverageConsumedWatts of %v W is not between the least and the most of %v W and %v W", mean.value, low.value, high.value)
	}
}

func describe(n number) string {
	if !n.ok {
		return "null or missing"
	}
	return fmt.Sprintf("%v", n.value)
}

// takeFujitsu takes what older iRMC controllers state in an extension only. Its
// sensors include the total, which is left out of the parts.
func (f *found) takeFujitsu(r powerResource) {
	watts := r.Oem.Fujitsu.Chassis.CurrentPowerConsumptionW
	if !watts.ok || meter.Check("", watts.value) != nil {
		return
	}
	f.watts, f.basis = watts, "Oem.ts_fujitsu.ChassisPowerConsumption"
	for i, s := range r.Oem.Fujitsu.Sensors {
		if s.EntityID == "Power Supply" && s.CurrentPowerConsumptionW.ok {
			f.supplies = append(f.supplies, supply{
				id: string(s.Designation), name: cmpText(s.Designation, "", i), watts: s.CurrentPowerConsumptionW.value, ok: true,
			})
		}
	}
}

// takeSupplies takes the supplies that are there, with the better of their
// numbers: what they take from the mains, else what they give.
func (f *found) takeSupplies(supplies []powerSupply) {
	names := make(map[string]int)
	for i, p := range supplies {
		if p.Status.off() {
			continue
		}
		s := supply{id: p.ID, name: cmpText(p.Name, p.MemberID, i)}
		if p.SerialNumber != "" {
			s.id = string(p.SerialNumber)
		}
		if names[s.name]++; names[s.name] > 1 {
			s.name = fmt.Sprintf("%s %s", s.name, cmpText(p.MemberID, "", i))
		}
		input, output := p.PowerInputWatts, p.LastPowerOutputWatts
		if !output.ok || output.value == 0 && p.PowerOutputWatts.ok {
			output = p.PowerOutputWatts
		}
		f.checkInput(s.name, &input, output, p.PowerCapacityWatts)
		switch {
		case input.ok:
			s.watts, s.ok = input.value, true
		case output.ok:
			s.watts, s.ok, s.output = output.value, true, true
		}
		if s.ok && s.watts != 0 && meter.Check("", s.watts) != nil {
			s.ok, s.watts = false, 0
		}
		f.supplies = append(f.supplies, s)
	}
}

// checkInput drops an input that cannot be: some firmware states the largest
// input that a supply is made for as its present one.
func (f *found) checkInput(name string, input *number, output, capacity number) {
	if !input.ok {
		return
	}
	const leastEfficiency = 0.5
	switch {
	case capacity.ok && capacity.value > 0 && input.value > capacity.value:
		f.note("supply %s: its input of %v W is above its capacity of %v W: left out", name, input.value, capacity.value)
	case output.ok && output.value > input.value:
		f.note("supply %s: its input of %v W is below its output of %v W: left out", name, input.value, output.value)
	case output.ok && output.value > 0 && input.value > 50 && output.value < input.value*leastEfficiency:
		f.note("supply %s: it takes %v W and gives %v W: the input is left out", name, input.value, output.value)
	default:
		return
	}
	*input = number{}
}

// compareSupplies notes supplies that do not add up to the consumption.
func (f *found) compareSupplies() {
	total := sum(f.supplies)
	if !total.ok || len(f.supplies) == 0 {
		return
	}
	// What supplies give is less than what is taken by what they lose.
	const leastEfficiency = 0.7
	output := slices.ContainsFunc(f.supplies, func(s supply) bool { return s.output })
	low := f.watts.value
	if output {
		low *= leastEfficiency
	}
	switch {
	case total.value < low && meter.Differ(total.value, low), total.value > f.watts.value && meter.Differ(total.value, f.watts.value):
		f.note("%s is %v W, but the supplies add up to %v W", f.basis, f.watts.value, total.value)
	}
}

// cmpText is the first of a name, another name and a number that is not empty.
func cmpText(name, other text, i int) string {
	switch {
	case name != "":
		return string(name)
	case other != "":
		return string(other)
	}
	return fmt.Sprint(i)
}
