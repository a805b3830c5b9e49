package tpcc

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"bakeoff/load/gen"
)

// table collects rows as text.
type table struct {
	rows [][]string
	row  []string
}

func (t *table) Int(v int64)      { t.row = append(t.row, fmt.Sprint(v)) }
func (t *table) Decimal(v int64)  { t.row = append(t.row, fmt.Sprint(v)) }
func (t *table) Text(b []byte)    { t.row = append(t.row, string(b)) }
func (t *table) Time(v time.Time) { t.row = append(t.row, v.Format(time.DateTime)) }
func (t *table) Null()            { t.row = append(t.row, "") }

func (t *table) EndRow() error {
	t.rows, t.row = append(t.rows, t.row), nil
	return nil
}

func generate(t *testing.T, d Data, id TableID, warehouse int) [][]string {
	t.Helper()
	var out table
	if err := d.Write(Chunk{id, warehouse}, &out); err != nil {
		t.Fatal(err)
	}
	return out.rows
}

// column finds a column among the names of all tables.
func column(tables [][]string, id TableID, name string) int { return slices.Index(tables[id], name) }

func names() (all [][]string) {
	for _, t := range Tables() {
		all = append(all, t.Names())
	}
	return all
}

// checkValue says whether a value fits its column.
func checkValue(c Column, v string) bool {
	switch c.Type {
	case Char:
		return len(v) == c.Size
	case Text:
		return len(v) > 0 && len(v) <= c.Size
	case Int, Small:
		return v != "" || c.Null
	case Decimal:
		return len(strings.TrimLeft(v, "-")) <= c.Size
	}
	return v != "" || c.Null
}

func TestEveryRowFitsItsTable(t *testing.T) {
	d := Data{Profile: Spec, Warehouses: 2, Seed: 7}
	for _, c := range d.Chunks() {
		if c.Warehouse == 1 {
			continue
		}
		rows := generate(t, d, c.Table, c.Warehouse)
		if n := int64(len(rows)); n != c.MeanRows() && c.Table != OrderLine || n < c.MeanRows()*98/100 || n > c.MeanRows()*102/100 {
			t.Errorf("%s has %d rows, want %d", c.Table, n, c.MeanRows())
		}
		columns := Tables()[c.Table].Columns
		for _, row := range rows {
			if len(row) != len(columns) {
				t.Fatalf("%s: %d values in %d columns", c.Table, len(row), len(columns))
			}
			for i, v := range row {
				if !checkValue(columns[i], v) {
					t.Fatalf("%s.%s: %q does not fit", c.Table, columns[i].Name, v)
				}
			}
		}
		if key := Tables()[c.Table].Key; len(key) > 0 && c.Table != OrderLine && c.Table != Stock {
			uniqueKeys(t, c.Table, key, rows)
		}
	}
}

func uniqueKeys(t *testing.T, id TableID, key []string, rows [][]string) {
	t.Helper()
	seen, all := map[string]bool{}, names()
	for _, row := range rows {
		var k []string
		for _, name := range key {
			k = append(k, row[column(all, id, name)])
		}
		if at := strings.Join(k, " "); seen[at] {
			t.Fatalf("%s: key %s is there twice", id, at)
		} else {
			seen[at] = true
		}
	}
}

