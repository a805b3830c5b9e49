package sqldb

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"strings"

	"bakeoff/engine/oltp/tpcc"
)

// A Dialect is how a database writes what differs from one to the next.
type Dialect struct {
	Placeholder func(n int) string // of parameter n, from 1
	Locked      string             // behind a table whose rows are read to be changed, as " WITH (UPDLOCK)"
	ForUpdate   string             // behind such a query, as " FOR UPDATE"
	OneRow      string             // of an ordered query, after {skip} others: " OFFSET {skip} ROWS FETCH NEXT 1 ROWS ONLY"
	Now         string             // the present time
	Text        func(s string) any // a text as the driver is to send it; nil: as it is
}

// statement names one of the script's.
type statement int

const (
	nextOrder statement = iota
	bumpOrder
	buyer
	insertOrder
	insertNewOrder
	item
	insertLine
	payWarehouse
	warehouseName
	payDistrict
	districtName
	countName
	byName
	payer
	pay
	payBad
	insertHistory
	oldest
	dropNewOrder
	orderCustomer
	carry
	deliverLines
	lineTotal
	credit
	customer
	lastOrder
	lines
	currentOrder
	lowStock
	takeStock
	stock      // the first of ten, one a district
	statements = stock + tpcc.Districts
)

// Script runs the transactions as statements from the client, on one
// connection: a statement a step, as the specification lists them.
type Script struct {
	conn     *sql.Conn
	dialect  Dialect
	profile  tpcc.Profile
	prepared [statements]*sql.Stmt
}

// Prepare prepares all statements.
func Prepare(ctx context.Context, conn *sql.Conn, d Dialect, p tpcc.Profile) (*Script, error) {
	s := &Script{conn: conn, dialect: d, profile: p}
	for i, text := range Statements(d, p) {
		var err error
		if s.prepared[i], err = conn.PrepareContext(ctx, text); err != nil {
			return nil, errors.Join(fmt.Errorf("preparing %q: %w", text, err), s.Close())
		}
	}
	return s, nil
}

// Close frees the statements.
func (s *Script) Close() error {
	var errs []error
	for i, p := range s.prepared {
		if p != nil {
			errs = append(errs, p.Close())
			s.prepared[i] = nil
		}
	}
	return errors.Join(errs...)
}

// Statements returns the texts, in their order.
func Statements(d Dialect, p tpcc.Profile) []string {
	texts := make([]string, statements)
	for id, text := range templates(p) {
		texts[id] = d.write(text)
	}
	for i := range tpcc.Districts {
		texts[int(stock)+i] = d.write(fmt.Sprintf("SELECT s_quantity, s_dist_%02d, s_data FROM stock{locked} WHERE s_w_id = ? AND s_i_id = ?{update}", i+1))
	}
	return texts
}

// write puts the dialect in place of the marks.
func (d Dialect) write(text string) string {
	one := strings.ReplaceAll(d.OneRow, "{skip}", "0")
	other := strings.ReplaceAll(d.OneRow, "{skip}", "?")
	text = strings.NewReplacer("{locked}", d.Locked, "{update}", d.ForUpdate, "{now}", d.Now, "{first}", one, "{skipped}", other).Replace(text)
	var b strings.Builder
	n := 0
	for _, r := range text {
		if r != '?' {
			b.WriteRune(r)
			continue
		}
		n++
		b.WriteString(d.Placeholder(n))
	}
	return b.String()
}

