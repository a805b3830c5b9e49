package mysql

import (
	"context"
	"net/url"
	"os"
	"testing"
	"time"

	"bakeoff/engine/oltp"
	"bakeoff/engine/oltp/tpcc"
	"bakeoff/engine/oltp/wire"
	"bakeoff/test/mariadbtest"
)

// configuration is one of a load of the given warehouses on a server's socket.
func configuration(t testing.TB, s *mariadbtest.Server, p tpcc.Profile, warehouses int) oltp.Config {
	t.Helper()
	u, err := url.Parse("mysql://localhost/tpcc?socket=" + url.QueryEscape(s.Socket))
	if err != nil {
		t.Fatal(err)
	}
	return oltp.Config{
		URL: u, User: mariadbtest.Root, Mode: oltp.Procedures, Statements: oltp.AutoStatements, Schema: oltp.OwnSchema,
		Rules:   tpcc.Rules{Profile: p, Warehouses: warehouses, Users: 4, Homes: tpcc.RandomHome, Seed: 1},
		Data:    tpcc.Data{Profile: p, Warehouses: warehouses, Seed: 1},
		Timeout: 30 * time.Second,
	}
}

func open(t testing.TB, c oltp.Config) *database {
	t.Helper()
	d, err := Target{}.Open(c)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		for range 2 {
			if err := d.Close(); err != nil {
				t.Error(err)
			}
		}
	})
	return d.(*database)
}

// fill creates and loads the database, as the engine does.
func fill(t testing.TB, d *database) {
	t.Helper()
	ctx := t.Context()
	if err := d.Create(ctx, tpcc.Tables()); err != nil {
		t.Fatal(err)
	}
	limit := make(chan error, 2)
	chunks := d.Data.Chunks()
	next := make(chan tpcc.Chunk, len(chunks))
	for _, c := range chunks {
		next <- c
	}
	close(next)
	for range cap(limit) {
		go func() {
			for c := range next {
				if err := d.Load(ctx, c); err != nil {
					limit <- err
					return
				}
			}
			limit <- nil
		}()
	}
	for range cap(limit) {
		if err := <-limit; err != nil {
			t.Fatal(err)
		}
	}
	if err := d.Finish(ctx, tpcc.Tables()); err != nil {
		t.Fatal(err)
	}
}

// user is one connected user, driven with blocking calls.
type user struct {
	t    testing.TB
	link wire.Link
	file *os.File
	draw *tpcc.User
}

func connect(t testing.TB, d *database, number int) *user {
	t.Helper()
	link, err := d.Dial(t.Context(), number)
	if err != nil {
		t.Fatal(err)
	}
	u := &user{t: t, link: link, file: os.NewFile(uintptr(link.FD), "socket"), draw: tpcc.NewUser(d.Rules, 0, number)}
	t.Cleanup(func() { _ = u.file.Close() })
	return u
}

func (u *user) send(b []byte) error {
	if u.link.Sealed != nil {
		u.link.Sealed.Plain = append(u.link.Sealed.Plain, b...)
		var err error
		if b, err = u.link.Sealed.Seal(nil); err != nil {
			return err
		}
	}
	_, err := u.file.Write(b)
	return err
}

// run does one transaction.
func (u *user) run(ctx context.Context, tx *tpcc.Tx) (tpcc.Outcome, error) {
	if err := u.send(u.link.Begin(nil, tx)); err != nil {
		return tpcc.Broken, err
	}
	buffer := make([]byte, 4096)
	for ctx.Err() == nil {
		n, err := u.file.Read(buffer)
		if err != nil {
			return tpcc.Broken, err
		}
		pieces := [][]byte{buffer[:n]}
		if u.link.Sealed != nil {
			pieces = nil
			_, err := u.link.Sealed.Open(buffer[:n], nil, func(b []byte) error {
				pieces = append(pieces, append([]byte{}, b...))
				return nil
			})
			if err != nil {
				return tpcc.Broken, err
			}
		}
		for _, piece := range pieces {
			out, result := u.link.Receive(nil, piece)
			if result.Ended {
				return result.Outcome, result.Err
			}
			if len(out) > 0 {
				if err := u.send(out); err != nil {
					return tpcc.Broken, err
				}
			}
		}
	}
	return tpcc.Broken, ctx.Err()
}

// work does so many transactions of the mix and counts outcomes by kind.
func (u *user) work(n int) (counts [tpcc.Kinds][tpcc.Broken + 1]int) {
	u.t.Helper()
	var tx tpcc.Tx
	for range n {
		u.draw.Next(&tx)
		outcome, err := u.run(u.t.Context(), &tx)
		if outcome == tpcc.Refused || outcome == tpcc.Broken {
			u.t.Errorf("%s: outcome %d: %v", tx.Kind, outcome, err)
			if outcome == tpcc.Broken {
				return counts
			}
		}
		counts[tx.Kind][outcome]++
	}
	return counts
}

// consistent checks the conditions and that no order lacks anything.
func consistent(t testing.TB, d *database, initial bool) {
	t.Helper()
	for _, c := range tpcc.Conditions() {
		if !c.Applies(d.Rules.Profile, initial) {
			continue
		}
		rows, err := d.Query(t.Context(), c.Query)
		if err != nil {
			t.Fatalf("condition %d: %v", c.Number, err)
		}
		if rows[0][0] != "0" {
			t.Errorf("condition %d (%s) is violated %s times", c.Number, c.Text, rows[0][0])
		}
	}
}
