package mysql

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io"
	"strings"

	driver "github.com/go-sql-driver/mysql"

	"bakeoff/engine/oltp"
	"bakeoff/engine/oltp/tpcc"
)

const (
	maxLoaders   = 16
	loadAttempts = 5 // of a chunk that meets a deadlock with another
)

// Loaders is how many chunks are loaded at once.
func (d *database) Loaders(wish int) int { return max(1, min(wish, maxLoaders)) }

// Load fills in a chunk in one transaction: by LOAD DATA LOCAL, or by INSERT
// statements where the server does not let it.
func (d *database) Load(ctx context.Context, c tpcc.Chunk) error {
	conn, err := d.loader.Conn(ctx)
	if err != nil {
		return fmt.Errorf("connecting to load: %w", err)
	}
	defer func() { _ = conn.Close() }()
	for attempt := 1; ; attempt++ {
		err := d.loadOnce(ctx, conn, c)
		switch {
		case isCode(err, errDeadlock, errLockWaitTimeout) && attempt < loadAttempts:
		case isCode(err, errTableFull, errStorageEngine):
			return fmt.Errorf("%w (is the server's disk full? make room there)", err)
		default:
			return err
		}
	}
}

func (d *database) loadOnce(ctx context.Context, conn *sql.Conn, c tpcc.Chunk) (err error) {
	if err := execAll(ctx, conn, "START TRANSACTION"); err != nil {
		return err
	}
	defer func() {
		if err != nil && ctx.Err() == nil {
			_, failed := conn.ExecContext(ctx, "ROLLBACK")
			if failed != nil && !errors.Is(failed, driver.ErrInvalidConn) {
				err = errors.Join(err, fmt.Errorf("rolling back: %w", failed))
			}
		}
	}()
	load := d.loadLines
	if d.noLocal.Load() {
		load = d.insertRows
	}
	rows, err := load(ctx, conn, c)
	if isCode(err, errLocalForbidden, errLocalDisabled, errLocalRefused) && !d.noLocal.Swap(true) {
		rows, err = d.insertRows(ctx, conn, c)
	}
	if err != nil {
		return err
	}
	return execAll(ctx, conn, oltp.Mark(c, rows), "COMMIT")
}

// loadLines loads a chunk by LOAD DATA LOCAL. It makes warnings of errors in the
// rows, so that rows and warnings are counted.
func (d *database) loadLines(ctx context.Context, conn *sql.Conn, c tpcc.Chunk) (int64, error) {
	table := tpcc.Tables()[c.Table]
	in, out := io.Pipe()
	w := &lineWriter{values: newValues(table, true), out: out}
	made := make(chan error, 1)
	go func() {
		err := d.Data.Write(c, w)
		if err == nil {
			err = w.flush()
		}
		_ = out.CloseWithError(err)
		made <- err
	}()
	name := fmt.Sprintf("bakeoff-%p-%d", d, d.loads.Add(1))
	driver.RegisterReaderHandler(name, func() io.Reader { return in })
	defer driver.DeregisterReaderHandler(name)
	result, err := conn.ExecContext(ctx, "LOAD DATA LOCAL INFILE 'Reader::"+name+"' INTO TABLE "+quote(table.Name)+
		` CHARACTER SET latin1 FIELDS TERMINATED BY '\t' ESCAPED BY '\\' LINES TERMINATED BY '\n' (`+strings.Join(table.Names(), ", ")+")")
	_ = in.CloseWithError(io.ErrClosedPipe) // where the server did not read to the end
	failed := <-made
	if err != nil {
		return 0, fmt.Errorf("loading table %s, warehouse %d: %w", table.Name, c.Warehouse, err)
	}
	if failed != nil {
		return 0, failed
	}
	loaded, err := result.RowsAffected()
	if err == nil && loaded != w.rows {
		err = errors.Join(fmt.Errorf("table %s, warehouse %d: the server took %d of %d rows", table.Name, c.Warehouse, loaded, w.rows), firstWarning(ctx, conn))
	}
	return w.rows, err
}

// firstWarning is what the server had to say to the last statement, as an error.
func firstWarning(ctx context.Context, conn *sql.Conn) error {
	var level, text string
	var code int
	if err := conn.QueryRowContext(ctx, "SHOW WARNINGS LIMIT 1").Scan(&level, &code, &text); err != nil {
		return nil // there is none, or the connection has a fault of its own to tell
	}
	return fmt.Errorf("server %s %d: %s", strings.ToLower(level), code, text)
}

// insertRows loads a chunk by INSERT statements.
func (d *database) insertRows(ctx context.Context, conn *sql.Conn, c tpcc.Chunk) (int64, error) {
	table := tpcc.Tables()[c.Table]
	w := &insertWriter{values: newValues(table, false), ctx: ctx, conn: conn,
		head: "INSERT INTO " + quote(table.Name) + " (" + strings.Join(table.Names(), ", ") + ") VALUES "}
	err := d.Data.Write(c, w)
	if err == nil {
		err = w.flush()
	}
	return w.rows, err
}
