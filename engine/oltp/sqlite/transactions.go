package sqlite

import (
	"bytes"
	"strconv"

	"bakeoff/engine/oltp/tpcc"
)

// newOrder places an order (clause 2.4.2).
func (s *session) newOrder(tx *tpcc.Tx) (tpcc.Outcome, error) {
	w, d, c := int64(tx.Warehouse), int64(tx.District), int64(tx.Customer)
	var order, tax, discount int64
	found, err := s.nextOrder.bind(w, d).one(func() { order, tax = s.nextOrder.int(0), s.nextOrder.int(1) })
	if err != nil || !found {
		return 0, orMissing(err, "district", w, d)
	}
	found, err = s.buyer.bind(w, d, c).one(func() {
		discount, tax = s.buyer.int(0), tax+s.buyer.int(1)
		s.screen.name = first(s.buyer.text(2))
	})
	if err != nil || !found {
		return 0, orMissing(err, "customer", w, d, c)
	}
	local := int64(0)
	if tx.AllLocal {
		local = 1
	}
	if err := s.insertOrder.bind(order, d, w, c, int64(tx.LineCount), local).run(); err != nil {
		return 0, err
	}
	if err := s.insertNewOrder.bind(order, d, w).run(); err != nil {
		return 0, err
	}
	total := int64(0)
	for i := range tx.Lines[:tx.LineCount] {
		amount, found, err := s.line(tx, order, i)
		if err != nil {
			return 0, err
		}
		if !found {
			return tpcc.RolledBack, nil
		}
		total += amount
	}
	s.screen.amount = total * (10_000 - discount) / 10_000 * (10_000 + tax) / 10_000
	return tpcc.Committed, nil
}

func first(b []byte) byte {
	if len(b) == 0 {
		return 0
	}
	return b[0]
}

// orMissing is an error, or the lack of a row where there is none.
func orMissing(err error, what string, keys ...int64) error {
	if err != nil {
		return err
	}
	return missing(what, keys...)
}

// line takes an order's line from the stock; it is not found where there is no
// such item, as the inputs want it.
func (s *session) line(tx *tpcc.Tx, order int64, i int) (amount int64, found bool, err error) {
	l := &tx.Lines[i]
	w, d, item, supply, quantity := int64(tx.Warehouse), int64(tx.District), int64(l.Item), int64(l.Supply), int64(l.Quantity)
	original := false
	found, err = s.item.bind(item).one(func() {
		amount = s.item.int(0) * quantity
		s.screen.name = first(s.item.text(1))
		original = bytes.Contains(s.item.text(2), []byte("ORIGINAL"))
	})
	switch {
	case err != nil:
		return 0, false, err
	case !found && tx.Rollback && l.Item == tpcc.UnusedItem:
		return 0, false, nil
	case !found:
		return 0, false, missing("item", item)
	}
	stock := s.takeStock[tx.District-1]
	if s.profile == tpcc.Spec {
		remote := int64(0)
		if supply != w {
			remote = 1
		}
		stock.bindInt(4, remote)
	}
	found, err = stock.bind(supply, item, quantity).one(func() {
		s.insertLine.bindText(9, stock.text(1))
		s.screen.brand = original && bytes.Contains(stock.text(2), []byte("ORIGINAL"))
	})
	if err != nil || !found {
		return 0, false, orMissing(err, "stock", supply, item)
	}
	return amount, true, s.insertLine.bind(order, d, w, int64(i+1), item, supply, quantity, amount).run()
}

// payment takes a customer's payment (clause 2.5.2).
func (s *session) payment(tx *tpcc.Tx) error {
	w, d, amount := int64(tx.Warehouse), int64(tx.District), int64(tx.Amount)
	cw, cd := int64(tx.CustomerWarehouse), int64(tx.CustomerDistrict)
	found, err := s.payWarehouse.bind(w, amount).one(func() { s.text = append(s.text[:0], s.payWarehouse.text(0)...) })
	if err != nil || !found {
		return orMissing(err, "warehouse", w)
	}
	found, err = s.payDistrict.bind(w, d, amount).one(func() {
		s.text = append(append(s.text, "    "...), s.payDistrict.text(0)...) // clause 2.5.2.2
	})
	if err != nil || !found {
		return orMissing(err, "district", w, d)
	}
	s.insertHistory.bindText(7, s.text)
	c, err := s.chosen(cw, cd, tx)
	if err != nil {
		return err
	}
	s.text = s.text[:0]
	for _, v := range [...]int64{c, cd, cw, d, w, amount} {
		s.text = append(strconv.AppendInt(s.text, v, 10), ' ')
	}
	s.payCustomer.bindText(5, s.text)
	found, err = s.payCustomer.bind(cw, cd, c, amount).one(func() {
		s.screen.balance, s.screen.name = s.payCustomer.int(0), first(s.payCustomer.text(3))
	})
	if err != nil || !found {
		return orMissing(err, "customer", cw, cd, c)
	}
	return s.insertHistory.bind(c, cd, cw, d, w, amount).run()
}

