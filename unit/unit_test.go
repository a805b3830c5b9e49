package unit

import (
	"errors"
	"go/ast"
	"go/parser"
	"go/token"
	"go/types"
	"math"
	"math/big"
	"os"
	"strconv"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"
)

func TestParseSize(t *testing.T) {
	good := map[string]int64{
		"0": 0, "32": 32, "32B": 32, "4K": 4096, "4k": 4096, "4KiB": 4096, "4 KiB": 4096, "4KB": 4000, "4kB": 4000,
		"1M": 1 << 20, "1.5M": 3 << 19, "1MiB": 1 << 20, "1MB": 1e6, "2G": 2 << 30, "2GiB": 2 << 30, "2GB": 2e9,
		"1T": 1 << 40, "1TiB": 1 << 40, "1TB": 1e12, "0.5K": 512, "9223372036854775807": math.MaxInt64,
	}
	for text, want := range good {
		if got, err := ParseSize(text); err != nil || got != want {
			t.Errorf("ParseSize(%q) = %d, %v; want %d", text, got, err, want)
		}
	}
	for _, text := range []string{"", "K", "-1", "+1", "4Kb", "4Mb", "1e3", "0x10", "010", "1,000", "1_000", ".5K", "1.", "1..5K", "4  K", "4K ", " 4K",
		"0.3", "1.1K", "8388608T", "4Ki", "4KIB", "4 bytes", "Infinity", strings.Repeat("9", 100)} {
		got, err := ParseSize(text)
		checkSyntax(t, "ParseSize", text, got, err)
	}
	_, err := ParseSize("4Mb")
	if !strings.Contains(err.Error(), "small b means bits") {
		t.Errorf("4Mb: the error should tell bits from bytes: %v", err)
	}
}

// checkSyntax fails unless err is a SyntaxError that quotes the text.
func checkSyntax(t *testing.T, function, text string, got any, err error) {
	t.Helper()
	var syntax *SyntaxError
	if !errors.As(err, &syntax) || syntax.Found != text || syntax.Expected == "" || !strings.Contains(err.Error(), "expected") {
		t.Errorf("%s(%q) = %v, %v; want a SyntaxError that says what was expected", function, text, got, err)
	}
}

func TestParseCount(t *testing.T) {
	good := map[string]int64{"0": 0, "250": 250, "100k": 1e5, "100K": 1e5, "1.5M": 15e5, "2G": 2e9, "1T": 1e12, "1.5k": 1500}
	for text, want := range good {
		if got, err := ParseCount(text); err != nil || got != want {
			t.Errorf("ParseCount(%q) = %d, %v; want %d", text, got, err, want)
		}
	}
	for _, text := range []string{"", "1.5", "100ki", "1m", "-5", "010", "1e6", "100,000", "0.0001k", "9223372036854775808"} {
		got, err := ParseCount(text)
		checkSyntax(t, "ParseCount", text, got, err)
	}
}

func TestParseRate(t *testing.T) {
	good := map[string]float64{"500": 500, "30k": 30e3, "1.5M": 1.5e6, "30k/s": 30e3, "0.5": 0.5, "30 k/s": 30e3, "7/s": 7}
	for text, want := range good {
		if got, err := ParseRate(text); err != nil || got != want {
			t.Errorf("ParseRate(%q) = %g, %v; want %g", text, got, err, want)
		}
	}
	for _, text := range []string{"", "/s", "30kps", "30k/min", "-1", "fast", "1e9", "NaN"} {
		got, err := ParseRate(text)
		checkSyntax(t, "ParseRate", text, got, err)
	}
}

func TestParseBitRate(t *testing.T) {
	good := map[string]float64{"500": 500, "30k": 30e3, "1.5M": 1.5e6, "1G": 1e9, "1Gbit/s": 1e9, "1 Gbit/s": 1e9, "100Mbps": 1e8, "8 bit/s": 8, "8bps": 8}
	for text, want := range good {
		if got, err := ParseBitRate(text); err != nil || got != want {
			t.Errorf("ParseBitRate(%q) = %g, %v; want %g", text, got, err, want)
		}
	}
	for _, text := range []string{"", "bps", "1GB/s", "1Gbit", "1G/s", "30k/min", "-1", "fast", "1e9", "NaN", "1Gbit/sbps"} {
		got, err := ParseBitRate(text)
		checkSyntax(t, "ParseBitRate", text, got, err)
	}
}

