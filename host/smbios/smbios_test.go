package smbios

import (
	"encoding/binary"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

// entry builds one structure: a formatted area of size bytes with the given
// fields (offset -> byte, uint16, uint32 or bytes), and its strings.
func entry(kind byte, size int, fields map[int]any, texts ...string) []byte {
	b := make([]byte, size)
	b[0], b[1] = kind, byte(size)
	for at, v := range fields {
		switch v := v.(type) {
		case int:
			b[at] = byte(v)
		case uint16:
			binary.LittleEndian.PutUint16(b[at:], v)
		case uint32:
			binary.LittleEndian.PutUint32(b[at:], v)
		case []byte:
			copy(b[at:], v)
		}
	}
	for _, t := range texts {
		b = append(append(b, t...), 0)
	}
	if len(texts) == 0 {
		b = append(b, 0)
	}
	return append(b, 0)
}

func table(entries ...[]byte) (b []byte) {
	for _, e := range entries {
		b = append(b, e...)
	}
	return b
}

func end() []byte { return entry(127, 4, nil) }

func server() []byte {
	uuid := []byte{0x44, 0x45, 0x4c, 0x4c, 0x42, 0x00, 0x10, 0x35, 0x80, 0x52, 0xb4, 0xc0, 0x4f, 0x4a, 0x4d, 0x32}
	return table(
		entry(0, 0x18, map[int]any{4: 1, 5: 2, 8: 3, 0x14: 2, 0x15: 19}, "Maker Inc.", "2.19.1", "06/04/2023"),
		entry(1, 0x1b, map[int]any{4: 1, 5: 2, 6: 3, 7: 4, 8: uuid}, "Maker Inc.", "Server 740 ", "Not Specified", "SN00042"),
		entry(4, 0x30, map[int]any{
			4: 1, 7: 2, 0x10: 3, 0x14: uint16(4000), 0x16: uint16(2600), 0x18: 0x41, 0x20: 4,
			0x23: 0xff, 0x24: 0xff, 0x25: 0xff, 0x2a: uint16(288), 0x2c: uint16(144), 0x2e: uint16(288),
		},
			"CPU1", "Maker", "Processor 9000 @ 2.60GHz", "None"),
		entry(4, 0x30, map[int]any{4: 1, 0x18: 0x00}, "CPU2"), // not populated
		entry(17, 0x54, map[int]any{
			8: uint16(72), 0x0a: uint16(64), 0x0c: uint16(0x7fff), 0x0e: 9, 0x10: 1, 0x11: 2, 0x12: 0x1a,
			0x15: uint16(3200), 0x17: 3, 0x18: 4, 0x1a: 5, 0x1b: 2, 0x1c: uint32(64 << 10), 0x20: uint16(2933),
		},
			"A1", "Bank 0", "Chips & Co", "01234567", "CC-64G-3200   "),
		entry(17, 0x5c, map[int]any{
			0x0c: uint16(32767 - 1), 0x10: 1, 0x12: 0x22, 0x15: uint16(0xffff), 0x20: uint16(0xffff),
			0x54: uint32(70000), 0x58: uint32(68000),
		}, "A2"),
		entry(17, 0x1b, map[int]any{0x0c: uint16(0x8000 | 512), 0x10: 1, 8: uint16(0xffff)}, "A3"), // version 2.3: short
		entry(17, 0x54, map[int]any{0x10: 1}, "A4"),                                                // empty slot
		entry(17, 0x54, map[int]any{0x0c: uint16(0xffff), 0x10: 1}, "A5"),                          // size unknown
		end(), []byte{0xde, 0xad})
}

func TestParse(t *testing.T) {
	want := Table{
		BIOS:   BIOS{Vendor: "Maker Inc.", Version: "2.19.1", Date: "06/04/2023", Release: "2.19"},
		System: System{Vendor: "Maker Inc.", Model: "Server 740", Serial: "SN00042", UUID: "4c4c4544-0042-3510-8052-b4c04f4a4d32"},
		Processors: []Processor{{
			Socket: "CPU1", Maker: "Maker", Version: "Processor 9000 @ 2.60GHz", MaximumMHz: new(4000),
			CurrentMHz: new(2600), Cores: new(288), Enabled: new(144), Threads: new(288),
		}},
		Memory: []Memory{
			{
				Slot: "A1", Bank: "Bank 0", SizeBytes: new(int64(64 << 30)), Type: "DDR4", Form: "DIMM", RatedMTs: new(3200), ConfiguredMTs: new(2933),
				Ranks: new(2), TotalWidth: new(72), DataWidth: new(64), Maker: "Chips & Co", Serial: "01234567", Part: "CC-64G-3200",
			},
			{Slot: "A2", SizeBytes: new(int64(32766 << 20)), Type: "DDR5", RatedMTs: new(70000), ConfiguredMTs: new(68000)},
			{Slot: "A3", SizeBytes: new(int64(512 << 10))},
			{Slot: "A4", Empty: true},
			{Slot: "A5"},
		},
	}
	got, err := Parse(server())
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("Parse (-want +got):\n%s", diff)
	}
}