// chosen returns the customer's number: the one given, or the middle one of those
// of the name, rounded up, by first name (clause 2.5.2.2).
func (s *session) chosen(w, d int64, tx *tpcc.Tx) (int64, error) {
	if tx.Customer != 0 {
		return int64(tx.Customer), nil
	}
	s.text = tpcc.AppendLastName(s.text[:0], int(tx.LastName))
	s.byName.bind(w, d).bindText(3, s.text)
	defer s.byName.reset()
	s.ids = s.ids[:0]
	for {
		row, err := s.byName.step()
		if err != nil {
			return 0, err
		}
		if !row {
			break
		}
		s.ids = append(s.ids, s.byName.int(0))
	}
	if len(s.ids) == 0 {
		return 0, missing("customer of the last name number", w, d, int64(tx.LastName))
	}
	return s.ids[(len(s.ids)-1)/2], nil
}

// delivery delivers the oldest order of each district (clause 2.7.4). A district
// without one is left out.
func (s *session) delivery(tx *tpcc.Tx) error {
	w := int64(tx.Warehouse)
	for d := int64(1); d <= tpcc.Districts; d++ {
		var order, customer, total int64
		found, err := s.oldest.bind(w, d).one(func() { order = s.oldest.int(0) })
		if err != nil {
			return err
		}
		if !found {
			continue
		}
		if err := s.dropNewOrder.bind(w, d, order).run(); err != nil {
			return err
		}
		found, err = s.carry.bind(w, d, order, int64(tx.Carrier)).one(func() { customer = s.carry.int(0) })
		if err != nil || !found {
			return orMissing(err, "order", w, d, order)
		}
		if err := s.deliverLines.bind(w, d, order).run(); err != nil {
			return err
		}
		if _, err := s.lineTotal.bind(w, d, order).one(func() { total = s.lineTotal.int(0) }); err != nil {
			return err
		}
		if err := s.credit.bind(w, d, customer, total).run(); err != nil {
			return err
		}
	}
	return nil
}

// orderStatus shows a customer's last order (clause 2.6.2).
func (s *session) orderStatus(tx *tpcc.Tx) error {
	w, d := int64(tx.Warehouse), int64(tx.District)
	c, err := s.chosen(w, d, tx)
	if err != nil {
		return err
	}
	found, err := s.customer.bind(w, d, c).one(func() { s.screen.balance, s.screen.name = s.customer.int(0), first(s.customer.text(3)) })
	if err != nil || !found {
		return orMissing(err, "customer", w, d, c)
	}
	order := int64(0)
	found, err = s.lastOrder.bind(w, d, c).one(func() { order = s.lastOrder.int(0) })
	if err != nil || !found {
		return orMissing(err, "order of the customer", w, d, c)
	}
	s.lines.bind(w, d, order)
	defer s.lines.reset()
	for s.screen.rows = 0; ; s.screen.rows++ {
		row, err := s.lines.step()
		if err != nil || !row {
			return err
		}
		s.screen.amount = s.lines.int(3)
	}
}

// stockLevel counts the items of the last twenty orders that run low (clause 2.8.2).
func (s *session) stockLevel(tx *tpcc.Tx) error {
	w, d := int64(tx.Warehouse), int64(tx.District)
	next := int64(0)
	found, err := s.currentOrder.bind(w, d).one(func() { next = s.currentOrder.int(0) })
	if err != nil || !found {
		return orMissing(err, "district", w, d)
	}
	_, err = s.lowStock.bind(w, d, next, int64(tx.Threshold)).one(func() { s.screen.rows = s.lowStock.int(0) })
	return err
}
