package ring

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"runtime"
	"syscall"
	"testing"
	"time"

	"go.uber.org/goleak"
	"golang.org/x/sys/unix"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// each runs a test on every backend, on a locked thread as the drivers do.
func each(t *testing.T, cfg Config, f func(t *testing.T, l *Loop)) {
	for _, b := range []Backend{URing, Epoll} {
		t.Run(string(b), func(t *testing.T) {
			if err := Available(); b == URing && err != nil {
				t.Skip(err) // the reason is the machine's, and the product says it
			}
			runtime.LockOSThread()
			defer runtime.UnlockOSThread()
			cfg.Backend = b
			l, err := New(cfg)
			if err != nil {
				t.Fatal(err)
			}
			defer func() {
				if err := l.Close(); err != nil {
					t.Error(err)
				}
			}()
			f(t, l)
		})
	}
}

// pair returns a non-blocking socket and its peer as a net.Conn.
func pair(t *testing.T, network string) (int, net.Conn) {
	t.Helper()
	if network == "unix" {
		fds, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC|unix.SOCK_NONBLOCK, 0)
		if err != nil {
			t.Fatal(err)
		}
		return fds[0], fdConn{fd: fds[1]}
	}
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer ln.Close()
	conn, err := net.Dial("tcp", ln.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	fd, err := Take(conn)
	if err != nil {
		t.Fatal(err)
	}
	peer, err := ln.Accept()
	if err != nil {
		t.Fatal(err)
	}
	return fd, peer
}

// fdConn is the blocking end of a socket pair, for tests.
type fdConn struct {
	net.Conn
	fd int
}

func (c fdConn) poll(events int16) {
	_, _ = unix.Poll([]unix.PollFd{{Fd: int32(c.fd), Events: events}}, -1)
}

func (c fdConn) Read(b []byte) (int, error) {
	for {
		n, err := unix.Read(c.fd, b)
		if errors.Is(err, unix.EAGAIN) || errors.Is(err, unix.EINTR) {
			c.poll(unix.POLLIN)
			continue
		}
		if n == 0 && err == nil {
			err = io.EOF
		}
		return max(n, 0), err
	}
}

func (c fdConn) Write(b []byte) (int, error) {
	sent := 0
	for sent < len(b) {
		n, err := unix.SendmsgN(c.fd, b[sent:], nil, nil, unix.MSG_NOSIGNAL)
		if errors.Is(err, unix.EAGAIN) || errors.Is(err, unix.EINTR) {
			c.poll(unix.POLLOUT)
			continue
		}
		if err != nil {
			return sent, err
		}
		sent += n
	}
	return sent, nil
}

func (c fdConn) Close() error { return unix.Close(c.fd) }

// until waits until cond holds, or fails the test.
func until(t *testing.T, l *Loop, cond func() bool, on func(Event)) {
	t.Helper()
	deadline := time.Now().Add(20 * time.Second)
	for !cond() {
		if time.Now().After(deadline) {
			t.Fatal("nothing happened for 20 s")
		}
		events, err := l.Wait(10 * time.Millisecond)
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range events {
			on(e)
		}
	}
}

func add(t *testing.T, l *Loop, fd int) *Conn {
	t.Helper()
	c, err := l.Add(fd)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func TestEcho(t *testing.T) {
	for _, network := range []string{"tcp", "unix"} {
		t.Run(network, func(t *testing.T) {
			each(t, Config{}, func(t *testing.T, l *Loop) {
				fd, peer := pair(t, network)
				done := make(chan struct{})
				go func() {
					defer close(done)
					_, _ = io.Copy(peer, peer)
				}()
				c := add(t, l, fd)
				for i := range 50 {
					want := fmt.Appendf(nil, "message %d", i)
					c.Out = append(c.Out, want...)
					l.Send(c)
					var got []byte
					until(t, l, func() bool { return len(got) >= len(want) }, func(e Event) {
						if e.Err != nil {
							t.Fatal(e.Err)
						}
						got = append(got, e.Data...)
					})
					if !bytes.Equal(got, want) {
						t.Fatalf("got %q, want %q", got, want)
					}
				}
				l.Remove(c)
				<-done
				peer.Close()
			})
		})
	}
}

// TestStreamSurvivesShortSends writes far more than the socket takes, in
// pieces of all sizes while earlier ones are still stuck, and expects the peer
// to read exactly that stream.
func TestStreamSurvivesShortSends(t *testing.T) {
	for _, network := range []string{"tcp", "unix"} {
		t.Run(network, func(t *testing.T) {
			each(t, Config{}, func(t *testing.T, l *Loop) {
				fd, peer := pair(t, network)
				if err := unix.SetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_SNDBUF, 4096); err != nil {
					t.Fatal(err)
				}
				const total = 1 << 20
				want := make([]byte, total)
				random := rand.NewChaCha8([32]byte{1})
				_, _ = random.Read(want)
				got := make(chan []byte)
				go func() {
					b, _ := io.ReadAll(peer)
					got <- b
				}()
				c := add(t, l, fd)
				sizes := rand.New(random)
				for rest := want; len(rest) > 0; {
					n := min(1+sizes.IntN(20000), len(rest))
					c.Out = append(c.Out, rest[:n]...)
					rest = rest[n:]
					l.Send(c)
					if _, err := l.Wait(time.Duration(sizes.IntN(2)) * 50 * time.Microsecond); err != nil {
						t.Fatal(err)
					}
				}
				until(t, l, func() bool { return len(c.Out) == 0 }, func(Event) {})
				if l.Stats().Short == 0 {
					t.Error("no send was ever short: the test tests nothing")
				}
				l.Remove(c)
				if !bytes.Equal(<-got, want) {
					t.Error("the peer read another stream than was sent")
				}
				peer.Close()
			})
		})
	}
}

