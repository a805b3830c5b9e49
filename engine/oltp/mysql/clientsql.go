package mysql

import (
	"errors"

	"bakeoff/engine/oltp/mysql/protocol"
	"bakeoff/engine/oltp/tpcc"
)

// The statements that the client prepares, as client.statements lists them.
const (
	stDistrict = iota
	stCustomerTax
	stItem
	stStock
	stNextOrder
	stInsertOrder
	stInsertNewOrder
	stUpdateStock
	stInsertLine
	stUpdateStocks
	stInsertLines
	stWarehousePaid
	stDistrictPaid
	stAddresses
	stByName
	stCustomerPays
	stHistory
	stCustomer
	stBalance
	stLastOrder
	stLines
	stOldest
	stDeleteNewOrder
	stOrderCustomer
	stCarrier
	stDelivered
	stTotal
	stCredit
	stNext
	stStockLevel
	stCount
)

const linesTable = `JSON_TABLE(?, '$[*]' COLUMNS (number FOR ORDINALITY, item INT PATH '$[0]', supply INT PATH '$[1]', quantity SMALLINT PATH '$[2]')) AS l`

const distInfo = "ELT(?, s_dist_01, s_dist_02, s_dist_03, s_dist_04, s_dist_05, s_dist_06, s_dist_07, s_dist_08, s_dist_09, s_dist_10)"

// clientStatements are the statements that depend on no profile; those that do are
// filled in by client.statements.
func clientStatements() [stCount]string {
	return [stCount]string{
		stDistrict:       "SELECT d_next_o_id, d_tax FROM district WHERE d_w_id = ? AND d_id = ? FOR UPDATE",
		stCustomerTax:    "SELECT c_discount, w_tax, c_last, c_credit FROM warehouse, customer WHERE w_id = ? AND c_w_id = ? AND c_d_id = ? AND c_id = ?",
		stItem:           "SELECT i_price, i_name, i_data FROM item WHERE i_id = ?",
		stStock:          "SELECT " + distInfo + ", s_quantity, s_data FROM stock WHERE s_w_id = ? AND s_i_id = ? FOR UPDATE",
		stNextOrder:      "UPDATE district SET d_next_o_id = ? WHERE d_w_id = ? AND d_id = ?",
		stInsertOrder:    "INSERT INTO orders (o_id, o_d_id, o_w_id, o_c_id, o_entry_d, o_ol_cnt, o_all_local) VALUES (?, ?, ?, ?, NOW(), ?, ?)",
		stInsertNewOrder: "INSERT INTO new_order (no_o_id, no_d_id, no_w_id) VALUES (?, ?, ?)",
		stInsertLine: "INSERT INTO order_line (ol_o_id, ol_d_id, ol_w_id, ol_number, ol_i_id, ol_supply_w_id, ol_quantity, ol_amount, ol_dist_info) " +
			"VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)",
		stWarehousePaid: "UPDATE warehouse SET w_ytd = w_ytd + ? WHERE w_id = ?",
		stDistrictPaid:  "UPDATE district SET d_ytd = d_ytd + ? WHERE d_w_id = ? AND d_id = ?",
		stAddresses: "SELECT w_name, d_name, w_street_1, w_street_2, w_city, w_state, w_zip, d_street_1, d_street_2, d_city, d_state, d_zip " +
			"FROM warehouse, district WHERE w_id = ? AND d_w_id = ? AND d_id = ?",
		stByName:  "SELECT c_id FROM customer WHERE c_w_id = ? AND c_d_id = ? AND c_last = ? ORDER BY c_first",
		stHistory: "INSERT INTO history (h_c_id, h_c_d_id, h_c_w_id, h_d_id, h_w_id, h_date, h_amount, h_data) VALUES (?, ?, ?, ?, ?, NOW(), ?, ?)",
		stCustomer: "SELECT c_first, c_middle, c_last, c_street_1, c_street_2, c_city, c_state, c_zip, c_phone, c_since, c_credit, c_credit_lim, " +
			"c_discount, c_balance, IF(c_credit = 'BC', LEFT(c_data, 200), '') FROM customer WHERE c_w_id = ? AND c_d_id = ? AND c_id = ?",
		stBalance:        "SELECT c_first, c_middle, c_last, c_balance FROM customer WHERE c_w_id = ? AND c_d_id = ? AND c_id = ?",
		stLastOrder:      "SELECT o_id, o_entry_d, o_carrier_id FROM orders WHERE o_w_id = ? AND o_d_id = ? AND o_c_id = ? ORDER BY o_id DESC LIMIT 1",
		stLines:          "SELECT ol_i_id, ol_supply_w_id, ol_quantity, ol_amount, ol_delivery_d FROM order_line WHERE ol_w_id = ? AND ol_d_id = ? AND ol_o_id = ?",
		stOldest:         "SELECT no_o_id FROM new_order WHERE no_w_id = ? AND no_d_id = ? ORDER BY no_o_id LIMIT 1 FOR UPDATE",
		stDeleteNewOrder: "DELETE FROM new_order WHERE no_w_id = ? AND no_d_id = ? AND no_o_id = ?",
		stOrderCustomer:  "SELECT o_c_id FROM orders WHERE o_w_id = ? AND o_d_id = ? AND o_id = ?",
		stCarrier:        "UPDATE orders SET o_carrier_id = ? WHERE o_w_id = ? AND o_d_id = ? AND o_id = ?",
		stDelivered:      "UPDATE order_line SET ol_delivery_d = NOW() WHERE ol_w_id = ? AND ol_d_id = ? AND ol_o_id = ?",
		stTotal:          "SELECT SUM(ol_amount) FROM order_line WHERE ol_w_id = ? AND ol_d_id = ? AND ol_o_id = ?",
		stNext:           "SELECT d_next_o_id FROM district WHERE d_w_id = ? AND d_id = ?",
		stStockLevel: "SELECT COUNT(DISTINCT s_i_id) FROM order_line STRAIGHT_JOIN stock ON s_w_id = ? AND s_i_id = ol_i_id " +
			"WHERE ol_w_id = ? AND ol_d_id = ? AND ol_o_id >= ? AND ol_o_id < ? AND s_quantity < ?",
	}
}

