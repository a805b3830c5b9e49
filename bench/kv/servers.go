package main

import (
	"context"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"time"

	"bakeoff/bench/peer"
)

// server is one server under test.
type server struct {
	cmd  *exec.Cmd
	port int
	unix string
}

func (s *server) stop() {
	if s == nil {
		return
	}
	_ = s.cmd.Process.Kill()
	_ = s.cmd.Wait()
}

// serve starts a server and waits until it listens. Its arguments come from
// its port and the path of its socket.
func (b *bench) serve(ctx context.Context, name string, args func(port int, socket string) []string) (*server, error) {
	port, err := peer.FreePort()
	if err != nil {
		return nil, err
	}
	s := &server{port: port, unix: filepath.Join(b.dir, fmt.Sprintf("%s-%d.sock", filepath.Base(name), port))}
	s.cmd = peer.Pinned(ctx, b.o.serverCPU, name, args(port, s.unix)...)
	s.cmd.Dir = b.dir
	if err := s.cmd.Start(); err != nil {
		return nil, fmt.Errorf("starting %s: %w", name, err)
	}
	for deadline := time.Now().Add(10 * time.Second); ; time.Sleep(10 * time.Millisecond) {
		conn, err := net.Dial("tcp", fmt.Sprintf("127.0.0.1:%d", port))
		if err == nil {
			return s, conn.Close()
		}
		if time.Now().After(deadline) {
			s.stop()
			return nil, fmt.Errorf("%s does not listen: %w", name, err)
		}
	}
}

func (b *bench) redis(ctx context.Context) (*server, error) {
	return b.serve(ctx, "redis-server", func(port int, socket string) []string {
		return []string{"--port", fmt.Sprint(port), "--bind", "127.0.0.1", "--unixsocket", socket, "--save", "", "--appendonly", "no"}
	})
}

func (b *bench) memcached(ctx context.Context) (*server, error) {
	return b.serve(ctx, "memcached", func(port int, socket string) []string {
		return []string{"-p", fmt.Sprint(port), "-l", "127.0.0.1", "-U", "0", "-u", "root", "-t", "1", "-m", "256"}
	})
}

func (b *bench) stub(ctx context.Context) (*server, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	return b.serve(ctx, self, func(port int, socket string) []string {
		return []string{"-stub", fmt.Sprintf("127.0.0.1:%d", port)}
	})
}
