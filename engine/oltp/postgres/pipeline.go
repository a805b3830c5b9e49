package postgres

import (
	"errors"
	"fmt"

	"bakeoff/engine/oltp/tpcc"
)

// pipeline does the transactions by statements from the client. Those that need
// nothing from one another go out together, so that a transaction takes one or
// two round trips.
type pipeline struct{ spec bool }

// order is what a New-Order or Payment has read in its first round.
type order struct {
	number   int32 // d_next_o_id
	customer int32 // whose c_id was looked up by name
	ids      [maxNamed]int32
	named    int
	items    int
	stocks   int
	price    [tpcc.MaxLines]int32 // in hundredths, of each line
	quantity [tpcc.MaxLines]int32 // of the stock, changed
	dist     [tpcc.MaxLines][distLength]byte
	names    [2][nameLength]byte // of warehouse and district
	lengths  [2]int
}

const (
	maxNamed   = 3000 // customers of a district with one name, at most
	distLength = 24
	nameLength = 10
)

func (p pipeline) statements() map[string]string {
	more := func(sql string) string { // what only the specification's rules change
		if p.spec {
			return sql
		}
		return ""
	}
	return map[string]string{
		"b":  "BEGIN",
		"e":  "COMMIT",
		"n1": "SELECT c_discount, c_last, c_credit, w_tax FROM customer, warehouse WHERE w_id = $1::int AND c_w_id = $1 AND c_d_id = $2::int AND c_id = $3::int",
		"n2": "UPDATE district SET d_next_o_id = d_next_o_id + 1 WHERE d_w_id = $1::int AND d_id = $2::int RETURNING d_next_o_id - 1, d_tax",
		"n3": "SELECT i_id, (i_price * 100)::int, i_name, i_data FROM item WHERE i_id = ANY ($1::int[])",
		"n4": `SELECT s_w_id, s_i_id, s_quantity, s_data, CASE $3::int WHEN 1 THEN s_dist_01 WHEN 2 THEN s_dist_02 WHEN 3 THEN s_dist_03 WHEN 4 THEN s_dist_04
WHEN 5 THEN s_dist_05 WHEN 6 THEN s_dist_06 WHEN 7 THEN s_dist_07 WHEN 8 THEN s_dist_08 WHEN 9 THEN s_dist_09 ELSE s_dist_10 END
FROM unnest($1::int[], $2::int[]) AS l(w, i) JOIN stock ON s_w_id = w AND s_i_id = i FOR UPDATE OF stock`,
		"n5": "INSERT INTO orders (o_id, o_d_id, o_w_id, o_c_id, o_entry_d, o_ol_cnt, o_all_local) VALUES ($1::int, $2::int, $3::int, $4::int, localtimestamp, $5::int, $6::int)",
		"n6": "INSERT INTO new_order (no_o_id, no_d_id, no_w_id) VALUES ($1::int, $2::int, $3::int)",
		"n7": "UPDATE stock SET s_quantity = q" + more(", s_ytd = s_ytd + y, s_order_cnt = s_order_cnt + 1, s_remote_cnt = s_remote_cnt + (w <> $5::int)::int") +
			" FROM unnest($1::int[], $2::int[], $3::int[], $4::int[]) AS l(w, i, q, y) WHERE s_w_id = w AND s_i_id = i AND $5::int > 0",
		"n8": `INSERT INTO order_line (ol_o_id, ol_d_id, ol_w_id, ol_number, ol_i_id, ol_supply_w_id, ol_quantity, ol_amount, ol_dist_info)
SELECT $1::int, $2::int, $3::int, n, i, w, y, a * 0.01, d FROM unnest($4::int[], $5::int[], $6::int[], $7::int[], $8::int[], $9::text[]) AS l(n, i, w, y, a, d)`,
		"p1": "UPDATE warehouse SET w_ytd = w_ytd + $2::int * 0.01 WHERE w_id = $1::int RETURNING w_name, w_street_1, w_street_2, w_city, w_state, w_zip",
		"p2": "UPDATE district SET d_ytd = d_ytd + $3::int * 0.01 WHERE d_w_id = $1::int AND d_id = $2::int RETURNING d_name, d_street_1, d_street_2, d_city, d_state, d_zip",
		"c":  "SELECT c_id FROM customer WHERE c_w_id = $1::int AND c_d_id = $2::int AND c_last = $3::text ORDER BY c_first",
		"p4": "UPDATE customer SET c_balance = c_balance - $4::int * 0.01" + more(", c_ytd_payment = c_ytd_payment + $4::int * 0.01, c_payment_cnt = c_payment_cnt + 1") +
			`, c_data = CASE WHEN c_credit = 'BC' THEN left(concat_ws(' ', c_id, c_d_id, c_w_id, $5::int, $6::int, $4::int * 0.01) || '|' || c_data, 500) ELSE c_data END
WHERE c_w_id = $1::int AND c_d_id = $2::int AND c_id = $3::int
RETURNING c_first, c_middle, c_last, c_street_1, c_street_2, c_city, c_state, c_zip, c_phone, c_since, c_credit, c_credit_lim, c_discount, c_balance`,
		"p5": "INSERT INTO history (h_c_d_id, h_c_w_id, h_c_id, h_d_id, h_w_id, h_date, h_amount, h_data) VALUES ($1::int, $2::int, $3::int, $4::int, $5::int, localtimestamp, $6::int * 0.01, $7::text)",
		"o1": "SELECT c_balance, c_first, c_middle, c_last FROM customer WHERE c_w_id = $1::int AND c_d_id = $2::int AND c_id = $3::int",
		"o2": `SELECT o_id, o_entry_d, o_carrier_id, ol_i_id, ol_supply_w_id, ol_quantity, ol_amount, ol_delivery_d
FROM (SELECT o_id, o_entry_d, o_carrier_id FROM orders WHERE o_w_id = $1::int AND o_d_id = $2::int AND o_c_id = $3::int ORDER BY o_id DESC LIMIT 1) o
JOIN order_line ON ol_w_id = $1 AND ol_d_id = $2 AND ol_o_id = o_id`,
		"d": `WITH picked AS (DELETE FROM new_order USING (
	SELECT d, (SELECT no_o_id FROM new_order WHERE no_w_id = $1::int AND no_d_id = d ORDER BY no_o_id LIMIT 1) AS o FROM generate_series(1, 10) AS d) oldest
	WHERE no_w_id = $1::int AND no_d_id = d AND no_o_id = o RETURNING no_d_id AS d, no_o_id AS o),
sent AS (UPDATE orders SET o_carrier_id = $2::int FROM picked WHERE o_w_id = $1 AND o_d_id = d AND o_id = o RETURNING d, o_c_id),
line AS (UPDATE order_line SET ol_delivery_d = localtimestamp FROM picked WHERE ol_w_id = $1 AND ol_d_id = d AND ol_o_id = o RETURNING d, ol_amount),
owed AS (SELECT d, sum(ol_amount) AS amount FROM line GROUP BY d)
UPDATE customer SET c_balance = c_balance + amount` + more(", c_delivery_cnt = c_delivery_cnt + 1") + `
FROM sent JOIN owed USING (d) WHERE c_w_id = $1 AND c_d_id = d AND c_id = o_c_id`,
		"s1": "SELECT d_next_o_id FROM district WHERE d_w_id = $1::int AND d_id = $2::int",
		"s2": `SELECT count(*) FROM (SELECT DISTINCT ol_i_id FROM order_line WHERE ol_w_id = $1::int AND ol_d_id = $2::int AND ol_o_id < $3::int AND ol_o_id >= $3::int - 20 OFFSET 0) recent
WHERE (SELECT s_quantity FROM stock WHERE s_w_id = $1 AND s_i_id = ol_i_id) < $4::int`,
	}
}

