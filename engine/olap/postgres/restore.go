package postgres

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/jackc/pgx/v5"

	"bakeoff/engine/olap"
	"bakeoff/engine/olap/population"
)

func (d *database) savedName() string { return d.name + savedSuffix }

// Saving says how the database is copied, or why it cannot be: the user may not
// create databases, or others keep something of theirs in this one, which a restore would
// put back too.
func (d *database) Saving(ctx context.Context) (string, error) {
	may, err := olap.Names(ctx, d.pool, "select (rolsuper or rolcreatedb)::text from pg_roles where rolname = current_user")
	if err != nil {
		return "", err
	}
	if len(may) != 1 || may[0] != "true" {
		return "", fmt.Errorf("user %s may not create databases", d.config.User)
	}
	ours := []string{"'bakeoff_olap'"}
	for _, t := range population.Tables() {
		ours = append(ours, "'"+t.String()+"'")
	}
	foreign, err := olap.Names(ctx, d.pool, `select c.relname::text from pg_class c join pg_namespace n on n.oid = c.relnamespace
		where n.nspname not like 'pg\_%' and n.nspname <> 'information_schema' and c.relkind in ('r', 'p', 'v', 'm', 'f', 'S')
		and c.relname not in (`+strings.Join(ours, ", ")+") order by 1")
	if err != nil {
		return "", err
	}
	if len(foreign) > 0 {
		return "", fmt.Errorf("database %s holds %s too, which is not bakeoff's", d.name, foreign[0])
	}
	return "template database", nil
}

// Save makes the copy: a database with this one as its template, whose comment is the
// identity.
func (d *database) Save(ctx context.Context, identity string) error {
	return d.elsewhere(ctx, func(c *pgx.Conn) error {
		if err := clone(ctx, c, d.name, d.savedName()); err != nil {
			return err
		}
		_, err := c.Exec(ctx, "comment on database "+pgx.Identifier{d.savedName()}.Sanitize()+" is '"+identity+"'")
		return err
	})
}

// Saved returns the copy's comment.
func (d *database) Saved(ctx context.Context) (string, error) {
	found, err := olap.Names(ctx, d.pool, "select coalesce(shobj_description(oid, 'pg_database'), '') from pg_database where datname = '"+d.savedName()+"'")
	if err != nil || len(found) == 0 {
		return "", err
	}
	return found[0], nil
}

// Restore makes the database anew from its copy.
func (d *database) Restore(ctx context.Context) error {
	return d.elsewhere(ctx, func(c *pgx.Conn) error { return clone(ctx, c, d.savedName(), d.name) })
}

// clone replaces a database by a copy of another one. The files are copied (and
// shared where the file system can), not written through the log.
func clone(ctx context.Context, c *pgx.Conn, from, to string) error {
	for _, statement := range []string{
		"drop database if exists " + pgx.Identifier{to}.Sanitize(),
		"create database " + pgx.Identifier{to}.Sanitize() + " template " + pgx.Identifier{from}.Sanitize() + " strategy file_copy",
	} {
		if _, err := c.Exec(ctx, statement); err != nil {
			return errors.Join(fmt.Errorf("%s: %w", statement, err))
		}
	}
	return nil
}

// Settings reads the version and the settings that matter to queries.
func (d *database) Settings(ctx context.Context) (map[string]string, error) {
	rows, err := d.pool.QueryContext(ctx, `select name, current_setting(name) from pg_settings where name in (
		'server_version', 'shared_buffers', 'work_mem', 'maintenance_work_mem', 'hash_mem_multiplier', 'effective_cache_size', 'temp_buffers',
		'max_worker_processes', 'max_parallel_workers', 'max_parallel_workers_per_gather', 'max_parallel_maintenance_workers',
		'parallel_setup_cost', 'parallel_tuple_cost', 'min_parallel_table_scan_size', 'parallel_leader_participation',
		'random_page_cost', 'seq_page_cost', 'cpu_tuple_cost', 'cpu_operator_cost', 'effective_io_concurrency', 'maintenance_io_concurrency',
		'io_method', 'io_workers', 'jit', 'jit_above_cost', 'enable_partitionwise_join', 'default_statistics_target', 'from_collapse_limit',
		'join_collapse_limit', 'geqo', 'fsync', 'full_page_writes', 'synchronous_commit', 'wal_level', 'wal_compression', 'max_wal_size',
		'checkpoint_timeout', 'huge_pages', 'block_size', 'data_checksums', 'autovacuum', 'track_io_timing', 'shared_preload_libraries',
		'max_connections', 'temp_file_limit', 'server_encoding', 'statement_timeout')`)
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
		settings[name] = value
	}
	return settings, rows.Err()
}