func TestParsePercent(t *testing.T) {
	good := map[string]float64{"2%": 0.02, "0.5%": 0.005, "100 %": 1, "0%": 0, "2.5%": 0.025}
	for text, want := range good {
		if got, err := ParsePercent(text); err != nil || got != want {
			t.Errorf("ParsePercent(%q) = %g, %v; want %g", text, got, err, want)
		}
	}
	for _, text := range []string{"", "2", "0.02", "%", "-2%", "2%%", "2 percent", "two%"} {
		got, err := ParsePercent(text)
		checkSyntax(t, "ParsePercent", text, got, err)
	}
}

func TestParseDuration(t *testing.T) {
	good := map[string]time.Duration{
		"0": 0, "0s": 0, "30s": 30 * time.Second, "2m30s": 150 * time.Second, "1d": 24 * time.Hour, "1d12h": 36 * time.Hour, "1.5ms": 1500 * time.Microsecond,
		"200us": 200 * time.Microsecond, "200µs": 200 * time.Microsecond, "200μs": 200 * time.Microsecond, "7ns": 7, "0.5d": 12 * time.Hour,
	}
	for text, want := range good {
		if got, err := ParseDuration(text); err != nil || got != want {
			t.Errorf("ParseDuration(%q) = %v, %v; want %v", text, got, err, want)
		}
	}
	for _, text := range []string{"", "30", "s", "30 s", "-1s", "30sec", "5min", "1w", "0.5ns", "1m30", "1m 30s", "292001d", "1e3s", ".5s"} {
		got, err := ParseDuration(text)
		checkSyntax(t, "ParseDuration", text, got, err)
	}
	_, err := ParseDuration("30")
	if !strings.Contains(err.Error(), "30s") {
		t.Errorf("a bare number should be told how to be written: %v", err)
	}
}

// Every duration that Go prints is read back as itself.
func TestParseDurationReadsGoDurations(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		want := time.Duration(rapid.Int64Range(0, math.MaxInt64).Draw(t, "ns"))
		if got, err := ParseDuration(want.String()); err != nil || got != want {
			t.Fatalf("ParseDuration(%q) = %v, %v", want.String(), got, err)
		}
	})
}

func TestFormatSizeRoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		want := rapid.Int64Range(0, math.MaxInt64).Draw(t, "bytes")
		if shift := rapid.IntRange(0, 40).Draw(t, "shift"); rapid.Bool().Draw(t, "round") {
			want = want >> shift << shift
		}
		if got, err := ParseSize(FormatSize(want)); err != nil || got != want {
			t.Fatalf("ParseSize(FormatSize(%d) = %q) = %d, %v", want, FormatSize(want), got, err)
		}
	})
	for n, want := range map[int64]string{0: "0B", 100: "100B", 4096: "4KiB", 1e6: "1MB", 1 << 30: "1GiB", 1000: "1KB"} {
		if got := FormatSize(n); got != want {
			t.Errorf("FormatSize(%d) = %q, want %q", n, got, want)
		}
	}
}

func TestParseMoney(t *testing.T) {
	good := map[string]string{"31823.62 USD": "31823.62 USD", "31,823.62 USD": "31823.62 USD", "0.1 EUR": "0.10 EUR", "7541 USD": "7541.00 USD", "1,000 JPY": "1000.00 JPY", "0.125 USD": "0.125 USD"}
	for text, want := range good {
		if got, err := ParseMoney(text); err != nil || got.String() != want {
			t.Errorf("ParseMoney(%q) = %v, %v; want %v", text, got, err, want)
		}
	}
	for _, text := range []string{"", "USD", "$5", "5", "5 usd", "5 US", "-5 USD", "31.823,62 EUR", "31,82 USD", "1,0000 USD", "5USD", "5  USD", "1e3 USD", ",100 USD", "5 USDX", "1.5.2 USD"} {
		got, err := ParseMoney(text)
		checkSyntax(t, "ParseMoney", text, got, err)
	}
}