// bare binds and executes a statement without parameters.
func bare(out []byte, name string) []byte {
	out, start := bind(out, name, 0)
	return execute(out, start)
}

func (p pipeline) round(out []byte, t *talk) []byte {
	rounds := [tpcc.Kinds][2]func([]byte, *talk) []byte{
		tpcc.NewOrder:    {readOrder, writeOrder},
		tpcc.Payment:     {readPayment, writePayment},
		tpcc.Delivery:    {deliver, nil},
		tpcc.OrderStatus: {findCustomer, readStatus},
		tpcc.StockLevel:  {readNextOrder, countStock},
	}[t.tx.Kind]
	if t.number >= len(rounds) || rounds[t.number] == nil {
		return out
	}
	if t.number == 0 {
		t.order.named, t.order.items, t.order.stocks = 0, 0, 0
		t.order.customer = t.tx.Customer
		out = bare(out, "b")
	}
	before := len(out)
	if out = rounds[t.number](out, t); len(out) == before && t.number > 0 {
		return out
	}
	return appendSync(out)
}

func readOrder(out []byte, t *talk) []byte {
	x := t.tx
	n := int(x.LineCount)
	out, start := bind(out, "n1", 3)
	out = execute(int4(int4(int4(out, x.Warehouse), int32(x.District)), x.Customer), start)
	out, start = bind(out, "n2", 2)
	out = execute(int4(int4(out, x.Warehouse), int32(x.District)), start)
	out, start = bind(out, "n3", 1)
	out = execute(int4Array(out, n, func(i int) int32 { return x.Lines[i].Item }), start)
	out, start = bind(out, "n4", 3)
	out = int4Array(out, n, func(i int) int32 { return x.Lines[i].Supply })
	out = int4Array(out, n, func(i int) int32 { return x.Lines[i].Item })
	return execute(int4(out, int32(x.District)), start)
}

