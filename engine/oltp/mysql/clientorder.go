package mysql

import (
	"bakeoff/engine/oltp/mysql/protocol"
	"bakeoff/engine/oltp/tpcc"
)

// The first two commands of a New-Order; those of its lines follow.
const firstLine = 2

func (s *client) newOrder(c *conversation, n int) tpcc.Outcome {
	lines := int(c.tx.LineCount)
	switch n {
	case 0:
		s.readOrder(c)
	case 1:
		switch {
		case s.next == 0:
			c.fail(errNoCustomer, 0)
		case s.perRow && s.items < lines:
			c.query("ROLLBACK")
		case s.perRow && s.stocks < lines:
			c.fail(errItemNotFound, 0)
		default:
			s.writeOrder(c)
		}
	case 2:
		if s.perRow && s.items < lines {
			return s.rolledBack(c)
		}
		// The last command of the round before put the lines in.
		if s.items = lines; !s.perRow {
			s.items = int(c.affected[s.inserted])
		}
		if s.items < lines {
			c.query("ROLLBACK")
		} else {
			c.query("COMMIT")
		}
	case 3:
		if s.items < lines {
			return s.rolledBack(c)
		}
	}
	return tpcc.Committed
}

func (s *client) rolledBack(c *conversation) tpcc.Outcome {
	if !c.tx.Rollback {
		c.fail(errItemNotFound, 0)
	}
	return tpcc.RolledBack
}

func (s *client) readOrder(c *conversation) {
	tx := c.tx
	w, d := tx.Warehouse, int32(tx.District)
	s.next, s.items, s.stocks = 0, 0, 0
	c.ints(stDistrict, w, d)
	c.ints(stCustomerTax, w, w, d, tx.Customer)
	if !s.perRow {
		return
	}
	for _, l := range tx.Lines[:tx.LineCount] {
		c.ints(stItem, l.Item)
	}
	for _, l := range tx.Lines[:tx.LineCount] {
		c.ints(stStock, d, l.Supply, l.Item)
	}
}

func (s *client) writeOrder(c *conversation) {
	tx := c.tx
	w, d, o := tx.Warehouse, int32(tx.District), int32(s.next)
	c.ints(stNextOrder, o+1, w, d)
	c.ints(stInsertOrder, o, d, w, tx.Customer, int32(tx.LineCount), oneIf(tx.AllLocal))
	c.ints(stInsertNewOrder, o, d, w)
	if !s.perRow {
		s.writeLines(c)
		return
	}
	for i := range int(tx.LineCount) {
		s.writeLine(c, i)
	}
}

// writeLines works on all lines at once.
func (s *client) writeLines(c *conversation) {
	c.text = appendJSONLines(c.text[:0], c.tx)
	a := c.execute(stUpdateStocks)
	a.Text(c.text)
	if s.profile.Spec {
		a.Int32(c.tx.Warehouse)
	}
	c.add(&a)
	a = c.execute(stInsertLines)
	a.Int32(int32(s.next))
	a.Int32(int32(c.tx.District))
	a.Int32(c.tx.Warehouse)
	if !s.profile.Spec {
		var number [16]byte
		for _, v := range [...]int64{s.wTax, s.dTax, s.discount} {
			a.Text(appendDecimal(number[:0], v, 4))
		}
	}
	a.Int32(int32(c.tx.District))
	a.Text(c.text)
	s.inserted = c.sent
	c.add(&a)
}

func (s *client) writeLine(c *conversation, i int) {
	tx, l := c.tx, c.tx.Lines[i]
	q := int32(l.Quantity)
	if s.profile.Spec {
		c.ints(stUpdateStock, q, q, q, q, oneIf(l.Supply != tx.Warehouse), l.Supply, l.Item)
	} else {
		c.ints(stUpdateStock, q, q, q, l.Supply, l.Item)
	}
	a := c.execute(stInsertLine)
	for _, v := range [...]int32{int32(s.next), int32(tx.District), tx.Warehouse, int32(i + 1), l.Item, l.Supply, q} {
		a.Int32(v)
	}
	c.cents(&a, s.amount(i, int64(l.Quantity)))
	a.Text(s.dists[i][:])
	c.add(&a)
}

// amount is ol_amount in hundredths, as profile.AmountOf has it.
func (s *client) amount(i int, quantity int64) int64 {
	amount := quantity * s.prices[i]
	if s.profile.Spec {
		return amount
	}
	const one = 10_000
	return (amount*(one+s.wTax+s.dTax)*(one-s.discount) + one*one/2) / (one * one)
}

// row keeps what later rounds need.
func (s *client) row(c *conversation, command, _ int, r *protocol.Row) {
	n := c.n - 1
	switch c.tx.Kind {
	case tpcc.NewOrder:
		if n == 0 {
			s.orderRow(c, command, r)
		}
	case tpcc.Payment:
		switch {
		case n == 0 && command == 2:
			s.names = append(s.names, r.Bytes()...)
			s.names = append(s.names, "    "...)
			s.names = append(s.names, r.Bytes()...)
		case n == 0 && command == 3:
			s.sameName(r)
		}
	case tpcc.OrderStatus:
		if c.tx.Customer == 0 && n == 0 {
			s.sameName(r)
		} else if command == 1 {
			s.next, _ = r.Int()
		}
	case tpcc.StockLevel:
		if n == 0 {
			s.next, _ = r.Int()
		}
	case tpcc.Delivery:
		s.deliveryRow(n, command, r)
	}
}

func (s *client) sameName(r *protocol.Row) {
	id, _ := r.Int()
	s.ids = append(s.ids, int32(id))
}

func (s *client) orderRow(c *conversation, command int, r *protocol.Row) {
	lines := int(c.tx.LineCount)
	switch {
	case command == 0:
		s.next, _ = r.Int()
		s.dTax = unscaled(r.Bytes(), 4)
	case command == 1:
		s.discount, s.wTax = unscaled(r.Bytes(), 4), unscaled(r.Bytes(), 4)
	case command < firstLine+lines:
		s.prices[command-firstLine] = unscaled(r.Bytes(), 2)
		s.items++
	default:
		copy(s.dists[command-firstLine-lines][:], r.Bytes())
		s.stocks++
	}
}

func (s *client) deliveryRow(n, command int, r *protocol.Row) {
	switch n {
	case 0:
		s.oldest[command], _ = r.Int()
	case 1:
		const commands = 5 // a district that has something to deliver
		d := s.district(command / commands)
		switch command % commands {
		case 1:
			id, _ := r.Int()
			s.customers[d] = int32(id)
		case 4:
			s.totals[d] = unscaled(r.Bytes(), 2)
		}
	}
}

// district is the i-th one that has something to deliver.
func (s *client) district(i int) int {
	for d, o := range s.oldest {
		if o == 0 {
			continue
		}
		if i == 0 {
			return d
		}
		i--
	}
	return 0
}
