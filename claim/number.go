// Package claim audits printed conclusions: it re-derives each from the printed
// or recorded figures behind it, with the interval that their printed
// precision allows, and says whether it follows and, where not, why not.
//
// All arithmetic is exact: on rationals, never on floating point.
package claim

import (
	"fmt"
	"math/big"
	"strings"

	"bakeoff/unit"
)

// A Number is a figure as it was printed: its value, and what its digits leave
// open.
type Number struct {
	Text  string   // as it was printed
	place string   // where: tells equal digits of two cells apart
	Value *big.Rat // in Unit
	Unit  unit.Unit
	// Digit is one unit of the last printed digit, in Unit; nil for an exact
	// number, such as a count of servers or a definition.
	Digit *big.Rat
	// About is set for "about", "nearly" and the like: the last digit itself
	// is not to be relied on.
	About bool
	// Bound is ">" for "more than" and "<" for "less than" or "up to"; "" else.
	Bound string
}

// ParseNumber reads a number as a report prints it: "8,696.1 MB/s", "-1.56 %",
// "550K IOPS", "2.29x", "about 653 servers", "more than 4.7x", "31,823.62 USD",
// "exactly 500 servers". A number without a unit is in the unit given.
func ParseNumber(text string, fallback unit.Unit) (Number, error) {
	n := Number{Text: text, Unit: fallback}
	rest, exact := n.qualifiers(strings.TrimSpace(text))
	digits := numberLength(rest)
	value, decimals, err := decimal(rest[:digits])
	if err != nil {
		return Number{}, fmt.Errorf("%q: %w", text, err)
	}
	n.Value = value
	if !exact {
		n.Digit = new(big.Rat).Inv(pow10(decimals))
	}
	if err := n.unitOf(strings.TrimSpace(rest[digits:])); err != nil {
		return Number{}, fmt.Errorf("%q: %w", text, err)
	}
	return n, nil
}

// qualifiers takes the words before the number, and returns the rest, and
// whether the number is exact.
func (n *Number) qualifiers(s string) (rest string, exact bool) {
	for {
		word, after, _ := strings.Cut(s, " ")
		switch strings.ToLower(word) {
		case "about", "approximately", "roughly", "nearly", "almost", "around":
			n.About = true
		case "exactly":
			exact = true
		case "over":
			n.Bound = ">"
		case "more", "less":
			than, behind, _ := strings.Cut(after, " ")
			if than != "than" {
				return s, exact
			}
			n.Bound = map[string]string{"more": ">", "less": "<"}[strings.ToLower(word)]
			after = behind
		default:
			if strings.HasPrefix(s, "~") {
				n.About = true
				return strings.TrimSpace(s[1:]), exact
			}
			return s, exact
		}
		s = strings.TrimSpace(after)
	}
}

// unitOf takes the unit behind the number. The letters K, M and G directly
// behind the digits scale the last digit too, as in 550K.
func (n *Number) unitOf(s string) error {
	if s == "" {
		return nil
	}
	if scale, rest := countScale(s); scale != nil {
		n.Value = new(big.Rat).Mul(n.Value, scale)
		if n.Digit != nil {
			n.Digit = new(big.Rat).Mul(n.Digit, scale)
		}
		if s = rest; s == "" {
			return nil
		}
	}
	u, err := unit.ParseUnit(s)
	if err != nil {
		return err
	}
	n.Unit = u
	return nil
}

// countScale reads the K of "550K" and of "550K IOPS", but leaves the "KB" of
// "550 KB" to the units.
func countScale(s string) (*big.Rat, string) {
	head, rest, _ := strings.Cut(s, " ")
	switch head {
	case "K", "k":
		return pow10(3), strings.TrimSpace(rest)
	case "M":
		return pow10(6), strings.TrimSpace(rest)
	case "G":
		return pow10(9), strings.TrimSpace(rest)
	}
	return nil, s
}

func numberLength(s string) int {
	for i, r := range s {
		if (r < '0' || r > '9') && r != '.' && r != ',' && !(i == 0 && (r == '-' || r == '+')) {
			return i
		}
	}
	return len(s)
}

// decimal reads digits with groups of three and a fraction, and returns how
// many decimals were printed.
func decimal(s string) (*big.Rat, int, error) {
	plain := strings.TrimPrefix(s, "+")
	whole, fraction, _ := strings.Cut(plain, ".")
	groups := strings.Split(strings.TrimPrefix(whole, "-"), ",")
	for i, g := range groups {
		if g == "" || len(groups) > 1 && (len(g) > 3 || i > 0 && len(g) != 3) {
			return nil, 0, fmt.Errorf("expected a number such as 8,696.1 or -1.56, found %q", s)
		}
	}
	value, ok := new(big.Rat).SetString(strings.ReplaceAll(plain, ",", ""))
	if !ok || strings.Contains(fraction, ",") || len(plain) > 40 {
		return nil, 0, fmt.Errorf("expected a number such as 8,696.1 or -1.56, found %q", s)
	}
	return value, len(fraction), nil
}

func pow10(n int) *big.Rat {
	return new(big.Rat).SetInt(new(big.Int).Exp(big.NewInt(10), big.NewInt(int64(n)), nil))
}

// Rounded returns every value that prints as the number when rounded: half a
// digit either way, or a whole one for an "about".
func (n Number) Rounded() unit.Interval {
	if n.Digit == nil {
		return unit.Exactly(n.Value)
	}
	half := new(big.Rat).Quo(n.Digit, big.NewRat(2, 1))
	if n.About {
		half = n.Digit
	}
	return unit.Around(n.Value, half)
}

// Cut returns every value that prints as the number when the digits behind the
// last are cut off: from the number to one digit further from zero, which
// itself would print differently.
func (n Number) Cut() unit.Interval {
	if n.Digit == nil {
		return unit.Exactly(n.Value)
	}
	return unit.NewInterval(n.Value, n.next())
}

// next is the number with its last digit one further from zero.
func (n Number) next() *big.Rat {
	if n.Value.Sign() < 0 || n.Value.Sign() == 0 && strings.Contains(n.Text, "-") {
		return new(big.Rat).Sub(n.Value, n.Digit)
	}
	return new(big.Rat).Add(n.Value, n.Digit)
}

// CutFrom reports whether the value prints as the number when cut off.
func (n Number) CutFrom(v *big.Rat) bool {
	return n.Cut().Holds(v) && (n.Digit == nil || v.Cmp(n.next()) != 0)
}

// CutFromAny reports whether a value of the interval prints so when cut off.
func (n Number) CutFromAny(i unit.Interval) bool {
	if !n.Cut().Meets(i) {
		return false
	}
	touches := n.Digit != nil && (i.Low().Cmp(n.next()) == 0 || i.High().Cmp(n.next()) == 0)
	return !touches || n.CutFrom(i.Low()) || n.CutFrom(i.High())
}

// Relative returns the half-width of Rounded as a share of the value; nil for a
// value of zero.
func (n Number) Relative() *big.Rat {
	if n.Value.Sign() == 0 {
		return nil
	}
	share := new(big.Rat).Quo(n.Rounded().Width(), new(big.Rat).Mul(big.NewRat(2, 1), n.Value))
	return share.Abs(share)
}
