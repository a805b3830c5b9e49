package unit

import (
	"math"
	"strconv"
	"strings"
)

// DefaultDigits is how many significant digits FormatSI writes unless told.
const DefaultDigits = 4

// FormatSI writes a value in a base unit for people, with that many significant
// digits (DefaultDigits where digits is 0 or less):
//
//	FormatSI(1204300, "ops/s", 4) = "1.204 M ops/s"
//	FormatSI(0.000183, "s", 3)    = "183 µs"
//	FormatSI(32768, "B", 3)       = "32.0 KiB"
//	FormatSI(1.25e9, "B/s", 4)    = "1.250 GB/s"
//
// Amounts of data (B) are scaled by powers of 1024 and flows (B/s) by powers of
// 1000, each with its exact name. Percentages, temperatures and units that carry a
// prefix are not scaled, the plain number "1" only upwards, seconds only downwards.
func FormatSI(value float64, unit string, digits int) string {
	if digits <= 0 {
		digits = DefaultDigits
	}
	if math.IsNaN(value) || math.IsInf(value, 0) {
		return strings.TrimSpace(strconv.FormatFloat(value, 'g', -1, 64) + " " + shown(unit))
	}
	steps := stepsOf(unit)
	i := stepFor(value, steps)
	text := significant(value/steps[i].factor, digits)
	if scaled, err := strconv.ParseFloat(text, 64); err == nil && i+1 < len(steps) && math.Abs(scaled)*steps[i].factor >= steps[i+1].factor {
		i++ // 999.97 k was rounded up to 1000 k: that is 1 M
		text = significant(value/steps[i].factor, digits)
	}
	if unit == "B" && steps[i].factor == 1 && value == math.Trunc(value) {
		text = strconv.FormatFloat(value, 'f', 0, 64) // no half bytes
	}
	return strings.TrimSpace(text + " " + steps[i].name)
}

// A step is one scale of a unit.
type step struct {
	factor float64
	name   string
}

// stepFor returns the largest step that is not above the value's size.
func stepFor(value float64, steps []step) int {
	i := 0
	for i+1 < len(steps) && math.Abs(value) >= steps[i+1].factor {
		i++
	}
	if value == 0 { // in the base unit, not in the smallest
		for j := range steps {
			if steps[j].factor == 1 {
				return j
			}
		}
	}
	return i
}

// stepsOf returns the scales of a unit, smallest first.
func stepsOf(unit string) []step {
	switch unit {
	case "s":
		return []step{{1e-9, "ns"}, {1e-6, "µs"}, {1e-3, "ms"}, {1, "s"}}
	case "B":
		return []step{{1, "B"}, {1 << 10, "KiB"}, {1 << 20, "MiB"}, {1 << 30, "GiB"}, {1 << 40, "TiB"}, {1 << 50, "PiB"}}
	case "B/s":
		return []step{{1, "B/s"}, {1e3, "kB/s"}, {1e6, "MB/s"}, {1e9, "GB/s"}, {1e12, "TB/s"}}
	case "bit/s", "Hz":
		return []step{{1, unit}, {1e3, "k" + unit}, {1e6, "M" + unit}, {1e9, "G" + unit}, {1e12, "T" + unit}}
	case "W", "J", "V", "A":
		return []step{{1e-6, "µ" + unit}, {1e-3, "m" + unit}, {1, unit}, {1e3, "k" + unit}, {1e6, "M" + unit}, {1e9, "G" + unit}}
	case "%", "°C", "x":
		return []step{{1, unit}}
	}
	if prefixed(unit) {
		return []step{{1, unit}}
	}
	name := shown(unit)
	return []step{{1, name}, {1e3, strings.TrimSpace("k " + name)}, {1e6, strings.TrimSpace("M " + name)},
		{1e9, strings.TrimSpace("G " + name)}, {1e12, strings.TrimSpace("T " + name)}}
}

// prefixed reports whether a unit carries a prefix already, as those of printed
// figures do: MiB/s, GB, kW, us.
func prefixed(name string) bool {
	for prefix := range prefixes() {
		rest, cut := strings.CutPrefix(name, prefix)
		whole, _, _ := strings.Cut(rest, "/")
		if cut && takesPrefix(whole) {
			return true
		}
	}
	return false
}

// shown is how a unit is printed: the unit of plain numbers is not.
func shown(unit string) string {
	if unit == "1" {
		return ""
	}
	return unit
}

// significant writes a value with that many significant digits, without an
// exponent where the value is of a size that people read without one.
func significant(value float64, digits int) string {
	if value == 0 {
		return "0"
	}
	rounded := strconv.FormatFloat(value, 'e', digits-1, 64)
	exponent, _ := strconv.Atoi(rounded[strings.IndexByte(rounded, 'e')+1:])
	if exponent < -5 || exponent > 14 {
		return rounded
	}
	return strconv.FormatFloat(value, 'f', max(digits-1-exponent, 0), 64)
}
