// Package quantity writes numbers as people read them: a common prefix for
// values that stand beside one another, as many digits as the interval leaves
// meaning to, and a typographic minus. It changes how a value looks, never what
// it is.
package quantity

import (
	"math"
	"slices"
	"strconv"
	"strings"
)

// Nothing stands where there is no value. Absent is not zero.
const Nothing = "–"

// Space keeps a number and its unit on one line.
const Space = "\u00a0"

// A Scale is the unit that a set of values is printed in.
type Scale struct {
	Factor float64 // base units in one printed unit
	Unit   string  // as printed, "" for a plain number
}

// For returns the scale for values that are to be compared by eye: the one that
// suits the largest of them. Values that are not finite do not count.
func For(unit string, values ...float64) Scale {
	largest := 0.0
	for _, v := range values {
		if a := math.Abs(v); a > largest && !math.IsInf(a, 0) {
			largest = a
		}
	}
	return scaleOf(unit, largest)
}

// ForMost returns the scale for a column of values: the one that suits the middle
// one by size, so that one large value does not turn the others into fractions.
func ForMost(unit string, values ...float64) Scale {
	var sizes []float64
	for _, v := range values {
		if a := math.Abs(v); a > 0 && !math.IsInf(a, 0) {
			sizes = append(sizes, a)
		}
	}
	if len(sizes) == 0 {
		return scaleOf(unit, 0)
	}
	slices.Sort(sizes)
	return scaleOf(unit, sizes[len(sizes)/2])
}

// FractionOf returns the scale that writes fractions of one as percentages.
func FractionOf() Scale { return Scale{Factor: 0.01, Unit: "%"} }

type prefix struct {
	factor float64
	text   string
}

func scaleOf(unit string, largest float64) Scale {
	steps := prefixes(unit)
	at := 0
	for i, p := range steps {
		if p.factor == 1 {
			at = i
		}
	}
	if largest == 0 {
		return Scale{Factor: steps[at].factor, Unit: join(steps[at].text, unit)}
	}
	for at = len(steps) - 1; at > 0 && largest < steps[at].factor; at-- {
	}
	return Scale{Factor: steps[at].factor, Unit: join(steps[at].text, unit)}
}

// prefixes returns the scales of a unit, smallest first. Amounts of data are
// scaled by 1024, flows by 1000; seconds and percentages are not scaled up.
func prefixes(unit string) []prefix {
	up := []prefix{{1, ""}, {1e3, "k"}, {1e6, "M"}, {1e9, "G"}, {1e12, "T"}}
	down := []prefix{{1e-9, "n"}, {1e-6, "µ"}, {1e-3, "m"}, {1, ""}}
	switch unit {
	case "s":
		return down
	case "B":
		return []prefix{{1, ""}, {1 << 10, "Ki"}, {1 << 20, "Mi"}, {1 << 30, "Gi"}, {1 << 40, "Ti"}}
	case "W", "J", "V", "A":
		return append(down, up[1:]...)
	case "B/s", "bit/s", "Hz", "1", "", "ops/s":
		return up
	case "%", "°C", "x":
		return []prefix{{1, ""}}
	}
	if Money(unit) {
		return []prefix{{1, ""}}
	}
	if !strings.HasPrefix(unit, "ops/") && strings.ContainsAny(unit, " 0123456789") || prefixed(unit) { // takes no (second) prefix
		return []prefix{{1, ""}}
	}
	return up
}

// Money reports whether a unit is a currency by its code (ISO 4217), as USD.
// Amounts of money are written in full.
func Money(unit string) bool {
	const codes = "AED ARS AUD BRL CAD CHF CLP CNY COP CZK DKK EUR GBP HKD HUF IDR ILS INR JPY KRW MXN MYR NOK NZD PHP PLN RON RUB SAR SEK SGD THB TRY TWD UAH USD VND ZAR"
	return len(unit) == 3 && slices.Contains(strings.Fields(codes), unit)
}

// prefixed reports whether a unit carries a prefix already, as printed figures' do:
// MiB/s, GB, kW.
func prefixed(unit string) bool {
	for _, p := range []string{"Ki", "Mi", "Gi", "Ti", "k", "K", "M", "G", "T", "m", "µ", "n"} {
		rest, cut := strings.CutPrefix(unit, p)
		if !cut {
			continue
		}
		switch rest {
		case "s", "B", "b", "bit", "B/s", "b/s", "bit/s", "Hz", "W", "Wh", "J", "V", "A":
			return true
		}
	}
	return false
}

