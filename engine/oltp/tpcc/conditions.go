package tpcc

import "slices"

// A Condition is one of the consistency conditions of clause 3.3.2.
type Condition struct {
	Number int
	Text   string
	// Query, of standard SQL, counts what violates it, as one number.
	Query string
	// Heavy is true where every order line or customer is looked at.
	Heavy bool
	// Initial holds for the database as it was loaded alone.
	Initial bool
	// Profiles are those whose transactions keep it; HammerDB leaves some columns
	// as they are.
	Profiles []Profile
}

// Applies says whether a condition must hold under a profile, in a database as
// it was loaded or after transactions.
func (c Condition) Applies(p Profile, initial bool) bool {
	return slices.Contains(c.Profiles, p) && (initial || !c.Initial)
}

// bought is, for each customer, what was delivered to them.
const bought = `(SELECT o_w_id, o_d_id, o_c_id, SUM(ol_amount) AS bought FROM orders
  JOIN order_line ON ol_w_id = o_w_id AND ol_d_id = o_d_id AND ol_o_id = o_id
  WHERE ol_delivery_d IS NOT NULL GROUP BY o_w_id, o_d_id, o_c_id) b
  ON o_w_id = c_w_id AND o_d_id = c_d_id AND o_c_id = c_id`

// Conditions lists the twelve conditions. Money may be kept as floating point,
// so that it is compared to half a hundredth.
func Conditions() []Condition {
	both := []Profile{HammerDB, Spec}
	return []Condition{
		{Number: 1, Text: "w_ytd is the sum of its districts' d_ytd", Profiles: both,
			Query: `SELECT COUNT(*) FROM warehouse LEFT JOIN (SELECT d_w_id, SUM(d_ytd) AS total FROM district GROUP BY d_w_id) d
  ON d_w_id = w_id WHERE total IS NULL OR ABS(w_ytd - total) > 0.005`},
		{Number: 2, Text: "d_next_o_id is one more than the district's highest number in orders and in new_order", Profiles: both,
			Query: `SELECT COUNT(*) FROM district
  LEFT JOIN (SELECT o_w_id, o_d_id, MAX(o_id) AS last_order FROM orders GROUP BY o_w_id, o_d_id) o ON o_w_id = d_w_id AND o_d_id = d_id
  LEFT JOIN (SELECT no_w_id, no_d_id, MAX(no_o_id) AS last_new FROM new_order GROUP BY no_w_id, no_d_id) n ON no_w_id = d_w_id AND no_d_id = d_id
  WHERE last_order IS NULL OR d_next_o_id - 1 <> last_order OR (last_new IS NOT NULL AND last_new <> last_order)`},
		{Number: 3, Text: "the numbers in new_order of a district have no gaps", Profiles: both,
			Query: `SELECT COUNT(*) FROM (SELECT MAX(no_o_id) - MIN(no_o_id) + 1 AS span, COUNT(*) AS held FROM new_order GROUP BY no_w_id, no_d_id) n
  WHERE span <> held`},
		{Number: 4, Text: "a district has as many order lines as its orders' o_ol_cnt add up to", Profiles: both,
			Query: `SELECT COUNT(*) FROM (SELECT o_w_id, o_d_id, SUM(o_ol_cnt) AS promised FROM orders GROUP BY o_w_id, o_d_id) o
  LEFT JOIN (SELECT ol_w_id, ol_d_id, COUNT(*) AS held FROM order_line GROUP BY ol_w_id, ol_d_id) l ON ol_w_id = o_w_id AND ol_d_id = o_d_id
  WHERE held IS NULL OR promised <> held`},
		{Number: 5, Text: "an order has no carrier if and only if it is in new_order", Profiles: both,
			Query: `SELECT COUNT(*) FROM orders LEFT JOIN new_order ON no_w_id = o_w_id AND no_d_id = o_d_id AND no_o_id = o_id
  WHERE (o_carrier_id IS NULL AND no_o_id IS NULL) OR (o_carrier_id IS NOT NULL AND no_o_id IS NOT NULL)`},
		{Number: 6, Text: "an order has as many lines as its o_ol_cnt says", Profiles: both, Heavy: true,
			Query: `SELECT COUNT(*) FROM orders LEFT JOIN (SELECT ol_w_id, ol_d_id, ol_o_id, COUNT(*) AS held FROM order_line GROUP BY ol_w_id, ol_d_id, ol_o_id) l
  ON ol_w_id = o_w_id AND ol_d_id = o_d_id AND ol_o_id = o_id WHERE held IS NULL OR held <> o_ol_cnt`},
		{Number: 7, Text: "a line has no date of delivery if and only if its order has no carrier", Profiles: both, Heavy: true,
			Query: `SELECT COUNT(*) FROM order_line LEFT JOIN orders ON o_w_id = ol_w_id AND o_d_id = ol_d_id AND o_id = ol_o_id
  WHERE o_id IS NULL OR (ol_delivery_d IS NULL AND o_carrier_id IS NOT NULL) OR (ol_delivery_d IS NOT NULL AND o_carrier_id IS NULL)`},
		{Number: 8, Text: "w_ytd is the sum of the warehouse's payments in history", Profiles: both,
			Query: `SELECT COUNT(*) FROM warehouse LEFT JOIN (SELECT h_w_id, SUM(h_amount) AS paid FROM history GROUP BY h_w_id) h
  ON h_w_id = w_id WHERE paid IS NULL OR ABS(w_ytd - paid) > 0.005`},
		{Number: 9, Text: "d_ytd is the sum of the district's payments in history", Profiles: both,
			Query: `SELECT COUNT(*) FROM district LEFT JOIN (SELECT h_w_id, h_d_id, SUM(h_amount) AS paid FROM history GROUP BY h_w_id, h_d_id) h
  ON h_w_id = d_w_id AND h_d_id = d_id WHERE paid IS NULL OR ABS(d_ytd - paid) > 0.005`},
		{Number: 10, Text: "c_balance is what was delivered to the customer less what they paid", Profiles: both, Heavy: true,
			Query: `SELECT COUNT(*) FROM customer LEFT JOIN ` + bought + `
  LEFT JOIN (SELECT h_c_w_id, h_c_d_id, h_c_id, SUM(h_amount) AS paid FROM history GROUP BY h_c_w_id, h_c_d_id, h_c_id) h
  ON h_c_w_id = c_w_id AND h_c_d_id = c_d_id AND h_c_id = c_id
  WHERE ABS(c_balance - COALESCE(bought, 0) + COALESCE(paid, 0)) > 0.005`},
		{Number: 11, Text: "all but 2,100 of a district's orders are in new_order", Profiles: both, Initial: true,
			Query: `SELECT COUNT(*) FROM (SELECT o_w_id, o_d_id, COUNT(*) AS placed FROM orders GROUP BY o_w_id, o_d_id) o
  LEFT JOIN (SELECT no_w_id, no_d_id, COUNT(*) AS held FROM new_order GROUP BY no_w_id, no_d_id) n ON no_w_id = o_w_id AND no_d_id = o_d_id
  WHERE held IS NULL OR placed - held <> 2100`},
		{Number: 12, Text: "c_balance and c_ytd_payment add up to what was delivered to the customer", Profiles: []Profile{Spec}, Heavy: true,
			Query: `SELECT COUNT(*) FROM customer LEFT JOIN ` + bought + `
  WHERE ABS(c_balance + c_ytd_payment - COALESCE(bought, 0)) > 0.005`},
	}
}