// TestBuffersRunOut has peers send more at once than all receive buffers hold.
func TestBuffersRunOut(t *testing.T) {
	each(t, Config{Conns: 4, BufferSize: 1024}, func(t *testing.T, l *Loop) {
		const conns, total = 4, 1 << 20
		want := make([]byte, total)
		_, _ = rand.NewChaCha8([32]byte{2}).Read(want)
		got := map[int][]byte{}
		wrote := make(chan error, conns)
		peers := make([]net.Conn, conns)
		for i := range conns {
			fd, peer := pair(t, "tcp")
			peers[i] = peer
			add(t, l, fd).Tag = i
			go func() {
				_, err := peer.Write(want)
				wrote <- err
			}()
		}
		sum := 0
		until(t, l, func() bool { return sum == conns*total }, func(e Event) {
			if e.Err != nil {
				t.Fatal(e.Err)
			}
			got[e.Conn.Tag] = append(got[e.Conn.Tag], e.Data...)
			sum += len(e.Data)
		})
		for i := range conns {
			if err := <-wrote; err != nil {
				t.Error(err)
			}
			if !bytes.Equal(got[i], want) {
				t.Errorf("connection %d received another stream than was sent", i)
			}
			peers[i].Close()
		}
		if l.Backend() == URing && l.Stats().Rearmed == 0 {
			t.Error("the buffers never ran out: the test tests nothing")
		}
	})
}

func TestPeerCloses(t *testing.T) {
	each(t, Config{}, func(t *testing.T, l *Loop) {
		fd, peer := pair(t, "tcp")
		c := add(t, l, fd)
		if _, err := peer.Write([]byte("last words")); err != nil {
			t.Fatal(err)
		}
		peer.Close()
		var data []byte
		var end []error
		until(t, l, func() bool { return len(end) > 0 }, func(e Event) {
			if e.Err != nil {
				end = append(end, e.Err)
			}
			data = append(data, e.Data...)
		})
		if string(data) != "last words" || !errors.Is(end[0], io.EOF) {
			t.Errorf("got %q and %v, want the last words and EOF", data, end)
		}
		// Writing to it does no harm and ends it no second time.
		c.Out = append(c.Out, "too late"...)
		l.Send(c)
		for range 3 {
			events, err := l.Wait(time.Millisecond)
			if err != nil || len(events) > 0 {
				t.Errorf("got %v, %v after the end", events, err)
			}
		}
		l.Remove(c)
		l.Remove(c)
	})
}

func TestPeerResets(t *testing.T) {
	each(t, Config{}, func(t *testing.T, l *Loop) {
		fd, peer := pair(t, "tcp")
		c := add(t, l, fd)
		if err := peer.(*net.TCPConn).SetLinger(0); err != nil {
			t.Fatal(err)
		}
		peer.Close()
		var end error
		until(t, l, func() bool { return end != nil }, func(e Event) { end = e.Err })
		if !errors.Is(end, syscall.ECONNRESET) {
			t.Errorf("got %v, want ECONNRESET", end)
		}
		l.Remove(c)
	})
}

// TestPlacesAreUsedAgain opens and closes far more connections than the loop
// has places for, with data still arriving on the closed ones.
func TestPlacesAreUsedAgain(t *testing.T) {
	each(t, Config{Conns: 2}, func(t *testing.T, l *Loop) {
		for i := range 200 {
			fd, peer := pair(t, "unix")
			c := add(t, l, fd)
			c.Tag = i
			if _, err := peer.Write(fmt.Appendf(nil, "%d", i)); err != nil {
				t.Fatal(err)
			}
			var got []byte
			if i%3 > 0 { // else it is removed before it is looked at
				until(t, l, func() bool { return len(got) > 0 }, func(e Event) {
					if e.Conn.Tag != i {
						t.Fatalf("event of connection %d while only %d is open", e.Conn.Tag, i)
					}
					got = append(got, e.Data...)
				})
				if string(got) != fmt.Sprint(i) {
					t.Fatalf("connection %d received %q", i, got)
				}
			}
			if i%2 == 0 {
				_, _ = peer.Write([]byte("more"))
			}
			l.Remove(c)
			peer.Close()
			if _, err := l.Wait(0); err != nil {
				t.Fatal(err)
			}
		}
	})
}

