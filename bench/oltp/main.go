// Command oltp measures the engine of order-entry transactions against the peers
// that it is given or finds (HammerDB, go-tpc, pgbench), on PostgreSQL or MariaDB: the
// server on one core, one generator at a time on another, medians of interleaved
// rounds, each on data restored to the same state; loads have all cores. It prints Markdown tables of
// New-Orders a minute, of the generator's CPU (user and system) a thousand
// New-Orders, and of rows loaded a second. Only ratios within one table mean
// anything.
//
//	go run ./bench/oltp [-rounds 3] [-time 10s] [-users 2,16] [-hammerdb FOLDER] [-go-tpc FILE]
//
// HammerDB's folder is one that holds its hammerdbcli (version 4); it runs under
// the system's tclsh8.6, with Debian's packages libpgtcl, mysqltcl, tcl-thread and
// libsqlite3-tcl.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"strconv"
	"strings"
	"time"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := run(ctx, os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "bench/oltp:", err)
		os.Exit(1)
	}
}

// options are what the command line gives.
type options struct {
	rounds       int
	ramp, time   time.Duration
	warehouses   int
	users        []int
	hammerdb     string
	goTPC        string
	keep         string
	mariadb      bool
	serverCPU    int
	generatorCPU int
	verbose      bool
}

func parse(args []string) (options, error) {
	var o options
	fs := flag.NewFlagSet("bench/oltp", flag.ContinueOnError)
	fs.IntVar(&o.rounds, "rounds", 3, "measurements of each generator, of which the median counts")
	fs.DurationVar(&o.time, "time", 10*time.Second, "length of one measurement")
	fs.DurationVar(&o.ramp, "ramp", 4*time.Second, "time before it")
	fs.IntVar(&o.warehouses, "warehouses", 2, "size of the database")
	users := fs.String("users", "2,16", "numbers of users; none: loads alone are measured")
	fs.StringVar(&o.hammerdb, "hammerdb", "", "folder of HammerDB 4")
	fs.StringVar(&o.goTPC, "go-tpc", "", "go-tpc's binary")
	fs.StringVar(&o.keep, "keep", "", "folder of the server's data, which is used again where it is there: what was loaded is not loaded again")
	fs.BoolVar(&o.mariadb, "mariadb", false, "measure on MariaDB instead of PostgreSQL")
	fs.IntVar(&o.serverCPU, "server-cpu", 0, "core of the server")
	fs.IntVar(&o.generatorCPU, "generator-cpu", 1, "core of the generators")
	fs.BoolVar(&o.verbose, "v", false, "print every measurement")
	if err := fs.Parse(args); err != nil {
		return o, err
	}
	if *users == "none" {
		return o, nil
	}
	for text := range strings.SplitSeq(*users, ",") {
		n, err := strconv.Atoi(strings.TrimSpace(text))
		if err != nil || n < 1 {
			return o, fmt.Errorf("-users: found %q, expected numbers, as 2,16", *users)
		}
		o.users = append(o.users, n)
	}
	return o, nil
}

func run(ctx context.Context, args []string) error {
	o, err := parse(args)
	if err != nil {
		return err
	}
	b, err := newBench(ctx, o)
	if err != nil {
		return err
	}
	defer b.close()
	if err := b.loadAll(ctx); err != nil {
		return err
	}
	for _, users := range o.users {
		if err := b.compare(ctx, users); err != nil {
			return err
		}
	}
	return nil
}
