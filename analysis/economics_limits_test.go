package analysis

import (
	"math"
	"slices"
	"testing"

	"bakeoff/record"
)

// counters makes a counter that grows evenly, for six seconds.
func counters(metric, instance string, perSecond float64) []record.Reading {
	values := make([]float64, 7)
	for i := range values {
		values[i] = perSecond * float64(i)
	}
	return readingsOf(metric, instance, record.Counter64, values...)
}

func TestFlows(t *testing.T) {
	var rows []record.Reading
	for _, r := range [][]record.Reading{
		counters("nic.rx.bytes", "eth0", 1e9), counters("nic.rx.packets", "eth0", 1e6), counters("nic.tx.bytes", "eth0", 2e9),
		counters("nic.rx.bytes", "eth1", 0), counters("vnic.rx.bytes", "lo", 9e9),
		counters("disk.read.bytes", "nvme0n1", 3e9), counters("disk.write.bytes", "sda", 1e8), counters("disk.write.bytes", "vda", 1e8),
	} {
		rows = append(rows, r...)
	}
	slot := func(gts float64, lanes int) *record.PCIe { return &record.PCIe{GTs: new(gts), Width: new(lanes)} }
	facts := map[string]record.Facts{"h": {
		NICs: []record.NIC{
			{Name: "eth0", Kind: "device", BitsPerSecond: new(int64(40e9)), PCIe: slot(8, 4)},
			{Name: "eth1", Kind: "device", BitsPerSecond: new(int64(40e9))},
			{Name: "lo", Kind: "loopback"},
		},
		Disks: []record.Disk{{Name: "nvme0n1", Driver: "nvme", PCIe: slot(16, 4)}, {Name: "sda", Driver: "mpt3sas", PCIe: slot(8, 8)}, {Name: "vda"}},
	}}
	d := &trialData{machines: map[string]*signals{"h": newSignals(rows)}, names: map[string]string{"h": "h"}, window: span{0, 6 * second}}
	flows := d.flows(facts)
	// One machine under two names has the facts of both.
	joined := &trialData{machines: map[string]*signals{"a, h": newSignals(rows)}, names: map[string]string{"a": "a, h", "h": "a, h"}, window: d.window}
	if two := joined.flows(map[string]record.Facts{"a": facts["h"], "h": facts["h"]}); len(two) != len(flows) || two[0].host != "a, h" {
		t.Errorf("a machine of two names has %d flows, of %d: %+v", len(two), len(flows), two)
	}
	want := []struct {
		device, direction, binding, how string
		bits, share                     float64
	}{
		// 1 GB/s of frames and a million packets with 24 B more each; PCIe 3 x4 carries 26.2 Gb/s.
		{"eth0", "received", "PCIe 3 x4, 26.2 Gbit/s effective", "on the wire", 8e9 + 8*24*1e6, 0.3128},
		{"eth0", "sent", "PCIe 3 x4, 26.2 Gbit/s effective", "bytes of frames", 16e9, 0.6110},
		{"nvme0n1", "read", "PCIe 4 x4, 52.4 Gbit/s effective", "bytes of the device", 24e9, 0.4583},
		{"sda", "written", "controller's PCIe 3 x8, 52.4 Gbit/s effective", "bytes of the device", 8e8, 0.0153},
	}
	if len(flows) != len(want) {
		t.Fatalf("%d flows: %+v", len(flows), flows)
	}
	for i, w := range want {
		f := flows[i]
		b := f.binding()
		if f.device != w.device || f.direction != w.direction || f.how != w.how || math.Abs(f.bits-w.bits) > 1 || b.name != w.binding || math.Abs(f.bits/b.bits-w.share) > 1e-4 {
			t.Errorf("%+v, bound by %+v (share %.4f); want %+v", f, b, f.bits/b.bits, w)
		}
	}
}

// A host without an agent is bounded by what the plan declares of it.
func TestDeclaredLimits(t *testing.T) {
	trial := record.Trial{
		Services: []record.Service{{Name: "array", Host: "storage"}},
		Loads: []record.Load{{Workload: "read", Part: "source", Window: record.Window{Seconds: 10},
			Kinds: []record.KindCount{{Kind: "read", BytesIn: 20e9}, {Kind: "write", BytesOut: 5e9}}}},
	}
	d := &trialData{trial: trial, window: span{0, 10 * second}}
	d.resolved.Workloads = parsePlan(t, `title: x
hosts: {client: {agent: local}, storage: {agent: none}}
services: {array: {host: storage, endpoint: "redis://192.0.2.1:1"}}
workloads: {read: {engine: kv, source: client, service: array, window: 10s}}
primary: {throughput: {better: higher, margin: 2%}}
`).Workloads
	flows := d.flows(map[string]record.Facts{"storage": {Declared: map[string]string{"model": "Array 9", "link": "25G", "drive": "32GFC"}}})
	if len(flows) != 2 || flows[0].bits != 16e9 || flows[0].binding().name != "declared link of 25.0 Gbit/s" || len(flows[0].bounds) != 2 {
		t.Errorf("flows %+v", flows)
	}
	row := flowRow(flows[:1])
	if row[4] != "64 %" || row[6] != "declared 32GFC, 3.20 GB/s (62.5 %)" {
		t.Errorf("row %q", row)
	}
	if slices.ContainsFunc(d.flows(map[string]record.Facts{"storage": {Declared: map[string]string{"link": "fast"}}}), func(flow) bool { return true }) {
		t.Error("a declared link that is no rate bounds something")
	}
}
