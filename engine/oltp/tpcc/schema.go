package tpcc

import "fmt"

// Type is a column's type, in neutral terms.
type Type uint8

// The types of columns.
const (
	Int       Type = iota // whole numbers of 32 bits; their sum over a table must not overflow, so that a database whose SUM keeps the type has 64
	Small                 // whole numbers of 16 bits
	Decimal               // Size digits, Scale of them after the point
	Char                  // exactly Size characters
	Text                  // up to Size characters
	Timestamp             // date and time without a zone, seconds suffice
)

// A Column of a table.
type Column struct {
	Name  string
	Type  Type
	Size  int  // characters, or digits of a Decimal
	Scale int  // digits of a Decimal after the point
	Null  bool // may be absent
}

// TableID names a table.
type TableID uint8

// The tables, in the order in which they are loaded.
const (
	Item TableID = iota
	Warehouse
	District
	Customer
	History
	Orders
	NewOrderTable
	OrderLine
	Stock
	TableCount
)

// A Table of the schema. Names and meanings of the columns are those of clause
// 1.3; the table ORDER is called orders, since that is a word of SQL.
type Table struct {
	ID      TableID
	Name    string
	Columns []Column
	Key     []string // primary key, none for history
	Indexes []Index  // further ones, made after the load
}

// An Index beside the primary key.
type Index struct {
	Name    string
	Columns []string
	Unique  bool
}

// String returns the table's name.
func (id TableID) String() string {
	return [TableCount]string{"item", "warehouse", "district", "customer", "history", "orders", "new_order", "order_line", "stock"}[id]
}

func integer(name string) Column { return Column{Name: name, Type: Int} }
func small(name string) Column   { return Column{Name: name, Type: Small} }
func money(name string, digits int) Column {
	return Column{Name: name, Type: Decimal, Size: digits, Scale: 2}
}
func rate(name string) Column { return Column{Name: name, Type: Decimal, Size: 4, Scale: 4} }
func char(name string, n int) Column {
	return Column{Name: name, Type: Char, Size: n}
}
func text(name string, n int) Column {
	return Column{Name: name, Type: Text, Size: n}
}
func moment(name string) Column { return Column{Name: name, Type: Timestamp} }

func nullable(c Column) Column {
	c.Null = true
	return c
}

func address(prefix string) []Column {
	return []Column{
		text(prefix+"_street_1", 20), text(prefix+"_street_2", 20), text(prefix+"_city", 20),
		char(prefix+"_state", 2), char(prefix+"_zip", 9),
	}
}

// Tables returns the schema, a table at the index of its TableID. Both profiles
// have the same one.
func Tables() []Table {
	return []Table{
		{ID: Item, Name: "item", Key: []string{"i_id"},
			Columns: []Column{integer("i_id"), integer("i_im_id"), text("i_name", 24), money("i_price", 5), text("i_data", 50)}},
		{ID: Warehouse, Name: "warehouse", Key: []string{"w_id"},
			Columns: join([]Column{integer("w_id"), text("w_name", 10)}, address("w"), []Column{rate("w_tax"), money("w_ytd", 14)})},
		{ID: District, Name: "district", Key: []string{"d_w_id", "d_id"},
			Columns: join([]Column{small("d_id"), integer("d_w_id"), text("d_name", 10)}, address("d"),
				[]Column{rate("d_tax"), money("d_ytd", 14), integer("d_next_o_id")})},
		{ID: Customer, Name: "customer", Key: []string{"c_w_id", "c_d_id", "c_id"}, Columns: customerColumns(),
			Indexes: []Index{{Name: "customer_by_name", Columns: []string{"c_w_id", "c_d_id", "c_last", "c_first"}}}},
		{ID: History, Name: "history",
			Columns: []Column{integer("h_c_id"), small("h_c_d_id"), integer("h_c_w_id"), small("h_d_id"), integer("h_w_id"),
				moment("h_date"), money("h_amount", 6), text("h_data", 24)}},
		{ID: Orders, Name: "orders", Key: []string{"o_w_id", "o_d_id", "o_id"},
			Columns: []Column{integer("o_id"), small("o_d_id"), integer("o_w_id"), integer("o_c_id"), moment("o_entry_d"),
				nullable(small("o_carrier_id")), small("o_ol_cnt"), small("o_all_local")},
			Indexes: []Index{{Name: "orders_by_customer", Columns: []string{"o_w_id", "o_d_id", "o_c_id", "o_id"}, Unique: true}}},
		{ID: NewOrderTable, Name: "new_order", Key: []string{"no_w_id", "no_d_id", "no_o_id"},
			Columns: []Column{integer("no_o_id"), small("no_d_id"), integer("no_w_id")}},
		{ID: OrderLine, Name: "order_line", Key: []string{"ol_w_id", "ol_d_id", "ol_o_id", "ol_number"},
			Columns: []Column{integer("ol_o_id"), small("ol_d_id"), integer("ol_w_id"), small("ol_number"), integer("ol_i_id"),
				integer("ol_supply_w_id"), nullable(moment("ol_delivery_d")), small("ol_quantity"), money("ol_amount", 6), char("ol_dist_info", 24)}},
		{ID: Stock, Name: "stock", Key: []string{"s_w_id", "s_i_id"}, Columns: stockColumns()},
	}
}

func customerColumns() []Column {
	return join([]Column{integer("c_id"), small("c_d_id"), integer("c_w_id"), text("c_first", 16), char("c_middle", 2), text("c_last", 16)},
		address("c"), []Column{
			char("c_phone", 16), moment("c_since"), char("c_credit", 2), money("c_credit_lim", 14), rate("c_discount"),
			money("c_balance", 14), money("c_ytd_payment", 14), integer("c_payment_cnt"), integer("c_delivery_cnt"), text("c_data", 500),
		})
}

func stockColumns() []Column {
	columns := []Column{integer("s_i_id"), integer("s_w_id"), small("s_quantity")}
	for d := 1; d <= Districts; d++ {
		columns = append(columns, char(fmt.Sprintf("s_dist_%02d", d), 24))
	}
	return append(columns, integer("s_ytd"), integer("s_order_cnt"), integer("s_remote_cnt"), text("s_data", 50))
}

func join(parts ...[]Column) []Column {
	var all []Column
	for _, p := range parts {
		all = append(all, p...)
	}
	return all
}

// Names returns the names of a table's columns, in order.
func (t Table) Names() []string {
	names := make([]string, len(t.Columns))
	for i, c := range t.Columns {
		names[i] = c.Name
	}
	return names
}
