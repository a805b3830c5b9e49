package plan

// The tables of all keys. They drive the checks, the suggestions for misspelt
// keys and the published schema, so that the three cannot drift apart.

// topFields are the keys of a plan.
func topFields() []field {
	return []field{
		{name: "title", shape: shapeLine, must: true, doc: "what the bake-off is called in its report"},
		{name: "question", shape: shapeLine, doc: "the question that the report answers; made from the factors where absent"},
		{name: "hosts", shape: shapeNamed, keys: hostFields(), doc: "the machines that take part; absent, one host named local, this machine"},
		{name: "services", shape: shapeNamed, keys: serviceFields(), doc: "the servers under test: how to start, pin, check and stop them, or where they already run"},
		{name: "workloads", shape: shapeNamed, must: true, keys: workloadFields(), rest: shapeAny, doc: "the loads; several are a factor, unless together"},
		{name: "settings", shape: shapeNamed, keys: settingFields(), doc: "what is set on each host in every trial, and put back afterwards"},
		{name: "factors", shape: shapeTree, doc: "what is varied: factor -> level -> path -> value"},
		{name: "baseline", shape: shapeMap, doc: "factor -> the level that the others are compared with; absent, the first"},
		{name: "hard", shape: shapeTexts, doc: "factors that are expensive to change: their levels are randomised between whole plots of a block"},
		{name: "together", shape: shapeBool, doc: "true: all workloads run at once in every trial"},
		{name: "ladder", shape: shapeBool, doc: "true: the levels of the one factor add up, step by step"},
		{name: "graded", shape: shapeSection, keys: gradedFields(), doc: "every cell at 100 % to 10 % of its peak and idle, instead of at one load"},
		{name: "peak", shape: shapeSection, keys: peakFields(), doc: "every cell at its own best load, which is searched first: users, connections, a rate"},
		{name: "compare", shape: shapeTexts, doc: "the effects wanted: a factor, \"a within b\" or \"a x b\"; absent, every factor"},
		{name: "primary", shape: shapeNamed, of: shapeMeasure, keys: primaryFields(), doc: "the measures that decide, each with its direction and margin"},
		{name: "repeat", shape: shapeSection, keys: repeatFields(), doc: "how many blocks are run"},
		{name: "order", shape: shapeEnum, values: []string{string(OrderBlocks), string(OrderABBA)}, doc: "blocks: a seeded shuffle of all cells in each block; abba: two cells, A B then B A"},
		{name: "retries", shape: shapeCount, doc: "how often a block with an invalid trial is repeated; absent, 2"},
		{name: "aa", shape: shapeBool, doc: "true: each block also measures the baseline a second time, for the noise floor of the lab"},
		{name: "limits", shape: shapeSection, keys: limitFields(), doc: "thresholds of the validity gates, where they should differ from the defaults"},
		{name: "seed", shape: shapeSeed, doc: "of the order and of every generator; absent, taken from the file's hash"},
		{name: "telemetry", shape: shapeSection, keys: telemetryFields(), doc: "what is watched, and how often"},
		{name: "money", shape: shapeSection, keys: moneyFields(), doc: "what costs are worked out from"},
	}
}

func hostFields() []field {
	return []field{
		{name: "agent", shape: shapeEnum, values: []string{AgentLocal, AgentNone}, doc: "local: this machine; none: a host that is only declared; absent, local"},
		{name: "namespace", shape: shapeText, doc: "the network namespace of this machine that it is: its loads, services and settings are inside; all share the machine's processors and clock"},
		{name: "cpus", shape: shapeCPUs, doc: "the cores that the load generator may use there, as 0-3,8"},
		{name: "facts", shape: shapeMap, doc: "declared facts of a host without an agent, name -> value"},
		{name: "price", shape: shapeMoney, doc: "of the whole host, as 31823.62 USD"},
		{name: "support", shape: shapeMoney, doc: "for it and a year; absent, what money says"},
		{name: "power", shape: shapeSections, keys: powerFields(), rest: shapeText, doc: "where its watts are read; further keys are the source's own"},
	}
}

func powerFields() []field {
	return []field{
		{name: "kind", shape: shapeEnum, must: true, values: []string{"rapl", "redfish", "ipmi", "snmp", "prometheus", "csv", "command"}, doc: "how the watts are read"},
		{name: "class", shape: shapeEnum, values: []string{"wall-meter", "psu", "bmc", "rapl"}, doc: "what the watts are of; needed but for rapl"},
	}
}

