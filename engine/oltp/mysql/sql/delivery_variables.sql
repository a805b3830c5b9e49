CREATE PROCEDURE bakeoff_delivery(p_w INT, p_carrier INT, p_now DATETIME)
BEGIN
  DECLARE v_d INT DEFAULT 1;
  DECLARE v_o, v_c INT;
  DECLARE v_total DECIMAL(12,2);
  DECLARE EXIT HANDLER FOR SQLEXCEPTION BEGIN ROLLBACK; RESIGNAL; END;
  DECLARE CONTINUE HANDLER FOR NOT FOUND SET v_o = NULL; -- a district with nothing to deliver
  START TRANSACTION;
  WHILE v_d <= 10 DO
    SELECT no_o_id INTO v_o FROM new_order WHERE no_w_id = p_w AND no_d_id = v_d ORDER BY no_o_id LIMIT 1 FOR UPDATE;
    IF v_o IS NOT NULL THEN
      DELETE FROM new_order WHERE no_w_id = p_w AND no_d_id = v_d AND no_o_id = v_o;
      SELECT o_c_id INTO v_c FROM orders WHERE o_id = v_o AND o_d_id = v_d AND o_w_id = p_w;
      UPDATE orders SET o_carrier_id = p_carrier WHERE o_id = v_o AND o_d_id = v_d AND o_w_id = p_w;
      UPDATE order_line SET ol_delivery_d = p_now WHERE ol_o_id = v_o AND ol_d_id = v_d AND ol_w_id = p_w;
      SELECT SUM(ol_amount) INTO v_total FROM order_line WHERE ol_o_id = v_o AND ol_d_id = v_d AND ol_w_id = p_w;
      UPDATE customer SET c_balance = c_balance + v_total WHERE c_id = v_c AND c_d_id = v_d AND c_w_id = p_w;
    END IF;
    SET v_d = v_d + 1;
  END WHILE;
  COMMIT;
END
