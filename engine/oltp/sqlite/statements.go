package sqlite

import (
	"fmt"

	"bakeoff/engine/oltp/tpcc"
)

// statements are those of the transactions. Under the profile hammerdb some
// columns stay as they were loaded, as HammerDB's own routines leave them.
type statements struct {
	begin, write, commit, rollback *stmt

	nextOrder, buyer, insertOrder, insertNewOrder *stmt // New-Order
	item, insertLine                              *stmt
	takeStock                                     [tpcc.Districts]*stmt // by the district whose s_dist it reads

	payWarehouse, payDistrict, payCustomer, insertHistory *stmt // Payment
	byName                                                *stmt

	oldest, dropNewOrder, carry, deliverLines, lineTotal, credit *stmt // Delivery

	customer, lastOrder, lines *stmt // Order-Status

	currentOrder, lowStock *stmt // Stock-Level
}

func prepareAll(c *conn, p tpcc.Profile) (*statements, error) {
	s := &statements{}
	var failed error
	for _, x := range texts(s, p) {
		if *x.to, failed = c.prepare(x.sql); failed != nil {
			s.finalize(p)
			return nil, failed
		}
	}
	return s, nil
}

func (s *statements) finalize(p tpcc.Profile) {
	for _, x := range texts(s, p) {
		if *x.to != nil {
			(*x.to).finalize()
			*x.to = nil
		}
	}
}

type preparation struct {
	to  **stmt
	sql string
}

// kept is a piece of a statement that only the profile spec has.
func kept(p tpcc.Profile, sql string) string {
	if p == tpcc.Spec {
		return sql
	}
	return ""
}

func texts(s *statements, p tpcc.Profile) []preparation {
	all := []preparation{
		{&s.begin, "BEGIN"},
		{&s.write, "BEGIN IMMEDIATE"},
		{&s.commit, "COMMIT"},
		{&s.rollback, "ROLLBACK"},
	}
	all = append(all, newOrderTexts(s, p)...)
	all = append(all, paymentTexts(s, p)...)
	all = append(all, deliveryTexts(s, p)...)
	return append(all, queryTexts(s)...)
}

func newOrderTexts(s *statements, p tpcc.Profile) []preparation {
	all := []preparation{
		{&s.nextOrder, `UPDATE district SET d_next_o_id = d_next_o_id + 1 WHERE d_w_id = ?1 AND d_id = ?2 RETURNING d_next_o_id - 1, d_tax_unscaled`},
		{&s.buyer, `SELECT c_discount_unscaled, w_tax_unscaled, c_last, c_credit FROM warehouse JOIN customer ON c_w_id = w_id
  WHERE w_id = ?1 AND c_d_id = ?2 AND c_id = ?3`},
		{&s.insertOrder, `INSERT INTO orders (o_id, o_d_id, o_w_id, o_c_id, o_entry_d, o_ol_cnt, o_all_local) VALUES (?1, ?2, ?3, ?4, unixepoch(), ?5, ?6)`},
		{&s.insertNewOrder, `INSERT INTO new_order (no_o_id, no_d_id, no_w_id) VALUES (?1, ?2, ?3)`},
		{&s.item, `SELECT i_price_unscaled, i_name, i_data FROM item WHERE i_id = ?1`},
		{&s.insertLine, `INSERT INTO order_line (ol_o_id, ol_d_id, ol_w_id, ol_number, ol_i_id, ol_supply_w_id, ol_quantity, ol_amount_unscaled, ol_dist_info)
  VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9)`},
	}
	more := kept(p, ", s_ytd = s_ytd + ?3, s_order_cnt = s_order_cnt + 1, s_remote_cnt = s_remote_cnt + ?4")
	for i := range s.takeStock {
		// Stock is filled up by 91 where fewer than 10 would stay (clause 2.4.2.2).
		all = append(all, preparation{&s.takeStock[i], fmt.Sprintf(
			`UPDATE stock SET s_quantity = s_quantity - ?3 + CASE WHEN s_quantity - ?3 >= 10 THEN 0 ELSE 91 END%s
  WHERE s_w_id = ?1 AND s_i_id = ?2 RETURNING s_quantity, s_dist_%02d, s_data`, more, i+1)})
	}
	return all
}

