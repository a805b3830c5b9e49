package redfish

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"bakeoff/telemetry/power/meter"
)

// metricValue is one value of a metric report.
type metricValue struct {
	MetricID         text `json:"MetricId"`
	MetricProperty   text
	MetricValue      number
	Timestamp        text
	MetricDefinition link
}

// parseReport reads the values of one metric of a metric report, each with its
// own stamp by the controller's clock.
func parseReport(data []byte, metric string) (found, error) {
	var r struct {
		ID           text `json:"Id"`
		MetricValues []metricValue
	}
	if err := json.Unmarshal(data, &r); err != nil {
		return found{}, fmt.Errorf("resource MetricReport: %w", err)
	}
	f := found{basis: fmt.Sprintf("metric %q of report %s", metric, r.ID)}
	ids := make(map[string]bool)
	series := make(map[string]bool)
	for _, v := range r.MetricValues {
		ids[string(v.MetricID)] = true
		if string(v.MetricID) != metric || !v.MetricValue.ok {
			continue
		}
		at, err := time.Parse(time.RFC3339, string(v.Timestamp))
		if err != nil {
			return f, fmt.Errorf("report %s: %s: found Timestamp %q, expected RFC 3339", r.ID, metric, v.Timestamp)
		}
		series[string(v.MetricProperty)] = true
		if meter.Check("", v.MetricValue.value) != nil {
			continue
		}
		f.log = append(f.log, meter.Watts{Value: v.MetricValue.value, At: at})
	}
	if len(f.log) == 0 {
		f.basis += " has no value above 0; the report has " + strings.Join(slices.Sorted(maps.Keys(ids)), ", ")
	}
	if len(series) > 1 {
		return found{}, fmt.Errorf("report %s: %s is of several things: %s", r.ID, metric, strings.Join(slices.Sorted(maps.Keys(series)), ", "))
	}
	slices.SortStableFunc(f.log, func(a, b meter.Watts) int { return a.At.Compare(b.At) })
	return f, nil
}
