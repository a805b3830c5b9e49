package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"time"

	"bakeoff/bench/peer"
	"bakeoff/engine/kv"
	"bakeoff/load"
)

// errCannot says that a generator cannot do a case.
var errCannot = errors.New("this generator cannot do that")

// bench is one whole measurement.
type bench struct {
	o          options
	dir        string
	floorPath  string
	generators []generator
	missing    []string
	out        io.Writer
}

func newBench(o options) (*bench, error) {
	if runtime.NumCPU() < 2 {
		return nil, errors.New("this machine has one core: the server and the generator need one each")
	}
	if _, err := exec.LookPath("taskset"); err != nil {
		return nil, fmt.Errorf("pinning the server and the generators needs taskset of util-linux: %w", err)
	}
	dir, err := os.MkdirTemp("", "bench-kv-")
	if err != nil {
		return nil, err
	}
	b := &bench{o: o, dir: dir, out: os.Stdout}
	b.generators = []generator{b.ours("bakeoff", "auto", 0), b.ours("bakeoff, epoll", "epoll", 0)}
	b.find("memtier_benchmark", b.memtier)
	b.find("redis-benchmark", b.redisBenchmark)
	for _, name := range []string{"memaslap", "memcaslap"} {
		if _, err := exec.LookPath(name); err == nil {
			b.find(name, b.memaslap(name))
			break
		}
		if name == "memcaslap" {
			b.missing = append(b.missing, "memaslap")
		}
	}
	return b, b.buildFloor()
}

func (b *bench) find(name string, measure func(context.Context, place) (outcome, error)) {
	if _, err := exec.LookPath(name); err != nil {
		b.missing = append(b.missing, name)
		return
	}
	b.generators = append(b.generators, generator{name, measure})
}

// buildFloor compiles the floor where there is a C compiler and its source.
func (b *bench) buildFloor() error {
	const source = "bench/kv/testdata/floor.c"
	cc, err := exec.LookPath("cc")
	if _, e := os.Stat(source); e != nil || err != nil {
		b.missing = append(b.missing, "floor (needs cc, and to be run from the module's root)")
		return nil
	}
	b.floorPath = filepath.Join(b.dir, "floor")
	if out, err := exec.Command(cc, "-O2", "-o", b.floorPath, source).CombinedOutput(); err != nil {
		return fmt.Errorf("compiling the floor: %w: %s", err, out)
	}
	b.generators = append(b.generators, generator{"C floor", b.floor})
	return nil
}

func (b *bench) close() { _ = os.RemoveAll(b.dir) }

// measure runs the cases and prints their tables.
func (b *bench) measure(ctx context.Context) error {
	fmt.Fprintf(b.out, "Generators' CPU an operation and throughput; the server on core %d, the generator on core %d; %d connections, %d keys of %d B, read only; medians of %d rounds of %v.\n",
		b.o.serverCPU, b.o.generatorCPU, b.o.connections, b.o.keys, b.o.bytes, b.o.rounds, b.o.time)
	for _, m := range b.missing {
		fmt.Fprintf(b.out, "Missing here, so not compared: %s.\n", m)
	}
	for _, name := range b.o.cases {
		if err := b.one(ctx, name); err != nil {
			return fmt.Errorf("case %s: %w", name, err)
		}
	}
	return nil
}

// one runs a case: all generators in turn, as many rounds as asked for.
func (b *bench) one(ctx context.Context, name string) error {
	p, err := b.open(ctx, name)
	if err != nil {
		return err
	}
	defer p.server.stop()
	generators := b.generators
	if p.rate > 0 {
		// A quantum of 1 us paces evenly, with the kernel's stamps: the truth that the others' medians are held against.
		generators = []generator{b.ours("bakeoff, 50us quantum", "auto", 50*time.Microsecond), b.ours("bakeoff, 200us quantum", "auto", 200*time.Microsecond),
			b.ours(evenPacing, "auto", time.Microsecond)}
		for _, g := range b.generators {
			if g.name == "memtier_benchmark" {
				generators = append(generators, g)
			}
		}
	}
	found := make([][]outcome, len(generators))
	for range b.o.rounds {
		for i, g := range generators {
			o, err := g.measure(ctx, p)
			if errors.Is(err, errCannot) {
				continue
			}
			if err != nil {
				return fmt.Errorf("%s: %w", g.name, err)
			}
			if b.o.printEachRate {
				fmt.Fprintf(os.Stderr, "%s %s: %.0f ops/s, %.3f us\n", name, g.name, o.Operations/o.Seconds, o.CPU/o.Operations*1e6)
			}
			found[i] = append(found[i], o)
		}
	}
	b.table(name, generators, found)
	return nil
}

