package oltp

import (
	"context"
	"fmt"

	"bakeoff/engine/oltp/account"
	"bakeoff/load"
	"bakeoff/load/dial"
)

// Engine is the engine of order-entry transactions.
//
// Spec.Secrets may hold "password", and "username" where the URL has none.
type Engine struct{ targets []Target }

// New returns the engine with the kinds of database it knows. The first one's
// first scheme is the target where none is given.
func New(targets ...Target) Engine { return Engine{targets} }

// Name is "oltp".
func (Engine) Name() string { return "oltp" }

// The figures that a session gives beyond the ledger's.
const (
	figureNOPM    = "nopm"
	figureTPM     = "tpm"
	figureTPMC    = "tpmc"
	figureLoad    = "load_time"
	figureRate    = "load_rate"
	figureRestore = "restore_time"
)

// Describe documents the engine.
func (e Engine) Describe() load.Description {
	return load.Description{
		Target:     e.forms() + "; without one, " + e.targets[0].Product() + " on a file that is gone with the load",
		Summary:    "Order-entry transactions on SQL databases: TPROC-C as HammerDB runs it, or TPC-C by its specification.",
		Parameters: append(parameters(), dial.TLSParameters()...),
		Kinds:      account.KindNames(),
		Parts:      []load.Part{load.Source},
		Figures:    []string{figureNOPM, figureTPM, figureTPMC, figureLoad, figureRate, figureRestore},
	}
}

// Open validates the parameters. It sends nothing.
func (e Engine) Open(_ context.Context, spec load.Spec) (load.Session, error) {
	if spec.Part != load.Source && spec.Part != "" {
		return nil, fmt.Errorf("engine oltp: part is %q; it has only a source", spec.Part)
	}
	s, err := e.configure(spec)
	if err != nil {
		return nil, err
	}
	return s, nil
}

func parameters() []load.Parameter {
	return []load.Parameter{
		{Name: "profile", Type: load.TypeEnum, Values: []string{"hammerdb", "spec"}, Default: "hammerdb", Doc: "The rules: hammerdb, comparable with HammerDB's figures, or spec, the TPC-C specification's. Figures of the two are not comparable.", Incomparable: true},
		{Name: "warehouses", Type: load.TypeInt, Default: "1", Doc: "Size of the database, about 500,000 rows each."},
		{Name: "users", Type: load.TypeInt, Default: "4", Doc: "Virtual users, each with a connection."},
		{Name: "homes", Type: load.TypeEnum, Values: []string{"random", "own", "all"}, Default: "random", Doc: "Which warehouses a user works in: one at random, for good; own: user i in warehouse i; all: user i of n in i, i+n, i+2n ..., one at random for each transaction."},
		{Name: "keying", Type: load.TypeBool, Default: "false", Doc: "Keying and thinking times: users type and think as clause 5.2.5 has it, 10 to 60 seconds a transaction."},
		{Name: "mode", Type: load.TypeEnum, Values: []string{"auto", "procedures", "client-sql"}, Default: "auto", Doc: "Where the statements come from: stored routines, one call a transaction, or the client; auto: routines where the database has them."},
		{Name: "statements", Type: load.TypeEnum, Values: []string{"auto", "set", "row"}, Default: "auto", Doc: "All lines of an order in one statement, or a statement a line; auto: under spec set, under hammerdb what comes nearest to HammerDB's routines."},
		{Name: "schema", Type: load.TypeEnum, Values: []string{"own", "hammerdb"}, Default: "own", Doc: "hammerdb: a schema that HammerDB built, driven through HammerDB's routines."},
		{Name: "restore", Type: load.TypeEnum, Values: []string{"auto", "saved", "reload", "none"}, Default: "auto", Doc: "How the data are brought to the same state before each trial: saved: from a copy made after the load; reload: loaded again; none: used as they are; auto: saved where the target can, else reload, and none for schema hammerdb."},
		{Name: "replace", Type: load.TypeBool, Default: "false", Doc: "Drop tables of the same names that are there and are not this data set. It deletes what others have there."},
		{Name: "check", Type: load.TypeEnum, Values: []string{"quick", "full", "none"}, Default: "quick", Doc: "Consistency conditions of clause 3.3.2 and sums of the tables, before and after: quick leaves out those that look at every order line and customer."},
		{Name: "retries", Type: load.TypeInt, Default: "5", Doc: "How often a transaction that the database gave up (deadlock, serialization failure) is tried again; its latency covers all attempts."},
		{Name: "loaders", Type: load.TypeInt, Default: "0", Doc: "Connections that load at once; 0: twice as many as processors, up to 16."},
		{Name: "data_seed", Type: load.TypeInt, Default: "1", Doc: "Seeds the data set, which does not depend on the load's seed."},
		{Name: "tls", Type: load.TypeBool, Default: "false", Doc: "Encrypt the connections."},
		{Name: "io", Type: load.TypeEnum, Values: []string{"auto", "io_uring", "epoll"}, Default: "auto", Doc: "How the generator talks to the kernel, where it speaks the wire protocol itself."},
	}
}
