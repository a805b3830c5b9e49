package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// tool is one generator on one database.
type tool struct {
	name     string
	database string
	// command runs the load for longer than it is measured.
	command func(users int) ([]string, error)
	env     []string
	dir     string
	stop    syscall.Signal
	pgbench bool
	// apart is true where each user is a process of its own.
	apart bool
}

// loader loads a database, and says how fast.
type loader struct {
	name     string
	database string
	load     func(ctx context.Context) (rowsPerSecond float64, err error)
}

func (b *bench) bakeoff(users int, database string, more ...string) []string {
	args := []string{b.binary, "load", "oltp", "--target", b.server.url(database), "--warehouses", strconv.Itoa(b.o.warehouses),
		"--users", strconv.Itoa(users), "--warmup", "1s", "--window", "1h", "--check", "none", "--restore", "none", "--password-env", passwordVariable}
	return append(args, more...)
}

func (b *bench) tools() []tool {
	own := func(more ...string) func(int) ([]string, error) {
		return func(users int) ([]string, error) { return b.bakeoff(users, "own", more...), nil }
	}
	tools := []tool{{name: "bakeoff, procedures", database: "own", command: own(), stop: syscall.SIGINT}}
	if b.o.mariadb {
		tools = append(tools, tool{name: "bakeoff, procedures on sets", database: "own", command: own("--statements", "set"), stop: syscall.SIGINT})
	}
	tools = append(tools, tool{name: "bakeoff, client SQL", database: "own", command: own("--mode", "client-sql"), stop: syscall.SIGINT})
	if b.o.hammerdb != "" {
		tools = append(tools,
			tool{name: "bakeoff, HammerDB's schema and routines", database: "hdb", stop: syscall.SIGINT,
				command: func(users int) ([]string, error) { return b.bakeoff(users, "hdb", "--schema", "hammerdb"), nil }},
			tool{name: "HammerDB", database: "hdb", env: b.tclEnv(), dir: b.o.hammerdb, command: b.hammerDBRun, stop: syscall.SIGKILL, apart: true})
	}
	if b.o.goTPC != "" {
		tools = append(tools, tool{name: "go-tpc", database: "gotpc", stop: syscall.SIGKILL,
			command: func(users int) ([]string, error) { return b.goTPC("run", users, "--time", "1h"), nil }})
	}
	if pg, ok := b.server.(*postgres); ok {
		tools = append(tools, tool{name: "pgbench -M prepared (transactions of its own)", database: "pgbench", pgbench: true, stop: syscall.SIGKILL,
			command: func(users int) ([]string, error) {
				return pg.pgbench("-M", "prepared", "-c", strconv.Itoa(users), "-T", "3600"), nil
			}})
	}
	return tools
}

// pgbench is a command of PostgreSQL's own benchmark.
func (s *postgres) pgbench(args ...string) []string {
	args = append([]string{filepath.Join(s.bin, "pgbench")}, args...)
	return append(args, "-h", "127.0.0.1", "-p", strconv.Itoa(s.port), "-U", "postgres", "pgbench")
}

func (b *bench) goTPC(what string, users int, more ...string) []string {
	args := append([]string{b.o.goTPC, "tpcc", what, "-D", "gotpc", "--warehouses", strconv.Itoa(b.o.warehouses), "-T", strconv.Itoa(users)}, more...)
	switch s := b.server.(type) {
	case *postgres:
		return append(args, "-d", "postgres", "-H", "127.0.0.1", "-P", strconv.Itoa(s.port), "-U", "postgres", "--conn-params", "sslmode=disable")
	case *mariadb:
		return append(args, "-d", "mysql", "-H", "127.0.0.1", "-P", strconv.Itoa(s.port), "-U", mariadbUser, "-p", mariadbPassword)
	}
	return args
}

// tclPackages stand for what HammerDB wants and does not find in Debian: charts,
// which are not needed here, and the Pgtcl that it brings along, whose
// pg_exec_prepared takes two lists of formats more. Debian's is not safe in
// several threads, so that each user gets a process of its own.
const tclPackages = `package ifneeded ticklecharts 9.0 {package provide ticklecharts 9.0}
foreach lib [glob -nocomplain /usr/lib/tcltk/*/pgtcl*/libpgtcl*.so] {
  regexp {libpgtcl([0-9.]+)\.so$} $lib -> version
  package ifneeded Pgtcl $version [list apply {{lib} {
    load $lib
    if {[info commands ::pg_notice_handler] eq ""} {
      proc ::pg_notice_handler args {}
      rename ::pg_exec_prepared ::pg_exec_prepared_plain
      proc ::pg_exec_prepared {conn name results arguments args} { ::pg_exec_prepared_plain $conn $name {*}$args }
    }
  }} $lib]
}
`

func (b *bench) tclEnv() []string { return []string{"TCLLIBPATH=" + filepath.Join(b.dir, "tcl")} }

// hammerDBScript writes a script for hammerdbcli and returns the command. In the
// lines, DB stands for HammerDB's prefix of the database.
func (b *bench) hammerDBScript(name string, lines ...string) ([]string, error) {
	prefix := "pg"
	var head []string
	switch s := b.server.(type) {
	case *postgres:
		head = []string{
			"dbset db pg", "dbset bm TPC-C", "diset connection pg_host 127.0.0.1", "diset connection pg_port " + strconv.Itoa(s.port),
			"diset connection pg_sslmode disable", "diset tpcc pg_superuser postgres", "diset tpcc pg_superuserpass postgres", "diset tpcc pg_defaultdbase postgres",
			"diset tpcc pg_user hdb", "diset tpcc pg_pass hdb",
		}
	case *mariadb:
		prefix = "mysql"
		head = []string{
			"dbset db mysql", "dbset bm TPC-C", "diset connection mysql_host 127.0.0.1", "diset connection mysql_port " + strconv.Itoa(s.port),
			"diset connection mysql_socket null", "diset tpcc mysql_user " + mariadbUser, "diset tpcc mysql_pass " + mariadbPassword,
		}
	}
	text := strings.Join(append(append(head, "diset tpcc DB_dbase hdb"), lines...), "\n") + "\n"
	path := filepath.Join(b.dir, name+".tcl")
	if err := os.WriteFile(path, []byte(strings.ReplaceAll(text, "DB_", prefix+"_")), 0o644); err != nil {
		return nil, err
	}
	return []string{"tclsh8.6", filepath.Join(b.o.hammerdb, "hammerdbcli"), "tcl", "auto", path}, nil
}

