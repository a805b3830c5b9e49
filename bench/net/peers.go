package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"regexp"
	"strconv"
	"strings"
	"time"

	"bakeoff/bench/peer"
)

// iperf runs iperf3's client and reads what the receiver got, and the CPU that
// either end says it used.
func (b *bench) iperf(ctx context.Context, c benchCase, args []string) (outcome, error) {
	stop, port, err := b.peerServer(ctx, "iperf3", func(port string) []string { return []string{"-s", "-1", "-p", port} })
	if err != nil {
		return outcome{}, err
	}
	defer stop()
	seconds := b.o.time.Seconds()
	words := append([]string{"iperf3", "-c", c.host(), "-p", port, "-J", "-t", fmt.Sprint(int(seconds))}, args...)
	out, _, err := b.client(ctx, words)
	if err != nil {
		return outcome{}, err
	}
	var r struct {
		End struct {
			Received *struct {
				Bytes, Seconds float64
			} `json:"sum_received"`
			Sum *struct {
				Bytes, Seconds, Lost float64
				Percent              float64 `json:"lost_percent"`
			} `json:"sum"`
			CPU struct {
				Host   float64 `json:"host_total"`
				Remote float64 `json:"remote_total"`
			} `json:"cpu_utilization_percent"`
		} `json:"end"`
		Error string `json:"error"`
	}
	if err := json.Unmarshal(out, &r); err != nil {
		return outcome{}, fmt.Errorf("reading iperf3's JSON: %w", err)
	}
	if r.Error != "" {
		return outcome{}, errors.New(r.Error)
	}
	got := r.End.Received
	if got == nil || got.Seconds <= 0 {
		return outcome{}, errors.New("iperf3's JSON has no end.sum_received")
	}
	bytes := got.Bytes
	if s := r.End.Sum; s != nil && s.Percent > 0 && bytes == s.Bytes { // UDP: 3.12 has the sender's bytes there
		bytes *= 1 - s.Percent/100
	}
	cpu := (r.End.CPU.Host + r.End.CPU.Remote) / 100 * got.Seconds
	return outcome{Figure: bytes * 8 / got.Seconds, CPU: cpu / bytes * 1e9}, nil
}

// qperf runs its client, which gives half of the round trip.
func (b *bench) qperf(ctx context.Context, c benchCase, args []string) (outcome, error) {
	stop, port, err := b.peerServer(ctx, "qperf", func(port string) []string { return []string{"-lp", port} })
	if err != nil {
		return outcome{}, err
	}
	words := append([]string{"qperf", "-lp", port, "-t", fmt.Sprint(int(b.o.time.Seconds())), "-m", "1", c.host()}, args...)
	out, used, err := b.client(ctx, words)
	used += stop()
	if err != nil {
		return outcome{}, err
	}
	half, err := quantity(out, `(?m)^\s*latency\s*=\s*([0-9.]+) (ns|us|ms)`)
	if err != nil {
		return outcome{}, err
	}
	return outcome{Figure: half, CPU: used / (b.o.time.Seconds() / (2 * half)) * 1e6}, nil
}

func quantity(out []byte, pattern string) (float64, error) {
	m := regexp.MustCompile(pattern).FindSubmatch(out)
	if m == nil {
		return 0, fmt.Errorf("found nothing like %s in: %s", pattern, out)
	}
	v, err := strconv.ParseFloat(string(m[1]), 64)
	return v * map[string]float64{"ns": 1e-9, "us": 1e-6, "usec": 1e-6, "ms": 1e-3}[string(m[2])], err
}

// sockperf runs its client, which gives half of the round trip too.
func (b *bench) sockperf(ctx context.Context, c benchCase, args []string) (outcome, error) {
	stop, port, err := b.peerServer(ctx, "sockperf", func(port string) []string {
		return append([]string{"server", "-i", c.host(), "-p", port}, args...)
	})
	if err != nil {
		return outcome{}, err
	}
	words := append([]string{"sockperf", "ping-pong", "-i", c.host(), "-p", port, "-t", fmt.Sprint(int(b.o.time.Seconds())), "--msg-size", "14"}, args...)
	out, used, err := b.client(ctx, words)
	used += stop()
	if err != nil {
		return outcome{}, err
	}
	half, err := quantity(out, `Summary: Latency is ([0-9.]+) (usec)`)
	if err != nil {
		return outcome{}, err
	}
	n := regexp.MustCompile(`\[Total Run\].*ReceivedMessages=([0-9]+)`).FindSubmatch(out)
	if n == nil {
		return outcome{}, fmt.Errorf("sockperf printed no count: %s", out)
	}
	count, err := strconv.ParseFloat(string(n[1]), 64)
	return outcome{Figure: half, CPU: used / count * 1e6}, err
}

// peerServer starts a peer's server on its core. Stop ends it and returns the CPU
// seconds that it used.
func (b *bench) peerServer(ctx context.Context, tool string, args func(port string) []string) (stop func() float64, port string, err error) {
	free, err := peer.FreePort()
	if err != nil {
		return nil, "", err
	}
	port = strconv.Itoa(free)
	cmd := peer.Pinned(ctx, b.o.serverCPU, tool, args(port)...)
	if err := cmd.Start(); err != nil {
		return nil, "", err
	}
	stopped := false
	stop = func() float64 {
		if !stopped {
			stopped = true
			_ = cmd.Process.Signal(os.Interrupt)
			timer := time.AfterFunc(2*time.Second, func() { _ = cmd.Process.Kill() })
			_ = cmd.Wait()
			timer.Stop()
		}
		return cpu(cmd.ProcessState)
	}
	time.Sleep(300 * time.Millisecond) // not all of them say when they listen
	return stop, port, nil
}

// client runs a client on its core and returns what it printed and the CPU seconds
// that it used.
func (b *bench) client(ctx context.Context, words []string) ([]byte, float64, error) {
	ctx, cancel := context.WithTimeout(ctx, 5*b.o.time+20*time.Second)
	defer cancel()
	cmd := peer.Pinned(ctx, b.o.clientCPU, words[0], words[1:]...)
	var errs strings.Builder
	cmd.Stderr = &errs
	out, err := cmd.Output()
	if err != nil {
		return nil, 0, fmt.Errorf("%s: %w: %s%s", strings.Join(words, " "), err, errs.String(), out)
	}
	return out, cpu(cmd.ProcessState), nil
}
