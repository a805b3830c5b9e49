package kv

import (
	"fmt"
	"io"
	"net"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"bakeoff/record"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// stub is a server that answers as a test says.
func stub(t *testing.T, serve func(net.Conn)) (target string) {
	t.Helper()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	var all sync.WaitGroup
	var mu sync.Mutex
	open := map[net.Conn]bool{}
	all.Go(func() {
		for {
			conn, err := ln.Accept()
			if err != nil {
				return
			}
			mu.Lock()
			open[conn] = true
			mu.Unlock()
			all.Go(func() {
				defer conn.Close()
				serve(conn)
			})
		}
	})
	t.Cleanup(func() {
		ln.Close()
		mu.Lock()
		for conn := range open {
			conn.Close()
		}
		mu.Unlock()
		all.Wait()
	})
	return "redis://" + ln.Addr().String()
}

// answering answers each read with the same bytes.
func answering(answer string) func(net.Conn) {
	return func(conn net.Conn) {
		b := make([]byte, 4096)
		for {
			if _, err := conn.Read(b); err != nil {
				return
			}
			if _, err := io.WriteString(conn, answer); err != nil {
				return
			}
		}
	}
}

func (ta *tally) mention(t *testing.T, want string) {
	t.Helper()
	for text := range ta.errs {
		if strings.Contains(text, want) {
			return
		}
	}
	t.Errorf("no error mentions %q: %v", want, ta.errs)
}

func TestNobodyListens(t *testing.T) {
	target := fmt.Sprintf("redis://127.0.0.1:%d", freePort(t))
	session, err := Engine{}.Open(t.Context(), newSpec(t, target, nil))
	if err != nil {
		t.Fatal(err)
	}
	defer session.Close()
	if _, err := session.Prepare(t.Context(), nil); err == nil || !strings.Contains(err.Error(), "connection refused") {
		t.Errorf("preparing: %v", err)
	}
	if _, err := session.Worker(t.Context(), 0, 1); err == nil || !strings.Contains(err.Error(), "connection refused") {
		t.Errorf("opening a worker: %v", err)
	}
	if counts, err := session.Snapshot(t.Context()); err != nil || len(counts) != 3 {
		t.Errorf("a snapshot of a target that is down: %v, %v", counts, err)
	}
}

func TestGarbageAnswers(t *testing.T) {
	for _, io := range []string{"io_uring", "epoll"} {
		for _, answer := range []string{"HTTP/1.1 400 Bad Request\r\n\r\n", "$3\r\nabcde", "\x16\x03\x01\x02\x00\x01\n", "$5\r\nhello\r\n$5\r\nhello\r\n$5\r\nhello\r\n"} {
			target := stub(t, answering(answer))
			ta := drive(t, newSpec(t, target, map[string]any{"preload": "none", "ratio": "0:1", "connections": 2, "io": io}), 20, nil)
			if ta.done["get failed"] == 0 {
				t.Errorf("%q: %v", answer, ta.done)
			}
			ta.mention(t, "connection was lost")
		}
	}
}

func TestAnswersThatDoNotFit(t *testing.T) {
	for answer, ratio := range map[string]string{"+OK\r\n": "0:1", ":1\r\n": "0:1", "$1\r\nx\r\n": "1:0", "*0\r\n": "1:0"} {
		target := stub(t, answering(answer))
		ta := drive(t, newSpec(t, target, map[string]any{"preload": "none", "ratio": ratio, "connections": 2}), 20, nil)
		ta.mention(t, "does not fit")
		if ta.done["get ok"]+ta.done["set ok"]+ta.done["get miss"] > 0 {
			t.Errorf("%q for %s: %v", answer, ratio, ta.done)
		}
	}
}

func TestRefusalsAreFailedWithTheirText(t *testing.T) {
	_, tcp, _ := startRedis(t)
	client(t, tcp).ConfigSet(t.Context(), "maxmemory", "1")
	spec := newSpec(t, tcp, map[string]any{"preload": "none", "pipeline": 8})
	ta := drive(t, spec, 2000, nil)
	ta.expect(t, "set failed", "get miss")
	ta.mention(t, "OOM command not allowed")
	session, err := Engine{}.Open(t.Context(), newSpec(t, tcp, nil))
	if err != nil {
		t.Fatal(err)
	}
	defer session.Close()
	if _, err := session.Prepare(t.Context(), nil); err == nil || !strings.Contains(err.Error(), "OOM") {
		t.Errorf("loading into a full target: %v", err)
	}
}

func TestTheTargetDies(t *testing.T) {
	for _, io := range []string{"io_uring", "epoll"} {
		p, tcp, _ := startRedis(t)
		var once sync.Once
		ta := drive(t, newSpec(t, tcp, map[string]any{"key_maximum": 100, "pipeline": 4, "connections": 8, "io": io}), 10_200, func(done uint64) bool {
			if done > 10_000 {
				once.Do(p.kill)
			}
			return false
		})
		if ta.done["get ok"] == 0 || ta.done["get failed"]+ta.done["set failed"] == 0 {
			t.Errorf("%s: %v", io, ta.done)
		}
		ta.mention(t, "connection was lost")
		ta.mention(t, "connection refused")
	}
}

// TestTheTargetComesBack kills the target and starts it again at the same port:
// the load must recover by itself.
func TestTheTargetComesBack(t *testing.T) {
	port := freePort(t)
	args := []string{"--port", fmt.Sprint(port), "--bind", "127.0.0.1", "--save", "", "--appendonly", "no"}
	address := fmt.Sprintf("127.0.0.1:%d", port)
	p := start(t, "redis-server", args...)
	await(t, "tcp", address)
	var died, back uint64
	ta := drive(t, newSpec(t, "redis://"+address, map[string]any{"key_maximum": 100, "pipeline": 4, "connections": 4}), 1<<40, func(done uint64) bool {
		switch {
		case died == 0 && done > 1000:
			p.kill()
			died = done
		case died > 0 && back == 0 && done > died+100:
			start(t, "redis-server", args...)
			await(t, "tcp", address)
			back = done
		}
		return back > 0 && done > back+5000
	})
	if ok := ta.done["get ok"] + ta.done["set ok"] + ta.done["get miss"]; ok < 5000 {
		t.Errorf("after the target came back: %v", ta.done)
	}
	ta.mention(t, "connection refused")
}

func TestTheTargetStopsAnswering(t *testing.T) {
	for _, io := range []string{"io_uring", "epoll"} {
		release := make(chan struct{})
		target := stub(t, func(conn net.Conn) { <-release })
		spec := newSpec(t, target, map[string]any{"preload": "none", "ratio": "0:1", "connections": 2, "pipeline": 3, "io": io})
		spec.Common.OpTimeout = 100 * time.Millisecond
		ta := drive(t, spec, 20, nil)
		close(release)
		if ta.done["get timed out"] == 0 || ta.done["get ok"] > 0 {
			t.Errorf("%s: %v", io, ta.done)
		}
	}
}

// TestHalfAnAnswer sends a reply in pieces and then never ends one.
func TestHalfAnAnswer(t *testing.T) {
	release := make(chan struct{})
	defer close(release)
	target := stub(t, func(conn net.Conn) {
		b := make([]byte, 4096)
		_, _ = conn.Read(b)
		for _, piece := range []string{"$", "3\r", "\na", "bc\r", "\n", "$10\r\nabc"} {
			_, _ = io.WriteString(conn, piece)
		}
		<-release
	})
	spec := newSpec(t, target, map[string]any{"preload": "none", "ratio": "0:1", "connections": 1, "pipeline": 2})
	spec.Common.OpTimeout = 100 * time.Millisecond
	ta := drive(t, spec, 3, nil)
	if ta.done["get ok"] == 0 || ta.done["get timed out"] == 0 {
		t.Errorf("%v", ta.done)
	}
}

func TestReconnectEvery(t *testing.T) {
	_, tcp, _ := startRedis(t)
	spec := newSpec(t, tcp, map[string]any{"reconnect_every": 20, "pipeline": 4, "connections": 3, "key_maximum": 100})
	session, err := Engine{}.Open(t.Context(), spec)
	if err != nil {
		t.Fatal(err)
	}
	defer session.Close()
	if _, err := session.Prepare(t.Context(), nil); err != nil {
		t.Fatal(err)
	}
	ta := driveSession(t, session, spec, 3000, nil)
	ta.expect(t, "get ok", "set ok")
	all := ta.done["get ok"] + ta.done["set ok"]
	if n := counter(t, session, "reconnects"); n < float64(all)/20-10 || n > float64(all)/20+10 {
		t.Errorf("%g connections opened anew for %d operations, want one in 20", n, all)
	}
	if down := counter(t, session, record.CounterDisconnected); down != 0 {
		t.Errorf("what the load closes itself counts as down, for %g s", down)
	}
}
