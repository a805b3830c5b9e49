// Package olap is the engine of decision support: TPROC-H, the 22 queries and
// the refresh functions of the TPC-H specification on SQL databases.
//
// The data are made by package population, the queries are those of package tpch;
// each kind of database is a Target in a folder of its own. The engine here does what is
// the same for all: parameters, load and state of the data set, streams, answers and figures.
package olap

import (
	"context"
	"crypto/tls"
	"database/sql"
	"errors"
	"net/url"
	"time"

	"bakeoff/engine/olap/population"
	"bakeoff/engine/olap/tpch"
)

// A Target is one kind of database, such as PostgreSQL. It is stateless.
type Target interface {
	// Schemes are the schemes of its URLs, as "postgres"; the first is the one
	// that help and errors show.
	Schemes() []string
	// Form shows what a URL looks like.
	Form() string
	// Parallel reports whether a query has a degree of parallelism that can be set.
	Parallel() bool
	// Open checks what is particular to the target. It sends nothing.
	Open(c Config) (Database, error)
}

// Embedded is a Target whose databases live in this process: the CPU of the streams
// is their work.
type Embedded interface{ Embedded() }

// Config is what a target needs to know. The engine has checked it.
type Config struct {
	// URL is the target's, without a password.
	URL *url.URL
	// Dir is a folder for an embedded database that is gone with the session; ""
	// where the URL says where the data are.
	Dir      string
	Instance int    // tells apart the databases of loads that run at once, from 0
	User     string // "" where none was given
	Password string // never in an error
	// TLS is nil where the connection is to be in the clear.
	TLS *tls.Config
	// Parallel is the degree of parallelism of a query; 0 leaves it to the server.
	Parallel int
	Timeout  time.Duration // of one query
}

// A Database is one database of a target. Its methods are called from one
// goroutine, but Connect and Copy, which are called from up to Loaders and all streams at once.
type Database interface {
	// Dialect is that of its SQL.
	Dialect() tpch.Dialect
	// Connect opens a connection for a stream or a loader, with its degree of
	// parallelism and its timeout set where the database has them.
	Connect(ctx context.Context) (*sql.Conn, error)
	// Create makes the database itself where it is missing.
	Create(ctx context.Context) error
	// Tables lists the tables that are there, in lower case.
	Tables(ctx context.Context) ([]string, error)
	// Loaders is how many Copy at once make sense at most, given a wish; 0 is none.
	Loaders(wish int) int
	// Copy inserts the rows of a stream into a table within the transaction
	// that the connection is in.
	Copy(ctx context.Context, conn *sql.Conn, t population.Table, rows Rows) error
	// AlreadyThere reports whether a statement failed since what it makes exists.
	AlreadyThere(err error) bool
	// Analyze has the optimizer read the tables.
	Analyze(ctx context.Context) error

	// Saving describes how Save and Restore work here, as "template database".
	// The error says why they cannot; the state is then undone row by row.
	Saving(ctx context.Context) (string, error)
	// Save keeps a copy of the database under an identity, in place of an
	// earlier one. No connection is open.
	Save(ctx context.Context, identity string) error
	// Saved returns the identity of the copy that is there and complete; "" for none.
	Saved(ctx context.Context) (identity string, err error)
	// Restore brings the database back to the copy. No connection is open.
	Restore(ctx context.Context) error

	// Settings reads the version and the settings that matter to the result.
	Settings(ctx context.Context) (map[string]string, error)
	// Close frees everything. It is safe to call twice.
	Close() error
}

// connectTime bounds the opening of a connection.
const connectTime = 10 * time.Second

// Dial opens a connection of a pool, in good time.
func Dial(ctx context.Context, pool *sql.DB, timeout time.Duration) (*sql.Conn, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, min(timeout, connectTime), errors.New("no connection could be opened in time"))
	defer cancel()
	conn, err := pool.Conn(ctx)
	if err != nil && ctx.Err() != nil {
		return nil, errors.Join(err, context.Cause(ctx))
	}
	return conn, err
}

// Rows gives rows to an encoder, a unit at a time, until there are no more.
type Rows interface {
	Next(e population.Encoder) bool
}
