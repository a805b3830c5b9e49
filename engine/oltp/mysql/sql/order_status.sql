CREATE PROCEDURE bakeoff_order_status(p_w INT, p_d SMALLINT, p_c INT, p_last VARCHAR(16) CHARACTER SET latin1 COLLATE latin1_bin)
READS SQL DATA
BEGIN
  DECLARE v_c INT DEFAULT p_c;
  DECLARE v_o, v_same INT;
  DECLARE EXIT HANDLER FOR SQLEXCEPTION BEGIN ROLLBACK; RESIGNAL; END;
  DECLARE EXIT HANDLER FOR NOT FOUND BEGIN ROLLBACK; SIGNAL SQLSTATE '45000' SET MESSAGE_TEXT = 'no customer of that name'; END;
  START TRANSACTION;
  IF p_last IS NOT NULL THEN -- the one in the middle, by first name
    SELECT COUNT(*) INTO v_same FROM customer WHERE c_w_id = p_w AND c_d_id = p_d AND c_last = p_last;
    SET v_same = GREATEST(v_same - 1, 0) DIV 2;
    SELECT c_id INTO v_c FROM customer WHERE c_w_id = p_w AND c_d_id = p_d AND c_last = p_last ORDER BY c_first LIMIT v_same, 1;
  END IF;
  SELECT MAX(o_id) INTO v_o FROM orders WHERE o_w_id = p_w AND o_d_id = p_d AND o_c_id = v_c;
  SELECT c_id, c_first, c_middle, c_last, c_balance, o_id, o_entry_d, o_carrier_id FROM customer, orders
    WHERE c_w_id = p_w AND c_d_id = p_d AND c_id = v_c AND o_w_id = p_w AND o_d_id = p_d AND o_id = v_o;
  SELECT ol_i_id, ol_supply_w_id, ol_quantity, ol_amount, ol_delivery_d FROM order_line WHERE ol_w_id = p_w AND ol_d_id = p_d AND ol_o_id = v_o;
  COMMIT;
END