// open starts the server of a case and loads its data.
func (b *bench) open(ctx context.Context, name string) (p place, err error) {
	cases := map[string]struct {
		p     place
		serve func(context.Context) (*server, error)
	}{
		"tcp-1": {place{pipeline: 1}, b.redis}, "tcp-16": {place{pipeline: 16}, b.redis},
		"unix-1": {place{pipeline: 1, unix: true}, b.redis}, "unix-16": {place{pipeline: 16, unix: true}, b.redis},
		"stub-64": {place{pipeline: 64}, b.stub}, "memcached-1": {place{pipeline: 1, memcache: true}, b.memcached},
		"open-loop": {place{pipeline: 1, rate: b.o.openLoop}, b.redis},
	}
	c, ok := cases[name]
	if !ok {
		return p, fmt.Errorf("unknown; expected tcp-1, tcp-16, unix-1, unix-16, stub-64, memcached-1 or open-loop")
	}
	p = c.p
	if p.server, err = c.serve(ctx); err != nil {
		return p, err
	}
	if name == "stub-64" {
		return p, nil
	}
	return p, b.fill(ctx, p)
}

// fill loads the data set that every generator reads. redis-benchmark writes
// the numbers of its keys with twelve digits, so those are loaded too.
func (b *bench) fill(ctx context.Context, p place) error {
	if err := b.load(ctx, p, "bakeoff-", 1, b.o.keys); err != nil {
		return err
	}
	if p.memcache {
		return nil
	}
	for low := 1; low < b.o.keys; low *= 10 {
		zeros := strings.Repeat("0", 12-len(fmt.Sprint(low)))
		if err := b.load(ctx, p, "bakeoff-"+zeros, low, min(10*low, b.o.keys)-1); err != nil {
			return err
		}
	}
	return b.load(ctx, p, "bakeoff-00000000000", 0, 0)
}

func (b *bench) load(ctx context.Context, p place, prefix string, low, high int) error {
	spec := load.Spec{Workload: "fill", Part: load.Source, Target: p.target(), Common: load.Common{Window: time.Second},
		Parameters: map[string]any{"key_prefix": prefix, "key_minimum": low, "key_maximum": high, "value_size": fmt.Sprint(b.o.bytes)}}
	r, err := load.Open(ctx, kv.Engine{}, spec, load.Env{})
	if err != nil {
		return err
	}
	defer r.Close()
	_, err = r.Prepare(ctx, nil)
	return err
}

// table prints a case: absolute figures, and ratios to our first row. The median
// latency of an open loop is held against that of even pacing.
func (b *bench) table(name string, generators []generator, found [][]outcome) {
	fmt.Fprintf(b.out, "\n### %s\n\n| generator | kops/s | CPU us/op | its CPU over ours | p50 us | p50 error | lag p50 us |\n|---|---|---|---|---|---|---|\n", name)
	ours, truth := 0.0, 0.0
	p50 := func(o outcome) float64 { return float64(o.P50) / 1e3 }
	for i, g := range generators {
		if g.name == evenPacing {
			truth = peer.Median(found[i], p50)
		}
	}
	for i, g := range generators {
		if len(found[i]) == 0 {
			continue
		}
		cost := peer.Median(found[i], func(o outcome) float64 { return o.CPU / o.Operations * 1e6 })
		if ours == 0 {
			ours = cost
		}
		off := ""
		if truth > 0 {
			off = fmt.Sprintf("%+.0f %%", (peer.Median(found[i], p50)/truth-1)*100)
		}
		fmt.Fprintf(b.out, "| %s | %.1f | %.3f | %.2f | %.0f | %s | %.0f |\n", g.name,
			peer.Median(found[i], func(o outcome) float64 { return o.Operations / o.Seconds / 1e3 }), cost, cost/ours,
			peer.Median(found[i], p50), off, peer.Median(found[i], func(o outcome) float64 { return float64(o.Lag) / 1e3 }))
	}
}

// evenPacing is the open loop that the others' medians are held against.
const evenPacing = "bakeoff, even pacing"
