package net

import (
	"encoding/csv"
	"encoding/json"
	"math"
	"net/netip"
	"strings"
	"testing"
	"time"

	"bakeoff/load"
	"bakeoff/load/loadtest"
	"bakeoff/record"
)

func TestParameters(t *testing.T) {
	const target = "tcp://127.0.0.1:5301"
	for _, c := range []struct {
		name, target string
		p            map[string]any
		common       load.Common
		want         string // in the error; "" for none
	}{
		{name: "defaults", target: target},
		{name: "both ways over UDP", target: target, p: map[string]any{"transport": "udp", "direction": "both", "connections": 4}},
		{name: "iperf3", target: "iperf3://10.0.0.1", p: map[string]any{"bitrate": "1G"}},
		{name: "no target", want: "no target"},
		{name: "another scheme", target: "http://x:1", want: "unknown scheme"},
		{name: "udp as a scheme", target: "udp://x:1", want: "transport: udp"},
		{name: "no port", target: "tcp://x", want: "port"},
		{name: "a token in the target", target: "tcp://user:secret@x:1", want: "secret \"token\""},
		{name: "block too large", target: target, p: map[string]any{"block": "17M"}, want: "block of"},
		{name: "datagram too small", target: target, p: map[string]any{"transport": "udp", "block": 10}, want: "expected 24 to"},
		{name: "connections", target: target, p: map[string]any{"connections": 300}, want: "expected 1 to 256"},
		{name: "depth", target: target, p: map[string]any{"mode": "blocks", "depth": 5000}, want: "expected 1 to 1024"},
		{name: "workers", target: target, p: map[string]any{"connections": 3}, common: load.Common{Workers: 2}, want: "leave workers out"},
		{name: "dscp", target: target, p: map[string]any{"dscp": "gold"}, want: "expected 0 to 63"},
		{name: "dscp by name", target: target, p: map[string]any{"dscp": "af41"}},
		{name: "bind", target: target, p: map[string]any{"bind": "here"}, want: "bind"},
		{name: "bitrate of messages", target: target, p: map[string]any{"mode": "pingpong", "bitrate": "1M"}, want: "for streams"},
		{name: "bitrate and rate", target: target, p: map[string]any{"bitrate": "1M"}, common: load.Common{Rate: 5}, want: "one of them"},
		{name: "bitrate both ways", target: target, p: map[string]any{"bitrate": "1M", "direction": "both"}, want: "use pacing"},
		{name: "zero copy over UDP", target: target, p: map[string]any{"transport": "udp", "zero_copy": "sendfile"}, want: "needs a stream over TCP"},
		{name: "spinning streams", target: target, p: map[string]any{"wait": "spin"}, want: "needs mode pingpong"},
		{name: "blocks over UDP", target: target, p: map[string]any{"mode": "blocks", "transport": "udp"}, want: "needs TCP"},
		{name: "congestion over UDP", target: target, p: map[string]any{"transport": "udp", "congestion": "cubic"}, want: "needs TCP"},
		{name: "iperf3 has no pingpong", target: "iperf3://x", p: map[string]any{"mode": "pingpong"}, want: "all that iperf3 has"},
		{name: "iperf3 omits whole seconds", target: "iperf3://x", common: load.Common{Warmup: 1500 * time.Millisecond}, want: "expected whole seconds"},
		{name: "iperf3 has one buffer size", target: "iperf3://x", p: map[string]any{"send_buffer": "1M"}, want: "give send_buffer and receive_buffer the same"},
		{name: "a family that the address is not of", target: "tcp://[::1]:1", p: map[string]any{"family": "4"}},
	} {
		s, err := (Engine{}).Open(t.Context(), load.Spec{Target: c.target, Parameters: c.p, Common: c.common})
		if err == nil {
			_ = s.Shape()
			err2 := s.Close()
			if c.want != "" || err2 != nil {
				t.Errorf("%s: taken, %v", c.name, err2)
			}
			continue
		}
		if c.want == "" || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %q", c.name, err, c.want)
		}
	}
	if _, err := tryMeasure(t, load.Spec{Target: "tcp://[::1]:1", Parameters: map[string]any{"family": "4"}}); err == nil || !strings.Contains(err.Error(), "no IPv4 address") {
		t.Errorf("an IPv6 address for family 4: %v", err)
	}
}