func (b *bench) hammerDBRun(users int) ([]string, error) {
	return b.hammerDBScript("run", "diset tpcc DB_driver timed", "diset tpcc DB_rampup 0", "diset tpcc DB_duration 60", "diset tpcc DB_total_iterations 100000000",
		"diset tpcc DB_raiseerror false", "diset tpcc DB_keyandthink false", "loadscript", fmt.Sprintf("vuset vu %d", users), "vuset logtotemp 0", "vucreate", "vurun", "vwait forever")
}

// loaders load what the tools need.
func (b *bench) loaders() []loader {
	all := []loader{{"bakeoff, 4 loaders", "own", b.loadOwn}}
	if b.o.hammerdb != "" {
		all = append(all, loader{"HammerDB, 1 user", "hdb", b.loadHammerDB})
	}
	if b.o.goTPC != "" {
		all = append(all, loader{"go-tpc, 4 threads", "gotpc", b.loadGoTPC})
	}
	if pg, ok := b.server.(*postgres); ok {
		all = append(all, loader{"pgbench -i, scale 20", "pgbench", func(ctx context.Context) (float64, error) { return b.loadPGBench(ctx, pg) }})
	}
	return all
}

func (b *bench) loadOwn(ctx context.Context) (float64, error) {
	args := []string{"load", "oltp", "--target", b.server.url("own"), "--warehouses", strconv.Itoa(b.o.warehouses), "--users", "1", "--loaders", "4",
		"--warmup", "0s", "--window", "1s", "--restore", "reload", "-o", "json", "--password-env", passwordVariable}
	cmd := exec.CommandContext(ctx, b.binary, args...)
	cmd.Env = append(os.Environ(), passwordVariable+"="+mariadbPassword)
	out, err := cmd.Output()
	if err != nil {
		return 0, fmt.Errorf("loading with bakeoff: %w", err)
	}
	var r struct {
		Load struct {
			Figures []struct {
				Name  string  `json:"name"`
				Value float64 `json:"value"`
			} `json:"figures"`
		} `json:"load"`
	}
	if err := json.Unmarshal(out, &r); err != nil {
		return 0, fmt.Errorf("reading bakeoff's result: %w", err)
	}
	for _, f := range r.Load.Figures {
		if f.Name == "load_rate" {
			return f.Value, b.server.keep(ctx, "own")
		}
	}
	return 0, fmt.Errorf("bakeoff's result has no load_rate")
}

// loadLimit is how long a load may take.
const loadLimit = 10 * time.Minute

// timed runs a command and says how many of the rows that are there afterwards it
// loaded a second.
func (b *bench) timed(ctx context.Context, database string, rows float64, command, env []string, dir string) (float64, error) {
	ctx, cancel := context.WithTimeout(ctx, loadLimit)
	defer cancel()
	cmd := exec.CommandContext(ctx, command[0], command[1:]...)
	cmd.Env, cmd.Dir = append(os.Environ(), env...), dir
	start := time.Now()
	out, err := cmd.CombinedOutput()
	took := time.Since(start)
	if err != nil {
		return 0, fmt.Errorf("%s: %w\n%s", command[0], err, tail(out))
	}
	if _, err := b.server.counters(ctx, database); err != nil {
		return 0, fmt.Errorf("%s loaded nothing: %w\n%s", command[0], err, tail(out))
	}
	if err := b.server.keep(ctx, database); err != nil {
		return 0, fmt.Errorf("%w after %s\n%s", err, command[0], tail(out))
	}
	return rows / took.Seconds(), nil
}

func tail(out []byte) string {
	lines := strings.Split(strings.TrimSpace(string(out)), "\n")
	return strings.Join(lines[max(0, len(lines)-12):], "\n")
}

// rows is about how many a database of the benchmark has.
func (b *bench) rows() float64 { return float64(b.o.warehouses)*499_000 + 100_000 }

func (b *bench) loadHammerDB(ctx context.Context) (float64, error) {
	command, err := b.hammerDBScript("build", fmt.Sprintf("diset tpcc DB_count_ware %d", b.o.warehouses), "diset tpcc DB_num_vu 1", "buildschema", "exit")
	if err != nil {
		return 0, err
	}
	return b.timed(ctx, "hdb", b.rows(), command, b.tclEnv(), b.o.hammerdb)
}

func (b *bench) loadGoTPC(ctx context.Context) (float64, error) {
	if err := b.server.create(ctx, "gotpc"); err != nil {
		return 0, err
	}
	return b.timed(ctx, "gotpc", b.rows(), b.goTPC("prepare", 4, "--no-check"), nil, b.dir)
}

func (b *bench) loadPGBench(ctx context.Context, pg *postgres) (float64, error) {
	const scale, perScale = 20, 100_000
	if err := pg.create(ctx, "pgbench"); err != nil {
		return 0, err
	}
	return b.timed(ctx, "pgbench", scale*perScale, pg.pgbench("-i", "-q", "-s", strconv.Itoa(scale)), nil, b.dir)
}
