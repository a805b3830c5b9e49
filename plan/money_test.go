package plan

import (
	"math/big"
	"testing"

	"github.com/google/go-cmp/cmp"

	"bakeoff/record"
)

func ratComparer() cmp.Option {
	return cmp.Comparer(func(a, b *big.Rat) bool {
		return (a == nil) == (b == nil) && (a == nil || a.Cmp(b) == 0)
	})
}

const priced = `title: x
hosts:
  server: {agent: none, price: 31823.62 USD, support: 900 USD}
  client: {agent: local}
workloads: {get: {engine: kv, target: "redis://127.0.0.1:1", window: 5s}}
factors:
  system:
    new: {hosts.server.price: 31823.62 USD}
    old: {hosts.server.price: "36,895.85 USD"}
  size: {s: {workloads.get.value_size: 1}, l: {workloads.get.value_size: 2}}
primary: {throughput: {better: higher, margin: 2%}}
money:
  tariff: 0.12 USD/kWh
  pue: 1.5
  grid: 400 g/kWh
  support: 1200 USD
  operations: [{until: 3, per_year: 7541 USD}, {per_year: 22511 USD}]
  years: 6
  headroom: 20%
  confidence: 90%
  price_uncertainty: 2.5%
  own: [{levels: {system: old}, servers: 1147, age: 3}]
  work: [{levels: {system: new}, servers: 10}]
`

func TestMoney(t *testing.T) {
	p := mustParse(t, priced)
	want := Money{
		Currency: "USD", Tariff: big.NewRat(12, 100), PUE: big.NewRat(3, 2), Grid: big.NewRat(400, 1), Support: big.NewRat(1200, 1),
		Operations: []Bracket{{3, big.NewRat(7541, 1)}, {0, big.NewRat(22511, 1)}},
		Years:      6, Headroom: big.NewRat(1, 5), Confidence: 0.9, PriceUncertainty: big.NewRat(1, 40),
		Own:  []Fleet{{record.Cell{{Factor: "system", Level: "old"}}, 1147, 3}},
		Work: []Fleet{{record.Cell{{Factor: "system", Level: "new"}}, 10, 0}},
	}
	if diff := cmp.Diff(want, p.Money, ratComparer()); diff != "" {
		t.Error(diff)
	}
	if p.Hosts[0].Support != "900 USD" {
		t.Errorf("support of the host is %q", p.Hosts[0].Support)
	}
	if diff := cmp.Diff([]string{"system"}, p.SystemFactors()); diff != "" {
		t.Error(diff)
	}
	one := mustParse(t, good+"money: {operations: 7541 USD, hours: 4000}\n")
	if diff := cmp.Diff(Money{Currency: "USD", Hours: big.NewRat(4000, 1), Operations: []Bracket{{0, big.NewRat(7541, 1)}}, Confidence: DefaultConfidence}, one.Money, ratComparer()); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff([]string{"size"}, one.SystemFactors()); diff != "" {
		t.Errorf("without hosts and money, systems are what is compared first: %s", diff)
	}
}

func TestMoneyFaults(t *testing.T) {
	for _, tt := range []struct {
		name, old, new string
		line           int
		want           []string
	}{
		{"hours", "pue: 1.5", "hours: 9000", 14, []string{"money.hours", "at most 8784"}},
		{"pue", "pue: 1.5", "pue: 0.9", 14, []string{"money.pue", "1 or more"}},
		{"grid", "400 g/kWh", "400", 15, []string{"money.grid", "400 g/kWh"}},
		{"years", "years: 6", "years: 60", 18, []string{"money.years", "at most 50"}},
		{"headroom", "headroom: 20%", "headroom: 100%", 19, []string{"money.headroom", "below 100%"}},
		{"confidence", "confidence: 90%", "confidence: 100%", 20, []string{"money.confidence", "below 100%"}},
		{"price uncertainty", "2.5%", "100%", 21, []string{"money.price_uncertainty", "below 100%"}},
		{"last bracket", "{per_year: 22511 USD}", "{until: 6, per_year: 22511 USD}", 17, []string{"a last bracket that ends at 6 years", "add a bracket"}},
		{"brackets fall", "[{until: 3,", "[{until: 3, per_year: 1 USD}, {until: 2,", 17, []string{"money.operations[1]", "years of age that rise"}},
		{"no brackets", "[{until: 3, per_year: 7541 USD}, {per_year: 22511 USD}]", "[]", 17, []string{"an empty list"}},
		{"bracket without amount", "{per_year: 22511 USD}", "{until: 4}", 17, []string{"no per_year"}},
		{"operations", "[{until: 3, per_year: 7541 USD}, {per_year: 22511 USD}]", "7541", 17, []string{"money.operations", "amount of money"}},
		{"own nothing", "levels: {system: old}, servers: 1147", "servers: 1147", 22, []string{"no levels", "names the system"}},
		{"own no factor", "{system: old}", "{sistem: old}", 22, []string{"did you mean system?"}},
		{"own no level", "{system: old}", "{system: odl}", 22, []string{"a level of system: new or old", "did you mean old?"}},
		{"own what differs", "own: [", "own: [{levels: {size: s}, servers: 1}, ", 22, []string{"levels of the same factors"}},
		{"own no servers", ", servers: 1147", "", 22, []string{"no servers"}},
		{"currency of a level", "36,895.85 USD", "36,895.85 EUR", 9, []string{"hosts.server.price", "an amount in USD"}},
		{"currency of a bracket", "22511 USD", "22511 EUR", 17, []string{"money.operations[1].per_year", "an amount in USD"}},
		{"currency of support", "support: 900 USD", "support: 900 EUR", 3, []string{"hosts.server.support", "an amount in USD"}},
	} {
		t.Run(tt.name, func(t *testing.T) { checkChange(t, priced, tt.old, tt.new, tt.line, tt.want) })
	}
}
