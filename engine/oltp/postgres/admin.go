package postgres

import (
	"context"
	"crypto/tls"
	_ "embed"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"bakeoff/engine/oltp"
	"bakeoff/engine/oltp/tpcc"
	"bakeoff/load"
	"bakeoff/load/dial"
)

// open connects through pgx. What the environment says (PGHOST and the like) does
// not count.
func (d *database) open(ctx context.Context, name string) (*pgx.Conn, error) {
	c, err := pgx.ParseConfig("host=localhost sslmode=disable")
	if err != nil {
		return nil, fmt.Errorf("connecting to database %s: %w", name, err)
	}
	c.Host, c.Port, c.Database, c.User, c.Password = d.host, d.port, name, d.user, d.c.Password
	c.TLSConfig, c.Fallbacks, c.ConnectTimeout = d.c.TLS, nil, d.c.Timeout
	c.RuntimeParams = map[string]string{"application_name": "bakeoff"}
	conn, err := pgx.ConnectConfig(ctx, c)
	if err != nil {
		return nil, fmt.Errorf("connecting to database %s at %s: %w", name, d.address, d.plain(err))
	}
	return conn, nil
}

// plain gives a server's refusal in this package's words.
func (d *database) plain(err error) error {
	var e *pgconn.PgError
	if errors.As(err, &e) {
		return advise(&serverError{severity: e.Severity, code: e.Code, message: e.Message}, d)
	}
	var untrusted *tls.CertificateVerificationError
	if errors.As(err, &untrusted) {
		return dial.Advise(untrusted)
	}
	return err
}

