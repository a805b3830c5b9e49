package analysis_test

import (
	"slices"
	"strconv"
	"testing"

	"bakeoff/analysis"
	"bakeoff/record"
)

// A shape is a load by what its tenths complete.
type shape struct {
	slots     int
	seconds   float64  // of a tenth
	completed []uint64 // in each tenth
	due       []float64
}

// tenths puts the shape into a load.
func (s shape) tenths(l *record.Load) {
	l.Window.Seconds, l.Tenths, l.Ledger = 10*s.seconds, nil, record.Ledger{}
	l.Parameters = map[string]string{"in_flight": strconv.Itoa(s.slots)}
	for i, n := range s.completed {
		t := record.Tenth{Seconds: s.seconds, Completed: n}
		if s.due != nil {
			t.Due = s.due[i]
			l.Generator.TargetRate += t.Due / l.Window.Seconds
		}
		l.Tenths = append(l.Tenths, t)
		l.Ledger.Completed, l.Ledger.Offered = l.Ledger.Completed+n, l.Ledger.Offered+n
	}
}

func repeated[T any](n int, v T) []T { return slices.Repeat([]T{v}, n) }

// TestSilence knows a target that was gone from loads that are slow, rare or
// uneven by nature.
func TestSilence(t *testing.T) {
	half := append(repeated(5, uint64(1000)), repeated(5, uint64(0))...)
	for name, c := range map[string]struct {
		shape
		silent bool
	}{
		"half of a closed loop":               {shape{slots: 16, seconds: 1, completed: half}, true},
		"one connection":                      {shape{slots: 1, seconds: 1, completed: half}, true},
		"gone but for the first tenth":        {shape{slots: 16, seconds: 1, completed: append([]uint64{9000}, repeated(9, uint64(0))...)}, true},
		"one tenth":                           {shape{slots: 16, seconds: 1, completed: append(repeated(9, uint64(1000)), 3)}, true},
		"a retry now and then":                {shape{slots: 512, seconds: 1, completed: append(repeated(6, uint64(90_000)), 0, 16, 16, 16)}, true},
		"half of an open loop":                {shape{slots: 64, seconds: 1, completed: half, due: repeated(10, 1000.)}, true},
		"an open loop, then its arrears":      {shape{slots: 9000, seconds: 1, completed: []uint64{100, 100, 0, 0, 0, 400, 100, 100, 100, 100}, due: repeated(10, 100.)}, true},
		"a tenth of a short window":           {shape{slots: 16, seconds: 0.2, completed: append(repeated(9, uint64(1000)), 0)}, false},
		"three tenths of a short window":      {shape{slots: 16, seconds: 0.2, completed: append(repeated(7, uint64(1000)), 0, 0, 0)}, true},
		"a slow tenth":                        {shape{slots: 16, seconds: 1, completed: append(repeated(9, uint64(1000)), 100)}, false},
		"long queries, one at a time":         {shape{slots: 1, seconds: 60, completed: []uint64{1, 0, 0, 1, 0, 0, 1, 0, 0, 1}}, false},
		"long queries, in step":               {shape{slots: 50, seconds: 1, completed: []uint64{0, 50, 0, 50, 0, 50, 0, 50, 0, 50}}, false},
		"a long one among short, one by one":  {shape{slots: 1, seconds: 1, completed: []uint64{200, 200, 0, 200, 200, 0, 200, 200, 0, 200}}, false},
		"an open loop of one a second":        {shape{slots: 64, seconds: 1, completed: []uint64{1, 0, 2, 1, 0, 1, 3, 0, 0, 1}, due: repeated(10, 1.)}, false},
		"an open loop that was to pause":      {shape{slots: 64, seconds: 1, completed: half, due: append(repeated(5, 1000.), repeated(5, 0.)...)}, false},
		"an open loop that rises":             {shape{slots: 64, seconds: 1, completed: []uint64{10, 3000, 5000, 7000, 9000, 9000, 9000, 9000, 9000, 9000}, due: []float64{10, 3000, 5000, 7000, 9000, 9000, 9000, 9000, 9000, 9000}}, false},
		"an open loop far above what it can":  {shape{slots: 64, seconds: 1, completed: repeated(10, uint64(50)), due: repeated(10, 90_000.)}, false},
		"many users that think for long":      {shape{slots: 1000, seconds: 1, completed: []uint64{0, 30, 41, 12, 0, 22, 35, 14, 3, 50}}, false},
		"work that comes from a cache, first": {shape{slots: 16, seconds: 1, completed: append([]uint64{900_000}, repeated(9, uint64(4000))...)}, false},
	} {
		t.Run(name, func(t *testing.T) {
			trial, readings, limits := sound(t)
			c.tenths(&trial.Loads[0])
			got := slices.ContainsFunc(analysis.CheckTrial(trial, readings, limits), func(w record.Warning) bool {
				return w.Gate == "target-silent" && w.Severity == record.SeverityHard
			})
			if got != c.silent {
				t.Errorf("the target counts as silent: %t, want %t", got, c.silent)
			}
		})
	}
}
