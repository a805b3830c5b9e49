package smbios

import (
	"encoding/binary"
	"fmt"
)

func (s structure) bios() BIOS {
	b := BIOS{Vendor: s.text(4), Version: s.text(5), Date: s.text(8)}
	if len(s.data) > 0x15 && s.byte(0x14) != 0xff && s.byte(0x15) != 0xff {
		b.Release = fmt.Sprintf("%d.%d", s.byte(0x14), s.byte(0x15))
	}
	return b
}

func (s structure) system() System {
	return System{
		Vendor: s.text(4), Model: s.text(5), Version: s.text(6), Serial: s.text(7),
		UUID: s.uuid(8),
	}
}

// uuid reads the 16 bytes at an offset; the first three fields are little
// endian (since version 2.6, which all machines in use have). All zeros mean
// that there is none, all ones that none was set.
func (s structure) uuid(at int) string {
	if at+16 > len(s.data) {
		return ""
	}
	u := s.data[at : at+16]
	zeros, ones := true, true
	for _, b := range u {
		zeros = zeros && b == 0
		ones = ones && b == 0xff
	}
	if zeros || ones {
		return ""
	}
	le := binary.LittleEndian
	return fmt.Sprintf("%08x-%04x-%04x-%x-%x", le.Uint32(u), le.Uint16(u[4:]), le.Uint16(u[6:]), u[8:10], u[10:])
}

func (s structure) processor() (Processor, bool) {
	const populated = 1 << 6
	if s.byte(0x18)&populated == 0 {
		return Processor{}, false
	}
	return Processor{
		Socket: s.text(4), Maker: s.text(7), Version: s.text(0x10), Serial: s.text(0x20),
		MaximumMHz: known(s.word(0x14), 0, 0xffff), CurrentMHz: known(s.word(0x16), 0, 0xffff),
		Cores: s.count(0x23, 0x2a), Enabled: s.count(0x24, 0x2c), Threads: s.count(0x25, 0x2e),
	}, true
}

// count reads a byte whose value 0xff says that the number is in a word
// further on (since version 3.0).
func (s structure) count(short, long int) *int {
	if n := int(s.byte(short)); n != 0xff {
		return known(n, 0)
	}
	if long+2 > len(s.data) {
		return known(0xff)
	}
	return known(s.word(long), 0, 0xffff)
}

func (s structure) memory() Memory {
	m := Memory{
		Slot: s.text(0x10), Bank: s.text(0x11),
		Maker: s.text(0x17), Serial: s.text(0x18), Part: s.text(0x1a),
		Type: memoryType(s.byte(0x12)), Form: memoryForm(s.byte(0x0e)),
		TotalWidth: known(s.word(8), 0, 0xffff), DataWidth: known(s.word(0x0a), 0, 0xffff),
		RatedMTs: s.rate(0x15, 0x54), ConfiguredMTs: s.rate(0x20, 0x58),
		Ranks: known(int(s.byte(0x1b)&0x0f), 0),
	}
	m.SizeBytes, m.Empty = s.memorySize()
	return m
}

// memorySize reads the size of a module: 0 for an empty slot, all ones for
// unknown, in KiB where the top bit is set and else in MiB; 0x7fff says that
// the size, in MiB, is in a field further on.
func (s structure) memorySize() (size *int64, empty bool) {
	switch n := s.word(0x0c); {
	case n == 0:
		return nil, true
	case n == 0xffff, n == 0x8000:
		return nil, false
	case n == 0x7fff:
		mib := s.double(0x1c) & 0x7fff_ffff
		if mib == 0 {
			return nil, false
		}
		return new(mib << 20), false
	case n&0x8000 != 0:
		return new(int64(n&0x7fff) << 10), false
	default:
		return new(int64(n) << 20), false
	}
}

// rate reads a transfer rate; all ones say that it is in a field further on.
func (s structure) rate(short, long int) *int {
	n := s.word(short)
	if n == 0xffff {
		n = int(s.double(long) & 0x7fff_ffff)
	}
	return known(n, 0)
}

func memoryType(b byte) string {
	return map[byte]string{
		0x03: "DRAM", 0x0f: "SDRAM", 0x12: "DDR", 0x13: "DDR2", 0x14: "DDR2 FB-DIMM", 0x18: "DDR3", 0x1a: "DDR4",
		0x1b: "LPDDR", 0x1c: "LPDDR2", 0x1d: "LPDDR3", 0x1e: "LPDDR4", 0x1f: "logical non-volatile device",
		0x20: "HBM", 0x21: "HBM2", 0x22: "DDR5", 0x23: "LPDDR5", 0x24: "HBM3",
	}[b]
}

func memoryForm(b byte) string {
	return map[byte]string{
		0x05: "chip", 0x08: "proprietary card", 0x09: "DIMM", 0x0b: "row of chips", 0x0d: "SODIMM", 0x0f: "FB-DIMM",
		0x10: "die", 0x11: "CAMM",
	}[b]
}