// with lends a connection to the database.
func (d *database) with(ctx context.Context, use func(*pgx.Conn) error) error {
	conn := d.take()
	if conn == nil {
		var err error
		if conn, err = d.open(ctx, d.name); err != nil {
			return err
		}
	}
	err := use(conn)
	if conn.IsClosed() || conn.PgConn().TxStatus() != 'I' {
		_ = conn.Close(ctx)
		return err
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	d.idle = append(d.idle, conn)
	return err
}

func (d *database) take() *pgx.Conn {
	d.mu.Lock()
	defer d.mu.Unlock()
	for n := len(d.idle); n > 0; n = len(d.idle) {
		conn := d.idle[n-1]
		d.idle = d.idle[:n-1]
		if !conn.IsClosed() {
			return conn
		}
	}
	return nil
}

// release closes the connections that nobody uses.
func (d *database) release(ctx context.Context) {
	for conn := d.take(); conn != nil; conn = d.take() {
		_ = conn.Close(ctx)
	}
}

// Close ends all connections.
func (d *database) Close() error {
	ctx, cancel := context.WithTimeout(context.Background(), d.c.Timeout)
	defer cancel()
	d.release(ctx)
	return nil
}

// Query runs a query and returns its rows as text.
func (d *database) Query(ctx context.Context, sql string) (rows [][]string, err error) {
	err = d.with(ctx, func(c *pgx.Conn) error {
		results, err := c.PgConn().Exec(ctx, sql).ReadAll()
		if err != nil {
			return d.plain(err)
		}
		for _, result := range results {
			for _, values := range result.Rows {
				row := make([]string, len(values))
				for i, v := range values {
					row[i] = string(v)
				}
				rows = append(rows, row)
			}
		}
		return nil
	})
	return rows, err
}

// Exec runs statements, each durable when it returns.
func (d *database) Exec(ctx context.Context, statements ...string) error {
	return d.with(ctx, func(c *pgx.Conn) error { return d.exec(ctx, c, statements...) })
}

func (d *database) exec(ctx context.Context, c *pgx.Conn, statements ...string) error {
	for _, sql := range statements {
		if _, err := c.PgConn().Exec(ctx, sql).ReadAll(); err != nil {
			err = fmt.Errorf("%s: %w", firstLine(sql), d.plain(err))
			if c.IsClosed() && ctx.Err() == nil {
				return fmt.Errorf("%w: the server closed the connection; its log says why (a full disk, a crash)", err)
			}
			return err
		}
	}
	return nil
}

func firstLine(sql string) string {
	line, _, more := strings.Cut(strings.TrimSpace(sql), "\n")
	if more {
		line += " ..."
	}
	return line
}

func isState(err error, code string) bool {
	var own *serverError
	return errors.As(err, &own) && own.code == code
}

// Columns lists the tables that are there.
func (d *database) Columns(ctx context.Context) (map[string][]string, error) {
	rows, err := d.Query(ctx, "SELECT table_name, column_name FROM information_schema.columns WHERE table_schema = current_schema() ORDER BY table_name, ordinal_position")
	if isState(err, stateNoDatabase) {
		return map[string][]string{}, nil
	}
	if err != nil {
		return nil, err
	}
	tables := map[string][]string{}
	for _, r := range rows {
		tables[r[0]] = append(tables[r[0]], r[1])
	}
	return tables, nil
}

// settings are those of the server that matter to the result.
func settings() string {
	return `server_version, block_size, data_checksums, shared_buffers, huge_pages, effective_cache_size, work_mem, maintenance_work_mem, max_connections,
fsync, synchronous_commit, full_page_writes, wal_level, wal_compression, wal_buffers, wal_sync_method, max_wal_size, min_wal_size, checkpoint_timeout,
checkpoint_completion_target, commit_delay, autovacuum, bgwriter_delay, random_page_cost, effective_io_concurrency, jit, default_transaction_isolation,
max_worker_processes, max_parallel_workers_per_gather, ssl, shared_preload_libraries`
}

// Facts reads the version and the settings.
func (d *database) Facts(ctx context.Context) ([]oltp.Fact, error) {
	var names []string
	for name := range strings.SplitSeq(settings(), ",") {
		names = append(names, "'"+strings.TrimSpace(name)+"'")
	}
	rows, err := d.Query(ctx, "SELECT name, current_setting(name) FROM pg_settings WHERE name IN ("+strings.Join(names, ", ")+") ORDER BY name")
	if err != nil {
		return nil, fmt.Errorf("reading the server's settings: %w", err)
	}
	var facts []oltp.Fact
	for _, r := range rows {
		facts = append(facts, oltp.Fact{Name: r[0], Text: r[1]})
	}
	rows, err = d.Query(ctx, "SELECT version, cipher FROM pg_stat_ssl WHERE pid = pg_backend_pid() AND ssl")
	if err != nil {
		return nil, fmt.Errorf("asking how the connection is encrypted: %w", err)
	}
	for _, r := range rows {
		facts = append(facts, oltp.Fact{Name: "connection_tls", Text: r[0] + " " + r[1]})
	}
	return facts, nil
}

// Counters reads what NOPM and TPM are made of.
func (d *database) Counters(ctx context.Context) (oltp.Counters, error) {
	var c oltp.Counters
	var deadlocks, read, hit, wal, temporary int64
	err := d.with(ctx, func(conn *pgx.Conn) error {
		return d.plain(conn.QueryRow(ctx, `SELECT (SELECT sum(d_next_o_id)::bigint FROM district), sum(xact_commit + xact_rollback)::bigint,
	coalesce(sum(deadlocks) FILTER (WHERE datname = current_database()), 0)::bigint, coalesce(sum(blks_read) FILTER (WHERE datname = current_database()), 0)::bigint,
	coalesce(sum(blks_hit) FILTER (WHERE datname = current_database()), 0)::bigint, coalesce(sum(temp_bytes) FILTER (WHERE datname = current_database()), 0)::bigint,
	CASE WHEN pg_is_in_recovery() THEN 0 ELSE pg_wal_lsn_diff(pg_current_wal_insert_lsn(), '0/0') END::bigint FROM pg_stat_database`).Scan(
			&c.NextOrders, &c.Transactions, &deadlocks, &read, &hit, &temporary, &wal))
	})
	if err != nil {
		return oltp.Counters{}, fmt.Errorf("reading the server's counters: %w", err)
	}
	// A backend reports what it did at the end of a transaction, at most once a
	// second (PGSTAT_MIN_INTERVAL, pgstat.c).
	c.Lag = time.Second
	c.More = []load.Count{
		{Name: "deadlocks", Unit: "1", Value: float64(deadlocks)}, {Name: "blocks_read", Unit: "1", Value: float64(read)},
		{Name: "blocks_hit", Unit: "1", Value: float64(hit)}, {Name: "wal", Unit: "B", Value: float64(wal)},
		{Name: "temporary_files", Unit: "B", Value: float64(temporary)},
	}
	return c, nil
}

// Size is the database's size on disk.
func (d *database) Size(ctx context.Context) (n int64, err error) {
	err = d.with(ctx, func(c *pgx.Conn) error {
		return d.plain(c.QueryRow(ctx, "SELECT pg_database_size(current_database())").Scan(&n))
	})
	return n, err
}

//go:embed routines.sql
var routines string

// Install makes the routines anew, for the profile.
func (d *database) Install(ctx context.Context) error {
	if d.c.Schema == oltp.HammerDBSchema {
		return d.findRoutines(ctx)
	}
	if d.c.Mode != oltp.Procedures {
		return nil
	}
	var drop strings.Builder
	for _, name := range []string{"new_order", "payment", "delivery", "order_status", "stock_level"} {
		fmt.Fprintf(&drop, "DROP FUNCTION IF EXISTS bakeoff_%s; ", name)
	}
	if err := d.Exec(ctx, drop.String()+routinesOf(d.c.Rules.Profile)); err != nil {
		return fmt.Errorf("making the routines: %w", err)
	}
	return nil
}

// routinesOf takes out of the routines what only the specification's rules have,
// which stands between marks.
func routinesOf(p tpcc.Profile) string {
	if p == tpcc.Spec {
		return strings.NewReplacer("/*spec", "", "spec*/", "").Replace(routines)
	}
	return routines // where it is a comment
}

// findRoutines looks for HammerDB's functions.
func (d *database) findRoutines(ctx context.Context) error {
	rows, err := d.Query(ctx, "SELECT proname, prokind FROM pg_proc WHERE proname IN ('neword', 'payment', 'delivery', 'ostat', 'slev')")
	if err != nil {
		return fmt.Errorf("looking for HammerDB's routines: %w", err)
	}
	for _, r := range rows {
		if r[1] != "f" {
			return fmt.Errorf("HammerDB's %s is a stored procedure: build the schema with pg_storedprocs false, which is HammerDB's default", r[0])
		}
	}
	const routineCount = 5
	if len(rows) != routineCount {
		return fmt.Errorf("found %d of HammerDB's %d routines: build the schema with HammerDB first, or leave out schema: hammerdb", len(rows), routineCount)
	}
	return nil
}
