package sqlserver

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"bakeoff/engine/oltp"
	"bakeoff/engine/oltp/sqldb"
	"bakeoff/load"
)

// there says whether the database exists.
func (d *database) there(ctx context.Context) (bool, error) {
	id, _, err := sqldb.Text(ctx, d.master, "SELECT DB_ID(@p1)", d.name)
	if err != nil {
		return false, fmt.Errorf("asking %s for the database %s: %w", d.URL.Host, d.name, err)
	}
	return id != "", nil
}

// Columns lists the tables and their columns.
func (d *database) Columns(ctx context.Context) (map[string][]string, error) {
	found, err := d.there(ctx)
	if err != nil || !found {
		return nil, err
	}
	rows, err := sqldb.Texts(ctx, d.db, "SELECT LOWER(TABLE_NAME), LOWER(COLUMN_NAME) FROM INFORMATION_SCHEMA.COLUMNS WHERE TABLE_SCHEMA = SCHEMA_NAME() ORDER BY TABLE_NAME, ORDINAL_POSITION")
	if err != nil {
		return nil, fmt.Errorf("listing the tables: %w", err)
	}
	tables := map[string][]string{}
	for _, r := range rows {
		tables[r[0]] = append(tables[r[0]], r[1])
	}
	return tables, nil
}

// Query runs a query.
func (d *database) Query(ctx context.Context, query string) ([][]string, error) {
	return sqldb.Texts(ctx, d.db, query)
}

// Exec runs batches.
func (d *database) Exec(ctx context.Context, batches ...string) error {
	for _, batch := range batches {
		if _, err := d.db.ExecContext(ctx, batch); err != nil {
			return fmt.Errorf("%s: %w", strings.Join(strings.Fields(batch[:min(len(batch), 80)]), " "), err)
		}
	}
	return nil
}

// Queries of facts: name and value. Settings of the server are in units that
// their names give.
const (
	serverFacts = `SELECT name, CONVERT(varchar(200), value_in_use) FROM sys.configurations WHERE name IN ('max server memory (MB)', 'min server memory (MB)',
  'max degree of parallelism', 'cost threshold for parallelism', 'max worker threads', 'lightweight pooling', 'priority boost', 'recovery interval (min)', 'optimize for ad hoc workloads') ORDER BY name`
	versionFacts = `SELECT 'product_version', CONVERT(varchar(200), SERVERPROPERTY('ProductVersion')) UNION ALL
  SELECT 'edition', CONVERT(varchar(200), SERVERPROPERTY('Edition')) UNION ALL
  SELECT 'product_level', CONVERT(varchar(200), SERVERPROPERTY('ProductLevel')) UNION ALL
  SELECT 'collation', CONVERT(varchar(200), DATABASEPROPERTYEX(DB_NAME(), 'Collation'))`
	databaseFacts = `SELECT recovery_model_desc, delayed_durability_desc, is_read_committed_snapshot_on, snapshot_isolation_state_desc, compatibility_level,
  page_verify_option_desc, target_recovery_time_in_seconds, is_encrypted FROM sys.databases WHERE name = DB_NAME()`
)

// databaseFactNames are the columns of databaseFacts.
func databaseFactNames() []string {
	return []string{"recovery_model", "delayed_durability", "read_committed_snapshot", "snapshot_isolation", "compatibility_level", "page_verify",
		"target_recovery_time_in_seconds", "is_encrypted"}
}

// Facts reads the version and the settings that matter.
func (d *database) Facts(ctx context.Context) ([]oltp.Fact, error) {
	var facts []oltp.Fact
	for _, query := range []string{versionFacts, serverFacts} {
		rows, err := sqldb.Texts(ctx, d.db, query)
		if err != nil {
			return nil, fmt.Errorf("reading the server's settings: %w", err)
		}
		for _, r := range rows {
			facts = append(facts, fact(r[0], r[1]))
		}
	}
	rows, err := sqldb.Texts(ctx, d.db, databaseFacts)
	if err == nil && len(rows) != 1 {
		err = fmt.Errorf("found %d rows, expected 1", len(rows))
	}
	if err != nil {
		return nil, fmt.Errorf("reading the database's settings: %w", err)
	}
	for i, name := range databaseFactNames() {
		facts = append(facts, fact(name, rows[0][i]))
	}
	return facts, nil
}

// fact is a setting, with its number where the name says in which unit it is.
func fact(name, text string) oltp.Fact {
	f := oltp.Fact{Name: name, Text: text}
	v, err := strconv.ParseFloat(text, 64)
	switch {
	case err != nil:
	case strings.HasSuffix(name, "(MB)"):
		f.Unit, f.Value = "B", v*(1<<20)
	case strings.HasSuffix(name, "_in_seconds"):
		f.Unit, f.Value = "s", v
	case strings.HasSuffix(name, "(min)"):
		f.Unit, f.Value = "s", v*60
	default:
		f.Unit, f.Value = "1", v
	}
	return f
}

// Queries of counters: "Batch Requests/sec" is, despite its name, a count since
// the server started; HammerDB takes it for the transactions.
const (
	nextOrdersQuery  = "SELECT SUM(CONVERT(bigint, d_next_o_id)) FROM district"
	performanceQuery = `SELECT RTRIM(counter_name), SUM(cntr_value) FROM sys.dm_os_performance_counters
  WHERE counter_name = 'Batch Requests/sec' OR (counter_name = 'Number of Deadlocks/sec' AND instance_name = '_Total')
  OR (counter_name IN ('Log Bytes Flushed/sec', 'Log Flush Waits/sec') AND instance_name = DB_NAME()) GROUP BY counter_name`
)

