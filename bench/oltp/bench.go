package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"bakeoff/bench/peer"
)

// bench holds what all measurements share.
type bench struct {
	o      options
	dir    string
	binary string // of bakeoff
	server server
}

func newBench(ctx context.Context, o options) (*bench, error) {
	if _, err := exec.LookPath("taskset"); err != nil {
		return nil, fmt.Errorf("pinning the server and the generators needs taskset of util-linux: %w", err)
	}
	dir, err := os.MkdirTemp("", "bench-oltp-")
	if err != nil {
		return nil, err
	}
	if err := os.Chmod(dir, 0o755); err != nil { // the server is somebody else
		return nil, err
	}
	b := &bench{o: o, dir: dir, binary: filepath.Join(dir, "bakeoff")}
	build := exec.CommandContext(ctx, "go", "build", "-o", b.binary, "./cmd/bakeoff")
	build.Stderr = os.Stderr
	err = build.Run()
	if err == nil {
		err = os.MkdirAll(filepath.Join(dir, "tcl"), 0o755)
	}
	if err == nil {
		err = os.WriteFile(filepath.Join(dir, "tcl", "pkgIndex.tcl"), []byte(tclPackages), 0o644)
	}
	data := o.keep
	if data == "" {
		data = filepath.Join(dir, "data")
	}
	if err == nil {
		err = os.MkdirAll(data, 0o700)
	}
	if err == nil {
		start := startPostgres
		if o.mariadb {
			start = startMariaDB
		}
		b.server, err = start(ctx, data)
	}
	if err != nil {
		b.close()
		return nil, err
	}
	return b, nil
}

func (b *bench) close() {
	if b.server != nil {
		b.server.stop()
	}
	_ = os.RemoveAll(b.dir)
}

// loadAll loads the databases, as often as there are rounds, and prints how fast.
// The server and the loaders share all cores: a load is over when it is over. Then
// the server gets the core that it is measured on.
func (b *bench) loadAll(ctx context.Context) error {
	loaders := b.loaders()
	rates, there := make([][]float64, len(loaders)), make([]bool, len(loaders))
	for i, l := range loaders {
		there[i] = b.server.has(ctx, l.database)
	}
	for range b.o.rounds {
		for i, l := range loaders {
			if there[i] {
				continue
			}
			rate, err := b.loadOnce(ctx, l)
			if err != nil {
				return fmt.Errorf("%s: %w", l.name, err)
			}
			rates[i] = append(rates[i], rate)
		}
	}
	fmt.Printf("## Loading %d warehouses, rows a second\n\nServer and loader on all cores. Targets: 15 times HammerDB, 4 times go-tpc.\n\n| loader | rows/s | runs, lowest and highest | bakeoff's over it |\n|---|---|---|---|\n", b.o.warehouses)
	for i, l := range loaders {
		if len(rates[i]) == 0 {
			fmt.Printf("| %s | loaded before | | |\n", l.name)
			continue
		}
		ratio := "-"
		slices.Sort(rates[i])
		if len(rates[0]) > 0 {
			ratio = fmt.Sprintf("%.2f", rates[0][len(rates[0])/2]/rates[i][len(rates[i])/2])
		}
		fmt.Printf("| %s | %.0f | %.0f-%.0f | %s |\n", l.name, rates[i][len(rates[i])/2], rates[i][0], rates[i][len(rates[i])-1], ratio)
	}
	fmt.Println()
	return b.server.pin(ctx, strconv.Itoa(b.o.serverCPU))
}

func (b *bench) loadOnce(ctx context.Context, l loader) (float64, error) {
	if err := b.server.drop(ctx, l.database); err != nil {
		return 0, err
	}
	rate, err := l.load(ctx)
	if err == nil && b.o.verbose {
		fmt.Fprintf(os.Stderr, "%s: %.0f rows/s\n", l.name, rate)
	}
	return rate, err
}

// result is one measurement.
type result struct {
	perMinute float64 // New-Orders, or pgbench's transactions
	cpu       float64 // seconds of the generator, a thousand of them
	server    float64 // seconds of the server, a thousand of them
}

