package cost

import (
	"math/big"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"bakeoff/unit"
)

func rat(t *testing.T, s string) *big.Rat {
	t.Helper()
	r, ok := new(big.Rat).SetString(s)
	if !ok {
		t.Fatalf("%q is not a number", s)
	}
	return r
}

// TestThreeGenerations works out the published figures of three generations of
// servers, to the cent where they are derivable.
func TestThreeGenerations(t *testing.T) {
	r := func(s string) *big.Rat { return rat(t, s) }
	cents := func(what string, got *big.Rat, want string) {
		t.Helper()
		if got.FloatString(2) != want {
			t.Errorf("%s = %s, want %s", what, got.FloatString(2), want)
		}
	}
	r760, r740, r750 := r("31823.62"), r("36895.85"), new(big.Rat).Quo(r("19956907.00"), r("653"))
	cents("ten R760", new(big.Rat).Mul(r760, r("10")), "318236.20")
	cents("500 R760", new(big.Rat).Mul(r760, r("500")), "15911810.00")
	cents("1,147 R740", new(big.Rat).Mul(r740, r("1147")), "42319539.95")

	// The work of ten R760 is printed as a price in the older servers, so that
	// the work of each is known in units of the newest.
	eachR740 := new(big.Rat).Quo(r740, new(big.Rat).Quo(r("847046.62"), r("10")))
	eachR750 := new(big.Rat).Quo(r750, new(big.Rat).Quo(r("399181.54"), r("10")))
	for _, tt := range []struct {
		name, fraction, whole, ten string
		each, price                *big.Rat
	}{
		{"R740", "1147.89", "1148", "847046.62", eachR740, r740},
		{"R750", "653.07", "654", "399181.54", eachR750, r750},
	} {
		need, err := Terms{}.Servers(Exactly(r("500")), Exactly(tt.each))
		if err != nil {
			t.Fatal(err)
		}
		cents(tt.name+" needed", need.Fraction.Point, tt.fraction)
		if need.Whole.String() != tt.whole {
			t.Errorf("%s: %s whole servers, want %s", tt.name, need.Whole, tt.whole)
		}
		price, err := Terms{}.SameWork(Exactly(r("10")), Exactly(tt.each), tt.price)
		if err != nil {
			t.Fatal(err)
		}
		cents(tt.name+" for ten R760", price.Point, tt.ten)
	}
}

// TestConsolidation works out the published consolidation of four servers to
// three, and what is left over.
func TestConsolidation(t *testing.T) {
	r := func(s string) *big.Rat { return rat(t, s) }
	legacy := Exactly(new(big.Rat).Quo(r("6714712"), r("3")))
	modern := Exactly(new(big.Rat).Quo(r("9674180"), r("3")))
	demand := Demand([]Group{{r("4"), legacy}})
	need, err := Terms{}.Servers(demand, modern)
	if err != nil {
		t.Fatal(err)
	}
	if need.Whole.String() != "3" || need.Spare.Point.FloatString(0) != "721231" {
		t.Errorf("%s servers with %s to spare, want 3 with 721231", need.Whole, need.Spare.Point.FloatString(0))
	}
	tight, err := Terms{Headroom: r("0.2")}.Servers(demand, modern)
	if err != nil {
		t.Fatal(err)
	}
	if tight.Whole.String() != "4" {
		t.Errorf("%s servers with 20 %% kept free, want 4", tight.Whole)
	}
	mixed := Demand([]Group{{r("2"), legacy}, {r("1"), modern}})
	if got := mixed.Point.FloatString(2); got != "7701201.33" {
		t.Errorf("two legacy and one modern do %s, want 7701201.33", got)
	}
}

func TestUncertaintyCountsServersSafely(t *testing.T) {
	each := Between(rat(t, "100"), rat(t, "95"), rat(t, "105"))
	need, err := Terms{}.Servers(Exactly(rat(t, "1000")), each)
	if err != nil {
		t.Fatal(err)
	}
	if need.Whole.String() != "10" || need.Safe.String() != "11" {
		t.Errorf("%s whole and %s safe servers, want 10 and 11", need.Whole, need.Safe)
	}
}

