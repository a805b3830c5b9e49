package ipmi

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"bakeoff/telemetry/power/meter"
)

// ParseText reads the power in what ipmitool printed for "dcmi power reading",
// "sdr", "sdr elist", "sdr type ..." or "sensor". named is as in Choose.
func ParseText(output string, named []string) (meter.Reading, error) {
	d, found, err := parseDCMI(output)
	if err != nil {
		return meter.Reading{}, err
	}
	if found {
		return d.reading()
	}
	sensors, err := parseTable(output)
	if err != nil {
		return meter.Reading{}, err
	}
	return Choose(sensors, named)
}

// parseDCMI reads "dcmi power reading". Its stamp has no zone and is not used
// but to tell that the controller's clock was never set.
func parseDCMI(output string) (d DCMI, found bool, err error) {
	watts := map[string]*float64{
		"Instantaneous power reading":              &d.Current,
		"Minimum during sampling period":           &d.Least,
		"Maximum during sampling period":           &d.Most,
		"Average power reading over sample period": &d.Mean,
	}
	for number, line := range strings.Split(output, "\n") {
		key, value, ok := strings.Cut(strings.TrimSpace(line), ":")
		if !ok {
			continue
		}
		key, value = strings.TrimSpace(key), strings.TrimSpace(value)
		switch target := watts[key]; {
		case target != nil:
			text, unit, _ := strings.Cut(value, " ")
			*target, err = strconv.ParseFloat(text, 64)
			if err != nil || strings.TrimSpace(unit) != "Watts" {
				return d, false, fmt.Errorf("line %d: found %.60q, expected a number of Watts", number+1, line)
			}
			found = found || key == "Instantaneous power reading"
		case key == "IPMI timestamp":
			if at, err := time.Parse(time.ANSIC, value); err == nil {
				d.Stamp = at.Unix()
			}
		case key == "Power reading state is":
			d.Active = value == "activated"
		}
	}
	return d, found, nil
}

// parseTable reads the tables that ipmitool prints: name, reading and state;
// name, number, state, entity and reading; or name, value, unit and thresholds.
func parseTable(output string) ([]Sensor, error) {
	var sensors []Sensor
	for number, line := range strings.Split(output, "\n") {
		columns := strings.Split(line, "|")
		if len(columns) < 3 {
			continue
		}
		for i := range columns {
			columns[i] = strings.TrimSpace(columns[i])
		}
		value, unit, isWatts := wattsOf(columns)
		if !isWatts {
			continue
		}
		s := Sensor{Name: columns[0]}
		if value != "na" {
			v, err := strconv.ParseFloat(value, 64)
			if err != nil {
				return nil, fmt.Errorf("line %d: found %q %s, expected a number", number+1, value, unit)
			}
			s.Watts, s.OK = v, true
		}
		sensors = append(sensors, s)
	}
	return sensors, nil
}

// wattsOf finds the reading of a row and whether it is in watts.
func wattsOf(columns []string) (value, unit string, ok bool) {
	switch len(columns) {
	case 3: // sdr
		value, unit, _ = strings.Cut(columns[1], " ")
	case 5: // sdr elist, sdr type
		value, unit, _ = strings.Cut(columns[4], " ")
	case 10: // sensor
		value, unit = columns[1], columns[2]
	}
	return value, unit, unit == "Watts"
}
