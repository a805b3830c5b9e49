package protocol_test

import (
	"context"
	"crypto/tls"
	"errors"
	"io"
	"net"
	"testing"
	"time"

	"bakeoff/engine/oltp/mysql/protocol"
	"bakeoff/test/mariadbtest"
)

// link connects over a socket that is closed with the test.
func link(t *testing.T, network, address string, l protocol.Login) (*protocol.Conn, error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	var d net.Dialer
	socket, err := d.DialContext(ctx, network, address)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = socket.Close() })
	return protocol.Connect(ctx, socket, l)
}

func insecureTLS(ctx context.Context, socket net.Conn) (io.ReadWriter, error) {
	c := tls.Client(socket, &tls.Config{InsecureSkipVerify: true})
	return c, c.HandshakeContext(ctx)
}

func TestLoginsAtMariaDB(t *testing.T) {
	s := mariadbtest.Start(t, mariadbtest.Options{TLS: true, Args: []string{"--plugin-load-add=auth_ed25519"}})
	s.SQL(`CREATE DATABASE d;
		CREATE USER native IDENTIFIED BY 'secret';
		CREATE USER empty;
		CREATE USER ed IDENTIFIED VIA ed25519 USING PASSWORD('secret');
		CREATE USER old IDENTIFIED BY 'secret' REQUIRE SSL;
		GRANT ALL ON d.* TO native, ed;`)
	for _, c := range []struct {
		name  string
		login protocol.Login
		tls   bool
		code  uint16 // of the refusal
	}{
		{name: "native", login: protocol.Login{User: "native", Password: "secret", Database: "d"}},
		{name: "native, TLS", login: protocol.Login{User: "native", Password: "secret"}, tls: true},
		{name: "TLS required and used", login: protocol.Login{User: "old", Password: "secret"}, tls: true},
		{name: "TLS required and not used", login: protocol.Login{User: "old", Password: "secret"}, code: 1045},
		{name: "no password", login: protocol.Login{User: "empty"}},
		{name: "ed25519", login: protocol.Login{User: "ed", Password: "secret", Database: "d"}},
		{name: "ed25519, wrong", login: protocol.Login{User: "ed", Password: "Secret"}, code: 1045},
		{name: "wrong password", login: protocol.Login{User: "native", Password: "no"}, code: 1045},
		{name: "no such user", login: protocol.Login{User: "nobody", Password: "no"}, code: 1045},
		{name: "no such database", login: protocol.Login{User: "native", Password: "secret", Database: "no"}, code: 1044},
	} {
		t.Run(c.name, func(t *testing.T) {
			if c.tls {
				c.login.Upgrade = insecureTLS
			}
			conn, err := link(t, "tcp", s.Address(), c.login)
			var refusal *protocol.ServerError
			if c.code != 0 {
				if !errors.As(err, &refusal) || refusal.Code != c.code {
					t.Fatalf("error %v, want server error %d", err, c.code)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if !conn.Greeting.MariaDB() {
				t.Errorf("version %q is not one of MariaDB", conn.Greeting.Version)
			}
			if err := conn.Exec(t.Context(), "SELECT 1; SELECT 2, 3"); err != nil {
				t.Error(err)
			}
			if err := conn.Quit(t.Context()); err != nil {
				t.Error(err)
			}
		})
	}
}

func TestConnectionLimit(t *testing.T) {
	s := mariadbtest.Start(t, mariadbtest.Options{Args: []string{"--max-connections=10"}})
	var refusal *protocol.ServerError
	for range 12 {
		if _, err := link(t, "unix", s.Socket, protocol.Login{User: mariadbtest.Root}); err != nil {
			if !errors.As(err, &refusal) || refusal.Code != 1040 {
				t.Fatalf("error %v, want server error 1040", err)
			}
			return
		}
	}
	t.Error("12 connections at a server that allows 10")
}

func TestTLSMissing(t *testing.T) {
	s := mariadbtest.Start(t, mariadbtest.Options{})
	_, err := link(t, "tcp", s.Address(), protocol.Login{User: mariadbtest.Root, Upgrade: insecureTLS})
	if err == nil {
		t.Error("a server without TLS was logged in at with TLS")
	}
}

func TestExecIsRefused(t *testing.T) {
	s := mariadbtest.Start(t, mariadbtest.Options{})
	conn, err := link(t, "unix", s.Socket, protocol.Login{User: mariadbtest.Root, Secure: true})
	if err != nil {
		t.Fatal(err)
	}
	var refusal *protocol.ServerError
	for _, query := range []string{"SELEC 1", "SELECT 1; SELEC 1", "CREATE DATABASE mysql"} {
		if err := conn.Exec(t.Context(), query); !errors.As(err, &refusal) || refusal.State == "" {
			t.Errorf("%s: error %v, want a server's error with a state", query, err)
		}
	}
	if _, err := conn.Prepare(t.Context(), "SELECT ? FROM nowhere.nothing"); !errors.As(err, &refusal) {
		t.Errorf("error %v, want a server's error", err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	if err := conn.Exec(ctx, "SELECT SLEEP(20)"); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("error %v, want the deadline", err)
	}
}
