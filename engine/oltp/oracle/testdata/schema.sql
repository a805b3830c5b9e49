CREATE TABLE item (
  i_id NUMBER(10) NOT NULL,
  i_im_id NUMBER(10) NOT NULL,
  i_name VARCHAR2(24) NOT NULL,
  i_price NUMBER(5, 2) NOT NULL,
  i_data VARCHAR2(50) NOT NULL
);
INSERT INTO item (i_id, i_im_id, i_name, i_price, i_data) VALUES (:1, :2, :3, :4 / 100, :5);
ALTER TABLE item ADD CONSTRAINT item_key PRIMARY KEY (i_id);
CREATE TABLE warehouse (
  w_id NUMBER(10) NOT NULL,
  w_name VARCHAR2(10) NOT NULL,
  w_street_1 VARCHAR2(20) NOT NULL,
  w_street_2 VARCHAR2(20) NOT NULL,
  w_city VARCHAR2(20) NOT NULL,
  w_state CHAR(2) NOT NULL,
  w_zip CHAR(9) NOT NULL,
  w_tax NUMBER(4, 4) NOT NULL,
  w_ytd NUMBER(14, 2) NOT NULL
);
INSERT INTO warehouse (w_id, w_name, w_street_1, w_street_2, w_city, w_state, w_zip, w_tax, w_ytd) VALUES (:1, :2, :3, :4, :5, :6, :7, :8 / 10000, :9 / 100);
ALTER TABLE warehouse ADD CONSTRAINT warehouse_key PRIMARY KEY (w_id);
CREATE TABLE district (
  d_id NUMBER(5) NOT NULL,
  d_w_id NUMBER(10) NOT NULL,
  d_name VARCHAR2(10) NOT NULL,
  d_street_1 VARCHAR2(20) NOT NULL,
  d_street_2 VARCHAR2(20) NOT NULL,
  d_city VARCHAR2(20) NOT NULL,
  d_state CHAR(2) NOT NULL,
  d_zip CHAR(9) NOT NULL,
  d_tax NUMBER(4, 4) NOT NULL,
  d_ytd NUMBER(14, 2) NOT NULL,
  d_next_o_id NUMBER(10) NOT NULL
);
INSERT INTO district (d_id, d_w_id, d_name, d_street_1, d_street_2, d_city, d_state, d_zip, d_tax, d_ytd, d_next_o_id) VALUES (:1, :2, :3, :4, :5, :6, :7, :8, :9 / 10000, :10 / 100, :11);
ALTER TABLE district ADD CONSTRAINT district_key PRIMARY KEY (d_w_id, d_id);
CREATE TABLE customer (
  c_id NUMBER(10) NOT NULL,
  c_d_id NUMBER(5) NOT NULL,
  c_w_id NUMBER(10) NOT NULL,
  c_first VARCHAR2(16) NOT NULL,
  c_middle CHAR(2) NOT NULL,
  c_last VARCHAR2(16) NOT NULL,
  c_street_1 VARCHAR2(20) NOT NULL,
  c_street_2 VARCHAR2(20) NOT NULL,
  c_city VARCHAR2(20) NOT NULL,
  c_state CHAR(2) NOT NULL,
  c_zip CHAR(9) NOT NULL,
  c_phone CHAR(16) NOT NULL,
  c_since DATE NOT NULL,
  c_credit CHAR(2) NOT NULL,
  c_credit_lim NUMBER(14, 2) NOT NULL,
  c_discount NUMBER(4, 4) NOT NULL,
  c_balance NUMBER(14, 2) NOT NULL,
  c_ytd_payment NUMBER(14, 2) NOT NULL,
  c_payment_cnt NUMBER(10) NOT NULL,
  c_delivery_cnt NUMBER(10) NOT NULL,
  c_data VARCHAR2(500) NOT NULL
);
INSERT INTO customer (c_id, c_d_id, c_w_id, c_first, c_middle, c_last, c_street_1, c_street_2, c_city, c_state, c_zip, c_phone, c_since, c_credit, c_credit_lim, c_discount, c_balance, c_ytd_payment, c_payment_cnt, c_delivery_cnt, c_data) VALUES (:1, :2, :3, :4, :5, :6, :7, :8, :9, :10, :11, :12, :13, :14, :15 / 100, :16 / 10000, :17 / 100, :18 / 100, :19, :20, :21);
ALTER TABLE customer ADD CONSTRAINT customer_key PRIMARY KEY (c_w_id, c_d_id, c_id);
CREATE INDEX customer_by_name ON customer (c_w_id, c_d_id, c_last, c_first);
CREATE TABLE history (
  h_c_id NUMBER(10) NOT NULL,
  h_c_d_id NUMBER(5) NOT NULL,
  h_c_w_id NUMBER(10) NOT NULL,
  h_d_id NUMBER(5) NOT NULL,
  h_w_id NUMBER(10) NOT NULL,
  h_date DATE NOT NULL,
  h_amount NUMBER(6, 2) NOT NULL,
  h_data VARCHAR2(24) NOT NULL
);
INSERT INTO history (h_c_id, h_c_d_id, h_c_w_id, h_d_id, h_w_id, h_date, h_amount, h_data) VALUES (:1, :2, :3, :4, :5, :6, :7 / 100, :8);
CREATE TABLE orders (
  o_id NUMBER(10) NOT NULL,
  o_d_id NUMBER(5) NOT NULL,
  o_w_id NUMBER(10) NOT NULL,
  o_c_id NUMBER(10) NOT NULL,
  o_entry_d DATE NOT NULL,
  o_carrier_id NUMBER(5),
  o_ol_cnt NUMBER(5) NOT NULL,
  o_all_local NUMBER(5) NOT NULL
);
INSERT INTO orders (o_id, o_d_id, o_w_id, o_c_id, o_entry_d, o_carrier_id, o_ol_cnt, o_all_local) VALUES (:1, :2, :3, :4, :5, :6, :7, :8);
ALTER TABLE orders ADD CONSTRAINT orders_key PRIMARY KEY (o_w_id, o_d_id, o_id);
CREATE UNIQUE INDEX orders_by_customer ON orders (o_w_id, o_d_id, o_c_id, o_id);
CREATE TABLE new_order (
  no_o_id NUMBER(10) NOT NULL,
  no_d_id NUMBER(5) NOT NULL,
  no_w_id NUMBER(10) NOT NULL
);
INSERT INTO new_order (no_o_id, no_d_id, no_w_id) VALUES (:1, :2, :3);
ALTER TABLE new_order ADD CONSTRAINT new_order_key PRIMARY KEY (no_w_id, no_d_id, no_o_id);
CREATE TABLE order_line (
  ol_o_id NUMBER(10) NOT NULL,
  ol_d_id NUMBER(5) NOT NULL,
  ol_w_id NUMBER(10) NOT NULL,
  ol_number NUMBER(5) NOT NULL,
  ol_i_id NUMBER(10) NOT NULL,
  ol_supply_w_id NUMBER(10) NOT NULL,
  ol_delivery_d DATE,
  ol_quantity NUMBER(5) NOT NULL,
  ol_amount NUMBER(6, 2) NOT NULL,
  ol_dist_info CHAR(24) NOT NULL
);
INSERT INTO order_line (ol_o_id, ol_d_id, ol_w_id, ol_number, ol_i_id, ol_supply_w_id, ol_delivery_d, ol_quantity, ol_amount, ol_dist_info) VALUES (:1, :2, :3, :4, :5, :6, :7, :8, :9 / 100, :10);
ALTER TABLE order_line ADD CONSTRAINT order_line_key PRIMARY KEY (ol_w_id, ol_d_id, ol_o_id, ol_number);
CREATE TABLE stock (
  s_i_id NUMBER(10) NOT NULL,
  s_w_id NUMBER(10) NOT NULL,
  s_quantity NUMBER(5) NOT NULL,
  s_dist_01 CHAR(24) NOT NULL,
  s_dist_02 CHAR(24) NOT NULL,
  s_dist_03 CHAR(24) NOT NULL,
  s_dist_04 CHAR(24) NOT NULL,
  s_dist_05 CHAR(24) NOT NULL,
  s_dist_06 CHAR(24) NOT NULL,
  s_dist_07 CHAR(24) NOT NULL,
  s_dist_08 CHAR(24) NOT NULL,
  s_dist_09 CHAR(24) NOT NULL,
  s_dist_10 CHAR(24) NOT NULL,
  s_ytd NUMBER(10) NOT NULL,
  s_order_cnt NUMBER(10) NOT NULL,
  s_remote_cnt NUMBER(10) NOT NULL,
  s_data VARCHAR2(50) NOT NULL
);
INSERT INTO stock (s_i_id, s_w_id, s_quantity, s_dist_01, s_dist_02, s_dist_03, s_dist_04, s_dist_05, s_dist_06, s_dist_07, s_dist_08, s_dist_09, s_dist_10, s_ytd, s_order_cnt, s_remote_cnt, s_data) VALUES (:1, :2, :3, :4, :5, :6, :7, :8, :9, :10, :11, :12, :13, :14, :15, :16, :17);
ALTER TABLE stock ADD CONSTRAINT stock_key PRIMARY KEY (s_w_id, s_i_id);
