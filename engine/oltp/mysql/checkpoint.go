package mysql

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"strconv"
	"time"
)

// A copy ends with a checkpoint: what it wrote is in the tables' files and no part
// of the log is needed for it. A trial then does not pay for the copy's writes. And
// MariaDB (10.11 at least) loses all changes of a table space that it took in, if
// it crashes before the next checkpoint: its recovery finds that the space of that
// number was discarded, and leaves out what was logged for it later.
//
// A server makes a checkpoint when it has written its dirty pages, which it does in
// its own time. It is hurried by settings, which are put back; they are kept in the
// database of the copy meanwhile, so that they are put back after a crash as well.

// hurryTable keeps the settings as they were.
const hurryTable = "bakeoff_settings"

const (
	hurriedPages = 20_000 // a second
	lookAgain    = 50 * time.Millisecond
	noProgress   = 2 * time.Minute // without a new checkpoint: the server makes none
)

// errNoCheckpoint says that the server cannot be told to make one.
var errNoCheckpoint = errors.New("the server does not tell when it made a checkpoint")

// hurries are the settings, in an order in which they can be put back: none may
// be above its limit.
func hurries() []string {
	return []string{"innodb_max_dirty_pages_pct", "innodb_max_dirty_pages_pct_lwm", "innodb_io_capacity_max", "innodb_io_capacity"}
}

// lsn reads the log's end, or how far the last checkpoint is, in bytes.
func (d *database) lsn(ctx context.Context, names ...string) (uint64, error) {
	for _, name := range names {
		rows, err := rowsOf(ctx, d.server, "SHOW GLOBAL STATUS LIKE "+literal(name))
		if err != nil {
			return 0, err
		}
		if len(rows) == 0 {
			continue
		}
		n, err := strconv.ParseUint(rows[0][1], 10, 64)
		if err != nil {
			return 0, fmt.Errorf("counter %s: found %q, expected a number", name, rows[0][1])
		}
		return n, nil
	}
	return 0, errNoCheckpoint
}

func (d *database) logEnd(ctx context.Context) (uint64, error) {
	return d.lsn(ctx, "Innodb_lsn_current", "Innodb_redo_log_current_lsn")
}

func (d *database) lastCheckpoint(ctx context.Context) (uint64, error) {
	return d.lsn(ctx, "Innodb_lsn_last_checkpoint", "Innodb_redo_log_checkpoint_lsn")
}

// hurry sets the server to write its dirty pages at once. The function that it
// returns puts the settings back.
func (d *database) hurry(ctx context.Context) (unhurry func() error, err error) {
	if err := d.unhurry(ctx); err != nil { // those that a crash left
		return nil, err
	}
	if _, err := d.lastCheckpoint(ctx); err != nil {
		return nil, err
	}
	kept := quote(d.savedName()) + "." + hurryTable
	var before []string
	for _, name := range hurries() {
		rows, err := rowsOf(ctx, d.server, "SELECT @@"+name)
		if err != nil {
			return nil, err
		}
		before = append(before, rows[0][0])
	}
	err = execAll(ctx, d.server, "CREATE TABLE IF NOT EXISTS "+kept+" (name VARCHAR(64) NOT NULL PRIMARY KEY, value DOUBLE NOT NULL)"+tableOptions)
	for i, name := range hurries() {
		if err == nil {
			err = execAll(ctx, d.server, fmt.Sprintf("INSERT INTO %s VALUES (%s, %s)", kept, literal(name), before[i]))
		}
	}
	pages := strconv.Itoa(hurriedPages)
	if err == nil {
		err = execAll(ctx, d.server, "SET GLOBAL innodb_max_dirty_pages_pct_lwm = 0", "SET GLOBAL innodb_max_dirty_pages_pct = 0",
			"SET GLOBAL innodb_io_capacity_max = GREATEST(@@GLOBAL.innodb_io_capacity_max, "+pages+")", "SET GLOBAL innodb_io_capacity = GREATEST(@@GLOBAL.innodb_io_capacity, "+pages+")")
	}
	back := func() error { return d.unhurry(context.WithoutCancel(ctx)) }
	if err != nil {
		return nil, errors.Join(err, back())
	}
	return back, nil
}

// unhurry puts back the settings that are kept.
func (d *database) unhurry(ctx context.Context) error {
	var there int
	err := d.server.QueryRowContext(ctx, "SELECT COUNT(*) FROM information_schema.tables WHERE table_schema = ? AND table_name = ?", d.savedName(), hurryTable).Scan(&there)
	if err != nil || there == 0 {
		return err
	}
	kept := quote(d.savedName()) + "." + hurryTable
	for _, name := range hurries() {
		var value string
		err := d.server.QueryRowContext(ctx, "SELECT value FROM "+kept+" WHERE name = ?", name).Scan(&value)
		if errors.Is(err, sql.ErrNoRows) {
			continue
		}
		if err == nil {
			err = execAll(ctx, d.server, "SET GLOBAL "+name+" = "+value)
		}
		if err != nil {
			return fmt.Errorf("putting back %s: %w", name, err)
		}
	}
	return execAll(ctx, d.server, "DROP TABLE "+kept)
}

// checkpoint waits until the server has made a checkpoint of all that it did so far.
func (d *database) checkpoint(ctx context.Context) error {
	end, err := d.logEnd(ctx)
	if err != nil {
		return err
	}
	tick := time.NewTicker(lookAgain)
	defer tick.Stop()
	var before uint64
	for waited := time.Duration(0); waited < noProgress; waited += lookAgain {
		last, err := d.lastCheckpoint(ctx)
		if err != nil || last >= end {
			return err
		}
		if last != before {
			before, waited = last, 0
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return fmt.Errorf("waiting for a checkpoint: %w", context.Cause(ctx))
		}
	}
	return fmt.Errorf("the server made no checkpoint within %v", noProgress)
}
