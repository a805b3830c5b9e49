CREATE PROCEDURE bakeoff_new_order(p_w INT, p_d SMALLINT, p_c INT, p_n SMALLINT, p_local SMALLINT, p_lines VARCHAR(500))
MODIFIES SQL DATA
BEGIN
  DECLARE v_o INT;
  DECLARE v_discount, v_w_tax, v_d_tax DECIMAL(4,4);
  DECLARE v_last VARCHAR(16) CHARACTER SET latin1 COLLATE latin1_bin;
  DECLARE v_credit CHAR(2) CHARACTER SET latin1 COLLATE latin1_bin;
  DECLARE EXIT HANDLER FOR SQLEXCEPTION BEGIN ROLLBACK; RESIGNAL; END;
  DECLARE EXIT HANDLER FOR NOT FOUND BEGIN ROLLBACK; SIGNAL SQLSTATE '45000' SET MESSAGE_TEXT = 'no such customer'; END;
  START TRANSACTION;
  -- The district first: what is read later is then no older than its lock.
  UPDATE district SET d_next_o_id = LAST_INSERT_ID(d_next_o_id) + 1 WHERE d_w_id = p_w AND d_id = p_d;
  SET v_o = LAST_INSERT_ID();
  SELECT c_discount, c_last, c_credit, w_tax, d_tax INTO v_discount, v_last, v_credit, v_w_tax, v_d_tax
    FROM warehouse, district, customer
    WHERE w_id = p_w AND d_w_id = p_w AND d_id = p_d AND c_w_id = p_w AND c_d_id = p_d AND c_id = p_c;
  INSERT INTO orders (o_id, o_d_id, o_w_id, o_c_id, o_entry_d, o_ol_cnt, o_all_local) VALUES (v_o, p_d, p_w, p_c, NOW(), p_n, p_local);
  INSERT INTO new_order (no_o_id, no_d_id, no_w_id) VALUES (v_o, p_d, p_w);
  UPDATE JSON_TABLE(p_lines, '$[*]' COLUMNS (item INT PATH '$[0]', supply INT PATH '$[1]', quantity SMALLINT PATH '$[2]')) AS l
    STRAIGHT_JOIN stock ON s_w_id = l.supply AND s_i_id = l.item
    SET s_quantity = {{.Quantity "l.quantity"}}{{if .Spec}},
      s_ytd = s_ytd + l.quantity, s_order_cnt = s_order_cnt + 1, s_remote_cnt = s_remote_cnt + (l.supply <> p_w){{end}};
  INSERT INTO order_line (ol_o_id, ol_d_id, ol_w_id, ol_number, ol_i_id, ol_supply_w_id, ol_quantity, ol_amount, ol_dist_info)
    SELECT v_o, p_d, p_w, l.number, l.item, l.supply, l.quantity, {{.Amount "l.quantity" "v_w_tax" "v_d_tax" "v_discount"}},
      ELT(p_d, s_dist_01, s_dist_02, s_dist_03, s_dist_04, s_dist_05, s_dist_06, s_dist_07, s_dist_08, s_dist_09, s_dist_10)
    FROM JSON_TABLE(p_lines, '$[*]' COLUMNS (number FOR ORDINALITY, item INT PATH '$[0]', supply INT PATH '$[1]', quantity SMALLINT PATH '$[2]')) AS l
    STRAIGHT_JOIN item ON i_id = l.item
    STRAIGHT_JOIN stock ON s_w_id = l.supply AND s_i_id = l.item;
  IF ROW_COUNT() <> p_n THEN -- an item that is not there
    ROLLBACK;
    SELECT -1, v_discount, v_last, v_credit, v_w_tax, v_d_tax;
  ELSE
    SELECT v_o, v_discount, v_last, v_credit, v_w_tax, v_d_tax;
{{- if .Spec}}
    SELECT i_name, s_quantity, IF(i_data LIKE '%ORIGINAL%' AND s_data LIKE '%ORIGINAL%', 'B', 'G'), i_price, ol_amount
      FROM order_line STRAIGHT_JOIN item ON i_id = ol_i_id STRAIGHT_JOIN stock ON s_w_id = ol_supply_w_id AND s_i_id = ol_i_id
      WHERE ol_w_id = p_w AND ol_d_id = p_d AND ol_o_id = v_o;
{{- end}}
    COMMIT;
  END IF;
END
