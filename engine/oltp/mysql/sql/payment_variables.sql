CREATE PROCEDURE bakeoff_payment(p_w INT, p_d INT, p_c_w INT, p_c_d INT, INOUT r_c INT, p_by_name INT, p_amount DECIMAL(6,2),
  INOUT r_last VARCHAR(16) CHARACTER SET latin1 COLLATE latin1_bin,
  OUT r_w_street_1 VARCHAR(20), OUT r_w_street_2 VARCHAR(20), OUT r_w_city VARCHAR(20), OUT r_w_state CHAR(2), OUT r_w_zip CHAR(9),
  OUT r_d_street_1 VARCHAR(20), OUT r_d_street_2 VARCHAR(20), OUT r_d_city VARCHAR(20), OUT r_d_state CHAR(2), OUT r_d_zip CHAR(9),
  OUT r_first VARCHAR(16), OUT r_middle CHAR(2), OUT r_street_1 VARCHAR(20), OUT r_street_2 VARCHAR(20), OUT r_city VARCHAR(20), OUT r_state CHAR(2),
  OUT r_zip CHAR(9), OUT r_phone CHAR(16), OUT r_since DATETIME, INOUT r_credit CHAR(2), OUT r_limit DECIMAL(14,2), OUT r_discount DECIMAL(4,4),
  INOUT r_balance DECIMAL(14,2), OUT r_data VARCHAR(500), p_now DATETIME)
BEGIN
  DECLARE v_same, v_fetched INT DEFAULT 0;
  DECLARE v_w_name, v_d_name VARCHAR(10);
  DECLARE v_data VARCHAR(600);
  DECLARE of_name CURSOR FOR
    SELECT c_first, c_middle, c_id, c_street_1, c_street_2, c_city, c_state, c_zip, c_phone, c_credit, c_credit_lim, c_discount, c_balance, c_since
      FROM customer WHERE c_w_id = p_c_w AND c_d_id = p_c_d AND c_last = r_last ORDER BY c_first;
  DECLARE EXIT HANDLER FOR SQLEXCEPTION BEGIN ROLLBACK; RESIGNAL; END;
  DECLARE EXIT HANDLER FOR NOT FOUND BEGIN ROLLBACK; SIGNAL SQLSTATE '45000' SET MESSAGE_TEXT = 'no such customer'; END;
  START TRANSACTION;
  UPDATE warehouse SET w_ytd = w_ytd + p_amount WHERE w_id = p_w;
  SELECT w_street_1, w_street_2, w_city, w_state, w_zip, w_name INTO r_w_street_1, r_w_street_2, r_w_city, r_w_state, r_w_zip, v_w_name
    FROM warehouse WHERE w_id = p_w;
  UPDATE district SET d_ytd = d_ytd + p_amount WHERE d_w_id = p_w AND d_id = p_d;
  SELECT d_street_1, d_street_2, d_city, d_state, d_zip, d_name INTO r_d_street_1, r_d_street_2, r_d_city, r_d_state, r_d_zip, v_d_name
    FROM district WHERE d_w_id = p_w AND d_id = p_d;
  IF p_by_name = 1 THEN -- the one in the middle, by first name
    SELECT COUNT(c_id) INTO v_same FROM customer WHERE c_w_id = p_c_w AND c_d_id = p_c_d AND c_last = r_last;
    OPEN of_name;
    REPEAT
      FETCH of_name INTO r_first, r_middle, r_c, r_street_1, r_street_2, r_city, r_state, r_zip, r_phone, r_credit, r_limit, r_discount, r_balance, r_since;
      SET v_fetched = v_fetched + 1;
    UNTIL v_fetched >= (v_same + 1) DIV 2 END REPEAT;
    CLOSE of_name;
  ELSE
    SELECT c_first, c_middle, c_last, c_street_1, c_street_2, c_city, c_state, c_zip, c_phone, c_credit, c_credit_lim, c_discount, c_balance, c_since
      INTO r_first, r_middle, r_last, r_street_1, r_street_2, r_city, r_state, r_zip, r_phone, r_credit, r_limit, r_discount, r_balance, r_since
      FROM customer WHERE c_w_id = p_c_w AND c_d_id = p_c_d AND c_id = r_c;
  END IF;
  IF r_credit = 'BC' THEN
    SELECT c_data INTO r_data FROM customer WHERE c_w_id = p_c_w AND c_d_id = p_c_d AND c_id = r_c;
    SET v_data = LEFT(CONCAT_WS(' ', r_c, p_c_d, p_c_w, p_d, p_w, p_amount, r_data), 500);
    UPDATE customer SET c_balance = c_balance - p_amount, c_data = v_data WHERE c_w_id = p_c_w AND c_d_id = p_c_d AND c_id = r_c;
  ELSE
    UPDATE customer SET c_balance = c_balance - p_amount WHERE c_w_id = p_c_w AND c_d_id = p_c_d AND c_id = r_c;
  END IF;
  SET r_balance = r_balance - p_amount;
  INSERT INTO history (h_c_d_id, h_c_w_id, h_c_id, h_d_id, h_w_id, h_date, h_amount, h_data)
    VALUES (p_c_d, p_c_w, r_c, p_d, p_w, p_now, p_amount, CONCAT(v_w_name, ' ', v_d_name));
  COMMIT;
END
