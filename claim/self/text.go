package self

import (
	"fmt"
	"math"
	"strconv"
	"strings"
)

// A truth is a figure that the record gives, in a base unit.
type truth struct {
	value float64
	unit  string // base unit; "" for a plain number
	// slack is how far two right ways to work it out may come apart, where
	// digits cancel; the rounding of the value itself is always allowed.
	slack float64
}

func plainTruth(v float64) truth { return truth{value: v} }

func percentTruth(fraction float64) truth { return truth{value: 100 * fraction, unit: "%"} }

func countTruth(n int) truth { return truth{value: float64(n), unit: ofCount} }

// ofCount is the unit of a number of things: neither a share nor a ratio.
const ofCount = "count"

// reportDigits is how many significant digits a report keeps of a number.
const reportDigits = 10

// floatShare is how far two right ways through floating point come apart: a
// number that close to the middle of two prints as either.
const floatShare = 2e-14

// printsAs reports whether a number of a JSON report is the figure, rounded to
// reportDigits. A report writes what is not a number as 0 or null.
func (t truth) printsAs(n *node) bool {
	undefined := math.IsNaN(t.value) || math.IsInf(t.value, 0)
	if n.kind == nullNode {
		return undefined
	}
	printed, err := strconv.ParseFloat(n.text, 64)
	if n.kind != numberNode || err != nil {
		return false
	}
	if undefined {
		return printed == 0
	}
	return math.Abs(printed-t.value) <= halfUnit(t.value, reportDigits)+floatShare*math.Abs(t.value)+t.slack
}

// halfUnit is half a unit of the last of so many significant digits.
func halfUnit(v float64, digits int) float64 {
	if v == 0 {
		return 0
	}
	return 0.5 * math.Pow(10, math.Floor(math.Log10(math.Abs(v)))-float64(digits-1))
}

// A word is a number in a text, where it stands.
type word struct {
	from, to int
	text     string
}

// numbersIn lists the numbers of a text: digits, with a fraction and an exponent
// where they have them.
func numbersIn(text string) []word {
	var out []word
	for at := 0; at < len(text); at++ {
		if !isDigit(text, at) {
			continue
		}
		end := groupsFrom(text, at)
		if end < len(text) && text[end] == '.' && isDigit(text, end+1) {
			end = digitsFrom(text, end+1)
		}
		if exponent := exponentFrom(text, end); exponent > end {
			end = exponent
		}
		out = append(out, word{at, end, text[at:end]})
		at = end - 1
	}
	return out
}

func isDigit(text string, at int) bool {
	return at < len(text) && text[at] >= '0' && text[at] <= '9'
}

// digitsFrom returns where the digits that begin at a place end.
func digitsFrom(text string, at int) int {
	for isDigit(text, at) {
		at++
	}
	return at
}

// groupsFrom returns where whole digits end that may stand in threes, as in
// 318,236.
func groupsFrom(text string, at int) int {
	end := digitsFrom(text, at)
	if end-at > 3 {
		return end
	}
	for end < len(text) && text[end] == ',' && digitsFrom(text, end+1) == end+4 {
		end += 4
	}
	return end
}

// plainDigits takes the commas out of a number.
func plainDigits(text string) string { return strings.ReplaceAll(text, ",", "") }

// exponentFrom returns where an exponent that begins at a place ends, or the
// place itself.
func exponentFrom(text string, at int) int {
	first := at + 1
	if at >= len(text) || text[at] != 'e' && text[at] != 'E' {
		return at
	}
	if first < len(text) && (text[first] == '-' || text[first] == '+') {
		first++
	}
	if !isDigit(text, first) {
		return at
	}
	return digitsFrom(text, first)
}

// A piece is one number that a text may hold at its place: a figure, or the
// digits of a name.
type piece struct {
	what   string // that it is, for the objection
	truth  *truth
	digits string // of a name, as written there
}

// saysNumber expects a figure, however many digits of it are printed.
func saysNumber(what string, t truth) piece { return piece{what: what, truth: &t} }

// saysWords expects the digits of names and of fixed wordings.
func saysWords(texts ...string) []piece {
	var out []piece
	for _, text := range texts {
		for _, w := range numbersIn(text) {
			out = append(out, piece{what: strconv.Quote(shortened(text)), digits: w.text})
		}
	}
	return out
}

func shortened(text string) string {
	const most = 60
	if runes := []rune(text); len(runes) > most {
		return string(runes[:most]) + "..."
	}
	return text
}

// misfits compares the numbers of a text with the pieces that it may hold, in
// order, and says what does not follow. A piece may be left unsaid, but a
// number that no piece gives objects.
func misfits(text string, pieces []piece) (faults []string, checked int) {
	next := 0
	for _, w := range numbersIn(text) {
		checked++
		at := next
		for at < len(pieces) && !pieces[at].fits(text, w) {
			at++
		}
		if at < len(pieces) {
			next = at + 1
			continue
		}
		faults = append(faults, misfit(text, w, pieces[min(next, len(pieces)):]))
	}
	return faults, checked
}

