CREATE FUNCTION bakeoff_new_order(p_w int, p_d int, p_c int, p_items int[], p_supplies int[], p_quantities int[],
	OUT o_number int, OUT last text, OUT credit text, OUT discount numeric, OUT tax_w numeric, OUT tax_d numeric, OUT total numeric,
	OUT names text[], OUT stocks int[], OUT brands bool[], OUT prices numeric[], OUT amounts numeric[]) AS $$
DECLARE
	n int := cardinality(p_items);
	found_items int;
	sum_amount numeric;
BEGIN
	SELECT c_last, c_credit, c_discount, w_tax INTO last, credit, discount, tax_w
		FROM customer, warehouse WHERE w_id = p_w AND c_w_id = p_w AND c_d_id = p_d AND c_id = p_c;
	UPDATE district SET d_next_o_id = d_next_o_id + 1 WHERE d_w_id = p_w AND d_id = p_d
		RETURNING d_next_o_id - 1, d_tax INTO o_number, tax_d;
	INSERT INTO orders (o_id, o_d_id, o_w_id, o_c_id, o_entry_d, o_ol_cnt, o_all_local)
		VALUES (o_number, p_d, p_w, p_c, localtimestamp, n, (p_w = ALL (p_supplies))::int);
	INSERT INTO new_order (no_o_id, no_d_id, no_w_id) VALUES (o_number, p_d, p_w);
	WITH line AS (
		SELECT * FROM unnest(p_items, p_supplies, p_quantities) WITH ORDINALITY AS t(i, supply, quantity, number)
	), changed AS (
		UPDATE stock SET s_quantity = CASE WHEN s_quantity >= quantity + 10 THEN s_quantity - quantity ELSE s_quantity - quantity + 91 END
			/*spec , s_ytd = s_ytd + quantity, s_order_cnt = s_order_cnt + 1, s_remote_cnt = s_remote_cnt + (supply <> p_w)::int spec*/
		FROM line WHERE s_w_id = supply AND s_i_id = i
		RETURNING number, i, supply, quantity, s_quantity, s_data,
			CASE p_d WHEN 1 THEN s_dist_01 WHEN 2 THEN s_dist_02 WHEN 3 THEN s_dist_03 WHEN 4 THEN s_dist_04 WHEN 5 THEN s_dist_05
				WHEN 6 THEN s_dist_06 WHEN 7 THEN s_dist_07 WHEN 8 THEN s_dist_08 WHEN 9 THEN s_dist_09 ELSE s_dist_10 END AS dist
	), priced AS (
		SELECT number, i, supply, quantity, s_quantity, s_data, dist, i_name, i_price, i_data, quantity * i_price AS amount
		FROM changed JOIN item ON i_id = i
	), placed AS (
		INSERT INTO order_line (ol_o_id, ol_d_id, ol_w_id, ol_number, ol_i_id, ol_supply_w_id, ol_quantity, ol_amount, ol_dist_info)
		SELECT o_number, p_d, p_w, number, i, supply, quantity, amount, dist FROM priced
	)
	SELECT count(*), sum(amount)
		/*spec , array_agg(i_name), array_agg(s_quantity), array_agg(i_data LIKE '%ORIGINAL%' AND s_data LIKE '%ORIGINAL%'), array_agg(i_price), array_agg(amount) spec*/
		INTO found_items, sum_amount /*spec , names, stocks, brands, prices, amounts spec*/
		FROM priced;
	IF found_items <> n THEN
		RAISE EXCEPTION 'an item does not exist' USING ERRCODE = 'BO001';
	END IF;
	total := sum_amount * (1 - discount) * (1 + tax_w + tax_d);
END $$ LANGUAGE plpgsql;

CREATE FUNCTION bakeoff_payment(p_w int, p_d int, p_cw int, p_cd int, p_c int, p_last text, p_cents int,
	OUT c_number int, OUT credit text, OUT balance numeric, OUT discount numeric, OUT data text, OUT names text[]) AS $$
DECLARE
	paid numeric := p_cents * 0.01;
	name_w text;
	name_d text;
	place_w text[];
	place_d text[];
