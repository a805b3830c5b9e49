package quantity

import (
	"math"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

func plain(s string) string { return strings.ReplaceAll(s, Space, " ") }

func TestSignificant(t *testing.T) {
	for _, c := range []struct {
		v      float64
		unit   string
		digits int
		want   string
	}{
		{1204300, "ops/s", 4, "1.204 M ops/s"},
		{0.000183, "s", 3, "183 µs"},
		{32768, "B", 3, "32.0 KiB"},
		{1.25e9, "B/s", 4, "1.250 GB/s"},
		{831, "W", 4, "831.0 W"},
		{7200, "s", 4, "7200 s"},
		{42.5, "%", 3, "42.5 %"},
		{0.5, "1", 2, "0.50"},
		{1200, "1", 2, "1.2 k"},
		{0, "s", 4, "0 s"},
		{-1500, "ops/s", 2, "−1.5 k ops/s"},
		{2.31, "CPU s/M ops", 3, "2.31 CPU s/M ops"},
		{2310, "CPU s/M ops", 3, "2310 CPU s/M ops"},
		{4996.95, "MiB/s", 6, "4996.95 MiB/s"},
		{3224726, "TPM", 4, "3.225 M TPM"},
		{12000, "GB", 3, "12000 GB"},
		{math.NaN(), "s", 3, "–"},
	} {
		if got := plain(Significant(c.v, c.unit, c.digits)); got != c.want {
			t.Errorf("%v %s: %q, want %q", c.v, c.unit, got, c.want)
		}
	}
}

func TestForMostSuitsTheMiddle(t *testing.T) {
	if s := ForMost("ops/J", 583, 559, 490, 1015); s.Factor != 1 {
		t.Errorf("one large value sets the scale: %+v", s)
	}
	if s := For("ops/J", 583, 559, 490, 1015); s.Factor != 1000 {
		t.Errorf("%+v", s)
	}
	if s := ForMost("s"); s.Factor != 1 || s.Unit != "s" {
		t.Errorf("no values: %+v", s)
	}
}

func TestChange(t *testing.T) {
	for ratio, want := range map[float64]string{1.082: "8.2 % higher", 0.907: "9.3 % lower", 1: "0 %"} {
		d := 1
		if ratio == 1 {
			d = 0
		}
		if got := plain(Change(ratio, d)); got != want {
			t.Errorf("%v: %q, want %q", ratio, got, want)
		}
	}
	for _, c := range []struct {
		low, high float64
		want      string
	}{
		{1.061, 1.103, "6.1 to 10.3 % higher"}, {0.89, 0.925, "7.5 to 11.0 % lower"}, {0.979, 1.014, "2.1 % lower to 1.4 % higher"}, {math.NaN(), 1, "–"},
	} {
		if got := plain(ChangeRange(c.low, c.high, 1)); got != c.want {
			t.Errorf("%v to %v: %q, want %q", c.low, c.high, got, c.want)
		}
	}
}

func TestDecimals(t *testing.T) {
	for _, c := range []struct {
		v, low, high float64
		want         int
	}{
		{1.082, 1.061, 1.103, 3}, {0.783, 0.771, 0.795, 3}, {1.00012, 1.0001, 1.00014, 6}, {22.9, 20, 26, 2}, {1.5, math.NaN(), math.NaN(), 3}, {1.5, 0.1, math.Inf(1), 3},
	} {
		if got := RatioDecimals(c.v, c.low, c.high); got != c.want {
			t.Errorf("%v [%v, %v]: %d decimals, want %d", c.v, c.low, c.high, got, c.want)
		}
	}
	if got := ChangeDecimals(1.001, 0.986, 1.016); got != 1 {
		t.Errorf("a change of 0.1 ± 1.5 %% has %d decimals", got)
	}
}

// A value is printed within half of its last digit.
func TestNumberIsTrue(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		v := rapid.Float64Range(1e-9, 1e12).Draw(t, "v")
		unit := rapid.SampledFrom([]string{"s", "B", "B/s", "ops/s", "W", "1", "%"}).Draw(t, "unit")
		s := For(unit, v)
		if v/s.Factor >= 1e9 {
			return
		}
		d := s.Decimals(v, 4)
		text := s.Number(v, d)
		var got float64
		for i, part := range strings.SplitN(text, ".", 2) {
			for k, c := range part {
				if i == 0 {
					got = got*10 + float64(c-'0')
				} else {
					got += float64(c-'0') * math.Pow10(-k-1)
				}
			}
		}
		if math.Abs(got-v/s.Factor) > 0.5001*math.Pow10(-d)+1e-9*got {
			t.Fatalf("%v %s is printed as %s %s", v, unit, text, s.Unit)
		}
	})
}

func TestExact(t *testing.T) {
	s := Scale{Factor: 1}
	for _, c := range []struct {
		values []float64
		want   int
	}{{[]float64{0, 5, 10}, 0}, {[]float64{0.95, 1, 1.05}, 2}, {[]float64{99.9}, 1}, {nil, 0}} {
		if got := s.Exact(c.values...); got != c.want {
			t.Errorf("%v: %d, want %d", c.values, got, c.want)
		}
	}
}

// A bound far below the other keeps its digits: it is not zero.
func TestIntervalKeepsDigits(t *testing.T) {
	cases := []struct {
		low, high float64
		decimals  int
		want      string
	}{
		{0.00012, 1236, 3, "[0.00012, 1236]"},
		{1.2e-12, 1236, 3, "[1.2e−12, 1236]"},
		{0.0149, 6.1, 3, "[0.015, 6.100]"},
		{0.897, 0.942, 3, "[0.897, 0.942]"},
		{0, 0.5, 3, "[0, 0.500]"},
		{-0.0001, 0.0003, 4, "[−0.0001, 0.0003]"},
	}
	for _, c := range cases {
		if got := (Scale{Factor: 1}).Interval(c.low, c.high, c.decimals); got != c.want {
			t.Errorf("[%g, %g] with %d decimals is written %s, want %s", c.low, c.high, c.decimals, got, c.want)
		}
	}
}

func TestMoneyIsWrittenInFull(t *testing.T) {
	for v, want := range map[float64]string{31823.62: "31,823.62", -1234567: "−1,234,567.00", 999.5: "999.50", 0: "0"} {
		s := For("USD", v)
		if got := s.With(v, 2); got != want+Space+"USD" {
			t.Errorf("%v USD is written %q", v, got)
		}
	}
	if s := For("TPM", 3e6); s.Unit != "M"+Space+"TPM" {
		t.Errorf("transactions a minute are scaled to %q", s.Unit)
	}
}

func TestPrintedDigits(t *testing.T) {
	for _, c := range []struct {
		unit     string
		v, width float64
		want     string
	}{{"W", 410, 1, "410"}, {"W", 450, 0.1, "450.0"}, {"USD", 31823.62, 0.01, "31,823.62"}, {"TPM", 720672, 1, "720.672"}, {"Gb/s", 25, 0, "25"}, {"W", 0.5, 0.1, "500"}, {"ops/s", 64282530, 100, "64.2825"}} {
		s := For(c.unit, c.v)
		if got := s.Number(c.v, s.Printed(c.v, c.width)); got != c.want {
			t.Errorf("%v %s open by %v is written %q, want %q", c.v, c.unit, c.width, got, c.want)
		}
	}
}
