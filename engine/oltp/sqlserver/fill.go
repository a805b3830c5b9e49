package sqlserver

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"strings"

	mssql "github.com/microsoft/go-mssqldb"

	"bakeoff/engine/oltp"
	"bakeoff/engine/oltp/sqldb"
	"bakeoff/engine/oltp/tpcc"
)

// createTable returns the statement that makes a table. Keys are made after the
// load: rows go in fastest, and by several connections at once, where there are none.
func createTable(t tpcc.Table) string {
	columns := make([]string, len(t.Columns))
	for i, c := range t.Columns {
		null := " NOT NULL"
		if c.Null {
			null = " NULL"
		}
		columns[i] = c.Name + " " + columnType(c) + null
	}
	return fmt.Sprintf("CREATE TABLE %s (\n  %s\n)", t.Name, strings.Join(columns, ",\n  "))
}

func columnType(c tpcc.Column) string {
	switch c.Type {
	case tpcc.Int:
		return "int"
	case tpcc.Small:
		return "smallint"
	case tpcc.Decimal:
		return fmt.Sprintf("decimal(%d, %d)", c.Size, c.Scale)
	case tpcc.Char:
		return fmt.Sprintf("char(%d)", c.Size)
	case tpcc.Timestamp:
		return "datetime2(0)"
	default:
		return fmt.Sprintf("varchar(%d)", c.Size)
	}
}

// keys returns the statements that make a table's key and indexes, where they
// are not there yet.
func keys(t tpcc.Table) []string {
	var all []string
	if len(t.Key) > 0 {
		all = append(all, fmt.Sprintf("IF OBJECT_ID(N'%s_key') IS NULL ALTER TABLE %[1]s ADD CONSTRAINT %[1]s_key PRIMARY KEY CLUSTERED (%s)", t.Name, strings.Join(t.Key, ", ")))
	}
	for _, x := range t.Indexes {
		unique := ""
		if x.Unique {
			unique = "UNIQUE "
		}
		all = append(all, fmt.Sprintf("IF INDEXPROPERTY(OBJECT_ID(N'%s'), N'%s', 'IndexID') IS NULL CREATE %sINDEX %[2]s ON %[1]s (%s)",
			t.Name, x.Name, unique, strings.Join(x.Columns, ", ")))
	}
	return all
}

// Create makes the database and its tables.
func (d *database) Create(ctx context.Context, tables []tpcc.Table) error {
	found, err := d.there(ctx)
	if err == nil && !found {
		_, err = d.master.ExecContext(ctx, fmt.Sprintf("CREATE DATABASE [%s]", d.name))
	}
	if err != nil {
		return fmt.Errorf("making the database %s: %w", d.name, err)
	}
	name, value := oltp.MarkColumns()
	statements := []string{
		"DROP TABLE IF EXISTS " + oltp.MarkTable,
		fmt.Sprintf("CREATE TABLE %s (%s varchar(60) NOT NULL PRIMARY KEY, %s varchar(200) NOT NULL)", oltp.MarkTable, name, value),
	}
	for _, t := range tables {
		statements = append(statements, "DROP TABLE IF EXISTS "+t.Name, createTable(t))
	}
	return d.Exec(ctx, statements...)
}

// Loaders is the engine's wish: bulk loads of a table without indexes do not
// keep one another out.
func (d *database) Loaders(wish int) int { return wish }

// Load copies a chunk in bulk.
func (d *database) Load(ctx context.Context, c tpcc.Chunk) error {
	tx, err := d.db.BeginTx(ctx, nil)
	if err != nil {
		return fmt.Errorf("loading: %w", err)
	}
	if err := d.copy(ctx, tx, c); err != nil {
		return errors.Join(fmt.Errorf("loading: %w", err), ended(tx.Rollback()))
	}
	if err := tx.Commit(); err != nil {
		return fmt.Errorf("loading: %w", err)
	}
	return nil
}

// ended forgives that a transaction has ended by itself.
func ended(err error) error {
	if errors.Is(err, sql.ErrTxDone) {
		return nil
	}
	return err
}

func (d *database) copy(ctx context.Context, tx *sql.Tx, c tpcc.Chunk) error {
	t := tpcc.Tables()[c.Table]
	bulk, err := tx.PrepareContext(ctx, mssql.CopyIn(t.Name, mssql.BulkOptions{Tablock: true}, t.Names()...))
	if err != nil {
		return err
	}
	w := &sqldb.Rows{Table: t, Put: func(row []any) error {
		_, err := bulk.ExecContext(ctx, row...)
		return err
	}}
	err = d.Data.Write(c, w)
	if err == nil {
		_, err = bulk.ExecContext(ctx) // sends what is left
	}
	if err = errors.Join(err, bulk.Close()); err != nil {
		return err
	}
	_, err = tx.ExecContext(ctx, oltp.Mark(c, w.Count))
	return err
}

// Finish makes keys and indexes, which brings their statistics with them.
func (d *database) Finish(ctx context.Context, tables []tpcc.Table) error {
	for _, t := range tables {
		if err := d.Exec(ctx, keys(t)...); err != nil {
			return fmt.Errorf("making keys and indexes: %w", err)
		}
	}
	return d.Exec(ctx, "EXEC sp_updatestats", "CHECKPOINT")
}
