package net

import (
	"bytes"
	"encoding/csv"
	"encoding/json"
	"strconv"

	"bakeoff/engine/net/flow"
	"bakeoff/engine/net/wire"
)

// Artifacts are what belongs to the record beside figures: the counts of every
// second at both ends (connections.csv) and, of a stream, the result in the form
// of iperf3's JSON (iperf3.json), for what reads that already.
func (s *session) Artifacts() map[string][]byte {
	if len(s.ends) == 0 || len(s.edges) == 0 {
		return nil
	}
	var local []flow.End
	for _, e := range s.ends {
		local = append(local, e.Read(true))
	}
	files := map[string][]byte{}
	if text := s.connections(local); text != nil {
		files["connections.csv"] = text
	}
	if s.c.test.Mode == wire.Stream && len(s.edges) == 2 && s.edges[1].remote != nil {
		if text, err := json.MarshalIndent(s.iperfDocument(local), "", "\t"); err == nil {
			files["iperf3.json"] = text
		}
	}
	return files
}

// connections writes the samples of both ends. Times are seconds from the window's
// opening, by the clock of the end that took them.
func (s *session) connections(local []flow.End) []byte {
	var out bytes.Buffer
	w := csv.NewWriter(&out)
	rows := 0
	_ = w.Write([]string{
		"end", "connection", "sender", "at_s", "bytes", "units", "expected", "duplicates", "reordered", "jitter_s",
		"retransmits", "rtt_s", "rtt_variation_s", "cwnd_bytes", "delivery_rate_bytes_per_s", "path_mtu_bytes",
	}) // a buffer takes everything
	write := func(end string, ends []flow.End, zero int64) {
		for i, e := range ends {
			for _, x := range e.Samples {
				rows++
				_ = w.Write(append([]string{end, strconv.Itoa(i + 1), strconv.FormatBool(e.Sender)}, sampleCells(x, zero)...))
			}
		}
	}
	write("client", local, s.edges[0].at)
	if s.edges[0].remote != nil {
		write("server", s.remote, s.edges[0].remote.At)
	}
	w.Flush()
	if rows == 0 {
		return nil
	}
	return out.Bytes()
}

func sampleCells(x flow.Sample, zero int64) []string {
	whole := func(n uint64) string { return strconv.FormatUint(n, 10) }
	seconds := func(ns float64) string { return strconv.FormatFloat(ns/1e9, 'f', 9, 64) }
	c := x.Counts
	cells := []string{seconds(float64(x.At - zero)), whole(c.Bytes), whole(c.Units), whole(c.Expected), whole(c.Duplicates), whole(c.Reordered), seconds(c.Jitter)}
	if x.Info == nil {
		return append(cells, "", "", "", "", "", "")
	}
	i := x.Info
	return append(cells, whole(i.Retransmits), seconds(float64(i.RTT)), seconds(float64(i.RTTVar)), whole(i.Window), whole(i.DeliveryRate), strconv.Itoa(i.PathMTU))
}

// object is a JSON object.
type object map[string]any

// iperfDocument is the result as iperf3 writes it with -J. Sums are of the window:
// sent by the sender's counts, received by the receiver's.
func (s *session) iperfDocument(local []flow.End) object {
	t := &s.c.test
	w := window{test: t, open: &s.edges[0], close: &s.edges[1]}
	here, there := w.ends()
	sent, received := sums(float64(here.sent+there.sent), w.local()), sums(float64(there.received), w.remote())
	if t.Receive > 0 {
		received = sums(float64(here.received)+float64(there.received), w.local())
	}
	sent["retransmits"] = here.retransmits + there.retransmits
	if t.Datagram {
		packets, got := here.expected+there.expected, here.units+there.units
		received["packets"], received["lost_packets"] = packets, less(packets, got)
		if packets > 0 {
			received["lost_percent"] = 100 * float64(less(packets, got)) / float64(packets)
		}
	}
	protocol := map[bool]string{false: "TCP", true: "UDP"}[t.Datagram]
	cpu := func(ns int64, seconds float64) float64 { return float64(ns) / 1e7 / seconds }
	return object{
		"start": object{
			"version": "bakeoff", "connecting_to": object{"host": s.c.target.host, "port": s.c.target.port},
			"test_start": object{
				"protocol": protocol, "num_streams": max(t.Send, t.Receive), "blksize": t.Block, "omit": 0, "duration": w.local(),
				"reverse": asNumber(t.Send == 0), "bidir": asNumber(t.Send > 0 && t.Receive > 0), "tos": t.Options.DSCP << 2,
			},
		},
		"intervals": s.intervals(local),
		"end": object{
			"sum_sent": sent, "sum_received": received,
			"cpu_utilization_percent": object{
				"host_total":   cpu(w.close.cpu-w.open.cpu, w.local()),
				"remote_total": cpu(w.close.remote.CPU-w.open.remote.CPU, w.remote()),
			},
		},
	}
}

func asNumber(yes bool) int {
	if yes {
		return 1
	}
	return 0
}

func sums(bytes, seconds float64) object {
	return object{"start": 0, "end": seconds, "seconds": seconds, "bytes": bytes, "bits_per_second": bytes * 8 / seconds}
}

// intervals are the seconds between this end's samples, a list of streams each.
func (s *session) intervals(local []flow.End) []object {
	zero, end := s.edges[0].at, s.edges[1].at
	var out []object
	for i, e := range local {
		for k := 1; k < len(e.Samples); k++ {
			a, b := e.Samples[k-1], e.Samples[k]
			if b.At > end {
				break
			}
			stream := sums(float64(less(b.Counts.Bytes, a.Counts.Bytes)), float64(b.At-a.At)/1e9)
			stream["socket"], stream["sender"], stream["omitted"] = i+1, e.Sender, a.At < zero
			stream["start"], stream["end"] = float64(a.At-zero)/1e9, float64(b.At-zero)/1e9
			if b.Info != nil && a.Info != nil && e.Sender {
				stream["retransmits"] = less(b.Info.Retransmits, a.Info.Retransmits)
				stream["snd_cwnd"], stream["rtt"], stream["rttvar"], stream["pmtu"] = b.Info.Window, b.Info.RTT/1000, b.Info.RTTVar/1000, b.Info.PathMTU
			}
			for len(out) < k {
				out = append(out, object{"streams": []object{}})
			}
			list, _ := out[k-1]["streams"].([]object)
			out[k-1]["streams"] = append(list, stream)
		}
	}
	return out
}
