package figure

import (
	"strings"
	"unicode"
)

// advances holds the width of each printable ASCII character, in thousandths of
// the font's size: the wider of the two sans-serif faces that free desktops ship
// (DejaVu Sans, Liberation Sans), so that what fits here fits elsewhere.
var advances = [...]uint16{
	317, 400, 459, 837, 636, 950, 779, 274, 390, 390, 500, 837, 317, 360, 317, 336,
	636, 636, 636, 636, 636, 636, 636, 636, 636, 636, 336, 336, 837, 837, 837, 556,
	1015, 684, 686, 722, 770, 667, 610, 777, 751, 294, 500, 667, 557, 862, 748, 787,
	667, 787, 722, 667, 610, 731, 684, 988, 685, 667, 685, 390, 336, 390, 837, 556,
	500, 612, 634, 549, 634, 615, 352, 634, 633, 277, 277, 579, 277, 974, 633, 611,
	634, 634, 411, 521, 392, 633, 591, 817, 591, 591, 524, 636, 336, 636, 837,
}

// boldFactor is how much wider the bold faces are, at most.
const boldFactor = 1.13

// textWidth estimates, from above, how wide a text is at a font size in pixels.
func textWidth(s string, size float64) float64 {
	sum := 0
	for _, r := range s {
		sum += advance(r)
	}
	return float64(sum) * size / 1000
}

func advance(r rune) int {
	switch {
	case r >= ' ' && int(r-' ') < len(advances):
		return int(advances[r-' '])
	case unicode.Is(unicode.Mn, r), unicode.IsControl(r):
		return 0
	case r < 0x1100:
		return 840
	}
	return 1050 // wide scripts and symbols
}

// wrap breaks a text into at most lines lines of at most width pixels. It breaks
// after spaces and after the signs that names are joined with, and inside a word
// only where the word alone is too wide. Of what does not fit, the last line holds
// the end, behind an ellipsis, since names alike often differ there; cut tells so.
func wrap(s string, size, width float64, lines int) (out []string, cut bool) {
	rest := []rune(strings.TrimSpace(s))
	for len(rest) > 0 {
		n := fitting(rest, size, width)
		if n == len(rest) {
			return append(out, string(rest)), false
		}
		if len(out) == lines-1 {
			return append(out, ending(rest, size, width, lines > 1)), true
		}
		n = breakBefore(rest, n)
		out = append(out, strings.TrimSpace(string(rest[:n])))
		rest = []rune(strings.TrimSpace(string(rest[n:])))
	}
	return out, false
}

// ending cuts a text to a width: its end where tail, else its beginning.
func ending(s []rune, size, width float64, tail bool) string {
	if !tail {
		return shorten(string(s), size, width)
	}
	room := width - float64(advance('…'))*size/1000
	i := len(s)
	for i > 1 && room >= float64(advance(s[i-1]))*size/1000 {
		i--
		room -= float64(advance(s[i])) * size / 1000
	}
	return "…" + strings.TrimLeft(string(s[i:]), " ,")
}

// fitting returns how many runes fit, at least one.
func fitting(s []rune, size, width float64) int {
	sum := 0.0
	for i, r := range s {
		sum += float64(advance(r)) * size / 1000
		if sum > width+0.01 && i > 0 { // a text fits the width that was measured for it
			return i
		}
	}
	return len(s)
}

// breakBefore returns where to break a line of which n runes fit.
func breakBefore(s []rune, n int) int {
	for i := n; i > n/3; i-- {
		if i < len(s) && s[i] == ' ' && unicode.IsDigit(s[i-1]) && i+1 < len(s) && unicode.IsLetter(s[i+1]) {
			i-- // a number and its unit stay together
			continue
		}
		if s[i-1] == ' ' && i > 1 && unicode.IsDigit(s[i-2]) && i < len(s) && unicode.IsLetter(s[i]) {
			continue
		}
		if s[i-1] == ' ' || (i < len(s) && s[i] == ' ') || strings.ContainsRune("-=/,:;._", s[i-1]) {
			return i
		}
	}
	return n
}

// shorten cuts a text to a width and ends it with an ellipsis.
func shorten(s string, size, width float64) string {
	if textWidth(s, size) <= width {
		return s
	}
	runes := []rune(s)
	n := fitting(runes, size, width-float64(advance('…'))*size/1000)
	return strings.TrimRight(string(runes[:n]), " ") + "…"
}