// templates are the texts in neutral terms. Under the profile hammerdb some
// columns stay as they were loaded.
func templates(p tpcc.Profile) map[statement]string {
	kept := func(text string) string {
		if p != tpcc.Spec {
			return ""
		}
		return text
	}
	const (
		district      = " WHERE d_w_id = ? AND d_id = ?"
		theCustomer   = " WHERE c_w_id = ? AND c_d_id = ? AND c_id = ?"
		namedCustomer = " WHERE c_w_id = ? AND c_d_id = ? AND c_last = ?"
		theLines      = " WHERE ol_w_id = ? AND ol_d_id = ? AND ol_o_id = ?"
		theOrder      = " WHERE o_w_id = ? AND o_d_id = ? AND o_id = ?"
	)
	paid := "UPDATE customer SET c_balance = c_balance - ? / 100.0" + kept(", c_ytd_payment = c_ytd_payment + ? / 100.0, c_payment_cnt = c_payment_cnt + 1")
	return map[statement]string{
		nextOrder:      "SELECT d_next_o_id, d_tax FROM district{locked}" + district + "{update}",
		bumpOrder:      "UPDATE district SET d_next_o_id = d_next_o_id + 1" + district,
		buyer:          "SELECT c_discount, c_last, c_credit, w_tax FROM customer JOIN warehouse ON w_id = c_w_id" + theCustomer,
		insertOrder:    "INSERT INTO orders (o_id, o_d_id, o_w_id, o_c_id, o_entry_d, o_ol_cnt, o_all_local) VALUES (?, ?, ?, ?, {now}, ?, ?)",
		insertNewOrder: "INSERT INTO new_order (no_o_id, no_d_id, no_w_id) VALUES (?, ?, ?)",
		item:           "SELECT i_price, i_name, i_data FROM item WHERE i_id = ?",
		takeStock: "UPDATE stock SET s_quantity = ?" + kept(", s_ytd = s_ytd + ?, s_order_cnt = s_order_cnt + 1, s_remote_cnt = s_remote_cnt + ?") +
			" WHERE s_w_id = ? AND s_i_id = ?",
		insertLine: "INSERT INTO order_line (ol_o_id, ol_d_id, ol_w_id, ol_number, ol_i_id, ol_supply_w_id, ol_quantity, ol_amount, ol_dist_info) " +
			"VALUES (?, ?, ?, ?, ?, ?, ?, ? / 100.0, ?)",
		payWarehouse:  "UPDATE warehouse SET w_ytd = w_ytd + ? / 100.0 WHERE w_id = ?",
		warehouseName: "SELECT w_name, w_street_1, w_street_2, w_city, w_state, w_zip FROM warehouse WHERE w_id = ?",
		payDistrict:   "UPDATE district SET d_ytd = d_ytd + ? / 100.0" + district,
		districtName:  "SELECT d_name, d_street_1, d_street_2, d_city, d_state, d_zip FROM district" + district,
		countName:     "SELECT COUNT(*) FROM customer" + namedCustomer,
		byName:        "SELECT c_id FROM customer" + namedCustomer + " ORDER BY c_first{skipped}",
		payer: "SELECT c_credit, c_data, c_first, c_middle, c_last, c_street_1, c_street_2, c_city, c_state, c_zip, c_phone, c_since, c_credit_lim, " +
			"c_discount, c_balance FROM customer{locked}" + theCustomer + "{update}",
		pay:           paid + theCustomer,
		payBad:        paid + ", c_data = ?" + theCustomer,
		insertHistory: "INSERT INTO history (h_c_id, h_c_d_id, h_c_w_id, h_d_id, h_w_id, h_date, h_amount, h_data) VALUES (?, ?, ?, ?, ?, {now}, ? / 100.0, ?)",
		oldest:        "SELECT MIN(no_o_id) FROM new_order{locked} WHERE no_w_id = ? AND no_d_id = ?",
		dropNewOrder:  "DELETE FROM new_order WHERE no_w_id = ? AND no_d_id = ? AND no_o_id = ?",
		orderCustomer: "SELECT o_c_id FROM orders" + theOrder,
		carry:         "UPDATE orders SET o_carrier_id = ?" + theOrder,
		deliverLines:  "UPDATE order_line SET ol_delivery_d = {now}" + theLines,
		lineTotal:     "SELECT SUM(ol_amount) FROM order_line" + theLines,
		credit:        "UPDATE customer SET c_balance = c_balance + ? / 100.0" + kept(", c_delivery_cnt = c_delivery_cnt + 1") + theCustomer,
		customer:      "SELECT c_balance, c_first, c_middle, c_last FROM customer" + theCustomer,
		lastOrder:     "SELECT o_id, o_entry_d, o_carrier_id FROM orders WHERE o_w_id = ? AND o_d_id = ? AND o_c_id = ? ORDER BY o_id DESC{first}",
		lines:         "SELECT ol_i_id, ol_supply_w_id, ol_quantity, ol_amount, ol_delivery_d FROM order_line" + theLines,
		currentOrder:  "SELECT d_next_o_id FROM district" + district,
		lowStock: "SELECT COUNT(DISTINCT s_i_id) FROM order_line JOIN stock ON s_w_id = ol_w_id AND s_i_id = ol_i_id " +
			"WHERE ol_w_id = ? AND ol_d_id = ? AND ol_o_id >= ? AND ol_o_id < ? AND s_quantity < ?",
	}
}
