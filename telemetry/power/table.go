package power

import "time"

// Kinds returns every kind of source.
func Kinds() []Kind {
	return []Kind{
		{
			Name: "rapl", Class: "rapl", Cadence: time.Millisecond, open: openRAPL,
			Summary: "energy counters of the processor: packages and their memory, without the rest of the host, in /sys/class/powercap",
		},
		{
			Name: "prometheus", Cadence: 15 * time.Second, Options: prometheusOptions(), open: openPrometheus,
			Summary: "a metric of an exporter in Prometheus's text format",
		},
		{
			Name: "csv", Class: "wall-meter", Cadence: csvCadence, Options: csvOptions(), open: openCSV,
			Summary: "the log of a meter's own software, with the meter's own clock",
		},
		{
			Name: "command", Cadence: time.Second, Options: commandOptions(), open: openCommand,
			Summary: "a command that prints watts",
		},
	}
}
