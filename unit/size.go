package unit

import (
	"math/big"
	"strconv"
	"strings"
)

const sizeForm = "bytes as 32, 4K or 4KiB (4 x 2^10), 4KB (4 x 10^3), 1.5M or 1.5MiB (1.5 x 2^20), 1MB (10^6), and so on with G and T"

// ParseSize reads a number of bytes.
//
//	32, 32B           bytes
//	K, k, KiB         2^10        KB, kB  10^3
//	M, m, MiB         2^20        MB      10^6
//	G, g, GiB         2^30        GB      10^9
//	T, t, TiB         2^40        TB      10^12
//
// The bare letters are binary, as in fio and memtier; the forms with B alone
// are decimal, as the SI defines them (IEC 80000-13). A small b means bits to
// many readers and is refused. The result must be a whole number of bytes.
func ParseSize(s string) (int64, error) {
	number, suffix := split(s)
	value, ok := decimal(number)
	factor, known := sizeFactor(suffix)
	switch {
	case ok && !known && strings.HasSuffix(suffix, "b"):
		return 0, &SyntaxError{"size", s, "a capital B for bytes (a small b means bits): " + sizeForm}
	case !ok || !known:
		return 0, &SyntaxError{"size", s, sizeForm}
	}
	n, ok := toInt64(value.Mul(value, new(big.Rat).SetInt64(factor)))
	if !ok {
		return 0, &SyntaxError{"size", s, "a whole number of bytes below 8 EiB"}
	}
	return n, nil
}

// sizeFactor returns the number of bytes that a suffix stands for.
func sizeFactor(suffix string) (int64, bool) {
	switch suffix {
	case "", "B":
		return 1, true
	case "K", "k", "KiB":
		return 1 << 10, true
	case "M", "m", "MiB":
		return 1 << 20, true
	case "G", "g", "GiB":
		return 1 << 30, true
	case "T", "t", "TiB":
		return 1 << 40, true
	case "KB", "kB":
		return 1e3, true
	case "MB":
		return 1e6, true
	case "GB":
		return 1e9, true
	case "TB":
		return 1e12, true
	}
	return 0, false
}

// FormatSize writes a number of bytes exactly, in the largest binary or decimal
// unit that holds it as a whole number: 4096 is "4KiB", 1000000 is "1MB", 100
// is "100B". ParseSize reads it back to the same number.
func FormatSize(bytes int64) string {
	if bytes <= 0 {
		return strconv.FormatInt(bytes, 10) + "B"
	}
	best := strconv.FormatInt(bytes, 10) + "B"
	for _, suffix := range []string{"KiB", "MiB", "GiB", "TiB", "KB", "MB", "GB", "TB"} {
		factor, _ := sizeFactor(suffix)
		if bytes%factor != 0 {
			continue
		}
		if text := strconv.FormatInt(bytes/factor, 10) + suffix; len(text) < len(best) {
			best = text
		}
	}
	return best
}