func serviceFields() []field {
	return []field{
		{name: "host", shape: shapeName, doc: "where it runs; absent, the only host with an agent"},
		{name: "command", shape: shapeCommand, doc: "the program and its arguments; {name} is replaced by options.name"},
		{name: "embedded", shape: shapeName, doc: "the engine whose embedded server is started, as kv"},
		{name: "options", shape: shapeMap, doc: "name -> value, of an embedded server or for {name}"},
		{name: "env", shape: shapeMap, doc: "environment variables of the command"},
		{name: "dir", shape: shapeText, doc: "working directory; absent, one of the run's own"},
		{name: "cpus", shape: shapeCPUs, doc: "the cores that it is pinned to, as 0-3"},
		{name: "endpoint", shape: shapeURL, doc: "where the workloads reach it, as redis://127.0.0.1:6379"},
		{name: "ready", shape: shapeSection, doc: "when it counts as up", keys: []field{
			{name: "timeout", shape: shapeDuration, doc: "how long to wait; absent, 30s"},
			{name: "command", shape: shapeCommand, doc: "exits 0 when it is up; absent, a connection to the endpoint is enough"},
		}},
		{name: "version", shape: shapeCommand, doc: "a command that prints its version"},
		{name: "process", shape: shapeText, doc: "the name of the process to watch, of a service that runs already"},
		{name: "stop", shape: shapeSection, doc: "how it is stopped", keys: []field{
			{name: "signal", shape: shapeEnum, values: []string{"TERM", "INT", "QUIT", "HUP", "USR1", "USR2", "KILL"}, doc: "absent, TERM"},
			{name: "timeout", shape: shapeDuration, doc: "how long before SIGKILL; absent, 10s"},
		}},
		{name: "restart", shape: shapeEnum, values: []string{string(RestartTrial), string(RestartCell), string(RestartNever)}, doc: "how long it lives: one trial (absent), while the cell stays, or the whole run"},
		{name: "always", shape: shapeBool, doc: "true: it runs in every trial, although no workload names it"},
	}
}

// workloadFields are the keys that every workload has, whatever its engine.
func workloadFields() []field {
	return []field{
		{name: "engine", shape: shapeName, must: true, doc: "what makes the load, as kv"},
		{name: "source", shape: shapeName, doc: "the host that makes the load; absent, the only host with an agent"},
		{name: "sink", shape: shapeName, doc: "the host at the other end, for engines with two ends"},
		{name: "service", shape: shapeName, doc: "the service under load; or"},
		{name: "target", shape: shapeURL, doc: "the URL of what is under load"},
		{name: "instances", shape: shapePositive, doc: "how many of this load run at once; absent, 1"},
		{name: "workers", shape: shapePositive, doc: "threads or virtual users; absent, the engine decides"},
		{name: "rate", shape: shapeRate, doc: "operations a second of an open loop, as 30k; absent, a closed loop"},
		{name: "peak", shape: shapeRate, doc: "operations a second at 100 % of a graded plan, as 50k"},
		{name: "arrival", shape: shapeEnum, values: []string{"constant", "poisson"}, doc: "how an open loop spaces its operations; absent, constant"},
		{name: "max_burst", shape: shapePositive, doc: "the most operations that an open loop may send at once to catch up"},
		{name: "warmup", shape: shapeDuration, doc: "load before the window that is not counted; absent, a fifth of the window"},
		{name: "window", shape: shapeDuration, doc: "the measured interval, where a rate is measured; or"},
		{name: "deadline", shape: shapeDuration, doc: "the longest that work may take which ends by itself"},
		{name: "op_timeout", shape: shapeDuration, doc: "after which an operation counts as timed out"},
		{name: "drain", shape: shapeDuration, doc: "how long to wait after the window for what is in flight"},
		{name: "secrets", shape: shapeNamed, doc: "name -> where the secret is kept", keys: []field{
			{name: "file", shape: shapeText, doc: "its first line is the secret"},
			{name: "env", shape: shapeText, doc: "the environment variable that holds it"},
		}},
	}
}

func settingFields() []field {
	return []field{
		{name: "governor", shape: shapeText, doc: "CPU frequency governor of all cores, as performance"},
		{name: "sysctl", shape: shapeMap, doc: "kernel parameter -> value, as net.core.somaxconn: 4096"},
		{name: "file", shape: shapeMap, doc: "a file under /sys or /proc -> what is written to it"},
		{name: "command", shape: shapeNamed, doc: "name -> commands that apply, read and restore something", keys: []field{
			{name: "apply", shape: shapeCommand, must: true, doc: "sets it; {value} is the value"},
			{name: "read", shape: shapeCommand, must: true, doc: "prints what it is now, which must be the value after apply"},
			{name: "restore", shape: shapeCommand, doc: "puts it back; {before} is what read printed before; absent, apply with that"},
			{name: "value", shape: shapeText, must: true, doc: "the value wanted"},
		}},
		{name: "ethtool", shape: shapeNamed, of: shapeInterface, rest: shapeSwitch, doc: "interface -> offloads, on or off: tso, gso, gro, lro, tx, rx, sg, rxhash, ntuple, rxvlan, txvlan, uso, or a feature as ethtool -k shows it"},
		{name: "rings", shape: shapeNamed, of: shapeInterface, doc: "interface -> descriptors of its queues", keys: countKeys("rx", "tx", "rx_mini", "rx_jumbo")},
		{name: "channels", shape: shapeNamed, of: shapeInterface, doc: "interface -> how many queues it has", keys: countKeys("rx", "tx", "combined", "other")},
		{name: "coalesce", shape: shapeNamed, of: shapeInterface, doc: "interface -> when it interrupts", keys: append(
			countKeys("rx_usecs", "rx_frames", "tx_usecs", "tx_frames"), switchKeys("adaptive_rx", "adaptive_tx")...)},
		{name: "pause", shape: shapeNamed, of: shapeInterface, doc: "interface -> flow control of the link", keys: switchKeys("rx", "tx", "autoneg")},
		{name: "mtu", shape: shapeMap, doc: "interface -> bytes, as 9000"},
		{name: "qdisc", shape: shapeMap, doc: "interface -> queueing discipline without parameters, as fq or pfifo_fast"},
		{name: "irq", shape: shapeMap, doc: "interface -> cores that all its interrupts may go to, as 0-3; \"spread 0-3\": one each, in turn"},
		{name: "rps", shape: shapeMap, doc: "interface -> cores that receive packets are steered to, as 0-3; off for none"},
		{name: "xps", shape: shapeMap, doc: "interface -> cores that its transmit queues serve, as 0-3; off for none"},
		{name: "vfs", shape: shapeMap, doc: "interface -> virtual functions of its card (SR-IOV)"},
		{name: "irqbalance", shape: shapeEnum, values: []string{"stopped", "running"}, doc: "stopped pauses irqbalance, which moves interrupts"},
	}
}

