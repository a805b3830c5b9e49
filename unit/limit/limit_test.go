package limit

import (
	"math"
	"testing"

	"pgregory.net/rapid"
)

func near(t *testing.T, what string, got, want, within float64) {
	t.Helper()
	if math.Abs(got-want) > within {
		t.Errorf("%s = %g, want %g within %g", what, got, want, within)
	}
}

func must[T any](t *testing.T) func(T, error) T {
	return func(v T, err error) T {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
}

// TestPublishedArithmetic holds the figures that NIC vendors print.
func TestPublishedArithmetic(t *testing.T) {
	ok := must[float64](t)
	near(t, "64 B frames on 10 GbE", ok(FrameRate(10e9, 64)), 14880952.38, 0.01)
	near(t, "1518 B frames on 10 GbE", ok(FrameRate(10e9, 1518)), 812743.82, 0.01)
	near(t, "150 Mpps of 64 B", PayloadRate(150e6, 64), 76.8e9, 1)
	near(t, "ns a packet at 10 Mpps", ok(PerPacket(10e6)), 100, 1e-9)
	near(t, "cycles in 100 ns at 3 GHz", Cycles(100, 3e9), 300, 1e-9)
	near(t, "16 of 40 lanes of 25.6 GB/s", ok(SharedLink(25.6e9, 16, 40)), 10.24e9, 1)
	near(t, "the same in bits", ok(SharedLink(25.6e9, 16, 40))*8, 82e9, 0.1e9)
	near(t, "eight channels of DDR5-4800", ok(MemoryBandwidth(4800, 8)), 307.2e9, 1)

	two40 := must[Oversubscription](t)(Oversubscribe(80e9, 52e9))
	near(t, "80 in 52, short", two40.Short, 0.35, 1e-9)
	near(t, "80 in 52, ratio", two40.Ratio, 1.5385, 1e-4)
	fits := must[Oversubscription](t)(Oversubscribe(40e9, 52e9))
	near(t, "40 in 52, short", fits.Short, 0, 0)
}

func TestPCIe(t *testing.T) {
	tests := []struct {
		link                    PCIeLink
		lane                    float64 // GT/s
		raw, encoded, effective float64 // Gb/s
	}{
		{PCIeLink{Generation: 1, Lanes: 1}, 2.5, 2.5, 2, 1.66},
		{PCIeLink{Generation: 2, Lanes: 8}, 5, 40, 32, 26.6},
		{PCIeLink{Generation: 3, Lanes: 8}, 8, 64, 63.0, 52.4},
		{PCIeLink{Generation: 3, Lanes: 16}, 8, 128, 126.0, 104.7},
		{PCIeLink{Generation: 4, Lanes: 4, MaxPayload: 256}, 16, 64, 63.0, 57.2},
		{PCIeLink{Generation: 5, Lanes: 16, MaxPayload: 512}, 32, 512, 504.1, 479.8},
		{PCIeLink{Generation: 6, Lanes: 16, MaxPayload: 512}, 64, 1024, 1024, 915.4},
	}
	for _, tt := range tests {
		if err := tt.link.Check(); err != nil {
			t.Error(err)
			continue
		}
		near(t, "lane", tt.link.Transfers()/1e9, tt.lane, 1e-9)
		near(t, "raw", tt.link.Raw()/1e9, tt.raw, 1e-9)
		near(t, "encoded", tt.link.Encoded()/1e9, tt.encoded, 0.05)
		near(t, "effective", tt.link.Effective()/1e9, tt.effective, 0.06)
	}
}

// A link read from /sys is the one of its generation.
func TestPCIeAt(t *testing.T) {
	for generation, gts := range map[int]float64{1: 2.5, 2: 5, 3: 8, 4: 16, 5: 32, 6: 64} {
		l, err := PCIeAt(gts, 8)
		if err != nil || l.Generation != generation || l.Lanes != 8 {
			t.Errorf("%g GT/s is %v, %v; want generation %d", gts, l, err, generation)
		}
	}
	for _, bad := range []struct {
		gts   float64
		lanes int
	}{{3, 8}, {8, 3}, {0, 8}, {math.NaN(), 8}} {
		if l, err := PCIeAt(bad.gts, bad.lanes); err == nil {
			t.Errorf("%v was read as %v", bad, l)
		}
	}
}

func TestAbsurdLinksAreRefused(t *testing.T) {
	for _, l := range []PCIeLink{{0, 8, 0}, {7, 8, 0}, {3, 3, 0}, {3, 8, 100}, {3, -8, 0}} {
		if l.Check() == nil {
			t.Errorf("%+v was accepted", l)
		}
	}
	for name, err := range map[string]error{
		"short frame": second(FrameRate(10e9, 60)), "no link": second(FrameRate(0, 64)), "NaN link": second(FrameRate(math.NaN(), 64)),
		"no packets": second(PerPacket(0)), "too many lanes": second(SharedLink(1, 41, 40)),
		"tiny MTU": second(Packet{MTU: 40}.Goodput(1e9)), "no DDR": second(MemoryBandwidth(3.2, 2)), "no bus": second(FindBus("SATA-9")),
	} {
		if err == nil {
			t.Errorf("%s was accepted", name)
		}
	}
}

func second[T any](_ T, err error) error { return err }

func TestGoodput(t *testing.T) {
	tests := []struct {
		packet  Packet
		percent float64 // of the link
	}{
		{Packet{MTU: 1500}, 94.15},                 // 1448 of 1538
		{Packet{MTU: 1500, IPv6: true}, 92.85},     // 1428 of 1538
		{Packet{MTU: 9000}, 99.0},                  // 8948 of 9038
		{Packet{MTU: 1500, NoStamps: true}, 94.93}, // 1460 of 1538
		{Packet{MTU: 1500, UDP: true}, 95.71},      // 1472 of 1538
		{Packet{MTU: 1500, VLAN: true}, 93.90},     // 1448 of 1542
	}
	for _, tt := range tests {
		near(t, "share of the link", 100*must[float64](t)(tt.packet.Goodput(25e9))/25e9, tt.percent, 0.01)
	}
}

// TestBusesFollowFromTheirCode recomputes each nominal rate from the line.
func TestBusesFollowFromTheirCode(t *testing.T) {
	codes := map[string]float64{"8b/10b": 8.0 / 10, "64b/66b": 64.0 / 66, "256b/257b": 256.0 / 257, "256b/257b PAM4": 2 * 256.0 / 257, "128b/150b": 128.0 / 150}
	for _, b := range append(FibreChannel(), DriveInterfaces()...) {
		got := b.Line * codes[b.Code] / 8
		// Names round down: 8GFC carries 850 MB/s of words and sells as 800;
		// 64GFC spends a tenth on forward error correction.
		if b.Data > got*1.001 || b.Data < got*0.88 {
			t.Errorf("%s: sold as %g B/s, the line leaves %g", b.Name, b.Data, got)
		}
		if found, err := FindBus(b.Name); err != nil || found != b {
			t.Errorf("FindBus(%q) = %v, %v", b.Name, found, err)
		}
	}
}

func TestEffectiveNeverExceedsEncodedNorRaw(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		l := PCIeLink{
			Generation: rapid.IntRange(1, 6).Draw(t, "generation"),
			Lanes:      rapid.SampledFrom([]int{1, 2, 4, 8, 16, 32}).Draw(t, "lanes"),
			MaxPayload: rapid.SampledFrom([]int{0, 128, 256, 512, 4096}).Draw(t, "payload"),
		}
		if !(l.Effective() < l.Encoded() && l.Encoded() <= l.Raw()) {
			t.Errorf("%+v: effective %g, encoded %g, raw %g", l, l.Effective(), l.Encoded(), l.Raw())
		}
	})
}
