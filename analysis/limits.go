package analysis

import "bakeoff/plan"

// limits are the thresholds of the validity gates: a plan's, or the defaults.
type limits struct {
	errors    float64 // percent of the operations that ended
	misses    float64 // percent of the completed operations of a kind
	steal     float64 // percent of CPU time; a fifth of it already warns
	slope     float64 // percent of the mean, over the window
	excursion float64 // percent of the mean, of a tenth of the window
	busy      float64 // percent, of the busiest generator worker
	rateShort float64 // percent below the target rate
	neighbour float64 // percent of a host's CPU time; a fifth of it already warns
	stall     float64 // percent of the window, at a time; ten times as much in all
	silence   float64 // percent of the window, at a time
	down      float64 // percent of the window, by an average connection
}

func limitsOf(l plan.Limits) limits {
	or := func(given *float64, otherwise float64) float64 {
		if given != nil {
			return *given
		}
		return otherwise
	}
	return limits{
		errors:    or(l.ErrorPercent, 0.1),
		misses:    or(l.MissPercent, 1),
		steal:     or(l.StealPercent, 5),
		slope:     or(l.SlopePercent, 5),
		excursion: or(l.Excursion, 15),
		busy:      or(l.BusyPercent, 90),
		rateShort: or(l.RateShort, 1),
		neighbour: or(l.Neighbours, 25),
		stall:     or(l.Stall, 1),
		silence:   or(l.Silence, 5),
		down:      or(l.Disconnected, 1),
	}
}

// Thresholds that a plan cannot change.
const (
	maxPacingLag      = 1e-3    // s, 99th percentile
	maxSwapTotal      = 1 << 20 // B in the window: warns
	maxSwapRate       = 1 << 20 // B/s: invalid
	noOneState        = 5       // times the limits of slope and excursion: no state at all
	maxClockPPM       = 100.0   // warns; ten times as much is invalid
	maxClockStep      = 10e-3   // s: warns; ten times as much is invalid
	maxUnsentShare    = 0.1     // of what lies beyond a percentile: warns
	minTailSamples    = 10      // above a percentile; under one it is only the maximum
	minWindow         = 5.0     // s
	maxTelemetryCPU   = 2.0     // percent of one core
	minCoverage       = 0.9     // of the window, by a collector's samples
	minPowerIntervals = 3       // sensing intervals in the window
	maxNICShare       = 90.0    // percent of the link's rate
	maxDrift          = 5.0     // percent, from the first block to the last
	maxDigitShare     = 0.05    // half a unit of the last digit, of the value
	maxAttrition      = 0.25    // between levels, of the share of trials lost
	minBlocks         = 2       // blocks in a finding
	recommendedBlocks = 5       // fewer are judged, and warn
	minSteadySeconds  = 10      // intervals in the window to judge steadiness on
)
