// Package mysql runs the order-entry transactions on MariaDB (10.6 or newer) and
// MySQL (8.0 or newer).
//
// The transactions go over the client/server protocol that package protocol
// speaks, many users a thread; everything else goes over a driver. The tests run
// MariaDB; what is particular to MySQL has never met a server.
package mysql

import (
	"database/sql"
	"errors"
	"fmt"
	"net"
	"net/url"
	"strings"
	"sync/atomic"

	driver "github.com/go-sql-driver/mysql"

	"bakeoff/engine/oltp"
	"bakeoff/load/dial"
)

// Target is MariaDB or MySQL. Its zero value is ready.
//
// A URL is mysql://USER@HOST:PORT/DATABASE, or mariadb://; port 3306 and the
// database tpcc without them. The option socket names a Unix socket to be used in
// place of host and port.
type Target struct{}

// Product is "MySQL", as HammerDB has it for both.
func (Target) Product() string { return "MySQL" }

// Schemes are those of its URLs.
func (Target) Schemes() []string { return []string{"mysql", "mariadb"} }

const (
	defaultPort     = "3306"
	defaultDatabase = "tpcc"
)

// config is what a URL asks for.
type config struct {
	oltp.Config
	network, address string // of a dial
	name             string // of the database
}

// Open reads the URL. It connects to nothing.
func (Target) Open(c oltp.Config) (oltp.Database, error) {
	cfg, err := configure(c)
	if err != nil {
		return nil, err
	}
	d := &database{config: cfg}
	server, err := driver.NewConnector(cfg.driver(""))
	if err != nil {
		return nil, fmt.Errorf("target %s: %w", c.URL, err)
	}
	d.server = sql.OpenDB(dial.Patient{Connector: server, Time: cfg.Timeout, Kind: "MariaDB or MySQL"})
	inside, err := driver.NewConnector(cfg.driver(cfg.name))
	if err != nil {
		return nil, errors.Join(fmt.Errorf("target %s: %w", c.URL, err), d.server.Close())
	}
	d.db = sql.OpenDB(dial.Patient{Connector: inside, Time: cfg.Timeout, Kind: "MariaDB or MySQL"})
	forLoads := cfg.driver(cfg.name)
	// Not unique_checks=0, as is often advised: it has MariaDB sort the rows of an
	// empty table in files first, which costs twice the CPU of rows in order.
	forLoads.Params = map[string]string{"sql_mode": "'STRICT_ALL_TABLES'"}
	loading, err := driver.NewConnector(forLoads)
	if err != nil {
		return nil, errors.Join(fmt.Errorf("target %s: %w", c.URL, err), d.Close())
	}
	d.loader = sql.OpenDB(dial.Patient{Connector: loading, Time: cfg.Timeout, Kind: "MariaDB or MySQL"})
	return d, nil
}

func configure(c oltp.Config) (config, error) {
	cfg := config{Config: c, network: "tcp", name: defaultDatabase}
	if path := strings.Trim(c.URL.Path, "/"); path != "" {
		cfg.name = path
	}
	cfg.name = oltp.InstanceName(cfg.name, c.Instance)
	if strings.ContainsAny(cfg.name, "/\\`'\"\x00") || len(cfg.name)+len(savedSuffix) > 64 {
		return cfg, fmt.Errorf("database %q: expected a name of up to %d characters without quotes and slashes", cfg.name, 64-len(savedSuffix))
	}
	options, err := url.ParseQuery(c.URL.RawQuery)
	if err != nil {
		return cfg, fmt.Errorf("the target's options: %w", err)
	}
	socket := options.Get("socket")
	for name := range options {
		if name != "socket" {
			return cfg, fmt.Errorf("the target's option %s: there is no such option: expected socket", name)
		}
	}
	if c.Schema == oltp.HammerDBSchema && c.Mode != oltp.Procedures {
		return cfg, errors.New("a schema that HammerDB built is driven through its procedures: use mode procedures")
	}
	if socket != "" {
		cfg.network, cfg.address = "unix", socket
		return cfg, nil
	}
	host, port := c.URL.Hostname(), c.URL.Port()
	if host == "" {
		host = "127.0.0.1"
	}
	if port == "" {
		port = defaultPort
	}
	cfg.address = net.JoinHostPort(host, port)
	return cfg, nil
}

// secure says that nobody can listen on the way to the server.
func (c config) secure() bool { return c.network == "unix" || c.TLS != nil }

// driver configures the driver for everything but the transactions.
func (c config) driver(database string) *driver.Config {
	d := driver.NewConfig()
	d.User, d.Passwd, d.DBName = c.User, c.Password, database
	d.Net, d.Addr = c.network, c.address
	d.TLS = c.TLS
	d.Timeout = c.Timeout
	d.AllowCleartextPasswords = c.secure()
	d.Collation = "utf8mb4_bin"
	d.InterpolateParams = true
	d.RejectReadOnly = false
	d.Logger = silent{}
	return d
}

// silent keeps the driver from writing to the standard error stream: what it has
// to say comes back as an error as well.
type silent struct{}

func (silent) Print(...any) {}

// way is how a transaction is done.
type way int

// The ways.
const (
	bySet         way = iota // all lines of an order in one statement
	byRow                    // a statement a line
	withVariables            // by procedures, as HammerDB's: a statement a line, and values in session variables
)

func (c config) way() way {
	switch {
	case c.Statements == oltp.SetStatements:
		return bySet
	case c.Statements == oltp.RowStatements || c.Mode == clientSQL:
		return byRow
	case c.Rules.Profile == hammerDB:
		return withVariables
	}
	return bySet
}

// database is one database of a server.
type database struct {
	config
	server *sql.DB // without a database
	db     *sql.DB // in the database
	loader *sql.DB // in the database, for loads

	loads   atomic.Int64 // begun
	noLocal atomic.Bool  // the server does not take LOAD DATA LOCAL
}

// Close ends the connections. What closing those to a server that is gone says is
// of no use to anybody.
func (d *database) Close() error {
	for _, db := range []*sql.DB{d.server, d.db, d.loader} {
		if db != nil {
			_ = db.Close()
		}
	}
	return nil
}
