package flow

import (
	"context"
	"errors"
	"io"
	"net/netip"
	"runtime"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"bakeoff/engine/net/socket"
)

// pair connects two sockets over an address of the loopback.
func pair(t *testing.T, host string, stream bool, o socket.Options) (a, b socket.Conn) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
	defer cancel()
	at := netip.AddrPortFrom(netip.MustParseAddr(host), 0)
	listening, err := socket.Listen(at, stream, o)
	if err != nil {
		t.Fatal(err)
	}
	bound, err := socket.Local(listening)
	if err != nil {
		t.Fatal(err)
	}
	fd, err := socket.Connect(ctx, bound, netip.AddrPort{}, stream, o)
	if err != nil {
		t.Fatal(err)
	}
	other := listening
	if stream {
		if other, _, err = socket.Accept(ctx, listening); err != nil {
			t.Fatal(err)
		}
		_ = unix.Close(listening)
	} else {
		mine, err := socket.Local(fd)
		if err != nil {
			t.Fatal(err)
		}
		if err := unix.Connect(other, socket.Address(mine)); err != nil {
			t.Fatal(err)
		}
	}
	t.Cleanup(func() { _ = unix.Close(fd); _ = unix.Close(other) })
	return socket.Conn{FD: fd}, socket.Conn{FD: other}
}

// wall is a clock.
type wall struct{}

func (wall) Now() int64 { return time.Now().UnixNano() }

func TestStreams(t *testing.T) {
	const block, blocks = 100_000, 40
	for _, how := range []ZeroCopy{Copy, SendFile, MsgZeroCopy} {
		for _, discard := range []bool{false, true} {
			for _, host := range []string{"127.0.0.1", "::1"} {
				a, b := pair(t, host, true, socket.Options{})
				var out, in Meter
				s, err := NewStreamSender(a, block, how, &out)
				if err != nil {
					t.Fatal(err)
				}
				sent := make(chan error, 1)
				go func() {
					for n := 0; n < blocks; {
						done, err := s.Block(true)
						if err != nil {
							sent <- err
							return
						}
						if done {
							n++
						}
					}
					sent <- unix.Shutdown(a.FD, unix.SHUT_WR)
				}()
				r, err := NewStreamReceiver(b, block, discard, &in)
				if err != nil {
					t.Fatal(err)
				}
				for {
					if _, err = r.Block(true); err != nil {
						break
					}
				}
				if sentErr := <-sent; !errors.Is(err, io.EOF) || sentErr != nil {
					t.Fatalf("%s, discard %v, %s: %v, %v", how, discard, host, err, sentErr)
				}
				if o, i := out.Read(), in.Read(); o.Bytes != block*blocks || o.Units != blocks || i.Bytes != o.Bytes || i.Units != blocks {
					t.Errorf("%s, discard %v, %s: sent %+v, received %+v", how, discard, host, o, i)
				}
				if err := errors.Join(s.Close(), r.Close()); err != nil {
					t.Error(err)
				}
			}
		}
	}
}

// TestAFullSocketEndsTheBlockLater: a block that does not fit is sent on where it
// was left, and a call without waiting returns at once.
func TestAFullSocketEndsTheBlockLater(t *testing.T) {
	const block = 8 << 20
	a, b := pair(t, "127.0.0.1", true, socket.Options{})
	var out, in Meter
	s, err := NewStreamSender(a, block, Copy, &out)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	if done, err := s.Block(false); done || err != nil {
		t.Fatalf("a block of 8 MiB went into a socket that nobody reads: %v, %v", done, err)
	}
	r, err := NewStreamReceiver(b, block, false, &in)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	got := false
	for sent := false; !got; {
		if !sent {
			if sent, err = s.Block(false); err != nil {
				t.Fatal(err)
			}
		}
		if got, err = r.Block(false); err != nil {
			t.Fatal(err)
		}
	}
	if in.Read().Bytes != block {
		t.Errorf("received %+v", in.Read())
	}
}

