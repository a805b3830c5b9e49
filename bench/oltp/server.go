package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/jackc/pgx/v5"
)

// server is a PostgreSQL of the benchmark's own.
type server struct {
	dir   string
	port  int
	bin   string
	owner *syscall.Credential
	cmd   *exec.Cmd
}

func startServer(ctx context.Context, dir string, cpu int) (*server, error) {
	found, err := filepath.Glob("/usr/lib/postgresql/*/bin/postgres")
	if err != nil || len(found) == 0 {
		return nil, errors.New("no PostgreSQL in /usr/lib/postgresql: install Debian's package postgresql")
	}
	s := &server{dir: dir, bin: filepath.Dir(found[len(found)-1])}
	if s.port, err = freePort(); err != nil {
		return nil, err
	}
	if os.Getuid() == 0 {
		if err := s.lower(); err != nil {
			return nil, err
		}
	}
	data := filepath.Join(dir, "data")
	if _, err := os.Stat(data); err == nil {
		return s, s.start(ctx, data, cpu)
	}
	if err := s.as(exec.CommandContext(ctx, filepath.Join(s.bin, "initdb"), "-D", data, "-U", "postgres", "--auth", "trust", "--no-sync", "--locale", "C", "-E", "UTF8")).Run(); err != nil {
		return nil, fmt.Errorf("initdb: %w", err)
	}
	return s, s.start(ctx, data, cpu)
}

func (s *server) start(ctx context.Context, data string, cpu int) error {
	args := []string{"--cpu-list", strconv.Itoa(cpu), filepath.Join(s.bin, "postgres"), "-D", data, "-p", strconv.Itoa(s.port), "-k", s.dir}
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

// has says whether a database was loaded before.
func (s *server) has(ctx context.Context, database string) bool {
	return s.exec(ctx, database+"_kept", "SELECT 1") == nil
}

// lower has the server run as somebody who is not root.
func (s *server) lower() error {
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

func (s *server) as(cmd *exec.Cmd) *exec.Cmd {
	cmd.Dir, cmd.Env = s.dir, []string{"PATH=/usr/bin:/bin", "LC_ALL=C"}
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: s.owner}
	return cmd
}

func (s *server) stop() {
	if s == nil || s.cmd == nil {
		return
	}
	_ = s.cmd.Process.Signal(syscall.SIGINT)
	_ = s.cmd.Wait()
}

func freePort() (int, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return 0, err
	}
	defer l.Close()
	return l.Addr().(*net.TCPAddr).Port, nil
}

func (s *server) url(database string) string {
	return fmt.Sprintf("postgres://postgres@127.0.0.1:%d/%s", s.port, database)
}

func (s *server) exec(ctx context.Context, database string, statements ...string) error {
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

// keep copies a database that was just loaded; restore goes back to the copy.
func (s *server) keep(ctx context.Context, database string) error {
	if err := s.exec(ctx, database, "VACUUM ANALYZE"); err != nil {
		return err
	}
	return s.exec(ctx, "postgres", "DROP DATABASE IF EXISTS "+database+"_kept", "CREATE DATABASE "+database+"_kept TEMPLATE "+database+" STRATEGY file_copy")
}

func (s *server) restore(ctx context.Context, database string) error {
	return s.exec(ctx, "postgres", "DROP DATABASE IF EXISTS "+database+" WITH (FORCE)",
		"CREATE DATABASE "+database+" TEMPLATE "+database+"_kept STRATEGY file_copy", "CHECKPOINT")
}

// counters reads the sum of d_next_o_id, and what was committed in the database.
func (s *server) counters(ctx context.Context, database string) (orders, transactions int64, err error) {
	c, err := pgx.Connect(ctx, s.url(database)+"?sslmode=disable")
	if err != nil {
		return 0, 0, err
	}
	defer c.Close(ctx)
	if strings.HasPrefix(database, "pgbench") {
		err = c.QueryRow(ctx, "SELECT count(*) FROM pgbench_history").Scan(&transactions)
		return 0, transactions, err
	}
	err = c.QueryRow(ctx, "SELECT sum(d_next_o_id)::bigint FROM district").Scan(&orders)
	return orders, 0, err
}

// cpu is the CPU time of the server's processes that are alive, user and system.
func (s *server) cpu() (float64, error) {
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
