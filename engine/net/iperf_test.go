package net

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"time"

	"bakeoff/load"
	"bakeoff/load/loadtest"
)

// realIPerf finds iperf3, without which nothing is proved.
func realIPerf(t *testing.T) string {
	t.Helper()
	if testing.Short() {
		t.Skip("it starts iperf3 and takes some seconds")
	}
	path, err := exec.LookPath("iperf3")
	if err != nil {
		t.Fatalf("%v: install Debian's iperf3 (test/install-deps.sh)", err)
	}
	return path
}

// iperfServer starts iperf3's server at an address, for any number of tests.
func iperfServer(t *testing.T, host string) string {
	t.Helper()
	path := realIPerf(t)
	l, err := net.Listen("tcp", net.JoinHostPort(host, "0"))
	if err != nil {
		t.Fatal(err)
	}
	at := l.Addr().(*net.TCPAddr)
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(path, "-s", "-B", host, "-p", fmt.Sprint(at.Port))
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = cmd.Process.Kill(); _ = cmd.Wait() })
	for deadline := time.Now().Add(5 * time.Second); ; {
		c, err := net.Dial("tcp", at.String())
		if err == nil {
			_ = c.Close() // its server takes that for a test that failed, and goes on
			return "iperf3://" + at.String()
		}
		if time.Now().After(deadline) {
			t.Fatal(err)
		}
	}
}

// TestTheirWarmUp: iperf3 3.12 counts the datagrams of the seconds that it omits, and
// does not say how many they were: then no loss is told, rather than a wrong one.
func TestTheirWarmUp(t *testing.T) {
	t.Parallel() // it mostly waits
	target := iperfServer(t, "127.0.0.1")
	r := measure(t, load.Spec{Target: target, Parameters: map[string]any{"transport": "udp", "bitrate": "50M", "block": 1000}, Common: load.Common{Warmup: time.Second, Window: 1200 * time.Millisecond}})
	f := figures(r)
	counted := map[string]float64{}
	for _, c := range r.Load.Counters {
		counted[c.Name] = c.Close - c.Open
	}
	if loss, told := f["loss"]; told {
		// A newer server, which tells how many it omitted.
		if all := counted["server.received"] / (1 - loss); loss < 0 || loss > 1 || all > 1.2*50e6/8/1000*r.Load.Window.Seconds {
			t.Errorf("loss %g of %g datagrams in %g s: those of the warm-up are among them", loss, all, r.Load.Window.Seconds)
		}
	}
	if _, told := f["reordered"]; told || f["bandwidth"] <= 0 || f["bandwidth"] > 1.3*50e6/8 || counted["server.received"] <= 0 {
		t.Errorf("figures %v, counters %v", f, counted)
	}
	if _, told := counted["server.expected"]; told {
		t.Errorf("the record has counters that iperf3's server does not keep: %v", counted)
	}
}

// TestTheirServer: our client against the real iperf3 server.
func TestTheirServer(t *testing.T) {
	t.Parallel() // it mostly waits
	for host, runs := range map[string][]map[string]any{
		"127.0.0.1": {
			{}, {"direction": "receive", "connections": 2}, {"direction": "both"}, {"transport": "udp", "bitrate": "50M"},
			{"congestion": "reno", "mss": 1000, "send_buffer": "256K", "receive_buffer": "256K", "nodelay": "on", "zero_copy": "sendfile"},
		},
		"::1": {{"connections": 3}, {"transport": "udp", "direction": "receive", "bitrate": "50M", "connections": 2}},
	} {
		target := iperfServer(t, host)
		for _, p := range runs {
			var r load.Result
			var err error
			for range 50 { // it may still be busy with the one before
				r, err = tryMeasure(t, load.Spec{Target: target, Parameters: p, Common: load.Common{Window: 1200 * time.Millisecond}})
				if err == nil || !strings.Contains(err.Error(), "another test") && !errors.Is(err, syscall.ECONNRESET) {
					break
				}
			}
			if err != nil {
				t.Errorf("%s, %v: %v", host, p, err)
				continue
			}
			loadtest.Check(t, r)
			f := figures(r)
			if f["bandwidth"] <= 0 || f["cpu_per_gb"] <= 0 {
				t.Errorf("%s, %v: %v", host, p, f)
			}
			if p["bitrate"] != nil && (f["bandwidth"] > 1.3*50e6/8 || f["loss"] < 0 || f["loss"] > 1) {
				t.Errorf("%s, %v: %g B/s of 6.25 MB/s asked for, loss %g", host, p, f["bandwidth"], f["loss"])
			}
			if p["direction"] == "both" && (f["send.bandwidth"] <= 0 || f["receive.bandwidth"] <= 0) {
				t.Errorf("%s, %v: %v", host, p, f)
			}
		}
	}
}