func TestDatagrams(t *testing.T) {
	for _, host := range []string{"127.0.0.1", "::1"} {
		for _, d := range []Datagrams{
			{Size: 1448, Batch: 8, Segments: true}, {Size: 1448, Batch: 8}, {Size: 24, Batch: 1}, {Size: 65000, Batch: 2, Segments: true},
			{Size: 100, Batch: 4, Segments: true, Format: Format{IPerf: true}}, {Size: 100, Batch: 4, Format: Format{IPerf: true, Wide: true}},
		} {
			a, b := pair(t, host, false, socket.Options{})
			var out, in Meter
			s, err := NewDatagramSender(a, d, &out)
			if err != nil {
				t.Fatal(err)
			}
			r, err := NewDatagramReceiver(b, d, wall{}, &in)
			if err != nil {
				t.Fatal(err)
			}
			sent, received := 0, 0
			for sent < 500 {
				n, err := s.Send(min(d.PerCall(), 7), wall{}.Now(), true)
				if err != nil {
					t.Fatal(err)
				}
				for sent += n; received < sent; {
					n, _, err := r.Receive(true)
					if err != nil || n == 0 {
						t.Fatalf("%s %+v: %d of %d datagrams: %v", host, d, received, sent, err)
					}
					received += n
				}
			}
			if o, i := out.Read(), in.Read(); o.Units != uint64(sent) || i.Units != o.Units || i.Bytes != o.Bytes || i.Expected != i.Units || i.Reordered+i.Duplicates+i.Foreign > 0 {
				t.Errorf("%s %+v: sent %+v, received %+v", host, d, o, i)
			}
			if err := errors.Join(s.Close(), r.Close()); err != nil {
				t.Error(err)
			}
		}
	}
}

// TestDatagramsLongerThanTheMTU, over a loopback of 1500 bytes in a network
// namespace that the thread has to itself.
func TestDatagramsLongerThanTheMTU(t *testing.T) {
	done := make(chan struct{})
	go func() { // its thread dies with it, and the namespace with that
		defer close(done)
		runtime.LockOSThread()
		if !narrowLoopback(t) {
			return
		}
		d := Datagrams{Size: 4000, Batch: 4, Segments: true}
		a, b := pair(t, "127.0.0.1", false, socket.Options{})
		var out, in Meter
		s, err := NewDatagramSender(a, d, &out)
		if err != nil {
			t.Error(err)
			return
		}
		defer s.Close()
		r, err := NewDatagramReceiver(b, d, wall{}, &in)
		if err != nil {
			t.Error(err)
			return
		}
		defer r.Close()
		for range 10 {
			if _, err := s.Send(8, wall{}.Now(), true); err != nil {
				t.Error(err)
			}
			if _, _, err := r.Receive(true); err != nil {
				t.Error(err)
			}
		}
		if in.Read().Units == 0 || s.Segmenting() {
			t.Errorf("received %+v, still segmenting: %v; expected fragments, a message each", in.Read(), s.Segmenting())
		}
		a, _ = pair(t, "127.0.0.1", false, socket.Options{Fragment: "never"})
		s2, err := NewDatagramSender(a, d, &out)
		if err != nil {
			t.Error(err)
			return
		}
		defer s2.Close()
		for range 10 {
			if _, err = s2.Send(8, wall{}.Now(), true); err != nil {
				break
			}
		}
		if !errors.Is(err, ErrTooLong) || !strings.Contains(err.Error(), "1500") {
			t.Errorf("with DF set: %v, expected %v and the MTU", err, ErrTooLong)
		}
	}()
	<-done
}

// narrowLoopback gives the calling thread a namespace of its own.
func narrowLoopback(t *testing.T) bool {
	if err := unix.Unshare(unix.CLONE_NEWNET); err != nil {
		t.Logf("making a network namespace: %v", err) // it needs root
		return false
	}
	fd, err := unix.Socket(unix.AF_INET, unix.SOCK_DGRAM, 0)
	if err != nil {
		t.Error(err)
		return false
	}
	defer unix.Close(fd)
	r, err := unix.NewIfreq("lo")
	if err != nil {
		t.Error(err)
		return false
	}
	r.SetUint32(1500)
	if err := unix.IoctlIfreq(fd, unix.SIOCSIFMTU, r); err != nil {
		t.Error(err)
		return false
	}
	r.SetUint16(unix.IFF_UP)
	if err := unix.IoctlIfreq(fd, unix.SIOCSIFFLAGS, r); err != nil {
		t.Error(err)
		return false
	}
	return true
}

