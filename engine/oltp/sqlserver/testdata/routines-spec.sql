DROP PROCEDURE IF EXISTS bakeoff_new_order;
DROP TYPE IF EXISTS bakeoff_lines;
GO
CREATE TYPE bakeoff_lines AS TABLE (
  number int NOT NULL PRIMARY KEY,
  item int NOT NULL,
  supply int NOT NULL,
  quantity int NOT NULL
);
GO
CREATE PROCEDURE bakeoff_new_order
  @w int, @d int, @c int, @local int, @lines bakeoff_lines READONLY
AS
BEGIN
  SET NOCOUNT ON;
  SET XACT_ABORT ON;
  DECLARE @o int, @n int, @d_tax decimal(4, 4), @w_tax decimal(4, 4), @discount decimal(4, 4);
  DECLARE @last varchar(16), @credit char(2), @total decimal(12, 2), @now datetime2(0) = SYSUTCDATETIME();
  SELECT @n = COUNT(*) FROM @lines;
  BEGIN TRANSACTION;
  UPDATE district SET @o = d_next_o_id, @d_tax = d_tax, d_next_o_id = d_next_o_id + 1
    WHERE d_w_id = @w AND d_id = @d;
  IF @@ROWCOUNT = 0 THROW 50001, 'bakeoff: found no such district; the database is not what was loaded', 1;
  SELECT @discount = c_discount, @last = c_last, @credit = c_credit, @w_tax = w_tax
    FROM customer INNER JOIN warehouse ON w_id = c_w_id
    WHERE c_w_id = @w AND c_d_id = @d AND c_id = @c;
  IF @@ROWCOUNT = 0 THROW 50002, 'bakeoff: found no such customer; the database is not what was loaded', 1;
  INSERT INTO orders (o_id, o_d_id, o_w_id, o_c_id, o_entry_d, o_ol_cnt, o_all_local)
    VALUES (@o, @d, @w, @c, @now, @n, @local);
  INSERT INTO new_order (no_o_id, no_d_id, no_w_id) VALUES (@o, @d, @w);
  DECLARE @taken TABLE (number int NOT NULL PRIMARY KEY, item int NOT NULL, supply int NOT NULL, quantity int NOT NULL, info char(24) NOT NULL, s_data varchar(50) NOT NULL);
  UPDATE s SET
    s_quantity = s.s_quantity - l.quantity + CASE WHEN s.s_quantity - l.quantity >= 10 THEN 0 ELSE 91 END,
    s_ytd = s.s_ytd + l.quantity, s_order_cnt = s.s_order_cnt + 1,
    s_remote_cnt = s.s_remote_cnt + CASE WHEN l.supply = @w THEN 0 ELSE 1 END
    OUTPUT l.number, l.item, l.supply, l.quantity,
      CASE @d WHEN 1 THEN inserted.s_dist_01 WHEN 2 THEN inserted.s_dist_02 WHEN 3 THEN inserted.s_dist_03 WHEN 4 THEN inserted.s_dist_04
        WHEN 5 THEN inserted.s_dist_05 WHEN 6 THEN inserted.s_dist_06 WHEN 7 THEN inserted.s_dist_07 WHEN 8 THEN inserted.s_dist_08
        WHEN 9 THEN inserted.s_dist_09 ELSE inserted.s_dist_10 END,
      inserted.s_data
    INTO @taken (number, item, supply, quantity, info, s_data)
    FROM @lines AS l INNER JOIN stock AS s ON s.s_w_id = l.supply AND s.s_i_id = l.item
    OPTION (FORCE ORDER, LOOP JOIN);
  INSERT INTO order_line (ol_o_id, ol_d_id, ol_w_id, ol_number, ol_i_id, ol_supply_w_id, ol_quantity, ol_amount, ol_dist_info)
    SELECT @o, @d, @w, t.number, t.item, t.supply, t.quantity, t.quantity * i.i_price, t.info
    FROM @taken AS t INNER JOIN item AS i ON i.i_id = t.item
    OPTION (FORCE ORDER, LOOP JOIN);
  DECLARE @placed int = @@ROWCOUNT;
  SELECT @total = SUM(ol_amount) FROM order_line WHERE ol_w_id = @w AND ol_d_id = @d AND ol_o_id = @o;
  IF @placed < @n
  BEGIN
    ROLLBACK TRANSACTION;
    SELECT 1 AS rolled_back, @o AS number, 0 AS total, @last AS name, @credit AS credit;
    RETURN;
  END;
  COMMIT TRANSACTION;
  SELECT 0 AS rolled_back, @o AS number, @total * (1 - @discount) * (1 + @w_tax + @d_tax) AS total, @last AS name, @credit AS credit;
