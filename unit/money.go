package unit

import (
	"fmt"
	"math/big"
	"strings"
)

const moneyForm = "an amount with its ISO 4217 currency, as 31823.62 USD or 31,823.62 USD"

// Money is an exact amount in one currency. The zero value is no money at all,
// in no currency. Money is immutable.
type Money struct {
	amount   *big.Rat
	currency string
}

// NewMoney returns an amount in the currency with the given ISO 4217 code.
func NewMoney(amount *big.Rat, currency string) Money {
	return Money{new(big.Rat).Set(amount), currency}
}

// ParseMoney reads an amount and its currency: "31823.62 USD". Groups of three
// digits may be parted by commas; the decimal sign is the dot. The currency is
// a code of three capitals, since a dollar sign names twenty currencies.
func ParseMoney(s string) (Money, error) {
	number, currency, found := strings.Cut(s, " ")
	number, ok := ungroup(number)
	amount, isDecimal := decimal(number)
	if !found || !ok || !isDecimal || !isCurrency(currency) {
		return Money{}, &SyntaxError{"amount of money", s, moneyForm}
	}
	return Money{amount, currency}, nil
}

// ungroup removes commas that part groups of exactly three digits.
func ungroup(s string) (string, bool) {
	whole, fraction, dot := strings.Cut(s, ".")
	groups := strings.Split(whole, ",")
	for i, g := range groups {
		if len(groups) > 1 && (len(g) > 3 || g == "" || i > 0 && len(g) != 3) {
			return "", false
		}
	}
	whole = strings.Join(groups, "")
	if dot {
		return whole + "." + fraction, true
	}
	return whole, true
}

func isCurrency(s string) bool {
	if len(s) != 3 {
		return false
	}
	for i := range len(s) {
		if s[i] < 'A' || s[i] > 'Z' {
			return false
		}
	}
	return true
}

// Amount returns the exact amount; 0 for the zero Money.
func (m Money) Amount() *big.Rat {
	if m.amount == nil {
		return new(big.Rat)
	}
	return new(big.Rat).Set(m.amount)
}

// Currency returns the ISO 4217 code, "" for the zero Money.
func (m Money) Currency() string { return m.currency }

// IsZero reports whether m is the zero Money, with neither amount nor currency.
func (m Money) IsZero() bool { return m.amount == nil }

// Add returns the sum; the currencies must be the same.
func (m Money) Add(o Money) (Money, error) {
	if err := m.sameCurrency(o); err != nil {
		return Money{}, err
	}
	return Money{new(big.Rat).Add(m.amount, o.amount), m.currency}, nil
}

// Sub returns the difference; the currencies must be the same.
func (m Money) Sub(o Money) (Money, error) {
	if err := m.sameCurrency(o); err != nil {
		return Money{}, err
	}
	return Money{new(big.Rat).Sub(m.amount, o.amount), m.currency}, nil
}

// Cmp compares two amounts of one currency: -1, 0 or 1.
func (m Money) Cmp(o Money) (int, error) {
	if err := m.sameCurrency(o); err != nil {
		return 0, err
	}
	return m.amount.Cmp(o.amount), nil
}

// Mul returns the amount times a number.
func (m Money) Mul(by *big.Rat) Money {
	return Money{new(big.Rat).Mul(m.Amount(), by), m.currency}
}

func (m Money) sameCurrency(o Money) error {
	switch {
	case m.IsZero() || o.IsZero():
		return fmt.Errorf("an amount of money is missing")
	case m.currency != o.currency:
		return fmt.Errorf("%s and %s cannot be combined without a rate of exchange", m.currency, o.currency)
	}
	return nil
}

// Text writes the amount with a fixed number of decimals, rounded half away
// from zero, and the currency.
func (m Money) Text(decimals int) string {
	return strings.TrimSpace(m.Amount().FloatString(decimals) + " " + m.currency)
}

// String writes the amount exactly where it has at most 30 decimals, with two
// decimals at least; a third of a dollar is cut at 30 decimals.
func (m Money) String() string {
	if m.IsZero() {
		return ""
	}
	decimals, exact := m.amount.FloatPrec()
	if !exact {
		decimals = 30
	}
	return m.Text(min(max(decimals, 2), 30))
}