func TestEnergy(t *testing.T) {
	terms := Terms{Currency: "USD", Tariff: rat(t, "0.12"), Overhead: rat(t, "1.5"), Intensity: rat(t, "400")}
	watts := Exactly(rat(t, "831"))
	cost, err := terms.EnergyCost(watts)
	if err != nil {
		t.Fatal(err)
	}
	carbon, err := terms.Carbon(watts)
	if err != nil {
		t.Fatal(err)
	}
	// 0.831 kW x 8760 h x 1.5 = 10,919.34 kWh
	for what, got := range map[string][2]string{
		"kWh":   {terms.EnergyPerYear(watts).Point.FloatString(2), "10919.34"},
		"cost":  {cost.Point.FloatString(2), "1310.32"},
		"CO2e":  {carbon.Point.FloatString(2), "4367.74"},
		"BTU/h": {Heat(watts).Point.FloatString(2), "2835.49"},
	} {
		if got[0] != got[1] {
			t.Errorf("%s = %s, want %s", what, got[0], got[1])
		}
	}
	if _, err := (Terms{}).EnergyCost(watts); err == nil {
		t.Error("a cost without a tariff")
	}
	// 500 newer servers against 1,147 older ones: about 20 percent less.
	newer, older := rat(t, "415500"), rat(t, "516150")
	saving := new(big.Rat).Quo(new(big.Rat).Sub(older, newer), older)
	if saving.FloatString(3) != "0.195" {
		t.Errorf("saving %s", saving.FloatString(3))
	}
}

func fleets(t *testing.T) (keep, replace []Fleet, terms Terms) {
	keep = []Fleet{{Name: "old", Count: rat(t, "23"), Watts: exact(t, "450"), Age: 3,
		Operations: []Bracket{{3, rat(t, "7541")}, {0, rat(t, "22511")}}}}
	replace = []Fleet{{Name: "new", Count: rat(t, "10"), Price: exact(t, "31823.62"), Watts: exact(t, "831"),
		Operations: []Bracket{{3, rat(t, "7541")}, {0, rat(t, "22511")}}}}
	return keep, replace, Terms{Currency: "USD", Tariff: rat(t, "0.12"), Overhead: rat(t, "1.5")}
}

func exact(t *testing.T, s string) *Estimate { return new(Exactly(rat(t, s))) }

func TestOwnershipAndBreakEven(t *testing.T) {
	keep, replace, terms := fleets(t)
	years, err := terms.Ownership(replace, 6)
	if err != nil {
		t.Fatal(err)
	}
	// Year 1: 318,236.20 + 13,103.21 of energy + 75,410 of operations.
	if got := years[0].Sum.Point.FloatString(2); got != "406749.41" {
		t.Errorf("year 1 costs %s, want 406749.41", got)
	}
	if got := years[3].Operations.Point.FloatString(2); got != "225110.00" {
		t.Errorf("operations in year 4 cost %s, want 225110.00", got)
	}
	at, err := terms.BreakEven(keep, replace, 6)
	if err != nil || at.Years == nil {
		t.Fatalf("no break-even: %v, %v", at, err)
	}
	// Saved a year: 23 x 22,511 + 16,319.88 - 75,410 - 13,103.21 = 445,559.67.
	if got := at.Years.FloatString(3); got != "0.714" || at.Earliest.Cmp(at.Years) != 0 || at.Latest.Cmp(at.Years) != 0 {
		t.Errorf("break-even after %s years, want 0.714, exactly", got)
	}
	never := slices.Clone(keep)
	never[0].Operations = nil
	if at, err := terms.BreakEven(never, replace, 6); err != nil || at.Years != nil {
		t.Errorf("a break-even after %v (%v), want none", at.Years, err)
	}
}

// What is not known of a fleet is not taken for nothing, and cannot be compared
// with what is.
func TestUnknownEnergyIsAbsent(t *testing.T) {
	keep, replace, terms := fleets(t)
	keep[0].Watts = nil
	years, err := terms.Ownership(keep, 1)
	if err != nil || years[0].Energy != nil || years[0].Sum.Point.FloatString(0) != "517753" {
		t.Errorf("energy %v, sum %s, %v", years[0].Energy, years[0].Sum.Point.FloatString(2), err)
	}
	if _, err := terms.BreakEven(keep, replace, 6); err == nil || !strings.Contains(err.Error(), "not known") {
		t.Errorf("one side without energy: %v", err)
	}
	replace[0].Watts = nil
	if at, err := terms.BreakEven(keep, replace, 6); err != nil || at.Years == nil {
		t.Errorf("neither with energy: %v, %v", at, err)
	}
}