// pairKinds are the settings of an interface that are several values at once.
func pairKinds() []string { return []string{"ethtool", "rings", "channels", "coalesce", "pause"} }

// interfaceKinds are those that are one value.
func interfaceKinds() []string { return []string{"mtu", "qdisc", "irq", "rps", "xps", "vfs"} }

func countKeys(names ...string) []field { return keysOf(shapeCount, names) }

func switchKeys(names ...string) []field { return keysOf(shapeSwitch, names) }

func keysOf(s shape, names []string) []field {
	var out []field
	for _, n := range names {
		out = append(out, field{name: n, shape: s})
	}
	return out
}

func primaryFields() []field {
	return []field{
		{name: "better", shape: shapeEnum, must: true, values: []string{"higher", "lower"}, doc: "higher or lower"},
		{name: "margin", shape: shapePercent, must: true, doc: "the smallest difference that matters, as 2%"},
	}
}

func repeatFields() []field {
	return []field{
		{name: "blocks", shape: shapePositive, doc: "their number, fixed in advance; or"},
		{name: "pilot", shape: shapePositive, doc: "8 or more blocks that fix the number by their spread"},
		{name: "until", shape: shapePercent, doc: "the wanted half-width of the intervals, as 1%"},
		{name: "max", shape: shapePositive, doc: "the most blocks, whatever the pilot says"},
	}
}

func limitFields() []field {
	return []field{
		{name: "errors", shape: shapePercent, doc: "most operations that may fail"},
		{name: "misses", shape: shapePercent, doc: "most operations that may miss"},
		{name: "steal", shape: shapePercent, doc: "most CPU time that a hypervisor may take; a fifth of it warns"},
		{name: "slope", shape: shapePercent, doc: "largest change of throughput over the window; five times as much in most trials of a cell makes findings invalid"},
		{name: "excursion", shape: shapePercent, doc: "largest distance of a tenth of the window from the mean; five times as much likewise"},
		{name: "generator_busy", shape: shapePercent, doc: "how busy the busiest generator thread may be"},
		{name: "rate_shortfall", shape: shapePercent, doc: "how far below its rate an open loop may stay"},
		{name: "neighbours", shape: shapePercent, doc: "most CPU time of a host that others may take; a fifth of it warns"},
		{name: "generator_stall", shape: shapePercent, doc: "longest part of the window for which the generator may stand still at a time, from 250 ms on; ten times as much in all"},
		{name: "silence", shape: shapePercent, doc: "longest part of the window in which next to nothing may come back at a time, from 500 ms on"},
		{name: "disconnected", shape: shapePercent, doc: "part of the window for which an average connection may be down"},
	}
}

func telemetryFields() []field {
	return []field{
		{name: "interval", shape: shapeDuration, doc: "between two readings; absent, 1s"},
		{name: "collectors", shape: shapeTexts, doc: "what is read; absent, all that the host supports"},
		{name: "processes", shape: shapeTexts, doc: "names of processes to watch beside the services"},
	}
}

// engineFields are the keys of an engine's own parameters.
func engineFields(e Engine) []field {
	var out []field
	for _, p := range e.Parameters {
		s, known := map[string]shape{
			"bool": shapeSwitch, "int": shapeCount, "float": shapeFloat, "size": shapeSize, "duration": shapeDuration,
			"rate": shapeRate, "percent": shapePercent, "enum": shapeEnum, "list": shapeItems, "map": shapeTree, "string": shapeText,
		}[p.Type]
		if !known {
			s = shapeAny
		}
		out = append(out, field{name: p.Name, shape: s, values: p.Values, doc: p.Doc})
	}
	return out
}
