// Package postgres is the PostgreSQL target of the engine of order-entry
// transactions. Users speak the wire protocol by the package's own codec, over
// load/ring; everything else goes through pgx.
package postgres

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/url"
	"strconv"
	"strings"
	"sync"

	"github.com/jackc/pgx/v5"

	"bakeoff/engine/oltp"
	"bakeoff/engine/oltp/tpcc"
	"bakeoff/engine/oltp/wire"
)

// Target is PostgreSQL.
type Target struct{}

// Product is its name in HammerDB's result lines.
func (Target) Product() string { return "PostgreSQL" }

// Schemes are those of its URLs: postgres://USER@HOST:PORT/DATABASE, or
// postgres:///DATABASE?host=/FOLDER for a Unix socket.
func (Target) Schemes() []string { return []string{"postgres", "postgresql"} }

const (
	defaultPort     = "5432"
	defaultUser     = "postgres"
	defaultDatabase = "tpcc"
	maxName         = 63 // bytes of an identifier (NAMEDATALEN)
	savedSuffix     = "_saved"
)

// database is one database of a server (oltp.Database, oltp.Wired).
type database struct {
	c       oltp.Config
	network string // tcp or unix
	address string // host:port, or a socket's path
	host    string // as pgx takes it
	port    uint16
	user    string
	name    string
	script  script

	mu   sync.Mutex
	idle []*pgx.Conn // connections for what is not measured
}

// Open reads the URL.
func (Target) Open(c oltp.Config) (oltp.Database, error) {
	d := &database{c: c, user: c.User, name: strings.TrimPrefix(c.URL.Path, "/")}
	if d.user == "" {
		d.user = defaultUser
	}
	if d.name == "" {
		d.name = defaultDatabase
	}
	d.name = oltp.InstanceName(d.name, c.Instance)
	if len(d.name)+len(savedSuffix) > maxName || strings.ContainsAny(d.name, "/\x00") {
		return nil, fmt.Errorf("database %q: expected a name of up to %d bytes, without slashes", d.name, maxName-len(savedSuffix))
	}
	if err := d.endpoint(c.URL); err != nil {
		return nil, err
	}
	if c.Statements == oltp.RowStatements {
		return nil, errors.New("statements: row: this target works on all lines of an order at once, as HammerDB's routines do; expected auto or set")
	}
	switch {
	case c.Schema == oltp.HammerDBSchema:
		d.script = hammerdb{warehouses: int32(c.Rules.Warehouses)}
	case c.Mode == oltp.ClientSQL:
		d.script = pipeline{spec: c.Rules.Profile == tpcc.Spec}
	default:
		d.script = calls{}
	}
	return d, nil
}

// endpoint finds out where the server listens.
func (d *database) endpoint(u *url.URL) error {
	q := u.Query()
	socket, port := q.Get("host"), q.Get("port")
	q.Del("host")
	q.Del("port")
	if len(q) > 0 {
		return fmt.Errorf("unknown options %q: expected host=/FOLDER and port=N of a Unix socket; TLS is asked for with the parameter tls", q.Encode())
	}
	if p := u.Port(); p != "" {
		port = p
	}
	if port == "" {
		port = defaultPort
	}
	n, err := strconv.ParseUint(port, 10, 16)
	if err != nil || n == 0 {
		return fmt.Errorf("port %q: expected 1 to 65535", port)
	}
	d.port = uint16(n)
	switch {
	case socket == "" && u.Hostname() == "":
		return errors.New("it names no host: expected postgres://HOST/DATABASE, or postgres:///DATABASE?host=/FOLDER for the folder of a Unix socket")
	case socket == "":
		d.network, d.host, d.address = "tcp", u.Hostname(), net.JoinHostPort(u.Hostname(), port)
	case u.Hostname() != "" || !strings.HasPrefix(socket, "/"):
		return fmt.Errorf("host %q: expected the absolute path of the folder of a Unix socket, and no host before it", socket)
	case d.c.TLS != nil:
		return errors.New("a Unix socket has no TLS: leave out tls")
	default:
		d.network, d.host, d.address = "unix", socket, fmt.Sprintf("%s/.s.PGSQL.%s", socket, port)
	}
	return nil
}

// Dial connects a user and prepares the statements.
func (d *database) Dial(ctx context.Context, _ int) (wire.Link, error) {
	l, err := d.connect(ctx)
	if err != nil {
		return wire.Link{}, err
	}
	if err := l.bounded(ctx, func(context.Context) error { return l.prepare(d.script) }); err != nil {
		_ = l.socket.Close()
		return wire.Link{}, fmt.Errorf("preparing statements at %s: %w", d.address, err)
	}
	link, err := l.link()
	if err != nil {
		return wire.Link{}, err
	}
	return wire.Link{Link: link, Conversation: &talk{script: d.script}}, nil
}

// prepare sets the session up and prepares its statements.
func (l *login) prepare(s script) error {
	// The New-Orders that roll back end with an error, which the server would
	// write to its log each time; only a superuser may tell it not to.
	quiet := l.batch(appendQuery(nil, "SET log_min_messages = fatal"))
	var refused *serverError
	if quiet != nil && !errors.As(quiet, &refused) {
		return quiet
	}
	if _, own := s.(hammerdb); !own {
		// One plan from the first call on, as the first calls are measured too.
		if err := l.batch(appendQuery(nil, "SET plan_cache_mode = force_generic_plan")); err != nil {
			return err
		}
	}
	var out []byte
	for name, sql := range s.statements() {
		out = appendParse(out, name, sql)
	}
	return l.batch(appendSync(out))
}