// join puts a prefix before a unit: "kB/s", but "M ops/s", since operations are
// a count and not a unit with a symbol.
func join(prefix, unit string) string {
	switch unit {
	case "1", "":
		return prefix
	case "s", "B", "B/s", "bit/s", "Hz", "W", "J", "V", "A", "%", "°C", "x":
		return prefix + unit
	}
	if prefix == "" {
		return unit
	}
	return prefix + Space + unit
}

// Number writes v in this scale with that many decimals, without the unit. Zero is
// written without any.
func (s Scale) Number(v float64, decimals int) string {
	if v == 0 {
		return "0"
	}
	if Money(s.Unit) {
		return thousands(Fixed(v/s.Factor, decimals))
	}
	return Fixed(v/s.Factor, decimals)
}

// thousands parts the digits before the point by threes.
func thousands(text string) string {
	whole, rest, _ := strings.Cut(text, ".")
	digits := strings.TrimPrefix(whole, "−")
	if strings.Trim(digits, "0123456789") != "" {
		return text
	}
	sign := len(whole) - len(digits)
	for at := len(whole) - 3; at > sign; at -= 3 {
		whole = whole[:at] + "," + whole[at:]
	}
	if rest == "" {
		return whole
	}
	return whole + "." + rest
}

// With writes v in this scale with that many decimals and its unit.
func (s Scale) With(v float64, decimals int) string {
	text := s.Number(v, decimals)
	if s.Unit == "" || text == Nothing {
		return text
	}
	return text + Space + s.Unit
}

// Decimals returns how many decimals show v with so many significant digits in
// this scale.
func (s Scale) Decimals(v float64, digits int) int { return decimals(v/s.Factor, digits) }

// DecimalsWithin returns the decimals for a centre with its interval: digits
// significant ones of the centre, and at least two of the interval's half-width,
// since a bound that looks like the centre tells nothing.
func (s Scale) DecimalsWithin(centre, low, high float64, digits int) int {
	n := s.Decimals(centre, digits)
	half := (high - low) / 2 / s.Factor
	if half > 0 && !math.IsInf(half, 0) {
		n = max(n, min(decimals(half, 2), n+3))
	}
	return n
}

// Printed returns the decimals that a figure was printed with: the width that its
// digits leave open is a unit of the last one. Without a width it is exact.
func (s Scale) Printed(v, width float64) int {
	if !(width > 0) || math.IsInf(width, 0) {
		return min(s.Exact(v), 6)
	}
	return min(max(int(math.Ceil(-math.Log10(width/s.Factor)-1e-6)), 0), 9)
}

// RatioDecimals returns the decimals for a ratio with its interval: three, fewer
// for large ratios, more where the interval is narrow.
func RatioDecimals(ratio, low, high float64) int {
	digits := 4
	if ratio < 1 && ratio >= 0.1 {
		digits = 3 // as many decimals as above 1
	}
	return Scale{Factor: 1}.DecimalsWithin(ratio, low, high, digits)
}

// ChangeDecimals returns the decimals for a change in percent: those that its
// interval has two digits for, at most three.
func ChangeDecimals(ratio, low, high float64) int {
	size := (high - low) / 2 * 100
	if !(size > 0) || math.IsInf(size, 0) {
		size = math.Abs(ratio-1) * 100
	}
	if size >= 10 {
		return 0
	}
	return min(max(decimals(size, 2), 1), 3)
}

func decimals(v float64, digits int) int {
	v = math.Abs(v)
	if v == 0 || math.IsNaN(v) || math.IsInf(v, 0) {
		return 0
	}
	exponent := int(math.Floor(math.Log10(v)))
	return min(max(digits-1-exponent, 0), 9)
}

