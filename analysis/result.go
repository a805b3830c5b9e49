// Package analysis turns records into findings: effects with intervals,
// validity, efficiency, money, energy and consolidation. It is pure, reads
// only what package record gives, and computes everything that a report prints.
package analysis

import (
	"time"

	"bakeoff/record"
)

// Result is everything a report prints. Renderers compute nothing.
type Result struct {
	Title    string `json:"title"`
	Question string `json:"question"`
	Answer   string `json:"answer"` // one sentence, with its interval
	// Printed is true where the figures come from a printed report and were
	// not measured by bakeoff.
	Printed bool `json:"printed"`

	Run      RunInfo          `json:"run"`
	Measures []Measure        `json:"measures"`
	Cells    []CellSummary    `json:"cells"`
	Findings []Finding        `json:"findings"` // primary first
	Noise    []NoiseFloor     `json:"noise_floor,omitempty"`
	Charts   []Chart          `json:"charts"`
	Gates    []GateResult     `json:"gates"` // every gate, with how many trials it looked at and objected to
	Warnings []record.Warning `json:"warnings,omitempty"`
	Trials   []TrialRow       `json:"trials"` // the raw table, invalid and excluded ones included
	Shared   []FactRow        `json:"shared_facts,omitempty"`
	Differs  []FactDiff       `json:"differing_facts,omitempty"`
	Settings []SettingRow     `json:"settings,omitempty"` // what was set, read back and restored
	Services []ServiceRow     `json:"services,omitempty"` // servers under test, as they ran
	Method   []string         `json:"method"`             // paragraphs that a reader can repeat
	Commands []string         `json:"commands"`           // exact ones
	Tables   []Table          `json:"tables,omitempty"`   // efficiency, money, energy, limits, consolidation
}

// RunInfo identifies the record behind a result.
type RunInfo struct {
	ID         string    `json:"id"`
	RootHash   string    `json:"root_hash"`
	PlanHash   string    `json:"plan_hash"`
	Build      string    `json:"build"`
	Started    time.Time `json:"started"`
	Ended      time.Time `json:"ended"`
	Complete   bool      `json:"complete"`
	Blocks     int       `json:"blocks"`
	Replicated string    `json:"replicated"` // what was repeated: run, restart, reload, reboot, unit
	PostHoc    bool      `json:"post_hoc"`   // blocks were added after the plan's end
	Hosts      []string  `json:"hosts,omitempty"`
}

// Measure describes one measure of the observations.
type Measure struct {
	Name     string           `json:"name"`
	Title    string           `json:"title"` // for people: "Throughput"
	Unit     string           `json:"unit"`
	Better   record.Direction `json:"better"`
	Primary  bool             `json:"primary"`
	Margin   float64          `json:"margin"` // fraction; 0 for descriptive ones
	Workload string           `json:"workload,omitempty"`
	Host     string           `json:"host,omitempty"` // where it was measured, where it is of one host
}

// CellSummary is one measure in one cell over its valid trials.
type CellSummary struct {
	Cell      record.Cell `json:"cell"`
	Workload  string      `json:"workload,omitempty"`
	Measure   string      `json:"measure"`
	Unit      string      `json:"unit"`
	N         int         `json:"n"`
	Values    []float64   `json:"values"` // a trial each, in block order
	Blocks    []int       `json:"blocks"`
	Center    float64     `json:"center"` // geometric mean; mean where a value is <= 0
	Low       float64     `json:"low"`    // 95 % interval of the centre, descriptive
	High      float64     `json:"high"`
	CVPercent *float64    `json:"cv_percent,omitempty"`
	Min       float64     `json:"min"`
	Max       float64     `json:"max"`
}

// Verdict is the judgement of one finding.
type Verdict string

// The verdicts, in order of precedence.
const (
	Invalid      Verdict = "invalid"
	Equivalent   Verdict = "equivalent"
	Better       Verdict = "better"
	Worse        Verdict = "worse"
	Inconclusive Verdict = "inconclusive"
	Descriptive  Verdict = "descriptive" // not a primary measure: no verdict is given
)

// EffectKind names what a finding is about.
type EffectKind string

// The kinds of effect.
const (
	MainEffect   EffectKind = "main"
	SimpleEffect EffectKind = "simple"
	Interaction  EffectKind = "interaction"
)