// TestFiguresAreTheReceivers: bandwidth is what the counters of the record say
// that the receiver got, by its own clock, and no more than was sent.
func TestFiguresAreTheReceivers(t *testing.T) {
	target := startServer(t, serverConfig{}).targets[0]
	for name, c := range map[string]struct {
		p        map[string]any
		receiver string
	}{
		"send": {map[string]any{"connections": 2}, "server"}, "receive": {map[string]any{"direction": "receive"}, "client"},
		"datagrams sent":     {map[string]any{"transport": "udp", "bitrate": "100M"}, "server"},
		"datagrams received": {map[string]any{"transport": "udp", "bitrate": "100M", "direction": "receive"}, "client"},
		"sendfile":           {map[string]any{"zero_copy": "sendfile"}, "server"},
		"discard":            {map[string]any{"discard": true}, "server"},
	} {
		r := measure(t, load.Spec{Target: target, Parameters: c.p})
		loadtest.Check(t, r)
		f := figures(r)
		delta := map[string]float64{}
		for _, x := range r.Load.Counters {
			delta[x.Name] = x.Close - x.Open
		}
		want := delta[c.receiver+".bytes_received"] / delta[c.receiver+".clock"]
		if math.Abs(f["bandwidth"]-want) > 1e-6*want || want == 0 {
			t.Errorf("%s: bandwidth %g, the counters say %g", name, f["bandwidth"], want)
		}
		cpu := (delta["client.cpu"] + delta["server.cpu"]) / delta[c.receiver+".bytes_received"] * 1e9
		if math.Abs(f["cpu_per_gb"]-cpu) > 1e-6*cpu || cpu == 0 {
			t.Errorf("%s: cpu_per_gb %g, the counters say %g", name, f["cpu_per_gb"], cpu)
		}
		if lost, ok := f["loss"]; strings.HasPrefix(name, "datagrams") && (!ok || lost < 0 || lost > 1) {
			t.Errorf("%s: loss %g, %v", name, lost, ok)
		}
	}
}

// TestBothWays: either direction has its figure, and the bandwidth is their sum.
func TestBothWays(t *testing.T) {
	r := measure(t, load.Spec{Target: startServer(t, serverConfig{Listen: []string{"tcp://[::1]:0"}}).targets[0], Parameters: map[string]any{"direction": "both", "connections": 2}})
	loadtest.Check(t, r)
	f := figures(r)
	if f["send.bandwidth"] <= 0 || f["receive.bandwidth"] <= 0 || math.Abs(f["send.bandwidth"]+f["receive.bandwidth"]-f["bandwidth"]) > 1 {
		t.Errorf("%v", f)
	}
	if len(r.Load.Kinds) != 2 {
		t.Errorf("kinds %+v", r.Load.Kinds)
	}
}

func TestEveryMode(t *testing.T) {
	target := startServer(t, serverConfig{}).targets[0]
	for name, c := range map[string]struct {
		p    map[string]any
		want []string // figures
	}{
		"pingpong":           {map[string]any{"mode": "pingpong", "connections": 2}, []string{"half_round_trip.p50", "half_round_trip.min", "cpu_per_million", "rtt"}},
		"64K there and back": {map[string]any{"mode": "pingpong", "block": "64K"}, []string{"half_round_trip.p99"}},
		"UDP":                {map[string]any{"mode": "pingpong", "transport": "udp", "block": 1400}, []string{"half_round_trip.p50", "cpu_per_million"}},
		"spin":               {map[string]any{"mode": "pingpong", "wait": "spin"}, []string{"half_round_trip.p50"}},
		"connect":            {map[string]any{"mode": "connect", "connections": 2}, []string{"cpu_per_million"}},
		"read":               {map[string]any{"mode": "blocks", "block": "1M", "depth": 4}, []string{"cpu_per_gb", "retransmits", "cwnd"}},
		"write":              {map[string]any{"mode": "blocks", "op": "write", "block": "256K", "connections": 2}, []string{"cpu_per_gb"}},
		"mixed":              {map[string]any{"mode": "blocks", "op": "mixed", "reads": "30%", "block": "4K"}, []string{"cpu_per_gb"}},
		"zero copy":          {map[string]any{"zero_copy": "msg_zerocopy"}, []string{"zero_copy_copied"}},
		"no offload":         {map[string]any{"transport": "udp", "gso": false, "batch": 1}, []string{"loss", "jitter", "socket_drops"}},
		"options":            {map[string]any{"congestion": "reno", "mss": 1000, "send_buffer": "512K", "receive_buffer": "512K", "dscp": "ef", "nodelay": "on", "pacing": "800M", "bind": "127.0.0.1", "fragment": "never"}, []string{"bandwidth"}},
	} {
		r := measure(t, load.Spec{Target: target, Parameters: c.p})
		loadtest.Check(t, r)
		f := figures(r)
		for _, figure := range c.want {
			if _, ok := f[figure]; !ok {
				t.Errorf("%s: no figure %s in %v", name, figure, f)
			}
		}
		if r.Load.Ledger.Completed == 0 || r.Load.Ledger.Failed+r.Load.Ledger.TimedOut > 0 {
			t.Errorf("%s: %+v, %v", name, r.Load.Ledger, r.Load.Errors)
		}
		for _, x := range r.Load.Figures {
			if math.IsNaN(x.Value) || math.IsInf(x.Value, 0) || x.Value < 0 {
				t.Errorf("%s: %s is %g", name, x.Name, x.Value)
			}
		}
	}
}

