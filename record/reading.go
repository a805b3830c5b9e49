package record

// MetricKind says how a reading's values combine over time.
type MetricKind string

// The kinds of a metric.
const (
	Counter64 MetricKind = "counter" // only grows; its rate is what matters
	Gauge     MetricKind = "gauge"   // a level at a moment
)

// A Reading is one value that a collector took. Start and End are the edges of
// its own acquisition, in nanoseconds of Unix time.
type Reading struct {
	Host      string     `parquet:"host,dict" json:"host"`
	Collector string     `parquet:"collector,dict" json:"collector"`
	Metric    string     `parquet:"metric,dict" json:"metric"`     // as cpu.user
	Instance  string     `parquet:"instance,dict" json:"instance"` // core, disk, NIC, process; "" for the whole
	Unit      string     `parquet:"unit,dict" json:"unit"`
	Kind      MetricKind `parquet:"kind,dict" json:"kind"`
	Start     int64      `parquet:"start_ns,delta" json:"start_ns"`
	End       int64      `parquet:"end_ns,delta" json:"end_ns"`
	Value     float64    `parquet:"value" json:"value"`
}

// CollectorCost is what one collector cost and how often it failed.
type CollectorCost struct {
	Collector string  `json:"collector"`
	Support   string  `json:"support"` // supported, unsupported, unknown
	Reason    string  `json:"reason,omitempty"`
	Samples   int     `json:"samples"`
	Failures  int     `json:"failures"`
	LastError string  `json:"last_error,omitempty"`
	Seconds   float64 `json:"seconds"`     // of wall time in collecting
	CPU       float64 `json:"cpu_seconds"` // of the sampler's thread, where known
	Missed    int     `json:"missed"`      // ticks that could not be kept
	// Source describes a meter: its class (wall meter, PSU, BMC, RAPL ...),
	// cadence and uncertainty. Empty for the rest.
	Class       string   `json:"class,omitempty"`
	Cadence     float64  `json:"cadence_seconds,omitempty"`
	Uncertainty *float64 `json:"uncertainty_percent,omitempty"`
	// Notes are what the collector noticed and a user of its readings should
	// know, such as a meter that contradicts itself.
	Notes []string `json:"notes,omitempty"`
}
