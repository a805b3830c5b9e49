package gather_test

import (
	"context"
	"net"
	"runtime"
	"strings"
	"testing"
	"time"

	"bakeoff/load"
	"bakeoff/load/gather"
	"bakeoff/load/ring"
)

// reading is what Read makes of a plan's text.
func reading(t *testing.T, text any, common load.Common, network string, inFlight int) (gather.Policy, error) {
	t.Helper()
	parameters := map[string]any{}
	if text != nil {
		parameters["gather"] = text
	}
	p, err := load.ReadParams("test", load.Description{Parameters: []load.Parameter{gather.Parameter()}}, parameters)
	if err != nil {
		t.Fatal(err)
	}
	return gather.Read(p, common, network, inFlight)
}

func TestRead(t *testing.T) {
	const us = time.Microsecond
	for _, c := range []struct {
		name     string
		text     any
		common   load.Common
		network  string
		inFlight int
		want     gather.Policy
		bad      string
	}{
		{"left out", nil, load.Common{}, "tcp", 50, gather.Policy{}, ""},
		{"one, of one connection", 1, load.Common{}, "tcp", 1, gather.Policy{}, ""},
		{"one, on a Unix socket", 1, load.Common{}, "unix", 8, gather.Policy{}, ""},
		{"half", 25, load.Common{}, "tcp", 50, gather.Policy{Patience: 200 * us, Answers: 25}, ""},
		{"a quantum bounds it", 8, load.Common{Quantum: 50 * us}, "tcp", 50, gather.Policy{Patience: 50 * us, Answers: 8}, ""},
		{"the quantum of an open loop", nil, load.Common{Rate: 1000, Quantum: 50 * us}, "tcp", 50, gather.Policy{Patience: 50 * us}, ""},
		{"steps are an open loop", nil, load.Common{Steps: []load.RateStep{{From: 1, To: 2}}, Quantum: 50 * us}, "tcp", 50, gather.Policy{Patience: 50 * us}, ""},
		{"no stamps, no patience", nil, load.Common{Rate: 1000, Quantum: 50 * us}, "unix", 50, gather.Policy{}, ""},
		{"more than half", 26, load.Common{}, "tcp", 50, gather.Policy{}, "up to 25"},
		{"two of three", 2, load.Common{}, "tcp", 3, gather.Policy{}, "up to 1"},
		{"none", 0, load.Common{}, "tcp", 50, gather.Policy{}, "found 0"},
		{"less than none", -5, load.Common{}, "tcp", 50, gather.Policy{}, "found -5"},
		{"on a Unix socket", 8, load.Common{}, "unix", 50, gather.Policy{}, "unix socket"},
		{"in an open loop", 8, load.Common{Rate: 1000}, "tcp", 50, gather.Policy{}, "open loop"},
	} {
		t.Run(c.name, func(t *testing.T) {
			got, err := reading(t, c.text, c.common, c.network, c.inFlight)
			if c.bad == "" && err != nil || c.bad != "" && (err == nil || !strings.Contains(err.Error(), c.bad)) {
				t.Fatalf("error is %v, want one with %q", err, c.bad)
			}
			if got != c.want {
				t.Errorf("policy is %+v, want %+v", got, c.want)
			}
		})
	}
}

// TestWait: two answers come 20 ms apart. The first waits for the second, and the
// stamps still tell them apart.
func TestWait(t *testing.T) {
	if err := ring.Available(); err != nil {
		t.Skip(err) // epoll cannot count: it does not gather
	}
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	clock, err := load.NewMachine("/").NewClock(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	l, err := ring.New(ring.Config{Backend: ring.URing, Stamps: true})
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := l.Close(); err != nil {
			t.Error(err)
		}
	}()
	var peers [2]net.Conn
	for i := range peers {
		peers[i] = connected(t, l, i)
	}
	if _, err := l.Wait(0); err != nil {
		t.Fatal(err)
	}
	const apart = 20 * time.Millisecond
	w := gather.New(gather.Policy{Patience: 5 * time.Second, Answers: 2}, l, clock)
	for attempt := 0; ; attempt++ { // the kernel begins to stamp a little after it was asked to
		sent := make(chan [2]int64, 1)
		go func() {
			var at [2]int64
			for i, peer := range peers {
				time.Sleep(time.Duration(i) * apart)
				at[i] = clock.Now()
				_, _ = peer.Write([]byte("answer"))
			}
			sent <- at
		}()
		var stamps [2]int64
		for n := 0; n < 2; {
			events, err := w.Wait(10 * time.Second)
			if err != nil {
				t.Fatal(err)
			}
			for i := range events {
				stamps[events[i].Conn.Tag] = w.Stamp(&events[i])
				n++
			}
		}
		at := <-sent
		if (stamps[0] == 0 || stamps[1] == 0) && attempt < 100 {
			continue
		}
		for i := range stamps {
			if late := stamps[i] - at[i]; late < -int64(apart)/4 || late > int64(apart)/2 {
				t.Errorf("answer %d is stamped %d ns after it was sent", i, late)
			}
		}
		return
	}
}

// connected adds a connection to the loop, tagged, and returns its peer.
func connected(t *testing.T, l *ring.Loop, tag int) net.Conn {
	t.Helper()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer ln.Close()
	conn, err := net.Dial("tcp", ln.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	fd, err := ring.Take(conn)
	if err != nil {
		t.Fatal(err)
	}
	peer, err := ln.Accept()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = peer.Close() })
	c, err := l.Add(fd)
	if err != nil {
		t.Fatal(err)
	}
	c.Tag = tag
	return peer
}
