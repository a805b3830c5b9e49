CREATE OR REPLACE PACKAGE bakeoff_tpcc AS
  TYPE numbers IS TABLE OF NUMBER INDEX BY BINARY_INTEGER;
  PROCEDURE new_order (p_w IN NUMBER, p_d IN NUMBER, p_c IN NUMBER, p_local IN NUMBER, p_n IN NUMBER,
    p_items IN numbers, p_supplies IN numbers, p_quantities IN numbers, p_rolled_back OUT NUMBER, p_total OUT NUMBER);
  PROCEDURE payment (p_w IN NUMBER, p_d IN NUMBER, p_cw IN NUMBER, p_cd IN NUMBER, p_c IN NUMBER, p_last IN VARCHAR2,
    p_cents IN NUMBER, p_customer OUT NUMBER, p_balance OUT NUMBER);
  PROCEDURE delivery (p_w IN NUMBER, p_carrier IN NUMBER, p_delivered OUT NUMBER);
  PROCEDURE order_status (p_w IN NUMBER, p_d IN NUMBER, p_c IN NUMBER, p_last IN VARCHAR2, p_order OUT NUMBER, p_balance OUT NUMBER,
    p_lines OUT NUMBER);
  PROCEDURE stock_level (p_w IN NUMBER, p_d IN NUMBER, p_threshold IN NUMBER, p_low OUT NUMBER);