// writeOrder writes what readOrder's answers call for.
func writeOrder(out []byte, t *talk) []byte {
	x, o := t.tx, &t.order
	n := int(x.LineCount)
	switch {
	case o.items != n:
		t.fault = errUnusedItem
		return out
	case o.stocks != n:
		t.fault = fmt.Errorf("new_order: found %d of %d rows of stock", o.stocks, n)
		return out
	}
	local := int32(0)
	if x.AllLocal {
		local = 1
	}
	out, start := bind(out, "n5", 6)
	out = int4(int4(int4(out, o.number), int32(x.District)), x.Warehouse)
	out = execute(int4(int4(int4(out, x.Customer), int32(n)), local), start)
	out, start = bind(out, "n6", 3)
	out = execute(int4(int4(int4(out, o.number), int32(x.District)), x.Warehouse), start)
	supply := func(i int) int32 { return x.Lines[i].Supply }
	item := func(i int) int32 { return x.Lines[i].Item }
	quantity := func(i int) int32 { return int32(x.Lines[i].Quantity) }
	out, start = bind(out, "n7", 5)
	out = int4Array(int4Array(out, n, supply), n, item)
	out = int4Array(int4Array(out, n, func(i int) int32 { return o.quantity[i] }), n, quantity)
	out = execute(int4(out, x.Warehouse), start)
	out, start = bind(out, "n8", 9)
	out = int4(int4(int4(out, o.number), int32(x.District)), x.Warehouse)
	out = int4Array(out, n, func(i int) int32 { return int32(i + 1) })
	out = int4Array(int4Array(int4Array(out, n, item), n, supply), n, quantity)
	out = int4Array(out, n, func(i int) int32 { return quantity(i) * o.price[i] })
	out = array(out, oidText, n, n*(4+distLength))
	for i := range n {
		out = text(out, o.dist[i][:])
	}
	return bare(execute(out, start), "e")
}

func readPayment(out []byte, t *talk) []byte {
	x := t.tx
	out, start := bind(out, "p1", 2)
	out = execute(int4(int4(out, x.Warehouse), x.Amount), start)
	out, start = bind(out, "p2", 3)
	out = execute(int4(int4(int4(out, x.Warehouse), int32(x.District)), x.Amount), start)
	return byName(out, x, x.CustomerWarehouse, x.CustomerDistrict)
}

// byName looks customers up by their last name, where they have no number.
func byName(out []byte, x *tpcc.Tx, warehouse int32, district int16) []byte {
	if x.Customer != 0 {
		return out
	}
	out, start := bind(out, "c", 3)
	return execute(nameOf(int4(int4(out, warehouse), int32(district)), x), start)
}

var errNoCustomer = errors.New("no customer has the last name that was drawn")

// chosen is the customer of a transaction: of those of a name, the one in the
// middle (clause 2.5.2.2).
func (t *talk) chosen() int32 {
	o := &t.order
	if t.tx.Customer == 0 && o.named > 0 {
		o.customer = o.ids[(o.named+1)/2-1]
	}
	if o.customer == 0 {
		t.fault = errNoCustomer
	}
	return o.customer
}

func writePayment(out []byte, t *talk) []byte {
	x, o := t.tx, &t.order
	c := t.chosen()
	out, start := bind(out, "p4", 6)
	out = int4(int4(int4(out, x.CustomerWarehouse), int32(x.CustomerDistrict)), c)
	out = execute(int4(int4(int4(out, x.Amount), int32(x.District)), x.Warehouse), start)
	out, start = bind(out, "p5", 7)
	out = int4(int4(int4(out, int32(x.CustomerDistrict)), x.CustomerWarehouse), c)
	out = int4(int4(int4(out, int32(x.District)), x.Warehouse), x.Amount)
	var data [2*nameLength + 4]byte
	n := copy(data[:], o.names[0][:o.lengths[0]])
	n += copy(data[n:], "    ")
	n += copy(data[n:], o.names[1][:o.lengths[1]])
	return bare(execute(text(out, data[:n]), start), "e")
}

func deliver(out []byte, t *talk) []byte {
	out, start := bind(out, "d", 2)
	return bare(execute(int4(int4(out, t.tx.Warehouse), int32(t.tx.Carrier)), start), "e")
}

