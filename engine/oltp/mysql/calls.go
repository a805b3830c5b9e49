package mysql

import (
	"errors"
	"fmt"
	"strconv"

	"bakeoff/engine/oltp"
	"bakeoff/engine/oltp/mysql/protocol"
	"bakeoff/engine/oltp/tpcc"
)

const (
	clientSQL      = oltp.ClientSQL
	hammerDBSchema = oltp.HammerDBSchema
)

// calls has a transaction done by one call of a procedure.
type calls struct {
	perRow bool
	order  int64 // number of the last New-Order's order; -1 where it rolled back
}

func (*calls) session() []setting { return sessionSettings() }

// statements are in the order of the kinds.
func (*calls) statements() []string {
	all := make([]string, tpcc.Kinds)
	for k, parameters := range [tpcc.Kinds]string{
		tpcc.NewOrder: "?, ?, ?, ?, ?, ?", tpcc.Payment: "?, ?, ?, ?, ?, ?, ?", tpcc.Delivery: "?, ?",
		tpcc.OrderStatus: "?, ?, ?, ?", tpcc.StockLevel: "?, ?, ?",
	} {
		all[k] = fmt.Sprintf("CALL %s(%s)", routineName(tpcc.Kind(k)), parameters)
	}
	return all
}

func (s *calls) round(c *conversation, n int) tpcc.Outcome {
	tx := c.tx
	if n > 0 {
		return orderOutcome(c, s.order)
	}
	s.order = 0
	a := c.execute(int(tx.Kind))
	a.Int32(tx.Warehouse)
	switch tx.Kind {
	case tpcc.NewOrder:
		a.Int32(int32(tx.District))
		a.Int32(tx.Customer)
		a.Int32(int32(tx.LineCount))
		a.Int32(oneIf(tx.AllLocal))
		if s.perRow {
			c.text = appendFixedLines(c.text[:0], tx)
		} else {
			c.text = appendJSONLines(c.text[:0], tx)
		}
		a.Text(c.text)
	case tpcc.Payment:
		a.Int32(int32(tx.District))
		a.Int32(tx.CustomerWarehouse)
		a.Int32(int32(tx.CustomerDistrict))
		c.customer(&a)
		c.text = appendDecimal(c.text[:0], int64(tx.Amount), 2)
		a.Text(c.text)
	case tpcc.Delivery:
		a.Int32(int32(tx.Carrier))
	case tpcc.OrderStatus:
		a.Int32(int32(tx.District))
		c.customer(&a)
	case tpcc.StockLevel:
		a.Int32(int32(tx.District))
		a.Int32(int32(tx.Threshold))
	}
	c.add(&a)
	return tpcc.Committed
}

// customer adds two arguments: a number, and a name or NULL.
func (c *conversation) customer(a *protocol.Arguments) {
	a.Int32(c.tx.Customer)
	if c.tx.Customer != 0 {
		a.Null()
		return
	}
	c.text = tpcc.AppendLastName(c.text[:0], int(c.tx.LastName))
	a.Text(c.text)
}

// row reads the order's number. The rest of what the procedures answer is for a
// terminal's screen.
func (s *calls) row(c *conversation, _, result int, r *protocol.Row) {
	if c.tx.Kind == tpcc.NewOrder && result == 0 {
		s.order, _ = r.Int()
	}
}

var (
	errNoAnswer     = errors.New("the procedure did not answer with the number of the order")
	errItemNotFound = errors.New("an item of the order was not found: the database is not loaded whole")
)

// orderOutcome is how a transaction ended that nothing went wrong with. Of a
// New-Order, order is the number: 0 where none was told, below where it rolled back.
func orderOutcome(c *conversation, order int64) tpcc.Outcome {
	switch {
	case c.tx.Kind != tpcc.NewOrder || order > 0:
		return tpcc.Committed
	case order == 0:
		c.fail(errNoAnswer, 0)
	case !c.tx.Rollback:
		c.fail(errItemNotFound, 0)
	}
	return tpcc.RolledBack
}

func oneIf(b bool) int32 {
	if b {
		return 1
	}
	return 0
}

// appendJSONLines appends the lines of an order as an array of arrays: item,
// supplying warehouse and quantity.
func appendJSONLines(b []byte, tx *tpcc.Tx) []byte {
	mark := byte('[')
	for i := range tx.LineCount {
		l := &tx.Lines[i]
		b = append(b, mark, '[')
		b = strconv.AppendInt(b, int64(l.Item), 10)
		b = strconv.AppendInt(append(b, ','), int64(l.Supply), 10)
		b = strconv.AppendInt(append(b, ','), int64(l.Quantity), 10)
		b = append(b, ']')
		mark = ','
	}
	return append(b, ']')
}

// appendFixedLines appends the lines of an order with 15 digits each: 6 of the
// item, 7 of the supplying warehouse, 2 of the quantity.
func appendFixedLines(b []byte, tx *tpcc.Tx) []byte {
	for i := range tx.LineCount {
		l := &tx.Lines[i]
		b = appendDigits(b, l.Item, 6)
		b = appendDigits(b, l.Supply, 7)
		b = appendDigits(b, int32(l.Quantity), 2)
	}
	return b
}

func appendDigits(b []byte, v int32, digits int) []byte {
	at := len(b)
	for range digits {
		b = append(b, '0')
	}
	for i := len(b) - 1; i >= at; i-- {
		b[i] = '0' + byte(v%10)
		v /= 10
	}
	return b
}