func TestOrdersAndTheirLinesAgree(t *testing.T) {
	d := Data{Profile: Spec, Warehouses: 1, Seed: 3}
	lines, all := map[string]int{}, names()
	for _, row := range generate(t, d, OrderLine, 1) {
		order := row[column(all, OrderLine, "ol_d_id")] + "/" + row[column(all, OrderLine, "ol_o_id")]
		lines[order]++
		delivered := row[column(all, OrderLine, "ol_delivery_d")] != ""
		if amount := row[column(all, OrderLine, "ol_amount")]; delivered != (amount == "0") {
			t.Fatalf("order %s: delivered %t, with an amount of %s", order, delivered, amount)
		}
	}
	customers := map[string]bool{}
	for _, row := range generate(t, d, Orders, 1) {
		order := row[column(all, Orders, "o_d_id")] + "/" + row[column(all, Orders, "o_id")]
		if want := row[column(all, Orders, "o_ol_cnt")]; fmt.Sprint(lines[order]) != want {
			t.Fatalf("order %s has %d lines, o_ol_cnt is %s", order, lines[order], want)
		}
		customers[row[column(all, Orders, "o_d_id")]+"/"+row[column(all, Orders, "o_c_id")]] = true
	}
	if len(customers) != Districts*Customers {
		t.Errorf("%d customers have an order, want each of %d", len(customers), Districts*Customers)
	}
}

func share(rows [][]string, f func([]string) bool) float64 {
	n := 0
	for _, r := range rows {
		if f(r) {
			n++
		}
	}
	return float64(n) / float64(len(rows))
}

func TestSharesOfTheData(t *testing.T) {
	all := names()
	for _, c := range []struct {
		profile Profile
		bad     float64
	}{{HammerDB, 0.5}, {Spec, 0.1}} {
		d := Data{Profile: c.profile, Warehouses: 1, Seed: 11}
		customers := generate(t, d, Customer, 1)
		if got := share(customers, func(r []string) bool { return r[column(all, Customer, "c_credit")] == "BC" }); got < c.bad-0.01 || got > c.bad+0.01 {
			t.Errorf("%s: %.3f of the customers have bad credit, want %.2f", c.profile, got, c.bad)
		}
		items := generate(t, d, Item, 0)
		if got := share(items, func(r []string) bool { return strings.Contains(r[column(all, Item, "i_data")], "ORIGINAL") }); got < 0.095 || got > 0.105 {
			t.Errorf("%s: %.3f of the items are original, want 0.1", c.profile, got)
		}
		for i, r := range customers[:1000] {
			if want := LastName(i); r[column(all, Customer, "c_last")] != want {
				t.Fatalf("customer %d is called %s, want %s", i+1, r[column(all, Customer, "c_last")], want)
			}
		}
	}
	if got := LastName(371); got != "PRICALLYOUGHT" { // clause 4.3.2.3
		t.Errorf("371 is %s, want PRICALLYOUGHT", got)
	}
}

func TestTheSameSeedIsTheSameDataInAnyOrder(t *testing.T) {
	sum := func(seed uint64, chunks []Chunk) string {
		d := Data{Profile: HammerDB, Warehouses: 2, Seed: seed, Tally: new(Tally)}
		for _, c := range chunks {
			if err := d.Write(c, Nowhere{}); err != nil {
				t.Fatal(err)
			}
		}
		return d.Tally.Fingerprint("x")
	}
	chunks := Data{Warehouses: 2}.Chunks()
	forward := sum(1, chunks)
	slices.Reverse(chunks)
	if backward := sum(1, chunks); backward != forward {
		t.Error("the order of the chunks changes the data")
	}
	if other := sum(2, chunks); other == forward {
		t.Error("another seed gives the same data")
	}
}

// text does not compress: every pair of letters is about as frequent as any other.
func TestLettersAreEven(t *testing.T) {
	b := make([]byte, 62*62*50)
	newLetters().fill(b, gen.NewRand(1, gen.Stream{}))
	counts := map[byte]int{}
	for _, c := range b {
		counts[c]++
	}
	if len(counts) != 62 {
		t.Errorf("%d different letters and digits, want 62", len(counts))
	}
	for c, n := range counts {
		if mean := len(b) / 64; n < mean*9/10 || n > 2*mean*11/10 {
			t.Errorf("%q comes %d times, want %d, or twice that for two of them", c, n, mean)
		}
	}
	odd := make([]byte, 3)
	newLetters().fill(odd, gen.NewRand(1, gen.Stream{}))
	if slices.Contains(odd, 0) {
		t.Errorf("%q is not filled", odd)
	}
}

