// Package sqlserver is the SQL Server target of the engine of order-entry
// transactions, through Microsoft's driver: a goroutine and a connection a user.
//
// It has never been run against a server: its statements are held against golden
// files, and what goes to and comes from the driver is tested with a stand-in
// for it. Whoever runs it first should compare a short run with HammerDB's.
package sqlserver

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"net/url"
	"strconv"
	"strings"

	mssql "github.com/microsoft/go-mssqldb"
	"github.com/microsoft/go-mssqldb/msdsn"

	"bakeoff/engine/oltp"
	"bakeoff/engine/oltp/sqldb"
	"bakeoff/engine/oltp/tpcc"
)

// Target is SQL Server.
type Target struct{}

// Product is its name in HammerDB's result lines.
func (Target) Product() string { return "MSSQLServer" }

// Schemes are those of its URLs: sqlserver://USER@HOST:PORT/DATABASE.
func (Target) Schemes() []string { return []string{"sqlserver", "mssql"} }

const (
	defaultPort     = 1433
	defaultUser     = "sa"
	defaultDatabase = "tpcc"
	maxName         = 128 // characters of an identifier
)

// database is one database of a server (oltp.Database, oltp.Blocking).
type database struct {
	oltp.Config
	name   string
	master *sql.DB // connected to no database of its own
	db     *sql.DB
}

// Open reads the URL.
func (Target) Open(c oltp.Config) (oltp.Database, error) {
	name, settings, err := configure(c)
	if err != nil {
		return nil, err
	}
	d := &database{Config: c, name: name}
	settings.Database = "master"
	d.master = sql.OpenDB(mssql.NewConnectorConfig(settings))
	settings.Database = name
	d.db = sql.OpenDB(mssql.NewConnectorConfig(settings))
	return d, nil
}

// configure reads the URL and says how the driver is to connect.
func configure(c oltp.Config) (name string, settings msdsn.Config, err error) {
	switch name = strings.TrimPrefix(c.URL.Path, "/"); {
	case c.Schema == oltp.HammerDBSchema:
		err = errors.New("HammerDB's own routines are not driven on SQL Server: use schema own")
	case c.URL.Hostname() == "":
		err = errors.New("it names no host: expected sqlserver://HOST/DATABASE")
	case c.URL.RawQuery != "":
		err = fmt.Errorf("unknown options %q: expected none; TLS is asked for with the parameter tls", c.URL.RawQuery)
	case name == "":
		name = defaultDatabase
	}
	if err != nil {
		return "", msdsn.Config{}, err
	}
	name = oltp.InstanceName(name, c.Instance)
	if len(name) > maxName || strings.ContainsAny(name, "/[]'\"\x00") {
		return "", msdsn.Config{}, fmt.Errorf("database %q: expected a name of up to %d characters, without slashes, brackets and quotes", name, maxName)
	}
	port := uint64(defaultPort)
	if p := c.URL.Port(); p != "" {
		if port, err = strconv.ParseUint(p, 10, 16); err != nil || port == 0 {
			return "", msdsn.Config{}, fmt.Errorf("port %q: expected 1 to 65535", p)
		}
	}
	plain := url.URL{Scheme: "sqlserver", Host: c.URL.Hostname(), RawQuery: "encrypt=disable&app+name=bakeoff"}
	if settings, err = msdsn.Parse(plain.String()); err != nil {
		return "", msdsn.Config{}, fmt.Errorf("as the driver takes it: %w", err)
	}
	settings.Port, settings.User, settings.Password, settings.DialTimeout, settings.DisableRetry = port, c.User, c.Password, c.Timeout, true
	if settings.User == "" {
		settings.User = defaultUser
	}
	if c.TLS != nil {
		settings.Encryption, settings.TLSConfig = msdsn.EncryptionRequired, c.TLS.Clone()
		// The protocol wraps the handshake in its own packets, which hold one record.
		settings.TLSConfig.DynamicRecordSizingDisabled = true
	}
	return name, settings, nil
}

// Connect connects a user and prepares what the transactions need.
func (d *database) Connect(ctx context.Context, _ int) (oltp.Client, error) {
	ctx, cancel := context.WithTimeout(ctx, d.Timeout)
	defer cancel()
	conn, err := d.db.Conn(ctx)
	if err != nil {
		return nil, fmt.Errorf("connecting to %s: %w", d.URL.Host, err)
	}
	if d.Mode == oltp.Procedures {
		return &caller{conn: conn}, nil
	}
	script, err := sqldb.Prepare(ctx, conn, dialect(), d.Rules.Profile)
	if err != nil {
		return nil, errors.Join(err, conn.Close())
	}
	return &scripted{conn: conn, script: script}, nil
}

// Close ends all connections.
func (d *database) Close() error { return errors.Join(d.db.Close(), d.master.Close()) }

// dialect is T-SQL. Texts are sent as varchar, as the columns are: compared
// with nvarchar, they would be converted row by row and no index be of use.
func dialect() sqldb.Dialect {
	return sqldb.Dialect{
		Placeholder: func(n int) string { return fmt.Sprintf("@p%d", n) }, Locked: " WITH (UPDLOCK)", Now: "SYSUTCDATETIME()",
		OneRow: " OFFSET {skip} ROWS FETCH NEXT 1 ROWS ONLY", Text: func(s string) any { return mssql.VarChar(s) },
	}
}

// scripted is a user whose statements come from here.
type scripted struct {
	conn   *sql.Conn
	script *sqldb.Script
}

// Run does one transaction.
func (s *scripted) Run(ctx context.Context, tx *tpcc.Tx) (tpcc.Outcome, error) {
	ended, err := s.script.Run(ctx, tx)
	return classify(ctx, ended, err)
}

// Close ends the connection.
func (s *scripted) Close() error { return errors.Join(s.script.Close(), s.conn.Close()) }
