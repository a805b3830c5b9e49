package kv

import (
	"encoding/binary"
	"math/bits"
)

// pairs holds "00" to "99": two digits a division.
const pairs = "00010203040506070809" +
	"10111213141516171819" +
	"20212223242526272829" +
	"30313233343536373839" +
	"40414243444546474849" +
	"50515253545556575859" +
	"60616263646566676869" +
	"70717273747576777879" +
	"80818283848586878889" +
	"90919293949596979899"

// digits returns how many decimal digits v has, from 1 to 20. It does not
// branch: the lengths of random keys are not to be predicted.
func digits(v uint64) int {
	v |= 1 // 0 has one digit too; for others the number of digits stays
	// 1233/4096 is just under log10(2), near enough for 64 bits: the
	// digits are n, or one more from 10^n on.
	n := bits.Len64(v) * 1233 >> 12
	_, below := bits.Sub64(v, powers[n], 0)
	return n + 1 - int(below)
}

// powers[i] is 10^i, the least number with i+1 digits.
var powers = [20]uint64{1, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14, 1e15, 1e16, 1e17, 1e18, 1e19}

// putDecimal fills dst, which has digits(v) bytes, with v in decimal.
func putDecimal(dst []byte, v uint64) {
	i := len(dst)
	for v >= 100 {
		i -= 2
		q := v / 100
		binary.LittleEndian.PutUint16(dst[i:], pair(v-100*q))
		v = q
	}
	if v >= 10 {
		binary.LittleEndian.PutUint16(dst, pair(v))
		return
	}
	dst[0] = byte('0' + v)
}

func pair(v uint64) uint16 {
	return uint16(pairs[2*v]) | uint16(pairs[2*v+1])<<8
}

func appendDecimal(dst []byte, v uint64) []byte {
	n := len(dst)
	dst = append(dst, "00000000000000000000"[:digits(v)]...)
	putDecimal(dst[n:], v)
	return dst
}

// eightDigits returns v, below 10^8, as eight ASCII digits with leading zeros,
// the first in the lowest byte. It halves the number three times, all parts at
// once in one word.
func eightDigits(v uint64) uint64 {
	q := v / 1e4
	fours := q | (v-1e4*q)<<32
	q = fours * 10486 >> 20 & 0x7f_0000_007f // /100, right below 10^4
	twos := q | (fours-100*q)<<16
	q = twos * 103 >> 10 & 0x0f_000f_000f_000f // /10, right below 100
	return q | (twos-10*q)<<8 | 0x3030_3030_3030_3030
}
