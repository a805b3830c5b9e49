package unit

import (
	"math/big"
	"strings"
	"time"
)

const durationForm = "a duration with its unit, as 30s, 200us, 1.5ms, 2m30s, 8h or 1d (24 hours)"

// ParseDuration reads a duration: one or more numbers, each with its unit, with
// no space anywhere: 30s, 2m30s, 1d12h. The units are ns, us (or µs), ms, s, m,
// h and d, which is always 24 hours. A number without a unit is refused, except
// 0. The result is a whole number of nanoseconds.
func ParseDuration(s string) (time.Duration, error) {
	if s == "0" {
		return 0, nil
	}
	total, rest := new(big.Rat), s
	for rest != "" || s == "" {
		n := numberLength(rest)
		value, ok := decimal(rest[:n])
		m := n + unitLength(rest[n:])
		unit, known := durationUnit(rest[n:m])
		switch {
		case ok && rest == s && n == len(s):
			return 0, &SyntaxError{"duration", s, "a unit after it, as " + s + "s or " + s + "ms"}
		case !ok || !known:
			return 0, &SyntaxError{"duration", s, durationForm}
		}
		total.Add(total, value.Mul(value, new(big.Rat).SetInt64(int64(unit))))
		rest = rest[m:]
	}
	nanos, ok := toInt64(total)
	if !ok {
		return 0, &SyntaxError{"duration", s, "whole nanoseconds and less than 292 years"}
	}
	return time.Duration(nanos), nil
}

// unitLength returns the length of what comes before the next digit or dot.
func unitLength(s string) int {
	i := strings.IndexAny(s, "0123456789.")
	if i < 0 {
		return len(s)
	}
	return i
}

func durationUnit(s string) (time.Duration, bool) {
	switch s {
	case "ns":
		return time.Nanosecond, true
	case "us", "µs", "μs": // micro sign and Greek mu
		return time.Microsecond, true
	case "ms":
		return time.Millisecond, true
	case "s":
		return time.Second, true
	case "m":
		return time.Minute, true
	case "h":
		return time.Hour, true
	case "d":
		return 24 * time.Hour, true
	}
	return 0, false
}
