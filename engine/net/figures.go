package net

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"bakeoff/engine/net/flow"
	"bakeoff/engine/net/wire"
	"bakeoff/hist"
	"bakeoff/load"
	"bakeoff/record"
)

// figureNames lists what Figures may give.
func figureNames() []string {
	return []string{
		"send.bandwidth", "receive.bandwidth", "sent_bandwidth", "loss", "reordered", "duplicates", "jitter", "mean_transit_change", "socket_drops",
		"retransmits", "retransmitted", "rtt", "rtt_variation", "rtt_min", "cwnd", "delivery_rate", "zero_copy_copied",
		"cpu_per_gb", "client_cpu_per_gb", "server_cpu_per_gb", "cpu_per_million", "server_cpu_per_million", "server_host_busy",
		"half_round_trip.p50", "half_round_trip.p90", "half_round_trip.p99", "half_round_trip.p99.9", "half_round_trip.mean", "half_round_trip.min",
	}
}

// totals sums up what one end of all connections has counted.
type totals struct {
	sent, received     uint64 // bytes of bulk data
	units, sentUnits   uint64 // datagrams or operations, received or answered; sent
	expected           uint64
	duplicates         uint64
	reordered          uint64
	deviation          float64
	deviations         uint64
	drops, copied      uint64
	retransmits        uint64
	bytesRetransmitted uint64
	untold             bool // some receiver does not count expected, duplicates and reordered
}

func sum(ends []flow.End) (t totals) {
	for _, e := range ends {
		if e.Info != nil {
			t.retransmits += e.Info.Retransmits
			t.bytesRetransmitted += e.Info.BytesRetrans
		}
		t.drops += e.Drops
		c := e.Counts
		t.copied += c.Copied
		if e.Sender {
			t.sent, t.sentUnits = t.sent+c.Bytes, t.sentUnits+c.Units
			continue
		}
		t.untold = t.untold || e.Untold
		t.received, t.units = t.received+c.Bytes, t.units+c.Units
		t.expected, t.duplicates, t.reordered = t.expected+c.Expected, t.duplicates+c.Duplicates, t.reordered+c.Reordered
		t.deviation, t.deviations = t.deviation+c.Deviation, t.deviations+c.Deviations
	}
	return t
}

// counts is an edge as counters of the record: figures can be worked out of
// them once more.
func (e *edge) counts() []load.Count {
	list := endCounts("client", sum(e.local), e.at, e.cpu)
	if e.remote == nil {
		return list
	}
	list = append(list, endCounts("server", sum(e.remote.Flows), e.remote.At, e.remote.CPU)...)
	return append(list, load.Count{Name: "server.host_busy", Unit: "s", Value: float64(e.remote.Busy) / 1e9})
}

func endCounts(end string, t totals, at, cpu int64) []load.Count {
	list := []load.Count{
		{Name: end + ".clock", Unit: "s", Value: float64(at) / 1e9}, {Name: end + ".cpu", Unit: "s", Value: float64(cpu) / 1e9},
	}
	for _, c := range []struct {
		name, unit string
		value      uint64
	}{
		{"bytes_sent", "B", t.sent}, {"bytes_received", "B", t.received}, {"retransmits", "1", t.retransmits},
		{"received", "1", t.units}, {"sent", "1", t.sentUnits}, {"expected", "1", t.expected}, {"duplicates", "1", t.duplicates}, {"reordered", "1", t.reordered}, {"socket_drops", "1", t.drops},
	} {
		if t.untold && slices.Contains([]string{"expected", "duplicates", "reordered", "socket_drops"}, c.name) {
			continue
		}
		list = append(list, load.Count{Name: end + "." + c.name, Unit: c.unit, Value: float64(c.value)})
	}
	return list
}

// Figures works out what only both ends together know, over the window.
func (s *session) Figures(ctx context.Context) ([]record.Figure, error) {
	if len(s.edges) != 2 || s.edges[0].remote == nil || s.edges[1].remote == nil {
		return nil, errors.New("the counts of the server are missing at an edge of the window: nothing can be said of what was received")
	}
	s.remote = s.peer.samples(ctx)
	w := window{test: &s.c.test, open: &s.edges[0], close: &s.edges[1]}
	if w.local() <= 0 || w.remote() <= 0 {
		return nil, errors.New("the window is too short: the server's clock has not moved in it")
	}
	switch s.c.test.Mode {
	case wire.Stream:
		if err := w.arrived(); err != nil {
			return nil, err
		}
		w.bandwidth()
		w.datagrams()
	case wire.PingPong:
		w.trips(s.workers)
	}
	w.tcp()
	w.processors()
	return w.figures, nil
}

