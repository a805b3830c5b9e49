package ring

import (
	"errors"
	"io"
	"net"
	"testing"
	"time"
)

// TestStamps: TCP data comes with the moment at which the kernel received it,
// although the loop looked for it later; Unix data with none. The kernel begins
// to stamp a little after it was asked to.
func TestStamps(t *testing.T) {
	each(t, Config{Stamps: true}, func(t *testing.T, l *Loop) {
		for network, stamped := range map[string]bool{"tcp": true, "unix": false} {
			fd, peer := pair(t, network)
			c := add(t, l, fd)
			if _, err := l.Wait(0); err != nil {
				t.Fatal(err)
			}
			const late = 20 * time.Millisecond
			var e Event
			var before, after int64
			for range 100 {
				before = time.Now().UnixNano()
				if _, err := peer.Write([]byte("data")); err != nil {
					t.Fatal(err)
				}
				after = time.Now().UnixNano()
				if e = next(t, l, late); e.Stamp != 0 || !stamped {
					break
				}
			}
			if string(e.Data) != "data" || (e.Stamp != 0) != stamped {
				t.Errorf("%s: got %q, stamp %d", network, e.Data, e.Stamp)
			}
			if stamped && (e.Stamp < before || e.Stamp > after+int64(late)/2) {
				t.Errorf("%s: stamped %d ns after it was sent", network, e.Stamp-before)
			}
			peer.Close()
			var end error
			until(t, l, func() bool { return end != nil }, func(e Event) { end = e.Err })
			if !errors.Is(end, io.EOF) {
				t.Errorf("%s: got %v, want EOF", network, end)
			}
			l.Remove(c)
		}
	})
}

// next waits out a time until there is an event, for at most 10 s.
func next(t *testing.T, l *Loop, wait time.Duration) Event {
	t.Helper()
	for begun := time.Now(); time.Since(begun) < 10*time.Second; {
		events, err := l.WaitOut(wait)
		if err != nil {
			t.Fatal(err)
		}
		if len(events) > 0 {
			return events[0]
		}
	}
	t.Fatal("the data never came")
	return Event{}
}

// TestWaitFor: io_uring waits for as many events as were asked for, and epoll for one.
func TestWaitFor(t *testing.T) {
	each(t, Config{}, func(t *testing.T, l *Loop) {
		var peers []net.Conn
		for range 3 {
			fd, peer := pair(t, "tcp")
			defer peer.Close()
			add(t, l, fd)
			peers = append(peers, peer)
		}
		if _, err := l.Wait(0); err != nil {
			t.Fatal(err)
		}
		done := make(chan error, 1)
		go func() {
			var err error
			for _, peer := range peers {
				time.Sleep(5 * time.Millisecond)
				_, failed := peer.Write([]byte("x"))
				err = errors.Join(err, failed)
			}
			done <- err
		}()
		most, all := 0, 0
		for begun := time.Now(); all < len(peers) && time.Since(begun) < 10*time.Second; {
			events, err := l.WaitFor(5*time.Second, len(peers))
			if err != nil {
				t.Fatal(err)
			}
			most, all = max(most, len(events)), all+len(events)
		}
		if err := <-done; err != nil {
			t.Fatal(err)
		}
		if all != len(peers) || l.Backend() == URing && most < len(peers) {
			t.Errorf("got %d events, at most %d at once", all, most)
		}
	})
}

// TestDiscard throws away stretches of a stream, and finds what is between them in
// its place.
func TestDiscard(t *testing.T) {
	const least, total = minBufferSize, 5 << 20
	stream := make([]byte, total)
	for i := range stream {
		stream[i] = byte(i % 251)
	}
	each(t, Config{Discards: true, BufferSize: least}, func(t *testing.T, l *Loop) {
		fd, peer := pair(t, "tcp")
		c := add(t, l, fd)
		go func() {
			_, _ = peer.Write(stream)
			_ = peer.Close()
		}()
		at, asked, thrown := 0, 0, 0
		var end error
		until(t, l, func() bool { return end != nil }, func(e Event) {
			if end = e.Err; end != nil {
				return
			}
			if e.Discarded > 0 {
				at, thrown = at+e.Discarded, thrown+e.Discarded
			}
			for i, b := range e.Data {
				if b != byte((at+i)%251) {
					t.Fatalf("byte %d of the stream is another's", at+i)
				}
			}
			if at += len(e.Data); len(e.Data) > least {
				t.Errorf("%d bytes came at once, expected at most %d", len(e.Data), least)
			}
			if len(e.Data) > 0 && c.Discard == 0 && at < total/2 { // more than can be thrown away at a time, and less
				c.Discard = 1 + (asked*700_001)%(maxDiscard+maxDiscard/2)
				asked += c.Discard
			}
		})
		if !errors.Is(end, io.EOF) || at != total {
			t.Errorf("ended with %v after %d of %d bytes", end, at, total)
		}
		if thrown != asked || asked == 0 || c.Discard != 0 {
			t.Errorf("%d bytes were thrown away, %d to be; %d are left", thrown, asked, c.Discard)
		}
		l.Remove(c)
	})
	if _, err := New(Config{Discards: true, Stamps: true}); err == nil {
		t.Error("discards with stamps are taken")
	}
}

func TestWaitOut(t *testing.T) {
	each(t, Config{}, func(t *testing.T, l *Loop) {
		fd, peer := pair(t, "tcp")
		defer peer.Close()
		add(t, l, fd)
		if _, err := peer.Write([]byte("at once")); err != nil {
			t.Fatal(err)
		}
		begun := time.Now()
		var got string
		for range 100 { // a signal may end it early
			events, err := l.WaitOut(5 * time.Millisecond)
			if err != nil {
				t.Fatal(err)
			}
			for _, e := range events {
				got += string(e.Data)
			}
			if time.Since(begun) >= 5*time.Millisecond {
				break
			}
		}
		if got != "at once" || time.Since(begun) < 5*time.Millisecond {
			t.Errorf("got %q after %v", got, time.Since(begun))
		}
	})
}
