// Package unit reads and writes quantities as people write them, and gives
// physical quantities types of their own, so that watts and joules, or megabytes
// and mebibytes, cannot be mixed up in silence.
//
// All parsers work in exact decimal arithmetic, allow one space between a
// number and its unit (but in durations), and refuse signs, digit grouping, exponents and bases:
// what a person may have meant differently is refused with the right spelling.
package unit

import (
	"fmt"
	"math/big"
	"strings"
)

// A SyntaxError says what was found where a quantity was expected, and how to
// write it.
type SyntaxError struct {
	Kind     string // size, rate, count, duration, percentage, amount of money
	Found    string // the text as it was given
	Expected string // what would have been right, or how to mend it
}

// Error returns found and expected in one line.
func (e *SyntaxError) Error() string {
	return fmt.Sprintf("%q is not a %s: expected %s", e.Found, e.Kind, e.Expected)
}

// split parts the text into a number, made of decimal digits and dots, and the
// unit that follows it after at most one space.
func split(s string) (number, suffix string) {
	i := numberLength(s)
	return s[:i], strings.TrimPrefix(s[i:], " ")
}

func numberLength(s string) int {
	for i := range len(s) {
		if s[i] != '.' && (s[i] < '0' || s[i] > '9') {
			return i
		}
	}
	return len(s)
}

// decimal reads digits with an optional fraction exactly. It refuses the empty
// text, a dot at either end, two dots, leading zeros and absurd lengths.
func decimal(s string) (*big.Rat, bool) {
	whole, fraction, dot := strings.Cut(s, ".")
	switch {
	case whole == "" || dot && fraction == "" || len(s) > 60:
		return nil, false
	case len(whole) > 1 && whole[0] == '0': // 010 is eight to some and ten to others
		return nil, false
	case !digitsOnly(whole) || !digitsOnly(fraction):
		return nil, false
	}
	return new(big.Rat).SetString(s)
}

func digitsOnly(s string) bool {
	for i := range len(s) {
		if s[i] < '0' || s[i] > '9' {
			return false
		}
	}
	return true
}

// toInt64 returns the whole number r, or false where r is not whole or too large.
func toInt64(r *big.Rat) (int64, bool) {
	if !r.IsInt() || !r.Num().IsInt64() {
		return 0, false
	}
	return r.Num().Int64(), true
}
