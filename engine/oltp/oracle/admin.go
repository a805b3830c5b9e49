package oracle

import (
	"context"
	"fmt"
	"strconv"
	"strings"

	"bakeoff/engine/oltp"
	"bakeoff/engine/oltp/sqldb"
	"bakeoff/engine/oltp/tpcc"
	"bakeoff/load"
)

// Columns lists the tables of the user's schema and their columns.
func (d *database) Columns(ctx context.Context) (map[string][]string, error) {
	rows, err := d.Query(ctx, "SELECT LOWER(table_name), LOWER(column_name) FROM user_tab_columns ORDER BY table_name, column_id")
	if err != nil {
		return nil, fmt.Errorf("listing the tables of user %s (a DBA makes one with CREATE USER %[1]s IDENTIFIED BY ... QUOTA UNLIMITED ON users, and GRANT CREATE SESSION, CREATE TABLE, CREATE PROCEDURE, SELECT_CATALOG_ROLE): %w", d.user, err)
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

// Exec runs statements, each committed by itself.
func (d *database) Exec(ctx context.Context, statements ...string) error {
	for _, s := range statements {
		if _, err := d.db.ExecContext(ctx, s); err != nil {
			return fmt.Errorf("%s: %w", strings.Join(strings.Fields(s[:min(len(s), 80)]), " "), err)
		}
	}
	return nil
}

// Queries of facts: name and value.
const (
	versionFacts   = "SELECT 'version', banner FROM v$version WHERE ROWNUM = 1"
	parameterFacts = `SELECT name, value FROM v$parameter WHERE name IN ('compatible', 'cpu_count', 'db_block_size', 'db_cache_size', 'filesystemio_options',
  'commit_logging', 'commit_wait', 'log_buffer', 'memory_target', 'optimizer_features_enable', 'parallel_max_servers', 'pga_aggregate_target',
  'processes', 'sga_max_size', 'sga_target', 'cursor_sharing', 'undo_retention') AND value IS NOT NULL ORDER BY name`
	databaseFacts = "SELECT 'log_mode', log_mode FROM v$database UNION ALL SELECT 'flashback', flashback_on FROM v$database UNION ALL SELECT 'force_logging', force_logging FROM v$database"
)

// Facts reads the version and the settings that matter.
func (d *database) Facts(ctx context.Context) ([]oltp.Fact, error) {
	var facts []oltp.Fact
	for _, query := range []string{versionFacts, parameterFacts, databaseFacts} {
		rows, err := d.Query(ctx, query)
		if err != nil {
			return nil, fmt.Errorf("reading the server's settings (user %s needs SELECT_CATALOG_ROLE): %w", d.user, err)
		}
		for _, r := range rows {
			facts = append(facts, fact(r[0], r[1]))
		}
	}
	return facts, nil
}

// fact is a setting; those of memory are in bytes.
func fact(name, text string) oltp.Fact {
	f := oltp.Fact{Name: name, Text: text}
	v, err := strconv.ParseFloat(text, 64)
	if err != nil {
		return f
	}
	f.Unit, f.Value = "1", v
	for _, end := range []string{"_size", "_target", "_buffer"} {
		if strings.HasSuffix(name, end) {
			f.Unit = "B"
		}
	}
	if name == "undo_retention" {
		f.Unit = "s"
	}
	return f
}

const (
	nextOrdersQuery = "SELECT SUM(d_next_o_id) FROM district"
	sysstatQuery    = `SELECT name, TO_CHAR(value) FROM v$sysstat WHERE name IN ('user commits', 'user rollbacks', 'redo size', 'physical reads',
  'enqueue deadlocks', 'consistent gets')`
)

// Counters reads the sum of the districts' next orders and the instance's own.
func (d *database) Counters(ctx context.Context) (oltp.Counters, error) {
	c := oltp.Counters{Transactions: -1}
	next, found, err := sqldb.Text(ctx, d.db, nextOrdersQuery)
	if err == nil && found {
		c.NextOrders, err = tpcc.ParseScaled(next, 0)
	}
	if err != nil {
		return c, fmt.Errorf("adding up d_next_o_id: %w", err)
	}
	rows, err := d.Query(ctx, sysstatQuery)
	if err != nil {
		return c, fmt.Errorf("reading v$sysstat (user %s needs SELECT_CATALOG_ROLE): %w", d.user, err)
	}
	names := map[string]load.Count{
		"redo size": {Name: "redo", Unit: "B"}, "physical reads": {Name: "blocks_read", Unit: "1"},
		"enqueue deadlocks": {Name: "deadlocks", Unit: "1"}, "consistent gets": {Name: "consistent_gets", Unit: "1"},
	}
	ended, seen := int64(0), 0
	for _, r := range rows {
		v, err := tpcc.ParseScaled(r[1], 0)
		if err != nil {
			return c, fmt.Errorf("counter %s: %w", r[0], err)
		}
		if count, known := names[r[0]]; known {
			count.Value = float64(v)
			c.More = append(c.More, count)
			continue
		}
		ended, seen = ended+v, seen+1
	}
	if seen == 2 { // commits and rollbacks
		c.Transactions = ended
	}
	return c, nil
}