// window is what lies between two edges.
type window struct {
	test        *wire.Test
	open, close *edge
	figures     []record.Figure
}

func (w *window) add(name, unit string, value float64) {
	w.figures = append(w.figures, record.Figure{Name: name, Unit: unit, Value: value})
}

// local and remote are the window's length by either end's clock, in seconds.
func (w *window) local() float64  { return float64(w.close.at-w.open.at) / 1e9 }
func (w *window) remote() float64 { return float64(w.close.remote.At-w.open.remote.At) / 1e9 }

// between is what one end counted in the window.
func between(open, end []flow.End) totals {
	a, b := sum(open), sum(end)
	return totals{
		sent: less(b.sent, a.sent), received: less(b.received, a.received), units: less(b.units, a.units), sentUnits: less(b.sentUnits, a.sentUnits),
		expected: less(b.expected, a.expected), duplicates: less(b.duplicates, a.duplicates), reordered: less(b.reordered, a.reordered),
		deviation: b.deviation - a.deviation, deviations: less(b.deviations, a.deviations), drops: less(b.drops, a.drops), copied: less(b.copied, a.copied),
		retransmits: less(b.retransmits, a.retransmits), bytesRetransmitted: less(b.bytesRetransmitted, a.bytesRetransmitted), untold: b.untold,
	}
}

// less subtracts counters, of which a peer may make nonsense.
func less(b, a uint64) uint64 {
	if b < a {
		return 0
	}
	return b - a
}

func (w *window) ends() (local, remote totals) {
	return between(w.open.local, w.close.local), between(w.open.remote.Flows, w.close.remote.Flows)
}

// arrived refuses a window in which a TCP stream came to a halt. That UDP loses
// everything is a result.
func (w *window) arrived() error {
	local, remote := w.ends()
	if w.test.Datagram || local.received+remote.received > 0 {
		return nil
	}
	mtu := 0
	for _, e := range append(slices.Clone(w.close.local), w.close.remote.Flows...) {
		if e.Info != nil && e.Sender {
			mtu = max(mtu, e.Info.PathMTU)
		}
	}
	return fmt.Errorf("nothing arrived in the window: the sender takes the path's MTU for %d bytes; if a link on the way has less and does not say so, packets vanish: try mss, or set net.ipv4.tcp_mtu_probing", mtu)
}

// bandwidth is what was received, by the receiver's counts and clock. The
// throughput is the same in blocks.
func (w *window) bandwidth() {
	local, remote := w.ends()
	there, here := float64(remote.received)/w.remote(), float64(local.received)/w.local()
	w.add("bandwidth", "B/s", there+here)
	w.add("throughput", "ops/s", (there+here)/float64(w.test.Block))
	if w.test.Send > 0 {
		w.add("send.bandwidth", "B/s", there)
		w.add("send.throughput", "ops/s", there/float64(w.test.Block))
	}
	if w.test.Receive > 0 {
		w.add("receive.bandwidth", "B/s", here)
		w.add("receive.throughput", "ops/s", here/float64(w.test.Block))
	}
	w.add("sent_bandwidth", "B/s", float64(local.sent)/w.local()+float64(remote.sent)/w.remote())
	if w.test.ZeroCopy == flow.MsgZeroCopy {
		w.add("zero_copy_copied", "1", float64(local.copied+remote.copied))
	}
}

// datagrams judges those of a stream over UDP: what the receiver missed of the
// numbers that it should have seen.
func (w *window) datagrams() {
	if !w.test.Datagram {
		return
	}
	local, remote := w.ends()
	expected, received := local.expected+remote.expected, local.units+remote.units
	sent := local.sentUnits + remote.sentUnits
	untold := local.untold || remote.untold
	switch {
	case expected > 0:
		w.add("loss", "1", float64(less(expected, received))/float64(expected))
	case sent > 0 && !untold:
		w.add("loss", "1", 1)
	}
	if received > 0 && !untold {
		w.add("reordered", "1", float64(local.reordered+remote.reordered)/float64(received))
		w.add("duplicates", "1", float64(local.duplicates+remote.duplicates)/float64(received))
	}
	jitter, receivers := 0.0, 0
	for _, ends := range [][]flow.End{w.close.local, w.close.remote.Flows} {
		for _, e := range ends {
			if !e.Sender {
				jitter, receivers = jitter+e.Counts.Jitter, receivers+1
			}
		}
	}
	if receivers > 0 {
		w.add("jitter", "s", jitter/float64(receivers)/1e9)
	}
	if n := local.deviations + remote.deviations; n > 0 {
		w.add("mean_transit_change", "s", (local.deviation+remote.deviation)/float64(n)/1e9)
	}
	w.add("socket_drops", "1", float64(local.drops+remote.drops))
}

