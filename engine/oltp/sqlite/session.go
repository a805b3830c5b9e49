package sqlite

import (
	"context"
	"errors"
	"fmt"

	"bakeoff/engine/oltp"
	"bakeoff/engine/oltp/tpcc"
)

// session is the connection that makes the transactions.
type session struct {
	conn *conn
	*statements
	profile tpcc.Profile

	ids    []int64
	text   []byte
	screen screen
}

// screen is what a terminal would show of a transaction: what the statements
// read is taken, as a client takes it.
type screen struct {
	amount, balance, rows int64
	brand                 bool
	name                  byte
}

func (s *session) prepare(p tpcc.Profile) error {
	if s.statements != nil {
		return nil
	}
	all, err := prepareAll(s.conn, p)
	if err != nil {
		return fmt.Errorf("preparing the transactions: %w", err)
	}
	s.statements, s.profile = all, p
	return nil
}

func (s *session) close() {
	if s.statements != nil {
		s.statements.finalize(s.profile)
	}
	s.conn.close()
}

// Connect adds a user.
func (d *database) Connect(ctx context.Context, _ int) (oltp.Client, error) {
	if err := d.take(ctx); err != nil {
		return nil, err
	}
	defer d.give()
	d.admin.mu.Lock()
	defer d.admin.mu.Unlock()
	if err := d.open(false); err != nil {
		return nil, err
	}
	if err := d.work.prepare(d.Rules.Profile); err != nil {
		return nil, err
	}
	return client{d}, nil
}

// take waits for the seat.
func (d *database) take(ctx context.Context) error {
	select {
	case d.seat <- struct{}{}:
		return nil
	default:
	}
	began := d.Clock.Now()
	select {
	case d.seat <- struct{}{}:
		d.waited.Add(d.Clock.Now() - began)
		return nil
	case <-ctx.Done():
		return fmt.Errorf("waiting for the connection, which users share: %w", context.Cause(ctx))
	}
}

func (d *database) give() { <-d.seat }

// client is one user.
type client struct{ d *database }

// Close has nothing to do: the connection is everybody's.
func (client) Close() error { return nil }

// Run does one transaction.
func (c client) Run(ctx context.Context, tx *tpcc.Tx) (tpcc.Outcome, error) {
	if err := c.d.take(ctx); err != nil {
		return tpcc.Broken, err
	}
	defer c.d.give()
	s := c.d.work
	if s == nil || s.statements == nil {
		return tpcc.Broken, errors.New("the database was closed")
	}
	ended, err := s.transaction(tx)
	if err != nil {
		return outcome(err), fmt.Errorf("%s: %w", tx.Kind, err)
	}
	if ended == tpcc.RolledBack {
		c.d.rollbacks.Add(1)
	} else {
		c.d.commits.Add(1)
	}
	return ended, nil
}

// transaction does a transaction and leaves none open.
func (s *session) transaction(tx *tpcc.Tx) (tpcc.Outcome, error) {
	begin := s.write
	if tx.Kind == tpcc.OrderStatus || tx.Kind == tpcc.StockLevel {
		begin = s.begin
	}
	if err := begin.run(); err != nil {
		return 0, fmt.Errorf("beginning it: %w", err)
	}
	var err error
	ended := tpcc.Committed
	switch tx.Kind {
	case tpcc.NewOrder:
		ended, err = s.newOrder(tx)
	case tpcc.Payment:
		err = s.payment(tx)
	case tpcc.Delivery:
		err = s.delivery(tx)
	case tpcc.OrderStatus:
		err = s.orderStatus(tx)
	case tpcc.StockLevel:
		err = s.stockLevel(tx)
	}
	if err == nil && ended == tpcc.Committed {
		if err = s.commit.run(); err == nil {
			return ended, nil
		}
		err = fmt.Errorf("committing it: %w", err)
	}
	// SQLite rolls back by itself after some errors (sqlite.org/lang_transaction.html).
	if undone := s.rollback.run(); undone != nil && !is(undone, 1) {
		err = errors.Join(err, fmt.Errorf("rolling it back: %w", undone))
	}
	return ended, err
}

// missing is what a row is that the initial data has.
func missing(what string, keys ...int64) error {
	return fmt.Errorf("found no %s %v: the database is not what was loaded", what, keys)
}
