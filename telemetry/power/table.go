package power

import (
	"time"

	"bakeoff/telemetry/power/ipmi"
	"bakeoff/telemetry/power/redfish"
	"bakeoff/telemetry/power/snmp"
)

// Kinds returns every kind of source. Cadences are those of the slowest common
// devices: a faster one's is to be stated in the plan.
func Kinds() []Kind {
	return []Kind{
		{
			Name: "rapl", Class: "rapl", Cadence: time.Millisecond, open: openRAPL,
			Summary: "energy counters of the processor: packages and their memory, without the rest of the host, in /sys/class/powercap",
		},
		{
			Name: "redfish", Class: "bmc", Cadence: 10 * time.Second, Options: redfishOptions(), open: redfish.Open,
			Summary: "a management controller, a chassis or a power distribution unit with DMTF Redfish",
		},
		{
			Name: "ipmi", Class: "bmc", Cadence: time.Second, Options: ipmiOptions(), open: ipmi.Open,
			Summary: "a management controller with IPMI: its DCMI power reading, or its sensors of watts",
		},
		{
			Name: "snmp", Class: "wall-meter", Cadence: 5 * time.Second, Options: snmpOptions(), open: snmp.Open,
			Summary: "a metered power distribution unit with SNMP",
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

func redfishOptions() []Option {
	return append([]Option{
		{"url", "of the service, as https://bmc.example"},
		{"user", "to log in as"},
		{"password_env, password_file", "the environment variable or the file that holds the password"},
		{"auth", "auto (default): a session, or basic where the service has none; session; basic"},
		{"chassis", "which chassis are meant, between commas; needed where several state their power and none lies in another"},
		{"paths", "instead: the resources to read and add, as /redfish/v1/PowerEquipment/RackPDUs/1/Outlets/4, between commas"},
		{"report", "instead: a metric report of the TelemetryService, with its own stamps, as PowerMetrics"},
		{"metric", "the MetricId in that report, as SystemPowerConsumption"},
		{"shift", "added to the report's stamps: how far the controller's clock is behind this host's, as 1.5s or -2s"},
	}, tlsOptions()...)
}

func ipmiOptions() []Option {
	return []Option{
		{"address", "of the controller, as bmc.example or 192.0.2.7:623"},
		{"interface", "lanplus (default, IPMI 2.0), lan (1.5), or local: /dev/ipmi0 of the host itself"},
		{"user", "to log in as"},
		{"password_env, password_file", "the environment variable or the file that holds the password"},
		{"privilege", "user (default), operator or administrator: what the session asks for"},
		{"read", "auto (default): DCMI, or sensors where there is no DCMI; dcmi; sensors"},
		{"sensors", "the names of the sensors to add, between commas; the whole's own, or the supplies' inputs, where absent"},
	}
}

func snmpOptions() []Option {
	return []Option{
		{"address", "of the unit, as pdu.example or 192.0.2.9:161"},
		{"pdu", "whose MIB it speaks: apc (rPDU2), raritan (PDU2), enlogic; or oid"},
		{"outlets", "the numbers of the outlets that feed the host, between commas; they are added"},
		{"inlets", "instead: the numbers of the inlets, for all that the unit feeds"},
		{"unit_number", "of raritan and enlogic: the unit in a chain, from 1 (default)"},
		{"oids", "with pdu oid: the numbers to add, between commas"},
		{"scale", "with pdu oid: the watts in one of the number, as 0.1; 1 where absent"},
		{"version", "2c (default), 1 or 3"},
		{"community_env, community_file", "of versions 1 and 2c; public where absent"},
		{"user", "of version 3"},
		{"auth_protocol", "of version 3: SHA (default), MD5, SHA224, SHA256, SHA384, SHA512"},
		{"auth_password_env, auth_password_file", "of version 3"},
		{"priv_protocol", "of version 3: AES (default), DES, AES192, AES256"},
		{"priv_password_env, priv_password_file", "of version 3"},
	}
}
