package self

import (
	"strings"
	"testing"
)

func TestNumbersIn(t *testing.T) {
	tests := map[string]string{
		"8 blocks, 97.5 % interval": "8|97.5",
		"318,236.20 USD":            "318,236.20",
		"cores 0,2 and 1,234":       "0|2|1,234",
		"1234,567":                  "1234|567",
		"1.5e-05 s":                 "1.5e-05",
		"p99.9 of v2":               "99.9|2",
		"127.0.0.1:7001":            "127.0|0.1|7001",
		"no digits":                 "",
		"trailing 5.":               "5",
		"2e":                        "2",
	}
	for text, want := range tests {
		var got []string
		for _, w := range numbersIn(text) {
			got = append(got, w.text)
			if text[w.from:w.to] != w.text {
				t.Errorf("%q stands elsewhere in %q", w.text, text)
			}
		}
		if strings.Join(got, "|") != want {
			t.Errorf("%q has %q, want %q", text, got, want)
		}
	}
}

func TestMisfits(t *testing.T) {
	rate, loss := truth{value: 1204321, unit: "ops/s"}, truth{value: -12.345, unit: "%"}
	pieces := append(saysWords("redis-7"), saysNumber("the rate", rate), saysNumber("the loss", loss),
		saysNumber("the delay", truth{value: 183.4e-6, unit: "s"}), saysNumber("the share", truth{value: 0.0165, unit: "1"}),
		saysNumber("the size", truth{value: 32768, unit: "B"}), saysNumber("the ratio", truth{value: 1.25, unit: "x"}))
	good := []string{
		"redis-7 does 1.204 M ops/s", "1204 k ops/s", "1.2 M ops/s less by -12.3 %", "(-12.35 %)", "183 µs", "0.1834 ms", "1.65 %", "0.0165",
		"32.0 KiB", "1.250x", "1.25", "", "nothing",
	}
	for _, text := range good {
		if faults, _ := misfits(text, pieces); len(faults) > 0 {
			t.Errorf("%q: %v", text, faults)
		}
	}
	bad := []string{
		"redis-8", "1.205 M ops/s", "1.204 k ops/s", "1.204 M", "12.3 %", "184 µs", "183 ms", "1.204 M ops/s with redis-7", "33.0 KiB", "1.26x", "1.65 % 1.65 %",
	}
	for _, text := range bad {
		if faults, _ := misfits(text, pieces); len(faults) == 0 {
			t.Errorf("%q raises nothing", text)
		}
	}
}

// TestEveryOtherLastDigitIsFound: of the ten last digits, one follows.
func TestEveryOtherLastDigitIsFound(t *testing.T) {
	for digit := range 10 {
		text := "1.23" + string(rune('0'+digit)) + " k"
		faults, _ := misfits(text, []piece{saysNumber("it", truth{value: 1236.4, unit: "1"})})
		if (len(faults) == 0) != (digit == 6) {
			t.Errorf("%q: %v", text, faults)
		}
	}
}

func FuzzMisfits(f *testing.F) {
	f.Add("Throughput with server=v2 is 1.204 M ops/s, against 1,034.5 (base): 5.2 % more = 1.052x", 1204000.0, "ops/s")
	f.Add("-1e5 µs", -0.1, "s")
	f.Add("9,999,9e+", 0.0, "1")
	f.Fuzz(func(t *testing.T, text string, value float64, unit string) {
		numbers := numbersIn(text)
		faults, checked := misfits(text, []piece{saysNumber("it", truth{value: value, unit: unit})})
		if checked != len(numbers) || len(faults) > checked || checked > 1 && len(faults) == 0 {
			t.Errorf("%q: %d numbers, %d checked, %q", text, len(numbers), checked, faults)
		}
	})
}
