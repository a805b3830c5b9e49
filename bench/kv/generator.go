package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"syscall"
	"time"

	"bakeoff/engine/kv"
	"bakeoff/hist"
	"bakeoff/load"
)

// job is one measurement by our own generator, in a process of its own.
type job struct {
	Target     string
	Parameters map[string]any
	Window     time.Duration
	Rate       float64
	Quantum    time.Duration
}

// outcome is what one measurement found.
type outcome struct {
	Operations float64
	Seconds    float64
	CPU        float64       // seconds, user and system
	P50        time.Duration // of the service time
	Lag        time.Duration // median pacing lag, where the generator knows it
	Note       string
}

// generate runs the load as the product does and prints the outcome. Its CPU is
// that of the whole process while it measures; connecting comes before.
func generate(ctx context.Context, j job) error {
	spec := load.Spec{
		Workload: "bench", Part: load.Source, Engine: "kv", Target: j.Target, Parameters: j.Parameters, Seed: 1,
		Common: load.Common{Window: j.Window, Rate: j.Rate, Quantum: j.Quantum, OpTimeout: 5 * time.Second},
	}
	r, err := load.Open(ctx, kv.Engine{}, spec, load.Env{})
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
	before := cpu(syscall.RUSAGE_SELF)
	result, err := r.Measure(ctx, nil)
	if err != nil {
		return err
	}
	after := cpu(syscall.RUSAGE_SELF)
	l := result.Load
	if l.Ledger.Failed+l.Ledger.TimedOut > 0 {
		return fmt.Errorf("%d operations failed and %d timed out: %v", l.Ledger.Failed, l.Ledger.TimedOut, l.Errors)
	}
	o := outcome{
		Operations: float64(l.Ledger.Completed), Seconds: l.Window.Seconds, CPU: (after - before).Seconds(),
		Lag: time.Duration(l.Generator.PacingLagP50), Note: l.Generator.Backend,
	}
	if o.P50, err = medianService(result); err != nil {
		return err
	}
	return json.NewEncoder(os.Stdout).Encode(o)
}

// medianService reads the median service time out of the log of all operations.
func medianService(result load.Result) (time.Duration, error) {
	for _, l := range result.Load.Latencies {
		if l.Kind != "all" || l.Type != "service" {
			continue
		}
		intervals, err := hist.ReadLog(bytes.NewReader(result.Logs[l.File]))
		if err != nil {
			return 0, err
		}
		sum := hist.New()
		for _, i := range intervals {
			sum.Merge(i.Hist)
		}
		return time.Duration(sum.Quantile(0.5)), nil
	}
	return 0, errors.New("the load has no log of service times")
}

// cpu is the CPU time of this process (RUSAGE_SELF) or of its ended children.
func cpu(who int) time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(who, &u); err != nil {
		return 0
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
