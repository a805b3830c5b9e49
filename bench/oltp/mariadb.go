package main

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"syscall"
	"time"

	_ "github.com/go-sql-driver/mysql" // for the counters

	"bakeoff/bench/peer"
)

// The user of the benchmark's MariaDB, and how bakeoff is told the password.
// PostgreSQL trusts everybody there.
const (
	mariadbUser      = "bench"
	mariadbPassword  = "bench"
	passwordVariable = "BENCH_OLTP_PASSWORD"
)

// mariadb is a MariaDB.
type mariadb struct {
	dir   string
	port  int
	cores string // a list as taskset has it
	cmd   *exec.Cmd
}

func startMariaDB(ctx context.Context, dir string) (server, error) {
	s := &mariadb{dir: dir, cores: allCores}
	var err error
	if s.port, err = peer.FreePort(); err != nil {
		return nil, err
	}
	if _, err := os.Stat(s.data()); err == nil {
		return s, s.start(ctx)
	}
	install := exec.CommandContext(ctx, "mariadb-install-db", "--no-defaults", "--datadir="+s.data(), "--auth-root-authentication-method=normal", "--skip-test-db", "--user=root")
	install.Env = append(os.Environ(), "TMPDIR="+dir)
	if out, err := install.CombinedOutput(); err != nil {
		return nil, fmt.Errorf("mariadb-install-db (Debian: mariadb-server): %w\n%s", err, tail(out))
	}
	if err := s.start(ctx); err != nil {
		return nil, err
	}
	return s, s.exec(ctx, "root@tcp", "CREATE USER 'bench'@'%' IDENTIFIED BY 'bench'", "GRANT ALL ON *.* TO 'bench'@'%' WITH GRANT OPTION")
}

func (s *mariadb) data() string { return filepath.Join(s.dir, "data") }

// start starts the server and waits until it takes connections.
func (s *mariadb) start(ctx context.Context) error {
	s.cmd = exec.Command("taskset", "--cpu-list", s.cores, "mariadbd", "--no-defaults", "--user=root", "--datadir="+s.data(), "--socket="+filepath.Join(s.dir, "s"),
		"--bind-address=127.0.0.1", "--port="+strconv.Itoa(s.port), "--pid-file="+filepath.Join(s.dir, "pid"), "--skip-name-resolve", "--local-infile=1",
		"--innodb-buffer-pool-size=512M", "--innodb-log-file-size=1G", "--innodb-flush-log-at-trx-commit=0", "--max-connections=200",
		"--tmpdir="+s.dir, "--innodb-buffer-pool-load-at-startup=0", "--innodb-buffer-pool-dump-at-shutdown=0")
	log, err := os.Create(filepath.Join(s.dir, "log"))
	if err != nil {
		return err
	}
	defer log.Close()
	s.cmd.Stdout, s.cmd.Stderr = log, log
	if err := s.cmd.Start(); err != nil {
		return fmt.Errorf("starting MariaDB: %w", err)
	}
	for deadline := time.Now().Add(60 * time.Second); time.Now().Before(deadline); time.Sleep(50 * time.Millisecond) {
		if err = s.exec(ctx, "root@tcp", "SELECT 1"); err == nil {
			return nil
		}
	}
	s.stop()
	return fmt.Errorf("MariaDB does not answer: %w", err)
}

func (s *mariadb) stop() {
	_ = s.cmd.Process.Signal(syscall.SIGTERM)
	_ = s.cmd.Wait()
}

func (s *mariadb) url(database string) string {
	return fmt.Sprintf("mysql://%s@127.0.0.1:%d/%s", mariadbUser, s.port, database)
}

func (s *mariadb) open(user, database string) (*sql.DB, error) {
	return sql.Open("mysql", fmt.Sprintf("%s(127.0.0.1:%d)/%s", user, s.port, database))
}

func (s *mariadb) exec(ctx context.Context, user string, statements ...string) (err error) {
	db, err := s.open(user, "")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	for _, text := range statements {
		if _, err := db.ExecContext(ctx, text); err != nil {
			return fmt.Errorf("%s: %w", text, err)
		}
	}
	return nil
}

func (s *mariadb) pin(ctx context.Context, cores string) error {
	s.stop()
	s.cores = cores
	return s.start(ctx)
}

func (s *mariadb) drop(ctx context.Context, database string) error {
	return s.exec(ctx, "root@tcp", "DROP DATABASE IF EXISTS "+database)
}

func (s *mariadb) create(ctx context.Context, database string) error {
	return s.exec(ctx, "root@tcp", "CREATE DATABASE "+database)
}

// keep has the tables counted, so that nobody's plans rest on chance, and copies
// all files, while the server is down.
func (s *mariadb) keep(ctx context.Context, database string) error {
	if err := s.analyze(ctx, database); err != nil {
		return fmt.Errorf("counting the tables of %s: %w", database, err)
	}
	return s.copied(ctx, s.data(), s.data()+".kept")
}

func (s *mariadb) analyze(ctx context.Context, database string) (err error) {
	db, err := s.open("root@tcp", database)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	var tables string
	row := db.QueryRowContext(ctx, "SELECT GROUP_CONCAT(CONCAT('`', table_name, '`')) FROM information_schema.tables WHERE table_schema = DATABASE()")
	if err := row.Scan(&tables); err != nil {
		return err
	}
	_, err = db.ExecContext(ctx, "ANALYZE TABLE "+tables)
	return err
}

func (s *mariadb) restore(ctx context.Context, _ string) error {
	return s.copied(ctx, s.data()+".kept", s.data())
}

func (s *mariadb) copied(ctx context.Context, from, to string) error {
	s.stop()
	if err := os.RemoveAll(to); err != nil {
		return err
	}
	if out, err := exec.CommandContext(ctx, "cp", "-a", "--reflink=auto", from, to).CombinedOutput(); err != nil {
		return fmt.Errorf("copying %s: %w\n%s", from, err, out)
	}
	return s.start(ctx)
}

func (s *mariadb) has(_ context.Context, database string) bool {
	_, err := os.Stat(filepath.Join(s.data()+".kept", database, "district.ibd"))
	return err == nil
}

func (s *mariadb) counters(ctx context.Context, database string) (n int64, err error) {
	db, err := s.open("root@tcp", database)
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	return n, db.QueryRowContext(ctx, "SELECT CAST(SUM(d_next_o_id) AS SIGNED) FROM district").Scan(&n)
}

func (s *mariadb) cpu() (float64, error) { return cpuOf(s.cmd.Process.Pid) }
