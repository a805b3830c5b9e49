package postgres

import (
	"fmt"

	"bakeoff/engine/oltp/tpcc"
)

// calls does each transaction by one call of one of our own routines.
type calls struct{}

func (calls) statements() map[string]string {
	return map[string]string{
		"n": "SELECT bakeoff_new_order($1, $2, $3, $4, $5, $6)",
		"p": "SELECT bakeoff_payment($1, $2, $3, $4, $5, $6, $7)",
		"d": "SELECT bakeoff_delivery($1, $2)",
		"o": "SELECT bakeoff_order_status($1, $2, $3, $4)",
		"s": "SELECT bakeoff_stock_level($1, $2, $3)",
	}
}

func (calls) round(out []byte, t *talk) []byte {
	if t.number > 0 {
		return out
	}
	x := t.tx
	var start int
	switch x.Kind {
	case tpcc.NewOrder:
		n := int(x.LineCount)
		out, start = bind(out, "n", 6)
		out = int4(int4(int4(out, x.Warehouse), int32(x.District)), x.Customer)
		out = int4Array(out, n, func(i int) int32 { return x.Lines[i].Item })
		out = int4Array(out, n, func(i int) int32 { return x.Lines[i].Supply })
		out = int4Array(out, n, func(i int) int32 { return int32(x.Lines[i].Quantity) })
	case tpcc.Payment:
		out, start = bind(out, "p", 7)
		out = int4(int4(out, x.Warehouse), int32(x.District))
		out = int4(int4(out, x.CustomerWarehouse), int32(x.CustomerDistrict))
		out = int4(nameOf(int4(out, x.Customer), x), x.Amount)
	case tpcc.Delivery:
		out, start = bind(out, "d", 2)
		out = int4(int4(out, x.Warehouse), int32(x.Carrier))
	case tpcc.OrderStatus:
		out, start = bind(out, "o", 4)
		out = nameOf(int4(int4(int4(out, x.Warehouse), int32(x.District)), x.Customer), x)
	case tpcc.StockLevel:
		out, start = bind(out, "s", 3)
		out = int4(int4(int4(out, x.Warehouse), int32(x.District)), int32(x.Threshold))
	}
	return appendSync(execute(out, start))
}

// nameOf is the customer's last name; absent where there is a number.
func nameOf(out []byte, x *tpcc.Tx) []byte {
	if x.Customer != 0 {
		return null(out)
	}
	return lastName(out, func(b []byte) []byte { return tpcc.AppendLastName(b, int(x.LastName)) })
}

// row takes a routine's result: it is there, and that is all that is asked.
func (calls) row(t *talk, _ int, columns [][]byte) error {
	if t.rows > 1 || len(columns) != 1 || columns[0] == nil {
		return fmt.Errorf("%s: found a row of %d columns, expected one result", t.tx.Kind, len(columns))
	}
	return nil
}

// hammerdb calls the routines of a schema that HammerDB built, which draw the
// lines of an order themselves.
type hammerdb struct{ warehouses int32 }

func (hammerdb) statements() map[string]string {
	return map[string]string{
		"n": "SELECT neword($1::int, $2::int, $3::int, $4::int, $5::int, 0)",
		"p": "SELECT payment($1::int, $2::int, $3::int, $4::int, $5::int, $6::int, $7::int::numeric, $8::text::varchar, '0', 0)",
		"d": "SELECT delivery($1::int, $2::int)",
		"o": `SELECT * FROM ostat($1::int, $2::int, $3::int, $4::int, $5::text::varchar) AS (ol_i_id integer, ol_supply_w_id integer, ol_quantity smallint,
ol_amount numeric, ol_delivery_d timestamp with time zone, out_os_c_id integer, out_os_c_last varchar, os_c_first varchar, os_c_middle varchar,
os_c_balance numeric, os_o_id integer, os_entdate timestamp, os_o_carrier_id integer)`,
		"s": "SELECT slev($1::int, $2::int, $3::int)",
	}
}

func (h hammerdb) round(out []byte, t *talk) []byte {
	if t.number > 0 {
		return out
	}
	x := t.tx
	var start int
	byName := int32(0)
	if x.Customer == 0 {
		byName = 1
	}
	switch x.Kind {
	case tpcc.NewOrder:
		out, start = bind(out, "n", 5)
		out = int4(int4(int4(out, x.Warehouse), h.warehouses), int32(x.District))
		out = int4(int4(out, x.Customer), int32(x.LineCount))
	case tpcc.Payment:
		out, start = bind(out, "p", 8)
		out = int4(int4(out, x.Warehouse), int32(x.District))
		out = int4(int4(out, x.CustomerWarehouse), int32(x.CustomerDistrict))
		out = h.name(int4(int4(int4(out, max(x.Customer, 1)), byName), x.Amount/100), x)
	case tpcc.Delivery:
		out, start = bind(out, "d", 2)
		out = int4(int4(out, x.Warehouse), int32(x.Carrier))
	case tpcc.OrderStatus:
		out, start = bind(out, "o", 5)
		out = int4(int4(out, x.Warehouse), int32(x.District))
		out = h.name(int4(int4(out, max(x.Customer, 1)), byName), x)
	case tpcc.StockLevel:
		out, start = bind(out, "s", 3)
		out = int4(int4(int4(out, x.Warehouse), int32(x.District)), int32(x.Threshold))
	}
	return appendSync(execute(out, start))
}

// name is the customer's last name; empty where there is a number.
func (hammerdb) name(out []byte, x *tpcc.Tx) []byte {
	if x.Customer != 0 {
		return text(out, nil)
	}
	return nameOf(out, x)
}

func (hammerdb) row(*talk, int, [][]byte) error { return nil }