func TestReadSumsOfWhatIsWritten(t *testing.T) {
	d := Data{Profile: Spec, Warehouses: 1, Seed: 1, Tally: new(Tally)}
	var out table
	if err := d.Write(Chunk{District, 1}, &out); err != nil {
		t.Fatal(err)
	}
	s := d.Tally.Sums(District)
	if s.Rows != Districts {
		t.Errorf("%d rows, want %d", s.Rows, Districts)
	}
	row := []string{"10", "55", "10", fmt.Sprintf("0.%04d", s.Columns[2]), "300000.00", "30010"}
	if s.Columns[2] >= 10_000 {
		row[3] = fmt.Sprintf("%d.%04d", s.Columns[2]/10_000, s.Columns[2]%10_000)
	}
	got, err := Tables()[District].ReadSums(row)
	if err != nil || fmt.Sprint(got) != fmt.Sprint(s) {
		t.Errorf("read %v, %v; want %v", got, err, s)
	}
	if want := "SELECT COUNT(*), SUM(d_id), SUM(d_w_id), SUM(d_tax), SUM(d_ytd), SUM(d_next_o_id) FROM district"; Tables()[District].SumQuery() != want {
		t.Errorf("found %s\nwant  %s", Tables()[District].SumQuery(), want)
	}
	for _, bad := range [][]string{{"1"}, {"x", "1", "1", "1", "1", "1"}, {"1", "a", "1", "1", "1", "1"}} {
		if _, err := Tables()[District].ReadSums(bad); err == nil {
			t.Errorf("%q is taken", bad)
		}
	}
}

func TestParseScaled(t *testing.T) {
	for text, want := range map[string]int64{
		"": 0, "5": 500, "-10.00": -1000, "0.1": 10, "299999.999999996": 30000000, "3e5": 30000000, "-0.05": -5, "1.004": 100,
	} {
		if got, err := ParseScaled(text, 2); err != nil || got != want {
			t.Errorf("%q: found %d, %v; want %d", text, got, err, want)
		}
	}
	for _, bad := range []string{"x", "1.2.3", "NaN", "1e40"} {
		if got, err := ParseScaled(bad, 2); err == nil {
			t.Errorf("%q is taken as %d", bad, got)
		}
	}
	rapid.Check(t, func(t *rapid.T) {
		v, scale := rapid.Int64Range(-1<<53, 1<<53).Draw(t, "v"), rapid.IntRange(0, 4).Draw(t, "scale")
		ten := int64(1)
		for range scale {
			ten *= 10
		}
		text, sign := fmt.Sprint(v), ""
		if scale > 0 {
			if v < 0 {
				sign = "-"
			}
			text = fmt.Sprintf("%s%d.%0*d", sign, abs(v)/ten, scale, abs(v)%ten)
		}
		if got, err := ParseScaled(text, scale); err != nil || got != v {
			t.Fatalf("%q: found %d, %v; want %d", text, got, err, v)
		}
	})
}

func abs(v int64) int64 {
	if v < 0 {
		return -v
	}
	return v
}

func TestConditionsOfEachProfile(t *testing.T) {
	count := func(p Profile, initial bool) (n int) {
		for _, c := range Conditions() {
			if c.Applies(p, initial) {
				n++
			}
		}
		return n
	}
	if got := []int{count(Spec, true), count(Spec, false), count(HammerDB, true), count(HammerDB, false)}; !slices.Equal(got, []int{12, 11, 11, 10}) {
		t.Errorf("conditions that apply: %v", got)
	}
}

func TestTablesAreAtTheirIDs(t *testing.T) {
	for i, table := range Tables() {
		if table.ID != TableID(i) || table.ID.String() != table.Name {
			t.Errorf("table %d is %d, %s, called %s", i, table.ID, table.Name, table.ID)
		}
	}
}