// Counters reads the sum of the districts' next orders and the server's counters.
func (d *database) Counters(ctx context.Context) (oltp.Counters, error) {
	c := oltp.Counters{Transactions: -1}
	next, found, err := sqldb.Text(ctx, d.db, nextOrdersQuery)
	if err == nil && found {
		c.NextOrders, err = strconv.ParseInt(next, 10, 64)
	}
	if err != nil {
		return c, fmt.Errorf("adding up d_next_o_id: %w", err)
	}
	rows, err := sqldb.Texts(ctx, d.db, performanceQuery)
	if err != nil {
		return c, fmt.Errorf("reading sys.dm_os_performance_counters (the login needs VIEW SERVER STATE): %w", err)
	}
	names := map[string]load.Count{
		"Number of Deadlocks/sec": {Name: "deadlocks", Unit: "1"}, "Log Bytes Flushed/sec": {Name: "log_bytes", Unit: "B"},
		"Log Flush Waits/sec": {Name: "log_flush_waits", Unit: "1"},
	}
	for _, r := range rows {
		v, err := strconv.ParseInt(r[1], 10, 64)
		if err != nil {
			return c, fmt.Errorf("counter %s: found %q, expected a whole number", r[0], r[1])
		}
		if r[0] == "Batch Requests/sec" {
			c.Transactions = v
		} else if count, known := names[r[0]]; known {
			count.Value = float64(v)
			c.More = append(c.More, count)
		}
	}
	return c, nil
}

// The copy of the database is a backup in the server's default folder, whose name
// tells what it holds.
const (
	backupStatement  = "BACKUP DATABASE [%s] TO DISK = N'%s' WITH INIT, FORMAT, COPY_ONLY, CHECKSUM, NAME = N'%s'"
	headerStatement  = "RESTORE HEADERONLY FROM DISK = N'%s'"
	restoreStatement = "RESTORE DATABASE [%s] FROM DISK = N'%s' WITH REPLACE, CHECKSUM"

	errNoBackup     = 3201 // the backup cannot be opened: there is none
	errBadBackup    = 3241 // it is not complete
	errHeaderFailed = 3013 // follows both
	maxIdentity     = 128  // characters of a backup's name
)

func (d *database) backup() string { return d.name + "-bakeoff-saved.bak" }

// Saving says how the database is saved.
func (d *database) Saving() string { return "backup to the server's disk, and restore" }

// Save backs the database up.
func (d *database) Save(ctx context.Context, identity string) error {
	if len(identity) > maxIdentity || strings.Contains(identity, "'") {
		return fmt.Errorf("the identity %q has more than %d characters, or quotes", identity, maxIdentity)
	}
	if _, err := d.master.ExecContext(ctx, fmt.Sprintf(backupStatement, d.name, d.backup(), identity)); err != nil {
		return fmt.Errorf("backing the database up: %w", err)
	}
	return nil
}

// Saved returns the identity of the backup.
func (d *database) Saved(ctx context.Context) (string, error) {
	rows, err := d.master.QueryContext(ctx, fmt.Sprintf(headerStatement, d.backup()))
	if err == nil {
		defer rows.Close()
		return backupName(rows)
	}
	if n := number(err); n == errNoBackup || n == errBadBackup || n == errHeaderFailed {
		return "", nil
	}
	return "", fmt.Errorf("reading the header of the backup: %w", err)
}

// backupName takes the first column of a header, which is the backup's name.
func backupName(rows interface {
	Columns() ([]string, error)
	Next() bool
	Scan(...any) error
	Err() error
}) (string, error) {
	names, err := rows.Columns()
	if err != nil {
		return "", err
	}
	name, found := "", false
	for rows.Next() {
		values := make([]any, len(names))
		for i, column := range names {
			values[i] = new(any)
			if column == "BackupName" {
				values[i], found = &name, true
			}
		}
		if err := rows.Scan(values...); err != nil {
			return "", fmt.Errorf("reading the header of the backup: %w", err)
		}
	}
	switch err := rows.Err(); {
	case err != nil && (number(err) == errNoBackup || number(err) == errBadBackup || number(err) == errHeaderFailed):
		return "", nil
	case err != nil:
		return "", fmt.Errorf("reading the header of the backup: %w", err)
	case !found:
		return "", errors.New("the header of the backup has no BackupName")
	}
	return name, nil
}

// Restore restores the backup over the database.
func (d *database) Restore(ctx context.Context) error {
	if found, err := d.there(ctx); err != nil {
		return err
	} else if found {
		if _, err := d.master.ExecContext(ctx, fmt.Sprintf("ALTER DATABASE [%s] SET SINGLE_USER WITH ROLLBACK IMMEDIATE", d.name)); err != nil {
			return fmt.Errorf("ending the connections to the database: %w", err)
		}
	}
	_, err := d.master.ExecContext(ctx, fmt.Sprintf(restoreStatement, d.name, d.backup()))
	_, open := d.master.ExecContext(ctx, fmt.Sprintf("ALTER DATABASE [%s] SET MULTI_USER", d.name))
	if err := errors.Join(err, open); err != nil {
		return fmt.Errorf("restoring the backup: %w", err)
	}
	return nil
}
