package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/jackc/pgx/v5"

	"bakeoff/bench/peer"
)

// server is a database server of the benchmark's own.
type server interface {
	// url is the target of bakeoff's load.
	url(database string) string
	// drop drops a database where it is there, create makes an empty one in its place.
	drop(ctx context.Context, database string) error
	create(ctx context.Context, database string) error
	// keep copies a database that was just loaded, and restore goes back to that.
	keep(ctx context.Context, database string) error
	restore(ctx context.Context, database string) error
	// has says whether a database was loaded and kept before.
	has(ctx context.Context, database string) bool
	// counters reads the sum of d_next_o_id or, of pgbench, its transactions.
	counters(ctx context.Context, database string) (int64, error)
	// cpu is the CPU time of the server's processes, user and system, in seconds.
	cpu() (float64, error)
	// pin starts the server anew, on some cores.
	pin(ctx context.Context, cores string) error
	stop()
}

// postgres is a PostgreSQL.
type postgres struct {
	dir   string
	port  int
	bin   string
	owner *syscall.Credential
	cores string // a list as taskset has it
	cmd   *exec.Cmd
}

// allCores is a list that any machine's are in.
const allCores = "0-8191"

func startPostgres(ctx context.Context, dir string) (server, error) {
	found, err := filepath.Glob("/usr/lib/postgresql/*/bin/postgres")
	if err != nil || len(found) == 0 {
		return nil, errors.New("no PostgreSQL in /usr/lib/postgresql: install Debian's package postgresql")
	}
	s := &postgres{dir: dir, bin: filepath.Dir(found[len(found)-1]), cores: allCores}
	if s.port, err = peer.FreePort(); err != nil {
		return nil, err
	}
	if os.Getuid() == 0 {
		if err := s.lower(); err != nil {
			return nil, err
		}
	}
	if _, err := os.Stat(s.data()); err == nil {
		return s, s.start(ctx)
	}
	if err := s.as(exec.CommandContext(ctx, filepath.Join(s.bin, "initdb"), "-D", s.data(), "-U", "postgres", "--auth", "trust", "--no-sync", "--locale", "C", "-E", "UTF8")).Run(); err != nil {
		return nil, fmt.Errorf("initdb: %w", err)
	}
	return s, s.start(ctx)
}

func (s *postgres) data() string { return filepath.Join(s.dir, "data") }

func (s *postgres) pin(ctx context.Context, cores string) error {
	s.stop()
	s.cores = cores
	return s.start(ctx)
}

func (s *postgres) start(ctx context.Context) error {
	args := []string{"--cpu-list", s.cores, filepath.Join(s.bin, "postgres"), "-D", s.data(), "-p", strconv.Itoa(s.port), "-k", s.dir}
	for _, setting := range []string{
		"listen_addresses=127.0.0.1", "shared_buffers=512MB", "synchronous_commit=off", "max_wal_size=8GB", "checkpoint_timeout=30min",
		"max_connections=200", "autovacuum=off", "jit=off",
	} {
		args = append(args, "-c", setting)
	}
	s.cmd = s.as(exec.Command("taskset", args...))
	if err := s.cmd.Start(); err != nil {
		return fmt.Errorf("starting PostgreSQL: %w", err)
	}
	var err error
	for deadline := time.Now().Add(20 * time.Second); time.Now().Before(deadline); time.Sleep(20 * time.Millisecond) {
		if err = s.exec(ctx, "postgres", "DO $$ BEGIN CREATE ROLE hdb SUPERUSER LOGIN PASSWORD 'hdb'; EXCEPTION WHEN duplicate_object THEN END $$"); err == nil {
			return nil
		}
	}
	s.stop()
	return fmt.Errorf("PostgreSQL does not answer: %w", err)
}

func (s *postgres) has(ctx context.Context, database string) bool {
	return s.exec(ctx, database+"_kept", "SELECT 1") == nil
}

// lower has the server run as somebody who is not root.
func (s *postgres) lower() error {
	u, err := user.Lookup("postgres")
	if err != nil {
		if u, err = user.Lookup("nobody"); err != nil {
			return err
		}
	}
	uid, errU := strconv.Atoi(u.Uid)
	gid, errG := strconv.Atoi(u.Gid)
	if err := errors.Join(errU, errG); err != nil {
		return err
	}
	s.owner = &syscall.Credential{Uid: uint32(uid), Gid: uint32(gid)}
	return os.Chown(s.dir, uid, gid)
}

func (s *postgres) as(cmd *exec.Cmd) *exec.Cmd {
	cmd.Dir, cmd.Env = s.dir, []string{"PATH=/usr/bin:/bin", "LC_ALL=C"}
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: s.owner}
	return cmd
}

func (s *postgres) stop() {
	if s == nil || s.cmd == nil {
		return
	}
	_ = s.cmd.Process.Signal(syscall.SIGINT)
	_ = s.cmd.Wait()
}

func (s *postgres) url(database string) string {
	return fmt.Sprintf("postgres://postgres@127.0.0.1:%d/%s", s.port, database)
}

func (s *postgres) exec(ctx context.Context, database string, statements ...string) error {
	c, err := pgx.Connect(ctx, s.url(database)+"?sslmode=disable")
	if err != nil {
		return err
	}
	defer c.Close(ctx)
	for _, sql := range statements {
		if _, err := c.Exec(ctx, sql); err != nil {
			return fmt.Errorf("%s: %w", sql, err)
		}
	}
	return nil
}

func (s *postgres) keep(ctx context.Context, database string) error {
	if err := s.exec(ctx, database, "VACUUM ANALYZE"); err != nil {
		return err
	}
	return s.exec(ctx, "postgres", "DROP DATABASE IF EXISTS "+database+"_kept", "CREATE DATABASE "+database+"_kept TEMPLATE "+database+" STRATEGY file_copy")
}

func (s *postgres) restore(ctx context.Context, database string) error {
	return s.exec(ctx, "postgres", "DROP DATABASE IF EXISTS "+database+" WITH (FORCE)",
		"CREATE DATABASE "+database+" TEMPLATE "+database+"_kept STRATEGY file_copy", "CHECKPOINT")
}

func (s *postgres) counters(ctx context.Context, database string) (n int64, err error) {
	c, err := pgx.Connect(ctx, s.url(database)+"?sslmode=disable")
	if err != nil {
		return 0, err
	}
	defer c.Close(ctx)
	sql := "SELECT sum(d_next_o_id)::bigint FROM district"
	if database == "pgbench" {
		sql = "SELECT count(*) FROM pgbench_history"
	}
	return n, c.QueryRow(ctx, sql).Scan(&n)
}

func (s *postgres) drop(ctx context.Context, database string) error {
	return s.exec(ctx, "postgres", "DROP DATABASE IF EXISTS "+database+" WITH (FORCE)")
}

func (s *postgres) create(ctx context.Context, database string) error {
	return s.exec(ctx, "postgres", "CREATE DATABASE "+database)
}

func (s *postgres) cpu() (float64, error) {
	pid := s.cmd.Process.Pid
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/task/%d/children", pid, pid))
	if err != nil {
		return 0, fmt.Errorf("the server has ended: %w", err)
	}
	sum, err := cpuOf(pid)
	for child := range strings.FieldsSeq(string(text)) {
		n, bad := strconv.Atoi(child)
		if bad != nil {
			return 0, bad
		}
		if spent, gone := cpuOf(n); gone == nil {
			sum += spent
		}
	}
	return sum, err
}
