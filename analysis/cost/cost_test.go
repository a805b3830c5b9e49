package cost

import (
	"math/big"
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

func fleets(t *testing.T) (Fleet, Fleet, Terms) {
	keep := Fleet{Name: "old", Count: rat(t, "23"), Watts: rat(t, "450"), Age: 3,
		Operations: []Bracket{{3, rat(t, "7541")}, {0, rat(t, "22511")}}}
	replace := Fleet{Name: "new", Count: rat(t, "10"), Price: rat(t, "31823.62"), Watts: rat(t, "831"),
		Operations: []Bracket{{3, rat(t, "7541")}, {0, rat(t, "22511")}}}
	return keep, replace, Terms{Currency: "USD", Tariff: rat(t, "0.12"), Overhead: rat(t, "1.5")}
}

func TestOwnershipAndBreakEven(t *testing.T) {
	keep, replace, terms := fleets(t)
	years, err := terms.Ownership(replace, 6)
	if err != nil {
		t.Fatal(err)
	}
	// Year 1: 318,236.20 + 13,103.21 of energy + 75,410 of operations.
	if got := years[0].Sum.FloatString(2); got != "406749.41" {
		t.Errorf("year 1 costs %s, want 406749.41", got)
	}
	if got := years[3].Operations.FloatString(2); got != "225110.00" {
		t.Errorf("operations in year 4 cost %s, want 225110.00", got)
	}
	at, err := terms.BreakEven(keep, replace, 6)
	if err != nil || at == nil {
		t.Fatalf("no break-even: %v, %v", at, err)
	}
	// Saved a year: 23 x 22,511 + 16,319.88 - 75,410 - 13,103.21 = 445,559.67.
	if got := at.FloatString(3); got != "0.714" {
		t.Errorf("break-even after %s years, want 0.714", got)
	}
	never := keep
	never.Operations = nil
	if at, err := terms.BreakEven(never, replace, 6); err != nil || at != nil {
		t.Errorf("a break-even after %v (%v), want none", at, err)
	}
}

// TestFlipsFlip sets each input to its flip value and finds that both cost the
// same.
func TestFlipsFlip(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		keep, replace, terms := fleets(t)
		keep.Count = big.NewRat(rapid.Int64Range(2, 60).Draw(rt, "old"), 1)
		replace.Price = big.NewRat(rapid.Int64Range(1000, 90000).Draw(rt, "price"), 1)
		years := rapid.IntRange(1, 8).Draw(rt, "years")
		flips, err := terms.Sensitivity(keep, replace, years)
		if err != nil {
			rt.Fatal(err)
		}
		for _, f := range flips {
			for _, in := range terms.inputs(keep, replace) {
				if in.name != f.Input {
					continue
				}
				t2, k, r := terms, keep, replace
				k.Operations = append([]Bracket{}, keep.Operations...)
				r.Operations = append([]Bracket{}, replace.Operations...)
				in.set(&t2, &k, &r, f.At)
				if f.At.Sign() == 0 {
					continue // a fleet of nothing is refused
				}
				gap, err := t2.gap(k, r, years)
				if err != nil || gap.Sign() != 0 {
					rt.Errorf("%s at %s: the gap is %v (%v)", f.Input, f.At.FloatString(3), gap, err)
				}
			}
		}
	})
}

func TestBadTermsAreRefused(t *testing.T) {
	keep, replace, terms := fleets(t)
	for want, change := range map[string]func(*Terms, *Fleet){
		"hours":      func(t *Terms, _ *Fleet) { t.Hours = big.NewRat(9000, 1) },
		"PUE":        func(t *Terms, _ *Fleet) { t.Overhead = big.NewRat(1, 2) },
		"headroom":   func(t *Terms, _ *Fleet) { t.Headroom = big.NewRat(1, 1) },
		"tariff":     func(t *Terms, _ *Fleet) { t.Tariff = nil },
		"one server": func(_ *Terms, f *Fleet) { f.Count = new(big.Rat) },
		"years of age": func(_ *Terms, f *Fleet) {
			f.Operations = []Bracket{{5, big.NewRat(1, 1)}, {3, big.NewRat(1, 1)}, {0, big.NewRat(1, 1)}}
		},
	} {
		tt, k := terms, keep
		change(&tt, &k)
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