END;
GO
CREATE OR ALTER PROCEDURE bakeoff_payment
  @w int, @d int, @cw int, @cd int, @c int, @last varchar(16), @cents int
AS
BEGIN
  SET NOCOUNT ON;
  SET XACT_ABORT ON;
  DECLARE @amount decimal(6, 2) = @cents / 100.0, @n int, @balance decimal(14, 2), @credit char(2), @discount decimal(4, 4);
  DECLARE @w_name varchar(10), @d_name varchar(10), @first varchar(16), @name varchar(16), @data varchar(500), @now datetime2(0) = SYSUTCDATETIME();
  BEGIN TRANSACTION;
  UPDATE warehouse SET w_ytd = w_ytd + @amount, @w_name = w_name WHERE w_id = @w;
  IF @@ROWCOUNT = 0 THROW 50001, 'bakeoff: found no such warehouse; the database is not what was loaded', 1;
  UPDATE district SET d_ytd = d_ytd + @amount, @d_name = d_name WHERE d_w_id = @w AND d_id = @d;
  IF @@ROWCOUNT = 0 THROW 50001, 'bakeoff: found no such district; the database is not what was loaded', 1;
  IF @c = 0
  BEGIN
    SELECT @n = COUNT(*) FROM customer WHERE c_w_id = @cw AND c_d_id = @cd AND c_last = @last;
    SELECT @c = c_id FROM customer WHERE c_w_id = @cw AND c_d_id = @cd AND c_last = @last
      ORDER BY c_first OFFSET (@n - 1) / 2 ROWS FETCH NEXT 1 ROWS ONLY;
  END;
  UPDATE customer SET
    @balance = c_balance = c_balance - @amount,
    c_ytd_payment = c_ytd_payment + @amount, c_payment_cnt = c_payment_cnt + 1,
    @data = c_data = CASE c_credit WHEN 'BC'
      THEN LEFT(CONCAT(c_id, ' ', c_d_id, ' ', c_w_id, ' ', @d, ' ', @w, ' ', @amount, ' ', c_data), 500) ELSE c_data END,
    @credit = c_credit, @discount = c_discount, @first = c_first, @name = c_last
    WHERE c_w_id = @cw AND c_d_id = @cd AND c_id = @c;
  IF @@ROWCOUNT = 0 THROW 50002, 'bakeoff: found no such customer; the database is not what was loaded', 1;
  INSERT INTO history (h_c_id, h_c_d_id, h_c_w_id, h_d_id, h_w_id, h_date, h_amount, h_data)
    VALUES (@c, @cd, @cw, @d, @w, @now, @amount, CONCAT(@w_name, '    ', @d_name));
  COMMIT TRANSACTION;
  SELECT 0 AS rolled_back, @c AS customer, @first AS first, @name AS name, @credit AS credit, @discount AS discount, @balance AS balance,
    LEFT(@data, 200) AS data;
END;
GO
CREATE OR ALTER PROCEDURE bakeoff_delivery
  @w int, @carrier int
