package unit

import (
	"fmt"
	"math/big"
	"slices"
	"strings"
	"sync"
)

// A Unit is what a printed number is in: a product of powers of dimensions,
// and an exact scale against the base of each. MB and MiB are two units of one
// dimension; W and J are units of two.
type Unit struct {
	name  string
	scale *big.Rat
	power map[string]int // of each base: B, s, J, op, USD ...
}

// One is the unit of plain numbers.
func One() Unit { return Unit{"1", big.NewRat(1, 1), map[string]int{}} }

// ParseUnit reads a unit: a known name (MB, GiB/s, W, %, x, ops/s, TPM, IOPS,
// Mpps, Gb/s, GT/s, ms, kWh, ...), a currency's three capitals, or names joined
// by / and *, as USD/kWh.
func ParseUnit(s string) (Unit, error) {
	result := One()
	for i, part := range strings.Split(s, "/") {
		for _, word := range strings.Split(part, "*") {
			u, err := parseUnitWord(strings.TrimSpace(word))
			if err != nil {
				return Unit{}, fmt.Errorf("unit %q: %w", s, err)
			}
			if i == 0 {
				result = result.Mul(u)
			} else {
				result = result.Div(u)
			}
		}
	}
	result.name = s
	return result, nil
}

// unitNames returns the units that are written without a prefix.
var unitNames = sync.OnceValue(listUnits)

func listUnits() map[string]Unit {
	base := func(name string, dims ...string) Unit {
		u := Unit{name, big.NewRat(1, 1), map[string]int{}}
		for _, d := range dims {
			u.power[d]++
		}
		return u
	}
	scaled := func(u Unit, num, den int64) Unit {
		return Unit{u.name, big.NewRat(num, den), u.power}
	}
	perSecond := func(name, what string) Unit {
		u := base(name, what)
		u.power["s"]--
		return u
	}
	names := map[string]Unit{
		"1": base("1"), "x": base("x"), "%": scaled(base("%"), 1, 100),
		"s": base("s", "s"), "min": scaled(base("min", "s"), 60, 1), "h": scaled(base("h", "s"), 3600, 1),
		"day": scaled(base("day", "s"), 86400, 1), "year": scaled(base("year", "s"), 8760*3600, 1),
		"B": base("B", "B"), "b": scaled(base("b", "B"), 1, 8), "bit": scaled(base("bit", "B"), 1, 8),
		"J": base("J", "J"), "W": perSecond("W", "J"), "Wh": scaled(base("Wh", "J"), 3600, 1), "Hz": perSecond("Hz", "cycle"),
		"BTU": scaled(base("BTU", "J"), 105505585262, 100000000), "T": base("T", "transfer"),
		"op": base("op", "op"), "ops": base("ops", "op"), "IOPS": perSecond("IOPS", "op"), "packet": base("packet", "packet"),
		"pps": perSecond("pps", "packet"), "frame": base("frame", "packet"), "query": base("query", "query"), "transaction": base("transaction", "transaction"),
		"TPS": perSecond("TPS", "transaction"), "TPM": scaled(perSecond("TPM", "transaction"), 1, 60), "NOPM": scaled(perSecond("NOPM", "new order"), 1, 60),
		"CO2e": base("CO2e", "CO2e"), "cycle": base("cycle", "cycle"), "core": base("core"), "g": base("g", "CO2e"), "DWPD": base("DWPD", "DWPD"),
	}
	for _, noun := range []string{"server", "node", "VM", "drive", "user", "connection", "link", "lane", "core", "unit", "worker", "instance"} {
		names[noun], names[noun+"s"] = base(noun), base(noun+"s")
	}
	for _, plural := range []string{"packet", "frame", "transaction", "cycle", "year", "day"} {
		names[plural+"s"] = names[plural]
	}
	names["queries"] = names["query"]
	return names
}

// takesPrefix reports whether a unit takes SI prefixes, and those of data binary ones.
func takesPrefix(name string) bool {
	return slices.Contains([]string{"B", "b", "bit", "s", "W", "Wh", "J", "Hz", "ops", "op", "IOPS", "pps", "T", "TPM", "g", "BTU"}, name)
}

