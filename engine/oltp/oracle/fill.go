package oracle

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"bakeoff/engine/oltp"
	"bakeoff/engine/oltp/sqldb"
	"bakeoff/engine/oltp/tpcc"
)

// createTable returns the statement that makes a table. Keys are made after the
// load.
func createTable(t tpcc.Table) string {
	columns := make([]string, len(t.Columns))
	for i, c := range t.Columns {
		null := " NOT NULL"
		if c.Null {
			null = ""
		}
		columns[i] = c.Name + " " + columnType(c) + null
	}
	return fmt.Sprintf("CREATE TABLE %s (\n  %s\n)", t.Name, strings.Join(columns, ",\n  "))
}

func columnType(c tpcc.Column) string {
	switch c.Type {
	case tpcc.Int:
		return "NUMBER(10)"
	case tpcc.Small:
		return "NUMBER(5)"
	case tpcc.Decimal:
		return fmt.Sprintf("NUMBER(%d, %d)", c.Size, c.Scale)
	case tpcc.Char:
		return fmt.Sprintf("CHAR(%d)", c.Size)
	case tpcc.Timestamp:
		return "DATE"
	default:
		return fmt.Sprintf("VARCHAR2(%d)", c.Size)
	}
}

// keys returns the statements that make a table's key and indexes.
func keys(t tpcc.Table) []string {
	var all []string
	if len(t.Key) > 0 {
		all = append(all, fmt.Sprintf("ALTER TABLE %s ADD CONSTRAINT %[1]s_key PRIMARY KEY (%s)", t.Name, strings.Join(t.Key, ", ")))
	}
	for _, x := range t.Indexes {
		unique := ""
		if x.Unique {
			unique = "UNIQUE "
		}
		all = append(all, fmt.Sprintf("CREATE %sINDEX %s ON %s (%s)", unique, x.Name, t.Name, strings.Join(x.Columns, ", ")))
	}
	return all
}

// insertRow returns the statement that puts rows in; decimal numbers come as whole
// ones, so that nothing depends on how the session writes a decimal point.
func insertRow(t tpcc.Table) string {
	values := make([]string, len(t.Columns))
	for i, c := range t.Columns {
		values[i] = fmt.Sprintf(":%d", i+1)
		if c.Type == tpcc.Decimal {
			values[i] += " / 1" + strings.Repeat("0", c.Scale)
		}
	}
	return fmt.Sprintf("INSERT INTO %s (%s) VALUES (%s)", t.Name, strings.Join(t.Names(), ", "), strings.Join(values, ", "))
}

// Codes of what is there already, or is not.
const (
	noSuchTable   = 942
	nameTaken     = 955
	constraintIs  = 2264
	hasKey        = 2260
	columnIndexed = 1408
)

// forgive drops errors of the given codes.
func forgive(err error, codes ...int) error {
	if err != nil && slices.Contains(codes, code(err)) {
		return nil
	}
	return err
}

func (d *database) drop(ctx context.Context, table string) error {
	return forgive(d.Exec(ctx, "DROP TABLE "+table+" CASCADE CONSTRAINTS PURGE"), noSuchTable)
}

// Create makes the tables in the user's schema.
func (d *database) Create(ctx context.Context, tables []tpcc.Table) error {
	name, value := oltp.MarkColumns()
	if err := d.drop(ctx, oltp.MarkTable); err != nil {
		return err
	}
	mark := fmt.Sprintf("CREATE TABLE %s (%s VARCHAR2(60) NOT NULL PRIMARY KEY, %s VARCHAR2(200) NOT NULL)", oltp.MarkTable, name, value)
	if err := d.Exec(ctx, mark); err != nil {
		return err
	}
	for _, t := range tables {
		if err := d.drop(ctx, t.Name); err != nil {
			return err
		}
		if err := d.Exec(ctx, createTable(t)); err != nil {
			return err
		}
	}
	return nil
}

// Loaders is the engine's wish.
func (d *database) Loaders(wish int) int { return wish }

// batchRows is how many rows go in with one round trip.
const batchRows = 2000

// Load inserts a chunk, many rows a round trip.
func (d *database) Load(ctx context.Context, c tpcc.Chunk) error {
	tx, err := d.db.BeginTx(ctx, nil)
	if err != nil {
		return fmt.Errorf("loading: %w", err)
	}
	if err := d.insert(ctx, tx, c); err != nil {
		if undone := tx.Rollback(); !errors.Is(undone, sql.ErrTxDone) {
			err = errors.Join(err, undone)
		}
		return fmt.Errorf("loading: %w", err)
	}
	if err := tx.Commit(); err != nil {
		return fmt.Errorf("loading: %w", err)
	}
	return nil
}

func (d *database) insert(ctx context.Context, tx *sql.Tx, c tpcc.Chunk) error {
	t := tpcc.Tables()[c.Table]
	text := insertRow(t)
	w := &columns{table: t, flush: func(args []any) error {
		// A statement that is used again keeps the number of rows of its first batch.
		_, err := tx.ExecContext(ctx, text, args...)
		return err
	}}
	w.begin()
	if err := d.Data.Write(c, w); err != nil {
		return err
	}
	if err := w.send(); err != nil {
		return err
	}
	_, err := tx.ExecContext(ctx, oltp.Mark(c, w.count))
	return err
}