func TestParseBroken(t *testing.T) {
	system := entry(1, 0x1b, map[int]any{5: 1}, "Model")
	for name, c := range map[string]struct {
		in    []byte
		model string
		want  string
	}{
		"empty":              {in: nil},
		"half a header":      {in: table(system, []byte{4, 9}), model: "Model", want: "offset 34: 2 bytes are left"},
		"length too short":   {in: []byte{1, 3, 0, 0, 0, 0}, want: "type 1 says that it is 3 bytes long; expected 4 to 6"},
		"length too long":    {in: table(system, []byte{17, 200, 0, 0, 0, 0}), model: "Model", want: "type 17 says that it is 200 bytes long"},
		"strings cut off":    {in: system[:len(system)-1], want: "strings do not end"},
		"no end":             {in: system, model: "Model"},
		"end without zeros":  {in: table(system, []byte{127, 4, 0, 0}), model: "Model"},
		"string not there":   {in: entry(1, 0x1b, map[int]any{5: 7}, "Model")},
		"area without a UID": {in: entry(1, 0x08, map[int]any{5: 1}, "Model"), model: "Model"},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := Parse(c.in)
			if got.System.Model != c.model {
				t.Errorf("model = %q; want %q", got.System.Model, c.model)
			}
			if c.want == "" && err != nil || c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)) {
				t.Errorf("error = %v; want one with %q", err, c.want)
			}
		})
	}
}

func TestNoUUID(t *testing.T) {
	for _, fillByte := range []byte{0x00, 0xff} {
		b := make([]byte, 16)
		for i := range b {
			b[i] = fillByte
		}
		got, err := Parse(entry(1, 0x1b, map[int]any{8: b}))
		if err != nil || got.System.UUID != "" {
			t.Errorf("UUID of bytes %#x = %q, %v; want none", fillByte, got.System.UUID, err)
		}
	}
}

func TestClean(t *testing.T) {
	for in, want := range map[string]string{
		"  R740 ": "R740", "To Be Filled By O.E.M.": "", "Default string": "", "00000000": "", "": "", "...": "",
		"N/A": "", "0x1234": "0x1234", "X10": "X10", "No DIMM": "", "Dell Inc.": "Dell Inc.", "a\xffb": "a?b",
	} {
		if got := Clean(in); got != want {
			t.Errorf("Clean(%q) = %q; want %q", in, got, want)
		}
	}
}

// Any well-formed table is read without an error, whatever its fields hold.
func TestParseWellFormed(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var b []byte
		modules := 0
		for range rapid.IntRange(0, 8).Draw(t, "structures") {
			kind := rapid.SampledFrom([]byte{0, 1, 2, 4, 16, 17, 41}).Draw(t, "kind")
			area := rapid.SliceOfN(rapid.Byte(), 4, 255).Draw(t, "area")
			area[0], area[1] = kind, byte(len(area))
			b = append(b, area...)
			texts := rapid.SliceOfN(rapid.StringMatching(`[A-Za-z0-9 .]{1,12}`), 0, 5).Draw(t, "strings")
			for _, s := range texts {
				b = append(append(b, s...), 0)
			}
			if len(texts) == 0 {
				b = append(b, 0)
			}
			b = append(b, 0)
			if kind == 17 {
				modules++
			}
		}
		got, err := Parse(append(b, end()...))
		if err != nil {
			t.Fatal(err)
		}
		if len(got.Memory) != modules {
			t.Fatalf("%d memory devices; want %d", len(got.Memory), modules)
		}
	})
}

func FuzzParse(f *testing.F) {
	f.Add(server())
	f.Add([]byte{})
	f.Add([]byte{17, 255, 0, 0})
	f.Fuzz(func(t *testing.T, b []byte) {
		got, err := Parse(b)
		for _, m := range got.Memory {
			if m.SizeBytes != nil && (*m.SizeBytes <= 0 || m.Empty) {
				t.Errorf("a size that is none: %+v", m)
			}
		}
		again, err2 := Parse(b)
		if diff := cmp.Diff(got, again); diff != "" || (err == nil) != (err2 == nil) {
			t.Errorf("two readings differ:\n%s", diff)
		}
	})
}
