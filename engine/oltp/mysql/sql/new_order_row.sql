CREATE PROCEDURE bakeoff_new_order(p_w INT, p_d SMALLINT, p_c INT, p_n SMALLINT, p_local SMALLINT, p_lines VARCHAR(500))
MODIFIES SQL DATA
BEGIN
  DECLARE v_o, v_item, v_supply INT;
  DECLARE v_line, v_at, v_quantity, v_stock SMALLINT DEFAULT 1;
  DECLARE v_discount, v_w_tax, v_d_tax DECIMAL(4,4);
  DECLARE v_price DECIMAL(5,2);
  DECLARE v_last VARCHAR(16) CHARACTER SET latin1 COLLATE latin1_bin;
  DECLARE v_credit CHAR(2) CHARACTER SET latin1 COLLATE latin1_bin;
  DECLARE v_name VARCHAR(24) CHARACTER SET latin1 COLLATE latin1_bin;
  DECLARE v_i_data, v_s_data VARCHAR(50) CHARACTER SET latin1 COLLATE latin1_bin;
  DECLARE v_dist CHAR(24) CHARACTER SET latin1 COLLATE latin1_bin;
  DECLARE EXIT HANDLER FOR SQLEXCEPTION BEGIN ROLLBACK; RESIGNAL; END;
  DECLARE EXIT HANDLER FOR NOT FOUND
  BEGIN
    ROLLBACK;
    IF v_credit IS NULL THEN
      SIGNAL SQLSTATE '45000' SET MESSAGE_TEXT = 'no such customer';
    END IF;
    SELECT -1, v_discount, v_last, v_credit, v_w_tax, v_d_tax; -- an item that is not there
  END;
  START TRANSACTION;
  SELECT d_next_o_id, d_tax INTO v_o, v_d_tax FROM district WHERE d_w_id = p_w AND d_id = p_d FOR UPDATE;
  UPDATE district SET d_next_o_id = v_o + 1 WHERE d_w_id = p_w AND d_id = p_d;
  SELECT c_discount, c_last, c_credit, w_tax INTO v_discount, v_last, v_credit, v_w_tax
    FROM warehouse, customer WHERE w_id = p_w AND c_w_id = p_w AND c_d_id = p_d AND c_id = p_c;
  INSERT INTO orders (o_id, o_d_id, o_w_id, o_c_id, o_entry_d, o_ol_cnt, o_all_local) VALUES (v_o, p_d, p_w, p_c, NOW(), p_n, p_local);
  INSERT INTO new_order (no_o_id, no_d_id, no_w_id) VALUES (v_o, p_d, p_w);
  WHILE v_line <= p_n DO
    -- A line is 15 digits: 6 of the item, 7 of the supplying warehouse, 2 of the quantity.
    SET v_at = 15 * v_line - 14;
    SET v_item = SUBSTR(p_lines, v_at, 6), v_supply = SUBSTR(p_lines, v_at + 6, 7), v_quantity = SUBSTR(p_lines, v_at + 13, 2);
    SELECT i_price, i_name, i_data INTO v_price, v_name, v_i_data FROM item WHERE i_id = v_item;
    SELECT s_quantity, s_data, ELT(p_d, s_dist_01, s_dist_02, s_dist_03, s_dist_04, s_dist_05, s_dist_06, s_dist_07, s_dist_08, s_dist_09, s_dist_10)
      INTO v_stock, v_s_data, v_dist FROM stock WHERE s_w_id = v_supply AND s_i_id = v_item FOR UPDATE;
    UPDATE stock SET s_quantity = {{.Quantity "v_quantity"}}{{if .Spec}},
        s_ytd = s_ytd + v_quantity, s_order_cnt = s_order_cnt + 1, s_remote_cnt = s_remote_cnt + (v_supply <> p_w){{end}}
      WHERE s_w_id = v_supply AND s_i_id = v_item;
    INSERT INTO order_line (ol_o_id, ol_d_id, ol_w_id, ol_number, ol_i_id, ol_supply_w_id, ol_quantity, ol_amount, ol_dist_info)
      VALUES (v_o, p_d, p_w, v_line, v_item, v_supply, v_quantity, {{.AmountOf "v_quantity" "v_price" "v_w_tax" "v_d_tax" "v_discount"}}, v_dist);
    SET v_line = v_line + 1;
  END WHILE;
  SELECT v_o, v_discount, v_last, v_credit, v_w_tax, v_d_tax;
{{- if .Spec}}
  SELECT i_name, s_quantity, IF(i_data LIKE '%ORIGINAL%' AND s_data LIKE '%ORIGINAL%', 'B', 'G'), i_price, ol_amount
    FROM order_line STRAIGHT_JOIN item ON i_id = ol_i_id STRAIGHT_JOIN stock ON s_w_id = ol_supply_w_id AND s_i_id = ol_i_id
    WHERE ol_w_id = p_w AND ol_d_id = p_d AND ol_o_id = v_o;
{{- end}}
  COMMIT;
END