func paymentTexts(s *statements, p tpcc.Profile) []preparation {
	more := kept(p, ", c_ytd_payment_unscaled = c_ytd_payment_unscaled + ?4, c_payment_cnt = c_payment_cnt + 1")
	return []preparation{
		{&s.payWarehouse, `UPDATE warehouse SET w_ytd_unscaled = w_ytd_unscaled + ?2 WHERE w_id = ?1
  RETURNING w_name, w_street_1, w_street_2, w_city, w_state, w_zip`},
		{&s.payDistrict, `UPDATE district SET d_ytd_unscaled = d_ytd_unscaled + ?3 WHERE d_w_id = ?1 AND d_id = ?2
  RETURNING d_name, d_street_1, d_street_2, d_city, d_state, d_zip`},
		{&s.byName, `SELECT c_id FROM customer WHERE c_w_id = ?1 AND c_d_id = ?2 AND c_last = ?3 ORDER BY c_first`},
		{&s.payCustomer, `UPDATE customer SET c_balance_unscaled = c_balance_unscaled - ?4` + more + `,
  c_data = CASE c_credit WHEN 'BC' THEN substr(?5 || c_data, 1, 500) ELSE c_data END
  WHERE c_w_id = ?1 AND c_d_id = ?2 AND c_id = ?3
  RETURNING c_balance_unscaled, c_first, c_middle, c_last, c_street_1, c_street_2, c_city, c_state, c_zip, c_phone, c_since, c_credit,
  c_credit_lim_unscaled, c_discount_unscaled, c_data`},
		{&s.insertHistory, `INSERT INTO history (h_c_id, h_c_d_id, h_c_w_id, h_d_id, h_w_id, h_date, h_amount_unscaled, h_data)
  VALUES (?1, ?2, ?3, ?4, ?5, unixepoch(), ?6, ?7)`},
	}
}

func deliveryTexts(s *statements, p tpcc.Profile) []preparation {
	more := kept(p, ", c_delivery_cnt = c_delivery_cnt + 1")
	return []preparation{
		{&s.oldest, `SELECT no_o_id FROM new_order WHERE no_w_id = ?1 AND no_d_id = ?2 ORDER BY no_o_id LIMIT 1`},
		{&s.dropNewOrder, `DELETE FROM new_order WHERE no_w_id = ?1 AND no_d_id = ?2 AND no_o_id = ?3`},
		{&s.carry, `UPDATE orders SET o_carrier_id = ?4 WHERE o_w_id = ?1 AND o_d_id = ?2 AND o_id = ?3 RETURNING o_c_id`},
		{&s.deliverLines, `UPDATE order_line SET ol_delivery_d = unixepoch() WHERE ol_w_id = ?1 AND ol_d_id = ?2 AND ol_o_id = ?3`},
		{&s.lineTotal, `SELECT SUM(ol_amount_unscaled) FROM order_line WHERE ol_w_id = ?1 AND ol_d_id = ?2 AND ol_o_id = ?3`},
		{&s.credit, `UPDATE customer SET c_balance_unscaled = c_balance_unscaled + ?4` + more + ` WHERE c_w_id = ?1 AND c_d_id = ?2 AND c_id = ?3`},
	}
}

func queryTexts(s *statements) []preparation {
	return []preparation{
		{&s.customer, `SELECT c_balance_unscaled, c_first, c_middle, c_last FROM customer WHERE c_w_id = ?1 AND c_d_id = ?2 AND c_id = ?3`},
		{&s.lastOrder, `SELECT o_id, o_entry_d, o_carrier_id FROM orders WHERE o_w_id = ?1 AND o_d_id = ?2 AND o_c_id = ?3 ORDER BY o_id DESC LIMIT 1`},
		{&s.lines, `SELECT ol_i_id, ol_supply_w_id, ol_quantity, ol_amount_unscaled, ol_delivery_d FROM order_line
  WHERE ol_w_id = ?1 AND ol_d_id = ?2 AND ol_o_id = ?3`},
		{&s.currentOrder, `SELECT d_next_o_id FROM district WHERE d_w_id = ?1 AND d_id = ?2`},
		{&s.lowStock, `SELECT COUNT(DISTINCT s_i_id) FROM order_line CROSS JOIN stock ON s_w_id = ol_w_id AND s_i_id = ol_i_id
  WHERE ol_w_id = ?1 AND ol_d_id = ?2 AND ol_o_id >= ?3 - 20 AND ol_o_id < ?3 AND s_quantity < ?4`},
	}
}