// columns is a tpcc.RowWriter that gathers rows by column, as the driver takes
// them for an array insert.
type columns struct {
	table tpcc.Table
	flush func(args []any) error
	count int64

	numbers [][]sql.NullInt64
	texts   [][]string
	times   [][]sql.NullTime
	at      int
	held    int
}

func (w *columns) begin() {
	n := len(w.table.Columns)
	w.numbers, w.texts, w.times = make([][]sql.NullInt64, n), make([][]string, n), make([][]sql.NullTime, n)
	w.held = 0
}

func (w *columns) next() int {
	w.at++
	return w.at - 1
}

// Int takes a whole number.
func (w *columns) Int(v int64) {
	i := w.next()
	w.numbers[i] = append(w.numbers[i], sql.NullInt64{Int64: v, Valid: true})
}

// Decimal takes a decimal number, which the statement scales.
func (w *columns) Decimal(v int64) { w.Int(v) }

// Text takes a text.
func (w *columns) Text(b []byte) {
	i := w.next()
	w.texts[i] = append(w.texts[i], string(b))
}

// Time takes a date.
func (w *columns) Time(t time.Time) {
	i := w.next()
	w.times[i] = append(w.times[i], sql.NullTime{Time: t, Valid: true})
}

// Null takes an absent value.
func (w *columns) Null() {
	i := w.next()
	if w.table.Columns[i].Type == tpcc.Timestamp {
		w.times[i] = append(w.times[i], sql.NullTime{})
		return
	}
	w.numbers[i] = append(w.numbers[i], sql.NullInt64{})
}

// EndRow sends the rows once there are enough.
func (w *columns) EndRow() error {
	w.at = 0
	w.held++
	w.count++
	if w.held < batchRows {
		return nil
	}
	return w.send()
}

func (w *columns) send() error {
	if w.held == 0 {
		return nil
	}
	args := make([]any, len(w.table.Columns))
	for i, c := range w.table.Columns {
		switch c.Type {
		case tpcc.Char, tpcc.Text:
			args[i] = w.texts[i]
		case tpcc.Timestamp:
			args[i] = w.times[i]
		default:
			args[i] = w.numbers[i]
		}
	}
	err := w.flush(args)
	w.begin()
	return err
}

// Finish makes keys and indexes and has the optimizer read the tables.
func (d *database) Finish(ctx context.Context, tables []tpcc.Table) error {
	for _, t := range tables {
		for _, key := range keys(t) {
			if err := forgive(d.Exec(ctx, key), nameTaken, constraintIs, hasKey, columnIndexed); err != nil {
				return fmt.Errorf("making keys and indexes: %w", err)
			}
		}
		if err := d.Exec(ctx, fmt.Sprintf("BEGIN DBMS_STATS.GATHER_TABLE_STATS(USER, '%s', cascade => TRUE); END;", strings.ToUpper(t.Name))); err != nil {
			return fmt.Errorf("gathering statistics: %w", err)
		}
	}
	return nil
}

// The copy of the database are tables beside its own, and one that says what they hold.
const (
	savedPrefix = "bakeoff_s_"
	labelTable  = "bakeoff_saved"
)

func savedTables() []string {
	names := []string{oltp.MarkTable}
	for _, t := range tpcc.Tables() {
		names = append(names, t.Name)
	}
	return names
}

// Saving says how the database is saved.
func (d *database) Saving() string { return "copies of the tables in the same schema" }

// Save copies the tables; the label comes last, so that a copy that was cut off
// has none.
func (d *database) Save(ctx context.Context, identity string) error {
	if strings.Contains(identity, "'") {
		return fmt.Errorf("the identity %q has quotes", identity)
	}
	if err := d.drop(ctx, labelTable); err != nil {
		return fmt.Errorf("saving the tables: %w", err)
	}
	for _, name := range savedTables() {
		if err := d.drop(ctx, savedPrefix+name); err != nil {
			return fmt.Errorf("saving the tables: %w", err)
		}
		if err := d.Exec(ctx, fmt.Sprintf("CREATE TABLE %s%s AS SELECT * FROM %[2]s", savedPrefix, name)); err != nil {
			return fmt.Errorf("saving the tables: %w", err)
		}
	}
	if err := d.Exec(ctx, fmt.Sprintf("CREATE TABLE %s AS SELECT '%s' AS identity FROM dual", labelTable, identity)); err != nil {
		return fmt.Errorf("saving the tables: %w", err)
	}
	return nil
}

// Saved returns the identity of the copy.
func (d *database) Saved(ctx context.Context) (string, error) {
	identity, _, err := sqldb.Text(ctx, d.db, "SELECT identity FROM "+labelTable)
	if err = forgive(err, noSuchTable); err != nil {
		return "", fmt.Errorf("looking for the saved tables: %w", err)
	}
	return identity, nil
}

// Restore makes the tables anew from the copy.
func (d *database) Restore(ctx context.Context) error {
	for _, name := range savedTables() {
		if err := d.drop(ctx, name); err != nil {
			return fmt.Errorf("restoring the tables: %w", err)
		}
		if err := d.Exec(ctx, fmt.Sprintf("CREATE TABLE %s AS SELECT * FROM %s%[1]s", name, savedPrefix)); err != nil {
			return fmt.Errorf("restoring the tables: %w", err)
		}
	}
	return d.Finish(ctx, tpcc.Tables())
}
