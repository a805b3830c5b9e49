// Command http measures the web engine against wrk, where that is installed:
// nginx with one worker pinned to one core, one generator at a time to another,
// medians of interleaved rounds. It prints a Markdown table of throughput and of
// the generator's CPU (user and system) a request. Only ratios within one table
// mean anything.
//
//	go run ./bench/http [-rounds 3] [-time 3s] [-sizes 1024,102400] [-server-cpu 0] [-generator-cpu 1]
package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"bakeoff/bench/peer"
	"bakeoff/engine/http"
	"bakeoff/load"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := run(ctx, os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "bench/http:", err)
		os.Exit(1)
	}
}

// bench is one whole measurement.
type bench struct {
	rounds                  int
	time                    time.Duration
	connections             int
	serverCPU, generatorCPU int
	dir                     string
	address                 string // of the server
}

// outcome is what one measurement found.
type outcome struct {
	Requests float64
	Seconds  float64
	CPU      float64 // seconds, user and system
}

func run(ctx context.Context, args []string) error {
	var b bench
	fs := flag.NewFlagSet("bench/http", flag.ContinueOnError)
	fs.IntVar(&b.rounds, "rounds", 3, "measurements of each generator, of which the median counts")
	fs.DurationVar(&b.time, "time", 3*time.Second, "length of one measurement")
	fs.IntVar(&b.connections, "connections", 50, "connections")
	fs.IntVar(&b.serverCPU, "server-cpu", 0, "core of the server")
	fs.IntVar(&b.generatorCPU, "generator-cpu", 1, "core of the generators")
	sizes := fs.String("sizes", "1024,102400", "bytes of an answer, one table each")
	generate := fs.String("generate", "", "") // hidden: this process is our generator, with a job as JSON
	if err := fs.Parse(args); err != nil {
		return err
	}
	if *generate != "" {
		return measureOurs(ctx, *generate)
	}
	if runtime.NumCPU() < 2 {
		return errors.New("this machine has one core: the server and the generator need one each")
	}
	var err error
	if b.dir, err = os.MkdirTemp("", "bench-http-"); err != nil {
		return err
	}
	defer os.RemoveAll(b.dir)
	stop, err := b.nginx(ctx, strings.Split(*sizes, ","))
	if err != nil {
		return err
	}
	defer stop()
	return b.tables(ctx, strings.Split(*sizes, ","))
}

// generator is one of those that are compared.
type generator struct {
	name    string
	measure func(ctx context.Context, size string) (outcome, error)
}

// tables measures and prints one table a size.
func (b *bench) tables(ctx context.Context, sizes []string) error {
	all := []generator{{"bakeoff", b.ours("auto", 1, false)}, {"bakeoff, half of the answers at a time", b.ours("auto", max(b.connections/2, 1), false)}, {"bakeoff, contents discarded", b.ours("auto", 1, true)}, {"bakeoff, epoll", b.ours("epoll", 1, false)}}
	if _, err := exec.LookPath("wrk"); err == nil {
		all = append(all, generator{"wrk", b.wrk})
	} else {
		fmt.Println("Missing here, so not compared: wrk.")
	}
	fmt.Printf("Generators' CPU a request and throughput; nginx with one worker on core %d, the generator on core %d; %d connections, kept; medians of %d rounds of %v.\n",
		b.serverCPU, b.generatorCPU, b.connections, b.rounds, b.time)
	for _, size := range sizes {
		found := make([][]outcome, len(all))
		for range b.rounds {
			for i, g := range all {
				o, err := g.measure(ctx, size)
				if err != nil {
					return fmt.Errorf("%s, %s B: %w", g.name, size, err)
				}
				found[i] = append(found[i], o)
			}
		}
		fmt.Printf("\n### %s B\n\n| generator | kreq/s | CPU us/request | our CPU over its | its rate over ours |\n|---|---|---|---|---|\n", size)
		cost := func(o outcome) float64 { return o.CPU / o.Requests * 1e6 }
		rate := func(o outcome) float64 { return o.Requests / o.Seconds / 1e3 }
		for i, g := range all {
			fmt.Printf("| %s | %.1f | %.2f | %.2f | %.2f |\n", g.name, peer.Median(found[i], rate), peer.Median(found[i], cost),
				peer.Median(found[0], cost)/peer.Median(found[i], cost), peer.Median(found[i], rate)/peer.Median(found[0], rate))
		}
	}
	return nil
}

