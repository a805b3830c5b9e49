package record

// Direction says which way a measure is better.
type Direction string

// The directions of a measure.
const (
	HigherIsBetter Direction = "higher"
	LowerIsBetter  Direction = "lower"
	NoDirection    Direction = "" // descriptive only
)

// An Observation is one value of one measure in one cell and block. Runs,
// imported results and printed figures all become observations, the only input
// of analysis.
type Observation struct {
	Cell     Cell      `json:"cell"`
	Block    int       `json:"block"`           // 0 where there are no blocks, as in printed figures
	Trial    TrialID   `json:"trial,omitempty"` // empty for printed figures
	Role     Role      `json:"role"`
	Workload string    `json:"workload,omitempty"`
	Measure  string    `json:"measure"` // as throughput, get.service.p99
	Unit     string    `json:"unit"`
	Better   Direction `json:"better"`
	Value    float64   `json:"value"`
	// HalfWidth is half a unit of the last printed digit, for figures known
	// only to the precision they were printed with; nil for measured values.
	HalfWidth *float64 `json:"half_width,omitempty"`
	Text      string   `json:"text,omitempty"` // as it was printed
}
