package unit

import (
	"math/big"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

func parsed(t *testing.T, s string) Unit {
	t.Helper()
	u, err := ParseUnit(s)
	if err != nil {
		t.Fatal(err)
	}
	return u
}

func TestConversions(t *testing.T) {
	tests := []struct {
		from, to string
		num, den int64
	}{
		{"MiB", "MB", 1048576, 1000000},
		{"GB/s", "Gb/s", 8, 1},
		{"kWh", "J", 3600000, 1},
		{"W*h", "J", 3600, 1},
		{"TPM", "TPS", 1, 60},
		{"IOPS", "ops/s", 1, 1},
		{"%", "x", 1, 100},
		{"ms", "us", 1000, 1},
		{"Mpps", "packets/s", 1000000, 1},
		{"USD/kWh", "USD/J", 1, 3600000},
	}
	for _, tt := range tests {
		got, err := parsed(t, tt.from).In(parsed(t, tt.to))
		if err != nil || got.Cmp(big.NewRat(tt.num, tt.den)) != 0 {
			t.Errorf("1 %s = %v %s (%v), want %d/%d", tt.from, got, tt.to, err, tt.num, tt.den)
		}
	}
}

func TestWhatDoesNotMixIsRefused(t *testing.T) {
	for _, tt := range []struct{ a, b, why string }{
		{"W", "J", "measure different things"},
		{"MB", "MiB", "different size"},
		{"Gb/s", "GB/s", "different size"},
		{"USD", "EUR", "measure different things"},
		{"ops/s", "B/s", "measure different things"},
	} {
		err := parsed(t, tt.a).Addable(parsed(t, tt.b))
		if err == nil || !strings.Contains(err.Error(), tt.why) {
			t.Errorf("%s + %s: %v, want %q", tt.a, tt.b, err, tt.why)
		}
	}
	for _, s := range []string{"", "furlong", "MiW", "kUSD", "ops/", "mserver"} {
		if u, err := ParseUnit(s); err == nil {
			t.Errorf("unit %q was read as %v", s, u)
		}
	}
}

// TestIntervalsHoldEveryResult draws a value from each interval and checks that
// the result of the operation lies in the operation's interval.
func TestIntervalsHoldEveryResult(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		rat := func(label string) *big.Rat {
			return big.NewRat(rapid.Int64Range(-1000, 1000).Draw(t, label), rapid.Int64Range(1, 50).Draw(t, label+" den"))
		}
		draw := func(name string) (Interval, *big.Rat) {
			a, b := rat(name+" a"), rat(name+" b")
			i := NewInterval(a, b)
			at := big.NewRat(rapid.Int64Range(0, 8).Draw(t, name+" at"), 8)
			return i, new(big.Rat).Add(i.Low(), at.Mul(at, i.Width()))
		}
		x, vx := draw("x")
		y, vy := draw("y")
		check := func(op string, i Interval, v *big.Rat) {
			if !i.Holds(v) {
				t.Errorf("%s: %v does not hold %v", op, i, v)
			}
		}
		check("x + y", x.Add(y), new(big.Rat).Add(vx, vy))
		check("x - y", x.Sub(y), new(big.Rat).Sub(vx, vy))
		check("x * y", x.Mul(y), new(big.Rat).Mul(vx, vy))
		check("join", x.Join(y), vx)
		if q, err := x.Div(y); err == nil {
			check("x / y", q, new(big.Rat).Quo(vx, vy))
		} else if !y.Holds(new(big.Rat)) {
			t.Errorf("x / y refused: %v", err)
		}
	})
}
