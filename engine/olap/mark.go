package olap

import (
	"context"
	"database/sql"
	"fmt"
	"strings"

	"bakeoff/engine/olap/population"
	"bakeoff/engine/olap/tpch"
)

// markTable holds what the load knows of the data set, in the database itself.
const markTable = "bakeoff_olap"

// The names in the mark table. Those of chunks and indexes are followed by what
// they are of.
const (
	markFormat    = "format"
	markScale     = "scale"
	markState     = "state"
	markValidated = "validated"
	markChunk     = "chunk."
	markIndex     = "index."
	markSums      = "sums."
)

// formatVersion changes when data that were loaded before can no longer be used.
const formatVersion = "1"

// The states of a data set.
const (
	stateLoading   = "loading"
	stateClean     = "clean"
	stateRefreshed = "refreshed" // refresh functions have run, or may have
)

// mark is what the mark table holds.
type mark map[string]string

func readMark(ctx context.Context, q querier) (mark, error) {
	rows, err := q.QueryContext(ctx, "select name, value from "+markTable)
	if err != nil {
		return nil, fmt.Errorf("reading table %s: %w", markTable, err)
	}
	defer rows.Close()
	m := mark{}
	for rows.Next() {
		var name, value string
		if err := rows.Scan(&name, &value); err != nil {
			return nil, fmt.Errorf("reading table %s: %w", markTable, err)
		}
		m[name] = value
	}
	return m, rows.Err()
}

// querier asks queries, as connections and transactions do.
type querier interface {
	QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error)
}

// Execer executes statements, as connections and transactions do.
type Execer interface {
	ExecContext(ctx context.Context, query string, args ...any) (sql.Result, error)
}

// setMark writes one value. Names and values hold no quotes.
func setMark(ctx context.Context, e Execer, name, value string) error {
	if _, err := e.ExecContext(ctx, fmt.Sprintf("delete from %s where name = '%s'", markTable, name)); err != nil {
		return fmt.Errorf("writing table %s: %w", markTable, err)
	}
	return addMark(ctx, e, name, value)
}

// addMark writes a value that is not there yet.
func addMark(ctx context.Context, e Execer, name, value string) error {
	if _, err := e.ExecContext(ctx, fmt.Sprintf("insert into %s values ('%s', '%s')", markTable, name, value)); err != nil {
		return fmt.Errorf("writing table %s: %w", markTable, err)
	}
	return nil
}

// createMark makes the mark table for a load that begins.
func createMark(ctx context.Context, e Execer, d tpch.Dialect, scale string) error {
	text := "varchar"
	if d == tpch.Oracle {
		text = "varchar2"
	}
	statement := fmt.Sprintf("create table %s (name %s(100) not null primary key, value %s(2000) not null)", markTable, text, text)
	if _, err := e.ExecContext(ctx, statement); err != nil {
		return fmt.Errorf("creating table %s: %w", markTable, err)
	}
	for _, m := range [][2]string{{markFormat, formatVersion}, {markScale, scale}, {markState, stateLoading}} {
		if err := addMark(ctx, e, m[0], m[1]); err != nil {
			return err
		}
	}
	return nil
}

// sums returns those that a load has written of a table, by its chunks.
func (m mark) sums(t population.Table) (total tpch.Sums, err error) {
	for name, value := range m {
		if !strings.HasPrefix(name, markChunk+t.String()+".") {
			continue
		}
		s, err := tpch.ParseSums(value)
		if err != nil {
			return total, fmt.Errorf("table %s, %s: %w", markTable, name, err)
		}
		total.Add(s)
	}
	return total, nil
}
