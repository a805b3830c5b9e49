package main

// kind says what a case's figure is.
type kind string

const (
	bandwidth kind = "bandwidth" // bits a second, more is better; CPU a gigabyte
	latency   kind = "latency"   // seconds of half a round trip, less is better; CPU a million round trips
)

// benchCase is one comparison: ours against peers, with what is to be reached.
type benchCase struct {
	name  string
	kind  kind
	six   bool
	ours  []variant
	peers []peerRun
}

// variant is one way of ours, and its targets: figure over the peer's, and CPU over
// the peer's; 0 where there is none. A latency must be at most its target.
type variant struct {
	name        string
	parameters  map[string]any
	figure, cpu float64
}

// peerRun is one way of a peer: its tool and arguments beside address and time.
type peerRun struct {
	tool string
	args []string
}

func cases() []benchCase {
	type p = map[string]any
	iperf := func(args ...string) []peerRun { return []peerRun{{"iperf3", args}} }
	datagram := func(gso bool) p { return p{"transport": "udp", "block": 1448, "gso": gso} }
	return []benchCase{
		{name: "tcp-128K", kind: bandwidth, ours: []variant{{"bakeoff", p{}, 1, .95}}, peers: iperf("-l", "128K")},
		{name: "tcp-1M", kind: bandwidth, ours: []variant{{"bakeoff", p{"block": "1M"}, 1, .95}, {"bakeoff, discard", p{"block": "1M", "discard": true}, 0, 0}}, peers: iperf("-l", "1M")},
		{name: "tcp-reverse", kind: bandwidth, ours: []variant{{"bakeoff", p{"direction": "receive"}, 1, .95}}, peers: iperf("-l", "128K", "-R")},
		{name: "tcp-sendfile", kind: bandwidth, ours: []variant{{"bakeoff", p{"zero_copy": "sendfile", "block": "1M"}, 1, .95}}, peers: iperf("-l", "1M", "-Z")},
		{name: "tcp6-1M", kind: bandwidth, six: true, ours: []variant{{"bakeoff", p{"block": "1M"}, 1, .95}}, peers: iperf("-l", "1M")},
		{name: "tcp-4-streams", kind: bandwidth, ours: []variant{{"bakeoff", p{"connections": 4}, 1, .95}}, peers: iperf("-l", "128K", "-P", "4")},
		{name: "udp", kind: bandwidth, ours: []variant{{"bakeoff, offloads", datagram(true), 10, 0}, {"bakeoff, packet for packet", datagram(false), 1.1, 0}}, peers: iperf("-u", "-b", "0", "-l", "1448")},
		{
			name: "pingpong", kind: latency,
			ours:  []variant{{"bakeoff", p{"mode": "pingpong"}, 1, 0}, {"bakeoff, spinning", p{"mode": "pingpong", "wait": "spin"}, .2, 0}},
			peers: []peerRun{{"qperf", []string{"tcp_lat"}}, {"sockperf", []string{"--tcp"}}},
		},
		{
			name: "udp-pingpong", kind: latency,
			ours:  []variant{{"bakeoff", p{"mode": "pingpong", "transport": "udp"}, 1, 0}, {"bakeoff, spinning", p{"mode": "pingpong", "transport": "udp", "wait": "spin"}, .2, 0}},
			peers: []peerRun{{"qperf", []string{"udp_lat"}}, {"sockperf", nil}},
		},
	}
}