// nginx starts the server with a file of each size.
func (b *bench) nginx(ctx context.Context, sizes []string) (stop func(), err error) {
	for _, size := range sizes {
		n, err := strconv.Atoi(size)
		if err != nil || n < 0 {
			return nil, fmt.Errorf("-sizes: found %q, expected whole numbers of bytes", size)
		}
		if err := os.WriteFile(filepath.Join(b.dir, size), slices.Repeat([]byte("x"), n), 0o644); err != nil {
			return nil, err
		}
	}
	port, err := peer.FreePort()
	if err != nil {
		return nil, err
	}
	b.address = "127.0.0.1:" + strconv.Itoa(port)
	user := ""
	if os.Getuid() == 0 {
		user = "user root;"
	}
	text := "daemon off; error_log stderr crit; pid " + b.dir + "/pid; worker_processes 1; " + user + ` events { worker_connections 4096; }
http { access_log off; sendfile on; tcp_nopush on; keepalive_requests 1000000000; server { listen ` + b.address + " backlog=4096; root " + b.dir + "; } }"
	conf := filepath.Join(b.dir, "nginx.conf")
	if err := os.WriteFile(conf, []byte(text), 0o644); err != nil {
		return nil, err
	}
	path, err := exec.LookPath("nginx")
	if err != nil {
		path = "/usr/sbin/nginx"
	}
	cmd := peer.Pinned(ctx, b.serverCPU, path, "-c", conf, "-p", b.dir)
	cmd.Stderr = os.Stderr
	if err := cmd.Start(); err != nil {
		return nil, fmt.Errorf("starting nginx: %w", err)
	}
	stop = func() {
		_ = cmd.Process.Signal(syscall.SIGTERM)
		_ = cmd.Wait()
	}
	if err := awaitListener(ctx, b.address); err != nil {
		stop()
		return nil, fmt.Errorf("nginx: %w", err)
	}
	return stop, nil
}

// spend runs a command pinned to the generator's core.
func (b *bench) spend(ctx context.Context, name string, args ...string) ([]byte, time.Duration, error) {
	ctx, cancel := context.WithTimeout(ctx, 10*b.time+30*time.Second)
	defer cancel()
	cmd := peer.Pinned(ctx, b.generatorCPU, name, args...)
	cmd.Stderr = os.Stderr
	out, err := cmd.Output()
	if err != nil {
		return nil, 0, fmt.Errorf("%s: %w", name, err)
	}
	u := cmd.ProcessState.SysUsage().(*syscall.Rusage)
	return out, time.Duration(u.Utime.Nano() + u.Stime.Nano()), nil
}

// job is one measurement by our own generator, in a process of its own.
type job struct {
	Target      string
	IO          string
	Gather      int
	Discard     bool
	Connections int
	Window      time.Duration
}

func (b *bench) ours(io string, gather int, discard bool) func(context.Context, string) (outcome, error) {
	return func(ctx context.Context, size string) (outcome, error) {
		text, err := json.Marshal(job{"http://" + b.address + "/" + size, io, gather, discard, b.connections, b.time})
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
	}
}

// measureOurs runs the load as the product does and prints the outcome. Its CPU
// is that of the whole process while it measures; connecting comes before.
func measureOurs(ctx context.Context, text string) error {
	var j job
	if err := json.Unmarshal([]byte(text), &j); err != nil {
		return fmt.Errorf("reading the job: %w", err)
	}
	spec := load.Spec{Workload: "bench", Part: load.Source, Engine: "http", Target: j.Target, Seed: 1,
		Parameters: map[string]any{"connections": j.Connections, "io": j.IO, "gather": j.Gather, "discard": j.Discard}, Common: load.Common{Window: j.Window}}
	r, err := load.Open(ctx, http.Engine{}, spec, load.Env{})
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
	before := cpu()
	result, err := r.Measure(ctx, nil)
	if err != nil {
		return err
	}
	spent, l := cpu()-before, result.Load
	if l.Ledger.Failed+l.Ledger.TimedOut > 0 {
		return fmt.Errorf("%d requests failed and %d timed out: %v", l.Ledger.Failed, l.Ledger.TimedOut, l.Errors)
	}
	return json.NewEncoder(os.Stdout).Encode(outcome{float64(l.Ledger.Completed), l.Window.Seconds, spent.Seconds()})
}

func cpu() time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		return 0
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
