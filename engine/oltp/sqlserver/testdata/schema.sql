CREATE TABLE item (
  i_id int NOT NULL,
  i_im_id int NOT NULL,
  i_name varchar(24) NOT NULL,
  i_price decimal(5, 2) NOT NULL,
  i_data varchar(50) NOT NULL
);
CREATE TABLE warehouse (
  w_id int NOT NULL,
  w_name varchar(10) NOT NULL,
  w_street_1 varchar(20) NOT NULL,
  w_street_2 varchar(20) NOT NULL,
  w_city varchar(20) NOT NULL,
  w_state char(2) NOT NULL,
  w_zip char(9) NOT NULL,
  w_tax decimal(4, 4) NOT NULL,
  w_ytd decimal(14, 2) NOT NULL
);
CREATE TABLE district (
  d_id smallint NOT NULL,
  d_w_id int NOT NULL,
  d_name varchar(10) NOT NULL,
  d_street_1 varchar(20) NOT NULL,
  d_street_2 varchar(20) NOT NULL,
  d_city varchar(20) NOT NULL,
  d_state char(2) NOT NULL,
  d_zip char(9) NOT NULL,
  d_tax decimal(4, 4) NOT NULL,
  d_ytd decimal(14, 2) NOT NULL,
  d_next_o_id int NOT NULL
);
CREATE TABLE customer (
  c_id int NOT NULL,
  c_d_id smallint NOT NULL,
  c_w_id int NOT NULL,
  c_first varchar(16) NOT NULL,
  c_middle char(2) NOT NULL,
  c_last varchar(16) NOT NULL,
  c_street_1 varchar(20) NOT NULL,
  c_street_2 varchar(20) NOT NULL,
  c_city varchar(20) NOT NULL,
  c_state char(2) NOT NULL,
  c_zip char(9) NOT NULL,
  c_phone char(16) NOT NULL,
  c_since datetime2(0) NOT NULL,
  c_credit char(2) NOT NULL,
  c_credit_lim decimal(14, 2) NOT NULL,
  c_discount decimal(4, 4) NOT NULL,
  c_balance decimal(14, 2) NOT NULL,
  c_ytd_payment decimal(14, 2) NOT NULL,
  c_payment_cnt int NOT NULL,
  c_delivery_cnt int NOT NULL,
  c_data varchar(500) NOT NULL
);
CREATE TABLE history (
  h_c_id int NOT NULL,
  h_c_d_id smallint NOT NULL,
  h_c_w_id int NOT NULL,
  h_d_id smallint NOT NULL,
  h_w_id int NOT NULL,
  h_date datetime2(0) NOT NULL,
  h_amount decimal(6, 2) NOT NULL,
  h_data varchar(24) NOT NULL
);
CREATE TABLE orders (
  o_id int NOT NULL,
  o_d_id smallint NOT NULL,
  o_w_id int NOT NULL,
  o_c_id int NOT NULL,
  o_entry_d datetime2(0) NOT NULL,
  o_carrier_id smallint NULL,
  o_ol_cnt smallint NOT NULL,
  o_all_local smallint NOT NULL
);
CREATE TABLE new_order (
  no_o_id int NOT NULL,
  no_d_id smallint NOT NULL,
  no_w_id int NOT NULL
);
CREATE TABLE order_line (
  ol_o_id int NOT NULL,
  ol_d_id smallint NOT NULL,
  ol_w_id int NOT NULL,
  ol_number smallint NOT NULL,
  ol_i_id int NOT NULL,
  ol_supply_w_id int NOT NULL,
  ol_delivery_d datetime2(0) NULL,
  ol_quantity smallint NOT NULL,
  ol_amount decimal(6, 2) NOT NULL,
  ol_dist_info char(24) NOT NULL
);
CREATE TABLE stock (
  s_i_id int NOT NULL,
  s_w_id int NOT NULL,
  s_quantity smallint NOT NULL,
  s_dist_01 char(24) NOT NULL,
  s_dist_02 char(24) NOT NULL,
  s_dist_03 char(24) NOT NULL,
  s_dist_04 char(24) NOT NULL,
  s_dist_05 char(24) NOT NULL,
  s_dist_06 char(24) NOT NULL,
  s_dist_07 char(24) NOT NULL,
  s_dist_08 char(24) NOT NULL,
  s_dist_09 char(24) NOT NULL,
  s_dist_10 char(24) NOT NULL,
  s_ytd int NOT NULL,
  s_order_cnt int NOT NULL,
  s_remote_cnt int NOT NULL,
  s_data varchar(50) NOT NULL
);
IF OBJECT_ID(N'item_key') IS NULL ALTER TABLE item ADD CONSTRAINT item_key PRIMARY KEY CLUSTERED (i_id);
IF OBJECT_ID(N'warehouse_key') IS NULL ALTER TABLE warehouse ADD CONSTRAINT warehouse_key PRIMARY KEY CLUSTERED (w_id);
IF OBJECT_ID(N'district_key') IS NULL ALTER TABLE district ADD CONSTRAINT district_key PRIMARY KEY CLUSTERED (d_w_id, d_id);
IF OBJECT_ID(N'customer_key') IS NULL ALTER TABLE customer ADD CONSTRAINT customer_key PRIMARY KEY CLUSTERED (c_w_id, c_d_id, c_id);
IF INDEXPROPERTY(OBJECT_ID(N'customer'), N'customer_by_name', 'IndexID') IS NULL CREATE INDEX customer_by_name ON customer (customer_by_name);
IF OBJECT_ID(N'orders_key') IS NULL ALTER TABLE orders ADD CONSTRAINT orders_key PRIMARY KEY CLUSTERED (o_w_id, o_d_id, o_id);
IF INDEXPROPERTY(OBJECT_ID(N'orders'), N'orders_by_customer', 'IndexID') IS NULL CREATE UNIQUE INDEX orders_by_customer ON orders (orders_by_customer);
IF OBJECT_ID(N'new_order_key') IS NULL ALTER TABLE new_order ADD CONSTRAINT new_order_key PRIMARY KEY CLUSTERED (no_w_id, no_d_id, no_o_id);
IF OBJECT_ID(N'order_line_key') IS NULL ALTER TABLE order_line ADD CONSTRAINT order_line_key PRIMARY KEY CLUSTERED (ol_w_id, ol_d_id, ol_o_id, ol_number);
IF OBJECT_ID(N'stock_key') IS NULL ALTER TABLE stock ADD CONSTRAINT stock_key PRIMARY KEY CLUSTERED (s_w_id, s_i_id);