// TestTheFirstIsCounted: without a warm-up the window begins with the first block,
// which the receiver has waited for since before.
func TestTheFirstIsCounted(t *testing.T) {
	t.Parallel() // it mostly waits
	target := startServer(t, serverConfig{}).targets[0]
	for transport, p := range map[string]map[string]any{"tcp": {"bitrate": "1M", "block": "64K"}, "udp": {"bitrate": "40k", "block": "1K"}} {
		p["transport"] = transport
		r := measure(t, load.Spec{Target: target, Parameters: p, Common: load.Common{Window: 1300 * time.Millisecond}})
		counted := map[string]float64{}
		for _, c := range r.Load.Counters {
			counted[c.Name] = c.Close - c.Open
		}
		if sent, got := counted["client.bytes_sent"], counted["server.bytes_received"]; sent == 0 || got != sent {
			t.Errorf("%s: %g bytes were sent in the window and %g received", transport, sent, got)
		}
		if loss := figures(r)["loss"]; loss != 0 {
			t.Errorf("%s: loss %g", transport, loss)
		}
	}
}

// TestABitrateIsKept: at most what was asked for goes out, by whichever end.
func TestABitrateIsKept(t *testing.T) {
	t.Parallel() // it mostly waits
	target := startServer(t, serverConfig{}).targets[0]
	for _, transport := range []string{"tcp", "udp"} {
		for _, direction := range []string{"send", "receive"} {
			r := measure(t, load.Spec{Target: target, Parameters: map[string]any{"transport": transport, "direction": direction, "bitrate": "80M", "block": "1K"}, Common: load.Common{Window: time.Second, Warmup: 200 * time.Millisecond}})
			// A tenth of a second may be made up for, and a batch be under way.
			if got := figures(r)["bandwidth"]; got > 1.25*10e6 || got == 0 {
				t.Errorf("%s, %s: %g B/s, asked for 10 MB/s", transport, direction, got)
			}
		}
	}
}

func TestTokens(t *testing.T) {
	guarded := startServer(t, serverConfig{Token: "correct horse"})
	for _, c := range []struct{ token, want string }{
		{"correct horse", ""}, {"wrong horse", "the token is not the server's"}, {"", "asks for a token"},
	} {
		spec := load.Spec{Target: guarded.targets[0], Parameters: map[string]any{"mode": "pingpong"}, Secrets: map[string]string{"token": c.token}}
		_, err := tryMeasure(t, spec)
		if c.want == "" != (err == nil) || err != nil && !strings.Contains(err.Error(), c.want) {
			t.Errorf("token %q: %v, want %q", c.token, err, c.want)
		}
		if err != nil && c.token != "" && strings.Contains(err.Error(), c.token) {
			t.Errorf("the error holds the token: %v", err)
		}
	}
	if text := guarded.printed(); strings.Contains(text, "horse") {
		t.Errorf("the server printed a token: %s", text)
	}
	closed := startServer(t, serverConfig{Allow: []netip.Prefix{netip.MustParsePrefix("10.0.0.0/8")}})
	if _, err := tryMeasure(t, load.Spec{Target: closed.targets[0]}); err == nil || !strings.Contains(err.Error(), "serves only [10.0.0.0/8]") {
		t.Errorf("a stranger was served, or not told why not: %v", err)
	}
}