// client has the statements of a transaction come from the client. Those of a
// round are sent together; COMMIT is never among them, so that it follows only
// what is known to have been done.
type client struct {
	profile profile
	perRow  bool

	next          int64                // number of the order
	dTax, wTax    int64                // times 10^4
	discount      int64                // likewise
	inserted      int                  // the command that puts all lines in
	items, stocks int                  // lines for which one was found
	prices        [tpcc.MaxLines]int64 // hundredths
	dists         [tpcc.MaxLines][24]byte
	ids           []int32 // of customers of a name
	customer      int32
	names         []byte // of warehouse and district
	oldest        [tpcc.Districts]int64
	customers     [tpcc.Districts]int32
	totals        [tpcc.Districts]int64 // hundredths
}

func newClientSQL(p profile, perRow bool) *client { return &client{profile: p, perRow: perRow} }

// session turns autocommit off: when a statement ends the transaction with an
// error, the statements sent after it begin another one, which is rolled back.
func (*client) session() []setting {
	return sessionSettings(setting{sql: "SET SESSION autocommit = 0"})
}

func (s *client) statements() []string {
	all := clientStatements()
	more, paid, counted := "", "", ""
	if s.profile.Spec {
		more = ", s_ytd = s_ytd + ?, s_order_cnt = s_order_cnt + 1, s_remote_cnt = s_remote_cnt + ?"
		paid = ", c_ytd_payment = c_ytd_payment + ?, c_payment_cnt = c_payment_cnt + 1"
		counted = ", c_delivery_cnt = c_delivery_cnt + 1"
	}
	all[stUpdateStock] = "UPDATE stock SET s_quantity = " + s.profile.Quantity("?") + more + " WHERE s_w_id = ? AND s_i_id = ?"
	all[stCustomerPays] = "UPDATE customer SET c_balance = c_balance - ?" + paid +
		", c_data = IF(c_credit = 'BC', LEFT(CONCAT_WS(' ', c_id, c_d_id, c_w_id, ?, ?, ?, c_data), 500), c_data) WHERE c_w_id = ? AND c_d_id = ? AND c_id = ?"
	all[stCredit] = "UPDATE customer SET c_balance = c_balance + ?" + counted + " WHERE c_w_id = ? AND c_d_id = ? AND c_id = ?"
	more = ""
	if s.profile.Spec {
		more = ", s_ytd = s_ytd + l.quantity, s_order_cnt = s_order_cnt + 1, s_remote_cnt = s_remote_cnt + (l.supply <> ?)"
	}
	all[stUpdateStocks] = "UPDATE " + linesTable + " STRAIGHT_JOIN stock ON s_w_id = l.supply AND s_i_id = l.item SET s_quantity = " + s.profile.Quantity("l.quantity") + more
	all[stInsertLines] = "INSERT INTO order_line (ol_o_id, ol_d_id, ol_w_id, ol_number, ol_i_id, ol_supply_w_id, ol_quantity, ol_amount, ol_dist_info) " +
		"SELECT ?, ?, ?, l.number, l.item, l.supply, l.quantity, " + s.profile.Amount("l.quantity", "?", "?", "?") + ", " + distInfo +
		" FROM " + linesTable + " STRAIGHT_JOIN item ON i_id = l.item STRAIGHT_JOIN stock ON s_w_id = l.supply AND s_i_id = l.item"
	return all[:]
}

