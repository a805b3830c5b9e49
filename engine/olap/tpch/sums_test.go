package tpch

import (
	"math/big"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"bakeoff/engine/olap/population"
)

func TestSumsAreReadBack(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := Sums{Rows: rapid.Int64Range(0, 1<<40).Draw(t, "rows")}
		for _, v := range rapid.SliceOf(rapid.Int64()).Draw(t, "columns") {
			s.Columns = append(s.Columns, big.NewInt(v))
		}
		got, err := ParseSums(s.String())
		if err != nil || !got.Equal(s) {
			t.Fatalf("%s became %s, %v", s, got, err)
		}
	})
}

// TestSumsOfPartsAdd: the sums of a table are those of its parts together.
func TestSumsOfPartsAdd(t *testing.T) {
	p, err := population.New(0.01, new(population.Text))
	if err != nil {
		t.Fatal(err)
	}
	of := func(first, count int64) Sums {
		sums := NewSumming(&Literals{})
		for s := p.Stream(population.Orders, first, count); s.Next(sums); {
		}
		return sums.Sums()
	}
	whole, parts := of(1, 1000), of(1, 300)
	parts.Add(of(301, 700))
	if !whole.Equal(parts) || whole.Rows != 1000 || len(whole.Columns) != len(Columns(population.Orders)) {
		t.Errorf("whole %s, parts %s", whole, parts)
	}
	if d := of(1, 999).Difference(population.Orders, whole); !strings.Contains(d, "999 rows, expected 1000") {
		t.Errorf("difference %q", d)
	}
	parts.Columns[3].Add(parts.Columns[3], big.NewInt(1))
	if d := parts.Difference(population.Orders, whole); !strings.Contains(d, "o_totalprice") {
		t.Errorf("difference %q", d)
	}
}

func TestSumsOfDrivers(t *testing.T) {
	got, err := ReadSums([]any{int64(2), []byte("123.00"), "45", nil, big.NewInt(7)})
	if err != nil || got.String() != "2 123 45 0 7" {
		t.Errorf("found %s, %v", got, err)
	}
	if _, err := ReadSums([]any{int64(2), "1.5"}); err == nil {
		t.Error("a sum of 1.5 was taken")
	}
}

func TestLiterals(t *testing.T) {
	l := &Literals{Dialect: Oracle}
	for range 2 {
		l.Int(-5)
		l.Decimal(-1234)
		l.Date(31)
		l.Text([]byte("x y"))
		l.End()
	}
	want := "(-5,-12.34,date '1992-02-01','x y')"
	if string(l.Buffer) != want+","+want {
		t.Errorf("found %s", l.Buffer)
	}
}

func FuzzParseSums(f *testing.F) {
	f.Add("5 1 2 3")
	f.Add("")
	f.Add("1.5 x")
	f.Fuzz(func(t *testing.T, text string) {
		s, err := ParseSums(text)
		if err != nil {
			return
		}
		if again, err := ParseSums(s.String()); err != nil || !again.Equal(s) {
			t.Errorf("%q became %s, %v", text, again, err)
		}
	})
}

// TestKnownAnswers compares single values of the published answers at scale factor 1
// (the Query Validation clauses) with the right answers here.
func TestKnownAnswers(t *testing.T) {
	for query, rows := range map[int][][]any{
		4:  {{"1-URGENT", 10594}, {"2-HIGH", 10476}, {"3-MEDIUM", 10410}, {"4-NOT SPECIFIED", 10556}, {"5-LOW", 10487}},
		5:  {{"INDONESIA", 55502041.17}, {"VIETNAM", 55295087.00}, {"CHINA", 53724494.26}, {"INDIA", 52035512.00}, {"JAPAN", 45410175.70}},
		6:  {{123141078.23}},
		12: {{"MAIL", 6202, 9324}, {"SHIP", 6200, 9262}},
		14: {{16.380778}},
		17: {{348406.05}},
		19: {{3083843.06}},
	} {
		a, err := answerOf(t, query, rows...)
		if err != nil {
			t.Fatal(err)
		}
		right, ok := Right(query, 1)
		if !ok {
			t.Fatalf("query %d: no right answer", query)
		}
		if err := a.Same(query, right); err != nil {
			t.Error(err)
		}
	}
	for _, scale := range KnownScales() {
		for q := 1; q <= Queries; q++ {
			if a, ok := Right(q, scale); !ok || a.Rows == 0 {
				t.Errorf("scale factor %g, query %d: %v", scale, q, a)
			}
		}
	}
	if _, ok := Right(1, 10); ok || Known(10) {
		t.Error("there is an answer for scale factor 10")
	}
}

func FuzzParseAnswer(f *testing.F) {
	f.Add("4:00000000000000ff:1.5:2")
	f.Add("x:y")
	f.Fuzz(func(t *testing.T, text string) {
		a, err := parseAnswer(text)
		if err != nil {
			return
		}
		if _, err := parseAnswer(a.String()); err != nil {
			t.Errorf("%q became %s: %v", text, a, err)
		}
	})
}