// Interval writes the bounds of an interval in brackets, without the unit: with the
// centre's decimals, but no more than four digits where a bound is far from it, and
// at least two digits of what is not zero.
func (s Scale) Interval(low, high float64, decimals int) string {
	bound := func(v float64) string { return s.bound(v, min(decimals, s.Decimals(v, 4))) }
	if width := math.Abs(high - low); width < math.Abs(high)/10 {
		bound = func(v float64) string { return s.Number(v, decimals) }
	}
	if low < 0 && high > 0 { // digits of a bound next to zero mean nothing beside the other
		bound = func(v float64) string { return s.Number(v, min(decimals, s.Decimals(v, 4))) }
	}
	return "[" + bound(low) + ", " + bound(high) + "]"
}

// bound writes a bound with so many decimals, or as many more as two digits of it
// need.
func (s Scale) bound(v float64, decimals int) string {
	size := math.Abs(v / s.Factor)
	if size > 0 && size < 1e-8 { // beyond every number of decimals
		return strings.Replace(strconv.FormatFloat(v/s.Factor, 'e', 1, 64), "-", "−", 1)
	}
	if size*math.Pow10(decimals) < 9.5 {
		decimals = s.Decimals(v, 2)
	}
	return s.Number(v, decimals)
}

// Fixed writes a plain number with that many decimals.
func Fixed(v float64, decimals int) string {
	switch {
	case math.IsNaN(v):
		return Nothing
	case math.IsInf(v, 1):
		return "∞"
	case math.IsInf(v, -1):
		return "−∞"
	}
	text := strconv.FormatFloat(v, 'f', decimals, 64)
	if math.Abs(v) >= 1e9 { // beyond every prefix
		text = strconv.FormatFloat(v, 'g', 4, 64)
	}
	if strings.Trim(text, "-0.") == "" {
		return strings.TrimPrefix(text, "-") // no minus zero
	}
	return strings.Replace(text, "-", "−", 1)
}

// Significant writes v with its unit and so many significant digits, in the
// scale that suits it alone.
func Significant(v float64, unit string, digits int) string {
	s := For(unit, v)
	return s.With(v, s.Decimals(v, digits))
}

// Change writes a ratio as a change in words, as "8.2 % higher" or "7.5 % lower".
func Change(ratio float64, decimals int) string {
	if math.IsNaN(ratio) {
		return Nothing
	}
	size := Fixed(math.Abs(ratio-1)*100, decimals) + Space + "%"
	switch {
	case ratio > 1:
		return size + " higher"
	case ratio < 1:
		return size + " lower"
	}
	return size
}

// ChangeRange writes an interval of ratios as changes in words: "7.5 to 11.0 %
// lower", or "2.1 % lower to 1.4 % higher" where it holds 1.
func ChangeRange(low, high float64, decimals int) string {
	if math.IsNaN(low) || math.IsNaN(high) {
		return Nothing
	}
	l, h := math.Abs(low-1)*100, math.Abs(high-1)*100
	switch {
	case low >= 1 && high >= 1:
		return Fixed(l, decimals) + " to " + Fixed(h, decimals) + Space + "% higher"
	case low <= 1 && high <= 1:
		return Fixed(h, decimals) + " to " + Fixed(l, decimals) + Space + "% lower"
	}
	return Change(low, decimals) + " to " + Change(high, decimals)
}

// Symbol reports whether a unit is written right behind its prefix, as seconds,
// bytes and watts are, so that a number can carry it in little room.
func Symbol(unit string) bool {
	switch unit {
	case "s", "B", "B/s", "bit/s", "Hz", "W", "J", "V", "A", "%", "°C", "x":
		return true
	}
	return false
}

// Plain returns a base unit as printed: plain numbers have none.
func Plain(unit string) string {
	if unit == "1" {
		return ""
	}
	return unit
}

// Short writes a round value for a mark of an axis whose title names the unit:
// with its prefix, and with the unit where that is a symbol.
func Short(v float64, unit string) string {
	s := For(unit, v)
	if !Symbol(unit) {
		s.Unit = strings.TrimSuffix(strings.TrimSuffix(s.Unit, Plain(unit)), Space)
	}
	return s.With(v, s.Exact(v))
}

// Exact returns the fewest decimals that show the values exactly in this scale,
// as round values have; at most 9.
func (s Scale) Exact(values ...float64) int {
	for d := range 9 {
		exact := true
		for _, v := range values {
			x := v / s.Factor * math.Pow10(d)
			exact = exact && math.Abs(x-math.Round(x)) < 1e-6*math.Max(1, math.Abs(x))
		}
		if exact {
			return d
		}
	}
	return 9
}
