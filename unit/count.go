package unit

import (
	"math/big"
	"strings"
)

const (
	countForm   = "a whole number as 250, 100k (100 000) or 1.5M (1 500 000)"
	rateForm    = "events a second as 500, 30k (30 000), 1.5M or 30k/s"
	bitRateForm = "bits a second as 500k, 100M, 1G, 1Gbit/s or 1Gbps"
	percentForm = "a percentage with its sign, as 2% or 0.5%"
)

// ParseCount reads a whole number: 250, 100k = 100 000, 1.5M = 1 500 000, 2G.
// The letters k (or K), M, G and T are decimal; a count has no binary ones.
func ParseCount(s string) (int64, error) {
	number, suffix := split(s)
	value, ok := decimal(number)
	factor, known := decimalFactor(suffix)
	if !ok || !known {
		return 0, &SyntaxError{"count", s, countForm}
	}
	n, ok := toInt64(value.Mul(value, factor))
	if !ok {
		return 0, &SyntaxError{"count", s, countForm + " below 2^63"}
	}
	return n, nil
}

// ParseRate reads a rate in events a second: 500, 30k = 30 000, 1.5M, with /s
// after it or not. The letters are decimal, as in ParseCount.
func ParseRate(s string) (float64, error) {
	return perSecond(s, "rate", rateForm, "/s")
}

// ParseBitRate reads a rate in bits a second: 100M, 1G, 1Gbit/s, 1Gbps. The letters
// are decimal. Bytes a second are refused.
func ParseBitRate(s string) (float64, error) {
	return perSecond(s, "bit rate", bitRateForm, "bit/s", "bps")
}

// perSecond reads a number with a decimal letter and, behind that, one of the endings
// or none.
func perSecond(s, kind, form string, endings ...string) (float64, error) {
	number, suffix := split(s)
	value, ok := decimal(number)
	for _, ending := range endings {
		if letter, cut := strings.CutSuffix(suffix, ending); cut {
			suffix = letter
			break
		}
	}
	factor, known := decimalFactor(suffix)
	if !ok || !known {
		return 0, &SyntaxError{kind, s, form}
	}
	rate, _ := value.Mul(value, factor).Float64()
	return rate, nil
}

// ParsePercent reads a percentage and returns it as a fraction: 2% is 0.02. A
// number without the sign is refused, since 0.02 and 2 are both in use.
func ParsePercent(s string) (float64, error) {
	number, suffix := split(s)
	value, ok := decimal(number)
	if !ok || suffix != "%" {
		return 0, &SyntaxError{"percentage", s, percentForm}
	}
	fraction, _ := value.Quo(value, big.NewRat(100, 1)).Float64()
	return fraction, nil
}

// decimalFactor returns the power of ten that a letter stands for.
func decimalFactor(suffix string) (*big.Rat, bool) {
	switch suffix {
	case "":
		return big.NewRat(1, 1), true
	case "k", "K":
		return big.NewRat(1e3, 1), true
	case "M":
		return big.NewRat(1e6, 1), true
	case "G":
		return big.NewRat(1e9, 1), true
	case "T":
		return big.NewRat(1e12, 1), true
	}
	return nil, false
}
