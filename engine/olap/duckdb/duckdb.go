// Package duckdb runs TPROC-H on DuckDB, embedded in this process. It needs a
// build with the tag duckdb, and C.
package duckdb

import "bakeoff/engine/olap"

// Target is DuckDB in this process. A URL is duckdb:FILE or duckdb:///PATH, or duckdb: for a
// database in memory that goes with the session.
type Target struct{}

// Schemes are those of its URLs.
func (Target) Schemes() []string { return []string{"duckdb"} }

// Form shows what a URL looks like.
func (Target) Form() string { return "duckdb:FILE" }

// Parallel is true: threads.
func (Target) Parallel() bool { return true }

// Embedded says that DuckDB works in this process.
func (Target) Embedded() {}

// Open checks the path.
func (Target) Open(c olap.Config) (olap.Database, error) { return open(c) }
