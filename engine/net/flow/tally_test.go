package flow

import (
	"math"
	"slices"
	"testing"

	"pgregory.net/rapid"
)

// slowTally judges datagrams as the definitions read, with all of them in hand.
type slowTally struct {
	numbers  []uint64
	transits []int64
}

func (s *slowTally) judge() (c Counts) {
	seen := map[uint64]bool{}
	next := uint64(0)
	jitter, last, any := 0.0, int64(0), false
	for i, n := range s.numbers {
		if seen[n] {
			c.Duplicates++
			continue
		}
		seen[n] = true
		c.Units++
		if n < next {
			c.Reordered++
		} else {
			next = n + 1
		}
		if any {
			d := math.Abs(float64(s.transits[i] - last))
			jitter += (d - jitter) / 16
			c.Deviation += d
			c.Deviations++
		}
		any, last = true, s.transits[i]
	}
	c.Expected, c.Jitter = next, jitter
	return c
}

// TestTallyJudgesAsTheDefinitionsRead: any order of any datagrams within the
// window, lost, repeated and out of order.
func TestTallyJudgesAsTheDefinitionsRead(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var slow slowTally
		var fast Tally
		at := rapid.Uint64Range(0, 3).Draw(t, "first")
		for range rapid.IntRange(0, 300).Draw(t, "datagrams") {
			switch rapid.IntRange(0, 9).Draw(t, "what") {
			case 0:
				at += rapid.Uint64Range(1, 500).Draw(t, "lost")
			case 1:
				back := rapid.Uint64Range(0, min(at, 200)).Draw(t, "back")
				at -= back
			default:
				at++
			}
			sent := rapid.Int64Range(0, 1e9).Draw(t, "sent")
			transit := rapid.Int64Range(-1e6, 1e6).Draw(t, "transit")
			slow.numbers, slow.transits = append(slow.numbers, at), append(slow.transits, transit)
			fast.Add(at, sent, sent+transit)
		}
		var got Counts
		fast.Into(&got)
		want := slow.judge()
		if math.Abs(got.Jitter-want.Jitter) > 1e-6*max(1, want.Jitter) {
			t.Fatalf("jitter %g, want %g", got.Jitter, want.Jitter)
		}
		got.Jitter = want.Jitter
		if got != want {
			t.Fatalf("%+v, want %+v of %v", got, want, slow.numbers)
		}
	})
}

func TestTally(t *testing.T) {
	for _, c := range []struct {
		name                                   string
		numbers                                []uint64
		units, expected, duplicates, reordered uint64
	}{
		{"in order", []uint64{0, 1, 2, 3}, 4, 4, 0, 0},
		{"one lost", []uint64{0, 1, 3}, 3, 4, 0, 0},
		{"the first lost", []uint64{2}, 1, 3, 0, 0},
		{"one late", []uint64{0, 2, 1, 3}, 4, 4, 0, 1},
		{"one twice", []uint64{0, 1, 1, 2}, 3, 3, 1, 0},
		{"late and twice", []uint64{0, 2, 1, 1, 0}, 3, 3, 2, 1},
		{"a late one after the window is new and reordered", []uint64{0, window + 5, 3}, 3, window + 6, 0, 1},
		{"a leap over the window forgets what was seen", []uint64{1, 3*window + 1, 2*window + 2}, 3, 3*window + 2, 0, 1},
		{"the number a window on is not a duplicate", []uint64{7, window + 7}, 2, window + 8, 0, 0},
	} {
		var t1 Tally
		for _, n := range c.numbers {
			t1.Add(n, 0, 0)
		}
		var got Counts
		t1.Into(&got)
		if have, want := []uint64{got.Units, got.Expected, got.Duplicates, got.Reordered}, []uint64{c.units, c.expected, c.duplicates, c.reordered}; !slices.Equal(have, want) {
			t.Errorf("%s: received, expected, duplicates, reordered %v, want %v", c.name, have, want)
		}
	}
}

// TestJitterOfRFC3550 is the estimator on transit times that alternate by 16 ms:
// the first step is a sixteenth of the difference.
func TestJitterOfRFC3550(t *testing.T) {
	var tally Tally
	for i := range 2 {
		tally.Add(uint64(i), int64(i)*20e6, int64(i)*20e6+int64(i%2)*16e6)
	}
	var c Counts
	if tally.Into(&c); c.Jitter != 1e6 {
		t.Errorf("jitter %g ns, want 1 ms", c.Jitter)
	}
	for i := 2; i < 1000; i++ {
		tally.Add(uint64(i), int64(i)*20e6, int64(i)*20e6+int64(i%2)*16e6)
	}
	if tally.Into(&c); math.Abs(c.Jitter-16e6) > 1e3 || c.Deviation/float64(c.Deviations) != 16e6 {
		t.Errorf("jitter %g ns, mean change %g, want 16 ms for both", c.Jitter, c.Deviation/float64(c.Deviations))
	}
}

func TestFormatsReadBack(t *testing.T) {
	for _, f := range []Format{{Key: 0xfeed}, {IPerf: true}, {IPerf: true, Wide: true}} {
		b := make([]byte, 64)
		f.put(b, 41, 5_000_001_000)
		number, sent, ok := f.get(b, 40)
		if !ok || number != 41 || sent != 5_000_001_000 {
			t.Errorf("%+v: number %d, sent %d, %v", f, number, sent, ok)
		}
		if _, _, ok := f.get(b[:f.HeaderSize()-1], 0); ok {
			t.Errorf("%+v: a datagram too short was taken", f)
		}
	}
	b := make([]byte, 64)
	Format{Key: 1}.put(b, 0, 0)
	if _, _, ok := (Format{Key: 2}).get(b, 0); ok {
		t.Error("a datagram of another measurement was taken")
	}
	Format{Key: 1}.put(b, 1<<50, 0)
	if _, _, ok := (Format{Key: 1}).get(b, 0); ok {
		t.Error("a number that cannot be was taken")
	}
	Format{IPerf: true}.put(b, 0, 0)
	copy(b[8:12], make([]byte, 4)) // number 0, which iperf3 does not use
	if n, _, ok := (Format{IPerf: true}).get(b, 0); ok {
		t.Errorf("number 0 of iperf3 was taken, as %d", n)
	}
}

// FuzzDatagrams: whatever comes in, a receiver counts it without harm.
func FuzzDatagrams(f *testing.F) {
	b := make([]byte, 48)
	Format{Key: 7}.put(b, 3, 9)
	f.Add(b, uint16(24), false, false)
	f.Add([]byte{1, 2, 3}, uint16(0), true, true)
	f.Fuzz(func(t *testing.T, b []byte, segment uint16, iperf, wide bool) {
		r := &DatagramReceiver{d: Datagrams{Format: Format{IPerf: iperf, Wide: wide, Key: 7}}}
		r.message(b, max(int(segment), 1), 1000)
		r.tally.Into(&r.counts)
		if c := r.counts; c.Bytes > uint64(len(b)) || c.Units > c.Expected || c.Units+c.Foreign+c.Duplicates > uint64(len(b)) {
			t.Errorf("%+v of %d bytes", c, len(b))
		}
	})
}