func TestPings(t *testing.T) {
	for _, stream := range []bool{true, false} {
		for _, size := range []int{1, 7, 8, 1000, 60_000} {
			a, b := pair(t, "::1", stream, socket.Options{NoDelay: true})
			var out, in Meter
			p, err := NewPinger(a, stream, size, &out)
			if err != nil {
				t.Fatal(err)
			}
			e, err := NewEcho(b, stream, size, &in)
			if err != nil {
				t.Fatal(err)
			}
			ping := func() {
				if err := p.Begin(); err != nil {
					t.Fatal(err)
				}
			}
			answered := func() {
				for range 1000 {
					if err := e.Turn(false); err != nil {
						t.Fatal(err)
					}
					done, err := p.Poll(false)
					if err != nil {
						t.Fatal(err)
					}
					if done {
						return
					}
				}
				t.Fatalf("stream %v, %d bytes: no answer", stream, size)
			}
			for range 5 {
				ping()
				answered()
			}
			ping() // one that is given up, and answered too late
			p.Abandon()
			ping()
			answered()
			if n := out.Read(); n.Units != 6 || in.Read().Units < 6 {
				t.Errorf("stream %v, %d bytes: %+v, %+v", stream, size, n, in.Read())
			}
			if err := errors.Join(p.Close(), e.Close()); err != nil {
				t.Error(err)
			}
		}
	}
}

func TestBlocks(t *testing.T) {
	const block, depth = 300_000, 5
	for _, discard := range []bool{false, true} {
		a, b := pair(t, "127.0.0.1", true, socket.Options{NoDelay: true})
		var out, in Meter
		s, err := NewBlockServer(b, block, discard, &in)
		if err != nil {
			t.Fatal(err)
		}
		ended := make(chan error, 1)
		go func() {
			for {
				if err := s.Turn(); err != nil {
					ended <- err
					return
				}
			}
		}()
		c, err := NewBlockClient(a, block, depth, discard, &out)
		if err != nil {
			t.Fatal(err)
		}
		asked, answered, writes, wrote := 0, 0, 0, 0
		for answered < 200 {
			for asked < 200 && asked-answered < depth {
				write := asked%3 == 0
				c.Request(write)
				if asked++; write {
					writes++
				}
			}
			if err := c.Push(); err != nil {
				t.Fatal(err)
			}
			err := c.Pull(!c.Out(), func(write bool) {
				if answered++; write {
					wrote++
				}
			})
			if err != nil {
				t.Fatal(err)
			}
		}
		if err := unix.Shutdown(a.FD, unix.SHUT_WR); err != nil {
			t.Fatal(err)
		}
		if err := <-ended; !errors.Is(err, io.EOF) {
			t.Errorf("the server ended with %v", err)
		}
		if wrote != writes || out.Read().Bytes != 200*block || in.Read().Bytes != 200*block {
			t.Errorf("discard %v: %d of %d writes answered, %+v, %+v", discard, wrote, writes, out.Read(), in.Read())
		}
		if err := errors.Join(s.Close(), c.Close()); err != nil {
			t.Error(err)
		}
	}
}

// FuzzBlockAnswers: a client refuses whatever is no answer to what it asked for.
func FuzzBlockAnswers(f *testing.F) {
	good := make([]byte, blockHeader)
	putRequest(good, blockRequest{tag: 0, op: opWrite, length: 64})
	f.Add(good, uint8(16))
	f.Add([]byte("HTTP/1.1 200 OK\r\n\r\n"), uint8(5))
	f.Fuzz(func(t *testing.T, b []byte, cut uint8) {
		c := &BlockClient{block: 64, heads: make([]byte, 2*blockHeader), queue: make([]blockRequest, 2), out: newGather(8), meter: new(Meter)}
		c.Request(true)
		c.Request(false)
		done := 0
		var err error
		for len(b) > 0 && err == nil {
			n := min(len(b), int(cut)+1)
			err = c.take(b[:n], func(bool) { done++ })
			b = b[n:]
		}
		if done > 2 || err != nil && !errors.Is(err, ErrProtocol) {
			t.Errorf("%d answers to 2 requests: %v", done, err)
		}
	})
}

// FuzzBlockRequests: a server refuses what is no request within what was agreed
// on, and never reads beyond it.
func FuzzBlockRequests(f *testing.F) {
	good := make([]byte, blockHeader)
	putRequest(good, blockRequest{op: opWrite, length: 10})
	f.Add(append(good, make([]byte, 10)...))
	f.Fuzz(func(t *testing.T, b []byte) {
		if len(b) < blockHeader {
			return
		}
		q, err := getRequest(b)
		if err == nil && (q.length > maxBlock || q.op > opWrite) {
			t.Errorf("a request that cannot be was taken: %+v", q)
		}
	})
}
