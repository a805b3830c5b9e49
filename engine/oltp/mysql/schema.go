package mysql

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"bakeoff/engine/oltp"
	"bakeoff/engine/oltp/tpcc"
)

const hammerDB = tpcc.HammerDB

// tableOptions are those of HammerDB's tables: one byte a character, compared byte by byte.
const tableOptions = " ENGINE=InnoDB DEFAULT CHARACTER SET latin1 COLLATE latin1_bin"

// createTable is the statement that makes a table, with its key: rows are kept in
// the order of it, and are loaded in that order.
func createTable(t tpcc.Table) string {
	parts := make([]string, 0, len(t.Columns)+1)
	for _, c := range t.Columns {
		null := " NOT NULL"
		if c.Null {
			null = " NULL"
		}
		parts = append(parts, quote(c.Name)+" "+columnType(c)+null)
	}
	if len(t.Key) > 0 {
		parts = append(parts, "PRIMARY KEY ("+strings.Join(t.Key, ", ")+")")
	}
	return "CREATE TABLE " + quote(t.Name) + " (" + strings.Join(parts, ", ") + ")" + tableOptions
}

func columnType(c tpcc.Column) string {
	switch c.Type {
	case tpcc.Int:
		return "INT"
	case tpcc.Small:
		return "SMALLINT"
	case tpcc.Decimal:
		return fmt.Sprintf("DECIMAL(%d,%d)", c.Size, c.Scale)
	case tpcc.Char:
		return fmt.Sprintf("CHAR(%d)", c.Size)
	case tpcc.Text:
		return fmt.Sprintf("VARCHAR(%d)", c.Size)
	}
	return "DATETIME"
}

// Create makes the database and its tables. Indexes are left to Finish.
func (d *database) Create(ctx context.Context, tables []tpcc.Table) error {
	if err := d.supported(ctx); err != nil {
		return err
	}
	err := execAll(ctx, d.server, "CREATE DATABASE IF NOT EXISTS "+quote(d.name)+" DEFAULT CHARACTER SET latin1 COLLATE latin1_bin")
	if err != nil {
		return fmt.Errorf("creating database %s: %w", d.name, err)
	}
	name, value := oltp.MarkColumns()
	statements := []string{"DROP TABLE IF EXISTS " + quote(oltp.MarkTable)}
	for _, t := range tables {
		statements = append(statements, "DROP TABLE IF EXISTS "+quote(t.Name))
	}
	for _, t := range tables {
		statements = append(statements, createTable(t))
	}
	statements = append(statements, fmt.Sprintf("CREATE TABLE %s (%s VARCHAR(60) NOT NULL PRIMARY KEY, %s VARCHAR(200) NOT NULL)%s",
		quote(oltp.MarkTable), quote(name), quote(value), tableOptions))
	if err := execAll(ctx, d.db, statements...); err != nil {
		return fmt.Errorf("creating the tables: %w", err)
	}
	return nil
}

// supported refuses servers without JSON_TABLE, which the statements rest on.
func (d *database) supported(ctx context.Context) error {
	rows, err := rowsOf(ctx, d.server, "SELECT VERSION()")
	if err != nil {
		return err
	}
	version := rows[0][0]
	var major, minor int
	if _, err := fmt.Sscanf(version, "%d.%d", &major, &minor); err != nil {
		return fmt.Errorf("the server's version %q: expected two numbers with a point", version)
	}
	if maria := strings.Contains(strings.ToLower(version), "mariadb"); maria && (major > 10 || major == 10 && minor >= 6) || !maria && major >= 8 {
		return nil
	}
	return fmt.Errorf("the server is %s; expected MariaDB 10.6 or MySQL 8.0 or newer", version)
}

// Finish makes the indexes that are missing and has the server count the tables.
func (d *database) Finish(ctx context.Context, tables []tpcc.Table) error {
	rows, err := rowsOf(ctx, d.db, "SELECT DISTINCT LOWER(table_name), LOWER(index_name) FROM information_schema.statistics WHERE table_schema = "+literal(d.name))
	if err != nil {
		return err
	}
	there := map[string]bool{}
	for _, r := range rows {
		there[r[0]+"."+r[1]] = true
	}
	names := make([]string, 0, len(tables))
	for _, t := range tables {
		names = append(names, quote(t.Name))
		for _, i := range t.Indexes {
			if there[t.Name+"."+i.Name] {
				continue
			}
			unique := ""
			if i.Unique {
				unique = "UNIQUE "
			}
			err := execAll(ctx, d.db, fmt.Sprintf("ALTER TABLE %s ADD %sINDEX %s (%s)", quote(t.Name), unique, quote(i.Name), strings.Join(i.Columns, ", ")))
			if err != nil {
				return fmt.Errorf("making index %s: %w", i.Name, err)
			}
		}
	}
	return d.analyze(ctx, names)
}

// analyze has the server count tables, whose names are quoted. It answers with a
// row a table that may say that it could not.
func (d *database) analyze(ctx context.Context, names []string) error {
	rows, err := rowsOf(ctx, d.db, "ANALYZE TABLE "+strings.Join(names, ", "))
	if err != nil {
		return fmt.Errorf("counting the tables: %w", err)
	}
	for _, r := range rows {
		if len(r) == 4 && strings.EqualFold(r[2], "error") {
			err = errors.Join(err, fmt.Errorf("counting table %s: %s", r[0], r[3]))
		}
	}
	return err
}