// tcp tells what the kernels of the senders know.
func (w *window) tcp() {
	if w.test.Datagram || w.test.Mode == wire.Connect {
		return
	}
	local, remote := w.ends()
	w.add("retransmits", "1", float64(local.retransmits+remote.retransmits))
	if sent := local.sent + remote.sent; sent > 0 && w.test.Mode == wire.Stream && w.remoteInfo() {
		w.add("retransmitted", "1", float64(local.bytesRetransmitted+remote.bytesRetransmitted)/float64(sent))
	}
	var rtt, variation, least, congestion, delivery float64
	n := 0
	for _, ends := range [][]flow.End{w.close.local, w.close.remote.Flows} {
		for _, e := range ends {
			if e.Info == nil || e.Info.RTT == 0 || !e.Sender && w.test.Mode == wire.Stream {
				continue
			}
			n++
			rtt, variation = rtt+float64(e.Info.RTT), variation+float64(e.Info.RTTVar)
			congestion, delivery = congestion+float64(e.Info.Window), delivery+float64(e.Info.DeliveryRate)
			if least == 0 || float64(e.Info.MinRTT) < least {
				least = float64(e.Info.MinRTT)
			}
		}
	}
	if n == 0 {
		return
	}
	w.add("rtt", "s", rtt/float64(n)/1e9)
	w.add("rtt_variation", "s", variation/float64(n)/1e9)
	w.add("rtt_min", "s", least/1e9)
	if w.test.Mode != wire.PingPong {
		w.add("cwnd", "B", congestion/float64(n))
		w.add("delivery_rate", "B/s", delivery)
	}
}

// remoteInfo says whether the peer tells all that its kernel knows of the
// connections on which it sends.
func (w *window) remoteInfo() bool {
	for _, e := range w.close.remote.Flows {
		if e.Sender && (e.Info == nil || e.Info.RTT == 0) {
			return false
		}
	}
	return true
}

// processors is what moving the data cost the threads at both ends.
func (w *window) processors() {
	local, remote := w.ends()
	here, there := float64(w.close.cpu-w.open.cpu)/1e9, float64(w.close.remote.CPU-w.open.remote.CPU)/1e9
	switch w.test.Mode {
	case wire.Stream, wire.Blocks:
		bytes := float64(local.received + remote.received)
		if w.test.Mode == wire.Blocks {
			bytes = float64(remote.received + remote.sent)
		}
		if bytes > 0 {
			w.add("cpu_per_gb", "CPU s/GB", (here+there)/bytes*1e9)
			w.add("client_cpu_per_gb", "CPU s/GB", here/bytes*1e9)
			w.add("server_cpu_per_gb", "CPU s/GB", there/bytes*1e9)
		}
	default:
		if n := float64(remote.units + remote.sentUnits); n > 0 {
			w.add("cpu_per_million", "CPU s/M ops", (here+there)/n*1e6)
			w.add("server_cpu_per_million", "CPU s/M ops", there/n*1e6)
		}
	}
	busy, span := w.close.remote.Busy-w.open.remote.Busy, w.close.remote.Now-w.open.remote.Now
	if busy > 0 && span > 0 {
		w.add("server_host_busy", "CPU s/s", float64(busy)/float64(span))
	}
}

// trips is half of the round trips, which is what latency between hosts is
// mostly given as.
func (w *window) trips(workers []*base) {
	all := hist.New()
	for _, b := range workers {
		all.Merge(b.trips)
	}
	if all.Count() == 0 {
		return
	}
	half := func(name string, ns float64) { w.add("half_round_trip."+name, "s", ns/2/1e9) }
	for _, q := range []float64{50, 90, 99, 99.9} {
		half(fmt.Sprintf("p%g", q), float64(all.Quantile(q/100)))
	}
	half("mean", all.Mean())
	half("min", float64(all.Min()))
}
