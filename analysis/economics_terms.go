package analysis

import (
	"fmt"
	"math/big"
	"strings"

	"bakeoff/plan"
)

// termsTable discloses what money and energy rest on beside the figures of the
// systems. None of it was measured.
func (e *Economy) termsTable() Table {
	m := e.Money
	l := newLayout("money-terms", "Terms", "What the tables of money and energy rest on beside what was measured: the plan's own assumptions, under the key money.").text("term", "value")
	if e.Printed {
		l.Caption = "What the tables of money and energy rest on beside the printed figures: assumptions of the figures file, under the key economics.money, where the report prints none."
	}
	given := func(name string, v *big.Rat, write func(*big.Rat) string, unit string) {
		if v != nil {
			l.row(name, strings.TrimSpace(write(v)+" "+unit))
		}
	}
	currency := e.currency()
	given("tariff", m.Tariff, exact, currency+"/kWh")
	given("hours of operation a year", m.Hours, exact, "h")
	given("PUE", m.PUE, exact, "")
	given("CO2e of the energy", m.Grid, exact, "g/kWh")
	given("support, a host and year", m.Support, money, currency)
	for i, b := range m.Operations {
		given("operations, a host and year"+agesOf(m.Operations, i), b.PerYear, money, currency)
	}
	if m.Years > 0 {
		l.row("years", fmt.Sprint(m.Years))
	}
	if m.Headroom != nil {
		l.row("headroom", percentOf(m.Headroom))
	}
	if m.PriceUncertainty != nil {
		l.row("uncertainty of prices", "± "+percentOf(m.PriceUncertainty))
	}
	for _, f := range m.Own {
		l.row("owned today", fleetNames([]plan.Fleet{f})+fmt.Sprintf(", %d years in service", f.Age))
	}
	return l.finish()
}

// agesOf says for which years of age a bracket holds, "" where there is one.
func agesOf(brackets []plan.Bracket, i int) string {
	from := 1
	if i > 0 {
		from = brackets[i-1].Until + 1
	}
	switch {
	case len(brackets) == 1:
		return ""
	case brackets[i].Until == 0:
		return fmt.Sprintf(", from year %d of age on", from)
	}
	return fmt.Sprintf(", years %d to %d of age", from, brackets[i].Until)
}

// exact writes a decimal number with all its digits.
func exact(v *big.Rat) string {
	decimals, _ := v.FloatPrec()
	return grouped(v, min(decimals, 12))
}
