// Command net measures the network engine against the tools that it finds on this
// machine (iperf3, qperf, sockperf): over loopback, the server pinned to one core
// and the client to another, medians of interleaved rounds. It prints Markdown
// tables of throughput or latency and of the CPU of both ends, with the ratio to
// each peer and to the target. Only ratios within one table mean anything.
//
//	go run ./bench/net [-rounds 3] [-time 3s] [-cases tcp-128K,udp] [-server-cpu 0] [-client-cpu 1]
package main

import (
	"context"
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
		fmt.Fprintln(os.Stderr, "bench/net:", err)
		os.Exit(1)
	}
}

// options are what the command line gives.
type options struct {
	rounds               int
	time                 time.Duration
	cases                []string
	serverCPU, clientCPU int
	verbose              bool
	generate             string // hidden: this process is our client, with a job as JSON
	serve                string // hidden: this process is our server, at this endpoint
}

func parse(args []string) (options, error) {
	var o options
	var names []string
	for _, c := range cases() {
		names = append(names, c.name)
	}
	fs := flag.NewFlagSet("bench/net", flag.ContinueOnError)
	fs.IntVar(&o.rounds, "rounds", 3, "measurements of each tool, of which the median counts")
	fs.DurationVar(&o.time, "time", 3*time.Second, "length of one measurement")
	list := fs.String("cases", strings.Join(names, ","), "what to measure")
	fs.IntVar(&o.serverCPU, "server-cpu", 0, "core of the server")
	fs.IntVar(&o.clientCPU, "client-cpu", 1, "core of the client")
	fs.BoolVar(&o.verbose, "v", false, "print every measurement")
	fs.StringVar(&o.generate, "generate", "", "")
	fs.StringVar(&o.serve, "serve", "", "")
	err := fs.Parse(args)
	o.cases = strings.Split(*list, ",")
	return o, err
}

func run(ctx context.Context, args []string) error {
	o, err := parse(args)
	switch {
	case err != nil:
		return err
	case o.generate != "":
		return generate(ctx, o.generate)
	case o.serve != "":
		return serve(ctx, o.serve)
	}
	b, err := newBench(o)
	if err != nil {
		return err
	}
	return b.measure(ctx)
}
