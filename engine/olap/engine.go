package olap

import (
	"context"
	"fmt"
	"strings"

	"bakeoff/engine/olap/population"
	"bakeoff/engine/olap/tpch"
	"bakeoff/load"
)

// Engine is the engine of TPROC-H. Spec.Secrets may hold "password".
type Engine struct {
	targets []Target
	text    *population.Text // which its sessions share
}

// New returns the engine with the targets that it is to know; the first one's
// embedded database is used where a load names no target.
func New(targets ...Target) Engine { return Engine{targets, new(population.Text)} }

// Name is "olap".
func (Engine) Name() string { return "olap" }

// The kinds of operation: the queries, and then:
const (
	kindRefresh1 = tpch.Queries + iota
	kindRefresh2
)

// Describe documents the engine.
func (e Engine) Describe() load.Description {
	kinds := make([]string, 0, tpch.Queries+2)
	for q := range tpch.Queries {
		kinds = append(kinds, fmt.Sprintf("q%d", q+1))
	}
	return load.Description{
		Summary:    "TPROC-H: the 22 decision support queries and the refresh functions of TPC-H on SQL databases (not an audited result).",
		Parameters: parameters(),
		Kinds:      append(kinds, "rf1", "rf2"),
		Parts:      []load.Part{load.Source},
		Target:     e.forms() + "; without one, an embedded database that is gone with the load",
		Figures:    figureNames(),
	}
}

// Open validates the parameters. It sends nothing.
func (e Engine) Open(_ context.Context, spec load.Spec) (load.Session, error) {
	if spec.Part != load.Source && spec.Part != "" {
		return nil, fmt.Errorf("engine olap: part is %q; it has only a source", spec.Part)
	}
	c, err := e.configure(spec)
	if err != nil {
		return nil, err
	}
	return newSession(c), nil
}

// forms lists what targets look like.
func (e Engine) forms() string {
	var all []string
	for _, t := range e.targets {
		all = append(all, t.Form())
	}
	return strings.Join(all, ", ")
}

func parameters() []load.Parameter {
	return []load.Parameter{
		{Name: "scale", Type: load.TypeFloat, Default: "0.01", Doc: "Scale factor: about this many GB of data; a whole number, or thousandths below 1."},
		{Name: "mode", Type: load.TypeEnum, Values: []string{"power", "throughput", "both"}, Default: "power", Doc: "power: one stream, a query at a time; throughput: several streams at once; both: one after the other."},
		{Name: "streams", Type: load.TypeInt, Default: "0", Doc: "Query streams of the throughput run; 0 is the specification's least for the scale factor (2 at 1, 3 at 10, 5 at 100)."},
		{Name: "queries", Type: load.TypeList, Default: "1-22", Doc: "The queries to run, as 1,6,9-12. Composite figures need all."},
		{Name: "refresh", Type: load.TypeBool, Default: "false", Doc: "Run the refresh functions too, which insert and delete orders; the data are restored before the next trial."},
		{Name: "parameters", Type: load.TypeEnum, Values: []string{"random", "validation"}, Default: "random", Doc: "Substitution parameters of the queries: drawn from the seed as the specification's generator does, or those whose right answers are known."},
		{Name: "parallel", Type: load.TypeInt, Default: "0", Doc: "Degree of parallelism of a query; 0 leaves it to the server."},
		{Name: "timeout", Type: load.TypeDuration, Default: "1h", Doc: "When a query counts as timed out and is ended; it takes the place of op_timeout."},
		{Name: "load", Type: load.TypeEnum, Values: []string{"auto", "always", "keep"}, Default: "auto", Doc: "auto: load the data set where it is missing, go on where a load was cut off; always: load it anew before each trial; keep: use what is there."},
		{Name: "loaders", Type: load.TypeInt, Default: "0", Doc: "Connections that load at once; 0 is one a processor of the generator."},
		{Name: "validate", Type: load.TypeEnum, Values: []string{"once", "always", "never"}, Default: "once", Doc: "Compare the answers to all queries with the right ones before measuring, where they are known (scale factors 0.01, 0.1 and 1): once a load, or before each trial."},
		{Name: "check", Type: load.TypeEnum, Values: []string{"full", "mark"}, Default: "full", Doc: "Before each trial: full counts and sums all tables, which also reads them all; mark trusts the state that the load left in the database."},
		{Name: "restore", Type: load.TypeEnum, Values: []string{"auto", "copy", "undo", "load"}, Default: "auto", Doc: "After refreshes: from a copy of the database, by undoing them row by row, or by loading anew; auto: a copy where the target can, else undo."},
		{Name: "username", Type: load.TypeString, Doc: "User to connect as; the password comes as a secret."},
		{Name: "tls", Type: load.TypeBool, Default: "false", Doc: "Connect with TLS."},
		{Name: "tls_ca", Type: load.TypeString, Doc: "File of the PEM certificates to trust; the system's without it."},
		{Name: "tls_name", Type: load.TypeString, Doc: "Name that the server's certificate must have; the target's host without it."},
		{Name: "tls_insecure", Type: load.TypeBool, Default: "false", Doc: "Take any certificate."},
	}
}
