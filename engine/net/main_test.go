package net

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/netip"
	"os"
	"os/exec"
	"os/signal"
	"runtime"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"bakeoff/engine/net/server"
	"bakeoff/load"
)

// serverEnv makes this test binary a server: the two ends of a measurement are
// never in one process.
const serverEnv = "BAKEOFF_TEST_NET_SERVER"

// workEnv makes it a client.
const workEnv = "BAKEOFF_TEST_NET_WORK"

// serverConfig is what a test's server is started with.
type serverConfig struct {
	Listen      []string
	Token       string
	Allow       []netip.Prefix
	Connections int
	Rate        float64
	Time        time.Duration
	Ports       [2]uint16
}

func TestMain(m *testing.M) {
	if text, ok := os.LookupEnv(serverEnv); ok {
		os.Exit(serve(text))
	}
	if text, ok := os.LookupEnv(workEnv); ok {
		os.Exit(work(text))
	}
	os.Exit(m.Run())
}

func serve(text string) int {
	var c serverConfig
	if err := json.Unmarshal([]byte(text), &c); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 2
	}
	runtime.GOMAXPROCS(64)
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM)
	defer stop()
	go func() {
		_, _ = io.Copy(io.Discard, os.Stdin)
		os.Exit(3)
	}()
	err := server.Serve(ctx, server.Config{
		Listen: c.Listen, Token: c.Token, Allow: c.Allow, Connections: c.Connections, Rate: c.Rate, Time: c.Time, Ports: c.Ports, Version: "test",
		Ready: func(targets []string) { fmt.Println(strings.Join(targets, " ")) },
		Log:   func(line string) { fmt.Fprintln(os.Stderr, line) },
	})
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return 0
}

// testServer is a server in a process of its own.
type testServer struct {
	targets []string
	cmd     *exec.Cmd
	mu      sync.Mutex
	log     bytes.Buffer
	once    sync.Once
}

// Write keeps what the server prints.
func (s *testServer) Write(b []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.log.Write(b)
}

func (s *testServer) printed() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.log.String()
}

// startServer starts one; without Listen, at a free port of 127.0.0.1.
func startServer(t *testing.T, c serverConfig) *testServer {
	t.Helper()
	if len(c.Listen) == 0 {
		c.Listen = []string{"tcp://127.0.0.1:0"}
	}
	text, err := json.Marshal(c)
	if err != nil {
		t.Fatal(err)
	}
	s := &testServer{cmd: exec.Command(os.Args[0])}
	s.cmd.Env = append(os.Environ(), serverEnv+"="+string(text))
	s.start(t)
	return s
}

// start starts the server's process and waits until it listens.
func (s *testServer) start(t *testing.T) {
	t.Helper()
	s.cmd.Stderr = s
	if _, err := s.cmd.StdinPipe(); err != nil { // its end is the server's
		t.Fatal(err)
	}
	out, err := s.cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := s.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.kill)
	line, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		t.Fatalf("the server did not start: %v: %s", err, s.printed())
	}
	s.targets = strings.Fields(line)
}

func (s *testServer) kill() {
	s.once.Do(func() {
		_ = s.cmd.Process.Kill()
		_ = s.cmd.Wait()
	})
}

// measure runs one load and returns what it found.
func measure(t *testing.T, spec load.Spec) load.Result {
	t.Helper()
	r, err := tryMeasure(t, spec)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func tryMeasure(t *testing.T, spec load.Spec) (load.Result, error) {
	t.Helper()
	spec.Workload, spec.Part, spec.Engine, spec.Seed = "w", load.Source, "net", 1
	c := &spec.Common
	if c.Window == 0 {
		c.Window = 400 * time.Millisecond
	}
	if c.OpTimeout == 0 {
		c.OpTimeout = 2 * time.Second
	}
	r, err := load.Open(t.Context(), Engine{}, spec, load.Env{})
	if err != nil {
		return load.Result{}, err
	}
	defer func() {
		if err := r.Close(); err != nil {
			t.Error(err)
		}
	}()
	if _, err := r.Prepare(t.Context(), nil); err != nil {
		return load.Result{}, err
	}
	return r.Measure(t.Context(), nil)
}

// figures are a result's, by name.
func figures(r load.Result) map[string]float64 {
	m := map[string]float64{}
	for _, f := range r.Load.Figures {
		m[f.Name] = f.Value
	}
	return m
}