// misfit says what a number should have been, as far as that can be told.
func misfit(text string, w word, rest []piece) string {
	around := text[max(0, w.from-12):min(len(text), w.to+12)]
	for _, p := range rest {
		if p.truth != nil {
			return fmt.Sprintf("%s in %q is printed, but nothing in the record gives it there; the next figure is %s, %s", w.text, around, p.what, p.truth)
		}
	}
	return fmt.Sprintf("%s in %q is printed, but nothing in the record gives it there", w.text, around)
}

// String writes a figure for an objection.
func (t truth) String() string {
	text := strconv.FormatFloat(t.value, 'g', reportDigits, 64)
	if t.unit == ofCount {
		return text
	}
	return strings.TrimSpace(text + " " + t.unit)
}

// fits reports whether the piece prints as the number where it stands.
func (p piece) fits(text string, w word) bool {
	if p.truth == nil {
		return p.digits == w.text
	}
	scale, ok := scaleBehind(text[w.to:], p.truth.unit)
	printed, err := strconv.ParseFloat(plainDigits(w.text), 64)
	if !ok || err != nil {
		return false
	}
	if negative(text, w.from) {
		printed = -printed
	}
	half := halfDigit(w.text) * scale
	return math.Abs(printed*scale-p.truth.value) <= half*(1+1e-6)+floatShare*math.Abs(p.truth.value)+p.truth.slack
}

// halfDigit is half a unit of the last digit printed. A whole number may have
// lost the zeros of a fraction: it counts as exact to three digits.
func halfDigit(text string) float64 {
	mantissa, exponent, _ := strings.Cut(strings.ToLower(text), "e")
	_, fraction, _ := strings.Cut(mantissa, ".")
	power, _ := strconv.Atoi(exponent)
	return 0.5 * math.Pow(10, float64(power-len(fraction)))
}

// negative reports whether a minus sign stands before a number, and not the
// hyphen of a name or a date.
func negative(text string, at int) bool {
	before := strings.TrimSuffix(text[:at], "-")
	if len(before) == at {
		return false
	}
	return before == "" || strings.HasSuffix(before, " ") || strings.HasSuffix(before, "(")
}

// scaleBehind reads the unit behind a number and returns what it stands for in
// the base unit. It is false where another unit stands there, or none.
func scaleBehind(rest, base string) (float64, bool) {
	share := strings.HasPrefix(strings.TrimPrefix(rest, " "), "%")
	switch base {
	case "":
		return 1, true
	case "x":
		return 1, !share
	case ofCount:
		return 1, !share && !strings.HasPrefix(rest, "x")
	}
	for _, s := range scalesOf(base) {
		tail, found := strings.CutPrefix(rest, s.name)
		if !found {
			tail, found = strings.CutPrefix(rest, " "+s.name)
		}
		if found && !strings.ContainsAny(firstByte(tail), "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ/%") {
			return s.factor, true
		}
	}
	return 0, false
}

func firstByte(s string) string {
	if s == "" {
		return " "
	}
	return s[:1]
}

// unitScale is a unit as people read it, in base units.
type unitScale struct {
	name   string
	factor float64
}

// scalesOf lists the ways in which a base unit is printed, longer names first.
func scalesOf(base string) []unitScale {
	prefixes := func(names string, unit string, least float64) []unitScale {
		var out []unitScale
		for i, p := range strings.Split(names, ",") {
			out = append(out, unitScale{p + unit, least * math.Pow(1000, float64(i))})
		}
		return out
	}
	switch base {
	case "s":
		return prefixes("n,µ,m,", "s", 1e-9)
	case "B":
		return []unitScale{{"KiB", 1 << 10}, {"MiB", 1 << 20}, {"GiB", 1 << 30}, {"TiB", 1 << 40}, {"PiB", 1 << 50}, {"B", 1}}
	case "B/s":
		return prefixes(",k,M,G,T", "B/s", 1)
	case "bit/s", "Hz":
		return prefixes(",k,M,G,T", base, 1)
	case "W", "J", "V", "A":
		return prefixes("µ,m,,k,M,G", base, 1e-6)
	case "%", "°C":
		return prefixes("", base, 1)
	case "1":
		return []unitScale{{"percentage points", 0.01}, {"%", 0.01}, {"k", 1e3}, {"M", 1e6}, {"G", 1e9}, {"T", 1e12}, {"", 1}}
	}
	out := prefixes("k ,M ,G ,T ", base, 1e3)
	return append(out, unitScale{base, 1})
}
