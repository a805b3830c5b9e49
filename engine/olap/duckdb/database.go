//go:build duckdb

package duckdb

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	driver "github.com/duckdb/duckdb-go/v2"

	"bakeoff/engine/olap"
	"bakeoff/engine/olap/tpch"
)

// database is a file and what is in memory of it, or in memory alone.
type database struct {
	path    string // "" in memory
	threads int    // 0: DuckDB's own choice
	pool    *sql.DB
	sources sources
}

func open(c olap.Config) (olap.Database, error) {
	path, err := olap.FilePath(c, "olap.duckdb")
	if err != nil {
		return nil, err
	}
	if c.Dir != "" {
		path = "" // in memory
	}
	return &database{path: path, threads: c.Parallel}, nil
}

// connect opens the file where it is not open: what DuckDB holds of it stays in memory
// from then on.
func (d *database) connect(ctx context.Context) error {
	if d.pool != nil {
		return nil
	}
	connector, err := driver.NewConnector(d.path, nil)
	if err != nil {
		return fmt.Errorf("opening %s: %w", d.path, err)
	}
	d.pool = sql.OpenDB(connector)
	conn, err := d.pool.Conn(ctx)
	if err != nil {
		return errors.Join(fmt.Errorf("opening %s: %w", d.path, err), d.Close())
	}
	if err := errors.Join(d.sources.register(conn), conn.Close()); err != nil {
		return err
	}
	return d.setThreads(ctx)
}

// Dialect is DuckDB's.
func (*database) Dialect() tpch.Dialect { return tpch.DuckDB }

// Connect opens a connection.
func (d *database) Connect(ctx context.Context) (*sql.Conn, error) { return d.pool.Conn(ctx) }

// Create opens the database, and makes it where it is missing.
func (d *database) Create(ctx context.Context) error {
	if info, err := os.Stat(filepath.Dir(d.path)); d.path != "" && (err != nil || !info.IsDir()) {
		return fmt.Errorf("%s is no folder that is there; make it first", filepath.Dir(d.path))
	}
	return d.connect(ctx)
}

// Tables lists the tables.
func (d *database) Tables(ctx context.Context) ([]string, error) {
	return olap.Names(ctx, d.pool, "select lower(table_name) from duckdb_tables() where not internal")
}

// Loaders is the wish.
func (*database) Loaders(wish int) int { return wish }

// AlreadyThere is false: there are no indexes.
func (*database) AlreadyThere(error) bool { return false }

// Analyze gives DuckDB the threads back that Copy took, and writes everything to
// the file; statistics are gathered as it loads.
func (d *database) Analyze(ctx context.Context) error {
	if err := d.setThreads(ctx); err != nil {
		return err
	}
	_, err := d.pool.ExecContext(ctx, "checkpoint")
	return err
}

// setThreads sets how many threads DuckDB has for queries.
func (d *database) setThreads(ctx context.Context) error {
	statement := "reset threads"
	if d.threads > 0 {
		statement = "set threads = " + strconv.Itoa(d.threads)
	}
	_, err := d.pool.ExecContext(ctx, statement)
	return err
}

// Settings reads the version, and what is set.
func (d *database) Settings(ctx context.Context) (map[string]string, error) {
	if err := d.connect(ctx); err != nil {
		return nil, err
	}
	settings := map[string]string{}
	version, err := olap.Names(ctx, d.pool, "select version()")
	if err != nil {
		return nil, err
	}
	settings["version"] = version[0]
	for _, name := range strings.Fields("threads memory_limit max_temp_directory_size temp_directory preserve_insertion_order checkpoint_threshold access_mode") {
		value, err := olap.Names(ctx, d.pool, "select current_setting('"+name+"')::varchar")
		if err != nil {
			return nil, fmt.Errorf("setting %s: %w", name, err)
		}
		settings[name] = value[0]
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

// Saving says how the file is kept.
func (d *database) Saving(context.Context) (string, error) { return "file copy", nil }

func (d *database) copyPath() string { return d.path + ".saved" }

// Save copies the file, after everything in its log has been moved to it.
func (d *database) Save(ctx context.Context, identity string) error {
	if _, err := d.pool.ExecContext(ctx, "checkpoint"); err != nil {
		return err
	}
	return errors.Join(d.Close(), olap.SaveFile(ctx, d.path, d.copyPath(), identity), d.connect(ctx))
}

// Saved is the identity of the copy.
func (d *database) Saved(context.Context) (string, error) { return olap.SavedFile(d.copyPath()) }

// Restore puts the copy in the file's place.
func (d *database) Restore(ctx context.Context) error {
	err := d.Close()
	if e := os.Remove(d.path + ".wal"); e != nil && !errors.Is(e, os.ErrNotExist) {
		err = errors.Join(err, e)
	}
	if err != nil {
		return err
	}
	return errors.Join(olap.RestoreFile(ctx, d.copyPath(), d.path), d.connect(ctx))
}
