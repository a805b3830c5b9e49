package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"runtime"
	"syscall"
	"time"

	"bakeoff/engine/net"
	"bakeoff/engine/net/server"
	"bakeoff/load"
)

// job is one measurement by our own client, in a process of its own.
type job struct {
	Target     string
	Server     int // process
	Parameters map[string]any
	Window     time.Duration
}

// outcome is what one measurement found.
type outcome struct {
	Figure float64 // bits a second or seconds
	CPU    float64 // seconds of both ends: a gigabyte, or a million round trips
}

// generate runs the load as the product does and prints the outcome. CPU is that
// of both processes, from just before the work to just after.
func generate(ctx context.Context, text string) error {
	var j job
	if err := json.Unmarshal([]byte(text), &j); err != nil {
		return err
	}
	spec := load.Spec{
		Workload: "bench", Part: load.Source, Engine: "net", Target: j.Target, Parameters: j.Parameters, Seed: 1,
		Common: load.Common{Window: j.Window, Warmup: 300 * time.Millisecond, OpTimeout: 5 * time.Second},
	}
	r, err := load.Open(ctx, net.Engine{}, spec, load.Env{})
	if err != nil {
		return err
	}
	defer r.Close()
	if _, err := r.Prepare(ctx, nil); err != nil {
		return err
	}
	if err := r.Connect(ctx); err != nil {
		return err
	}
	result, err := r.Measure(ctx, nil)
	if err != nil {
		return err
	}
	if l := result.Load.Ledger; l.Failed+l.TimedOut > 0 {
		return fmt.Errorf("%d operations failed and %d timed out: %v", l.Failed, l.TimedOut, result.Load.Errors)
	}
	figures := map[string]float64{}
	for _, f := range result.Load.Figures {
		figures[f.Name] = f.Value
	}
	o := outcome{Figure: figures["bandwidth"] * 8, CPU: figures["cpu_per_gb"]}
	if o.Figure == 0 {
		o = outcome{Figure: figures["half_round_trip.mean"], CPU: figures["cpu_per_million"]}
	}
	if o.Figure == 0 {
		return errors.New("the load gave no figure")
	}
	return json.NewEncoder(os.Stdout).Encode(o)
}

// serve runs our server until it is told to end.
func serve(ctx context.Context, endpoint string) error {
	runtime.GOMAXPROCS(16)
	return server.Serve(ctx, server.Config{Listen: []string{endpoint}, Ready: func([]string) { fmt.Println("ready") }})
}

// cpu is the CPU time of this process's ended child.
func cpu(state *os.ProcessState) float64 {
	u, ok := state.SysUsage().(*syscall.Rusage)
	if !ok {
		return 0
	}
	return float64(u.Utime.Nano()+u.Stime.Nano()) / 1e9
}