AS
BEGIN
  SET NOCOUNT ON;
  SET XACT_ABORT ON;
  DECLARE @now datetime2(0) = SYSUTCDATETIME();
  DECLARE @due TABLE (d int NOT NULL PRIMARY KEY, o int NOT NULL);
  BEGIN TRANSACTION;
  DELETE n OUTPUT deleted.no_d_id, deleted.no_o_id INTO @due (d, o)
    FROM (VALUES (1), (2), (3), (4), (5), (6), (7), (8), (9), (10)) AS k (d)
    CROSS APPLY (SELECT TOP (1) no_o_id AS o FROM new_order WITH (UPDLOCK)
      WHERE no_w_id = @w AND no_d_id = k.d ORDER BY no_o_id) AS f
    INNER JOIN new_order AS n ON n.no_w_id = @w AND n.no_d_id = k.d AND n.no_o_id = f.o
    OPTION (FORCE ORDER, LOOP JOIN);
  UPDATE o SET o_carrier_id = @carrier
    FROM @due AS t INNER JOIN orders AS o ON o.o_w_id = @w AND o.o_d_id = t.d AND o.o_id = t.o
    OPTION (FORCE ORDER, LOOP JOIN);
  UPDATE l SET ol_delivery_d = @now
    FROM @due AS t INNER JOIN order_line AS l ON l.ol_w_id = @w AND l.ol_d_id = t.d AND l.ol_o_id = t.o
    OPTION (FORCE ORDER, LOOP JOIN);
  UPDATE c SET c_balance = c.c_balance + x.total, c_delivery_cnt = c.c_delivery_cnt + 1
    FROM @due AS t INNER JOIN orders AS o ON o.o_w_id = @w AND o.o_d_id = t.d AND o.o_id = t.o
    CROSS APPLY (SELECT SUM(ol_amount) AS total FROM order_line WHERE ol_w_id = @w AND ol_d_id = t.d AND ol_o_id = t.o) AS x
    INNER JOIN customer AS c ON c.c_w_id = @w AND c.c_d_id = t.d AND c.c_id = o.o_c_id
    OPTION (FORCE ORDER, LOOP JOIN);
  COMMIT TRANSACTION;
  SELECT 0 AS rolled_back, COUNT(*) AS delivered FROM @due;
END;
GO
CREATE OR ALTER PROCEDURE bakeoff_order_status
  @w int, @d int, @c int, @last varchar(16)
AS
BEGIN
  SET NOCOUNT ON;
  SET XACT_ABORT ON;
  DECLARE @n int, @o int, @entry datetime2(0), @carrier int, @balance decimal(14, 2), @first varchar(16), @name varchar(16);
  BEGIN TRANSACTION;
  IF @c = 0
  BEGIN
    SELECT @n = COUNT(*) FROM customer WHERE c_w_id = @w AND c_d_id = @d AND c_last = @last;
    SELECT @c = c_id FROM customer WHERE c_w_id = @w AND c_d_id = @d AND c_last = @last
      ORDER BY c_first OFFSET (@n - 1) / 2 ROWS FETCH NEXT 1 ROWS ONLY;
  END;
  SELECT @balance = c_balance, @first = c_first, @name = c_last FROM customer WHERE c_w_id = @w AND c_d_id = @d AND c_id = @c;
  IF @@ROWCOUNT = 0 THROW 50002, 'bakeoff: found no such customer; the database is not what was loaded', 1;
  SELECT TOP (1) @o = o_id, @entry = o_entry_d, @carrier = o_carrier_id FROM orders
    WHERE o_w_id = @w AND o_d_id = @d AND o_c_id = @c ORDER BY o_id DESC;
  SELECT 0 AS rolled_back, @c AS customer, @first AS first, @name AS name, @balance AS balance, @o AS number, @entry AS entry, @carrier AS carrier;
  SELECT ol_i_id, ol_supply_w_id, ol_quantity, ol_amount, ol_delivery_d FROM order_line
    WHERE ol_w_id = @w AND ol_d_id = @d AND ol_o_id = @o;
  COMMIT TRANSACTION;
END;
GO
CREATE OR ALTER PROCEDURE bakeoff_stock_level
  @w int, @d int, @threshold int
AS
BEGIN
  SET NOCOUNT ON;
  SET XACT_ABORT ON;
  DECLARE @next int, @low int;
  BEGIN TRANSACTION;
  SELECT @next = d_next_o_id FROM district WHERE d_w_id = @w AND d_id = @d;
  SELECT @low = COUNT(DISTINCT s_i_id)
    FROM order_line INNER JOIN stock ON s_w_id = ol_w_id AND s_i_id = ol_i_id
    WHERE ol_w_id = @w AND ol_d_id = @d AND ol_o_id >= @next - 20 AND ol_o_id < @next AND s_quantity < @threshold;
  COMMIT TRANSACTION;
  SELECT 0 AS rolled_back, @low AS low;
END;
