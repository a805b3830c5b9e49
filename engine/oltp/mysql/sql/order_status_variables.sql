CREATE PROCEDURE bakeoff_order_status(p_w INT, p_d INT, INOUT r_c INT, p_by_name INT, INOUT r_last VARCHAR(16) CHARACTER SET latin1 COLLATE latin1_bin,
  OUT r_first VARCHAR(16), OUT r_middle CHAR(2), OUT r_balance DECIMAL(14,2), OUT r_order INT, OUT r_entered DATETIME, OUT r_carrier INT)
BEGIN
  DECLARE v_same, v_fetched, v_over INT DEFAULT 0;
  DECLARE v_item, v_supply, v_quantity INT;
  DECLARE v_amount DECIMAL(6,2);
  DECLARE v_delivered DATETIME;
  DECLARE v_lines VARCHAR(2000) DEFAULT '';
  DECLARE of_name CURSOR FOR
    SELECT c_balance, c_first, c_middle, c_id FROM customer WHERE c_w_id = p_w AND c_d_id = p_d AND c_last = r_last ORDER BY c_first;
  DECLARE of_order CURSOR FOR
    SELECT ol_i_id, ol_supply_w_id, ol_quantity, ol_amount, ol_delivery_d FROM order_line WHERE ol_o_id = r_order AND ol_d_id = p_d AND ol_w_id = p_w;
  DECLARE EXIT HANDLER FOR SQLEXCEPTION BEGIN ROLLBACK; RESIGNAL; END;
  DECLARE CONTINUE HANDLER FOR NOT FOUND SET v_over = 1;
  START TRANSACTION;
  IF p_by_name = 1 THEN -- the one in the middle, by first name
    SELECT COUNT(c_id) INTO v_same FROM customer WHERE c_w_id = p_w AND c_d_id = p_d AND c_last = r_last;
    OPEN of_name;
    REPEAT
      FETCH of_name INTO r_balance, r_first, r_middle, r_c;
      SET v_fetched = v_fetched + 1;
    UNTIL v_over OR v_fetched >= (v_same + 1) DIV 2 END REPEAT;
    CLOSE of_name;
  ELSE
    SELECT c_balance, c_first, c_middle, c_last INTO r_balance, r_first, r_middle, r_last FROM customer WHERE c_id = r_c AND c_d_id = p_d AND c_w_id = p_w;
  END IF;
  SELECT o_id, o_carrier_id, o_entry_d INTO r_order, r_carrier, r_entered FROM orders
    WHERE o_d_id = p_d AND o_w_id = p_w AND o_c_id = r_c ORDER BY o_id DESC LIMIT 1;
  IF v_over THEN
    ROLLBACK;
    SIGNAL SQLSTATE '45000' SET MESSAGE_TEXT = 'no such customer, or none with an order';
  END IF;
  OPEN of_order;
  each_line: LOOP
    FETCH of_order INTO v_item, v_supply, v_quantity, v_amount, v_delivered;
    IF v_over THEN
      LEAVE each_line;
    END IF;
    SET v_lines = CONCAT(v_lines, ';', v_item, ',', v_supply, ',', v_quantity, ',', v_amount, ',', COALESCE(v_delivered, ''));
  END LOOP;
  CLOSE of_order;
  COMMIT;
END
