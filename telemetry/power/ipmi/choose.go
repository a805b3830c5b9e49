// Package ipmi reads power over IPMI: by DCMI where the controller has it, else
// from its sensors; over the network, from the local device, or from what the
// program ipmitool printed.
package ipmi

import (
	"fmt"
	"regexp"
	"strings"

	"bakeoff/telemetry/power/meter"
)

// Sensor is one sensor that measures watts. One that has no reading now is not ok.
type Sensor struct {
	Name  string
	Watts float64
	OK    bool
}

// What sensors of power are called by the makers of servers. The whole is
// known by one name on each; supplies are numbered.
var (
	wholeName  = regexp.MustCompile(`(?i)^(system level|(pw|pwr|power) ?consumption|pwr consumed|(avg|average|present|input)[ _]?power|(total|sys|system|chassis|node|host|server)[ _]?(total)?[ _]?(power|pwr|watts)([ _]?in)?|power meter|hsc input power)$`)
	supplyName = regexp.MustCompile(`(?i)^(ps|psu|power ?supply|pwr ?supply|pwrsupply)[ _#]?\d+([ _]?(input|in|pin|ac)?[ _]?(power|pwr|watts|pin)?([ _]?in(put)?)?)?$`)
	outputName = regexp.MustCompile(`(?i)out`)
)

// Choose returns the power of the whole from its sensors: of those named, the
// sum; of all, the one that is called the whole's, or the sum of what the
// supplies take. It refuses to guess between several.
func Choose(sensors []Sensor, named []string) (meter.Reading, error) {
	if len(named) > 0 {
		return chooseNamed(sensors, named)
	}
	var whole, supplies, others []Sensor
	for _, s := range sensors {
		switch name := strings.TrimSpace(s.Name); {
		case wholeName.MatchString(name):
			whole = append(whole, s)
		case supplyName.MatchString(name) && !outputName.MatchString(name):
			supplies = append(supplies, s)
		default:
			others = append(others, s)
		}
	}
	switch {
	case len(whole) == 1:
		return add(whole, append(supplies, others...))
	case len(whole) == 0 && len(supplies) > 0:
		return add(supplies, append(supplies, others...))
	case len(sensors) == 0:
		return meter.Reading{}, meter.NoReading("no sensor measures watts")
	}
	return meter.Reading{}, fmt.Errorf("which sensor is the power of the whole is not clear: %s; say sensors: with the ones to add", list(sensors))
}

func chooseNamed(sensors []Sensor, named []string) (meter.Reading, error) {
	var chosen []Sensor
	for _, name := range named {
		var found []Sensor
		for _, s := range sensors {
			if strings.EqualFold(strings.TrimSpace(s.Name), name) {
				found = append(found, s)
			}
		}
		if len(found) != 1 {
			return meter.Reading{}, fmt.Errorf("%d sensors that measure watts are called %q, expected 1 of %s", len(found), name, list(sensors))
		}
		chosen = append(chosen, found[0])
	}
	var parts []Sensor
	if len(chosen) > 1 {
		parts = chosen
	}
	return add(chosen, parts)
}

// add sums sensors. All must have a reading, or the sum would be too small; a
// supply that idles at 0 W counts as such.
func add(chosen, parts []Sensor) (meter.Reading, error) {
	var r meter.Reading
	var total float64
	for _, s := range chosen {
		if !s.OK || s.Watts < 0 {
			return r, meter.NoReading("sensor %q has none now", s.Name)
		}
		total += s.Watts
	}
	if err := meter.Check(list(chosen), total); err != nil {
		return r, err
	}
	r.Power = []meter.Watts{{Value: total}}
	for _, s := range parts {
		if s.OK && s.Watts >= 0 {
			r.Parts = append(r.Parts, meter.Part{Name: strings.TrimSpace(s.Name), Watts: s.Watts})
		}
	}
	return r, nil
}

func list(sensors []Sensor) string {
	var names []string
	for _, s := range sensors {
		names = append(names, strings.TrimSpace(s.Name))
	}
	return strings.Join(names, ", ")
}

// DCMI is the answer to Get Power Reading (DCMI 1.5, section 6.6.1), in watts.
type DCMI struct {
	Current, Least, Most, Mean float64
	Active                     bool // measurement is on
	Stamp                      int64
}

// reading judges an answer. Controllers answer with zeros, or with the last
// number they had, while measurement is off.
func (d DCMI) reading() (meter.Reading, error) {
	var r meter.Reading
	what := "the DCMI power reading"
	if !d.Active {
		what = "the DCMI power reading, with measurement deactivated,"
	}
	if err := meter.Check(what, d.Current); err != nil {
		return r, err
	}
	if !d.Active {
		r.Note("DCMI says %v W and that power measurement is deactivated: the number may be old", d.Current)
	}
	if d.Active && d.Most > 0 && (d.Mean > d.Most || d.Mean < d.Least) {
		r.Note("DCMI says a mean of %v W, which is not between the least and the most of %v W and %v W", d.Mean, d.Least, d.Most)
	}
	r.Power = []meter.Watts{{Value: d.Current}}
	return r, nil
}