// A mix costs what its fleets cost together.
func TestMixesAdd(t *testing.T) {
	keep, replace, terms := fleets(t)
	both, err := terms.Ownership(slices.Concat(keep, replace), 4)
	if err != nil {
		t.Fatal(err)
	}
	one, err := terms.Ownership(keep, 4)
	if err != nil {
		t.Fatal(err)
	}
	two, err := terms.Ownership(replace, 4)
	if err != nil {
		t.Fatal(err)
	}
	for i := range both {
		want := new(big.Rat).Add(one[i].Cumulative.Point, two[i].Cumulative.Point)
		if both[i].Cumulative.Point.Cmp(want) != 0 {
			t.Errorf("year %d: %s, want %s", i+1, both[i].Cumulative.Point.FloatString(2), want.FloatString(2))
		}
	}
}

// The ends of the break-even are those of power and price together.
func TestBreakEvenInterval(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		keep, replace, terms := fleets(t)
		off := big.NewRat(rapid.Int64Range(0, 20).Draw(rt, "percent"), 100)
		price, watts, oldWatts := replace[0].Price.Widened(off), replace[0].Watts.Widened(off), keep[0].Watts.Widened(off)
		replace[0].Price, replace[0].Watts, keep[0].Watts = &price, &watts, &oldWatts
		got, err := terms.BreakEven(keep, replace, 6)
		if err != nil {
			rt.Fatal(err)
		}
		at := func(share *big.Rat) *big.Rat {
			k, r, _ := fleets(t)
			factor := new(big.Rat).Add(big.NewRat(1, 1), share)
			other := new(big.Rat).Sub(big.NewRat(1, 1), share)
			r[0].Price, r[0].Watts = new(r[0].Price.Times(factor)), new(r[0].Watts.Times(factor))
			k[0].Watts = new(k[0].Watts.Times(other))
			p, err := terms.BreakEven(k, r, 6)
			if err != nil {
				rt.Fatal(err)
			}
			return p.Years
		}
		if got.Latest.Cmp(at(off)) != 0 || got.Earliest.Cmp(at(new(big.Rat).Neg(off))) != 0 {
			rt.Errorf("break-even from %s to %s, want %s to %s", got.Earliest, got.Latest, at(new(big.Rat).Neg(off)), at(off))
		}
	})
}

// TestFlipsFlip sets each input to its flip value and finds that both cost the
// same.
func TestFlipsFlip(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		keep, replace, terms := fleets(t)
		keep[0].Count = big.NewRat(rapid.Int64Range(2, 60).Draw(rt, "old"), 1)
		replace[0].Price = new(Exactly(big.NewRat(rapid.Int64Range(1000, 90000).Draw(rt, "price"), 1)))
		years := rapid.IntRange(1, 8).Draw(rt, "years")
		flips, err := terms.Sensitivity(keep, replace, years)
		if err != nil {
			rt.Fatal(err)
		}
		for _, f := range flips {
			c := comparison{terms, keep, replace, years}
			for _, in := range c.inputs() {
				if in.name != f.Input || f.At.Sign() == 0 { // a fleet of nothing is refused
					continue
				}
				other := c.clone()
				in.set(&other, f.At)
				gap, err := other.gap()
				if err != nil || gap.Sign() != 0 {
					rt.Errorf("%s at %s: the gap is %v (%v)", f.Input, f.At.FloatString(3), gap, err)
				}
			}
		}
	})
}

func TestBadTermsAreRefused(t *testing.T) {
	keep, replace, terms := fleets(t)
	for want, change := range map[string]func(*Terms, []Fleet){
		"hours":      func(t *Terms, _ []Fleet) { t.Hours = big.NewRat(9000, 1) },
		"PUE":        func(t *Terms, _ []Fleet) { t.Overhead = big.NewRat(1, 2) },
		"headroom":   func(t *Terms, _ []Fleet) { t.Headroom = big.NewRat(1, 1) },
		"tariff":     func(t *Terms, _ []Fleet) { t.Tariff = nil },
		"one server": func(_ *Terms, f []Fleet) { f[0].Count = new(big.Rat) },
		"years of age": func(_ *Terms, f []Fleet) {
			f[0].Operations = []Bracket{{5, big.NewRat(1, 1)}, {3, big.NewRat(1, 1)}, {0, big.NewRat(1, 1)}}
		},
	} {
		tt, k := terms, slices.Clone(keep)
		change(&tt, k)
		if _, err := tt.BreakEven(k, replace, 6); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", want, err)
		}
	}
	if _, err := terms.Ownership(keep, 51); err == nil {
		t.Error("51 years were accepted")
	}
	if _, err := terms.Servers(Exactly(big.NewRat(1, 1)), Estimate{new(big.Rat), unit.Exactly(new(big.Rat))}); err == nil {
		t.Error("servers that do nothing were accepted")
	}
}