func parseUnitWord(word string) (Unit, error) {
	names := unitNames()
	if u, ok := names[word]; ok {
		return u, nil
	}
	for prefix, scale := range prefixes() {
		name, found := strings.CutPrefix(word, prefix)
		u, known := names[name]
		binary := strings.HasSuffix(prefix, "i")
		if found && known && takesPrefix(name) && (!binary || name == "B" || name == "b" || name == "bit") {
			return Unit{word, new(big.Rat).Mul(u.scale, scale), u.power}, nil
		}
	}
	if isCurrency(word) {
		return Unit{word, big.NewRat(1, 1), map[string]int{word: 1}}, nil
	}
	return Unit{}, fmt.Errorf("%q is not known; write a unit such as MB/s, MiB, ms, W, %%, x, ops/s, TPM, USD or 1", word)
}

var prefixes = sync.OnceValue(func() map[string]*big.Rat {
	return map[string]*big.Rat{
		"n": big.NewRat(1, 1e9), "u": big.NewRat(1, 1e6), "µ": big.NewRat(1, 1e6), "m": big.NewRat(1, 1e3),
		"k": big.NewRat(1e3, 1), "K": big.NewRat(1e3, 1), "M": big.NewRat(1e6, 1), "G": big.NewRat(1e9, 1), "T": big.NewRat(1e12, 1),
		"Ki": big.NewRat(1<<10, 1), "Mi": big.NewRat(1<<20, 1), "Gi": big.NewRat(1<<30, 1), "Ti": big.NewRat(1<<40, 1),
	}
})

// String returns the unit as it was written or composed.
func (u Unit) String() string { return u.name }

// Scale returns how many of the base one of this unit is.
func (u Unit) Scale() *big.Rat { return new(big.Rat).Set(u.scale) }

// Mul returns the product of two units.
func (u Unit) Mul(o Unit) Unit { return u.combine(o, 1, "*", new(big.Rat).Mul(u.scale, o.scale)) }

// Div returns the quotient of two units.
func (u Unit) Div(o Unit) Unit { return u.combine(o, -1, "/", new(big.Rat).Quo(u.scale, o.scale)) }

func (u Unit) combine(o Unit, sign int, join string, scale *big.Rat) Unit {
	power := map[string]int{}
	for d, n := range u.power {
		power[d] += n
	}
	for d, n := range o.power {
		power[d] += sign * n
	}
	for d, n := range power {
		if n == 0 {
			delete(power, d)
		}
	}
	name := u.name + join + o.name
	switch {
	case o.name == "1":
		name = u.name
	case len(power) == 0 && scale.Cmp(big.NewRat(1, 1)) == 0:
		name = "1"
	}
	return Unit{name, scale, power}
}

// Alike reports whether both units measure the same dimension.
func (u Unit) Alike(o Unit) bool {
	if len(u.power) != len(o.power) {
		return false
	}
	for d, n := range u.power {
		if o.power[d] != n {
			return false
		}
	}
	return true
}

// Same reports whether values in the two units can be added as they are.
func (u Unit) Same(o Unit) bool { return u.Alike(o) && u.scale.Cmp(o.scale) == 0 }

// In returns how many o one u is; the two must measure the same dimension.
func (u Unit) In(o Unit) (*big.Rat, error) {
	if !u.Alike(o) {
		return nil, fmt.Errorf("%s cannot be expressed in %s: they measure different things", u, o)
	}
	return new(big.Rat).Quo(u.scale, o.scale), nil
}

// Addable says why values in the two units cannot be added, nil where they can.
func (u Unit) Addable(o Unit) error {
	switch {
	case u.Same(o):
		return nil
	case u.Alike(o):
		return fmt.Errorf("%s and %s are of different size; convert one first", u, o)
	}
	return fmt.Errorf("%s and %s measure different things and cannot be added", u, o)
}
