package analysis

import (
	"math"
	"strconv"

	"bakeoff/unit"
)

// plain writes a number for people: three significant digits, and all
// of a whole number; no exponent, no trailing zeros.
func plain(v float64) string {
	if v == 0 || math.IsNaN(v) || math.IsInf(v, 0) {
		return strconv.FormatFloat(v+0, 'f', -1, 64)
	}
	if math.Abs(v) >= 1000 { // a reader takes every digit of a whole number for one that counts
		return strconv.FormatFloat(v, 'f', 0, 64)
	}
	rounded, err := strconv.ParseFloat(strconv.FormatFloat(v, 'g', 3, 64), 64)
	if err != nil {
		return strconv.FormatFloat(v, 'g', 3, 64)
	}
	return strconv.FormatFloat(rounded, 'f', -1, 64)
}

// quantity writes a value in a base unit with four significant digits.
func quantity(v float64, base string) string { return unit.FormatSI(v, base, 4) }

// amount writes a measure's value: quantity, but fractions in percent.
func amount(measure, base string, v float64) string {
	if isFraction(measure) {
		return plain(100*v) + " %"
	}
	return quantity(v, base)
}
