package kv

import (
	"fmt"
	"math"
	"strconv"
	"testing"

	"pgregory.net/rapid"
)

func TestDecimals(t *testing.T) {
	values := []uint64{0, 1, 9, 10, 99, 100, 101, 12345678, 99999999, 100000000, math.MaxUint64}
	for p := uint64(1); p < math.MaxUint64/10; p *= 10 {
		values = append(values, p-1, p, p+1)
	}
	for _, v := range values {
		checkDecimal(t, v)
	}
	rapid.Check(t, func(t *rapid.T) {
		checkDecimal(t, rapid.Uint64().Draw(t, "v")>>rapid.IntRange(0, 63).Draw(t, "shift"))
	})
}

func checkDecimal(t rapid.TB, v uint64) {
	want := strconv.FormatUint(v, 10)
	if digits(v) != len(want) {
		t.Fatalf("digits(%d) = %d, want %d", v, digits(v), len(want))
	}
	if got := string(appendDecimal([]byte("x"), v)); got != "x"+want {
		t.Fatalf("appendDecimal(%d) = %q", v, got)
	}
}

func TestEightDigits(t *testing.T) {
	for v := uint64(0); v < 1e8; v += 1 + v%997 {
		d := eightDigits(v)
		got := make([]byte, 8)
		for i := range got {
			got[i] = byte(d >> (8 * i))
		}
		if want := fmt.Sprintf("%08d", v); string(got) != want {
			t.Fatalf("eightDigits(%d) = %q", v, got)
		}
	}
}
