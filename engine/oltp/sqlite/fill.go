package sqlite

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"time"

	"bakeoff/engine/oltp"
	"bakeoff/engine/oltp/tpcc"
)

func (d *database) directory() string { return filepath.Dir(d.path) }

// Create makes the tables anew. Where nothing else is in the file it begins as a
// new one, so that every load lays out its pages alike.
func (d *database) Create(ctx context.Context, tables []tpcc.Table) error {
	there, err := d.Columns(ctx)
	if err != nil {
		return err
	}
	ours := []string{oltp.MarkTable}
	for _, t := range tables {
		ours = append(ours, t.Name)
	}
	strange := false
	for name := range there {
		strange = strange || !slices.Contains(ours, name) && name != "sqlite_stat1" && name != "sqlite_stat4"
	}
	if !strange {
		if err := d.renew(ctx); err != nil {
			return err
		}
	}
	return d.manage(ctx, true, func(c *conn) error {
		statements := []string{"BEGIN IMMEDIATE"}
		for _, name := range ours {
			statements = append(statements, "DROP TABLE IF EXISTS "+name)
		}
		statements = append(statements, createMarks())
		for _, t := range tables {
			statements = append(statements, createTable(t))
		}
		for _, sql := range append(statements, "COMMIT") {
			if err := c.exec(sql); err != nil {
				return errors.Join(fmt.Errorf("creating the tables: %w", err), undo(c))
			}
		}
		return nil
	})
}

// undo ends a transaction that is to leave nothing. It may have ended by itself.
func undo(c *conn) error {
	if err := c.exec("ROLLBACK"); err != nil && !is(err, 1) {
		return err
	}
	return nil
}

// renew closes the file and removes it.
func (d *database) renew(ctx context.Context) error {
	if err := d.take(ctx); err != nil {
		return err
	}
	defer d.give()
	d.admin.mu.Lock()
	defer d.admin.mu.Unlock()
	d.shut()
	if d.path == "" {
		return nil
	}
	if err := remove(files(d.path)...); err != nil {
		return fmt.Errorf("beginning the database anew: %w", err)
	}
	return nil
}

// Loaders is 1: SQLite has one writer.
func (d *database) Loaders(int) int { return 1 }

// Load fills in a chunk.
func (d *database) Load(ctx context.Context, chunk tpcc.Chunk) error {
	return d.manage(ctx, false, func(c *conn) error {
		err := c.exec("BEGIN IMMEDIATE")
		if err == nil {
			err = d.insert(ctx, c, chunk)
		}
		if err == nil {
			err = c.exec("COMMIT")
		}
		if is(err, codeFull) {
			err = fmt.Errorf("%w: make room in %s, or load fewer warehouses; what is loaded so far stays and is not loaded again", err, d.place())
		}
		if err != nil {
			return errors.Join(fmt.Errorf("loading: %w", err), undo(c))
		}
		return nil
	})
}

// place is where the file is, for an error.
func (d *database) place() string {
	if d.path == "" {
		return os.TempDir() + " (TMPDIR names another folder)"
	}
	return d.directory()
}

func (d *database) insert(ctx context.Context, c *conn, chunk tpcc.Chunk) error {
	s, err := c.prepare(insertRow(tpcc.Tables()[chunk.Table]))
	if err != nil {
		return err
	}
	defer s.finalize()
	w := &rowWriter{ctx: ctx, stmt: s}
	if err := d.Data.Write(chunk, w); err != nil {
		return err
	}
	return c.exec(oltp.Mark(chunk, w.rows))
}

// rowWriter inserts rows.
type rowWriter struct {
	ctx    context.Context
	stmt   *stmt
	column int
	rows   int64
}

func (w *rowWriter) next() int {
	w.column++
	return w.column
}

func (w *rowWriter) Int(v int64)      { w.stmt.bindInt(w.next(), v) }
func (w *rowWriter) Decimal(v int64)  { w.stmt.bindInt(w.next(), v) }
func (w *rowWriter) Text(b []byte)    { w.stmt.bindText(w.next(), b) }
func (w *rowWriter) Time(t time.Time) { w.stmt.bindInt(w.next(), t.Unix()) }
func (w *rowWriter) Null()            { w.stmt.bindNull(w.next()) }

func (w *rowWriter) EndRow() error {
	w.column = 0
	w.rows++
	if w.rows%1024 == 0 && w.ctx.Err() != nil {
		return context.Cause(w.ctx)
	}
	return w.stmt.run()
}

// Finish makes the indexes, has the optimizer sample the tables, and moves what is
// in the log into the database.
func (d *database) Finish(ctx context.Context, tables []tpcc.Table) error {
	return d.manage(ctx, false, func(c *conn) error {
		for _, t := range tables {
			for _, x := range t.Indexes {
				if err := c.exec(createIndex(t, x)); err != nil {
					return fmt.Errorf("making an index: %w", err)
				}
			}
		}
		return c.exec("PRAGMA analysis_limit = 1000; ANALYZE; PRAGMA wal_checkpoint(TRUNCATE); PRAGMA shrink_memory")
	})
}

// Install has nothing to do: there are no stored routines.
func (d *database) Install(context.Context) error { return nil }
