CREATE PROCEDURE bakeoff_payment(p_w INT, p_d SMALLINT, p_c_w INT, p_c_d SMALLINT, p_c INT,
  p_last VARCHAR(16) CHARACTER SET latin1 COLLATE latin1_bin, p_amount DECIMAL(6,2))
MODIFIES SQL DATA
BEGIN
  DECLARE v_c INT DEFAULT p_c;
  DECLARE v_same INT;
  DECLARE EXIT HANDLER FOR SQLEXCEPTION BEGIN ROLLBACK; RESIGNAL; END;
  DECLARE EXIT HANDLER FOR NOT FOUND BEGIN ROLLBACK; SIGNAL SQLSTATE '45000' SET MESSAGE_TEXT = 'no customer of that name'; END;
  START TRANSACTION;
  UPDATE warehouse SET w_ytd = w_ytd + p_amount WHERE w_id = p_w;
  UPDATE district SET d_ytd = d_ytd + p_amount WHERE d_w_id = p_w AND d_id = p_d;
  IF p_last IS NOT NULL THEN -- the one in the middle, by first name
    SELECT COUNT(*) INTO v_same FROM customer WHERE c_w_id = p_c_w AND c_d_id = p_c_d AND c_last = p_last;
    SET v_same = GREATEST(v_same - 1, 0) DIV 2;
    SELECT c_id INTO v_c FROM customer WHERE c_w_id = p_c_w AND c_d_id = p_c_d AND c_last = p_last ORDER BY c_first LIMIT v_same, 1;
  END IF;
  UPDATE customer SET c_balance = c_balance - p_amount,{{if .Spec}} c_ytd_payment = c_ytd_payment + p_amount, c_payment_cnt = c_payment_cnt + 1,{{end}}
      c_data = IF(c_credit = 'BC', LEFT(CONCAT_WS(' ', c_id, c_d_id, c_w_id, p_d, p_w, p_amount, c_data), 500), c_data)
    WHERE c_w_id = p_c_w AND c_d_id = p_c_d AND c_id = v_c;
  INSERT INTO history (h_c_id, h_c_d_id, h_c_w_id, h_d_id, h_w_id, h_date, h_amount, h_data)
    SELECT v_c, p_c_d, p_c_w, p_d, p_w, NOW(), p_amount, CONCAT(w_name, '    ', d_name) FROM warehouse, district WHERE w_id = p_w AND d_w_id = p_w AND d_id = p_d;
  SELECT c_id, w_street_1, w_street_2, w_city, w_state, w_zip, d_street_1, d_street_2, d_city, d_state, d_zip,
      c_first, c_middle, c_last, c_street_1, c_street_2, c_city, c_state, c_zip, c_phone, c_since, c_credit, c_credit_lim, c_discount, c_balance,
      IF(c_credit = 'BC', LEFT(c_data, 200), '')
    FROM warehouse, district, customer
    WHERE w_id = p_w AND d_w_id = p_w AND d_id = p_d AND c_w_id = p_c_w AND c_d_id = p_c_d AND c_id = v_c;
  COMMIT;
END
