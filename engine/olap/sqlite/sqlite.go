// Package sqlite runs TPROC-H on SQLite, embedded in this process.
package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	_ "modernc.org/sqlite" // the driver

	"bakeoff/engine/olap"
	"bakeoff/engine/olap/population"
	"bakeoff/engine/olap/tpch"
)

// Target is SQLite in this process. A URL is sqlite:FILE or sqlite:///PATH; without a file the
// database is a file of the session's own, which goes with it.
type Target struct{}

// Schemes are those of its URLs.
func (Target) Schemes() []string { return []string{"sqlite"} }

// Form shows what a URL looks like.
func (Target) Form() string { return "sqlite:FILE" }

// Parallel is false: SQLite runs a query on one thread.
func (Target) Parallel() bool { return false }

// Embedded says that SQLite works in this process.
func (Target) Embedded() {}

// Open checks the path.
func (Target) Open(c olap.Config) (olap.Database, error) {
	path, err := olap.FilePath(c, "olap.sqlite")
	if err != nil {
		return nil, err
	}
	d := &database{path: path}
	return d, d.reopen()
}

// pragmas are the settings of every connection, by their names.
func pragmas() [][2]string {
	return [][2]string{
		{"journal_mode", "wal"},             // readers and one writer at once
		{"synchronous", "normal"},           // durable against a crash of the process, consistent after one of the machine
		{"busy_timeout", "60000"},           // ms
		{"cache_size", "-131072"},           // KiB, a connection
		{"mmap_size", "8589934592"},         // B
		{"temp_store", "memory"},            // of sorts and of what is materialized
		{"case_sensitive_like", "on"},       // as the specification has it
		{"analysis_limit", "0"},             // analyze reads everything
		{"automatic_index", "on"},           // the default
		{"journal_size_limit", "268435456"}, // B
	}
}

// database is a file.
type database struct {
	path string
	pool *sql.DB
}

func (d *database) reopen() error {
	q := url.Values{"_txlock": {"immediate"}}
	for _, p := range pragmas() {
		q.Add("_pragma", p[0]+"("+p[1]+")")
	}
	pool, err := sql.Open("sqlite", (&url.URL{Scheme: "file", Opaque: (&url.URL{Path: d.path}).EscapedPath(), RawQuery: q.Encode()}).String())
	d.pool = pool
	return err
}

// Dialect is SQLite's.
func (*database) Dialect() tpch.Dialect { return tpch.SQLite }

// Connect opens a connection.
func (d *database) Connect(ctx context.Context) (*sql.Conn, error) {
	conn, err := d.pool.Conn(ctx)
	if err != nil {
		return nil, fmt.Errorf("opening %s: %w", d.path, err)
	}
	return conn, nil
}

// Create makes the folder's file when it is first connected to.
func (d *database) Create(context.Context) error {
	if info, err := os.Stat(filepath.Dir(d.path)); err != nil || !info.IsDir() {
		return fmt.Errorf("%s is no folder that is there; make it first", filepath.Dir(d.path))
	}
	return nil
}

// Tables lists the tables.
func (d *database) Tables(ctx context.Context) ([]string, error) {
	return olap.Names(ctx, d.pool, "select lower(name) from sqlite_schema where type = 'table'")
}

// Loaders is 1: SQLite has one writer.
func (*database) Loaders(int) int { return 1 }

// AlreadyThere reports whether an index exists.
func (*database) AlreadyThere(err error) bool {
	return strings.Contains(err.Error(), "already exists")
}

// Analyze gathers statistics of all tables.
func (d *database) Analyze(ctx context.Context) error {
	_, err := d.pool.ExecContext(ctx, "analyze")
	return err
}

// Settings reads the version, and what is set.
func (d *database) Settings(ctx context.Context) (map[string]string, error) {
	settings := map[string]string{"implementation": "modernc.org/sqlite (C compiled to Go)"}
	version, err := olap.Names(ctx, d.pool, "select sqlite_version()")
	if err != nil {
		return nil, err
	}
	settings["version"] = version[0]
	for _, p := range append(pragmas(), [2]string{"page_size"}, [2]string{"page_count"}, [2]string{"threads"}) {
		value, err := olap.Names(ctx, d.pool, "pragma "+p[0])
		if err != nil {
			return nil, fmt.Errorf("pragma %s: %w", p[0], err)
		}
		if len(value) > 0 {
			settings[p[0]] = value[0]
		}
	}
	return settings, nil
}

// Close closes the file.
func (d *database) Close() error {
	if d.pool == nil {
		return nil
	}
	err := d.pool.Close()
	d.pool = nil
	return err
}

// Copy inserts rows, many a statement.
func (d *database) Copy(ctx context.Context, conn *sql.Conn, t population.Table, rows olap.Rows) error {
	return olap.InsertRows(ctx, conn, tpch.SQLite, t, rows)
}

// Saving says how the file is kept.
func (d *database) Saving(context.Context) (string, error) { return "file copy", nil }

func (d *database) copyPath() string { return d.path + ".saved" }

// Save copies the file, after everything in its log has been moved to it.
func (d *database) Save(ctx context.Context, identity string) error {
	if err := d.checkpoint(ctx); err != nil {
		return err
	}
	return errors.Join(d.Close(), olap.SaveFile(ctx, d.path, d.copyPath(), identity), d.reopen())
}

func (d *database) checkpoint(ctx context.Context) error {
	busy, err := olap.Names(ctx, d.pool, "pragma wal_checkpoint(truncate)")
	if err != nil {
		return err
	}
	if n, err := strconv.Atoi(busy[0]); err != nil || n != 0 {
		return fmt.Errorf("another process has %s open", d.path)
	}
	return nil
}

// Saved is the identity of the copy.
func (d *database) Saved(context.Context) (string, error) { return olap.SavedFile(d.copyPath()) }

// Restore puts the copy in the file's place.
func (d *database) Restore(ctx context.Context) error {
	err := d.Close()
	for _, suffix := range []string{"-wal", "-shm"} {
		if e := os.Remove(d.path + suffix); e != nil && !errors.Is(e, os.ErrNotExist) {
			err = errors.Join(err, e)
		}
	}
	if err != nil {
		return err
	}
	return errors.Join(olap.RestoreFile(ctx, d.copyPath(), d.path), d.reopen())
}
