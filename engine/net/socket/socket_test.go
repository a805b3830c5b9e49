package socket

import (
	"context"
	"errors"
	"net"
	"net/netip"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

func TestDSCP(t *testing.T) {
	for text, want := range map[string]int{"0": 0, "63": 63, "0x2e": 46, "ef": 46, "EF": 46, "va": 44, "le": 1, "cs0": 0, "cs5": 40, "af11": 10, "af43": 38} {
		if got, err := ParseDSCP(text); err != nil || got != want {
			t.Errorf("%s: %d, %v, want %d", text, got, err, want)
		}
	}
	for _, bad := range []string{"", "64", "-1", "cs8", "af51", "af14", "gold", "0x40"} {
		if got, err := ParseDSCP(bad); err == nil {
			t.Errorf("%q was read as %d", bad, got)
		}
	}
}

func TestAddressesReadBack(t *testing.T) {
	for _, text := range []string{"127.0.0.1:80", "[::1]:80", "[2001:db8::1]:65535", "[fe80::1%1]:5"} {
		want := netip.MustParseAddrPort(text)
		if got := AddrPort(Address(want)); got != want {
			t.Errorf("%v became %v", want, got)
		}
	}
	mapped := netip.MustParseAddrPort("[::ffff:10.0.0.1]:9")
	if got := AddrPort(Address(mapped)); got.String() != "10.0.0.1:9" {
		t.Errorf("%v became %v", mapped, got)
	}
}

// TestOptionsTakeEffect: what is asked for is what the kernel says it has.
func TestOptionsTakeEffect(t *testing.T) {
	for _, host := range []string{"127.0.0.1", "::1"} {
		o := Options{Congestion: "reno", MSS: 1000, SendBuffer: 100_000, ReceiveBuffer: 200_000, DSCP: 46, Pacing: 1e9, Fragment: "never", NoDelay: true}
		at := netip.AddrPortFrom(netip.MustParseAddr(host), 0)
		listening, err := Listen(at, true, o)
		if err != nil {
			t.Fatal(err)
		}
		defer unix.Close(listening)
		bound, err := Local(listening)
		if err != nil {
			t.Fatal(err)
		}
		fd, err := Connect(t.Context(), bound, netip.AddrPort{}, true, o)
		if err != nil {
			t.Fatal(err)
		}
		defer unix.Close(fd)
		e := ReadBack(fd, true)
		if e.Congestion != "reno" || e.SendBuffer != 100_000 || e.ReceiveBuffer != 200_000 || e.MSS > 1000 || e.MSS < 900 {
			t.Errorf("%s: %+v", host, e)
		}
		level, name := unix.IPPROTO_IP, unix.IP_TOS
		if host == "::1" {
			level, name = unix.IPPROTO_IPV6, unix.IPV6_TCLASS
		}
		if tos, err := unix.GetsockoptInt(fd, level, name); err != nil || tos != 46<<2 {
			t.Errorf("%s: TOS %d, %v", host, tos, err)
		}
		if i, err := ReadInfo(fd); err != nil || i.SegmentSize > 1000 || i.SegmentSize < 900 {
			t.Errorf("%s: %+v, %v", host, i, err)
		}
		if PathMTU(fd, host == "::1") < 1280 {
			t.Errorf("%s: path MTU %d", host, PathMTU(fd, host == "::1"))
		}
	}
}

func TestOptionsThatCannotBe(t *testing.T) {
	for want, o := range map[string]Options{
		"setting congestion to nonesuch": {Congestion: "nonesuch"}, "setting device to nonesuch0": {Device: "nonesuch0"}, "setting mss to 70000": {MSS: 70000},
	} {
		fd, err := Listen(netip.MustParseAddrPort("127.0.0.1:0"), true, o)
		if err == nil {
			_ = unix.Close(fd)
		}
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %q", err, want)
		}
	}
}

// TestConnectGivesUp when its context is done, on an address that does not answer.
func TestConnectGivesUp(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	at := netip.MustParseAddrPort("192.0.2.1:9") // RFC 5737: nobody is there
	start := time.Now()
	fd, err := Connect(ctx, at, netip.AddrPort{}, true, Options{})
	if err == nil {
		_ = unix.Close(fd)
		t.Fatal("it connected")
	}
	if !errors.Is(err, context.Canceled) && !errors.Is(err, unix.ENETUNREACH) && !errors.Is(err, unix.EHOSTUNREACH) {
		t.Errorf("%v", err)
	}
	if time.Since(start) > 5*time.Second {
		t.Error("it took its time")
	}
}

// TestReceivesEnd within Patience, and signals do not begin the wait anew.
func TestReceivesEnd(t *testing.T) {
	fd, err := Listen(netip.MustParseAddrPort("127.0.0.1:0"), false, Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer unix.Close(fd)
	b, err := NewBuffer(100)
	if err != nil {
		t.Fatal(err)
	}
	defer FreeBuffer(b)
	for _, raw := range []bool{false, true} {
		n, errno := Conn{FD: fd, Raw: raw}.Receive(b, 0)
		if n != 0 || errno != ErrAgain {
			t.Errorf("raw %v: %d bytes, %v", raw, n, errno)
		}
	}
}

func TestThreadCPU(t *testing.T) {
	if got := ThreadCPU(unix.Gettid()); got <= 0 {
		t.Errorf("this thread has used %d ns", got)
	}
	if got := ThreadCPU(1 << 22); got != 0 {
		t.Errorf("a thread that is not there has used %d ns", got)
	}
}
