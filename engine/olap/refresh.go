package olap

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"strconv"

	"bakeoff/engine/olap/population"
	"bakeoff/engine/olap/tpch"
)

// refreshBatch is how many orders a transaction of a refresh function inserts
// or deletes, with their line items.
const refreshBatch = 100

// change runs a refresh function and returns how many orders it inserted or deleted.
func (st *stream) change(ctx context.Context, p step) (int, error) {
	n := p.refresh.Orders()
	for first := int64(1); first <= n; first += refreshBatch {
		count := min(refreshBatch, n-first+1)
		var err error
		if p.kind == kindRefresh1 {
			err = st.insert(ctx, p.refresh, first, count)
		} else {
			err = st.remove(ctx, p.refresh, first, count)
		}
		if err != nil {
			return 0, fmt.Errorf("refresh function %d: %w", p.kind-kindRefresh1+1, err)
		}
	}
	return int(n), nil
}

func (st *stream) insert(ctx context.Context, r population.Refresh, first, count int64) error {
	return inTransaction(ctx, st.conn, func() error {
		for _, t := range []population.Table{population.Orders, population.LineItem} {
			if err := InsertRows(ctx, st.conn, st.session.db.Dialect(), t, r.Insert(t, first, count)); err != nil {
				return err
			}
		}
		return nil
	})
}

// statementBytes is about how long a statement with many rows gets.
const statementBytes = 64 << 10

// InsertRows inserts rows by INSERT statements of many rows each.
func InsertRows(ctx context.Context, e Execer, d tpch.Dialect, t population.Table, rows Rows) error {
	l := &tpch.Literals{Dialect: d}
	for more := true; more; {
		more = rows.Next(l)
		if l.Rows == 0 || more && len(l.Buffer) < statementBytes {
			continue
		}
		done, err := e.ExecContext(ctx, "insert into "+t.String()+" values "+string(l.Buffer))
		if err != nil {
			return fmt.Errorf("inserting into %s: %w", t, err)
		}
		if n, err := done.RowsAffected(); err == nil && n != int64(l.Rows) {
			return fmt.Errorf("inserting into %s: the database took %d of %d rows", t, n, l.Rows)
		}
		l.Reset()
	}
	return nil
}

func (st *stream) remove(ctx context.Context, r population.Refresh, first, count int64) error {
	return inTransaction(ctx, st.conn, func() error {
		return removeOrders(ctx, st.conn, count, func(i int64) int64 { return r.DeletedKey(first + i) })
	})
}

// removeOrders deletes count orders and their line items.
func removeOrders(ctx context.Context, e Execer, count int64, key func(i int64) int64) error {
	list := []byte{'('}
	for i := range count {
		list = append(strconv.AppendInt(list, key(i), 10), ',')
	}
	list[len(list)-1] = ')'
	if _, err := e.ExecContext(ctx, "delete from lineitem where l_orderkey in "+string(list)); err != nil {
		return fmt.Errorf("deleting line items: %w", err)
	}
	done, err := e.ExecContext(ctx, "delete from orders where o_orderkey in "+string(list))
	if err != nil {
		return fmt.Errorf("deleting orders: %w", err)
	}
	if n, err := done.RowsAffected(); err == nil && n != count {
		return fmt.Errorf("deleting orders: %d of %d were there", n, count)
	}
	return nil
}

// allowRefreshes keeps a copy where the target can, and marks the data set as
// refreshed before anything is changed, so that whatever happens it is restored
// before it is used again.
func (s *session) allowRefreshes(ctx context.Context, fingerprint string) error {
	n := s.c.refreshes()
	if n == 0 {
		return nil
	}
	s.words = s.c.population.Words() // or the first refresh function would make them, and that be measured
	if err := s.save(ctx, fingerprint); err != nil {
		return fmt.Errorf("keeping a copy of the data set: %w", err)
	}
	conn, err := s.db.Connect(ctx)
	if err != nil {
		return err
	}
	defer conn.Close()
	return inTransaction(ctx, conn, func() error {
		return setMark(ctx, conn, markState, stateRefreshed+":"+strconv.Itoa(n))
	})
}

// save keeps a copy for the next trials, unless there is one or none is wanted.
func (s *session) save(ctx context.Context, fingerprint string) error {
	if s.c.restore == "undo" || s.c.restore == "load" || s.own != nil {
		return nil // the data of an embedded database go with the session
	}
	if _, err := s.db.Saving(ctx); err != nil {
		if s.c.restore == "copy" {
			return err
		}
		return nil
	}
	saved, err := s.db.Saved(ctx)
	if err != nil || saved == fingerprint {
		return err
	}
	begin := s.c.spec.Clock.Now()
	defer s.took("save_time", begin)
	return s.db.Save(ctx, fingerprint)
}

// restore brings back the state before the refreshes.
func (s *session) restore(ctx context.Context, progress func(float64)) error {
	if s.c.restore == "load" {
		return errors.Join(s.begin(ctx), s.fill(ctx, progress))
	}
	if s.c.restore != "undo" {
		if _, err := s.db.Saving(ctx); err != nil && s.c.restore == "copy" {
			return err
		}
		if saved, err := s.db.Saved(ctx); err == nil && saved != "" {
			return s.db.Restore(ctx)
		}
		if s.c.restore == "copy" {
			return errors.New("there is no copy; restore: undo or load need none")
		}
	}
	return s.undo(ctx)
}

// undo takes out what refreshes have inserted, and puts back what they have
// deleted, a batch of orders in a transaction.
func (s *session) undo(ctx context.Context) error {
	conn, err := s.db.Connect(ctx)
	if err != nil {
		return err
	}
	defer conn.Close()
	m, err := readMark(ctx, conn)
	if err != nil {
		return err
	}
	var pairs int
	if _, err := fmt.Sscanf(m[markState], stateRefreshed+":%d", &pairs); err != nil {
		return fmt.Errorf("table %s: found state %q, expected %s:N", markTable, m[markState], stateRefreshed)
	}
	for n := 1; n <= pairs; n++ {
		r := s.c.population.Refresh(n)
		for first := int64(1); first <= r.Orders(); first += refreshBatch {
			count := min(refreshBatch, r.Orders()-first+1)
			if err := inTransaction(ctx, conn, func() error { return s.undoBatch(ctx, conn, r, first, count) }); err != nil {
				return err
			}
		}
	}
	return inTransaction(ctx, conn, func() error { return setMark(ctx, conn, markState, stateClean) })
}

// undoBatch undoes a batch of orders, whether it was done or not.
func (s *session) undoBatch(ctx context.Context, conn *sql.Conn, r population.Refresh, first, count int64) error {
	for _, t := range []struct {
		table  population.Table
		column string
	}{{population.LineItem, "l_orderkey"}, {population.Orders, "o_orderkey"}} {
		list := []byte{'('}
		for i := range count {
			list = append(strconv.AppendInt(list, r.InsertedKey(first+i), 10), ',')
			list = append(strconv.AppendInt(list, r.DeletedKey(first+i), 10), ',')
		}
		list[len(list)-1] = ')'
		if _, err := conn.ExecContext(ctx, fmt.Sprintf("delete from %s where %s in %s", t.table, t.column, list)); err != nil {
			return fmt.Errorf("deleting from %s: %w", t.table, err)
		}
		if err := InsertRows(ctx, conn, s.db.Dialect(), t.table, s.c.population.Stream(t.table, r.DeletedOrder(first), count)); err != nil {
			return err
		}
	}
	return nil
}
