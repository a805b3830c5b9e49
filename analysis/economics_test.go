package analysis

import (
	"fmt"
	"math"
	"math/big"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"bakeoff/analysis/cost"
	"bakeoff/plan"
	"bakeoff/record"
)

const economyPlan = `title: Two systems
hosts:
  client: {agent: local}
  server: {agent: none}
services: {redis: {host: server, options: {at: 1}, endpoint: "redis://192.0.2.{at}:6379"}}
workloads: {get: {engine: kv, source: client, service: redis, window: 30s}}
factors:
  system:
    old: {hosts.server.price: 1000 USD, services.redis.options.at: 1}
    new: {hosts.server.price: 1500 USD, services.redis.options.at: 2}
  size: {s: {workloads.get.value_size: 32}, l: {workloads.get.value_size: 4K}}
primary: {throughput: {better: higher, margin: 2%}}
repeat: {blocks: 8}
`

const economyMoney = `money:
  tariff: 0.10 USD/kWh
  pue: 1.5
  grid: 400 g/kWh
  support: 50 USD
  operations: [{until: 3, per_year: 100 USD}, {per_year: 300 USD}]
  years: 5
  own: [{levels: {system: old}, servers: 10, age: 3}]
`

func parsePlan(t testing.TB, src string) *plan.Plan {
	t.Helper()
	p, err := plan.Parse("plan.yaml", []byte(src), nil)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// measure makes observations of every cell in so many blocks.
func measure(p *plan.Plan, blocks int, value func(c record.Cell, block int) (work, watts float64)) []record.Observation {
	var out []record.Observation
	n := 0
	for block := 1; block <= blocks; block++ {
		for _, c := range p.Cells() {
			n++
			work, watts := value(c, block)
			workload := p.Workloads[0].Name
			if w, ok := c.Level(plan.WorkloadFactor); ok {
				workload = w
			}
			add := func(workload, measure, unit string, v float64) {
				out = append(out, record.Observation{Cell: c, Block: block, Trial: record.TrialID(fmt.Sprintf("%04d", n)), Role: record.RoleMeasure, Workload: workload, Measure: measure, Unit: unit, Value: v})
			}
			add(workload, "throughput", "ops/s", work)
			if watts > 0 {
				add("", "power", "W", watts)
				add("", "energy", "J", 30*watts)
			}
		}
	}
	return out
}

// twice is a model: new does twice the work of old at 1.5 times the power; small
// values ten times that of large ones. Noise is that of a block.
func twice(c record.Cell, noise float64) (work, watts float64) {
	work, watts = 1000, 200
	if l, _ := c.Level("system"); l == "new" {
		work, watts = 2000, 300
	}
	if l, _ := c.Level("size"); l == "s" {
		work *= 10
	}
	return work * noise, watts * noise
}

func economyOf(t testing.TB, p *plan.Plan, obs []record.Observation, uncertainty *float64) *Economy {
	t.Helper()
	book := newLedgerBook(nil)
	for _, o := range obs {
		book.meters[o.Trial] = []hostMeter{{meter{name: "pdu", class: "wall-meter", watts: 200, seconds: 1, coverage: 1, uncertainty: uncertainty}, "server", true, true}}
	}
	return newEconomist(p, obs, book).economy()
}

func tableNamed(t testing.TB, tables []Table, id string) Table {
	t.Helper()
	i := slices.IndexFunc(tables, func(t Table) bool { return t.ID == id })
	if i < 0 {
		t.Fatalf("no table %s", id)
	}
	return tables[i]
}

// entry is the cell of a table's column in the row that begins with the cells.
func entry(t testing.TB, table Table, column string, begins ...string) string {
	t.Helper()
	at := slices.Index(table.Columns, column)
	i := slices.IndexFunc(table.Rows, func(r []string) bool { return len(r) >= len(begins) && slices.Equal(r[:len(begins)], begins) })
	if at < 0 || i < 0 {
		t.Fatalf("%s has no column %q or no row %q: %q %q", table.ID, column, begins, table.Columns, table.Rows)
	}
	return table.Rows[i][at]
}

func f64(r *big.Rat) float64 { v, _ := r.Float64(); return v }

// What a block does to all its trials alike leaves no doubt about ratios formed
// inside blocks.
func TestRatiosAreFormedInsideBlocksAndTrials(t *testing.T) {
	p := parsePlan(t, economyPlan+economyMoney)
	rng := rand.New(rand.NewPCG(1, 2))
	noise := map[int]float64{}
	for b := 1; b <= 8; b++ {
		noise[b] = math.Exp(0.1 * rng.NormFloat64())
	}
	e := economyOf(t, p, measure(p, 8, func(c record.Cell, b int) (float64, float64) { return twice(c, noise[b]) }), nil)
	if len(e.Systems) != 4 || e.Baseline.Key() != "system=old" || len(e.conditions()) != 2 {
		t.Fatalf("%d systems, baseline %s", len(e.Systems), e.Baseline.Key())
	}
	for _, s := range e.Systems {
		if width := f64(s.Work.Range.Width()) / f64(s.Work.Point); width < 0.05 {
			t.Errorf("work of %s is known to %g", s.Cell.Key(), width)
		}
		if width := f64(s.PerWatt.Range.Width()) / f64(s.PerWatt.Point); width > 1e-9 {
			t.Errorf("work and power vary together, and work per joule of %s has a width of %g", s.Cell.Key(), width)
		}
	}
	tables := e.Tables()
	same := tableNamed(t, tables, "money-same-work")
	if got := entry(t, same, "servers needed", "10 old", "size=s", "new"); got != "5.00" {
		t.Errorf("servers needed: %s", got)
	}
	if slices.Contains(same.Columns, "95 % interval") {
		t.Errorf("block noise cancels in the ratio, but there is an interval: %q", same.Rows)
	}
	if got := entry(t, tableNamed(t, tables, "consolidation-servers"), "N : M", "10 old", "size=l", "new"); got != "10 : 5" {
		t.Errorf("consolidation %s", got)
	}
}

// The uncertainty of a meter, and that of prices, stays whole however many
// trials there are.
func TestSystematicUncertaintyDoesNotShrink(t *testing.T) {
	for _, blocks := range []int{2, 8, 40} {
		p := parsePlan(t, economyPlan+strings.Replace(economyMoney, "years: 5", "price_uncertainty: 2%\n  years: 5", 1))
		e := economyOf(t, p, measure(p, blocks, func(c record.Cell, _ int) (float64, float64) { return twice(c, 1) }), new(1.0))
		s := e.Systems[0]
		for what, a := range map[string]*Amount{"power": s.Watts, "energy": s.Joules, "work per joule": s.PerWatt} {
			if low, high := f64(a.Range.Low())/f64(a.Point), f64(a.Range.High())/f64(a.Point); math.Abs(low-0.99) > 1e-9 || math.Abs(high-1.01) > 1e-9 {
				t.Errorf("%d blocks: %s lies from %g to %g of itself, want 0.99 to 1.01", blocks, what, low, high)
			}
		}
		per := e.perPrice(s)
		if low, high := f64(per.Range.Low())/f64(per.Point), f64(per.Range.High())/f64(per.Point); math.Abs(low-1/1.02) > 1e-9 || math.Abs(high-1/0.98) > 1e-9 {
			t.Errorf("%d blocks: work per USD lies from %g to %g of itself", blocks, low, high)
		}
	}
}

// The interval of the servers needed holds the truth as often as it says, and
// the safe number is enough as often.
func TestServersNeededAreSafe(t *testing.T) {
	p := parsePlan(t, economyPlan+economyMoney)
	rng := rand.New(rand.NewPCG(7, 7))
	const runs = 400
	held, enough := 0, 0
	for range runs {
		e := economyOf(t, p, measure(p, 8, func(c record.Cell, _ int) (float64, float64) { return twice(c, math.Exp(0.05*rng.NormFloat64())) }), nil)
		c := e.conditions()[0]
		target, _ := c.find(record.Cell{{Factor: "system", Level: "new"}})
		_, ratio, missing := e.workOf(c, e.demands()[0], target)
		if missing != "" {
			t.Fatal(missing)
		}
		if ratio.Range.Holds(big.NewRat(5, 1)) {
			held++
		}
		if e.terms().ServersFor(ratio).Safe.Int64() >= 5 {
			enough++
		}
	}
	if share := float64(held) / runs; share < 0.92 || share > 0.98 {
		t.Errorf("the interval held the truth in %.1f %% of runs", 100*share)
	}
	if share := float64(enough) / runs; share < 0.95 {
		t.Errorf("the safe number was enough in %.1f %% of runs", 100*share)
	}
}

func TestHeadroomAndMixes(t *testing.T) {
	mixed := strings.Replace(economyMoney, "own: [{levels: {system: old}, servers: 10, age: 3}]",
		"headroom: 20%\n  own: [{levels: {system: old}, servers: 4, age: 4}, {levels: {system: new}, servers: 3, age: 1}]", 1)
	p := parsePlan(t, economyPlan+mixed)
	e := economyOf(t, p, measure(p, 4, func(c record.Cell, _ int) (float64, float64) { return twice(c, 1) }), nil)
	tables := e.Tables()
	// 4 x 1000 + 3 x 2000 = 10,000: 5 new ones, 6.25 with a fifth of each kept free.
	same := tableNamed(t, tables, "money-same-work")
	if got := entry(t, same, "servers needed", "4 old + 3 new", "size=l", "new"); got != "6.25" {
		t.Errorf("new ones needed: %s", got)
	}
	consolidation := tableNamed(t, tables, "consolidation-servers")
	if got := entry(t, consolidation, "N : M", "4 old + 3 new", "size=l", "old"); got != "7 : 13" {
		t.Errorf("the mix as old ones: %s", got)
	}
	if got := entry(t, consolidation, "spare work", "4 old + 3 new", "size=l", "new"); got != "4,000.0" {
		t.Errorf("spare %s", got)
	}
	// Both systems are owned: there is nothing else to buy.
	owned := tableNamed(t, tables, "money-ownership")
	if len(owned.Rows) != 2 || owned.Rows[0][0] != "keep 4 old + 3 new" {
		t.Errorf("options %q", owned.Rows)
	}
	// Year 1: 4 x 300 + 3 x 100 of operations.
	if got := entry(t, owned, "operations in year 1 (USD)", "keep 4 old + 3 new", "size=s"); got != "1,500.00" {
		t.Errorf("operations of a mix by age: %s", got)
	}
	if got := entry(t, tableNamed(t, tables, "money-years"), "operations (USD)", "keep 4 old + 3 new", "size=s", "4"); got != "2,100.00" {
		t.Errorf("operations of a mix by age in year 4: %s", got)
	}
}

func TestOwnershipOfAMeasuredRun(t *testing.T) {
	p := parsePlan(t, economyPlan+economyMoney)
	e := economyOf(t, p, measure(p, 4, func(c record.Cell, _ int) (float64, float64) { return twice(c, 1) }), new(2.0))
	tables := e.Tables()
	owned := tableNamed(t, tables, "money-ownership")
	// Keep 10 old: 10 x 0.2 kW x 8760 h x 1.5 x 0.10 = 2,628 of energy, 500 of support,
	// 3,000 of operations a year. Buy 5 new: 7,500, then 1,971 + 250 + 500, and 1,500
	// of operations from year 4 on.
	for column, want := range map[string][2]string{
		"purchase (USD)": {"0.00", "7,500.00"}, "energy a year (USD)": {"2,628.00", "1,971.00"}, "support a year (USD)": {"500.00", "250.00"},
		"operations in year 1 (USD)": {"3,000.00", "500.00"}, "operations in year 5 (USD)": {"3,000.00", "1,500.00"},
		"total (USD)": {"30,640.00", "23,105.00"}, "against the first": {"", "-24.6 %"}, "break-even (years)": {"", "2.20"},
	} {
		for i, option := range []string{"keep 10 old", "buy 5 new"} {
			if got := entry(t, owned, column, option, "size=s"); got != want[i] {
				t.Errorf("%s: %s is %s, want %s", option, column, got, want[i])
			}
		}
	}
	if got := entry(t, owned, "interval of the break-even (years)", "buy 5 new", "size=s"); got != "2.14 to 2.26" {
		t.Errorf("break-even from %s", got)
	}
	energy := tableNamed(t, tables, "energy-systems")
	for column, want := range map[string]string{"power (W)": "200.00", "95 % interval (W)": "196.00 to 204.00", "heat (BTU/h)": "682.43", "energy over the window (J)": "6,000.0",
		"energy a year (kWh)": "2,628.0", "cost a year (USD)": "262.80", "CO2e a year (kg)": "1,051.2"} {
		if got := entry(t, energy, column, "old", "size=s"); got != want {
			t.Errorf("%s is %s, want %s", column, got, want)
		}
	}
	terms := tableNamed(t, tables, "money-terms")
	for term, want := range map[string]string{"tariff": "0.1 USD/kWh", "PUE": "1.5", "CO2e of the energy": "400 g/kWh", "operations, a host and year, years 1 to 3 of age": "100.00 USD",
		"operations, a host and year, from year 4 of age on": "300.00 USD", "owned today": "10 old, 3 years in service", "years": "5"} {
		if got := entry(t, terms, "value", term); got != want {
			t.Errorf("%s is disclosed as %q, want %q", term, got, want)
		}
	}
	flips := tableNamed(t, tables, "money-sensitivity")
	if entry(t, flips, "turns at", "buy 5 new", "size=s", "work of one new") == "" || entry(t, flips, "turns at", "buy 5 new", "size=s", "price of new") != "3,007.00" {
		t.Errorf("flips %q", flips.Rows)
	}
	if again := economyOf(t, p, measure(p, 4, func(c record.Cell, _ int) (float64, float64) { return twice(c, 1) }), new(2.0)).Tables(); cmp.Diff(tables, again) != "" {
		t.Error("the same figures gave other tables:", cmp.Diff(tables, again))
	}
}

// What is not known is absent, and a note says which key would give it.
func TestUnknownsAreAbsentWithAKey(t *testing.T) {
	bare := strings.NewReplacer("hosts.server.price: 1000 USD, ", "", "hosts.server.price: 1500 USD, ", "").Replace(economyPlan)
	p := parsePlan(t, bare)
	e := economyOf(t, p, measure(p, 2, func(c record.Cell, _ int) (float64, float64) { w, _ := twice(c, 1); return w, 0 }), nil)
	if tables := e.Tables(); len(tables) != 0 {
		t.Errorf("a run without prices, meters and money has the tables %v", tables)
	}
	p = parsePlan(t, bare+"money: {years: 3, own: [{levels: {system: old}, servers: 3}]}\n")
	tables := economyOf(t, p, measure(p, 2, func(c record.Cell, _ int) (float64, float64) { return twice(c, 1) }), nil).Tables()
	for id, want := range map[string][]string{
		"money-same-work": {"hosts.NAME.price"}, "energy-systems": {"money.tariff", "money.grid"}, "energy-same-work": {"money.tariff"},
	} {
		table := tableNamed(t, tables, id)
		for _, key := range want {
			if !strings.Contains(strings.Join(table.Notes, " "), key) {
				t.Errorf("%s: notes %q, want %s", id, table.Notes, key)
			}
		}
		for _, c := range table.Columns {
			if strings.Contains(c, "cost") || strings.Contains(c, "CO2e") || strings.Contains(c, "price") {
				t.Errorf("%s has the column %q, of which nothing is known", id, c)
			}
		}
	}
	if slices.ContainsFunc(tables, func(t Table) bool { return t.ID == "money-ownership" }) {
		t.Error("a cost of ownership without prices")
	}
	priced := parsePlan(t, economyPlan+"money: {years: 3}\n")
	notes := strings.Join(tableNamed(t, economyOf(t, priced, measure(priced, 2, func(c record.Cell, _ int) (float64, float64) { return twice(c, 1) }), nil).Tables(), "money-ownership").Notes, " ")
	for _, key := range []string{"money.own", "money.tariff", "money.operations", "money.support"} {
		if !strings.Contains(notes, key) {
			t.Errorf("notes %q, want %s", notes, key)
		}
	}
}

// One trial has no interval, and says so.
func TestOneTrialHasNoInterval(t *testing.T) {
	p := parsePlan(t, economyPlan+economyMoney)
	tables := economyOf(t, p, measure(p, 1, func(c record.Cell, _ int) (float64, float64) { return twice(c, 1) }), nil).Tables()
	if got := entry(t, tableNamed(t, tables, "efficiency-price"), "95 % interval", "old", "size=s"); got != "one trial" {
		t.Errorf("interval %q", got)
	}
}

// Workloads that run together on one system do one work.
func TestWorkloadsTogetherAreOneWork(t *testing.T) {
	src := strings.Replace(economyPlan, "workloads: {get: {engine: kv, source: client, service: redis, window: 30s}}",
		"together: true\nworkloads: {get: {engine: kv, source: client, service: redis, window: 30s}, more: {engine: kv, source: client, service: redis, window: 30s}}", 1)
	p := parsePlan(t, src+economyMoney)
	obs := measure(p, 3, func(c record.Cell, _ int) (float64, float64) { return twice(c, 1) })
	for _, o := range slices.Clone(obs) {
		if o.Workload == "get" {
			o.Workload, o.Value = "more", 0.5*o.Value
			obs = append(obs, o)
		}
	}
	e := economyOf(t, p, obs, nil)
	if len(e.Systems) != 4 || math.Abs(f64(e.Systems[1].Work.Point)-1500) > 1e-6 || math.Abs(f64(e.Systems[1].PerWatt.Point)-7.5) > 1e-9 {
		t.Errorf("%d systems; the old one does %v", len(e.Systems), e.Systems[1].Work.Point.FloatString(3))
	}
}

func TestGroupedNumbers(t *testing.T) {
	for _, tt := range []struct {
		value    string
		decimals int
		want     string
	}{{"1234567.891", 2, "1,234,567.89"}, {"-1234.5", 0, "-1,235"}, {"999.999", 2, "1,000.00"}, {"0", 2, "0.00"}, {"-0.001", 2, "0.00"}, {"123", 0, "123"}, {"-123456", 0, "-123,456"}} {
		v, _ := new(big.Rat).SetString(tt.value)
		if got := grouped(v, tt.decimals); got != tt.want {
			t.Errorf("grouped(%s, %d) = %s, want %s", tt.value, tt.decimals, got, tt.want)
		}
	}
	if got := percentChange(big.NewRat(3, 1), big.NewRat(2, 1)); got != "+50.0 %" {
		t.Error(got)
	}
	e := cost.Between(big.NewRat(1, 1), big.NewRat(999, 1000), big.NewRat(1001, 1000))
	if got := servers(big.NewRat(30001, 10000)) + " " + servers(big.NewRat(3, 1)) + " " + servers(big.NewRat(114789, 100)); got != "3.0001 3.00 1,147.89" {
		t.Errorf("servers %s", got)
	}
	if got := between(e, money); got != "" {
		t.Errorf("an interval below the last digit shows as %q", got)
	}
}

// Under many conditions the tables by year show the one that matters most, and
// say so.
func TestManyConditionsAreShortened(t *testing.T) {
	sizes := "size: {s: {workloads.get.value_size: 32}, l: {workloads.get.value_size: 4K}"
	src := strings.Replace(economyPlan, sizes, sizes+", a: {workloads.get.value_size: 1}, b: {workloads.get.value_size: 2}, c: {workloads.get.value_size: 3}", 1)
	p := parsePlan(t, src+economyMoney)
	tables := economyOf(t, p, measure(p, 2, func(c record.Cell, _ int) (float64, float64) { return twice(c, 1) }), nil).Tables()
	if owned := tableNamed(t, tables, "money-ownership"); len(owned.Rows) != 2*5 {
		t.Errorf("%d rows of totals, want all conditions", len(owned.Rows))
	}
	years := tableNamed(t, tables, "money-years")
	if len(years.Rows) != 2*5 || years.Rows[0][1] != "size=s" || !strings.Contains(strings.Join(years.Notes, ""), "Of 5 conditions") {
		t.Errorf("%d rows by year, the first of %q; notes %q", len(years.Rows), years.Rows[0][1], years.Notes)
	}
}
