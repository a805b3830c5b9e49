package mysql

import (
	"strconv"

	"bakeoff/engine/oltp/mysql/protocol"
	"bakeoff/engine/oltp/tpcc"
)

// variableCalls has procedures take and give session variables, in the round trips
// that HammerDB's client makes: variables set, the call, variables read.
//
// They are HammerDB's own, in a schema that it built: those draw the lines of an
// order themselves, and do not say that an order was rolled back for its unused
// item. Such a one counts as committed here, and not in the sum of d_next_o_id. Or
// they are ours, which do the same work with the client's inputs.
type variableCalls struct {
	hammerDB   bool
	warehouses int // of HammerDB's: how many there are
	names      [tpcc.Kinds]string
	order      int64 // number of the last New-Order's order; -1 where it rolled back
}

func newVariableCalls(hammerDB bool, warehouses int) *variableCalls {
	s := &variableCalls{hammerDB: hammerDB, warehouses: warehouses, names: hammerDBNames()}
	if !hammerDB {
		for k := range tpcc.Kinds {
			s.names[k] = routineName(k)
		}
	}
	return s
}

// hammerDBNames are the names of HammerDB's procedures.
func hammerDBNames() [tpcc.Kinds]string {
	return [tpcc.Kinds]string{tpcc.NewOrder: "NEWORD", tpcc.Payment: "PAYMENT", tpcc.Delivery: "DELIVERY", tpcc.OrderStatus: "OSTAT", tpcc.StockLevel: "SLEV"}
}

// session has HammerDB's autocommit.
func (*variableCalls) session() []setting {
	return sessionSettings(setting{sql: "SET SESSION autocommit = 0"})
}

func (*variableCalls) statements() []string { return nil }

const (
	orderOut   = "@disc,@last,@credit,@dtax,@wtax,@next_o_id"
	paymentOut = "@p_w_street_1,@p_w_street_2,@p_w_city,@p_w_state,@p_w_zip,@p_d_street_1,@p_d_street_2,@p_d_city,@p_d_state,@p_d_zip," +
		"@p_c_first,@p_c_middle,@p_c_street_1,@p_c_street_2,@p_c_city,@p_c_state,@p_c_zip,@p_c_phone,@p_c_since,@p_c_credit,@p_c_credit_lim," +
		"@p_c_discount,@p_c_balance,@p_c_data"
	statusOut = "@os_c_first,@os_c_middle,@os_c_balance,@os_o_id,@os_entdate,@os_o_carrier_id"
)

// row reads the order's number. The other values are for a terminal's screen.
func (s *variableCalls) row(c *conversation, _, _ int, r *protocol.Row) {
	if c.tx.Kind == tpcc.NewOrder {
		r.Skip(orderColumn)
		s.order, _ = r.Int()
	}
}

// orderColumn is where the order's number stands in orderOut.
const orderColumn = 5

func (s *variableCalls) round(c *conversation, n int) tpcc.Outcome {
	// Delivery has one round trip, Stock-Level sets no variables.
	switch c.tx.Kind {
	case tpcc.Delivery, tpcc.StockLevel:
		n++
	}
	b := c.text[:0]
	switch {
	case n == 0:
		s.order = 0
		b = s.set(b, c.tx)
	case n == 1:
		b = s.call(b, c.tx)
	case n == 2:
		b = results(b, c.tx)
	}
	if c.text = b; len(b) > 0 {
		c.queryBytes(b)
	} else if !s.hammerDB {
		return orderOutcome(c, s.order)
	}
	return tpcc.Committed
}

// appendInts appends numbers, with a comma before each.
func appendInts(b []byte, numbers ...int32) []byte {
	for _, v := range numbers {
		b = strconv.AppendInt(append(b, ','), int64(v), 10)
	}
	return b
}

// name appends the customer's last name, or nothing where there is a number.
func name(b []byte, tx *tpcc.Tx) []byte {
	if tx.Customer == 0 {
		b = tpcc.AppendLastName(b, int(tx.LastName))
	}
	return b
}

func byName(tx *tpcc.Tx) int32 { return oneIf(tx.Customer == 0) }

func (s *variableCalls) set(b []byte, tx *tpcc.Tx) []byte {
	switch tx.Kind {
	case tpcc.NewOrder:
		return append(b, "set @next_o_id = 0"...)
	case tpcc.Payment:
		b = strconv.AppendInt(append(b, "set @p_c_id = "...), int64(tx.Customer), 10)
		b = name(append(b, ", @p_c_last = '"...), tx)
		return append(b, "', @p_c_credit = 0, @p_c_balance = 0"...)
	case tpcc.OrderStatus:
		b = strconv.AppendInt(append(b, "set @os_c_id = "...), int64(tx.Customer), 10)
		b = name(append(b, ", @os_c_last = '"...), tx)
		return append(b, '\'')
	}
	return b
}

func (s *variableCalls) call(b []byte, tx *tpcc.Tx) []byte {
	w, d := tx.Warehouse, int32(tx.District)
	b = append(append(append(b, "CALL "...), s.names[tx.Kind]...), '(')
	b = strconv.AppendInt(b, int64(w), 10)
	switch tx.Kind {
	case tpcc.NewOrder:
		if s.hammerDB {
			b = appendInts(b, int32(s.warehouses), d, tx.Customer, int32(tx.LineCount))
		} else {
			b = appendInts(b, d, tx.Customer, int32(tx.LineCount), oneIf(tx.AllLocal))
			b = append(appendFixedLines(append(b, ",'"...), tx), '\'')
		}
		return append(b, ","+orderOut+",NOW())"...)
	case tpcc.Payment:
		b = appendInts(b, d, tx.CustomerWarehouse, int32(tx.CustomerDistrict))
		b = appendInts(append(b, ",@p_c_id"...), byName(tx))
		b = appendDecimal(append(b, ','), int64(tx.Amount), 2)
		return append(b, ",@p_c_last,"+paymentOut+",NOW())"...)
	case tpcc.Delivery:
		return append(appendInts(b, int32(tx.Carrier)), ",NOW())"...)
	case tpcc.OrderStatus:
		b = appendInts(append(appendInts(b, d), ",@os_c_id"...), byName(tx))
		return append(b, ",@os_c_last,"+statusOut+")"...)
	}
	return append(appendInts(b, d, int32(tx.Threshold)), ",@stock_count)"...)
}

func results(b []byte, tx *tpcc.Tx) []byte {
	switch tx.Kind {
	case tpcc.NewOrder:
		return append(b, "select "+orderOut...)
	case tpcc.Payment:
		return append(b, "select @p_c_id,@p_c_last,"+paymentOut...)
	case tpcc.OrderStatus:
		return append(b, "select @os_c_id,@os_c_last,"+statusOut...)
	case tpcc.StockLevel:
		return append(b, "select @stock_count"...)
	}
	return b
}
