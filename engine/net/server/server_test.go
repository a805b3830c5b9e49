package server

import (
	"context"
	"encoding/binary"
	"io"
	"net"
	"net/netip"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"bakeoff/engine/net/flow"
	"bakeoff/engine/net/iperf3"
	"bakeoff/engine/net/socket"
)

// TestServeLeavesNothing: a server that is told to end in the middle of
// conversations ends, and leaves no goroutine behind.
func TestServeLeavesNothing(t *testing.T) {
	defer goleak.VerifyNone(t)
	ctx, cancel := context.WithCancel(t.Context())
	ready := make(chan []string, 1)
	done := make(chan error, 1)
	go func() {
		done <- Serve(ctx, Config{Listen: []string{"tcp://127.0.0.1:0", "iperf3://127.0.0.1:0"}, Ready: func(targets []string) { ready <- targets }})
	}()
	var open []net.Conn
	for _, target := range <-ready {
		_, address, _ := strings.Cut(target, "://")
		conn, err := net.Dial("tcp", address)
		if err != nil {
			t.Fatal(err)
		}
		open = append(open, conn)
		if _, err := io.WriteString(conn, "BAKE"); err != nil { // and no more
			t.Fatal(err)
		}
	}
	cancel()
	if err := <-done; err != nil {
		t.Errorf("it ended with %v", err)
	}
	for _, c := range open {
		_ = c.Close()
	}
}

func TestConfigsThatCannotBe(t *testing.T) {
	for name, c := range map[string]Config{
		"nowhere": {}, "another scheme": {Listen: []string{"http://127.0.0.1:0"}}, "no host": {Listen: []string{"tcp://"}}, "no URL": {Listen: []string{"::"}},
		"rate": {Listen: []string{"tcp://127.0.0.1:0"}, Rate: -1}, "ports": {Listen: []string{"tcp://127.0.0.1:0"}, Ports: [2]uint16{2, 1}},
	} {
		if err := Serve(t.Context(), c); err == nil {
			t.Errorf("%s: it serves", name)
		}
	}
}

func TestBusyTicks(t *testing.T) {
	if got := busyTicks([]byte("cpu  10 20 30 400 50 6 7 8 9 10")); got != 10+20+30+6+7 {
		t.Errorf("%d ticks", got)
	}
	for _, bad := range []string{"", "cpu0 1 2 3 4 5 6 7", "cpu 1 2 3", "cpu a b c d e f g h"} {
		if got := busyTicks([]byte(bad)); got != 0 {
			t.Errorf("%q gives %d ticks", bad, got)
		}
	}
}

// clock is one that a test sets.
type clock struct{ now int64 }

func (c *clock) Now() int64 { return c.now }

// TestPace: never more than the rate over the time, but for what was missed
// within a tenth of a second.
func TestPace(t *testing.T) {
	c := &clock{now: 1e9}
	p := pace{clock: c, rate: 1e9, end: 1 << 62, tick: func(int64) {}}
	conn := socket.Conn{FD: -1}
	for range 3 { // 100 kB at 1 GB/s are due 100 us later
		before := p.due
		if err := p.moved(t.Context(), conn, 100_000); err != nil {
			t.Fatal(err)
		}
		if before != 0 && p.due-before != 100e3 {
			t.Errorf("due %g ns after the one before, want 100 us", p.due-before)
		}
		c.now = int64(p.due)
	}
	c.now += 10e9 // a long stop
	if err := p.moved(t.Context(), conn, 1); err != nil || c.now-int64(p.due) > int64(socket.Patience) {
		t.Errorf("%v: %d ns may be made up for", err, c.now-int64(p.due))
	}
	p.end = c.now
	if err := p.moved(t.Context(), conn, 1); err != io.EOF {
		t.Errorf("after its time: %v", err)
	}
	if n := (&pace{rate: 1e6}).burst(352, 1000); n != 1 {
		t.Errorf("a burst of %d datagrams at 1 MB/s", n)
	}
	if n := (&pace{}).burst(352, 1000); n != 352 {
		t.Errorf("a burst of %d datagrams without a rate", n)
	}
}

func TestThinned(t *testing.T) {
	all := make([]flow.Sample, 100)
	for i := range all {
		all[i].At = int64(i)
	}
	for most, want := range map[int]int{0: 1, 1: 1, 10: 10, 60: 50, 100: 100, 1000: 100} {
		if got := thinned(all, most); len(got) != want || got[0].At != 0 {
			t.Errorf("at most %d: %d left", most, len(got))
		}
	}
	if len(thinned(nil, 5)) != 0 {
		t.Error("something out of nothing")
	}
}

func TestAnswersOfIPerf3(t *testing.T) {
	for _, order := range []binary.AppendByteOrder{binary.LittleEndian, binary.BigEndian} {
		for ask, want := range map[uint32]uint32{iperf3.ConnectMessage: iperf3.ConnectReply, iperf3.LegacyMessage: iperf3.LegacyReply} {
			got, ok := iperfAnswer(order.AppendUint32(nil, ask))
			if !ok || string(got) != string(order.AppendUint32(nil, want)) {
				t.Errorf("%x is answered with % x, %v", ask, got, ok)
			}
		}
	}
	for _, bad := range []string{"", "abc", "abcd", "abcde"} {
		if _, ok := iperfAnswer([]byte(bad)); ok {
			t.Errorf("%q is answered", bad)
		}
	}
}

func TestAllowed(t *testing.T) {
	s := &server{cfg: Config{Allow: []netip.Prefix{netip.MustParsePrefix("10.1.0.0/16"), netip.MustParsePrefix("fd00::/8")}}}
	for text, want := range map[string]bool{"10.1.2.3": true, "10.2.0.1": false, "fd12::1": true, "fe80::1": false, "127.0.0.1": false} {
		if got := s.allowed(netip.MustParseAddr(text)); got != want {
			t.Errorf("%s: allowed %v", text, got)
		}
	}
	if s.allowed(netip.Addr{}) {
		t.Error("nobody in particular is allowed")
	}
}

// TestReserveWaits for what is about to be given back, and refuses what can never be.
func TestReserveWaits(t *testing.T) {
	s := &server{cfg: Config{Connections: 2}}
	if err := s.reserve(t.Context(), 2); err != nil {
		t.Fatal(err)
	}
	timer := time.AfterFunc(50*time.Millisecond, func() { s.release(2) })
	defer timer.Stop()
	if err := s.reserve(t.Context(), 2); err != nil {
		t.Errorf("it did not wait: %v", err)
	}
	if err := s.reserve(t.Context(), 3); err == nil || !strings.Contains(err.Error(), "2 of at most 2") {
		t.Errorf("%v", err)
	}
}