// iperfEnd is what the tests want of iperf3's JSON.
type iperfEnd struct {
	End struct {
		Received struct {
			Bytes float64 `json:"bytes"`
		} `json:"sum_received"`
		Reverse struct {
			Bytes float64 `json:"bytes"`
		} `json:"sum_received_bidir_reverse"`
		Sent struct {
			Bytes float64 `json:"bytes"`
		} `json:"sum_sent"`
		Sum struct {
			Packets float64 `json:"packets"`
			Lost    float64 `json:"lost_packets"`
		} `json:"sum"`
		CPU struct {
			Remote float64 `json:"remote_total"`
		} `json:"cpu_utilization_percent"`
	} `json:"end"`
	Error string `json:"error"`
}

func runIPerf(t *testing.T, target string, args ...string) (iperfEnd, error) {
	t.Helper()
	host, port, err := net.SplitHostPort(strings.TrimPrefix(target, "iperf3://"))
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	out, runErr := exec.CommandContext(ctx, realIPerf(t), append([]string{"-J", "-c", host, "-p", port}, args...)...).Output()
	var end iperfEnd
	if err := json.NewDecoder(bytes.NewReader(out)).Decode(&end); err != nil {
		return end, fmt.Errorf("%w: %w: %s", runErr, err, out)
	}
	if end.Error != "" {
		return end, errors.New(end.Error)
	}
	return end, runErr
}

// TestTheirClient: the real iperf3 client against our server.
func TestTheirClient(t *testing.T) {
	t.Parallel() // it mostly waits
	s := startServer(t, serverConfig{Listen: []string{"iperf3://127.0.0.1:0", "iperf3://[::1]:0"}, Time: 30 * time.Second})
	for _, c := range []struct {
		v6   bool
		args string
	}{
		{false, "-t 1"}, {true, "-t 1 -R -P 2 -O 1"}, {false, "-t 2 --bidir"}, {false, "-n 20M -P 3"}, {true, "-t 1 -Z -C reno -M 1000 -w 256K -N"},
		{false, "-t 1 -u -b 50M"}, {true, "-t 1 -u -b 50M -P 2 -l 1000 --udp-counters-64bit"}, {false, "-t 1 -u -b 50M -R -O 1"},
	} {
		target := s.targets[0]
		if c.v6 {
			target = s.targets[1]
		}
		end, err := runIPerf(t, target, strings.Fields(c.args)...)
		if err != nil {
			t.Errorf("iperf3 %s: %v; the server: %s", c.args, err, s.printed())
			continue
		}
		udp := strings.Contains(c.args, "-u")
		more := end.End.Received.Bytes > end.End.Sent.Bytes && !strings.Contains(c.args, "-O") // the omitted seconds end at either end by itself
		if !udp && (end.End.Received.Bytes+end.End.Reverse.Bytes <= 0 || more) {
			t.Errorf("iperf3 %s: received %g of %g B", c.args, end.End.Received.Bytes, end.End.Sent.Bytes)
		}
		if udp && (end.End.Sum.Packets <= 0 || end.End.Sum.Lost > end.End.Sum.Packets) {
			t.Errorf("iperf3 %s: lost %g of %g datagrams", c.args, end.End.Sum.Lost, end.End.Sum.Packets)
		}
	}
}

// TestTheirClientRefused: what the server does not do is told in iperf3's words,
// and the next test is served.
func TestTheirClientRefused(t *testing.T) {
	s := startServer(t, serverConfig{Listen: []string{"iperf3://127.0.0.1:0"}, Connections: 2, Time: 5 * time.Second})
	for args, want := range map[string]string{"-t 1 -P 3": "parallel streams", "-t 60": "", "-t 1 -l 17M": ""} {
		if _, err := runIPerf(t, s.targets[0], strings.Fields(args)...); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("iperf3 %s: %v, want %q", args, err, want)
		}
	}
	if _, err := runIPerf(t, s.targets[0], "-t", "1"); err != nil {
		t.Errorf("after those that were refused: %v; the server: %s", err, s.printed())
	}
}
