package sqlite

import (
	"fmt"
	"math"
	"strings"

	"bakeoff/engine/oltp"
	"bakeoff/engine/oltp/tpcc"
)

// unscaled ends the name of the column in which a decimal number is kept. SQLite
// has no exact decimals but whole numbers: w_ytd of 300,000.00 is kept as 30000000
// in w_ytd_unscaled, and w_ytd is a column that is worked out when it is read.
const unscaled = "_unscaled"

// stored is the name of the column that holds a value.
func stored(c tpcc.Column) string {
	if c.Type == tpcc.Decimal {
		return c.Name + unscaled
	}
	return c.Name
}

// createTable returns the statement that makes a table. Times are seconds since
// 1970. A table with a key is kept in its order, and in nothing else.
func createTable(t tpcc.Table) string {
	var parts []string
	for _, c := range t.Columns {
		kind, null := "INTEGER", " NOT NULL"
		if c.Type == tpcc.Char || c.Type == tpcc.Text {
			kind = "TEXT"
		}
		if c.Null {
			null = ""
		}
		parts = append(parts, stored(c)+" "+kind+null)
	}
	for _, c := range t.Columns {
		if c.Type == tpcc.Decimal {
			parts = append(parts, fmt.Sprintf("%s REAL AS (%s / %.1f)", c.Name, stored(c), math.Pow10(c.Scale)))
		}
	}
	options := "STRICT"
	if len(t.Key) > 0 {
		parts = append(parts, "PRIMARY KEY ("+strings.Join(t.Key, ", ")+")")
		options = "STRICT, WITHOUT ROWID"
	}
	return fmt.Sprintf("CREATE TABLE %s (\n  %s\n) %s", t.Name, strings.Join(parts, ",\n  "), options)
}

func createMarks() string {
	name, value := oltp.MarkColumns()
	return fmt.Sprintf("CREATE TABLE %s (%s TEXT NOT NULL PRIMARY KEY, %s TEXT NOT NULL) STRICT, WITHOUT ROWID", oltp.MarkTable, name, value)
}

func createIndex(t tpcc.Table, x tpcc.Index) string {
	unique := ""
	if x.Unique {
		unique = "UNIQUE "
	}
	return fmt.Sprintf("CREATE %sINDEX IF NOT EXISTS %s ON %s (%s)", unique, x.Name, t.Name, strings.Join(x.Columns, ", "))
}

func insertRow(t tpcc.Table) string {
	names := make([]string, len(t.Columns))
	for i, c := range t.Columns {
		names[i] = stored(c)
	}
	return fmt.Sprintf("INSERT INTO %s (%s) VALUES (?%s)", t.Name, strings.Join(names, ", "), strings.Repeat(", ?", len(names)-1))
}