// A Finding is one judged comparison of two levels on one measure.
type Finding struct {
	ID       string           `json:"id"`
	Kind     EffectKind       `json:"kind"`
	Factor   string           `json:"factor"`          // "ip", or "ip x offload"
	Base     string           `json:"base"`            // level, or levels
	Against  string           `json:"against"`         // level compared with the base
	Where    record.Cell      `json:"where,omitempty"` // the fixed levels of a simple effect
	Workload string           `json:"workload,omitempty"`
	Measure  string           `json:"measure"`
	Unit     string           `json:"unit"`
	Better   record.Direction `json:"better"`
	Primary  bool             `json:"primary"`
	Margin   float64          `json:"margin"`

	BaseValue    float64 `json:"base_value"` // centre over the blocks compared
	AgainstValue float64 `json:"against_value"`
	// Scale is "ratio" (Against/Base) or "difference" (Against - Base, where a
	// value is <= 0).
	Scale  string  `json:"scale"`
	Effect float64 `json:"effect"`
	Low    float64 `json:"low"`
	High   float64 `json:"high"`
	Level  float64 `json:"confidence"` // of this interval: 0.95, or more with Bonferroni
	Family int     `json:"family"`     // comparisons that share the 5 %
	N      int     `json:"n"`          // blocks compared
	Method string  `json:"method"`
	// ImprovementPercent is by the product's definition: positive is better.
	ImprovementPercent *float64 `json:"improvement_percent,omitempty"`

	// Coarse says why repetition tells too little, "" where it does not.
	Coarse string `json:"coarse,omitempty"`

	SecondOpinion string           `json:"second_opinion,omitempty"` // exact signed-rank, bootstrap: labelled checks
	Verdict       Verdict          `json:"verdict"`
	NeededN       int              `json:"needed_n,omitempty"` // blocks a new run would need, where inconclusive
	Sentence      string           `json:"sentence"`           // in words, both values and the base named
	Replicated    string           `json:"replicated"`
	Warnings      []record.Warning `json:"warnings,omitempty"`
	Trials        []record.TrialID `json:"trials"`
}

// NoiseFloor is what the lab shows when nothing differs (--aa).
type NoiseFloor struct {
	Workload string  `json:"workload,omitempty"`
	Measure  string  `json:"measure"`
	Effect   float64 `json:"effect"` // ratio of the baseline to itself
	Low      float64 `json:"low"`
	High     float64 `json:"high"`
	N        int     `json:"n"`
	Verdict  Verdict `json:"verdict"`
	Sentence string  `json:"sentence"`
}

// GateResult is one validity gate over the whole run.
type GateResult struct {
	Gate       string          `json:"gate"`
	Title      string          `json:"title"`
	Threshold  string          `json:"threshold"`
	Severity   record.Severity `json:"severity"`
	Checked    int             `json:"checked"` // trials (or findings) it looked at
	Objected   int             `json:"objected"`
	NotChecked string          `json:"not_checked,omitempty"` // why it could not look
}

// TrialRow is one line of the raw table.
type TrialRow struct {
	Trial    record.TrialID     `json:"trial"`
	Role     record.Role        `json:"role"`
	Block    int                `json:"block"`
	Attempt  int                `json:"attempt"`
	Cell     record.Cell        `json:"cell"`
	At       string             `json:"at,omitempty"` // its load, of a plan that searches for peaks
	Status   record.Status      `json:"status"`
	Reason   string             `json:"reason,omitempty"`
	Counted  bool               `json:"counted"` // stands behind the verdicts
	Values   map[string]float64 `json:"values"`  // by measure name (workload/measure where several)
	Warnings []record.Warning   `json:"warnings,omitempty"`
}

// FactRow is one fact that all levels share.
type FactRow struct {
	Host  string `json:"host"`
	Path  string `json:"path"`
	Value string `json:"value"`
}

// FactDiff is one fact that differs between cells or over time.
type FactDiff struct {
	Host     string            `json:"host"`
	Path     string            `json:"path"`
	Values   map[string]string `json:"values"`   // cell key (or "before"/"after") -> value
	Declared bool              `json:"declared"` // the plan varies it
}