// findCustomer looks a customer up; one with a number needs no second round.
func findCustomer(out []byte, t *talk) []byte {
	if t.tx.Customer != 0 {
		return status(out, t)
	}
	return byName(out, t.tx, t.tx.Warehouse, t.tx.District)
}

func readStatus(out []byte, t *talk) []byte {
	if t.tx.Customer != 0 {
		return out
	}
	return status(out, t)
}

func status(out []byte, t *talk) []byte {
	x, c := t.tx, t.chosen()
	for _, name := range [2]string{"o1", "o2"} {
		var start int
		out, start = bind(out, name, 3)
		out = execute(int4(int4(int4(out, x.Warehouse), int32(x.District)), c), start)
	}
	return bare(out, "e")
}

func readNextOrder(out []byte, t *talk) []byte {
	out, start := bind(out, "s1", 2)
	return execute(int4(int4(out, t.tx.Warehouse), int32(t.tx.District)), start)
}

func countStock(out []byte, t *talk) []byte {
	x := t.tx
	out, start := bind(out, "s2", 4)
	out = int4(int4(out, x.Warehouse), int32(x.District))
	return bare(execute(int4(int4(out, t.order.number), int32(x.Threshold)), start), "e")
}

// row takes what a later round needs.
func (p pipeline) row(t *talk, statement int, columns [][]byte) error {
	if t.number > 0 {
		return nil
	}
	switch {
	case t.tx.Kind == tpcc.NewOrder:
		return t.orderRow(statement, columns)
	case t.tx.Kind == tpcc.Payment && statement <= 2:
		return t.nameRow(statement-1, columns)
	case t.tx.Kind == tpcc.Payment, t.tx.Kind == tpcc.OrderStatus && t.tx.Customer == 0:
		return t.customerRow(columns)
	case t.tx.Kind == tpcc.StockLevel:
		n, err := first(columns)
		t.order.number = int32(n)
		return err
	}
	return nil
}

// The statements of a New-Order's first round, after BEGIN.
const (
	customerStatement = 1
	districtStatement = 2
	itemStatement     = 3
)

func (t *talk) orderRow(statement int, columns [][]byte) error {
	switch statement {
	case customerStatement:
		return nil
	case districtStatement:
		n, err := first(columns)
		t.order.number = int32(n)
		return err
	case itemStatement:
		return t.itemRow(columns)
	}
	return t.stockRow(columns)
}

func first(columns [][]byte) (int64, error) {
	if len(columns) == 0 {
		return 0, errShort
	}
	return integer(columns[0])
}

func (t *talk) itemRow(columns [][]byte) error {
	if len(columns) < 2 {
		return errShort
	}
	id, err := integer(columns[0])
	price, errPrice := integer(columns[1])
	if err = errors.Join(err, errPrice); err != nil {
		return err
	}
	for i := range t.tx.LineCount {
		if t.tx.Lines[i].Item == int32(id) {
			t.order.price[i] = int32(price)
			t.order.items++
		}
	}
	return nil
}

func (t *talk) stockRow(columns [][]byte) error {
	if len(columns) < 5 || len(columns[4]) != distLength {
		return errShort
	}
	w, errW := integer(columns[0])
	i, errI := integer(columns[1])
	quantity, err := integer(columns[2])
	if err = errors.Join(errW, errI, err); err != nil {
		return err
	}
	for k := range t.tx.LineCount {
		line := &t.tx.Lines[k]
		if line.Item != int32(i) || line.Supply != int32(w) {
			continue
		}
		left := int32(quantity) - int32(line.Quantity)
		if left < 10 {
			left += 91
		}
		t.order.quantity[k] = left
		t.order.dist[k] = [distLength]byte(columns[4])
		t.order.stocks++
	}
	return nil
}

// nameRow takes the name of the warehouse (0) or district (1).
func (t *talk) nameRow(which int, columns [][]byte) error {
	if which < 0 || len(columns) == 0 || len(columns[0]) > nameLength {
		return fmt.Errorf("payment: found a row of %d columns, expected a name of up to %d characters", len(columns), nameLength)
	}
	t.order.lengths[which] = copy(t.order.names[which][:], columns[0])
	return nil
}

func (t *talk) customerRow(columns [][]byte) error {
	id, err := first(columns)
	if err != nil {
		return err
	}
	if t.order.named == maxNamed {
		return fmt.Errorf("more than %d customers of a district have one name", maxNamed)
	}
	t.order.ids[t.order.named] = int32(id)
	t.order.named++
	return nil
}
