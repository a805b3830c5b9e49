package sqldb

import (
	"context"
	"database/sql"
	"errors"
	"fmt"

	"bakeoff/engine/oltp/tpcc"
)

// Run does one transaction and leaves none open. The outcome is Committed or
// RolledBack; what an error means is the target's to say.
func (s *Script) Run(ctx context.Context, in *tpcc.Tx) (tpcc.Outcome, error) {
	tx, err := s.conn.BeginTx(ctx, nil)
	if err != nil {
		return tpcc.Committed, fmt.Errorf("beginning the transaction: %w", err)
	}
	ended := tpcc.Committed
	switch in.Kind {
	case tpcc.NewOrder:
		ended, err = s.newOrder(ctx, in)
	case tpcc.Payment:
		err = s.payment(ctx, in)
	case tpcc.Delivery:
		err = s.delivery(ctx, in)
	case tpcc.OrderStatus:
		err = s.orderStatus(ctx, in)
	case tpcc.StockLevel:
		err = s.stockLevel(ctx, in)
	}
	if err == nil && ended == tpcc.Committed {
		if err := tx.Commit(); err != nil {
			return ended, fmt.Errorf("committing the transaction: %w", err)
		}
		return ended, nil
	}
	if undone := tx.Rollback(); undone != nil && !errors.Is(undone, sql.ErrTxDone) {
		err = errors.Join(err, fmt.Errorf("rolling the transaction back: %w", undone))
	}
	return ended, err
}

// exec runs a statement that gives no rows.
func (s *Script) exec(ctx context.Context, id statement, args ...any) error {
	_, err := s.prepared[id].ExecContext(ctx, args...)
	return err
}

// text is a text as the driver is to send it.
func (s *Script) text(v string) any {
	if s.dialect.Text == nil {
		return v
	}
	return s.dialect.Text(v)
}

// row reads the first row into to; it is not found where there is none.
func (s *Script) row(ctx context.Context, id statement, to []any, args ...any) (found bool, err error) {
	err = s.prepared[id].QueryRowContext(ctx, args...).Scan(to...)
	if errors.Is(err, sql.ErrNoRows) {
		return false, nil
	}
	return err == nil, err
}

// must is row where a row must be there.
func (s *Script) must(ctx context.Context, what string, id statement, to []any, args ...any) error {
	found, err := s.row(ctx, id, to, args...)
	if err == nil && !found {
		err = fmt.Errorf("found no %s %v: the database is not what was loaded", what, args)
	}
	return err
}

// newOrder places an order (clause 2.4.2).
func (s *Script) newOrder(ctx context.Context, in *tpcc.Tx) (tpcc.Outcome, error) {
	w, d := int64(in.Warehouse), int64(in.District)
	var order int64
	var tax, discount, name, standing, warehouseTax string
	if err := s.must(ctx, "district", nextOrder, []any{&order, &tax}, w, d); err != nil {
		return 0, err
	}
	if err := s.exec(ctx, bumpOrder, w, d); err != nil {
		return 0, err
	}
	if err := s.must(ctx, "customer", buyer, []any{&discount, &name, &standing, &warehouseTax}, w, d, int64(in.Customer)); err != nil {
		return 0, err
	}
	local := int64(0)
	if in.AllLocal {
		local = 1
	}
	if err := s.exec(ctx, insertOrder, order, d, w, int64(in.Customer), int64(in.LineCount), local); err != nil {
		return 0, err
	}
	if err := s.exec(ctx, insertNewOrder, order, d, w); err != nil {
		return 0, err
	}
	for i := range in.Lines[:in.LineCount] {
		found, err := s.line(ctx, in, order, i)
		if err != nil {
			return 0, err
		}
		if !found {
			return tpcc.RolledBack, nil
		}
	}
	return tpcc.Committed, nil
}

// line takes an order's line from the stock; it is not found where the inputs ask
// for an item that there is not.
func (s *Script) line(ctx context.Context, in *tpcc.Tx, order int64, i int) (found bool, err error) {
	l := in.Lines[i]
	w, d, supply, quantity := int64(in.Warehouse), int64(in.District), int64(l.Supply), int64(l.Quantity)
	var price, name, itemData, info, stockData string
	if in.Rollback && l.Item == tpcc.UnusedItem {
		return s.row(ctx, item, []any{&price, &name, &itemData}, int64(l.Item))
	}
	if err := s.must(ctx, "item", item, []any{&price, &name, &itemData}, int64(l.Item)); err != nil {
		return false, err
	}
	var held int64
	if err := s.must(ctx, "stock", stock+statement(in.District-1), []any{&held, &info, &stockData}, supply, int64(l.Item)); err != nil {
		return false, err
	}
	held -= quantity
	if held < 10 { // clause 2.4.2.2
		held += 91
	}
	args := []any{held}
	if s.profile == tpcc.Spec {
		remote := int64(0)
		if supply != w {
			remote = 1
		}
		args = append(args, quantity, remote)
	}
	if err := s.exec(ctx, takeStock, append(args, supply, int64(l.Item))...); err != nil {
		return false, err
	}
	cents, err := tpcc.ParseScaled(price, 2)
	if err != nil {
		return false, fmt.Errorf("price of item %d: %w", l.Item, err)
	}
	return true, s.exec(ctx, insertLine, order, d, w, int64(i+1), int64(l.Item), supply, quantity, cents*quantity, s.text(info))
}