// TestWhatTheServerCannot: limits and options that it refuses come back as its
// words, at once.
func TestWhatTheServerCannot(t *testing.T) {
	small := startServer(t, serverConfig{Connections: 2}).targets[0]
	for name, c := range map[string]struct {
		p    map[string]any
		want string
	}{
		"connections": {map[string]any{"connections": 3}, "at most 2"},
		"congestion":  {map[string]any{"congestion": "nonesuch"}, "tcp_available_congestion_control"},
		"processor":   {map[string]any{"server_cpus": "4000"}, "processor 4000"},
		"memory":      {map[string]any{"connections": 2, "transport": "udp", "batch": 1024 * 16}, "batch"},
	} {
		_, err := tryMeasure(t, load.Spec{Target: small, Parameters: c.p})
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %q", name, err, c.want)
		}
	}
	// What was refused is given back: there is still room for two.
	measure(t, load.Spec{Target: small, Parameters: map[string]any{"connections": 2}})
}

func TestArtifacts(t *testing.T) {
	r := measure(t, load.Spec{Target: startServer(t, serverConfig{}).targets[0], Parameters: map[string]any{"connections": 2}, Common: load.Common{Window: 1200 * time.Millisecond}})
	var samples, document []byte
	for name, content := range r.Logs {
		if strings.HasSuffix(name, "connections.csv") {
			samples = content
		}
		if strings.HasSuffix(name, "iperf3.json") {
			document = content
		}
	}
	rows, err := csv.NewReader(strings.NewReader(string(samples))).ReadAll()
	if err != nil || len(rows) < 5 {
		t.Errorf("%d rows of samples, %v", len(rows), err)
	}
	var d struct {
		Intervals []struct {
			Streams []struct{ Bytes float64 }
		}
		End struct {
			Received struct {
				BitsPerSecond float64 `json:"bits_per_second"`
			} `json:"sum_received"`
		}
	}
	if err := json.Unmarshal(document, &d); err != nil {
		t.Fatal(err)
	}
	if want := figures(r)["bandwidth"] * 8; math.Abs(d.End.Received.BitsPerSecond-want) > 1e-6*want || len(d.Intervals) == 0 || len(d.Intervals[0].Streams) != 2 {
		t.Errorf("%+v, want %g bit/s", d, want)
	}
}

// TestCountersStandAtBothEdges: what the warm-up moved is in the counters at the
// opening, and so in no figure.
func TestCountersStandAtBothEdges(t *testing.T) {
	r := measure(t, load.Spec{Target: startServer(t, serverConfig{}).targets[0], Common: load.Common{Warmup: 300 * time.Millisecond}})
	var seen record.Counter
	for _, c := range r.Load.Counters {
		if c.Name == "server.bytes_received" {
			seen = c
		}
	}
	if seen.Open <= 0 || seen.Close <= seen.Open {
		t.Errorf("%+v: the warm-up has moved nothing, or the window", seen)
	}
}

// TestLossIsWhatTheSocketDropped: over loopback nothing else loses datagrams, so
// the numbers that a receiver misses are those that its socket had no room for.
func TestLossIsWhatTheSocketDropped(t *testing.T) {
	r := measure(t, load.Spec{Target: startServer(t, serverConfig{}).targets[0], Parameters: map[string]any{"transport": "udp", "gso": false, "receive_buffer": "16K"}})
	delta := map[string]float64{}
	for _, c := range r.Load.Counters {
		delta[c.Name] = c.Close - c.Open
	}
	lost := delta["server.expected"] - delta["server.received"]
	dropped := delta["server.socket_drops"]
	// At either edge some are dropped whose followers have not been seen yet.
	const edge = 2000
	if math.Abs(lost-dropped) > edge+.02*dropped {
		t.Errorf("%g datagrams are missing, the socket dropped %g", lost, dropped)
	}
	if f := figures(r); math.Abs(f["loss"]-lost/delta["server.expected"]) > 1e-9 {
		t.Errorf("loss %g, the counters say %g", f["loss"], lost/delta["server.expected"])
	}
}