// The totals of experiment A1 come out to the cent, as no float would promise.
func TestMoneyIsExact(t *testing.T) {
	each, err := ParseMoney("31823.62 USD")
	if err != nil {
		t.Fatal(err)
	}
	if got := each.Mul(big.NewRat(500, 1)).String(); got != "15911810.00 USD" {
		t.Errorf("500 servers = %s", got)
	}
	third := each.Mul(big.NewRat(1, 3)).Mul(big.NewRat(3, 1))
	if c, err := third.Cmp(each); err != nil || c != 0 {
		t.Errorf("a third times three = %v (%v)", third, err)
	}
	sum, total := Money{}, each
	for range 9 {
		if total, err = total.Add(each); err != nil {
			t.Fatal(err)
		}
	}
	if total.String() != "318236.20 USD" {
		t.Errorf("ten servers = %v", total)
	}
	if _, err := sum.Add(each); err == nil || !sum.IsZero() || sum.String() != "" {
		t.Error("absent money is not zero money")
	}
	euro, _ := ParseMoney("1 EUR")
	if _, err := each.Sub(euro); err == nil || !strings.Contains(err.Error(), "exchange") {
		t.Errorf("two currencies: %v", err)
	}
	if _, err := each.Cmp(euro); err == nil {
		t.Error("comparing two currencies must fail")
	}
	if got, err := total.Sub(each); err != nil || got.Text(0) != "286413 USD" {
		t.Errorf("nine servers = %v (%v)", got, err)
	}
}

func TestMoneyRoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		cents := rapid.Int64Range(0, math.MaxInt64).Draw(t, "cents")
		want := NewMoney(big.NewRat(cents, 100), "USD")
		got, err := ParseMoney(want.String())
		if err != nil {
			t.Fatal(err)
		}
		if c, err := got.Cmp(want); err != nil || c != 0 || got.Currency() != "USD" {
			t.Fatalf("%v was read back as %v (%v)", want, got, err)
		}
	})
}

func TestFormatSI(t *testing.T) {
	cases := []struct {
		value  float64
		unit   string
		digits int
		want   string
	}{
		{1204300, "ops/s", 0, "1.204 M ops/s"}, {998.4, "ops/s", 4, "998.4 ops/s"}, {999.96, "ops/s", 4, "1.000 k ops/s"},
		{32768, "B", 3, "32.0 KiB"}, {32, "B", 4, "32 B"}, {1536, "B", 4, "1.500 KiB"}, {0, "B", 4, "0 B"},
		{0.000183, "s", 3, "183 µs"}, {0.000183, "s", 4, "183.0 µs"}, {0.0999996, "s", 4, "100.0 ms"}, {0.9999999, "s", 3, "1.00 s"},
		{12.5, "s", 4, "12.50 s"}, {7200, "s", 4, "7200 s"}, {5e-12, "s", 3, "0.00500 ns"}, {0, "s", 4, "0 s"},
		{1.25e9, "B/s", 4, "1.250 GB/s"}, {1e10, "bit/s", 3, "10.0 Gbit/s"}, {831, "W", 4, "831.0 W"}, {1500, "J", 3, "1.50 kJ"}, {2188.02, "MiB/s", 6, "2188.02 MiB/s"}, {9674180, "TPM", 4, "9.674 M TPM"}, {3000, "us", 4, "3000 us"},
		{12.34, "%", 3, "12.3 %"}, {123456, "%", 3, "123456 %"}, {0.0123, "1", 3, "0.0123"}, {5e6, "1", 3, "5.00 M"}, {0.25, "ops/J", 3, "0.250 ops/J"},
		{-1204300, "ops/s", 4, "-1.204 M ops/s"}, {math.NaN(), "s", 4, "NaN s"}, {math.Inf(1), "1", 4, "+Inf"}, {1e-9, "1", 3, "1.00e-09"},
		{9674180, "tx/min", 4, "9.674 M tx/min"}, {31.54, "°C", 3, "31.5 °C"},
	}
	for _, c := range cases {
		if got := FormatSI(c.value, c.unit, c.digits); got != c.want {
			t.Errorf("FormatSI(%g, %q, %d) = %q, want %q", c.value, c.unit, c.digits, got, c.want)
		}
	}
}