// SettingRow is one setting as it was over all trials in which it had the same
// course. Values are nil where they could not be read.
type SettingRow struct {
	Host     string   `json:"host"`
	Kind     string   `json:"kind"`
	Target   string   `json:"target"`
	Before   *string  `json:"before"`
	Wanted   string   `json:"wanted"`
	ReadBack *string  `json:"read_back"`
	AtEnd    *string  `json:"at_end"`
	Restored *string  `json:"restored"`
	Cells    []string `json:"cells,omitempty"` // keys; empty for all cells
	Trials   int      `json:"trials"`
}

// ServiceRow is one server under test as it ran in the same way in some trials.
type ServiceRow struct {
	Name     string            `json:"name"`
	Host     string            `json:"host"`
	Command  []string          `json:"command,omitempty"` // empty where it already ran
	CPUs     string            `json:"cpus,omitempty"`
	Endpoint string            `json:"endpoint,omitempty"`
	Version  string            `json:"version,omitempty"`
	Facts    map[string]string `json:"facts,omitempty"`
	Cells    []string          `json:"cells,omitempty"` // keys; empty for all cells
	Trials   int               `json:"trials"`
}

// ChartKind names a chart's form.
type ChartKind string

// The forms of charts.
const (
	BarChart        ChartKind = "bars"        // centres with intervals and every trial's point
	PercentileChart ChartKind = "percentiles" // latency by percentile, log axis
	TimeChart       ChartKind = "time"        // over the trial, the window marked
	ForestChart     ChartKind = "forest"      // effects with intervals against 1 and the margin
	LineChart       ChartKind = "line"        // over a numeric factor
	StackChart      ChartKind = "stack"
)

// Chart is one figure, as data, in base units.
//
// Bars, forest and stack charts take categories from Series.Labels and lie: the
// categories run down the page and the values along it. Percentile charts have
// quantiles from 0 to 1 in X (1 is the largest value seen) and seconds in Y; time charts
// have seconds from the window's start in X; line charts a factor's numeric
// levels in X, with the levels' names in Labels.
type Chart struct {
	ID      string    `json:"id"`
	Kind    ChartKind `json:"kind"`
	Title   string    `json:"title"`
	Caption string    `json:"caption"` // how to read it, and what it shows
	Alt     string    `json:"alt"`     // text alternative: the data in words
	XLabel  string    `json:"x_label"`
	YLabel  string    `json:"y_label"`
	XUnit   string    `json:"x_unit,omitempty"` // base units; the renderer scales them and writes them beside the label
	YUnit   string    `json:"y_unit,omitempty"`
	// Group names charts that are read side by side, as throughput and CPU
	// over time: they share their x axis.
	Group  string    `json:"group,omitempty"`
	XLog   bool      `json:"x_log,omitempty"`
	YLog   bool      `json:"y_log,omitempty"`
	Series []Series  `json:"series"`
	Bands  []Band    `json:"bands,omitempty"`
	Lines  []RefLine `json:"lines,omitempty"`
}

// Series is one row of points of a chart.
type Series struct {
	Name   string      `json:"name"`
	Labels []string    `json:"labels,omitempty"` // of categorical x positions
	X      []float64   `json:"x,omitempty"`
	Y      []float64   `json:"y"`
	Low    []float64   `json:"low,omitempty"`
	High   []float64   `json:"high,omitempty"`
	Points [][]float64 `json:"points,omitempty"` // every trial's value behind each Y
	Notes  []string    `json:"notes,omitempty"`  // a word beside each Y, as a forest chart's verdict
	// Model is true for what was worked out and not measured: a thin line
	// without marks.
	Model bool `json:"model,omitempty"`
}

// Band is a shaded stretch of an axis, as the window or a margin.
type Band struct {
	Axis  string  `json:"axis"` // x or y
	From  float64 `json:"from"`
	To    float64 `json:"to"`
	Label string  `json:"label"`
}

// RefLine is a line at one value of an axis.
type RefLine struct {
	Axis  string  `json:"axis"`
	At    float64 `json:"at"`
	Label string  `json:"label"`
}

// Table is a finished table with its units in the head.
type Table struct {
	ID      string     `json:"id"`
	Title   string     `json:"title"`
	Caption string     `json:"caption"`
	Columns []string   `json:"columns"`
	Numeric []bool     `json:"numeric"` // which columns are set right
	Rows    [][]string `json:"rows"`
	Notes   []string   `json:"notes,omitempty"`
}
