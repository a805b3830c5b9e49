// Command kv measures the key-value engine against the generators it finds on
// this machine (redis-benchmark, memtier_benchmark, memaslap): the server
// pinned to one core, one generator at a time to another, medians of interleaved
// rounds. It prints a Markdown table of throughput and of the generator's CPU
// (user and system) an operation. Only ratios within one table mean anything.
//
//	go run ./bench/kv [-rounds 3] [-time 3s] [-cases tcp-1,unix-16] [-server-cpu 0] [-generator-cpu 1]
package main

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"strings"
	"time"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := run(ctx, os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "bench/kv:", err)
		os.Exit(1)
	}
}

// options are what the command line gives.
type options struct {
	rounds        int
	time          time.Duration
	cases         []string
	serverCPU     int
	generatorCPU  int
	generate      string // hidden: this process is a generator, with a job as JSON
	stub          string // hidden: this process is the stub server, at this address
	keys          int
	bytes         int
	connections   int
	openLoop      float64
	printEachRate bool
}

func parse(args []string) (options, error) {
	var o options
	fs := flag.NewFlagSet("bench/kv", flag.ContinueOnError)
	fs.IntVar(&o.rounds, "rounds", 3, "measurements of each generator, of which the median counts")
	fs.DurationVar(&o.time, "time", 3*time.Second, "length of one measurement")
	cases := fs.String("cases", "tcp-1,tcp-16,unix-1,unix-16,stub-64,memcached-1,open-loop", "what to measure")
	fs.IntVar(&o.serverCPU, "server-cpu", 0, "core of the server")
	fs.IntVar(&o.generatorCPU, "generator-cpu", 1, "core of the generators")
	fs.IntVar(&o.keys, "keys", 100_000, "keys in the data set")
	fs.IntVar(&o.bytes, "bytes", 32, "size of a value")
	fs.IntVar(&o.connections, "connections", 50, "connections")
	fs.Float64Var(&o.openLoop, "rate", 30_000, "operations a second of the open loop")
	fs.StringVar(&o.generate, "generate", "", "")
	fs.StringVar(&o.stub, "stub", "", "")
	fs.BoolVar(&o.printEachRate, "v", false, "print every measurement")
	err := fs.Parse(args)
	o.cases = strings.Split(*cases, ",")
	return o, err
}

func run(ctx context.Context, args []string) error {
	o, err := parse(args)
	if err != nil {
		return err
	}
	switch {
	case o.generate != "":
		var j job
		if err := json.Unmarshal([]byte(o.generate), &j); err != nil {
			return fmt.Errorf("reading the job: %w", err)
		}
		return generate(ctx, j)
	case o.stub != "":
		return serveStub(ctx, o.stub)
	}
	b, err := newBench(o)
	if err != nil {
		return err
	}
	defer b.close()
	return b.measure(ctx)
}
