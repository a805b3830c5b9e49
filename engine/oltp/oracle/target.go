// Package oracle is the Oracle Database target of the engine of order-entry
// transactions: a goroutine and a connection a user, through a driver that needs
// no client installed. It needs Oracle Database 12c or later, and a build with the
// tag oracle, since the driver's tables of character sets would make every
// bakeoff a third larger.
//
// It has never been run against a server: its statements are held against golden
// files, and what goes to and comes from the driver is tested with a stand-in
// for it. Whoever runs it first should compare a short run with HammerDB's.
package oracle

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"net"
	"net/url"
	"regexp"
	"strconv"
	"strings"

	"bakeoff/engine/oltp"
	"bakeoff/engine/oltp/sqldb"
	"bakeoff/engine/oltp/tpcc"
)

// Target is Oracle Database.
type Target struct{}

// Product is its name in HammerDB's result lines.
func (Target) Product() string { return "Oracle" }

// Schemes are those of its URLs: oracle://USER@HOST:PORT/SERVICE. The tables are
// in the user's schema, so that loads that run at once have a user each: USER,
// USER_1, USER_2 ..., with one password.
func (Target) Schemes() []string { return []string{"oracle"} }

const (
	defaultPort = 1521
	defaultUser = "tpcc"
)

// database is one schema of a server (oltp.Database, oltp.Blocking).
type database struct {
	oltp.Config
	user string
	db   *sql.DB
}

// Open reads the URL.
func (Target) Open(c oltp.Config) (oltp.Database, error) {
	dsn, user, err := address(c)
	if err != nil {
		return nil, err
	}
	connector, err := connect(dsn, c.TLS)
	if err != nil {
		return nil, err
	}
	return &database{Config: c, user: user, db: sql.OpenDB(connector)}, nil
}

// address writes the URL as the driver takes it.
func address(c oltp.Config) (dsn, user string, err error) {
	service := strings.TrimPrefix(c.URL.Path, "/")
	switch {
	case c.Schema == oltp.HammerDBSchema:
		err = errors.New("HammerDB's own routines are not driven on Oracle: use schema own")
	case c.Statements == oltp.RowStatements && c.Mode == oltp.Procedures:
		err = errors.New("statements: row: the routines work on all lines of an order at once; expected auto or set")
	case c.URL.Hostname() == "" || service == "" || strings.Contains(service, "/"):
		err = errors.New("expected oracle://USER@HOST:PORT/SERVICE")
	case c.URL.RawQuery != "":
		err = fmt.Errorf("unknown options %q: expected none; TLS is asked for with the parameter tls", c.URL.RawQuery)
	}
	if err != nil {
		return "", "", err
	}
	port := defaultPort
	if p := c.URL.Port(); p != "" {
		n, err := strconv.ParseUint(p, 10, 16)
		if err != nil || n == 0 {
			return "", "", fmt.Errorf("port %q: expected 1 to 65535", p)
		}
		port = int(n)
	}
	if user = c.User; user == "" {
		user = defaultUser
	}
	if user = oltp.InstanceName(user, c.Instance); !regexp.MustCompile(`^[A-Za-z][A-Za-z0-9_$#]{0,29}$`).MatchString(user) {
		return "", "", fmt.Errorf("user %q: expected a letter and up to 29 letters, digits and _, $, #", user)
	}
	options := url.Values{"CONNECTION TIMEOUT": {strconv.Itoa(max(int(c.Timeout.Seconds()), 1))}}
	if c.TLS != nil {
		options.Set("SSL", "true")
	}
	full := url.URL{
		Scheme: "oracle", User: url.UserPassword(user, c.Password), Host: net.JoinHostPort(c.URL.Hostname(), strconv.Itoa(port)),
		Path: "/" + service, RawQuery: options.Encode(),
	}
	return full.String(), user, nil
}

// Connect connects a user and prepares what the transactions need.
func (d *database) Connect(ctx context.Context, _ int) (oltp.Client, error) {
	ctx, cancel := context.WithTimeout(ctx, d.Timeout)
	defer cancel()
	conn, err := d.db.Conn(ctx)
	if err != nil {
		return nil, fmt.Errorf("connecting to %s as %s: %w", d.URL.Host, d.user, err)
	}
	var client oltp.Client
	if d.Mode == oltp.Procedures {
		client, err = newCaller(ctx, conn)
	} else {
		client, err = newScripted(ctx, conn, d.Rules.Profile)
	}
	if err != nil {
		return nil, errors.Join(err, conn.Close())
	}
	return client, nil
}

// Close ends all connections.
func (d *database) Close() error { return d.db.Close() }

// dialect is Oracle's SQL.
func dialect() sqldb.Dialect {
	return sqldb.Dialect{
		Placeholder: func(n int) string { return fmt.Sprintf(":%d", n) }, ForUpdate: " FOR UPDATE", Now: "SYSDATE",
		OneRow: " OFFSET {skip} ROWS FETCH NEXT 1 ROWS ONLY",
	}
}

// scripted is a user whose statements come from here.
type scripted struct {
	conn   *sql.Conn
	script *sqldb.Script
}

func newScripted(ctx context.Context, conn *sql.Conn, p tpcc.Profile) (oltp.Client, error) {
	script, err := sqldb.Prepare(ctx, conn, dialect(), p)
	if err != nil {
		return nil, err
	}
	return &scripted{conn, script}, nil
}

// Run does one transaction.
func (s *scripted) Run(ctx context.Context, tx *tpcc.Tx) (tpcc.Outcome, error) {
	ended, err := s.script.Run(ctx, tx)
	return classify(ctx, ended, err)
}

// Close ends the connection.
func (s *scripted) Close() error { return errors.Join(s.script.Close(), s.conn.Close()) }
