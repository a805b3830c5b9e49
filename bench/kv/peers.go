package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"time"

	"bakeoff/bench/peer"
)

// place is where and how a case loads a server.
type place struct {
	server   *server
	unix     bool
	pipeline int
	rate     float64 // operations a second of an open loop; 0 is a closed loop
	memcache bool
}

func (p place) target() string {
	switch {
	case p.memcache:
		return fmt.Sprintf("memcache://127.0.0.1:%d", p.server.port)
	case p.unix:
		return "redis+unix://" + p.server.unix
	}
	return fmt.Sprintf("redis://127.0.0.1:%d", p.server.port)
}

// generator is one of those that are compared. A nil measure means that it cannot do a case.
type generator struct {
	name    string
	measure func(ctx context.Context, p place) (outcome, error)
}

// spend runs a command pinned to the generator's core and returns what it
// printed, with its CPU time.
func (b *bench) spend(ctx context.Context, name string, args ...string) ([]byte, time.Duration, error) {
	ctx, cancel := context.WithTimeout(ctx, 10*b.o.time+30*time.Second)
	defer cancel()
	cmd := peer.Pinned(ctx, b.o.generatorCPU, name, args...)
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr, cmd.Dir = &out, &errs, b.dir
	if err := cmd.Run(); err != nil {
		return nil, 0, fmt.Errorf("%s: %w: %s", name, err, bytes.TrimSpace(errs.Bytes()))
	}
	u := cmd.ProcessState.SysUsage().(*syscall.Rusage)
	return append(out.Bytes(), errs.Bytes()...), time.Duration(u.Utime.Nano() + u.Stime.Nano()), nil
}

// ours is the product's generator, through the product's own path.
func (b *bench) ours(name, io string, quantum time.Duration) generator {
	return generator{name, func(ctx context.Context, p place) (outcome, error) {
		j := job{Target: p.target(), Window: b.o.time, Rate: p.rate, Quantum: quantum, Parameters: map[string]any{
			"connections": b.o.connections, "pipeline": p.pipeline, "ratio": "0:1", "io": io, "preload": "none",
			"key_maximum": b.o.keys, "value_size": fmt.Sprint(b.o.bytes),
		}}
		text, err := json.Marshal(j)
		if err != nil {
			return outcome{}, err
		}
		self, err := os.Executable()
		if err != nil {
			return outcome{}, err
		}
		out, _, err := b.spend(ctx, self, "-generate", string(text))
		if err != nil {
			return outcome{}, err
		}
		var o outcome
		return o, json.Unmarshal(out, &o)
	}}
}

// memtier gives every client its own keys: without that they all walk the same
// sequence, which the server's cache likes.
func (b *bench) memtier(ctx context.Context, p place) (outcome, error) {
	args := []string{"--threads=1", fmt.Sprintf("--clients=%d", b.o.connections), "--ratio=0:1", "--key-prefix=bakeoff-",
		"--key-minimum=1", fmt.Sprintf("--key-maximum=%d", b.o.keys), fmt.Sprintf("--data-size=%d", b.o.bytes),
		fmt.Sprintf("--test-time=%d", int(b.o.time.Seconds())), fmt.Sprintf("--pipeline=%d", p.pipeline),
		"--hide-histogram", "--distinct-client-seed", "--json-out-file=memtier.json"}
	if p.unix {
		args = append(args, "--unix-socket="+p.server.unix)
	} else {
		args = append(args, "--server=127.0.0.1", fmt.Sprintf("--port=%d", p.server.port))
	}
	if p.memcache {
		args = append(args, "--protocol=memcache_text")
	}
	if p.rate > 0 {
		args = append(args, fmt.Sprintf("--rate-limiting=%d", int(p.rate)/b.o.connections))
	}
	_, cpu, err := b.spend(ctx, "memtier_benchmark", args...)
	if err != nil {
		return outcome{}, err
	}
	return b.readMemtier(cpu)
}

