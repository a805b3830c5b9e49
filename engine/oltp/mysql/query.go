package mysql

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"strings"

	driver "github.com/go-sql-driver/mysql"

	"bakeoff/engine/oltp"
	"bakeoff/load"
)

// Errors of the server that the code tells apart, from its list of error codes.
const (
	errUnknownDatabase = 1049
	errUnknownVariable = 1193
	errLockWaitTimeout = 1205
	errDeadlock        = 1213
	errRecordChanged   = 1020 // MariaDB with innodb_snapshot_isolation
	errTableFull       = 1114
	errStorageEngine   = 1030 // with the system's error, as 28 for a full disk
	errLocalForbidden  = 1148 // LOAD DATA LOCAL, by older versions
	errLocalDisabled   = 3948 // the same, MySQL 8
	errLocalRefused    = 4166 // the same, MariaDB
)

func isCode(err error, codes ...uint16) bool {
	var refusal *driver.MySQLError
	if !errors.As(err, &refusal) {
		return false
	}
	for _, c := range codes {
		if refusal.Number == c {
			return true
		}
	}
	return false
}

// quote writes a name as an identifier.
func quote(name string) string { return "`" + strings.ReplaceAll(name, "`", "``") + "`" }

// literal writes a text as a string of SQL, whatever sql_mode is.
func literal(text string) string { return "'" + strings.ReplaceAll(text, "'", "''") + "'" }

// rowsOf runs a query and returns its values as text, "" for NULL.
func rowsOf(ctx context.Context, db *sql.DB, query string) (all [][]string, err error) {
	rows, err := db.QueryContext(ctx, query)
	if err != nil {
		return nil, fmt.Errorf("asking the server: %w", err)
	}
	defer func() { err = errors.Join(err, rows.Close()) }()
	names, err := rows.Columns()
	if err != nil {
		return nil, fmt.Errorf("asking the server: %w", err)
	}
	values := make([]sql.NullString, len(names))
	into := make([]any, len(names))
	for i := range values {
		into[i] = &values[i]
	}
	for rows.Next() {
		if err := rows.Scan(into...); err != nil {
			return nil, fmt.Errorf("reading an answer of the server: %w", err)
		}
		row := make([]string, len(values))
		for i, v := range values {
			row[i] = v.String
		}
		all = append(all, row)
	}
	if err := rows.Err(); err != nil {
		return nil, fmt.Errorf("reading an answer of the server: %w", err)
	}
	return all, nil
}

// Query runs a query in the database.
func (d *database) Query(ctx context.Context, query string) ([][]string, error) {
	return rowsOf(ctx, d.db, query)
}

// Exec runs statements in the database, each a transaction of its own.
func (d *database) Exec(ctx context.Context, statements ...string) error {
	return execAll(ctx, d.db, statements...)
}

func execAll(ctx context.Context, db interface {
	ExecContext(context.Context, string, ...any) (sql.Result, error)
}, statements ...string) error {
	for _, s := range statements {
		if _, err := db.ExecContext(ctx, s); err != nil {
			return fmt.Errorf("%.60s: %w", s, err)
		}
	}
	return nil
}

// Columns lists the tables that are there, with their columns.
func (d *database) Columns(ctx context.Context) (map[string][]string, error) {
	rows, err := rowsOf(ctx, d.server, `SELECT LOWER(table_name), LOWER(column_name) FROM information_schema.columns
		WHERE table_schema = `+literal(d.name)+` ORDER BY table_name, ordinal_position`)
	if err != nil {
		return nil, err
	}
	tables := map[string][]string{}
	for _, r := range rows {
		tables[r[0]] = append(tables[r[0]], r[1])
	}
	return tables, nil
}

// counterNames are the server's own counters, by their names in SHOW GLOBAL STATUS
// (some are of MariaDB alone), and those under which they stand in a record.
func counterNames() map[string]load.Count {
	return map[string]load.Count{
		"Innodb_deadlocks":                 {Name: "deadlocks", Unit: "1"},
		"Innodb_row_lock_waits":            {Name: "row_lock_waits", Unit: "1"},
		"Innodb_row_lock_time":             {Name: "row_lock_time", Unit: "s"},
		"Innodb_data_read":                 {Name: "data_read", Unit: "B"},
		"Innodb_data_written":              {Name: "data_written", Unit: "B"},
		"Innodb_os_log_written":            {Name: "log_written", Unit: "B"},
		"Innodb_buffer_pool_reads":         {Name: "pages_read", Unit: "1"},
		"Innodb_buffer_pool_read_requests": {Name: "pages_asked_for", Unit: "1"},
	}
}

// Counters reads the sum of the next order numbers and the server's counters.
func (d *database) Counters(ctx context.Context) (oltp.Counters, error) {
	var c oltp.Counters
	if err := d.db.QueryRowContext(ctx, "SELECT SUM(d_next_o_id) FROM district").Scan(&c.NextOrders); err != nil {
		return c, fmt.Errorf("summing the next order numbers: %w", err)
	}
	rows, err := d.db.QueryContext(ctx, "SHOW GLOBAL STATUS")
	if err != nil {
		return c, fmt.Errorf("reading the server's counters: %w", err)
	}
	defer func() { _ = rows.Close() }()
	names, found := counterNames(), 0
	for rows.Next() {
		var name, text string
		if err := rows.Scan(&name, &text); err != nil {
			return c, fmt.Errorf("reading the server's counters: %w", err)
		}
		switch name {
		case "Com_commit", "Com_rollback":
			n, err := number(text)
			if err != nil {
				return c, fmt.Errorf("counter %s: %w", name, err)
			}
			c.Transactions += int64(n)
			found++
		default:
			if count, ok := names[name]; ok {
				if count.Value, err = number(text); err != nil {
					return c, fmt.Errorf("counter %s: %w", name, err)
				}
				if count.Unit == "s" {
					count.Value /= 1000 // the server counts milliseconds
				}
				c.More = append(c.More, count)
			}
		}
	}
	if err := rows.Err(); err != nil {
		return c, fmt.Errorf("reading the server's counters: %w", err)
	}
	if found != 2 {
		return c, errors.New("the server does not tell Com_commit and Com_rollback")
	}
	return c, nil
}
