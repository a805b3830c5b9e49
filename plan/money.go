package plan

import (
	"fmt"
	"math/big"
	"slices"
	"strings"

	"bakeoff/record"
	"bakeoff/unit"
)

// Money holds what costs, energy and consolidation are worked out from. What a
// plan does not give is nil, 0 or empty: it is not known, and never taken for
// nothing. Amounts are exact, in Currency.
type Money struct {
	Currency   string   // ISO 4217; that of the amounts where the plan names none
	Tariff     *big.Rat // of energy, a kWh
	Hours      *big.Rat // of operation a year
	PUE        *big.Rat // energy of the data centre per energy of its machines
	Grid       *big.Rat // g of CO2e a kWh
	Support    *big.Rat // of one host for a year, where the host has none of its own
	Operations []Bracket
	Years      int      // that costs are added up over
	Headroom   *big.Rat // share of a server's work that is kept free
	Confidence float64  // of the intervals that servers are counted against; DefaultConfidence where not given
	// PriceUncertainty is how far prices may be off either way, as a share.
	PriceUncertainty *big.Rat
	Own              []Fleet // what one owns today, all of it together
	Work             []Fleet // further amounts of work to be priced, each by itself
}

// DefaultConfidence is the confidence of intervals where a plan says none.
const DefaultConfidence = 0.95

// A Bracket is what operating one host costs a year, up to and in a year of its
// age. The last bracket has no end.
type Bracket struct {
	Until   int // years; 0 in the last one
	PerYear *big.Rat
}

// A Fleet is so many servers of one system: what was under test in the cells
// that have the levels.
type Fleet struct {
	Levels  record.Cell
	Servers int
	Age     int // full years in service
}

// SystemFactors names the factors whose levels are systems that one could buy
// instead of one another: those that money names, and those that say what a host
// is or which one serves. Where there are none, they are those of the first
// comparison.
func (p *Plan) SystemFactors() []string {
	var out []string
	for _, f := range p.compared() {
		named := slices.ContainsFunc(slices.Concat(p.Money.Own, p.Money.Work), func(fleet Fleet) bool {
			_, ok := fleet.Levels.Level(f.Name)
			return ok
		})
		hosts := slices.ContainsFunc(allSets(*f), func(s Assignment) bool {
			return s.keys[0] == "hosts" || s.keys[0] == "services" && s.keys[2] == "host"
		})
		if named || hosts {
			out = append(out, f.Name)
		}
	}
	if len(out) == 0 && len(p.Compare) > 0 {
		return slices.Clone(p.Compare[0].Factors)
	}
	return out
}

func moneyFields() []field {
	return []field{
		{name: "currency", shape: shapeText, doc: "of everything in this plan, as USD; absent, that of its amounts"},
		{name: "tariff", shape: shapeTariff, doc: "price of energy, as 0.12 USD/kWh"},
		{name: "hours", shape: shapePositive, doc: "of operation a year, at most 8784; absent, 8760"},
		{name: "pue", shape: shapeFloat, doc: "energy of the data centre per energy of its machines, 1 or more; absent, 1"},
		{name: "grid", shape: shapeGrid, doc: "CO2e of the energy, as 400 g/kWh"},
		{name: "support", shape: shapeMoney, doc: "for one host and year, where the host has none of its own"},
		{name: "operations", shape: shapeBrackets, keys: bracketFields(), doc: "what operating one host costs a year: an amount, or brackets by its age"},
		{name: "years", shape: shapePositive, doc: "that costs are added up over, at most 50"},
		{name: "headroom", shape: shapePercent, doc: "share of a server's work that is kept free when servers are counted; absent, none"},
		{name: "confidence", shape: shapePercent, doc: "of the intervals that servers are counted safe against; absent, 95%"},
		{name: "price_uncertainty", shape: shapePercent, doc: "how far prices may be off either way; absent, they are taken for exact"},
		{name: "own", shape: shapeSections, keys: fleetFields(), doc: "what one owns today, all of it together"},
		{name: "work", shape: shapeSections, keys: fleetFields(), doc: "further amounts of work to be priced, each by itself"},
	}
}

func bracketFields() []field {
	return []field{
		{name: "until", shape: shapePositive, doc: "the last year of age that it holds for; absent in the last bracket, which goes on"},
		{name: "per_year", shape: shapeMoney, must: true, doc: "for one host"},
	}
}

func fleetFields() []field {
	return []field{
		{name: "levels", shape: shapeMap, must: true, doc: "factor -> level that names the system, as {system: R740}"},
		{name: "servers", shape: shapePositive, must: true, doc: "how many of it"},
		{name: "age", shape: shapeCount, doc: "years that they have been in service; absent, 0"},
	}
}

