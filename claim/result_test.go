package claim

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"bakeoff/analysis"
	"bakeoff/record"
)

func resultOf(t *testing.T, name string) *analysis.Result {
	t.Helper()
	figures, _ := published(t, name)
	r, err := figures.Result()
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func tableOf(t *testing.T, r *analysis.Result, id string) analysis.Table {
	t.Helper()
	i := slices.IndexFunc(r.Tables, func(t analysis.Table) bool { return t.ID == id })
	if i < 0 {
		t.Fatalf("no table %q", id)
	}
	return r.Tables[i]
}

// cell finds the cell of a table's column in the row that begins with the cells.
func cell(t *testing.T, table analysis.Table, column string, begins ...string) string {
	t.Helper()
	at := slices.Index(table.Columns, column)
	i := slices.IndexFunc(table.Rows, func(r []string) bool { return len(r) >= len(begins) && slices.Equal(r[:len(begins)], begins) })
	if at < 0 || i < 0 {
		t.Fatalf("%s has no column %q or no row %q; columns %q", table.ID, column, begins, table.Columns)
	}
	return table.Rows[i][at]
}

// TestImprovementsOfIPv6AndOffload holds the six tables of improvements that the
// report on IPv6 prints: each as it follows, rounded. Where the report cut the
// last digit, the audit says so.
func TestImprovementsOfIPv6AndOffload(t *testing.T) {
	r := resultOf(t, "a3-ipv6-offload")
	type row struct{ block, throughput, cpu string }
	for table, rows := range map[string][]row{
		"ip-4-6-load-write-offload-off":  {{"256K", "0.64", "0.00"}, {"64K", "0.31", "1.52"}},
		"ip-4-6-load-read-offload-off":   {{"256K", "13.83", "3.55"}, {"64K", "9.83", "10.07"}},
		"offload-off-on-load-write-ip-6": {{"256K", "-1.56", "59.18"}, {"64K", "-0.22", "47.69"}},
		"offload-off-on-load-read-ip-6":  {{"256K", "58.15", "38.97"}, {"64K", "25.44", "41.60"}},
		"offload-off-on-load-write-ip-4": {{"256K", "-1.15", "59.18"}, {"64K", "-0.39", "45.45"}},
		"offload-off-on-load-read-ip-4":  {{"256K", "77.90", "42.55"}, {"64K", "38.73", "46.76"}},
	} {
		got := tableOf(t, r, "improvements-measured-"+table)
		for _, want := range rows {
			if v := cell(t, got, "Throughput, improvement", want.block); v != want.throughput+" %" {
				t.Errorf("%s, %s: throughput improves by %s, want %s %%", table, want.block, v, want.throughput)
			}
			if v := cell(t, got, "CPU utilisation, improvement", want.block); v != want.cpu+" %" {
				t.Errorf("%s, %s: CPU improves by %s, want %s %%", table, want.block, v, want.cpu)
			}
		}
	}
	cut := map[string]string{}
	_, audit := published(t, "a3-ipv6-offload")
	for _, o := range audit.Outcomes {
		if o.Verdict == OnlyCut && o.Printed != "" {
			cut[o.ID] = o.Printed
		}
	}
	want := map[string]string{"ipv6-write-64k-cpu": "1.51 %", "ipv6-read-256k-cpu": "3.54 %", "offload-v6-write-64k-throughput": "-0.21 %",
		"offload-v6-read-64k-throughput": "25.43 %", "offload-v4-write-64k-throughput": "-0.38 %"}
	if fmt.Sprint(cut) != fmt.Sprint(want) {
		t.Errorf("cut are %v, want %v", cut, want)
	}
}

// The comparisons themselves say the same as the tables, with the interval that
// the digits leave and without a verdict.
func TestPrintedFindings(t *testing.T) {
	r := resultOf(t, "a3-ipv6-offload")
	if !r.Printed || len(r.Findings) != 3*2*8 || len(r.Cells) != 3*16 || len(r.Charts) < 3 {
		t.Errorf("printed %v, %d findings, %d cells, %d charts", r.Printed, len(r.Findings), len(r.Cells), len(r.Charts))
	}
	i := slices.IndexFunc(r.Findings, func(f analysis.Finding) bool {
		return f.Measure == "Throughput" && f.Factor == "ip" && f.Where.Key() == "load=read, offload=off, block=256K"
	})
	f := r.Findings[i]
	if f.Verdict != analysis.Descriptive || f.Level != 1 || fmt.Sprintf("%.2f", *f.ImprovementPercent) != "13.83" || f.BaseValue == 0 || !(f.Low < f.Effect && f.Effect < f.High) {
		t.Errorf("%+v", f)
	}
	if wide := f.High - f.Low; wide > 1e-5 {
		t.Errorf("two figures with six digits leave %g open", wide)
	}
	if c := r.Cells[0]; c.Low >= c.Center || c.High <= c.Center {
		t.Errorf("the digits of %+v leave nothing open", c)
	}
	for _, c := range r.Charts {
		if strings.Contains(c.Caption+c.Alt, "trial") || strings.Contains(c.Caption, "blocks") {
			t.Errorf("chart %s speaks of trials: %s %s", c.ID, c.Caption, c.Alt)
		}
	}
	if !strings.Contains(r.Answer, "Of 26 printed conclusions 26 follow") {
		t.Errorf("answer %q", r.Answer)
	}
}

// TestMoneyOfThreeGenerations works out, to the cent, what the report on three
// generations of servers prints, and the whole servers that it cut off.
func TestMoneyOfThreeGenerations(t *testing.T) {
	r := resultOf(t, "a1-redis-three-generations")
	same := tableOf(t, r, "money-same-work")
	for _, tt := range []struct{ work, system, column, want string }{
		{"10 R760", "R760", "price of the fraction (USD)", "318,236.20"},
		{"500 R760", "R760", "price of the fraction (USD)", "15,911,810.00"},
		{"1,147 R740", "R740", "price of the fraction (USD)", "42,319,539.95"},
		{"10 R760", "R740", "price of the fraction (USD)", "847,046.62"},
		{"10 R760", "R750", "price of the fraction (USD)", "399,181.54"},
		{"500 R760", "R740", "servers needed", "1,147.89"},
		{"500 R760", "R750", "servers needed", "653.07"},
		{"500 R760", "R740", "whole", "1,148"},
		{"500 R760", "R750", "whole", "654"},
		{"500 R760", "R740", "safe", "1,148"},
	} {
		if got := cell(t, same, tt.column, tt.work, tt.system); got != tt.want {
			t.Errorf("%s in %s: %s is %s, want %s", tt.work, tt.system, tt.column, got, tt.want)
		}
	}
	if got := cell(t, tableOf(t, r, "energy-same-work"), "against what does it now", "1,147 R740", "R760"); got != "-19.5 %" {
		t.Errorf("the power of 500 R760 against 1,147 R740: %s, want -19.5 %%", got)
	}
	years := tableOf(t, r, "money-years")
	if got := cell(t, years, "operations (USD)", "keep 1,147 R740", "1"); got != "25,820,117.00" { // 1,147 x 22,511
		t.Errorf("operations of the old in their fourth year cost %s", got)
	}
	if got := cell(t, years, "operations (USD)", "buy 500 R760", "3"); got != "3,770,500.00" { // 500 x 7,541
		t.Errorf("operations of the new in their third year cost %s", got)
	}
	owned := tableOf(t, r, "money-ownership")
	if got := cell(t, owned, "break-even (years)", "buy 500 R760"); got != "0.72" {
		t.Errorf("break-even after %s years", got)
	}
	if got := cell(t, owned, "energy a year (USD)", "buy 653 R750"); got != "" || !slices.ContainsFunc(owned.Notes, func(n string) bool { return strings.Contains(n, "No energy of R750") }) {
		t.Errorf("energy of a server whose power is not printed: %q; notes %q", got, owned.Notes)
	}
	flips := tableOf(t, r, "money-sensitivity")
	if got := cell(t, flips, "turns at", "buy 500 R760", "price of R760"); got != "132,932.52" {
		t.Errorf("the answer turns at a price of %s", got)
	}
}

// TestConsolidationOfFourToThree works out the report on two clusters.
func TestConsolidationOfFourToThree(t *testing.T) {
	table := tableOf(t, resultOf(t, "a2-mysql-consolidation"), "consolidation-servers")
	for column, want := range map[string]string{"N : M": "4 : 3", "spare work": "721,231", "servers needed": "2.78", "unit of the work": "TPM"} {
		if got := cell(t, table, column, "4 legacy", "modern"); got != want {
			t.Errorf("%s is %s, want %s", column, got, want)
		}
	}
}

// Every published report comes out as a report of bakeoff's own.
func TestPublishedReportsHaveResults(t *testing.T) {
	for _, name := range publishedNames(t) {
		r := resultOf(t, name)
		if !r.Printed || r.Title == "" || r.Answer == "" || len(r.Method) == 0 || len(r.Tables) == 0 {
			t.Errorf("%s: title %q, answer %q, %d tables", name, r.Title, r.Answer, len(r.Tables))
		}
		seen := map[string]bool{}
		for _, table := range r.Tables {
			if seen[table.ID] || len(table.Columns) != len(table.Numeric) || len(table.Rows) == 0 {
				t.Errorf("%s: table %q is there twice, ragged or empty", name, table.ID)
			}
			seen[table.ID] = true
			for _, row := range table.Rows {
				if len(row) != len(table.Columns) {
					t.Errorf("%s: %s: a row of %d cells under %d columns", name, table.ID, len(row), len(table.Columns))
				}
			}
		}
	}
	differs := resultOf(t, "b2-oracle-fc-generations").Differs
	if len(differs) != 3 || !slices.ContainsFunc(differs, func(d analysis.FactDiff) bool { return d.Declared }) {
		t.Errorf("disclosed differences %+v", differs)
	}
}

// An observation keeps its value, what its digits leave open, and its text.
func TestObservations(t *testing.T) {
	figures, _ := published(t, "c3-mysql-pcie-generations")
	var found bool
	for _, o := range figures.Observations(figures.Tables[0]) {
		if o.Text != "0.01" {
			continue
		}
		found = true
		if o.Value != 0.01 || o.HalfWidth == nil || *o.HalfWidth != 0.005 || o.Unit != "ms" || o.Better != record.LowerIsBetter || o.Cell.Key() != "server=MX750" || o.Block != 0 || o.Trial != "" {
			t.Errorf("%+v", o)
		}
	}
	if !found {
		t.Error("0.01 ms was not observed")
	}
}

func TestEconomicsFaultsAreNamed(t *testing.T) {
	src, err := os.ReadFile("../examples/published/a1-redis-three-generations.yaml")
	if err != nil {
		t.Fatal(err)
	}
	for name, tt := range map[string]struct{ old, new, want string }{
		"factor":         {"factor: system\n", "factor: sistem\n", `no table has a factor "sistem"`},
		"unknown key":    {"  work: Throughput\n", "  works: Throughput\n", "works"},
		"expression":     {`work: "throughput[system=R760]",`, `work: "throughput[",`, "R760: work"},
		"hosts":          {`power: "power[system=R760]"}`, `power: "power[system=R760]", hosts: -1}`, "expected 1 or more"},
		"unknown figure": {`power: "power[system=R760]"}`, `power: "powr[system=R760]"}`, `no figure is named "powr"`},
		"unit":           {`power: "power[system=R760]"}`, `power: "price[system=R760]"}`, "power"},
		"money key":      {"    years: 3\n", "    year: 3\n", "did you mean years?"},
		"money fleet":    {"{system: R740}, servers: 1147", "{system: R74}, servers: 1147", "did you mean R740?"},
		"tariff":         {"0.12 USD/kWh ", "0.12 USD ", "0.12 USD/kWh"},
	} {
		t.Run(name, func(t *testing.T) {
			changed := strings.Replace(string(src), tt.old, tt.new, 1)
			if changed == string(src) {
				t.Fatalf("%q is not in the file", tt.old)
			}
			f, err := Read("f.yaml", []byte(changed))
			if err == nil {
				_, err = f.Economy()
			}
			if err == nil || !strings.Contains(err.Error(), tt.want) || !strings.Contains(err.Error(), "f.yaml:") {
				t.Errorf("got %v, want %q with its line", err, tt.want)
			}
		})
	}
	f, err := Read("f.yaml", []byte("title: T\n"))
	if e, economyErr := f.Economy(); err != nil || economyErr != nil || e != nil {
		t.Errorf("a file without economics has %v (%v)", e, errors.Join(err, economyErr))
	}
}
