package gen

import (
	"encoding/binary"
	"fmt"
)

// FillRandom fills a value with random bytes, which do not compress.
func FillRandom(dst []byte, r *Rand) {
	for len(dst) >= 8 {
		binary.LittleEndian.PutUint64(dst, r.Uint64())
		dst = dst[8:]
	}
	if len(dst) > 0 {
		var last [8]byte
		binary.LittleEndian.PutUint64(last[:], r.Uint64())
		copy(dst, last[:])
	}
}

// FillConstant fills a value with one byte over and over.
func FillConstant(dst []byte, b byte) {
	for i := range dst {
		dst[i] = b
	}
}

// versionBytes is the head of a verifiable value that carries its version.
const versionBytes = 8

// FillVerifiable fills a value so that Verify can tell from it alone whether it
// belongs to the key and is whole. Values shorter than 8 bytes carry no version.
func FillVerifiable(dst []byte, key, version uint64) {
	if len(dst) < versionBytes {
		version = 0
	} else {
		binary.LittleEndian.PutUint64(dst, version^Mix(key))
		dst = dst[versionBytes:]
	}
	FillRandom(dst, verifiable(key, version))
}

func verifiable(key, version uint64) *Rand { return &Rand{state: Mix(key ^ Mix(version))} }

// Verify checks that a value was made by FillVerifiable for this key, and
// returns the version it was made with (0 for a value too short to carry one).
// The error says at which byte it differs first.
func Verify(value []byte, key uint64) (version uint64, err error) {
	rest, at := value, 0
	if len(value) >= versionBytes {
		version = binary.LittleEndian.Uint64(value) ^ Mix(key)
		rest, at = value[versionBytes:], versionBytes
	}
	r := verifiable(key, version)
	for len(rest) > 0 {
		var want [8]byte
		binary.LittleEndian.PutUint64(want[:], r.Uint64())
		n := min(len(rest), 8)
		for i := range n {
			if rest[i] != want[i] {
				return 0, fmt.Errorf("value of key %d (%d bytes): found 0x%02x at byte %d, expected 0x%02x", key, len(value), rest[i], at+i, want[i])
			}
		}
		rest, at = rest[n:], at+n
	}
	return version, nil
}
