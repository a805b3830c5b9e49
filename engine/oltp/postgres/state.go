package postgres

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/jackc/pgx/v5"

	"bakeoff/engine/oltp/tpcc"
)

// Finish makes keys and indexes, several at a time, and vacuums and analyzes.
func (d *database) Finish(ctx context.Context, tables []tpcc.Table) error {
	tables = largestFirst(tables)
	var work []string
	for _, t := range tables {
		if len(t.Key) > 0 {
			work = append(work, addKey(t))
		}
		for _, i := range t.Indexes {
			work = append(work, addIndex(t, i))
		}
	}
	if err := d.parallel(ctx, work); err != nil {
		return err
	}
	work = work[:0]
	for _, t := range tables {
		work = append(work, fmt.Sprintf("VACUUM (ANALYZE) %s (%s)", t.Name, strings.Join(soughtBy(t), ", ")))
	}
	return d.parallel(ctx, work)
}

// largestFirst has the longest work begin first, so that none is left to it alone
// in the end.
func largestFirst(tables []tpcc.Table) []tpcc.Table {
	ids := make([]tpcc.TableID, len(tables))
	for i := range ids {
		ids[i] = tpcc.TableID(i)
	}
	values := func(id tpcc.TableID) int64 { return tpcc.Chunk{Table: id}.MeanRows() * int64(len(tables[id].Columns)) }
	slices.SortStableFunc(ids, func(a, b tpcc.TableID) int { return cmp.Compare(values(b), values(a)) })
	sorted := make([]tpcc.Table, len(tables))
	for i, id := range ids {
		sorted[i] = tables[id]
	}
	return sorted
}

// soughtBy are the columns that the planner needs to know: not the texts that no
// statement looks for a row by. To analyze those, too, takes most of the time.
func soughtBy(t tpcc.Table) (columns []string) {
	for _, c := range t.Columns {
		indexed := slices.ContainsFunc(t.Indexes, func(i tpcc.Index) bool { return slices.Contains(i.Columns, c.Name) })
		if indexed || c.Type != tpcc.Text && c.Type != tpcc.Char {
			columns = append(columns, c.Name)
		}
	}
	return columns
}

const indexers = 4

// parallel executes statements, some at once.
func (d *database) parallel(ctx context.Context, statements []string) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	var all sync.WaitGroup
	limit := make(chan struct{}, indexers)
	for _, sql := range statements {
		limit <- struct{}{}
		all.Go(func() {
			defer func() { <-limit }()
			if err := d.heavy(ctx, sql); err != nil {
				cancel(err)
			}
		})
	}
	all.Wait()
	return context.Cause(ctx)
}

// heavy executes a statement that profits from memory.
func (d *database) heavy(ctx context.Context, sql string) error {
	return d.with(ctx, func(c *pgx.Conn) error {
		return d.exec(ctx, c, "SET maintenance_work_mem = '256MB'", sql, "RESET maintenance_work_mem")
	})
}

// addKey is a statement that does nothing where the key is there.
func addKey(t tpcc.Table) string {
	return fmt.Sprintf(`DO $$ BEGIN
	IF NOT EXISTS (SELECT FROM pg_constraint WHERE conrelid = '%[1]s'::regclass AND contype = 'p') THEN
		ALTER TABLE %[1]s ADD PRIMARY KEY (%[2]s);
	END IF;
END $$`, t.Name, strings.Join(t.Key, ", "))
}

func addIndex(t tpcc.Table, i tpcc.Index) string {
	unique := ""
	if i.Unique {
		unique = "UNIQUE "
	}
	return fmt.Sprintf("CREATE %sINDEX IF NOT EXISTS %s ON %s (%s)", unique, i.Name, t.Name, strings.Join(i.Columns, ", "))
}

// Saving names the way.
func (*database) Saving() string { return "template database" }

func (d *database) saved() string { return d.name + savedSuffix }

// Save copies the database to one beside it.
func (d *database) Save(ctx context.Context, identity string) error {
	d.release(ctx)
	if err := d.drop(ctx, d.saved()); err != nil {
		return err
	}
	return d.maintain(ctx,
		d.copyOf(ctx, d.saved(), d.name),
		fmt.Sprintf("ALTER DATABASE %s ALLOW_CONNECTIONS false", quoted(d.saved())),
		fmt.Sprintf("COMMENT ON DATABASE %s IS '%s'", quoted(d.saved()), strings.ReplaceAll(identity, "'", "''")))
}

// copyOf is the statement that copies a database. Copying files is the fastest,
// which servers before version 15 always do.
func (d *database) copyOf(ctx context.Context, to, from string) string {
	sql := fmt.Sprintf("CREATE DATABASE %s TEMPLATE %s", quoted(to), quoted(from))
	if rows, err := d.maintenanceQuery(ctx, "SELECT current_setting('server_version_num')::int >= 150000"); err == nil && len(rows) == 1 && rows[0] == "t" {
		sql += " STRATEGY file_copy"
	}
	return sql
}

// maintenanceQuery returns the first column of a query in the database that is
// there for maintenance.
func (d *database) maintenanceQuery(ctx context.Context, sql string) (values []string, err error) {
	c, err := d.open(ctx, "postgres")
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, c.Close(ctx)) }()
	results, err := c.PgConn().Exec(ctx, sql).ReadAll()
	if err != nil {
		return nil, d.plain(err)
	}
	for _, r := range results {
		for _, row := range r.Rows {
			values = append(values, string(row[0]))
		}
	}
	return values, nil
}

// Saved returns what the copy's comment says; it is written last.
func (d *database) Saved(ctx context.Context) (string, error) {
	values, err := d.maintenanceQuery(ctx, fmt.Sprintf(
		"SELECT coalesce(shobj_description(oid, 'pg_database'), '') FROM pg_database WHERE datname = '%s'", strings.ReplaceAll(d.saved(), "'", "''")))
	if err != nil || len(values) == 0 {
		return "", err
	}
	return values[0], nil
}

// Restore makes the database anew from its copy.
func (d *database) Restore(ctx context.Context) error {
	d.release(ctx)
	if err := d.drop(ctx, d.name); err != nil {
		return err
	}
	if err := d.maintain(ctx, d.copyOf(ctx, d.name, d.saved())); err != nil {
		return err
	}
	// So that every trial begins with as much written: where the user may.
	if err := d.maintain(ctx, "CHECKPOINT"); err != nil && !isState(err, stateForbidden) {
		return err
	}
	return nil
}

const stateForbidden = "42501" // insufficient_privilege

const stateInUse = "55006" // object_in_use

// drop drops a database. Connections that are being closed are waited for by the
// server itself, for some seconds.
func (d *database) drop(ctx context.Context, name string) error {
	err := d.maintain(ctx, "DROP DATABASE IF EXISTS "+quoted(name))
	if isState(err, stateInUse) {
		return fmt.Errorf("%w: end what else is connected to it", err)
	}
	return err
}