BEGIN
	UPDATE warehouse SET w_ytd = w_ytd + paid WHERE w_id = p_w
		RETURNING w_name, ARRAY[w_street_1, w_street_2, w_city, w_state, w_zip] INTO name_w, place_w;
	UPDATE district SET d_ytd = d_ytd + paid WHERE d_w_id = p_w AND d_id = p_d
		RETURNING d_name, ARRAY[d_street_1, d_street_2, d_city, d_state, d_zip] INTO name_d, place_d;
	c_number := p_c;
	IF p_last IS NOT NULL THEN
		SELECT a[(cardinality(a) + 1) / 2] INTO c_number
			FROM (SELECT array_agg(c_id ORDER BY c_first) AS a FROM customer WHERE c_w_id = p_cw AND c_d_id = p_cd AND c_last = p_last) named;
	END IF;
	UPDATE customer SET c_balance = c_balance - paid
			/*spec , c_ytd_payment = c_ytd_payment + paid, c_payment_cnt = c_payment_cnt + 1 spec*/,
			c_data = CASE WHEN c_credit = 'BC' THEN left(concat_ws(' ', c_id, c_d_id, c_w_id, p_d, p_w, paid) || '|' || c_data, 500) ELSE c_data END
		WHERE c_w_id = p_cw AND c_d_id = p_cd AND c_id = c_number
		RETURNING c_credit, c_balance, c_discount, CASE WHEN c_credit = 'BC' THEN left(c_data, 200) END,
			ARRAY[c_first, c_middle, c_last, c_street_1, c_street_2, c_city, c_state, c_zip, c_phone, c_since::text, c_credit_lim::text]
		INTO credit, balance, discount, data, names;
	names := names || place_w || place_d;
	INSERT INTO history (h_c_d_id, h_c_w_id, h_c_id, h_d_id, h_w_id, h_date, h_amount, h_data)
		VALUES (p_cd, p_cw, c_number, p_d, p_w, localtimestamp, paid, name_w || '    ' || name_d);
END $$ LANGUAGE plpgsql;

CREATE FUNCTION bakeoff_delivery(p_w int, p_carrier int) RETURNS int AS $$
DECLARE
	delivered int;
BEGIN
	WITH picked AS (
		DELETE FROM new_order USING (
			SELECT d, (SELECT no_o_id FROM new_order WHERE no_w_id = p_w AND no_d_id = d ORDER BY no_o_id LIMIT 1) AS o FROM generate_series(1, 10) AS d
		) oldest WHERE no_w_id = p_w AND no_d_id = d AND no_o_id = o RETURNING no_d_id AS d, no_o_id AS o
	), sent AS (
		UPDATE orders SET o_carrier_id = p_carrier FROM picked WHERE o_w_id = p_w AND o_d_id = d AND o_id = o RETURNING d, o_c_id
	), line AS (
		UPDATE order_line SET ol_delivery_d = localtimestamp FROM picked WHERE ol_w_id = p_w AND ol_d_id = d AND ol_o_id = o RETURNING d, ol_amount
	), owed AS (
		SELECT d, sum(ol_amount) AS amount FROM line GROUP BY d
	), charged AS (
		UPDATE customer SET c_balance = c_balance + amount /*spec , c_delivery_cnt = c_delivery_cnt + 1 spec*/
		FROM sent JOIN owed USING (d) WHERE c_w_id = p_w AND c_d_id = d AND c_id = o_c_id RETURNING 1
	)
	SELECT count(*) INTO delivered FROM charged;
	RETURN delivered;
END $$ LANGUAGE plpgsql;

CREATE FUNCTION bakeoff_order_status(p_w int, p_d int, p_c int, p_last text,
	OUT c_number int, OUT balance numeric, OUT names text[], OUT o_number int, OUT entered timestamp, OUT carrier int,
	OUT items int[], OUT supplies int[], OUT quantities int[], OUT amounts numeric[], OUT deliveries timestamp[]) AS $$
BEGIN
	c_number := p_c;
	IF p_last IS NOT NULL THEN
		SELECT a[(cardinality(a) + 1) / 2] INTO c_number
			FROM (SELECT array_agg(c_id ORDER BY c_first) AS a FROM customer WHERE c_w_id = p_w AND c_d_id = p_d AND c_last = p_last) named;
	END IF;
	SELECT c_balance, ARRAY[c_first, c_middle, c_last] INTO balance, names
		FROM customer WHERE c_w_id = p_w AND c_d_id = p_d AND c_id = c_number;
	SELECT o_id, o_entry_d, o_carrier_id INTO o_number, entered, carrier
		FROM orders WHERE o_w_id = p_w AND o_d_id = p_d AND o_c_id = c_number ORDER BY o_id DESC LIMIT 1;
	SELECT array_agg(ol_i_id), array_agg(ol_supply_w_id), array_agg(ol_quantity), array_agg(ol_amount), array_agg(ol_delivery_d)
		INTO items, supplies, quantities, amounts, deliveries
		FROM order_line WHERE ol_w_id = p_w AND ol_d_id = p_d AND ol_o_id = o_number;
END $$ LANGUAGE plpgsql;

CREATE FUNCTION bakeoff_stock_level(p_w int, p_d int, p_threshold int) RETURNS int AS $$
DECLARE
	next_order int;
	low int;
BEGIN
	SELECT d_next_o_id INTO next_order FROM district WHERE d_w_id = p_w AND d_id = p_d;
	SELECT count(*) INTO low FROM (
		SELECT DISTINCT ol_i_id FROM order_line
		WHERE ol_w_id = p_w AND ol_d_id = p_d AND ol_o_id < next_order AND ol_o_id >= next_order - 20 OFFSET 0
	) recent WHERE (SELECT s_quantity FROM stock WHERE s_w_id = p_w AND s_i_id = ol_i_id) < p_threshold;
	RETURN low;
END $$ LANGUAGE plpgsql;
