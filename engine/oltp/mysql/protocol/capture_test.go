package protocol_test

import (
	"context"
	"flag"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"bakeoff/engine/oltp/mysql/protocol"
	"bakeoff/test/mariadbtest"
)

var capture = flag.Bool("capture", false, "write a server's answers to testdata/*.bin; run -update afterwards")

// exchange sends a command and returns the bytes of the answer and the values
// of its rows.
func exchange(t *testing.T, socket net.Conn, command []byte, form protocol.Form) (answer []byte, rows []string) {
	t.Helper()
	if err := socket.SetDeadline(time.Now().Add(20 * time.Second)); err != nil {
		t.Fatal(err)
	}
	if _, err := socket.Write(command); err != nil {
		t.Fatal(err)
	}
	s := protocol.Stream{NoEOF: true}
	s.Expect(form)
	for {
		event, err := s.Next()
		switch {
		case err != nil:
			t.Fatal(err)
		case event == protocol.RowEvent:
			var values []string
			r := s.Row()
			for range s.Columns() {
				values = append(values, string(r.Bytes()))
			}
			rows = append(rows, strings.Join(values, " "))
		case event == protocol.Refused:
			return answer, append(rows, s.Refusal().Error())
		case event == protocol.Done:
			return answer, rows
		case event == protocol.NeedMore:
			b := make([]byte, 777)
			n, err := socket.Read(b)
			if err != nil {
				t.Fatal(err)
			}
			answer = append(answer, b[:n]...)
			s.Put(b[:n])
		}
	}
}

// TestCapture asks a real server and, with -capture, keeps its answers for the
// tests and the fuzzing of the decoder.
func TestCapture(t *testing.T) {
	server := mariadbtest.Start(t, mariadbtest.Options{})
	server.SQL(`CREATE DATABASE d; USE d;
		CREATE TABLE v (a TINYINT, b SMALLINT UNSIGNED, c INT, d BIGINT, e DECIMAL(12,2), f DOUBLE, g DATETIME(6), h TIME, i VARCHAR(300), j BLOB, k YEAR, l BIGINT UNSIGNED);
		INSERT INTO v VALUES (-1, 65535, -70000, 9000000000, -12.34, 1.5, '2024-02-03 04:05:06.789', '-12:34:56', REPEAT('x', 300), x'00ff', 2024, 18446744073709551615),
			(NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL),
			(127, 0, 0, -1, 0, 0, '2024-02-03', '00:00:00', '', '', 0, 0);
		DELIMITER //
		CREATE PROCEDURE two(n INT, s VARCHAR(20)) BEGIN SELECT n, s; SELECT s; END//
		CREATE PROCEDURE fails(n INT) BEGIN SELECT n; SIGNAL SQLSTATE '45000' SET MESSAGE_TEXT = 'as asked'; END//`)
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	var d net.Dialer
	socket, err := d.DialContext(ctx, "unix", server.Socket)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = socket.Close() }()
	conn, err := protocol.Connect(ctx, socket, protocol.Login{User: mariadbtest.Root, Database: "d", Secure: true})
	if err != nil {
		t.Fatal(err)
	}
	if !conn.NoEOF() {
		t.Fatal("the server does not know CLIENT_DEPRECATE_EOF")
	}
	prepared := func(query string, arguments func(*protocol.Arguments)) []byte {
		statement, err := conn.Prepare(ctx, query)
		if err != nil {
			t.Fatal(err)
		}
		a := protocol.Execute(nil, statement)
		arguments(&a)
		b, err := a.Packet()
		if err != nil {
			t.Fatal(err)
		}
		return b
	}
	bound := func(a *protocol.Arguments) { a.Int(-5); a.Text([]byte("text")) }
	for _, c := range []struct {
		name    string
		command []byte
		want    []string // nil where the values are told by the golden file alone
	}{
		{"text-values", protocol.AppendQueryString(nil, "SELECT * FROM v"), nil},
		{"binary-values", prepared("SELECT a, b, c, d, e, g, h, i, j, k, l FROM v", func(*protocol.Arguments) {}), nil},
		{"text-call", protocol.AppendQuery(nil, []byte("CALL two(5, 'text')")), []string{"5 text", "text"}},
		{"binary-call", prepared("CALL two(?, ?)", bound), nil},
		{"binary-null", prepared("CALL two(?, ?)", func(a *protocol.Arguments) { a.Int32(1); a.Null() }), nil},
		{"text-fails", protocol.AppendQueryString(nil, "CALL fails(3)"), []string{"3", "server error 1644 (45000): as asked"}},
		{"text-update", protocol.AppendQueryString(nil, "UPDATE v SET i = 'changed' WHERE a IS NOT NULL"), nil},
		{"text-several", protocol.AppendQueryString(nil, "SELECT 1 a, 'x' b; SET @x = 2; SELECT @x, NULL"), []string{"1 x", "2 "}},
	} {
		form := protocol.Text
		if strings.HasPrefix(c.name, "binary") {
			form = protocol.Binary
		}
		answer, rows := exchange(t, socket, c.command, form)
		if c.want != nil {
			if d := cmp.Diff(c.want, rows); d != "" {
				t.Errorf("%s: %s", c.name, d)
			}
		}
		file := filepath.Join("testdata", c.name+".bin")
		if *capture {
			if err := os.WriteFile(file, answer, 0o644); err != nil {
				t.Fatal(err)
			}
		}
		kept, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		// Another version may describe a column otherwise; what must not differ is the size's order.
		if len(answer) < len(kept)/2 || len(answer) > 2*len(kept) {
			t.Errorf("%s: an answer of %d bytes, captured were %d", c.name, len(answer), len(kept))
		}
	}
}