// money reads what costs need.
func (f *faults) money(p *Plan, top *node) Money {
	n := top.get("money")
	m := Money{
		Currency: n.textOf("currency"), Tariff: amountOf(strings.TrimSuffix(n.textOf("tariff"), "/kWh")), PUE: decimalOf(n.textOf("pue")),
		Grid: decimalOf(strings.TrimSuffix(n.textOf("grid"), " g/kWh")), Support: amountOf(n.textOf("support")), Years: n.countOf("years", 0),
		Headroom: shareOf(n.textOf("headroom")), Confidence: DefaultConfidence, PriceUncertainty: shareOf(n.textOf("price_uncertainty")),
	}
	if hours := n.countOf("hours", 0); hours > 0 {
		m.Hours = big.NewRat(int64(hours), 1)
	}
	if share := shareOf(n.textOf("confidence")); share != nil {
		m.Confidence, _ = share.Float64()
	}
	m.Operations = f.operations(n)
	m.Own, m.Work = f.fleets(p, n, "own"), f.fleets(p, n, "work")
	f.checkMoney(n, m)
	m.Currency = f.currency(top, m.Currency)
	return m
}

// checkMoney judges numbers that have a natural range.
func (f *faults) checkMoney(n *node, m Money) {
	one := big.NewRat(1, 1)
	note := func(key, expected, mend string) {
		f.add(n.get(key).line, "money."+key, quote(n.textOf(key)), expected, mend)
	}
	if m.Hours != nil && m.Hours.Cmp(big.NewRat(8784, 1)) > 0 {
		note("hours", "hours of a year, at most 8784", "")
	}
	if m.PUE != nil && m.PUE.Cmp(one) < 0 {
		note("pue", "1 or more", "it is the whole data centre's energy over that of its machines")
	}
	if m.Years > 50 {
		note("years", "at most 50 years", "")
	}
	if m.Headroom != nil && m.Headroom.Cmp(one) >= 0 {
		note("headroom", "a share below 100%", "")
	}
	if n.get("confidence") != nil && (m.Confidence < 0.5 || m.Confidence >= 1) {
		note("confidence", "50% or more, and below 100%", "")
	}
	if m.PriceUncertainty != nil && m.PriceUncertainty.Cmp(one) >= 0 {
		note("price_uncertainty", "a share below 100%", "")
	}
}

// operations reads one amount, or brackets by age.
func (f *faults) operations(n *node) []Bracket {
	v := n.get("operations")
	switch {
	case v == nil:
		return nil
	case v.kind == scalar:
		if amount := amountOf(v.text); amount != nil {
			return []Bracket{{PerYear: amount}}
		}
		return nil
	case v.kind == list && len(v.items) == 0:
		f.add(v.line, "money.operations", "an empty list", "an amount, or brackets by age", "")
	}
	var out []Bracket
	last := 0
	for i, item := range v.items {
		b := Bracket{Until: item.countOf("until", 0), PerYear: amountOf(item.textOf("per_year"))}
		key := fmt.Sprintf("money.operations[%d]", i)
		switch ends := i == len(v.items)-1; {
		case b.PerYear == nil: // noted by its shape
			return nil
		case ends && b.Until != 0:
			f.add(item.line, key, fmt.Sprintf("a last bracket that ends at %d years", b.Until), "a last one without until, which goes on", "remove until, or add a bracket for older hosts")
		case !ends && b.Until <= last:
			f.add(item.line, key, fmt.Sprintf("until %d after %d years", b.Until, last), "years of age that rise from bracket to bracket", "")
		}
		last = b.Until
		out = append(out, b)
	}
	return out
}

// fleets reads systems of the plan with their numbers.
func (f *faults) fleets(p *Plan, n *node, key string) []Fleet {
	section := n.get(key)
	if section == nil || section.kind != list {
		return nil
	}
	var out []Fleet
	for i, item := range section.items {
		at := fmt.Sprintf("money.%s[%d]", key, i)
		if item.get("levels") == nil {
			continue
		}
		fleet := Fleet{Levels: f.systemLevels(p, at+".levels", item.get("levels")), Servers: item.countOf("servers", 0), Age: item.countOf("age", 0)}
		if len(out) > 0 && !sameFactors(out[0].Levels, fleet.Levels) {
			f.add(item.line, at+".levels", quote(fleet.Levels.Key()), "levels of the same factors as in the first entry", "")
		}
		out = append(out, fleet)
	}
	return out
}