var errNoCustomer = errors.New("no such customer: the database is not loaded whole")

func (s *client) round(c *conversation, n int) tpcc.Outcome {
	switch c.tx.Kind {
	case tpcc.NewOrder:
		return s.newOrder(c, n)
	case tpcc.Payment:
		s.payment(c, n)
	case tpcc.Delivery:
		s.delivery(c, n)
	case tpcc.OrderStatus:
		s.orderStatus(c, n)
	case tpcc.StockLevel:
		s.stockLevel(c, n)
	}
	return tpcc.Committed
}

// ints adds a statement whose arguments are whole numbers.
func (c *conversation) ints(statement int, arguments ...int32) {
	a := c.execute(statement)
	for _, v := range arguments {
		a.Int32(v)
	}
	c.add(&a)
}

func (c *conversation) cents(a *protocol.Arguments, hundredths int64) {
	c.text = appendDecimal(c.text[:0], hundredths, 2)
	a.Text(c.text)
}

func (s *client) payment(c *conversation, n int) {
	tx := c.tx
	w, d := tx.Warehouse, int32(tx.District)
	switch n {
	case 0:
		a := c.execute(stWarehousePaid)
		c.cents(&a, int64(tx.Amount))
		a.Int32(w)
		c.add(&a)
		a = c.execute(stDistrictPaid)
		c.cents(&a, int64(tx.Amount))
		a.Int32(w)
		a.Int32(d)
		c.add(&a)
		c.ints(stAddresses, w, w, d)
		s.names = s.names[:0]
		s.choose(c, tx.CustomerWarehouse, int32(tx.CustomerDistrict))
	case 1:
		if s.chosen(c) {
			s.pay(c)
		}
	case 2:
		c.query("COMMIT")
	}
}

// choose begins to choose the customer, by number or by name.
func (s *client) choose(c *conversation, warehouse, district int32) {
	s.customer, s.ids = c.tx.Customer, s.ids[:0]
	if s.customer == 0 {
		a := c.execute(stByName)
		a.Int32(warehouse)
		a.Int32(district)
		c.text = tpcc.AppendLastName(c.text[:0], int(c.tx.LastName))
		a.Text(c.text)
		c.add(&a)
	}
}

