// Package oltp is the engine of order-entry transactions: TPROC-C as HammerDB
// runs it, and TPC-C by its specification, on SQL databases.
//
// The rules of the benchmark are in the package tpcc; each kind of database is a
// Target in a folder of its own. The engine here does what is the same for all:
// parameters, the load of the data set and its state, users, accounting, checks
// and figures.
package oltp

import (
	"context"
	"crypto/tls"
	"net/url"
	"time"

	"bakeoff/engine/oltp/tpcc"
	"bakeoff/engine/oltp/wire"
	"bakeoff/load"
	"bakeoff/load/ring"
)

// A Target is one kind of database, such as PostgreSQL. It is stateless.
type Target interface {
	// Product is its name as HammerDB's result lines have it: "PostgreSQL",
	// "MySQL", "MSSQLServer", "Oracle"; "SQLite", which HammerDB does not know.
	Product() string
	// Schemes are the schemes of its URLs, as "postgres".
	Schemes() []string
	// Open checks what is particular to the target: the URL's options, and the
	// modes it has. It sends nothing.
	Open(c Config) (Database, error)
}

// Config is what a target needs to know. The engine has checked it.
type Config struct {
	// URL is the target's, without a password. Options that a target knows,
	// as a socket's path, are in its query; it refuses others.
	URL *url.URL
	// Instance tells apart the databases of loads that run at once, from 0. A
	// target appends "_1", "_2" ... to the database's name (or file's) above 0:
	// see InstanceName.
	Instance int
	User     string // "" where none was given
	Password string // never in an error
	// TLS is nil where the connection is to be in the clear. Its ServerName is
	// the host's, or the one that was asked for.
	TLS *tls.Config

	Rules      tpcc.Rules
	Data       tpcc.Data
	Mode       Mode
	Statements Statements
	Schema     Schema

	Timeout time.Duration // of one transaction; of a connection attempt
	IO      ring.Backend  // of targets that are Wired
	Clock   *load.Clock
}

// Mode says where the statements of a transaction come from.
type Mode string

// The modes.
const (
	Procedures Mode = "procedures" // stored routines, one call a transaction
	ClientSQL  Mode = "client-sql" // statements from the client, prepared and, where the protocol can, pipelined
)

// Statements says how the lines of an order are worked on.
type Statements string

// The kinds of statements.
const (
	// AutoStatements is Set under the profile spec, and under hammerdb whatever
	// comes nearest to what HammerDB's own routines do on that target.
	AutoStatements Statements = "auto"
	SetStatements  Statements = "set" // all lines of an order in one statement
	RowStatements  Statements = "row" // a statement a line
)

// Schema says whose tables and routines are used.
type Schema string

// The schemas.
const (
	OwnSchema Schema = "own"
	// HammerDBSchema is one that HammerDB built, driven through its routines.
	// Nothing in it is created, changed beside the transactions, or dropped.
	HammerDBSchema Schema = "hammerdb"
)

// A Database is one database of a target: it is created where it is missing,
// loaded, saved, restored, counted and put under load. Methods are called from
// one goroutine, but Load, which is called from up to Loaders at once, and
// Counters and Query, which are called while users are at work.
//
// A Database also is Wired or Blocking.
type Database interface {
	// Facts reads the version and the settings that matter to the result.
	Facts(ctx context.Context) ([]Fact, error)
	// Columns lists the tables of the schema that are there, with their columns,
	// both in lower case. It is empty, without an error, where there is no such
	// database yet.
	Columns(ctx context.Context) (map[string][]string, error)
	// Query runs a query of standard SQL that has few rows, and returns their
	// values as text, "" for an absent one.
	Query(ctx context.Context, sql string) ([][]string, error)
	// Exec runs statements of standard SQL, one after another, each durable
	// when it returns.
	Exec(ctx context.Context, sql ...string) error

	// Create makes the database where it is missing, drops the given tables and
	// MarkTable where they are there, and creates them anew, empty; what can be
	// made faster after the load (indexes, keys) may be left to Finish.
	Create(ctx context.Context, tables []tpcc.Table) error
	// Load fills in a chunk and executes Mark for it in the same transaction, so
	// that after a crash either both are there or neither.
	Load(ctx context.Context, c tpcc.Chunk) error
	// Loaders is how many Loads at once make sense at most, given the engine's
	// wish.
	Loaders(wish int) int
	// Finish makes keys and indexes and has the optimizer read the tables.
	// It may be called again after it was cut off.
	Finish(ctx context.Context, tables []tpcc.Table) error
	// Install creates or replaces the routines that the mode needs. It is called
	// before every trial, on the restored data; nothing where the mode has none.
	Install(ctx context.Context) error

	// Saving describes how Save and Restore work here, as "template database";
	// "" where the target has no way that is faster than to load again.
	Saving() string
	// Save keeps a copy of the database's present state under an identity, in
	// place of an earlier copy. No user is at work.
	Save(ctx context.Context, identity string) error
	// Saved returns the identity of the copy that is there and complete; "" for none.
	Saved(ctx context.Context) (identity string, err error)
	// Restore brings the database back to the copy. No user is at work.
	Restore(ctx context.Context) error

	// Counters reads the counters that NOPM and TPM are made of.
	Counters(ctx context.Context) (Counters, error)
	// Close ends all connections. It is safe to call twice.
	Close() error
}

// Sizer is a Database that knows how many bytes its data take, indexes included.
type Sizer interface {
	Size(ctx context.Context) (int64, error)
}

// Wired is a Database whose protocol the engine drives over load/ring: many
// users a thread.
type Wired interface {
	// Dial connects a user, logs in and prepares what the transactions need. It
	// may be called from several threads.
	Dial(ctx context.Context, user int) (wire.Link, error)
}

// Blocking is a Database that is driven through a blocking client: a goroutine
// a user.
type Blocking interface {
	// Connect connects a user.
	Connect(ctx context.Context, user int) (Client, error)
}

// A Client does one user's transactions, one at a time.
type Client interface {
	// Run does one transaction, once. The error says why where the outcome is
	// Conflict, Refused or Broken, and is nil for the others. Where ctx ends
	// before an answer came, the outcome is Broken.
	Run(ctx context.Context, tx *tpcc.Tx) (tpcc.Outcome, error)
	Close() error
}

// A Fact is a setting or property of the server that matters to the result.
type Fact struct {
	Name  string  // as the server has it: shared_buffers, innodb_buffer_pool_size
	Unit  string  // base unit of Value; "" where only Text says anything
	Value float64 // where it is a number
	Text  string  // as the server prints it
}

// Counters are the target's own.
type Counters struct {
	// NextOrders is the sum of d_next_o_id over all districts.
	NextOrders int64
	// Transactions is what HammerDB counts as transactions on that database:
	// commits and rollbacks of the whole instance (PostgreSQL: xact_commit +
	// xact_rollback over all databases; MySQL: Com_commit + Com_rollback; SQL
	// Server: Batch Requests; Oracle: user commits + user rollbacks). Where the
	// target does not count, it is -1.
	Transactions int64
	// Lag is how late Transactions may be: over a window that is not much longer
	// their rate means nothing, and TPM is left out.
	Lag time.Duration
	// More are further counters, such as deadlocks, bytes of log and blocks read.
	More []load.Count
}
