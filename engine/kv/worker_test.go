package kv

import (
	"fmt"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"bakeoff/load"
)

// TestCompletionsOfAnyStream feeds a worker the replies to random operations,
// cut anywhere, and expects each operation back once, with its outcome.
func TestCompletionsOfAnyStream(t *testing.T) {
	clock := newClock(t)
	rapid.Check(t, func(rt *rapid.T) {
		w, c := offlineClock(rt, clock, map[string]any{"ratio": "1:1", "pipeline": 64})
		want := &tally{done: map[string]uint64{}, errs: map[string]uint64{}}
		var stream []byte
		for stamp := range int64(rapid.IntRange(1, 8).Draw(rt, "groups")) {
			kind := rapid.SampledFrom([]uint8{kindGet, kindSet}).Draw(rt, "kind")
			n := rapid.Uint32Range(1, 8).Draw(rt, "n")
			g, _ := c.push(&load.Op{Sent: stamp, Intended: stamp}, kind, n, false)
			g.bytes = uint64(n) * 10
			for range n {
				one, outcome, items := someReply(rt, kind)
				stream = append(stream, one...)
				want.done[outcome]++
				want.items += items
			}
			want.out += g.bytes
		}
		c.sent = c.tail
		want.in = uint64(len(stream))
		got := &tally{done: map[string]uint64{}, errs: map[string]uint64{}}
		for len(stream) > 0 {
			n := min(rapid.IntRange(1, 60).Draw(rt, "cut"), len(stream))
			if err := w.receive(c, append([]byte(nil), stream[:n]...)); err != nil {
				rt.Fatal(err)
			}
			stream = stream[n:]
		}
		last := int64(-1)
		for _, d := range w.out {
			if d.Sent < last || d.Sent != d.Intended || d.Slot != c.slot {
				rt.Fatalf("%+v after stamp %d", d, last)
			}
			last = d.Sent
			got.add(d)
		}
		if fmt.Sprint(got.done) != fmt.Sprint(want.done) || got.items != want.items || got.in != want.in || got.out != want.out {
			rt.Fatalf("got %v, %d items, %d bytes in, %d out; want %v, %d, %d, %d", got.done, got.items, got.in, got.out, want.done, want.items, want.in, want.out)
		}
		if c.busy != 0 || !c.idle() {
			rt.Fatalf("%d operations are left", c.busy)
		}
	})
}

// someReply draws a reply to an operation: mostly the same one, as in a load.
func someReply(t *rapid.T, kind uint8) (stream, outcome string, items uint64) {
	k := rapid.IntRange(0, 9).Draw(t, "reply")
	switch {
	case k == 0:
		return "-ERR no\r\n", []string{"get failed", "set failed"}[kind], 0
	case kind == kindSet && k == 1:
		return ":1\r\n", "set failed", 0
	case kind == kindSet:
		return "+OK\r\n", "set ok", 1
	case k == 1:
		return "$-1\r\n", "get miss", 0
	case k == 2:
		return "+OK\r\n", "get failed", 0
	case k == 3:
		return "$3\r\nabc\r\n", "get ok", 1
	}
	return "$32\r\n" + strings.Repeat("x", 32) + "\r\n", "get ok", 1
}

func TestMixDrawsTheRatio(t *testing.T) {
	w, _ := offline(t, map[string]any{"ratio": "1:3"})
	counts := map[uint8]uint32{}
	for counts[kindGet]+counts[kindSet] < 100_000 {
		kind, n := w.mix.run(16)
		if n < 1 || n > 16 {
			t.Fatalf("a run of %d", n)
		}
		counts[kind] += n
	}
	if share := float64(counts[kindSet]) / 100_000; share < 0.24 || share > 0.26 {
		t.Errorf("%g of the operations are sets, want a quarter", share)
	}
}
