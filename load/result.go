package load

import "bakeoff/record"

// Result is what one part of one workload produced in one trial, on the host
// that ran it. It is serialisable.
type Result struct {
	Load record.Load `json:"load"`
	// Logs holds, by file name, the HdrHistogram interval logs that
	// Load.Latencies names, and the engine's own artifacts.
	Logs map[string][]byte `json:"logs"`
	// Warnings that the load itself raised, such as a ledger that does not close.
	Warnings []record.Warning `json:"warnings,omitempty"`
}

// Progress is what a running load says about itself once a second.
type Progress struct {
	Workload string          `json:"workload"`
	Phase    string          `json:"phase"`    // prepare, warm-up, window, drain
	Fraction float64         `json:"fraction"` // of the phase, 0 to 1
	Interval record.Interval `json:"interval"`
}
