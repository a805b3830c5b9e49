CREATE PROCEDURE bakeoff_new_order(p_w INT, p_d INT, p_c INT, p_n INT, p_local INT, p_lines VARCHAR(500),
  OUT r_discount DECIMAL(4,4), OUT r_last VARCHAR(16) CHARACTER SET latin1 COLLATE latin1_bin, OUT r_credit CHAR(2) CHARACTER SET latin1 COLLATE latin1_bin,
  OUT r_d_tax DECIMAL(4,4), OUT r_w_tax DECIMAL(4,4), INOUT r_order INT, p_now DATETIME)
BEGIN
  DECLARE v_item, v_supply, v_o INT;
  DECLARE v_line, v_at, v_quantity, v_stock INT DEFAULT 1;
  DECLARE v_price DECIMAL(5,2);
  DECLARE v_amount DECIMAL(6,2);
  DECLARE v_name VARCHAR(24) CHARACTER SET latin1 COLLATE latin1_bin;
  DECLARE v_i_data, v_s_data VARCHAR(50) CHARACTER SET latin1 COLLATE latin1_bin;
  DECLARE v_1, v_2, v_3, v_4, v_5, v_6, v_7, v_8, v_9, v_10, v_dist CHAR(24) CHARACTER SET latin1 COLLATE latin1_bin;
  DECLARE EXIT HANDLER FOR SQLEXCEPTION BEGIN ROLLBACK; RESIGNAL; END;
  DECLARE EXIT HANDLER FOR NOT FOUND
  BEGIN
    ROLLBACK;
    IF r_credit IS NULL THEN
      SIGNAL SQLSTATE '45000' SET MESSAGE_TEXT = 'no such customer';
    END IF;
    SET r_order = -1; -- an item that is not there
  END;
  SELECT c_discount, c_last, c_credit, w_tax INTO r_discount, r_last, r_credit, r_w_tax
    FROM customer, warehouse WHERE w_id = p_w AND c_w_id = p_w AND c_d_id = p_d AND c_id = p_c;
  START TRANSACTION;
  SELECT d_next_o_id, d_tax INTO v_o, r_d_tax FROM district WHERE d_id = p_d AND d_w_id = p_w FOR UPDATE;
  UPDATE district SET d_next_o_id = d_next_o_id + 1 WHERE d_id = p_d AND d_w_id = p_w;
  SET r_order = v_o;
  WHILE v_line <= p_n DO
    -- A line is 15 digits: 6 of the item, 7 of the supplying warehouse, 2 of the quantity.
    SET v_at = 15 * v_line - 14;
    SET v_item = SUBSTR(p_lines, v_at, 6);
    SET v_supply = SUBSTR(p_lines, v_at + 6, 7);
    SET v_quantity = SUBSTR(p_lines, v_at + 13, 2);
    SELECT i_price, i_name, i_data INTO v_price, v_name, v_i_data FROM item WHERE i_id = v_item;
    SELECT s_quantity, s_data, s_dist_01, s_dist_02, s_dist_03, s_dist_04, s_dist_05, s_dist_06, s_dist_07, s_dist_08, s_dist_09, s_dist_10
      INTO v_stock, v_s_data, v_1, v_2, v_3, v_4, v_5, v_6, v_7, v_8, v_9, v_10
      FROM stock WHERE s_i_id = v_item AND s_w_id = v_supply FOR UPDATE;
    IF v_stock > v_quantity THEN
      SET v_stock = v_stock - v_quantity;
    ELSE
      SET v_stock = v_stock - v_quantity + 91;
    END IF;
    UPDATE stock SET s_quantity = v_stock WHERE s_i_id = v_item AND s_w_id = v_supply;
    SET v_amount = v_quantity * v_price * (1 + r_w_tax + r_d_tax) * (1 - r_discount);
    CASE p_d
      WHEN 1 THEN SET v_dist = v_1;
      WHEN 2 THEN SET v_dist = v_2;
      WHEN 3 THEN SET v_dist = v_3;
      WHEN 4 THEN SET v_dist = v_4;
      WHEN 5 THEN SET v_dist = v_5;
      WHEN 6 THEN SET v_dist = v_6;
      WHEN 7 THEN SET v_dist = v_7;
      WHEN 8 THEN SET v_dist = v_8;
      WHEN 9 THEN SET v_dist = v_9;
      ELSE SET v_dist = v_10;
    END CASE;
    INSERT INTO order_line (ol_o_id, ol_d_id, ol_w_id, ol_number, ol_i_id, ol_supply_w_id, ol_quantity, ol_amount, ol_dist_info)
      VALUES (v_o, p_d, p_w, v_line, v_item, v_supply, v_quantity, v_amount, v_dist);
    SET v_line = v_line + 1;
  END WHILE;
  INSERT INTO orders (o_id, o_d_id, o_w_id, o_c_id, o_entry_d, o_ol_cnt, o_all_local) VALUES (v_o, p_d, p_w, p_c, p_now, p_n, p_local);
  INSERT INTO new_order (no_o_id, no_d_id, no_w_id) VALUES (v_o, p_d, p_w);
  COMMIT;
END
