// Package tpch holds what the TPC-H specification says of the tables, the
// queries and their answers: the text of each query in each dialect of SQL, the
// substitution parameters, the order of queries in a stream, and how an answer is judged.
package tpch

import (
	"fmt"
	"strconv"
)

// Dialect is a dialect of SQL.
type Dialect string

// The dialects. Those of SQL Server and Oracle have never been run against a server.
const (
	PostgreSQL Dialect = "postgresql"
	MySQL      Dialect = "mysql" // and MariaDB
	SQLite     Dialect = "sqlite"
	DuckDB     Dialect = "duckdb"
	SQLServer  Dialect = "sqlserver"
	Oracle     Dialect = "oracle"
)

// Dialects returns all dialects.
func Dialects() []Dialect {
	return []Dialect{PostgreSQL, MySQL, SQLite, DuckDB, SQLServer, Oracle}
}

// date is a constant day.
func (d Dialect) date(day string) string {
	switch d {
	case SQLite:
		return "'" + day + "'"
	case SQLServer:
		return "cast('" + day + "' as date)"
	}
	return "date '" + day + "'"
}

// year is the year of a date.
func (d Dialect) year(column string) string {
	switch d {
	case SQLite:
		return "cast(substr(" + column + ", 1, 4) as integer)"
	case SQLServer:
		return "year(" + column + ")"
	}
	return "extract(year from " + column + ")"
}

// prefix is the first n characters of a text.
func (d Dialect) prefix(column string, n int) string {
	name := "substring"
	if d == SQLite || d == Oracle {
		name = "substr"
	}
	return fmt.Sprintf("%s(%s, 1, %d)", name, column, n)
}

// top stands before the columns of a query of which only the first rows are
// wanted, limit at its end: in each dialect one of the two.
func (d Dialect) top(n int) string {
	if d == SQLServer {
		return "top " + strconv.Itoa(n) + " "
	}
	return ""
}

func (d Dialect) limit(n int) string {
	switch d {
	case SQLServer:
		return ""
	case Oracle:
		return fmt.Sprintf("fetch first %d rows only", n)
	}
	return fmt.Sprintf("limit %d", n)
}

// once introduces a common table expression that is to be computed once.
func (d Dialect) once() string {
	switch d {
	case PostgreSQL, SQLite, DuckDB:
		return "as materialized"
	}
	return "as"
}