// systemLevels reads the levels that name a system, in the order of the factors.
func (f *faults) systemLevels(p *Plan, key string, n *node) record.Cell {
	var known []string
	for _, factor := range p.compared() {
		known = append(known, factor.Name)
	}
	var out record.Cell
	for _, pair := range n.pairs {
		if !slices.Contains(known, pair.key) {
			f.add(pair.line, key, quote(pair.key), "a factor of this plan: "+oneOf(known), meant(pair.key, known))
		}
	}
	for _, factor := range p.compared() {
		v := n.get(factor.Name)
		if v == nil {
			continue
		}
		if factor.level(v.text) < 0 {
			var levels []string
			for _, l := range factor.Levels {
				levels = append(levels, l.Name)
			}
			f.add(v.line, join(key, factor.Name), found(v), "a level of "+factor.Name+": "+oneOf(levels), meant(v.text, levels))
		}
		out = append(out, record.Level{Factor: factor.Name, Level: v.text})
	}
	if len(n.pairs) == 0 {
		f.add(n.line, key, "no level", "the levels that name a system", "write levels: {system: R740}, say")
	}
	return out
}

func sameFactors(a, b record.Cell) bool {
	return slices.EqualFunc(a, b, func(x, y record.Level) bool { return x.Factor == y.Factor })
}

// currency judges every amount of the plan, those of levels included, and
// returns the one currency that they are in.
func (f *faults) currency(top *node, written string) string {
	if written != "" {
		if _, err := unit.ParseMoney("1 " + written); err != nil {
			f.add(top.get("money").get("currency").line, "money.currency", quote(written), "an ISO 4217 code such as USD", "")
			return written
		}
	}
	for _, a := range amounts(top) {
		m, err := unit.ParseMoney(strings.TrimSuffix(a.value.text, "/kWh"))
		switch {
		case err != nil: // noted by its shape
		case written == "":
			written = m.Currency()
		case m.Currency() != written:
			f.add(a.line, a.key, quote(a.value.text), "an amount in "+written+", the currency of this plan", "convert it, and say at which rate in a comment")
		}
	}
	return written
}

// amounts lists every amount of money that a plan writes, by its whole path.
func amounts(top *node) (out []pair) {
	add := func(key string, n *node, names ...string) {
		for _, name := range names {
			if v := n.get(name); v != nil && v.kind == scalar {
				out = append(out, pair{key + "." + name, v.line, v})
			}
		}
	}
	add("money", top.get("money"), "tariff", "support", "operations")
	if brackets := top.get("money").get("operations"); brackets != nil {
		for i, item := range brackets.items {
			add(fmt.Sprintf("money.operations[%d]", i), item, "per_year")
		}
	}
	for _, h := range top.pairsOf("hosts") {
		add("hosts."+h.key, h.value, "price", "support")
	}
	for _, factor := range top.pairsOf("factors") {
		for _, level := range factor.value.pairs {
			for _, set := range level.value.pairs {
				if parts := strings.Split(set.key, "."); parts[0] == "hosts" && len(parts) == 3 && (parts[2] == "price" || parts[2] == "support") {
					out = append(out, pair{join(join("factors", factor.key), level.key) + "." + set.key, set.line, set.value})
				}
			}
		}
	}
	return out
}

// amountOf is an amount of money, nil where there is none.
func amountOf(text string) *big.Rat {
	m, err := unit.ParseMoney(text)
	if err != nil {
		return nil
	}
	return m.Amount()
}

// decimalOf is a decimal number, nil where there is none.
func decimalOf(text string) *big.Rat {
	if !floatText.MatchString(text) {
		return nil
	}
	v, ok := new(big.Rat).SetString(text)
	if !ok {
		return nil
	}
	return v
}

// shareOf is a percentage as an exact share, nil where there is none.
func shareOf(text string) *big.Rat {
	if _, err := unit.ParsePercent(text); err != nil {
		return nil
	}
	v := decimalOf(strings.TrimRight(text, "% "))
	if v == nil {
		return nil
	}
	return v.Quo(v, big.NewRat(100, 1))
}

// MoneyOf reads a section with the keys of money out of another file, such as
// one of printed figures: path leads to it, and systems is the factor that its
// fleets name. Without the section, nothing is known but the default confidence.
func MoneyOf(file string, src []byte, path []string, systems Factor) (Money, error) {
	f := &faults{file: file}
	n := read(src, f)
	for _, key := range path {
		n = n.get(key)
	}
	if n == nil {
		return Money{Confidence: DefaultConfidence}, f.err()
	}
	f.check("money", n.line, n, field{shape: shapeSection, keys: moneyFields()})
	if err := f.err(); err != nil {
		return Money{}, err
	}
	top := (*node)(nil).with(n, n.line, "money")
	m := f.money(&Plan{Factors: []Factor{systems}}, top)
	return m, f.err()
}
