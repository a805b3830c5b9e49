package mysql

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"

	"bakeoff/engine/oltp/mysql/protocol"
	"bakeoff/engine/oltp/tpcc"
	"bakeoff/engine/oltp/wire"
	"bakeoff/load/dial"
	"bakeoff/load/ring"
)

// Dial connects a user and prepares the statements of the mode.
func (d *database) Dial(ctx context.Context, _ int) (wire.Link, error) {
	ctx, cancel := context.WithTimeout(ctx, d.Timeout)
	defer cancel()
	dialer := net.Dialer{KeepAlive: -1}
	socket, err := dialer.DialContext(ctx, d.network, d.address)
	if err != nil {
		return wire.Link{}, fmt.Errorf("connecting to the server: %w", err)
	}
	link, err := d.login(ctx, socket)
	if err != nil {
		return wire.Link{}, errors.Join(fmt.Errorf("logging in at %s: %w", d.address, err), socket.Close())
	}
	if link.FD, err = ring.Take(socket); err != nil {
		return wire.Link{}, err
	}
	return link, nil
}

func (d *database) login(ctx context.Context, socket net.Conn) (link wire.Link, err error) {
	l := protocol.Login{User: d.User, Password: d.Password, Database: d.name, Secure: d.secure()}
	if d.TLS != nil {
		l.Upgrade = func(ctx context.Context, socket net.Conn) (io.ReadWriter, error) {
			link.Sealed = dial.Seal(socket, d.TLS)
			if err := link.Sealed.TLS().HandshakeContext(ctx); err != nil {
				return nil, dial.Advise(err)
			}
			return link.Sealed.TLS(), nil
		}
	}
	conn, err := protocol.Connect(ctx, socket, l)
	if err != nil {
		return link, advise(err)
	}
	link.Conversation, err = d.converse(ctx, conn)
	if err != nil {
		return link, err
	}
	if link.Sealed != nil {
		link.Sealed.Detach()
	}
	return link, nil
}

// advise says how to mend what commonly goes wrong.
func advise(err error) error {
	var refusal *protocol.ServerError
	if !errors.As(err, &refusal) {
		return err
	}
	switch refusal.Code {
	case 1040, 1203, 1226:
		return fmt.Errorf("%w (raise the server's or the account's limit of connections, or use fewer users)", err)
	case 1045, 1698:
		return fmt.Errorf("%w (check the user, the password and the host that the account is for)", err)
	case errUnknownDatabase:
		return fmt.Errorf("%w (load it first)", err)
	}
	return err
}

// converse sets a session up and prepares the statements of the mode.
func (d *database) converse(ctx context.Context, conn *protocol.Conn) (*conversation, error) {
	c := &conversation{}
	c.stream.NoEOF = conn.NoEOF()
	s := d.script()
	for _, setting := range s.session() {
		var refusal *protocol.ServerError
		err := conn.Exec(ctx, setting.sql)
		if err != nil && !(setting.optional && errors.As(err, &refusal) && refusal.Code == errUnknownVariable) {
			return nil, fmt.Errorf("%s: %w", setting.sql, err)
		}
	}
	for _, text := range s.statements() {
		statement, err := conn.Prepare(ctx, text)
		if err != nil {
			return nil, fmt.Errorf("preparing %.60q: %w", text, err)
		}
		c.prepared = append(c.prepared, statement)
	}
	c.script = s
	return c, nil
}

// setting is a statement that sets a session up; one that is optional may name a
// variable that the server does not have.
type setting struct {
	sql      string
	optional bool
}

// sessionSettings are those of every session. MariaDB's snapshot isolation, which
// some versions have on, refuses updates of rows that changed since the
// transaction first read anything; HammerDB turns it off as well.
func sessionSettings(more ...setting) []setting {
	return append([]setting{
		{sql: "SET NAMES latin1 COLLATE latin1_bin"},
		{sql: "SET SESSION innodb_snapshot_isolation = OFF", optional: true},
	}, more...)
}

// script makes the requests of the configured mode.
func (d *database) script() script {
	switch {
	case d.Schema == hammerDBSchema:
		return newVariableCalls(true, d.Rules.Warehouses)
	case d.Mode == clientSQL:
		return newClientSQL(profile{Spec: d.Rules.Profile == tpcc.Spec}, d.way() == byRow)
	case d.way() == withVariables:
		return newVariableCalls(false, 0)
	}
	return &calls{perRow: d.way() == byRow}
}
