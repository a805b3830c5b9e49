package load

import (
	"math"
	"testing"
)

func TestSteadiness(t *testing.T) {
	flat, rising, dip := make([]float64, 50), make([]float64, 50), make([]float64, 50)
	for i := range flat {
		flat[i] = 1000
		rising[i] = 1000 + 4*(float64(i)-24.5) // 200 of 1000 from end to end
		dip[i] = 1000
	}
	for i := 20; i < 25; i++ { // one tenth
		dip[i] = 500
	}
	for _, c := range []struct {
		name             string
		counts           []float64
		slope, excursion float64
	}{
		{"flat", flat, 0, 0},
		{"rising", rising, 20, 9},
		{"dip", dip, dipSlope, 100 * (1 - 500/950.0)},
	} {
		s := steadiness(c.counts)
		if s == nil || s.Intervals != 50 || math.Abs(s.SlopePercent-c.slope) > 0.01 || math.Abs(s.ExcursionPercent-c.excursion) > 0.01 {
			t.Errorf("%s: %+v, want slope %g, excursion %g", c.name, s, c.slope, c.excursion)
		}
	}
	if steadiness(flat[:9]) != nil || steadiness(make([]float64, 20)) != nil {
		t.Error("too few intervals, or none completed, were judged")
	}
}

// dipSlope is the least-squares slope of the dip: it lies in the fifth tenth,
// 2.5 parts before the middle: -500 * 5 * -2.5 / 10412.5 a part, of 950, over 50.
const dipSlope = 100 * (500 * 5 * 2.5 / 10412.5) * 50 / 950
