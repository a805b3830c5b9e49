// Package mysql runs TPROC-H on MariaDB (10.6 or newer) and MySQL (8.0 or newer).
package mysql

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io"
	"net"
	"net/url"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	driver "github.com/go-sql-driver/mysql"

	"bakeoff/engine/olap"
	"bakeoff/engine/olap/population"
	"bakeoff/engine/olap/tpch"
	"bakeoff/load/dial"
)

// Target is MariaDB or MySQL. A URL is mysql://USER@HOST:PORT/DATABASE, or
// mariadb://; port 3306 and the database tpch without them. The option socket names
// a Unix socket to be used in place of host and port.
type Target struct{}

// Schemes are those of its URLs.
func (Target) Schemes() []string { return []string{"mysql", "mariadb"} }

// Form shows what a URL looks like.
func (Target) Form() string { return "mysql://USER@HOST:PORT/DATABASE" }

// Parallel is false: a query runs on one thread.
func (Target) Parallel() bool { return false }

const (
	defaultPort     = "3306"
	defaultDatabase = "tpch"
	connectTime     = 10 * time.Second
	maxName         = 64
	// backstop is how much later than the generator the server itself ends a query.
	backstop = time.Second
)

// Open reads the URL.
func (Target) Open(c olap.Config) (olap.Database, error) {
	cfg := driver.NewConfig()
	if err := address(cfg, c.URL); err != nil {
		return nil, err
	}
	cfg.User, cfg.Passwd, cfg.TLS, cfg.Timeout = c.User, c.Password, c.TLS, connectTime
	cfg.Logger = silent{} // errors are returned too
	if cfg.User == "" {
		return nil, errors.New("expected a user, as mysql://USER@HOST/DATABASE")
	}
	name := strings.Trim(c.URL.Path, "/")
	if name == "" {
		name = defaultDatabase
	}
	if c.Instance > 0 {
		name += "_" + strconv.Itoa(c.Instance)
	}
	if strings.ContainsAny(name, "/\\`'\"\x00") || len(name) > maxName {
		return nil, fmt.Errorf("database %q: expected a name of up to %d characters without quotes and slashes", name, maxName)
	}
	d := &database{config: cfg, name: name, timeout: c.Timeout + backstop}
	return d, d.reopen()
}

// silent is a log that nobody reads.
type silent struct{}

// Print drops what the driver logs.
func (silent) Print(...any) {}

func address(cfg *driver.Config, u *url.URL) error {
	q := u.Query()
	socket := q.Get("socket")
	q.Del("socket")
	if len(q) > 0 {
		return fmt.Errorf("unknown options %q: expected only socket=PATH", q.Encode())
	}
	if socket != "" {
		cfg.Net, cfg.Addr = "unix", socket
		return nil
	}
	if u.Hostname() == "" {
		return errors.New("it names no host")
	}
	port := u.Port()
	if port == "" {
		port = defaultPort
	}
	if n, err := strconv.Atoi(port); err != nil || n < 1 || n > 65535 {
		return fmt.Errorf("port %q: expected 1 to 65535", port)
	}
	cfg.Net, cfg.Addr = "tcp", net.JoinHostPort(u.Hostname(), port)
	return nil
}

// database is a database on a server.
type database struct {
	config  *driver.Config
	name    string
	timeout time.Duration
	pool    *sql.DB
	files   atomic.Uint64 // names what LOAD DATA reads
}

func (d *database) reopen() error {
	cfg := d.config.Clone()
	cfg.DBName = d.name
	connector, err := driver.NewConnector(cfg)
	if err != nil {
		return err
	}
	d.pool = sql.OpenDB(dial.Patient{Connector: connector, Time: connectTime, Kind: "MariaDB or MySQL"})
	return nil
}

// Dialect is MySQL's.
func (*database) Dialect() tpch.Dialect { return tpch.MySQL }

// Connect opens a connection whose queries the server itself ends in time.
func (d *database) Connect(ctx context.Context) (*sql.Conn, error) {
	conn, err := olap.Dial(ctx, d.pool, d.timeout)
	if err != nil {
		return nil, err
	}
	mariadb := fmt.Sprintf("set session max_statement_time = %.3f", d.timeout.Seconds())
	if _, err := conn.ExecContext(ctx, mariadb); err == nil {
		return conn, nil
	}
	if _, err := conn.ExecContext(ctx, fmt.Sprintf("set session max_execution_time = %d", d.timeout.Milliseconds())); err != nil {
		return nil, errors.Join(fmt.Errorf("setting the timeout of queries: %w", err), conn.Close())
	}
	return conn, nil
}

const (
	noSuchDatabase = 1049 // error numbers of the server
	duplicateKey   = 1061
)

