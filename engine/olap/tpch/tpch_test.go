package tpch

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"bakeoff/engine/olap/population"
)

var update = flag.Bool("update", false, "write the golden files anew")

// TestParametersAreThoseOfTheSpecification compares with what the
// specification's query generator logs for some seeds, at scale factor 10.
func TestParametersAreThoseOfTheSpecification(t *testing.T) {
	golden, err := os.ReadFile("testdata/parameters.txt")
	if err != nil {
		t.Fatal(err)
	}
	n := 0
	for line := range strings.Lines(string(golden)) {
		var seed uint64
		var query int
		fields := strings.Split(strings.TrimSuffix(line, "\n"), "\t")
		if _, err := fmt.Sscan(fields[0]+" "+fields[1], &seed, &query); err != nil {
			t.Fatal(err)
		}
		if got := Substitution(seed, 10)[query-1]; !slices.Equal(got, fields[2:]) {
			t.Errorf("seed %d, query %d: %q, want %q", seed, query, got, fields[2:])
		}
		n++
	}
	if n != 4*Queries {
		t.Errorf("%d lines of parameters", n)
	}
}

// TestTextsAreGolden keeps the text of every query and table in every dialect.
func TestTextsAreGolden(t *testing.T) {
	for _, d := range Dialects() {
		var all strings.Builder
		for _, table := range population.Tables() {
			fmt.Fprintf(&all, "%s;\n\n", CreateTable(d, table))
			for _, s := range Indexes(d, table) {
				fmt.Fprintf(&all, "%s;\n\n", s)
			}
		}
		for q := 1; q <= Queries; q++ {
			text, err := Text(d, q, Validation(q, 1))
			if err != nil {
				t.Fatalf("%s: %v", d, err)
			}
			fmt.Fprintf(&all, "-- query %d\n%s;\n\n", q, text)
		}
		file := filepath.Join("testdata", string(d)+".sql")
		if *update {
			if err := os.WriteFile(file, []byte(all.String()), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		golden, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if string(golden) != all.String() {
			t.Errorf("%s differs from what the code makes; look at it, then write it anew with -update", file)
		}
	}
}

func TestTextNeedsItsParameters(t *testing.T) {
	if _, err := Text(SQLite, 16, []string{"Brand#45"}); err == nil || !strings.Contains(err.Error(), "found 1 parameters") {
		t.Errorf("too few parameters: %v", err)
	}
	if _, err := Text(SQLite, 23, nil); err == nil || !strings.Contains(err.Error(), "expected 1 to 22") {
		t.Errorf("query 23: %v", err)
	}
}

func TestOrderings(t *testing.T) {
	seen := map[[Queries]int]bool{}
	for stream := range Orderings {
		o := Order(stream)
		sorted := o
		slices.Sort(sorted[:])
		for i, q := range sorted {
			if q != i+1 {
				t.Fatalf("stream %d: %v is no permutation", stream, o)
			}
		}
		if seen[o] {
			t.Errorf("stream %d: its order was there before", stream)
		}
		seen[o] = true
	}
	if Order(Orderings) != Order(0) {
		t.Error("the orders do not begin again")
	}
}

func answerOf(t *testing.T, query int, rows ...[]any) (Answer, error) {
	t.Helper()
	r := NewReader(query)
	for _, row := range rows {
		if err := r.Row(row); err != nil {
			return Answer{}, err
		}
	}
	return r.Answer()
}

func TestAnswersOfDifferentDriversAreTheSame(t *testing.T) {
	right, err := answerOf(t, 18,
		[]any{"Customer#1", int64(1), int64(2), time.Date(1995, 3, 1, 0, 0, 0, 0, time.UTC), "555285.16", "303.00"},
		[]any{"Customer#2", int64(5), int64(6), "1995-03-04", "544089.09", "323.00"})
	if err != nil {
		t.Fatal(err)
	}
	same, err := answerOf(t, 18,
		[]any{[]byte("Customer#1  "), []byte("1"), []byte("2"), []byte("1995-03-01"), []byte("555285.16"), []byte("303")},
		[]any{"Customer#2", 5.0, 6.0, "1995-03-04T00:00:00Z", 544089.0900000001, 323.0000001})
	if err != nil {
		t.Fatal(err)
	}
	if err := same.Same(18, right); err != nil {
		t.Error(err)
	}
}

func TestWrongAnswersAreFound(t *testing.T) {
	row := func(name string, key, custkey any, date string, price, quantity any) []any {
		return []any{name, key, custkey, date, price, quantity}
	}
	good := [][]any{row("a", 1, 2, "1995-03-01", "9.00", "303.00"), row("b", 3, 4, "1995-03-01", "8.00", "301.00")}
	right, err := answerOf(t, 18, good...)
	if err != nil {
		t.Fatal(err)
	}
	for want, rows := range map[string][][]any{
		"1 rows, expected 2":       good[:1],
		"does not follow":          {good[1], good[0]},
		"has 5 columns":            {good[0][:5]},
		"a text, date, key":        {good[0], row("b", 3, 5, "1995-03-01", "8.00", "301.00")},
		"is off by a weighted":     {good[0], row("b", 3, 4, "1995-03-01", "8.00", "301.10")},
		"expected a whole number":  {row("a", 1.5, 2, "1995-03-01", "9.00", "303.00")},
		"expected a number":        {row("a", 1, 2, "1995-03-01", "nine", "303.00")},
		"expected a date":          {row("a", 1, 2, "never", "9.00", "303.00")},
		"of a row that is swapped": {row("a", 1, 2, "1995-03-01", "9.00", "301.00"), row("b", 3, 4, "1995-03-01", "8.00", "303.00")},
	} {
		a, err := answerOf(t, 18, rows...)
		if err == nil {
			err = a.Same(18, right)
		}
		if err == nil || want != "of a row that is swapped" && !strings.Contains(err.Error(), want) {
			t.Errorf("want an error with %q, found %v", want, err)
		}
	}
	if _, err := answerOf(t, 6); err == nil || !strings.Contains(err.Error(), "0 rows, expected 1 to 1") {
		t.Errorf("an empty answer: %v", err)
	}
	null, err := answerOf(t, 6, []any{nil})
	if err != nil {
		t.Fatal(err)
	}
	zero, err := answerOf(t, 6, []any{"0.00"})
	if err != nil {
		t.Fatal(err)
	}
	if null.Same(6, zero) == nil {
		t.Error("null passes for 0")
	}
}

// FuzzRow: no value that a driver may give makes the reader fall.
func FuzzRow(f *testing.F) {
	f.Add("a", 1.5, int64(3), []byte("1995-01-01"))
	f.Fuzz(func(t *testing.T, s string, x float64, n int64, b []byte) {
		for q := 1; q <= Queries; q++ {
			r := NewReader(q)
			values := make([]any, r.Columns())
			for i := range values {
				values[i] = []any{s, x, n, b, nil}[(i+len(s))%5]
			}
			for range 2 {
				_ = r.Row(values)
			}
			if a, err := r.Answer(); err == nil && a.Same(q, a) != nil {
				for _, v := range a.Sums {
					if v != v || v-v != 0 {
						return // too large to sum
					}
				}
				t.Errorf("query %d: an answer is not the same as itself", q)
			}
		}
	})
}
