package stats

import (
	"fmt"
	"math"
)

// LogRatios are ln(against/base) of values paired by position. Every value must
// be above zero and finite.
func LogRatios(base, against []float64) ([]float64, error) {
	if len(base) != len(against) {
		return nil, fmt.Errorf("log ratios: %d base values but %d to compare: values are compared in pairs", len(base), len(against))
	}
	out := make([]float64, len(base))
	for i := range base {
		if !(base[i] > 0) || !(against[i] > 0) || math.IsInf(base[i], 0) || math.IsInf(against[i], 0) {
			return nil, fmt.Errorf("log ratios: pair %d is %v and %v: a ratio needs finite values above zero", i+1, base[i], against[i])
		}
		out[i] = math.Log(against[i]) - math.Log(base[i])
	}
	return out, nil
}

// Ratio is the paired comparison of two rows on the scale of their ratio.
type Ratio struct {
	Ratio    float64 // geometric mean of against/base
	Interval Interval
	LogSD    float64 // standard deviation of the log ratios
	N        int
}

// PairedRatio gives the t interval on the log ratios, as a ratio.
func PairedRatio(base, against []float64, alpha float64) (Ratio, error) {
	logs, err := LogRatios(base, against)
	if err != nil {
		return Ratio{}, err
	}
	return Ratio{
		Ratio:    math.Exp(Mean(logs)),
		Interval: MeanInterval(logs, alpha).Exp(),
		LogSD:    SD(logs), N: len(logs),
	}, nil
}
