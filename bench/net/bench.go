package main

import (
	"bufio"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"runtime"
	"slices"
	"strconv"

	"bakeoff/bench/peer"
)

// bench is one whole measurement.
type bench struct {
	o       options
	self    string
	out     io.Writer
	missing []string
}

func newBench(o options) (*bench, error) {
	if runtime.NumCPU() < 2 {
		return nil, errors.New("this machine has one core: the server and the client need one each")
	}
	if _, err := exec.LookPath("taskset"); err != nil {
		return nil, fmt.Errorf("pinning the two ends needs taskset of util-linux: %w", err)
	}
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	b := &bench{o: o, self: self, out: os.Stdout}
	for _, tool := range []string{"iperf3", "qperf", "sockperf"} {
		if _, err := exec.LookPath(tool); err != nil {
			b.missing = append(b.missing, tool)
		}
	}
	return b, nil
}

func (c benchCase) host() string {
	if c.six {
		return "::1"
	}
	return "127.0.0.1"
}

// measure runs the cases and prints their tables.
func (b *bench) measure(ctx context.Context) error {
	fmt.Fprintf(b.out, "Over loopback, the server on core %d, the client on core %d; medians of %d rounds of %v.\n", b.o.serverCPU, b.o.clientCPU, b.o.rounds, b.o.time)
	for _, m := range b.missing {
		fmt.Fprintf(b.out, "Missing here, so not compared: %s.\n", m)
	}
	all := cases()
	for _, name := range b.o.cases {
		i := slices.IndexFunc(all, func(c benchCase) bool { return c.name == name })
		if i < 0 {
			return fmt.Errorf("unknown case %q", name)
		}
		if err := b.one(ctx, all[i]); err != nil {
			return fmt.Errorf("case %s: %w", name, err)
		}
	}
	return nil
}

// row is one tool's measurements in a case.
type row struct {
	name    string
	variant *variant // nil of a peer
	run     func(context.Context) (outcome, error)
	found   []outcome
}

// one runs a case: all tools in turn, as many rounds as asked for.
func (b *bench) one(ctx context.Context, c benchCase) error {
	var rows []*row
	for _, p := range c.peers {
		if slices.Contains(b.missing, p.tool) {
			continue
		}
		run := map[string]func(context.Context, benchCase, []string) (outcome, error){"iperf3": b.iperf, "qperf": b.qperf, "sockperf": b.sockperf}[p.tool]
		rows = append(rows, &row{name: p.tool, run: func(ctx context.Context) (outcome, error) { return run(ctx, c, p.args) }})
	}
	for i := range c.ours {
		v := &c.ours[i]
		rows = append(rows, &row{name: v.name, variant: v, run: func(ctx context.Context) (outcome, error) { return b.ours(ctx, c, v.parameters) }})
	}
	for range b.o.rounds {
		for _, r := range rows {
			o, err := r.run(ctx)
			if err != nil {
				return fmt.Errorf("%s: %w", r.name, err)
			}
			if b.o.verbose {
				fmt.Fprintf(os.Stderr, "%s %s: %g, CPU %.4f s\n", c.name, r.name, o.Figure, o.CPU)
			}
			r.found = append(r.found, o)
		}
	}
	b.table(c, rows)
	return nil
}

// ours measures our own client and server.
func (b *bench) ours(ctx context.Context, c benchCase, parameters map[string]any) (o outcome, err error) {
	port, err := peer.FreePort()
	if err != nil {
		return o, err
	}
	target := "tcp://" + net.JoinHostPort(c.host(), strconv.Itoa(port))
	server := peer.Pinned(ctx, b.o.serverCPU, b.self, "-serve", target)
	server.Stderr = os.Stderr
	ready, err := server.StdoutPipe()
	if err != nil {
		return o, err
	}
	if err := server.Start(); err != nil {
		return o, err
	}
	defer func() {
		_ = server.Process.Signal(os.Interrupt)
		_ = server.Wait()
	}()
	if _, err := bufio.NewReader(ready).ReadString('\n'); err != nil {
		return o, fmt.Errorf("our server did not start: %w", err)
	}
	text, err := json.Marshal(job{Target: target, Parameters: parameters, Window: b.o.time})
	if err != nil {
		return o, err
	}
	out, _, err := b.client(ctx, []string{b.self, "-generate", string(text)})
	if err != nil {
		return o, err
	}
	return o, json.Unmarshal(out, &o)
}

// table prints a case: figures, ratios to each peer, and whether targets are met.
func (b *bench) table(c benchCase, rows []*row) {
	unit, scale, cpuUnit := "Gbit/s", 1e-9, "CPU s/GB"
	if c.kind == latency {
		unit, scale, cpuUnit = "half round trip, us", 1e6, "CPU s/M"
	}
	fmt.Fprintf(b.out, "\n### %s\n\n| tool | %s | %s |", c.name, unit, cpuUnit)
	var peers []*row
	for _, r := range rows {
		if r.variant == nil {
			peers = append(peers, r)
			fmt.Fprintf(b.out, " over %s | CPU over %s |", r.name, r.name)
		}
	}
	fmt.Fprintf(b.out, " target |\n|---|---|---|")
	for range peers {
		fmt.Fprint(b.out, "---|---|")
	}
	fmt.Fprintln(b.out, "---|")
	for _, r := range rows {
		fmt.Fprintf(b.out, "| %s | %.2f | %.3f |", r.name, r.figure()*scale, r.cpu())
		for _, p := range peers {
			fmt.Fprintf(b.out, " %.2f | %.2f |", r.figure()/p.figure(), r.cpu()/p.cpu())
		}
		fmt.Fprintf(b.out, " %s |\n", verdict(c, r, peers))
	}
}

func (r *row) figure() float64 {
	return peer.Median(r.found, func(o outcome) float64 { return o.Figure })
}
func (r *row) cpu() float64 { return peer.Median(r.found, func(o outcome) float64 { return o.CPU }) }

// verdict says what was to be reached, and whether it was, against the best peer.
func verdict(c benchCase, r *row, peers []*row) string {
	if r.variant == nil || len(peers) == 0 || r.variant.figure == 0 {
		return ""
	}
	best := slices.MinFunc(peers, func(a, b *row) int {
		if c.kind == bandwidth {
			a, b = b, a
		}
		return cmp.Compare(a.figure(), b.figure())
	})
	ratio, v := r.figure()/best.figure(), r.variant
	text, met := fmt.Sprintf(">= %.2f", v.figure), ratio >= v.figure
	if c.kind == latency {
		text, met = fmt.Sprintf("<= %.2f", v.figure), ratio <= v.figure
	}
	if v.cpu > 0 {
		text += fmt.Sprintf(", CPU <= %.2f", v.cpu)
		met = met && r.cpu()/best.cpu() <= v.cpu
	}
	if met {
		return text + ": met"
	}
	return text + ": missed"
}