func isNumber(err error, number uint16) bool {
	var e *driver.MySQLError
	return errors.As(err, &e) && e.Number == number
}

// Create makes the database where it is missing.
func (d *database) Create(ctx context.Context) error {
	conn, err := olap.Dial(ctx, d.pool, d.timeout)
	if err == nil {
		return conn.Close()
	}
	if !isNumber(err, noSuchDatabase) {
		return err
	}
	connector, err := driver.NewConnector(d.config)
	if err != nil {
		return err
	}
	server := sql.OpenDB(dial.Patient{Connector: connector, Time: connectTime, Kind: "MariaDB or MySQL"})
	_, err = server.ExecContext(ctx, "create database `"+d.name+"`")
	return errors.Join(err, server.Close())
}

// Tables lists the tables.
func (d *database) Tables(ctx context.Context) ([]string, error) {
	return olap.Names(ctx, d.pool, "select lower(table_name) from information_schema.tables where table_schema = database()")
}

// Loaders is the wish.
func (*database) Loaders(wish int) int { return wish }

// AlreadyThere reports whether an index exists.
func (*database) AlreadyThere(err error) bool { return isNumber(err, duplicateKey) }

// Copy reads rows in by LOAD DATA LOCAL, where the server allows it, else by
// insertions of many rows.
func (d *database) Copy(ctx context.Context, conn *sql.Conn, t population.Table, rows olap.Rows) error {
	allowed, err := olap.Names(ctx, conn, "select @@local_infile")
	if err != nil {
		return err
	}
	if allowed[0] != "1" {
		return olap.InsertRows(ctx, conn, tpch.MySQL, t, rows)
	}
	name := fmt.Sprintf("bakeoff-olap-%p-%d", d, d.files.Add(1))
	driver.RegisterReaderHandler(name, func() io.Reader { return olap.NewTextReader(rows, '|') })
	defer driver.DeregisterReaderHandler(name)
	_, err = conn.ExecContext(ctx, "load data local infile 'Reader::"+name+"' into table "+t.String()+" character set ascii fields terminated by '|'")
	return err
}

// Analyze gathers statistics of all tables.
func (d *database) Analyze(ctx context.Context) error {
	for _, t := range population.Tables() {
		if _, err := d.pool.ExecContext(ctx, "analyze table "+t.String()); err != nil {
			return err
		}
	}
	return nil
}

// Saving has no way: rows are kept in the order of their keys, so that undoing
// refreshes row by row puts everything back in its place.
func (*database) Saving(context.Context) (string, error) {
	return "", errors.New("MariaDB and MySQL copy no database faster than row by row")
}

// Save is not called.
func (*database) Save(context.Context, string) error { return errors.ErrUnsupported }

// Saved says that there is no copy.
func (*database) Saved(context.Context) (string, error) { return "", nil }

// Restore is not called.
func (*database) Restore(context.Context) error { return errors.ErrUnsupported }

// Settings reads the version and the variables that matter to queries.
func (d *database) Settings(ctx context.Context) (map[string]string, error) {
	rows, err := d.pool.QueryContext(ctx, `show global variables where variable_name in (
		'version', 'version_comment', 'version_compile_machine', 'innodb_buffer_pool_size', 'innodb_buffer_pool_instances', 'innodb_page_size',
		'innodb_flush_log_at_trx_commit', 'innodb_flush_method', 'innodb_log_file_size', 'innodb_redo_log_capacity', 'innodb_io_capacity',
		'innodb_read_io_threads', 'innodb_adaptive_hash_index', 'innodb_random_read_ahead', 'innodb_read_ahead_threshold', 'innodb_doublewrite',
		'join_buffer_size', 'join_cache_level', 'join_buffer_space_limit', 'sort_buffer_size', 'read_buffer_size', 'read_rnd_buffer_size',
		'tmp_table_size', 'max_heap_table_size', 'tmp_memory_table_size', 'internal_tmp_mem_storage_engine', 'temptable_max_ram',
		'optimizer_switch', 'optimizer_use_condition_selectivity', 'use_stat_tables', 'histogram_type', 'query_cache_type', 'query_cache_size',
		'sql_mode', 'sync_binlog', 'log_bin', 'max_connections', 'thread_handling', 'large_pages', 'character_set_server', 'performance_schema')`)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	settings := map[string]string{}
	for rows.Next() {
		var name, value string
		if err := rows.Scan(&name, &value); err != nil {
			return nil, err
		}
		settings[strings.ToLower(name)] = value
	}
	return settings, rows.Err()
}

// Close closes all connections.
func (d *database) Close() error { return d.pool.Close() }
