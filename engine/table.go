// Package engine lists the engines that bakeoff has.
package engine

import (
	"fmt"
	"strings"

	"bakeoff/engine/exec"
	"bakeoff/engine/http"
	"bakeoff/engine/kv"
	"bakeoff/engine/net"
	"bakeoff/engine/null"
	"bakeoff/engine/olap"
	"bakeoff/engine/olap/duckdb"
	olapmysql "bakeoff/engine/olap/mysql"
	olappostgres "bakeoff/engine/olap/postgres"
	olapsqlite "bakeoff/engine/olap/sqlite"
	"bakeoff/engine/oltp"
	"bakeoff/engine/oltp/mysql"
	"bakeoff/engine/oltp/oracle"
	"bakeoff/engine/oltp/postgres"
	"bakeoff/engine/oltp/sqlite"
	"bakeoff/engine/oltp/sqlserver"
	"bakeoff/internal/spelling"
	"bakeoff/load"
)

// Table returns every engine, in the order in which they are documented.
func Table() []load.Engine {
	return []load.Engine{
		null.Engine{},
		exec.New(),
		kv.Engine{},
		net.Engine{},
		http.Engine{},
		olap.New(olapsqlite.Target{}, olappostgres.Target{}, olapmysql.Target{}, duckdb.Target{}),
		oltp.New(sqlite.Target{}, postgres.Target{}, mysql.Target{}, sqlserver.Target{}, oracle.Target{}),
	}
}

// Lookup returns the engine of a name. The error names the nearest one there is.
func Lookup(name string) (load.Engine, error) {
	var names []string
	for _, e := range Table() {
		if e.Name() == name {
			return e, nil
		}
		names = append(names, e.Name())
	}
	if near := spelling.Nearest(name, names); near != "" {
		return nil, fmt.Errorf("unknown engine %q: did you mean %q?", name, near)
	}
	return nil, fmt.Errorf("unknown engine %q: expected one of %s", name, strings.Join(names, ", "))
}
