// Package smbios reads the firmware's own description of a machine: the
// structure table that Linux shows as /sys/firmware/dmi/tables/DMI, as laid
// out in DSP0134 (System Management BIOS Reference Specification).
//
// It reads structures of types 0 (firmware), 1 (system), 4 (processor) and 17
// (memory device). Firmware is not to be trusted: every length is checked, and
// a field that is absent, unknown or a placeholder is nil or empty.
package smbios

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"strings"
)

// Table is what the structures say. Lists are in the table's order.
type Table struct {
	BIOS       BIOS
	System     System
	Processors []Processor
	Memory     []Memory
}

// BIOS is a structure of type 0.
type BIOS struct {
	Vendor, Version, Date string
	Release               string // major.minor
}

// System is a structure of type 1.
type System struct {
	Vendor, Model, Version, Serial, UUID string
}

// Processor is a structure of type 4, of a socket that is populated.
type Processor struct {
	Socket, Maker, Version, Serial string
	MaximumMHz, CurrentMHz         *int
	Cores, Enabled, Threads        *int
}

// Memory is a structure of type 17. An empty slot has no SizeBytes and Empty set.
type Memory struct {
	Slot, Bank            string
	Empty                 bool
	SizeBytes             *int64
	Type, Form            string
	RatedMTs              *int // megatransfers a second
	ConfiguredMTs         *int
	Ranks                 *int
	TotalWidth, DataWidth *int // bits
	Maker, Serial, Part   string
}

// structure is one entry: its formatted area, header included, and its strings.
type structure struct {
	kind    byte
	data    []byte
	strings []string
}

const endOfTable = 127

// Parse reads a structure table. Where the table is broken it returns what came
// before, and an error that says at which offset.
func Parse(table []byte) (Table, error) {
	var t Table
	for at := 0; at < len(table); {
		s, size, err := next(table[at:])
		if err != nil {
			return t, fmt.Errorf("SMBIOS table of %d bytes, structure at offset %d: %w", len(table), at, err)
		}
		if s.kind == endOfTable {
			break
		}
		t.add(s)
		at += size
	}
	return t, nil
}

func (t *Table) add(s structure) {
	switch s.kind {
	case 0:
		t.BIOS = s.bios()
	case 1:
		t.System = s.system()
	case 4:
		if p, ok := s.processor(); ok {
			t.Processors = append(t.Processors, p)
		}
	case 17:
		t.Memory = append(t.Memory, s.memory())
	}
}

// next reads one structure and returns how many bytes it took: the formatted
// area, its strings, each ended by a zero byte, and one zero byte more.
func next(b []byte) (structure, int, error) {
	if len(b) < 4 {
		return structure{}, 0, fmt.Errorf("%d bytes are left; a header has 4", len(b))
	}
	length := int(b[1])
	if length < 4 || length > len(b) {
		return structure{}, 0, fmt.Errorf("type %d says that it is %d bytes long; expected 4 to %d", b[0], length, len(b))
	}
	s := structure{kind: b[0], data: b[:length]}
	at := length
	if at+1 < len(b) && b[at] == 0 && b[at+1] == 0 {
		return s, at + 2, nil // no strings
	}
	for at < len(b) {
		end := bytes.IndexByte(b[at:], 0)
		if end < 0 {
			break
		}
		if end == 0 {
			return s, at + 1, nil
		}
		s.strings = append(s.strings, string(b[at:at+end]))
		at += end + 1
	}
	if s.kind == endOfTable {
		return s, len(b), nil // some firmware ends the table without its zero bytes
	}
	return structure{}, 0, errors.New("its strings do not end inside the table")
}

func (s structure) byte(at int) byte {
	if at >= len(s.data) {
		return 0
	}
	return s.data[at]
}

// word is the 16-bit number at an offset, 0 (which means unknown in all fields
// read here) beyond the end of an older, shorter structure.
func (s structure) word(at int) int {
	if at+2 > len(s.data) {
		return 0
	}
	return int(binary.LittleEndian.Uint16(s.data[at:]))
}

func (s structure) double(at int) int64 {
	if at+4 > len(s.data) {
		return 0
	}
	return int64(binary.LittleEndian.Uint32(s.data[at:]))
}

// text is the string that the byte at an offset numbers, from 1.
func (s structure) text(at int) string {
	n := int(s.byte(at))
	if n == 0 || n > len(s.strings) {
		return ""
	}
	return Clean(s.strings[n-1])
}

// known turns a number into a pointer, nil for the values that mean unknown.
func known(n int, unknown ...int) *int {
	for _, u := range unknown {
		if n == u {
			return nil
		}
	}
	return &n
}

// Clean trims a firmware string and returns "" for the placeholders that makers
// leave behind.
func Clean(s string) string {
	s = strings.TrimSpace(strings.ToValidUTF8(s, "?"))
	switch strings.ToLower(s) {
	case "to be filled by o.e.m.", "to be filled by oem", "default string", "not specified", "not provided", "not available",
		"not applicable", "none", "n/a", "na", "unknown", "undefined", "empty", "no dimm", "system product name",
		"system manufacturer", "system version", "system serial number", "base board serial number", "chassis serial number",
		"o.e.m.", "oem", "fill by oem", "invalid", "0123456789", "1234567890", "<out of spec>":
		return ""
	}
	if strings.Trim(s, "0. -xX*") == "" {
		return "" // "0", "00000000", "......", "xxxx"
	}
	return s
}