// chosen ends the choice: of several of a name, the one in the middle.
func (s *client) chosen(c *conversation) bool {
	if s.customer == 0 && len(s.ids) > 0 {
		s.customer = s.ids[(len(s.ids)-1)/2]
	}
	if s.customer == 0 {
		c.fail(errNoCustomer, 0)
	}
	return s.customer != 0
}

func (s *client) pay(c *conversation) {
	tx := c.tx
	cw, cd := tx.CustomerWarehouse, int32(tx.CustomerDistrict)
	a := c.execute(stCustomerPays)
	c.cents(&a, int64(tx.Amount))
	if s.profile.Spec {
		c.cents(&a, int64(tx.Amount))
	}
	a.Int32(int32(tx.District))
	a.Int32(tx.Warehouse)
	c.cents(&a, int64(tx.Amount))
	a.Int32(cw)
	a.Int32(cd)
	a.Int32(s.customer)
	c.add(&a)
	a = c.execute(stHistory)
	for _, v := range [...]int32{s.customer, cd, cw, int32(tx.District), tx.Warehouse} {
		a.Int32(v)
	}
	c.cents(&a, int64(tx.Amount))
	a.Text(s.names)
	c.add(&a)
	c.ints(stCustomer, cw, cd, s.customer)
}

func (s *client) orderStatus(c *conversation, n int) {
	w, d := c.tx.Warehouse, int32(c.tx.District)
	if n == 0 {
		s.choose(c, w, d)
		if c.sent > 0 {
			return
		}
		c.n, n = 1, 1 // nothing to ask: it is chosen by number
	}
	switch n {
	case 1:
		if s.chosen(c) {
			s.next = 0
			c.ints(stBalance, w, d, s.customer)
			c.ints(stLastOrder, w, d, s.customer)
		}
	case 2:
		c.ints(stLines, w, d, int32(s.next))
	case 3:
		c.query("COMMIT")
	}
}

func (s *client) stockLevel(c *conversation, n int) {
	w, d := c.tx.Warehouse, int32(c.tx.District)
	switch n {
	case 0:
		s.next = 0
		c.ints(stNext, w, d)
	case 1:
		c.ints(stStockLevel, w, w, d, int32(s.next)-20, int32(s.next), int32(c.tx.Threshold))
	case 2:
		c.query("COMMIT")
	}
}

func (s *client) delivery(c *conversation, n int) {
	w := c.tx.Warehouse
	switch n {
	case 0:
		for d := range int32(tpcc.Districts) {
			s.oldest[d], s.customers[d], s.totals[d] = 0, 0, 0
			c.ints(stOldest, w, d+1)
		}
	case 1:
		for d := range int32(tpcc.Districts) {
			if o := int32(s.oldest[d]); o != 0 {
				c.ints(stDeleteNewOrder, w, d+1, o)
				c.ints(stOrderCustomer, w, d+1, o)
				c.ints(stCarrier, int32(c.tx.Carrier), w, d+1, o)
				c.ints(stDelivered, w, d+1, o)
				c.ints(stTotal, w, d+1, o)
			}
		}
		if c.sent == 0 {
			c.query("COMMIT") // nothing to deliver
			c.n = 3
		}
	case 2:
		for d := range int32(tpcc.Districts) {
			if s.oldest[d] != 0 {
				a := c.execute(stCredit)
				c.cents(&a, s.totals[d])
				a.Int32(w)
				a.Int32(d + 1)
				a.Int32(s.customers[d])
				c.add(&a)
			}
		}
	case 3:
		c.query("COMMIT")
	}
}

// unscaled reads a decimal number and returns it times 10^scale.
func unscaled(b []byte, scale int) int64 {
	v, after, negative := int64(0), -1, false
	for _, c := range b {
		switch {
		case c == '-':
			negative = true
		case c == '.':
			after = 0
		case c >= '0' && c <= '9' && after < scale:
			v = 10*v + int64(c-'0')
			if after >= 0 {
				after++
			}
		}
	}
	for after = max(after, 0); after < scale; after++ {
		v *= 10
	}
	if negative {
		return -v
	}
	return v
}