func (b *bench) compare(ctx context.Context, users int) error {
	tools := b.tools()
	results := make([][]result, len(tools))
	for range b.o.rounds {
		for i, t := range tools {
			r, err := b.measure(ctx, t, users)
			if err != nil {
				return fmt.Errorf("%s with %d users: %w", t.name, users, err)
			}
			if b.o.verbose {
				fmt.Fprintf(os.Stderr, "%s, %d users: %.0f a minute; a thousand: %.4f CPU s of the generator, %.3f of the server\n", t.name, users, r.perMinute, r.cpu, r.server)
			}
			results[i] = append(results[i], r)
		}
	}
	fmt.Printf("## %d users\n\nTargets: CPU at most 0.8 of HammerDB's with 2 users, 0.4 with 16, 0.1 of go-tpc's; on MariaDB 0.5 of HammerDB's; NOPM within 10 %% of HammerDB's with its routines, on MariaDB 1.4 of it with sets.\n\n", users)
	fmt.Printf("| generator | New-Orders a minute | runs, lowest and highest | generator CPU s a thousand | bakeoff's (procedures) over it | NOPM over HammerDB's | server CPU s a thousand |\n|---|---|---|---|---|---|---|\n")
	own, hammerDB := median(results[0]), 0.0
	for i, t := range tools {
		if t.name == "HammerDB" {
			hammerDB = median(results[i]).perMinute
		}
	}
	for i, t := range tools {
		m := median(results[i])
		low, high := spread(results[i])
		ratio := "-"
		if hammerDB > 0 && !t.pgbench {
			ratio = fmt.Sprintf("%.2f", m.perMinute/hammerDB)
		}
		fmt.Printf("| %s | %.0f | %.0f-%.0f | %.4f | %.2f | %s | %.3f |\n", t.name, m.perMinute, low, high, m.cpu, own.cpu/m.cpu, ratio, m.server)
	}
	fmt.Println()
	return nil
}

func median(all []result) result {
	return result{
		perMinute: peer.Median(all, func(r result) float64 { return r.perMinute }),
		cpu:       peer.Median(all, func(r result) float64 { return r.cpu }),
		server:    peer.Median(all, func(r result) float64 { return r.server }),
	}
}

func spread(all []result) (low, high float64) {
	low, high = all[0].perMinute, all[0].perMinute
	for _, r := range all {
		low, high = min(low, r.perMinute), max(high, r.perMinute)
	}
	return low, high
}

// edge is what a moment of a measurement found.
type edge struct {
	at     time.Time
	count  int64
	cpu    float64 // seconds of the tool's processes
	server float64 // seconds of the server's
}

// measure restores a tool's data and measures it in the middle of a longer run.
func (b *bench) measure(ctx context.Context, t tool, users int) (result, error) {
	if err := b.server.restore(ctx, t.database); err != nil {
		return result{}, err
	}
	processes, each := 1, users
	if t.apart {
		processes, each = users, 1
	}
	command, err := t.command(each)
	if err != nil {
		return result{}, err
	}
	var all []*process
	for range processes {
		var p *process
		if p, err = b.begin(ctx, t, command); err != nil {
			break
		}
		all = append(all, p)
	}
	var edges [2]edge
	for i, wait := range [2]time.Duration{b.o.ramp, b.o.time} {
		if err == nil {
			edges[i], err = b.look(ctx, t, all, wait)
		}
	}
	log := ""
	for _, p := range all {
		_ = syscall.Kill(-p.cmd.Process.Pid, t.stop)
		_ = p.cmd.Wait()
		log = p.log.String()
	}
	done := float64(edges[1].count - edges[0].count)
	if err == nil && done <= 0 {
		err = errors.New("nothing was done")
	}
	if err != nil {
		return result{}, fmt.Errorf("%w\n%s", err, tail([]byte(log)))
	}
	thousands := done / 1000
	return result{done / edges[1].at.Sub(edges[0].at).Minutes(), (edges[1].cpu - edges[0].cpu) / thousands, (edges[1].server - edges[0].server) / thousands}, nil
}

// process is one of a tool.
type process struct {
	cmd *exec.Cmd
	log strings.Builder
}

func (b *bench) begin(ctx context.Context, t tool, command []string) (*process, error) {
	p := &process{cmd: peer.Pinned(ctx, b.o.generatorCPU, command[0], command[1:]...)}
	p.cmd.Env, p.cmd.Dir = append(append(os.Environ(), passwordVariable+"="+mariadbPassword), t.env...), t.dir
	p.cmd.Stdout, p.cmd.Stderr = &p.log, &p.log
	p.cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	return p, p.cmd.Start()
}

// look waits, and then finds out how much was done.
func (b *bench) look(ctx context.Context, t tool, all []*process, wait time.Duration) (edge, error) {
	select {
	case <-ctx.Done():
		return edge{}, ctx.Err()
	case <-time.After(wait):
	}
	n, err := b.server.counters(ctx, t.database)
	if err != nil {
		return edge{}, err
	}
	e := edge{at: time.Now(), count: n}
	for _, p := range all {
		cpu, err := cpuOf(p.cmd.Process.Pid)
		if err != nil {
			return edge{}, err
		}
		e.cpu += cpu
	}
	e.server, err = b.server.cpu()
	return e, err
}

const ticksPerSecond = 100 // of /proc/PID/stat (proc(5), sysconf(_SC_CLK_TCK))

// cpuOf is the CPU time of a process, user and system, of all its threads.
func cpuOf(pid int) (float64, error) {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return 0, fmt.Errorf("the generator has ended: %w", err)
	}
	_, rest, _ := strings.Cut(string(text), ") ")
	fields := strings.Fields(rest)
	if len(fields) < 13 {
		return 0, errors.New("/proc/PID/stat is cut off")
	}
	user, errU := strconv.ParseFloat(fields[11], 64)
	system, errS := strconv.ParseFloat(fields[12], 64)
	return (user + system) / ticksPerSecond, errors.Join(errU, errS)
}