// payment takes a customer's payment (clause 2.5.2).
func (s *Script) payment(ctx context.Context, in *tpcc.Tx) error {
	w, d, cw, cd, amount := int64(in.Warehouse), int64(in.District), int64(in.CustomerWarehouse), int64(in.CustomerDistrict), int64(in.Amount)
	var warehouse, district string
	if err := s.exec(ctx, payWarehouse, amount, w); err != nil {
		return err
	}
	if err := s.must(ctx, "warehouse", warehouseName, shownText(6, &warehouse), w); err != nil {
		return err
	}
	if err := s.exec(ctx, payDistrict, amount, w, d); err != nil {
		return err
	}
	if err := s.must(ctx, "district", districtName, shownText(6, &district), w, d); err != nil {
		return err
	}
	c, err := s.chosen(ctx, cw, cd, in)
	if err != nil {
		return err
	}
	var standing, data string
	if err := s.must(ctx, "customer", payer, shownText(15, &standing, &data), cw, cd, c); err != nil {
		return err
	}
	args := []any{amount}
	if s.profile == tpcc.Spec {
		args = append(args, amount)
	}
	id := pay
	if standing == "BC" {
		data = fmt.Sprintf("%d %d %d %d %d %s %s", c, cd, cw, d, w, Decimal(amount, 2), data)
		id, args = payBad, append(args, s.text(data[:min(len(data), 500)]))
	}
	if err := s.exec(ctx, id, append(args, cw, cd, c)...); err != nil {
		return err
	}
	return s.exec(ctx, insertHistory, c, cd, cw, d, w, amount, s.text(warehouse+"    "+district))
}

// shownText has a query deliver texts, of which the first ones matter.
func shownText(n int, first ...*string) []any {
	all := make([]any, n)
	for i := range all {
		if i < len(first) {
			all[i] = first[i]
			continue
		}
		all[i] = new(sql.NullString)
	}
	return all
}

// chosen returns the customer's number: the one given, or the middle one of those
// of the name, rounded up, by first name (clause 2.5.2.2).
func (s *Script) chosen(ctx context.Context, w, d int64, in *tpcc.Tx) (c int64, err error) {
	if in.Customer != 0 {
		return int64(in.Customer), nil
	}
	name := s.text(tpcc.LastName(int(in.LastName)))
	var n int64
	if err := s.must(ctx, "customers", countName, []any{&n}, w, d, name); err != nil {
		return 0, err
	}
	return c, s.must(ctx, "customer of the name", byName, []any{&c}, w, d, name, max(n-1, 0)/2)
}

// delivery delivers the oldest order of each district (clause 2.7.4). A district
// without one is left out.
func (s *Script) delivery(ctx context.Context, in *tpcc.Tx) error {
	for d := int64(1); d <= tpcc.Districts; d++ {
		if err := s.deliver(ctx, in, d); err != nil {
			return err
		}
	}
	return nil
}

// deliver delivers the oldest order of a district. Another delivery may have taken
// it meanwhile, where the database did not lock what was read.
func (s *Script) deliver(ctx context.Context, in *tpcc.Tx, d int64) error {
	w := int64(in.Warehouse)
	var order sql.NullInt64
	for taken := int64(0); taken == 0; {
		if _, err := s.row(ctx, oldest, []any{&order}, w, d); err != nil || !order.Valid {
			return err
		}
		result, err := s.prepared[dropNewOrder].ExecContext(ctx, w, d, order.Int64)
		if err != nil {
			return err
		}
		if taken, err = result.RowsAffected(); err != nil {
			return err
		}
	}
	var c int64
	if err := s.must(ctx, "order", orderCustomer, []any{&c}, w, d, order.Int64); err != nil {
		return err
	}
	if err := s.exec(ctx, carry, int64(in.Carrier), w, d, order.Int64); err != nil {
		return err
	}
	if err := s.exec(ctx, deliverLines, w, d, order.Int64); err != nil {
		return err
	}
	var total string
	if err := s.must(ctx, "order lines", lineTotal, []any{&total}, w, d, order.Int64); err != nil {
		return err
	}
	cents, err := tpcc.ParseScaled(total, 2)
	if err != nil {
		return fmt.Errorf("total of order %d: %w", order.Int64, err)
	}
	return s.exec(ctx, credit, cents, w, d, c)
}

// orderStatus shows a customer's last order (clause 2.6.2).
func (s *Script) orderStatus(ctx context.Context, in *tpcc.Tx) error {
	w, d := int64(in.Warehouse), int64(in.District)
	c, err := s.chosen(ctx, w, d, in)
	if err != nil {
		return err
	}
	if err := s.must(ctx, "customer", customer, shownText(4), w, d, c); err != nil {
		return err
	}
	var order int64
	if err := s.must(ctx, "order of the customer", lastOrder, []any{&order, new(sql.NullString), new(sql.NullString)}, w, d, c); err != nil {
		return err
	}
	rows, err := s.prepared[lines].QueryContext(ctx, w, d, order)
	if err != nil {
		return err
	}
	defer rows.Close()
	to := shownText(5)
	for rows.Next() {
		if err := rows.Scan(to...); err != nil {
			return err
		}
	}
	return rows.Err()
}

// stockLevel counts the items of the last twenty orders that run low (clause 2.8.2).
func (s *Script) stockLevel(ctx context.Context, in *tpcc.Tx) error {
	w, d := int64(in.Warehouse), int64(in.District)
	var next, low int64
	if err := s.must(ctx, "district", currentOrder, []any{&next}, w, d); err != nil {
		return err
	}
	return s.must(ctx, "count", lowStock, []any{&low}, w, d, next-20, next, int64(in.Threshold))
}
