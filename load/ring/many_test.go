package ring

import (
	"testing"

	"golang.org/x/sys/unix"
)

// TestMoreConnectionsThanTheRingHolds adds and serves more connections than there
// are submission entries, with data waiting on all of them, so that the ring is
// submitted in the middle of adding and of sending.
func TestMoreConnectionsThanTheRingHolds(t *testing.T) {
	const conns = 4500
	var limit unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_NOFILE, &limit); err != nil || limit.Cur < 2*conns+100 {
		t.Skipf("needs %d descriptors, the limit is %d (%v)", 2*conns+100, limit.Cur, err)
	}
	each(t, Config{Conns: conns, BufferSize: 1024, Buffers: 64}, func(t *testing.T, l *Loop) {
		peers := make([]int, conns)
		all := make([]*Conn, conns)
		for i := range conns {
			fds, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC|unix.SOCK_NONBLOCK, 0)
			if err != nil {
				t.Fatal(err)
			}
			peers[i] = fds[1]
			defer unix.Close(fds[1])
			if _, err := unix.Write(fds[1], []byte{byte(i), byte(i >> 8)}); err != nil {
				t.Fatal(err)
			}
			all[i] = add(t, l, fds[0])
			all[i].Tag = i
		}
		got := make([][]byte, conns)
		sum := 0
		until(t, l, func() bool { return sum == 2*conns }, func(e Event) {
			if e.Err != nil {
				t.Fatal(e.Err)
			}
			got[e.Conn.Tag] = append(got[e.Conn.Tag], e.Data...)
			sum += len(e.Data)
		})
		for i, c := range all {
			if len(got[i]) != 2 || int(got[i][0])|int(got[i][1])<<8 != i {
				t.Fatalf("connection %d received %v", i, got[i])
			}
			c.Out = append(c.Out, got[i]...)
			l.Send(c)
		}
		if _, err := l.Wait(0); err != nil {
			t.Fatal(err)
		}
		b := make([]byte, 10)
		for i, fd := range peers {
			if n, err := unix.Read(fd, b); n != 2 || int(b[0])|int(b[1])<<8 != i {
				t.Fatalf("peer %d read %v, %v", i, b[:max(n, 0)], err)
			}
		}
	})
}
