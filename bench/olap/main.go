// Command olap measures the decision support engine: how fast the population is
// made, and how long each target takes to be loaded and to answer all queries rightly.
//
// DuckDB is among the targets where this was built with the tag duckdb.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"runtime"
	"strings"
	"sync"
	"syscall"
	"text/tabwriter"
	"time"

	"bakeoff/engine/olap"
	"bakeoff/engine/olap/duckdb"
	"bakeoff/engine/olap/mysql"
	"bakeoff/engine/olap/population"
	"bakeoff/engine/olap/postgres"
	"bakeoff/engine/olap/sqlite"
	"bakeoff/load"
)

func main() {
	scale := flag.Float64("scale", 1, "scale factor: 0.01, 0.1 or 1, for which the right answers are known")
	targets := flag.String("targets", "duckdb:", "URLs of the targets, a comma between them; sqlite: is the embedded one")
	flag.Parse()
	if err := run(context.Background(), *scale, strings.Split(*targets, ",")); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run(ctx context.Context, scale float64, targets []string) error {
	if err := generate(scale); err != nil {
		return err
	}
	w := tabwriter.NewWriter(os.Stdout, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintf(w, "target\tload s\tCPU s\trows/s\t22 queries s\tCPU s\tgeometric mean s\tload and queries s\t\n")
	for _, target := range targets {
		r, err := measure(ctx, target, scale)
		if err != nil {
			return fmt.Errorf("%s: %w", target, err)
		}
		fmt.Fprintf(w, "%s\t%.2f\t%.2f\t%.0f\t%.2f\t%.2f\t%.4f\t%.2f\t\n", target, r.load, r.loadCPU, r.rows/r.load, r.queries, r.queriesCPU, r.mean, r.load+r.queries)
	}
	return w.Flush()
}

// generate makes all tables as text, a stream a processor.
func generate(scale float64) error {
	p, err := population.New(scale, new(population.Text))
	if err != nil {
		return err
	}
	begin := time.Now()
	p.Stream(population.Region, 1, 0) // the pseudo text
	text := time.Since(begin)
	begin, before := time.Now(), cpu()
	streams := runtime.GOMAXPROCS(0)
	rows, bytes := make([]int64, streams), make([]int64, streams)
	var all sync.WaitGroup
	for i := range streams {
		all.Go(func() {
			for _, t := range population.Tables() {
				first, last := p.Units(t)*int64(i)/int64(streams), p.Units(t)*int64(i+1)/int64(streams)
				l := population.Lines{Separator: '|'}
				for s := p.Stream(t, first+1, last-first); s.Next(&l); {
					if len(l.Buffer) > 1<<16 {
						bytes[i] += int64(len(l.Buffer))
						l.Buffer = l.Buffer[:0]
					}
				}
				rows[i], bytes[i] = rows[i]+l.Rows, bytes[i]+int64(len(l.Buffer))
			}
		})
	}
	all.Wait()
	seconds, used := time.Since(begin).Seconds(), cpu()-before
	sum := func(list []int64) (n float64) {
		for _, v := range list {
			n += float64(v)
		}
		return n
	}
	fmt.Printf("generator: pseudo text %.2f s; %.0f rows, %.0f MB of text in %.2f s and %.2f CPU s on %d processors: %.2f million rows a CPU s, %.0f MB a CPU s\n",
		text.Seconds(), sum(rows), sum(bytes)/1e6, seconds, used, streams, sum(rows)/used/1e6, sum(bytes)/used/1e6)
	return nil
}

// result is one target's. The CPU is this process's: all of an embedded database's,
// and the generator's alone where there is a server.
type result struct{ load, loadCPU, rows, queries, queriesCPU, mean float64 }

// cpu is what this process has used so far.
func cpu() float64 {
	var u syscall.Rusage
	_ = syscall.Getrusage(syscall.RUSAGE_SELF, &u) // it cannot fail with these arguments
	return time.Duration(u.Utime.Nano() + u.Stime.Nano()).Seconds()
}

// measure loads a data set and runs all queries with the parameters whose
// answers are known: a wrong one is an error.
func measure(ctx context.Context, target string, scale float64) (result, error) {
	engine := olap.New(sqlite.Target{}, postgres.Target{}, mysql.Target{}, duckdb.Target{})
	if target == "sqlite:" {
		target = ""
	}
	spec := load.Spec{Workload: "bench", Part: load.Source, Engine: engine.Name(), Target: target, Seed: 1, Parameters: map[string]any{
		"scale": scale, "load": "always", "parameters": "validation", "validate": "never", "check": "mark"}}
	r, err := load.Open(ctx, engine, spec, load.Env{})
	if err != nil {
		return result{}, err
	}
	defer r.Close()
	began := cpu()
	set, err := r.Prepare(ctx, nil)
	if err != nil {
		return result{}, err
	}
	loaded := cpu()
	measured, err := r.Measure(ctx, nil)
	if err != nil {
		return result{}, err
	}
	if l := measured.Load; l.Ledger.Failed+l.Ledger.TimedOut > 0 {
		return result{}, fmt.Errorf("%d queries failed, %d timed out: %v", l.Ledger.Failed, l.Ledger.TimedOut, l.Errors)
	}
	out := result{rows: float64(set.Items), loadCPU: loaded - began, queriesCPU: cpu() - loaded}
	for _, f := range measured.Load.Figures {
		switch f.Name {
		case "load_time":
			out.load = f.Value
		case "power_time":
			out.queries = f.Value
		case "geometric_mean":
			out.mean = f.Value
		}
	}
	return out, nil
}