func TestFull(t *testing.T) {
	each(t, Config{Conns: 1}, func(t *testing.T, l *Loop) {
		var err error
		for err == nil {
			fds, e := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC|unix.SOCK_NONBLOCK, 0)
			if e != nil {
				t.Fatal(e)
			}
			defer unix.Close(fds[1])
			if _, err = l.Add(fds[0]); err != nil {
				unix.Close(fds[0])
			}
		}
		if !errors.Is(err, ErrFull) {
			t.Errorf("got %v, want ErrFull", err)
		}
	})
}

func TestTakeRefusesWhatIsNoSocket(t *testing.T) {
	a, b := net.Pipe()
	defer b.Close()
	if fd, err := Take(a); err == nil {
		t.Errorf("took descriptor %d out of a pipe", fd)
	}
}

func TestAddRefusesWhatIsNoSocket(t *testing.T) {
	each(t, Config{}, func(t *testing.T, l *Loop) {
		if _, err := l.Add(1 << 20); err == nil {
			t.Error("a descriptor that is not open was taken")
		}
	})
}

func TestWake(t *testing.T) {
	each(t, Config{}, func(t *testing.T, l *Loop) {
		for range 5 {
			woken := make(chan error, 1)
			go func() { woken <- l.Wake() }()
			if _, err := l.Wait(-1); err != nil { // without the wake it would hang
				t.Fatal(err)
			}
			if err := <-woken; err != nil {
				t.Fatal(err)
			}
			if _, err := l.Wait(0); err != nil {
				t.Fatal(err)
			}
		}
	})
}

func TestWaitEnds(t *testing.T) {
	each(t, Config{}, func(t *testing.T, l *Loop) {
		fd, peer := pair(t, "tcp")
		defer peer.Close()
		add(t, l, fd)
		for _, d := range []time.Duration{0, 50 * time.Microsecond, 5 * time.Millisecond, -1} {
			if d < 0 {
				if _, err := peer.Write([]byte("x")); err != nil {
					t.Fatal(err)
				}
			}
			if _, err := l.Wait(d); err != nil {
				t.Errorf("waiting for %v: %v", d, err)
			}
		}
	})
}

func TestConfigIsChecked(t *testing.T) {
	for name, cfg := range map[string]Config{
		"backend": {Backend: "kqueue"}, "none": {Conns: -1}, "many": {Conns: 1 << 20},
		"small": {BufferSize: 10}, "large": {BufferSize: 1 << 30}, "odd": {Buffers: 3}, "negative": {Buffers: -1},
	} {
		if l, err := New(cfg); err == nil {
			l.Close()
			t.Errorf("%s: %+v was taken", name, cfg)
		}
	}
}

func TestReasons(t *testing.T) {
	for errno, want := range map[syscall.Errno]string{
		syscall.ENOSYS: "without io_uring", syscall.EINVAL: "older than Linux 6.1", syscall.ENOMEM: "cannot allocate memory",
		syscall.EPERM: "here",
	} {
		if got := whyNot(errno).Error(); !bytes.Contains([]byte(got), []byte(want)) {
			t.Errorf("%v: got %q, want it to contain %q", errno, got, want)
		}
	}
}

// TestSteadyStateAllocatesNothing is what lets the collector be off while a load is measured.
func TestSteadyStateAllocatesNothing(t *testing.T) {
	each(t, Config{}, func(t *testing.T, l *Loop) {
		fd, conn := pair(t, "unix")
		peer := conn.(fdConn).fd
		defer unix.Close(peer)
		c := add(t, l, fd)
		in := make([]byte, 64)
		ping := func() {
			c.Out = append(c.Out, "ping"...)
			l.Send(c)
			if _, err := l.Wait(0); err != nil {
				t.Fatal(err)
			}
			if _, err := unix.Read(peer, in); err != nil {
				t.Fatal(err)
			}
			if _, err := unix.Write(peer, in[:4]); err != nil {
				t.Fatal(err)
			}
			if _, err := l.Wait(time.Second); err != nil {
				t.Fatal(err)
			}
		}
		ping()
		if n := testing.AllocsPerRun(100, ping); n > 0 {
			t.Errorf("%v allocations a round trip", n)
		}
	})
}
