// Package postgres runs TPROC-H on PostgreSQL (15 or newer).
package postgres

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/stdlib"

	"bakeoff/engine/olap"
	"bakeoff/engine/olap/population"
	"bakeoff/engine/olap/tpch"
)

// Target is PostgreSQL. A URL is postgres://USER@HOST:PORT/DATABASE; port 5432
// and the database tpch without them. The options host and port, as libpq has
// them, name the folder and the number of a Unix socket.
type Target struct{}

// Schemes are those of its URLs.
func (Target) Schemes() []string { return []string{"postgres", "postgresql"} }

// Form shows what a URL looks like.
func (Target) Form() string { return "postgres://USER@HOST:PORT/DATABASE" }

// Parallel is true: max_parallel_workers_per_gather.
func (Target) Parallel() bool { return true }

const (
	defaultPort     = 5432
	defaultDatabase = "tpch"
	maintenance     = "postgres" // the database that others are created and dropped from
	savedSuffix     = "_bakeoff_saved"
	maxName         = 63 // bytes of an identifier
	connectTime     = 10 * time.Second
	// backstop is how much later than the generator the server itself ends a query.
	backstop = time.Second
)

// Open reads the URL.
func (Target) Open(c olap.Config) (olap.Database, error) {
	cfg, err := pgx.ParseConfig("")
	if err != nil {
		return nil, err
	}
	if err := address(cfg, c.URL); err != nil {
		return nil, err
	}
	cfg.Fallbacks, cfg.TLSConfig, cfg.ConnectTimeout = nil, c.TLS, connectTime
	cfg.User, cfg.Password = c.User, c.Password
	if cfg.User == "" {
		return nil, errors.New("expected a user, as postgres://USER@HOST/DATABASE")
	}
	// Each query runs once: preparing it would cost a round trip more.
	cfg.DefaultQueryExecMode = pgx.QueryExecModeExec
	cfg.RuntimeParams = map[string]string{"application_name": "bakeoff", "client_encoding": "UTF8",
		"statement_timeout": strconv.FormatInt((c.Timeout + backstop).Milliseconds(), 10)}
	if c.Parallel > 0 {
		cfg.RuntimeParams["max_parallel_workers_per_gather"] = strconv.Itoa(c.Parallel)
	}
	name := strings.Trim(c.URL.Path, "/")
	if name == "" {
		name = defaultDatabase
	}
	if c.Instance > 0 {
		name += "_" + strconv.Itoa(c.Instance)
	}
	if strings.ContainsAny(name, "/\"'\x00") || len(name)+len(savedSuffix) > maxName {
		return nil, fmt.Errorf("database %q: expected a name of up to %d bytes without quotes and slashes", name, maxName-len(savedSuffix))
	}
	d := &database{config: cfg, name: name, timeout: c.Timeout}
	d.reopen()
	return d, nil
}

// address reads where the server is.
func address(cfg *pgx.ConnConfig, u *url.URL) error {
	q := u.Query()
	host, port := u.Hostname(), u.Port()
	if folder := q.Get("host"); folder != "" {
		host = folder
	}
	if number := q.Get("port"); number != "" {
		port = number
	}
	q.Del("host")
	q.Del("port")
	if len(q) > 0 {
		return fmt.Errorf("unknown options %q: expected only host=FOLDER and port=NUMBER, of a Unix socket", q.Encode())
	}
	if host == "" {
		return errors.New("it names no host")
	}
	cfg.Host, cfg.Port = host, defaultPort
	if port == "" {
		return nil
	}
	n, err := strconv.ParseUint(port, 10, 16)
	if err != nil || n == 0 {
		return fmt.Errorf("port %q: expected 1 to 65535", port)
	}
	cfg.Port = uint16(n)
	return nil
}

// database is a database on a server.
type database struct {
	config  *pgx.ConnConfig
	name    string
	timeout time.Duration
	pool    *sql.DB
}

// reopen makes a new pool; it connects to nothing.
func (d *database) reopen() {
	cfg := d.config.Copy()
	cfg.Database = d.name
	d.pool = stdlib.OpenDB(*cfg)
}

// Dialect is PostgreSQL's.
func (*database) Dialect() tpch.Dialect { return tpch.PostgreSQL }

// Connect opens a connection.
func (d *database) Connect(ctx context.Context) (*sql.Conn, error) {
	return olap.Dial(ctx, d.pool, d.timeout)
}

// elsewhere does something from the maintenance database, with no other
// connection of this process open.
func (d *database) elsewhere(ctx context.Context, do func(*pgx.Conn) error) error {
	err := d.pool.Close()
	defer d.reopen()
	if err != nil {
		return err
	}
	cfg := d.config.Copy()
	cfg.Database = maintenance
	delete(cfg.RuntimeParams, "statement_timeout") // copying takes as long as it takes
	conn, err := pgx.ConnectConfig(ctx, cfg)
	if err != nil {
		return err
	}
	err = do(conn)
	closing, cancel := context.WithTimeout(context.WithoutCancel(ctx), connectTime)
	defer cancel()
	return errors.Join(err, conn.Close(closing))
}

const (
	noSuchDatabase = "3D000" // SQLSTATE
	existsTable    = "42P07"
	existsKey      = "42P16" // a second primary key
)

func isState(err error, states ...string) bool {
	var e *pgconn.PgError
	if !errors.As(err, &e) {
		return false
	}
	for _, s := range states {
		if e.Code == s {
			return true
		}
	}
	return false
}

// Create makes the database where it is missing.
func (d *database) Create(ctx context.Context) error {
	conn, err := d.Connect(ctx)
	if err == nil {
		return conn.Close()
	}
	if !isState(err, noSuchDatabase) {
		return err
	}
	return d.elsewhere(ctx, func(c *pgx.Conn) error {
		_, err := c.Exec(ctx, "create database "+pgx.Identifier{d.name}.Sanitize())
		return err
	})
}

// Tables lists the tables of the connection's schema.
func (d *database) Tables(ctx context.Context) ([]string, error) {
	return olap.Names(ctx, d.pool, "select tablename::text from pg_tables where schemaname = current_schema()")
}

// Loaders is the wish.
func (*database) Loaders(wish int) int { return wish }

// AlreadyThere reports whether an index or a key exists.
func (*database) AlreadyThere(err error) bool { return isState(err, existsTable, existsKey) }

// Copy copies rows in by COPY.
func (d *database) Copy(ctx context.Context, conn *sql.Conn, t population.Table, rows olap.Rows) error {
	return conn.Raw(func(driver any) error {
		_, err := driver.(*stdlib.Conn).Conn().PgConn().CopyFrom(ctx, olap.NewTextReader(rows, '\t'), "copy "+t.String()+" from stdin")
		return err
	})
}

// Analyze vacuums and analyzes all tables, so that index-only scans need not look
// at the rows.
func (d *database) Analyze(ctx context.Context) error {
	for _, t := range population.Tables() {
		if _, err := d.pool.ExecContext(ctx, "vacuum (analyze, freeze) "+t.String()); err != nil {
			return err
		}
	}
	return nil
}

// Close closes all connections.
func (d *database) Close() error { return d.pool.Close() }