// What FormatSI prints is within half a unit of its last digit of the value.
func TestFormatSIKeepsItsDigits(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		unit := rapid.SampledFrom([]string{"s", "B", "B/s", "bit/s", "W", "J", "ops/s", "1", "%"}).Draw(t, "unit")
		value := math.Pow(10, rapid.Float64Range(-8, 13).Draw(t, "exponent"))
		digits := rapid.IntRange(1, 9).Draw(t, "digits")
		text := FormatSI(value, unit, digits)
		number, name, _ := strings.Cut(text, " ")
		factor := math.NaN()
		for _, s := range stepsOf(unit) {
			if s.name == name {
				factor = s.factor
			}
		}
		printed, err := strconv.ParseFloat(number, 64)
		if err != nil || math.IsNaN(factor) {
			t.Fatalf("FormatSI(%g, %q, %d) = %q: %v", value, unit, digits, text, err)
		}
		if off := math.Abs(printed*factor - value); off > value*0.5001*math.Pow(10, float64(1-digits)) {
			t.Fatalf("FormatSI(%g, %q, %d) = %q is off by %g", value, unit, digits, text, off)
		}
	})
}

func TestQuantities(t *testing.T) {
	if j := Watts(831).Over(3600); j != 831*3600 || j.KilowattHours() != 0.831 {
		t.Errorf("831 W for an hour = %v J = %v kWh", j, j.KilowattHours())
	}
	if w := Joules(100).Over(4); w != 25 {
		t.Errorf("100 J in 4 s = %v W", w)
	}
	if r := Ops(300).Over(2).PerWatt(75); r != 2 {
		t.Errorf("300 ops in 2 s at 75 W = %v ops/J", r)
	}
	if b := Bytes(10).Over(2); b != 5 {
		t.Errorf("10 B in 2 s = %v B/s", b)
	}
	if h := Watts(1).BTUPerHour(); math.Abs(h-3.412) > 0.0005 {
		t.Errorf("1 W = %v BTU/h", h)
	}
}

// Unlike quantities cannot be added: such a program does not compile.
func TestUnlikeQuantitiesDoNotCompile(t *testing.T) {
	source, err := os.ReadFile("quantity.go")
	if err != nil {
		t.Fatal(err)
	}
	compiles := func(expression string) bool {
		t.Helper()
		files := token.NewFileSet()
		file, err := parser.ParseFile(files, "quantity.go", string(source)+"\nvar _ = "+expression+"\n", 0)
		if err != nil {
			t.Fatal(err)
		}
		_, err = (&types.Config{}).Check("unit", files, []*ast.File{file}, nil)
		return err == nil
	}
	for _, good := range []string{"Watts(1) + Watts(2)", "Watts(1).Over(Seconds(2)) + Joules(1)"} {
		if !compiles(good) {
			t.Errorf("%s should compile", good)
		}
	}
	for _, bad := range []string{"Watts(1) + Joules(1)", "Bytes(1) - Seconds(1)", "Watts(1).Over(Watts(1))", "OpsPerSecond(1) + Ops(1)", "Bytes(1) == BytesPerSecond(1)"} {
		if compiles(bad) {
			t.Errorf("%s must not compile", bad)
		}
	}
}

// FuzzParse holds every parser to its promises: no panic, no negative result,
// and an error that says what was expected.
func FuzzParse(f *testing.F) {
	for _, s := range []string{"", "32", "4K", "4Mb", "1.5MiB", "30k/s", "2%", "2m30s", "1d", "31,823.62 USD", "010", "-1", "1e9", "９", "\xff", "0.0000001"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		size, err := ParseSize(s)
		check(t, "size", s, float64(size), err)
		count, err := ParseCount(s)
		check(t, "count", s, float64(count), err)
		rate, err := ParseRate(s)
		check(t, "rate", s, rate, err)
		percent, err := ParsePercent(s)
		check(t, "percent", s, percent, err)
		duration, err := ParseDuration(s)
		check(t, "duration", s, float64(duration), err)
		if err == nil && duration > 0 {
			if again, err := ParseDuration(duration.String()); err != nil || again != duration {
				t.Errorf("%q -> %v -> %v (%v)", s, duration, again, err)
			}
		}
		money, err := ParseMoney(s)
		amount, _ := money.Amount().Float64()
		check(t, "money", s, amount, err)
	})
}

func check(t *testing.T, kind, text string, value float64, err error) {
	t.Helper()
	switch {
	case err != nil && value != 0:
		t.Errorf("%s %q: %g beside the error %v", kind, text, value, err)
	case err != nil && !strings.Contains(err.Error(), "expected"):
		t.Errorf("%s %q: the error does not say what was expected: %v", kind, text, err)
	case value < 0 || math.IsNaN(value) || math.IsInf(value, 0):
		t.Errorf("%s %q = %g", kind, text, value)
	}
}
