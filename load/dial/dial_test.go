package dial

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"io"
	"math/big"
	"net"
	"os"
	"sync/atomic"
	"testing"
	"time"

	"go.uber.org/goleak"
	"golang.org/x/sys/unix"

	"bakeoff/load"
	"bakeoff/load/ring"
)

func TestDialerGivesBackEveryAttempt(t *testing.T) {
	defer goleak.VerifyNone(t)
	woken := make(chan struct{}, 8)
	var count atomic.Uint64
	refused := errors.New("refused")
	d := New(func(context.Context, int) (Link, error) { return Link{}, refused },
		func() error { woken <- struct{}{}; return nil }, 3, &count)
	defer d.Stop()
	for i := range 3 {
		d.Begin(i)
	}
	seen := map[int]bool{}
	for len(seen) < 3 {
		<-woken
		for o, ok := d.Take(); ok; o, ok = d.Take() {
			if !errors.Is(o.Err, refused) {
				t.Errorf("attempt %d ended with %v", o.Key, o.Err)
			}
			seen[o.Key] = true
		}
	}
	if count.Load() != 3 {
		t.Errorf("%d attempts counted, expected 3", count.Load())
	}
}

func TestStopEndsAttemptsAndClosesWhatNobodyTook(t *testing.T) {
	defer goleak.VerifyNone(t)
	fds := make([]int, 2)
	if err := unix.Pipe(fds); err != nil {
		t.Fatal(err)
	}
	defer unix.Close(fds[1])
	var count atomic.Uint64
	d := New(func(ctx context.Context, _ bool) (Link, error) {
		<-ctx.Done()
		return Link{FD: fds[0]}, nil // opened just as it was told to stop
	}, func() error { return nil }, 1, &count)
	d.Begin(true)
	d.Stop()
	if err := unix.Close(fds[0]); !errors.Is(err, unix.EBADF) {
		t.Errorf("the socket is still open: closing it gave %v", err)
	}
}

// TestSealedOverMemory sends records in pieces of every size.
func TestSealedOverMemory(t *testing.T) {
	defer goleak.VerifyNone(t)
	listener := tlsListener(t)
	go echo(listener)
	socket, err := net.DialTimeout("tcp", listener.Addr().String(), 5*time.Second)
	if err != nil {
		t.Fatal(err)
	}
	s, file := detached(t, socket, &tls.Config{InsecureSkipVerify: true})
	defer file.Close()
	for size := 1; size < 200_000; size = size*3 + 1 {
		want := make([]byte, size)
		for i := range want {
			want[i] = byte(i)
		}
		s.Plain = append(s.Plain, want...)
		out, err := s.Seal(nil)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := file.Write(out); err != nil {
			t.Fatal(err)
		}
		got := unseal(t, s, file, size)
		if string(got) != string(want) {
			t.Fatalf("%d bytes came back changed", size)
		}
	}
}

func unseal(t *testing.T, s *Sealed, r io.Reader, size int) (got []byte) {
	t.Helper()
	chunk := make([]byte, 1000)
	for len(got) < size {
		n, err := r.Read(chunk)
		if err != nil {
			t.Fatal(err)
		}
		_, err = s.Open(chunk[:n], nil, func(b []byte) error {
			got = append(got, b...)
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	return got
}

// TestLastRecords: what a peer says before it closes is handed on, though it comes
// together with the end.
func TestLastRecords(t *testing.T) {
	defer goleak.VerifyNone(t)
	for _, version := range []uint16{tls.VersionTLS12, tls.VersionTLS13} {
		listener := tlsListener(t)
		go func() {
			c, err := listener.Accept()
			if err != nil {
				return
			}
			_, _ = c.Write([]byte("good"))
			_, _ = c.Write([]byte("bye"))
			_ = c.Close()
		}()
		socket, err := net.DialTimeout("tcp", listener.Addr().String(), 5*time.Second)
		if err != nil {
			t.Fatal(err)
		}
		s, file := detached(t, socket, &tls.Config{InsecureSkipVerify: true, MaxVersion: version})
		all, err := io.ReadAll(file)
		if err := errors.Join(err, file.Close()); err != nil {
			t.Fatal(err)
		}
		var got []byte
		_, err = s.Open(all, nil, func(b []byte) error {
			got = append(got, b...)
			return nil
		})
		if string(got) != "goodbye" || !errors.Is(err, io.EOF) {
			t.Errorf("TLS %x: got %q and %v, want goodbye and the end", version, got, err)
		}
	}
}

// detached shakes hands on a socket and takes it away from TLS.
func detached(t *testing.T, socket net.Conn, cfg *tls.Config) (*Sealed, *os.File) {
	t.Helper()
	s := Seal(socket, cfg)
	if err := s.TLS().HandshakeContext(t.Context()); err != nil {
		t.Fatal(err)
	}
	fd, err := ring.Take(socket)
	if err != nil {
		t.Fatal(err)
	}
	s.Detach()
	return s, os.NewFile(uintptr(fd), "socket")
}

func echo(l net.Listener) {
	c, err := l.Accept()
	if err != nil {
		return
	}
	defer c.Close()
	_, _ = io.Copy(c, c)
}

func tlsListener(t *testing.T) net.Listener {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	cert := &x509.Certificate{SerialNumber: big.NewInt(1), NotAfter: time.Now().Add(time.Hour)}
	der, err := x509.CreateCertificate(rand.Reader, cert, cert, &key.PublicKey, key)
	if err != nil {
		t.Fatal(err)
	}
	l, err := tls.Listen("tcp", "127.0.0.1:0", &tls.Config{Certificates: []tls.Certificate{{Certificate: [][]byte{der}, PrivateKey: key}}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	return l
}

func TestTLSFilesThatAreWrong(t *testing.T) {
	notPEM := t.TempDir() + "/x"
	if err := os.WriteFile(notPEM, []byte("x"), 0o600); err != nil {
		t.Fatal(err)
	}
	for name, given := range map[string]map[string]any{
		"no file":     {"tls_ca": notPEM + "y"},
		"not PEM":     {"tls_ca": notPEM},
		"half a pair": {"tls_cert": notPEM},
	} {
		p, err := load.ReadParams("test", load.Description{Parameters: TLSParameters()}, given)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := TLSConfig(p, "host"); err == nil {
			t.Errorf("%s: taken", name)
		}
		if err := NoTLS(p, "https://"); err == nil {
			t.Errorf("%s: taken without TLS", name)
		}
	}
}
