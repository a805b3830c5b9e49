package postgres_test

import (
	"testing"

	"bakeoff/test/postgrestest"
)

// Routines with the names and parameters of those that HammerDB builds. They do
// what is needed to be counted.
const hammerDBRoutines = `
DROP TABLE bakeoff_load;
CREATE FUNCTION neword(integer, integer, integer, integer, integer, integer) RETURNS numeric AS $$
DECLARE o int;
BEGIN
	UPDATE district SET d_next_o_id = d_next_o_id + 1 WHERE d_w_id = $1 AND d_id = $3 RETURNING d_next_o_id - 1 INTO o;
	INSERT INTO orders (o_id, o_d_id, o_w_id, o_c_id, o_entry_d, o_ol_cnt, o_all_local) VALUES (o, $3, $1, $4, now(), $5, $2);
	INSERT INTO new_order (no_o_id, no_d_id, no_w_id) VALUES (o, $3, $1);
	INSERT INTO order_line (ol_o_id, ol_d_id, ol_w_id, ol_number, ol_i_id, ol_supply_w_id, ol_quantity, ol_amount, ol_dist_info)
		SELECT o, $3, $1, n, n, $1, 1, 1, '' FROM generate_series(1, $5) n;
	RETURN o;
END $$ LANGUAGE plpgsql;
CREATE FUNCTION payment(integer, integer, integer, integer, integer, integer, numeric, varchar, varchar, numeric) RETURNS integer AS $$
BEGIN
	UPDATE warehouse SET w_ytd = w_ytd + $7 WHERE w_id = $1;
	UPDATE district SET d_ytd = d_ytd + $7 WHERE d_w_id = $1 AND d_id = $2;
	INSERT INTO history (h_c_d_id, h_c_w_id, h_c_id, h_d_id, h_w_id, h_date, h_amount, h_data) VALUES ($4, $3, $5, $2, $1, now(), $7, $8);
	RETURN $5;
END $$ LANGUAGE plpgsql;
CREATE FUNCTION delivery(integer, integer) RETURNS integer AS $$ SELECT $1 + $2 $$ LANGUAGE sql;
CREATE FUNCTION slev(integer, integer, integer) RETURNS integer AS $$ SELECT $1 + $2 + $3 $$ LANGUAGE sql;
CREATE FUNCTION ostat(integer, integer, integer, integer, varchar) RETURNS SETOF record AS $$
	SELECT 1, 1, 1::smallint, 1.0, now(), $3, $5, $5, $5, 1.0, 1, now()::timestamp, 1 $$ LANGUAGE sql;
-- It loads warehouses that condition 1 does not hold for.
UPDATE warehouse SET w_ytd = 3000000;
`

// drivesHammerDB drives tables and routines as HammerDB makes them.
func drivesHammerDB(t *testing.T, s *postgrestest.Server) {
	execute(t, s.URL, "DROP DATABASE IF EXISTS hdb", "CREATE DATABASE hdb TEMPLATE own_saved")
	url := s.Database("hdb")
	_, err := prepared(t, specOf(url, parameters{"schema": "hammerdb"}))
	complains(t, err, "routines", "build the schema with HammerDB")
	execute(t, url, hammerDBRoutines)
	r := works(t, specOf(url, parameters{"schema": "hammerdb"}))
	if d := r.Load.DataSet; d.Prepared != "kept" || d.Items == 0 {
		t.Errorf("data set %+v, want HammerDB's own, kept", d)
	}
	_, err = prepared(t, specOf(url, parameters{"schema": "hammerdb", "warehouses": 7}))
	complains(t, err, "warehouses: 1")
	_, err = prepared(t, specOf(url, parameters{"schema": "hammerdb", "profile": "spec"}))
	complains(t, err, "profile hammerdb")
	saved := parameters{"schema": "hammerdb", "restore": "saved"}
	first, err := prepared(t, specOf(url, saved))
	if err != nil {
		t.Fatal(err)
	}
	works(t, specOf(url, saved))
	if again, err := prepared(t, specOf(url, saved)); err != nil || again.Fingerprint != first.Fingerprint {
		t.Errorf("restored as %+v, %v; want %s", again, err, first.Fingerprint)
	}
}