func (b *bench) readMemtier(cpu time.Duration) (outcome, error) {
	text, err := os.ReadFile(b.dir + "/memtier.json")
	if err != nil {
		return outcome{}, err
	}
	var m struct {
		Stats struct {
			Totals struct {
				Count       float64
				Percentiles struct {
					P50 float64 `json:"p50.00"` // ms
				} `json:"Percentile Latencies"`
			}
			Runtime struct {
				Total float64 `json:"Total duration"`
			}
		} `json:"ALL STATS"`
	}
	if err := json.Unmarshal(text, &m); err != nil {
		return outcome{}, fmt.Errorf("reading memtier's report: %w", err)
	}
	return outcome{
		Operations: m.Stats.Totals.Count, Seconds: m.Stats.Runtime.Total / 1e3, CPU: cpu.Seconds(),
		P50: time.Duration(m.Stats.Totals.Percentiles.P50 * 1e6),
	}, nil
}

// redisBenchmark does a number of operations, so a first short run finds how
// many last long enough.
func (b *bench) redisBenchmark(ctx context.Context, p place) (outcome, error) {
	if p.rate > 0 || p.memcache {
		return outcome{}, errCannot
	}
	first, err := b.redisBenchmarkN(ctx, p, 100_000)
	if err != nil {
		return first, err
	}
	return b.redisBenchmarkN(ctx, p, int(first.Operations/first.Seconds*b.o.time.Seconds()))
}

func (b *bench) redisBenchmarkN(ctx context.Context, p place, n int) (outcome, error) {
	args := []string{"-c", fmt.Sprint(b.o.connections), "-P", fmt.Sprint(p.pipeline), "-n", fmt.Sprint(n), "-r", fmt.Sprint(b.o.keys), "-q", "--csv"}
	if p.unix {
		args = append(args, "-s", p.server.unix)
	} else {
		args = append(args, "-h", "127.0.0.1", "-p", fmt.Sprint(p.server.port))
	}
	begun := time.Now()
	out, cpu, err := b.spend(ctx, "redis-benchmark", append(args, "GET", "bakeoff-__rand_int__")...)
	if err != nil {
		return outcome{}, err
	}
	o := outcome{Operations: float64(n), Seconds: time.Since(begun).Seconds(), CPU: cpu.Seconds()}
	lines := strings.Split(strings.TrimSpace(string(out)), "\n")
	fields := strings.Split(lines[len(lines)-1], ",")
	if len(fields) > 1 {
		if rps, err := strconv.ParseFloat(strings.Trim(fields[1], `"`), 64); err == nil && rps > 0 {
			o.Seconds = float64(n) / rps
		}
	}
	return o, nil
}

// memaslap only loads memcached, by default nine gets to a set.
func (b *bench) memaslap(name string) func(ctx context.Context, p place) (outcome, error) {
	total := regexp.MustCompile(`Ops: (\d+)`)
	return func(ctx context.Context, p place) (outcome, error) {
		if !p.memcache || p.pipeline > 1 || p.rate > 0 {
			return outcome{}, errCannot
		}
		out, cpu, err := b.spend(ctx, name, "-s", fmt.Sprintf("127.0.0.1:%d", p.server.port), "-T", "1",
			"-c", fmt.Sprint(b.o.connections), "-t", fmt.Sprintf("%ds", int(b.o.time.Seconds())), "-X", fmt.Sprint(b.o.bytes))
		if err != nil {
			return outcome{}, err
		}
		m := total.FindAllSubmatch(out, -1)
		if m == nil {
			return outcome{}, fmt.Errorf("%s printed no count of operations", name)
		}
		n, err := strconv.ParseFloat(string(m[len(m)-1][1]), 64)
		return outcome{Operations: n, Seconds: b.o.time.Seconds(), CPU: cpu.Seconds(), Note: "nine gets to a set"}, err
	}
}

// floor is testdata/floor.c.
func (b *bench) floor(ctx context.Context, p place) (outcome, error) {
	if p.rate > 0 || p.memcache {
		return outcome{}, errCannot
	}
	port := p.server.port
	if p.unix {
		port = 0
	}
	reply := len(fmt.Sprintf("$%d\r\n\r\n", b.o.bytes)) + b.o.bytes
	out, cpu, err := b.spend(ctx, b.floorPath, fmt.Sprint(port), fmt.Sprint(b.o.connections), fmt.Sprint(p.pipeline),
		fmt.Sprint(b.o.time.Seconds()), fmt.Sprint(reply), p.server.unix)
	if err != nil {
		return outcome{}, err
	}
	o := outcome{CPU: cpu.Seconds()}
	_, err = fmt.Sscan(string(out), &o.Operations, &o.Seconds)
	return o, err
}