END bakeoff_tpcc;
/
CREATE OR REPLACE PACKAGE BODY bakeoff_tpcc AS
  TYPE texts IS TABLE OF VARCHAR2(50) INDEX BY BINARY_INTEGER;

  -- The middle one of the customers of a name by first name, rounded up.
  FUNCTION chosen (p_w IN NUMBER, p_d IN NUMBER, p_c IN NUMBER, p_last IN VARCHAR2) RETURN NUMBER IS
    v_ids numbers;
  BEGIN
    IF p_c <> 0 THEN
      RETURN p_c;
    END IF;
    SELECT c_id BULK COLLECT INTO v_ids FROM customer WHERE c_w_id = p_w AND c_d_id = p_d AND c_last = p_last ORDER BY c_first;
    RETURN v_ids(TRUNC((v_ids.COUNT + 1) / 2));
  END chosen;

  PROCEDURE new_order (p_w IN NUMBER, p_d IN NUMBER, p_c IN NUMBER, p_local IN NUMBER, p_n IN NUMBER,
    p_items IN numbers, p_supplies IN numbers, p_quantities IN numbers, p_rolled_back OUT NUMBER, p_total OUT NUMBER) IS
    v_order NUMBER;
    v_district_tax NUMBER;
    v_warehouse_tax NUMBER;
    v_discount NUMBER;
    v_last VARCHAR2(16);
    v_credit CHAR(2);
    v_numbers numbers;
    v_info texts;
    v_data texts;
  BEGIN
    p_rolled_back := 0;
    FOR i IN 1 .. p_n LOOP
      v_numbers(i) := i;
    END LOOP;
    UPDATE district SET d_next_o_id = d_next_o_id + 1 WHERE d_w_id = p_w AND d_id = p_d
      RETURNING d_next_o_id - 1, d_tax INTO v_order, v_district_tax;
    SELECT c_discount, c_last, c_credit, w_tax INTO v_discount, v_last, v_credit, v_warehouse_tax
      FROM customer INNER JOIN warehouse ON w_id = c_w_id
      WHERE c_w_id = p_w AND c_d_id = p_d AND c_id = p_c;
    INSERT INTO orders (o_id, o_d_id, o_w_id, o_c_id, o_entry_d, o_ol_cnt, o_all_local)
      VALUES (v_order, p_d, p_w, p_c, SYSDATE, p_n, p_local);
    INSERT INTO new_order (no_o_id, no_d_id, no_w_id) VALUES (v_order, p_d, p_w);
    FORALL i IN 1 .. p_n
      UPDATE stock SET s_quantity = s_quantity - p_quantities(i) + CASE WHEN s_quantity - p_quantities(i) >= 10 THEN 0 ELSE 91 END
        WHERE s_w_id = p_supplies(i) AND s_i_id = p_items(i)
        RETURNING CASE p_d WHEN 1 THEN s_dist_01 WHEN 2 THEN s_dist_02 WHEN 3 THEN s_dist_03 WHEN 4 THEN s_dist_04 WHEN 5 THEN s_dist_05
          WHEN 6 THEN s_dist_06 WHEN 7 THEN s_dist_07 WHEN 8 THEN s_dist_08 WHEN 9 THEN s_dist_09 ELSE s_dist_10 END, s_data
        BULK COLLECT INTO v_info, v_data;
    -- An item that there is not comes last, and has no stock either.
    FORALL i IN 1 .. v_info.COUNT
      INSERT INTO order_line (ol_o_id, ol_d_id, ol_w_id, ol_number, ol_i_id, ol_supply_w_id, ol_quantity, ol_amount, ol_dist_info)
        SELECT v_order, p_d, p_w, v_numbers(i), i_id, p_supplies(i), p_quantities(i), p_quantities(i) * i_price, v_info(i)
        FROM item WHERE i_id = p_items(i);
    IF v_info.COUNT < p_n THEN
      ROLLBACK;
      p_rolled_back := 1;
      p_total := 0;
      RETURN;
    END IF;
    SELECT SUM(ol_amount) * (1 - v_discount) * (1 + v_warehouse_tax + v_district_tax) INTO p_total
      FROM order_line WHERE ol_w_id = p_w AND ol_d_id = p_d AND ol_o_id = v_order;
    COMMIT;
  EXCEPTION
    WHEN OTHERS THEN
      ROLLBACK;
      RAISE;
  END new_order;

  PROCEDURE payment (p_w IN NUMBER, p_d IN NUMBER, p_cw IN NUMBER, p_cd IN NUMBER, p_c IN NUMBER, p_last IN VARCHAR2,
    p_cents IN NUMBER, p_customer OUT NUMBER, p_balance OUT NUMBER) IS
    v_amount NUMBER := p_cents / 100;
    v_warehouse VARCHAR2(10);
    v_district VARCHAR2(10);
    v_credit CHAR(2);
    v_data VARCHAR2(500);
    v_first VARCHAR2(16);
    v_name VARCHAR2(16);
  BEGIN
    UPDATE warehouse SET w_ytd = w_ytd + v_amount WHERE w_id = p_w RETURNING w_name INTO v_warehouse;
    UPDATE district SET d_ytd = d_ytd + v_amount WHERE d_w_id = p_w AND d_id = p_d RETURNING d_name INTO v_district;
    p_customer := chosen(p_cw, p_cd, p_c, p_last);
    UPDATE customer SET c_balance = c_balance - v_amount,
      c_data = CASE c_credit WHEN 'BC' THEN
        SUBSTR(c_id || ' ' || c_d_id || ' ' || c_w_id || ' ' || p_d || ' ' || p_w || ' ' || TO_CHAR(v_amount, 'FM9990.00') || ' ' || c_data, 1, 500)
        ELSE c_data END
      WHERE c_w_id = p_cw AND c_d_id = p_cd AND c_id = p_customer
      RETURNING c_balance, c_credit, c_data, c_first, c_last INTO p_balance, v_credit, v_data, v_first, v_name;
    IF SQL%ROWCOUNT = 0 THEN
      RAISE NO_DATA_FOUND;
    END IF;
    INSERT INTO history (h_c_id, h_c_d_id, h_c_w_id, h_d_id, h_w_id, h_date, h_amount, h_data)
      VALUES (p_customer, p_cd, p_cw, p_d, p_w, SYSDATE, v_amount, v_warehouse || '    ' || v_district);
    COMMIT;
  EXCEPTION
    WHEN OTHERS THEN
      ROLLBACK;
      RAISE;
  END payment;

  PROCEDURE delivery (p_w IN NUMBER, p_carrier IN NUMBER, p_delivered OUT NUMBER) IS
    v_order NUMBER;
    v_customer NUMBER;
    v_total NUMBER;
  BEGIN
    p_delivered := 0;
    FOR v_d IN 1 .. 10 LOOP
      LOOP -- until no other delivery took the order meanwhile
        SELECT MIN(no_o_id) INTO v_order FROM new_order WHERE no_w_id = p_w AND no_d_id = v_d;
        EXIT WHEN v_order IS NULL;
        DELETE FROM new_order WHERE no_w_id = p_w AND no_d_id = v_d AND no_o_id = v_order;
        EXIT WHEN SQL%ROWCOUNT = 1;
      END LOOP;
      IF v_order IS NOT NULL THEN
        UPDATE orders SET o_carrier_id = p_carrier WHERE o_w_id = p_w AND o_d_id = v_d AND o_id = v_order
          RETURNING o_c_id INTO v_customer;
        UPDATE order_line SET ol_delivery_d = SYSDATE WHERE ol_w_id = p_w AND ol_d_id = v_d AND ol_o_id = v_order;
        SELECT SUM(ol_amount) INTO v_total FROM order_line WHERE ol_w_id = p_w AND ol_d_id = v_d AND ol_o_id = v_order;
        UPDATE customer SET c_balance = c_balance + v_total
          WHERE c_w_id = p_w AND c_d_id = v_d AND c_id = v_customer;
        p_delivered := p_delivered + 1;
      END IF;
    END LOOP;
    COMMIT;
  EXCEPTION
    WHEN OTHERS THEN
      ROLLBACK;
      RAISE;
  END delivery;

  PROCEDURE order_status (p_w IN NUMBER, p_d IN NUMBER, p_c IN NUMBER, p_last IN VARCHAR2, p_order OUT NUMBER, p_balance OUT NUMBER,
    p_lines OUT NUMBER) IS
    TYPE line_rows IS TABLE OF order_line%ROWTYPE INDEX BY BINARY_INTEGER;
    v_customer NUMBER;
    v_first VARCHAR2(16);
    v_name VARCHAR2(16);
    v_entry DATE;
    v_carrier NUMBER;
    v_lines line_rows;
  BEGIN
    SET TRANSACTION READ ONLY;
    v_customer := chosen(p_w, p_d, p_c, p_last);
    SELECT c_balance, c_first, c_last INTO p_balance, v_first, v_name
      FROM customer WHERE c_w_id = p_w AND c_d_id = p_d AND c_id = v_customer;
    SELECT o_id, o_entry_d, o_carrier_id INTO p_order, v_entry, v_carrier FROM orders
      WHERE o_w_id = p_w AND o_d_id = p_d AND o_c_id = v_customer ORDER BY o_id DESC FETCH FIRST 1 ROWS ONLY;
    SELECT * BULK COLLECT INTO v_lines FROM order_line WHERE ol_w_id = p_w AND ol_d_id = p_d AND ol_o_id = p_order;
    p_lines := v_lines.COUNT;
    COMMIT;
  EXCEPTION
    WHEN OTHERS THEN
      ROLLBACK;
      RAISE;
  END order_status;

  PROCEDURE stock_level (p_w IN NUMBER, p_d IN NUMBER, p_threshold IN NUMBER, p_low OUT NUMBER) IS
    v_next NUMBER;
  BEGIN
    SET TRANSACTION READ ONLY;
    SELECT d_next_o_id INTO v_next FROM district WHERE d_w_id = p_w AND d_id = p_d;
    SELECT COUNT(DISTINCT s_i_id) INTO p_low
      FROM order_line INNER JOIN stock ON s_w_id = ol_w_id AND s_i_id = ol_i_id
      WHERE ol_w_id = p_w AND ol_d_id = p_d AND ol_o_id >= v_next - 20 AND ol_o_id < v_next AND s_quantity < p_threshold;
    COMMIT;
  EXCEPTION
    WHEN OTHERS THEN
      ROLLBACK;
      RAISE;
  END stock_level;
END bakeoff_tpcc;
/
